"""Warm evals through the jupyter adapter, with the same kernel by a bare client and by jupyter_client beside it."""

import os

import processes
from clients import Floor
from lines import Line
from place import HERE, Missing
from targets import Times

from .languages import PYTHON
from .warm import times

WARM_UP = 20
SESSION = "nb"


def jupyter(run):
    """`1+1` in an ipykernel over MCP against a client that only signs, sends and reads: at most 1 ms more."""
    python = kernel_python()
    run.place.env["JUPYTER_PATH"] = os.path.join(os.path.dirname(os.path.dirname(python)), "share", "jupyter")
    # IPython writes a warning with its thousandth result, so there are fewer.
    count = run.pick(3, 20, 20)
    bare, client = bare_client(run, python, "floor_zmtp.py"), bare_client(run, python, "peer_jupyter.py")
    run.place.eval(SESSION, "python3", PYTHON.code)
    server = run.place.mcp()
    sides = {
        "floor": lambda: bare.eval(str(count)),
        "stead": lambda: times(server, PYTHON, SESSION, count),
        "jupyter_client": lambda: client.eval(str(count)),
    }
    times(server, PYTHON, SESSION, run.pick(1, WARM_UP, WARM_UP))
    for one in (bare, client):
        one.eval(str(run.pick(1, WARM_UP, WARM_UP)))
    pairs = run.pairs(run.batches(run.rounds(10, 40), sides), "floor")
    yield Line.compared("kernel", "ipykernel, MCP", pairs["stead"], "a bare ZeroMQ client", Times(1, plus=0.001))
    yield Line.compared("kernel-jupyter", "jupyter_client", pairs["jupyter_client"], "a bare ZeroMQ client", None)
    for one in (server, bare, client):
        run.place.drop(one)
    run.place.stop(SESSION)


def kernel_python():
    """The Python of the tests' environment, which has ipykernel."""
    made = os.path.join(os.path.dirname(HERE), ".test", "venv", "bin", "python")
    python = os.environ.get("STEAD_TEST_VENV", made)
    if not os.path.exists(os.path.join(os.path.dirname(os.path.dirname(python)), "share", "jupyter", "kernels", "python3")):
        raise Missing(f"no ipykernel at {python}; tests/peers/install brings it")
    return python


def bare_client(run, python, script):
    argv = [python, os.path.join(HERE, script)]
    return run.place.keep(Floor(processes.Child(argv, run.place.env, answers=3, quiet=True)))
