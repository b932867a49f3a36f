//! The hard timeout of an eval (SPEC E-3): interrupt, then its children, then the interpreter.

use stead_protocol::TimeoutStep;

use crate::clock::Millis;

/// How long code may go on after each step.
const GRACE: Millis = 2_000;

/// Where an eval's hard timeout stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HardLimit {
    Off,
    At(Millis),
    /// The eval was interrupted; its children are killed next.
    Interrupted {
        next: Millis,
    },
    /// The eval's children were killed, too; its interpreter is killed next.
    ChildrenKilled {
        next: Millis,
    },
}

impl HardLimit {
    pub(super) fn after(limit: Option<Millis>, now: Millis) -> HardLimit {
        limit.map_or(HardLimit::Off, |limit| HardLimit::At(now.saturating_add(limit)))
    }

    /// The step that is due now, which counts as taken from then on.
    pub(super) fn pass(&mut self, now: Millis) -> Option<TimeoutStep> {
        let (step, then) = match *self {
            HardLimit::At(at) if at <= now => {
                (TimeoutStep::Interrupted, HardLimit::Interrupted { next: now + GRACE })
            }
            HardLimit::Interrupted { next } if next <= now => {
                (TimeoutStep::ChildrenKilled, HardLimit::ChildrenKilled { next: now + GRACE })
            }
            HardLimit::ChildrenKilled { next } if next <= now => {
                (TimeoutStep::InterpreterKilled, HardLimit::Off)
            }
            HardLimit::Off
            | HardLimit::At(_)
            | HardLimit::Interrupted { .. }
            | HardLimit::ChildrenKilled { .. } => return None,
        };
        *self = then;
        Some(step)
    }

    pub(super) fn next(&self) -> Option<Millis> {
        match *self {
            HardLimit::Off => None,
            HardLimit::At(at)
            | HardLimit::Interrupted { next: at }
            | HardLimit::ChildrenKilled { next: at } => Some(at),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn e3_each_step_has_its_grace_and_comes_once() {
        let mut limit = HardLimit::after(Some(100), 1_000);
        let mut steps = Vec::new();
        for now in (1_000..10_000).step_by(50) {
            steps.extend(limit.pass(now).map(|step| (now, step)));
        }
        let expected = [
            (1_100, TimeoutStep::Interrupted),
            (3_100, TimeoutStep::ChildrenKilled),
            (5_100, TimeoutStep::InterpreterKilled),
        ];
        assert_eq!(steps, expected);
        assert_eq!(limit.next(), None);
        assert_eq!(HardLimit::after(None, 5).pass(u64::MAX), None);
    }
}
