//! What a session is doing and what can happen to it. No IO here: tests walk it as a table.

use std::collections::VecDeque;

use stead_interpreter::Millis;
use stead_protocol::bridge::DoneStatus;
use stead_protocol::client::{Event, InterruptEffect};
use stead_protocol::{EndReason, EvalSeq, Offset, Outcome, Refusal, TimeoutStep};

/// How long an interrupt waits for its effect before it is answered, and how long an interpreter may live
/// without its channel.
pub(crate) const GRACE: Millis = 2_000;
/// How long an interpreter may take to exit by itself when it is asked to.
pub(crate) const EXIT_GRACE: Millis = 500;
/// How long a bridge may take to exit if its code runs elsewhere, or if it has said that what runs the code is gone.
pub(crate) const LEAVE_GRACE: Millis = 3000;
/// How long an interpreter may take until its bridge says hello.
pub(crate) const START_LIMIT: Millis = 60_000;
/// How long a bridge that says that it takes long may take; clients wait a little longer.
pub(crate) const LONGEST_START: Millis = 300_000;
/// How long a question about the namespace may take.
pub(crate) const QUERY_LIMIT: Millis = 10_000;
/// How many evals may wait.
pub(crate) const QUEUE_LIMIT: usize = 64;

/// Which request of which connection waits for an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Ticket {
    pub(crate) connection: u64,
    pub(crate) id: u64,
}

/// An eval that is queued or runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Eval {
    pub(crate) seq: EvalSeq,
    pub(crate) hard_timeout: Option<Millis>,
    pub(crate) role: EvalRole,
}

impl Eval {
    /// One that a client asked for.
    pub(crate) fn asked(seq: EvalSeq, hard_timeout: Option<Millis>) -> Eval {
        Eval { seq, hard_timeout, role: EvalRole::Asked }
    }
}

/// What an eval is to the session.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum EvalRole {
    /// A client asked for it.
    #[default]
    Asked,
    /// The user's standard library. It never keeps a session from starting: it gets no input, and if the interpreter ends
    /// with it, another interpreter is started (SPEC ST-4).
    Stdlib,
    /// The code of every start.
    Init,
}

/// Where a session stands; each state holds only what is true in that state.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// The interpreter has not said hello.
    Starting { give_up_at: Millis },
    /// Ready for code.
    Idle { since: Millis },
    /// One eval runs.
    Running(RunningEval),
    /// The interpreter gives place to a copy of an earlier state.
    RollingBack(RollingBack),
    /// The bridge answers a question.
    Querying { ticket: Option<Ticket>, deadline: Millis },
    /// The interpreter is ending, and its exit is awaited.
    Ending { run: Option<RunningEval>, why: Why, kill_at: Option<Millis> },
    /// The interpreter is gone and the host is about to exit.
    Ended { reason: EndReason },
}

/// A rollback that was ordered.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct RollingBack {
    /// The work that asked for it.
    pub(crate) work: RunningEval,
    /// The running eval that the rollback ends, if there was one.
    pub(crate) cut: Option<RunningEval>,
    /// Whether the work went ahead of queued evals, which then do not run.
    pub(crate) jumped: bool,
    /// When the session stops waiting for the copy to take over.
    pub(crate) give_up_at: Millis,
}

impl RollingBack {
    /// The eval that output belongs to until the copy has taken the interpreter's place.
    pub(crate) fn current(&self) -> &RunningEval {
        self.cut.as_ref().unwrap_or(&self.work)
    }

    pub(crate) fn current_mut(&mut self) -> &mut RunningEval {
        self.cut.as_mut().unwrap_or(&mut self.work)
    }

    /// The eval that is cut short or the rollback itself, whichever an interrupt is aimed at.
    pub(crate) fn named(&mut self, eval: Option<EvalSeq>) -> Option<&mut RunningEval> {
        let all = self.cut.iter_mut().chain([&mut self.work]);
        all.into_iter().find(|run| eval.is_none_or(|eval| eval == run.eval))
    }
}

