//! The conversation, word by word.

use std::collections::BTreeMap;

use stead_protocol::EvalId;
use stead_protocol::bridge::{BridgeEvent, Command, Done, Shown, Stream};

use super::{NreplAction, NreplInput, NreplTalk, ServerOwner};
use crate::bencode::Bencode;
use crate::message::{NreplMessage, NreplRequest};

fn table<'a>(fields: impl IntoIterator<Item = (&'a str, Bencode)>) -> BTreeMap<String, Bencode> {
    fields.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
}

/// A message: `status` is words, everything else a text.
fn said(id: &str, fields: &[(&str, &str)]) -> NreplInput<'static> {
    let value = |(key, text): &(&'static str, &str)| match *key {
        "status" => (*key, Bencode::List(text.split(' ').map(Bencode::from).collect())),
        _ => (*key, Bencode::from(*text)),
    };
    // The names of fields live as long as the test.
    let fields: Vec<(&'static str, &str)> = fields
        .iter()
        .map(|(key, text)| (&*Box::leak((*key).to_owned().into_boxed_str()), *text))
        .collect();
    let all = fields.iter().map(value).chain([("id", Bencode::from(id))]);
    NreplInput::Server(NreplMessage(table(all)))
}

/// What came out, a line each.
fn told(actions: &[NreplAction]) -> Vec<String> {
    let field = |request: &NreplRequest, key: &str| request.text(key).unwrap_or_default();
    let line = |action: &NreplAction| match action {
        NreplAction::Print(Stream::Out, text) => format!("out {text}"),
        NreplAction::Print(Stream::Err, text) => format!("err {text}"),
        NreplAction::Send(request) => {
            let words = ["op", "code", "stdin", "interrupt-id", "session"];
            words
                .map(|key| field(request, key))
                .join(" ")
                .split_whitespace()
                .collect::<Vec<_>>()
                .join(" ")
        }
        NreplAction::Listen(yes) => format!("listen {yes}"),
        NreplAction::Wake(_) => "wake".to_owned(),
        NreplAction::Leave { .. } => "leave".to_owned(),
        NreplAction::Left => "left".to_owned(),
        NreplAction::Tell(event) => match event {
            BridgeEvent::Value(Shown { text, ack, .. }) => format!("value {text} {ack}"),
            BridgeEvent::Error { name, message, incomplete, .. } => {
                format!("error {name} {message} {incomplete}")
            }
            BridgeEvent::Done(Done { status, ns, notice, .. }) => {
                let ns = ns.as_deref().unwrap_or("-");
                format!("done {status:?} {ns} {}", notice.is_some())
            }
            BridgeEvent::Background { eval, text, .. } => {
                format!("background {} {text}", eval.as_deref().unwrap_or("-"))
            }
            BridgeEvent::Waits { .. } => "waits".to_owned(),
            BridgeEvent::Sync {} => "sync".to_owned(),
            BridgeEvent::Interrupted { error, .. } => format!("interrupted {}", error.is_none()),
            BridgeEvent::Hello { version, .. } => format!("hello {version}"),
            BridgeEvent::Exiting { .. } => "exiting".to_owned(),
            BridgeEvent::Reply { data, error, .. } => format!("reply {data:?} {error:?}"),
            other => format!("{other:?}"),
        },
    };
    actions.iter().map(line).collect()
}

/// A conversation with a server that can do this.
fn begun(ops: &[&str]) -> NreplTalk {
    begun_with(ServerOwner::Ours, ops)
}

