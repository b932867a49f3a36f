//! The copies of its state that a session keeps, and what is in each. No IO here.

use std::path::PathBuf;

use stead_protocol::{CheckpointInfo, EvalSeq, EvalSet, Outcome, TimeoutStep, WorkKind};

/// How many checkpoints a session may have.
pub(crate) const MOST_CHECKPOINTS: usize = 100;

/// A copy that can be gone back to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct KeptCopy {
    /// The lower half's number of it, or our own of one that is text.
    pub(crate) number: u32,
    /// The file that it is, if it is text.
    pub(crate) text: Option<PathBuf>,
    pub(crate) label: String,
    /// The work that made it.
    pub(crate) eval: EvalSeq,
    pub(crate) made_ms: u64,
    /// The evals whose effect it has.
    holds: EvalSet,
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
    /// The evals whose effect it had and has no more.
    undone: EvalSet,
}

/// What a rollback did to evals.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Effects {
    /// Their effect is gone.
    pub(crate) undone: Vec<EvalSeq>,
    /// Their effect, which was gone, is there again.
    pub(crate) back: Vec<EvalSeq>,
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

    /// A new interpreter: copies of the one before are gone with it.
    pub(crate) fn begin_anew(&mut self) {
        self.kept.clear();
        self.holds = EvalSet::default();
    }

    /// An eval has ended, and its interpreter goes on.
    pub(crate) fn note(&mut self, eval: EvalSeq, kind: WorkKind, outcome: &Outcome) {
        let lives = match outcome {
            Outcome::Complete | Outcome::Error | Outcome::Interrupted | Outcome::Unknown => true,
            Outcome::Timeout { step } => *step != TimeoutStep::InterpreterKilled,
            Outcome::Ended { .. } | Outcome::NotRun { .. } | Outcome::HostDied => false,
        };
        if lives && changes_state(kind) {
            self.holds.insert(eval);
        }
    }

    /// Keeps a copy of the state as it is now. Returns the copy that had its label before and is not needed any
    /// more.
    pub(crate) fn keep(
        &mut self,
        made: MadeCopy,
        label: String,
        eval: EvalSeq,
        made_ms: u64,
    ) -> Option<KeptCopy> {
        let before = self.take(&label);
        let (holds, MadeCopy { number, text }) = (self.holds.clone(), made);
        self.kept.push(KeptCopy { number, text, label, eval, made_ms, holds });
        before
    }

    /// Forgets the copy with this label.
    pub(crate) fn take(&mut self, label: &str) -> Option<KeptCopy> {
        let at = self.kept.iter().position(|copy| copy.label == label)?;
        Some(self.kept.remove(at))
    }

    /// Forgets a copy that has ended by itself.
    pub(crate) fn lose(&mut self, number: u32) -> Option<KeptCopy> {
        let at = self.kept.iter().position(|copy| copy.number == number)?;
        Some(self.kept.remove(at))
    }

    /// The copy with this label; without one, the last that was made.
    pub(crate) fn find(&self, label: Option<&str>) -> Option<&KeptCopy> {
        match label {
            Some(label) => self.kept.iter().find(|copy| copy.label == label),
            None => self.kept.last(),
        }
    }

    /// Whether a checkpoint with this label would be one too many.
    pub(crate) fn is_full_for(&self, label: &str) -> bool {
        self.kept.len() >= MOST_CHECKPOINTS && self.find(Some(label)).is_none()
    }

    /// All labels.
    pub(crate) fn labels(&self) -> Vec<String> {
        self.kept.iter().map(|copy| copy.label.clone()).collect()
    }

    /// What clients are told of them.
    pub(crate) fn list(&self) -> Vec<CheckpointInfo> {
        let info = |copy: &KeptCopy| CheckpointInfo {
            label: copy.label.clone(),
            eval: copy.eval,
            made_ms: copy.made_ms,
            after: copy.holds.last(),
        };
        self.kept.iter().map(info).collect()
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
}

