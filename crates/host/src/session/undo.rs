//! Undo (SPEC ST-5): while a session is idle it copies itself, and goes back to such a copy when it is asked to, or when
//! a signal has ended its interpreter.
//!
//! A copy is ordered when the session has been idle for a moment. It is not work: an eval that comes meanwhile is sent
//! behind it, and the bridge does one after the other.

use std::path::PathBuf;

use serde_json::Value;
use stead_interpreter::{Millis, Order, SavedCopy};
use stead_protocol::{Capability, EvalSeq, EvalSet, Refusal, UndoStatus, UndoTrouble};

use crate::host::Host;
use crate::life::wall_clock::wall_ms;
use crate::session::copies::{EndedEval, KeptCopy, MadeCopy, RING};
use crate::session::from_text::unsaved;
use crate::session::state::Phase;

/// How long a session is idle before it is copied: evals in quick succession pay nothing.
const SETTLED: Millis = 50;
/// After this time without an eval one copy is enough.
const LONG_IDLE: Millis = 10 * 60 * 1000;
/// A text that takes longer to write is not written after each eval.
const LONG_TEXT: Millis = 500;
/// Texts for undo have numbers from here on.
const OWN_TEXTS: u32 = 1 << 31;
/// If the interpreter has rewritten more bytes than this since the last copy, only the newest copy is kept: older ones
/// would hold as much memory again.
const MUCH: u64 = 64 << 20;

/// The copies that a session makes by itself.
#[derive(Debug, Default)]
pub(crate) struct Undo {
    /// When the state is to be copied.
    due: Option<Millis>,
    /// When only one copy is to stay.
    shrink: Option<Millis>,
    taking: Option<Taking>,
    /// Why the last copy was not taken.
    off: Option<String>,
    slow: SlowCopies,
    /// The copy that the lower half was told to fall back to.
    fallback: Option<u32>,
}

/// Counts copies as text that took long, in a row. Evals have to wait for such a copy, so the next copies are left out,
/// twice as many each time. For copies by fork the bridge has brakes of its own.
#[derive(Debug, Default)]
struct SlowCopies {
    times: u32,
    left_out: u32,
}

impl SlowCopies {
    fn note(&mut self, took: Millis) {
        self.times = if took > LONG_TEXT { (self.times + 1).min(6) } else { 0 };
        self.left_out = if self.times > 0 { 1 << self.times } else { 0 };
    }

    /// Whether the next copy is left out.
    fn skips(&mut self) -> bool {
        let skips = self.left_out > 0;
        self.left_out = self.left_out.saturating_sub(1);
        skips
    }
}

/// A copy that was ordered.
#[derive(Debug)]
struct Taking {
    began: Millis,
    /// Number of the request.
    seq: u64,
    /// The evals whose effect it will have.
    holds: EvalSet,
    made: Option<MadeCopy>,
}

impl Undo {
    /// When there is something to do about copies, if the session stays idle until then.
    pub(crate) fn next(&self) -> Option<Millis> {
        let due = self.due.filter(|_| self.taking.is_none());
        due.into_iter().chain(self.shrink).min()
    }
}

impl Host {
    /// Whether this session copies itself.
    fn copies_itself(&self) -> bool {
        let policy = &self.meta.settings.policy;
        let can = &self.facts.can;
        let copies = can.has(&Capability::Checkpoint) || can.has(&Capability::SavesAll);
        copies && !policy.no_undo && !policy.once
    }

    /// An eval may have changed the state, or a new interpreter is ready.
    pub(crate) fn state_changed(&mut self) {
        if self.copies_itself() {
            let now = self.clock.now();
            self.copies.undo.due = Some(now + SETTLED);
            self.copies.undo.shrink = Some(now + LONG_IDLE);
        }
    }

    /// When there is something to do about copies; nothing while an eval runs.
    pub(crate) fn next_copying(&self) -> Option<Millis> {
        self.copies.undo.next().filter(|_| self.state.is_free())
    }

