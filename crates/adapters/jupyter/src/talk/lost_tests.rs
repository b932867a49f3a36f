//! What becomes of a conversation whose messages are lost.

use serde_json::json;
use stead_protocol::bridge::{BridgeEvent, Command};

use super::tests::{Talked, error, id, ours, stream};
use super::*;

/// The times that were asked for, in milliseconds.
fn wakes(actions: &[TalkAction]) -> Vec<u128> {
    let wake = |action: &TalkAction| match action {
        TalkAction::Wake(after) => Some(after.as_millis()),
        _ => None,
    };
    actions.iter().filter_map(wake).collect()
}

/// What the end of an eval says beside its outcome.
fn notice(actions: &[TalkAction]) -> Option<&str> {
    actions.iter().find_map(|action| match action {
        TalkAction::Tell(BridgeEvent::Done(done)) => done.notice.as_deref(),
        _ => None,
    })
}

impl Talked {
    /// The kernel answers the question that was sent last, and is idle.
    fn answers_probe(&mut self) -> Vec<TalkAction> {
        let probe = self.request.clone();
        self.on(KernelChannel::Shell, &probe, "kernel_info_reply", json!({}));
        let mut idle =
            JupyterMessage::request("x", "them", "status", json!({"execution_state": "idle"}));
        idle.parent = json!({"msg_id": probe});
        self.talk.step(TalkInput::Kernel(KernelChannel::Published, &idle))
    }
}

#[test]
fn o1_an_eval_whose_idle_was_lost_ends_and_says_that_output_may_be_missing() {
    for owner in [ours(), KernelOwner::Others] {
        let mut kernel = Talked::new(owner, "IRkernel", "R");
        kernel.eval("1");
        kernel.busy();
        kernel.says("stream", stream("stdout", "a"));
        kernel.reply(json!({"status": "ok"}));
        let asked = kernel.step(TalkInput::Due);
        assert_eq!(asked[0], "Shell kernel_info_request", "{asked:?}");
        let ended = kernel.answers_probe();
        assert!(notice(&ended).is_some_and(|text| text.contains("may be missing")), "{ended:?}");
        // The session goes on.
        assert_eq!(kernel.eval("2"), ["Shell execute_request"]);
        kernel.busy();
        kernel.idle();
        assert_eq!(kernel.reply(json!({"status": "ok"})), ["done ok"]);
    }
}

#[test]
fn o1_the_end_of_the_output_is_waited_for_a_moment_after_the_answer() {
    let mut kernel = Talked::new(ours(), "IRkernel", "R");
    kernel.eval("1");
    let code = kernel.request.clone();
    kernel.reply(json!({"status": "ok"}));
    kernel.step(TalkInput::Due);
    let probe = kernel.request.clone();
    kernel.on(KernelChannel::Shell, &probe, "kernel_info_reply", json!({}));
    // It was only late.
    assert_eq!(kernel.published(&code, "stream", stream("stdout", "late")), ["out late"]);
    let idle = json!({"execution_state": "idle"});
    assert_eq!(kernel.published(&code, "status", idle.clone()), ["done ok"]);
    // What the question brought about is nobody's.
    assert!(kernel.published(&probe, "status", idle).is_empty());
    // Where nothing comes at all, it ends all the same.
    kernel.eval("2");
    kernel.reply(json!({"status": "ok"}));
    kernel.step(TalkInput::Due);
    let probe = kernel.request.clone();
    kernel.on(KernelChannel::Shell, &probe, "kernel_info_reply", json!({}));
    let ended = kernel.talk.step(TalkInput::Due);
    assert!(notice(&ended).is_some(), "{ended:?}");
}

