"""Definitions, which runs nothing of a text, and the user's standard library, whose names are not the user's."""
import os
import sys
import tempfile
import unittest

from driver import BridgeTest


class Stdlib(BridgeTest):
    def load(self, host, text):
        return self.work(host, "stdlib", text)

    def test_st4_statements_are_told_with_names_kinds_and_lines(self):
        host = self.start()
        text = ('#!/usr/bin/env python3\n# About.\n\nfrom __future__ import annotations\nimport os.path, json as j\nfrom re import (compile,\n    match as m)\n\n'
                '# Of f.\n# More.\n@staticmethod\ndef f(a, /, b: "int | None" = None, *args, c=[1,\n    2], **kw) -> int:\n    """Says ü.\n\n    More."""\n\nasync def g(): pass\n'
                'class C(object):\n    "A class."\n\nx, (y, *z) = 1, (2, 3)\nn: int = 5\nobj = {}\nobj["k"] = 1\nx = 1; print(x)\ndef _(): pass\nif x:\n    def hidden(): pass\n')
        found = self.definitions(host, text)
        told = [(one["name"], one["kind"], one["from"], one["to"]) for one in found]
        self.assertEqual(told, [
            ("annotations", "module", 4, 4), ("os", "module", 5, 5), ("j", "module", 5, 5), ("compile", "module", 6, 7), ("m", "module", 6, 7),
            ("f", "function", 11, 16), ("g", "function", 18, 18), ("C", "class", 19, 20), ("x", "other", 22, 22), ("y", "other", 22, 22), ("z", "other", 22, 22),
            ("n", "other", 23, 23), ("obj", "other", 24, 24), ("", "other", 25, 25), ("x", "other", 26, 26), ("", "other", 26, 26), ("", "other", 27, 27), ("", "other", 28, 29)])
        function = found[5]
        self.assertEqual((function["signature"], function["doc"], function["comment"]), ('(a, /, b: "int | None" = None, *args, c=[1, 2], **kw) -> int', "Says ü.", 9))
        self.assertEqual((found[0].get("head"), found[1].get("head"), found[7]["doc"], found[0].get("comment")), (True, None, "A class.", None))
        self.assertEqual(self.definitions(host, '"""Doc."""\nx = 1')[0], {"name": "", "kind": "head", "from": 1, "to": 1})
        self.assertEqual(self.definitions(host, ""), [])

    def test_st4_nothing_of_a_text_is_run_and_what_is_wrong_is_told_with_its_line(self):
        host = self.start()
        with tempfile.TemporaryDirectory() as place:
            mark = os.path.join(place, "ran")
            text = "open(%r, 'w')\n@print\ndef f(x=open(%r, 'w')): pass\nclass C: open(%r, 'w')\n" % (mark, mark, mark)
            self.assertEqual(len(self.definitions(host, text)), 3)
            self.assertFalse(os.path.exists(mark))
        for text, says in (("def f(:\n  pass", "line 1: "), ("x = 1\nreturn 1", "line 2: "), ("x = (", "line 1: "), ("if 1:\npass", "line 2: ")):
            self.assertTrue(self.definitions(host, text).startswith(says), text)
        self.assertEqual(host.ask("query 1 vars")["data"]["vars"], [])

    def test_st4_names_of_the_library_are_not_the_users_until_they_are_rebound(self):
        host = self.start()
        result = self.load(host, "import json\nitems = []\ndef put(x):\n    global last\n    last = x\n    items.append(x)\nclass Box:\n    def open(self): return 1 / 0\n")
        self.assertEqual((result.status, result.event("report")["data"], result.changed, result.done["variables"]), ("ok", {"names": 4}, {}, 0))
        self.assertEqual(host.ask("query 1 vars")["data"]["vars"], [])
        result = host.eval("put(1); items")
        self.assertEqual((result.value, [one["name"] for one in result.changed["added"]], result.done["variables"]), ("[1]", ["last"], 1))
        self.assertEqual(host.ask("query 1 inspect", "put")["data"]["source"].splitlines()[0], "def put(x):")
        self.assertEqual(host.ask("query 1 inspect", "Box")["data"]["source"].splitlines()[0], "class Box:")
        self.assertIn('File "<stdlib>", line 8, in open\n    def open(self): return 1 / 0', host.eval("Box().open()").traceback)
        result = host.eval("items = 5\ndel put")
        self.assertEqual(([one["name"] for one in result.changed["rebound"]], result.changed["removed"], result.done["variables"]), (["items"], ["put"], 2))
        result = host.eval("globals().update(json=None)")
        self.assertEqual([one["name"] for one in result.changed["rebound"]], ["json"])
        host.ask("clear 3")
        self.assertEqual(host.eval("'put' in globals()").value, "False")
        self.assertEqual(self.load(host, "def put(x): return x").done["variables"], 0)
        self.ok(host, "put(3)", "3")

    def test_st4_a_library_that_fails_leaves_what_it_had_defined_and_ends_nothing(self):
        host = self.start()
        for text, name, report, ran in (
                ("x = 1\ndef f(:", "SyntaxError", {"names": 0, "line": 2}, False), ("a = 1\n1 / 0", "ZeroDivisionError", {"names": 1, "line": 2}, True),
                ("exit(3)", "ExitCalled", {"names": 1}, True), ("import sys\nsys.exit()", "ExitCalled", {"names": 2}, True), ("raise SystemExit('x')", "ExitCalled", {"names": 2}, True),
                ("\n\ncompile('(', 'x', 'exec')", "SyntaxError", {"names": 2, "line": 3}, True)):
            result = self.load(host, text)
            self.assertEqual((result.status, result.error, result.changed), ("error", name, {}), text)
            self.assertEqual((result.event("report")["data"], result.done.get("nothing_ran")), (report, None if ran else True), text)
        self.ok(host, "a", "1")
        self.assertEqual(host.ask("query 1 vars")["data"]["vars"], [])
        self.assertEqual(self.load(host, "from __future__ import annotations\ndef f(x: nothing): pass").status, "ok")
        self.assertEqual(host.eval("def g(x: nothing): pass").error, None if sys.version_info >= (3, 14) else "NameError")


if __name__ == "__main__":
    unittest.main()
