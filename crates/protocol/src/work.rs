//! Work that a session does in turn (SPEC E): it has an id, a place in the queue, a record and an outcome.
//!
//! Questions about the namespace are not work: they are answered between two evals and leave no record.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::words::words;
use crate::{Capability, EvalSeq};

/// What a checkpoint is called that was given no label.
pub const DEFAULT_LABEL: &str = "checkpoint";
/// Most characters of a label.
const MOST_LABEL: usize = 100;

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
    /// Write names and their values to a file (SPEC ST-2).
    Save {
        /// The file, as an absolute path.
        path: String,
        /// The names to save; without any, all of the user's.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        names: Vec<String>,
        /// Take the place of a file that no save has written.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        force: bool,
    },
    /// Take names and their values from a file that a save has written.
    Load {
        /// The file, as an absolute path.
        path: String,
    },
    /// Define what the user's standard library has (SPEC ST-4).
    Stdlib {
        /// Its whole source.
        text: String,
    },
    /// Keep a copy of the whole interpreter (SPEC ST-3).
    Checkpoint {
        /// What it is called; without it, [`DEFAULT_LABEL`]. It takes the place of an earlier one with the same label.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        label: Option<String>,
    },
    /// Go back to such a copy.
    Rollback {
        /// Which one; without it, the last.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        label: Option<String>,
    },
    /// Go back to before an eval (SPEC ST-5).
    Undo {
        /// Which one; without it, the last code that ran.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        eval: Option<EvalSeq>,
    },
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
            Work::Save { .. } => WorkKind::Save,
            Work::Load { .. } => WorkKind::Load,
            Work::Stdlib { .. } => WorkKind::Stdlib,
            Work::Checkpoint { .. } => WorkKind::Checkpoint,
            Work::Rollback { .. } => WorkKind::Rollback,
            Work::Undo { .. } => WorkKind::Undo,
            Work::Unknown => WorkKind::Unknown,
        }
    }

    /// What its record shows: the code, or a line that says what other work is about.
    pub fn code(&self) -> Cow<'_, str> {
        let line = |words: &[&str]| Cow::Owned(words.join(" "));
        let kind = self.kind().as_str();
        match self {
            Work::Code { code } => Cow::Borrowed(code),
            Work::Clear | Work::Unknown => Cow::Borrowed(""),
            Work::Save { path, names, .. } => {
                let words = [kind, path].into_iter().chain(names.iter().map(String::as_str));
                line(&words.collect::<Vec<_>>())
            }
            Work::Load { path } => line(&[kind, path]),
            Work::Stdlib { .. } => Cow::Borrowed(kind),
            Work::Checkpoint { label } | Work::Rollback { label } => match label {
                Some(label) => line(&[kind, label]),
                None => Cow::Borrowed(kind),
            },
            Work::Undo { eval: Some(eval) } => line(&[kind, &eval.0.to_string()]),
            Work::Undo { eval: None } => Cow::Borrowed(kind),
        }
    }

    /// How many bytes it takes while it waits for its turn.
    pub fn size(&self) -> usize {
        match self {
            Work::Code { code: text } | Work::Stdlib { text } => text.len(),
            Work::Save { path, names, .. } => {
                path.len() + names.iter().map(|name| name.len() + 1).sum::<usize>()
            }
            Work::Load { path } => path.len(),
            Work::Checkpoint { label } | Work::Rollback { label } => {
                label.as_ref().map_or(0, String::len)
            }
            Work::Clear | Work::Undo { .. } | Work::Unknown => 0,
        }
    }

    /// The argument of the bridge's command `work`: lines, of which the first says what the work is about. `None`
    /// for work that is ordered in another way.
    pub fn argument(&self) -> Option<String> {
        match self {
            Work::Save { path, names, force } => {
                let force = if *force { "force" } else { "" };
                let lines = [path, force].into_iter().chain(names.iter().map(String::as_str));
                Some(lines.collect::<Vec<_>>().join("\n"))
            }
            Work::Load { path } => Some(path.clone()),
            Work::Stdlib { text } => Some(text.clone()),
            Work::Checkpoint { label } => Some(label.clone().unwrap_or_default()),
            Work::Code { .. }
            | Work::Clear
            | Work::Rollback { .. }
            | Work::Undo { .. }
            | Work::Unknown => None,
        }
    }

    /// What is wrong with its words, if something is. A bridge reads them as lines.
    pub fn problem(&self) -> Option<String> {
        let path_problem = |path: &str| match path {
            path if !path.starts_with('/') => Some(format!("the path {path:?} is not absolute")),
            path if breaks_line(path) => {
                Some(format!("the path {path:?} has a line break or a NUL character in it"))
            }
            _ => None,
        };
        match self {
            Work::Save { path, names, .. } => path_problem(path).or_else(|| {
                let wrong = names.iter().find(|name| name.is_empty() || breaks_line(name))?;
                Some(format!("{wrong:?} is not a name"))
            }),
            Work::Load { path } => path_problem(path),
            Work::Checkpoint { label } | Work::Rollback { label } => {
                label.as_deref().and_then(label_problem)
            }
            Work::Code { .. }
            | Work::Clear
            | Work::Stdlib { .. }
            | Work::Undo { .. }
            | Work::Unknown => None,
        }
    }
}

