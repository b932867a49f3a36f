//! Telling a connection of every eval of the session, whichever client sends it.
//!
//! Each follower has a place in the sequence of evals: it knows all evals before it, and is told what happens
//! to them. Later evals are told from the record, a few at a time as the follower reads, until it has caught
//! up. A follower that was disconnected names the first eval whose end it has not heard, and so misses
//! nothing.

use stead_protocol::EvalSeq;
use stead_protocol::client::{Event, FromHost, Listens, Reply};
use stead_spool::{EvalEntry, HistoryReader};

use crate::clients::connection::Follow;
use crate::host::Host;
use crate::session::state::Ticket;

/// How many evals, and how much of their code, is read from the record in one turn.
const EVALS_A_TURN: usize = 64;
const BYTES_A_TURN: usize = 1 << 20;

impl Host {
    pub(super) fn follow(&mut self, ticket: Ticket, from: Option<EvalSeq>, output: bool) {
        let end = EvalSeq(self.ledger.evals() + 1);
        let mut next = from.or_else(|| self.state.first()).unwrap_or(end).clamp(EvalSeq(1), end);
        while next < end && self.ledger.is_gone(next) {
            next.0 += 1;
        }
        if let Some(connection) = self.clients.connections.get_mut(&ticket.connection) {
            connection.follow = Some(Follow { next, output, behind: next < end });
        }
        self.reply(ticket, Reply::Following { from: next });
        self.tell_pause(ticket.connection);
    }

    /// Tells followers that have caught up of an eval that was accepted just now.
    pub(crate) fn introduce(&mut self, eval: EvalSeq) {
        let Some(pending) = self.pending.get(&eval) else { return };
        let accepted = Event::Accepted { eval, work: pending.kind, by: pending.by.clone() };
        for connection in self.clients.connections.values_mut() {
            match &mut connection.follow {
                Some(follow) if follow.next == eval => follow.next.0 += 1,
                Some(follow) => {
                    follow.behind = true;
                    continue;
                }
                None => continue,
            }
            connection.send(&FromHost::Event(accepted.clone()));
        }
    }

    /// Tells further evals to followers that are behind and have read everything so far.
    pub(crate) fn tell_followers(&mut self) {
        let behind: Vec<u64> = self
            .clients
            .connections
            .iter()
            .filter(|(_, known)| known.follow.is_some_and(|follow| follow.behind))
            .filter(|(_, known)| known.is_flushed())
            .map(|(id, _)| *id)
            .collect();
        for id in behind {
            self.tell_more(id);
        }
    }

    fn tell_more(&mut self, id: u64) {
        let Some(mut follow) = self.clients.connections.get(&id).and_then(|known| known.follow)
        else {
            return;
        };
        let history = HistoryReader::open(&self.spec.dir).ok();
        let (last, mut bytes) = (EvalSeq(self.ledger.evals()), 0);
        let mut events = Vec::new();
        for _ in 0..EVALS_A_TURN {
            if follow.next > last || bytes > BYTES_A_TURN {
                break;
            }
            let eval = follow.next;
            follow.next.0 += 1;
            if self.pending.contains_key(&eval) {
                self.tell_living(eval, &mut events);
            } else if let Some(entry) = history.as_ref().and_then(|read| read.eval(eval).ok()?) {
                bytes += entry.code.len();
                self.tell_recorded(entry, &mut events);
            }
        }
        follow.behind = follow.next <= last;
        if let Some(connection) = self.clients.connections.get_mut(&id) {
            connection.follow = Some(follow);
            for event in events {
                connection.send(&FromHost::Event(event));
            }
        }
    }

    /// Adds the events of a queued or running eval: that it was accepted, and where it stands.
    fn tell_living(&self, eval: EvalSeq, events: &mut Vec<Event>) {
        let Some(pending) = self.pending.get(&eval) else { return };
        events.push(Event::Accepted { eval, work: pending.kind, by: pending.by.clone() });
        let standing = self.standing(eval);
        if let (Some(Event::Waiting { .. }), Some(start)) = (&standing, self.ledger.current_start())
        {
            let (listens, by) = (Listens::No, Some(pending.by.clone()));
            events.push(Event::Started { eval, start, listens, by });
        }
        events.extend(standing);
    }

    /// Adds the events of an eval that is over.
    fn tell_recorded(&self, entry: EvalEntry, events: &mut Vec<Event>) {
        let (eval, by) = (entry.seq, entry.by);
        events.push(Event::Accepted { eval, work: entry.kind, by: by.clone() });
        if let Some((_, _, start)) = entry.started {
            events.push(Event::Started { eval, start, listens: Listens::No, by: Some(by) });
        }
        match entry.finished {
            Some((_, finished)) => events.push(Event::Finished { eval, finished }),
            None => events.extend(self.ledger.unsaved().event(eval)),
        }
    }
}
