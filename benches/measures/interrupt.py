"""From the interrupt of code that never ends to the next answer."""

import os
import signal
import time

from lines import Line
from targets import AtMost

from .languages import PYTHON

SESSION = "busy"


def answer(run):
    """`while True: pass`, an interrupt by MCP, then `1+1`; the floor is a loop on a pipe that gets SIGINT."""
    place = run.place
    place.eval(SESSION, "python", PYTHON.code)
    server, floor = place.mcp(), place.python_floor()
    gate = os.path.join(place.root, "gate")
    os.mkfifo(gate)
    code = f"open({gate!r}, 'w').close()\nwhile True: pass"
    sides = {"floor": lambda: bare(floor, code, gate), "stead": lambda: by_mcp(server, code, gate)}
    for side in sides.values():
        side()
    pair = run.pairs(run.singles(run.rounds(10, 20), run.pick(1, 5, 10), sides), "floor")["stead"]
    yield Line.compared("interrupt", "interrupt to next answer", pair, "SIGINT to a loop on a pipe", AtMost(0.010, "10 ms"))
    os.unlink(gate)
    place.drop(server)
    place.drop(floor)
    place.stop(SESSION)


def running(gate):
    """Returns when the code has come to its loop: it opens the named pipe just before."""
    os.close(os.open(gate, os.O_RDONLY))


def by_mcp(server, code, gate):
    server.call("eval", code=code, session=SESSION, background=True)
    running(gate)
    began = time.perf_counter()
    server.call("control", target=SESSION, action="interrupt")
    text = server.eval(PYTHON.code, SESSION)
    took = time.perf_counter() - began
    PYTHON.check(text)
    return took


def bare(floor, code, gate):
    _, line = floor.request(code)
    floor.child.send(line)
    running(gate)
    began = time.perf_counter()
    os.kill(floor.child.pid, signal.SIGINT)
    floor.take()
    text = floor.eval(PYTHON.code)
    took = time.perf_counter() - began
    PYTHON.check(text)
    return took