/// What is wrong with a label, if something is.
fn label_problem(label: &str) -> Option<String> {
    let shown = || label.chars().take(MOST_LABEL).collect::<String>();
    let wrong = match label {
        _ if label.trim().is_empty() => "it is empty",
        _ if label.chars().any(char::is_control) => "it has control characters in it",
        _ if label.trim() != label => "it begins or ends with a blank",
        _ if label.chars().count() > MOST_LABEL => "it is longer than 100 characters",
        _ => return None,
    };
    Some(format!("{:?} is not a label: {wrong}", shown()))
}

fn breaks_line(text: &str) -> bool {
    text.contains(['\n', '\r', '\0'])
}

/// The kinds of work, as records and events name them. The number of evals and "the last eval" mean code only.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum WorkKind {
    /// Code.
    #[default]
    Code,
    /// Emptying the namespace.
    Clear,
    /// Writing names to a file.
    Save,
    /// Taking names from such a file.
    Load,
    /// Defining the user's standard library.
    Stdlib,
    /// Copying the interpreter.
    Checkpoint,
    /// Going back to such a copy.
    Rollback,
    /// Going back to before an eval.
    Undo,
    /// A kind of a newer version.
    Unknown,
}

words!(WorkKind {
    Code => "code",
    Clear => "clear",
    Save => "save",
    Load => "load",
    Stdlib => "stdlib",
    Checkpoint => "checkpoint",
    Rollback => "rollback",
    Undo => "undo",
    Unknown => "unknown",
} else Unknown);

impl WorkKind {
    /// Whether it is code.
    pub fn is_code(&self) -> bool {
        *self == WorkKind::Code
    }

    /// What a bridge has to be able to do for it; `None` for what every bridge can, and for what is not known.
    pub fn needs(self) -> Option<Capability> {
        match self {
            WorkKind::Clear => Some(Capability::Clear),
            WorkKind::Save => Some(Capability::Save),
            WorkKind::Load => Some(Capability::Load),
            WorkKind::Stdlib => Some(Capability::Stdlib),
            WorkKind::Checkpoint | WorkKind::Rollback | WorkKind::Undo => {
                Some(Capability::Checkpoint)
            }
            WorkKind::Code | WorkKind::Unknown => None,
        }
    }

    /// Whether it counts on what earlier evals have left, so that its sender has to know if that is gone.
    pub fn builds_on_state(self) -> bool {
        match self {
            WorkKind::Code
            | WorkKind::Save
            | WorkKind::Load
            | WorkKind::Checkpoint
            | WorkKind::Rollback
            | WorkKind::Undo => true,
            WorkKind::Clear | WorkKind::Stdlib | WorkKind::Unknown => false,
        }
    }

    /// The name of the error with which work of this kind fails, where its bridge names none.
    pub fn error_name(self) -> &'static str {
        match self {
            WorkKind::Code => "Error",
            WorkKind::Clear => "ClearError",
            WorkKind::Save => "SaveError",
            WorkKind::Load => "LoadError",
            WorkKind::Stdlib => "StdlibError",
            WorkKind::Checkpoint => "CheckpointError",
            WorkKind::Rollback => "RollbackError",
            WorkKind::Undo => "UndoError",
            WorkKind::Unknown => "WorkError",
        }
    }
}

/// What came of work that is not code, as its bridge reported it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ReportInfo {
    /// The kind of work.
    #[serde(default)]
    pub work: WorkKind,
    /// The report: an object whose fields depend on the kind (docs/PROTOCOL.md).
    #[serde(default)]
    pub data: Value,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn save(path: &str, names: &[&str], force: bool) -> Work {
        let names = names.iter().map(|name| (*name).to_owned()).collect();
        Work::Save { path: path.to_owned(), names, force }
    }

    #[test]
    fn st2_a_save_is_one_line_in_the_record_and_lines_to_the_bridge() {
        let all = save("/tmp/a b.stead", &[], false);
        assert_eq!(
            (all.code().as_ref(), all.argument().unwrap()),
            ("save /tmp/a b.stead", "/tmp/a b.stead\n".to_owned())
        );
        let some = save("/x", &["df", "m"], true);
        assert_eq!(
            (some.code().as_ref(), some.argument().unwrap()),
            ("save /x df m", "/x\nforce\ndf\nm".to_owned())
        );
    }

    #[test]
    fn st2_words_that_would_become_other_lines_are_refused() {
        for (work, wrong) in [
            (save("/x", &["df"], false), None),
            (save("x", &[], false), Some("absolute")),
            (save("/x\nforce", &[], false), Some("line break")),
            (save("/x", &["a\nb"], false), Some("not a name")),
            (save("/x", &[""], false), Some("not a name")),
            (Work::Load { path: "/a\0".to_owned() }, Some("NUL")),
            (Work::Checkpoint { label: Some("a\n".to_owned()) }, Some("not a label")),
            (Work::Checkpoint { label: Some(" a".to_owned()) }, Some("blank")),
            (Work::Rollback { label: Some("\u{1b}[31m".to_owned()) }, Some("control")),
            (Work::Rollback { label: Some("é".repeat(101)) }, Some("longer")),
            (Work::Rollback { label: Some("é 'x' --- $(y) 🦀".to_owned()) }, None),
            (Work::Checkpoint { label: None }, None),
        ] {
            let problem = work.problem();
            assert_eq!(problem.is_some(), wrong.is_some(), "{work:?}: {problem:?}");
            assert!(problem.unwrap_or_default().contains(wrong.unwrap_or_default()), "{work:?}");
        }
    }
}
