"""Many sessions open at the same time: the time to open them, and whether each still answers, and how fast."""

import time

from lines import Line
from targets import All

from .languages import PYTHON


def sessions(run):
    """1, 50 and 200 sessions, one after the other opened by one server, then asked in random order."""
    for count in run.pick([2], [1, 50], [1, 50, 200]):
        yield from opened(run, count)


def opened(run, count):
    place = run.place
    names = [f"many{number}" for number in range(count)]
    server = place.mcp()
    began = time.perf_counter()
    for name in names:
        PYTHON.check(server.call("eval", code=PYTHON.code, session=name, language="python"))
    stead_open = time.perf_counter() - began
    began = time.perf_counter()
    floors = [place.python_floor() for _ in names]
    for floor in floors:
        PYTHON.check(floor.eval(PYTHON.code))
    floor_open = time.perf_counter() - began

    answered = set()

    def by_mcp(name):
        took = timed(server, name)
        answered.add(name)
        return took

    sides = {
        "floor": lambda: [timed(floor, None) for floor in run.random.sample(floors, count)],
        "stead": lambda: [by_mcp(name) for name in run.random.sample(names, count)],
    }
    pair = run.pairs(run.batches(run.rounds(5, 10), sides), "floor")["stead"]
    title = f"{count} session" + ("s" if count > 1 else "")
    details = {"each_s": stead_open / count}
    yield Line(f"open-{count}", f"{title}, time to open", "s", stead_open, floor_open, "as many loops on pipes", details=details)
    yield Line.compared(f"many-{count}", f"{title}, an eval in each", pair, "as many loops on pipes")
    yield Line(f"answer-{count}", f"{title}, that answer", "count", len(answered), target=All(count))
    for floor in floors:
        place.drop(floor)
    place.drop(server)
    for name in names:
        place.stop(name)


def timed(client, session):
    """Seconds of one eval."""
    began = time.perf_counter()
    text = client.eval(PYTHON.code, session)
    took = time.perf_counter() - began
    PYTHON.check(text)
    return took
