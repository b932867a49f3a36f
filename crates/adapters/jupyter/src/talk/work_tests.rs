//! Work in the conversation: what is sent for it, how it ends, and what an interrupt makes of it.

use serde_json::{Value, json};
use stead_protocol::bridge::Command;

use super::tests::{Talked, error, id, stream};
use super::*;
use crate::transfer::TransferTrouble;

fn save(kernel: &mut Talked) -> Vec<String> {
    let id = id();
    let command = Command::Work { id: &id, what: "save", argument: "/a\n\nx" };
    kernel.step(TalkInput::HostWork(&command, "boot 1 2 /".to_owned()))
}

fn told(answer: Value) -> Value {
    let shown = json!({"status": "ok", "data": {"text/plain": answer.to_string()}});
    json!({"status": "ok", "user_expressions": {"stead": shown}})
}

/// The expression that the last request asks for.
fn asked(talk: &mut KernelTalk, input: TalkInput<'_>) -> String {
    let actions = talk.step(input);
    let expression = actions.iter().find_map(|action| match action {
        TalkAction::Send(KernelChannel::Shell, message) => {
            message.content["user_expressions"]["stead"].as_str()
        }
        _ => None,
    });
    expression.unwrap_or_default().to_owned()
}

#[test]
fn st2_the_text_that_saves_is_sent_when_the_helper_says_that_it_needs_it() {
    let mut kernel = Talked::ipython();
    let id = id();
    let command = Command::Work { id: &id, what: "save", argument: "/a\n\nx" };
    let first = asked(&mut kernel.talk, TalkInput::HostWork(&command, "boot 1 2 /".to_owned()));
    let call = r#".saving(globals(), None, "work", "k:1", "save", "/a\n\nx", "boot 1 2 /", "")"#;
    assert!(first.ends_with(call) && first.len() < 200, "{first}");

    let mut kernel = Talked::ipython();
    assert_eq!(save(&mut kernel), ["Shell execute_request"]);
    kernel.busy();
    kernel.reply(told(json!({"status": "needs"})));
    assert_eq!(kernel.idle(), ["Shell execute_request"]);
    kernel.busy();
    assert_eq!(kernel.says("stream", stream("stdout", "on the way")), ["out on the way"]);
    kernel.reply(told(json!({"status": "ok", "report": {"path": "/a"}, "variables": 1})));
    assert_eq!(kernel.idle(), ["report", "done ok"]);
    // It has it now, or will never have it.
    save(&mut kernel);
    kernel.reply(told(json!({"status": "needs"})));
    kernel.idle();
    kernel.reply(told(json!({"status": "needs"})));
    assert_eq!(kernel.idle(), ["error SaveError", "done error"]);
}

#[test]
fn st2_work_fails_as_the_helper_says_or_as_the_request_does() {
    let trouble = json!({"name": "SaveError", "message": "no"});
    let broken = json!({"status": "error", "ename": "KeyError", "evalue": "'_stead_names'"});
    let broken = json!({"status": "ok", "user_expressions": {"stead": broken}});
    for (reply, words) in [
        (told(json!({"status": "error", "trouble": trouble})), ["error SaveError", "done error"]),
        (broken, ["error KeyError", "done error"]),
        (error("SystemError"), ["error SystemError", "done error"]),
        (json!({"status": "ok"}), ["error SaveError", "done error"]),
    ] {
        let mut kernel = Talked::ipython();
        save(&mut kernel);
        kernel.busy();
        assert!(kernel.reply(reply).is_empty());
        assert_eq!(kernel.idle(), words);
        assert_eq!(kernel.eval("1"), ["Shell execute_request"]);
    }
    let mut other = Talked::new(super::tests::ours(), "x", "x");
    assert_eq!(save(&mut other), ["error Unsupported", "done error"]);
}

#[test]
fn st2_an_interrupt_of_work_is_sent_when_it_runs() {
    let interrupted = json!({"status": "error", "ename": "KeyboardInterrupt", "evalue": ""});
    let met_early = json!({"status": "ok", "user_expressions": {"stead": interrupted}});
    for reply in [told(json!({"status": "interrupted"})), met_early] {
        let mut kernel = Talked::ipython();
        save(&mut kernel);
        kernel.busy();
        kernel.host(Command::Interrupt { id: &id() });
        assert!(kernel.step(TalkInput::Due).contains(&"signal".to_owned()));
        kernel.reply(reply);
        assert_eq!(kernel.idle().last().unwrap(), "done interrupted");
    }
}