/// The running eval.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct RunningEval {
    pub(crate) eval: EvalSeq,
    /// Its hard timeout, which the lower half keeps (SPEC E-3).
    pub(crate) limit: Option<Millis>,
    /// The last step of the hard timeout that was taken.
    pub(crate) overdue: Option<TimeoutStep>,
    pub(crate) listening: Listening,
    /// Interrupt requests that wait for their effect, each with the time at which it is answered anyway.
    pub(crate) interrupts: Vec<(Ticket, Millis)>,
    /// How far clients have gone to stop it.
    pub(crate) asked: StopEffort,
    /// How many of its children were killed.
    pub(crate) killed: u64,
    pub(crate) role: EvalRole,
}

/// How far clients have gone to stop an eval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StopEffort {
    Nothing,
    /// They interrupted it.
    Interrupt,
    /// They interrupted it again, so the processes it started are killed.
    KillChildren,
}

/// What an eval that waits for input asks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Question {
    /// The prompt; empty if there is none.
    pub(crate) prompt: String,
    /// The file that an editor wants to be answered about.
    pub(crate) editor: Option<String>,
    /// Whether the answer is a secret.
    pub(crate) secret: bool,
}

impl Question {
    /// What clients are told.
    pub(crate) fn into_event(self, eval: EvalSeq, end: Offset) -> Event {
        let Question { prompt, editor, secret } = self;
        Event::Waiting { eval, prompt, end, editor, secret }
    }
}

/// Whether the running eval waits for input (SPEC E-8).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Listening {
    /// As far as is known it does not.
    No,
    /// The eval may wait: it reads the session's input, and may also go on without any. `alone` if nothing but input or a time
    /// limit of its own wakes it.
    May { alone: bool },
    /// The eval waits: only input lets it go on.
    Waits(Question),
}

impl Listening {
    /// Whether it may wait, and nothing but input or a time limit of its own wakes it.
    pub(crate) fn is_alone(&self) -> bool {
        *self == Listening::May { alone: true }
    }
}

impl RunningEval {
    pub(crate) fn new(eval: &Eval) -> RunningEval {
        RunningEval {
            eval: eval.seq,
            limit: eval.hard_timeout,
            overdue: None,
            listening: Listening::No,
            interrupts: vec![],
            asked: StopEffort::Nothing,
            killed: 0,
            role: eval.role,
        }
    }

    /// When something about this eval is due.
    pub(crate) fn next(&self) -> Option<Millis> {
        self.interrupts.iter().map(|(_, at)| *at).min()
    }

    /// How many of its children were killed, once clients have asked for that.
    pub(crate) fn killed_on_request(&self) -> Option<u64> {
        (self.asked == StopEffort::KillChildren || self.killed > 0).then_some(self.killed)
    }
}

/// Why the interpreter is ending.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Why {
    /// The interpreter's own doing: an exit, a crash, an exec.
    Own,
    Protocol(String),
    /// What ran the code elsewhere is gone.
    Gone(String),
    /// The interpreter ended before its hello.
    NotReady,
    /// The interpreter was not ready in time, and was ended.
    TooSlow,
    Stop(Vec<Ticket>),
    Restart(Vec<Ticket>),
    /// A client wants it killed at once.
    Killed(Vec<Ticket>),
    HardTimeout,
    Idle {
        after: Millis,
    },
}

