"""Saving and loading a Python session: many names of which some cannot be saved, and an array against `pickle.dump`."""

import json
import os

import processes
import procfs
from lines import Line
from stats import Pair, median
from targets import AtMost, Times

from .frames import with_pandas

NAMES, BAD = 10_000, 100
MB = 1_000_000
FILL = """import threading
for i in range({good}): globals()['n%d' % i] = [i, 'text %d' % i, {{'key': i}}]
for i in range({bad}): globals()['bad%d' % i] = [threading.Lock()]
del i"""
DUMP = """import pickle, os
with open({path!r}, 'wb') as file:
    pickle.dump(array, file, 5)
    {sync}"""
LOAD = "import pickle\nwith open({path!r}, 'rb') as file: back = pickle.load(file)\ndel back"


def kept(run):
    """10,000 names with 100 that cannot be saved, then 1 GB in one array."""
    place = run.place
    path = os.path.join(place.root, "names.stead")
    good, bad = run.pick((100, 10), (NAMES - BAD, BAD), (NAMES - BAD, BAD))
    place.eval("names", "python", FILL.format(good=good, bad=bad))
    saves, loads = [], []
    for _ in range(run.rounds(3, 10)):
        saves.append(takes(place, "save", "-n", "names", path))
        loads.append(takes(place, "load", path, "-n", "loaded"))
        place.stop("loaded")
    place.stop("names")
    title = f"{good + bad:,} names, {bad} not savable"
    yield Line("save-names", f"save {title}", "s", median(saves), target=AtMost(2.0, "2 s"))
    yield Line("load-names", f"load {title}, new session", "s", median(loads))
    yield from array(run)


def array(run):
    place, python = run.place, with_pandas(run.place)
    size = run.pick(8 * MB, 512 * MB, 1024 * MB)
    path, plain = os.path.join(place.root, "array.stead"), os.path.join(place.root, "array.pickle")
    place.command("launch", "python", "-n", "array", "--python", python)
    place.eval("array", "python", f"import numpy\narray = numpy.ones({size // 8})\nalias = array")
    interpreter = int(place.eval("array", "python", "import os; os.getpid()")["value"])
    grown = []

    def save():
        watch = procfs.Watch({"interpreter": interpreter})
        took = takes(place, "save", "-n", "array", "--timeout", "10m", path, "array", "alias")
        grown.append(watch.grown()["interpreter"])
        os.unlink(path)
        return [took]

    def floor(sync):
        took = takes(place, "eval", "-n", "array", "--timeout", "10m", DUMP.format(path=plain, sync=sync))
        os.unlink(plain)
        return [took]

    sides = {"synced": lambda: floor("file.flush(); os.fsync(file.fileno())"), "plain": lambda: floor("pass"), "stead": save}
    for side in sides.values():
        side()  # the first save of a session makes ready what is needed for it
    samples = run.batches(run.rounds(3, 7), sides)
    title = f"an array of {size // MB:,} MB"
    yield Line.compared("save-array", f"save {title}", Pair(samples["synced"], samples["stead"]), "pickle.dump and fsync", Times(1.3))
    yield Line.compared("save-array-plain", f"save {title}, floor not synced", Pair(samples["plain"], samples["stead"]), "pickle.dump")
    yield Line("save-array-memory", f"save {title}, interpreter grows", "bytes", max(grown), target=AtMost(64 * MB, "64 MB"))
    takes(place, "save", "-n", "array", "--timeout", "10m", path, "array")
    floor_once = DUMP.format(path=plain, sync="pass")
    takes(place, "eval", "-n", "array", "--timeout", "10m", floor_once)
    place.eval("array", "python", "del array, alias")
    sides = {
        "floor": lambda: [takes(place, "eval", "-n", "array", "--timeout", "10m", LOAD.format(path=plain))],
        "stead": lambda: [takes(place, "load", path, "--into", "array", "--timeout", "10m")],
    }
    for side in sides.values():
        side()
    samples = run.batches(run.rounds(3, 7), sides)
    yield Line.compared("load-array", f"load {title}", Pair(samples["floor"], samples["stead"]), "pickle.load")
    place.stop("array")
    os.unlink(path)
    os.unlink(plain)


def takes(place, *arguments):
    """The time of a command that must go well."""
    took, output, status = processes.timed([place.stead, *arguments, "--json"], place.env)
    answer = json.loads(output)
    if status or not answer["ok"] or answer.get("status", "complete") != "complete":
        raise RuntimeError(f"stead {arguments[0]}: {output.decode()}")
    return took
