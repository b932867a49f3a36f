"""What user code takes from the shell, the bridge takes back, or the session ends and says why. It never hangs."""
from driver import BashTest


class Taken(BashTest):
    def goes_on(self, host, *codes):
        """Runs these, and then what every session can do, twice in the quick way and once in the slow one."""
        for code in codes:
            self.assertEqual(host.eval(code).status, "ok", code)
        for _ in range(2):
            self.assertEqual(host.eval("echo on").out, "on\n", codes)
        self.assertEqual(host.eval("v=$(echo ä; echo b); f() { echo \"$v\"; }; f").out, "ä\nb\n", codes)
        result = host.eval("f() { exit 3; }; f; echo never")
        self.assertEqual((result.out, result.done["exit_code"]), ("", 3), (codes, result.order, result.events))
        self.assertEqual(host.eval("echo up; kill -INT \"$$\"; echo never").out, "up\n", codes)
        self.assertIn("data", host.ask("query 1 vars"), codes)

    def ends(self, host, code, why):
        """Runs code after which the session cannot go on: that eval is told, or its end is."""
        host.submit(code)
        result = host.idle
        code = host.wait_end(result)
        said = [event.get("reason") for event in result.events if event["ev"] == "exiting"]
        self.assertEqual((code, len(said)), (1, 1), (code, result.events))
        self.assertRegex(said[0], why)

    def test_sh1_builtins_that_are_disabled(self):
        names = "read printf mapfile declare compgen jobs shopt history cd echo [ true false alias type help command let export readonly ulimit"
        for name in names.split():
            host = self.start()
            self.goes_on(host, "enable -n %s" % name)
            self.assertIn(host.eval("type -t %s; :" % name).out, ("file\n", "", "alias\n"), name) if name != "type" else None

    def test_sh1_builtins_that_are_disabled_come_back_when_they_are_enabled(self):
        host = self.start()
        host.eval("enable -n echo printf")
        self.gives(host, "type -t echo", "file\n")
        self.gives(host, "type -t echo", "file\n")
        self.gives(host, "enable -n", "enable -n echo\nenable -n printf\n")
        self.gives(host, "enable echo printf; type -t echo printf", "builtin\nbuiltin\n")
        self.gives(host, "enable -n; type -t echo", "builtin\n")

    def test_sh1_builtins_that_the_session_calls_in_the_middle_of_code_are_enabled_again(self):
        for name in (".", ":", "builtin", "eval", "exec", "exit", "kill", "local", "return", "set", "shift", "source", "test", "trap", "unset"):
            host = self.start()
            result = host.eval("enable -n %s" % name)
            self.assertEqual(result.status, "ok", (name, result.events))
            self.assertIn(name, result.done.get("notice", ""))
            self.goes_on(host)

    def test_sh1_nothing_can_be_enabled_any_more(self):
        self.ends(self.start(), "enable -n enable builtin", "builtin")
        self.ends(self.start(), "enable -n printf enable", ".")
        self.ends(self.start(), "FUNCNEST=1; enable -n printf; builtin() { :; }", ".")

    def test_sh1_functions_of_any_name(self):
        names = "enable command unset export declare local printf read trap exit eval . : set shopt [ test kill mapfile compgen history jobs return"
        for body in (":", "false"):
            host = self.start()
            for name in names.split():
                host.eval("%s() { %s; }" % (name, body))
                self.assertEqual(host.eval("\\builtin echo on").out, "on\n", (name, body))
                self.assertEqual(host.eval("echo on").out, "on\n", (name, body))

    def test_sh1_functions_of_the_names_that_nothing_can_be_called_without(self):
        for name in ("builtin", "exec"):
            for body in (":", "false", "echo mine", "command builtin \"$@\""):
                host = self.start()
                self.assertIn("`%s`" % name, host.eval("%s() { %s; }" % (name, body)).done["notice"])
                self.goes_on(host)

    def test_sh1_functions_of_all_names_at_once(self):
        host = self.start()
        result = host.eval("for f in builtin exec enable unset export command declare local; do eval \"$f() { :; }\"; done")
        self.assertRegex(result.done["notice"], "`builtin`.*`exec`")
        self.gives(host, "echo on", "on\n")
        host.eval("unset() { :; }; set -o posix; \\unset -f unset enable export command declare local; set +o posix")
        self.goes_on(host, "unset -f unset export")

    def test_sh2_an_exit_where_the_names_that_it_takes_are_hidden(self):
        for code in ("builtin() { :; }", "builtin() { false; }", "enable -n builtin", "enable -n kill", "enable -n local return", "FUNCNEST=1"):
            host = self.start()
            result = host.eval(code + "; exit 3; echo never")
            self.assertEqual((result.out, result.done["exit_code"]), ("", 3), (code, result.events))
            self.goes_on(host, "unset FUNCNEST")

    def test_sh1_a_readonly_function_that_hides_a_command_ends_the_session(self):
        self.ends(self.start(), "builtin() { :; }; readonly -f builtin", "readonly function")

    def test_sh1_a_limit_of_calls_is_for_the_users_functions(self):
        for limit in (1, 2, 3, 5, 10):
            host = self.start()
            self.gives(host, "FUNCNEST=%d" % limit)
            self.gives(host, "echo $FUNCNEST", "%d\n" % limit)
            self.gives(host, "echo $FUNCNEST", "%d\n" % limit)
            self.gives(host, "f() { echo in; }; f", "in\n")
            result = host.eval("g() { g; }; g")
            self.assertEqual(result.status, "error")
            self.assertIn("maximum function nesting level exceeded (%d)" % limit, result.err)
            result = host.eval("exit 3")
            self.assertEqual(result.done["exit_code"], 3)
            self.gives(host, "echo $FUNCNEST", "%d\n" % limit)
            self.assertEqual(host.eval("echo up; kill -INT \"$$\"; echo never").out, "up\n")
            self.gives(host, "unset FUNCNEST; echo ${FUNCNEST-none}", "none\n")
            self.goes_on(host)
        self.goes_on(self.start(), "readonly FUNCNEST=100")
        self.ends(self.start(), "readonly FUNCNEST=3", "FUNCNEST")

    def test_py6_too_few_descriptors(self):
        for limit in (3, 10, 20, 45, 50, 60):
            host = self.start()
            result = host.eval("ulimit -S -n %d" % limit)
            self.assertIn("ulimit", result.done["notice"])
            self.goes_on(host)
            if limit == 20:
                # Whoever is root may raise it again.
                host.submit("ulimit -n %d" % limit)
                host.pump(host.idle, lambda event: event["ev"] in ("done", "exiting"))

    def test_sh1_a_trap_for_return_is_for_the_users_functions_and_files(self):
        host = self.start()
        self.gives(host, "trap 'echo back' RETURN")
        self.gives(host, "echo 1", "1\n")
        self.gives(host, "f() { echo in; }; f; declare -ft f; f", "in\nin\nback\n")
        self.gives(host, ". /dev/stdin <<<'echo sourced'", "sourced\nback\n")
        self.gives(host, "set -T; echo 2", "2\n")
        self.gives(host, "f", "in\nback\n")
        self.gives(host, "set +T; trap -p RETURN", "trap -- 'echo back' RETURN\n")
        self.gives(host, "trap - RETURN; f; declare -ft f; f", "in\nin\n")
        self.gives(host, "f; trap", "in\n")

    def test_sh1_a_trap_for_debug_that_lets_nothing_run(self):
        host = self.start()
        self.gives(host, "shopt -s extdebug; trap '[[ $BASH_COMMAND != rm* ]]' DEBUG")
        self.gives(host, "rm /no/such/file; echo on", "on\n")
        host.eval("trap 'false' DEBUG; echo never")
        self.assertEqual(host.eval("echo never").out, "")
        self.assertEqual(host.eval("echo never").out, "")
        # Nothing of the user's runs any more, but the session does not hang.
        self.assertIn("data", host.ask("clear 1"))
        self.gives(host, "echo on", "on\n")

    def test_sh1_a_trap_for_debug_that_the_bridge_did_not_see_ends_the_session(self):
        host = self.start()
        host.submit("shopt -s extdebug; builtin trap 'false' DEBUG")
        host.wait_end(host.idle)

    def test_sh1_readonly_locale_and_separator(self):
        for code in ("readonly LC_ALL=C.UTF-8", "readonly LC_ALL=C", "readonly LC_ALL", "readonly LC_CTYPE=C.UTF-8 LANG=C.UTF-8", "readonly IFS=0123456789", "readonly IFS=el:", "readonly IFS LC_ALL=C.UTF-8"):
            host = self.start(env={"LANG": "C.UTF-8"})
            with self.subTest(code):
                self.locale_is_fixed(host, code)

    def locale_is_fixed(self, host, code):
        host.eval(code)
        for text in ("äöü", "€" * 700, "𝄞" * 3000, "a" * 2000 + "ß"):
            self.gives(host, "echo '%s'" % text, text + "\n")
            self.gives(host, "echo '%s'" % text, text + "\n")
        self.assertEqual(host.eval("exit 3").done["exit_code"], 3)
        self.assertEqual(host.eval("echo up; kill -INT \"$$\"; echo never").out, "up\n", code)

    def test_sh1_variables_that_are_gone_or_fixed(self):
        for code in ("unset BASHPID", "unset BASH_SUBSHELL BASHPID", "unset RANDOM SECONDS LINENO FUNCNAME EPOCHREALTIME GROUPS DIRSTACK PIPESTATUS"):
            self.goes_on(self.start(), code)
        for code in ("unset ${!__stead_@}", "readonly ${!__stead_@}", "unset $(compgen -v) 2>/dev/null", "readonly $(compgen -v)", "set -u; unset ${!__stead_@}"):
            host = self.start()
            host.submit(code)
            host.wait_end(host.idle)
            self.assertEqual([event["ev"] for event in host.idle.events if event["ev"] not in ("hello", "done")], ["exiting"], (code, host.idle.events))

    def test_sh1_options_that_take_much(self):
        for code in ("set -n", "set -t", "set -o ignoreeof; IGNOREEOF=1000", "set -o functrace -o errtrace", "shopt -s extdebug", "shopt -s compat31", "BASH_COMPAT=3.1", "PS0='$(echo no >&2)'", "PS4='$(echo no >&2)'; set -x; set +x 2>/dev/null",
                     "TIMEFORMAT='%q'", "shopt -s lastpipe inherit_errexit xpg_echo", "set -o vi", "GLOBIGNORE='*' EXECIGNORE='*nothing*'", "trap '' URG TERM HUP PIPE CHLD USR1", "CDPATH=/; OLDPWD=", "BASH_XTRACEFD=2"):
            host = self.start()
            with self.subTest(code):
                host.eval(code)
                self.goes_on(host)

    def test_sh1_a_restricted_shell_ends(self):
        self.ends(self.start(), "set -r", "restricted")

    def test_py6_all_descriptors_closed_ends_the_session(self):
        host = self.start()
        host.submit("for fd in {3..255}; do eval \"exec $fd>&-\"; done")
        host.wait_end(host.idle)

    def test_sh1_a_huge_environment(self):
        host = self.start()
        self.gives(host, "export big=$(printf '%3000000s' x); echo on", "on\n")
        self.assertEqual(host.eval("ls").done["exit_code"], 126)
        self.goes_on(host)
        self.assertEqual(host.eval("set -e; false").done["exit_code"], 1)
        self.goes_on(host, "set +e")
