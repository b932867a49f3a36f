//! When to look whether something waits for input: only while an eval runs, ever less often.

use std::time::{Duration, Instant};

use stead_launch::stdin_wait::Reader;

/// Pauses between looks; the last one repeats.
const PAUSES_MS: [u64; 7] = [5, 10, 10, 20, 50, 100, 250];
/// How soon to look after something was written; not sooner, because much may be.
const STIRRED_MS: u64 = 10;
/// A reader counts as blocked when two looks this far apart have found it.
const BLOCKED_FOR: Duration = Duration::from_millis(8);
/// The same for a thread or child beside a main thread that is busy.
const BLOCKED_BESIDE: Duration = Duration::from_millis(250);

/// The schedule of looks at one eval.
#[derive(Debug)]
pub(crate) struct Probe {
    step: usize,
    next: Instant,
    seen: Option<(Reader, Instant)>,
    /// The bridge said that the main thread is about to block; one look has to agree. Its word
    /// alone may be old: input given meanwhile may have been taken already.
    announced: bool,
    misses: u32,
}

impl Probe {
    pub(crate) fn new() -> Probe {
        let mut probe =
            Probe { step: 0, next: Instant::now(), seen: None, announced: false, misses: 0 };
        probe.restart();
        probe
    }

    /// Something was written: what waits for an answer often asks first. Who is blocked stays
    /// blocked whatever others write, so nothing that was seen is forgotten.
    pub(crate) fn stir(&mut self) {
        self.step = 0;
        self.next = self.next.min(Instant::now() + Duration::from_millis(STIRRED_MS));
    }

    /// Something happened to the input: begin again with short pauses.
    pub(crate) fn restart(&mut self) {
        self.step = 0;
        self.seen = None;
        self.announced = false;
        self.misses = 0;
        self.next = Instant::now() + Duration::from_millis(PAUSES_MS[0]);
    }

    /// The bridge announced a wait: look at once.
    pub(crate) fn announce(&mut self) {
        self.restart();
        self.announced = true;
        self.next = Instant::now();
    }

    pub(crate) fn next(&self) -> Instant {
        self.next
    }

    fn later(&mut self) {
        let pause = if self.announced && self.step == 0 { 1 } else { PAUSES_MS[self.step] };
        self.next = Instant::now() + Duration::from_millis(pause);
        self.step = (self.step + 1).min(PAUSES_MS.len() - 1);
    }

    /// Takes what a look found; whether a reader is blocked for certain. Without `hurry` that
    /// takes longer.
    pub(crate) fn found(&mut self, reader: Option<Reader>, hurry: bool) -> bool {
        let now = Instant::now();
        let long_enough = if hurry { BLOCKED_FOR } else { BLOCKED_BESIDE };
        let certain = match (reader, self.seen) {
            (Some(_), _) if self.announced => true,
            (Some(now_seen), Some((seen, since))) if now_seen == seen => {
                now.duration_since(since) >= long_enough
            }
            (Some(fresh), _) => {
                self.seen = Some((fresh, now));
                self.step = 0;
                false
            }
            (None, _) => {
                self.seen = None;
                false
            }
        };
        self.later();
        certain
    }

    /// While an eval counts as waiting: whether two looks in a row found nobody reading.
    pub(crate) fn is_gone(&mut self, still_reading: bool) -> bool {
        self.misses = if still_reading { 0 } else { self.misses + 1 };
        self.later();
        self.misses >= 2
    }
}
