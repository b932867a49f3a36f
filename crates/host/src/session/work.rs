//! Queued and running work: what the state does not hold of it.

use stead_interpreter::Order;
use stead_protocol::bridge::DoneStatus;
use stead_protocol::{
    By, ChunkKind, ErrorInfo, EvalSeq, Refusal, ReportInfo, ShellPlace, Work, WorkKind,
};

use crate::host::Host;
use crate::requests::Asker;
use crate::session::state::{EvalRole, Input, StopEffort, Ticket};

/// What is known of an eval from its acceptance to its end.
#[derive(Debug, Default)]
pub(crate) struct Pending {
    pub(crate) kind: WorkKind,
    pub(crate) by: By,
    /// What is to be done, until it is sent.
    pub(crate) work: Option<Work>,
    /// Where the work runs, if it is a command with a place of its own.
    pub(crate) place: Option<ShellPlace>,
    /// A request that is answered when the eval ends.
    pub(crate) owed: Option<Ticket>,
    /// The client that first asked to stop the eval.
    pub(crate) interrupted_by: Option<By>,
    /// None of its code has run, as its bridge says.
    pub(crate) nothing_ran: bool,
    /// Something for the reader of its outcome.
    pub(crate) notice: Option<String>,
}

impl Pending {
    /// Whether it belongs to every start of the session, and no client has asked for it.
    pub(crate) fn is_of_start(&self) -> bool {
        self.kind == WorkKind::Stdlib || self.by == By::init()
    }
}

impl Host {
    /// The sender of a queued or running eval.
    pub(crate) fn sent_by(&self, eval: EvalSeq) -> Option<By> {
        self.pending.get(&eval).map(|pending| pending.by.clone())
    }

    /// Why the interpreter cannot do work of this kind, as far as is known: one that starts has not said yet what
    /// it can do.
    pub(crate) fn cannot_work(&self, kind: WorkKind) -> Option<Refusal> {
        let possible = match kind {
            WorkKind::Code => true,
            WorkKind::Unknown => false,
            WorkKind::Clear | WorkKind::Save | WorkKind::Load | WorkKind::Stdlib => {
                kind.needs().is_none_or(|needed| !self.cannot_do(&needed))
            }
            WorkKind::Checkpoint | WorkKind::Rollback | WorkKind::Undo => {
                !self.cannot_copy_at_all()
            }
        };
        (!possible).then(|| self.cannot(kind.as_str()))
    }

    /// Orders the work that begins now, or says why that is not possible.
    pub(crate) fn send_work(&mut self, eval: EvalSeq) -> Result<(), Refusal> {
        let Some(pending) = self.pending.get_mut(&eval) else { return Ok(()) };
        let (work, place) = (pending.work.take(), pending.place.take());
        let kind = pending.kind;
        // The work may have been accepted before the interpreter had said what it can do.
        let copies = |work: &Work| self.cannot_copy(work);
        if let Some(refusal) = self.cannot_work(kind).or_else(|| work.as_ref().and_then(copies)) {
            return Err(refusal);
        }
        match &work {
            Some(work @ (Work::Rollback { .. } | Work::Undo { .. })) => {
                return self.begin_going_back(eval, work);
            }
            Some(Work::Checkpoint { label }) => {
                let (what, argument) = self.begin_checkpoint(eval, label.as_deref());
                let (eval, what) = (self.eval_id(eval), what.as_str().to_owned());
                let limit_ms = self.state.running().and_then(|run| run.limit);
                self.orders.push_back(Order::Work { eval, what, argument, limit_ms });
                return Ok(());
            }
            _ => {}
        }
        let limit_ms = self.state.running().and_then(|run| run.limit);
        let order = match work {
            Some(Work::Code { code }) => {
                let asked = self.state.running().is_some_and(|run| run.role == EvalRole::Asked);
                let last = self.meta.settings.policy.once && asked;
                Order::Run { eval: self.eval_id(eval), code, place, last, limit_ms }
            }
            Some(Work::Clear) => Order::Clear { seq: self.number(Asker::Clear), limit_ms },
            other => match other.as_ref().and_then(Work::argument) {
                Some(argument) => {
                    let (eval, what) = (self.eval_id(eval), kind.as_str().to_owned());
                    Order::Work { eval, what, argument, limit_ms }
                }
                None => return Err(self.cannot(kind.as_str())),
            },
        };
        self.orders.push_back(order);
        Ok(())
    }

    /// Records what came of the work that runs.
    pub(crate) fn report(&mut self, mut data: serde_json::Value) {
        if self.text_report(&data) {
            return;
        }
        let running = self.state.running().and_then(|run| self.pending.get(&run.eval));
        let Some(work) = running.map(|pending| pending.kind).filter(|kind| !kind.is_code()) else {
            return stead_interpreter::log_warn!(
                "bridge: a report while no work runs that has one"
            );
        };
        if work == WorkKind::Checkpoint {
            self.name_checkpoint(&mut data);
        }
        self.library.hear_report(&data);
        self.keep(ChunkKind::Report, &ReportInfo { work, data });
    }

    /// The bridge has emptied the namespace, and says what goes on all the same; or it says why not.
    pub(crate) fn cleared(&mut self, data: Option<serde_json::Value>, error: Option<String>) {
        let Some(run) = self.state.running() else { return };
        let stopped = run.asked != StopEffort::Nothing || run.overdue.is_some();
        match error {
            None => {
                let notice = data.as_ref().and_then(|data| data["notice"].as_str());
                notice.into_iter().for_each(|notice| self.closing.note(notice.to_owned()));
                self.facts.variables = Some(0);
                if !self.load_stdlib_again() {
                    self.step(Input::Done(DoneStatus::Ok));
                }
            }
            Some(_) if stopped => self.step(Input::Done(DoneStatus::Interrupted)),
            Some(message) => self.fail_work(WorkKind::Clear.error_name(), message),
        }
    }

    /// Ends the running eval, which is not code, with an error.
    pub(crate) fn fail_work(&mut self, name: &str, message: String) {
        let error = ErrorInfo { name: name.to_owned(), message, ..ErrorInfo::default() };
        self.keep(ChunkKind::Error, &error);
        self.step(Input::Done(DoneStatus::Error));
    }
}
