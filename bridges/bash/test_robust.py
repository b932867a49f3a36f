"""What user code breaks, it breaks for itself."""
import subprocess

from driver import BashTest, Host


class Robust(BashTest):
    def alive(self, host):
        self.gives(host, "builtin echo on", "on\n")
        self.gives(host, "exit 3", status=3)

    def test_sh1_names_of_ours_are_the_users_too(self):
        host = self.start()
        names = "read printf eval local declare trap set shopt unset return continue compgen kill jobs cd test true false echo type help command"
        for name in names.split():
            result = host.eval("%s() { :; }; alias %s=nothing" % (name, name))
            self.assertEqual(result.status, "ok", (name, result.events))
            self.assertEqual(host.eval("builtin printf on").out, "on", name)
        host.eval("alias while=no if=no for=no do=no { =no builtin=no case=no exec=no")
        self.assertEqual(host.eval("\\builtin printf on").out, "on")
        self.assertEqual(host.eval("exit 3").done["exit_code"], 3)

    def test_sh1_options_that_would_show_or_stop_us(self):
        for code in ("IFS=x", "IFS=0123456789", "LC_ALL=C; LANG=", "set -f", "set -a", "set -k", "set -C", "set -T", "set -v", "set -b", "set -m", "set -o posix",
                     "shopt -s nocasematch nullglob failglob extdebug nocaseglob", "shopt -u expand_aliases sourcepath", "TMOUT=1", "unset PROMPT_COMMAND PS1 PS4", "POSIXLY_CORRECT=1",
                     "readonly PROMPT_COMMAND", "FUNCNEST=50", "unset BASH_ALIASES HOME PATH", "cd $(mktemp -d) && rmdir $PWD", "set +E", "hash -r", "export -f exit trap", "umask 777"):
            host = self.start()
            result = host.eval(code)
            self.assertEqual((result.status, result.out, result.err), ("ok", "", ""), (code, result.events))
            self.assertEqual(host.eval("builtin echo on").out, "on\n", code)
            result = host.eval("builtin echo up; kill -INT \"$$\"; builtin echo never")
            self.assertEqual((result.status, result.out), ("interrupted", "up\n"), code)
            self.assertEqual(host.eval("builtin echo on").out, "on\n", code)

    def test_sh1_a_prompt_command_of_the_users(self):
        host = self.start()
        self.gives(host, "PROMPT_COMMAND='echo mine'; PS1='% '; exit 4", status=4)
        result = host.eval("PROMPT_COMMAND=(one two); kill -INT $$")
        self.assertEqual((result.status, result.order), ("interrupted", []))
        result = host.eval("unset PROMPT_COMMAND; kill -INT $$")
        self.assertEqual((result.status, result.order), ("interrupted", []))
        self.alive(host)

    def test_sh1_a_trace_shows_the_users_commands_only(self):
        host = self.start()
        for code in ("set -x; echo a; false", "echo b; (exit 2)", "f() { false; }; f; exit 3", "set +x"):
            result = host.eval(code)
            self.assertNotIn("__stead", result.err, code)
            self.assertNotIn("builtin", result.err, code)
        self.assertIn("+ exit 3\n", host.eval("set -x; exit 3").err)
        host.eval("set +x")
        self.alive(host)

    def test_sh1_traps_of_every_kind(self):
        host = self.start()
        self.gives(host, "trap 'echo \"D $BASH_COMMAND\"' DEBUG; echo a", "D echo a\na\n")
        self.gives(host, "echo b", "D echo b\nb\n")
        self.gives(host, "trap - DEBUG; echo c", "D trap - DEBUG\nc\n")
        self.gives(host, "echo d", "d\n")
        self.gives(host, "trap 'n=$((n + 1))' CHLD RETURN; trap 'echo bye' EXIT; f() { :; }; f")
        self.gives(host, "trap -p EXIT; x=$(trap -p EXIT); eval \"$x\"; trap - CHLD RETURN EXIT; trap", "trap -- 'echo bye' EXIT\n")
        self.gives(host, "trap '' INT; kill -INT $$; echo on; trap - INT", "on\n")
        self.alive(host)

    def test_sh3_a_syntax_error_under_any_option_is_one_and_changes_none(self):
        for option in ("e", "u", "x", "eu", "eT"):
            host = self.start()
            host.eval("set -%s -o pipefail" % option)
            for code in ("echo ran\nif )\necho no", "echo 'open", "if true; then"):
                result = host.eval(code)
                self.assertEqual((result.status, result.error), ("error", "SyntaxError"), (option, code, result.events))
                self.assertNotIn("__stead", repr(result.order) + repr(result.events), (option, code))
            self.assertEqual(host.eval("echo ${-//[!%s]/}; shopt -qo pipefail" % option).out, option + "\n")
            self.assertEqual("echo on" in host.eval("echo on").err, "x" in option, option)

    def test_sh1_a_debug_trap_with_functrace_sees_the_users_commands(self):
        host = self.start()
        self.gives(host, "set -T; trap 'echo \"D $BASH_COMMAND\"' DEBUG")
        self.gives(host, "echo a", "D echo a\na\n")
        self.gives(host, "echo b", "D echo b\nb\n")
        host.eval("if )")
        self.gives(host, "echo c", "D echo c\nc\n")

    def test_sh1_a_debug_trap_sees_nothing_of_the_bridge(self):
        host = self.start()
        self.gives(host, "seen=; trap 'seen+=\"<$BASH_COMMAND>\"' DEBUG")
        self.gives(host, "f() { exit 3; }; f", status=3)
        self.assertEqual(host.eval("kill -INT $$; echo never").status, "interrupted")
        self.gives(host, "trap - DEBUG; echo \"$seen\"", "<f><kill -INT $$><trap - DEBUG>\n")

    def test_sh1_readonly_names_that_read_uses(self):
        for code in ("readonly REPLY LC_ALL PS4 PWD IFS", "readonly LC_ALL=C REPLY=x"):
            host = self.start()
            self.gives(host, code)
            self.gives(host, "echo ä", "ä\n")
            self.alive(host)

    def test_sh2_an_exec_that_fails_ends_nothing(self):
        host = self.start()
        self.gives(host, "exec /no/such/program; echo on", "on\n", "bash: /no/such/program: No such file or directory\n")
        self.gives(host, "exec no_such_program; echo on", "on\n", "bash: exec: no_such_program: not found\n")
        self.alive(host)

    def test_py6_closed_and_used_descriptors(self):
        host = self.start()
        self.gives(host, "exec 3>&1 10>&1 200>&1; echo a >&3; echo b >&10; echo c >&200", "a\nb\nc\n")
        self.gives(host, "echo d >&200; exec 10>&- 200>&-", "d\n")
        host.eval("for fd in {3..39}; do eval \"exec $fd>&-\"; done")
        self.alive(host)
        host.eval("exec 0<&- 1>&- 2>&-")
        self.alive(host)
        host.eval("ulimit -n 64")
        self.alive(host)
        out = self.start().eval("ls -l /proc/self/fd").out
        self.assertNotIn("socket", out)

    def test_o1_binary_and_large_output(self):
        host = self.start()
        result = host.eval("printf 'a\\0b\\xff\\n'; head -c 3000000 /dev/zero; printf end")
        self.assertEqual((result.status, len(result.out), result.out[:3], result.out[-3:]), ("ok", 3000008, "a\0b", "end"))

    def test_a_name_that_cannot_be_looked_at_ends_nothing(self):
        host = self.start()
        for code in ("declare -n one=two two=one", "declare -n loop=loop", "declare -n bad='a b'", "declare -r fixed=1", "declare -n ref=target; target=5"):
            host.eval(code)
            self.alive(host)
            host.eval("set -eu")
            self.alive(host)
            host.eval("set +eu")
            self.assertIn("data", host.ask("query 1 vars"))
            host.ask("query 2 inspect", "loop")
        self.assertEqual(host.ask("clear 1")["data"], {"notice": "readonly names stay: fixed"})
        self.alive(host)

    def test_an_older_bash_says_so(self):
        boot = "OLD=(4 3); " + Host.argv[3].replace("BASH_VERSINFO", "OLD")
        ran = subprocess.run([*Host.argv[:3], boot], capture_output=True, text=True)
        self.assertEqual(ran.returncode, 1)
        self.assertRegex(ran.stderr, "^bash 4.4 or newer is needed, this is ")

    def test_no_start_up_file_is_read(self):
        host = self.start(env={"BASH_ENV": "/no/such/file", "ENV": "/no/such/file", "PROMPT_COMMAND": "echo no", "PS1": "$(echo no)"})
        self.gives(host, "echo on; [[ $HISTFILE ]]; history", "on\n")
        self.assertEqual(host.idle.order, [])
