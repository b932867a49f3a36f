//! What becomes of the names, as a table.

use serde_json::json;
use stead_protocol::bridge::{BridgeEvent, Command};

use super::tests::{Talked, error, id};
use super::*;

/// The reply to a cell whose names the helper has told by itself.
fn with_names(status: &str, told: serde_json::Value) -> serde_json::Value {
    let payload = json!([{"source": "stead", "text": told.to_string()}]);
    json!({"status": status, "ename": "SyntaxError", "evalue": "why", "traceback": [], "payload": payload})
}

/// Whether the request for this code asks what it did.
fn asks(kernel: &mut Talked, code: &str) -> bool {
    let actions = kernel.talk.step(TalkInput::Host(&Command::Eval { id: &id(), code }));
    let [TalkAction::Send(_, message), ..] = &actions[..] else { panic!("{actions:?}") };
    kernel.request = message.header["msg_id"].as_str().unwrap().to_owned();
    !message.content["user_expressions"].as_object().unwrap().is_empty()
}

#[test]
fn e13_the_helper_is_asked_until_it_tells_by_itself_and_when_it_does_so_no_more() {
    let mut kernel = Talked::ipython();
    assert!(asks(&mut kernel, "1"));
    kernel.reply(json!({"status": "ok"}));
    kernel.idle();
    assert!(asks(&mut kernel, "2"));
    kernel.reply(with_names("ok", json!({"variables": 1})));
    assert_eq!(kernel.idle(), ["done ok"]);
    assert!(!asks(&mut kernel, "3"));
    // Somebody has taken our hook away: it is asked behind the code, and with the next one.
    kernel.reply(json!({"status": "ok"}));
    assert_eq!(kernel.idle(), ["Shell execute_request"]);
    assert_eq!(kernel.reply(json!({"status": "ok"})), ["done ok"]);
    assert!(asks(&mut kernel, "4"));
}

#[test]
fn e13_e20_after_an_error_nothing_is_asked_if_the_helper_has_told_it() {
    let mut kernel = Talked::ipython();
    kernel.eval("f(");
    kernel.reply(with_names("error", json!({"incomplete": true, "variables": 7})));
    let idle = JupyterMessage::request("x", "them", "status", json!({"execution_state": "idle"}));
    let idle = JupyterMessage { parent: json!({"msg_id": kernel.request}), ..idle };
    let actions = kernel.talk.step(TalkInput::Kernel(KernelChannel::Published, &idle));
    let [
        TalkAction::Tell(BridgeEvent::Error { incomplete: true, .. }),
        TalkAction::Tell(BridgeEvent::Done(done)),
        ..,
    ] = &actions[..]
    else {
        panic!("{actions:?}")
    };
    assert_eq!(done.variables, Some(7));
}

#[test]
fn e20_code_that_ends_too_early_is_told_from_code_that_is_wrong() {
    for incomplete in [true, false] {
        let mut kernel = Talked::ipython();
        kernel.eval("f(");
        kernel.says("error", error("SyntaxError"));
        kernel.reply(error("SyntaxError"));
        assert_eq!(kernel.idle(), ["Shell execute_request"]);
        let parent = kernel.request.clone();
        let told = json!({"incomplete": incomplete}).to_string();
        let told = json!({"stead": {"status": "ok", "data": {"text/plain": told}}});
        let content = json!({"status": "ok", "user_expressions": told});
        let mut message = JupyterMessage::request("x", "them", "execute_reply", content);
        message.parent = json!({"msg_id": parent});
        let actions = kernel.talk.step(TalkInput::Kernel(KernelChannel::Shell, &message));
        let TalkAction::Tell(BridgeEvent::Error { incomplete: told, traceback, .. }) = &actions[0]
        else {
            panic!("{actions:?}")
        };
        assert_eq!(*told, incomplete);
        assert_eq!(traceback.as_deref(), Some("line\n"));
    }
}
