//! The source of a user's standard library, as those who write it and those who load it see it (SPEC ST-4).

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::words::words;

/// Most bytes that a standard library may have.
pub const MAX_STDLIB: usize = 4 << 20;

/// The text without a byte order mark and with line feeds only: some editors write the others, and a shell would take
/// them for parts of its commands.
pub fn stdlib_source(text: &str) -> String {
    text.strip_prefix('\u{feff}').unwrap_or(text).replace("\r\n", "\n")
}

/// What a bridge reports of a library that has run to its end, or as far as it came.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StdlibReport {
    /// How many names all libraries have bound so far.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub names: Option<u64>,
    /// The line of the library, counted from 1, at which an error has ended it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
}

impl StdlibReport {
    /// Reads the data of a `report`; what an older bridge leaves out is not known.
    pub fn read(data: &Value) -> StdlibReport {
        StdlibReport::deserialize(data).unwrap_or_default()
    }
}

/// What one statement of a source text defines, as a bridge tells it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Definition {
    /// The name; empty for a statement that defines none.
    pub name: String,
    /// What it is.
    pub kind: DefinitionKind,
    /// The first of its lines, from 1.
    pub from: usize,
    /// The last of its lines.
    pub to: usize,
    /// The first line of the comment right above it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comment: Option<usize>,
    /// Whether it must stand before everything else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub head: Option<bool>,
    /// Parameters of a function; of anything but functions and classes its first line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signature: Option<String>,
    /// The first line of its documentation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub doc: Option<String>,
}

/// The kinds of definitions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DefinitionKind {
    /// A function.
    Function,
    /// A class.
    Class,
    /// An import.
    Module,
    /// What a file begins with: its documentation, a directive. Nothing is defined by it.
    Head,
    /// Anything else. So is what a newer bridge tells.
    Other,
}

words!(DefinitionKind {
    Function => "function",
    Class => "class",
    Module => "module",
    Head => "head",
    Other => "other",
} else Other);
