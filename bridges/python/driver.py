"""The fake host: plays the Rust side to a bridge, here to the one that runs in the Python under test."""
import ctypes
import fcntl
import json
import os
import re
import select
import signal
import socket
import subprocess
import sys
import termios
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
BRIDGES = os.path.dirname(HERE)
GOLDEN = os.path.join(BRIDGES, "golden")
DEADLINE = float(os.environ.get("STEAD_DEADLINE", "20"))
# Numbers of system calls, as /proc/PID/syscall shows them.
CALLS = {
    "x86_64": {"read": 0, "write": 1, "rt_sigaction": 13, "epoll_wait": 232},
    "aarch64": {"read": 63, "write": 64, "rt_sigaction": 134, "epoll_wait": 22},
}[os.uname().machine]


def contents(path):
    with open(os.path.join(BRIDGES, path), "rb") as file:
        return file.read()


def bridge(name):
    """The text that lib.rs embeds: the same files and the texts between them in the same order, read from there."""
    listed = re.search(r"const %s: &str = concat!\((.*?)\n\);" % name, contents("lib.rs").decode(), re.DOTALL).group(1)
    parts = re.findall(r'^ +(?:include_str!\("([^"]+)"\)|"([^"]*)"),$', listed, re.MULTILINE)
    return b"".join(contents(path) if path else text.replace("\\n", "\n").encode() for path, text in parts)


# As it is written; the product sends it without comments (boot.rs).
BOOT = "exec(%r, {'__name__': 'stead'})" % contents("python/boot.py").decode()
BRIDGE = bridge("PYTHON")


def standard_signals():
    """As the host starts interpreters: what whoever runs the tests ignores (`nohup`, a job in the background) is not
    inherited. A shell could never catch a signal that it was started with ignored."""
    for number in signal.Signals:
        try:
            signal.signal(number, signal.SIG_DFL)
        except (OSError, ValueError):  # SIGKILL and SIGSTOP
            pass
    signal.pthread_sigmask(signal.SIG_SETMASK, [])


class Result:
    def __init__(self):
        self.order = []   # ("out", text), ("err", text) and ("value", text) as they came
        self.events = []
        self.done = None

    def stream(self, name):
        return "".join(text for kind, text in self.order if kind == name)

    out = property(lambda self: self.stream("out"))
    err = property(lambda self: self.stream("err"))
    status = property(lambda self: self.done and self.done["status"])
    changed = property(lambda self: (self.done or {}).get("changed", {}))

    def event(self, name):
        return next((e for e in self.events if e["ev"] == name), None)

    @property
    def value(self):
        event = self.event("value")
        return event and event["text"]

    @property
    def error(self):
        return (self.event("error") or {}).get("name")

    @property
    def traceback(self):
        return (self.event("error") or {}).get("traceback", "")


class Pipes:
    """Two pipes that can be used like a socket."""

    def __init__(self, hears, says):
        self.hears, self.says = hears, says

    def fileno(self):
        return self.hears

    def recv(self, size):
        return os.read(self.hears, size)

    def sendall(self, data):
        while data:
            data = data[os.write(self.says, data):]

    def close(self):
        for fd in (self.hears, self.says):
            os.close(fd)


