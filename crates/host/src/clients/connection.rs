//! One client's connection: lines in, a bounded buffer out. No client can slow or harm the host.

use std::collections::VecDeque;
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use rustix::buffer::spare_capacity;
use rustix::event::PollFlags;
use rustix::io::Errno;
use stead_protocol::client::{Event, FromHost, Reply};
use stead_protocol::{By, EvalSeq, Finished, Lines, MAX_LINE, Refusal};

/// How much a client may leave unread before it is dropped. Messages carry offsets and not output,
/// so a client that is this far behind is not reading at all.
const UNREAD_LIMIT: usize = 4 << 20;
/// How long an answer is held back at most, because the eval's end may follow at once.
const HOLD: Duration = Duration::from_millis(10);
/// How much of the rest of an unfinished line is read at once at most.
const READ: usize = 64 << 10;
/// How much room there is at least for the beginning of a line.
const SHORT_READ: usize = 4 << 10;
/// Room for a message at first; most messages are no longer.
const LINE: usize = 256;
/// How long a client may take to say hello.
const HELLO_LIMIT: Duration = Duration::from_secs(10);

pub(crate) struct ClientConnection {
    stream: UnixStream,
    incoming: Lines,
    outgoing: VecDeque<u8>,
    since: Instant,
    pub(crate) greeted: bool,
    /// What kind of program the client says it is: `cli`, `mcp`.
    pub(crate) by: By,
    pub(crate) watches: Vec<EvalWatch>,
    /// Set if the client is told of every eval of the session.
    pub(crate) follow: Option<Follow>,
    /// The client keeps this connection between calls.
    pub(crate) rests: bool,
    held: Option<Held>,
    dead: bool,
}

/// An answer that is held back because the eval's end may follow at once.
#[derive(Debug)]
struct Held {
    until: Instant,
    accepted: FromHost,
    started: Option<Event>,
}

/// An eval whose events a connection wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct EvalWatch {
    pub(crate) eval: EvalSeq,
    pub(crate) output: bool,
}

/// A connection that follows the session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Follow {
    /// The follower knows all evals before this one, and is told what happens to them.
    pub(crate) next: EvalSeq,
    /// Whether it wants to hear of growth of the spool.
    pub(crate) output: bool,
    /// There are evals that the follower was not told of yet.
    pub(crate) behind: bool,
}

impl ClientConnection {
    /// Whether the client waits for that eval on this connection.
    pub(crate) fn watches_eval(&self, eval: EvalSeq) -> bool {
        self.watches.iter().any(|watch| watch.eval == eval)
    }

    /// Whether the client is told what happens to an eval.
    pub(crate) fn hears_of(&self, eval: EvalSeq) -> bool {
        self.watches_eval(eval) || self.follow.is_some_and(|follow| eval < follow.next)
    }

    /// Whether the client is told that the spool grows while that eval runs; without an eval, while none
    /// runs.
    pub(crate) fn hears_growth(&self, eval: Option<EvalSeq>) -> bool {
        let known = |follow: Follow| follow.output && eval.is_none_or(|eval| eval < follow.next);
        self.watches.iter().any(|watch| Some(watch.eval) == eval && watch.output)
            || self.follow.is_some_and(known)
    }

