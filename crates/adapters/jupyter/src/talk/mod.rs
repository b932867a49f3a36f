//! The conversation with a kernel, without any IO: what the host and the kernel say goes in, what is to be said and done comes
//! out. The gateway's adapter can use it as it is: nothing here knows how messages travel.

mod commands;
mod ending;
mod published;
mod questions;
mod replies;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::time::Duration;

use serde_json::{Value, json};
use stead_protocol::bridge::{BridgeEvent, Command, Stream};
use stead_protocol::{Capabilities, Capability};

use crate::message::JupyterMessage;
use crate::quirks::{self, InterruptWay, KernelQuirks};

/// The channel that a message came on or goes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KernelChannel {
    /// Requests, one after the other.
    Shell,
    /// Requests that are answered while code runs.
    Control,
    /// What the kernel tells everybody.
    Published,
    /// Questions to the user.
    Stdin,
}

/// What can happen.
#[derive(Debug)]
pub enum TalkInput<'a> {
    /// The host wants something.
    Host(&'a Command<'a>),
    /// The kernel says something.
    Kernel(KernelChannel, &'a JupyterMessage),
    /// The user's answer to a question; none at the end of the input.
    Line(Option<String>),
    /// A part of an answer has come, and the rest has not.
    PartOfLine,
    /// The time that was asked for has passed.
    Due,
}

/// What is to be done, in this order.
#[derive(Debug)]
pub enum TalkAction {
    /// Tell the host. What has `ack` set is waited for.
    Tell(BridgeEvent),
    /// Write to a stream of the session.
    Print(Stream, String),
    /// Send to the kernel.
    Send(KernelChannel, JupyterMessage),
    /// Send SIGINT to the kernel.
    Signal,
    /// Send SIGINT to the processes that the kernel started.
    SignalChildren,
    /// Read a line of the session's input, or no longer do.
    Listen(bool),
    /// Say `Due` after this time.
    Wake(Duration),
    /// End the kernel if it is ours, and leave.
    Leave,
}

/// What the kernel is to us.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KernelOwner {
    /// It was started for this session, and ends with it.
    Ours {
        /// Its kernelspec says that it is interrupted by a message.
        by_message: bool,
    },
    /// It ran before, and is left alone at the end.
    Others,
}

/// What a kernel has said of itself.
#[derive(Debug, Clone)]
struct KernelFacts {
    quirks: KernelQuirks,
    /// Names can be asked for by our helper.
    python: bool,
    language: String,
}

/// Where the conversation stands.
#[derive(Debug)]
enum TalkPhase {
    /// The kernel has not said who it is, or nothing published by it has come: what it publishes before our subscription has
    /// reached it is lost.
    Greeting { info: Option<Value>, heard: bool },
    /// Nothing is asked of it.
    Idle,
    /// Code runs.
    Running(Box<EvalRun>),
    /// A question is being answered.
    Asking(AskedQuestion),
    /// The session ends.
    Leaving,
}

/// How far an interrupt of the running eval is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Interrupting {
    No,
    /// It is sent when the kernel says that the code runs: before that, kernels ignore it.
    Wanted,
    Sent,
}

/// What is waited for before an eval is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum EvalStage {
    /// Its reply, and that the kernel is idle.
    Code,
    /// Another try: the kernel threw the request away.
    Again,
    /// What it did to the names: after an error a kernel does not answer `user_expressions`.
    Names,
}

/// An eval that runs.
#[derive(Debug)]
struct EvalRun {
    eval: String,
    code: String,
    stage: EvalStage,
    /// The id of the request that its messages name.
    request: String,
    /// The id of what was asked after that.
    after: String,
    reply: Option<Value>,
    idle: bool,
    /// The kernel has said that it runs the code.
    begun: bool,
    interrupt: Interrupting,
    /// The code has only just begun: an interrupt may meet the kernel's own code, which loses it.
    young: bool,
    /// How often an interrupt was sent again.
    repeats: u32,
    /// An interrupt was sent a moment ago: another one now could meet the kernel's own code while it puts the first into words,
    /// and the reply would never come.
    cooling: bool,
    /// Another interrupt was asked for meanwhile.
    again: bool,
    /// The question that the user was asked.
    asks: Option<JupyterMessage>,
    /// Its last value, shown when nothing can follow.
    value: Option<Value>,
    /// The last thing on display, which may turn out to be the value.
    display: Option<Value>,
    error: Option<Value>,
    tries: u32,
}

/// A question that the kernel is answering.
#[derive(Debug)]
struct AskedQuestion {
    seq: u64,
    request: String,
    kind: QuestionKind,
}

