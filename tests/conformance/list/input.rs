//! Code that reads standard input.

use crate::column::{Behaviour, join, piece};
use crate::talk::Talk;

pub(crate) const LIST: &[Behaviour] = &[
    ("E-8 input is waited for and given", given),
    ("E-8 two questions in a row are two waits", twice),
    ("E-8 that it waits, and for what, is told to all", told),
    ("E-8 code is refused while input is waited for", code_refused),
    ("E-8 input is refused where nothing waits", input_refused),
    ("E-8 the end of input is an end of file", eof),
    ("E-8 after an end of file the next eval can read", after_eof),
    ("E-8 a child that reads is found", child),
    ("E-8 input of any text arrives as it is", any_text),
    ("E-8 input without a line end is no line yet", no_line_end),
    ("E-9 input that nobody read is dropped", dropped),
    ("E-4 a background eval that waits is answered by its id", background),
];

/// Code that asks and then tells the answer.
fn asks(talk: &Talk<'_>) -> String {
    join([talk.column.ask("name? ", "x"), talk.column.tell("x")])
}

fn given(talk: &Talk<'_>) {
    talk.eval(asks(talk)).status("waiting_input").has("prompt", "name? ");
    talk.input("you").complete().contains(&["you\\n"]);
    talk.says(talk.column.tell("x"), "you\n");
}

fn twice(talk: &Talk<'_>) {
    let column = talk.column;
    let code = join([column.ask("one? ", "x"), column.ask("two? ", "y"), column.tell("y")]);
    talk.eval(code).status("waiting_input").has("prompt", "one? ");
    talk.input("first").status("waiting_input").has("prompt", "two? ");
    talk.input("second").complete().contains(&["second\\n"]);
    talk.says(column.tell("x"), "first\n");
}

fn told(talk: &Talk<'_>) {
    let id = talk.eval(asks(talk)).status("waiting_input").id();
    let status = talk.status();
    assert_eq!(status["state"], "waiting_input", "{status:#}");
    assert_eq!(status["running"]["prompt"], "name? ", "{status:#}");
    talk.output(&id, []).status("waiting_input").has("prompt", "name? ");
    talk.input("x").complete();
    assert_eq!(talk.status()["state"], "idle");
}

fn code_refused(talk: &Talk<'_>) {
    talk.eval(asks(talk)).status("waiting_input");
    talk.eval(talk.column.say("no")).refused("waiting_input");
    talk.input("yes").complete();
    talk.says(talk.column.tell("x"), "yes\n");
}

fn input_refused(talk: &Talk<'_>) {
    talk.input("for nobody").refused("bad_request");
    talk.eval(asks(talk)).status("waiting_input");
    talk.input("mine").complete();
    talk.says(talk.column.tell("x"), "mine\n");
    talk.input("for nobody").refused("bad_request");
}

fn eof(talk: &Talk<'_>) {
    talk.eval(piece(talk.column.read_all)).status("waiting_input");
    talk.input("one").status("waiting_input");
    talk.input("two").status("waiting_input");
    talk.eof().complete().out("one\ntwo\n");
}

fn after_eof(talk: &Talk<'_>) {
    talk.eval(asks(talk)).status("waiting_input");
    // A language may call it an error or an empty answer.
    let reply = talk.eof();
    assert!(
        ["complete", "error"].contains(&reply.0["status"].as_str().unwrap_or("?")),
        "{reply:?}"
    );
    talk.eval(asks(talk)).status("waiting_input");
    talk.input("again").complete();
    talk.says(talk.column.tell("x"), "again\n");
}

fn child(talk: &Talk<'_>) {
    talk.eval(talk.column.child("cat; echo over")).status("waiting_input");
    talk.input("meow").status("waiting_input").out("meow\n");
    talk.eof().complete().out("over\n");
}

fn any_text(talk: &Talk<'_>) {
    let long = "größe 漢字 🎉 \"quoted\" \\ $HOME `x` ".repeat(500);
    let long = long.trim();
    talk.eval(talk.column.child("cat")).status("waiting_input");
    talk.input(long).status("waiting_input").out(&format!("{long}\n"));
    talk.input("").status("waiting_input").out("\n");
    talk.eof().complete();
}

fn no_line_end(talk: &Talk<'_>) {
    talk.eval(asks(talk)).status("waiting_input");
    talk.command(["input", "--timeout", "60s", "--no-newline", "--", "ab"]).status("waiting_input");
    talk.input("cd").complete();
    talk.says(talk.column.tell("x"), "abcd\n");
}

fn dropped(talk: &Talk<'_>) {
    talk.eval(asks(talk)).status("waiting_input");
    talk.input("one\ntwo\nthree").complete();
    talk.eval(asks(talk)).status("waiting_input");
    talk.input("four").complete();
    talk.says(talk.column.tell("x"), "four\n");
}

fn background(talk: &Talk<'_>) {
    let id = talk.start(asks(talk));
    talk.end(&id).status("waiting_input").has("prompt", "name? ");
    talk.input("later").complete().contains(&["later\\n"]);
    talk.end(&id).complete();
}
