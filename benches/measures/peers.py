"""Others that keep a Python session, where they are installed: the warm eval and the first answer.

`--peers DIR` names a directory of virtual environments: DIR/ipykernel (ipykernel, jupyter_client), DIR/posit-mcp-repl,
DIR/mcp-python-repl. Each is measured in the same rounds as stead.
"""

import json
import os
import time

import processes
from clients import Floor, Mcp
from lines import Line
from place import HERE, Missing
from stats import Pair

from .languages import PYTHON
from .warm import times

SESSION = "peer"


def compared(run):
    """A line for each peer and kind: the peer's time against stead's."""
    if run.peers is None:
        raise Missing("no `--peers DIR`")
    peers = []
    for kind in (Ipykernel, PositMcpRepl, McpPythonRepl):
        try:
            peers.append(kind(run))
        except (Missing, EOFError, OSError, RuntimeError) as error:
            run.say(f"bench: {kind.name} left out: {error}")
    run.place.eval(SESSION, "python", PYTHON.code)
    server = run.place.mcp()
    count = run.pick(2, 10, 20)
    sides = {peer.name: (lambda peer=peer: peer.times(count)) for peer in peers}
    sides["stead"] = lambda: times(server, PYTHON, SESSION, count)
    yield from lines(run.batches(run.rounds(10, 20), sides), peers, "warm eval")
    sides = {peer.name: (lambda peer=peer: [peer.first()]) for peer in peers}
    sides["stead"] = lambda: [first(run)]
    yield from lines(run.batches(run.rounds(3, 10), sides), peers, "first answer")
    for peer in peers:
        peer.close()
    run.place.drop(server)


def lines(samples, peers, title):
    """Stead is the floor here, so the ratio says how many times as long the peer takes."""
    for peer in peers:
        pair = Pair(samples["stead"], samples[peer.name])
        line = Line.compared(f"peer-{peer.name}-{title.split()[0]}", f"{peer.name}, {title}", pair, "stead", details={"versions": peer.versions})
        line.peer = True
        yield line


def first(run):
    """Seconds from the start of a server to the first answer of a new session."""
    began = time.perf_counter()
    server = run.place.mcp()
    PYTHON.check(server.call("eval", code=PYTHON.code, session="new", language="python"))
    took = time.perf_counter() - began
    run.place.drop(server)
    run.place.stop("new")
    return took


def program(run, *parts):
    """A file of a peer's virtual environment."""
    path = os.path.join(run.peers, *parts)
    if not os.access(path, os.X_OK):
        raise Missing(f"no {path}")
    return path


class Ipykernel:
    """A Jupyter kernel by jupyter_client, without a server between."""

    name = "ipykernel"

    def __init__(self, run):
        self.place = run.place
        argv = [program(run, self.name, "bin", "python"), os.path.join(HERE, "peer_jupyter.py")]
        self.client = run.place.keep(Floor(processes.Child(argv, run.place.env, answers=3, quiet=True)))
        self.versions = self.client.eval("versions")
        self.times(10)

    def times(self, count):
        return self.client.eval(str(count))

    def first(self):
        return self.client.eval("first")

    def close(self):
        os.close(self.client.child.to)
        os.waitpid(self.client.child.pid, 0)
        os.close(self.client.child.back)
        self.client.child.pid = None
        self.place.children.remove(self.client)


class McpPeer:
    """An MCP server on stdio that runs Python in itself or in a child."""

    def __init__(self, run):
        self.run, self.argv = run, [program(run, self.name, "bin", self.command), *self.options]
        python = program(run, self.name, "bin", "python")
        asks = f"import importlib.metadata as m, sys; print(m.version({self.name!r}) + ', Python ' + sys.version.split()[0])"
        self.versions = processes.timed([python, "-c", asks], run.place.env)[1].decode().strip()
        self.client = self.start()
        self.times(10)

    def start(self):
        """A server that has shaken hands."""
        child = processes.Child(self.argv, self.run.place.env, quiet=True)
        try:
            return self.run.place.keep(Mcp(child, self.tool, self.arguments))
        except BaseException:
            child.close()
            raise

    def answer(self, client):
        text = client.eval(self.code, self.session(client))
        if "2" not in text:
            raise RuntimeError(f"{self.name} answered {text!r}")
        return text

    def session(self, _client):
        return None

    def times(self, count):
        samples = []
        for _ in range(count):
            began = time.perf_counter()
            self.answer(self.client)
            samples.append(time.perf_counter() - began)
        return samples

    def first(self):
        began = time.perf_counter()
        client = self.start()
        self.answer(client)
        took = time.perf_counter() - began
        self.run.place.drop(client)
        return took

    def close(self):
        self.run.place.drop(self.client)


class PositMcpRepl(McpPeer):
    """Posit's mcp-repl with Python, without its sandbox, as stead has none yet."""

    name, command, tool, code = "posit-mcp-repl", "mcp-repl", "repl", "1+1"
    options = ["--interpreter", "python", "--sandbox", "danger-full-access"]

    def arguments(self, code, _session):
        return {"input": code}


class McpPythonRepl(McpPeer):
    """A server that runs code in its own process, in a session that its first answer names."""

    name, command, tool, code = "mcp-python-repl", "mcp-python-repl", "repl_run_code", "result = 1+1"
    options = []
    known = {}

    def arguments(self, code, session):
        return {"params": {"code": code, **({"session_id": session} if session else {})}}

    def session(self, client):
        return self.known.get(client)

    def answer(self, client):
        text = super().answer(client)
        if client not in self.known:
            self.known[client] = json.loads(text)["session_id"]
        return text
