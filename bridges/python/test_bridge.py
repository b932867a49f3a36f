"""Tests of the Python bridge alone: this file plays the host, in the Python under test.

Run:    PYTHON bridges/python/test_bridge.py   (STEAD_INTERRUPTS=10000 for the long storm)
Names:  each test names the item of SPEC.md that it holds to.
"""
import fcntl
import glob
import json
import os
import random
import select
import signal
import socket
import subprocess
import sys
import tempfile
import termios
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
GOLDEN = os.path.join(HERE, "..", "golden")
with open(os.path.join(HERE, "boot.py")) as file:
    BOOT = file.read().strip()
with open(os.path.join(HERE, "bridge.py"), "rb") as file:
    BRIDGE = file.read()
DEADLINE = float(os.environ.get("STEAD_DEADLINE", "20"))


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


class Host:
    """What the Rust host does, in short: spawn, pump, drain on done, ack."""

    def __init__(self, cwd=None, env=None, code=None):
        near, far = socket.socketpair()
        (stdin, self.stdin), (self.out, out), (self.err, err) = os.pipe(), os.pipe(), os.pipe()
        env = dict(os.environ, STEAD_BRIDGE_FD=str(far.fileno()), **(env or {}))
        self.process = subprocess.Popen(
            [sys.executable, "-c", BOOT], stdin=stdin, stdout=out, stderr=err, pass_fds=[far.fileno()],
            cwd=cwd, env=env, start_new_session=True)
        for fd in (stdin, out, err):
            os.close(fd)
        far.close()
        self.control, self.inbox, self.count = near, b"", 0
        self.idle = Result()
        self.nudging = False
        near.sendall(b"code %d\n" % len(code) + code if code else b"source %d\n" % len(BRIDGE) + BRIDGE)
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
        result.events.append(event)
        if event["ev"] in ("value", "done"):
            self.drain(result)
        if event["ev"] == "value":
            result.order.append(("value", event["text"]))
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
        fds = [self.control, self.out, self.err]
        while True:
            while b"\n" in self.inbox:
                line, _, self.inbox = self.inbox.partition(b"\n")
                event = self.handle(line, result)
                if until(event):
                    return event
            left = max(end - time.monotonic(), 0)
            ready = select.select(fds, [], [], min(left, 0.05) if self.nudging else left)[0]
            if not ready and self.nudging and left:
                os.kill(self.process.pid, signal.SIGWINCH)
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
        self.send("eval py:%d" % self.count, code)
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

    def interrupt(self):
        os.kill(self.process.pid, signal.SIGINT)
        self.nudging = True

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

    def fails(self, host, code, name):
        result = host.eval(code)
        self.assertEqual((result.status, result.error), ("error", name), (code, result.events))
        self.assertNotIn("stead", result.traceback)
        return result