fn elsewhere(kernel: &mut Talked) -> Vec<String> {
    save(kernel);
    kernel.busy();
    let report = json!({"path": "/a"});
    kernel.reply(told(json!({"status": "elsewhere", "copy": "/t/a", "size": 3, "report": report})));
    kernel.idle()
}

#[test]
fn st2_what_is_saved_elsewhere_is_fetched_and_written_here() {
    let mut kernel = Talked::ipython();
    assert_eq!(elsewhere(&mut kernel), [r#"transfer Create { path: "/a", force: false }"#]);
    let done = |kernel: &mut Talked| kernel.step(TalkInput::Transferred(Transferred::Done));
    assert_eq!(done(&mut kernel), ["Shell execute_request"]);
    kernel.reply(told(json!({"status": "piece", "data": "YWI="})));
    assert_eq!(kernel.idle(), ["transfer Append([97, 98])"]);
    assert_eq!(done(&mut kernel), ["Shell execute_request"]);
    kernel.reply(told(json!({"status": "piece", "data": "Yw=="})));
    assert_eq!(kernel.idle(), ["transfer Append([99])"]);
    assert_eq!(done(&mut kernel), ["transfer Finish"]);
    let ended = ["transfer Abandon", "Shell execute_request", "report", "done ok"];
    assert_eq!(done(&mut kernel), ended);
}

#[test]
fn st2_a_file_that_cannot_be_fetched_is_given_up() {
    let given_up = ["transfer Abandon", "Shell execute_request", "error SaveError", "done error"];
    // More than was said, or nothing at all.
    for data in ["YWJjZA==", ""] {
        let mut kernel = Talked::ipython();
        elsewhere(&mut kernel);
        kernel.step(TalkInput::Transferred(Transferred::Done));
        kernel.reply(told(json!({"status": "piece", "data": data})));
        assert_eq!(kernel.idle(), given_up);
    }
    let mut kernel = Talked::ipython();
    elsewhere(&mut kernel);
    let trouble = TransferTrouble::OtherFile { path: "/a".to_owned() };
    assert_eq!(kernel.step(TalkInput::Transferred(Transferred::Failed(trouble))), given_up);
    // An interrupt ends it before the next piece.
    let mut kernel = Talked::ipython();
    elsewhere(&mut kernel);
    kernel.host(Command::Interrupt { id: &id() });
    let ended = kernel.step(TalkInput::Transferred(Transferred::Done));
    assert_eq!(ended.last().unwrap(), "done interrupted", "{ended:?}");
}

#[test]
fn st2_what_is_loaded_elsewhere_is_sent_there() {
    let mut kernel = Talked::ipython();
    let id = id();
    kernel.step(TalkInput::HostWork(
        &Command::Work { id: &id, what: "load", argument: "/a" },
        "boot 1 2 3 /".to_owned(),
    ));
    kernel.reply(told(json!({"status": "elsewhere"})));
    assert_eq!(kernel.idle(), [r#"transfer Open { path: "/a" }"#]);
    let read = |at: u64| format!("transfer Read {{ at: {at}, most: {} }}", 3 << 20);
    assert_eq!(kernel.step(TalkInput::Transferred(Transferred::Done)), [read(0)]);
    let piece = |bytes: &[u8]| TalkInput::Transferred(Transferred::Piece(bytes.to_vec()));
    assert_eq!(kernel.step(piece(b"abc")), ["Shell execute_request"]);
    kernel.reply(told(json!({"status": "taken", "copy": "/t/a"})));
    assert_eq!(kernel.idle(), [read(3)]);
    assert_eq!(kernel.step(piece(b"")), ["transfer Abandon", "Shell execute_request"]);
    kernel.reply(told(json!({"status": "ok", "report": {"path": "/a"}})));
    assert_eq!(kernel.idle(), ["report", "done ok"]);
}
