//! Work that a session does in turn (SPEC E): it has an id, a place in the queue, a record and an outcome.
//!
//! Questions about the namespace are not work: they are answered between two evals and leave no record.

use serde::{Deserialize, Serialize};

use crate::words::words;

/// One piece of work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Work {
    /// Run code.
    Code {
        /// The code.
        code: String,
    },
    /// Empty the namespace and keep the process.
    Clear,
    /// Work of a newer client; answered with an error, not run.
    #[serde(other)]
    Unknown,
}

impl Work {
    /// What kind it is.
    pub fn kind(&self) -> WorkKind {
        match self {
            Work::Code { .. } => WorkKind::Code,
            Work::Clear => WorkKind::Clear,
            Work::Unknown => WorkKind::Unknown,
        }
    }

    /// Its code; empty for work that has none.
    pub fn into_code(self) -> String {
        match self {
            Work::Code { code } => code,
            Work::Clear | Work::Unknown => String::new(),
        }
    }

    /// Its code, borrowed.
    pub fn code(&self) -> &str {
        match self {
            Work::Code { code } => code,
            Work::Clear | Work::Unknown => "",
        }
    }
}

/// The kinds of work, as records and events name them. The number of evals and "the last eval" mean code only.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum WorkKind {
    /// Code.
    #[default]
    Code,
    /// Emptying the namespace.
    Clear,
    /// A kind of a newer version.
    Unknown,
}

words!(WorkKind { Code => "code", Clear => "clear", Unknown => "unknown" } else Unknown);

impl WorkKind {
    /// Whether it is code.
    pub fn is_code(&self) -> bool {
        *self == WorkKind::Code
    }
}