class Evals(BridgeTest):
    def test_py1_nothing_runs_if_anything_fails_to_compile(self):
        host = self.start()
        for code in ("a = 1\n(", "a = 1\nx = 'abc", "a = 1\n@deco", " a = 1", "a = 1\nreturn 5", "a = 1\nyield 5", "a = 1\n(yield)",
                     "a = 1\nlambda: (yield)\nbreak"):
            result = host.eval(code)
            self.assertEqual(result.status, "error", code)
            self.assertIn(result.error, ("SyntaxError", "IndentationError"), code)
            self.assertNotIn("Traceback", result.traceback, code)
            self.assertIn("<py:%d>" % host.count, result.traceback)
            self.ok(host, "'a' in globals()", "False")
        self.fails(host, "return 5", "SyntaxError")
        self.ok(host, "import sys; sys.last_traceback is None, sys.last_type.__name__", "(True, 'SyntaxError')")

    def test_py2_the_last_expression_is_shown_through_the_displayhook(self):
        host = self.start()
        self.ok(host, "1+1", "2")
        self.ok(host, "_ + 1", "3")
        self.ok(host, "None")
        self.ok(host, "5\nx = 1")
        self.ok(host, "6;7", "7")
        self.ok(host, "2", "2")
        for nothing in ("", "\n", "  \n\n", "# only a comment", "pass"):
            self.ok(host, nothing)
        self.ok(host, "x = [\n\n1,\r\n2]\r\nx", "[1, 2]")
        self.ok(host, "'''a\n\nb'''", "'a\\n\\nb'")
        self.ok(host, "import sys\nsys.displayhook = lambda v: print('mine', v)\n3", None, "mine 3\n")
        self.ok(host, "None", None, "mine None\n")
        self.ok(host, "del sys.displayhook")
        self.ok(host, "4", "4")
        self.ok(host, "sys.displayhook = None")
        self.ok(host, "4", "4")

    def test_py2_a_value_shown_on_the_way_keeps_its_place(self):
        host = self.start()
        result = host.eval("import sys\nfor i in range(20):\n    print('a', i)\n    sys.displayhook(i)\n    print('b', i, file=sys.stderr)\n'end'")
        expected = []
        for i in range(20):
            expected += [("out", "a %d\n" % i), ("value", str(i)), ("err", "b %d\n" % i)]
        self.assertEqual(merged(result.order), merged(expected + [("value", "'end'")]))

    def test_py4_top_level_await_and_background_tasks(self):
        host = self.start()
        self.ok(host, "import asyncio\nawait asyncio.sleep(0)\nx = 5\nawait asyncio.sleep(0, x)", "5")
        self.ok(host, "ticks = []\nasync def tick():\n    while True:\n        ticks.append(1)\n        await asyncio.sleep(0.001)\nt = asyncio.ensure_future(tick())\nawait asyncio.sleep(0)")
        self.ok(host, "async def late():\n    await asyncio.sleep(0.05)\n    print('late', len(ticks) > 5)\nu = asyncio.ensure_future(late())\nawait asyncio.sleep(0)")
        host.pump_until_text(host.idle, "late True\n")
        self.ok(host, "t.cancel()\nasync def main(): return 7\nasyncio.run(main())", "7")
        self.ok(host, "await main()", "7")
        result = self.fails(host, "async def bad():\n    1/0\nawait bad()", "ZeroDivisionError")
        self.assertNotIn("asyncio", result.traceback)
        self.ok(host, "t = asyncio.create_task(main())\nawait t", "7")
        self.ok(host, "async with asyncio.Lock(): y = 1\n[i async for i in agen()] if 0 else y", "1")
        self.ok(host, "async def quit_(): raise SystemExit(3)\nz = asyncio.ensure_future(asyncio.sleep(0))\nz.add_done_callback(lambda f: exit(3))\n")
        self.ok(host, "1", "1")

    def test_py4_an_await_can_be_interrupted(self):
        host = self.start()
        for code in ("import asyncio\nprint('up')\nawait asyncio.sleep(100)", "print('up')\nasync def f():\n    while True: pass\nawait f()",
                     "async def g():\n    print('up')\n    while True: pass\nt = asyncio.ensure_future(g())\nawait asyncio.sleep(100)"):
            result = host.submit(code)
            host.pump_until_text(result, "up\n")
            host.interrupt()
            host.finish(result)
            self.assertEqual((result.status, result.error), ("interrupted", "KeyboardInterrupt"), (code, result.events))
            self.assertNotIn("stead", result.traceback)
        self.ok(host, "await asyncio.sleep(0, 3)", "3")

    def test_py5_future_imports_persist_unless_the_code_failed_to_compile(self):
        host = self.start()
        host.eval("from __future__ import annotations\nreturn 5")
        self.ok(host, "def f(a: int): pass\nf.__annotations__", "{'a': <class 'int'>}")
        self.ok(host, "from __future__ import annotations\n1", "1")
        self.ok(host, "def f(a: int): pass\nf.__annotations__", "{'a': 'int'}")
        self.assertEqual(host.ask("clear 1")["data"], {})
        self.ok(host, "def f(a: int): pass\nf.__annotations__", "{'a': <class 'int'>}")

    def test_py6_whatever_the_user_breaks_the_next_eval_works(self):
        host = self.start()
        for code in ("ast = globals = compile = tuple = list = len = 3", "import builtins\nbuiltins.repr = None\nbuiltins.print = None",
                     "import sys\nsys.stdout = None", "sys.stderr = None; sys.stdin = None", "import os\nos.read = os.write = None",
                     "for name in list(vars(builtins)):\n    if name not in ('__import__', '__build_class__', 'KeyError'): setattr(builtins, name, None)",
                     "import os; os.close(0); os.close(1); os.close(2)", "sys.stdout.close(); sys.stderr.close(); sys.stdin.close()",
                     "import signal, io\nsignal.signal = None\nio.TextIOWrapper = None", "sys.path = None",
                     "del sys.stdout, sys.stderr, sys.stdin", "sys.excepthook = sys.displayhook = 5\nsys.displayhook = None",
                     "import traceback\ntraceback.format_exception = None", "sys.setrecursionlimit(60)", "sys.setrecursionlimit(3000)",
                     "sys.modules.clear()"):
            host.eval(code)
            self.ok(host, "[1, 2]", "[1, 2]")
            result = host.eval("import os\nos.system('echo hi')\n1/0")
            self.assertEqual(result.status, "error")
        host = self.start()
        self.ok(host, "import os; os.close(0); os.close(1); os.close(2)")
        self.ok(host, "print('back'); os.system('echo child; echo err >&2')", "0", "back\nchild\n")
        self.ok(host, "input()", "'x'", answers=["x\n"])
        self.ok(host, "import sys, io\nsys.stdout = io.StringIO()\nprint('x')")
        self.ok(host, "sys.stdout.getvalue()", "'x\\n'")

    def test_py6_modules_in_cwd_are_the_users(self):
        with tempfile.TemporaryDirectory() as folder:
            for name in ("json", "ast", "linecache", "traceback", "fcntl", "time_", "asyncio", "inspect", "tokenize", "types"):
                with open(os.path.join(folder, name + ".py"), "w") as file:
                    file.write("print('loaded %s')\nmine = 1\n" % name)
            if sys.version_info >= (3, 13):  # `python -c` itself imports linecache from cwd
                os.remove(os.path.join(folder, "linecache.py"))
            host = self.start(cwd=folder)
            self.ok(host, "import json, ast\njson.mine, ast.mine", "(1, 1)", "loaded json\nloaded ast\n")
            self.assertIn("ZeroDivisionError", self.fails(host, "1/0", "ZeroDivisionError").traceback)
            self.assertEqual(host.ask("query 1 inspect", "len")["data"]["type"], "builtin_function_or_method")
            host = self.start(cwd=folder)
            self.ok(host, "import traceback\ntraceback.mine", "1", "loaded traceback\n")
            self.assertIn('File "<py:2>", line 1', self.fails(host, "1/0", "ZeroDivisionError").traceback)
            host = self.start(env={"PYTHONPATH": folder})
            self.fails(host, "1/0", "ZeroDivisionError")

    def test_py6_the_namespace_is_the_users(self):
        host = self.start()
        names = {"__name__", "__doc__", "__package__", "__loader__", "__spec__", "__builtins__"}
        self.assertEqual(set(eval(host.eval("sorted(globals())").value)), names)
        self.ok(host, "import os\n'STEAD_BRIDGE_FD' in os.environ, __name__, '__file__' in globals()", "(False, '__main__', False)")
        self.ok(host, "import sys\nsys.argv, sys.path[0]", "([''], '')")

    def test_py7_tracebacks_show_user_code_only(self):
        host = self.start()
        self.ok(host, "def f(x):\n    return 1 / x")
        result = self.fails(host, "try:\n    f(0)\nexcept ZeroDivisionError as e:\n    raise ValueError('v') from e", "ValueError")
        self.assertIn('File "<py:1>", line 2, in f\n    return 1 / x\n', result.traceback)
        self.assertIn('File "<py:2>", line 4, in <module>\n    raise ValueError', result.traceback)
        result = self.fails(host, "open('nofile')", "FileNotFoundError")
        self.assertEqual(result.traceback.count("File "), 1)
        self.fails(host, "int('x')", "ValueError")
        self.ok(host, "import inspect\ninspect.getsource(f)", repr("def f(x):\n    return 1 / x\n"))
        self.ok(host, "import linecache; linecache.clearcache()")
        self.ok(host, "inspect.getsource(f)", repr("def f(x):\n    return 1 / x\n"))
        self.ok(host, "import traceback\ntry: f(0)\nexcept Exception: text = traceback.format_exc()\n'return 1 / x' in text and 'stead' not in text", "True")
        self.fails(host, "class E(Exception):\n    def __str__(self): 1/0\nraise E", "E")
        self.fails(host, "raise Exception('x' * 10**7)", "Exception")
        self.fails(host, "def r(): r()\nr()", "RecursionError")
        if sys.version_info >= (3, 11):
            self.fails(host, "raise ExceptionGroup('g', [ValueError(1), TypeError(2)])", "ExceptionGroup")

    def test_py7_the_first_use_of_traceback_by_the_user_finds_the_sources(self):
        host = self.start()
        result = host.eval("import traceback\ntry:\n    1/0\nexcept ZeroDivisionError:\n    traceback.print_exc()")
        self.assertIn("\n    1/0\n", result.err)

    def test_py7_pdb_lists_and_post_mortem_works(self):
        host = self.start()
        self.ok(host, "def f(x):\n    y = x + 1\n    return y / 0")
        self.fails(host, "f(3)", "ZeroDivisionError")
        result = host.eval("import pdb\npdb.pm()", ["p y\n", "l\n", "q\n"])
        self.assertEqual(result.status, "ok")
        self.assertIn("\n4\n", result.out.replace("(Pdb) ", "\n"))
        self.assertIn("return y / 0", result.out)

    def test_py8_hooks_and_last_exception(self):
        host = self.start()
        self.fails(host, "1/0", "ZeroDivisionError")
        self.ok(host, "import sys\nsys.last_type is type(sys.last_value) is ZeroDivisionError, sys.last_traceback.tb_frame.f_code.co_filename", "(True, '<py:1>')")
        if sys.version_info >= (3, 12):
            self.ok(host, "sys.last_exc is sys.last_value", "True")
        self.ok(host, "sys.excepthook = lambda t, v, tb: print('hook', t.__name__)")
        result = host.eval("1/0")
        self.assertEqual((result.out, result.error, result.status), ("hook ZeroDivisionError\n", "ZeroDivisionError", "error"))
        self.assertNotIn("traceback", result.event("error"))

    def test_py9_pickle_fork_and_pools(self):
        host = self.start()
        self.ok(host, "import pickle\nclass A: x = 1\ndef sq(x): return x * x\npickle.loads(pickle.dumps(A())).x, pickle.loads(pickle.dumps(sq)) is sq", "(1, True)")
        self.ok(host, "import multiprocessing as mp\nwith mp.get_context('fork').Pool(2) as pool: r = pool.map(sq, [1, 2, 3])\nr", "[1, 4, 9]")
        self.ok(host, "from concurrent.futures import ProcessPoolExecutor\nwith ProcessPoolExecutor(2, mp_context=mp.get_context('fork')) as p: r = list(p.map(sq, [1, 2]))\nr", "[1, 4]")
        result = host.eval("import os\npid = os.fork()\nif pid: os.waitpid(pid, 0)\nprint('parent' if pid else 'child')\n1/0 if not pid else 5")
        self.assertEqual((result.out, result.value), ("child\nparent\n", "5"))
        self.assertIn("ZeroDivisionError", result.err)
        self.ok(host, "pid = os.fork()\nif not pid: import sys; sys.exit(7)\nos.waitpid(pid, 0)[1] >> 8", "7")
        self.ok(host, "r, w = os.pipe()\npid = os.fork()\nif not pid:\n    x = input()\n    os.write(w, x.encode())\n    os._exit(0)\n1", "1")
        host.write("to the child\n")
        self.ok(host, "os.read(r, 100)", "b'to the child'")

    def test_py16_values(self):
        host = self.start()
        for text in ("[1, 2, 3]", "(1,)", "()", "{}", "set()", "{'a': [1, (2, {3})]}", "frozenset({1})", "b'x\\x00'", "'a\"b\\n'", "1.5", "[[], {}]", "'é☃😀'"):
            self.ok(host, text, repr(eval(text)))
        self.ok(host, "x = []; x.append(x); x", "[[...]]")
        self.ok(host, "d = {}; d[1] = (d,); d", "{1: ({...},)}")
        text = host.eval("list(range(10**7))").value
        self.assertTrue(text.startswith("[0, 1, 2, ") and text.endswith(", …, 9999999] (10000000 items)"), text[-80:])
        self.assertLess(len(text), 2100)
        for code in ("'x' * 10**7", "b'x' * 10**7", "{i: i for i in range(10**5)}", "set(range(10**5))", "[['y' * 5000] * 1000] * 1000", "10**100000", "10**3000",
                     "[[i] * 100 for i in range(1000)]", "bytearray(10**6)", "'\\U0010ffff' * 10**5", "'\\n' * 3000", "type('T', (), {'__repr__': lambda s: 'r' * 10**6})()"):
            result = host.eval(code)
            self.assertEqual(result.status, "ok")
            self.assertLess(len(result.value), 2200, code)
            self.assertIn("(", result.value)
        result = host.eval("class Foo:\n    def __repr__(self): raise ValueError('no')\nFoo()")
        self.assertEqual((result.status, result.value), ("ok", "<Foo object, repr raised ValueError: no>"))
        self.ok(host, "[Foo()]", "[<Foo object, repr raised ValueError: no>]")
        self.assertIn("TypeError", host.eval("class Bar:\n    def __repr__(self): return 5\nBar()").value)
        self.ok(host, "'\\ud800'", "'\\ud800'")
        self.ok(host, "type('S', (), {'__repr__': lambda s: '\\ud800'})()", "\\ud800")
        self.ok(host, "x = []\nfor i in range(100000): x = [x]")
        self.assertEqual(host.eval("x").status, "ok")

    def test_py18_extremes(self):
        host = self.start()
        self.assertEqual(host.eval("import sys\nsys.setrecursionlimit(5000)\ndef r(n): return r(n + 1)\nr(0)").error, "RecursionError")
        self.ok(host, "x = '" + "a" * (1 << 20) + "'\nlen(x)", str(1 << 20))
        self.assertIn(host.eval("x = 1\0").error, ("ValueError", "SyntaxError"))
        self.assertIn(host.eval("(" * 5000 + ")" * 5000).error, ("MemoryError", "SyntaxError", "RecursionError"))
        self.assertEqual(host.eval("-" * 3000 + "1").status in ("ok", "error"), True)
        self.fails(host, "print('\\ud800')", "UnicodeEncodeError")
        result = self.ok(host, "class D:\n    def __del__(self): 1/0\nd = D()\ndel d\n3", "3")
        self.assertIn("ZeroDivisionError", result.err)
        self.fails(host, "raise MemoryError", "MemoryError")
        self.fails(host, "bytearray(1 << 60)", "MemoryError")
        self.ok(host, "'\\0'", repr("\0"))


