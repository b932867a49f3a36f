//! The conversation as a table: what is said to it, and what it then does.

use serde_json::{Value, json};
use stead_protocol::EvalId;
use stead_protocol::bridge::{BridgeEvent, Command, Stream};

use super::*;

/// A conversation with a kernel that has said who it is.
pub(super) struct Talked {
    pub(super) talk: KernelTalk,
    /// The last request on the shell channel.
    pub(super) request: String,
}

pub(super) fn id() -> EvalId {
    "k:1".parse().unwrap()
}

pub(super) fn ours() -> KernelOwner {
    KernelOwner::Ours { by_message: false }
}

/// What is done, as short words.
pub(super) fn words(actions: &[TalkAction]) -> Vec<String> {
    let word = |action: &TalkAction| match action {
        TalkAction::Tell(event) => {
            let event = serde_json::to_value(event).unwrap();
            let parts: Vec<String> =
                ["ev", "status", "text", "name", "prompt", "mime", "error", "exit_code", "reason"]
                    .iter()
                    .filter_map(|key| match &event[*key] {
                        Value::String(text) => Some(text.clone()),
                        Value::Number(number) => Some(number.to_string()),
                        _ => None,
                    })
                    .collect();
            parts.join(" ")
        }
        TalkAction::Print(Stream::Out, text) => format!("out {text}"),
        TalkAction::Print(Stream::Err, text) => format!("err {text}"),
        TalkAction::Send(channel, message) => format!("{channel:?} {}", message.kind()),
        TalkAction::Signal => "signal".to_owned(),
        TalkAction::SignalChildren => "signal children".to_owned(),
        TalkAction::Listen(listens) => format!("listen {listens}"),
        TalkAction::Transfer(order) => format!("transfer {order:?}"),
        TalkAction::Wake(after) => format!("wake {}", after.as_millis()),
        TalkAction::Leave => "leave".to_owned(),
    };
    actions.iter().map(word).collect()
}

/// The id of the last request on the shell channel; empty if there is none.
pub(super) fn shell_request(actions: &[TalkAction]) -> String {
    let sent = actions.iter().rev().find_map(|action| match action {
        TalkAction::Send(KernelChannel::Shell, message) => message.header["msg_id"].as_str(),
        _ => None,
    });
    sent.unwrap_or_default().to_owned()
}

impl Talked {
    pub(super) fn new(owner: KernelOwner, implementation: &str, language: &str) -> Talked {
        let mut talked =
            Talked { talk: KernelTalk::new(owner, "me", "/bin/kernel"), request: String::new() };
        let greeting = shell_request(&talked.talk.greet());
        let info = json!({"implementation": implementation, "language_info": {"name": language, "version": "1"}});
        let said = talked.published("", "status", json!({"execution_state": "idle"}));
        assert!(said.is_empty(), "{said:?}");
        talked.on(KernelChannel::Shell, &greeting, "kernel_info_reply", info);
        assert!(talked.talk.is_ready());
        // The helper of Python kernels was put in place.
        if !talked.request.is_empty() {
            talked.reply(json!({"status": "ok"}));
        }
        talked
    }

    pub(super) fn ipython() -> Talked {
        Talked::new(ours(), "ipython", "python")
    }

    pub(super) fn step(&mut self, input: TalkInput<'_>) -> Vec<String> {
        let actions = self.talk.step(input);
        let sent = shell_request(&actions);
        if !sent.is_empty() {
            self.request = sent;
        }
        // Wakes are told where they matter.
        words(&actions).into_iter().filter(|word| !word.starts_with("wake ")).collect()
    }

    pub(super) fn host(&mut self, command: Command<'_>) -> Vec<String> {
        self.step(TalkInput::Host(&command))
    }

    pub(super) fn eval(&mut self, code: &str) -> Vec<String> {
        self.host(Command::Eval { id: &id(), code })
    }

    pub(super) fn on(
        &mut self,
        channel: KernelChannel,
        parent: &str,
        kind: &str,
        content: Value,
    ) -> Vec<String> {
        let mut message = JupyterMessage::request("theirs", "them", kind, content);
        message.parent = json!({"msg_id": parent});
        self.step(TalkInput::Kernel(channel, &message))
    }

