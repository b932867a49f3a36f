"""Exits, errexit, interrupts, and the end of the session."""
import os
import random
import select
import signal

from driver import BashTest, Host

STRICT = """set -Eeuo pipefail
trap 'echo "failed: $BASH_COMMAND" >&2' ERR
work() {
    local n=$1
    cat /no/such/file 2>/dev/null
    echo never
}
for n in 1 2 3; do
    work $n
done
echo never
"""

# An interrupt that comes to the shell as often as `strikes` has letters, when this runs.
STRIKE = b"if [[ -n ${strikes-} ]]; then strikes=${strikes#?}; kill -INT $$; fi; "


class Ends(BashTest):
    def test_sh2_exit_ends_the_eval_only(self):
        host = self.start()
        self.gives(host, "x=5; exit 3\necho never", status=3)
        self.gives(host, "f() { g; }; g() { exit 4; }; for i in 1 2; do f; done; echo never", status=4)
        self.gives(host, "true; exit", status=0)
        self.gives(host, "false; exit", status=1)
        self.gives(host, "eval 'exit 5'; echo never", status=5)
        self.gives(host, "exit 300", status=44)
        self.gives(host, "exit -1", status=255)
        self.gives(host, "(exit 6); echo $?; v=$(exit 7); echo $?; echo x | { exit 8; }; echo $?", "6\n7\n8\n")
        self.gives(host, "while read -r l; do exit 9; done < /etc/passwd; echo never", status=9)
        self.gives(host, "trap 'exit 10' USR1; kill -USR1 $$; echo never", status=10)
        self.gives(host, "trap 'echo int' INT; exit 11", status=11)
        self.gives(host, "kill -INT $$; echo on; trap - INT", "int\non\n")
        self.gives(host, "echo $x", "5\n")

    def test_sh2_set_e_ends_the_eval_only(self):
        host = self.start()
        for code, status in (("false", 1), ("(exit 3)", 3), ("f() { (exit 4); echo no; }; f", 4), ("v=$(exit 5)", 5),
                             ("true | (exit 6) | true", 6), ("eval false", 1), ("[[ a == b ]]", 1), ("f() { return 7; }; f", 7)):
            result = self.gives(host, "set -eo pipefail\n%s\necho never" % code, status=status)
            self.assertIn("by `set -e` in f: " if "f()" in code and "return" not in code else "by `set -e` in line 2: ", result.event("error")["message"])
        self.gives(host, "set -e; false || true; if false; then :; fi; ! true; false && true; echo on", "on\n")
        self.gives(host, "set +e; trap - ERR; false; echo on", "on\n")

    def test_sh2_strict_scripts_of_their_own_traps(self):
        host = self.start()
        result = self.gives(host, STRICT, err="failed: cat /no/such/file 2> /dev/null\n", status=1)
        self.assertIn("by `set -e` in work: cat /no/such/file", result.event("error")["message"])
        self.gives(host, "set +Eeu +o pipefail; trap - ERR")
        self.gives(host, "trap 'echo \"err $?\"' ERR; f() { false; true; }; f; (exit 3); false; true", "err 3\nerr 1\n")
        self.gives(host, "set -e; trap 'echo mine; exit 12' ERR; false; echo never", "mine\n", status=12)
        self.gives(host, "set +e; trap - ERR; false; true")

    def test_sh2_an_err_trap_that_exits_is_not_run_for_the_bridges_own_commands(self):
        host = self.start()
        self.gives(host, "trap 'echo err; exit 9' ERR; set -eE")
        # After an eval that took long a subshell looks at what there is.
        self.gives(host, "sleep 0.05; x=5")
        self.gives(host, "sleep 0.05; false; echo never", "err\n", status=9)
        self.gives(host, "echo $x", "5\n")

    def test_sh2_set_u_and_unset_parameters_end_the_eval(self):
        host = self.start()
        for code in ("set -u\necho $nope\necho never", "set -u; f() { echo $nope; }; f; echo never", "echo ${nope:?}\necho never"):
            result = host.eval(code)
            self.assertEqual((result.status, result.out, result.done["exit_code"]), ("error", "", 1), code)
        self.gives(host, "set +u; echo on", "on\n")

    def test_sh2_a_shell_that_started_anew_is_as_the_one_before(self):
        host = self.start()
        self.gives(host, "x=5; f() { echo f$x; }; set -T")
        result = host.eval("set -e; echo ${nope?}; echo never")
        self.assertEqual((result.status, result.out), ("error", ""))
        # `set -e` ends the eval as before, and not once more the shell, which would say so.
        result = self.gives(host, "sleep 1000 & false", status=1)
        self.assertNotIn("notice", result.done)
        self.assertIn("by `set -e` in line 1: false", result.event("error")["message"])
        self.gives(host, "f; kill %1; echo ${-//[!eT]/}; set +eT", "f5\neT\n")

    def test_sh2_a_shell_that_started_anew_has_what_was_declared_without_a_value(self):
        host = self.start()
        self.gives(host, "declare -A map; declare -i sum; declare -ax list; export EMPTY; readonly FIXED")
        self.assertEqual(host.eval("set -eu; : $nope").status, "error")
        self.gives(host, "set +eu; declare -p map sum list EMPTY FIXED BASH_COMPAT", "declare -A map\ndeclare -i sum\ndeclare -ax list\ndeclare -x EMPTY\ndeclare -r FIXED\n",
                   "bash: declare: BASH_COMPAT: not found\n", status=1)
        result = self.gives(host, "map[a]=1; map[b]=2; sum=1+1; f() { :; }; echo ${#map[@]} $sum", "2 2\n")
        self.assertEqual({one["name"] for one in result.changed["added"]}, {"map", "sum", "f"})
        self.assertNotIn("removed", result.changed)
        # The text of the code that failed is open no more.
        self.assertNotIn("39", os.listdir("/proc/%d/fd" % host.process.pid))

    def test_sh3_break_and_continue_outside_of_a_loop_are_told_and_nothing_else(self):
        host = self.start()
        self.gives(host, "x=1; sleep 1000 & x=2")
        for word in ("break", "continue"):
            said = "bash: %s: only meaningful in a `for', `while', or `until' loop\n" % word
            for code in ("%s; echo on", "%s 3; echo on", "for i in 1; do %s 5; done; %s; echo on", "(exit 0) && %s; echo on", "eval %s; echo on", "v=%s; $v; echo on",
                         ". /dev/stdin <<<'%s; echo on'", "if true; then %s; fi; echo on", "set -e; %s; echo on; set +e"):
                self.gives(host, code.replace("%s", word), "on\n", said)
            self.gives(host, "false; alias leave=%s" % word)
            self.gives(host, "echo $?; leave; echo on", "0\non\n", said)
            self.gives(host, "false", status=1)
            self.gives(host, "echo $?; %s" % word, "1\n", said)
            self.gives(host, "f() { %s; echo on; }; f; unalias leave" % word, "on\n", said)
        # What leaves our loop all the same ends there.
        for word in ("break", "continue"):
            self.gives(host, "v=%sX" % word)
            self.gives(host, "echo a; A=1 ${v%X}; echo never", "a\n")
        self.gives(host, "echo $x; jobs -r | wc -l; kill %1", "2\n1\n")

    def test_sh2_hundreds_of_lines(self):
        host = self.start()
        lines = ["set -euo pipefail", "total=0"]
        for n in range(100):
            lines += ["add_%d() {" % n, "  local by=${1:-1}", "  total=$((total + by))", "}", "add_%d 2" % n]
        self.gives(host, "\n".join([*lines, "echo $total", "exit 17"]), "200\n", status=17)
        self.gives(host, "set +euo pipefail; add_3; echo $total", "201\n")

    def test_e11_a_signal_to_the_shell_ends_the_eval_by_its_name(self):
        host = self.start()
        self.gives(host, "trap 'echo int' INT")
        # The last one must not end at once: a read that is also told of the end of a child goes on.
        for code in ("x=1; kill -%s $$; x=2; echo never", "set -e; f() { false || kill -%s $$; echo never; }; f", "(sleep 0.1; kill -%s $$; sleep 1) & read -r line; echo never"):
            for name in ("HUP", "USR1", "USR2", "ALRM", "PIPE", "XCPU", "XFSZ", "VTALRM", "SYS"):
                result = self.gives(host, code % name, status=128 + signal.Signals["SIG" + name])
                self.assertIn("(%s): the shell itself got this signal" % name, result.event("error")["message"])
                self.assertNotIn("notice", result.done)
        self.gives(host, "set +e; echo $x; kill -INT $$; trap - INT", "1\nint\n")
        self.gives(host, "exec 3> >(:); wait $!; echo lost >&3; echo never", err="bash: echo: write error: Broken pipe\n", status=141)
        self.gives(host, "set -e; echo lost >&3; echo never", err="bash: echo: write error: Broken pipe\n", status=141)
        result = self.gives(host, "false; echo never", status=1)
        self.assertIn("by `set -e` in line 1: false", result.event("error")["message"])

    def test_sh1_traps_for_signals_are_the_users(self):
        host = self.start()
        self.gives(host, "trap; (trap); trap -p HUP USR1")
        self.gives(host, "trap 'echo mine' USR1; trap '' hup; kill -USR1 $$; kill -HUP $$; trap -p", "mine\ntrap -- '' SIGHUP\ntrap -- 'echo mine' SIGUSR1\n")
        self.gives(host, "trap - 1 SIGUSR1; trap; kill -HUP $$; echo never", status=129)
        self.gives(host, "kill -USR1 $$; echo never", status=138)
        self.gives(host, "(kill -USR1 $BASHPID; echo never); echo $?; bash -c 'kill -HUP $$; echo never'; echo $?", "138\n129\n")
        self.gives(host, "printf %1000000s x | head -c 1 >/dev/null; echo ${PIPESTATUS[0]}", "141\n")

    def test_s6_a_signal_ends_a_shell_that_runs_nothing_and_a_fault_ends_any(self):
        host = self.start()
        self.gives(host, "echo 1", "1\n")
        # Until then it may still be at the end of the eval.
        host.wait_for_call("read", 40)
        os.kill(host.process.pid, signal.SIGUSR1)
        self.assertEqual(host.wait_end(host.idle), -signal.SIGUSR1)
        for code in ("kill -SEGV $$", "false; f() { kill -ABRT $$; echo never; }; f"):
            host = self.start()
            self.assertIn(host.wait_end(host.submit(code)), (-signal.SIGSEGV, -signal.SIGABRT), code)

    def test_s6_what_ends_the_session(self):
        for code, status, out in (("builtin exit 7", 7, ""), ("exec sh -c 'echo other; exit 4'", 4, "other\n"), ("kill -9 $$", -9, ""),
                                  ("trap 'echo bye $?; exit 5' EXIT; echo x; builtin exit 3", 5, "x\nbye 3\n")):
            host = self.start()
            result = host.submit(code)
            self.assertEqual((host.wait_end(result), result.out), (status, out), code)
        host = self.start()
        host.eval("trap 'echo bye; echo err >&2' EXIT")
        host.send("exit")
        self.assertEqual((host.wait_end(host.idle), host.idle.out, host.idle.err), (0, "bye\n", "err\n"))
        host = self.start()
        host.eval("trap 'echo gone' EXIT")
        host.control.close()
        self.assertEqual(host.process.wait(20), 0)

    def test_j2_the_exit_trap_is_part_of_the_last_eval(self):
        for code, out, status in (("trap 'echo bye $?' EXIT; echo a", "a\nbye 0\n", 0), ("trap 'echo bye $?' EXIT; (exit 3)", "bye 3\n", 3), ("trap 'echo bye; exit 7' EXIT; exit 2", "bye\n", 7), ("echo a", "a\n", 0),
                                  ("trap 'echo bye' EXIT; set -e; false; echo never", "bye\n", 1), ("trap 'echo bye' EXIT; set -eu; echo $none", "bye\n", 1)):
            host = self.start()
            host.send("last")
            result = host.eval(code)
            self.assertEqual((result.out, result.done["exit_code"]), (out, status), (code, result.events))
            host.send("exit")
            self.assertEqual(host.process.wait(20), 0)
            self.assertEqual(os.read(host.out, 100), b"")
        host = self.start()
        host.send("last")
        self.assertIn("background jobs", host.eval("sleep 1000 & echo a").done["notice"])

    def test_sh3_a_break_that_only_comes_about_when_it_runs_leaves_nothing_of_ours(self):
        host = self.start()
        told = "bash: break: only meaningful in a `for', `while', or `until' loop\n"
        self.gives(host, "x=brea y=break; ${x}k 99; echo a", "a\n", told)
        for code in ("$y; echo a", "\"$y\" 3; echo a", "br\\eak; echo a", "b're'ak; echo a", "`echo break`; echo a", "if true; then $y; echo a; fi", "f() { $y; echo a; }; f", "true && ${x}k; echo a", "! $y; echo a"):
            self.gives(host, code, "a\n", told)
        self.gives(host, "for i in 1 2; do ${x}k; done; echo $i", "1\n")
        # What is not foreseen ends the code, and says so.
        result = self.gives(host, "A=1 $y; echo a")
        self.assertIn("did not run", result.done["notice"])
        self.gives(host, "echo b", "b\n")

    def test_sh3_a_break_in_a_trap_leaves_nothing_of_ours(self):
        host = self.start()
        told = "bash: break: only meaningful in a `for', `while', or `until' loop\n"
        for name, code, status in (("USR1", "kill -USR1 $$; echo a", 0), ("ERR", "echo a; false", 1), ("CHLD", "/bin/true; echo a", 0)):
            self.gives(host, "trap 'break 9' " + name)
            self.gives(host, code, "a\n", told, status)
            self.gives(host, "trap - " + name)
        self.gives(host, "echo b", "b\n")

    def test_sh2_exit_and_trap_are_ours_again_after_code_that_removed_them(self):
        host = self.start()
        self.gives(host, "exit() { echo mine; }; trap() { echo mine; }")
        self.gives(host, "exit; trap", "mine\nmine\n")
        self.gives(host, "unset -f exit trap")
        self.gives(host, "exit 3", status=3)
        self.gives(host, "trap 'echo err' ERR; false", "err\n", status=1)
        self.gives(host, "trap - ERR; shopt -s extdebug; trap false DEBUG; echo a")
        self.assertEqual(host.eval("echo b").status, "ok")


