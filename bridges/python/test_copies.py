"""Checkpoints by fork: a copy rests, is woken, dropped, and finds its state as it was."""
import os
import random
import signal
import time

from driver import Host, Result
from nest import Nest, NestTest, children_of, is_alive, wait_gone


class Copies(NestTest):
    def test_st3_a_rollback_brings_back_the_state_as_often_as_wanted(self):
        for pipes in (True, False):
            host = type("Socket", (Nest,), {"pipes": pipes})()
            self.addCleanup(host.close)
            self.assertIn("checkpoint", host.hello["can"])
            self.ok(host, "x = [1]\ndef f(): return x")
            copy = host.checkpoint("before")
            self.assertEqual((copy.number, copy.told["threads"], copy.lost), (1, 0, []))
            self.assertGreater(copy.told["ms"], 0)
            for change in ("x.append(2)", "del x", "x = None; f = 5", "import sys; sys.modules.clear()"):
                host.eval(change)
                restored = self.back(host, copy)
                self.assertEqual((restored.get("lost", []), restored["variables"], len(host.copies)), ([], 2, 1))
                self.ok(host, "x, f() is x", "([1], True)")
            self.ok(host, "import os; os.getpid() == %d, os.getppid() == %d, os.getsid(0) == os.getpid()" % (host.pid, os.getpid()), "(True, True, True)")

    def test_st3_a_restored_session_does_all_that_a_new_one_does(self):
        host = self.start()
        self.back(host, host.checkpoint())
        self.ok(host, "1+1", "2")
        result = host.eval("import sys\nprint('a')\nprint('b', file=sys.stderr)\nprint(input('? '))", ["yes\n"])
        self.assertEqual((result.out, result.err), ("a\n? yes\n", "b\n"))
        self.assertEqual([kind for kind, _ in result.order][:2], ["out", "err"])
        self.fails(host, "1/0", "ZeroDivisionError")
        result = host.submit("print('up', flush=True)\nwhile True: pass")
        host.pump_until_text(result, "up\n")
        host.interrupt()
        self.assertEqual(host.finish(result).status, "interrupted")
        self.assertEqual(host.eval("y = 5").changed["added"][0]["name"], "y")
        self.assertEqual(host.ask("query 1 inspect", "y")["data"]["value"], "5")
        self.ok(host, "import subprocess; subprocess.run(['echo', 'child']) and None", None, "child\n")
        self.ok(host, "import threading\nt = threading.Thread(target=print, args=('thread',)); t.start(); t.join()", None, "thread\n")
        self.assertIn("data", host.ask("clear 2"))
        self.fails(host, "y", "NameError")
        result = host.submit("import atexit; atexit.register(print, 'bye')\nexit(3)")
        host.pump(result, lambda event: event["ev"] == "exiting")
        host.pump(result, lambda event: False)
        self.assertEqual(result.out, "bye\n")
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(host.pid, 0)[1]) if hasattr(os, "waitstatus_to_exitcode") else os.waitpid(host.pid, 0)[1] >> 8, 3)

    def test_py14_what_threads_write_while_a_copy_is_tried_is_background_output(self):
        host = self.start()
        # What the thread writes before the end of the eval that starts it is output of that eval.
        started = host.eval("import threading, time\nstop = threading.Event()\ndef work():\n    while not stop.wait(0.0002): print('tick', flush=True)\nt = threading.Thread(target=work); t.start()")
        self.assertEqual(started.status, "ok")
        for _ in range(100):
            host.copy()
        result = host.eval("stop.set(); t.join(); 1")
        self.assertEqual((host.idle.out, host.idle.err, result.out, result.err), ("", "", "", ""))

    def test_st3_many_labels_at_once_and_any_order(self):
        host, copies = self.start(), []
        for number in range(50):
            self.ok(host, "x = %d" % number)
            copies.append(host.checkpoint("label %d" % number))
        self.assertEqual([copy.number for copy in copies], list(range(1, 51)))
        for number in (49, 0, 25, 25, 10, 49):
            self.back(host, copies[number])
            self.ok(host, "x", str(number))
        fresh = host.checkpoint("new")
        self.assertEqual(fresh.number, 51)  # a number is never used again, though the woken copy was older
        for copy in list(host.copies.values()):
            copy.drop()
        host.copies.clear()
        self.ok(host, "import os\ntry: os.wait()\nexcept ChildProcessError: print('none')", None, "none\n")

    def test_st3_a_thousand_rollbacks_leave_nothing_behind(self):
        host = self.start()
        self.ok(host, "x = 0\nimport os")
        times = int(os.environ.get("STEAD_ROLLBACKS", "100"))

        def figures():
            with open("/proc/%d/statm" % host.pid) as file:
                return int(file.read().split()[1]) * 4, len(os.listdir("/proc/%d/fd" % host.pid))

        first = None
        for number in range(times):
            copy = host.checkpoint()
            host.eval("x = -1; y = 1")
            self.back(host, copy)
            self.ok(host, "x", str(number))
            self.fails(host, "y", "NameError")
            self.ok(host, "x += 1")
            host.copies.pop(copy.number).drop()
            if number == 10:
                first = figures()
        memory, descriptors = figures()
        self.assertEqual(descriptors, first[1])
        self.assertLess(memory, first[0] + 1500)  # in KiB; 1000 times 1.5 would be a leak of one page and a half each
        for _ in range(2):
            self.ok(host, "1", "1")  # the bridge waits for what was dropped before it reads the next command
        self.assertEqual(children_of(host.pid), [])

    def test_st3_a_dropped_copy_and_those_of_a_dead_host_end(self):
        host = self.start()
        first, second = host.checkpoint(), host.checkpoint()
        first.drop()
        for _ in range(2):
            self.ok(host, "1+1", "2")
        self.assertFalse(os.path.exists("/proc/%d" % first.pid))
        host.rollback(second)
        copies = [copy.pid for copy in host.copies.values()]
        del host.copies[first.number]
        host.control.close()  # as if the host had been killed
        wait_gone(host.pid)
        for copy in host.copies.values():
            copy.wake.close()
        wait_gone(host.copies[2].pid)
        self.assertFalse(any(map(is_alive, copies[1:])))
        host.control, host.copies = host.nest_near, {}

    def test_st5_a_crash_or_a_kill_is_answered_by_a_copy(self):
        host = self.start()
        self.ok(host, "x = 5")
        copy = host.copy()
        for end in ("import ctypes; ctypes.string_at(0)", "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"):
            host.submit(end)
            wait_gone(host.pid)
            host.rollback(host.copies[copy.number])
            self.ok(host, "x", "5")

    def test_st5_a_copy_that_nobody_asked_for_is_an_answer(self):
        host = self.start()
        self.ok(host, "x = 5")
        copy = host.copy()
        self.assertEqual(copy.number, 1)
        self.ok(host, "del x")
        self.back(host, copy)
        result = self.ok(host, "x", "5")
        self.assertEqual(result.changed, {})
        self.assertEqual(host.copy().number, 2)

    def test_st5_whoever_rewrites_much_is_not_copied_each_time(self):
        host = self.start()
        self.ok(host, "b = bytearray(240 << 20)\nb[::4096] = bytes(len(b) >> 12)")
        self.assertEqual(host.copy().number, 1)
        rewrite = "b[::4096] = bytes(len(b) >> 12)"
        self.ok(host, rewrite)
        reply = host.ask("copy 1")
        self.assertIn("evals rewrite much", reply["error"])
        self.assertEqual(reply["data"], {"drop": True})
        # Some are left out, and then it is tried again.
        self.assertEqual([host.copy() == reply["error"] for _ in range(2)], [True, True])
        host.copies.pop(1).drop()
        copy = host.copy()
        self.assertEqual(copy.number, 2)
        self.back(host, copy)
        self.ok(host, "len(b)", str(240 << 20))
        # A checkpoint is what somebody wants.
        self.ok(host, rewrite)
        self.assertEqual(host.checkpoint().number, 3)

    def test_st5_a_hook_that_blocks_in_the_copy_is_met_once(self):
        host = self.start()
        self.ok(host, "import ctypes\nlibc = ctypes.CDLL(None)\nlibc.__register_atfork(None, None, ctypes.cast(libc.pause, ctypes.c_void_p), None)\nNone")
        first = host.copy()
        self.assertIn("did not come to rest", first)
        # It is tried once more after a while, and then never again.
        said = [host.copy() for _ in range(6)]
        self.assertEqual(said.count(first), 4, said)
        self.ok(host, "1+1", "2")

    def test_e6_an_interrupt_at_any_moment_leaves_a_copy_or_none(self):
        host = self.start()
        self.ok(host, "import os\nos.register_at_fork(before=lambda: [None for _ in range(2000)], after_in_parent=lambda: [None for _ in range(2000)])\nx = 1")
        host.copies.pop(host.checkpoint().number).drop()
        self.ok(host, "x", "1")
        descriptors, chance = len(os.listdir("/proc/%d/fd" % host.pid)), random.Random(7)
        for _ in range(60):
            host.count += 1
            host.send("work py:%d checkpoint" % host.count, "a")
            for _ in range(chance.randrange(40000)):
                pass
            host.send("interrupt py:%d" % host.count)
            host.interrupt()
            result = host.finish(Result())
            self.assertIn(result.status, ("ok", "interrupted"), result.events)
            self.assertEqual(host.has_packet(), result.status == "ok")
            if result.status == "ok":
                host.copies.pop(host.take_packet().number).drop()
            self.ok(host, "x", "1")
        for _ in range(2):
            self.ok(host, "x", "1")
        self.assertEqual((children_of(host.pid), len(os.listdir("/proc/%d/fd" % host.pid))), ([], descriptors))
        self.back(host, host.checkpoint())
        self.ok(host, "x", "1")

    def test_st3_as_many_open_files_as_there_are_numbers_below_ours_are_no_end(self):
        host = self.start()
        self.ok(host, "files = [open('/dev/null') for _ in range(600)]\nx = 1")
        copy = host.checkpoint()
        self.ok(host, "x = 2")
        self.back(host, copy)
        self.ok(host, "x, len(files)", "(1, 600)")

    def test_p3_the_compiled_bridge_takes_copies_without_compiling(self):
        code = bytes.fromhex(self.start().ask("query 1 code")["data"]["code"])
        self.assertNotIn(b"def take_copy", code)
        host = self.start(code=code)
        again = bytes.fromhex(host.ask("query 1 code")["data"]["code"])
        self.assertNotIn(b"def take_copy", again)
        self.ok(host, "x = 1")
        copy = host.checkpoint()
        self.ok(host, "del x")
        self.back(host, copy)
        self.ok(host, "x", "1")

    def test_st3_without_a_nest_there_are_no_checkpoints(self):
        host = Host()
        self.addCleanup(host.close)
        self.assertNotIn("checkpoint", host.hello["can"])
        host.send("work py:1 checkpoint", "a")
        host.count += 1
        result = host.finish(type(host.idle)())
        self.assertEqual((result.status, result.error), ("error", "Unsupported"))
        self.assertIn("error", host.ask("copy 1"))
        self.ok(host, "1+1", "2")

    def test_st3_a_checkpoint_is_no_child_and_no_name(self):
        host = self.start()
        self.ok(host, "import sys; before = set(sys.modules)")
        result = host.work("checkpoint", "a")
        host.take_packet()
        self.assertEqual((result.changed, result.order, result.value), ({}, [], None))
        self.ok(host, "sorted(dir())[-2:]", "['before', 'sys']")
        self.ok(host, "import os; os.environ.get('STEAD_NEST_FD')")
        self.ok(host, "import subprocess; print('socket' in subprocess.check_output(['ls', '-l', '/proc/self/fd'], text=True))", None, "False\n")


