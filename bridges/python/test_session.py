"""Exits, names, queries, the compiled start, and the golden transcripts."""
import glob
import json
import os
import re
import tempfile

from driver import BRIDGE, DEADLINE, GOLDEN, BridgeTest, Host, contents
from nest import Nest


class Ends(BridgeTest):
    def test_st1_the_source_of_a_class_of_an_earlier_eval_is_known(self):
        host = self.start()
        self.ok(host, "class A: x = 1\nclass B(A):\n    class C:\n        y = 2\n    def f(self): pass\n\nz = 5")
        self.ok(host, "import functools\n@functools.total_ordering\nclass A:\n    def __lt__(self, other): return True\n    def __eq__(self, other): return True\n\ndef make():\n    class L: pass\n    return L\nL = make()")
        for name, source in (("A", "@functools.total_ordering\nclass A:\n    def __lt__(self, other): return True\n    def __eq__(self, other): return True\n"),
                             ("B", "class B(A):\n    class C:\n        y = 2\n    def f(self): pass\n"), ("B.C", "    class C:\n        y = 2\n"), ("L", "    class L: pass\n")):
            data = host.ask("query 1 inspect", name)["data"]
            self.assertEqual(data["source"], source, data)
        self.assertEqual(host.ask("query 1 inspect", "B")["data"]["file"], "<py:1>")

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

    def test_j2_what_the_last_eval_leaves_to_be_done_is_part_of_it(self):
        leaves = "import atexit, threading, time, concurrent.futures\natexit.register(print, 'handler')\ndef work(): time.sleep(0.1); print('thread')\nthreading.Thread(target=work).start()\n" \
                 "concurrent.futures.ThreadPoolExecutor().submit(lambda: (time.sleep(0.05), print('pool')))\nprint('first')\n"
        for last, status, value in (("6 * 7", "ok", "42"), ("1 / 0", "error", None), ("raise SystemExit(3)", "error", None)):
            host = self.start()
            host.send("last")
            result = host.eval(leaves + last)
            self.assertEqual((result.status, result.value, result.out), (status, value, "first\npool\nthread\nhandler\n"), result.events)
            host.send("exit")
            self.assertEqual(host.process.wait(DEADLINE), 0)
            self.assertEqual(os.read(host.out, 100), b"")
        host = self.start()
        host.send("last")
        result = host.submit("import threading\nthreading.Thread(target=threading.Event().wait).start()\nprint('up', flush=True)")
        host.pump_until_text(result, "up")
        host.interrupt()
        self.assertEqual(host.finish(result).status, "interrupted")

    def test_py13_exit_ends_the_session_in_good_order(self):
        for call, code in (("exit()", 0), ("quit(3)", 3), ("from builtins import exit as e; e(4)", 4), ("exit('bye')", 1)):
            host = self.start()
            result = host.submit("import atexit, sys, threading, time\natexit.register(lambda: (print('handler'), print('to err', file=sys.stderr)))\n"
                                 "go = threading.Event()\ndef work():\n    go.wait()\n    time.sleep(0.05)\n    print('thread')\nthreading.Thread(target=work).start()\nprint('first')\ngo.set()\n" + call + "\nprint('never')")
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

    def test_st1_completions(self):
        host = self.start()
        self.ok(host, "apple = 1\nclass Box:\n    lid = 1\n    _hidden = 2\nbox = Box()")

        def complete(text):
            return host.ask("query 1 complete", text)["data"]["names"]

        self.assertEqual(complete("app"), ["apple"])
        self.assertIn("print", complete("pri"))
        self.assertIn("import", complete("imp"))
        self.assertEqual(complete("box."), ["box.lid"])
        self.assertEqual(complete("box._h"), ["box._hidden"])
        self.assertEqual(complete("zzz"), [])
        self.assertIn("not defined", host.ask("query 1 complete", "nope.x")["error"])
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


