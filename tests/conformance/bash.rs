//! Bash's column. Its value is the exit status.

use crate::cannot::Cannot;
use crate::column::Column;
use crate::talk::Talk;

pub(crate) const EXIT_STATUS: Cannot = (
    "the exit status is the value",
    &["PY-2 the last expression is the value", "O-8 a big value is bounded"],
);
pub(crate) const NO_OBJECTS: Cannot =
    ("a shell's values are text", &["PY-16 a value that cannot be shown ends no eval"]);
pub(crate) const NO_AWAIT: Cannot = ("a shell has no await", &["PY-4 top-level await"]);
pub(crate) const LINE_BY_LINE: Cannot = (
    "Bash reads line by line: what stands before the error has run",
    &["PY-1 a syntax error anywhere runs nothing"],
);
pub(crate) const GOES_ON: Cannot = (
    "a command that fails does not end the code; see the status of the last one",
    &["PY-7 an error starts at the user's code"],
);
pub(crate) const NO_EXCEPTIONS: Cannot = (
    "a shell has no exceptions",
    &[
        "PY-7 an error in a function of an earlier eval says so",
        "PY-7 chained errors are shown whole",
    ],
);

pub(crate) static BASH: Column = COLUMN;

/// A kernel of Bash speaks the same language.
pub(crate) const COLUMN: Column = Column {
    session: "sh",
    language: "bash",
    cannot: &[
        EXIT_STATUS,
        NO_OBJECTS,
        ("a shell's values are text", &["O-9 a picture is kept as a file"]),
        NO_AWAIT,
        (
            "a shell's writes cannot be held back, and two pipes have no common order",
            &["O-2 the order of both streams is exact"],
        ),
        LINE_BY_LINE,
        GOES_ON,
        NO_EXCEPTIONS,
    ],
    own: &[
        ("SH-1 the value is the exit status", exit_status),
        ("SH-1 all kinds of state last", all_state),
        ("SH-2 failures that end a script end the eval", ends),
        ("SH-3 what stands before a syntax error has run", syntax_error),
        ("SH-3 `select` asks", select),
        ("SH-2 `exec` ends the session with the other program's code", exec),
        ("S-7 clear takes options, traps and the directory back", clear),
        ("PY-6 closed streams come back", closed_streams),
        ("ST-1 arrays, maps and aliases are described", described),
    ],
    remark: "# TEXT",
    nothing: "true",
    say: "echo 'TEXT'",
    complain: "echo 'TEXT' >&2",
    write: "printf 'TEXT'",
    lines: "printf '%99s\\n' {1..VALUE}",
    huge_line: "printf '%*s\\n' VALUE '' | tr ' ' x",
    set: "NAME=VALUE",
    tell: "echo \"$NAME\"",
    forget: "unset NAME",
    set_many: "for n in {1..VALUE}; do declare many_$n=$n; done",
    define: "NAME() { echo 'TEXT'; }",
    call: "NAME",
    types: ("string", "function"),
    allocate: "printf -v blob '%*s' 40000000 ''",
    syntax_error: ("if )", "SyntaxError"),
    incomplete: &["(echo", "echo 'a", "if true; then", "cat <<END\ntext", "true &&"],
    fail: ("(echo 'TEXT' >&2; exit 3)", "ExitStatus"),
    recurse: "FUNCNEST=200; f() { f; }; f",
    vandalise: "read() { :; }; printf() { :; }; eval() { :; }; local() { :; }; alias while=no if=no
IFS=x; LC_ALL=C; PATH=/usr/bin:/bin; unset PROMPT_COMMAND; set -fk; shopt -s nocasematch",
    ask: "printf 'TEXT'; read -r NAME",
    read_all: "x=$(cat); echo \"$x\"",
    child: "sh -c 'COMMAND'",
    background: "sh -c 'COMMAND' &",
    cwd: "pwd",
    env: "sh -c 'echo \"$NAME\"'",
    spin: "while :; do :; done",
    sleep: "sleep 1000",
    spin_stubbornly: "trap '' INT; while :; do :; done",
    exit_eval: "exit VALUE",
    exit_session: "builtin exit VALUE",
    at_exit: "trap 'echo TEXT' EXIT",
    crash: "kill -9 $$",
    ..Column::NONE
};

