//! The clients: the socket at which they find the host, and what is said over each connection.

pub(crate) mod calls;
pub(crate) mod connection;
pub(crate) mod listener;
pub(crate) mod lock;

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use stead_protocol::client::{Event, FromHost};
use stead_protocol::{EvalSeq, Offset, Refusal};

use calls::CallSignal;
use connection::ClientConnection;
use listener::Listener;
use lock::SessionLock;

/// Most bytes that the unfinished messages of all clients may have together.
const MOST_INCOMING: usize = stead_protocol::MAX_LINE + (8 << 20);
/// A client with fewer bytes than this is no reason to add up those of all clients.
const FEW_BYTES: usize = 1 << 20;
/// How long no connection is accepted after accepting one failed.
const DEAF_TIME: Duration = Duration::from_millis(50);
/// Number of the first connection.
const FIRST_CONNECTION: u64 = 1;
/// How long after its start a host expects the client that started it.
const FIRST_CLIENT: Duration = Duration::from_secs(10);
/// How long a host that exits waits for clients to read their last messages.
const GOODBYE: Duration = Duration::from_secs(1);

/// All connections, and the socket that new ones come from.
pub(crate) struct Clients {
    pub(crate) connections: BTreeMap<u64, ClientConnection>,
    /// `None` once the host is about to exit.
    listener: Option<Listener>,
    pub(crate) calls: CallSignal,
    /// By which clients know that a host lives.
    pub(crate) lock: SessionLock,
    /// Set if accepting a connection failed: when to try again.
    deaf_until: Option<Instant>,
    next: u64,
    began: Instant,
    /// The end of the spool that watchers were last told.
    told_end: Offset,
}

impl Clients {
    pub(crate) fn new(listener: Listener, calls: CallSignal, lock: SessionLock) -> Clients {
        Clients {
            connections: BTreeMap::new(),
            listener: Some(listener),
            calls,
            lock,
            deaf_until: None,
            next: FIRST_CONNECTION,
            began: Instant::now(),
            told_end: Offset::default(),
        }
    }

    /// Whether a client is attached, or the client that started this host is about to connect. A client that
    /// only keeps its connection for later calls does not count.
    pub(crate) fn attach(&self) -> bool {
        self.connections.values().any(ClientConnection::attaches) || self.first_is_due().is_some()
    }

    /// Until when the client that started this host is expected.
    fn first_is_due(&self) -> Option<Instant> {
        let due = self.began + FIRST_CLIENT;
        (self.next == FIRST_CONNECTION && Instant::now() < due).then_some(due)
    }

    /// The listening socket, unless no connection can be accepted now.
    pub(crate) fn door(&self) -> Option<&Listener> {
        self.listener.as_ref().filter(|_| self.deaf_until.is_none())
    }

    /// Accepts connections again if it is time.
    pub(crate) fn hear_again(&mut self) {
        self.deaf_until = self.deaf_until.filter(|until| *until > Instant::now());
    }

    /// When something has to be done even if no descriptor is ready.
    pub(crate) fn next_deadline(&self) -> Option<Instant> {
        let hello = self.connections.values().filter_map(ClientConnection::hello_deadline).min();
        let held = self.connections.values().filter_map(ClientConnection::held_until).min();
        [hello, held, self.first_is_due(), self.deaf_until].into_iter().flatten().min()
    }

    pub(crate) fn accept(&mut self) {
        let Some(listener) = &self.listener else { return };
        match listener.accept().map(ClientConnection::accept) {
            Ok(Some(connection)) => {
                self.connections.insert(self.next, connection);
                self.next += 1;
            }
            Ok(None) => {}
            // No descriptor is free: clients stay in the backlog until one is.
            Err(_) => self.deaf_until = Some(Instant::now() + DEAF_TIME),
        }
    }

    /// A client calls because it cannot find our socket: listens anew if the socket's file is gone, and makes a deleted lock anew.
    pub(crate) fn answer_calls(&mut self) {
        self.lock.restore();
        if self.calls.take()
            && let Some(listener) = &mut self.listener
            && let Err(error) = listener.restore()
        {
            stead_interpreter::log_warn!("could not listen again: {error}");
        }
    }

    /// Closes the listening socket; from here on clients start the next host.
    pub(crate) fn close_door(&mut self) {
        self.listener = None;
    }

    /// The whole lines that a client has sent.
    pub(crate) fn take_lines(&mut self, id: u64) -> Vec<Vec<u8>> {
        let mut lines = Vec::new();
        if let Some(connection) = self.connections.get_mut(&id) {
            connection.flush();
            connection.read_lines(&mut lines);
        }
        self.bound_incoming(id);
        lines
    }

    /// Closes the connection of a client whose unfinished message would take those of all clients beyond the
    /// limit.
    fn bound_incoming(&mut self, id: u64) {
        let held = |connection: &ClientConnection| connection.held_bytes();
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

    /// Sends an event to all who watch the eval or follow the session; returns whether anyone watches.
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

    /// Sends an event to all who watch the eval.
    pub(crate) fn tell_watchers(&mut self, eval: EvalSeq, event: &Event) {
        for connection in self.connections.values_mut().filter(|one| one.watches_eval(eval)) {
            connection.tell(event.clone());
        }
    }

    /// Tells clients that asked for it that the spool has grown, while this eval or none ran.
    pub(crate) fn tell_growth(&mut self, eval: Option<EvalSeq>, end: Offset) {
        if end == self.told_end {
            return;
        }
        self.told_end = end;
        for connection in self.connections.values_mut() {
            // A client that has not read the last message will read the spool up to here anyway.
            if connection.hears_growth(eval) && connection.is_flushed() {
                connection.send(&FromHost::Event(match eval {
                    Some(eval) => Event::Output { eval, end },
                    None => Event::Background { end },
                }));
            }
        }
    }

    /// Sends the messages of this turn, and forgets closed connections.
    pub(crate) fn flush(&mut self) {
        for connection in self.connections.values_mut() {
            connection.flush();
        }
        self.connections.retain(|_, connection| !connection.is_over());
    }

    /// Gives each client a second to read its last messages.
    pub(crate) fn say_goodbye(&mut self) {
        let deadline = Instant::now() + GOODBYE;
        self.connections.values_mut().for_each(ClientConnection::release);
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