class Output(BridgeTest):
    def test_o2_random_interleavings_of_both_streams_arrive_in_order(self):
        host, dice = self.start(), random.Random(7)
        host.eval("import sys")
        for _ in range(200):
            plan = [(dice.choice(("out", "err")), "%d%s" % (i, dice.choice(("\n", "", "x" * 3000 + "\n")))) for i in range(dice.randrange(8))]
            code = "".join("sys.std%s.write(%r)\n" % item for item in plan)
            self.assertEqual(merged(host.eval(code + "None").order), merged(plan))

    def test_streams_look_like_pythons_own(self):
        host = self.start()
        self.ok(host, "import sys, io\n[isinstance(s, io.TextIOBase) for s in (sys.stdin, sys.stdout, sys.stderr)], sys.stdout.isatty(), sys.stdin.isatty()", "([True, True, True], False, False)")
        self.ok(host, "sys.stdout.name, sys.stdin.name, sys.stderr.name, sys.stdout.fileno(), sys.stdin.fileno(), sys.stderr.fileno()", "('<stdout>', '<stdin>', '<stderr>', 1, 0, 2)")
        self.ok(host, "sys.stdout.reconfigure(encoding='utf-8', line_buffering=True); sys.stdout.encoding", "'utf-8'")
        self.ok(host, "sys.stdout.writelines(['a', 'b\\n']); sys.stdout.writable(), sys.stdin.readable(), sys.stdout.seekable()", "(True, True, False)", "ab\n")
        self.ok(host, "sys.stdout.write('x\\r\\n')", "3", "x\r\n")
        self.ok(host, "sys.stdout.buffer.write(b'\\xff')", "1", "\udcff")
        self.fails(host, "sys.stdout.write(5)", "TypeError")

    def test_py14_threads_of_earlier_evals_print_in_the_background(self):
        host = self.start()
        self.ok(host, "import threading, sys\ngo = threading.Event()\ndef work():\n    print('early')\n    up.set()\n    go.wait()\n    print('late')\n    print('error', file=sys.stderr)\n    done.set()\nup = threading.Event(); done = threading.Event()\nthreading.Thread(target=work).start()\nup.wait()", "True", "early\n")
        result = self.ok(host, "go.set(); done.wait(); print('mine')", None, "mine\n")
        late = [e for e in result.events if e["ev"] == "background"]
        self.assertEqual({e["eval"] for e in late}, {"py:1"})
        self.assertEqual("".join(e["text"] for e in late if e["stream"] == "out"), "late\n")
        self.assertEqual("".join(e["text"] for e in late if e["stream"] == "err"), "error\n")
        self.ok(host, "go = threading.Event()\nthreading.Thread(target=lambda: (go.wait(), print('idle'))).start()")
        self.ok(host, "threading.Timer(0.02, go.set).start()")
        host.pump_until_text(host.idle, "idle")
        event = [e for e in host.idle.events if e["ev"] == "background"][0]
        self.assertEqual((event["eval"], event["stream"]), ("py:3", "out"))
        result = self.ok(host, "t = threading.Thread(target=lambda: print('now')); t.start(); t.join()", None, "now\n")

    def test_py14_thread_errors_show_no_bridge_frame(self):
        host = self.start()
        result = host.eval("import threading\nt = threading.Thread(target=lambda: 1/0)\nt.start(); t.join()")
        self.assertIn("ZeroDivisionError", result.err)
        self.assertNotIn("stead", result.err)
        result = host.eval("import _thread\nlock = _thread.allocate_lock(); lock.acquire()\ndef f():\n    try: 1/0\n    finally: lock.release()\n_thread.start_new_thread(f, ())\nlock.acquire()")
        host.pump_until_text(result, "ZeroDivisionError")
        self.assertNotIn("stead", "".join(text for _, text in result.order))
        result = host.eval("def g(): raise SystemExit\nt = threading.Thread(target=g)\nt.start(); t.join()")
        self.assertEqual((result.err, result.status), ("", "ok"))

    def test_py15_finalizers_that_print_do_not_deadlock(self):
        host = self.start()
        host.eval("import gc\nclass D:\n    def __init__(self): self.me = self\n    def __del__(self): print('gone')\ngc.set_threshold(1)")
        for _ in range(200):
            self.assertEqual(host.eval("D() and None").status, "ok")

    def test_py15_threads_that_print_all_the_time(self):
        host = self.start()
        host.eval("import threading, sys\nstop = False\ndef noise(s):\n    while not stop: print('noise', file=s)\nfor s in (sys.stdout, sys.stderr):\n    threading.Thread(target=noise, args=(s,)).start()")
        for i in range(30):
            result = host.eval("print('mine'); print('err', file=sys.stderr)\n%d" % i)
            self.assertEqual((result.value, result.err), (str(i), "err\n"))
            self.assertEqual(result.out, "mine\n")
        host.eval("stop = True")

    def test_memory_stays_flat_over_many_evals(self):
        host = self.start()
        probe = "import resource\nresource.getrusage(resource.RUSAGE_SELF).ru_maxrss"
        for _ in range(200):
            host.eval("x = 1\n1+1")
        before = int(host.eval(probe).value)
        for _ in range(1000):
            host.eval("x = 1\n1+1")
        self.assertLess(int(host.eval(probe).value) - before, 3000)


