"""The seam between two evals: what is looked at before a reply, and what after it or not at all, shows in neither."""
import os
import shutil
import signal
import tempfile

from driver import BridgeTest


class Between(BridgeTest):
    def setUp(self):
        self.folder = os.path.realpath(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        self.go, self.gone = os.path.join(self.folder, "go"), os.path.join(self.folder, "gone")
        os.mkfifo(self.go)
        os.mkfifo(self.gone)

    def wait_gone(self):
        with open(self.gone) as file:
            file.read()

    def test_py15_streams_that_an_eval_broke_are_back_for_the_next(self):
        host = self.start()
        self.ok(host, "import os, sys\nclass Late:\n    def __del__(self): os.close(1)")
        for code in ("os.close(1)", "sys.stdout.close()", "sys.stdout = None", "del sys.stdout", "sys.stdout.detach() and None", "os.closerange(0, 3)", "late = Late(); del late"):
            self.assertEqual(host.eval(code).status, "ok", code)
            self.ok(host, "print(1)", None, "1\n")
        first, second = host.submit("os.close(1); sys.stdout = None"), host.submit("print(2)")
        self.assertEqual(host.finish(first).out + host.finish(second).out, "2\n")
        host.send("clear 1")
        self.ok(host, "print(3)", None, "3\n")

    def test_py15_streams_that_broke_between_two_evals_are_back(self):
        host = self.start()
        # The first thread that ends opens this library, and could get the very descriptor that it has closed.
        self.ok(host, "import ctypes; _ = ctypes.CDLL('libgcc_s.so.1')")
        self.ok(host, "import os, sys, signal, threading, asyncio\ndef shut(*_):\n    told = open(%r, 'w')\n    os.close(1)\n    sys.stdout.close()\n    sys.stderr = None\n    told.close()" % self.gone)
        # Many times, since the thread may end just before the bridge looks whether there is one, or just after.
        for _ in range(40):
            self.ok(host, "def work():\n    open(%r).close()\n    shut()\nthreading.Thread(target=work).start()" % self.go)
            open(self.go, "w").close()
            self.wait_gone()
            self.ok(host, "print(1); print(2, file=sys.stderr)", None, "1\n")
        self.ok(host, "old = signal.signal(signal.SIGUSR1, shut)")
        host.wait_idle()
        os.kill(host.process.pid, signal.SIGUSR1)
        self.wait_gone()
        self.ok(host, "print(1); print(2, file=sys.stderr)", None, "1\n")
        host = self.start()
        self.ok(host, "import os, sys, asyncio\nasync def shut():\n    await asyncio.sleep(0.01)\n    told = open(%r, 'w')\n    os.close(1)\n    sys.stdout.close()\n    told.close()\n"
                      "task = asyncio.ensure_future(shut())\nawait asyncio.sleep(0)" % self.gone)
        self.wait_gone()
        self.ok(host, "print(1)", None, "1\n")

    def test_py15_streams_that_a_question_broke_are_back(self):
        host = self.start()
        self.ok(host, "import os, sys\nclass Shut:\n    def __repr__(self):\n        os.close(1)\n        sys.stdout.close()\n        return 'shut'\nx = Shut()")
        self.assertEqual(host.ask("query 1 inspect", "x")["data"]["value"], "shut")
        self.ok(host, "print(1)", None, "1\n")

    def test_o1_text_without_an_end_of_line_belongs_to_its_eval(self):
        host = self.start()
        self.ok(host, "import sys, threading, os\nclass Late:\n    def __del__(self): sys.stdout.write('late')\n    def __repr__(self): return 'Late'")
        for code in ("sys.stdout.write('late') and None", "sys.stdout.buffer.write(b'late') and None", "x = Late(); x = 1",
                     "t = threading.Thread(target=sys.stdout.write, args=('late',)); t.start(); t.join()"):
            self.ok(host, code, None, "late")
            self.ok(host, "1+1", "2")
        self.ok(host, "Late()", "Late")
        self.ok(host, "1+1", "2", "late")
        self.ok(host, "x = Late()")
        self.ok(host, "x = 1", None, "late")
        self.ok(host, "1+1", "2")
        result = host.eval("sys.stderr.write('err')\nsys.stdout.buffer.write(b'out')\nNone")
        self.assertEqual((result.out, result.err), ("out", "err"))

    def test_py6_a_stream_or_a_flush_of_the_users_is_flushed_within_the_eval(self):
        host = self.start()
        self.ok(host, "import sys\nown = sys.stdout\nclass Slow:\n    text = ''\n    def write(self, text): self.text += text\n    def flush(self):\n        own.write(self.text.upper())\n        self.text = ''")
        self.ok(host, "sys.stdout = Slow(); print('a')", None, "A\n")
        self.ok(host, "print('b')", None, "B\n")
        self.ok(host, "sys.stdout = own")
        self.ok(host, "flush = own.flush")
        for place, call in (("own", "lambda"), ("type(own)", "lambda self")):
            self.assertIn("!", host.eval("%s.flush = %s: (own.write('!'), flush()) and None" % (place, call)).out)
            self.assertIn("!", host.eval("1+1").out)
            host.eval("del %s.flush" % place)
        self.ok(host, "1+1", "2")

    def test_py6_an_eval_that_calls_nothing_finds_what_came_before_it(self):
        host = self.start()
        self.ok(host, "import os, signal, sys\nown = sys.stdout\nclass Slow:\n    def write(self, text): self.text = text\n    def flush(self): own.write(self.text)\n"
                      "class Swap:\n    def __repr__(self):\n        sys.stdout = Slow()\n        sys.stdout.text = 'slow'\n        return 'swapped'\nx = Swap()")
        for _ in range(2):
            self.ok(host, "1+1", "2")
        self.assertEqual(host.ask("query 1 inspect", "x")["data"]["value"], "swapped")
        self.ok(host, "1+1", "2", "slow")
        self.ok(host, "sys.stdout = own", None)
        self.ok(host, "def shut(*_):\n    told = open(%r, 'w')\n    sys.stdout.close()\n    os.close(1)\n    told.close()\nold = signal.signal(signal.SIGUSR1, shut)" % self.gone)
        self.ok(host, "1+1", "2")
        host.wait_idle()
        os.kill(host.process.pid, signal.SIGUSR1)
        self.wait_gone()
        self.ok(host, "1+1", "2")
        self.ok(host, "print(1)", None, "1\n")
        for code in ("os.close(1)", "sys.stdout.close()", "sys.stdin.close()"):
            self.ok(host, "old = signal.signal(signal.SIGUSR1, signal.SIG_DFL)")
            self.ok(host, code)
            self.ok(host, "1+1", "2")
            self.ok(host, "print(input())", None, "a\n", answers=["a\n"])

    def test_py12_a_flush_that_blocks_can_be_interrupted(self):
        host = self.start()
        self.ok(host, "import os, sys\nr, w = os.pipe()\nos.set_blocking(w, False)\ntry:\n    while True: os.write(w, b'x' * 4096)\nexcept BlockingIOError: os.set_blocking(w, True)\nold = os.dup(1)")
        result = host.submit("os.dup2(w, 1); sys.stdout.write('abc'); None")
        for _ in range(2):
            host.wait_for_call("write", 1)
            host.interrupt()
            host.finish(result)
            result = host.submit("1+1")
        host.wait_for_call("write", 1)
        host.interrupt()
        host.finish(result)
        self.assertEqual((result.status, result.value), ("ok", "2"))
        self.ok(host, "os.dup2(old, 1) and None", None, "abc")

    def test_py16_a_value_that_costs_nothing_is_shown_like_any_other(self):
        host = self.start()
        for code, value, kind in (("1+1", "2", "int"), ("1 == 1", "True", "bool"), ("0.5", "0.5", "float"), ("'a' + 'b'", "'ab'", "str"), ("'\"\\n\\udc80é'", "'\"\\n\\udc80é'", "str"),
                                  ("2**99", str(2**99), "int"), ("2**150", str(2**150), "int"), ("'\\U000e0001' * 166", "'" + "\\U000e0001" * 166 + "'", "str")):
            result = self.ok(host, code, value)
            self.assertEqual(result.event("value")["type"], kind)
            self.ok(host, "_", value)
        self.ok(host, "None")
        self.ok(host, "_", value)
        self.ok(host, "import sys\nmine = sys.displayhook\nsys.displayhook = lambda value: print('<%s>' % value)", None)
        self.ok(host, "1+1", None, "<2>\n")
        self.ok(host, "None", None, "<None>\n")
        self.ok(host, "del sys.displayhook")
        self.ok(host, "1+1", "2")
        self.ok(host, "sys.displayhook = mine; del __builtins__._")
        self.ok(host, "3", "3")
        self.ok(host, "_", "3")

    def test_py12_a_finalizer_of_the_last_value_can_be_interrupted(self):
        host = self.start()
        self.ok(host, "class D:\n    def __repr__(self): return 'D'\n    def __del__(self):\n        print('up')\n        while True: pass")
        self.ok(host, "D()", "D")
        result = host.submit("1+1")
        host.pump_until_text(result, "up\n")
        host.interrupt()
        self.assertIn(host.finish(result).status, ("ok", "interrupted"))
        self.ok(host, "2+2", "4")

    def test_e1_a_line_with_one_statement_is_compiled_like_any_other(self):
        host = self.start()
        self.assertEqual([e["name"] for e in self.ok(host, "x = 1").changed["added"]], ["x"])
        self.assertEqual([e["name"] for e in self.ok(host, "x += 1").changed["rebound"]], ["x"])
        self.assertEqual(self.ok(host, "del x").changed, {"removed": ["x"]})
        self.ok(host, "import sys")
        self.ok(host, "sys.thing = 5")
        self.ok(host, "sys.thing == 5", "True")
        self.ok(host, "def f(a=1): return a")
        self.ok(host, "f(a=7)", "7")
        self.ok(host, "import asyncio")
        self.ok(host, "y = await asyncio.sleep(0, 5)")
        self.ok(host, "y <= 5", "True")
        self.ok(host, "if y: 7")
        self.ok(host, "def g(): global z; z = 3")
        self.assertEqual([e["name"] for e in self.ok(host, "g()").changed["added"]], ["z"])
        self.ok(host, "from __future__ import annotations")
        self.ok(host, "def h(a: nothing): pass")
        for code in ("x = (yield)", "x = *a", "x = = 1", "x = (", "x = 'a", "lambda = 1", "return 5", "break", "x = 1 is (yield)", "import", "x = 'é' 1"):
            # What a semicolon at the end leads to is the long way. It has a place of its own only where the line is torn.
            short, long = host.eval(code), host.eval(code + ";")
            self.assertEqual((short.status, short.err.count("\n")), ("error", long.err.count("\n")), code)
            if code not in ("x = (", "x = 'a", "import"):
                said = [r.event("error")["message"].replace("py:%d" % (host.count - 1), "py:%d" % host.count) for r in (short, long)]
                self.assertEqual(*said)
                self.assertEqual(short.traceback.count("\n"), long.traceback.count("\n"), code)
        self.fails(host, "x = 1/0", "ZeroDivisionError")
        self.assertIn("x = 1/0", host.eval("x = 1/0").traceback)

    def test_e14_a_new_folder_counts_at_once(self):
        for name in ("here", "there"):
            os.mkdir(os.path.join(self.folder, name))
        here, there = os.path.join(self.folder, "here"), os.path.join(self.folder, "there")
        with open(os.path.join(there, "helpers.py"), "w") as file:
            file.write("x = 1\n")
        host = self.start(cwd=here, env={"PYTHONDONTWRITEBYTECODE": ""})
        self.ok(host, "import os")
        host.count += 2
        host.send("eval py:%d" % (host.count - 1), "os.chdir(%r)" % there)
        host.send("eval py:%d" % host.count, "import helpers")
        for _ in range(2):
            result = host.finish(type(host.idle)())
            self.assertEqual((result.status, result.done.get("notice")), ("ok", None))
        os.utime(os.path.join(there, "helpers.py"), (1, 1))
        self.assertIn("module helpers changed", self.ok(host, "1+1", "2").done["notice"])

    def test_py9_sources_are_kept_within_bounds(self):
        host = self.start()
        self.ok(host, "def f(): return 1/0")
        self.ok(host, "import linecache")
        for i in range(70):
            self.ok(host, "%d # " % i + "x" * 1_000_000, str(i))
        self.ok(host, "'<py:1>' in linecache.cache, '<py:70>' in linecache.cache, 50 < sum(name[:4] == '<py:' for name in linecache.cache) < 72", "(False, True, True)")
        self.assertNotIn("return 1/0", host.eval("f()").traceback)
        self.assertIn("g() # here", host.eval("def g(): return 1/0\ng() # here").traceback)