    pub(super) fn published(&mut self, parent: &str, kind: &str, content: Value) -> Vec<String> {
        self.on(KernelChannel::Published, parent, kind, content)
    }

    /// Something that the code that runs has brought about.
    pub(super) fn says(&mut self, kind: &str, content: Value) -> Vec<String> {
        let parent = self.request.clone();
        self.published(&parent, kind, content)
    }

    pub(super) fn busy(&mut self) -> Vec<String> {
        self.says("status", json!({"execution_state": "busy"}))
    }

    pub(super) fn idle(&mut self) -> Vec<String> {
        self.says("status", json!({"execution_state": "idle"}))
    }

    pub(super) fn reply(&mut self, content: Value) -> Vec<String> {
        let parent = self.request.clone();
        self.on(KernelChannel::Shell, &parent, "execute_reply", content)
    }
}

pub(super) fn stream(name: &str, text: &str) -> Value {
    json!({"name": name, "text": text})
}

pub(super) fn error(name: &str) -> Value {
    json!({"status": "error", "ename": name, "evalue": "why", "traceback": ["\u{1b}[31mline\u{1b}[0m"]})
}

#[test]
fn k1_an_eval_is_over_when_the_reply_has_come_and_the_kernel_is_idle_in_any_order() {
    for reply_first in [true, false] {
        let mut kernel = Talked::ipython();
        assert_eq!(kernel.eval("1"), ["Shell execute_request"]);
        kernel.says("execute_input", json!({}));
        assert_eq!(kernel.says("stream", stream("stdout", "a")), ["out a"]);
        kernel.says("execute_result", json!({"data": {"text/plain": "42"}}));
        let ok = json!({"status": "ok"});
        let before = if reply_first { kernel.reply(ok.clone()) } else { kernel.idle() };
        assert!(before.is_empty(), "{before:?}");
        // What the code's own process wrote may come after the reply.
        assert_eq!(kernel.says("stream", stream("stderr", "b")), ["err b"]);
        let after = if reply_first { kernel.idle() } else { kernel.reply(ok) };
        assert_eq!(after, ["value 42", "done ok"]);
    }
}

#[test]
fn k1_output_of_earlier_evals_and_of_others_is_background() {
    let mut kernel = Talked::ipython();
    kernel.eval("1");
    let first = kernel.request.clone();
    kernel.reply(json!({"status": "ok"}));
    kernel.idle();
    assert_eq!(kernel.published(&first, "stream", stream("stdout", "late")), ["background late"]);
    let shown =
        kernel.published("somebody", "execute_result", json!({"data": {"text/plain": "7"}}));
    assert_eq!(shown, ["background 7\n"]);
    kernel.eval("2");
    let content = stream("stderr", "more");
    let mut message = JupyterMessage::request("x", "them", "stream", content);
    message.parent = json!({"msg_id": first});
    let actions = kernel.talk.step(TalkInput::Kernel(KernelChannel::Published, &message));
    let [TalkAction::Tell(BridgeEvent::Background { eval, .. })] = &actions[..] else {
        panic!("{actions:?}")
    };
    assert_eq!(eval.as_deref(), Some("k:1"));
}

#[test]
fn k1_what_is_not_for_sessions_is_passed_over() {
    let mut kernel = Talked::ipython();
    kernel.eval("1");
    for kind in ["comm_open", "comm_msg", "comm_close", "clear_output", "debug_event", "new_thing"]
    {
        assert!(kernel.says(kind, json!({})).is_empty(), "{kind}");
        assert!(kernel.published("other", kind, json!({})).is_empty(), "{kind}");
    }
}