class Interrupts(BashTest):
    def interrupted(self, host, code, until=None, spared=()):
        result = host.submit(code)
        if until:
            host.pump_until_text(result, until)
        host.interrupt(spared)
        host.finish(result)
        return result

    def test_sh4_foreground_ends_background_and_state_stay(self):
        host = self.start()
        job = int(host.eval("x=41; sleep 100000 & echo $!").out)
        for code in ("echo up; while :; do :; done", "echo up; sleep 1000; echo never", "echo up; sleep 1000 | cat", "echo up; v=$(sleep 1000)",
                     "f() { g; }; g() { echo up; sleep 1000; }; f", "echo up; read -r line", "echo up; cat", "echo up; wait"):
            result = self.interrupted(host, code, "up", {job})
            self.assertEqual((result.status, result.out, result.err), ("interrupted", "up\n", ""), code)
            self.gives(host, "echo $((x + 1)); kill -0 %d" % job, "42\n")

    def test_sh4_the_users_own_trap_is_bashs_own_way(self):
        host = self.start()
        result = self.interrupted(host, "trap 'echo caught' INT; echo up; sleep 1000; echo after", "up")
        self.assertEqual((result.status, result.out), ("ok", "up\ncaught\nafter\n"))
        result = self.interrupted(host, "echo up; sleep 1000; echo after", "up")
        self.assertEqual((result.status, result.out), ("ok", "up\ncaught\nafter\n"))
        self.gives(host, "trap - INT")
        result = self.interrupted(host, "echo up; sleep 1000; echo never", "up")
        self.assertEqual((result.status, result.out), ("interrupted", "up\n"))

    def test_e6_an_interrupt_is_one_under_errexit_too(self):
        host = self.start()
        self.gives(host, "set -e")
        for code in ("echo up; sleep 1000; echo never", "echo up; (sleep 1000); echo never", "f() { echo up; sleep 1000; }; f", "echo up; sleep 1000 | cat"):
            for _ in range(5):
                result = self.interrupted(host, code, "up")
                self.assertEqual((result.status, result.out, result.err, result.event("error")), ("interrupted", "up\n", "", None), code)
        self.gives(host, "echo on; [[ -o errexit ]]", "on\n")

    def test_sh4_more_interrupts_on_the_way_back_to_the_prompt_end_nothing(self):
        struck = type("Struck", (Host,), {"bridge": Host.bridge.replace(b'__stead_loop="', b'__stead_loop="' + STRIKE.replace(b"$", b"\\$"))})
        self.assertNotEqual(struck.bridge, Host.bridge)
        host = struck()
        self.addCleanup(host.close)
        self.gives(host, "x=41; sleep 1000 & :")
        for strikes in range(1, 8):
            result = host.eval("strikes=%s; kill -INT $$; echo never" % ("x" * strikes))
            self.assertEqual((result.status, result.out), ("interrupted", ""))
            # Another shell in its place would not know its jobs.
            self.gives(host, "echo $((x + 1)) ${#strikes}; jobs -r | wc -l", "42 0\n1\n")
        self.gives(host, "kill %1")

    def test_sh4_an_interrupt_while_another_shell_takes_over_ends_nothing(self):
        struck = type("Struck", (Host,), {"bridge": Host.bridge.replace(b"__stead_salvage() {\n", b"__stead_salvage() {\n" + STRIKE + b"\n")})
        self.assertNotEqual(struck.bridge, Host.bridge)
        host = struck()
        self.addCleanup(host.close)
        result = host.eval("x=41; strikes=x; set -eu; : $nope")
        self.assertEqual((result.status, result.done["exit_code"]), ("error", 1), result.events)
        self.gives(host, "set +eu; echo $((x + 1)) ${#strikes}", "42 0\n")

    def test_e6_a_late_interrupt_hits_nothing(self):
        host = self.start()
        for _ in range(20):
            result = host.finish(host.submit("echo one"))
            host.interrupt()
            self.assertEqual((result.status, host.eval("echo two").out), ("ok", "two\n"))

    def test_e6_an_early_interrupt_hits_the_eval_it_names(self):
        host = self.start()
        for _ in range(20):
            result = host.submit("sleep 1000")
            host.interrupt()
            self.assertEqual(host.finish(result).status, "interrupted")
            self.gives(host, "echo on", "on\n")

    def test_sh4_storm(self):
        host = self.start()
        host.eval("x=41")
        scripts = ["echo 1", "for ((i = 0; i < 200; i++)); do :; done", "v=$(echo a)", "echo a | cat", "f() { exit 5; }; f", "set -e; false",
                   "while :; do :; done", "while :; do /bin/true; done", "sleep 600", "read -r l", "v=$(sleep 600)"]
        for n in range(int(os.environ.get("STEAD_BASH_INTERRUPTS", "200"))):
            code = random.choice(scripts)
            result = host.submit(code)
            # At any moment, also just after its end.
            select.select([host.control], [], [], random.random() * random.choice((0, 0.003, 0.02)))
            host.interrupt()
            host.finish(result)
            self.assertIsNotNone(result.done, (n, code, result.order))
            self.gives(host, "set +e; echo $((x + 1))", "42\n")
