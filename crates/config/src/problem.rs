//! What is wrong with a configuration file, and where.

use std::fmt;
use std::path::PathBuf;

use stead_screen::visible;

/// Something wrong with a configuration file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigProblem {
    /// The file.
    pub path: PathBuf,
    /// The line, if one is to blame.
    pub line: Option<usize>,
    /// The key, with the tables it is in: `sessions.ml.idle_timeout`.
    pub key: Option<String>,
    /// What is wrong.
    pub problem: String,
    /// What to write instead.
    pub fix: Option<String>,
}

impl fmt::Display for ConfigProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", visible(&self.path.to_string_lossy()))?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        write!(f, ": ")?;
        if let Some(key) = &self.key {
            write!(f, "`{key}`: ")?;
        }
        f.write_str(&self.problem)
    }
}

impl std::error::Error for ConfigProblem {}
