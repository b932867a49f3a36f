//! Carries out what the state asks for.

use std::time::{Duration, Instant};

use stead_interpreter::{Order, pause};
use stead_protocol::client::{Event, FromHost, Listens, Reply};
use stead_protocol::{
    By, EndReason, EvalSeq, Finished, Outcome, Refusal, TimeoutStep, Work, WorkKind,
};
use stead_spool::SpoolError;

use crate::host::{Host, Launch};
use crate::life::wall_clock::wall_ms;
use crate::record::ledger::{EvalClosing, Taken};
use crate::session::copies::EndedEval;
use crate::session::state::{Action, Eval, EvalRole, Input, Ticket, TicketAnswer};
use crate::session::work::Pending;
use crate::with_causes;

/// After this time the start of an eval that could not be recorded is tried again.
const BLOCKED_TIME: Duration = Duration::from_millis(100);
/// The name of the error of work that the interpreter turns out to be unable to do.
const UNSUPPORTED: &str = "Unsupported";

impl Host {
    /// Moves the state on and carries out what follows.
    pub(crate) fn step(&mut self, input: Input) {
        let actions = self.state.step(input, self.clock.now());
        for action in actions {
            self.act(action);
        }
    }

    pub(crate) fn act(&mut self, action: Action) {
        match action {
            Action::Run(eval) => self.begin(eval),
            Action::Interrupt => {
                pause::point("interrupting");
                self.orders.push_back(Order::Interrupt);
            }
            Action::KillChildren => self.orders.push_back(Order::KillChildren),
            Action::RollBack(copy) => {
                pause::point("rolling back");
                self.order_rollback(copy);
            }
            Action::RolledBack(work) => self.record_rollback(work),
            Action::GoOn => self.go_on(),
            Action::Resume => self.orders.push_back(Order::Resume),
            Action::AskExit => {
                pause::point("stopping");
                self.orders.push_back(Order::Exit);
            }
            Action::Kill => self.orders.push_back(Order::Kill),
            Action::Finish { eval, outcome, killed } => {
                let outcome = self.with_asker(outcome);
                self.finish(eval, outcome, killed);
            }
            Action::Answer { ticket, answer } => self.answer(ticket, answer),
            Action::End { reason, asked } => {
                let reason = self.ending.askers.name(reason);
                self.end(reason, asked);
            }
            Action::Start => {
                pause::point("restarting");
                self.start_interpreter();
            }
            Action::Leave => self.leave_when_saved(),
        }
    }

    /// The outcome of an eval that a session's end cut off says who asked for that end (SPEC E-6).
    fn with_asker(&self, outcome: Outcome) -> Outcome {
        let asked = |reason: EndReason| match reason {
            EndReason::RolledBack { .. } => reason.asked_by(self.rolled_back_by()),
            _ => self.ending.askers.name(reason),
        };
        match outcome {
            Outcome::Ended { reason } => Outcome::Ended { reason: asked(reason) },
            Outcome::NotRun { reason } => Outcome::NotRun { reason: asked(reason) },
            Outcome::Timeout { step: TimeoutStep::InterpreterKilled } if self.is_left_alone() => {
                Outcome::Timeout { step: TimeoutStep::Disconnected }
            }
            other => other,
        }
    }

    pub(crate) fn begin(&mut self, eval: EvalSeq) {
        let start = match self.ledger.start(eval, self.clock.now()) {
            Ok(start) => start,
            Err(_) => {
                self.blocked = Some(Instant::now() + BLOCKED_TIME);
                return self.step(Input::NotStarted);
            }
        };
        pause::point("started");
        self.log_begin(eval);
        self.facts.last_used_ms = wall_ms();
        self.closing = EvalClosing::default();
        let (by, sent) = (self.sent_by(eval), self.send_work(eval));
        self.tell(eval, || Event::Started { eval, start, listens: Listens::No, by: by.clone() });
        if let Err(refusal) = sent {
            let kind = self.pending.get(&eval).map(|pending| pending.kind).unwrap_or_default();
            let name = match refusal {
                Refusal::NotPossible { .. } => UNSUPPORTED,
                _ => kind.error_name(),
            };
            self.fail_work(name, refusal.message(Some(&self.meta.name)));
        }
    }

    /// Tells watchers that an eval has begun for which nothing has to be sent to the bridge.
    pub(crate) fn introduce_start(&mut self, eval: EvalSeq) {
        let (by, start) = (self.sent_by(eval), self.ledger.current_start());
        let Some(start) = start else { return };
        self.tell(eval, || Event::Started { eval, start, listens: Listens::No, by: by.clone() });
    }

