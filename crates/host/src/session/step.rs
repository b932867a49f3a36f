//! The one function that changes a session's state, with its parts.

use std::collections::VecDeque;

use crate::session::state::{
    Action, EXIT_GRACE, Eval, EvalRole, GRACE, Input, LEAVE_GRACE, LONGEST_START, Listening, Phase,
    QUERY_LIMIT, QUEUE_LIMIT, Question, RollingBack, RunningEval, START_LIMIT, State, StopEffort,
    Ticket, TicketAnswer, Why,
};
use stead_interpreter::Millis;
use stead_protocol::bridge::DoneStatus;
use stead_protocol::client::InterruptEffect;
use stead_protocol::{Doing, EvalSeq, Outcome, Refusal, TimeoutStep};

impl State {
    pub(crate) fn new(now: Millis, idle_timeout: Millis, once: bool) -> State {
        let phase = Phase::Starting { give_up_at: now + START_LIMIT };
        State {
            phase,
            queue: VecDeque::new(),
            ready: vec![],
            idle_timeout,
            once,
            falls_back: false,
            leaves: false,
        }
    }

    /// The running eval, also while the interpreter is ending.
    pub(crate) fn running(&self) -> Option<&RunningEval> {
        match &self.phase {
            Phase::Running(run) | Phase::Ending { run: Some(run), .. } => Some(run),
            Phase::RollingBack(rolling) => Some(rolling.current()),
            Phase::Starting { .. }
            | Phase::Idle { .. }
            | Phase::Querying { .. }
            | Phase::Ending { run: None, .. }
            | Phase::Ended { .. } => None,
        }
    }

    fn running_mut(&mut self) -> Option<&mut RunningEval> {
        match &mut self.phase {
            Phase::Running(run) | Phase::Ending { run: Some(run), .. } => Some(run),
            Phase::RollingBack(rolling) => Some(rolling.current_mut()),
            Phase::Starting { .. }
            | Phase::Idle { .. }
            | Phase::Querying { .. }
            | Phase::Ending { run: None, .. }
            | Phase::Ended { .. } => None,
        }
    }

    /// The running eval, or else the first in the queue.
    pub(crate) fn first(&self) -> Option<EvalSeq> {
        let queued = || self.queue.front().map(|eval| eval.seq);
        self.running().map(|run| run.eval).or_else(queued)
    }

    /// Whether code that is accepted now runs at once.
    pub(crate) fn is_free(&self) -> bool {
        matches!(self.phase, Phase::Idle { .. }) && self.queue.is_empty()
    }

    /// Whether code may be accepted now, and behind which eval it would wait.
    pub(crate) fn admit(&self, no_queue: bool) -> Result<Option<EvalSeq>, Refusal> {
        let behind = self.queue.back().map(|eval| eval.seq).or(self.running().map(|run| run.eval));
        match &self.phase {
            Phase::Running(RunningEval {
                listening: Listening::Waits(Question { prompt, .. }),
                eval,
                ..
            }) => Err(Refusal::WaitsForInput { eval: *eval, prompt: prompt.clone() }),
            // If the interpreter could not be started, queued evals are told why when it is gone; so may this
            // one be.
            Phase::Ending { why: Why::NotReady | Why::TooSlow, .. } => self.admit_to_queue(behind),
            Phase::Ending { run, why, .. } if State::starts_again(run.as_ref(), why) => {
                self.admit_to_queue(behind)
            }
            // The session may go on in a moment; if not, this eval is told so as those in the queue are.
            Phase::Ending { why: Why::Own | Why::HardTimeout, .. } if self.falls_back => {
                self.admit_to_queue(behind)
            }
            Phase::Ending { .. } | Phase::Ended { .. } => Err(Refusal::Ending),
            Phase::Starting { .. }
            | Phase::Idle { .. }
            | Phase::Running(_)
            | Phase::RollingBack(_)
            | Phase::Querying { .. } => {
                if let (true, Some(first)) = (no_queue, self.first()) {
                    return Err(Refusal::Busy { eval: first });
                }
                self.admit_to_queue(behind)
            }
        }
    }

    fn admit_to_queue(&self, behind: Option<EvalSeq>) -> Result<Option<EvalSeq>, Refusal> {
        if self.queue.len() >= QUEUE_LIMIT {
            return Err(Refusal::QueueFull { evals: QUEUE_LIMIT });
        }
        Ok(behind)
    }

