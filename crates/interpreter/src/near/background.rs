//! Input for a reader that outlived its eval: a thread or child that waits while nothing runs.

use std::time::{Duration, Instant};

use stead_launch::stdin_wait::InputReader;
use stead_launch::tree;

use super::Tell;
use super::interpreter::Interpreter;
use crate::told::Told;

/// How long a request stays with a reader that has read its input and goes on with something else. Output
/// that the reader writes later is not lost: it becomes background output.
const STAY: Duration = Duration::from_millis(250);

/// Input on its way to a background reader.
#[derive(Debug)]
pub(super) struct BackgroundInput {
    seq: u64,
    reader: InputReader,
    taken_at: Option<Instant>,
    pause: Duration,
    next: Instant,
}

impl BackgroundInput {
    pub(super) fn new(seq: u64, reader: InputReader) -> BackgroundInput {
        let pause = Duration::from_millis(1);
        BackgroundInput { seq, reader, taken_at: None, pause, next: Instant::now() + pause }
    }

    pub(super) fn next(&self) -> Instant {
        self.next
    }

    pub(super) fn seq(&self) -> u64 {
        self.seq
    }
}

impl Interpreter {
    /// Tells when the reader has ended, reads again, or is busy with something else.
    pub(super) fn continue_background_input(&mut self, tell: Tell<'_>) {
        let now = Instant::now();
        let Some(reader) =
            self.background.as_ref().filter(|input| input.next <= now).map(|input| input.reader)
        else {
            return;
        };
        let taken = self.stdin_unread() == 0;
        let gone = tree::look(reader.tid).is_none_or(|task| task.state == b'Z');
        let reads_again = taken && self.is_reading(reader);
        let Some(input) = &mut self.background else { return };
        if taken {
            input.taken_at.get_or_insert(now);
        }
        let stayed = input.taken_at.is_some_and(|at| now.duration_since(at) >= STAY);
        if !(gone || reads_again || stayed) {
            input.pause = (input.pause * 2).min(Duration::from_millis(20));
            input.next = now + input.pause;
            return;
        }
        if self.run.is_none() {
            self.drop_input();
        }
        // Output of a thread while no eval runs comes as events, not through the pipes.
        self.hear(tell);
        if let Some(input) = self.background.take() {
            tell(Told::InputRead { seq: input.seq });
        }
    }
}
