//! Values, state and code of any size.

use crate::column::{Behaviour, join, piece};
use crate::talk::Talk;

pub(crate) const LIST: &[Behaviour] = &[
    ("PY-2 the last expression is the value", last_value),
    ("PY-2 nothing is shown for nothing", nothing),
    ("S state lasts", state),
    ("E-15 empty code completes", empty),
    ("E-15 code of two megabytes runs", long_code),
    ("O-8 a big value is bounded", big_value),
    ("PY-16 a value that cannot be shown ends no eval", broken_value),
    ("O-9 a picture is kept as a file", picture),
    ("PY-4 top-level await", awaited),
];

fn last_value(talk: &Talk<'_>) {
    let (code, value) = talk.column.value;
    let reply = talk.eval(piece(code)).complete().has("value", value);
    reply.chunks(&[("value", value)]);
}

fn nothing(talk: &Talk<'_>) {
    talk.eval(piece(talk.column.nothing)).complete().no_value().chunks(&[]);
}

fn state(talk: &Talk<'_>) {
    let column = talk.column;
    talk.eval(column.set("x", 41)).complete().no_value();
    talk.eval(column.define("f", "from f")).complete();
    talk.says(column.tell("x"), "41\n");
    talk.says(column.call("f"), "from f\n");
    talk.eval(column.define("f", "another")).complete();
    talk.says(column.call("f"), "another\n");
}

fn empty(talk: &Talk<'_>) {
    let remark = talk.column.remark.replace("TEXT", "nothing to do");
    for code in ["", " \n\t\n", &remark, &format!("\n{remark}\n")] {
        talk.eval(code).complete().no_value().chunks(&[]);
    }
}

fn long_code(talk: &Talk<'_>) {
    let column = talk.column;
    let remark = column.remark.replace("TEXT", &"long ".repeat(20));
    let mut code = column.set("x", 41) + "\n";
    while code.len() < 2 << 20 {
        code += &remark;
        code += "\n";
    }
    // Longer than an argument may be.
    let file = talk.env.root().join("long");
    std::fs::write(&file, join([code, column.tell("x")])).expect("a file");
    let file = file.to_str().expect("a temp path is text");
    talk.command(["eval", "--timeout", "60s", "--file", file]).complete().out("41\n");
}

fn big_value(talk: &Talk<'_>) {
    talk.eval(piece(talk.column.big_value)).complete().value_within(2_100);
}

fn broken_value(talk: &Talk<'_>) {
    talk.eval(piece(talk.column.broken_value)).complete();
    talk.says(talk.column.say("on"), "on\n");
}

fn picture(talk: &Talk<'_>) {
    let reply = talk.eval(piece(talk.column.picture)).complete();
    let chunks = reply.data()["chunks"].as_array().expect("a list");
    let shown = chunks.iter().find(|chunk| chunk["type"] == "display").expect("a display");
    assert_eq!(shown["mime"], "image/png", "{shown:#}");
    let file = std::fs::read(shown["content"].as_str().expect("a path")).expect("a file");
    assert!(file.starts_with(b"\x89PNG"));
    talk.output(&reply.id(), []).contains(&["image/png"]);
}

fn awaited(talk: &Talk<'_>) {
    let (code, value) = talk.column.awaited;
    talk.eval(piece(code)).complete().has("value", value);
}