/// How the answer to a question is read.
#[derive(Debug, Clone, PartialEq, Eq)]
enum QuestionKind {
    /// Our helper gives it in the form that the host wants.
    Helper,
    /// `inspect_reply` about this name.
    Inspect(String),
    /// `complete_reply` to this text.
    Complete(String),
}

/// How many requests are remembered, so that late output finds its eval.
const REMEMBERED: usize = 10_000;

/// A conversation with one kernel.
#[derive(Debug)]
pub struct KernelTalk {
    owner: KernelOwner,
    /// What the interpreter is called in `hello`.
    executable: String,
    /// The id of our side.
    session: String,
    requests: u64,
    phase: TalkPhase,
    facts: Option<KernelFacts>,
    /// The id of the kernel's side: another one means that it was started anew.
    kernel_session: Option<String>,
    /// How many requests on the shell channel have no answer yet.
    unanswered: usize,
    /// Requests that wait for that.
    held: VecDeque<JupyterMessage>,
    /// Which eval a request was for.
    evals: VecDeque<(String, String)>,
}

impl KernelTalk {
    /// A conversation that begins. `session` is a name that nobody else has.
    pub fn new(owner: KernelOwner, session: &str, executable: &str) -> KernelTalk {
        KernelTalk {
            owner,
            executable: executable.to_owned(),
            session: session.to_owned(),
            requests: 0,
            phase: TalkPhase::Greeting { info: None, heard: false },
            facts: None,
            kernel_session: None,
            unanswered: 0,
            held: VecDeque::new(),
            evals: VecDeque::new(),
        }
    }

    /// What is said first, and again until the kernel has answered.
    pub fn greet(&mut self) -> Vec<TalkAction> {
        // A kernel that runs code answers on the control channel only. Some older ones do not listen to that.
        let channels: &[KernelChannel] = match self.owner {
            KernelOwner::Ours { .. } => &[KernelChannel::Shell],
            KernelOwner::Others => &[KernelChannel::Control, KernelChannel::Shell],
        };
        let ask = |channel: &KernelChannel| {
            let message = self.request("kernel_info_request", json!({})).1;
            self.unanswered += usize::from(*channel == KernelChannel::Shell);
            TalkAction::Send(*channel, message)
        };
        channels.iter().map(ask).collect()
    }

    /// Whether the kernel has said who it is, and the host was told.
    pub fn is_ready(&self) -> bool {
        self.facts.is_some()
    }

    /// Whether what the kernel's process writes itself is published as well.
    pub fn echoes(&self) -> bool {
        self.facts.as_ref().is_some_and(|facts| facts.quirks.echoes)
    }

    /// Whether code runs or a question is being answered.
    pub fn is_busy(&self) -> bool {
        matches!(self.phase, TalkPhase::Running(_) | TalkPhase::Asking(_))
    }

    /// The one place where the conversation goes on.
    pub fn step(&mut self, input: TalkInput<'_>) -> Vec<TalkAction> {
        let mut out = Vec::new();
        match input {
            TalkInput::Host(command) => self.command(command, &mut out),
            TalkInput::Kernel(_, message) if self.was_restarted(message) => {
                let reason = "the kernel was started anew, and its state is gone".to_owned();
                out.push(TalkAction::Tell(BridgeEvent::Exiting { code: 1, reason: Some(reason) }));
                out.push(TalkAction::Leave);
                self.phase = TalkPhase::Leaving;
            }
            TalkInput::Kernel(KernelChannel::Published, message) => {
                self.published(message, &mut out);
            }
            TalkInput::Kernel(KernelChannel::Stdin, message) => self.asked(message, &mut out),
            TalkInput::Kernel(KernelChannel::Shell, message) => {
                self.unanswered = self.unanswered.saturating_sub(1);
                self.replied(message, &mut out);
                self.send_held(&mut out);
            }
            TalkInput::Kernel(KernelChannel::Control, message) => self.replied(message, &mut out),
            TalkInput::Line(line) => self.line(line, &mut out),
            TalkInput::PartOfLine => self.still_waits(&mut out),
            TalkInput::Due => self.due(&mut out),
        }
        out
    }

    /// A kernel that is not ours may be started anew by those whose it is; then the process at the same address is another.
    fn was_restarted(&mut self, message: &JupyterMessage) -> bool {
        let Some(session) = message.header["session"].as_str().filter(|id| !id.is_empty()) else {
            return false;
        };
        // Gateways and some kernels put our own id there.
        if session == self.session || self.owner != KernelOwner::Others {
            return false;
        }
        let known = self.kernel_session.get_or_insert_with(|| session.to_owned());
        known != session
            && message.kind() == "status"
            && message.text("execution_state") == "starting"
    }

    /// A new request, and its id.
    fn request(&mut self, kind: &str, content: Value) -> (String, JupyterMessage) {
        self.requests += 1;
        let id = format!("{}-{}", self.session, self.requests);
        let message = JupyterMessage::request(&id, &self.session, kind, content);
        (id, message)
    }

