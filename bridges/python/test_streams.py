"""Output in order and with its eval, threads, and every way to read stdin."""
import importlib.util
import os
import random
import sys
import unittest

from driver import BridgeTest, merged


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

    def test_e5_unbuffered_output_comes_without_a_line_end(self):
        host = self.start(env={"PYTHONUNBUFFERED": "1"})
        for stream, name in (("stdout", "out"), ("stderr", "err")):
            result = host.submit("import sys\nprint('W', end='', file=sys.%s)\nwhile True: pass" % stream)
            host.pump_until_text(result, "W")
            host.interrupt()
            self.assertEqual((host.finish(result).status, result.stream(name)), ("interrupted", "W"))
        self.ok(host, "sys.stdout.write_through", "True")
        self.ok(host, "sys.stdout.buffer.write(b'\\xff')", "1", "\udcff")
        self.ok(self.start(env={"PYTHONUNBUFFERED": ""}), "import sys; sys.stdout.write_through", "False")

    def test_py7_frames_of_the_bridge_say_that_pytest_is_to_hide_them(self):
        host = self.start()
        self.ok(host, """import os, sys
class Broken:
    def readline(self): raise OSError('pytest: reading from stdin')
def hidden(call, *args):
    try: call(*args)
    except Exception as error: traceback = error.__traceback__
    frames = []
    while traceback: frames.append(traceback.tb_frame); traceback = traceback.tb_next
    return [f.f_locals.get('__tracebackhide__', False) for f in frames if f.f_code.co_filename == '<stead>']
kept, sys.stdin = sys.stdin, Broken()
told = hidden(input), hidden(os.system, 5)
sys.stdin = kept""")
        self.ok(host, "all(map(all, told)), all(told)", "(True, True)")

    def test_py9_a_child_with_a_terminal_has_one_for_stdin(self):
        host = self.start()
        code = "import pty, os, sys\npid, fd = pty.fork()\nif not pid: os.write(1, b'%r %r' % (sys.stdin.isatty(), sys.stdout.isatty())); os._exit(0)\nr = os.read(fd, 100)\nos.waitpid(pid, 0)\nr, sys.stdin.isatty()"
        self.ok(host, code, "(b'True True', False)")

    def test_py14_a_thread_is_known_by_its_writes_whatever_was_written_before(self):
        host = self.start()
        code = """import threading, sys
print('plain')
go, done = threading.Event(), threading.Event()
def work():
    go.wait()
    print('from', 'behind')
    done.set()
print('plain too')
t = threading.Thread(target=work)
t.start()
print('still here')"""
        self.ok(host, code, None, "plain\nplain too\nstill here\n")
        result = host.eval("print('own')\ngo.set()\ndone.wait()\nprint('own', 2)")
        self.assertEqual("".join(text for kind, text in result.order if kind == "out"), "own\nown 2\n")
        self.assertEqual("".join(text for kind, text in result.order if kind == "background"), "from behind\n")
        self.ok(host, "t.join()\nprint('after')", None, "after\n")

    def test_o2_what_a_thread_writes_after_the_eval_comes_after_what_it_wrote_before(self):
        code = """import sys, threading
go, over, state = threading.Event(), threading.Event(), sys.displayhook.__globals__['S']
def work():
    sys.%(stream)s.write('early ')
    begun.set()
    go.wait()
    sys.%(other)s.write('late')
    over.set()
def flush():  # when the eval can write no more, the thread goes on
    if state.phase: return
    del sys.%(stream)s.flush
    go.set()
    over.wait(0.2)
    sys.%(stream)s.flush()
begun = threading.Event()
threading.Thread(target=work).start()
begun.wait()
sys.%(stream)s.flush = flush
None"""
        for stream in ("stdout", "stderr"):
            for other in ("stdout", "stderr"):
                host = self.start()
                host.eval("import threading")
                result = host.submit(code % {"stream": stream, "other": other})
                host.finish(result)
                if ("background", "late") not in result.order:
                    host.pump(result, lambda event: event["ev"] == "background")
                self.assertEqual(result.order, [(stream[3:], "early "), ("background", "late")])

    def test_o1_a_thread_that_reads_what_the_last_flush_writes_can_write(self):
        """Here the last flush waits for the thread, and not the other way round."""
        host = self.start()
        result = host.submit("import sys, threading\ngo, over, state = threading.Event(), threading.Event(), sys.displayhook.__globals__['S']\n"
                             "def work():\n    go.wait()\n    sys.stderr.write('from the thread')\n    over.set()\n"
                             "threading.Thread(target=work).start()\ndef flush():\n    if state.phase: return\n    del sys.stdout.flush\n    go.set()\n    over.wait()\nsys.stdout.flush = flush\nNone")
        self.assertEqual(host.finish(result).status, "ok")
        self.assertEqual(result.order, [("background", "from the thread")])

    def test_py6_a_write_that_the_user_replaced_stays(self):
        host = self.start()
        fill = "while 'write' not in vars(sys.stdout): print(end='x')"  # a writer of much is left alone
        self.assertEqual(host.eval("import sys\n" + fill).status, "ok")
        self.ok(host, "import sys\nprint('a')\nold = sys.stdout.write\nsys.stdout.write = lambda text: old(text.upper())\nprint('b')", None, "a\nB\n")
        self.ok(host, "print('c')\nprint('e', file=sys.stderr)\nprint('d')", None, "C\nD\n")
        result = host.eval("del sys.stdout.write\n" + fill)
        self.assertEqual((result.status, set(result.out)), ("ok", {"x"}))
        self.ok(host, "'write' in vars(sys.stdout), 'write' in vars(sys.stderr)", "(False, False)")

    def test_o2_what_others_wrote_comes_before_what_is_written_next(self):
        host = self.start()
        self.ok(host, "import sys, os, subprocess, asyncio, threading\ndef child(stream, text): return ['sh', '-c', 'echo %s >&%d' % (text, stream)]")
        err = "child(2, 'E')"
        ways = ["subprocess.run(%s)" % err, "os.system('echo E >&2')", "os.write(2, b'E\\n')",
                "p = subprocess.Popen(%s); p.wait()" % err, "_ = os.waitpid(os.spawnvp(os.P_NOWAIT, 'sh', %s), 0)" % err,
                "_ = os.waitpid(os.posix_spawnp('sh', %s, os.environ), 0)" % err,
                "pid = os.fork()\nif not pid:\n    os.write(2, b'E\\n'); os._exit(0)\n_ = os.waitpid(pid, 0)",
                "p = await asyncio.create_subprocess_exec(*%s); await p.wait()" % err,
                "t = threading.Thread(target=lambda: subprocess.run(%s)); t.start(); t.join()" % err,
                "sys.stderr.buffer.raw.write(b'E\\n')"]
        for way in ways:
            # In the middle of a loop that prints fast, too.
            for before in ("print('a')", "while 'write' not in vars(sys.stdout): print('a')"):
                if before[0] == "w" and (("os.write(2" in way and "fork" not in way) or "raw" in way):
                    continue
                code = "%s\n%s\nprint('b')\nsubprocess.run(child(1, 'c'))\nprint('d', file=sys.stderr)\nNone" % (before, way)
                for _ in range(3):
                    order = merged(host.eval(code).order)
                    order[0] = (order[0][0], "a\n") if set(order[0][1]) == set("a\n") else order[0]
                    self.assertEqual(order, [("out", "a\n"), ("err", "E\n"), ("out", "b\nc\n"), ("err", "d\n")], code)

    def test_o2_a_child_that_never_ceases_to_write_holds_nobody_up(self):
        host = self.start()
        self.ok(host, "import subprocess\nflood = subprocess.Popen(['sh', '-c', 'while :; do echo flood >&2; done'])")
        result = host.eval("for n in range(200): print(n)\nflood.kill()")
        self.assertEqual(result.out, "".join("%d\n" % n for n in range(200)))

    def test_o2_after_its_children_a_writer_of_much_is_left_alone_again(self):
        host = self.start()
        result = host.eval("import subprocess, sys\nsubprocess.run('true')\nwhile 'write' not in vars(sys.stdout): print(end='x')")
        self.assertEqual((result.status, set(result.out)), ("ok", {"x"}))

    def test_py14_threads_of_earlier_evals_print_in_the_background(self):
        host = self.start()
        self.ok(host, "import threading, sys\ngo = threading.Event()\ndef work():\n    print('early')\n    up.set()\n    go.wait()\n    print('late')\n    print('error', file=sys.stderr)\n    done.set()\nup = threading.Event(); done = threading.Event()\nthreading.Thread(target=work).start()\nup.wait()", "True", "early\n")
        result = self.ok(host, "go.set(); done.wait(); print('mine')", None, "mine\n")
        late = [e for e in result.events if e["ev"] == "background"]
        self.assertEqual({e["eval"] for e in late}, {"py:1"})
        self.assertEqual("".join(e["text"] for e in late if e["stream"] == "out"), "late\n")
        self.assertEqual("".join(e["text"] for e in late if e["stream"] == "err"), "error\n")
        self.ok(host, "go = threading.Event()\nthreading.Thread(target=lambda: (go.wait(), print('idle'))).start()")
        result = self.ok(host, "threading.Timer(0.02, go.set).start()")
        # Before the eval's end where that takes longer than the timer, else after it.
        host.pump_until_text(result, "idle")
        event = result.event("background")
        self.assertEqual((event["eval"], event["stream"]), ("py:3", "out"))
        result = self.ok(host, "t = threading.Thread(target=lambda: print('now')); t.start(); t.join()", None, "now\n")

    def test_py14_thread_errors_show_no_bridge_frame(self):
        host = self.start()
        result = host.eval("import threading\nt = threading.Thread(target=lambda: 1/0)\nt.start(); t.join()")
        self.assertIn("ZeroDivisionError", result.err)
        self.assertNotIn("<stead>", result.err)
        result = host.eval("import _thread\nlock = _thread.allocate_lock(); lock.acquire()\ndef f():\n    try: 1/0\n    finally: lock.release()\n_thread.start_new_thread(f, ())\nlock.acquire()")
        host.pump_until_text(result, "ZeroDivisionError")
        self.assertNotIn("<stead>", "".join(text for _, text in result.order))
        result = host.eval("def g(): raise SystemExit\nt = threading.Thread(target=g)\nt.start(); t.join()")
        self.assertEqual((result.err, result.status), ("", "ok"))

    def test_py7_a_thread_that_met_an_end_of_file_shows_no_bridge_frame(self):
        host = self.start()
        for hook in ("", "import traceback\nthreading.excepthook = lambda args: print(*traceback.format_tb(args.exc_traceback), args.exc_value, file=sys.stderr)\n"):
            result = host.submit("import sys, threading\n%st = threading.Thread(target=lambda: input('T? '))\nt.start(); t.join()" % hook)
            if not hook:
                host.wait_input(result)
                os.close(host.stdin)
            host.finish(result)
            self.assertIn("EOF when reading a line", result.err)
            self.assertIn("in <lambda>", result.err)
            self.assertNotIn("<stead>", result.err)

    def test_py7_errors_that_others_report_show_no_bridge_frame(self):
        host = self.start()
        self.ok(host, "import asyncio, concurrent.futures, gc, logging, multiprocessing, os, sys, threading, traceback, weakref\ndef bad(*_): sys.stdout.write(5)\n"
                      "def run(call):\n    t = threading.Thread(target=call)\n    t.start(); t.join()\nclass Gone:\n    def __del__(self): bad()\nasync def fail(): bad()")
        for code in ("run(bad)", "run(lambda: os.posix_spawn('/nope', ['nope'], {}))", "Gone()\nNone", "one = Gone()\nr = weakref.ref(one, sys.stderr.write)\ndel one",
                     "t = asyncio.create_task(fail())\nawait asyncio.sleep(0.01)\ndel t\n_ = gc.collect()", "asyncio.get_running_loop().call_soon(bad)\nawait asyncio.sleep(0.01)",
                     "with concurrent.futures.ThreadPoolExecutor() as pool: error = pool.submit(bad).exception()\ntraceback.print_exception(type(error), error, error.__traceback__)",
                     "try: bad()\nexcept TypeError: logging.exception('x')", "try: bad()\nexcept TypeError: print(traceback.extract_tb(sys.exc_info()[2]), 'Error', file=sys.stderr)",
                     "p = multiprocessing.get_context('fork').Process(target=bad)\np.start(); p.join()",
                     "sys.unraisablehook = lambda args: traceback.print_tb(args.exc_traceback) or print('Error', file=sys.stderr)\nGone()\nNone"):
            result = host.eval(code)
            self.assertEqual(result.status, "ok", (code, result.events))
            self.assertIn("Error", result.err, code)
            self.assertNotIn("<stead>", result.err, code)

    def test_py13_exit_in_a_thread_ends_the_thread_in_silence(self):
        host = self.start()
        result = host.eval("import threading\nt = threading.Thread(target=exit)\nt.start(); t.join()")
        self.assertEqual((result.status, result.err), ("ok", ""))

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

    def test_py10_a_debugger_steps_through_all_of_an_eval_and_shows_no_frame_of_ours(self):
        host = self.start()
        self.ok(host, "import sys, traceback\ndef f(x):\n    y = x + 1\n    return y")
        result = host.eval("breakpoint()\nf(3)", ["s\n", "s\n", "p 'x', x\n", "w\n", "u\n", "u\n", "c\n"])
        self.assertEqual((result.status, result.value), ("ok", "4"), result.order)
        self.assertIn("('x', 3)", result.out)
        self.assertIn("--Call--", result.out)
        self.assertIn("Oldest frame", result.out)
        self.assertNotIn("<stead>", result.out)
        self.assertNotIn("<string>", result.out)
        # Of what follows the debugger is not told.
        self.ok(host, "f(4)", "5")
        result = host.eval("def g():\n    traceback.print_stack()\ng()\nNone")
        self.assertEqual([line for line in result.err.splitlines() if "File" in line],
                         ['  File "<py:4>", line 3, in <module>', '  File "<py:4>", line 2, in g'])

    def test_py10_tracers_and_profilers_see_code_of_the_users_only(self):
        host = self.start()
        self.ok(host, "import sys, threading\nseen = []\ndef tracer(frame, event, arg):\n    seen.append((event, frame.f_code.co_name, frame.f_code.co_filename))\n    return tracer\ndef f():\n    print(1)\n    return 2")
        self.ok(host, "sys.settrace(tracer)")
        self.ok(host, "sys.gettrace() is tracer", "True")
        self.ok(host, "seen.clear()")
        self.ok(host, "f()", "2", "1\n")
        self.fails(host, "1/0", "ZeroDivisionError")
        self.ok(host, "sys.settrace(None)\nsys.gettrace()")
        self.ok(host, "[(event, name) for event, name, file in seen if file == '<py:1>']", "[('call', 'f'), ('line', 'f'), ('line', 'f'), ('return', 'f')]")
        self.ok(host, "{file for _, _, file in seen} - {'<py:%d>' % n for n in range(20)}", "set()")
        self.ok(host, "seen.clear(); sys.setprofile(tracer)")
        self.ok(host, "sys.getprofile() is tracer", "True")
        self.ok(host, "f()", "2", "1\n")
        self.ok(host, "sys.setprofile(None)")
        self.ok(host, "[(event, name) for event, name, file in seen if file == '<py:1>' and not event.startswith('c_')]", "[('call', 'f'), ('return', 'f')]")
        self.ok(host, "{file for _, _, file in seen} - {'<py:%d>' % n for n in range(20)}", "set()")
        self.ok(host, "seen.clear(); threading.settrace(tracer)\nt = threading.Thread(target=f)\nt.start(); t.join()\nthreading.settrace(None)", None, "1\n")
        self.ok(host, "('call', 'f', '<py:1>') in seen, [s for s in seen if s[2] == '<stead>']", "(True, [])")

    @unittest.skipIf(sys.version_info < (3, 12), "sys.monitoring came with 3.12")
    def test_py10_monitoring_tells_of_code_of_the_users_only(self):
        host = self.start()
        self.ok(host, "import sys\nm, seen = sys.monitoring, []\ndef f():\n    print(1)\n    return 2\ndef note(code, *rest):\n    seen.append((code.co_name, code.co_filename))\nm.use_tool_id(3, 'mine')\nm.register_callback(3, m.events.PY_START, note)\nm.register_callback(3, m.events.LINE, note)\nm.register_callback(3, m.events.RAISE, note)")
        self.ok(host, "m.set_events(3, m.events.PY_START | m.events.LINE | m.events.RAISE)")
        self.ok(host, "f()", "2", "1\n")
        self.fails(host, "1/0", "ZeroDivisionError")
        self.ok(host, "m.set_events(3, 0)")
        self.ok(host, "m.register_callback(3, m.events.LINE, None) is note", "True")
        self.ok(host, "seen.count(('f', '<py:1>')), [s for s in seen if s[1] == '<stead>']", "(3, [])")
        self.ok(host, "import cProfile, pstats, io\np = cProfile.Profile()\np.enable(); f(); p.disable()\ns = io.StringIO(); pstats.Stats(p, stream=s).print_stats(); ('(f)' in s.getvalue(), 'stead' in s.getvalue())", "(True, False)", "1\n")

    def test_py10_breakpoint_code_interact_and_help(self):
        host = self.start(env={"PAGER": "less", "MANPAGER": "less"})
        result = host.eval("x = 5\nbreakpoint()\nx = 6\ny = 7", ["p x\n"] + ["n\n"] * (4 if sys.version_info >= (3, 13) else 3))
        self.assertEqual(result.status, "ok", result.order)
        self.assertNotIn("<stead>", result.out)
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


