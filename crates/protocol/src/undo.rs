//! Undo: how far it reaches, and why an eval cannot be undone (SPEC ST-5).

use serde::{Deserialize, Serialize};

use crate::{EvalId, EvalSeq, SessionName};

/// How far evals of a session can be undone.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct UndoStatus {
    /// The evals that can be undone, the oldest first. With each of them go all that came after it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub evals: Vec<EvalSeq>,
    /// Whether there is a copy of the state as it is now: a crash would lose nothing of it.
    pub kept: bool,
    /// How many copies of the state are kept for undo.
    pub copies: u64,
    /// How much memory or disk all copies take, checkpoints included, where that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// Why the state as it is now has not been copied, if it has not been for a reason.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub off: Option<String>,
}

/// Why an eval cannot be undone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "why", rename_all = "snake_case")]
pub enum UndoTrouble {
    /// No code has run, or all of it is undone.
    Nothing,
    /// It is undone already.
    Undone {
        /// Which.
        eval: EvalSeq,
    },
    /// It has not run in the interpreter that there is now, or it has done nothing to its state.
    NoEffect {
        /// Which.
        eval: EvalSeq,
    },
    /// There is no copy of the state from before it.
    NoCopy {
        /// Which.
        eval: EvalSeq,
        /// Why none was taken, if there was a reason other than that the next eval came too soon.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        off: Option<String>,
        /// The evals that can be undone, the oldest first.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        can: Vec<EvalSeq>,
    },
    /// A reason of a newer host.
    #[serde(other)]
    Unknown,
}

impl UndoTrouble {
    /// What is wrong, with evals named as users know them where the session is known.
    pub fn message(&self, session: Option<&SessionName>) -> String {
        let id = |eval: &EvalSeq| match session {
            Some(session) => format!("`{}`", EvalId { session: session.clone(), seq: *eval }),
            None => format!("eval {}", eval.0),
        };
        match self {
            UndoTrouble::Nothing => "there is no code whose effect could be undone".to_owned(),
            UndoTrouble::Undone { eval } => format!("{} is undone already", id(eval)),
            UndoTrouble::NoEffect { eval } => format!(
                "{} has left nothing in the interpreter that runs now, so there is nothing to undo",
                id(eval)
            ),
            UndoTrouble::NoCopy { eval, off: Some(off), .. } => format!(
                "{} cannot be undone: no copy of the state before it was kept: {off}",
                id(eval)
            ),
            UndoTrouble::NoCopy { eval, off: None, .. } => format!(
                "{} cannot be undone: no copy of the state before it was kept, or it was given up for newer ones",
                id(eval)
            ),
            UndoTrouble::Unknown => {
                "it cannot be undone, for a reason that this version does not know".to_owned()
            }
        }
    }

    /// The evals that can be undone instead, the oldest first.
    pub fn can(&self) -> &[EvalSeq] {
        match self {
            UndoTrouble::NoCopy { can, .. } => can,
            UndoTrouble::Nothing
            | UndoTrouble::Undone { .. }
            | UndoTrouble::NoEffect { .. }
            | UndoTrouble::Unknown => &[],
        }
    }
}
