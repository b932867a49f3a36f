"""Code runs as in a shell: state, syntax, streams, input."""
import os
import sys
import tempfile

from driver import BashTest, shared


class State(BashTest):
    def test_sh1_what_a_pattern_matched_is_there_in_the_next_evals(self):
        host = self.start()
        self.assertEqual(host.eval("[[ 'key = value' =~ ([a-z]+)' = '([a-z]+) ]]").status, "ok")
        self.gives(host, "echo 1", "1\n")
        self.gives(host, 'echo "${BASH_REMATCH[1]}:${BASH_REMATCH[2]}"', "key:value\n")
        self.gives(host, 'f() { echo "${BASH_REMATCH[2]}"; }\nx=1\nf', "value\n")

    def test_sh1_all_kinds_of_state_persist(self):
        host = self.start()
        self.gives(host, "x=1; export e=2; a=(1 '2 3'); declare -A m=([k]=v); declare -i n=5; f() { local l=$x; echo f$l; }")
        self.gives(host, "echo $x ${#a[@]} ${m[k]}; n+=1; echo $n; f; sh -c 'echo $e'", "1 2 v\n6\nf1\n2\n")
        self.gives(host, "set -- p q; shift; alias hi='echo hello'; shopt -s extglob; set -o pipefail; umask 077")
        self.gives(host, "echo $1; hi you; [[ xx == +(x) ]]; umask; false | true", "q\nhello you\n0077\n", status=1)
        self.gives(host, "trap 'echo usr' USR1; kill -USR1 $$", "usr\n")
        self.gives(host, "kill -USR1 $$; trap", "usr\ntrap -- 'echo usr' SIGUSR1\n")
        result = self.gives(host, "cd /")
        self.assertEqual(result.done["notice"], "the working directory is now /")
        self.gives(host, "pwd; echo ~+", "/\n/\n")

    def test_sh1_options_persist(self):
        host = self.start()
        self.gives(host, "set -euo pipefail")
        self.gives(host, "echo ${-//[!eu]/}; false | true; echo never", "eu\n", status=1)
        self.gives(host, "echo $nope\necho never", "", "bash: nope: unbound variable\n", 1)
        self.gives(host, "echo ${-//[!eu]/}; set +eu", "eu\n")
        self.gives(host, "false; echo $nope on", "on\n")

    def test_sh1_the_status_is_there_in_the_next_eval(self):
        host = self.start()
        self.gives(host, "(exit 7)", status=7)
        self.gives(host, "echo $?; false || (exit 9)", "7\n", status=9)
        self.gives(host, "echo $?; set -e", "9\n")
        self.gives(host, "(exit 4)", status=4)
        self.gives(host, "echo $?; set +e", "4\n")

    def test_sh1_an_exec_that_redirects_stays_and_what_it_closes_comes_back(self):
        host = self.start()
        self.gives(host, "d=$(mktemp -d); exec >$d/log; echo one; echo kept >&2", err="kept\n")
        self.gives(host, "echo two")
        self.gives(host, "cat $d/log >&2; rm -r $d; exec 1>&-", err="one\ntwo\n")
        self.gives(host, "echo back; exec 2>&1", "back\n")
        self.gives(host, "echo err >&2; exec 0<&- 1>&- 2>&-", "err\n")
        self.gives(host, "echo out; echo err >&2", "out\n", "err\n")


