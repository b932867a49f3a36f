//! What becomes of evals and questions when the connection was cut, as a table.

use serde_json::{Value, json};
use stead_protocol::bridge::Command;

use super::tests::shell_request;
use super::*;

/// A conversation whose connection is cut.
struct CutTalk {
    talk: KernelTalk,
    /// Ids of the requests that were sent on the shell channel, the last one last.
    sent: Vec<String>,
}

impl CutTalk {
    fn new(language: &str) -> CutTalk {
        let talk = KernelTalk::new(KernelOwner::Others, "me", "http://h/");
        let mut cut = CutTalk { talk, sent: Vec::new() };
        let greeting = shell_request(&cut.talk.greet());
        cut.kernel(KernelChannel::Published, "", "status", json!({"execution_state": "idle"}));
        let info = json!({"implementation": "k", "language_info": {"name": language}});
        cut.kernel(KernelChannel::Shell, &greeting, "kernel_info_reply", info);
        cut
    }

    fn step(&mut self, input: TalkInput<'_>) -> Vec<Value> {
        let mut told = Vec::new();
        for action in self.talk.step(input) {
            match action {
                TalkAction::Send(KernelChannel::Shell, message) => {
                    self.sent.push(message.header["msg_id"].as_str().unwrap().to_owned());
                }
                TalkAction::Tell(event) => told.push(serde_json::to_value(event).unwrap()),
                _ => {}
            }
        }
        told
    }

    fn kernel(
        &mut self,
        channel: KernelChannel,
        parent: &str,
        kind: &str,
        content: Value,
    ) -> Vec<Value> {
        let mut message = JupyterMessage::request("theirs", "them", kind, content);
        message.parent = json!({"msg_id": parent});
        self.step(TalkInput::Kernel(channel, &message))
    }

    /// Code was sent; the id of its request.
    fn eval(&mut self) -> String {
        let id = "k:1".parse().unwrap();
        self.step(TalkInput::Host(&Command::Eval { id: &id, code: "x" }));
        self.sent.last().unwrap().clone()
    }

    /// The connection is back, and the question that is asked then is answered; what was told.
    fn back(&mut self) -> Vec<Value> {
        self.step(TalkInput::Reconnected);
        let probe = self.sent.last().unwrap().clone();
        let mut told = self.kernel(KernelChannel::Shell, &probe, "kernel_info_reply", json!({}));
        told.extend(self.idle(&probe));
        told
    }

    fn idle(&mut self, request: &str) -> Vec<Value> {
        self.kernel(KernelChannel::Published, request, "status", json!({"execution_state": "idle"}))
    }
}

fn words(told: &[Value]) -> String {
    let word = |event: &Value| {
        let parts =
            ["ev", "name", "status", "error"].map(|key| event[key].as_str().unwrap_or_default());
        parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ")
    };
    told.iter().map(word).collect::<Vec<_>>().join("; ")
}

#[test]
fn k2_e11_an_eval_whose_reply_was_lost_gets_an_outcome_that_says_so() {
    let mut cut = CutTalk::new("toy");
    cut.eval();
    let told = cut.back();
    assert_eq!(words(&told), "error ConnectionLost; done error");
    assert!(told[0]["message"].as_str().unwrap().contains("may not have run"), "{told:?}");
    // Of one that was heard of it is known that it ran.
    let request = cut.eval();
    cut.kernel(
        KernelChannel::Published,
        &request,
        "stream",
        json!({"name": "stdout", "text": "a"}),
    );
    let told = cut.back();
    assert!(told[0]["message"].as_str().unwrap().contains("the code ran"), "{told:?}");
    // The next one is sent at once.
    let before = cut.sent.len();
    cut.eval();
    assert_eq!(cut.sent.len(), before + 1);
}

#[test]
fn k2_what_the_server_kept_counts_and_only_what_is_missing_is_made_up() {
    // All of it came after the cut, before the answer to the question.
    let mut cut = CutTalk::new("toy");
    let request = cut.eval();
    cut.step(TalkInput::Reconnected);
    let probe = cut.sent.last().unwrap().clone();
    cut.kernel(KernelChannel::Shell, &request, "execute_reply", json!({"status": "ok"}));
    assert_eq!(words(&cut.idle(&request)), "done ok");
    cut.kernel(KernelChannel::Shell, &probe, "kernel_info_reply", json!({}));
    assert_eq!(words(&cut.idle(&probe)), "");
    // Only that the kernel is idle was lost.
    let request = cut.eval();
    cut.kernel(KernelChannel::Shell, &request, "execute_reply", json!({"status": "ok"}));
    assert_eq!(words(&cut.back()), "done ok");
    // How it failed was published, and the reply was lost.
    let request = cut.eval();
    let error = json!({"ename": "ToyError", "evalue": "no"});
    cut.kernel(KernelChannel::Published, &request, "error", error);
    assert_eq!(words(&cut.back()), "error ToyError; done error");
}

