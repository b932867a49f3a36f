//! How often a pipe is read into which code writes many small pieces.
//!
//! Each piece that finds the pipe empty wakes us, which costs its writer more than the write itself. So a
//! program that writes line after line may write for a moment before the pipe is read again. A program that
//! writes to both pipes in turn may not: it waits for each pipe to be empty, to keep their order.

use std::time::{Duration, Instant};

use stead_protocol::bridge::Stream;

use super::drain::READ;

/// How long a pipe is left unread: too short to be seen, and too short for a pipe to fill.
const PAUSE: Duration = Duration::from_micros(500);
/// A read of at least this many bytes is worth a wake-up.
const LARGE: usize = 16 << 10;
/// A pipe that held this many bytes may have been full, so that its writer waits for us: a piece that does not fit
/// into the last page begins a new one, so a full pipe can be half empty.
const FULL: usize = READ / 2;
/// After this many small reads in a row the pipe is left unread for a moment.
const MANY: u32 = 8;

/// What the last reads were like.
#[derive(Debug, Default)]
pub(super) struct Pace {
    stream: Option<Stream>,
    small: u32,
    until: Option<Instant>,
}

impl Pace {
    /// Notes that this many bytes were read now.
    pub(super) fn note(&mut self, stream: Stream, bytes: usize, now: Instant) {
        let same = self.stream == Some(stream);
        self.stream = Some(stream);
        let rested = same && self.until.is_some();
        // Bytes that gathered while the pipe was left unread do not show how large the single writes were.
        let small = same && (rested || bytes < LARGE);
        self.small = if small { self.small.saturating_add(1) } else { 0 };
        self.until = (self.small >= MANY && bytes < FULL).then(|| now + PAUSE);
    }

    /// The pipe that is left unread now.
    pub(super) fn resting(&self, now: Instant) -> Option<Stream> {
        self.stream.filter(|_| self.until.is_some_and(|until| until > now))
    }

    /// The pipe that was left unread last: it may hold bytes that no `poll` has reported.
    pub(super) fn left_unread(&self) -> Option<Stream> {
        self.stream.filter(|_| self.until.is_some())
    }

    /// When the pipe that is left unread is to be read again.
    pub(super) fn until(&self) -> Option<Instant> {
        self.until
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn p4_what_came_during_a_pause_does_not_end_the_pauses() {
        let now = Instant::now();
        let mut pace = Pace::default();
        for _ in 0..=MANY {
            pace.note(Stream::Out, 10, now);
        }
        for _ in 0..100 {
            pace.note(Stream::Out, LARGE, now);
            assert_eq!(pace.resting(now), Some(Stream::Out));
        }
        // A full pipe is read again at once, and shows whether its writer has become one of large pieces.
        pace.note(Stream::Out, FULL, now);
        assert_eq!(pace.resting(now), None);
        pace.note(Stream::Out, 10, now);
        assert_eq!(pace.resting(now), Some(Stream::Out));
        pace.note(Stream::Out, FULL, now);
        pace.note(Stream::Out, FULL, now);
        pace.note(Stream::Out, 10, now);
        assert_eq!(pace.resting(now), None);
    }

    #[test]
    fn p4_only_a_writer_of_many_small_pieces_to_one_pipe_is_left_alone() {
        let now = Instant::now();
        let mut pace = Pace::default();
        for _ in 0..MANY {
            pace.note(Stream::Out, 10, now);
            assert_eq!(pace.resting(now), None);
        }
        pace.note(Stream::Out, 10, now);
        assert_eq!(pace.resting(now), Some(Stream::Out));
        assert_eq!(pace.resting(now + PAUSE), None);
        let mut pace = Pace::default();
        for turn in 0..100 {
            pace.note(if turn % 2 == 0 { Stream::Out } else { Stream::Err }, 10, now);
            assert_eq!(pace.resting(now), None);
        }
    }
}
