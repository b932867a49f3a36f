//! When to look whether the running eval waits for input: ever less often. And for how long a finding must
//! hold before it is told.

use std::time::{Duration, Instant};

use stead_launch::stdin_wait::{InputReader, WaitAnswer, WaitDoubt};

use crate::clock::Millis;

/// Pauses between looks; the last one repeats.
const PAUSES_MS: [u64; 7] = [5, 10, 10, 20, 50, 100, 250];
/// How soon to look after something was written; not sooner, because much may be written.
const STIRRED_MS: u64 = 10;
/// A look at many processes takes long; the pause after it is this many times as long.
const PAUSE_PER_LOOK: u32 = 20;
/// A reader counts as blocked when two looks this far apart have found it.
const BLOCKED_FOR: Duration = Duration::from_millis(8);
/// The same for a reader beside a thread that works and may be about to end the eval.
const BLOCKED_BESIDE: Duration = Duration::from_millis(250);
/// How long a program that wakes itself must be quiet to count as possibly waiting.
const QUIET: Millis = 3_000;
/// Most of one processor that a quiet program uses, in percent.
const QUIET_CPU: u64 = 1;

/// The schedule of looks at one eval.
#[derive(Debug)]
pub(super) struct Probe {
    step: usize,
    next: Instant,
    seen: Option<(InputReader, WaitAnswer, Instant)>,
    /// The bridge said that the main thread is about to block. One look has to confirm it, because its word
    /// may be old: input that was given meanwhile may have been read already.
    announced: bool,
    misses: u32,
    quiet: Option<QuietSince>,
    /// Clients were told that the program is alone with its input; that is told once until input is given.
    told_alone: bool,
}

/// Since when a program that may be waiting has done nothing.
#[derive(Debug, Clone, Copy)]
struct QuietSince {
    reader: InputReader,
    since: Millis,
    cpu: Millis,
}

/// What the looks so far tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Finding {
    /// The next look will tell.
    Unclear,
    /// Nothing reads the input, or the program that does is busy.
    No,
    /// It may be waiting; `alone` if clients that wait should be told at once.
    May {
        alone: bool,
    },
    Waits,
}

impl Probe {
    pub(super) fn new() -> Probe {
        let mut probe = Probe {
            step: 0,
            next: Instant::now(),
            seen: None,
            announced: false,
            misses: 0,
            quiet: None,
            told_alone: false,
        };
        probe.restart();
        probe
    }

    /// Something was written: a program that waits for an answer often asks first. A blocked reader stays
    /// blocked whatever others write, so only the time of silence begins anew.
    pub(super) fn stir(&mut self) {
        self.step = 0;
        self.quiet = None;
        self.next = self.next.min(Instant::now() + Duration::from_millis(STIRRED_MS));
    }

    /// The input has changed: begins again with short pauses.
    pub(super) fn restart(&mut self) {
        self.step = 0;
        self.seen = None;
        self.announced = false;
        self.misses = 0;
        self.quiet = None;
        self.told_alone = false;
        self.next = Instant::now() + Duration::from_millis(PAUSES_MS[0]);
    }

    /// The bridge announced a wait: look at once.
    pub(super) fn announce(&mut self) {
        self.restart();
        self.announced = true;
        self.next = Instant::now();
    }

    pub(super) fn next(&self) -> Instant {
        self.next
    }

    /// Plans the next look; the last one began at `began`.
    pub(super) fn later(&mut self, began: Instant) {
        let pause = if self.announced && self.step == 0 { 1 } else { PAUSES_MS[self.step] };
        let now = Instant::now();
        let cost = now.duration_since(began) * PAUSE_PER_LOOK;
        self.next = now + Duration::from_millis(pause).max(cost);
        self.step = (self.step + 1).min(PAUSES_MS.len() - 1);
    }

    /// Takes what a look found. `now` is the session's time; `cpu` asks how much of a processor's
    /// time its processes have used, in milliseconds.
    pub(super) fn found(
        &mut self,
        found: Option<(InputReader, WaitAnswer)>,
        now: Millis,
        cpu: impl FnOnce() -> Millis,
    ) -> Finding {
        let Some((reader, answer)) = found.filter(|(_, answer)| *answer != WaitAnswer::No) else {
            self.seen = None;
            self.misses += 1;
            // A program that wakes itself now and then may have been awake at just this look.
            if self.misses < 2 {
                return Finding::Unclear;
            }
            self.quiet = None;
            return Finding::No;
        };
        self.misses = 0;
        let held = match self.seen {
            Some((seen, as_what, since)) if (seen, as_what) == (reader, answer) => since.elapsed(),
            _ => {
                self.seen = Some((reader, answer, Instant::now()));
                if answer == WaitAnswer::Waits {
                    self.step = 0;
                }
                Duration::ZERO
            }
        };
        match answer {
            WaitAnswer::No => Finding::No,
            WaitAnswer::Waits if self.announced || held >= BLOCKED_FOR => Finding::Waits,
            WaitAnswer::Waits => Finding::Unclear,
            WaitAnswer::May(WaitDoubt::Beside) if held >= BLOCKED_BESIDE => {
                Finding::May { alone: false }
            }
            WaitAnswer::May(WaitDoubt::Beside) => Finding::Unclear,
            WaitAnswer::May(why @ (WaitDoubt::OwnTime | WaitDoubt::Elsewhere)) => {
                if !self.is_quiet(reader, now, cpu()) {
                    return Finding::No;
                }
                let alone = why == WaitDoubt::OwnTime && !self.told_alone;
                self.told_alone |= alone;
                Finding::May { alone }
            }
        }
    }

