//! What may help after code has failed: a habit of another REPL, another language, a module that is missing, a name
//! that was lost with an earlier interpreter (SPEC E-18).
//!
//! Only code that failed is looked at, so right code never gets a hint. What is looked at is the line of the error.

mod foreign;
mod fresh;
mod ipython;
mod line;
mod modules;
mod packages;
mod python;
mod shell_words;
mod typescript;
mod words;

#[cfg(test)]
mod list_tests;

use stead_protocol::{ChunkKind, EndReason, EvalSeq, Outcome, SessionName};
use stead_spool::{HistoryReader, SessionDir};

use crate::EvalView;
use crate::reach::meta;
use line::Failed;

pub use words::HintCalls;

/// What may help. `words.rs` has the sentence for each; the calls in it are those of the front end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Hint {
    /// A code fence stands around the code.
    Fence,
    /// A prompt stands before the code.
    Prompt {
        /// The prompt: `>>>`.
        prompt: &'static str,
    },
    /// A habit that has its counterpart in the session's own language.
    Instead {
        /// What was written: `%timeit`.
        wrote: String,
        /// Whose habit it is.
        whose: Whose,
        /// Code that does it here.
        code: String,
    },
    /// A habit that is not needed here.
    NotNeeded {
        /// What was written: `%matplotlib`.
        wrote: String,
        /// Why not.
        why: NotNeeded,
    },
    /// One of IPython's commands that has no counterpart here.
    NoSuch {
        /// The command: `%%html`.
        wrote: String,
    },
    /// A command for a shell.
    Shell {
        /// What marks it as one: `!`, `%%bash`; nothing if the command itself was written.
        mark: Option<String>,
        /// The command.
        command: String,
    },
    /// A shell command with the mark of another REPL, in a session that runs such commands.
    NoMark {
        /// The mark.
        mark: String,
    },
    /// A question about a name: `total?`.
    Help {
        /// The name.
        name: String,
        /// Whether the session's language has `help`.
        has_help: bool,
    },
    /// A list of all names: `%whos`.
    Names,
    /// The wish to forget all names: `%reset`.
    Forget,
    /// Packages are to be installed, or the module of a well-known one is missing.
    Install {
        /// The module that is missing; none if somebody wrote a command that installs.
        module: Option<String>,
        /// The command of this environment.
        command: String,
        /// The session has to be started anew afterwards, because the command makes another environment.
        restart: bool,
    },
    /// A module is missing that is not known to be in a package of that name.
    NotInstalled {
        /// How packages are installed here; `NAME` stands for the package.
        command: String,
    },
    /// A module that other versions of the language had.
    Gone {
        /// The module.
        module: String,
        /// What is there now.
        instead: &'static str,
    },
    /// Code in another language.
    OtherLanguage {
        /// The language as people write it.
        title: &'static str,
        /// The language of sessions, if there are some in it.
        session: Option<&'static str>,
    },
    /// TypeScript, in a session that runs JavaScript.
    TypeScript,
    /// A question to a database.
    Sql,
    /// A word of another language.
    Word {
        /// What was written: `true`.
        wrote: String,
        /// The word here: `True`.
        right: &'static str,
        /// The language of the session as people write it.
        title: &'static str,
    },
    /// A name that everybody imports.
    Import {
        /// The statement that imports it.
        code: &'static str,
    },
    /// IPython's `display`, which was not imported.
    Display,
    /// Spaces around the `=` of a shell's assignment.
    Spaces {
        /// The assignment without them.
        right: String,
    },
    /// A name that an earlier interpreter of the session had.
    Fresh {
        /// The name.
        name: String,
        /// The eval that had bound it last.
        eval: EvalSeq,
        /// How the state came to be lost.
        lost: LostBy,
    },
}

/// Whose habit it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Whose {
    /// IPython's.
    IPython,
    /// A shell's.
    Shell,
}

/// Why something is not needed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotNeeded {
    /// Figures are shown without it.
    Figures,
    /// Changed modules are named.
    Reload,
    /// The project's environment is in force.
    Activation,
    /// Replies tell how long long evals took.
    Timing,
    /// The session is in the language that it asks for.
    SameLanguage,
}

/// How the names of a session were lost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LostBy {
    /// The interpreter that had them ended.
    End {
        /// How, where that is known.
        reason: Option<EndReason>,
    },
    /// They were cleared.
    Clear {
        /// By this work.
        eval: EvalSeq,
    },
    /// The eval that had made them was undone.
    Undo,
}

/// Puts a hint into the view of an eval that failed. A hint is advice: where something cannot be read there is none.
pub(crate) fn add(view: &mut EvalView, dir: &SessionDir) {
    if view.outcome == Some(Outcome::Error)
        && let Some(eval) = view.eval
    {
        view.hint = of(view, dir, eval).map(Box::new);
    }
}

fn of(view: &EvalView, dir: &SessionDir, eval: EvalSeq) -> Option<Hint> {
    let error = view.error();
    if !worth_a_look(error.map(|error| error.name.as_str()), view.exit_code) {
        return None;
    }
    let settings = meta::read_meta(&dir.meta()).ok()??.settings;
    let history = HistoryReader::open(dir.path()).ok()?;
    let entry = history.eval(eval).ok()??;
    // Work other than code, such as saving, shows no habit of a writer.
    if !entry.kind.is_code() {
        return None;
    }
    let failed = Failed {
        language: &settings.engine.language,
        code: &entry.code,
        eval: eval_file(&view.session, eval),
        error,
        said: said(view),
        cwd: settings.place.cwd.as_ref(),
    };
    if let Some(name) = failed.missing_name()
        && let Some(hint) =
            fresh::lost(&history, &stead_spool::read_undone(dir.path()), &entry, name)
    {
        return Some(hint);
    }
    failed.hint()
}

/// Whether a failure can come of a habit; most others are told apart without looking at the code.
fn worth_a_look(error: Option<&str>, exit_code: Option<i32>) -> bool {
    match error {
        Some(name) => matches!(
            name,
            "SyntaxError"
                | "IndentationError"
                | "TabError"
                | "NameError"
                | "ImportError"
                | "ModuleNotFoundError"
                | "ReferenceError"
                | "Error"
                | "ExitStatus"
        ),
        None => exit_code.is_some_and(|code| code != 0),
    }
}

/// How an eval's code is called in tracebacks.
fn eval_file(session: &SessionName, eval: EvalSeq) -> String {
    format!("<{session}:{}>", eval.0)
}

/// What the code wrote to standard error, as far as it is at hand.
fn said(view: &EvalView) -> String {
    let chunks = view.content.chunks().filter(|chunk| chunk.kind == ChunkKind::Err);
    let bytes: Vec<u8> = chunks.flat_map(|chunk| chunk.bytes.iter().copied()).collect();
    String::from_utf8_lossy(&bytes).into_owned()
}
