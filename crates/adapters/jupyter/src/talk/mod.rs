//! The conversation with a kernel, without any IO: what the host and the kernel say goes in, what is to be said and done comes
//! out. The gateway's adapter can use it as it is: nothing here knows how messages travel.

mod asked_lines;
mod commands;
mod doubt;
mod ending;
mod greeting;
mod numbers;
mod published;
mod questions;
mod reconnect;
#[cfg(test)]
mod reconnect_tests;
mod replies;
mod timers;
mod work;

#[cfg(test)]
mod asked_lines_tests;
#[cfg(test)]
mod lost_tests;
#[cfg(test)]
mod names_tests;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod work_tests;

use std::collections::VecDeque;
use std::time::Duration;

use serde_json::{Value, json};
use stead_host_side::AskedEvals;
use stead_protocol::bridge::{BridgeEvent, Command, Stream};

use crate::message::JupyterMessage;
use crate::quirks::{InterruptWay, KernelQuirks};
use crate::transfer::{TransferOrder, Transferred};
use asked_lines::AskedLine;
use doubt::{KernelProbe, Overdue};
use numbers::MessageNumbers;
use reconnect::KeptOutput;
use timers::{TalkTimer, TalkTimers};
use work::WorkOrder;

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
    /// The host wants this `Work`, and its path leads to this place here (`path_place`).
    HostWork(&'a Command<'a>, String),
    /// The kernel says something.
    Kernel(KernelChannel, &'a JupyterMessage),
    /// The user's answer to a question; none at the end of the input.
    Line(Option<String>),
    /// A part of an answer has come, and the rest has not.
    PartOfLine,
    /// The time that was asked for has passed.
    Due,
    /// What came of the last `Transfer`.
    Transferred(Transferred),
    /// The connection was cut and is back: what either side had said last may be lost.
    Reconnected,
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
    /// Do this with the file that is being saved or loaded, and say `Transferred`.
    Transfer(TransferOrder),
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
    /// Our helper has put what the last code did to the names into the reply, so it need not be asked.
    tells_names: bool,
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
    /// It is sent when the code runs: before that it would meet the kernel's own code, or code of somebody else.
    Wanted,
    /// It was sent a moment ago: another one now could meet the kernel's own code while it puts the first into words, and the
    /// reply would never come. `again`: one more was asked for meanwhile.
    Fresh {
        again: bool,
    },
    Sent,
}

/// How far the kernel is with the code of an eval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum EvalAge {
    /// It has not said that it is busy with it.
    Waits,
    /// It is busy with it, and has not said that it runs it: it may also throw it away.
    Taken,
    /// It has only just said that it runs it: an interrupt may meet the kernel's own code, which loses it.
    Young,
    /// The code itself runs.
    Grown,
}

/// A request on the shell channel that has no answer yet.
#[derive(Debug)]
struct ShellRequest {
    id: String,
    /// The kernel has said that it is busy with it.
    begun: bool,
    /// The kernel has said that it is idle after it.
    idle: bool,
}

impl ShellRequest {
    fn sent(id: String) -> ShellRequest {
        ShellRequest { id, begun: false, idle: false }
    }
}

/// What is waited for before an eval is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum EvalStage {
    /// Its reply, and that the kernel is idle.
    Code,
    /// Another try: the kernel threw the request away.
    Again,
    /// What the code did to the names: after an error a kernel does not answer `user_expressions`.
    Names,
    /// That a kernel is idle after one more request, if it says too early that it is idle. `more`: output has
    /// come meanwhile, so there may be more, and one more request follows.
    Late { replied: bool, more: bool },
}

/// What runs as an eval.
#[derive(Debug)]
enum RunTask {
    Code(String),
    Work(WorkOrder),
}

/// An eval that runs.
#[derive(Debug)]
struct EvalRun {
    eval: String,
    task: RunTask,
    stage: EvalStage,
    /// The id of the request that its messages name.
    request: String,
    /// The id of the request that was sent after the code, to learn more about the eval.
    after: String,
    reply: Option<Value>,
    idle: bool,
    age: EvalAge,
    interrupt: Interrupting,
    /// Its last value, shown when nothing can follow.
    value: Option<Value>,
    /// The last thing on display, which may turn out to be the value.
    display: Option<Value>,
    error: Option<Value>,
    tries: u32,
    /// The reader was told that a question of the code may be lost.
    warned: bool,
    /// Something that the reader of the result should know.
    notice: Option<String>,
}

