//! The running eval, as far as the lower half knows it.

use std::borrow::Cow;

use stead_protocol::Capability;
use stead_protocol::EvalId;
use stead_protocol::ShellPlace;
use stead_protocol::TimeoutStep;
use stead_protocol::bridge::Command;

use super::Tell;
use super::interpreter::Interpreter;
use super::listening::{BridgeWord, ToldListening};
use super::probe::Probe;
use super::waking::Succession;
use crate::clock::Millis;
use crate::told::Told;

/// Number of our own question for the bridge's compiled form; those of the upper half begin at 1.
pub(super) const OWN_QUESTION: u64 = 0;
/// Numbers of our own pauses; the upper half never counts as far as this.
pub(super) const OWN_PAUSE: u64 = u64::MAX;
pub(super) const OWN_RESUME: u64 = u64::MAX - 1;

/// An eval that was sent to the bridge and is not done.
#[derive(Debug)]
pub(super) struct Run {
    pub(super) eval: EvalId,
    pub(super) listening: ToldListening,
    pub(super) probe: Probe,
    pub(super) word: BridgeWord,
}

impl Interpreter {
    /// The next eval is the last one.
    pub(super) fn announce_last(&mut self) {
        if self.can(Capability::Last) {
            self.send(&Command::Last.encode());
        }
    }

    pub(super) fn run(
        &mut self,
        eval: EvalId,
        code: &str,
        place: Option<ShellPlace>,
        limit: Option<Millis>,
        now: Millis,
    ) {
        self.begin();
        if let Some(place) = &place {
            self.send(&Command::Place(place).encode());
        }
        let code = self.readable(code);
        self.send(&Command::Eval { id: &eval, code: &code }.encode());
        self.runs(eval, limit, now);
    }

    /// Work that is not code runs as code does: it may call code of the user's, which reads, writes and is
    /// interrupted.
    pub(super) fn work(
        &mut self,
        eval: EvalId,
        what: &str,
        argument: &str,
        limit: Option<Millis>,
        now: Millis,
    ) {
        self.begin();
        let argument = self.readable(argument);
        self.send(&Command::Work { id: &eval, what, argument: &argument }.encode());
        self.copies.expected |= what == "checkpoint";
        self.runs(eval, limit, now);
    }

    fn runs(&mut self, eval: EvalId, limit: Option<Millis>, now: Millis) {
        self.limit = self.limit_of_next(limit, now);
        self.run = Some(Run {
            eval,
            listening: ToldListening::No,
            probe: Probe::new(),
            word: BridgeWord::default(),
        });
    }

    pub(super) fn ask(&mut self, seq: u64, what: &str, arg: &str) {
        self.begin();
        let arg = self.readable(arg);
        self.send(&Command::Query { seq, what, arg: &arg }.encode());
    }

    pub(super) fn clear(&mut self, seq: u64, limit: Option<Millis>, now: Millis) {
        self.begin();
        self.clears = Some(seq);
        self.limit = self.limit_of_next(limit, now);
        self.send(&Command::Clear { seq }.encode());
    }

    pub(super) fn ask_exit(&mut self) {
        self.succession = Succession::End;
        self.send(&Command::Exit.encode());
    }

    /// The text without NULs, if the bridge has `NoNul`: a shell drops NULs when it reads, and would count
    /// too few bytes.
    fn readable<'a>(&self, text: &'a str) -> Cow<'a, str> {
        if text.contains('\0') && self.can(Capability::NoNul) {
            return Cow::Owned(text.replace('\0', ""));
        }
        Cow::Borrowed(text)
    }

    pub(super) fn next_limit(&self) -> Option<Millis> {
        self.limit.next().or_else(|| self.limit_begins())
    }

    /// Takes, when it is time, the next step of the hard timeout.
    pub(super) fn pass_limit(&mut self, now: Millis, tell: Tell<'_>) {
        self.begin_limit(now);
        let Some(step) = self.limit.pass(now) else { return };
        match step {
            TimeoutStep::Interrupted => self.interrupt(),
            TimeoutStep::ChildrenKilled => self.kill_children(tell),
            TimeoutStep::InterpreterKilled | TimeoutStep::Disconnected => self.kill(),
        }
        tell(Told::Overdue { step });
    }
}
