//! Requests about the user's standard library that cannot be carried out (SPEC ST-4).

use std::path::PathBuf;

use thiserror::Error;

/// What is wrong with a request about a standard library.
#[derive(Debug, Error)]
pub enum StdlibError {
    /// A language that no library is kept for.
    #[error("there is no standard library for {language}")]
    NotKept {
        /// The language.
        language: &'static str,
    },
    /// The environment names no place for configuration.
    #[error("neither XDG_CONFIG_HOME nor HOME is set, so there is no place for a standard library")]
    NoConfigDir,
    /// Code for a standard library that cannot be compiled.
    #[error("the code was not added: {problem}")]
    Code {
        /// What is wrong with it, and where.
        problem: String,
    },
    /// Code for a standard library that does nothing.
    #[error("the code defines nothing and does nothing")]
    Empty,
    /// A carriage return that ends no line.
    #[error("line {line} has a carriage return that ends no line")]
    Line {
        /// The line, from 1.
        line: usize,
    },
    /// A standard library that is too long.
    #[error("the standard library would have {bytes} bytes, and at most {most} are loaded")]
    TooLong {
        /// How long it would be.
        bytes: usize,
        /// How long it may be.
        most: usize,
    },
    /// A standard library that cannot be compiled.
    #[error("the standard library `{}` cannot be compiled: {problem}", path.display())]
    Broken {
        /// Its file.
        path: PathBuf,
        /// What is wrong with it, and where.
        problem: String,
    },
    /// A name that the standard library does not define.
    #[error("the standard library `{}` defines no `{}`", path.display(), name.escape_debug())]
    Missing {
        /// The name.
        name: String,
        /// Its file.
        path: PathBuf,
        /// What it does define.
        known: Vec<String>,
        /// Whether it has statements that define no name.
        nameless: bool,
    },
    /// A name that cannot be taken out without others.
    #[error("`{name}` is defined together with {}", others.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", "))]
    Shared {
        /// The name.
        name: String,
        /// The others.
        others: Vec<String>,
        /// Their file.
        path: PathBuf,
    },
}
