//! The times that a conversation waits for. It has no clock: it asks to be woken, and counts what has passed since.

use std::time::Duration;

use super::TalkAction;

/// What is to happen after a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TalkTimer {
    /// The kernel has not said that it runs the code, and some never do.
    Begins,
    /// The code has run long enough for an interrupt to meet it.
    Grown,
    /// The kernel has had its time to act on an interrupt.
    Cools,
    /// Code that the kernel threw away is sent again.
    Again,
    /// A message that should have come by now has not.
    Doubt,
    /// Nothing has come from the code since the connection is back.
    Unheard,
}

/// Times that have not passed yet. Setting a timer begins the sleep anew, so other timers may come late by
/// the time that was slept before; none comes early.
#[derive(Debug, Default)]
pub(super) struct TalkTimers {
    left: Vec<(TalkTimer, Duration)>,
    /// How long the sleep is that was asked for last.
    asked: Duration,
    /// A timer was set or has passed, so the next sleep has to be asked for.
    changed: bool,
}

impl TalkTimers {
    pub(super) fn set(&mut self, timer: TalkTimer, after: Duration) {
        self.forget(timer);
        self.left.push((timer, after));
        self.changed = true;
    }

    pub(super) fn forget(&mut self, timer: TalkTimer) {
        self.left.retain(|(known, _)| *known != timer);
    }

    /// The eval that runs is over.
    pub(super) fn forget_eval(&mut self) {
        self.left.retain(|(known, _)| *known == TalkTimer::Doubt);
    }

    pub(super) fn has(&self, timer: TalkTimer) -> bool {
        self.left.iter().any(|(known, _)| *known == timer)
    }

    /// The sleep that was asked for is over: what is due.
    pub(super) fn passed(&mut self) -> Vec<TalkTimer> {
        for (_, left) in &mut self.left {
            *left = left.saturating_sub(self.asked);
        }
        let due = self.left.iter().filter(|(_, left)| left.is_zero());
        let due = due.map(|(timer, _)| *timer).collect();
        self.left.retain(|(_, left)| !left.is_zero());
        self.changed = true;
        due
    }

    /// Asks to be woken for the next timer, if timers have changed since the last call.
    pub(super) fn ask(&mut self, out: &mut Vec<TalkAction>) {
        if !std::mem::take(&mut self.changed) {
            return;
        }
        if let Some(next) = self.left.iter().map(|(_, left)| *left).min() {
            self.asked = next;
            out.push(TalkAction::Wake(next));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(timers: &mut TalkTimers) -> Option<u128> {
        let mut out = Vec::new();
        timers.ask(&mut out);
        match out.pop() {
            Some(TalkAction::Wake(after)) => Some(after.as_millis()),
            _ => None,
        }
    }

    #[test]
    fn k1_several_times_are_kept_with_one_alarm() {
        let mut timers = TalkTimers::default();
        assert_eq!(asked(&mut timers), None);
        timers.set(TalkTimer::Cools, Duration::from_millis(1000));
        assert_eq!(asked(&mut timers), Some(1000));
        timers.set(TalkTimer::Grown, Duration::from_millis(50));
        assert_eq!(asked(&mut timers), Some(50));
        assert_eq!(timers.passed(), [TalkTimer::Grown]);
        assert_eq!(asked(&mut timers), Some(950));
        timers.set(TalkTimer::Doubt, Duration::from_millis(950));
        timers.forget(TalkTimer::Cools);
        assert_eq!(asked(&mut timers), Some(950));
        assert_eq!(timers.passed(), [TalkTimer::Doubt]);
        assert_eq!(asked(&mut timers), None);
    }
}