    pub(crate) fn finish(&mut self, eval: EvalSeq, outcome: Outcome, killed: u64) {
        let mut closing = EvalClosing::default();
        let has_begun = self.ledger.is_current(eval);
        if has_begun {
            closing = std::mem::take(&mut self.closing);
            let killed = match killed {
                0 => None,
                1 => Some("a process it had started did not stop and was killed".to_owned()),
                more => {
                    Some(format!("{more} processes it had started did not stop and were killed"))
                }
            };
            // Notices about a start go with an eval that a client sent: nobody reads the outcome of start code.
            let told = self.pending.get(&eval).is_some_and(|pending| !pending.is_of_start());
            let fresh = self.news.fresh.take_if(|_| told);
            let library = self.library.notice.take_if(|_| told);
            let init = self.news.init.take_if(|_| told);
            for notice in killed.into_iter().chain(init).chain(library).chain(fresh) {
                closing.notice = Some(match closing.notice {
                    Some(other) => format!("{notice}; {other}"),
                    None => notice,
                });
            }
        }
        let pending = self.pending.remove(&eval).unwrap_or_default();
        // An eval that an interrupt took out of the queue has done nothing that could be undone.
        let ended = EndedEval { seq: eval, kind: pending.kind, of_start: pending.is_of_start() };
        if has_begun && !pending.nothing_ran && self.copies.note(ended, &outcome) {
            self.state_changed();
        }
        pending.notice.into_iter().for_each(|notice| closing.note(notice));
        if let Outcome::NotRun { reason } = &outcome {
            self.tell_set_back(reason, &mut closing);
        }
        if outcome == Outcome::Interrupted {
            closing.interrupted_by = pending.interrupted_by;
            if !has_begun {
                closing.note("it was taken out of the queue and did not run".to_owned());
            }
        }
        if has_begun && pending.kind.is_code() && pending.by == By::init() {
            self.note_init_end(eval, &outcome);
        }
        if let Some(notice) = self.stdlib_ended(eval, &outcome) {
            closing.note(notice);
        }
        let owed = pending.owed.map(|ticket| (ticket, outcome.clone()));
        let finished = self.ledger.finish(eval, outcome, closing, self.clock.now());
        pause::point("finished");
        self.facts.last_used_ms = wall_ms();
        match finished {
            Some(finished) => {
                self.log_finish(eval, &finished);
                self.tell_outcome(eval, &finished);
            }
            None => {
                if let Some(event) = self.ledger.unsaved().event(eval) {
                    self.tell(eval, || event.clone());
                }
            }
        }
        if let Some((ticket, outcome)) = owed {
            self.answer_clear(ticket, &outcome);
        }
    }

    /// Tells all who watch an eval its outcome, which is recorded.
    pub(crate) fn tell_outcome(&mut self, eval: EvalSeq, finished: &Finished) {
        let told = self.tell(eval, || Event::Finished { eval, finished: finished.clone() });
        self.ending.reported |= told && finished.outcome.tells_end();
        for connection in self.clients.connections.values_mut() {
            connection.watches.retain(|watch| watch.eval != eval);
        }
    }

    pub(crate) fn answer(&mut self, ticket: Ticket, answer: TicketAnswer) {
        let message = match answer {
            TicketAnswer::Done => FromHost::Reply { id: ticket.id, reply: Reply::DONE },
            TicketAnswer::Interrupt { effect, eval, killed } => {
                FromHost::Reply { id: ticket.id, reply: Reply::Interrupt { effect, eval, killed } }
            }
            TicketAnswer::Refused(refusal) => {
                self.forget_asker(ticket);
                return self.refuse(ticket, refusal);
            }
        };
        self.send(ticket.connection, &message);
    }

    /// The bridge can take code: the user's standard library and the init code go first. If the latter cannot be recorded, nothing else may run.
    pub(crate) fn get_ready(&mut self) {
        let first = self.accept_stdlib().and_then(|stdlib| Ok((stdlib, self.accept_init()?)));
        match first {
            Ok((stdlib, init)) => {
                let first: Vec<_> = stdlib.into_iter().chain(init).collect();
                let goes_first = !first.is_empty();
                self.step(Input::Hello { first });
                if goes_first {
                    self.tell_queued();
                }
            }
            Err(error) => {
                let why = with_causes(&error);
                let why = format!("its init code could not be recorded: {why}");
                self.launch = Launch::Useless { why, trouble: None };
                self.act(Action::Kill);
            }
        }
    }

    /// Takes note of an error, if it is one of the init code.
    pub(crate) fn note_init_error(&mut self, name: &str, message: &str) {
        if self.state.running().is_some_and(|run| run.role == EvalRole::Init) {
            let colon = if message.is_empty() { "" } else { ": " };
            let message = message.lines().next().unwrap_or_default();
            self.news.init_error =
                Some(format!("{name}{colon}{message}").chars().take(300).collect());
        }
    }

    /// The session lives also where its init code failed, and the first reply says that it did (SPEC CF-2).
    fn note_init_end(&mut self, eval: EvalSeq, outcome: &Outcome) {
        let error = self.news.init_error.take();
        let mut clients = self.clients.connections.iter();
        if clients.any(|(id, one)| self.news.awaited == Some(*id) || one.watches_eval(eval)) {
            return;
        }
        let how = match outcome {
            Outcome::Complete => return,
            Outcome::Error => error.unwrap_or_else(|| "it ended with an error".to_owned()),
            Outcome::Interrupted => "it was interrupted".to_owned(),
            // The end of the session is told by itself.
            _ => return,
        };
        let notice = format!("the init code failed: {how} ({})", self.eval_id(eval));
        self.news.init = Some(notice);
    }

    /// Records the code that runs at every start.
    fn accept_init(&mut self) -> Result<Option<Eval>, SpoolError> {
        let Some(init) = self.meta.settings.startup.init.clone() else { return Ok(None) };
        let (kind, by) = (WorkKind::Code, By::init());
        let taken = Taken { kind, code: &init, by: &by, key: None, token: None };
        let seq = self.ledger.accept(taken, None)?;
        let work = Some(Work::Code { code: init });
        self.pending.insert(seq, Pending { kind, by, work, ..Pending::default() });
        self.introduce(seq);
        Ok(Some(Eval { seq, hard_timeout: None, role: EvalRole::Init }))
    }
}
