"""Definitions, which runs nothing of a text, and the user's standard library, whose names are not the user's."""
import os
import tempfile
import unittest

from host import NodeTest


class Stdlib(NodeTest):
    def load(self, host, text):
        return self.work(host, "stdlib", text)

    def test_st4_statements_are_told_with_names_kinds_and_lines(self):
        host = self.start()
        text = ("\"use strict\";\nconst fs = require('fs'), path = require('path');\nconst { join, basename: base } = require('path');\nimport os from 'os';\nimport 'node:url'\n\n"
                "/**\n * Adds two.\n * @param a x\n */\nfunction add(a, b = 2) {\n  return a + b;\n}\n\n// Arrow.\nconst sq = async (x, y) => {\n  return x * x;\n};\nlet n = 5, m = `a\nb`;\n"
                "class Point { constructor(x) { this.x = x; } }\nconst K = class {};\nglobalThis.g = 3\nconsole.log('x')\nconst one = x => x\nvar f = function* () {}\nif (n) { n = 6 } else { n = 7 }\n"
                "for (const i of [1]) {\n  n += i;\n}\nasync function later() {}\nvalue = 5;\nconst url = await import('node:url')\n")
        found = self.definitions(host, text)
        told = [(one["name"], one["kind"], one["from"], one["to"]) for one in found]
        self.assertEqual(told, [
            ("", "head", 1, 1), ("fs", "module", 2, 2), ("path", "module", 2, 2), ("join", "module", 3, 3), ("base", "module", 3, 3), ("os", "module", 4, 4), ("", "module", 5, 5),
            ("add", "function", 11, 13), ("sq", "function", 16, 18), ("n", "other", 19, 20), ("m", "other", 19, 20), ("Point", "class", 21, 21), ("K", "class", 22, 22), ("", "other", 23, 23),
            ("", "other", 24, 24), ("one", "function", 25, 25), ("f", "function", 26, 26), ("", "other", 27, 27), ("", "other", 28, 30), ("later", "function", 31, 31), ("value", "other", 32, 32),
            ("url", "module", 33, 33)])
        self.assertEqual((found[7]["signature"], found[7]["doc"], found[7]["comment"]), ("(a, b = 2)", "Adds two.", 7))
        self.assertEqual((found[8]["signature"], found[8]["doc"], found[15]["signature"]), ("(x, y)", "Arrow.", "(x)"))
        self.assertEqual(self.definitions(host, ""), [])

    def test_st4_nothing_of_a_text_is_run_and_what_is_wrong_is_told_with_its_line(self):
        host = self.start()
        with tempfile.TemporaryDirectory() as place:
            mark = os.path.join(place, "ran")
            for text in ("FS('MARK', '')", "const x = FS('MARK', '')", "class A { static x = FS('MARK', '') }", "await FS('MARK', '')", "import './MARK.mjs'", "})();FS('MARK','');(()=>{", "}\nFS('MARK','')\n{"):
                self.definitions(host, text.replace("FS", "require('fs').writeFileSync").replace("MARK", mark))
                self.assertFalse(os.path.exists(mark), text)
        for text, says in (("let a = ;", "line 1: "), ("let a = 1\nexport const b = 2", "line 2: "), ("function f( {", "line 1: "), ("await 1\nlet x = {", "line ")):
            self.assertTrue(self.definitions(host, text).startswith(says), (text, self.definitions(host, text)))
        self.assertEqual(host.ask("query 1 vars")["data"]["vars"], [])

    def test_st4_names_of_the_library_are_not_the_users_until_they_are_rebound(self):
        host = self.start()
        text = "import os from 'os';\nfunction f() { made = 1; return 'f' }\nconst items = [];\nlet n = 1\nclass Box {}\n"
        result = self.load(host, text)
        self.assertEqual((result.status, result.event("report")["data"], result.changed, result.done["variables"], result.value), ("ok", {"names": 5}, {}, 0, None))
        self.assertEqual(host.ask("query 1 vars")["data"]["vars"], [])
        result = host.eval("items.push(f()); items")
        self.assertEqual((result.value, [one["name"] for one in result.changed["added"]], result.done["variables"]), ("[ 'f' ]", ["made"], 1))
        self.assertIn("made = 1", host.ask("query 1 inspect", "f")["data"]["source"])
        result = host.eval("n = 2; const f = 5")
        self.assertEqual((sorted(one["name"] for one in result.changed["rebound"]), result.done["variables"]), (["f", "n"], 3))
        result = host.eval("delete globalThis.Box")
        self.assertEqual((result.changed, result.done["variables"]), ({"removed": ["Box"]}, 3))
        host.ask("clear 3")
        self.ok(host, "typeof items", "'undefined'")
        self.assertEqual(self.load(host, text).done["variables"], 0)
        self.ok(host, "items.length", "0")

    def test_st4_a_library_that_fails_leaves_what_it_had_defined(self):
        host = self.start()
        for text, name, report, ran in (
                ("\nlet a = ;", "SyntaxError", {"names": 0, "line": 2}, False), ("await 1\nlet b = ;", "SyntaxError", {"names": 0, "line": 2}, False), ("null.x", "TypeError", {"names": 0, "line": 1}, True),
                ("var a = 1\nnull.x", "TypeError", {"names": 1, "line": 2}, True), ("\nJSON.parse('{')", "SyntaxError", {"names": 1, "line": 2}, True),
                ("a = await 1\nthrow new RangeError('x')", "RangeError", {"names": 1, "line": 2}, True)):
            result = self.load(host, text)
            self.assertEqual((result.status, result.error, result.changed), ("error", name, {}), text)
            self.assertEqual((result.event("report")["data"], result.done.get("nothing_ran")), (report, None if ran else True), text)
        self.assertIn("<stdlib>:2", result.traceback)
        self.ok(host, "a", "1")


if __name__ == "__main__":
    unittest.main()
