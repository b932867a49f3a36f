"""A machine of its own for one test, as far as stead can tell, and a real MCP client for it.

Needs:  STEAD_BIN, the binary under test; run with the Python of the venv that `install` makes.
Waits:  on events only (a named pipe that user code opens, an answer, the end of a process); the
        deadline merely turns a hang into a failure.
"""

import asyncio
import json
import os
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

STEAD = os.environ["STEAD_BIN"]
DEADLINE = 120
# What each way of connecting must lead to.
VERSIONS = {"auto": "2026-07-28", "legacy": "2025-11-25"}


class Place:
    """Own home, state, runtime and workspace directories."""

    def __init__(self):
        self.root = Path(tempfile.mkdtemp(prefix="stead-peer-"))
        self.workspace = self.root / "ws"
        self.pipes = []
        for name in ("home", "ws"):
            (self.root / name).mkdir()
        self.env = {
            "STEAD_TEST": str(self.root),
            "HOME": str(self.root / "home"),
            "PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin",
            "LANG": "C.UTF-8",
            "STEAD_STATE_DIR": str(self.root / "state"),
            "STEAD_RUNTIME_DIR": str(self.root / "run"),
        }

    def run(self, *arguments, stdin=None):
        """Runs a command of the binary to its end."""
        return subprocess.run(
            [STEAD, *arguments], cwd=self.workspace, env=self.env, input=stdin, text=True,
            capture_output=True, timeout=DEADLINE,
        )  # fmt: skip

    def parameters(self, command=(STEAD, "mcp")):
        """How a client starts a server here. `env -i`, since the SDK adds variables of its own."""
        env = [f"{name}={value}" for name, value in self.env.items()]
        return StdioServerParameters(
            command="/usr/bin/env", args=["-i", *env, *command], cwd=self.workspace
        )

    def pipe(self, name):
        """A named pipe in the workspace: whoever opens it waits for the other side."""
        os.mkfifo(self.workspace / name)
        self.pipes.append(Pipe(self.workspace / name))
        return self.pipes[-1]

    def processes(self):
        """Processes that were started from here and still live."""
        tag = f"STEAD_TEST={self.root}".encode()
        found = {}
        for entry in Path("/proc").iterdir():
            if not entry.name.isdigit():
                continue
            try:
                if tag in (entry / "environ").read_bytes().split(b"\0"):
                    words = (entry / "cmdline").read_bytes().split(b"\0")
                    found[int(entry.name)] = [word.decode() for word in words if word]
            except OSError:
                pass
        return found

    def servers(self):
        """Process ids of the MCP servers that live."""
        return [pid for pid, words in self.processes().items() if words[1:] == ["mcp"]]

    def leave(self):
        """Stops all sessions and removes everything; what still runs then is a failure."""
        for pipe in self.pipes:
            pipe.release()
        try:
            servers = self.servers()
            listed = json.loads(self.run("ls", "--json").stdout)["data"]["sessions"]
            for session in listed:
                self.run("stop", "-n", session["name"])
            left = {pid: words for pid, words in self.processes().items() if not gone(pid)}
            for pid in left:
                os.kill(pid, signal.SIGKILL)
        finally:
            shutil.rmtree(self.root)
        assert not servers, f"servers outlived their clients: {servers}"
        assert not left, f"processes were left behind: {left}"


class Pipe:
    """An event between a test and user code."""

    def __init__(self, path):
        self.path = path

    async def reached(self):
        """Waits until user code opens the pipe for writing."""
        await asyncio.to_thread(self.path.read_bytes)

    async def open(self):
        """Lets user code go on that waits to read the pipe."""
        await asyncio.to_thread(self.path.write_bytes, b"")

    def release(self):
        """Frees a thread of a failed test that waits for a side that never came."""
        os.close(os.open(self.path, os.O_RDWR | os.O_NONBLOCK))


def gone(pid, within=10):
    """Whether a process ends in time; waits on the process itself."""
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([handle], [], [], within)[0])
    finally:
        os.close(handle)


