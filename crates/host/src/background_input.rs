//! Input for a reader that outlived its eval: a thread or child that waits while nothing runs.

use std::time::{Duration, Instant};

use stead_launch::stdin_wait::Reader;
use stead_protocol::Offset;
use stead_protocol::client::{FromHost, Reply};

use crate::host::Host;
use crate::state::Ticket;

/// How long a call stays with a reader that has what it wanted and goes on with something else.
/// What it writes later is not lost: it is background output.
const STAY: Duration = Duration::from_millis(250);

/// An answer on its way to a background reader.
pub(crate) struct BackgroundInput {
    ticket: Ticket,
    from: Offset,
    reader: Reader,
    taken_at: Option<Instant>,
    pause: Duration,
    next: Instant,
}

impl BackgroundInput {
    pub(crate) fn new(ticket: Ticket, from: Offset, reader: Reader) -> BackgroundInput {
        let pause = Duration::from_millis(1);
        let next = Instant::now() + pause;
        BackgroundInput { ticket, from, reader, taken_at: None, pause, next }
    }

    pub(crate) fn next(&self) -> Instant {
        self.next
    }
}

impl Host {
    /// Answers the call when the reader has ended, reads again, or is busy with something else.
    pub(crate) fn continue_background_input(&mut self) {
        let (Some(input), Some(bridge)) = (&mut self.background_input, &mut self.bridge) else {
            return;
        };
        let now = Instant::now();
        if now < input.next {
            return;
        }
        let taken = bridge.stdin_unread() == 0;
        if taken {
            input.taken_at.get_or_insert(now);
        }
        let gone = stead_launch::tree::look(input.reader.tid).is_none_or(|task| task.state == b'Z');
        let reads_again = taken && bridge.is_reading(input.reader);
        let stayed = input.taken_at.is_some_and(|at| now.duration_since(at) >= STAY);
        if !(gone || reads_again || stayed) {
            input.pause = (input.pause * 2).min(Duration::from_millis(20));
            input.next = now + input.pause;
            return;
        }
        if self.state.running().is_none()
            && let Err(error) = bridge.drop_input()
        {
            eprintln!("could not drop unread input: {error}");
        }
        // What a thread prints while nothing runs comes as events, not through the pipes.
        self.read_bridge();
        let Some(input) = self.background_input.take() else { return };
        let to = Some(self.ledger.end());
        if self.state.running().is_none() {
            self.ledger.tell_background();
        }
        let reply = Reply::InputTaken { eval: None, from: input.from, to };
        self.send(input.ticket.connection, &FromHost::Reply { id: input.ticket.id, reply });
    }
}
