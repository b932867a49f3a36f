"""Code that ends too early runs nothing and is told apart from code that is wrong (SPEC E-20)."""
import unittest

from host import NodeTest

OPEN = ["foo(1,", "foo(1", "foo(", "{", "if (x) {", "if (x)", "if (x", "x = {a: 1", "x = [1,", "`abc", "`abc${", "`abc${x", "`a${b}", "'abc", '"abc', "'abc\n", "'abc\\\n", "'abc\\", "/* abc", "x = 1 +", "x =",
        "function f() {", "function f(", "class A {", "class A", "() =>", "async () => {", "x ? 1 :", "x.", "for (;;", "for (;;)", "do {", "try {", "try {}", "try { foo(1", "switch (x) {",
        "`${`a", "import x from", "import {a", "import {a} from 'fs'\nfoo(", "await foo(", "await foo(1", "await", "let a = (1", "a => {", "foo(`a", "if (a) { b() } else", "let {a", "obj = {\n  a() {\n    return 1;\n",
        "foo(1,\n2\n", "{ // c", "class A { foo() {", "foo('a", "foo(bar(1), function() { baz([1", "const x = await import(", "print('hello)", "(a,", "#!x\nfoo("]
WRONG = ["foo(1 2)", "foo(1 2", "return", "return 1", "/abc", "x = 1 2", "}", "foo)", "x = 'it's'", "a = [1 2", "'a\nb", "foo('a\nb", "<div", "foo(1;", "@", "x = y z (", "0x", "(]", "await x }", "export default 1",
         "case", "a b", "await a b", "import 5", "try {} foo()", "if (x) { } }", "x = = 1", "x = '\\u'", "var 1a"]


class Incomplete(NodeTest):
    def test_e20_incomplete_code_runs_nothing_and_says_so(self):
        host = self.start()
        for end in OPEN:
            for code in ("ran = 1;\n" + end if end[0] != "#" else end, end):
                if code == "await":  # a name, as long as nothing follows
                    continue
                result = host.eval(code)
                self.assertEqual((result.status, result.error), ("error", "SyntaxError"), (code, result.events))
                self.assertIs(result.event("error").get("incomplete"), True, (code, result.events))
                self.assertNotIn("only valid", result.event("error")["message"])
        result = host.eval("typeof ran")
        self.assertEqual(result.value, "'undefined'")

    def test_e20_what_is_wrong_however_it_goes_on_is_no_incomplete_code(self):
        host = self.start()
        for code in WRONG:
            result = host.eval(code)
            self.assertEqual((result.status, result.error), ("error", "SyntaxError"), (code, result.events))
            self.assertNotIn("incomplete", result.event("error"), code)

    def test_e20_an_error_of_other_code_is_no_incomplete_code(self):
        host = self.start()
        for code in ("eval('(')", "new Function('(')", "JSON.parse('{')", "await Promise.resolve().then(() => eval('foo('))", "throw new SyntaxError('Unexpected end of input')"):
            result = host.eval(code)
            self.assertEqual((result.status, result.error), ("error", "SyntaxError"), (code, result.events))
            self.assertNotIn("incomplete", result.event("error"), code)


if __name__ == "__main__":
    unittest.main()