fn begun_with(owner: ServerOwner, ops: &[&str]) -> NreplTalk {
    let mut talk = NreplTalk::new(owner, "bb");
    assert_eq!(told(&talk.greet()), ["describe", "clone", "clone"]);
    let empty = || Bencode::Dictionary(BTreeMap::new());
    let ops = Bencode::Dictionary(table(ops.iter().map(|op| (*op, empty()))));
    let version = Bencode::Dictionary(table([("version-string", "1.0.0".into())]));
    let versions = Bencode::Dictionary(table([("nrepl", version)]));
    let status = Bencode::List(vec!["done".into()]);
    let describe =
        [("id", "stead-1".into()), ("ops", ops), ("versions", versions), ("status", status)];
    assert!(talk.step(NreplInput::Server(NreplMessage(table(describe)))).is_empty());
    assert!(talk.step(said("stead-3", &[("new-session", "tools"), ("status", "done")])).is_empty());
    let hello = talk.step(said("stead-2", &[("new-session", "mine"), ("status", "done")]));
    assert_eq!(told(&hello), ["hello nREPL 1.0.0"]);
    talk
}

const ALL: [&str; 5] = ["interrupt", "stdin", "completions", "lookup", "eval"];

fn id() -> EvalId {
    "c:7".parse().unwrap()
}

fn run(talk: &mut NreplTalk, code: &str) -> Vec<String> {
    told(&talk.step(NreplInput::Host(&Command::Eval { id: &id(), code })))
}

#[test]
fn k3_values_output_and_errors_come_in_order() {
    let mut talk = begun(&ALL);
    assert_eq!(run(&mut talk, "(a) (b)"), ["eval (a) (b) mine"]);
    let mut hear = |fields: &[(&str, &str)]| told(&talk.step(said("stead-4", fields)));
    assert_eq!(hear(&[("out", "hi")]), ["out hi"]);
    assert_eq!(hear(&[("value", "1"), ("ns", "user")]), Vec::<String>::new());
    assert_eq!(hear(&[("err", "no")]), ["value 1 true", "err no"]);
    assert_eq!(hear(&[("ex", "class a.B"), ("status", "eval-error")]), Vec::<String>::new());
    assert_eq!(hear(&[("value", "2"), ("ns", "app")]), ["error B no false", "sync"]);
    assert_eq!(hear(&[("status", "done")]), ["value 2 false", "done Error app true"]);
    // What comes later is background, with the eval that it is of.
    assert_eq!(hear(&[("out", "late")]), ["background c:7 late"]);
    assert_eq!(told(&talk.step(said("other", &[("out", "x")]))), ["background - x"]);
    assert_eq!(run(&mut talk, " \n"), ["done Ok app false"]);
}

#[test]
fn e6_an_interrupt_is_aimed_and_sent_again_until_the_server_has_begun() {
    let mut talk = begun(&ALL);
    run(&mut talk, "(loop [])");
    let interrupt = |talk: &mut NreplTalk, id: &EvalId| {
        told(&talk.step(NreplInput::Host(&Command::Interrupt { id })))
    };
    assert!(interrupt(&mut talk, &"c:8".parse().unwrap()).is_empty());
    assert_eq!(interrupt(&mut talk, &id()), ["interrupt stead-4 mine", "interrupted true"]);
    let early = talk.step(said("stead-5", &[("status", "session-idle done")]));
    assert_eq!(told(&early), ["wake"]);
    assert_eq!(told(&talk.step(NreplInput::Due)), ["interrupt stead-4 mine"]);
    assert!(talk.step(NreplInput::Due).is_empty());
    // The error that an interrupt makes is not told, and one that comes after the end neither.
    assert!(talk.step(said("stead-4", &[("ex", "class java.lang.ThreadDeath")])).is_empty());
    let over = talk.step(said("stead-4", &[("status", "done interrupted")]));
    assert_eq!(told(&over), ["done Interrupted - false"]);
    assert!(talk.step(said("stead-4", &[("ex", "class java.lang.ThreadDeath")])).is_empty());
    assert!(talk.step(said("stead-6", &[("status", "session-idle done")])).is_empty());
    assert!(talk.step(NreplInput::Due).is_empty());
    // An eval that came to its own end first is what it is.
    run(&mut talk, "1");
    interrupt(&mut talk, &id());
    assert!(talk.step(said("stead-7", &[("value", "1")])).is_empty());
    assert_eq!(
        told(&talk.step(said("stead-7", &[("status", "done")]))),
        ["value 1 false", "done Ok - false"]
    );
    let mut plain = begun(&["eval"]);
    run(&mut plain, "1");
    assert_eq!(interrupt(&mut plain, &id()), ["interrupted false"]);
}

