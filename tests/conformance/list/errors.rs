//! Code that fails, and what it leaves behind.

use crate::column::{Behaviour, join, piece};
use crate::talk::Talk;

pub(crate) const LIST: &[Behaviour] = &[
    ("PY-1 a syntax error is an error, and state stays", syntax_error),
    ("PY-1 a syntax error anywhere runs nothing", syntax_error_runs_nothing),
    ("E-20 incomplete code runs nothing and says so", incomplete),
    ("PY-7 an error starts at the user's code", error),
    ("PY-7 an error in a function of an earlier eval says so", error_in_function),
    ("PY-7 chained errors are shown whole", chained),
    ("O-2 an error stands behind the output before it", error_in_order),
    ("PY-18 deep recursion is an error", recursion),
    ("PY-6 what user code breaks, it breaks for itself", vandalism),
];

fn syntax_error(talk: &Talk<'_>) {
    let (code, name) = talk.column.syntax_error;
    talk.eval(talk.column.set("x", 41)).complete();
    talk.eval(piece(code)).status("error").error_name(name).out("").traceback(&[]);
    talk.says(talk.column.tell("x"), "41\n");
}

fn syntax_error_runs_nothing(talk: &Talk<'_>) {
    let (code, name) = talk.column.syntax_error;
    let code = join([talk.column.say("ran"), piece(code)]);
    talk.eval(code).status("error").error_name(name).out("");
}

fn incomplete(talk: &Talk<'_>) {
    let (wrong, _) = talk.column.syntax_error;
    talk.eval(piece(wrong)).incomplete(false);
    for code in talk.column.incomplete {
        let code = join([talk.column.say("ran"), piece(code)]);
        talk.eval(code).status("error").incomplete(true).out("").traceback(&[]);
    }
    talk.says(talk.column.say("on"), "on\n");
}

fn error(talk: &Talk<'_>) {
    let (code, name) = talk.column.fail;
    let code = join([talk.column.say("so far"), piece(code).replace("TEXT", "oh no")]);
    let code = join([code, talk.column.say("never")]);
    talk.eval(code).status("error").out("so far\n").error_name(name).traceback(&["oh no"]);
    talk.says(talk.column.say("on"), "on\n");
}

fn error_in_function(talk: &Talk<'_>) {
    let column = talk.column;
    let define = piece(column.define_failing).replace("NAME", "f").replace("TEXT", "oh no");
    let first = talk.eval(define).complete().id();
    let reply = talk.eval(column.call("f")).status("error");
    let second = reply.id();
    reply.traceback(&["oh no", &first, &second]);
}

fn chained(talk: &Talk<'_>) {
    let (code, parts) = talk.column.chained;
    talk.eval(piece(code)).status("error").traceback(parts);
}

fn error_in_order(talk: &Talk<'_>) {
    let (code, _) = talk.column.fail;
    let code = join([talk.column.say("before"), piece(code).replace("TEXT", "oh no")]);
    let reply = talk.eval(code).status("error");
    let chunks = reply.data()["chunks"].as_array().expect("a list");
    let kinds: Vec<_> = chunks.iter().map(|chunk| chunk["type"].as_str().unwrap_or("?")).collect();
    assert_eq!(kinds.first(), Some(&"out"), "{kinds:?}");
    assert_eq!(kinds.last(), Some(&"error"), "{kinds:?}");
}

fn recursion(talk: &Talk<'_>) {
    talk.eval(piece(talk.column.recurse)).status("error");
    talk.says(talk.column.say("on"), "on\n");
}

fn vandalism(talk: &Talk<'_>) {
    talk.eval(piece(talk.column.vandalise)).complete();
    talk.eval(piece(talk.column.nothing)).complete();
    talk.says(talk.column.child("echo still"), "still\n");
    talk.command(["restart"]).ok();
}