#[test]
fn e6_an_interrupt_waits_until_the_code_runs() {
    let mut kernel = Talked::ipython();
    kernel.eval("1");
    assert!(kernel.host(Command::Interrupt { id: &id() }).is_empty(), "not passed on yet");
    kernel.busy();
    assert!(kernel.says("execute_input", json!({})).is_empty(), "the kernel's own code still runs");
    assert_eq!(kernel.step(TalkInput::Due), ["signal", "interrupted"]);
    // Code that cleans up after an interrupt is left alone.
    assert!(kernel.step(TalkInput::Due).is_empty());
    // Another one is for code that took no notice, and comes when the kernel has had its time.
    assert_eq!(kernel.host(Command::Interrupt { id: &id() }), ["signal", "interrupted"]);
    assert!(kernel.host(Command::Interrupt { id: &id() }).is_empty());
    assert_eq!(kernel.step(TalkInput::Due), ["signal", "interrupted"]);
    kernel.says("error", error("KeyboardInterrupt"));
    kernel.reply(error("KeyboardInterrupt"));
    assert_eq!(kernel.idle(), ["Shell execute_request"], "names are asked for after an error");
    assert_eq!(
        kernel.reply(json!({"status": "ok"})),
        ["error KeyboardInterrupt", "done interrupted"]
    );
    // It is over: nothing is hit any more.
    assert!(kernel.host(Command::Interrupt { id: &id() }).is_empty());
}

#[test]
fn e6_output_shows_that_the_code_runs() {
    let mut kernel = Talked::ipython();
    kernel.eval("1");
    kernel.says("execute_input", json!({}));
    kernel.host(Command::Interrupt { id: &id() });
    assert_eq!(kernel.says("stream", stream("stdout", "a")), ["out a", "signal", "interrupted"]);
}

#[test]
fn e6_each_kernel_is_interrupted_as_it_can_be() {
    let cases = [
        ("ipython", ours(), "signal"),
        ("ipython", KernelOwner::Ours { by_message: true }, "Control interrupt_request"),
        ("ipython", KernelOwner::Others, "Control interrupt_request"),
        ("Deno kernel", ours(), "Control interrupt_request"),
        ("bash_kernel", ours(), "signal children"),
    ];
    for (name, owner, way) in cases {
        let mut kernel = Talked::new(owner, name, "x");
        kernel.eval("1");
        kernel.says("execute_input", json!({}));
        kernel.step(TalkInput::Due);
        // Code that has run for a while is interrupted at once.
        let said = kernel.host(Command::Interrupt { id: &id() });
        assert_eq!(said[0], way, "{name}");
        // A kernel that is told by a message has acted on it when it answers.
        let answered = match said.len() {
            1 => kernel.on(KernelChannel::Control, "any", "interrupt_reply", json!({})),
            _ => said[1..].to_vec(),
        };
        assert_eq!(answered, ["interrupted"], "{name}");
        assert_eq!(said.len() == 1, way.contains("request"), "{name}");
        assert!(kernel.step(TalkInput::Due).is_empty(), "{name}");
    }
    let mut xeus = Talked::new(ours(), "xeus-python", "x");
    xeus.eval("1");
    xeus.says("execute_input", json!({}));
    let said = xeus.host(Command::Interrupt { id: &id() });
    assert!(said.len() == 1 && said[0].contains("would die"), "{said:?}");
}

#[test]
fn e6_a_kernel_that_warms_up_is_spared_for_longer_with_its_first_code() {
    let mut kernel = Talked::new(ours(), "IRkernel", "R");
    for wake in ["wake 1000", "wake 50"] {
        kernel.eval("1");
        let mut message = JupyterMessage::request("theirs", "them", "execute_input", json!({}));
        message.parent = json!({"msg_id": kernel.request});
        let said = kernel.talk.step(TalkInput::Kernel(KernelChannel::Published, &message));
        assert_eq!(words(&said), [wake]);
        kernel.says("status", json!({"execution_state": "idle"}));
        kernel.reply(json!({"status": "ok"}));
    }
}

#[test]
fn e6_a_kernel_that_hears_of_an_interrupt_only_after_an_answer_gets_one() {
    for (name, answers) in [("Deno kernel", true), ("ipython", false)] {
        let mut kernel = Talked::new(KernelOwner::Ours { by_message: true }, name, "x");
        kernel.eval("prompt('?')");
        kernel.says("execute_input", json!({}));
        let request = kernel.request.clone();
        kernel.on(KernelChannel::Stdin, &request, "input_request", json!({"prompt": "?"}));
        let said = kernel.host(Command::Interrupt { id: &id() });
        assert_eq!(said[0], "Control interrupt_request", "{name}");
        let more: &[&str] = if answers { &["listen false", "Stdin input_reply"] } else { &[] };
        assert_eq!(said[1..], *more, "{name}");
    }
}

