//! Questions about names, in a session of their own: `*1`, `*e` and the rest of the user's stay as they are.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use stead_host_side::cut;
use stead_protocol::bridge::BridgeEvent;

use super::commands::refuse;
use super::{NreplAction, NreplPhase, NreplTalk};
use crate::bencode::Bencode;
use crate::message::{NreplMessage, NreplRequest};

/// How many names are listed.
const MOST_NAMES: usize = 200;
const MOST_TEXT: usize = 8 << 10;
const MOST_VALUE: i64 = 2_000;

/// A question that the server is answering.
#[derive(Debug)]
pub(super) struct NreplQuestion {
    seq: u64,
    pub(super) request: String,
    asked: AskedOfServer,
}

/// What was asked, and what has come of it.
#[derive(Debug)]
enum AskedOfServer {
    /// `completions` of the last word of this text, which begins behind so many bytes.
    Completions { text: String, begin: usize, names: Vec<String> },
    /// `lookup` of this name.
    Lookup { name: String, found: Option<BTreeMap<String, Bencode>> },
    /// The value of a name that was looked up.
    Value { told: Value, value: Option<String> },
}

impl NreplTalk {
    pub(super) fn query(&mut self, seq: u64, what: &str, arg: &str, out: &mut Vec<NreplAction>) {
        if !matches!(self.phase, NreplPhase::Idle) {
            return refuse(seq, "the server is busy", out);
        }
        let facts = &self.facts;
        let first = |ops: [&'static str; 2]| ops.into_iter().find(|op| facts.can(op));
        let (op, asked) = match what {
            "complete" => {
                let begin = arg.rfind(|c: char| " \t\n()[]{}\"'`~@^#,;".contains(c));
                let begin = begin.map_or(0, |at| at + 1);
                let text = arg.to_owned();
                let names = Vec::new();
                let asked = AskedOfServer::Completions { text, begin, names };
                (first(["completions", "complete"]), asked)
            }
            "inspect" => {
                let name = arg.trim().to_owned();
                (first(["lookup", "info"]), AskedOfServer::Lookup { name, found: None })
            }
            _ => return refuse(seq, "nREPL has no such question", out),
        };
        let Some(op) = op else {
            return refuse(seq, "this nREPL server knows no such question", out);
        };
        let (request, message) = self.tool_request(op);
        let message = match &asked {
            AskedOfServer::Completions { text, begin, .. } => {
                message.with("prefix", &text[*begin..]).with("symbol", &text[*begin..])
            }
            AskedOfServer::Lookup { name, .. } => message.with("sym", name).with("symbol", name),
            AskedOfServer::Value { .. } => message,
        };
        out.push(NreplAction::Send(message));
        self.phase = NreplPhase::Asking(NreplQuestion { seq, request, asked });
    }

    /// A request about the namespace that code runs in, in the session for questions.
    fn tool_request(&mut self, op: &str) -> (String, NreplRequest) {
        let (id, request) = self.request(op);
        let session = self.tool_session.clone();
        let request = request.with_some("session", session.as_deref());
        (id, request.with_some("ns", self.namespace.as_deref()))
    }

    /// Refuses the question and interrupts it at the server, because nobody waits for the answer any more.
    pub(super) fn give_up_question(&mut self, out: &mut Vec<NreplAction>) {
        let NreplPhase::Asking(question) = &self.phase else { return };
        refuse(question.seq, "interrupted", out);
        let (session, request) = (self.tool_session.clone(), question.request.clone());
        self.phase = NreplPhase::Idle;
        if self.facts.can("interrupt") {
            let (_, message) = self.request("interrupt");
            let message = message.with_some("session", session.as_deref());
            out.push(NreplAction::Send(message.with("interrupt-id", &request)));
        }
    }

    /// The server answers the question.
    pub(super) fn answered(&mut self, message: &NreplMessage, out: &mut Vec<NreplAction>) {
        let NreplPhase::Asking(question) = &mut self.phase else { return };
        match &mut question.asked {
            AskedOfServer::Completions { text, begin, names } => {
                let candidates = message.list("completions").iter().filter_map(candidate);
                names.extend(candidates.map(|name| format!("{}{name}", &text[..*begin])));
            }
            AskedOfServer::Lookup { found, .. } => {
                let info = message.dictionary("info").filter(|info| !info.is_empty());
                // The reply to `info` has everything beside its status; the reply to `lookup` has it in a field `info`.
                let own = message.0.contains_key("name").then_some(&message.0);
                *found = info.or(own).cloned().or(found.take());
            }
            AskedOfServer::Value { value, .. } => *value = message.text("value").or(value.take()),
        }
        if message.has_status("done") {
            self.question_over(out);
        }
    }

    fn question_over(&mut self, out: &mut Vec<NreplAction>) {
        let phase = std::mem::replace(&mut self.phase, NreplPhase::Idle);
        let NreplPhase::Asking(question) = phase else { return };
        let seq = question.seq;
        let answer = match question.asked {
            AskedOfServer::Completions { text, mut names, .. } => {
                // Some servers also find names that only contain the word; only names that begin with it are kept.
                if names.iter().any(|name| name.starts_with(&text)) {
                    names.retain(|name| name.starts_with(&text));
                }
                names.sort();
                names.dedup();
                let more = names.len().saturating_sub(MOST_NAMES);
                names.truncate(MOST_NAMES);
                Ok(json!({"names": names, "more": more}))
            }
            AskedOfServer::Value { mut told, value } => {
                told["value"] = cut(&value.unwrap_or_default(), MOST_VALUE as usize).into();
                Ok(told)
            }
            AskedOfServer::Lookup { name, found: Some(found) } => {
                let told = looked_up(&name, &found);
                if has_value(&name, &told) {
                    return self.ask_value(seq, &name, told, out);
                }
                Ok(told)
            }
            AskedOfServer::Lookup { name, found: None } => {
                Err(format!("the server knows nothing of `{}`", cut(&name, 200)))
            }
        };
        let (data, error) = match answer {
            Ok(data) => (Some(data), None),
            Err(error) => (None, Some(error)),
        };
        out.push(NreplAction::Tell(BridgeEvent::Reply { seq, data, error }));
    }

    /// Asks for the value of a name. Only a symbol is evaluated, so no code of the user's runs except to
    /// print the value.
    fn ask_value(&mut self, seq: u64, name: &str, told: Value, out: &mut Vec<NreplAction>) {
        let (request, message) = self.tool_request("eval");
        let quota = "nrepl.middleware.print/quota";
        out.push(NreplAction::Send(message.with("code", name).with_number(quota, MOST_VALUE)));
        let asked = AskedOfServer::Value { told, value: None };
        self.phase = NreplPhase::Asking(NreplQuestion { seq, request, asked });
    }
}

fn candidate(one: &Bencode) -> Option<String> {
    match one {
        Bencode::Dictionary(fields) => fields.get("candidate")?.text(),
        other => other.text(),
    }
}

/// What the server knows of a name, in the words of the host's protocol.
fn looked_up(name: &str, found: &BTreeMap<String, Bencode>) -> Value {
    let text = |key: &str| found.get(key).and_then(Bencode::text).filter(|text| !text.is_empty());
    let arguments = text("arglists-str").or_else(|| text("arglists"));
    let kind = match () {
        () if text("special-form").is_some() => "special form",
        () if text("macro").is_some() => "macro",
        () if arguments.is_some() => "function",
        () => "var",
    };
    let mut told = json!({"name": name, "type": kind, "value": ""});
    let mut set = |key: &str, value: Option<String>| {
        if let Some(value) = value {
            told[key] = cut(&value, MOST_TEXT).into();
        }
    };
    set("doc", text("doc"));
    let called = match (text("ns"), text("name")) {
        (Some(space), Some(name)) => format!("{space}/{name}"),
        _ => name.to_owned(),
    };
    set(
        "signature",
        arguments.map(|arguments| format!("{called} {}", arguments.replace('\n', " "))),
    );
    set("file", text("file").filter(|file| !file.starts_with("NO_SOURCE")));
    told
}

/// Whether a name is that of a var, so that its value says something.
fn has_value(name: &str, told: &Value) -> bool {
    let is_symbol = |c: char| c.is_alphanumeric() || "*+!-_'?<>=./$%&|".contains(c);
    told["type"] == "var" && !name.is_empty() && name.chars().all(is_symbol)
}