class Stdin(BridgeTest):
    def test_py10_ways_to_read(self):
        host = self.start()
        result = self.ok(host, "x = input('name: ')\nprint('hi', x)", None, "name: hi Bo\n", answers=["Bo\n"])
        self.assertEqual(result.event("stdin_wait")["eval"], "py:1")
        self.ok(host, "import sys\nsys.stdin.readline()", "'a\\n'", answers=["a\n"])
        self.ok(host, "sys.stdin.buffer.readline()", "b'a\\n'", answers=["a\n"])
        self.ok(host, "next(sys.stdin)", "'a\\n'", answers=["a\n"])
        self.ok(host, "input(), input()", "('1', '2')", answers=["1\n2\n3\n"])
        self.ok(host, "[input(f'{i}?') for i in range(3)]", "['a', 'b', 'c']", "0?1?2?", answers=["a\n", "b\n", "c\n"])
        self.ok(host, "import readline\ninput()", "'q'", answers=["q\n"]) if has_readline() else None
        self.ok(host, "import fileinput\nfor line in fileinput.input(): break\nline", "'f\\n'", answers=["f\n"])
        self.ok(host, "fileinput.close()")
        self.ok(host, "import io\nsys.stdin = io.StringIO('s\\n')\ninput()", "'s'")
        self.ok(host, "sys.stdin = sys.__stdin__\nimport warnings, getpass\nwarnings.simplefilter('ignore')\ngetpass.getpass()", "'pw'", out="", answers=["pw\n"])

    def test_py10_breakpoint_code_interact_and_help(self):
        host = self.start(env={"PAGER": "less", "MANPAGER": "less"})
        result = host.eval("x = 5\nbreakpoint()\nx = 6\ny = 7", ["p x\n"] + ["n\n"] * (4 if sys.version_info >= (3, 13) else 3))
        self.assertEqual(result.status, "ok", result.order)
        self.assertNotIn("stead", result.out)
        self.ok(host, "y", "7")
        result = host.eval("import code\ncode.interact(local={})", ["6*7\n", "exit_ = 1\n", "raise SystemExit\n"])
        self.assertEqual(result.value, "42")
        self.assertEqual(result.status, "ok")
        self.assertIn("Return the number of items", host.eval("help(len)").out)
        self.assertIn("Return the number of items", host.eval("import pydoc; pydoc.help(len)").out)
        result = host.eval("help()", ["len\n", "q\n"])
        self.assertIn("Return the number of items", result.out)

    def test_py10_end_of_file_is_not_remembered(self):
        host = self.start()
        result = host.submit("import sys\nsys.stdin.read()")
        host.wait_input(result)
        host.write("a\nb\n")
        os.close(host.stdin)
        host.finish(result)
        self.assertEqual(result.value, "'a\\nb\\n'")
        self.fails(host, "input()", "EOFError")

    def test_py11_nothing_is_left_for_the_next_eval(self):
        host = self.start()
        self.ok(host, "import sys\nsys.stdin.read(2)", "'ab'", answers=["abcdef\nrest\n"])
        self.ok(host, "input()", "'new'", answers=["new\n"])
        self.ok(host, "sys.stdin.readline(3)", "'123'", answers=["12345\n"])
        self.ok(host, "sys.stdin.buffer.read(1)", "b'u'", answers=["unread\n"])
        self.ok(host, "input()", "'new'", answers=["new\n"])

    def test_e9_a_thread_that_waits_keeps_waiting_and_leaves_nothing(self):
        host = self.start()
        code = "import threading\ngot = []\ndone = threading.Event()\ndef ask():\n    got.append(input())\n    done.set()\nthreading.Thread(target=ask, daemon=True).start()"
        result = host.submit(code)
        seen = []
        host.pump(result, lambda e: seen.append(e["ev"]) or {"done", "stdin_wait"} <= set(seen))
        self.assertEqual(result.event("stdin_wait")["eval"], "py:1")
        self.ok(host, "1", "1")
        host.write("one\ntwo\n")
        self.ok(host, "done.wait(); got", "['one']")
        self.ok(host, "input()", "'fresh'", answers=["fresh\n"])

    def test_py15_a_read_in_main_waits_for_the_thread_and_can_be_interrupted(self):
        host = self.start()
        result = host.submit("import threading\ngot = []\nt = threading.Thread(target=lambda: got.append(input()), daemon=True)\nt.start()")
        seen = []
        host.pump(result, lambda e: seen.append(e["ev"]) or {"done", "stdin_wait"} <= set(seen))
        result = host.submit("print('up')\ninput()")
        host.pump_until_text(result, "up\n")
        host.interrupt()
        host.finish(result)
        self.assertEqual(result.status, "interrupted")
        host.write("for the thread\n")
        self.ok(host, "t.join(); got", "['for the thread']")


