"""Code that ends too early runs nothing and is told apart from code that is wrong (SPEC E-20)."""
from driver import BashTest

OPEN = ["if true; then", "for x in 1 2; do", "while :", "until x", "case x in", "case x in\na) echo", "f() {", "{ echo", "( echo", 'echo "abc', "echo 'abc", "echo `date", "echo $(date",
        "echo $((1+", "((1+", "[[ a &&", "[[ a == b", "cat <<E\nfoo", "cat <<E", "cat <<-'E'\n\tfoo\n E", "cat <<}\nfoo", "a &&", "a ||", "a |", "a && # c", "true &&\n\n", "echo a \\", "echo a \\\n",
        "echo ${x", "a=(1 2", "x=(", "x=$(cat <<E\nfoo\n)", "f()", "function f", "coproc {", "echo <(a", "if", "[[", "echo it's", "echo \"$(echo 'a)\"", "echo $'a", "{ (", "select x in a"]
WRONG = ["if )", "}", ")", "fi", "echo )", "for", "if true; fi", "{ if true; then }", "if true; then echo a; }", "echo a;;", "else", "done", "esac", "a <", "{ echo ) }", "[[ a ==", "echo a\n}", "echo a\n)"]
WHOLE = ["# it's", "# a \\", "echo }", "echo '#'", "echo \\\\", "! :", "echo a # (", "cat <<E\n(\"'\nE", "cat <<}\nfoo\n}", "case a in a) echo;; esac", "case a in (a) echo; esac", "f() { :; }; f",
         "echo $((1<<2))", "x='a\nb'", "echo \"a\\\"b\"", "[[ a == a && b < c ]]", "a=(1\n2)", "echo ${x:-\"}\"}", "alias begin='{'\nalias fin='}'\nbegin echo; fin", "x=1 &", "echo a |\ncat", "echo a; \\"]


class Incomplete(BashTest):
    def test_e20_incomplete_code_runs_nothing_and_says_so(self):
        host = self.start()
        for end in OPEN:
            for code in ("echo ran\nran=1\n" + end, end):
                result = host.eval(code)
                self.assertEqual((result.status, result.error, result.out, result.err), ("error", "SyntaxError", "", ""), code)
                self.assertIs(result.event("error").get("incomplete"), True, code)
                self.assertEqual((result.done["exit_code"], result.done.get("nothing_ran")), (2, True), code)
                message = result.event("error")["message"]
                self.assertTrue(message.startswith("sh:%d: " % host.count), message)
                self.assertNotIn("__stead", message)
        self.gives(host, "echo $? ${ran-no} ${x-no}", "2 no no\n")

    def test_e20_what_is_wrong_however_it_goes_on_is_no_incomplete_code(self):
        host = self.start()
        for code in WRONG:
            result = host.eval(code)
            self.assertEqual(result.status, "error", code)
            self.assertNotIn("incomplete", result.event("error"), code)

    def test_e20_code_that_is_whole_runs(self):
        host = self.start()
        for code in WHOLE:
            result = host.eval(code)
            self.assertNotIn("SyntaxError", [event.get("name") for event in result.events], code)
            self.assertEqual(result.err, "", code)

    def test_e20_what_follows_a_stray_bracket_does_not_run(self):
        host = self.start()
        for code in ("echo a\n}\necho b", "echo a\n)\necho b", "set -u\necho a\n}\necho b", "echo a\nfi\necho b"):
            self.assertEqual(host.eval(code).out, "a\n", code)
        for code in ("}\nleft=1", "set -u\n}\nleft=1", ")\nleft=1", "fi; left=1"):
            host.eval(code)
        self.gives(host, "set +u; echo ${left-no}", "no\n")

    def test_e20_after_a_plain_eval_too(self):
        host = self.start()
        for code in ("cat <<E", "cat /dev/null |", "echo a &&", "echo a \\", "echo 'a", "true && # more"):
            self.gives(host, "true")
            self.gives(host, "true")
            result = host.eval(code)
            self.assertEqual((result.out, result.err), ("", ""), code)
            self.assertIs(result.event("error").get("incomplete"), True, code)

    def test_e20_in_any_locale_and_with_any_option(self):
        host = self.start(env={"LC_ALL": "de_DE.UTF-8", "LANGUAGE": "de"})
        for before in ("", "set -euo pipefail", "set -x", "set -n; set -v; trap 'echo dbg' DEBUG", "trap 'echo err' ERR", "shopt -s extdebug"):
            host.eval(before)
            self.assertIs(host.eval("echo a\nif true; then").event("error").get("incomplete"), True, before)
            self.assertIs(host.eval("x=1; cat <<E\na").event("error").get("incomplete"), True, before)

    def test_e20_code_that_makes_aliases_runs_nothing_if_it_is_incomplete(self):
        host = self.start()
        for code in ("alias ll='ls -l'\necho ran\nif true; then", "alias a=b; echo ran; cat <<E", "alias b='{'\nb echo ran", "alias a=1 b=\"2 3\" c\necho ran\nf() {",
                     "# first\n\nalias x=y\necho 'ran", "echo ran\nalias x='}'\nwhile :", "if true; then alias x=y; fi\necho ran &&"):
            result = host.eval(code)
            self.assertEqual((result.error, result.out, result.event("error").get("incomplete")), ("SyntaxError", "", True), code)
        self.gives(host, "alias", "")
        for code, out in (("alias begin='{'\nalias fin='}'\nbegin echo ran; fin", "ran\n"), ("alias fin='}'; x=1\n{ echo ran\nfin", "ran\n"),
                          ("alias say='echo ran'\nsay", "ran\n"), ("x=ran; alias v=\"echo $x\"\nv", "ran\n"), ("alias then_='then' fi_='fi'\nif true; then_ echo ran; fi_", "ran\n")):
            self.gives(host, code, out)
