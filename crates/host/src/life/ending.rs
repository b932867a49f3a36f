//! The end of an interpreter, and of the host, which exits when all that happened is recorded.

use std::time::{Duration, Instant};

use stead_interpreter::{Order, pause};
use stead_protocol::{By, EndReason};
use stead_spool::SessionDir;

use crate::host::Host;
use crate::session::state::Input;
use crate::with_causes;

/// How long a host that has nothing else to do tries to record what happened.
const LAST_TRIES: Duration = Duration::from_secs(3);

/// How far the end of the interpreter and the host has come.
#[derive(Debug, Default)]
pub(crate) struct HostEnding {
    /// A client was told of the interpreter's end: with an eval that it ended, or with a refusal while it was
    /// ending.
    pub(crate) reported: bool,
    /// The client that asked for the end, if one did.
    pub(crate) by: Option<By>,
    /// Some processes did not die after the interpreter had ended.
    pub(crate) left: bool,
    /// The session's end could not be written to its `meta.json`.
    unsaved_meta: bool,
    /// The host exits once everything is recorded, at the latest at this time.
    leave_by: Option<Instant>,
    /// This turn of the loop is the last.
    pub(crate) leaving: bool,
}

impl Host {
    /// Exits now, or as soon as everything is recorded: until then only this host can tell clients what
    /// happened.
    pub(crate) fn leave_when_saved(&mut self) {
        match self.has_unsaved() {
            true => self.ending.leave_by = Some(Instant::now() + LAST_TRIES),
            false => self.leave(),
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
        if self.ending.unsaved_meta && self.save_meta() {
            self.ending.unsaved_meta = false;
        }
        if self.ending.leave_by.is_some_and(|by| by <= now || !self.has_unsaved()) {
            self.leave();
        }
    }

    /// When `catch_up` has something to do.
    pub(crate) fn next_catch_up(&self) -> Option<Instant> {
        let tries = self.ledger.unsaved().next_try().into_iter();
        tries.chain(self.blocked).chain(self.ending.leave_by).min()
    }

    fn has_unsaved(&self) -> bool {
        self.ending.unsaved_meta || !self.ledger.unsaved().is_empty()
    }

    /// Closes the socket: from here on clients start the next host.
    fn leave(&mut self) {
        self.ending.leave_by = None;
        self.ledger.close();
        self.clients.close_door();
        let _ = std::fs::remove_file(&self.spec.socket);
        self.orders.push_back(Order::Leave);
        self.ending.leaving = true;
    }

    fn save_meta(&self) -> bool {
        let Ok(meta) = serde_json::to_vec_pretty(&self.meta) else { return true };
        match stead_spool::write_atomically(&SessionDir::new(&self.spec.dir).meta(), &meta) {
            Ok(()) => true,
            Err(error) => {
                eprintln!("{}", with_causes(&error));
                false
            }
        }
    }

    pub(crate) fn end(&mut self, reason: EndReason, asked: bool) {
        let reported = asked || self.ending.reported;
        self.ledger.end_generation(reason.clone(), reported);
        pause::point("ended");
        // While processes are left the session stays in lists, so that it can be stopped again.
        let over = matches!(reason, EndReason::Stopped { .. }) || self.meta.settings.policy.once;
        if over && !self.ending.left {
            self.meta = self.meta.clone().into_stopped();
            self.ending.unsaved_meta = !self.save_meta();
        }
    }
}
