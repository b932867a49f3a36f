"""Definitions, which runs nothing of a text, and the user's standard library, whose names are not the user's."""
import os
import tempfile
import unittest

from driver import BashTest


class Stdlib(BashTest):
    def load(self, host, text):
        return self.work(host, "stdlib", text)

    def test_st4_commands_are_told_with_names_kinds_and_lines(self):
        host = self.start()
        text = ("#!/bin/bash\n# Says hello.\n# More.\nhello() {\n    cat <<E\nhi }\nE\n    if [[ $1 == a ]]; then\n        echo \"x }\"\n    fi\n}\n\nfunction two-b { echo b; }\n"
                "function three ()\n{\n    # Inside.\n    :\n}\nGREETING='it is\n  me() {'\nexport PATH=\"$PATH:/x\"\ndeclare -A MAP=([a]=1\n [b]=2)\nalias ll='ls -l'\none() { :; }; uno() { :; }\n"
                "sub() (\n  cd /\n)\nfor i in 1 2; do\n  :\ndone\n[[ -n $X ]] && f() { :; }\n. /dev/null\nx=1; echo \\\n  y\nlist=(a\n  b)\ncase $x in\n  1) : ;;\nesac\nshopt -s extglob\nglob() { [[ $1 == @(a|b) ]] && echo !(x); }\n")
        found = self.definitions(host, text)
        told = [(one["name"], one["kind"], one["from"], one["to"]) for one in found]
        self.assertEqual(told, [
            ("hello", "function", 4, 11), ("two-b", "function", 13, 13), ("three", "function", 14, 18), ("GREETING", "other", 19, 20), ("PATH", "other", 21, 21), ("MAP", "other", 22, 23),
            ("ll", "other", 24, 24), ("one", "function", 25, 25), ("uno", "function", 25, 25), ("sub", "function", 26, 28), ("", "other", 29, 31), ("", "other", 32, 32), ("/dev/null", "module", 33, 33),
            ("", "other", 34, 35), ("list", "other", 36, 37), ("", "other", 38, 40), ("", "other", 41, 41), ("glob", "function", 42, 42)])
        self.assertEqual((found[0]["doc"], found[0]["comment"], found[2]["doc"]), ("Says hello.", 2, "Inside."))
        self.assertEqual(self.definitions(host, ""), [])
        self.assertEqual([one["name"] for one in self.definitions(host, "größe() { :; }\n# x\nf() { echo ü; }")], ["größe", "f"])

    def test_st4_nothing_of_a_text_is_run_whatever_it_tries(self):
        host = self.start()
        with tempfile.TemporaryDirectory() as place:
            mark = os.path.join(place, "ran")
            for text in ("touch MARK", "x=$(touch MARK)", "f() { :; }; touch MARK", ": >MARK", "{ :; } >MARK", "( touch MARK ) &", "trap 'touch MARK' EXIT DEBUG", "cat <(touch MARK)", "declare x=`touch MARK`",
                         "if touch MARK; then :; fi", "case $(touch MARK) in *) ;; esac", "[[ $(touch MARK) ]]", "((x=$(touch MARK)))", "for i in $(touch MARK); do :; done", "alias f='touch MARK'\nf",
                         "}\ntouch MARK\n{ :", "}; touch MARK; {", ") } fi; touch MARK; if ((0)); then { ( :", ":\n}\ntouch MARK\nx() { :", "f() {\n:\n}\n}\ntouch MARK\n{", "cat <<E\n}\ntouch MARK\nE",
                         "x='\n}\ntouch MARK\n'", "set +n; touch MARK", "x=${y:=$(touch MARK)}", "a[$(touch MARK)]=1", "exec touch MARK", "kill -9 $$"):
                self.definitions(host, text.replace("MARK", mark))
                self.assertFalse(os.path.exists(mark), text)
        for text, says in (("f() {\n  echo", "line "), ("x=1\nfi", "line 2: "), ("cat <<E\nx", "line "), ("}", "line 1: "), ("echo 'x", "line "), ("[[ a", "line ")):
            self.assertTrue(self.definitions(host, text).startswith(says), (text, self.definitions(host, text)))
        self.assertEqual(host.ask("query 1 vars")["data"]["vars"], [])

    def test_st4_names_of_the_library_are_not_the_users_until_they_are_rebound(self):
        host = self.start()
        text = "f() { echo f; }\ng() { made=1; }\nX=1\nexport PATH=$PATH:/x\nalias ll='ls -l'\n[[ -n $NONE ]] && echo yes\n"
        result = self.load(host, text)
        self.assertEqual((result.status, result.event("report")["data"], result.changed, result.done["variables"]), ("ok", {"names": 5}, {}, 0))
        self.assertEqual(host.ask("query 1 vars")["data"]["vars"], [])
        result = host.eval("f; g")
        self.assertEqual((result.out, [one["name"] for one in result.changed["added"]], result.done["variables"]), ("f\n", ["made"], 1))
        self.assertIn("echo f", host.ask("query 1 inspect", "f")["data"]["source"])
        result = host.eval("X=2; f() { echo mine; }; alias ll=ls")
        self.assertEqual((sorted(one["name"] for one in result.changed["rebound"]), result.done["variables"]), (["X", "f", "ll"], 4))
        self.assertEqual(sorted(one["name"] for one in host.ask("query 1 vars")["data"]["vars"]), ["X", "f", "ll", "made"])
        result = host.eval("unset -f g")
        self.assertEqual((result.changed, result.done["variables"]), ({"removed": ["g"]}, 4))
        host.ask("clear 3")
        self.assertEqual(self.load(host, text).done["variables"], 0)
        self.assertEqual(host.eval("f").out, "f\n")
        self.assertEqual(host.eval("true").done["variables"], 0)

    def test_st4_a_library_that_fails_leaves_what_it_had_defined_and_ends_nothing(self):
        host = self.start()
        for text, line in (("a=1\nfi", 2), ("a=1\nexit 3", None), ("a=1\nexit 0", None), ("a=1\nreturn 4\nb=2", None), ("set -e\na=1\nfalse\nb=2", 3)):
            result = self.load(host, text)
            self.assertEqual((result.status, result.changed), ("error", {}), text)
            self.assertEqual(result.event("report")["data"].get("line"), line, text)
            host.eval("set +e")
            self.assertEqual(host.eval("echo $a$b").out, "1\n", text)
            self.assertEqual(host.ask("query 1 vars")["data"]["vars"], [], text)
            host.ask("clear 3")


if __name__ == "__main__":
    unittest.main()
