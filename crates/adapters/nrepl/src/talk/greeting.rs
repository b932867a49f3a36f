//! The first words: what the server can do, and a session of our own.

use std::collections::{BTreeMap, BTreeSet};

use stead_protocol::bridge::BridgeEvent;
use stead_protocol::{Capabilities, Capability};

use super::{NreplAction, NreplPhase, NreplTalk, ServerOwner};
use crate::bencode::Bencode;
use crate::message::NreplMessage;

/// What a server has said of itself.
#[derive(Debug, Clone, Default)]
pub(crate) struct ServerFacts {
    ops: BTreeSet<String>,
    /// Its parts and their versions.
    versions: Vec<(String, String)>,
}

/// What has come of the first words.
#[derive(Debug, Default)]
pub(super) struct Greeted {
    describe: String,
    clone: String,
    clone_for_questions: String,
    described: bool,
    session: Option<String>,
    tool_session: Option<String>,
    /// The server makes no second session, so questions do without one.
    no_tool_session: bool,
    /// The server makes no session.
    pub(super) refused: Option<String>,
}

impl ServerFacts {
    /// Whether the server knows this request.
    pub(crate) fn can(&self, op: &str) -> bool {
        self.ops.contains(op)
    }

    fn version(&self, part: &str) -> Option<&str> {
        let found = self.versions.iter().find(|(name, _)| name == part);
        found.map(|(_, version)| version.as_str())
    }

    /// Whether this is Clojure's own server, which can be told how to print values and exceptions.
    pub(crate) fn prints_as_asked(&self) -> bool {
        self.version("nrepl").is_some()
    }

    /// Whether an empty text ends the input of code: newer servers fail on it.
    pub(crate) fn takes_end_of_input(&self) -> bool {
        let mut numbers = self.version("nrepl").unwrap_or_default().split('.');
        let mut number = || numbers.next().and_then(|word| word.parse::<u32>().ok());
        matches!((number(), number()), (Some(0), _) | (Some(1), Some(0..=5)))
    }

    /// What runs the code: the parts that say most come first.
    fn told(&self) -> String {
        let first = ["clojure", "babashka", "nbb", "nrepl"];
        let title = |name: &str| match name {
            "clojure" => "Clojure".to_owned(),
            "nrepl" => "nREPL".to_owned(),
            "java" => "Java".to_owned(),
            other => other.to_owned(),
        };
        let known = first.iter().filter_map(|name| Some((*name, self.version(name)?)));
        let others = self.versions.iter().filter(|(name, _)| !first.contains(&name.as_str()));
        let others = others.map(|(name, version)| (name.as_str(), version.as_str()));
        let parts = known.chain(others).take(5);
        let parts =
            parts.map(|(name, version)| format!("{} {version}", title(name)).trim().to_owned());
        parts.collect::<Vec<_>>().join(", ")
    }
}

impl NreplTalk {
    /// What is said first.
    pub fn greet(&mut self) -> Vec<NreplAction> {
        let (describe, first) = self.request("describe");
        let (clone, second) = self.request("clone");
        let (clone_for_questions, third) = self.request("clone");
        let greeted = Greeted { describe, clone, clone_for_questions, ..Greeted::default() };
        self.phase = NreplPhase::Greeting(greeted);
        [first, second, third].into_iter().map(NreplAction::Send).collect()
    }

    /// The server answers what was said first.
    pub(super) fn greeted(&mut self, message: &NreplMessage, out: &mut Vec<NreplAction>) {
        let NreplPhase::Greeting(greeted) = &mut self.phase else { return };
        let id = message.id();
        let done = message.has_status("done");
        if id == greeted.describe {
            if let Some(ops) = message.dictionary("ops") {
                self.facts.ops = ops.keys().cloned().collect();
            }
            if let Some(versions) = message.dictionary("versions") {
                let of = |(name, value): (&String, &Bencode)| (name.clone(), version(value));
                self.facts.versions = versions.iter().map(of).collect();
            }
            greeted.described |= done;
        } else if id == greeted.clone {
            greeted.session = message.text("new-session").or(greeted.session.take());
            if done && greeted.session.is_none() {
                let said = message.statuses().join(", ");
                greeted.refused = Some(format!("it gives no session (`clone`: {said})"));
            }
        } else if id == greeted.clone_for_questions {
            greeted.tool_session = message.text("new-session").or(greeted.tool_session.take());
            greeted.no_tool_session |= done && greeted.tool_session.is_none();
        }
        if greeted.described
            && (greeted.tool_session.is_some() || greeted.no_tool_session)
            && let Some(session) = greeted.session.take()
        {
            self.session = session;
            self.tool_session = greeted.tool_session.take();
            self.phase = NreplPhase::Idle;
            self.say_hello(out);
        }
    }