class Syntax(BashTest):
    def test_sh3_what_bash_reads(self):
        host = self.start()
        self.gives(host, "cat <<A; cat <<'B'\n$((1 + 1))\nA\n$x\nB\necho after", "2\n$x\nafter\n")
        self.gives(host, "f() {\n  if true\n  then\n    echo yes\n  fi\n}\nf", "yes\n")
        # Bash 5.0 never comes back from a `wait` after these.
        self.gives(host, "diff <(echo a) <(echo a) && tee >(cat) </dev/null; [[ $BASH_VERSION == 5.0.* ]] || wait", "")
        self.gives(host, "word='größe 漢字 🎉'; echo \"$word\"; echo ${#word}", "größe 漢字 🎉\n10\n")
        self.gives(host, "alias two='echo 2'\ntwo", "2\n")
        self.gives(host, "shopt -s extglob\ncase abc in @(abc|d)) echo m;; esac", "m\n")
        self.gives(host, "echo $LINENO\necho $LINENO", "1\n2\n")
        self.gives(host, "echo !x; [[ ${0##*/} == bash ]] && [[ $- == *i* ]]", "!x\n")
        self.gives(host, "")
        self.gives(host, " # a remark\n\n")
        self.gives(host, "printf abc; printf 'a\\r\\nb' >&2", "abc", "a\r\nb")

    def test_sh3_the_statuses_of_a_pipeline_are_known(self):
        host = self.start()
        shows = 'true | false | (exit 3); echo "[${PIPESTATUS[*]}]"'
        self.gives(host, shows, "[0 1 3]\n")
        self.gives(host, "f() { %s; }; f; v=$(%s); echo $v" % (shows, shows), "[0 1 3]\n[0 1 3]\n")
        # Each of these brings the shell back to its prompt, the last one as another shell.
        self.gives(host, "exit 7", status=7)
        self.gives(host, shows, "[0 1 3]\n")
        result = host.submit("echo up; sleep 1000 | cat")
        host.pump_until_text(result, "up")
        host.interrupt()
        self.assertEqual(host.finish(result).status, "interrupted")
        self.gives(host, shows, "[0 1 3]\n")
        self.assertEqual(host.eval("set -e; echo ${nope?}").status, "error")
        self.gives(host, "set +e; " + shows, "[0 1 3]\n")
        self.gives(host, "(exit 4)", status=4)
        self.gives(host, 'echo "[${PIPESTATUS[*]}]"', "[4]\n")

    def test_sh3_syntax_errors_name_the_eval_and_the_line(self):
        host = self.start()
        for code, out, message in (("echo ran\nif )\necho no", "ran\n", "sh:1: line 2: syntax error near unexpected token `)'"),
                                   ("echo 'open", "", "sh:2: line 1: unexpected EOF while looking for matching `''"),
                                   ("if true; then", "", "sh:3: line 1: syntax error: unexpected end of file")):
            result = host.eval(code)
            wrong = 1 if out and host.hello["version"].startswith("4.") else 2
            self.assertEqual((result.status, result.error, result.out, result.done["exit_code"]), ("error", "SyntaxError", out, wrong))
            if not host.hello["version"].startswith("4."):  # which counts lines in another way
                self.assertEqual(result.event("error")["message"], message)
            self.assertNotIn("__stead", result.err)
        self.gives(host, "grep x /no/such/file", err="grep: /no/such/file: No such file or directory\n", status=2)

    def test_sh3_the_line_of_a_syntax_error_is_one_that_the_code_has(self):
        host = self.start()
        for code, line, token in (("echo a; )", 1, ")"), ("echo a; }", 1, "}"), ("echo a\n)\necho b\necho c\n", 2, ")"), ("a=1\nb=2\nc=3\nd=4\ne=5\necho f; )", 6, ")"), ("cat <<E\na\nE\n)\nb", 4, ")"),
                                  ("( : )\n{ :; }\n)", 3, ")"), ("( : )\n{ :; }\n}\n:", 3, "}"), (") fi", 1, ")"), ("} fi", 1, "}"), ("echo a\ndone\n)", 2, "done"), ("set -e\n)\n:", 2, ")"), ("set +e\n)\n:", 2, ")")):
            result = host.eval(code)
            self.assertEqual(result.error, "SyntaxError", code)
            if host.hello["version"].startswith("4."):  # which counts lines in another way
                continue
            self.assertEqual(result.event("error")["message"], "sh:%d: line %d: syntax error near unexpected token `%s'" % (host.count, line, token), code)
            # What Bash itself says on stderr names the same place.
            self.assertIn("line %d: syntax error near unexpected token `%s'" % (line, token), result.err)
        for code, line in (("if true; then", 1), ("if true\nthen\n", 2), ("f() {\n:\n\n:", 4)):
            self.assertIn(": line %d: syntax error: unexpected end of file" % line, host.eval(code).event("error")["message"], code)

    def test_sh3_no_error_names_a_descriptor_as_the_file(self):
        host = self.start()
        for code in ("echo a\n)", "echo a >", "echo a > > b", "echo a | | b", ";; echo", "& echo", "echo a &;", "echo a >; echo", "echo 'a'; ( ;; )", "[[ a = ]]", "echo a\n[[ a b ]]",
                     "shopt -s extglob\necho @(a|b", "echo $(echo )) )", "trap 'echo err' ERR\n)", "trap - ERR", "set -u; echo $none; set +u", "none", "${a.b}", "echo ${a.b}", "[[ 1 -eq 1/ ]]", "echo $((1/0))",
                     "readonly fixed=1; fixed=2", "cd /none", "f() {\n  none\n  echo $((1/0))\n}", "f", "eval ')'", "set -e\n)", "set -e; return 4", "set +e", "set -e\nset -u; echo $none", "set +eu"):
            result = host.eval(code)
            self.assertNotIn("/dev/fd", result.err + str(result.events), code)
            self.assertNotIn("__stead", result.err + str(result.events), code)
        self.assertEqual(host.eval("set -e; return 4").event("error")["message"], "exit status 4")
        self.ok(host, "set +e")
        # What `[[` cannot read is told alike in both places, and does not spoil the next message.
        for code in ("[[ a = ]]", "[[ a = ]]"):
            result = host.eval(code)
            message = result.event("error")["message"].partition(": ")[2]
            if not host.hello["version"].startswith("4."):
                self.assertEqual((message, result.err), ("line 1: unexpected argument `]]' to conditional binary operator", "bash: eval: %s\n" % message))
        # Files keep their names.
        with tempfile.TemporaryDirectory() as folder:
            with open(folder + "/own.sh", "w") as file:
                file.write("echo a\n)\n")
            self.assertIn("bash: %s/own.sh: line 2: syntax error" % folder, host.eval(". %s/own.sh" % folder).err)

    def test_e15_long_code_and_many_lines(self):
        host = self.start()
        self.gives(host, "x='%s'; echo ${#x}" % ("é" * 500_000), "500000\n")
        self.gives(host, "n=0\n" + "n=$((n + 1))\n" * 20_000 + "echo $n", "20000\n")
        # A search for words in it must not try all their combinations.
        self.gives(host, ": <<'E'\n" + "read -r x\n" * 9_500 + "E\necho y", "y\n")


