//! Stopping all processes of the session where they are, and letting them go on.

use stead_launch::tree;
use stead_protocol::client::Reply;

use crate::host::Host;
use crate::state::Ticket;

impl Host {
    pub(super) fn pause(&mut self, ticket: Ticket) {
        tree::freeze(self.pid);
        self.clock.pause();
        self.reply(ticket, Reply::Done);
    }

    pub(crate) fn resume(&mut self) {
        tree::thaw(self.pid);
        self.clock.resume();
    }
}