#[test]
fn e6_in_a_kernel_of_others_nothing_is_hit_before_our_code_runs() {
    let mut kernel = Talked::new(KernelOwner::Others, "ipython", "x");
    kernel.eval("1");
    let code = kernel.request.clone();
    // Somebody else's cell runs there, for as long as it likes.
    kernel.published("theirs", "status", json!({"execution_state": "busy"}));
    assert!(kernel.host(Command::Interrupt { id: &id() }).is_empty());
    for _ in 0..5 {
        let said = kernel.step(TalkInput::Due);
        assert!(!said.iter().any(|word| word.contains("interrupt")), "{said:?}");
        kernel.published("theirs", "stream", stream("stdout", "x"));
    }
    kernel.published("theirs", "status", json!({"execution_state": "idle"}));
    kernel.request = code;
    kernel.busy();
    kernel.says("execute_input", json!({}));
    assert_eq!(kernel.step(TalkInput::Due), ["Control interrupt_request"]);
}

#[test]
fn e6_a_question_that_waits_behind_something_else_is_given_up_without_a_signal() {
    for owner in [ours(), KernelOwner::Others] {
        let mut kernel = Talked::new(owner, "ipython", "python");
        kernel.host(Command::Query { seq: 1, what: "vars", arg: "" });
        assert_eq!(kernel.host(Command::InterruptQuery), ["reply interrupted"]);
        // The answer to it comes late, and what was asked meanwhile is sent.
        assert!(kernel.eval("1").is_empty());
        assert_eq!(kernel.reply(json!({"status": "ok"})), ["Shell execute_request"]);
    }
}

#[test]
fn e6_words_for_an_end_by_interrupt_differ() {
    // Status, whether an `error` was published, whether an interrupt was sent, and the end.
    let cases = [
        ("abort", false, true, "done interrupted"),
        ("aborted", false, true, "done interrupted"),
        ("error", false, true, "done interrupted"),
        ("error", true, true, "done error"),
        ("ok", false, true, "done ok"),
    ];
    for (status, published, interrupted, end) in cases {
        let mut kernel = Talked::new(ours(), "irkernel", "r");
        kernel.eval("1");
        kernel.says("execute_input", json!({}));
        kernel.step(TalkInput::Due);
        if interrupted {
            kernel.host(Command::Interrupt { id: &id() });
        }
        if published {
            kernel.says("error", error("ValueError"));
        }
        kernel.idle();
        let said = kernel.reply(json!({"status": status}));
        assert_eq!(said.last().unwrap(), end, "{status}");
    }
}

#[test]
fn k1_code_that_the_kernel_throws_away_is_sent_again() {
    let mut kernel = Talked::new(ours(), "jslab", "typescript");
    kernel.eval("1");
    for _ in 1..4 {
        kernel.busy();
        kernel.idle();
        assert!(kernel.reply(json!({"status": "abort"})).is_empty());
        assert_eq!(kernel.step(TalkInput::Due), ["Shell execute_request"]);
    }
    kernel.idle();
    assert_eq!(kernel.reply(json!({"status": "abort"})), ["error Aborted", "done error"]);
    // One that is given up meanwhile is not sent any more.
    kernel.eval("1");
    kernel.idle();
    kernel.reply(json!({"status": "abort"}));
    let said = kernel.host(Command::Interrupt { id: &id() });
    assert_eq!(said, ["interrupted", "done interrupted"]);
    assert!(kernel.step(TalkInput::Due).is_empty());
}

#[test]
fn e8_questions_are_asked_and_answered() {
    let mut kernel = Talked::ipython();
    kernel.eval("input()");
    let parent = kernel.request.clone();
    let asked = kernel.on(
        KernelChannel::Stdin,
        &parent,
        "input_request",
        json!({"prompt": "who? ", "password": false}),
    );
    assert_eq!(asked, ["waits who? ", "listen true"]);
    assert_eq!(kernel.step(TalkInput::PartOfLine), ["waits who? "]);
    assert_eq!(
        kernel.step(TalkInput::Line(Some("me".to_owned()))),
        ["listen false", "Stdin input_reply"]
    );
    let asked = kernel.on(
        KernelChannel::Stdin,
        &parent,
        "input_request",
        json!({"prompt": "", "password": true}),
    );
    assert_eq!(asked, ["waits", "listen true"]);
    // The end of the input is IPython's own word for it.
    let actions = kernel.talk.step(TalkInput::Line(None));
    let TalkAction::Send(_, message) = &actions[1] else { panic!("{actions:?}") };
    assert_eq!(message.content["value"], "\u{4}");
    assert_eq!(message.parent["msg_id"], "theirs");
    // An answer that comes too late goes nowhere.
    assert!(kernel.step(TalkInput::Line(Some("late".to_owned()))).is_empty());
}