    /// The one place where the state changes.
    pub(crate) fn step(&mut self, input: Input, now: Millis) -> Vec<Action> {
        match input {
            Input::Hello { first } => self.hello(first, now),
            Input::Starting { within } => {
                if let Phase::Starting { give_up_at } = &mut self.phase {
                    *give_up_at = now + within.min(LONGEST_START);
                }
                vec![]
            }
            Input::LoadsStdlib => {
                if let Some(run) = self.running_mut() {
                    run.role = EvalRole::Stdlib;
                }
                vec![]
            }
            Input::Ready(ticket) => self.wait_until_ready(ticket),
            Input::Submit(eval) => {
                self.queue.push_back(eval);
                self.next()
            }
            Input::NotStarted => {
                self.take_back(now);
                // The init code waits for the disk. Clients that wait for its end are not made to wait for
                // that too.
                self.tell_ready()
            }
            Input::TryAgain => self.next(),
            Input::Done(status) => self.done(status, now),
            Input::Waiting(question) => {
                if let Some(run) = self.running_mut() {
                    run.listening = Listening::Waits(question);
                }
                if let Some(actions) = self.give_up_stdlib() {
                    return actions;
                }
                // Init code that waits for input will not finish by itself, so clients that wait for it are
                // answered.
                self.tell_ready()
            }
            Input::MayWait { alone } => {
                if let Some(run) = self.running_mut() {
                    run.listening = Listening::May { alone };
                }
                match alone.then(|| self.give_up_stdlib()) {
                    Some(Some(actions)) => actions,
                    Some(None) => self.tell_ready(),
                    None => vec![],
                }
            }
            Input::NotWaiting => {
                if let Some(run) = self.running_mut() {
                    run.listening = Listening::No;
                }
                vec![]
            }
            Input::Interrupt { eval, ticket } => self.interrupt(eval, ticket, now),
            Input::ChildrenKilled(count) => {
                if let Some(run) = self.running_mut() {
                    run.killed += count;
                }
                vec![]
            }
            Input::Overdue(step) => {
                self.overdue(step);
                vec![]
            }
            Input::RollBack { copy } => self.roll_back(copy, now),
            Input::CutShort { work, copy } => self.cut_short(work, copy, now),
            Input::NotRolledBack => self.not_rolled_back(),
            Input::Restored(reason) => self.restored(reason, now),
            Input::Query(ticket) => self.query(ticket, now),
            Input::QueryAnswered => {
                if let Phase::Querying { .. } = self.phase {
                    self.phase = Phase::Idle { since: now };
                }
                self.next()
            }
            Input::Gone(reason) => {
                if !matches!(self.phase, Phase::RollingBack(_)) {
                    // No code of the user's is at work any more that could need longer.
                    self.leave(Why::Gone(reason), Some(now + LEAVE_GRACE));
                }
                vec![]
            }
            Input::Leaving => {
                // An interpreter that gives place to a copy is meant to end.
                if !matches!(self.phase, Phase::RollingBack(_)) {
                    self.leave(Why::Own, None);
                }
                vec![]
            }
            Input::FallsBack => {
                self.leave(Why::Own, Some(now + START_LIMIT));
                // A hard timeout stays the reason of the end, and has no time of its own.
                if let Phase::Ending { kill_at, .. } = &mut self.phase {
                    *kill_at = Some(now + START_LIMIT);
                }
                vec![]
            }
            Input::Closed => {
                if !matches!(self.phase, Phase::Ending { .. } | Phase::RollingBack(_)) {
                    self.leave(Why::Own, Some(now + GRACE));
                }
                vec![]
            }
            Input::Broken(message) => {
                let starts = matches!(self.phase, Phase::Starting { .. });
                let why = if starts { Why::NotReady } else { Why::Protocol(message) };
                self.leave(why, None);
                vec![Action::Kill]
            }
            Input::Exited(reason) => self.exited(reason, now),
            Input::Stop(ticket) => self.end_on_request(Why::Stop(vec![ticket]), ticket, now),
            Input::Restart(ticket) => self.end_on_request(Why::Restart(vec![ticket]), ticket, now),
            Input::Kill(ticket) => self.kill_on_request(ticket),
            Input::Paused => self.paused(),
            Input::Tick { attached } => self.tick(attached, now),
        }
    }

    fn hello(&mut self, first: Vec<Eval>, now: Millis) -> Vec<Action> {
        if let Phase::Starting { .. } = self.phase {
            self.phase = Phase::Idle { since: now };
        }
        // If code has to run at the start, the session is ready when that code is over.
        let mut actions = if first.is_empty() { self.tell_ready() } else { vec![] };
        first.into_iter().rev().for_each(|eval| self.queue.push_front(eval));
        actions.extend(self.next());
        actions
    }