#[test]
fn e11_an_eval_whose_reply_was_lost_ends() {
    // Without an interrupt it is not known how the code ended.
    let mut kernel = Talked::new(ours(), "another", "R");
    kernel.eval("1");
    kernel.busy();
    kernel.says("execute_input", json!({}));
    assert!(kernel.idle().is_empty());
    kernel.step(TalkInput::Due);
    assert_eq!(kernel.step(TalkInput::Due), ["Shell kernel_info_request"]);
    let ended = super::tests::words(&kernel.answers_probe());
    assert_eq!(ended, ["error NoReply", "done error"]);
    // With an error, that is the end; after an interrupt, it was interrupted.
    for interrupted in [false, true] {
        kernel.eval("1");
        kernel.busy();
        kernel.says("stream", stream("stdout", "x"));
        if interrupted {
            kernel.host(Command::Interrupt { id: &id() });
        } else {
            kernel.says("error", error("ValueError"));
        }
        kernel.idle();
        while kernel.step(TalkInput::Due).is_empty() {}
        let ended = super::tests::words(&kernel.answers_probe());
        let expected = if interrupted { "done interrupted" } else { "done error" };
        assert_eq!(ended.last().unwrap(), expected);
    }
}

#[test]
fn k1_a_request_that_is_never_answered_does_not_hold_up_the_next() {
    // The question about names after an error.
    let mut kernel = Talked::ipython();
    kernel.eval("1/0");
    kernel.says("error", error("ZeroDivisionError"));
    kernel.idle();
    assert_eq!(kernel.reply(error("ZeroDivisionError")), ["Shell execute_request"]);
    kernel.busy();
    kernel.idle();
    assert_eq!(kernel.step(TalkInput::Due), ["Shell kernel_info_request"]);
    let ended = super::tests::words(&kernel.answers_probe());
    assert_eq!(ended, ["error ZeroDivisionError", "done error"]);
    // A question of the user's.
    kernel.host(Command::Query { seq: 7, what: "vars", arg: "" });
    kernel.idle();
    kernel.step(TalkInput::Due);
    let ended = super::tests::words(&kernel.answers_probe());
    assert_eq!(ended, ["reply the kernel did not answer what it was asked"]);
    // A question that was given up, and an eval behind it.
    kernel.host(Command::Query { seq: 8, what: "vars", arg: "" });
    kernel.host(Command::InterruptQuery);
    assert!(kernel.eval("2").is_empty());
    kernel.step(TalkInput::Due);
    let sent = super::tests::words(&kernel.answers_probe());
    assert_eq!(sent[0], "Shell execute_request");
}

#[test]
fn k1_code_that_the_kernel_never_took_is_sent_again_and_code_that_runs_is_not() {
    let mut kernel = Talked::new(ours(), "xeus-python", "x");
    let (id, code) = (id(), "1");
    let actions = kernel.talk.step(TalkInput::Host(&Command::Eval { id: &id, code }));
    assert_eq!(wakes(&actions), [2000]);
    assert_eq!(kernel.step(TalkInput::Due), ["Shell kernel_info_request"]);
    kernel.answers_probe();
    assert_eq!(kernel.step(TalkInput::Due), ["Shell execute_request"]);
    // It says that it runs it, and for how long is its own affair.
    kernel.busy();
    for _ in 0..3 {
        assert!(kernel.step(TalkInput::Due).is_empty());
    }
    // A kernel that is slow to take it is asked less and less often.
    let mut kernel = Talked::new(KernelOwner::Others, "ipython", "x");
    kernel.eval("1");
    let asked: Vec<u128> = (0..4).flat_map(|_| wakes(&kernel.talk.step(TalkInput::Due))).collect();
    assert_eq!(asked, [4000, 8000, 16_000, 32_000]);
}

#[test]
fn o1_messages_that_were_thrown_away_are_counted() {
    let mut kernel = Talked::new(ours(), "ipython", "x");
    let number = |kernel: &mut Talked, number: u64, kind: &str, content: Value| {
        let id = format!("them_7_{number}");
        let mut message = JupyterMessage::request(&id, "them", kind, content);
        message.parent = json!({"msg_id": kernel.request});
        kernel.talk.step(TalkInput::Kernel(KernelChannel::Published, &message))
    };
    number(&mut kernel, 1, "status", json!({"execution_state": "idle"}));
    kernel.eval("1");
    number(&mut kernel, 2, "status", json!({"execution_state": "busy"}));
    number(&mut kernel, 1500, "stream", stream("stdout", "x"));
    kernel.reply(json!({"status": "ok"}));
    let ended = number(&mut kernel, 1501, "status", json!({"execution_state": "idle"}));
    let said = notice(&ended).unwrap_or_default();
    assert!(said.contains("threw 1497 messages away"), "{said}");
}