#[test]
fn e8_input_is_asked_for_once_and_given_a_line_at_a_time() {
    let mut talk = begun(&ALL);
    run(&mut talk, "(read-line)");
    let need = || said("stead-4", &[("status", "need-input")]);
    assert_eq!(told(&talk.step(need())), ["waits", "listen true"]);
    assert!(talk.step(need()).is_empty());
    assert_eq!(told(&talk.step(NreplInput::PartOfLine)), ["waits"]);
    let line = talk.step(NreplInput::Line(Some("a".to_owned())));
    assert_eq!(told(&line), ["listen false", "stdin a mine"]);
    assert_eq!(told(&talk.step(need())), ["waits", "listen true"]);
    let over = talk.step(said("stead-4", &[("status", "done interrupted")]));
    assert_eq!(told(&over)[0], "listen false");
    assert!(talk.step(NreplInput::Line(None)).is_empty());
}

#[test]
fn e9_what_was_not_read_of_a_line_is_dropped_before_the_eval_is_over() {
    // The code was given a line, and is over.
    let over = || {
        let mut talk = begun(&ALL);
        run(&mut talk, "(read)");
        talk.step(said("stead-4", &[("status", "need-input")]));
        talk.step(NreplInput::Line(Some("1 2".to_owned())));
        talk.step(said("stead-4", &[("value", "1")]));
        let actions = told(&talk.step(said("stead-4", &[("status", "done")])));
        (talk, actions)
    };
    let (mut talk, actions) = over();
    let [value, drops, wake] = actions.as_slice() else { panic!("{actions:?}") };
    assert_eq!((value.as_str(), wake.as_str()), ("value 1 false", "wake"));
    assert!(drops.starts_with("eval ") && drops.ends_with(" tools"), "{drops}");
    assert!(drops.contains("\"mine\""), "{drops}");
    assert!(talk.step(said("stead-6", &[("value", ":dropped")])).is_empty());
    let done = talk.step(said("stead-6", &[("status", "done")]));
    assert_eq!(told(&done), ["done Ok - false"]);
    // A server that does not do it, or does not answer, is told of in a note.
    let (mut talk, _) = over();
    talk.step(said("stead-6", &[("value", "nil")]));
    let done = talk.step(said("stead-6", &[("status", "done")]));
    assert_eq!(told(&done), ["done Ok - true"]);
    let (mut talk, _) = over();
    assert_eq!(told(&talk.step(NreplInput::Due)), ["done Ok - true"]);
    assert!(talk.step(said("stead-6", &[("status", "done")])).is_empty());
    // Who leaves meanwhile waits for the answer, as for any.
    let (mut talk, _) = over();
    assert!(talk.is_busy());
    let left = told(&talk.step(NreplInput::Host(&Command::Exit)));
    assert_eq!(left, ["close mine", "close tools", "leave"]);
    // Code that was given nothing has left nothing.
    let mut talk = begun(&ALL);
    run(&mut talk, "1");
    let done = talk.step(said("stead-4", &[("status", "done")]));
    assert_eq!(told(&done), ["done Ok - false"]);
}

#[test]
fn k3_refusals_are_errors_and_a_session_that_is_gone_is_an_end() {
    let mut talk = begun(&ALL);
    run(&mut talk, "1");
    let refused = talk.step(said("stead-4", &[("status", "error namespace-not-found done")]));
    let expected = "error Refused the server did not run the code: namespace-not-found false";
    assert_eq!(told(&refused), [expected, "done Error - false"]);
    run(&mut talk, "1");
    let gone = talk.step(said("stead-5", &[("status", "error unknown-session done")]));
    assert_eq!(told(&gone), ["exiting", "leave", "left"]);
    let mut talk = begun(&ALL);
    run(&mut talk, "1");
    let left = told(&talk.step(NreplInput::Host(&Command::Exit)));
    assert_eq!(left, ["interrupt stead-4 mine", "close mine", "close tools", "leave"]);
    assert!(talk.step(said("stead-6", &[("status", "done session-closed")])).is_empty());
    assert_eq!(told(&talk.step(said("stead-7", &[("status", "done")]))), ["left"]);
    let mut none = NreplTalk::new(ServerOwner::Others, "x");
    none.greet();
    none.step(said("stead-2", &[("status", "error unknown-op done")]));
    assert!(none.refusal().unwrap().contains("unknown-op"));
}

