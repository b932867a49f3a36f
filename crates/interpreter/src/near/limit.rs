//! The hard timeout of an eval (SPEC E-3): interrupt, then its children, then the interpreter.

use stead_protocol::TimeoutStep;

use crate::clock::Millis;

/// How long code may go on after each step.
const GRACE: Millis = 2_000;

/// Where an eval's hard timeout stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Limit {
    Off,
    At(Millis),
    /// It was interrupted; its children are next.
    Interrupted {
        next: Millis,
    },
    /// Its children were killed too; its interpreter is next.
    ChildrenKilled {
        next: Millis,
    },
}

impl Limit {
    pub(super) fn after(limit: Option<Millis>, now: Millis) -> Limit {
        limit.map_or(Limit::Off, |limit| Limit::At(now.saturating_add(limit)))
    }

    /// The step that is due now, which counts as taken from then on.
    pub(super) fn pass(&mut self, now: Millis) -> Option<TimeoutStep> {
        let (step, then) = match *self {
            Limit::At(at) if at <= now => {
                (TimeoutStep::Interrupted, Limit::Interrupted { next: now + GRACE })
            }
            Limit::Interrupted { next } if next <= now => {
                (TimeoutStep::ChildrenKilled, Limit::ChildrenKilled { next: now + GRACE })
            }
            Limit::ChildrenKilled { next } if next <= now => {
                (TimeoutStep::InterpreterKilled, Limit::Off)
            }
            Limit::Off
            | Limit::At(_)
            | Limit::Interrupted { .. }
            | Limit::ChildrenKilled { .. } => return None,
        };
        *self = then;
        Some(step)
    }

    pub(super) fn next(&self) -> Option<Millis> {
        match *self {
            Limit::Off => None,
            Limit::At(at)
            | Limit::Interrupted { next: at }
            | Limit::ChildrenKilled { next: at } => Some(at),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn e3_each_step_has_its_grace_and_comes_once() {
        let mut limit = Limit::after(Some(100), 1_000);
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
        assert_eq!(Limit::after(None, 5).pass(u64::MAX), None);
    }
}
