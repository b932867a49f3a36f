//! The conversation with an nREPL server, without any IO: what the host and the server say goes in, what is to be said and done
//! comes out.

mod commands;
mod ending;
#[cfg(test)]
mod golden_tests;
mod greeting;
mod heard;
mod leftover;
mod questions;
#[cfg(test)]
mod tests;

use std::time::Duration;

use stead_host_side::AskedEvals;
use stead_protocol::EvalId;
use stead_protocol::bridge::{BridgeEvent, Command, Stream};

use crate::message::{NreplMessage, NreplRequest};
use crate::trace::ClojureError;

pub(crate) use greeting::ServerFacts;
pub(crate) use heard::GONE_WITH_SESSION;

/// What can happen.
#[derive(Debug)]
pub enum NreplInput<'a> {
    /// The host wants something.
    Host(&'a Command<'a>),
    /// The host wants code to run that only loads this file of ours (`loads` says whether that is so).
    File(&'a EvalId, &'a SourceFile),
    /// The server says something.
    Server(NreplMessage),
    /// The user's answer to code that waits for it; none at the end of the input.
    Line(Option<String>),
    /// A part of an answer has come, and the rest has not.
    PartOfLine,
    /// The time that was asked for has passed.
    Due,
}

/// A file of this machine that the server is to load: its own machine, or its directory, may be another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceFile {
    /// The path, which errors name.
    pub path: String,
    /// Its text.
    pub text: String,
}

/// What is to be done, in this order.
#[derive(Debug)]
pub enum NreplAction {
    /// Tell the host. What has `ack` set is waited for.
    Tell(BridgeEvent),
    /// Write to a stream of the session.
    Print(Stream, String),
    /// Send to the server.
    Send(NreplRequest),
    /// Read a line of the session's input, or no longer do.
    Listen(bool),
    /// Say `Due` after this time.
    Wake(Duration),
    /// End the server if it is ours; else wait for `Left`, but not for long.
    Leave {
        /// Code runs at the server; its end is waited for a little longer.
        busy: bool,
    },
    /// Nothing is left to be said.
    Left,
}

/// What the server is to us.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServerOwner {
    /// It was started for this session, and ends with it.
    Ours,
    /// It ran before, and is left alone at the end.
    Others,
}

/// Where the conversation stands.
#[derive(Debug)]
enum NreplPhase {
    /// The server has not said what it can do, or has not made our sessions.
    Greeting(greeting::Greeted),
    /// Nothing is asked of it.
    Idle,
    /// Code runs.
    Running(Box<NreplRun>),
    /// Code is over, and what it has not read of its input is being dropped.
    Dropping(Box<leftover::Dropping>),
    /// A question is being answered.
    Asking(questions::NreplQuestion),
    /// The session ends when these requests are answered: some servers die if nobody takes an answer.
    Leaving { unanswered: Vec<String>, step: LeaveStep },
}

/// How far a session has left its server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LeaveStep {
    /// The end of what runs is awaited.
    Awaiting,
    /// Our sessions are being closed.
    Closing,
}

/// How far an interrupt of the running eval is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum NreplInterrupt {
    No,
    Sent,
    /// The server said that nothing runs: it has not begun with the code. It is asked again.
    Again,
}

/// A value or an error of an eval that is told once it is known whether something follows.
#[derive(Debug)]
enum HeldBack {
    Value(String),
    Error(ClojureError),
}

/// Whether code waits for a line of input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum InputNeed {
    No,
    Waits,
}

/// An eval that runs.
#[derive(Debug)]
struct NreplRun {
    eval: String,
    /// The id of the request that its messages name.
    request: String,
    interrupt: NreplInterrupt,
    /// How often the interrupt was sent because the server had not begun.
    repeats: u32,
    reading: InputNeed,
    /// Whether the code was given a line, of which it may not have read all.
    was_given_input: bool,
    held: Option<HeldBack>,
    /// How many values and errors have come.
    values: usize,
    errors: usize,
    /// Whether a value has come after an error.
    went_on: bool,
    /// The last that was written to stderr: servers that say little of an error have written it there.
    written: String,
}

/// A conversation with one server.
#[derive(Debug)]
pub struct NreplTalk {
    owner: ServerOwner,
    /// What the server is called in `hello`.
    executable: String,
    requests: u64,
    phase: NreplPhase,
    facts: ServerFacts,
    /// The session that code runs in.
    session: String,
    /// Another one for questions, so that they leave `*1` and `*e` alone.
    tool_session: Option<String>,
    /// The namespace that code runs in, as far as the server has said.
    namespace: Option<String>,
    /// Which eval a request was for.
    evals: AskedEvals,
}

impl NreplTalk {
    /// A conversation that begins.
    pub fn new(owner: ServerOwner, executable: &str) -> NreplTalk {
        NreplTalk {
            owner,
            executable: executable.to_owned(),
            requests: 0,
            phase: NreplPhase::Greeting(greeting::Greeted::default()),
            facts: ServerFacts::default(),
            session: String::new(),
            tool_session: None,
            namespace: None,
            evals: AskedEvals::default(),
        }
    }

    /// Whether the server has answered and the host was told.
    pub fn is_ready(&self) -> bool {
        !matches!(self.phase, NreplPhase::Greeting(_))
    }

    /// Why no session can be had of this server, if that is so.
    pub fn refusal(&self) -> Option<String> {
        match &self.phase {
            NreplPhase::Greeting(greeted) => greeted.refused.clone(),
            NreplPhase::Idle
            | NreplPhase::Running(_)
            | NreplPhase::Dropping(_)
            | NreplPhase::Asking(_)
            | NreplPhase::Leaving { .. } => None,
        }
    }

    /// Whether code runs or a question is being answered.
    pub fn is_busy(&self) -> bool {
        matches!(
            self.phase,
            NreplPhase::Running(_) | NreplPhase::Dropping(_) | NreplPhase::Asking(_)
        )
    }

    /// The one place where the conversation goes on.
    pub fn step(&mut self, input: NreplInput<'_>) -> Vec<NreplAction> {
        let mut out = Vec::new();
        match input {
            NreplInput::Host(command) => self.command(command, &mut out),
            NreplInput::File(id, file) => self.load(id, file, &mut out),
            NreplInput::Server(message) => self.heard(message, &mut out),
            NreplInput::Line(line) => self.line(line, &mut out),
            NreplInput::PartOfLine => self.still_waits(&mut out),
            NreplInput::Due => self.due(&mut out),
        }
        out
    }

    /// A new request.
    fn request(&mut self, op: &str) -> (String, NreplRequest) {
        self.requests += 1;
        let id = format!("stead-{}", self.requests);
        let request = NreplRequest::new(op, &id);
        (id, request)
    }

    /// A request about the session that code runs in.
    fn session_request(&mut self, op: &str) -> (String, NreplRequest) {
        let (id, request) = self.request(op);
        (id, request.with("session", &self.session))
    }
}
