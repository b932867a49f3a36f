//! Stopping the running eval, or taking one out of the queue.

use stead_protocol::{By, EvalSeq};

use crate::host::Host;
use crate::session::state::{Input, Ticket};

impl Host {
    pub(super) fn interrupt(&mut self, ticket: Ticket, eval: Option<EvalSeq>, by: Option<By>) {
        let by = by.unwrap_or_else(|| self.caller(ticket));
        let meant = eval.or_else(|| self.state.interruptible());
        if let Some(pending) = meant.and_then(|eval| self.pending.get_mut(&eval)) {
            pending.interrupted_by.get_or_insert(by);
        }
        self.step(Input::Interrupt { eval, ticket });
    }

    /// The client that said hello on a request's connection.
    pub(super) fn caller(&self, ticket: Ticket) -> By {
        let known = self.clients.connections.get(&ticket.connection);
        known.map(|known| known.by.clone()).unwrap_or_default()
    }
}
