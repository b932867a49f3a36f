//! What Bash does for each behaviour of the list. Its value is the exit status.

use crate::check::Expect::*;
use crate::list::Column::{self, Does, Unsupported};
use crate::run::Step::{Clear, Eof, Eval, Input, Inspect, Interrupt, LetGo, Restart, Submit, Vars};

pub(crate) fn column(name: &str) -> Option<Column> {
    Some(match name {
        "PY-2 the last expression is the value" => Does(vec![
            Eval("true; ! true", vec![Status("error"), NoValue, ExitCode(1)]),
            Eval("echo $?; (exit 42)", vec![Out("1\n"), ErrorName("ExitStatus"), ExitCode(42)]),
            Eval("echo $?", vec![Status("complete"), Out("42\n"), ExitCode(0)]),
        ]),
        "PY-2 nothing is shown for nothing" => {
            Does(vec![Eval("true", vec![Status("complete"), NoValue, Chunks(&[])])])
        }
        "S state lasts" => Does(vec![
            Eval(
                "x=41; f() { echo $((x + 1)); }; export e=env; alias hi='echo hello'; a=(1 '2 3')",
                vec![Status("complete"), NoValue],
            ),
            Eval("f; sh -c 'echo $e'", vec![Out("42\nenv\n")]),
            Eval("hi you; echo \"${#a[@]} ${a[1]}\"", vec![Out("hello you\n2 2 3\n")]),
            Eval("set -o pipefail; shopt -s nullglob; cd /; set -- p q", vec![Says("now /")]),
            Eval(
                "false | true; echo $? $PWD $# /no*such",
                vec![Status("complete"), Out("1 / 2\n")],
            ),
            Eval("trap 'echo got' USR1", vec![Status("complete")]),
            Eval("kill -USR1 $$", vec![Out("got\n")]),
        ]),
        "E-15 empty code completes" => Does(vec![
            Eval("", vec![Status("complete"), NoValue, Chunks(&[])]),
            Eval("  \n# a remark\n", vec![Status("complete"), NoValue, Chunks(&[])]),
        ]),
        // A shell's own output cannot be held back, so the order between the streams is the kernel's.
        "O-2 streams are told apart, in order" => {
            Does(vec![Eval("echo a; echo b >&2; echo c", vec![Out("a\nc\n"), Err("b\n")])])
        }
        "O-2 output without a line end stays so" => {
            Does(vec![Eval("printf 'a\\r\\nb'", vec![Out("a\nb")])])
        }
        "O-1 a child's output is the eval's" => Does(vec![Eval(
            "echo before; sh -c 'echo out; echo err >&2'",
            vec![Out("before\nout\n"), Err("err\n")],
        )]),
        "O-1 background output comes once, marked" => Does(vec![
            Eval(
                "(until [[ -e go ]]; do sleep 0.01; done; echo late; : > gone) &",
                vec![Status("complete")],
            ),
            LetGo,
            Eval(":", vec![Background("late\n"), Out("")]),
            Eval(":", vec![Background("")]),
        ]),
        "O-5 a flood is bounded, none is lost" => Does(vec![
            Eval(
                "for ((n = 0; n < 100000; n++)); do echo $n; done",
                vec![Status("complete"), TotalBytes(588_890)],
            ),
            Eval("echo $n", vec![Out("100000\n")]),
        ]),
        "O-8 a big value is bounded" => Does(vec![
            Eval("printf -v big '%*s' 3000000 ''; many=({1..100000})", vec![Status("complete")]),
            Inspect("big", &["3000000", "…"]),
            Inspect("many", &["array", "100000", "…"]),
        ]),
        "O-7 unicode goes through" => Does(vec![
            Eval(
                "word='größe 漢字 🎉'\necho \"$word\"",
                vec![Out("größe 漢字 🎉\n"), Added(&["word"])],
            ),
            Inspect("word", &["größe 漢字 🎉"]),
        ]),
        // Bash reads line by line: what stands before the error has run.
        "PY-1 a syntax error runs nothing" => Does(vec![
            Eval(
                "ran=1\nif )",
                vec![
                    Status("error"),
                    ErrorName("SyntaxError"),
                    Traceback(&["sh:", "line 2", "unexpected token"]),
                    Out(""),
                    CleanTraceback,
                ],
            ),
            Eval("echo $ran; echo 'open", vec![ErrorName("SyntaxError"), Out("")]),
            Eval("echo $ran", vec![Out("1\n")]),
        ]),
        "PY-7 an error starts at the user's code" => Does(vec![
            Eval("f() { ls /no/such/file; }", vec![Status("complete")]),
            Eval(
                "echo so far\nf",
                vec![Status("error"), ErrorName("ExitStatus"), Out("so far\n"), CleanTraceback],
            ),
            Eval(
                "set -e\nf\necho never",
                vec![Status("error"), Out(""), ExitCode(2), Traceback(&["set -e", "ls /no/such"])],
            ),
            Eval("set +e", vec![Status("complete")]),
        ]),
        "PY-7 chained errors are shown whole" => Unsupported("a shell has no exceptions"),
        "E-13 changes of names are told" => Does(vec![
            Eval("a=1; b=(1 2)", vec![Added(&["a", "b"]), Rebound(&[]), Removed(&[])]),
            Eval("a=2; c() { :; }", vec![Added(&["c"]), Rebound(&["a"]), Removed(&[])]),
            Eval("b+=(3); c() { false; }", vec![Added(&[]), Rebound(&["b", "c"]), Removed(&[])]),
            Eval("unset a", vec![Added(&[]), Rebound(&[]), Removed(&["a"])]),
            Eval("echo $b", vec![Added(&[]), Rebound(&[]), Removed(&[])]),
        ]),
        "E-8 input is waited for and given" => Does(vec![
            Eval(
                "printf 'name? '; read -r name; echo \"hello $name\"",
                vec![Status("waiting_input"), Prompt("name? ")],
            ),
            Input("you", vec![Status("complete"), Out("hello you\n")]),
            Eval("echo $name", vec![Out("you\n")]),
            Eval("select one in red blue; do break; done", vec![Status("waiting_input")]),
            Input("2", vec![Status("complete")]),
            Eval("echo $one", vec![Out("blue\n")]),
        ]),
        "E-8 code is refused while input is waited for" => Does(vec![
            Eval("read -r x", vec![Status("waiting_input")]),
            Eval("echo no", vec![Status("error"), Says("waiting_input")]),
            Input("yes", vec![Status("complete")]),
            Eval("echo $x", vec![Out("yes\n")]),
        ]),
        "E-8 the end of input is an end of file" => Does(vec![
            Eval("read -r x", vec![Status("waiting_input")]),
            Eof(vec![Status("error"), ExitCode(1)]),
            Eval("mapfile -t lines; echo ${#lines[@]}", vec![Status("waiting_input")]),
            Input("one", vec![Status("waiting_input")]),
            Eof(vec![Status("complete"), Out("1\n")]),
        ]),
        "E-8 a child that reads is found" => Does(vec![
            Eval("cat; echo $?", vec![Status("waiting_input")]),
            Input("meow", vec![Out("meow\n"), Status("waiting_input")]),
            Eof(vec![Status("complete"), Out("0\n")]),
        ]),
        "E-9 input that nobody read is dropped" => Does(vec![
            Eval("read -r x", vec![Status("waiting_input")]),
            Input("one\ntwo", vec![Status("complete")]),
            Eval("read -r y", vec![Status("waiting_input")]),
            Input("three", vec![Status("complete")]),
            Eval("echo $x $y", vec![Out("one three\n")]),
        ]),
        "E-6 a busy loop is interrupted, state stays" => Does(vec![
            Eval("x=41", vec![Status("complete")]),
            Submit("echo up; while :; do :; done", "up"),
            Interrupt(vec![Status("interrupted"), Out("up\n"), Err("")]),
            Eval("echo $((x + 1))", vec![Out("42\n")]),
        ]),
        "E-6 a sleep is interrupted" => Does(vec![
            Eval("sleep 1000 & p=$!", vec![Status("complete")]),
            Submit("echo up; sleep 1000; echo never", "up"),
            Interrupt(vec![Status("interrupted"), Out("up\n"), Err("")]),
            Eval("kill -0 $p && kill $p", vec![Status("complete")]),
        ]),
        "E-6 a wait for input is interrupted" => Does(vec![
            Eval("read -r x", vec![Status("waiting_input")]),
            Interrupt(vec![Status("interrupted")]),
            Eval("cat", vec![Status("waiting_input")]),
            Interrupt(vec![Status("interrupted")]),
            Eval("echo on", vec![Out("on\n")]),
        ]),
        "E-6 a child is interrupted" => Does(vec![
            Submit("echo up; sh -c 'sleep 1000; true'; echo never", "up"),
            Interrupt(vec![]),
            Eval("echo on", vec![Out("on\n")]),
        ]),
        "PY-13 an exit ends the eval and says its code" => Does(vec![
            Eval("x=1; exit 3\necho never", vec![Status("error"), ExitCode(3), Out("")]),
            Eval("f() { exit; }; f; echo never", vec![Status("complete"), ExitCode(0), Out("")]),
            Eval("set -u\necho $none\necho never", vec![Status("error"), ExitCode(1), Out("")]),
            Eval("set +u; echo $x", vec![Out("1\n")]),
        ]),
        "S-6 the end of the session is told, then a fresh start" => Does(vec![
            Eval("x=1; trap 'echo bye' EXIT", vec![Status("complete")]),
            Eval(
                "echo last; builtin exit 3",
                vec![Status("ended"), ExitCode(3), Out("last\nbye\n")],
            ),
            Eval("echo \"<$x>\"", vec![Status("complete"), Out("<>\n"), Says("fresh")]),
            Eval("exec sh -c 'echo other; exit 4'", vec![Status("ended"), ExitCode(4)]),
            Eval(":", vec![Status("complete"), Says("fresh")]),
        ]),
        "S-6 a crash is told" => Does(vec![
            Eval("kill -9 $$", vec![Status("ended"), Says("SIGKILL")]),
            Eval("echo on", vec![Out("on\n"), Says("fresh")]),
        ]),
        "ST-1 names are listed and described" => Does(vec![
            Eval(
                "n=3; declare -A m=([k]=v); double() { echo $((2 * $1)); }; alias ll='ls -l'",
                vec![Status("complete")],
            ),
            Vars(&[("double", "function"), ("ll", "alias"), ("m", "map"), ("n", "string")]),
            Inspect("n", &["string", "3"]),
            Inspect("m", &["map", "[k]=v"]),
            Inspect("double", &["function", "2 * $1"]),
            Inspect("ll", &["alias", "ls -l"]),
        ]),
        "S-7 clear empties the namespace" => Does(vec![
            Eval(
                "x=1; f() { :; }; alias y=z; set -eu; cd /; PATH=/no; trap 'echo d' DEBUG",
                vec![Status("complete")],
            ),
            Clear,
            Vars(&[]),
            Eval(
                "echo \"<${x-}>$-\" | tr -d E; type f y; ls / >/dev/null; [[ $PWD != / ]]",
                vec![Status("complete"), Out("<>hiBs\n")],
            ),
        ]),
        "S-7 restart begins anew" => Does(vec![
            Eval("x=1", vec![Status("complete")]),
            Restart,
            Eval("echo \"<$x>\"", vec![Out("<>\n")]),
        ]),
        "PY-4 top-level await" => Unsupported("a shell has no await"),
        "PY-6 what user code breaks, it breaks for itself" => Does(vec![
            Eval(
                "read() { :; }; printf() { :; }; eval() { :; }; local() { :; }; alias while=no if=no",
                vec![Status("complete")],
            ),
            Eval("IFS=x; LC_ALL=C; unset PROMPT_COMMAND; set -fk; shopt -s nocasematch", vec![]),
            Eval("echo one", vec![Out("one\n")]),
            Eval(
                "PROMPT_COMMAND='echo mine'; exit 3",
                vec![ExitCode(3), Chunks(&[("error", "ExitStatus: exit status 3")])],
            ),
            Eval("exec 1>&-", vec![Status("complete")]),
            Eval("echo still", vec![Out("still\n"), ExitCode(0)]),
            Restart,
        ]),
        "PY-16 a broken repr is an error of its own" => Unsupported("a shell's values are text"),
        "PY-18 deep recursion is an error" => Does(vec![
            Eval("FUNCNEST=200; f() { f; }; f", vec![Status("error")]),
            Eval("echo on", vec![Out("on\n")]),
        ]),
        _ => return None,
    })
}
