//! The copies of its state that a session keeps, and what is in each. No IO here.

use std::path::PathBuf;

use stead_protocol::{
    CheckpointInfo, EvalSeq, EvalSet, Outcome, TimeoutStep, UndoTrouble, WorkKind,
};

use crate::session::undo::Undo;

/// How many checkpoints a session may have.
pub(crate) const MOST_CHECKPOINTS: usize = 100;
/// How many copies are kept that nobody asked for (SPEC ST-5).
pub(crate) const RING: usize = 5;

/// A copy that can be gone back to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct KeptCopy {
    /// The lower half's number of it, or our own of one that is text.
    pub(crate) number: u32,
    /// The file that it is, if it is text.
    pub(crate) text: Option<PathBuf>,
    pub(crate) reason: CopyReason,
    pub(crate) made_ms: u64,
    /// The evals whose effect it has.
    holds: EvalSet,
}

/// Why a copy is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum CopyReason {
    /// A client wanted it, with this label.
    Checkpoint {
        label: String,
        /// The work that made it.
        eval: EvalSeq,
    },
    /// Evals are to be undone with it.
    Undo,
}

impl KeptCopy {
    /// Its label, if it has one.
    pub(crate) fn label(&self) -> Option<&str> {
        match &self.reason {
            CopyReason::Checkpoint { label, .. } => Some(label),
            CopyReason::Undo => None,
        }
    }

    /// The last eval whose effect it has.
    pub(crate) fn after(&self) -> Option<EvalSeq> {
        self.holds.last()
    }
}

/// A copy that was just made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MadeCopy {
    pub(crate) number: u32,
    pub(crate) text: Option<PathBuf>,
}

/// All copies of a session.
#[derive(Debug, Default)]
pub(crate) struct Copies {
    /// The oldest first.
    kept: Vec<KeptCopy>,
    /// The evals whose effect the session's state has now.
    holds: EvalSet,
    /// The evals of this interpreter that are code from a client.
    codes: EvalSet,
    /// The evals whose effect the state had and has no more.
    undone: EvalSet,
    /// Numbers of copies that were made and that no checkpoint or undo has claimed yet.
    pub(crate) unclaimed: Vec<u32>,
    /// The copies that the session makes by itself.
    pub(crate) undo: Undo,
}

/// What a rollback did to evals.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Effects {
    /// Their effect is gone.
    pub(crate) undone: Vec<EvalSeq>,
    /// Their effect, which was gone, is there again.
    pub(crate) back: Vec<EvalSeq>,
}

/// What an eval that has ended was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct EndedEval {
    pub(crate) seq: EvalSeq,
    pub(crate) kind: WorkKind,
    /// The eval runs at every start of the session, and no client has asked for it.
    pub(crate) of_start: bool,
}

impl Copies {
    /// No copies, of a session of which these evals were undone.
    pub(crate) fn new(undone: EvalSet) -> Copies {
        Copies { undone, ..Copies::default() }
    }

    /// Which evals were undone.
    pub(crate) fn undone(&self) -> &EvalSet {
        &self.undone
    }

    /// Takes a copy that was made: the one with this number, where the bridge has said it, else the last.
    pub(crate) fn claim(&mut self, number: Option<u64>) -> Option<MadeCopy> {
        let wanted = |copy: &u32| number.is_none_or(|number| number == u64::from(*copy));
        let at = self.unclaimed.iter().rposition(wanted)?;
        Some(MadeCopy { number: self.unclaimed.remove(at), text: None })
    }

    /// A new interpreter: copies of the one before are gone with it.
    pub(crate) fn begin_anew(&mut self) {
        self.kept.clear();
        self.holds = EvalSet::default();
        self.codes = EvalSet::default();
        self.unclaimed.clear();
        self.undo = Undo::default();
    }

    /// An eval has ended; whether the state may be another one now, and its interpreter goes on.
    pub(crate) fn note(&mut self, eval: EndedEval, outcome: &Outcome) -> bool {
        let lives = match outcome {
            Outcome::Complete | Outcome::Error | Outcome::Interrupted | Outcome::Unknown => true,
            Outcome::Timeout { step } => {
                !matches!(step, TimeoutStep::InterpreterKilled | TimeoutStep::Disconnected)
            }
            Outcome::Ended { .. } | Outcome::NotRun { .. } | Outcome::HostDied => false,
        };
        let changes = lives && changes_state(eval.kind);
        if changes {
            self.holds.insert(eval.seq);
        }
        if changes && eval.kind.is_code() && !eval.of_start {
            self.codes.insert(eval.seq);
        }
        changes
    }