    /// Takes a fresh connection if it comes from the same user; SO_PEERCRED cannot be forged.
    pub(crate) fn accept(stream: UnixStream) -> Option<ClientConnection> {
        let peer = rustix::net::sockopt::socket_peercred(&stream).ok()?;
        if peer.uid != rustix::process::geteuid() {
            return None;
        }
        stream.set_nonblocking(true).ok()?;
        Some(ClientConnection {
            stream,
            incoming: Lines::default(),
            outgoing: VecDeque::new(),
            since: Instant::now(),
            greeted: false,
            by: By::default(),
            watches: Vec::new(),
            follow: None,
            rests: false,
            held: None,
            dead: false,
        })
    }

    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }

    pub(crate) fn interest(&self) -> PollFlags {
        // A follower that is behind is told more as soon as there is room.
        let behind = self.follow.is_some_and(|follow| follow.behind);
        match self.outgoing.is_empty() && !behind {
            true => PollFlags::IN,
            false => PollFlags::IN | PollFlags::OUT,
        }
    }

    /// Whether the connection is closed, or its client did not say hello in time.
    pub(crate) fn is_over(&self) -> bool {
        self.dead || self.hello_deadline().is_some_and(|at| at <= Instant::now())
    }

    /// Whether it counts as an attached client: not if it is only kept for the client's next call.
    pub(crate) fn attaches(&self) -> bool {
        !self.rests || !self.watches.is_empty() || self.follow.is_some()
    }

    pub(crate) fn hello_deadline(&self) -> Option<Instant> {
        (!self.greeted).then(|| self.since + hello_limit())
    }

    /// Reads the bytes that have come and hands on whole lines.
    pub(crate) fn read_lines(&mut self, lines: &mut Vec<Vec<u8>>) {
        // Requests that were read are answered before more is read: a client may send many and read no
        // answers.
        let mut piece = Vec::new();
        let room = if self.incoming.held() == 0 {
            self.incoming.room(SHORT_READ)
        } else {
            // Not behind the bytes that are held, where there may be much room: one read would go on for as long as
            // the client goes on writing.
            piece.reserve_exact(READ);
            &mut piece
        };
        match rustix::io::read(&self.stream, spare_capacity(room)) {
            Ok(0) => self.dead = true,
            Ok(_) => {
                self.incoming.room(piece.len()).extend_from_slice(&piece);
                self.take(lines);
            }
            Err(Errno::AGAIN | Errno::INTR) => {}
            Err(_) => self.dead = true,
        }
    }

    /// Hands on the whole lines that were read.
    fn take(&mut self, lines: &mut Vec<Vec<u8>>) {
        lines.extend(std::iter::from_fn(|| self.incoming.take_line()));
        // A client has no reason to send much before its hello.
        let limit = if self.greeted { MAX_LINE } else { 64 << 10 };
        if self.incoming.held() > limit {
            match self.greeted {
                true => self.refuse(Refusal::MessageTooLong { most: limit }),
                false => self.dead = true,
            }
        }
    }

    /// How many bytes of an unfinished line are held.
    pub(crate) fn held_bytes(&self) -> usize {
        self.incoming.held()
    }

    /// Says why the connection is closed, if the client takes that message at once.
    pub(crate) fn refuse(&mut self, refusal: Refusal) {
        self.incoming.clear();
        self.send(&FromHost::Error { id: 0, error: refusal.into() });
        self.flush();
        self.dead = true;
    }

    /// Queues a message, after the answer that was held back.
    pub(crate) fn send(&mut self, message: &FromHost) {
        self.release();
        self.queue(message);
    }

    /// Holds an answer back for a moment: the eval may end at once, and then one message tells both.
    pub(crate) fn hold(&mut self, accepted: FromHost) {
        self.release();
        self.held = Some(Held { until: Instant::now() + HOLD, accepted, started: None });
    }

    /// Tells a watcher something about its eval.
    pub(crate) fn tell(&mut self, event: Event) {
        let Some(held) = self.held.take_if(|held| held.is_about(&event)) else {
            return self.send(&FromHost::Event(event));
        };
        match event {
            Event::Finished { finished, .. } => self.queue(&held.with_end(finished)),
            started => self.held = Some(Held { started: Some(started), ..held }),
        }
    }

    /// Queues the answer that was held back.
    pub(crate) fn release(&mut self) {
        if let Some(held) = self.held.take() {
            self.queue(&held.accepted);
            if let Some(started) = held.started {
                self.queue(&FromHost::Event(started));
            }
        }
    }

    /// When the held answer is sent even if nothing else happens.
    pub(crate) fn held_until(&self) -> Option<Instant> {
        self.held.as_ref().map(|held| held.until)
    }

    fn queue(&mut self, message: &FromHost) {
        let mut line = Vec::with_capacity(LINE);
        if serde_json::to_writer(&mut line, message).is_err() {
            self.dead = true;
        }
        line.push(b'\n');
        // Nearly always the queue is empty, and the line becomes the queue without a copy.
        match self.outgoing.is_empty() {
            true => self.outgoing = line.into(),
            false => self.outgoing.extend(line),
        }
        if self.outgoing.len() > UNREAD_LIMIT {
            self.dead = true;
        }
    }

    /// Whether nothing is left to be sent to this client.
    pub(crate) fn is_flushed(&self) -> bool {
        self.dead || self.outgoing.is_empty()
    }

    pub(crate) fn flush(&mut self) {
        if self.held_until().is_some_and(|until| until <= Instant::now()) {
            self.release();
        }
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

impl Held {
    fn is_about(&self, event: &Event) -> bool {
        let (Event::Started { eval, .. } | Event::Finished { eval, .. }) = event else {
            return false;
        };
        matches!(
            &self.accepted,
            FromHost::Reply { reply: Reply::Accepted(accepted), .. } if accepted.eval == *eval
        )
    }

    /// The held answer with the eval's end added.
    fn with_end(mut self, end: Finished) -> FromHost {
        if let FromHost::Reply { reply: Reply::Accepted(accepted), .. } = &mut self.accepted {
            accepted.finished = Some(Box::new(end));
        }
        self.accepted
    }
}

/// The limit for hello; tests set a shorter one, so that they do not wait for ten seconds.
#[cfg(feature = "test-hooks")]
fn hello_limit() -> Duration {
    let given = std::env::var("STEAD_HELLO_LIMIT_MS").ok().and_then(|ms| ms.parse().ok());
    given.map_or(HELLO_LIMIT, Duration::from_millis)
}

#[cfg(not(feature = "test-hooks"))]
fn hello_limit() -> Duration {
    HELLO_LIMIT
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use stead_protocol::client::{Accepted, Listens};
    use stead_protocol::{Generation, Offset, Outcome};

    use super::*;

    fn accepted(eval: u64) -> FromHost {
        let accepted = Accepted {
            eval: EvalSeq(eval),
            generation: Generation(1),
            behind: None,
            duplicate: false,
            finished: None,
        };
        FromHost::Reply { id: 9, reply: Reply::Accepted(accepted) }
    }

    fn started(eval: u64) -> Event {
        Event::Started { eval: EvalSeq(eval), start: Offset(0), listens: Listens::No, by: None }
    }

    fn finished(eval: u64) -> Event {
        let finished = Finished::new(Outcome::Complete, Generation(1), Offset(0), Offset(0));
        Event::Finished { eval: EvalSeq(eval), finished }
    }

    /// Holds an answer back for longer than the machine may stand still.
    fn hold(connection: &mut ClientConnection) {
        connection.hold(accepted(1));
        connection.held.as_mut().expect("it is held").until += Duration::from_secs(3600);
    }

    /// What a client gets of what is done with its connection, a word for each message.
    fn told(act: impl FnOnce(&mut ClientConnection)) -> Vec<String> {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        let mut connection = ClientConnection::accept(ours).expect("the same user");
        act(&mut connection);
        connection.flush();
        drop(connection);
        let mut text = String::new();
        theirs.read_to_string(&mut text).unwrap();
        let word = |line: &str| -> String {
            match serde_json::from_str(line).unwrap() {
                FromHost::Reply {
                    reply: Reply::Accepted(Accepted { finished: Some(_), .. }),
                    ..
                } => "all",
                FromHost::Reply { reply: Reply::Accepted(_), .. } => "accepted",
                FromHost::Event(Event::Started { .. }) => "started",
                FromHost::Event(Event::Finished { .. }) => "finished",
                _ => "other",
            }
            .to_owned()
        };
        text.lines().map(word).collect()
    }

    #[test]
    fn e2_an_end_within_the_moment_is_told_with_the_acceptance() {
        let all = told(|connection| {
            hold(connection);
            connection.tell(started(1));
            connection.flush();
            connection.tell(finished(1));
        });
        assert_eq!(all, ["all"]);
    }

    #[test]
    fn e2_whatever_else_is_said_lets_go_what_was_held_back() {
        let held = told(|connection| {
            hold(connection);
            connection.tell(started(1));
        });
        assert_eq!(held, Vec::<String>::new());
        let released = told(|connection| {
            hold(connection);
            connection.tell(started(1));
            connection.release();
            connection.tell(finished(1));
        });
        assert_eq!(released, ["accepted", "started", "finished"]);
        let other = told(|connection| {
            hold(connection);
            connection.tell(started(1));
            connection.tell(finished(7));
            connection.tell(finished(1));
        });
        assert_eq!(other, ["accepted", "started", "finished", "finished"]);
        let next = told(|connection| {
            hold(connection);
            connection.hold(accepted(2));
            connection.tell(started(2));
            connection.tell(finished(2));
        });
        assert_eq!(next, ["accepted", "all"]);
    }

    #[test]
    fn h2_one_read_takes_little_of_a_client_that_goes_on_writing() {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        let mut connection = ClientConnection::accept(ours).expect("the same user");
        connection.greeted = true;
        let (block, mut lines) = (vec![b'x'; READ], Vec::new());
        // So much is held that there is room for as much again.
        for _ in 0..20 {
            theirs.write_all(&block).unwrap();
            let before = connection.held_bytes();
            while connection.held_bytes() < before + READ {
                connection.read_lines(&mut lines);
            }
        }
        theirs.set_nonblocking(true).unwrap();
        while theirs.write(&block).is_ok() {}
        let before = connection.held_bytes();
        connection.read_lines(&mut lines);
        assert_eq!(connection.held_bytes(), before + READ);
    }

    #[test]
    fn h2_lines_are_taken_apart_wherever_they_were_cut() {
        let text = b"{\"a\":1}\n\n{\"b\":2}\nrest";
        for cut in 0..=text.len() {
            let (ours, mut theirs) = UnixStream::pair().unwrap();
            let mut connection = ClientConnection::accept(ours).expect("the same user");
            let mut lines = Vec::new();
            for part in [&text[..cut], &text[cut..]] {
                theirs.write_all(part).unwrap();
                connection.read_lines(&mut lines);
            }
            assert_eq!(lines, [b"{\"a\":1}".to_vec(), vec![], b"{\"b\":2}".to_vec()], "{cut}");
            assert_eq!(connection.held_bytes(), 4);
            let long = vec![b'x'; 100_000];
            theirs.write_all(&long).unwrap();
            theirs.write_all(b"\n").unwrap();
            connection.greeted = true;
            while lines.len() < 4 {
                connection.read_lines(&mut lines);
            }
            assert_eq!(lines[3].len(), 4 + long.len());
        }
    }
}