#[test]
fn k4_a_server_of_others_is_left_when_it_has_said_its_last_word() {
    let mut talk = begun_with(ServerOwner::Others, &ALL);
    run(&mut talk, "1");
    let left = told(&talk.step(NreplInput::Host(&Command::Exit)));
    assert_eq!(left, ["interrupt stead-4 mine", "leave"]);
    assert!(talk.step(said("stead-4", &[("value", "1")])).is_empty());
    let over = talk.step(said("stead-4", &[("status", "done interrupted")]));
    assert_eq!(told(&over), ["close mine", "close tools"]);
    assert!(talk.step(said("stead-6", &[("status", "done session-closed")])).is_empty());
    assert_eq!(told(&talk.step(said("stead-7", &[("status", "done")]))), ["left"]);
    // One that does not end in time is told that its sessions are closed, and no answer is waited for.
    let mut talk = begun_with(ServerOwner::Others, &["eval"]);
    run(&mut talk, "1");
    assert_eq!(told(&talk.step(NreplInput::Host(&Command::Exit))), ["leave"]);
    assert_eq!(told(&talk.last_words()), ["close mine", "close tools"]);
    assert!(talk.last_words().is_empty());
}

#[test]
fn k3_code_that_only_loads_a_file_is_known() {
    let talk = begun(&["load-file", "eval"]);
    for (code, path) in [
        ("(load-file \"src/a.clj\")", Some("src/a.clj")),
        (" (clojure.core/load-file \"/b c.clj\" )\n", Some("/b c.clj")),
        ("(load-file \"a\") 1", None),
        ("(load-file path)", None),
        ("(load-file \"a\" 2)", None),
        ("load-file", None),
        ("", None),
    ] {
        assert_eq!(talk.loads(code).as_deref(), path, "{code}");
    }
    assert_eq!(begun(&["eval"]).loads("(load-file \"a\")"), None);
}

#[test]
fn k3_questions_are_asked_in_a_session_of_their_own() {
    let mut talk = begun(&ALL);
    let mut ask = |what: &'static str, arg: &'static str| {
        told(&talk.step(NreplInput::Host(&Command::Query { seq: 3, what, arg })))
    };
    assert_eq!(ask("complete", "(ma"), ["completions tools"]);
    assert!(ask("inspect", "x")[0].contains("the server is busy"));
    let list = Bencode::List(vec!["map".into(), "remap".into()]);
    let status = Bencode::List(vec!["done".into()]);
    let answer = [("id", "stead-4".into()), ("completions", list), ("status", status)];
    let answered = told(&talk.step(NreplInput::Server(NreplMessage(table(answer)))));
    assert!(answered[0].contains("\"(map\"") && !answered[0].contains("remap"), "{answered:?}");
    let mut ask = |what: &'static str, arg: &'static str| {
        told(&talk.step(NreplInput::Host(&Command::Query { seq: 3, what, arg })))
    };
    assert_eq!(ask("inspect", "x"), ["lookup tools"]);
    let info = Bencode::Dictionary(table([("name", "x".into()), ("ns", "user".into())]));
    let status = Bencode::List(vec!["done".into()]);
    let answer = [("id", "stead-5".into()), ("info", info), ("status", status)];
    let asked = told(&talk.step(NreplInput::Server(NreplMessage(table(answer)))));
    assert_eq!(asked, ["eval x tools"]);
    assert!(talk.step(said("stead-6", &[("value", "41")])).is_empty());
    let answered = told(&talk.step(said("stead-6", &[("status", "done")])));
    assert!(answered[0].contains("\"41\""), "{answered:?}");
}