fn exit_status(talk: &Talk<'_>) {
    talk.eval("true; ! true").status("error").no_value().has("exit_code", 1);
    talk.eval("echo $?; (exit 42)").out("1\n").error_name("ExitStatus").has("exit_code", 42);
    talk.eval("echo $?").complete().out("42\n").has("exit_code", 0);
}

fn all_state(talk: &Talk<'_>) {
    talk.eval("export e=env; alias hi='echo hello'; a=(1 '2 3'); x=41; f() { echo $((x + 1)); }")
        .complete();
    talk.says("f; sh -c 'echo $e'", "42\nenv\n");
    talk.says("hi you; echo \"${#a[@]} ${a[1]}\"", "hello you\n2 2 3\n");
    talk.eval("set -o pipefail; shopt -s nullglob; cd /; set -- p q").says("now /");
    talk.says("false | true; echo $? $PWD $# /no*such", "1 / 2\n");
    talk.eval("trap 'echo got' USR1").complete();
    talk.says("kill -USR1 $$", "got\n");
}

fn ends(talk: &Talk<'_>) {
    talk.eval("f() { ls /no/such/file; }; x=1").complete();
    talk.eval("echo so far\nf").status("error").out("so far\n").error_name("ExitStatus");
    let failed = talk.eval("set -e\nf\necho never").status("error").out("");
    failed.has("exit_code", 2).traceback(&["set -e", "ls /no/such"]);
    talk.eval("set +e; f() { exit; }; f; echo never").complete().out("");
    talk.eval("set -u\necho $none\necho never").status("error").has("exit_code", 1).out("");
    talk.says("set +u; echo $x", "1\n");
}

fn syntax_error(talk: &Talk<'_>) {
    let failed = talk.eval("ran=1\nif )").error_name("SyntaxError");
    failed.traceback(&["sh:", "line 2", "unexpected token"]);
    talk.eval("echo $ran; echo 'open").error_name("SyntaxError").out("");
    talk.says("echo $ran", "1\n");
}

fn select(talk: &Talk<'_>) {
    talk.eval("select one in red blue; do break; done").status("waiting_input");
    talk.input("2").complete();
    talk.says("echo $one", "blue\n");
}

fn exec(talk: &Talk<'_>) {
    talk.eval("exec sh -c 'echo other; exit 4'").status("ended").has("exit_code", 4);
    talk.eval(":").complete().says("fresh");
}

fn clear(talk: &Talk<'_>) {
    talk.eval("x=1; f() { :; }; alias y=z; set -eu; cd /; PATH=/no; trap 'echo d' DEBUG")
        .complete();
    talk.command(["clear"]).ok();
    let code = "echo \"<${x-}>$-\" | tr -d E; type f y; ls / >/dev/null; [[ $PWD != / ]]";
    talk.eval(code).complete().out("<>hiBs\n");
}

fn closed_streams(talk: &Talk<'_>) {
    let failed = talk.eval("PROMPT_COMMAND='echo mine'; exit 3").has("exit_code", 3);
    failed.chunks(&[("error", "exit status 3")]).error_name("ExitStatus");
    talk.eval("exec 1>&-").complete();
    talk.eval("echo still").out("still\n").has("exit_code", 0);
    talk.command(["restart"]).ok();
}

fn described(talk: &Talk<'_>) {
    talk.eval("declare -A m=([k]=v); many=({1..100000}); alias ll='ls -l'").complete();
    talk.command(["inspect", "m"]).contains(&["map", "[k]=v"]);
    talk.command(["inspect", "many"]).contains(&["array", "100000", "…"]);
    talk.command(["inspect", "ll"]).contains(&["alias", "ls -l"]);
}