class Host:
    """What the Rust host does, in short: spawn, pump, drain on done, ack."""

    argv, bridge, session = [sys.executable, "-c", BOOT], BRIDGE, "py"
    pipes = True  # or one socket for both directions
    nest = None  # or the descriptor that copies of the interpreter come on: what the bridge has at its other end
    reads_output = True  # or only when a bridge waits for that, which is then sure to happen

    def __init__(self, cwd=None, env=None, code=None, python=None):
        if self.pipes:
            (hears, says), (hears_far, says_far) = os.pipe(), os.pipe()
            near, far = Pipes(hears, says_far), Pipes(hears_far, says)
        else:
            near, far = socket.socketpair()
        (stdin, self.stdin), (self.out, out), (self.err, err) = os.pipe(), os.pipe(), os.pipe()
        # Whoever runs the tests may have set that nothing is buffered, which the session would keep to.
        inherited = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
        env = dict(inherited, STEAD_BRIDGE_FD=str(far.fileno()), **(env or {}))
        if self.pipes:
            env["STEAD_BRIDGE_OUT"] = str(far.says)
        if self.nest is not None:
            env["STEAD_NEST_FD"] = str(self.nest)
        passed = [far.fileno(), *([far.says] if self.pipes else []), *([self.nest] if self.nest is not None else [])]
        self.process = subprocess.Popen(
            [python or self.argv[0], *self.argv[1:]], stdin=stdin, stdout=out, stderr=err, pass_fds=passed,
            cwd=cwd, env=env, start_new_session=True, preexec_fn=standard_signals)
        for fd in (stdin, out, err):
            os.close(fd)
        far.close()
        self.control, self.inbox, self.count = near, b"", 0
        self.idle = Result()
        self.nudging = False
        near.sendall(b"code %d\n" % len(code) + code if code else b"source %d\n" % len(self.bridge) + self.bridge)
        self.hello = self.pump(self.idle, lambda event: event["ev"] == "hello")

    def close(self):
        self.control.close()
        for fd in (self.stdin, self.out, self.err):
            try:
                os.close(fd)
            except OSError:
                pass
        try:
            self.process.wait(DEADLINE)
        except subprocess.TimeoutExpired:
            pass
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()

    def send(self, head, payload=""):
        payload = payload.encode() if isinstance(payload, str) else payload
        self.control.sendall(("%s %d\n" % (head, len(payload))).encode() + payload)

    def drain(self, result):
        for name, fd in (("out", self.out), ("err", self.err)):
            waiting = int.from_bytes(fcntl.ioctl(fd, termios.FIONREAD, bytes(4)), sys.byteorder)
            while waiting:
                data = os.read(fd, waiting)
                waiting -= len(data)
                result.order.append((name, data.decode("utf-8", "surrogateescape")))

    def handle(self, line, result):
        event = json.loads(line.decode("utf-8"))
        if event["ev"] == "sync":
            self.drain(result)
            self.control.sendall(b"ack 0\n")
            return event
        result.events.append(event)
        if event["ev"] in ("value", "display", "background", "done"):
            self.drain(result)
        if event["ev"] == "value":
            result.order.append(("value", event["text"]))
        if event["ev"] == "display":
            result.order.append(("display", event["mime"]))
        if event["ev"] == "background":
            result.order.append(("background", event["text"]))
        if event.get("ack"):
            self.control.sendall(b"ack 0\n")
        if event["ev"] == "done":
            result.done = event
        return event

    def pump(self, result, until, deadline=DEADLINE):
        """Reads until an event for which `until` holds; None when the interpreter has ended."""
        end = time.monotonic() + deadline
        fds = [self.control, self.out, self.err] if self.reads_output else [self.control]
        while True:
            while b"\n" in self.inbox:
                line, _, self.inbox = self.inbox.partition(b"\n")
                event = self.handle(line, result)
                if until(event):
                    return event
            left = max(end - time.monotonic(), 0)
            ready = select.select(fds, [], [], min(left, 0.05) if self.nudging else left)[0]
            if not ready and self.nudging and left:
                self.nudge()
                continue
            if not ready:
                raise AssertionError("no event in time; so far %r %r" % (result.order, result.events))
            for fd in ready:
                if fd is self.control:
                    try:
                        data = self.control.recv(1 << 16)
                    except ConnectionError:
                        data = b""
                    self.inbox += data
                    if not data:
                        fds.remove(fd)
                else:
                    data = os.read(fd, 1 << 16)
                    if not data:
                        fds.remove(fd)
                    else:
                        name = "out" if fd == self.out else "err"
                        result.order.append((name, data.decode("utf-8", "surrogateescape")))
            if not fds:
                return None

    def pump_until_text(self, result, text):
        """Reads until the output holds the text; for output without an event."""
        end = time.monotonic() + DEADLINE
        while True:
            while b"\n" in self.inbox:
                line, _, self.inbox = self.inbox.partition(b"\n")
                self.handle(line, result)
            if text in "".join(t for _, t in result.order):
                return
            self.pump_once(result, end)

    def pump_once(self, result, end):
        ready = select.select([self.control, self.out, self.err], [], [], max(end - time.monotonic(), 0))[0]
        if not ready:
            raise AssertionError("no output in time; so far %r %r" % (result.order, result.events))
        if self.control in ready:
            self.inbox += self.control.recv(1 << 16)
        for name, fd in (("out", self.out), ("err", self.err)):
            if fd in ready:
                result.order.append((name, os.read(fd, 1 << 16).decode("utf-8", "surrogateescape")))

    def submit(self, code):
        self.count += 1
        self.send("eval %s:%d" % (self.session, self.count), code)
        return Result()

    def finish(self, result):
        self.pump(result, lambda event: event["ev"] == "done")
        self.nudging = False
        return result

    def eval(self, code, answers=()):
        result = self.submit(code)
        for answer in answers:
            self.wait_input(result)
            self.write(answer)
        return self.finish(result)

    def wait_input(self, result):
        event = self.pump(result, lambda event: event["ev"] in ("stdin_wait", "done"))
        if event is None or event["ev"] != "stdin_wait":
            raise AssertionError("it did not wait for input: %r %r" % (result.order, result.events))
        self.drain(result)
        return event

    def write(self, text):
        os.write(self.stdin, text.encode())

    def wait_for_call(self, name, descriptor):
        """Waits until the main thread is blocked in a `read` or `write` of a descriptor, as the host finds out."""
        end, wanted = time.monotonic() + DEADLINE, [b"%d" % CALLS[name], b"0x%x" % descriptor]
        while contents("/proc/%d/syscall" % self.process.pid).split()[:2] != wanted:
            if time.monotonic() > end:
                raise AssertionError("no %s of descriptor %d" % (name, descriptor))

    def wait_idle(self):
        """Waits until the main thread reads the control channel. A signal that comes just before that is pending, as in any
        Python, until something comes on the channel."""
        end = time.monotonic() + DEADLINE
        while True:
            name, descriptor = [*contents("/proc/%d/syscall" % self.process.pid).split(), b"-1", b"0"][:2]
            if name == b"%d" % CALLS["read"] and int(descriptor, 16) > 2:
                return
            if time.monotonic() > end:
                raise AssertionError("the bridge does not wait for a command")

    def wait_in_loop(self):
        """The same where the session has an asyncio loop, in which the main thread then waits."""
        end = time.monotonic() + DEADLINE
        while contents("/proc/%d/syscall" % self.process.pid).split()[0] != b"%d" % CALLS["epoll_wait"]:
            if time.monotonic() > end:
                raise AssertionError("the bridge does not wait in its loop")

    def interrupt(self):
        self.signal_main(signal.SIGINT)
        self.nudging = True

    def signal_main(self, number):
        """To the main thread, as the host does. A signal to the process may go to another thread, which on a busy machine takes
        it when the next eval runs."""
        if ctypes.CDLL(None).tgkill(self.process.pid, self.process.pid, number) != 0:
            raise ProcessLookupError(self.process.pid)

    def strike(self):
        """What belongs to an interrupt beside the line that names the eval."""
        self.interrupt()

    def nudge(self):
        self.signal_main(signal.SIGWINCH)

    def ask(self, head, payload=""):
        self.send(head, payload)
        return self.pump(self.idle, lambda event: event["ev"] == "reply")

    def wait_end(self, result):
        self.pump(result, lambda event: False)
        return self.process.wait(DEADLINE)


