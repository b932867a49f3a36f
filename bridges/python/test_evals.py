"""What code does when it runs: values, errors, await, and whatever it breaks."""
import os
import select
import shutil
import sys
import tempfile

from driver import DEADLINE, BridgeTest, merged


class Evals(BridgeTest):
    def test_py7_a_project_whose_directory_is_called_stead_keeps_its_frames(self):
        folder = os.path.join(os.path.realpath(tempfile.mkdtemp()), "stead")
        self.addCleanup(shutil.rmtree, os.path.dirname(folder))
        os.mkdir(folder)
        with open(os.path.join(folder, "stead.py"), "w") as file:
            file.write("def fall():\n    1 / 0\n")
        host = self.start(cwd=folder)
        result = self.fails(host, "import stead\nstead.fall()", "ZeroDivisionError")
        self.assertIn('%s/stead.py", line 2, in fall' % folder, result.traceback)

    def test_py4_a_task_made_without_an_await_lives_on(self):
        host = self.start()
        self.ok(host, "import asyncio\nseen = []\nasync def work(n):\n    await asyncio.sleep(0)\n    seen.append(n)\n    return n")
        self.ok(host, "t = asyncio.create_task(work(1), name='mine')\nu = asyncio.ensure_future(work(2))\nt.get_name()", "'mine'")
        self.ok(host, "await t, await u, seen", "(1, 2, [1, 2])")
        self.ok(host, "asyncio.run(work(3))", "3")
        self.ok(host, "v = asyncio.create_task(work(4))")
        self.ok(host, "await v", "4")

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
        for code, value in (("1+1 # two", "2"), ("(y := 5)", None if sys.version_info < (3, 8) else "5"), ("y if y else 0", "5"), ("lambda: 0 and 1", None),
                            ("'a' 'b'", "'ab'"), ("not y", "False"), ("y\\\n+1", "6"), ("[y for y in 'ab']", "['a', 'b']"), ("'='", "'='"), ("y,", "(5,)"),
                            ("iffy()", None), ("\ufeff7", "7"), ("8\f", "8"), ("9\r", "9"), ("False", "False"), ("-0.0", "-0.0"), ("10**40", "1" + "0" * 40)):
            result = host.eval(code)
            if value is not None:
                self.assertEqual((result.status, result.value), ("ok", value), code)
        self.assertEqual(host.eval(" 1+1").error, "IndentationError")
        self.assertEqual(host.eval("x: int").status, "ok")
        self.assertEqual(host.eval("*x").error, "SyntaxError")
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
        self.assertEqual(merged(result.order), merged([*expected, ("value", "'end'")]))

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
            self.assertNotIn("<stead>", result.traceback)
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

    def test_py7_an_error_in_a_text_that_was_evaluated_shows_no_line_of_ours(self):
        host = self.start()
        for code in ("eval('1/0')", "exec('1/0')", "exec(compile('1/0', '<string>', 'exec'))"):
            after = self.fails(host, code, "ZeroDivisionError").traceback.partition('File "<string>", line 1')[2]
            self.assertEqual(after, ", in <module>\nZeroDivisionError: division by zero\n", code)

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

    def test_py9_builtins_that_are_replaced_behave_like_builtins(self):
        """One that is an attribute of a class becomes no method, is pickled by its name and shows its signature."""
        host = self.start()
        self.ok(host, "import os, _thread, pickle, copy, inspect\nclass Uses:\n    ask, run, start, spawn, wait = input, os.system, _thread.start_new_thread, os.posix_spawn, os.waitpid")
        self.ok(host, "Uses().run('exit 3') >> 8", "3")
        self.ok(host, "os.waitstatus_to_exitcode(Uses().wait(Uses().spawn('/bin/sh', ['sh', '-c', 'exit 4'], {}), 0)[1]) if hasattr(os, 'waitstatus_to_exitcode') else 4", "4")
        self.ok(host, "lock = _thread.allocate_lock(); lock.acquire(); Uses().start(lock.release, ()); lock.acquire()", "True")
        self.ok(host, "[pickle.loads(pickle.dumps(f)) is f and copy.deepcopy(f) is f for f in (input, os.system, _thread.start_new_thread, os.posix_spawn, os.waitpid)]", "[True, True, True, True, True]")
        self.ok(host, "str(inspect.signature(os.system)), input.__module__, repr(input)", "('(command)', 'builtins', '<built-in function input>')")
        host.write("me\n")
        self.ok(host, "Uses().ask('who? ')", "'me'", "who? ")
        self.ok(host, "import multiprocessing as mp\nwith mp.get_context('fork').Pool(1) as pool: r = pool.map(os.system, ['exit 5'])\nr[0] >> 8", "5")

    def test_py9_every_frame_has_the_name_of_a_module(self):
        host = self.start()
        self.ok(host, "import sys\nf, names = sys._getframe(), []\nwhile f: names.append(f.f_globals['__name__']); f = f.f_back\nnames[0], names[-1]", "('__main__', '__main__')")

    def test_py9_the_error_of_a_raw_thread_goes_to_the_hook(self):
        host = self.start()
        self.ok(host, "import sys, _thread\nseen, done = [], _thread.allocate_lock()\ndone.acquire()\ndef work(): 1 / 0\ndef hook(told): seen.append((told.exc_type.__name__, told.object is work)); done.release()\nsys.unraisablehook = hook\n_thread.start_new_thread(work, ())\ndone.acquire(), seen", "(True, [('ZeroDivisionError', True)])")
        for hook in ("None", "lambda told: 1 / 0"):
            result = host.submit("sys.unraisablehook = %s\n_thread.start_new_thread(work, ())" % hook)
            host.pump_until_text(result, "ZeroDivisionError: division by zero")
            self.assertIn("Exception ignored in thread started by: <function work", "".join(text for _, text in result.order), hook)

    def test_py4_tasks_go_on_without_asyncio_in_sys_modules(self):
        folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, folder)
        path = os.path.join(folder, "told")
        os.mkfifo(path)
        told = os.open(path, os.O_RDWR | os.O_NONBLOCK)  # never at its end
        self.addCleanup(os.close, told)
        for way in ("del sys.modules['asyncio']", "sys.modules['asyncio'] = None"):
            host = self.start()
            self.ok(host, "import asyncio, sys\nasync def work():\n    await asyncio.sleep(0)\n    open(%r, 'w').write('x')\nt = asyncio.create_task(work())\n%s" % (path, way))
            self.assertEqual(select.select([told], [], [], DEADLINE)[0], [told], way)
            self.assertEqual(os.read(told, 10), b"x")
            self.ok(host, "asyncio.run(asyncio.sleep(0, 7))", "7")

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
