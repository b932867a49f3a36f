//! Queued and running work: what the state does not hold of it.

use stead_interpreter::Order;
use stead_protocol::bridge::DoneStatus;
use stead_protocol::{
    By, Capability, ChunkKind, ErrorInfo, EvalSeq, Refusal, ShellPlace, WorkKind,
};

use crate::host::Host;
use crate::requests::Asker;
use crate::session::state::{Input, StopEffort, Ticket};

/// What is known of an eval from its acceptance to its end.
#[derive(Debug, Default)]
pub(crate) struct Pending {
    pub(crate) kind: WorkKind,
    pub(crate) by: By,
    /// The code, until it is sent.
    pub(crate) code: String,
    /// Where a shell command runs.
    pub(crate) place: Option<ShellPlace>,
    /// A request that is answered when the eval ends.
    pub(crate) owed: Option<Ticket>,
    /// The client that first asked to stop the eval.
    pub(crate) interrupted_by: Option<By>,
}

impl Host {
    /// The sender of a queued or running eval.
    pub(crate) fn sent_by(&self, eval: EvalSeq) -> Option<By> {
        self.pending.get(&eval).map(|pending| pending.by.clone())
    }

    /// Orders the work that begins now, or says why that is not possible.
    pub(crate) fn send_work(&mut self, eval: EvalSeq) -> Result<(), Refusal> {
        let Some(pending) = self.pending.get_mut(&eval) else { return Ok(()) };
        let (code, place) = (std::mem::take(&mut pending.code), pending.place.take());
        let kind = pending.kind;
        let limit_ms = self.state.running().and_then(|run| run.limit);
        match kind {
            WorkKind::Code => {
                let eval = self.eval_id(eval);
                self.orders.push_back(Order::Run { eval, code, place, limit_ms });
            }
            WorkKind::Clear if !self.cannot_do(&Capability::Clear) => {
                let seq = self.number(Asker::Clear);
                self.orders.push_back(Order::Clear { seq, limit_ms });
            }
            // The work was accepted before the interpreter had said what it can do.
            WorkKind::Clear | WorkKind::Unknown => return Err(self.cannot(kind.as_str())),
        }
        Ok(())
    }

    /// The bridge has emptied the namespace, or says why not.
    pub(crate) fn cleared(&mut self, error: Option<String>) {
        let Some(run) = self.state.running() else { return };
        let stopped = run.asked != StopEffort::Nothing || run.overdue.is_some();
        match error {
            None => {
                self.facts.variables = Some(0);
                self.step(Input::Done(DoneStatus::Ok));
            }
            Some(_) if stopped => self.step(Input::Done(DoneStatus::Interrupted)),
            Some(message) => self.fail_work(message),
        }
    }

    /// Ends the running eval, which is not code, with an error.
    pub(crate) fn fail_work(&mut self, message: String) {
        let error = ErrorInfo { name: "ClearError".to_owned(), message, ..ErrorInfo::default() };
        self.keep(ChunkKind::Error, &error);
        self.step(Input::Done(DoneStatus::Error));
    }
}
