"""What user code can do to `save` and `load` (SPEC ST-2): objects that lie, break or run code, and names of ours that are taken."""
import os
import signal

from test_saving import SavingTest


class Trouble(SavingTest):
    def test_st2_neither_leaves_anything_in_the_session(self):
        host = self.start(cwd=self.folder)
        self.ok(host, "import sys\n[name for name in ('pickle', '_pickle', 'json', 'ast') if name in sys.modules]", "[]")
        self.ok(host, "x = 1\nbefore = set(globals()), set(sys.modules), sys.path[:]")
        self.done(host, "save", self.path)
        self.done(host, "load", self.path)
        self.ok(host, "set(globals()) - {'before'} == before[0] and sys.path == before[2], '<stead>' in sys.modules", "(True, False)")

    def test_st2_modules_and_builtins_of_the_same_names_do_not_matter(self):
        for name in ("pickle", "_pickle", "ast", "json", "marshal", "warnings", "types", "copyreg", "time", "binascii", "fcntl", "zlib"):
            with open(os.path.join(self.folder, name + ".py"), "w") as file:
                file.write("mine = 1\n")
        # As the second session of a host is started, which has the bridge compiled.
        host = self.start(cwd=self.folder, code=bytes.fromhex(self.start().ask("query 1 code")["data"]["code"]))
        self.ok(host, "import pickle, json, ast\nif not hasattr(__import__('sys').modules.get('zlib'), 'crc32'): import zlib\nclass P:\n    def __init__(self): self.a = [1]\np = P(); f = lambda: p\npickle.mine", "1")
        self.ok(host, "import sys\nsys.modules['pickle'] = sys.modules['_pickle'] = sys.modules['json'] = 5\ncompile = eval = exec = dict = list = type = print = 7\nast = 'mine'\ndump = send = S = SPACE = None")
        self.ok(host, "import builtins\nbuiltins.open = builtins.compile = builtins.input = builtins.print = None")
        report = self.done(host, "save", self.path, "", "p", "f", "ast", "compile")
        self.assertEqual(report["failed"], [])
        self.assertEqual(self.done(host, "load", self.path)["failed"], [])
        host = self.start(cwd=self.folder)
        self.assertEqual(self.done(host, "load", self.path)["failed"], [])
        self.ok(host, "f() is p and p.a, compile, ast", "([1], 7, 'mine')")

    def test_st2_a_function_that_uses_names_of_python_is_saved_without_them(self):
        host = self.start(cwd=self.folder)
        self.ok(host, "def f(): return __builtins__ is not None and __name__")
        self.assertEqual(self.done(host, "save", self.path, "", "f")["saved"], ["f"])
        result = self.work(host, "save", self.path, "", "__builtins__")
        self.assertEqual(result.event("error")["message"], "nothing was saved: `__builtins__`: it is none of the user's names")

    def test_st2_objects_that_break_the_work_break_their_names_only(self):
        self.saved("a = [1]", "\n".join([
            "class Twice:\n    n = 0\n    def __reduce__(self):\n        Twice.n += 1\n        if Twice.n > 1: raise KeyError('twice')\n        return list, ()\ntwice = [a, Twice(), {'fresh': 1}]",
            "class Meta(type):\n    def __getattribute__(cls, name): raise RuntimeError(name)\n    def __hash__(cls): raise RuntimeError\n    def __eq__(cls, other): raise RuntimeError\nclass Hostile(metaclass=Meta):\n    def __getattribute__(self, name): raise RuntimeError(name)\n    def __repr__(self): raise RuntimeError\n    def __hash__(self): raise RuntimeError\nhostile = Hostile()",
            "class Lies:\n    @property\n    def __class__(self): return int\nlies = Lies()",
            "class Wrong:\n    def __reduce__(self): return 5\nwrong = Wrong()",
            "class Prints:\n    def __reduce__(self):\n        globals()['made'] = 1\n        return str, ('x',)\nprints = Prints()",
            "class Interrupts:\n    def __reduce__(self): raise KeyboardInterrupt\ninterrupts = Interrupts()",
            "class Leaves:\n    def __reduce__(self): exit()\nleaves = Leaves()",
            "class Unloadable:\n    def __reduce__(self): return int, ('no number',)\ninner = {'inner': 1}\nunloadable = [a, Unloadable(), inner]",
        ]), "b = [a, inner]; c = {'a': a}")
        entry = self.manifest()
        why = {failed["name"]: failed["why"] for failed in entry["failed"]}
        self.assertEqual(why.pop("twice"), "pickling of the `Twice` that it holds raised KeyError: 'twice'")
        self.assertEqual(why.pop("interrupts"), "pickling raised KeyboardInterrupt")
        self.assertEqual(why.pop("leaves"), "pickling raised SystemExit: None")
        self.assertIn("wrong", why)
        self.assertLessEqual(set(why), {"wrong", "hostile", "Hostile", "lies"})
        host, report = self.loaded()
        self.assertIn("ValueError", self.why(report)["unloadable"])
        self.holds(host, ["b[0] is a and c['a'] is a and b[1] is inner and inner == {'inner': 1} and prints == 'x'", "'unloadable' not in globals()"])

    def test_st2_a_name_that_cannot_be_loaded_prevents_only_those_that_share_objects_with_it(self):
        with open(os.path.join(self.folder, "goes.py"), "w") as file:
            file.write("class Thing:\n    def __init__(self, *a): self.a = a\ndef function(): return 1\n")
        self.saved("import goes\nfirst = ['first']\nshared = {'s': 1}", "only = [1]\nthing = goes.Thing(first, shared, only)",
                   "second = [first, shared]", "again = [thing, 5]", "function = goes.function", "third = {'f': first, 'l': ['x'] * 3, 'o': only}", "def f(): return first", "fourth = [f, second]")
        os.unlink(os.path.join(self.folder, "goes.py"))
        host, report = self.loaded()
        why = self.why(report)
        self.assertEqual(set(why), {"goes", "thing", "again", "function"})
        self.assertIn("No module named 'goes'", why["thing"])
        self.holds(host, ["second[0] is first and second[1] is shared and third['f'] is first and third['l'] == ['x'] * 3 and third['o'] is only",
                          "f() is first and fourth[0] is f and fourth[1] is second"])

    def test_st2_what_shares_with_a_name_that_failed_is_not_half_loaded(self):
        # The inner list is written with the name that fails, and later names only refer to it.
        self.saved("class Bad:\n    def __reduce__(self): return int, ('no number',)\nbad = [Bad(), ['inner']]\nbelow = {'b': bad[1]}\ntwo = [bad[1], 2]\nfine = [1, ['own']]")
        host, report = self.loaded()
        self.assertEqual(set(self.why(report)), {"bad", "below", "two"})
        self.assertIn("shares objects", self.why(report)["below"])
        self.holds(host, ["fine == [1, ['own']]"])

    def test_st2_loading_over_names_rebinds_them_and_leaves_the_others(self):
        self.saved("x = [1]\nclass P:\n    def f(self): return 'saved'\np = P()")
        host = self.start(cwd=self.folder)
        self.ok(host, "x = 'mine'; y = 'mine'\nclass P:\n    def f(self): return 'mine'\nold = P()")
        result = self.work(host, "load", self.path)
        self.assertEqual(sorted(entry["name"] for entry in result.changed["rebound"]), ["P", "x"])
        self.assertEqual([entry["name"] for entry in result.changed["added"]], ["p"])
        self.ok(host, "x, y, p.f(), old.f(), type(p) is P", "([1], 'mine', 'saved', 'mine', True)")

    def test_st2_saving_and_loading_behave_like_evals(self):
        host = self.start(cwd=self.folder)
        self.ok(host, "class P:\n    def __getstate__(self):\n        print('state'); globals()['seen'] = 1\n        return {'a': input('? ')}\n    def __setstate__(self, state):\n        print('set'); import time\n        while state.get('a') == 'loop': pass\np = P()")
        result = self.begin_work(host, "save", self.path, "", "p")
        for answer in ("one\n", "loop\n"):  # tried, then written
            host.wait_input(result)
            host.write(answer)
        host.finish(result)
        self.assertEqual((result.status, result.out), ("ok", "state\n? state\n? "))
        self.assertEqual([entry["name"] for entry in result.changed["added"]], ["seen"])
        result = self.begin_work(host, "load", self.path)
        host.pump_until_text(result, "set\n")
        host.interrupt()
        self.assertEqual(host.finish(result).status, "interrupted")
        self.ok(host, "1", "1")
        self.assertEqual(host.eval("import sys; sys.exc_info()").value, "(None, None, None)")

    def test_st2_a_repr_that_never_returns_is_not_waited_for(self):
        report = self.saved("class Slow:\n    def __repr__(self):\n        while True: pass\nx = 1; slow = Slow(); y = 2")
        self.assertEqual((report["saved"], report["failed"]), (["Slow", "x", "slow", "y"], []))
        self.assertIn("1", [entry.get("value") for entry in self.manifest()["names"]])

    def test_st2_many_definitions_are_found_quickly_and_rightly(self):
        self.saved(*["class C%d: n = %d\nc%d = C%d(); f%d = lambda: %d" % (n, n, n, n, n, n) for n in range(300)],
                   "\n".join("def g%d(): return %d" % (n, n) for n in range(3000)))
        host, report = self.loaded()
        self.assertEqual((report["count"], report["failed"]), (3900, []))
        self.holds(host, ["all([globals()['c%d' % n].n == n and globals()['f%d' % n]() == n for n in range(300)])", "all([globals()['g%d' % n]() == n for n in range(3000)])"])

    def test_st2_a_child_that_a_pickle_forks_does_no_harm(self):
        self.saved("import os\nclass Forks:\n    def __reduce__(self):\n        os.fork()\n        return str, ('x',)\nforks = Forks(); y = 2")
        host, report = self.loaded()
        self.assertEqual(report["failed"], [])
        self.ok(host, "forks, y", "('x', 2)")
        self.assertEqual(os.listdir(self.folder), ["a.stead"])

    def test_st2_functions_without_a_source_come_back_in_the_same_version(self):
        self.saved("exec('def f(x): return x + 1')\ng = eval('lambda: 5')", "import linecache")
        host, report = self.loaded()
        self.assertEqual(report["failed"], [])
        self.ok(host, "f(1), g()", "(2, 5)")

    def test_st2_errors_and_inspect_show_the_lines_that_were_saved(self):
        self.saved("1", "\n\nx = 5\ndef f(a):\n    return 1 / a  # here\n\ndef g(): return f(0)\nclass P:\n    def m(self): return g()")
        for _ in range(2):
            host, _ = self.loaded()
            traceback = self.fails(host, "P().m()", "ZeroDivisionError").traceback
            self.assertIn('File "<a.stead py:2>", line 5, in f\n    return 1 / a  # here\n', traceback)
            self.ok(host, "import inspect\ninspect.getsource(f)", "'def f(a):\\n    return 1 / a  # here\\n'")
            self.assertEqual(host.ask("query 1 inspect", "P")["data"]["source"], "class P:\n    def m(self): return g()\n")
            self.done(host, "save", self.path)

    def test_st2_ten_thousand_names(self):
        self.saved("import threading\nfor i in range(10000): globals()['n%d' % i] = [i]\nfor i in range(100): globals()['u%d' % i] = [threading.Lock()]\ndel i")
        self.assertEqual((len(self.manifest()["names"]), len(self.manifest()["failed"])), (10001, 100))
        host, report = self.loaded()
        self.assertEqual((report["count"], report["failed"], len(report["loaded"])), (10001, [], 200))
        self.ok(host, "n9999, n0", "([9999], [0])")

    def test_st2_a_crash_while_a_file_is_written_leaves_the_old_one(self):
        host = self.start(cwd=self.folder)
        self.ok(host, "x = 1")
        self.done(host, "save", self.path)
        before = self.contents()
        self.ok(host, "import os\nclass Dies:\n    def __reduce__(self): os.kill(os.getpid(), %d)\nd = Dies()" % signal.SIGKILL)
        result = self.begin_work(host, "save", self.path)
        host.wait_end(result)
        self.assertEqual(self.contents(), before)