class Interrupts(BridgeTest):
    def test_py12_an_interrupt_stops_code_and_keeps_state(self):
        host = self.start()
        host.eval("import time, sys, threading\nx = 41")
        for code in ("while True: pass", "time.sleep(100)", "sum(1 for _ in iter(int, 1))", "threading.Event().wait()", "import subprocess; subprocess.run(['sleep', '100'])",
                     "while True: sys.stdout.write('x' * 100)", "class R:\n    def __repr__(self):\n        while True: pass\nR()",
                     "class E(Exception):\n    def __str__(self):\n        while True: pass\nraise E"):
            result = host.submit("print('up')\n" + code)
            host.pump_until_text(result, "up\n")
            host.interrupt()
            host.finish(result)
            if "raise E" not in code:
                self.assertEqual((result.status, result.error), ("interrupted", "KeyboardInterrupt"), (code, result.events))
            self.assertNotIn("stead", result.traceback)
            self.ok(host, "x + 1", "42")

    def test_py12_an_interrupt_before_the_code_runs_is_for_the_eval_it_names(self):
        host = self.start()
        for _ in range(20):
            os.kill(host.process.pid, signal.SIGSTOP)
            os.waitpid(host.process.pid, os.WUNTRACED)
            result = host.submit("while True: pass")
            host.send("interrupt py:%d" % host.count)
            host.interrupt()
            os.kill(host.process.pid, signal.SIGCONT)
            host.finish(result)
            self.assertEqual(result.status, "interrupted")
            os.kill(host.process.pid, signal.SIGSTOP)
            os.waitpid(host.process.pid, os.WUNTRACED)
            host.send("interrupt py:%d" % host.count)  # came late, for the eval that is over
            host.interrupt()
            result = host.submit("6 * 7")
            os.kill(host.process.pid, signal.SIGCONT)
            host.finish(result)
            self.assertEqual((result.status, result.value), ("ok", "42"), result.events)

    def test_py12_a_nudge_does_nothing_to_user_code(self):
        host = self.start()
        result = host.submit("import time\nprint('up')\nend = time.monotonic() + 0.2\nwhile time.monotonic() < end: time.sleep(0.01)\n'through'")
        host.pump_until_text(result, "up\n")
        for _ in range(50):
            os.kill(host.process.pid, signal.SIGWINCH)
        host.finish(result)
        self.assertEqual((result.status, result.value), ("ok", "'through'"), result.events)

    def test_py12_an_interrupt_that_a_finalizer_swallows_comes_again(self):
        host = self.start()
        self.ok(host, "class D:\n    def __del__(self):\n        print('up')\n        while True: pass")
        result = host.submit("D()\nwhile True: pass")
        host.pump_until_text(result, "up\n")
        host.interrupt()
        host.finish(result)
        self.assertEqual((result.status, result.err), ("interrupted", ""), result.events)
        self.ok(host, "6 * 7", "42")

    def test_py12_an_interrupt_below_input_is_not_swallowed(self):
        host = self.start()
        for _ in range(300):
            result = host.submit("input('? ')")
            host.send("interrupt py:%d" % host.count)
            end = time.monotonic() + random.random() * 0.0008
            while time.monotonic() < end:
                pass
            host.interrupt()
            host.finish(result)
            self.assertEqual(result.status, "interrupted", result.events)

    def test_py12_a_waiting_read_can_be_interrupted(self):
        host = self.start()
        for code in ("input('p')", "import sys\nsys.stdin.readline()", "sys.stdin.buffer.read(1)"):
            result = host.submit(code)
            host.wait_input(result)
            host.interrupt()
            host.finish(result)
            self.assertEqual((result.status, result.error), ("interrupted", "KeyboardInterrupt"))
            self.assertNotIn("stead", result.traceback)
            self.assertEqual(result.traceback.count("File "), 1)
            self.ok(host, "1+1", "2")
            self.ok(host, "input()", "'a'", answers=["a\n"])

    def test_py12_an_idle_interrupt_is_harmless(self):
        host = self.start()
        for _ in range(20):
            host.interrupt()
            self.ok(host, "1+1", "2")

    def test_py12_the_users_own_handler_runs_once_and_only_in_user_code(self):
        host = self.start()
        host.eval("import signal, time\nhits = []\nold = signal.signal(signal.SIGINT, lambda s, f: hits.append(1))")
        host.interrupt()
        self.ok(host, "hits", "[]")
        result = host.submit("print('up')\nend = time.monotonic() + 20\nwhile not hits and time.monotonic() < end: pass\nlen(hits)")
        host.pump_until_text(result, "up\n")
        host.interrupt()
        host.finish(result)
        self.assertEqual((result.status, result.value), ("ok", "1"))
        self.ok(host, "len(hits)", "1")
        host.eval("signal.signal(signal.SIGINT, signal.default_int_handler)")
        result = host.submit("print('up')\nwhile True: pass")
        host.pump_until_text(result, "up\n")
        host.interrupt()
        self.assertEqual(host.finish(result).status, "interrupted")
        result = host.submit("try:\n    print('up')\n    while True: pass\nexcept KeyboardInterrupt: print('caught')\n3")
        host.pump_until_text(result, "up\n")
        host.interrupt()
        self.assertEqual((host.finish(result).status, result.value), ("ok", "3"))
        self.assertEqual(self.fails(host, "raise KeyboardInterrupt", "KeyboardInterrupt").status, "error")

    def test_py12_storm(self):
        host, dice = self.start(), random.Random(3)
        host.eval("import sys, threading\ncount = 0")
        codes = ["count += 1", "1+1", "print('a'); print('b', file=sys.stderr)", "for i in range(2000): pass", "sys.displayhook(3)\n4", "1/0", "[1] * 50",
                 "def f(): pass\nf", "threading.Thread(target=print, args=('t',)).start()", "import sys as s\ns.exit(2)"]
        hit = 0
        for _ in range(int(os.environ.get("STEAD_INTERRUPTS", "500"))):
            result = host.submit(dice.choice(codes))
            end = time.perf_counter() + dice.random() * 0.0004
            while time.perf_counter() < end:
                pass
            host.interrupt()
            host.finish(result)
            self.assertEqual(result.done["eval"], "py:%d" % host.count)
            hit += result.status == "interrupted"
            result = host.eval("'state', count > -1")
            self.assertEqual((result.status, result.value), ("ok", "('state', True)"), result.events)
        self.assertGreater(hit, 0)