    /// Stops the user's standard library if that is what waits for input: nobody knows of the question.
    fn give_up_stdlib(&mut self) -> Option<Vec<Action>> {
        let run = self.running_mut().filter(|run| run.role == EvalRole::Stdlib)?;
        match std::mem::replace(&mut run.asked, StopEffort::KillChildren) {
            StopEffort::Nothing => {
                run.asked = StopEffort::Interrupt;
                Some(vec![Action::Interrupt])
            }
            StopEffort::Interrupt => Some(vec![Action::Interrupt, Action::KillChildren]),
            StopEffort::KillChildren => Some(vec![]),
        }
    }

    fn wait_until_ready(&mut self, ticket: Ticket) -> Vec<Action> {
        self.ready.push(ticket);
        match self.phase {
            Phase::Idle { .. } | Phase::Querying { .. } => self.tell_ready(),
            // The running eval may be the init code, which answers at its end. If the interpreter ends,
            // `exited` answers.
            Phase::Starting { .. }
            | Phase::Running(_)
            | Phase::RollingBack(_)
            | Phase::Ending { .. } => vec![],
            Phase::Ended { .. } => self.tell_ready(),
        }
    }

    pub(super) fn tell_ready(&mut self) -> Vec<Action> {
        let done = |ticket| Action::Answer { ticket, answer: TicketAnswer::Done };
        self.ready.drain(..).map(done).collect()
    }

    /// Runs the next eval if the session is idle.
    pub(super) fn next(&mut self) -> Vec<Action> {
        if !matches!(self.phase, Phase::Idle { .. }) {
            return vec![];
        }
        let Some(eval) = self.queue.pop_front() else { return vec![] };
        self.phase = Phase::Running(RunningEval::new(&eval));
        vec![Action::Run(eval.seq)]
    }

    /// An eval whose start could not be recorded goes back to the front of the queue.
    fn take_back(&mut self, now: Millis) {
        match std::mem::replace(&mut self.phase, Phase::Idle { since: now }) {
            Phase::Running(run) => {
                let (seq, hard_timeout, role) = (run.eval, run.limit, run.role);
                self.queue.push_front(Eval { seq, hard_timeout, role });
            }
            other => self.phase = other,
        }
    }

    fn done(&mut self, status: DoneStatus, now: Millis) -> Vec<Action> {
        let run = match std::mem::replace(&mut self.phase, Phase::Idle { since: now }) {
            Phase::Running(run) => run,
            // While the interpreter is ending, its eval may still finish first.
            Phase::Ending { run: Some(run), why, kill_at } => {
                self.phase = Phase::Ending { run: None, why, kill_at };
                run
            }
            // The eval ended by itself just before the rollback cut it short.
            Phase::RollingBack(RollingBack { work, cut: Some(run), jumped, give_up_at }) => {
                let rolling = RollingBack { work, cut: None, jumped, give_up_at };
                self.phase = Phase::RollingBack(rolling);
                run
            }
            other => {
                self.phase = other;
                return vec![];
            }
        };
        // Code that fails after its children were killed fails because of that.
        let status = match status {
            DoneStatus::Error if run.killed > 0 => DoneStatus::Interrupted,
            other => other,
        };
        let outcome = match (status, run.overdue) {
            (DoneStatus::Ok, _) => Outcome::Complete,
            // An unknown status is not known to be a success, so it counts as an error.
            (DoneStatus::Error | DoneStatus::Unknown, _) => Outcome::Error,
            (DoneStatus::Interrupted, Some(_)) => {
                // If there were no children to kill, the interrupt is what stopped it.
                let step = match run.killed {
                    0 => TimeoutStep::Interrupted,
                    _ => TimeoutStep::ChildrenKilled,
                };
                Outcome::Timeout { step }
            }
            (DoneStatus::Interrupted, None) => Outcome::Interrupted,
        };
        let effect = match outcome {
            Outcome::Complete | Outcome::Error => InterruptEffect::Finished,
            _ => InterruptEffect::Interrupted,
        };
        let mut actions = vec![Action::Finish { eval: run.eval, outcome, killed: run.killed }];
        actions.extend(answers(&run, effect));
        // The init code comes behind the standard libraries.
        if self.queue.front().is_none_or(|eval| eval.role == EvalRole::Asked) {
            actions.extend(self.tell_ready());
        }
        // A session for one eval ends after its client's eval, not after the code of the start.
        let asked = run.role == EvalRole::Asked;
        if self.once && asked && matches!(self.phase, Phase::Idle { .. }) {
            self.leave(Why::Stop(vec![]), Some(now + EXIT_GRACE));
            actions.push(Action::AskExit);
        }
        actions.extend(self.next());
        actions
    }