    /// Time has passed: copies the state, or gives up older copies, if that is due and nothing runs.
    pub(crate) fn look_after_copies(&mut self) {
        let now = self.clock.now();
        if self.next_copying().is_none_or(|at| at > now) {
            return;
        }
        if self.copies.undo.shrink.take_if(|at| *at <= now).is_some() {
            let over = self.copies.shrink(1);
            self.drop_copies(over);
        }
        if self.copies.undo.taking.is_none()
            && self.copies.undo.due.take_if(|at| *at <= now).is_some()
        {
            self.copy_for_undo();
        }
    }

    fn copy_for_undo(&mut self) {
        if !self.copies_itself() || self.copies.has_this_state() {
            return;
        }
        self.asked.numbers += 1;
        let (seq, holds) = (self.asked.numbers, self.copies.holds().clone());
        let (mut made, mut save) = (None, None);
        if !self.facts.can.has(&Capability::Checkpoint) {
            if self.copies.undo.slow.skips() {
                self.copies.undo.off = Some("the last copies took long to write".to_owned());
                return;
            }
            let path = self.checkpoints_dir().join(format!("undo-{seq}.stead"));
            let eval = self.eval_id(EvalSeq::default());
            save = Some(SavedCopy { eval, path: path.display().to_string() });
            // The text of a checkpoint has the number of its eval, so texts for undo have numbers above those.
            made = Some(MadeCopy { number: OWN_TEXTS | seq as u32, text: Some(path) });
        }
        let began = self.clock.now();
        self.copies.undo.taking = Some(Taking { began, seq, holds, made });
        self.orders.push_back(Order::Copy { seq, save });
    }

    /// The text that is loaded if a signal ends the interpreter.
    pub(crate) fn text_fallback(&self) -> Option<(u32, PathBuf)> {
        let copy = self.copies.fallback().filter(|_| self.copies_itself())?;
        Some((copy.number, copy.text.clone()?))
    }

    /// Whether a copy for undo is being made.
    pub(crate) fn takes_copy(&self) -> bool {
        self.copies.undo.taking.is_some()
    }

    /// The session went back to a copy, so there is one of its state.
    pub(crate) fn state_is_kept(&mut self) {
        self.copies.undo.off = None;
    }

    /// The bridge says what became of a copy that was ordered for undo; whether this is its answer.
    pub(crate) fn copy_answered(
        &mut self,
        seq: u64,
        data: Option<&Value>,
        error: Option<&str>,
    ) -> bool {
        let Some(Taking { began, holds, made, .. }) =
            self.copies.undo.taking.take_if(|taking| taking.seq == seq)
        else {
            return false;
        };
        let said = data.and_then(|data| data["copy"].as_u64());
        let made = match error {
            None => made.or_else(|| self.copies.claim(said)),
            Some(_) => made,
        };
        self.drop_unclaimed();
        // The session may be on its way to another copy, which must not be given up for the new one.
        if matches!(self.state.phase, Phase::RollingBack(_) | Phase::Ending { .. }) {
            made.into_iter().for_each(|made| self.drop_copy(made.number, made.text));
            return true;
        }
        if made.as_ref().is_some_and(|made| made.text.is_some()) {
            self.copies.undo.slow.note(self.clock.now() - began);
        }
        match (made, error) {
            (Some(made), None) if made.text.is_none() || is_whole(data) => {
                self.copies.undo.off = None;
                let rewritten = data.and_then(|data| data["rewritten"].as_u64());
                let most = if rewritten.is_some_and(|bytes| bytes > MUCH) { 1 } else { RING };
                let over = self.copies.keep_for_undo(made, holds, wall_ms(), most);
                self.drop_copies(over);
            }
            (made, error) => {
                let why = match error {
                    Some(error) => error.to_owned(),
                    None => data.map(not_saved).unwrap_or_else(|| "there was no copy".to_owned()),
                };
                self.copies.undo.off = Some(why);
                made.into_iter().for_each(|made| self.drop_copy(made.number, made.text));
                // Copies that make evals slow are given up.
                if data.is_some_and(|data| data["drop"] == true) {
                    let over = self.copies.shrink(0);
                    self.drop_copies(over);
                }
            }
        }
        self.set_fallback();
        true
    }

