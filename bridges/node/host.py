"""The fake host for Node: the one of ../python/driver.py with another interpreter behind it."""
import os
import socket
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.join(os.path.dirname(HERE), "python"))

import driver  # noqa: E402
from driver import BridgeTest, Result, contents, merged  # noqa: E402,F401

NODES = os.environ.get("STEAD_TEST_NODES", "node").split(":")
NODE = os.environ.get("STEAD_NODE", NODES[-1])


BOOT = contents("node/boot.js").decode().strip()
BRIDGE = driver.bridge("NODE")


class Host(driver.Host):
    session = "js"

    def __init__(self, cwd=None, env=None):
        near, far = socket.socketpair()
        (stdin, self.stdin), (self.out, out), (self.err, err) = os.pipe(), os.pipe(), os.pipe()
        env = dict(os.environ, STEAD_BRIDGE_FD=str(far.fileno()), **(env or {}))
        self.process = subprocess.Popen(
            [NODE, "--no-force-async-hooks-checks", "-e", BOOT], stdin=stdin, stdout=out, stderr=err,
            pass_fds=[far.fileno()], cwd=cwd, env=env, start_new_session=True, preexec_fn=driver.standard_signals)
        for fd in (stdin, out, err):
            os.close(fd)
        far.close()
        self.control, self.inbox, self.count = near, b"", 0
        self.idle, self.nudging = Result(), False
        near.sendall(b"source %d\n" % len(BRIDGE) + BRIDGE)
        self.hello = self.pump(self.idle, lambda event: event["ev"] == "hello")

    def submit(self, code):
        self.count += 1
        self.send("eval %s:%d" % (self.session, self.count), code)
        return Result()

    def interrupt(self):
        self.send("interrupt %s:%d" % (self.session, self.count))

    def strike(self):
        """No signal: a thread of the bridge reads the line."""


class NodeTest(BridgeTest):
    def start(self, **options):
        host = Host(**options)
        self.addCleanup(host.close)
        return host