class Memory(NestTest):
    """What only lies in memory comes back by itself."""

    def test_st3_random_states_come_back(self):
        host = self.start()
        self.ok(host, "import random; random.seed(7); own = random.Random(3); random.random() and None")
        copy = host.checkpoint()
        first = host.eval("random.random(), own.random(), random.gauss(0, 1)").value
        for _ in range(2):
            self.back(host, copy)
            self.ok(host, "random.random(), own.random(), random.gauss(0, 1)", first)

    def test_st3_locals_weakrefs_contexts_and_traces_come_back(self):
        host = self.start()
        self.ok(host, "import threading, weakref, contextvars, tracemalloc, faulthandler, logging, functools\n"
                      "local = threading.local(); local.x = 1\nvar = contextvars.ContextVar('var'); token = var.set(2)\n"
                      "class A: pass\na = A(); w = weakref.ref(a); died = []; weakref.finalize(a, died.append, 1)\ntracemalloc.start(); faulthandler.enable(); logging.getLogger().addHandler(logging.StreamHandler())\n"
                      "@functools.lru_cache(None)\ndef f(x): return object()\nkept = f(1)\ng = (i for i in range(5)); first = next(g)")
        copy = host.checkpoint()
        self.ok(host, "local.x = 9; var.set(9); del a; next(g); f.cache_clear(); tracemalloc.stop(); faulthandler.disable(); logging.getLogger().handlers.clear()")
        self.ok(host, "w() is None, died", "(True, [1])")
        self.back(host, copy)
        self.ok(host, "local.x, var.get(), w() is a, died, f(1) is kept, next(g), tracemalloc.is_tracing(), faulthandler.is_enabled(), len(logging.getLogger().handlers)",
                "(1, 2, True, [], True, 1, True, True, 1)")
        self.assertIn("said", host.eval("logging.warning('said')").err)

    def test_st3_streams_hooks_and_signal_handlers_come_back(self):
        host = self.start()
        self.ok(host, "import sys, signal, io\nold = signal.signal(signal.SIGUSR1, lambda *_: print('usr1'))\nsys.stdout.reconfigure(errors='replace')\nprint('no line end', end='')", None, "no line end")
        copy = host.checkpoint()
        self.ok(host, "signal.signal(signal.SIGUSR1, signal.SIG_IGN); sys.stdout = io.StringIO()", None)
        self.back(host, copy)
        self.assertEqual(host.idle.order, [])
        self.ok(host, "sys.stdout.errors, signal.raise_signal(signal.SIGUSR1)", "('replace', None)", "usr1\n")

    def test_st3_signals_that_came_while_it_rested_are_dropped(self):
        host = self.start()
        self.ok(host, "import os, signal; old = signal.signal(signal.SIGUSR1, lambda *_: print('usr1'))")
        copy = host.checkpoint()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1, signal.SIGHUP, signal.SIGALRM):
            os.kill(copy.pid, number)
        self.assertEqual(host.eval("os.killpg(0, signal.SIGWINCH)").status, "ok")
        self.back(host, copy)
        self.ok(host, "1+1", "2")

    def test_st3_a_background_task_goes_on(self):
        host = self.start()
        self.ok(host, "import asyncio\nticks = []\nasync def tick():\n    while True:\n        ticks.append(1)\n        await asyncio.sleep(0.001)\ntask = asyncio.ensure_future(tick())\nawait asyncio.sleep(0.01)")
        copy = host.checkpoint()
        self.assertEqual(copy.lost, [])
        self.ok(host, "task.cancel() and None\nawait asyncio.sleep(0)")
        self.back(host, copy)
        self.ok(host, "n = len(ticks)\nawait asyncio.sleep(0.02)\nlen(ticks) > n, task.done()", "(True, False)")
        self.ok(host, "loop = asyncio.get_event_loop(); loop.call_soon_threadsafe(print, 'called') and None\nawait asyncio.sleep(0.001)", None, "called\n")
        end = time.monotonic() + 20  # it goes on while nothing runs, too
        while int(host.eval("len(ticks)").value) <= int(host.eval("n").value) + 3:
            self.assertLess(time.monotonic(), end)
        self.ok(host, "p = await asyncio.create_subprocess_exec('echo', 'x', stdout=-1)\n(await p.communicate())[0]", "b'x\\n'")

    def test_st3_a_loop_of_the_users_goes_on(self):
        host = self.start()
        self.ok(host, "import asyncio\nown = asyncio.new_event_loop()\nown.run_until_complete(asyncio.sleep(0))")
        copy = host.checkpoint()
        self.assertEqual(copy.lost, [])
        self.ok(host, "own.close()")
        self.back(host, copy)
        self.ok(host, "own.run_until_complete(asyncio.sleep(0.001, 5))", "5")

    def test_st3_the_process_id_is_new_and_a_name_that_has_the_old_one_is_told(self):
        host = self.start()
        self.ok(host, "import os; me = os.getpid()")
        old, restored = host.pid, self.back(host, host.checkpoint())
        self.assertEqual(restored.get("lost", []), ["the process id, which was %d and is %d (`me` has the old one)" % (old, host.pid)])
        self.ok(host, "me == os.getpid()", "False")
