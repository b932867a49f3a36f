//! The end of an interpreter, and of the host, which exits when all that happened is recorded.

use std::time::{Duration, Instant};

use stead_interpreter::{Order, pause};
use stead_protocol::{By, EndReason};
use stead_spool::SessionDir;

use crate::host::Host;
use crate::record::unsaved::TRY_EVERY;
use crate::session::state::{Input, Phase};
use crate::with_causes;

/// How long a host that has nothing else to do tries to record what happened.
const LAST_TRIES: Duration = Duration::from_secs(3);

/// How far the end of the interpreter and the host has come.
#[derive(Debug, Default)]
pub(crate) struct HostEnding {
    /// A client was told of the interpreter's end: with an eval that it ended, or with a refusal while it was
    /// ending.
    pub(crate) reported: bool,
    /// The clients that asked for the end.
    pub(crate) askers: EndAskers,
    /// Some processes did not die after the interpreter had ended.
    pub(crate) left: bool,
    /// Set if the session's end could not be written to its `meta.json`: when that is tried again.
    next_meta: Option<Instant>,
    departure: Departure,
}

/// Whether the host exits.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Departure {
    /// The session goes on.
    #[default]
    Stays,
    /// Once everything is recorded, at the latest at this time.
    WhenSaved { by: Instant },
    /// This turn of the loop is the last.
    Leaves,
}

impl Departure {
    /// How it stands with the exit of a host that has nothing else to do. Until everything is saved only this host can tell
    /// clients what happened.
    fn step(self, saved: bool, now: Instant) -> Departure {
        match self {
            Departure::Leaves => Departure::Leaves,
            _ if saved => Departure::Leaves,
            Departure::Stays => Departure::WhenSaved { by: now + LAST_TRIES },
            Departure::WhenSaved { by } if by <= now => Departure::Leaves,
            Departure::WhenSaved { by } => Departure::WhenSaved { by },
        }
    }
}

/// The first client that asked for each kind of end. Of several requests, one decides how the interpreter ends, and
/// it need not be the first.
#[derive(Debug, Default)]
pub(crate) struct EndAskers {
    stop: Option<By>,
    restart: Option<By>,
    kill: Option<By>,
}

impl EndAskers {
    pub(crate) fn note(&mut self, asked: &Input, by: By) {
        let first = match asked {
            Input::Stop(_) => &mut self.stop,
            Input::Restart(_) => &mut self.restart,
            Input::Kill(_) => &mut self.kill,
            _ => return,
        };
        first.get_or_insert(by);
    }

    /// The same end with who asked for it.
    pub(crate) fn name(&self, reason: EndReason) -> EndReason {
        let by = match &reason {
            EndReason::Stopped { .. } => &self.stop,
            EndReason::Restarted { .. } => &self.restart,
            EndReason::Killed { .. } => &self.kill,
            _ => return reason,
        };
        reason.asked_by(by.as_ref())
    }
}

impl HostEnding {
    /// The session's end was written to its `meta.json`, or could not be.
    fn meta_tried(&mut self, saved: bool, now: Instant) {
        self.next_meta = (!saved).then(|| now + TRY_EVERY);
    }

    /// When there is something to do for the end.
    fn next(&self) -> Option<Instant> {
        let leave_by = match self.departure {
            Departure::WhenSaved { by } => Some(by),
            Departure::Stays | Departure::Leaves => None,
        };
        self.next_meta.into_iter().chain(leave_by).min()
    }

    /// Whether this turn of the loop is the last.
    pub(crate) fn leaves(&self) -> bool {
        self.departure == Departure::Leaves
    }
}

impl Host {
    /// Exits now, or as soon as everything is recorded.
    pub(crate) fn leave_when_saved(&mut self) {
        if self.ending.leaves() {
            return;
        }
        self.ending.departure = self.ending.departure.step(!self.has_unsaved(), Instant::now());
        if self.ending.leaves() {
            self.leave();
        }
    }

    /// When it is time, tries again to record what the disk refused, and goes on with work that waited for
    /// that.
    pub(crate) fn catch_up(&mut self) {
        let now = Instant::now();
        if self.ledger.unsaved().next_try().is_some_and(|at| at <= now) {
            self.ledger.try_again();
        }
        for (eval, finished) in self.ledger.recorded_late() {
            self.tell_outcome(eval, &finished);
        }
        if self.blocked.is_some_and(|until| until <= now) {
            self.blocked = None;
            self.step(Input::TryAgain);
        }
        if self.ending.next_meta.is_some_and(|at| at <= now) {
            self.save_meta();
        }
        if self.ending.departure != Departure::Stays {
            self.leave_when_saved();
        }
    }