class Ends(BridgeTest):
    def test_py13_sys_exit_ends_the_eval_only(self):
        host = self.start()
        for code, status, number, message in (("import sys; sys.exit()", "ok", 0, None), ("sys.exit(0)", "ok", 0, None), ("x = 5\nsys.exit(7)", "error", 7, "7"),
                                              ("raise SystemExit('text')", "error", 1, "text"), ("sys.exit(True)", "error", 1, "1"),
                                              ("import argparse\nargparse.ArgumentParser(prog='p').parse_args(['--bad'])", "error", 2, "2")):
            result = host.eval(code)
            self.assertEqual((result.status, result.done["exit_code"]), (status, number))
            self.assertEqual((result.event("error") or {}).get("message"), message)
            self.assertEqual(result.traceback, "")
        self.ok(host, "x", "5")

    def test_py13_exit_ends_the_session_in_good_order(self):
        for call, code in (("exit()", 0), ("quit(3)", 3), ("from builtins import exit as e; e(4)", 4), ("exit('bye')", 1)):
            host = self.start()
            result = host.submit("import atexit, sys, threading, time\natexit.register(lambda: (print('handler'), print('to err', file=sys.stderr)))\n"
                                 "def work():\n    time.sleep(0.05)\n    print('thread')\nthreading.Thread(target=work).start()\nprint('first')\n" + call + "\nprint('never')")
            self.assertEqual(host.wait_end(result), code)
            self.assertEqual(result.event("exiting"), {"ev": "exiting", "code": code})
            self.assertEqual(result.out, "first\nthread\nhandler\n")
            self.assertEqual(result.err, ("bye\n" if "bye" in call else "") + "to err\n")
            self.assertIsNone(result.event("background"))
        host = self.start()
        self.assertEqual(host.eval("exit").value, "Use exit() to end this session")

    def test_py13_exit_command_and_hard_ends(self):
        host = self.start()
        host.eval("import atexit; atexit.register(print, 'bye')")
        host.send("exit")
        self.assertEqual((host.wait_end(host.idle), host.idle.out), (0, "bye\n"))
        host = self.start()
        self.assertEqual(host.wait_end(host.submit("import os; os._exit(9)")), 9)
        host = self.start()
        result = host.submit("import os; print('x'); os.closerange(0, 4096)")
        self.assertEqual((host.wait_end(result), result.out), (70, "x\n"))


