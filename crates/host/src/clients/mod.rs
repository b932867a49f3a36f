//! The clients: the socket at which they find the host, and what is said over each connection.

pub(crate) mod calls;
pub(crate) mod connection;
pub(crate) mod listener;

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use stead_protocol::client::{Event, FromHost};
use stead_protocol::{EvalSeq, Offset, Refusal};

use calls::Calls;
use connection::Connection;
use listener::Listener;

/// What messages of all clients that have not ended may have together.
const MOST_INCOMING: usize = stead_protocol::MAX_LINE + (8 << 20);
/// A message that is shorter than this is no reason to look at all of them.
const FEW_BYTES: usize = 1 << 20;
/// How long no connection is taken after one could not be.
const DEAF_TIME: Duration = Duration::from_millis(50);
/// Number of the first connection.
const FIRST_CONNECTION: u64 = 1;
/// How long after its start a host counts on the client that started it.
const FIRST_CLIENT: Duration = Duration::from_secs(10);
/// How long a host that leaves waits for clients to take what they were sent.
const GOODBYE: Duration = Duration::from_secs(1);

/// All connections, and where new ones come from.
pub(crate) struct Clients {
    pub(crate) connections: BTreeMap<u64, Connection>,
    /// None when the host leaves.
    listener: Option<Listener>,
    pub(crate) calls: Calls,
    /// No connection could be taken: try again then.
    deaf_until: Option<Instant>,
    next: u64,
    began: Instant,
    /// How far watchers were told that the spool reaches.
    told_end: Offset,
}

impl Clients {
    pub(crate) fn new(listener: Listener, calls: Calls) -> Clients {
        Clients {
            connections: BTreeMap::new(),
            listener: Some(listener),
            calls,
            deaf_until: None,
            next: FIRST_CONNECTION,
            began: Instant::now(),
            told_end: Offset::default(),
        }
    }

    /// Whether any client is attached, or the one that started us is on its way. One that only keeps
    /// its connection for the next time holds nobody up.
    pub(crate) fn attach(&self) -> bool {
        self.connections.values().any(Connection::attaches) || self.first_is_due().is_some()
    }

    /// Until when the client that started us may come.
    fn first_is_due(&self) -> Option<Instant> {
        let due = self.began + FIRST_CLIENT;
        (self.next == FIRST_CONNECTION && Instant::now() < due).then_some(due)
    }

    /// Where new connections come from, unless none can be taken now.
    pub(crate) fn door(&self) -> Option<&Listener> {
        self.listener.as_ref().filter(|_| self.deaf_until.is_none())
    }

    /// Takes connections again if it is time.
    pub(crate) fn hear_again(&mut self) {
        self.deaf_until = self.deaf_until.filter(|until| *until > Instant::now());
    }

    /// When something is due although nothing is ready.
    pub(crate) fn next_deadline(&self) -> Option<Instant> {
        let hello = self.connections.values().filter_map(Connection::hello_deadline).min();
        let held = self.connections.values().filter_map(Connection::held_until).min();
        [hello, held, self.first_is_due(), self.deaf_until].into_iter().flatten().min()
    }

    pub(crate) fn accept(&mut self) {
        let Some(listener) = &self.listener else { return };
        match listener.accept().map(Connection::accept) {
            Ok(Some(connection)) => {
                self.connections.insert(self.next, connection);
                self.next += 1;
            }
            Ok(None) => {}
            // Out of descriptors: whoever calls stays in line until one is free.
            Err(_) => self.deaf_until = Some(Instant::now() + DEAF_TIME),
        }
    }

    /// A client calls that cannot find our socket: listens anew if that is not in its place.
    pub(crate) fn answer_calls(&mut self) {
        if self.calls.take()
            && let Some(listener) = &mut self.listener
            && let Err(error) = listener.restore()
        {
            eprintln!("could not listen again: {error}");
        }
    }

    /// From here on clients find nobody.
    pub(crate) fn close_door(&mut self) {
        self.listener = None;
    }

    /// What a client has said.
    pub(crate) fn take_lines(&mut self, id: u64) -> Vec<Vec<u8>> {
        let mut lines = Vec::new();
        if let Some(connection) = self.connections.get_mut(&id) {
            connection.flush();
            connection.read_lines(&mut lines);
        }
        self.bound_incoming(id);
        lines
    }

    /// Hangs up on a client whose message would take all messages that are on their way beyond what one
    /// of the longest may take.
    fn bound_incoming(&mut self, id: u64) {
        let held = |connection: &Connection| connection.held_bytes();
        if self.connections.get(&id).is_none_or(|connection| held(connection) < FEW_BYTES) {
            return;
        }
        let all: usize = self.connections.values().map(held).sum();
        if all > MOST_INCOMING
            && let Some(connection) = self.connections.get_mut(&id)
        {
            connection.refuse(Refusal::MessagesTooLong { most: MOST_INCOMING });
        }
    }

    pub(crate) fn send(&mut self, connection: u64, message: &FromHost) {
        if let Some(connection) = self.connections.get_mut(&connection) {
            connection.send(message);
        }
    }

    /// Sends an event to everyone who watches the eval or follows the session; whether anyone watches.
    pub(crate) fn tell(&mut self, eval: EvalSeq, event: impl Fn() -> Event) -> bool {
        let mut told = false;
        for connection in self.connections.values_mut() {
            if connection.hears_of(eval) {
                told |= connection.watches_eval(eval);
                connection.tell(event());
            }
        }
        told
    }

    /// Tells those who want to hear of it that the spool has grown while this eval ran, or none.
    pub(crate) fn tell_growth(&mut self, eval: Option<EvalSeq>, end: Offset) {
        if end == self.told_end {
            return;
        }
        self.told_end = end;
        for connection in self.connections.values_mut() {
            // One that has not taken the last message will read up to here anyway.
            if connection.hears_growth(eval) && connection.is_flushed() {
                connection.send(&FromHost::Event(match eval {
                    Some(eval) => Event::Output { eval, end },
                    None => Event::Background { end },
                }));
            }
        }
    }

    /// Sends what was said in this turn, and forgets connections that are over.
    pub(crate) fn flush(&mut self) {
        for connection in self.connections.values_mut() {
            connection.flush();
        }
        self.connections.retain(|_, connection| !connection.is_over());
    }

    /// Everyone gets what they were sent, if they take it within a second.
    pub(crate) fn say_goodbye(&mut self) {
        let deadline = Instant::now() + GOODBYE;
        self.connections.values_mut().for_each(Connection::release);
        loop {
            for connection in self.connections.values_mut() {
                connection.flush();
            }
            self.connections.retain(|_, connection| !connection.is_flushed());
            let left = deadline.saturating_duration_since(Instant::now());
            if self.connections.is_empty() || left.is_zero() {
                return;
            }
            let mut fds: Vec<PollFd<'_>> = self
                .connections
                .values()
                .map(|connection| PollFd::from_borrowed_fd(connection.fd(), PollFlags::OUT))
                .collect();
            let timeout = Timespec { tv_sec: 0, tv_nsec: left.subsec_nanos() as _ };
            let _ = poll(&mut fds, Some(&timeout));
        }
    }
}