    /// Keeps a checkpoint of the state as it is now. Returns the copy that had its label before and is not needed
    /// any more.
    pub(crate) fn keep(
        &mut self,
        made: MadeCopy,
        label: String,
        eval: EvalSeq,
        made_ms: u64,
    ) -> Option<KeptCopy> {
        let before = self.take(&label);
        self.push(made, CopyReason::Checkpoint { label, eval }, self.holds.clone(), made_ms);
        before
    }

    /// Keeps a copy that nobody asked for, of the state when it was ordered. Returns those that are not needed any
    /// more: of copies like it, `most` stay.
    pub(crate) fn keep_for_undo(
        &mut self,
        made: MadeCopy,
        holds: EvalSet,
        made_ms: u64,
        most: usize,
    ) -> Vec<KeptCopy> {
        self.push(made, CopyReason::Undo, holds, made_ms);
        self.shrink(most)
    }

    /// Forgets the oldest copies that nobody asked for, but `most`.
    pub(crate) fn shrink(&mut self, most: usize) -> Vec<KeptCopy> {
        let mut over = self.for_undo().saturating_sub(most);
        let too_many = |copy: &mut KeptCopy| {
            let goes = over > 0 && copy.reason == CopyReason::Undo;
            over -= usize::from(goes);
            goes
        };
        self.kept.extract_if(.., too_many).collect()
    }

    /// How many copies there are that nobody asked for.
    pub(crate) fn for_undo(&self) -> usize {
        self.kept.iter().filter(|copy| copy.reason == CopyReason::Undo).count()
    }

    fn push(&mut self, made: MadeCopy, reason: CopyReason, holds: EvalSet, made_ms: u64) {
        let MadeCopy { number, text } = made;
        self.kept.push(KeptCopy { number, text, reason, made_ms, holds });
    }

    /// The evals whose effect the state has now.
    pub(crate) fn holds(&self) -> &EvalSet {
        &self.holds
    }

    /// Whether there is a copy of the state as it is now.
    pub(crate) fn has_this_state(&self) -> bool {
        self.kept.iter().any(|copy| copy.holds == self.holds)
    }

    /// Forgets the checkpoint with this label.
    pub(crate) fn take(&mut self, label: &str) -> Option<KeptCopy> {
        let at = self.kept.iter().position(|copy| copy.label() == Some(label))?;
        Some(self.kept.remove(at))
    }

    /// Forgets a copy that has ended by itself.
    pub(crate) fn lose(&mut self, number: u32) -> Option<KeptCopy> {
        let at = self.kept.iter().position(|copy| copy.number == number)?;
        Some(self.kept.remove(at))
    }

    /// Whether there is a copy with this number.
    pub(crate) fn has(&self, number: u32) -> bool {
        self.kept.iter().any(|copy| copy.number == number)
    }

    /// The checkpoint with this label; without one, the last that was made.
    pub(crate) fn find(&self, label: Option<&str>) -> Option<&KeptCopy> {
        let mut checkpoints = self.kept.iter().rev().filter(|copy| copy.label().is_some());
        match label {
            Some(label) => checkpoints.find(|copy| copy.label() == Some(label)),
            None => checkpoints.next(),
        }
    }

    /// Whether a checkpoint with this label would be one too many.
    pub(crate) fn is_full_for(&self, label: &str) -> bool {
        self.kept.len() - self.for_undo() >= MOST_CHECKPOINTS && self.find(Some(label)).is_none()
    }

    /// All labels.
    pub(crate) fn labels(&self) -> Vec<String> {
        self.kept.iter().filter_map(|copy| copy.label().map(str::to_owned)).collect()
    }