class Names(BridgeTest):
    def test_e13_changes(self):
        host = self.start()
        self.assertEqual(host.eval("x = 1\nl = [1, 2]").changed["added"], [{"name": "x", "type": "int"}, {"name": "l", "type": "list", "size": "2"}])
        self.assertEqual(host.eval("x").changed, {})
        self.assertEqual(host.eval("x = 'abc'").changed, {"rebound": [{"name": "x", "type": "str", "size": "3"}]})
        self.assertEqual(host.eval("del x").changed, {"removed": ["x"]})
        self.assertEqual(host.eval("def f():\n    global g\n    g = []").changed["added"][0]["name"], "f")
        self.assertEqual(host.eval("f()").changed["added"][0]["name"], "g")
        self.assertEqual(host.eval("globals()['h'] = 1").changed["added"][0]["name"], "h")
        self.assertEqual(host.eval("from math import *").changed["more"] > 0, True)
        self.assertEqual(host.eval("class C: pass\nimport os.path as p\nfor i in range(3): pass\nwith open('/dev/null') as fd: pass\n(w := 5)").changed["added"],
                         [{"name": "C", "type": "type"}, {"name": "p", "type": "module"}, {"name": "i", "type": "int"}, {"name": "fd", "type": "TextIOWrapper"}, {"name": "w", "type": "int"}])
        result = host.eval("for i in range(100): exec('v%d = 1' % i)\n1/0")
        self.assertEqual((len(result.changed["added"]), result.changed["more"]), (50, 51))

    def test_st1_vars_inspect_and_clear(self):
        host = self.start()
        host.eval("x = [1, 2]\ndef f(a, b=2):\n    'Doc.'\n    return a\ns = 'y' * 1000\nclass Bad:\n    def __repr__(self): 1/0\nbad = Bad()")
        data = host.ask("query 1 vars")["data"]
        self.assertEqual([v["name"] for v in data["vars"]], ["x", "f", "s", "Bad", "bad"])
        self.assertEqual(data["vars"][0], {"name": "x", "type": "list", "size": "2", "value": "[1, 2]"})
        self.assertTrue(all(len(v["value"]) <= 120 for v in data["vars"]))
        data = host.ask("query 2 inspect", "f")["data"]
        self.assertEqual((data["signature"], data["doc"], data["source"]), ("(a, b=2)", "Doc.", "def f(a, b=2):\n    'Doc.'\n    return a\n"))
        self.assertIn("append", host.ask("query 3 inspect", "x.append.__self__")["data"]["members"])
        self.assertIn("not defined", host.ask("query 4 inspect", "nope")["error"])
        self.assertIn("no attribute", host.ask("query 5 inspect", "x.nope")["error"])
        self.assertEqual(host.ask("clear 6"), {"ev": "reply", "seq": 6, "data": {}})
        self.assertEqual(host.ask("query 7 vars")["data"]["vars"], [])
        self.ok(host, "'x' in globals(), __name__", "(False, '__main__')")
        host.eval("class Slow:\n    def __repr__(self):\n        print('up', flush=True)\n        while True: pass\nslow = Slow()")
        host.send("query 8 vars")
        host.pump_until_text(host.idle, "up\n")
        host.interrupt()
        reply = host.pump(host.idle, lambda event: event["ev"] == "reply")
        self.assertEqual(reply["error"], "interrupted")
        self.ok(host, "1", "1")