#[test]
fn k1_one_request_is_under_way_at_a_time() {
    let mut kernel = Talked::new(KernelOwner::Others, "ipython", "python");
    let greeting = shell_request(&kernel.talk.greet());
    assert!(kernel.eval("1").is_empty(), "the kernel has not answered yet");
    // What somebody else runs there is not hit.
    assert_eq!(kernel.host(Command::Interrupt { id: &id() }), ["interrupted", "done interrupted"]);
    kernel.eval("2");
    // An answer to something else does not count.
    assert!(kernel.on(KernelChannel::Shell, "old", "kernel_info_reply", json!({})).is_empty());
    let sent = kernel.on(KernelChannel::Shell, &greeting, "kernel_info_reply", json!({}));
    assert_eq!(sent, ["Shell execute_request"]);
}

#[test]
fn k1_displays_come_in_their_place_and_update_each_other() {
    let mut kernel = Talked::ipython();
    kernel.eval("1");
    let shown = json!({"data": {"image/png": "aGk="}, "transient": {"display_id": "a"}});
    assert_eq!(kernel.says("display_data", shown.clone()), ["display image/png"]);
    assert_eq!(kernel.says("update_display_data", shown), ["display image/png"]);
    // IRkernel's value is the last thing on display, unless that is a picture.
    let mut r = Talked::new(ours(), "IRkernel", "R");
    r.eval("1");
    assert!(r.says("display_data", json!({"data": {"text/plain": "[1] 1"}})).is_empty());
    assert_eq!(
        r.says("stream", stream("stdout", "x")),
        ["display [1] 1 text/plain", "out x"].map(|text| text.replace(" [1] 1", ""))
    );
    r.says("display_data", json!({"data": {"text/plain": "[1] 2"}}));
    r.idle();
    assert_eq!(r.reply(json!({"status": "ok"})), ["value [1] 2", "done ok"]);
}

#[test]
fn o1_output_after_an_idle_that_came_too_early_is_the_evals() {
    let mut deno = Talked::new(ours(), "Deno kernel", "typescript");
    deno.eval("console.log(1)");
    let code = deno.request.clone();
    deno.reply(json!({"status": "ok"}));
    assert_eq!(deno.idle(), ["Shell kernel_info_request"]);
    assert_eq!(deno.published(&code, "stream", stream("stdout", "1")), ["out 1"]);
    let shown = json!({"data": {"text/plain": "2"}});
    deno.published(&code, "execute_result", shown);
    // As long as some comes, there may be more.
    deno.reply(json!({"status": "ok"}));
    assert_eq!(deno.idle(), ["Shell kernel_info_request"]);
    deno.reply(json!({"status": "ok"}));
    assert_eq!(deno.idle(), ["value 2", "done ok"]);
}

#[test]
fn s6_an_exit_that_the_code_asked_for_ends_the_session() {
    let mut kernel = Talked::ipython();
    kernel.eval("exit()");
    kernel.idle();
    let said = kernel
        .reply(json!({"status": "ok", "payload": [{"source": "ask_exit", "keepkernel": false}]}));
    assert_eq!(said, ["exiting", "Control shutdown_request", "leave"]);
}

#[test]
fn k4_a_kernel_of_others_is_left_alone_and_its_restart_is_told() {
    let mut kernel = Talked::new(KernelOwner::Others, "ipython", "python");
    let mut message =
        JupyterMessage::request("x", "another", "status", json!({"execution_state": "starting"}));
    message.parent = json!({});
    let said = kernel.step(TalkInput::Kernel(KernelChannel::Published, &message));
    assert_eq!(said, ["exiting the kernel was started anew, and its state is gone", "leave"]);
    let mut kernel = Talked::new(KernelOwner::Others, "ipython", "python");
    assert_eq!(kernel.host(Command::Exit), ["leave"]);
}

