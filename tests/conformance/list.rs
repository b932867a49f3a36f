//! The list of behaviours, the same for every language. Names of SPEC items come first.

use crate::run::Step;
use crate::{bash, node, python};

/// A column of the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Language {
    Python,
    Bash,
    Node,
}

/// What one language does for a behaviour.
pub(crate) enum Column {
    Does(Vec<Step>),
    /// Why the language cannot.
    Unsupported(&'static str),
}

impl Language {
    /// What it does for a behaviour of this name; every language must have a word on each.
    pub(crate) fn column(self, name: &str) -> Option<Column> {
        match self {
            Language::Python => python::column(name),
            Language::Bash => bash::column(name),
            Language::Node => node::column(name),
        }
    }
}

pub(crate) const BEHAVIOURS: [&str; 34] = [
    "PY-2 the last expression is the value",
    "PY-2 nothing is shown for nothing",
    "S state lasts",
    "E-15 empty code completes",
    "O-2 streams are told apart, in order",
    "O-2 output without a line end stays so",
    "O-1 a child's output is the eval's",
    "O-1 background output comes once, marked",
    "O-5 a flood is bounded, none is lost",
    "O-8 a big value is bounded",
    "O-7 unicode goes through",
    "PY-1 a syntax error runs nothing",
    "PY-7 an error starts at the user's code",
    "PY-7 chained errors are shown whole",
    "E-13 changes of names are told",
    "E-8 input is waited for and given",
    "E-8 code is refused while input is waited for",
    "E-8 the end of input is an end of file",
    "E-8 a child that reads is found",
    "E-9 input that nobody read is dropped",
    "E-6 a busy loop is interrupted, state stays",
    "E-6 a sleep is interrupted",
    "E-6 a wait for input is interrupted",
    "E-6 a child is interrupted",
    "PY-13 an exit ends the eval and says its code",
    "S-6 the end of the session is told, then a fresh start",
    "S-6 a crash is told",
    "ST-1 names are listed and described",
    "S-7 clear empties the namespace",
    "S-7 restart begins anew",
    "PY-4 top-level await",
    "PY-6 what user code breaks, it breaks for itself",
    "PY-16 a broken repr is an error of its own",
    "PY-18 deep recursion is an error",
];