    /// The interpreter has ended, so the copy that it was making will not come.
    pub(crate) fn forget_taking(&mut self) {
        if let Some(Taking { made: Some(made), .. }) = self.copies.undo.taking.take() {
            self.drop_copy(made.number, made.text);
        }
        self.drop_unclaimed();
    }

    pub(crate) fn drop_copies(&mut self, copies: Vec<KeptCopy>) {
        copies.into_iter().for_each(|copy| self.drop_copy(copy.number, copy.text));
    }

    /// Tells the lower half which copy takes the place of an interpreter that a signal ends.
    pub(crate) fn set_fallback(&mut self) {
        let fallback = self.copies.fallback().filter(|_| self.copies_itself());
        self.state.falls_back = fallback.is_some();
        let copy = fallback.filter(|copy| copy.text.is_none()).map(|copy| copy.number);
        if self.copies.undo.fallback != copy {
            self.copies.undo.fallback = copy;
            self.orders.push_back(Order::Fallback { copy });
        }
    }

    /// The copy with which an eval is undone, and that eval.
    pub(crate) fn undo_target(
        &self,
        eval: Option<EvalSeq>,
    ) -> Result<(EvalSeq, KeptCopy), Refusal> {
        if let Some(eval) = eval.filter(|eval| eval.0 == 0 || eval.0 > self.ledger.evals()) {
            return Err(Refusal::NoEval { eval });
        }
        let running = match &self.state.phase {
            Phase::Running(run) => self.pending.get(&run.eval).map(|pending| EndedEval {
                seq: run.eval,
                kind: pending.kind,
                of_start: pending.is_of_start(),
            }),
            _ => None,
        };
        let found = self.copies.before(eval, running);
        found.map(|(eval, copy)| (eval, copy.clone())).map_err(|trouble| {
            let trouble = match trouble {
                UndoTrouble::NoCopy { eval, can, .. } => {
                    UndoTrouble::NoCopy { eval, off: self.why_no_undo(), can }
                }
                other => other,
            };
            Refusal::NotUndone { trouble }
        })
    }

    /// Why the state has not been copied, if that has a reason.
    fn why_no_undo(&self) -> Option<String> {
        match self.meta.settings.policy.no_undo {
            true => Some("the session was started without undo".to_owned()),
            false => self.copies.undo.off.clone(),
        }
    }

    /// What `status` says of undo; nothing of a session that cannot.
    pub(crate) fn undo_status(&self, bytes: Option<u64>) -> Option<UndoStatus> {
        if self.facts.version.is_none()
            || self.cannot_copy_at_all()
            || self.meta.settings.policy.once
        {
            return None;
        }
        Some(UndoStatus {
            evals: self.copies.undoable(),
            kept: self.copies.has_this_state(),
            copies: self.copies.for_undo() as u64,
            bytes,
            off: self.why_no_undo(),
        })
    }
}

/// Whether a save has saved all that a text can hold. Processes and descriptors cannot be saved, since they end with their
/// interpreter; a client that goes back is told of them.
fn is_whole(data: Option<&Value>) -> bool {
    let ends = |failed: &Value| matches!(failed["type"].as_str(), Some("process" | "descriptor"));
    let failed = data.map(|data| data["failed"].as_array().into_iter().flatten());
    failed.is_some_and(|mut failed| failed.all(ends))
}

/// What a save has not saved, in words.
fn not_saved(data: &Value) -> String {
    let names: Vec<Value> = unsaved(data);
    let names: Vec<&str> = names.iter().filter_map(Value::as_str).take(3).collect();
    format!("not all of the state can be saved ({})", names.join("; "))
}
