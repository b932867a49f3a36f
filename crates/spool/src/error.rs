//! Why the disk could not give or take a session's records.

use std::io;
use std::path::{Path, PathBuf};

use stead_protocol::{EvalSeq, Offset};
use thiserror::Error;

/// Why a session's files could not be read or written.
#[derive(Debug, Error)]
pub enum SpoolError {
    /// The system refused.
    #[error("could not {action} `{}`", path.display())]
    Io {
        /// What was tried: `open`, `read`, `write`.
        action: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A file holds something that was never written there.
    #[error("`{}` is damaged at byte {at}: {what}", path.display())]
    Corrupt {
        /// The file.
        path: PathBuf,
        /// The position in the file.
        at: u64,
        /// What is wrong there.
        what: &'static str,
    },
    /// The record was dropped to make room for newer ones.
    #[error("output at offset {} is no longer kept in `{}`", offset.0, path.display())]
    Dropped {
        /// The session directory.
        path: PathBuf,
        /// Where the record was.
        offset: Offset,
    },
    /// A history record that contradicts what is recorded already; nothing was written.
    #[error("eval {} cannot be recorded in `{}`: {what}", eval.0, path.display())]
    OutOfOrder {
        /// The history.
        path: PathBuf,
        /// The eval.
        eval: EvalSeq,
        /// The contradiction.
        what: &'static str,
    },
    /// An idempotency key that belongs to an earlier eval; nothing was written.
    #[error("the key of this eval belongs to eval {} in `{}`", eval.0, path.display())]
    KeyUsed {
        /// The keys file.
        path: PathBuf,
        /// The eval that has the key.
        eval: EvalSeq,
    },
}

impl SpoolError {
    /// For `map_err`: names the action and the path.
    pub(crate) fn io<'a, E: Into<io::Error>>(
        action: &'static str,
        path: &'a Path,
    ) -> impl FnOnce(E) -> SpoolError + 'a {
        move |source| SpoolError::Io { action, path: path.to_owned(), source: source.into() }
    }

    pub(crate) fn corrupt(path: &Path, at: u64, what: &'static str) -> SpoolError {
        SpoolError::Corrupt { path: path.to_owned(), at, what }
    }
}