impl EvalRun {
    fn new(eval: String, task: RunTask) -> EvalRun {
        EvalRun {
            eval,
            task,
            stage: EvalStage::Code,
            request: String::new(),
            after: String::new(),
            reply: None,
            idle: false,
            age: EvalAge::Waits,
            interrupt: Interrupting::No,
            value: None,
            display: None,
            error: None,
            tries: 0,
            warned: false,
            notice: None,
        }
    }

    /// Whether an interrupt was sent to the kernel.
    fn was_interrupted(&self) -> bool {
        matches!(self.interrupt, Interrupting::Fresh { .. } | Interrupting::Sent)
    }
}

/// A question that the kernel is answering.
#[derive(Debug)]
struct AskedQuestion {
    seq: u64,
    request: String,
    kind: QuestionKind,
    /// The kernel has said that it is busy with it.
    begun: bool,
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
    /// The request on the shell channel that was sent last, until it is answered.
    outstanding: Option<ShellRequest>,
    /// Requests on the shell channel that wait until the last one is answered.
    held: VecDeque<JupyterMessage>,
    timers: TalkTimers,
    /// What is overdue, the question about it, and how long to wait before the next question.
    doubted: Option<Overdue>,
    probe: Option<KernelProbe>,
    patience: Duration,
    /// The numbers of the kernel's messages, by which lost ones are noticed.
    numbers: MessageNumbers,
    /// Which eval a request was for.
    evals: AskedEvals,
    /// Lines that the kernel waits for, the oldest first.
    lines: Vec<AskedLine>,
    /// What was asked after a cut, if it is not answered yet.
    after_cut: Option<reconnect::CutProbe>,
    /// What has come of the running eval since the last cut.
    kept: KeptOutput,
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
            outstanding: None,
            held: VecDeque::new(),
            timers: TalkTimers::default(),
            doubted: None,
            probe: None,
            patience: Duration::ZERO,
            numbers: MessageNumbers::default(),
            evals: AskedEvals::default(),
            lines: Vec::new(),
            after_cut: None,
            kept: KeptOutput::Known,
        }
    }

    /// What is said first, and again until the kernel has answered.
    pub fn greet(&mut self) -> Vec<TalkAction> {
        // A kernel that runs code answers only on the control channel, but some older kernels do not listen to that.
        let channels: &[KernelChannel] = match self.owner {
            KernelOwner::Ours { .. } => &[KernelChannel::Shell],
            KernelOwner::Others => &[KernelChannel::Control, KernelChannel::Shell],
        };
        let ask = |channel: &KernelChannel| {
            let (id, message) = self.request("kernel_info_request", json!({}));
            if *channel == KernelChannel::Shell {
                // Requests are answered in order, so the last one counts.
                self.outstanding = Some(ShellRequest::sent(id));
            }
            TalkAction::Send(*channel, message)
        };
        channels.iter().map(ask).collect()
    }

    /// Whether the kernel has said who it is, and the host was told.
    pub fn is_ready(&self) -> bool {
        self.facts.is_some()
    }

    /// Whether what the kernel's process writes itself is no output of the code.
    pub fn echoes(&self) -> bool {
        self.facts.as_ref().is_some_and(|facts| facts.quirks.echoes)
    }

    /// How lines begin that the kernel's process writes to its own stderr about an interrupt.
    pub fn grumbles(&self) -> Option<&'static str> {
        self.facts.as_ref()?.quirks.grumbles
    }

    /// Whether code runs or a question is being answered.
    pub fn is_busy(&self) -> bool {
        matches!(self.phase, TalkPhase::Running(_) | TalkPhase::Asking(_))
    }

    /// The one place where the conversation goes on.
    pub fn step(&mut self, input: TalkInput<'_>) -> Vec<TalkAction> {
        let mut out = Vec::new();
        match input {
            TalkInput::Host(command) => self.command(command, "", &mut out),
            TalkInput::HostWork(command, place) => self.command(command, &place, &mut out),
            TalkInput::Kernel(_, message) if self.was_restarted(message) => {
                let reason = "the kernel was started anew, and its state is gone".to_owned();
                out.push(TalkAction::Tell(BridgeEvent::Exiting { code: 1, reason: Some(reason) }));
                out.push(TalkAction::Leave);
                self.phase = TalkPhase::Leaving;
            }
            TalkInput::Kernel(channel, message) => {
                let skips = self.numbers.heard(message);
                self.look_for_later_loss(skips, channel, message, &mut out);
                if self.is_of_cut(message) {
                    self.heard_after_cut(channel, message, &mut out);
                } else if !self.is_of_probe(message, &mut out) {
                    self.heard(channel, message, &mut out);
                }
            }
            TalkInput::Line(line) => self.line(line, &mut out),
            TalkInput::PartOfLine => self.still_waits(&mut out),
            TalkInput::Due => self.due(&mut out),
            TalkInput::Transferred(came) => self.transferred(came, &mut out),
            TalkInput::Reconnected => self.reconnected(&mut out),
        }
        if self.asks_though_interrupted() {
            self.line(Some(String::new()), &mut out);
        }
        self.look_for_doubt();
        self.timers.ask(&mut out);
        out
    }

    /// Whether the code was interrupted and the kernel still asks, because it notices the interrupt only
    /// after an answer.
    fn asks_though_interrupted(&self) -> bool {
        let TalkPhase::Running(run) = &self.phase else { return false };
        self.asks(run)
            && run.was_interrupted()
            && self.facts.as_ref().is_some_and(|facts| facts.quirks.asks_on)
    }

    /// A message of the kernel's was lost on its way: the running eval says so when it ends.
    pub fn missed(&mut self, why: &str) {
        if let TalkPhase::Running(run) = &mut self.phase {
            run.notice = Some(why.to_owned());
        }
    }

    fn heard(
        &mut self,
        channel: KernelChannel,
        message: &JupyterMessage,
        out: &mut Vec<TalkAction>,
    ) {
        match channel {
            KernelChannel::Published => self.published(message, out),
            KernelChannel::Stdin => self.asked(message, out),
            KernelChannel::Shell => {
                self.outstanding.take_if(|asked| asked.id == message.parent_id());
                self.replied(message, out);
                self.send_held(out);
            }
            KernelChannel::Control => self.replied(message, out),
        }
    }

    /// Whether a kernel of others was started anew by its owners, so that another process is at the same address.
    fn was_restarted(&mut self, message: &JupyterMessage) -> bool {
        let Some(session) = message.header["session"].as_str().filter(|id| !id.is_empty()) else {
            return false;
        };
        // Gateways and some kernels put our own session id into the header.
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

    /// Sends the next request if the last one was answered. One at a time, because xeus forgets a request
    /// that comes while it is busy with another. None while a question after a cut is open, because its
    /// answer settles all earlier requests.
    fn send_held(&mut self, out: &mut Vec<TalkAction>) {
        if self.outstanding.is_none()
            && self.after_cut.is_none()
            && let Some(message) = self.held.pop_front()
        {
            let id = message.header["msg_id"].as_str().unwrap_or_default();
            self.outstanding = Some(ShellRequest::sent(id.to_owned()));
            out.push(TalkAction::Send(KernelChannel::Shell, message));
        }
    }

    /// Takes back a request that waits to be sent; whether it did.
    fn take_back(&mut self, request: &str) -> bool {
        let before = self.held.len();
        self.held.retain(|held| held.header["msg_id"] != request);
        self.held.len() < before
    }

    fn is_python(&self) -> bool {
        self.facts.as_ref().is_some_and(|facts| facts.python)
    }

    fn interrupt_way(&self) -> InterruptWay {
        self.facts.as_ref().map_or(InterruptWay::Never, |facts| facts.quirks.interrupt)
    }
}
