"""Checkpoints, going back, and what the copies for undo cost evals that come at the pace of an agent."""

import time

from lines import Line
from stats import Pair, median
from targets import AtMost

from .frames import with_pandas

PAUSE = 0.2
LIMIT = 0.010


def kept(run):
    """In a session with pandas: a checkpoint and a rollback over MCP, then an eval each 200 ms with undo and without."""
    place, python = run.place, with_pandas(run.place)
    server = place.mcp()
    place.command("launch", "python", "-n", "copies", "--python", python)
    server.eval("import pandas\nframe = pandas.DataFrame({'a': range(1000)})", "copies")
    made, back = [], []
    for number in range(run.rounds(20, 100)):
        server.eval(f"number = {number}", "copies")
        made.append(takes(server, "checkpoint"))
        server.eval("number = -1", "copies")
        back.append(takes(server, "rollback"))
        if f"{number}" not in server.eval("number", "copies"):
            raise RuntimeError("a rollback did not go back")
    place.stop("copies")
    yield Line("checkpoint", "checkpoint with pandas loaded", "s", median(made), target=AtMost(LIMIT, "10 ms"))
    yield Line("rollback", "rollback with pandas loaded", "s", median(back), target=AtMost(LIMIT, "10 ms"))
    yield from paced(run, server, python)
    place.drop(server)


def paced(run, server, python):
    place = run.place
    place.command("launch", "python", "-n", "without", "--no-undo", "--python", python)
    place.command("launch", "python", "-n", "with", "--python", python)
    for name in ("without", "with"):
        server.eval("import pandas", name)
    count = run.pick(2, 10, 25)
    sides = {name: (lambda name=name: evals(server, name, count)) for name in ("without", "with")}
    samples = run.batches(run.rounds(4, 8), sides)
    pair = Pair(samples["without"], samples["with"])
    yield Line("undo-paced", "eval each 200 ms, what undo adds", "s", max(0.0, pair.stead - pair.floor),
               target=AtMost(0.001, "1 ms"), details={"with": pair.stead, "without": pair.floor})
    for name in ("without", "with"):
        place.stop(name)


def evals(server, name, count):
    samples = []
    for _ in range(count):
        time.sleep(PAUSE)
        began = time.perf_counter()
        server.eval("q = 1+1", name)
        samples.append(time.perf_counter() - began)
    return samples


def takes(server, action):
    began = time.perf_counter()
    server.call("state", session="copies", action=action)
    return time.perf_counter() - began
