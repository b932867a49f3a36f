//! What the upper half orders.

use serde::{Deserialize, Serialize};
use stead_protocol::ShellPlace;
use stead_protocol::{EvalId, SessionName, Settings};

/// A copy that is a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SavedCopy {
    /// What the bridge calls this work; no eval has this number.
    pub eval: EvalId,
    /// The file, as an absolute path.
    pub path: String,
}

/// An order to the lower half. The result is never returned by the call; it is told.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "order", rename_all = "snake_case")]
pub enum Order {
    /// Find the interpreter for these settings; `prepared` or `refused` is told.
    Prepare {
        /// How the session is to be started.
        settings: Box<Settings>,
        /// The session's name, for the environment.
        name: SessionName,
    },
    /// Start the prepared interpreter; `started` or `refused` is told, and `ready` when its bridge has said
    /// hello.
    Start,
    /// Run code; `done` is told at its end.
    Run {
        /// The eval.
        eval: EvalId,
        /// Its code.
        code: String,
        /// Where it runs, for shell commands.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        place: Option<ShellPlace>,
        /// Whether the interpreter ends after it: what the code leaves to be done is part of it.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        last: bool,
        /// The hard timeout (SPEC E-3); `overdue` is told of each of its steps.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        limit_ms: Option<u64>,
    },
    /// Do work that is not code; `done` is told at its end, and what came of it before that as `said`.
    Work {
        /// The eval.
        eval: EvalId,
        /// What to do: `save`, `load`, `stdlib` or `checkpoint`.
        what: String,
        /// Its argument: lines, of which the first says what it is about.
        argument: String,
        /// The hard timeout, as for code.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        limit_ms: Option<u64>,
    },
    /// Put a question about the namespace to the bridge; `answer` is told.
    Ask {
        /// Number of the question; not 0.
        seq: u64,
        /// `vars`, `inspect`, `complete`, `definitions` or `code`.
        what: String,
        /// Its argument.
        arg: String,
    },
    /// Empty the namespace; `answer` is told.
    Clear {
        /// Number of the request; not 0.
        seq: u64,
        /// The hard timeout, as for code.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        limit_ms: Option<u64>,
    },
    /// Give readers of standard input something to read. `input_given` or `input_refused` is told, and
    /// `input_read` after `input_given` where a reader in the background has taken it.
    Input {
        /// Number of the request.
        seq: u64,
        /// The eval it is meant for; none for a reader in the background.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        eval: Option<EvalId>,
        /// The text.
        text: String,
        /// Whether the end of file follows.
        eof: bool,
    },
    /// Interrupt the running code and the processes it has started; older processes are spared.
    Interrupt,
    /// Kill the processes that the running eval has started; `killed` is told.
    KillChildren,
    /// Ask the bridge to end its interpreter in good order.
    Exit,
    /// Kill the interpreter; the processes it started are killed once it has ended.
    Kill,
    /// Copy the interpreter although nobody asked for a checkpoint, when it is idle. `answer` is told, and `copied` before
    /// it if there is a copy. Orders that follow are carried out behind it.
    Copy {
        /// Number of the request; not 0.
        seq: u64,
        /// Where the state is text: what the bridge saves it to.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        save: Option<SavedCopy>,
    },
    /// Go on from a copy: the interpreter and all that it started are killed, and the copy takes its place.
    /// `restored` is told, or `exited` if the copy could not be woken; `copy_lost` if there is no such copy, and
    /// then nothing else happens.
    Rollback {
        /// The copy; it can be gone back to again.
        copy: u32,
    },
    /// Copies are not needed any more.
    Drop {
        /// Which.
        copies: Vec<u32>,
    },
    /// Until the next order of this kind, an interpreter that a signal ends, or its hard timeout, is replaced by a
    /// copy, as with `rollback`. One that exits, or whose end was ordered, is not.
    Fallback {
        /// The copy; with none it just ends.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        copy: Option<u32>,
    },
    /// Stop all processes where they are; `paused` is told.
    Pause,
    /// Let all processes go on; `paused` is told.
    Resume,
    /// Look at the session's processes; `figures` is told.
    Figures,
    /// No further order will come. Processes that are still left are ended by the guard.
    Leave,
    /// An order of a newer upper half: nothing is done and nothing is told.
    #[serde(other)]
    Unknown,
}