    /// What clients are told of checkpoints.
    pub(crate) fn list(&self) -> Vec<CheckpointInfo> {
        let info = |copy: &KeptCopy| match &copy.reason {
            CopyReason::Undo => None,
            CopyReason::Checkpoint { label, eval } => Some(CheckpointInfo {
                label: label.clone(),
                eval: *eval,
                made_ms: copy.made_ms,
                after: copy.after(),
            }),
        };
        self.kept.iter().filter_map(info).collect()
    }

    /// The copy with which this eval is undone, or without one the last code that has an effect. `running` is the
    /// eval that runs now: it is the last one.
    pub(crate) fn before(
        &self,
        eval: Option<EvalSeq>,
        running: Option<EndedEval>,
    ) -> Result<(EvalSeq, &KeptCopy), UndoTrouble> {
        let running = running.filter(|running| changes_state(running.kind));
        let running_code = running.filter(|running| running.kind.is_code() && !running.of_start);
        let last = || self.holds.iter().rev().find(|eval| self.codes.contains(*eval));
        let wanted = eval.or(running_code.map(|running| running.seq)).or_else(last);
        let eval = wanted.ok_or(UndoTrouble::Nothing)?;
        let runs = running.is_some_and(|running| running.seq == eval);
        if !runs && !self.holds.contains(eval) {
            return Err(match self.undone.contains(eval) {
                true => UndoTrouble::Undone { eval },
                false => UndoTrouble::NoEffect { eval },
            });
        }
        let before = self.holds.before(eval);
        // Of equal copies the newest has the latest work of threads, tasks and timers, which no eval did.
        let copy = self.kept.iter().rev().find(|copy| copy.holds == before);
        let no_copy = || UndoTrouble::NoCopy { eval, off: None, can: self.undoable() };
        Ok((eval, copy.ok_or_else(no_copy)?))
    }

    /// The evals that can be undone, the oldest first.
    pub(crate) fn undoable(&self) -> Vec<EvalSeq> {
        let mut evals: Vec<EvalSeq> = self
            .kept
            .iter()
            .filter(|copy| copy.holds.is_subset(&self.holds))
            .filter_map(|copy| {
                let next = self.holds.first_without(&copy.holds)?;
                (self.holds.before(next) == copy.holds).then_some(next)
            })
            .collect();
        evals.sort_unstable();
        evals.dedup();
        evals
    }

    /// The copy that takes the place of the interpreter if a signal ends it: the one that has most of what the state
    /// has now, and nothing else.
    pub(crate) fn fallback(&self) -> Option<&KeptCopy> {
        let part_of_it = self.kept.iter().filter(|copy| copy.holds.is_subset(&self.holds));
        part_of_it.max_by_key(|copy| copy.holds.count())
    }

    /// The session has gone back to this copy.
    pub(crate) fn restored(&mut self, number: u32) -> Effects {
        let Some(copy) = self.kept.iter().find(|copy| copy.number == number) else {
            return Effects::default();
        };
        let undone: Vec<EvalSeq> = self.holds.without(&copy.holds).collect();
        let back: Vec<EvalSeq> = copy.holds.without(&self.holds).collect();
        self.holds = copy.holds.clone();
        undone.iter().for_each(|eval| self.undone.insert(*eval));
        back.iter().for_each(|eval| self.undone.remove(*eval));
        Effects { undone, back }
    }

    /// An eval that ran was ended for going back: it has no effect either.
    pub(crate) fn cut(&mut self, eval: EvalSeq, effects: &mut Effects) {
        self.undone.insert(eval);
        effects.undone.push(eval);
    }

    /// Forgets copies that nobody asked for and that have an effect which the state has not: nothing can be undone
    /// with them any more.
    pub(crate) fn forget_other_branches(&mut self) -> Vec<KeptCopy> {
        let holds = &self.holds;
        let is_other =
            |copy: &mut KeptCopy| copy.reason == CopyReason::Undo && !copy.holds.is_subset(holds);
        self.kept.extract_if(.., is_other).collect()
    }
}

/// Whether work of this kind does something to the state that could be undone.
pub(crate) fn changes_state(kind: WorkKind) -> bool {
    match kind {
        WorkKind::Code | WorkKind::Clear | WorkKind::Load | WorkKind::Stdlib => true,
        WorkKind::Save
        | WorkKind::Checkpoint
        | WorkKind::Rollback
        | WorkKind::Undo
        | WorkKind::Unknown => false,
    }
}