class Input(BashTest):
    def test_e8_reads_of_the_shell_and_of_children(self):
        host = self.start()
        result = host.submit("read -r -p 'name? ' name; echo \"<$name>\"; head -c 3; select c in a b; do echo $c; break; done")
        host.wait_for_call("read", 0)
        host.write("you\nabc2\n")
        host.finish(result)
        self.assertEqual(result.out, "<you>\nabcb\n")
        self.gives(host, "echo $name", "you\n")


class NonBlocking(BashTest):
    def setUp(self):
        # Does to a descriptor what a killed Node leaves behind.
        self.blocking = "%s -c 'import os; os.set_blocking(%%d, False)'" % sys.executable

    def folder(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        return folder.name

    def test_o1_no_output_is_lost_after_a_program_that_made_the_streams_non_blocking(self):
        host = self.start()
        # On the way from one plain eval to the next, after others, and where the shell has come back to its prompt.
        script = os.path.join(self.folder(), "script")
        with open(script, "w") as file:
            file.write(self.blocking % 1 + "\n" + self.blocking % 2)
        for before in ("sh " + script, "set -C; f() { sh %s; }; f" % script, "sh %s; exit 3" % script):
            self.gives(host, "echo 1", "1\n")
            host.eval(before)
            for to in ("", " >&2"):
                result = host.eval("seq 1 100000%s; echo $?" % to)
                self.assertEqual((len(result.out + result.err), result.out[-2:]), (588897, "0\n"), (before, to))
            self.gives(host, "seq 1 3", "1\n2\n3\n")

    def test_e8_reads_wait_after_a_program_that_made_stdin_non_blocking(self):
        host = self.start()
        host.eval(self.blocking % 0)
        result = host.submit("read -r line; echo $?$line")
        host.wait_for_call("read", 0)
        host.write("hello\n")
        self.assertEqual((host.finish(result).out, result.err), ("0hello\n", ""))
        # The end of input is still one: the shell has kept no end of the pipe for writing.
        result = host.submit("cat; echo end")
        os.close(host.stdin)
        self.assertEqual(host.finish(result).out, "end\n")
        host.eval(self.blocking % 0)
        self.gives(host, "cat; echo end", "end\n")

    def test_sh1_a_stream_that_is_a_file_or_belongs_to_a_program_that_runs_is_left_alone(self):
        host = self.start(cwd=self.folder())
        flags = "grep flags /proc/self/fdinfo/1"
        self.gives(host, "echo kept >log; exec >>log; %s" % (self.blocking % 1))
        self.gives(host, flags)
        self.assertRegex(host.eval("exec >/dev/stderr; cat log").err, "^kept\nflags:\t[0-9]*6001\n$")
        host = self.start(cwd=self.folder())
        self.gives(host, "mkfifo go; { read -r _ <go; %s; } & %s" % (flags, self.blocking % 1))
        self.assertRegex(host.eval(flags).out, "^flags:\t[0-9]*0001\n$")
        self.assertRegex(host.eval("echo >go; wait").out, "^flags:\t[0-9]*4001\n$")


class Coprocesses(BashTest):
    def say(self, host, name, word, answer=None):
        self.gives(host, 'echo %s >&"${%s[1]}"; read -r x <&"${%s[0]}"; echo "$x"' % (word, name, name), (answer or word) + "\n")

    def test_sh1_a_coprocess_is_there_in_the_next_evals(self):
        host = self.start()
        self.gives(host, "coproc C { cat; }")
        self.say(host, "C", "one")
        self.say(host, "C", "two")
        # Streams and descriptors of the user's stay beside it.
        self.gives(host, "d=$(mktemp -d); exec {log}>$d/log 5>&1; echo first >&$log; exec >$d/out; echo away")
        self.gives(host, 'exec >&5; echo second >&$log; cat $d/log $d/out; rm -r $d; exec {log}>&- 5>&-', "first\nsecond\naway\n")
        self.say(host, "C", "three")
        result = host.submit('echo up; read -r x <&"${C[0]}"')
        host.pump_until_text(result, "up\n")
        host.interrupt(spared=host.children())
        host.finish(result)
        self.assertEqual(result.status, "interrupted")
        self.say(host, "C", "four")
        self.gives(host, 'eval "exec ${C[1]}>&-"; read -r x <&"${C[0]}" || echo end; wait; echo "${C[*]-gone} ${C_PID-gone}"', "end\ngone gone\n")
        self.gives(host, "coproc cat")
        self.say(host, "COPROC", "unnamed")
        self.gives(host, "kill $COPROC_PID; wait $COPROC_PID; [[ -z ${COPROC-} ]]")
        self.gives(host, "coproc sort; echo z >&${COPROC[1]}")
        self.gives(host, 'echo a >&${COPROC[1]}; exec {in}<&${COPROC[0]}; eval "exec ${COPROC[1]}>&-"; cat <&$in', "a\nz\n")
        self.gives(host, "echo on; echo err >&2", "on\n", "err\n")

    def test_sh1_a_second_coprocess_is_warned_of_and_both_can_be_used(self):
        host = self.start()
        self.gives(host, "coproc A { cat; }")
        result = host.eval("coproc B { while read -r l; do echo \"B$l\"; done; }")
        # Bash 5.3 has nothing against it.
        self.assertRegex(result.err, r"^(bash: warning: execute_coproc: coproc \[\d+:A\] still exists\n)?$")
        for word in ("1", "2"):
            self.say(host, "B", word, "B" + word)
            self.say(host, "A", word)

    def test_sh1_a_coprocess_of_an_interrupted_eval_stays(self):
        host = self.start()
        result = host.submit("coproc C { trap '' INT; echo ready; cat; }; read -r x <&${C[0]}; echo up; x=$(sleep 1000)")
        host.pump_until_text(result, "up\n")
        host.interrupt()
        host.finish(result)
        self.assertEqual(result.status, "interrupted")
        self.say(host, "C", "on")

    def test_sh1_a_coprocess_outlives_an_error_that_ends_the_shell(self):
        host = self.start()
        self.gives(host, "coproc C { cat; }; set -eu")
        self.gives(host, "echo $nope", err="bash: nope: unbound variable\n", status=1)
        self.say(host, "C", "on")


class Jobs(BashTest):
    def test_sh3_background_jobs(self):
        host = self.start()
        result = host.eval("sleep 1000 & p=$!")
        self.assertEqual(result.status, "ok")
        self.gives(host, "kill -0 $p; jobs -p | grep -qx $p; kill $p; wait $p", status=143)
        result = host.eval("(echo later; exit 3) & wait $!")
        self.assertEqual((result.status, result.done["exit_code"], result.out), ("error", 3, "later\n"))
        self.assertEqual(result.event("error")["message"], "exit status 3")
        result = host.eval("true & p=$!; wait $p")
        self.assertEqual(result.status, "ok")
        self.gives(host, "jobs; wait $p")
        result = host.eval("(until read -r call < /proc/$$/syscall; [[ $call == '%d 0x28 '* ]]; do :; done; echo late) &" % shared.CALLS["read"])
        if result.out != "late\n":  # it may come before `done` is read
            host.pump_until_text(host.idle, "late\n")

    def test_e8_read_shows_its_question_and_is_else_as_it_was(self):
        host = self.start()
        code = "f() { local a=1; read -r -p 'Continue? [y/N] ' a; echo \"in $a\"; }; a=out; f; echo \"$a\""
        result = self.answer(host, code, "yes\n")
        self.assertEqual((result.out, result.err), ("in yes\nout\n", "Continue? [y/N] "))
        for code, given, out, err in (
                ("read -p'Name: '; echo \"$REPLY\"", " x y \n", " x y \n", "Name: "),
                ("IFS=, read -rp 'Two: ' a b; echo \"$b|$a\"; printf '%q\\n' \"$IFS\"", "1,2 3\n", "2 3|1\n$' \\t\\n'\n", "Two: "),
                ("g() { local -a list; read -a list -p '' -e -p 'All: ' -i x; echo ${#list[@]}; }; g; echo ${#list[@]}", "1 2 3\n", "3\n0\n", "All: "),
                ("read -n 2 -sp 'Key' k; echo $k", "ab", "ab\n", "Key"),
                ("(read -p 'Sub ' k; echo $k)", "s\n", "s\n", "Sub "),
                ("k=$(read -p 'Sub ' k; echo $k); echo $k", "s\n", "s\n", "Sub "),
                ("exec 5<&0; read -u 5 -p 'Five ' k; exec 5<&-; echo $k", "v\n", "v\n", "Five "),
                ("exec 6</dev/null; read -u 6 -p 'Six ' k; echo $?; exec 6<&-; read x; echo $x", "x\n", "1\nx\n", ""),
                ("read -t 100 -p 'Soon ' k; echo $k", "t\n", "t\n", "Soon "),
                ("set -x; read -p 'X ' k; set +x", "x\n", "", "+++ read -p 'X ' k\nX +++ set +x\n"),
                ("set -eu; read -p 'E ' k; set +eu; echo $k", "e\n", "e\n", "E ")):
            result = self.answer(host, code, given)
            self.assertEqual((result.out, result.err), (out, err), code)
        for code in ("echo y | { read -p 'No ' a; echo $a; }", "read -p 'No ' a <<<y; echo $a", "while read -p No a; do echo $a; done <<<y",
                     "read -t 0 -p 'No '; echo y", "read a < <(echo y); echo $a"):
            self.gives(host, code, "y\n")
        self.gives(host, "read -p 2>/dev/null; echo $?", "2\n")
        result = self.gives(host, "set -e; read -p 'No ' a </dev/null; echo never", status=1)
        self.assertEqual(result.event("error")["message"], "exit status 1 by `set -e` in line 1: read")
        self.gives(host, "set +e; trap 'echo err' ERR; read -p x a </dev/null; trap - ERR", "err\n")
        self.assertEqual(host.eval("declare -F read >/dev/null && n=1").changed["added"][0]["name"], "n")
        host.send("clear 7")
        host.pump(host.idle, lambda event: event["ev"] == "reply")
        self.gives(host, "declare -F read", status=1)

    def test_e8_read_s_announces_that_its_answer_is_a_secret(self):
        host = self.start()
        for options in ("-s", "-rs", "-rsp 'Key: '", "-s -p 'Key: '", "-sp'Key: '", "-r -s --", "-s -n 20", "-u 0 -s", "-p '' -s", "-t 100 -s"):
            result = host.submit("read %s a; echo \"$a\"; read -r b; echo \"$b\"" % options)
            word = host.wait_input(result)
            self.assertEqual(word, {"ev": "stdin_wait", "tid": host.process.pid, "eval": "sh:%d" % host.count, "secret": True}, options)
            # The question comes before it.
            self.assertEqual(result.err, "Key: " if "Key" in options else "", options)
            host.write("hidden\nshown\n")
            host.finish(result)
            self.assertEqual((result.out, [event["ev"] for event in result.events]), ("hidden\nshown\n", ["stdin_wait", "done"]), options)
        # Once for a line that comes as a whole and is read by its letters.
        result = host.submit("pin=; while IFS= read -rsn1 c && [[ $c ]]; do pin+=$c; printf '*'; done; echo $pin")
        host.wait_input(result)
        host.write("1234\n")
        host.finish(result)
        self.assertEqual((result.out, len(result.events)), ("****1234\n", 2))

    def test_e8_a_secret_that_did_not_come_is_taken_back(self):
        host = self.start()
        for code, status in (("read -s -t 0.01 a; echo $(($? > 128)); read -t 0.01 b", "1\n"), ("trap 'echo int' URG; read -s a", "")):
            result = host.submit(code)
            host.wait_input(result)
            if "URG" in code:
                os.close(host.stdin)
            host.finish(result)
            self.assertEqual(([event["ev"] for event in result.events][:2], result.out), (["stdin_wait", "waits_no_more"], status), code)

    def test_e8_a_read_that_hides_nothing_or_reads_something_else_announces_nothing(self):
        host = self.start()
        self.gives(host, "declare -F read", status=1)
        # Where there is no `read` of ours it is as fast as ever.
        for code in ("while read -r word; do echo $word; done <<<y; ls / >/dev/null", "read -r a <<<y; echo $a | sort -r"):
            self.assertEqual(len(self.gives(host, code, "y\n").events), 1)
        self.gives(host, "declare -F read", status=1)
        for code in ("read -s a <<<y; echo $a", "echo y | { read -s a; echo $a; }", "read -sp x a <<<y; echo $a", "read -s -t 0; echo y", "read -r -- a <<<y; echo $a",
                     "read -s -u 9 a 9<<<y; echo $a", "read -d s -p 'x' a <<<ys; echo $a", "read -a s -r <<<y; echo $s", "read -s 2>/dev/null 0<&-; echo y", "[[ xy =~ x(.) ]]; read -s a <<<z; echo ${BASH_REMATCH[1]}", "read -s -u none 2>/dev/null; echo y"):
            self.assertEqual(len(self.gives(host, code, "y\n").events), 1, code)
        for code in ("read -r a; echo $a", "read -p '' a; echo $a", "read -d s -r a; echo $a", "(read -s a; echo $a)", "a=$(read -s a; echo $a); echo $a", "bash -c 'read -s a; echo $a'"):
            result = self.answer(host, code, "ys" if "-d" in code else "y\n")
            self.assertEqual((result.out, [event["ev"] for event in result.events]), ("y\n", ["done"]), code)

    def answer(self, host, code, text):
        """Runs code and answers when the shell, or one of its subshells, reads."""
        result = host.submit(code)
        host.write(text)
        host.finish(result)
        self.assertEqual(result.status, "ok", (code, result.order, result.events))
        return result

    def test_sh1_set_k_persists(self):
        host = self.start()
        self.gives(host, "show() { echo $x $#; }; set -k")
        self.gives(host, "show a x=5", "5 1\n")
        self.gives(host, "false", status=1)
        self.gives(host, "[[ -o keyword ]] && show a b x=6; trap 'echo bye' USR1; trap; trap - USR1", "6 2\ntrap -- 'echo bye' SIGUSR1\n")
        self.gives(host, "set -e; show x=7; false; echo never", "7 0\n", status=1)
        self.gives(host, "set +e; read -p 'q? ' y <<<z; show $y x=8; exit 3", "8 1\n", status=3)
        self.gives(host, "local_() { local v=1; echo \"<$v>\"; }; local_", "<>\n")
        self.assertEqual(host.ask("query 1 inspect", "x")["error"][:7], "nothing")
        self.gives(host, "set +k; show a x=5", "2\n")
