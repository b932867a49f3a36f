"""An interrupt stops user code, whenever it comes, and nothing else."""
import os
import random
import signal
import time

from driver import BridgeTest


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
            self.assertNotIn("<stead>", result.traceback)
            self.ok(host, "x + 1", "42")

    def test_py12_an_endless_error_in_the_chain_of_an_interrupt_holds_up_nothing(self):
        host = self.start()
        host.eval("class E(Exception):\n    def __str__(self):\n        while True: pass\nx = 41")
        for code in ("try:\n    raise E\nexcept E:\n    print('up')\n    while True: pass", "try:\n    print('up')\n    while True: pass\nfinally:\n    raise E"):
            result = host.submit(code)
            host.pump_until_text(result, "up\n")
            host.interrupt()
            host.finish(result)
            self.assertEqual(result.status, "interrupted" if "except" in code else "error", result.events)
            self.assertNotIn("<stead>", result.traceback)
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

    def test_py12_an_interrupt_during_the_hosts_own_question_is_for_the_eval_behind_it(self):
        host = self.start()
        for _ in range(20):
            os.kill(host.process.pid, signal.SIGSTOP)
            os.waitpid(host.process.pid, os.WUNTRACED)
            host.send("query 0 code")
            result = host.submit("while True: pass")
            host.send("interrupt py:%d" % host.count)
            host.interrupt()
            os.kill(host.process.pid, signal.SIGCONT)
            host.finish(result)
            self.assertEqual(result.status, "interrupted")
            self.assertTrue(result.event("reply")["data"]["code"])

    def test_py12_an_interrupt_that_ends_a_background_task_is_for_the_eval_it_held_up(self):
        host = self.start()
        result = host.eval(
            "import asyncio, os, time\nasync def spin():\n    await asyncio.sleep(0.01)\n    os.write(1, b'up\\n')\n    while True: pass\n"
            "task = asyncio.create_task(spin())\nawait asyncio.sleep(0)")
        host.pump_until_text(result, "up\n")
        result = host.submit("time.sleep(600)")
        host.send("interrupt py:%d" % host.count)
        host.interrupt()
        host.finish(result)
        self.assertEqual(result.status, "interrupted", result.events)
        self.ok(host, "6 * 7", "42")

    def test_py12_an_interrupt_between_a_loop_and_its_callback_loses_no_task(self):
        host = self.start()
        # The loop's own method, except that the signal comes when it has begun and called nothing yet.
        self.ok(host, """import asyncio, asyncio.events, os, signal\nonce = []\nmethod = '''def _run(self):
    if once and 'TaskStep' in type(self._callback).__name__:
        once.clear()
        os.kill(os.getpid(), signal.SIGINT)
    self._context.run(self._callback, *self._args)
'''\nspace = dict(globals())\nexec(compile(method, '/asyncio/events.py', 'exec'), space)\nasyncio.events.Handle._run = space['_run']""")
        for _ in range(5):
            self.ok(host, "once.append(1)")
            self.assertEqual(host.eval("await asyncio.sleep(600)").status, "interrupted")
            self.ok(host, "6 * 7", "42")

    def test_py12_an_interrupt_stops_a_callback_that_is_no_python(self):
        host = self.start()
        block = "import asyncio, os\nasyncio.get_running_loop().call_soon(os.read, 0, 1)\nawait asyncio.sleep(%s)"
        result = host.submit(block % 600)
        host.wait_for_call("read", 0)
        host.interrupt()
        host.finish(result)
        self.assertEqual(result.status, "interrupted", result.events)
        self.ok(host, "6 * 7", "42")
        # The same when nothing runs and the next eval cannot begin.
        self.ok(host, "asyncio.get_event_loop_policy().get_event_loop().call_soon(os.read, 0, 1) and None")
        host.wait_for_call("read", 0)
        result = host.submit("6 * 7")
        host.send("interrupt py:%d" % host.count)
        host.interrupt()
        host.finish(result)
        self.assertEqual(result.status, "interrupted", result.events)
        self.ok(host, "6 * 7", "42")

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
            self.assertNotIn("<stead>", result.traceback)
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
