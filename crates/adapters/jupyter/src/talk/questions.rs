//! Questions about names, and `clear`.

use serde_json::{Value, json};
use stead_host_side::cut;
use stead_protocol::bridge::BridgeEvent;

use super::commands::refuse;
use super::{AskedQuestion, KernelTalk, QuestionKind, TalkAction, TalkPhase};
use crate::python;

/// How many names are listed.
const MOST_NAMES: usize = 200;
const MOST_TEXT: usize = 8 << 10;

impl KernelTalk {
    pub(super) fn query(&mut self, seq: u64, what: &str, arg: &str, out: &mut Vec<TalkAction>) {
        if !matches!(self.phase, TalkPhase::Idle) {
            return refuse(seq, "the kernel is busy", out);
        }
        let helper = |function, argument| python::silent(&python::call(function, argument));
        let cursor = arg.chars().count();
        let (message, content, kind) = match what {
            "vars" | "inspect" | "complete" if self.is_python() => {
                let argument = Some(arg).filter(|_| what != "vars");
                ("execute_request", helper(what, argument), QuestionKind::Helper)
            }
            "inspect" => {
                let content = json!({"code": arg, "cursor_pos": cursor, "detail_level": 0});
                ("inspect_request", content, QuestionKind::Inspect(arg.to_owned()))
            }
            "complete" => {
                let content = json!({"code": arg, "cursor_pos": cursor});
                ("complete_request", content, QuestionKind::Complete(arg.to_owned()))
            }
            _ => return refuse(seq, "the Jupyter protocol has no such question", out),
        };
        let request = self.ask_shell(message, content, out);
        self.phase = TalkPhase::Asking(AskedQuestion { seq, request, kind, begun: false });
    }

    pub(super) fn clear(&mut self, seq: u64, out: &mut Vec<TalkAction>) {
        if !self.is_python() {
            return refuse(seq, "the Jupyter protocol cannot empty a namespace", out);
        }
        let question = python::silent(&python::call("clear", None));
        let request = self.ask_shell("execute_request", question, out);
        let kind = QuestionKind::Helper;
        self.phase = TalkPhase::Asking(AskedQuestion { seq, request, kind, begun: false });
    }

    /// Refuses the question, because nobody waits for its answer any more.
    pub(super) fn give_up_question(&mut self, out: &mut Vec<TalkAction>) {
        let way = self.interrupt_way();
        match std::mem::replace(&mut self.phase, TalkPhase::Idle) {
            TalkPhase::Asking(asked) => {
                refuse(asked.seq, "interrupted", out);
                // A question that waits behind other code must not interrupt that code.
                if !self.take_back(&asked.request) && asked.begun {
                    self.send_interrupt(way, out);
                }
            }
            phase => self.phase = phase,
        }
    }

    /// The kernel has answered the question.
    pub(super) fn answered(&mut self, reply: &Value, out: &mut Vec<TalkAction>) {
        let language = self.facts.as_ref().map_or("", |facts| &facts.language).to_owned();
        let phase = std::mem::replace(&mut self.phase, TalkPhase::Idle);
        let TalkPhase::Asking(asked) = phase else { return };
        let answer = match &asked.kind {
            QuestionKind::Helper => python::answer(reply)
                .unwrap_or_else(|| Err("the kernel did not answer what it was asked".to_owned())),
            QuestionKind::Inspect(name) => inspected(name, &language, reply),
            QuestionKind::Complete(text) => completed(text, reply),
        };
        let (data, error) = match answer {
            Ok(data) => (Some(data), None),
            Err(error) => (None, Some(error)),
        };
        out.push(TalkAction::Tell(BridgeEvent::Reply { seq: asked.seq, data, error }));
    }
}

fn inspected(name: &str, language: &str, reply: &Value) -> Result<Value, String> {
    if reply["status"] == "error" {
        return Err(reply["evalue"].as_str().unwrap_or("the kernel cannot tell").to_owned());
    }
    let text = reply["data"]["text/plain"].as_str().unwrap_or_default();
    if reply["found"] != Value::Bool(true) || text.trim().is_empty() {
        return Err(format!("the kernel knows nothing of `{}`", cut(name, 200)));
    }
    Ok(json!({"name": name, "type": language, "value": "", "doc": cut(text.trim_end(), MOST_TEXT)}))
}

fn completed(text: &str, reply: &Value) -> Result<Value, String> {
    if reply["status"] == "error" {
        return Err(reply["evalue"].as_str().unwrap_or("the kernel cannot complete").to_owned());
    }
    let start = reply["cursor_start"].as_u64().unwrap_or(0) as usize;
    let head: String = text.chars().take(start).collect();
    let matches = reply["matches"].as_array().map(Vec::as_slice).unwrap_or_default();
    let names: Vec<String> = matches
        .iter()
        .filter_map(Value::as_str)
        .take(MOST_NAMES)
        .map(|name| format!("{head}{name}"))
        .collect();
    Ok(json!({"names": names, "more": matches.len().saturating_sub(MOST_NAMES)}))
}
