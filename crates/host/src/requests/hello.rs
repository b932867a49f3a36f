//! The first request on a connection.

use stead_protocol::client::Reply;
use stead_protocol::{By, PROGRAM, Refusal, Speaker, Versions};

use crate::host::Host;
use crate::session::state::Ticket;

/// What a client says of itself in its first message.
pub(super) struct Greeting {
    /// The versions it speaks.
    pub(super) versions: Versions,
    /// The version of its program, if it says it.
    pub(super) program: Option<String>,
    /// What kind of program the client is: `cli`, `mcp`.
    pub(super) client: String,
    /// The client keeps the connection between calls.
    pub(super) rests: bool,
}

impl Host {
    /// Agrees on the newest version that both sides know. If there is none, the client is told the host's
    /// versions and may try another; the session goes on.
    pub(super) fn greet(&mut self, ticket: Ticket, caller: Greeting) {
        let ours = Versions::OURS;
        let Some(protocol) = ours.common(caller.versions) else {
            let client = Speaker { program: caller.program, versions: caller.versions };
            return self.refuse(ticket, Refusal::OtherVersion { host: Speaker::this(), client });
        };
        if let Some(connection) = self.clients.connections.get_mut(&ticket.connection) {
            connection.greeted = true;
            connection.rests = caller.rests;
            connection.by = By::from(caller.client.as_str());
        }
        self.clients.lock.restore();
        let hello = Reply::Hello {
            protocol,
            versions: Some(ours),
            program: Some(PROGRAM.to_owned()),
            generation: self.ledger.generation(),
            loss: self.loss.as_ref().map(ToString::to_string),
            evals: self.ledger.evals(),
            dir: Some(self.spec.dir.clone()),
        };
        self.reply(ticket, hello);
    }
}