class Blocking(BridgeTest):
    """Whether the session's pipes block is for all who have them: user code and children must not leave it otherwise."""

    LOOK = "import os\n[os.get_blocking(fd) for fd in (0, 1, 2)]"
    CHILD = "subprocess.run([sys.executable, '-c', 'import os\\nfor fd in (0, 1, 2): os.set_blocking(fd, False)']).returncode"

    def test_o1_programs_find_pipes_that_block_whatever_an_earlier_one_has_set(self):
        host = self.start()
        self.ok(host, "import os, subprocess, sys\nlook = [sys.executable, '-c', 'import os; print([os.get_blocking(fd) for fd in (0, 1, 2)])']")
        self.ok(host, "print(%s)\nsubprocess.run(look).returncode" % self.CHILD, "0", "0\n[True, True, True]\n")
        self.ok(host, self.CHILD, "0")
        self.ok(host, self.LOOK, "[True, True, True]")
        self.ok(host, "for fd in (0, 1, 2): os.set_blocking(fd, False)")
        self.ok(host, self.LOOK, "[True, True, True]")

    def test_o1_a_child_that_lives_may_set_it_at_any_time(self):
        host = self.start()
        self.ok(host, "import os, subprocess, sys\nfar, near = os.pipe()\nback, up = os.pipe()\nchild = subprocess.Popen([sys.executable, '-c', "
                      "'import os\\nos.read(%d, 1)\\nfor fd in (0, 1, 2): os.set_blocking(fd, False)\\nos.write(%d, b\"x\"); os.read(%d, 1)' % (far, up, far)], pass_fds=[far, up])")
        self.ok(host, "_ = os.write(near, b'x'), os.read(back, 1)")
        self.ok(host, self.LOOK, "[True, True, True]")
        self.ok(host, "_ = os.write(near, b'x'), child.wait()")

    def test_o1_what_is_printed_beside_such_a_child_is_whole(self):
        host = self.start()
        result = host.eval("import os, subprocess, sys\n%s\nprint('x' * (1 << 22))\nprint('y' * (1 << 22), file=sys.stderr)" % self.CHILD)
        self.assertEqual((result.status, len(result.out), len(result.err)), ("ok", (1 << 22) + 1, (1 << 22) + 1))

    def test_o1_what_could_not_be_written_at_once_is_not_the_next_evals(self):
        host = self.start()
        result = host.eval("import os, sys\nos.set_blocking(1, False)\ntry:\n    for n in range(1 << 12): sys.stdout.buffer.write(b'x' * 1000)\nexcept BlockingIOError: pass")
        self.assertEqual(result.status, "ok")
        self.ok(host, "1", "1")

    def test_py10_a_read_waits_whatever_the_pipe_is_set_to(self):
        host = self.start()
        for read in ("input()", "sys.stdin.readline()[:-1]", "sys.stdin.buffer.readline().decode()[:-1]", "next(sys.stdin)[:-1]"):
            self.ok(host, "import os, sys\nos.set_blocking(0, False)\n" + read, "'a'", answers=["a\n"])
        self.ok(host, "os.set_blocking(0, False)")
        result = host.submit("input()")
        host.wait_input(result)
        host.wait_for_call("read", 0)
        host.write("b\n")
        self.assertEqual(host.finish(result).value, "'b'")
        result = host.submit("os.set_blocking(0, False)\ninput()")
        host.wait_input(result)
        host.interrupt()
        self.assertEqual(host.finish(result).status, "interrupted")
        result = host.submit("os.set_blocking(0, False)\ninput()")
        host.wait_input(result)
        os.close(host.stdin)
        self.assertEqual(host.finish(result).error, "EOFError")

    @unittest.skipUnless(sys.platform.startswith("linux"), "only /proc tells what an event loop listens to")
    def test_py10_an_event_loop_that_reads_stdin_keeps_its_setting(self):
        host = self.start()
        self.ok(host, "import asyncio, os\nreader = asyncio.StreamReader()\n"
                      "transport, _ = await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), open(os.dup(0)))")
        self.ok(host, self.LOOK, "[False, True, True]")
        result = host.submit("print('up')\nawait reader.readline()")
        host.pump_until_text(result, "up")
        host.write("a\n")
        self.assertEqual(host.finish(result).value, "b'a\\n'")
        self.ok(host, "input()", "'b'", answers=["b\n"])
        self.ok(host, "transport.close()\nawait asyncio.sleep(0)")
        self.ok(host, self.LOOK, "[True, True, True]")


def has_readline():
    return importlib.util.find_spec("readline") is not None