    /// The lower half has taken a step of the hard timeout. Exit handlers, and threads that delay the exit,
    /// are part of the eval, so the timeout also counts while the interpreter is ending.
    fn overdue(&mut self, step: TimeoutStep) {
        if let Some(run) = self.running_mut() {
            run.overdue = Some(step);
        }
        // An interpreter that gives place to a copy is meant to end.
        let rolls_back = matches!(self.phase, Phase::RollingBack(_));
        if step == TimeoutStep::InterpreterKilled && !rolls_back {
            self.leave(Why::HardTimeout, None);
        }
    }

    /// The eval that an interrupt without an id stops: the running one, or the first in the queue of an interpreter that is
    /// starting.
    pub(crate) fn interruptible(&self) -> Option<EvalSeq> {
        match self.phase {
            Phase::Starting { .. } => self.first(),
            _ => self.running().map(|run| run.eval),
        }
    }

    fn interrupt(&mut self, eval: Option<EvalSeq>, ticket: Ticket, now: Millis) -> Vec<Action> {
        if let Phase::Running(run) | Phase::Ending { run: Some(run), .. } = &mut self.phase
            && eval.is_none_or(|eval| eval == run.eval)
        {
            run.interrupts.push((ticket, now + GRACE));
            return match run.asked {
                StopEffort::Nothing => {
                    run.asked = StopEffort::Interrupt;
                    vec![Action::Interrupt]
                }
                StopEffort::Interrupt | StopEffort::KillChildren => {
                    run.asked = StopEffort::KillChildren;
                    vec![Action::Interrupt, Action::KillChildren]
                }
            };
        }
        // A rollback cannot be stopped; it takes milliseconds.
        if let Phase::RollingBack(rolling) = &mut self.phase
            && let Some(run) = rolling.named(eval)
        {
            run.interrupts.push((ticket, now + GRACE));
            return vec![];
        }
        let meant = eval.or_else(|| self.interruptible());
        if let Some(at) = self.queue.iter().position(|queued| Some(queued.seq) == meant) {
            let eval = self.queue.remove(at).map(|queued| queued.seq);
            let answer =
                TicketAnswer::Interrupt { effect: InterruptEffect::Dequeued, eval, killed: None };
            let outcome = Outcome::Interrupted;
            let finish = eval.map(|eval| Action::Finish { eval, outcome, killed: 0 });
            return finish.into_iter().chain([Action::Answer { ticket, answer }]).collect();
        }
        let effect = InterruptEffect::NothingRunning;
        let answer = TicketAnswer::Interrupt { effect, eval, killed: None };
        let mut actions = vec![Action::Answer { ticket, answer }];
        if let Phase::Querying { .. } = self.phase {
            actions.insert(0, Action::Interrupt);
        }
        actions
    }

    fn query(&mut self, ticket: Ticket, now: Millis) -> Vec<Action> {
        let busy = |doing| {
            let answer = TicketAnswer::Refused(Refusal::NamesBusy { doing });
            vec![Action::Answer { ticket, answer }]
        };
        match &self.phase {
            Phase::Idle { .. } => {
                self.phase = Phase::Querying { ticket: Some(ticket), deadline: now + QUERY_LIMIT };
                vec![]
            }
            Phase::Starting { .. } => busy(Doing::Starting),
            Phase::Running(run) => busy(Doing::Running { eval: run.eval }),
            Phase::RollingBack(rolling) => busy(Doing::Running { eval: rolling.work.eval }),
            Phase::Querying { .. } => busy(Doing::Answering),
            Phase::Ending { .. } | Phase::Ended { .. } => busy(Doing::Ending),
        }
    }
}

/// Answers to all waiting interrupt requests, with what the interrupt did.
pub(super) fn answers(
    run: &RunningEval,
    effect: InterruptEffect,
) -> impl Iterator<Item = Action> + '_ {
    run.interrupts.iter().map(move |(ticket, _)| Action::Answer {
        ticket: *ticket,
        answer: TicketAnswer::Interrupt {
            effect,
            eval: Some(run.eval),
            killed: run.killed_on_request(),
        },
    })
}
