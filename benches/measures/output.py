"""Much output: time against the same program into `| cat > file`, and what memory it takes.

The floor is `python3 -c PROGRAM | cat > FILE`, started without a shell, from the start of both to the end of both. Its
stdout is a pipe, so Python collects 8 KiB before it writes; a session writes each line at once, as a terminal
would see it.
"""

import os
import time

import processes
import procfs
from lines import Line
from targets import AtMost, Times

BY_LINES = "import sys; sys.stdout.reconfigure(line_buffering=True)\n"
PRINTS = "for i in range({count}): print(i)"
LINES = "line = 'x' * 99\nfor _ in range({size} // 100): print(line)"
PIECES = "import sys\npiece = ('x' * 99 + '\\n') * 640\nfor _ in range({size} // 64000): sys.stdout.write(piece)"
MB = 1_000_000
GROWTH = 16 * MB
SESSION = "much"


def prints(run):
    """100,000 prints; beside the floor as people know it, one that is warm already and one that writes each line at once."""
    place, count = run.place, run.pick(1000, 100_000, 100_000)
    code = PRINTS.format(count=count)
    server = open_session(place)
    warm = Warm(place)
    sides = {
        "floor": lambda: [piped(place, code)],
        "by lines": lambda: [piped(place, BY_LINES + code)],
        "warm": lambda: [warm.takes(code)],
        "stead": lambda: [takes(server, code)],
    }
    samples = run.batches(run.rounds(5, 20), sides)
    against = {name: run.pairs(samples, name)["stead"] for name in ("floor", "warm", "by lines")}
    title = f"{count:,} prints"
    yield Line.compared("prints", title, against["floor"], "python3 | cat > file", Times(3))
    yield Line.compared("prints-warm", f"{title}, warm floor", against["warm"], "a warm loop | cat > file")
    yield Line.compared("prints-lines", f"{title}, floor by lines", against["by lines"], "python3, line-buffered | cat > file")
    warm.close()
    close_session(place, server)


def bulk(run):
    """1, 10, 100 MB and 1 GiB in pieces of 64 kB, and 100 MB in lines of 100 bytes."""
    sizes = run.pick([("1 MB", MB)], [("1 MB", MB), ("10 MB", 10 * MB), ("100 MB", 100 * MB)],
                     [("1 MB", MB), ("10 MB", 10 * MB), ("100 MB", 100 * MB), ("1 GiB", 2**30)])  # fmt: skip
    for title, size in sizes:
        rounds = run.rounds(5, 15) if size < 100 * MB else run.rounds(3, 9) if size == 100 * MB else run.rounds(1, 3)
        yield from written(run, title, PIECES, size // 64000 * 64000, rounds, size >= 100 * MB)
    if run.level != "smoke":
        yield from written(run, "100 MB in lines", LINES, 100 * MB, run.rounds(2, 5), True)


def written(run, title, program, size, rounds, target):
    """Both lines of one size: time and the host's growth."""
    place, code = run.place, program.format(size=size)
    server = open_session(place)
    pids = everyone(place, server)
    watch = procfs.Watch(pids)
    sides = {"floor": lambda: [piped(place, code)], "stead": lambda: [takes(server, code)]}
    pair = run.pairs(run.batches(rounds, sides), "floor")["stead"]
    grown, peaks = watch.grown(), watch.peaks()
    name = title.replace(" ", "-").lower()
    speeds = {"floor_bytes_per_s": size / pair.floor, "stead_bytes_per_s": size / pair.stead}
    yield Line.compared(f"output-{name}", f"{title}, time", pair, "python3 | cat > file", Times(2) if target else None, details=speeds)
    yield Line(f"growth-{name}", f"{title}, host grows", "bytes", grown["host"], target=AtMost(GROWTH, "16 MB") if target else None,
               details={"grown": grown, "peaks": peaks})  # fmt: skip
    yield Line(f"growth-server-{name}", f"{title}, MCP server grows", "bytes", grown["server"])
    if size <= 100 * MB:
        check(place, size)
    close_session(place, server)


def check(place, size):
    """Fails unless the last eval's output is all there."""
    last = place.command("evals", "-n", SESSION, "--limit", "1")["evals"][-1]["eval_id"]
    _, output, _ = processes.timed([place.stead, "output", last, "--raw"], place.env)
    if len(output) != size:
        raise RuntimeError(f"{last} has {len(output)} bytes instead of {size}")


def open_session(place):
    """A server, and a session that has answered once."""
    place.eval(SESSION, "python", "1+1")
    server = place.mcp()
    server.eval("1+1", SESSION)
    return server


def close_session(place, server):
    place.drop(server)
    place.stop(SESSION)


def everyone(place, server):
    """All processes that have to do with the session's output."""
    status = place.command("status", "-n", SESSION)
    host = status["host_pid"]
    return {"host": host, "guard": procfs.parent(host), "interpreter": status["pid"], "server": server.child.pid}


def takes(server, code):
    """Seconds of an eval, however long it takes: a call waits at most 50 s, so it may need to read on."""
    began = time.perf_counter()
    text = server.call("eval", code=code, session=SESSION, timeout_ms=45000)
    while "still running" in text.splitlines()[-1]:
        text = server.call("output", session=SESSION, wait_ms=45000)
    return time.perf_counter() - began


def piped(place, code):
    """Seconds of `python3 -c CODE | cat > FILE`."""
    path = os.path.join(place.root, "piped")
    began = time.perf_counter()
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    back, to = processes.pipe()
    children = [
        processes.spawn([place.python, "-c", code], place.env, {1: to}),
        processes.spawn(["/bin/cat"], place.env, {0: back, 1: file}),
    ]
    for descriptor in (file, back, to):
        os.close(descriptor)
    for pid in children:
        os.waitpid(pid, 0)
    took = time.perf_counter() - began
    os.unlink(path)
    return took


class Warm:
    """The loop on a pipe with its stdout into `cat > FILE`."""

    def __init__(self, place):
        self.place, self.path = place, os.path.join(place.root, "warm")
        file = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        back, to = processes.pipe()
        self.cat = processes.spawn(["/bin/cat"], place.env, {0: back, 1: file})
        self.floor = place.python_floor(stdout=to)
        for descriptor in (file, back, to):
            os.close(descriptor)
        self.floor.eval("1+1")

    def takes(self, code):
        """Seconds until the loop has written everything and answered; `cat` may still be about to write the last pipe's fill."""
        os.truncate(self.path, 0)
        began = time.perf_counter()
        self.floor.eval(code)
        return time.perf_counter() - began

    def close(self):
        self.place.drop(self.floor)
        os.waitpid(self.cat, 0)
        os.unlink(self.path)
