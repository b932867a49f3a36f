//! The request of version 1 that empties the namespace. It is work like any other, and answered when it is
//! over.

use stead_protocol::client::{Reply, Submit};
use stead_protocol::{Outcome, Refusal, Work};

use super::submit::Answering;
use crate::host::Host;
use crate::session::state::Ticket;

impl Host {
    /// A `clear` of version 1 is refused if it would have to wait for its turn.
    pub(super) fn clear(&mut self, ticket: Ticket) {
        let submit = Submit { no_queue: true, ..Submit::new(Work::Clear) };
        self.submit(ticket, submit, Answering::AtEnd);
    }

    /// Answers the request with the outcome.
    pub(crate) fn answer_clear(&mut self, ticket: Ticket, outcome: &Outcome) {
        let refusal = match outcome {
            Outcome::Complete => return self.reply(ticket, Reply::DONE),
            Outcome::Ended { reason } | Outcome::NotRun { reason } => {
                Refusal::Ended { reason: reason.clone() }
            }
            Outcome::Interrupted => {
                Refusal::NoAnswer { problem: "emptying the namespace was interrupted".to_owned() }
            }
            Outcome::Error | Outcome::Timeout { .. } | Outcome::HostDied | Outcome::Unknown => {
                Refusal::NoAnswer { problem: "the namespace could not be emptied".to_owned() }
            }
        };
        self.refuse(ticket, refusal);
    }
}
