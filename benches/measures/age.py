"""Whether an eval costs more when there were many before it."""

import json
import os
import socket

import procfs
import stats
from lines import Line
from targets import Times

from .languages import PYTHON
from .warm import times

OLD = "old"
# How many evals wait at the host while a session is aged.
FLIGHT = 32


def grown_old(run):
    """An old session against new ones, in alternation: a window of 1,000 evals on both sides in each comparison."""
    place = run.place
    before = set(os.listdir(place.env["STEAD_RUNTIME_DIR"])) if os.path.isdir(place.env["STEAD_RUNTIME_DIR"]) else set()
    place.eval(OLD, "python", PYTHON.code)
    fresh = set(os.listdir(place.env["STEAD_RUNTIME_DIR"])) - before
    path = next(name for name in fresh if name.endswith(".sock"))
    status = place.command("status", "-n", OLD)
    pids = {"host": status["host_pid"], "interpreter": status["pid"]}
    server = place.mcp()
    disk = procfs.size(place.env["STEAD_STATE_DIR"])
    begin = {name: procfs.private(pid) for name, pid in pids.items()}
    for age in run.pick([200], [20_000], [10_000, 1_000_000]):
        drive(os.path.join(place.env["STEAD_RUNTIME_DIR"], path), age, run)
        memory = {name: procfs.private(pid) for name, pid in pids.items()}
        pair = compare(run, server)
        details = {
            "private_at_first": begin,
            "private_now": memory,
            "disk_bytes_per_eval": (procfs.size(place.env["STEAD_STATE_DIR"]) - disk) / age,
        }
        yield Line.compared(f"age-{age}", f"eval {age:,}", pair, "the 10th of a new session", Times(1.1), details=details)
    place.drop(server)
    place.stop(OLD)


def compare(run, server):
    """Batches of 100 in the old session and in a new one; each window of ten batches has a new session of its own."""
    floors, steads = [], []
    batch, batches = run.pick((5, 1), (100, 10), (100, 10))
    # Where the processes of a session come to run is luck, so many young ones are asked.
    for _ in range(run.rounds(4, 20)):
        run.place.eval("young", "python", PYTHON.code)
        times(server, PYTHON, "young", 9)
        times(server, PYTHON, OLD, 9)
        sides = {
            "floor": lambda: times(server, PYTHON, "young", batch),
            "stead": lambda: times(server, PYTHON, OLD, batch),
        }
        samples = run.batches(batches, sides)
        floors.extend(samples["floor"])
        steads.extend(samples["stead"])
        run.place.stop("young")
    return stats.Pair(floors, steads)


def drive(path, age, run):
    """Brings the session to that many evals by the host's own protocol, as fast as it goes."""
    host = socket.socket(socket.AF_UNIX)
    host.connect(path)
    host.sendall(json.dumps({"id": 1, "request": {"op": "hello", "protocol": 1, "client": "cli"}}).encode() + b"\n")
    rest = b""
    while b"\n" not in rest:
        rest += host.recv(65536)
    done = json.loads(rest)["reply"]["reply"]["evals"]
    submit = json.dumps({"id": 2, "request": {"op": "submit", "code": PYTHON.code, "watch": "state"}}).encode() + b"\n"
    finished, tail = b'"kind":"finished"', b""
    flying, said = 0, done
    while done < age:
        wanted = min(FLIGHT, age - done) - flying
        if wanted > 0:
            host.sendall(submit * wanted)
            flying += wanted
        data = tail + host.recv(262144)
        lines, _, tail = data.rpartition(b"\n")
        count = lines.count(finished)
        if b'"error":{' in lines:
            raise RuntimeError(f"the host refused: {lines.decode()}")
        done += count
        flying -= count
        if done - said >= 100_000:
            run.say(f"bench: {done:,} evals")
            said = done
    host.close()
