#!/usr/bin/env python3
"""Many sessions and runs through one MCP server with few descriptors (SPEC S-12, H-2).

    tests/stress/disk.py [--sessions N] [--runs N] [--files N] [--language L] [STEAD]

Opens and stops N sessions and makes N runs, one after the other, and prints what the state directory
takes, how many descriptors the server has, and what `ls --all` costs, at 64 sessions and at the end.
It fails if a call fails or if more stays on disk than S-12 allows. `--language python` is slower.
"""

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

KEPT_SESSIONS, KEPT_RUNS = 64, 16


class Server:
    """A `stead mcp` that may have `files` descriptors."""

    def __init__(self, stead, env, workspace, files):
        def few():
            resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))

        self.process = subprocess.Popen(
            [stead, "mcp"], env=env, cwd=workspace, stdin=subprocess.PIPE, stdout=subprocess.PIPE, preexec_fn=few
        )
        self.last = 0
        client = {"name": "stress", "version": "1"}
        self.ask("initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client})
        self.write({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def write(self, message):
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()

    def ask(self, method, params):
        self.last += 1
        self.write({"jsonrpc": "2.0", "id": self.last, "method": method, "params": params})
        while True:
            answer = json.loads(self.process.stdout.readline())
            if answer.get("id") == self.last:
                return answer["result"]

    def call(self, tool, **arguments):
        result = self.ask("tools/call", {"name": tool, "arguments": arguments})
        text = result["content"][0]["text"]
        if result.get("isError"):
            sys.exit(f"{tool} {arguments}: {text}")
        return text

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))

    def end(self):
        self.process.stdin.close()
        self.process.wait()


def used(state):
    """Bytes on disk, files and directories of sessions."""
    size = files = sessions = 0
    for place, dirs, names in os.walk(state):
        if Path(place).parent.name == "sessions":
            sessions += len(dirs)
        for name in names:
            size += os.lstat(os.path.join(place, name)).st_blocks * 512
        files += len(names) + len(dirs)
    return size, files, sessions


def cost_of_list(stead, env, workspace):
    """Milliseconds of `ls --all`, the best of five."""
    times = []
    for _ in range(5):
        begin = time.monotonic()
        subprocess.run([stead, "ls", "--all"], env=env, cwd=workspace, stdout=subprocess.DEVNULL, check=True)
        times.append(time.monotonic() - begin)
    return min(times) * 1000


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sessions", type=int, default=3000)
    parser.add_argument("--runs", type=int, default=3000)
    parser.add_argument("--files", type=int, default=256)
    parser.add_argument("--language", default="bash")
    target = os.environ.get("CARGO_TARGET_DIR") or Path(__file__).resolve().parents[2] / "target"
    parser.add_argument("stead", nargs="?", type=os.path.abspath, default=os.path.join(target, "dist/stead"), help="by default what ./dist built")
    options = parser.parse_args()
    place = Path(tempfile.mkdtemp(prefix="stead-stress-"))
    workspace, state = place / "ws", place / "state"
    workspace.mkdir()
    env = {
        "HOME": str(place), "PATH": os.environ["PATH"], "LANG": "C.UTF-8",
        "STEAD_STATE_DIR": str(state), "STEAD_RUNTIME_DIR": str(place / "run"),
    }
    server = Server(options.stead, env, workspace, options.files)

    def report(what):
        size, files, sessions = used(state)
        listed = cost_of_list(options.stead, env, workspace)
        print(f"{what:<16} {sessions:5} kept  {files:6} files  {size / 1e6:7.2f} MB  "
              f"{server.descriptors():4} descriptors  ls --all {listed:6.1f} ms", flush=True)
        return sessions

    begin = time.monotonic()
    for number in range(options.sessions):
        # Each ends by itself, so that it stays in the list as an ended one.
        name = f"s{number}"
        server.call("eval", code="echo $((40 + 2))" if options.language == "bash" else "40 + 2",
                    session=name, language=options.language)
        server.call("control", target=name, action="kill")
        if number + 1 == KEPT_SESSIONS:
            report(f"{KEPT_SESSIONS} sessions")
    kept = report(f"{options.sessions} sessions")
    most = min(options.sessions, KEPT_SESSIONS)
    for _ in range(options.runs):
        server.call("eval", code="true" if options.language == "bash" else "1", fresh=True, language=options.language)
    all_kept = report(f"{options.runs} runs")
    server.end()
    print(f"{time.monotonic() - begin:.0f} s")
    shutil.rmtree(place)
    if kept > most or all_kept > most + KEPT_RUNS:
        sys.exit("more sessions stay than S-12 allows")


if __name__ == "__main__":
    main()