    fn say_hello(&mut self, out: &mut Vec<NreplAction>) {
        let facts = &self.facts;
        let mut can: Capabilities = [Capability::Interrupts, Capability::OwnWaits].into();
        if facts.can("lookup") || facts.can("info") {
            can.insert(Capability::Inspect);
        }
        if facts.can("completions") || facts.can("complete") {
            can.insert(Capability::Complete);
        }
        match self.owner {
            ServerOwner::Ours => can.insert(Capability::OwnProcesses),
            // The server's processes are not below us, so only this bridge can say that they cannot be paused.
            ServerOwner::Others => {
                can.insert(Capability::Pauses);
                can.insert(Capability::Leaves);
            }
        }
        let version = facts.told();
        out.push(NreplAction::Tell(BridgeEvent::Hello {
            protocol: stead_protocol::bridge::VERSION,
            language: "clojure".to_owned(),
            version: if version.is_empty() { "unknown".to_owned() } else { version },
            executable: self.executable.clone(),
            pid: std::process::id(),
            cannot: self.cannot(&can),
            can,
            channel: None,
        }));
        // Output to Java's own streams goes to the streams of the server's process, which we read if the
        // server is ours.
        if self.owner == ServerOwner::Others && self.facts.can("forward-system-output") {
            let (_, request) = self.session_request("forward-system-output");
            out.push(NreplAction::Send(request));
        }
    }

    /// What a session of this server cannot do, for `status`.
    fn cannot(&self, can: &Capabilities) -> Vec<String> {
        let facts = &self.facts;
        let mut list = vec!["tell or clear names: the protocol has no question for them"];
        list.push("save, load or go back: the protocol has no way to keep state");
        list.push(match (facts.can("interrupt"), self.owner) {
            (false, ServerOwner::Ours) => {
                "interrupt: this server knows no such request; a hard timeout kills it"
            }
            (false, ServerOwner::Others) => {
                "interrupt: this server knows no such request; a hard timeout leaves it, and the code goes on there"
            }
            (true, _) => {
                "stop at once what ignores an interrupt, as a loop does: the server calls it interrupted, and \
                 ends its thread some seconds later"
            }
        });
        if !facts.can("stdin") {
            list.push("give input: this server knows no such request");
        } else if !facts.takes_end_of_input() {
            list.push("end the input: this server fails on that, and gets an empty line");
        } else {
            list.push("see a child that reads standard input: the server's is empty");
        }
        if facts.can("stdin") && !self.can_drop() {
            list.push("drop what code has not read of a given line: this server has no way to it");
        }
        if !can.has(&Capability::Inspect) {
            list.push("tell about a name: this server knows no such request");
        }
        if !can.has(&Capability::Complete) {
            list.push("complete names: this server knows no such request");
        }
        match self.owner {
            ServerOwner::Ours => {}
            ServerOwner::Others => {
                list.push("pause, or kill what the code has started: the server runs elsewhere");
                if !facts.can("forward-system-output") {
                    list.push("show what is written to Java's own streams: it goes to where the server writes");
                }
            }
        }
        list.push("keep both streams in exact order where the server does not");
        list.into_iter().map(str::to_owned).collect()
    }
}

/// The version of a part: a text, or a table that has it whole or in pieces.
fn version(value: &Bencode) -> String {
    let Bencode::Dictionary(parts) = value else { return value.text().unwrap_or_default() };
    let piece = |name: &str| match parts.get(name)? {
        Bencode::Integer(number) => Some(number.to_string()),
        other => other.text(),
    };
    let whole = piece("version-string").filter(|text| !text.is_empty());
    whole.unwrap_or_else(|| pieces(parts, piece))
}

fn pieces(parts: &BTreeMap<String, Bencode>, piece: impl Fn(&str) -> Option<String>) -> String {
    let known = ["major", "minor", "incremental", "patch"];
    let found: Vec<String> = known
        .iter()
        .filter(|name| parts.contains_key(**name))
        .filter_map(|name| piece(name))
        .filter(|text| !text.is_empty())
        .collect();
    found.join(".")
}