class Looking(BridgeTest):
    """Questions about names whose classes do what they like (SPEC ST-1)."""

    def test_st1_one_value_does_not_keep_the_others_from_being_told(self):
        host = self.start()
        self.ok(host, """
import sys
class Loops:
    def __repr__(self):
        while True: pass
class Exits:
    def __repr__(self): raise SystemExit(3)
class Asks:
    def __repr__(self): return input('really? ')
class Prints:
    def __repr__(self): print('printed'); sys.stdout.buffer.write(b'bytes'); return 'P'
class Classy:
    @property
    def __class__(self): raise SystemExit
loops, exits, asks, prints, classy, last = Loops(), Exits(), Asks(), Prints(), Classy(), 7
""")
        values = {one["name"]: one["value"] for one in host.ask("query 1 vars")["data"]["vars"]}
        self.assertEqual((values["loops"], values["prints"], values["last"]), ("<showing it takes too long>", "P", "7"))
        self.assertIn("repr raised SystemExit: 3", values["exits"])
        self.assertIn("repr raised EOFError", values["asks"])
        # What was printed is background output, and none of it is left for the next eval.
        self.assertEqual([event["text"] for event in host.idle.events if event["ev"] == "background"], ["really? ", "printed", "\n"])
        host.drain(host.idle)
        self.assertEqual(host.idle.out, "bytes")
        self.ok(host, "1", "1")
        for name in ("loops", "exits", "classy"):
            self.assertEqual(host.ask("query 2 inspect", name)["data"]["type"], name.capitalize())

    def test_st1_lists_of_many_that_take_long_come_in_time(self):
        host = self.start()
        self.ok(host, "class Loops:\n    def __repr__(self):\n        while True: pass\nfor i in range(50): globals()['l%d' % i] = Loops()\nlast = 7")
        data = host.ask("query 1 vars")["data"]["vars"]
        self.assertEqual([one["type"] for one in data[2:]].count("Loops"), 50)

    def test_st1_ten_thousand_names(self):
        host = self.start()
        self.ok(host, "for i in range(10_000): globals()['name_%d' % i] = [i]")
        data = host.ask("query 1 vars")["data"]
        self.assertEqual((len(data["vars"]), data["more"], data["vars"][-1]["value"]), (500, 9501, "[498]"))
        self.assertIn("near: ", host.ask("query 2 inspect", "nam_77")["error"])

    def test_st1_a_lazy_module_is_not_loaded(self):
        host = self.start()
        self.ok(host, """
import importlib.util, sys
spec = importlib.util.find_spec('wave')
spec.loader = importlib.util.LazyLoader(spec.loader)
wave = sys.modules['wave'] = importlib.util.module_from_spec(spec)
spec.loader.exec_module(wave)""")
        values = {one["name"]: one["value"] for one in host.ask("query 1 vars")["data"]["vars"]}
        self.assertEqual(values["wave"], "<module 'wave', not loaded yet>")
        self.assertEqual(host.ask("query 2 inspect", "wave")["data"]["value"], values["wave"])
        self.ok(host, "type(wave).__name__", "'_LazyModule'")
        self.assertIn("wave.open", host.ask("query 3 inspect", "wave.open")["data"]["name"])

    def test_st1_attributes_that_raise_loop_or_hide(self):
        host = self.start()
        self.ok(host, """
class Odd:
    __doc__ = 'An odd one.'
    bad = property(lambda self: {}['x'])
    lost = property(lambda self: self.nothing)
    def slow(self):
        while True: pass
    slow = property(slow)
    def method(self): pass
    def __dir__(self): raise ValueError
    def __getattr__(self, name): raise AttributeError(name)
odd = Odd()
class Any:
    def __getattr__(self, name): return 5
any_, columns = Any(), [1]""")
        data = host.ask("query 1 inspect", "odd")["data"]
        self.assertEqual((data["members"], data["type_doc"]), (["bad", "lost", "method", "slow"], "An odd one."))
        for name, error in (("odd.bad", "`odd.bad` raised KeyError: 'x'"), ("odd.slow", "looking at `odd.slow` takes too long"), ("odd.methd", "`odd`, of type Odd, has no attribute 'methd'; near: method"),
                            ("odd.lost", "`odd.lost` raised AttributeError: lost"), ("colums", "name 'colums' is not defined; near: columns"), ("Columns", "name 'Columns' is not defined; near: columns")):
            self.assertEqual(host.ask("query 2 inspect", name)["error"], error)
        self.assertEqual(host.ask("query 3 inspect", "any_.whatever")["data"]["value"], "5")
        self.assertEqual(host.ask("query 4 inspect", "print")["data"]["type"], "builtin_function_or_method")

    def test_s7_clear_repairs_builtins_and_streams_and_says_what_goes_on(self):
        host = self.start()
        self.ok(host, "from __future__ import annotations\nimport builtins, sys, io, threading, subprocess, signal\nevent = threading.Event()\nbuiltins.event = event\nthreading.Thread(target=event.wait).start()\n"
                      "child = subprocess.Popen(['sleep', '1000'])\nsignal.signal(signal.SIGINT, print)\nsys.stdout = io.StringIO()\nbuiltins.len = builtins.print = None\ndel builtins.range")
        self.assertEqual(host.ask("clear 1")["data"], {"notice": "1 thread and 1 child process of earlier evals go on"})
        self.ok(host, "print(len(range(3)))", out="3\n")
        self.ok(host, "def f(x: 5): pass\nf.__annotations__", "{'x': 5}")
        self.ok(host, "'threading' in __import__('sys').modules", "True")
        self.ok(host, "event.set()")
        host.eval("import os, signal, subprocess; os.system('kill $(cat /proc/%d/task/%d/children)' % (os.getpid(), os.getpid()))")