#[test]
fn st1_questions_go_to_the_helper_or_to_the_kernel() {
    let mut r = Talked::new(ours(), "IRkernel", "R");
    assert_eq!(
        r.host(Command::Query { seq: 1, what: "inspect", arg: "x" }),
        ["Shell inspect_request"]
    );
    let parent = r.request.clone();
    let told = json!({"status": "ok", "found": true, "data": {"text/plain": "numeric"}});
    assert_eq!(r.on(KernelChannel::Shell, &parent, "inspect_reply", told), ["reply"]);
    assert_eq!(
        r.host(Command::Query { seq: 2, what: "complete", arg: "mea" }),
        ["Shell complete_request"]
    );
    let parent = r.request.clone();
    let told = json!({"status": "ok", "matches": ["mean"], "cursor_start": 0});
    r.on(KernelChannel::Shell, &parent, "complete_reply", told);
    let refused = r.host(Command::Clear { seq: 3 });
    assert_eq!(refused, ["reply the Jupyter protocol cannot empty a namespace"]);
    let mut python = Talked::ipython();
    assert_eq!(
        python.host(Command::Query { seq: 1, what: "vars", arg: "" }),
        ["Shell execute_request"]
    );
    python.busy();
    assert_eq!(python.host(Command::InterruptQuery), ["reply interrupted", "signal"]);
    // The late answer is nobody's.
    assert!(python.reply(json!({"status": "ok"})).is_empty());
}

/// The golden transcript has what the kernel says and is asked beside what host and adapter say to each other.
#[test]
fn k1_the_golden_transcript_is_what_the_adapter_says() {
    use std::collections::VecDeque;
    use stead_protocol::bridge::Commands;

    let golden = include_str!("../../../../../bridges/golden/adapter-jupyter.jsonl");
    let mut talk = KernelTalk::new(ours(), "me", "/bin/kernel");
    let mut last = shell_request(&talk.greet());
    let (mut said, mut asked) = (VecDeque::new(), VecDeque::new());
    for line in golden.lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        let mut actions = Vec::new();
        if let Some(command) = line["host"].as_str() {
            let mut commands = Commands::default();
            commands.push(command.as_bytes()).unwrap();
            let frame = commands.next_frame().unwrap();
            actions = talk.step(TalkInput::Host(&frame.command().unwrap()));
        } else if let Some(told) = line["kernel"].as_object() {
            let kind = told["kind"].as_str().unwrap();
            let mut message = JupyterMessage::request("x", "them", kind, told["content"].clone());
            message.parent = json!({"msg_id": last});
            let channel = match told["channel"].as_str().unwrap() {
                "shell" => KernelChannel::Shell,
                "stdin" => KernelChannel::Stdin,
                _ => KernelChannel::Published,
            };
            actions = talk.step(TalkInput::Kernel(channel, &message));
        } else if let Some(expected) = line["bridge"].as_object() {
            let event: Value =
                said.pop_front().unwrap_or_else(|| panic!("nothing is said: {line}"));
            for (name, value) in expected {
                assert!(value == "*" || event[name] == *value, "{name}: {event} is not {line}");
            }
        } else {
            let (channel, message): (KernelChannel, JupyterMessage) =
                asked.pop_front().unwrap_or_else(|| panic!("nothing is asked: {line}"));
            let expected = line["asked"].as_object().unwrap();
            assert_eq!(format!("{channel:?}").to_lowercase(), expected["channel"], "{line}");
            assert_eq!(message.kind(), expected["kind"], "{line}");
            for (name, value) in
                expected.iter().filter(|(name, _)| !["channel", "kind"].contains(&name.as_str()))
            {
                assert_eq!(message.content[name], *value, "{line}");
            }
        }
        for action in actions {
            match action {
                TalkAction::Tell(event) => said.push_back(serde_json::to_value(event).unwrap()),
                TalkAction::Send(channel, message) => {
                    if channel == KernelChannel::Shell {
                        last = message.header["msg_id"].as_str().unwrap().to_owned();
                    }
                    asked.push_back((channel, message));
                }
                _ => {}
            }
        }
    }
    assert!(said.is_empty() && asked.is_empty(), "{said:?} {asked:?}");
}