    /// Sends a request on the shell channel; its id.
    fn ask_shell(&mut self, kind: &str, content: Value, out: &mut Vec<TalkAction>) -> String {
        let (id, message) = self.request(kind, content);
        self.held.push_back(message);
        self.send_held(out);
        id
    }

    /// Sends the next request if the last one was answered. One at a time: xeus forgets a request that comes while it is busy
    /// with another.
    fn send_held(&mut self, out: &mut Vec<TalkAction>) {
        if self.unanswered == 0
            && let Some(message) = self.held.pop_front()
        {
            self.unanswered += 1;
            out.push(TalkAction::Send(KernelChannel::Shell, message));
        }
    }

    fn is_python(&self) -> bool {
        self.facts.as_ref().is_some_and(|facts| facts.python)
    }

    fn interrupt_way(&self) -> InterruptWay {
        self.facts.as_ref().map_or(InterruptWay::Never, |facts| facts.quirks.interrupt)
    }

    /// The kernel has answered and is heard: the host may send code.
    fn greeted(&mut self, info: &Value, out: &mut Vec<TalkAction>) {
        let (by_message, is_child) = match self.owner {
            KernelOwner::Ours { by_message } => (by_message, true),
            KernelOwner::Others => (false, false),
        };
        let spoken = &info["language_info"];
        let language = spoken["name"].as_str().unwrap_or("unknown").to_ascii_lowercase();
        let quirks = quirks::quirks(info, by_message, is_child);
        // Python's IPython and xeus both answer expressions; `ipython` is what older kernels say.
        let python = matches!(language.as_str(), "python" | "ipython");
        let mut can: Capabilities = [
            Capability::Inspect,
            Capability::Complete,
            Capability::Interrupts,
            Capability::OwnProcesses,
        ]
        .into();
        if !quirks.no_stdin {
            can.insert(Capability::OwnWaits);
        }
        if python {
            for capability in [Capability::Clear, Capability::Vars, Capability::Changed] {
                can.insert(capability);
            }
            // Requests are sent in order: code that comes next finds the helper there.
            let install = crate::python::silent(&crate::python::install());
            self.ask_shell("execute_request", install, out);
        }
        if !is_child {
            // Its processes are not below us: that they cannot be stopped is for us to say.
            can.insert(Capability::Pauses);
        }
        let implementation = info["implementation"].as_str().unwrap_or_default();
        let release = info["implementation_version"].as_str().unwrap_or_default();
        let version = spoken["version"].as_str().unwrap_or_default();
        let words = |words: [&str; 2]| words.join(" ").trim().to_owned();
        let parts = [words([&language, version]), words([implementation, release])];
        let version = parts.iter().filter(|part| !part.is_empty()).cloned().collect::<Vec<_>>();
        out.push(TalkAction::Tell(BridgeEvent::Hello {
            protocol: stead_protocol::bridge::VERSION,
            language: language.clone(),
            version: version.join(", "),
            executable: self.executable.clone(),
            pid: std::process::id(),
            cannot: cannot(&can, &quirks, is_child),
            can,
        }));
        self.facts = Some(KernelFacts { quirks, python, language });
        self.phase = TalkPhase::Idle;
    }

    /// The eval whose request this was.
    fn eval_of(&self, request: &str) -> Option<String> {
        let found = self.evals.iter().rev().find(|(known, _)| known == request);
        found.map(|(_, eval)| eval.clone())
    }

    fn remember(&mut self, request: &str, eval: &str) {
        if self.evals.len() == REMEMBERED {
            self.evals.pop_front();
        }
        self.evals.push_back((request.to_owned(), eval.to_owned()));
    }
}

/// What a session of this kernel cannot do, for `status`.
fn cannot(can: &Capabilities, quirks: &KernelQuirks, is_child: bool) -> Vec<String> {
    let mut list = Vec::new();
    if !can.has(&Capability::Vars) {
        list.push("tell or clear names: the protocol has no question for them");
    }
    list.push("save, load or go back: the protocol has no way to keep state");
    match quirks.interrupt {
        InterruptWay::Never => {
            list.push("interrupt: the kernel dies of a signal and ignores the message")
        }
        InterruptWay::Message if !is_child => {
            list.push("pause, or kill what the code has started: the kernel runs elsewhere");
        }
        InterruptWay::Message | InterruptWay::Signal | InterruptWay::Children => {}
    }
    if quirks.no_stdin {
        list.push("give input: code that reads it hangs in this kernel");
    } else {
        list.push("see a child that reads standard input: the kernel's is empty");
    }
    list.push("keep both streams in exact order where the kernel does not");
    list.into_iter().map(str::to_owned).collect()
}
