//! Why a client's file cannot be changed.

use thiserror::Error;

/// Why a text cannot be edited. Nothing was written.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum EditTrouble {
    /// It is not what its format allows.
    #[error("line {line}, column {column}: {what}")]
    Broken {
        /// Line, from 1.
        line: usize,
        /// Column, from 1.
        column: usize,
        /// What is wrong there.
        what: String,
    },
    /// Something stands where servers are listed that is no list of servers.
    #[error("line {line}: `{key}` is {found} and not {wanted}")]
    NotATable {
        /// Line, from 1.
        line: usize,
        /// Its name.
        key: String,
        /// What it is.
        found: &'static str,
        /// What it should be.
        wanted: &'static str,
    },
    /// An entry of our name is there that starts no program.
    #[error("line {line}: the entry `stead` starts no program")]
    NotOurs {
        /// Line, from 1.
        line: usize,
    },
    /// The entry is written in a way that cannot be changed in place.
    #[error("line {line}: {what}")]
    TooClever {
        /// Line, from 1.
        line: usize,
        /// In what way.
        what: &'static str,
    },
    /// The edit would have changed more than the entry. This is a bug of stead.
    #[error("the edit would have changed more than the entry of stead")]
    Unsafe,
}
