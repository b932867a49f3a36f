"""Eight sessions at once: how many evals a second there are in all."""

import select
import time

from lines import Line
from targets import Rate

from .languages import PYTHON

SESSIONS = 8


def eight(run):
    """Eight evals in flight, each in a session of its own, against eight loops on pipes driven by the same code."""
    place = run.place
    names = [f"crowd{number}" for number in range(SESSIONS)]
    for name in names:
        place.eval(name, "python", PYTHON.code)
    floors = [place.python_floor() for _ in names]
    servers = [place.mcp() for _ in names]
    for floor, server, name in zip(floors, servers, names):
        floor.eval(PYTHON.code)
        server.eval(PYTHON.code, name)
    seconds = run.pick(0.05, 0.5, 2)
    sides = {
        "floor": lambda: [rate([(floor, None) for floor in floors], seconds)],
        "one": lambda: [rate([(servers[0], name) for name in names], seconds)],
        "eight": lambda: [rate(list(zip(servers, names)), seconds)],
    }
    pairs = run.pairs(run.batches(run.rounds(5, 10), sides), "floor")
    yield Line.compared("crowd-one", "8 at once, one server", pairs["one"], "8 loops on pipes", Rate(4000, 0.5), "rate")
    yield Line.compared("crowd-eight", "8 at once, a server each", pairs["eight"], "8 loops on pipes", unit="rate")
    for client in floors + servers:
        place.drop(client)
    for name in names:
        place.stop(name)


def rate(lanes, seconds):
    """Evals per second with one eval in flight for each lane, a client and a session."""
    flying = {}
    descriptors = {}
    waiter = select.epoll()
    for client, _ in lanes:
        if client.child.back not in descriptors:
            descriptors[client.child.back] = client
            waiter.register(client.child.back, select.EPOLLIN)
    began = time.perf_counter()
    for client, session in lanes:
        submit(client, session, flying)
    end, done = began + seconds, 0
    while flying:
        for descriptor, _ in waiter.poll():
            client = descriptors[descriptor]
            client.child.more()
            while b"\n" in client.child.buffer:
                number, text = client.take()
                PYTHON.check(text)
                session = flying.pop((client, number))
                done += 1
                if time.perf_counter() < end:
                    submit(client, session, flying)
    waiter.close()
    return done / (time.perf_counter() - began)


def submit(client, session, flying):
    """Sends the next eval of a lane."""
    number, line = client.request(PYTHON.code, session)
    flying[client, number] = session
    client.child.send(line)
