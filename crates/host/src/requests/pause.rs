//! Stopping all processes of the session where they are, and letting them go on.

use stead_interpreter::Order;
use stead_protocol::Refusal;
use stead_protocol::client::{Event, FromHost, Reply};

use crate::host::Host;
use crate::session::state::{Input, Ticket};

impl Host {
    pub(super) fn pause(&mut self, ticket: Ticket) {
        if self.state.ends_in_time() {
            let problem = "the interpreter is ending".to_owned();
            return self.refuse(ticket, Refusal::NoAnswer { problem });
        }
        self.asked.pauses.push((ticket, true));
        self.orders.push_back(Order::Pause);
    }

    pub(super) fn resume(&mut self, ticket: Ticket) {
        self.asked.pauses.push((ticket, false));
        self.orders.push_back(Order::Resume);
    }

    /// The bridge could not pause its code, or could not let it go on.
    pub(crate) fn not_paused(&mut self, message: &str) {
        for (ticket, _) in std::mem::take(&mut self.asked.pauses) {
            self.refuse(ticket, Refusal::NoAnswer { problem: message.to_owned() });
        }
    }

    /// Tells a connection that begins to watch or follow that the session is paused, if it is.
    pub(super) fn tell_pause(&mut self, connection: u64) {
        if self.clock.is_paused() {
            self.send(connection, &FromHost::Event(Event::Paused { paused: true }));
        }
    }

    /// The session's processes were stopped or go on; so does its clock.
    pub(crate) fn paused(&mut self, paused: bool) {
        let is_new = self.clock.is_paused() != paused;
        match paused {
            true => self.clock.pause(),
            false => self.clock.resume(),
        }
        let event = FromHost::Event(Event::Paused { paused });
        for connection in self.clients.connections.values_mut().filter(|_| is_new) {
            if connection.follow.is_some() || !connection.watches.is_empty() {
                connection.send(&event);
            }
        }
        let asked: Vec<_> =
            self.asked.pauses.extract_if(.., |(_, wanted)| *wanted == paused).collect();
        // Of several that asked at once, the first has made the difference.
        for (at, (ticket, _)) in asked.into_iter().enumerate() {
            self.reply(ticket, Reply::Done { already: !is_new || at > 0 });
        }
        if paused && is_new {
            self.step(Input::Paused);
        }
    }
}