class Kept(SavingTest):
    """With gc off an object goes with its last name, unless something that saving or loading left still holds it."""

    THINGS = ("import gc, weakref\ngc.disable()\nclass A: pass\nclass Bad:\n    def __reduce__(self): raise ERROR\nERROR = KeyError('kept by the user')",
              "o = A(); o.data = bytearray(1 << 20); o.size = 1\nf = lambda: o\ndef g(x=o): return x\nclass B:\n    held = o\nbad = [o, Bad()]",
              "w = weakref.ref(o)")

    def goes(self, host):
        """The object goes with the names that hold it."""
        self.ok(host, "del o, f, g, B.held, bad\nw() is None", "True")

    def start_with_things(self, *more):
        host = self.start(cwd=self.folder)
        for code in (*self.THINGS, *more):
            self.ok(host, code, out=None)
        return host

    def test_st2_what_was_saved_is_not_kept_alive(self):
        host = self.start_with_things()
        self.assertEqual([entry["name"] for entry in self.done(host, "save", self.path)["failed"]], ["bad", "w"])
        self.goes(host)

    def test_st2_a_save_that_fails_keeps_nothing_alive(self):
        for path, words in ((self.folder, "is a directory"), ("/dev/null/a", "could not write"), (self.path, "File too large")):
            host = self.start_with_things("import resource, signal\n_ = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\nresource.setrlimit(resource.RLIMIT_FSIZE, (1 << 19, 1 << 30))")
            result = self.work(host, "save", path)
            self.assertIn(words, result.event("error")["message"])
            self.goes(host)

    def test_st2_an_interrupted_save_keeps_nothing_alive(self):
        host = self.start_with_things("class Slow:\n    tries = 0\n    def __reduce__(self):\n        Slow.tries += 1\n        print('tried', Slow.tries)\n        while Slow.tries == WHEN: pass\n        return str, ()\nslow = Slow()")
        for when in (1, 2):  # tried, then written
            self.ok(host, "WHEN, Slow.tries = %d, 0" % when)
            result = self.begin_work(host, "save", self.path)
            host.pump_until_text(result, "tried %d" % when)
            host.interrupt()
            self.assertEqual(host.finish(result).status, "interrupted")
        self.goes(host)

    def test_st2_what_was_loaded_is_not_kept_alive(self):
        self.saved("class A: pass\no = A(); o.data = bytearray(1 << 20)\nf = lambda: o")
        host, _ = self.loaded()
        self.ok(host, "import gc, weakref\ngc.disable()\nw = weakref.ref(o)\ndel o, f\nw() is None", "True")

    def test_st2_a_load_that_fails_or_is_interrupted_keeps_nothing_alive(self):
        self.saved("class A: pass\no = A()\nclass Slow:\n    def __setstate__(self, state):\n        print('up')\n        while True: pass\n"
                   "class Bad:\n    def __reduce__(self): return int, ('no number',)\nbad = Bad()\nslow = Slow(); slow.a = o")
        host = self.start(cwd=self.folder)
        self.ok(host, "import gc, weakref\ngc.disable()")
        result = self.begin_work(host, "load", self.path)
        host.pump_until_text(result, "up")
        host.interrupt()
        self.assertEqual(host.finish(result).status, "interrupted")
        self.ok(host, "import sys\nsys.last_value = sys.last_traceback = sys.last_exc = None\nw = weakref.ref(o)\ndel o\nw() is None", "True")
