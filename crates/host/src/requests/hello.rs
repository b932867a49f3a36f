//! The first request on a connection.

use stead_protocol::client::{Reply, VERSION};

use super::bad;
use crate::host::Host;
use crate::state::Ticket;

impl Host {
    pub(super) fn greet(&mut self, ticket: Ticket, protocol: u32, client: &str, rests: bool) {
        if protocol != VERSION {
            let message = format!("this host speaks version {VERSION}, the client {protocol}");
            return self.refuse(
                ticket,
                bad(message)
                    .with_hint("the session was started by another stead: stop it with that one"),
            );
        }
        if let Some(connection) = self.connections.get_mut(&ticket.connection) {
            connection.greeted = true;
            connection.rests = rests;
            connection.client = client.chars().take(32).collect();
        }
        let loss = self.loss.as_ref().map(ToString::to_string);
        let generation = self.ledger.generation();
        let evals = self.ledger.evals();
        let dir = Some(self.spec.dir.clone());
        self.reply(ticket, Reply::Hello { protocol: VERSION, generation, loss, evals, dir });
    }
}
