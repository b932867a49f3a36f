//! Several evals at once: order, keys, clients.

use serde_json::json;

use crate::column::{Behaviour, join, piece};
use crate::talk::Talk;

pub(crate) const LIST: &[Behaviour] = &[
    ("E-1 evals run in the order in which they came", order),
    ("E-1 a queued eval says behind which", behind),
    ("E-1 a session that is busy can refuse", refuses),
    ("E-1 an eval that fails does not keep the next from running", after_failure),
    ("E-12 a key runs code once", key),
    ("E-12 a key of an eval that runs leads to that eval", key_of_running),
    ("S-3 eight clients at once get their own results", clients),
    ("S-3 an agent and the command line share one session", agent),
    ("E-11 every eval of a queue has one outcome when the session ends", ended),
];

fn order(talk: &Talk<'_>) {
    let column = talk.column;
    let first = talk.start_up(&column.wait_for_file("go"));
    let rest: Vec<_> =
        (0..5).map(|n| talk.start(column.child(&format!("echo {n} >> order")))).collect();
    talk.make_file("go");
    talk.end(&first).complete();
    rest.iter().for_each(|id| drop(talk.end(id).complete()));
    talk.says(column.child("cat order"), "0\n1\n2\n3\n4\n");
}

fn behind(talk: &Talk<'_>) {
    let first = talk.start_up(&talk.column.wait_for_file("go"));
    let second = talk.eval_with(["--timeout", "0"], talk.column.say("2"));
    let second = second.status("queued").has("behind", first.as_str()).id();
    let third = talk.eval_with(["--timeout", "0"], talk.column.say("3"));
    let third = third.status("queued").has("behind", second.as_str()).id();
    talk.make_file("go");
    talk.end(&second).complete().out("2\n");
    talk.end(&third).complete().out("3\n");
}

fn refuses(talk: &Talk<'_>) {
    let id = talk.start_up(&talk.column.wait_for_file("go"));
    talk.eval_with(["--no-queue"], talk.column.say("no")).refused("session_busy");
    talk.make_file("go");
    talk.end(&id).complete();
    talk.eval_with(["--no-queue"], talk.column.say("yes")).complete().out("yes\n");
}

fn after_failure(talk: &Talk<'_>) {
    let column = talk.column;
    let fail = piece(column.fail.0).replace("TEXT", "oh no");
    let code = join([column.wait_for_file("go"), fail]);
    let first = talk.start(code);
    let second = talk.start(column.say("on"));
    talk.make_file("go");
    talk.end(&first).status("error");
    talk.end(&second).complete().out("on\n");
}

fn key(talk: &Talk<'_>) {
    let code = talk.column.child("echo ran | tee -a runs");
    let key = format!("key of {}", talk.column.session);
    let first = talk.eval_with(["--key", &key], &code).complete().out("ran\n").id();
    talk.eval_with(["--key", &key], &code).complete().out("ran\n").has("eval_id", first.as_str());
    talk.says(talk.column.child("cat runs"), "ran\n");
}

fn key_of_running(talk: &Talk<'_>) {
    let code = join([talk.column.wait_for_file("go"), talk.column.say("once")]);
    let key = format!("running {}", talk.column.session);
    let first = talk.eval_with(["--key", &key, "--timeout", "0"], &code).status("partial").id();
    let again = talk.eval_with(["--key", &key, "--timeout", "0"], &code).status("partial");
    assert_eq!(again.id(), first);
    talk.make_file("go");
    talk.end(&first).complete().out("once\n");
}

fn clients(talk: &Talk<'_>) {
    std::thread::scope(|scope| {
        for client in 0..8 {
            scope.spawn(move || {
                for n in 0..4 {
                    let text = format!("{client} says {n}");
                    talk.says(talk.column.say(&text), &format!("{text}\n"));
                }
            });
        }
    });
}

fn agent(talk: &Talk<'_>) {
    let column = talk.column;
    talk.eval(column.set("x", 41)).complete();
    let code = join([column.tell("x"), column.set("x", 42)]);
    let text = talk.mcp("eval", json!({ "session": column.session, "code": code }));
    assert!(text.starts_with("41\n"), "{text}");
    talk.says(column.tell("x"), "42\n");
}

fn ended(talk: &Talk<'_>) {
    let first = talk.start_up(&talk.column.wait_for_file("never"));
    let second = talk.start(talk.column.say("no"));
    talk.command(["stop"]).ok();
    talk.output(&first, []).status("ended").out("up\n");
    let reply = talk.output(&second, []);
    assert_eq!(reply.data()["outcome"], "not_run", "{reply:?}");
}
