//! The checkpoints of a session: which there are, and dropping one.

use stead_protocol::Refusal;
use stead_protocol::client::Reply;

use crate::host::Host;
use crate::session::state::Ticket;

impl Host {
    pub(super) fn list_checkpoints(&mut self, ticket: Ticket) {
        let checkpoints = self.copies.list();
        self.reply(ticket, Reply::Checkpoints { checkpoints });
    }

    pub(super) fn forget_checkpoint(&mut self, ticket: Ticket, label: String) {
        if let Some(eval) = self.goes_back_to(&label) {
            return self.refuse(ticket, Refusal::Busy { eval });
        }
        match self.drop_checkpoint(&label) {
            true => self.reply(ticket, Reply::DONE),
            false => {
                let refusal = self.no_checkpoint(Some(label));
                self.refuse(ticket, refusal);
            }
        }
    }
}