/// Whether work of this kind does something to the state that could be undone.
fn changes_state(kind: WorkKind) -> bool {
    match kind {
        WorkKind::Code | WorkKind::Clear | WorkKind::Load | WorkKind::Stdlib => true,
        WorkKind::Save
        | WorkKind::Checkpoint
        | WorkKind::Rollback
        | WorkKind::Undo
        | WorkKind::Unknown => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(copies: &mut Copies, evals: impl IntoIterator<Item = u64>) {
        for eval in evals {
            copies.note(EvalSeq(eval), WorkKind::Code, &Outcome::Complete);
        }
    }

    fn made(number: u32) -> MadeCopy {
        MadeCopy { number, text: None }
    }

    fn seqs(evals: &[u64]) -> Vec<EvalSeq> {
        evals.iter().copied().map(EvalSeq).collect()
    }

    #[test]
    fn st5_what_is_gone_after_a_rollback_is_undone_and_what_comes_back_is_not() {
        let mut copies = Copies::default();
        run(&mut copies, [1]);
        assert_eq!(copies.keep(made(1), "a".to_owned(), EvalSeq(2), 0), None);
        run(&mut copies, [3, 4]);
        assert_eq!(copies.keep(made(2), "b".to_owned(), EvalSeq(5), 0), None);
        run(&mut copies, [6]);
        let effects = copies.restored(1);
        assert_eq!(effects, Effects { undone: seqs(&[3, 4, 6]), back: vec![] });
        run(&mut copies, [8]);
        // The other branch is gone to again: what it holds is there, what came since is not.
        let effects = copies.restored(2);
        assert_eq!(effects, Effects { undone: seqs(&[8]), back: seqs(&[3, 4]) });
        assert_eq!(copies.undone().iter().collect::<Vec<_>>(), seqs(&[6, 8]));
        assert_eq!(copies.restored(2), Effects::default());
    }

    #[test]
    fn st3_a_label_that_is_used_again_takes_the_place_of_the_earlier_one() {
        let mut copies = Copies::default();
        copies.keep(made(1), "a".to_owned(), EvalSeq(1), 0);
        copies.keep(made(2), "b".to_owned(), EvalSeq(2), 0);
        let before = copies.keep(made(3), "a".to_owned(), EvalSeq(3), 0);
        assert_eq!(before.map(|copy| copy.number), Some(1));
        assert_eq!(copies.labels(), ["b", "a"]);
        assert_eq!(copies.find(None).map(|copy| copy.number), Some(3));
        assert_eq!(copies.find(Some("b")).map(|copy| copy.number), Some(2));
        assert_eq!(copies.take("b").map(|copy| copy.number), Some(2));
        assert_eq!((copies.take("b"), copies.find(Some("b"))), (None, None));
        assert_eq!(copies.lose(3).map(|copy| copy.label), Some("a".to_owned()));
        assert!(copies.list().is_empty());
    }

    #[test]
    fn st3_evals_that_ended_their_interpreter_and_work_that_changes_nothing_are_not_held() {
        let mut copies = Copies::default();
        copies.note(EvalSeq(1), WorkKind::Save, &Outcome::Complete);
        copies.note(EvalSeq(2), WorkKind::Code, &Outcome::HostDied);
        copies.note(EvalSeq(3), WorkKind::Code, &Outcome::Interrupted);
        copies.keep(made(1), "a".to_owned(), EvalSeq(4), 0);
        assert_eq!(copies.list()[0].after, Some(EvalSeq(3)));
        copies.begin_anew();
        assert!(copies.list().is_empty());
        assert!((0..MOST_CHECKPOINTS as u32).all(|number| {
            let label = number.to_string();
            !copies.is_full_for(&label) && copies.keep(made(number), label, EvalSeq(9), 0).is_none()
        }));
        assert!(copies.is_full_for("one more") && !copies.is_full_for("7"));
    }
}