    /// When `catch_up` has something to do.
    pub(crate) fn next_catch_up(&self) -> Option<Instant> {
        let tries = self.ledger.unsaved().next_try().into_iter();
        tries.chain(self.blocked).chain(self.ending.next()).min()
    }

    fn has_unsaved(&self) -> bool {
        self.ending.next_meta.is_some() || !self.ledger.unsaved().is_empty()
    }

    /// Closes the socket: from here on clients start the next host.
    fn leave(&mut self) {
        self.ledger.close();
        self.clients.close_door();
        let _ = std::fs::remove_file(&self.spec.socket);
        if !self.ending.left {
            self.clients.lock.settle();
        }
        self.orders.push_back(Order::Leave);
    }

    fn save_meta(&mut self) {
        let Ok(meta) = serde_json::to_vec_pretty(&self.meta) else { return };
        let saved = stead_spool::write_atomically(&SessionDir::new(&self.spec.dir).meta(), &meta);
        if let (Err(error), None) = (&saved, self.ending.next_meta) {
            stead_interpreter::log_warn!("{}", with_causes(error));
        }
        // If the directory was deleted, no list has the session any more, and nothing is to be written there.
        let done = saved.is_ok() || !self.spec.dir.exists();
        self.ending.meta_tried(done, Instant::now());
    }

    /// The record of a start that failed keeps the loss before it until somebody is told: the next host, or the client that
    /// comes too late for this one, finds it there.
    pub(crate) fn with_untold_loss(&self, reason: EndReason) -> EndReason {
        match reason {
            EndReason::LaunchFailed { message, trouble, .. } => {
                let untold = self.loss.clone().map(Box::new);
                EndReason::LaunchFailed { message, trouble, untold }
            }
            other => other,
        }
    }

    pub(crate) fn end(&mut self, reason: EndReason, asked: bool) {
        let reason = match reason {
            EndReason::HardTimeout if self.is_left_alone() => EndReason::Gone {
                reason: "the hard timeout passed and the code would not stop, so the connection to what runs it was \
                         given up; the code may go on there"
                    .to_owned(),
            },
            other => other,
        };
        let reported = asked || self.ending.reported;
        self.ledger.end_generation(self.with_untold_loss(reason.clone()), reported);
        self.log_end(&reason);
        pause::point("ended");
        // While processes are left the session stays in lists, so that it can be stopped again.
        let over = matches!(reason, EndReason::Stopped { .. }) || self.meta.settings.policy.once;
        // A session that starts again, or goes on from a copy, is not over, even if it is for one eval.
        let goes_on = !matches!(self.state.phase, Phase::Ended { .. });
        if over && !goes_on && !self.ending.left {
            self.meta = self.meta.clone().into_stopped();
            self.save_meta();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::state::Ticket;

    #[test]
    fn e6_an_end_names_who_asked_for_this_kind_of_end_first() {
        let mut askers = EndAskers::default();
        let ticket = Ticket { connection: 1, id: 1 };
        for (asked, by) in [
            (Input::Restart(ticket), "one"),
            (Input::Stop(ticket), "two"),
            (Input::Stop(ticket), "three"),
        ] {
            askers.note(&asked, By::from(by));
        }
        let asker = |reason| askers.name(reason).asker().map(ToString::to_string);
        assert_eq!(asker(EndReason::Stopped { by: None }).as_deref(), Some("two"));
        assert_eq!(asker(EndReason::Restarted { by: None }).as_deref(), Some("one"));
        assert_eq!(asker(EndReason::Killed { by: None }), None);
        assert_eq!(asker(EndReason::HostDied), None);
    }

    #[test]
    fn e11_an_end_that_the_disk_refuses_has_its_own_time_to_be_tried_again() {
        let now = Instant::now();
        let mut ending = HostEnding::default();
        ending.meta_tried(false, now);
        assert_eq!(ending.next(), Some(now + TRY_EVERY));
        ending.departure = ending.departure.step(false, now);
        assert_eq!(ending.next(), Some(now + TRY_EVERY));
        ending.meta_tried(true, now + TRY_EVERY);
        assert_eq!(ending.next(), Some(now + LAST_TRIES));
    }

    #[test]
    fn e11_a_host_leaves_when_all_is_saved_or_its_last_tries_are_over() {
        let now = Instant::now();
        let waits = Departure::WhenSaved { by: now + LAST_TRIES };
        assert_eq!(Departure::Stays.step(true, now), Departure::Leaves);
        assert_eq!(Departure::Stays.step(false, now), waits);
        assert_eq!(waits.step(false, now + TRY_EVERY), waits);
        assert_eq!(waits.step(true, now + TRY_EVERY), Departure::Leaves);
        assert_eq!(waits.step(false, now + LAST_TRIES), Departure::Leaves);
        assert_eq!(Departure::Leaves.step(false, now), Departure::Leaves);
    }
}
