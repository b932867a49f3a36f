//! Wakes an interpreter again that may have slept through its interrupt; the interrupt itself is not
//! repeated.

use std::time::{Duration, Instant};

/// Pauses between an interrupt and its nudges. A signal that comes just before a blocking system call is
/// noted by the interpreter but does not end the call; the next signal does.
const PAUSES_MS: [u64; 5] = [10, 30, 100, 300, 1000];

/// Nudges that are still to come.
#[derive(Debug, Default)]
pub(super) struct Nudges {
    next: Option<(Instant, usize)>,
}

impl Nudges {
    /// An interrupt was sent.
    pub(super) fn begin(&mut self) {
        self.plan(0);
    }

    /// The interrupted eval is over.
    pub(super) fn end(&mut self) {
        self.next = None;
    }

    /// When the next one is due.
    pub(super) fn next(&self) -> Option<Instant> {
        self.next.map(|(at, _)| at)
    }

    /// Whether to nudge now.
    pub(super) fn is_due(&mut self) -> bool {
        match self.next {
            Some((at, step)) if at <= Instant::now() => {
                self.plan(step + 1);
                true
            }
            _ => false,
        }
    }

    fn plan(&mut self, step: usize) {
        let pause = PAUSES_MS.get(step).map(|ms| Duration::from_millis(*ms));
        self.next = pause.map(|pause| (Instant::now() + pause, step));
    }
}