class BridgeTest(unittest.TestCase):
    def start(self, **options):
        host = Host(**options)
        self.addCleanup(host.close)
        return host

    def ok(self, host, code, value=None, out="", answers=()):
        result = host.eval(code, answers)
        self.assertEqual(result.status, "ok", (code, result.order, result.events))
        self.assertEqual(result.value, value, code)
        self.assertEqual(result.out, out, code)
        return result

    def begin_work(self, host, what, *lines):
        """Begins work that is no code of the user's; its result is still to come."""
        host.count += 1
        host.send("work %s:%d %s" % (host.session, host.count, what), "\n".join(lines))
        return Result()

    def work(self, host, what, *lines):
        return host.finish(self.begin_work(host, what, *lines))

    def definitions(self, host, text):
        answer = host.ask("query 1 definitions", text)
        return answer["data"]["definitions"] if "data" in answer else answer["error"]

    def replay(self, host, path):
        """Says a golden transcript's part of the host, and checks that the bridge says its own."""
        with open(path, encoding="utf-8") as file:
            lines = [json.loads(line) for line in file]
        host.reads_output, said = False, [host.hello]
        for number, line in enumerate(lines):
            place = "%s:%d" % (os.path.basename(path), number + 1)
            if "host" in line:
                if line["host"] == "ack 0\n":
                    continue  # the driver acks by itself
                host.control.sendall(line["host"].encode())
                if line["host"].startswith("interrupt "):
                    host.strike()
                continue
            if line["bridge"]["ev"] == "restored":
                said = [host.restored()]
            # A bridge that interrupts by itself need not say so where the end follows at once, but on a busy machine it may.
            may_say = line["bridge"]["ev"] == "interrupted"
            event = dict(said.pop() if said else host.pump(host.idle, lambda event, may_say=may_say: may_say or event["ev"] != "interrupted"))
            for key, value in line["bridge"].items():
                if value == "*" and key in event:
                    event[key] = "*"
            self.assertEqual(event, line["bridge"], place)
            host.nudging = host.nudging and event["ev"] != "done"

    def fails(self, host, code, name):
        result = host.eval(code)
        self.assertEqual((result.status, result.error), ("error", name), (code, result.events))
        self.assertNotIn("<stead>", result.traceback)
        return result


def merged(order):
    """Neighbours of one kind joined, since a pipe keeps no write boundaries."""
    result = []
    for kind, text in order:
        if kind != "value" and result and result[-1][0] == kind:
            result[-1] = (kind, result[-1][1] + text)
        elif text:
            result.append((kind, text))
    return result
