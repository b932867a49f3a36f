//! The records of a session's history.

use serde::{Deserialize, Serialize};
use stead_protocol::{By, EndReason, EvalSeq, Finished, Generation, Offset, WorkKind};

use crate::index::RecordMark;

/// One line of `history.jsonl`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "t", rename_all = "snake_case")]
pub enum HistoryRecord {
    /// An interpreter was started.
    Opened {
        /// Which one.
        generation: Generation,
        /// When, in milliseconds since 1970.
        at_ms: u64,
        /// The host's process.
        host_pid: u32,
        /// The boot in which that pid means something.
        boot_id: String,
        /// It is a copy of the one before: the session's state goes on.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        from_copy: bool,
    },
    /// An eval was taken in.
    Accepted {
        /// Its number.
        eval: EvalSeq,
        /// When.
        at_ms: u64,
        /// Who sent it.
        by: By,
        /// What kind of work it is.
        #[serde(default, skip_serializing_if = "WorkKind::is_code")]
        kind: WorkKind,
        /// How many of the evals up to this one are other work than code.
        #[serde(default, skip_serializing_if = "is_zero")]
        others: u64,
        /// What to run; for other work a line that says what it is about, or nothing.
        code: String,
        /// The idempotency key that the client gave.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        key: Option<String>,
        /// The number that the client sent along to find the eval again.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        token: Option<u64>,
    },
    /// An eval began to run.
    Started {
        /// Its number.
        eval: EvalSeq,
        /// The interpreter.
        generation: Generation,
        /// When.
        at_ms: u64,
        /// Where its output begins.
        start: Offset,
    },
    /// An eval has its outcome.
    Finished {
        /// Its number.
        eval: EvalSeq,
        /// When.
        at_ms: u64,
        /// The outcome.
        finished: Finished,
    },
    /// An interpreter came to its end.
    Ended {
        /// Which one.
        generation: Generation,
        /// When.
        at_ms: u64,
        /// How.
        reason: EndReason,
        /// A client has been told already.
        reported: bool,
    },
    /// A client has been told how an interpreter ended.
    Reported {
        /// Which one.
        generation: Generation,
        /// When.
        at_ms: u64,
    },
    /// Only in the first line: the oldest evals were dropped to make room.
    Dropped {
        /// When.
        at_ms: u64,
        /// Evals before this one were dropped, except those that still have records.
        before: EvalSeq,
        /// The first eval that is there.
        first: EvalSeq,
        /// How many bytes history, index and keys may take.
        quota: u64,
    },
    /// A record of a newer version.
    #[serde(other)]
    Unknown,
}

fn is_zero(n: &u64) -> bool {
    *n == 0
}

impl HistoryRecord {
    /// Which record of which eval this is, if it is one.
    pub(crate) fn mark(&self) -> Option<(EvalSeq, RecordMark)> {
        match self {
            HistoryRecord::Accepted { eval, .. } => Some((*eval, RecordMark::Accepted)),
            HistoryRecord::Started { eval, .. } => Some((*eval, RecordMark::Started)),
            HistoryRecord::Finished { eval, .. } => Some((*eval, RecordMark::Finished)),
            HistoryRecord::Opened { .. }
            | HistoryRecord::Ended { .. }
            | HistoryRecord::Reported { .. }
            | HistoryRecord::Dropped { .. }
            | HistoryRecord::Unknown => None,
        }
    }
}
