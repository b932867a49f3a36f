//! What is being done about a copy of the session's state: a checkpoint is made, or the session goes back. No IO here.

use stead_interpreter::{Exit, Restored};
use stead_protocol::{EvalSeq, WorkKind};

use crate::session::copies::{Effects, MadeCopy};
use crate::session::from_text::TextStage;

/// What is being done about a copy.
#[derive(Debug, Default)]
pub(crate) enum Copying {
    #[default]
    Nothing,
    /// A checkpoint with this label is made.
    Checkpoint {
        label: String,
        /// The copy that was made for it, or that exists once its text is saved.
        made: Option<MadeCopy>,
    },
    /// The session goes back.
    GoesBack(RollbackTarget),
    /// The session has gone back, and that is not recorded yet.
    WentBack {
        /// Why; `None` if the lower half has woken the copy by itself, because the interpreter had ended.
        cause: Option<GoingBack>,
        restored: Box<Restored>,
        effects: Effects,
    },
}

impl Copying {
    /// Where the session goes back to now.
    pub(crate) fn target(&self) -> Option<&RollbackTarget> {
        match self {
            Copying::GoesBack(target) => Some(target),
            Copying::Nothing | Copying::Checkpoint { .. } | Copying::WentBack { .. } => None,
        }
    }

    /// Why the session goes back, or has just gone back.
    pub(crate) fn cause(&self) -> Option<&GoingBack> {
        match self {
            Copying::GoesBack(target) => Some(&target.cause),
            Copying::WentBack { cause, .. } => cause.as_ref(),
            Copying::Nothing | Copying::Checkpoint { .. } => None,
        }
    }

    /// A copy has taken the place of the interpreter.
    pub(crate) fn went_back(&mut self, restored: Box<Restored>, effects: Effects) {
        let cause = match std::mem::take(self) {
            Copying::GoesBack(target) => Some(target.cause),
            Copying::WentBack { cause, .. } => cause,
            Copying::Nothing | Copying::Checkpoint { .. } => None,
        };
        *self = Copying::WentBack { cause, restored, effects };
    }

    /// The way back ends if it leads to this copy, which is lost.
    pub(crate) fn lose(&mut self, copy: u32) -> Option<RollbackTarget> {
        match std::mem::take(self) {
            Copying::GoesBack(target) if target.copy == copy => Some(target),
            other => {
                *self = other;
                None
            }
        }
    }
}

/// Where a session goes back to, and why.
#[derive(Debug, Clone)]
pub(crate) struct RollbackTarget {
    pub(crate) copy: u32,
    pub(crate) cause: GoingBack,
    pub(crate) text: Option<TextStage>,
}

/// Why a session goes back to a copy.
#[derive(Debug, Clone)]
pub(crate) enum GoingBack {
    /// A rollback to this checkpoint was asked for, by this work.
    Rollback { work: EvalSeq, label: String },
    /// An eval is undone, by this work.
    Undo { work: EvalSeq, eval: EvalSeq },
    /// The interpreter has ended like this, and no work has asked for anything.
    Ended(Box<Exit>),
}

impl GoingBack {
    pub(crate) fn work(&self) -> Option<EvalSeq> {
        match self {
            GoingBack::Rollback { work, .. } | GoingBack::Undo { work, .. } => Some(*work),
            GoingBack::Ended(_) => None,
        }
    }

    pub(crate) fn kind(&self) -> WorkKind {
        match self {
            GoingBack::Undo { .. } => WorkKind::Undo,
            GoingBack::Rollback { .. } | GoingBack::Ended(_) => WorkKind::Rollback,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn goes_back(copy: u32) -> Copying {
        let cause = GoingBack::Undo { work: EvalSeq(9), eval: EvalSeq(7) };
        Copying::GoesBack(RollbackTarget { copy, cause, text: None })
    }

    #[test]
    fn st5_what_a_session_goes_back_for_is_known_until_it_is_recorded() {
        let mut copying = goes_back(3);
        assert_eq!(copying.target().map(|target| target.copy), Some(3));
        copying.went_back(Box::default(), Effects::default());
        assert!(copying.target().is_none());
        assert_eq!(copying.cause().and_then(GoingBack::work), Some(EvalSeq(9)));
        assert_eq!(copying.cause().map(GoingBack::kind), Some(WorkKind::Undo));
    }

    #[test]
    fn st5_a_copy_that_is_woken_by_itself_ends_a_checkpoint_and_has_no_cause() {
        let mut copying = Copying::Checkpoint { label: "a".to_owned(), made: None };
        copying.went_back(Box::default(), Effects::default());
        assert!(matches!(copying, Copying::WentBack { cause: None, .. }));
    }

    #[test]
    fn st5_only_the_loss_of_the_copy_that_is_wanted_ends_the_way_back() {
        let mut copying = goes_back(3);
        assert!(copying.lose(4).is_none());
        assert!(copying.lose(3).is_some_and(|target| target.copy == 3));
        assert!(matches!(copying, Copying::Nothing));
        let mut copying = Copying::Checkpoint { label: "a".to_owned(), made: None };
        assert!(copying.lose(3).is_none());
        assert!(matches!(copying, Copying::Checkpoint { .. }));
    }
}
