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
    def test_no_two_parts_of_the_bridge_define_the_same_name(self):
        listed = re.findall(r'"(python/(?:bridge|saving|copies)/[^"]+)"', contents("lib.rs").decode())
        self.assertGreater(len(listed), 30)
        homes = {}
        for path in listed:
            for name in re.findall(r"^(?:def|class) (\w+)|^([A-Z][A-Z_]+) = ", contents(path).decode(), re.M):
                homes.setdefault(name[0] or name[1], set()).add(path)
        self.assertEqual({name: files for name, files in homes.items() if len(files) > 1}, {})
