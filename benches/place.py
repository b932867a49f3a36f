"""A place of its own for one run: directories, environment, every process; nothing of it is left afterwards."""

import json
import os
import shutil
import signal
import sys
import tempfile

import processes
from clients import BashFloor, Floor, Mcp

HERE = os.path.dirname(os.path.abspath(__file__))


class Missing(Exception):
    """Something that a measure needs is not on this machine."""


class Place:
    """State, runtime and workspace below one temporary directory. Use it in a `with`."""

    def __init__(self, stead):
        self.stead = os.path.abspath(stead)
        # Not a shim: it would cost more than what is measured.
        self.python = os.path.realpath(sys.executable) if sys.prefix == sys.base_prefix else sys.executable
        if not os.path.exists(os.path.join(os.path.dirname(self.python), "python3")):
            raise Missing(f"no `python3` beside {self.python}")
        self.root = tempfile.mkdtemp(prefix="stead-bench-")
        self.workspace = os.path.join(self.root, "workspace")
        os.makedirs(os.path.join(self.workspace, ".git"))
        self.children = []
        self.env = {
            # So that `python3` is for stead what it is for the floors.
            "PATH": f"{os.path.dirname(self.python)}:{os.environ.get('PATH', '/usr/bin:/bin')}",
            "HOME": os.environ.get("HOME", "/"),
            "LANG": "C.UTF-8",
            "TMPDIR": self.root,
            "STEAD_STATE_DIR": os.path.join(self.root, "state"),
            "STEAD_RUNTIME_DIR": os.path.join(self.root, "run"),
        }

    def __enter__(self):
        os.chdir(self.workspace)
        signal.signal(signal.SIGTERM, _stop)
        signal.signal(signal.SIGHUP, _stop)
        return self

    def __exit__(self, *_error):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        os.chdir("/")
        self.reset()
        self.end_processes()
        shutil.rmtree(self.root, ignore_errors=True)
        signal.signal(signal.SIGINT, signal.default_int_handler)

    def reset(self):
        """Ends all clients and sessions."""
        for child in self.children:
            child.close()
        self.children.clear()
        self.stop_all()

    def end_processes(self):
        """Kills whatever still has this run's directory in its environment."""
        mark = f"STEAD_STATE_DIR={self.env['STEAD_STATE_DIR']}".encode()
        for entry in os.listdir("/proc"):
            if not entry.isdigit() or int(entry) == os.getpid():
                continue
            try:
                with open(f"/proc/{entry}/environ", "rb") as file:
                    ours = mark in file.read().split(b"\0")
                if ours:
                    print(f"bench: process {entry} was left and is killed", file=sys.stderr)
                    os.kill(int(entry), signal.SIGKILL)
            except OSError:
                pass

    def program(self, name):
        """Where a program of the PATH is."""
        found = shutil.which(name, path=self.env["PATH"])
        if not found:
            raise Missing(f"no `{name}` on the PATH")
        return os.path.realpath(found)

    def keep(self, client):
        """Remembers a client, so that it is ended with the run."""
        self.children.append(client)
        return client

    def drop(self, client):
        """Ends a client before the run's end."""
        self.children.remove(client)
        client.close()

    def python_floor(self, stdout=None):
        argv = [self.python, os.path.join(HERE, "floor.py")]
        return self.keep(Floor(processes.Child(argv, self.env, answers=3, stdout=stdout)))

    def node_floor(self):
        argv = [self.program("node"), os.path.join(HERE, "floor.js")]
        return self.keep(Floor(processes.Child(argv, self.env, answers=3)))

    def bash_floor(self):
        argv = [self.program("bash"), os.path.join(HERE, "floor.bash")]
        return self.keep(BashFloor(processes.Child(argv, self.env, answers=3)))

    def mcp(self):
        """A server of stead that has shaken hands."""
        return self.keep(Mcp(processes.Child([self.stead, "mcp"], self.env)))

    def command(self, *arguments):
        """Runs a stead command and gives its data."""
        _, output, status = processes.timed([self.stead, *arguments, "--json"], self.env)
        answer = json.loads(output)
        if status or not answer["ok"]:
            raise RuntimeError(f"stead {' '.join(arguments)}: {output.decode()}")
        return answer["data"]

    def eval(self, name, language, code):
        """Runs code in a session by the command line, starting it if there is none; the result's data."""
        return self.command("eval", "-n", name, "-l", language, code)

    def stop(self, name):
        self.command("stop", "-n", name)

    def stop_all(self):
        """Ends all sessions of this run."""
        processes.timed([self.stead, "stop", "--all", "--workspace", self.workspace], self.env)


def _stop(number, _frame):
    """Ends the run as Ctrl-C does."""
    raise KeyboardInterrupt