/// Everything that can happen to a session.
#[derive(Debug)]
pub(crate) enum Input {
    /// The bridge is ready; what every start begins with goes before all queued evals.
    Hello {
        first: Vec<Eval>,
    },
    /// The bridge says that what ran the code elsewhere is gone; it exits by itself.
    Gone(String),
    /// The bridge says how long its interpreter may still take to start.
    Starting {
        within: Millis,
    },
    /// The running eval goes on with the user's standard library.
    LoadsStdlib,
    /// A client asks to be told when the interpreter is ready.
    Ready(Ticket),
    /// An eval was admitted and recorded.
    Submit(Eval),
    /// The start of the eval that was to run could not be recorded, so its code was not sent.
    NotStarted,
    /// It is time to try again to record the start of that eval.
    TryAgain,
    /// The bridge says the running eval is over; its output is in the spool.
    Done(DoneStatus),
    /// The running eval waits for input, in an editor perhaps.
    Waiting(Question),
    /// The running eval has passed its hard timeout, and this step was taken.
    Overdue(TimeoutStep),
    /// The running eval reads its input and may be waiting; `alone` if no other process of it works.
    MayWait {
        alone: bool,
    },
    /// The running eval neither waits for input nor reads it any longer.
    NotWaiting,
    Interrupt {
        eval: Option<EvalSeq>,
        ticket: Ticket,
    },
    /// So many children of the running eval were killed.
    ChildrenKilled(u64),
    /// The running work is a rollback to this copy.
    RollBack {
        copy: u32,
    },
    /// A rollback to this copy was admitted and recorded while an eval runs: it does not wait for the eval's end.
    CutShort {
        work: Eval,
        copy: u32,
    },
    /// There is no such copy any more, and nothing was done.
    NotRolledBack,
    /// A copy has taken the place of the interpreter, which ended for this reason.
    Restored(EndReason),
    Query(Ticket),
    QueryAnswered,
    /// The bridge said it exits, or another program took its place.
    Leaving,
    /// The interpreter has ended, and another one is started that loads its state from a text.
    FallsBack,
    /// The bridge's channel closed: its process must end too.
    Closed,
    /// The bridge broke its protocol.
    Broken(String),
    /// The interpreter has exited and all processes below it are gone.
    Exited(EndReason),
    Stop(Ticket),
    Restart(Ticket),
    Kill(Ticket),
    /// All processes of the session stand still, and its clock with them.
    Paused,
    /// Time has passed; `attached` says whether any client is connected.
    Tick {
        attached: bool,
    },
}

/// What is to be done about an input, in order.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Action {
    /// Record that the eval starts, then send it to the bridge.
    Run(EvalSeq),
    /// Interrupt the interpreter and the processes that the eval started.
    Interrupt,
    /// Kill the processes that the eval started.
    KillChildren,
    /// Have a copy take the place of the interpreter.
    RollBack(u32),
    /// Record that the eval has been a rollback, and what came of it.
    RolledBack(EvalSeq),
    /// Record that a copy goes on by itself as the next interpreter.
    GoOn,
    /// Let a paused session go on.
    Resume,
    /// Ask the bridge to end the interpreter.
    AskExit,
    /// Kill the interpreter and all processes below it.
    Kill,
    /// Record the outcome, then tell the clients.
    Finish {
        eval: EvalSeq,
        outcome: Outcome,
        /// How many of its children were killed.
        killed: u64,
    },
    Answer {
        ticket: Ticket,
        answer: TicketAnswer,
    },
    /// Record that the interpreter has ended; `asked` if a client asked for it.
    End {
        reason: EndReason,
        asked: bool,
    },
    /// Start the next interpreter.
    Start,
    /// The host has nothing left to do and exits.
    Leave,
}

/// What a waiting request is told.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum TicketAnswer {
    Done,
    Interrupt { effect: InterruptEffect, eval: Option<EvalSeq>, killed: Option<u64> },
    Refused(Refusal),
}

/// A session.
#[derive(Debug)]
pub(crate) struct State {
    pub(crate) phase: Phase,
    pub(crate) queue: VecDeque<Eval>,
    /// Requests that wait for the interpreter to be ready.
    pub(crate) ready: Vec<Ticket>,
    pub(crate) idle_timeout: Millis,
    /// Whether the session ends with its first eval.
    pub(crate) once: bool,
    /// Whether a copy takes the place of an interpreter that a signal ends (SPEC ST-5).
    pub(crate) falls_back: bool,
    /// Whether the bridge is asked to exit even while code runs, because the engine is not the session's own.
    pub(crate) leaves: bool,
}