class Start(BridgeTest):
    def test_p3_a_host_can_keep_the_compiled_bridge(self):
        code = bytes.fromhex(self.start().ask("query 1 code")["data"]["code"])
        host = self.start(code=code)
        self.ok(host, "1+1", "2")
        self.assertEqual(self.fails(host, "1/0", "ZeroDivisionError").traceback.count("File "), 1)
        host = self.start(code=b"????" + code[4:])
        self.assertEqual((host.hello, host.process.wait(DEADLINE)), (None, 71))


class Golden(BridgeTest):
    def test_golden_transcripts(self):
        files = sorted(glob.glob(os.path.join(GOLDEN, "python-*.jsonl")))
        self.assertGreaterEqual(len(files), 3)
        for path in files:
            host = self.start()
            with open(path, encoding="utf-8") as file:
                lines = [json.loads(line) for line in file]
            pending = [host.hello]
            for line in lines:
                if "host" in line:
                    if line["host"] == "ack 0\n":
                        continue  # the driver acks by itself
                    host.control.sendall(line["host"].encode())
                    continue
                if not pending:
                    pending.append(host.pump(host.idle, lambda event: True))
                event = dict(pending.pop())
                for key, value in line["bridge"].items():
                    if value == "*":
                        event[key] = "*"
                self.assertEqual(event, line["bridge"], path)


def merged(order):
    """Neighbours of one kind joined, since a pipe keeps no write boundaries."""
    result = []
    for kind, text in order:
        if kind != "value" and result and result[-1][0] == kind:
            result[-1] = (kind, result[-1][1] + text)
        elif text:
            result.append((kind, text))
    return result


def has_readline():
    try:
        import readline  # noqa: F401
        return True
    except ImportError:
        return False


if __name__ == "__main__":
    unittest.main()