class Golden(BridgeTest):
    files = sorted(glob.glob(os.path.join(GOLDEN, "python-*.jsonl")))

    def test_golden_transcripts(self):
        for path in self.files:
            with self.subTest(path), tempfile.TemporaryDirectory() as folder:
                host = (Nest if "copies" in path else Host)(cwd=folder)
                self.addCleanup(host.close)
                self.replay(host, path)

    def test_every_message_occurs_in_a_golden_transcript(self):
        told, heard = set(), set()
        for path in self.files:
            with open(path, encoding="utf-8") as file:
                for line in map(json.loads, file):
                    if "bridge" in line:
                        told.add(line["bridge"]["ev"])
                    else:
                        words = line["host"].split("\n")[0].split(" ")
                        heard.add(" ".join((words[0], words[2]) if words[0] == "query" else words[:1]))
        text = BRIDGE.decode()
        self.assertEqual(told, set(re.findall(r'"ev": ?"(\w+)"', text)))
        questions = {"query " + what for what in re.findall(r'\bwhat == "(\w+)"', text)}
        commands = set(re.findall(r'\bwords\[0\] == "(\w+)"', text)) - {"query"}
        self.assertEqual(heard, questions | commands | {"ack", "interrupt"})


class Parts(BridgeTest):
    def test_an_audit_hook_that_keeps_the_bridge_from_going_on_ends_the_session(self):
        host = self.start()
        self.ok(host, "import sys; sys.addaudithook(lambda event, args: 1 / 0 if event in ('fcntl.fcntl', 'fcntl.ioctl') else None)")
        host.submit("1")
        self.assertEqual(host.wait_end(host.idle), 1)
        said = [event for event in host.idle.events if event["ev"] == "exiting"]
        self.assertEqual([event["reason"] for event in said], ["the interpreter fails at what the session needs: ZeroDivisionError"])

    def test_no_two_parts_of_the_bridge_define_the_same_name(self):
        listed = re.findall(r'"(python/(?:bridge|saving|copies)/[^"]+)"', contents("lib.rs").decode())
        self.assertGreater(len(listed), 30)
        homes = {}
        for path in listed:
            for name in re.findall(r"^(?:def|class) (\w+)|^([A-Z][A-Z_]+) = ", contents(path).decode(), re.M):
                homes.setdefault(name[0] or name[1], set()).add(path)
        self.assertEqual({name: files for name, files in homes.items() if len(files) > 1}, {})