#[test]
fn k2_code_that_still_runs_is_waited_for_over_many_cuts() {
    let mut cut = CutTalk::new("toy");
    let request = cut.eval();
    for _ in 0..3 {
        // Nothing is answered while it runs, since requests are answered in order.
        assert_eq!(words(&cut.step(TalkInput::Reconnected)), "");
    }
    cut.kernel(KernelChannel::Shell, &request, "execute_reply", json!({"status": "ok"}));
    assert_eq!(words(&cut.idle(&request)), "done ok");
}

#[test]
fn k2_a_question_whose_answer_was_lost_is_refused_and_one_that_waits_is_asked() {
    let mut cut = CutTalk::new("toy");
    let asks = Command::Query { seq: 4, what: "complete", arg: "a" };
    cut.step(TalkInput::Host(&asks));
    let told = cut.back();
    assert_eq!(words(&told), "reply the connection was cut before the answer came");
    // What is asked while the answer to another question is out waits for its turn, and is asked after a cut.
    cut.step(TalkInput::Host(&asks));
    cut.step(TalkInput::Host(&Command::InterruptQuery));
    let before = cut.sent.len();
    cut.eval();
    assert_eq!(cut.sent.len(), before, "it is sent while another request has no answer");
    assert_eq!(words(&cut.back()), "");
    assert!(cut.talk.is_busy());
    let request = cut.sent.last().unwrap().clone();
    cut.kernel(KernelChannel::Shell, &request, "execute_reply", json!({"status": "ok"}));
    assert_eq!(words(&cut.idle(&request)), "done ok");
}

#[test]
fn k2_code_that_is_not_heard_of_after_a_cut_may_wait_for_an_answer_that_cannot_be_given() {
    let printed = |actions: Vec<TalkAction>| {
        let text = |action| match action {
            TalkAction::Print(Stream::Err, text) => Some(text),
            _ => None,
        };
        actions.into_iter().find_map(text).unwrap_or_default()
    };
    let mut cut = CutTalk::new("toy");
    let request = cut.eval();
    cut.step(TalkInput::Reconnected);
    let told = printed(cut.talk.step(TalkInput::Due));
    assert!(told.contains("asked for input") && told.contains("interrupt"), "{told}");
    // It is told once, and not of code that is heard of or whose question is known.
    cut.step(TalkInput::Reconnected);
    assert_eq!(printed(cut.talk.step(TalkInput::Due)), "");
    cut.kernel(KernelChannel::Shell, &request, "execute_reply", json!({"status": "ok"}));
    cut.idle(&request);
    for (channel, kind) in
        [(KernelChannel::Published, "stream"), (KernelChannel::Stdin, "input_request")]
    {
        let mut cut = CutTalk::new("toy");
        let request = cut.eval();
        cut.step(TalkInput::Reconnected);
        cut.kernel(channel, &request, kind, json!({"name": "stdout", "text": "a"}));
        assert_eq!(printed(cut.talk.step(TalkInput::Due)), "", "{kind}");
    }
}

#[test]
fn k2_output_that_the_server_lost_behind_what_it_kept_is_told_where_it_is_missing() {
    let mut cut = CutTalk::new("x");
    let code = cut.eval();
    // What is printed when a message with this number comes.
    let mut hear = |parent: &str, number: u64| -> Vec<String> {
        let content = json!({"name": "stdout", "text": format!("{number}")});
        let mut message =
            JupyterMessage::request(&format!("ab-cd_77_{number}"), "them", "stream", content);
        message.parent = json!({"msg_id": parent});
        let actions = cut.talk.step(match number {
            0 => TalkInput::Reconnected,
            _ => TalkInput::Kernel(KernelChannel::Published, &message),
        });
        let printed = |action: TalkAction| match action {
            TalkAction::Print(_, text) => Some(text),
            _ => None,
        };
        actions.into_iter().filter_map(printed).collect()
    };
    // Without a cut a number that was left out means nothing.
    assert_eq!(hear(&code, 1), ["1"]);
    assert_eq!(hear(&code, 3), ["3"]);
    // What is missing before the first message is told with the cut.
    hear("", 0);
    assert_eq!(hear(&code, 7), ["7"]);
    assert_eq!(hear(&code, 8), ["8"]);
    // Answers to somebody else have numbers, too.
    hear("theirs", 10);
    assert_eq!(hear(&code, 11), ["11"]);
    let told = hear(&code, 30);
    assert!(told[0].contains("output may be missing here") && told[1] == "30", "{told:?}");
    assert_eq!(hear(&code, 40), ["40"]);
}
