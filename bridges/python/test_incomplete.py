"""Code that ends too early runs nothing and is told apart from code that is wrong (SPEC E-20)."""
import sys

from driver import BridgeTest

OPEN = ["(1,", "foo(", "x = [1,\n 2", "{'a': ", "def f():", "def f():\n", "if x:\n    # c\n", "for i in x:\n    if y:", "'''abc", "x = '''abc\nfoo", "x = 'abc",
        "x = \"it's", "print('hello)", "print('hello", "print('hello\n", "x = 1 + \\", "x = 1 + \\\n", "@dec", "try:\n    x", "try:\n    x\n", "f'''{a", "f'{a", "def f(",
        "'abc\\\n", "while True:\n  (", "try:\n  x\nfinally:", "async def f():", "[i for i in", "(i for", "é = (", "b'abc", "rb'''", "(\n#c", "if x: #c",
        "class A:\n  '''doc", "from a import (", "await f(", "f'abc", "if x:\n\n\n", "x = {\r\n"]
WRONG = ["print('it's')", "x = 1 +", "x = = 1", ")", "(]", "foo(1 2)", "foo(1 2", "if x", "class A", "lambda", "x = ", "f'{a'", "a b (", "if x:\npass", "x = (1,\n]", "  x",
         "if x:\n  y\n z", "return", "x.", "import", "else:", "0777", "x = {1:2}}", "a = 'x\ny = 2", "a = ('x\ny = 2", "break", "print 'a'", "1 = x", "def f(:", "x = $"]


class Incomplete(BridgeTest):
    def refused(self, host, code):
        result = host.eval(code)
        self.assertEqual(result.status, "error", code)
        self.assertNotIn("<stead>", result.traceback)
        return result

    def test_e20_incomplete_code_runs_nothing_and_says_so(self):
        host = self.start()
        for code in OPEN:
            result = self.refused(host, "ran = 1\n" + code)
            self.assertIs(result.event("error").get("incomplete"), True, code)
            self.assertIn(result.error, ("SyntaxError", "IndentationError"), code)
            self.assertIs(result.done.get("nothing_ran"), True, code)
            self.ok(host, "'ran' in globals()", "False")
            self.assertIs(host.eval(code).event("error").get("incomplete"), True, code)

    def test_e20_what_is_wrong_however_it_goes_on_is_no_incomplete_code(self):
        host = self.start()
        for code in WRONG:
            result = self.refused(host, code)
            self.assertNotIn("incomplete", result.event("error"), code)
            self.assertIs(result.done.get("nothing_ran"), True, code)
        if sys.version_info >= (3, 10):
            self.assertIs(host.eval("match x:").event("error").get("incomplete"), True)

    def test_e20_an_error_of_other_code_is_no_incomplete_code(self):
        host = self.start()
        for code in ("exec('(')", "compile('(', '<py:1>', 'exec')", "eval('(')", "exec(compile('(', '<py:%d>' % 4, 'exec'))", "raise SyntaxError('a')",
                     "int('')", "import ast; ast.parse('(')"):
            result = self.refused(host, code)
            self.assertNotIn("incomplete", result.event("error"), code)
            self.assertNotIn("nothing_ran", result.done, code)

    def test_e20_a_warning_is_given_once(self):
        host = self.start()
        self.ok(host, "import warnings; warnings.simplefilter('always')")
        code = "y = '\\d'\n("
        alone = host.eval("try:\n    compile(%r, 'a', 'exec')\nexcept SyntaxError:\n    pass" % code)
        result = self.fails(host, code, "SyntaxError")
        self.assertEqual(result.err.count("invalid escape"), alone.err.count("invalid escape"), result.err)
        self.ok(host, "warnings.filters[0][0]", "'always'")
