"""The quick way from one plain eval to the next (bridge/quick.bash)."""
import os
import random
import select

from driver import BashTest


class Quick(BashTest):
    def test_sh1_plain_evals_one_after_the_other(self):
        host = self.start()
        for n in range(5):
            self.gives(host, "echo %d" % n, "%d\n" % n)
            self.gives(host, "echo $((%d + 1))" % n, "%d\n" % (n + 1))
            self.gives(host, "echo ü", "ü\n")
            self.gives(host, "", "")

    def test_e15_long_code_after_plain_code(self):
        host = self.start()
        self.gives(host, "echo 1", "1\n")
        self.gives(host, "x='%s'; echo ${#x}" % ("y" * (4 << 20)), "%d\n" % (4 << 20))

    def test_sh1_the_status_of_the_eval_before_is_known(self):
        host = self.start()
        self.gives(host, "echo 1", "1\n")
        self.assertEqual(host.eval("false").done["exit_code"], 1)
        self.gives(host, "echo $?", "1\n")
        self.gives(host, "echo $?", "0\n")

    def test_e13_what_plain_code_changes_is_told(self):
        host = self.start()
        self.gives(host, "echo 1", "1\n")
        self.assertIn("x", str(host.eval("x=1").changed.get("added")))
        self.gives(host, "echo $x", "1\n")
        self.assertEqual(host.eval("echo 2").done["variables"], 1)
        self.assertIn("the working directory is now /", host.eval("cd /").done["notice"])
        self.gives(host, "pwd", "/\n")

    def test_e13_e20_sums_are_plain_only_if_they_are_whole_and_have_no_names(self):
        host = self.start()
        self.gives(host, "echo $((1 + 1)) $((2*3))", "2 6\n")
        self.assertIn("x", str(host.eval("echo $((1+1)) $((x=5))").changed.get("added")))
        self.gives(host, "echo 1", "1\n")
        self.assertIn("y", str(host.eval("echo $((y=5))").changed.get("added")))
        self.gives(host, "echo 1", "1\n")
        for code in ("echo $((1+1", "echo $((1)) $((2", "echo $((1+1))) ("):
            self.assertEqual(host.eval(code).error, "SyntaxError", code)
            self.gives(host, "echo $((1+1))", "2\n")
        self.gives(host, "echo $((1+1))$(z=1; echo $z)", "21\n")
        self.assertEqual(host.eval("echo $((1/0))").done["exit_code"], 1)
        self.gives(host, "echo $x$y $((%d))" % 7, "55 7\n")

    def test_sh1_options_stay_and_no_name_of_ours_is_exported(self):
        for option in "aefuvT":
            host = self.start()
            self.gives(host, "echo 1", "1\n")
            host.eval("set -" + option)
            self.gives(host, "echo 2", "2\n") if option != "v" else host.eval("echo 2")
            self.assertIn(option, host.eval("echo $-").out, option)
            self.assertNotIn("__stead_", host.eval("env").out)

    def test_sh1_names_that_mean_something_else_now_are_not_plain(self):
        host = self.start()
        self.gives(host, "echo 1", "1\n")
        host.eval("greet() { made=1; }")
        self.assertIn("made", str(host.eval("greet").changed))
        host.eval("shopt -s expand_aliases; alias hello='other=2'")
        self.assertIn("other", str(host.eval("hello").changed))
        self.assertIn("third", str(host.eval("printf -v third 3").changed))

    def test_py6_plain_code_does_not_reach_the_descriptors_of_the_bridge(self):
        host = self.start()
        for code in ("echo hi >&40", "echo hi 1>&42", "pwd >&40", "test -e / >&40", "echo hi >/dev/fd/40", "/bin/echo hi >&40"):
            self.gives(host, "echo 1", "1\n")
            self.gives(host, code, "")
        self.gives(host, "echo 1", "1\n")
        self.gives(host, "readlink /proc/self/fd/40 /proc/self/fd/43 /proc/self/fd/47", "/dev/null\n" * 3)
        self.gives(host, "echo '>&2'", ">&2\n")

    def test_e6_a_signal_to_the_shell_by_plain_code(self):
        host = self.start()
        self.gives(host, "echo 1", "1\n")
        self.assertEqual(host.eval("kill -USR1 $$").done["exit_code"], 138)
        self.gives(host, "echo 2", "2\n")
        self.assertEqual(host.eval("kill -INT $$").status, "interrupted")
        self.gives(host, "echo 3", "3\n")

    def test_sh3_what_runs_in_the_background_is_still_there(self):
        host = self.start()
        self.gives(host, "echo 1", "1\n")
        host.eval("sleep 600 &")
        self.gives(host, "echo 2", "2\n")
        self.assertIn("sleep", host.eval("jobs").out)

    def test_e9_an_empty_line_and_questions_between_plain_evals(self):
        host = self.start()
        self.gives(host, "echo 1", "1\n")
        host.eval("x=7")
        self.gives(host, "echo 2", "2\n")
        self.assertIn("x", str(host.ask("query 1 vars")))
        self.gives(host, "echo 3", "3\n")

    def test_e6_interrupts_at_any_moment_of_plain_evals(self):
        host = self.start()
        host.eval("x=41")
        scripts = ["echo 1", "echo $((1 + 1))", "/bin/true", "pwd", "sleep 600"]
        for n in range(int(os.environ.get("STEAD_BASH_INTERRUPTS", "200"))):
            code = random.choice(scripts)
            result = host.submit(code)
            select.select([host.control], [], [], random.random() * random.choice((0, 0.0005, 0.003)))
            host.interrupt()
            host.finish(result)
            self.assertIsNotNone(result.done, (n, code, result.order))
            self.assertIn(result.status, ("ok", "interrupted"), (n, code))
            for _ in range(n % 3):
                self.gives(host, "echo $x", "41\n")