    /// Whether the reader has done nothing for long enough.
    fn is_quiet(&mut self, reader: InputReader, now: Millis, cpu: Millis) -> bool {
        let fresh = QuietSince { reader, since: now, cpu };
        let quiet = self.quiet.get_or_insert(fresh);
        let long = now.saturating_sub(quiet.since);
        // Processor time is counted in steps of ten milliseconds.
        let busy = cpu.saturating_sub(quiet.cpu) > long * QUIET_CPU / 100 + 10;
        if quiet.reader != reader || busy {
            *quiet = fresh;
            return false;
        }
        long >= QUIET
    }

    /// While an eval counts as waiting: whether two looks in a row found no reader.
    pub(super) fn is_gone(&mut self, still_reading: bool) -> bool {
        self.misses = if still_reading { 0 } else { self.misses + 1 };
        self.misses >= 2
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const READER: InputReader = InputReader { pid: 5, tid: 5, polls: true };

    fn look(probe: &mut Probe, answer: WaitAnswer, now: Millis, cpu: Millis) -> Finding {
        probe.found(Some((READER, answer)), now, || cpu)
    }

    #[test]
    fn e8_a_program_with_a_time_of_its_own_may_wait_when_it_was_quiet() {
        let own = WaitAnswer::May(WaitDoubt::OwnTime);
        let mut probe = Probe::new();
        assert_eq!(look(&mut probe, own, 0, 500), Finding::No);
        assert_eq!(look(&mut probe, own, 2_900, 520), Finding::No);
        // A look that found it running is no reason to begin again.
        assert_eq!(probe.found(None, 2_950, || 520), Finding::Unclear);
        assert_eq!(look(&mut probe, own, 3_000, 520), Finding::May { alone: true });
        // Said once, until there is input.
        assert_eq!(look(&mut probe, own, 3_250, 520), Finding::May { alone: false });
        probe.restart();
        assert_eq!(look(&mut probe, own, 4_000, 520), Finding::No);
        assert_eq!(look(&mut probe, own, 7_000, 520), Finding::May { alone: true });
    }

    #[test]
    fn e8_output_work_and_another_reader_are_not_quiet() {
        let own = WaitAnswer::May(WaitDoubt::OwnTime);
        let mut probe = Probe::new();
        look(&mut probe, own, 0, 0);
        probe.stir();
        assert_eq!(look(&mut probe, own, 3_000, 0), Finding::No);
        assert_eq!(look(&mut probe, own, 6_000, 50), Finding::No, "it used 50 ms");
        assert_eq!(look(&mut probe, own, 9_000, 60), Finding::May { alone: true });
        let other = InputReader { pid: 6, tid: 6, polls: true };
        assert_eq!(probe.found(Some((other, own)), 9_100, || 60), Finding::No);
        probe.found(None, 9_200, || 60);
        assert_eq!(probe.found(None, 9_300, || 60), Finding::No);
        assert_eq!(look(&mut probe, own, 13_000, 60), Finding::No);
    }

    #[test]
    fn e8_a_program_that_listens_elsewhere_too_sends_nobody_back() {
        let ssh = WaitAnswer::May(WaitDoubt::Elsewhere);
        let mut probe = Probe::new();
        look(&mut probe, ssh, 0, 0);
        assert_eq!(look(&mut probe, ssh, 3_000, 0), Finding::May { alone: false });
    }

    #[test]
    fn e8_one_look_agrees_with_the_bridge_and_two_are_needed_without() {
        let mut probe = Probe::new();
        assert_eq!(look(&mut probe, WaitAnswer::Waits, 0, 0), Finding::Unclear);
        probe.announce();
        assert_eq!(look(&mut probe, WaitAnswer::Waits, 0, 0), Finding::Waits);
        probe.announce();
        assert_eq!(look(&mut probe, WaitAnswer::No, 0, 0), Finding::Unclear);
    }
}
