"""What it costs to tell how data frames changed: frames that names hold against the same frames in a list, which nobody looks at."""

import os
import subprocess

from lines import Line
from place import HERE, Missing
from stats import Pair
from targets import Times

from .warm import times

FRAMES = 50
MAKE = """import pandas as pd, numpy as np
def frame(rows): return pd.DataFrame({{'a': np.zeros(rows), 'b': np.zeros(rows, int), 'c': np.zeros(rows, bool)}}, copy=False)
made = [frame({rows}) for _ in range({count})]
n = 0"""
NAME = "\nfor i, one in enumerate(made): globals()['df%d' % i] = one\ndel made, one, i"


class Code:
    """Code whose answer is not looked at."""

    def __init__(self, code):
        self.code = code

    def check(self, _text):
        """What it tells has tests of its own."""


def told(run):
    """One frame of a million rows written into, and a number counted up beside 50 of them."""
    python, rows = with_pandas(run.place), run.pick(1000, 10**6, 10**6)
    server = run.place.mcp()
    for name in ("listed", "named"):
        run.place.command("launch", "python", "-n", name, "--python", python)
        run.place.eval(name, "python", MAKE.format(rows=rows, count=FRAMES) + (NAME if name == "named" else ""))
    count, rounds = run.pick(2, 30, 60), run.rounds(10, 30)
    for key, title, codes, target in (
        ("one", "a frame of a million rows, one value set", ("made[0].loc[0, 'a'] = 1.0", "df0.loc[0, 'a'] = 1.0"), Times(1, plus=0.001)),
        ("many", f"{FRAMES} frames of a million rows, a number rebound", ("n = n + 1", "n = n + 1"), Times(1, plus=0.001)),
    ):
        sides = {name: (lambda name=name, code=code: times(server, Code(code), name, count)) for name, code in zip(("listed", "named"), codes)}
        for side in sides.values():
            side()
        samples = run.batches(rounds, sides)
        yield Line.compared(f"frames-{key}", title, Pair(samples["listed"], samples["named"]), "frames in a list", target)
    run.place.drop(server)
    for name in ("listed", "named"):
        run.place.stop(name)


def with_pandas(place):
    """A Python that has pandas: the benchmark's own, or that of the tests."""
    for python in (place.python, os.path.join(os.path.dirname(HERE), ".test", "venv", "bin", "python")):
        if os.path.exists(python) and subprocess.run([python, "-c", "import pandas"], stderr=subprocess.DEVNULL, check=False).returncode == 0:
            return python
    raise Missing("no Python with pandas")