class Log:
    """Every message that passed between a client and its server, in order."""

    def __init__(self):
        self.sent, self.received = [], []

    def calls(self, tool):
        """Arguments of the calls of a tool, as sent."""
        return [
            message["params"]["arguments"]
            for message in self.sent
            if message.get("method") == "tools/call" and message["params"]["name"] == tool
        ]


@asynccontextmanager
async def tapped(parameters, log):
    """The SDK's stdio transport, overheard."""
    async with stdio_client(parameters) as (read, write):
        inward, heard = anyio.create_memory_object_stream(0)
        said, outward = anyio.create_memory_object_stream(0)

        async def relay(source, target, into):
            async with source, target:
                async for item in source:
                    if not isinstance(item, Exception):
                        into.append(item.message.model_dump(by_alias=True, exclude_unset=True))
                    try:
                        await target.send(item)
                    except (anyio.BrokenResourceError, anyio.ClosedResourceError):
                        return

        async with anyio.create_task_group() as group:
            group.start_soon(relay, read, inward, log.received)
            group.start_soon(relay, outward, write, log.sent)
            try:
                yield heard, said
            finally:
                await said.aclose()
                await heard.aclose()
                group.cancel_scope.cancel()


class Peer:
    """A connected client: calls give their text."""

    def __init__(self, client, log):
        self.client = client
        self.log = log

    async def call(self, tool, arguments, **options):
        """The whole result of a call that must not be refused."""
        result = await self.client.call_tool(tool, arguments, **options)
        assert not result.is_error, f"{tool} {arguments}: {result.content}"
        assert result.structured_content is None, result.structured_content
        return result

    async def text(self, tool, arguments=None, **options):
        """The text of a call that answers with text alone."""
        result = await self.call(tool, arguments or {}, **options)
        assert [block.type for block in result.content] == ["text"], result.content
        return result.content[0].text

    async def eval(self, code, **arguments):
        """What an eval answers; waited for as long as a call may, since machines can be busy."""
        return await self.text("eval", {"code": code, "timeout_ms": 50_000, **arguments})

    async def refused(self, tool, arguments):
        """The text of a call that must be refused."""
        result = await self.client.call_tool(tool, arguments)
        assert result.is_error, f"{tool} {arguments} went through: {result.content}"
        return result.content[0].text


class PeerTest(unittest.IsolatedAsyncioTestCase):
    """A test with a place of its own, run once for each era of the protocol."""

    mode: str

    def setUp(self):
        self.place = Place()
        self.addCleanup(self.place.leave)

    async def asyncSetUp(self):
        # unittest runs the loop in debug mode, which reports every slow moment of a busy machine.
        asyncio.get_running_loop().slow_callback_duration = DEADLINE

    @asynccontextmanager
    async def connect(self, mode=None, command=(STEAD, "mcp"), **options):
        """A client with a server of its own, both gone afterwards; options are those of the SDK's client."""
        mode, log = mode or self.mode, Log()
        transport = tapped(self.place.parameters(command), log)
        try:
            with anyio.fail_after(DEADLINE):
                async with Client(transport, mode=mode, **options) as client:
                    self.assertEqual(client.protocol_version, VERSIONS[mode])
                    yield Peer(client, log)
        except BaseExceptionGroup as group:
            # Task groups wrap what failed in them, once for each layer of the client.
            raise innermost(group) from None
        except TimeoutError:
            told = "\n".join(map(str, ["sent:", *log.sent, "received:", *log.received]))
            raise AssertionError(f"no end within {DEADLINE} s\n{told}") from None

    def assertEnds(self, text, pattern):
        """The line in brackets at the end of a reply."""
        last = text.splitlines()[-1]
        self.assertIsNotNone(re.fullmatch(rf"\[{pattern}\]", last), f"{last!r} in {text!r}")


def innermost(error):
    """The one failure in a group of groups."""
    while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    return error


def both_eras(cases):
    """Two test classes out of one with the cases."""
    module = sys.modules[cases.__module__]
    for mode, version in VERSIONS.items():
        name = f"{cases.__name__}_{version.replace('-', '_')}"
        made = type(name, (cases, PeerTest), {"mode": mode, "__module__": cases.__module__})
        setattr(module, name, made)
    return cases


