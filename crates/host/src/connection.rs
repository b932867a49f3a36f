//! One client's connection: lines in, a bounded buffer out. No client can slow or harm the host.

use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use rustix::event::PollFlags;
use stead_protocol::client::FromHost;
use stead_protocol::{EvalSeq, MAX_LINE};

/// How much a client may leave unread before it is dropped. Messages carry offsets and not output,
/// so a client that is this far behind is not reading at all.
const UNREAD_LIMIT: usize = 4 << 20;
/// How long an answer is held back at most that the next one may follow at once.
const HOLD: Duration = Duration::from_millis(10);
/// How long a client may take to say hello.
const HELLO_LIMIT: Duration = Duration::from_secs(10);

pub(crate) struct Connection {
    stream: UnixStream,
    incoming: Vec<u8>,
    outgoing: VecDeque<u8>,
    since: Instant,
    pub(crate) greeted: bool,
    /// Who it says it is: `cli`, `mcp`.
    pub(crate) client: String,
    pub(crate) watches: Vec<Watch>,
    /// Its client keeps it between calls.
    pub(crate) rests: bool,
    held_until: Option<Instant>,
    dead: bool,
}

/// An eval whose events a connection wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Watch {
    pub(crate) eval: EvalSeq,
    pub(crate) output: bool,
}

impl Connection {
    /// Takes a fresh connection if it comes from the same user; SO_PEERCRED cannot be forged.
    pub(crate) fn accept(stream: UnixStream) -> Option<Connection> {
        let peer = rustix::net::sockopt::socket_peercred(&stream).ok()?;
        if peer.uid != rustix::process::geteuid() {
            return None;
        }
        stream.set_nonblocking(true).ok()?;
        Some(Connection {
            stream,
            incoming: Vec::new(),
            outgoing: VecDeque::new(),
            since: Instant::now(),
            greeted: false,
            client: String::new(),
            watches: Vec::new(),
            rests: false,
            held_until: None,
            dead: false,
        })
    }

    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }

    pub(crate) fn interest(&self) -> PollFlags {
        match self.outgoing.is_empty() || self.held_until.is_some() {
            true => PollFlags::IN,
            false => PollFlags::IN | PollFlags::OUT,
        }
    }

    /// Whether it is of no more use, or never said who it is.
    pub(crate) fn is_over(&self) -> bool {
        self.dead || self.hello_deadline().is_some_and(|at| at <= Instant::now())
    }

    /// Whether someone is attached by it: not if it is only kept for its client's next call.
    pub(crate) fn attaches(&self) -> bool {
        !self.rests || !self.watches.is_empty()
    }

    pub(crate) fn hello_deadline(&self) -> Option<Instant> {
        (!self.greeted).then(|| self.since + hello_limit())
    }

    /// Reads what is there and hands on whole lines.
    pub(crate) fn read_lines(&mut self, lines: &mut Vec<Vec<u8>>) {
        let mut buffer = [0; 64 << 10];
        loop {
            match self.stream.read(&mut buffer) {
                Ok(0) => self.dead = true,
                Ok(read) => {
                    self.take(&buffer[..read], lines);
                    if read == buffer.len() && !self.dead {
                        continue;
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(_) => self.dead = true,
            }
            return;
        }
    }

    fn take(&mut self, mut bytes: &[u8], lines: &mut Vec<Vec<u8>>) {
        while let Some(end) = bytes.iter().position(|&b| b == b'\n') {
            self.incoming.extend_from_slice(&bytes[..end]);
            lines.push(std::mem::take(&mut self.incoming));
            bytes = &bytes[end + 1..];
        }
        self.incoming.extend_from_slice(bytes);
        // Before hello nobody has a reason to send much.
        let limit = if self.greeted { MAX_LINE } else { 64 << 10 };
        if self.incoming.len() > limit {
            self.dead = true;
        }
    }

    /// Queues a message, which `flush` sends with all that was held back.
    pub(crate) fn send(&mut self, message: &FromHost) {
        self.held_until = None;
        self.queue(message);
    }

    /// Queues a message that may wait a moment for the next one.
    pub(crate) fn send_held(&mut self, message: &FromHost) {
        if self.outgoing.is_empty() {
            self.held_until = Some(Instant::now() + HOLD);
        }
        self.queue(message);
    }

    /// Queues a message that goes out with those before it, held back or not.
    pub(crate) fn send_after(&mut self, message: &FromHost) {
        self.queue(message);
    }

    /// Holds nothing back any more.
    pub(crate) fn release(&mut self) {
        self.held_until = None;
    }

    /// When what is held back goes out by itself.
    pub(crate) fn held_until(&self) -> Option<Instant> {
        self.held_until
    }

    fn queue(&mut self, message: &FromHost) {
        match serde_json::to_vec(message) {
            Ok(line) => self.outgoing.extend(line),
            Err(_) => self.dead = true,
        }
        self.outgoing.push_back(b'\n');
        if self.outgoing.len() > UNREAD_LIMIT {
            self.dead = true;
        }
    }

    /// Whether everything sent has left this process, or does as soon as more is sent.
    pub(crate) fn is_flushed(&self) -> bool {
        self.dead || self.outgoing.is_empty() || self.held_until.is_some()
    }

    pub(crate) fn flush(&mut self) {
        if self.held_until.is_some_and(|until| until > Instant::now()) {
            return;
        }
        self.held_until = None;
        while !self.outgoing.is_empty() && !self.dead {
            let (first, _) = self.outgoing.as_slices();
            match self.stream.write(first) {
                Ok(written) => drop(self.outgoing.drain(..written)),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => self.dead = true,
            }
        }
    }
}

/// Tests do not wait for ten seconds.
#[cfg(debug_assertions)]
fn hello_limit() -> Duration {
    let given = std::env::var("STEAD_HELLO_LIMIT_MS").ok().and_then(|ms| ms.parse().ok());
    given.map_or(HELLO_LIMIT, Duration::from_millis)
}

#[cfg(not(debug_assertions))]
fn hello_limit() -> Duration {
    HELLO_LIMIT
}
