//! What a host tells about its session (SPEC S-10).

use serde::{Deserialize, Serialize};

use crate::{By, EndReason, EvalSeq, Generation, Offset, SessionName, UndoStatus};

/// What a session is doing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum Activity {
    /// The interpreter is starting.
    Starting,
    /// Ready for code.
    Idle,
    /// An eval runs.
    Running {
        /// Which.
        eval: EvalSeq,
        /// For how long, without paused time.
        elapsed_ms: u64,
        /// The last line it wrote.
        last_line: String,
        /// Whether it listens to the session's input, so that it may wait for some.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        listens: bool,
    },
    /// An eval runs and waits for input.
    WaitingInput {
        /// Which.
        eval: EvalSeq,
        /// For how long it has been running, without paused time.
        elapsed_ms: u64,
        /// What it asked; empty if nothing.
        prompt: String,
    },
    /// A query of the namespace runs.
    Querying,
    /// The interpreter is ending.
    Ending,
    /// There is no interpreter.
    Ended {
        /// How it ended.
        reason: EndReason,
    },
    /// A state of a newer version.
    #[serde(other)]
    Unknown,
}

impl Activity {
    /// Whether this eval waits for input.
    pub fn waits(&self, wanted: EvalSeq) -> bool {
        matches!(self, Activity::WaitingInput { eval, .. } if *eval == wanted)
    }

    /// The eval that runs or waits for input.
    pub fn eval(&self) -> Option<EvalSeq> {
        match self {
            Activity::Running { eval, .. } | Activity::WaitingInput { eval, .. } => Some(*eval),
            Activity::Starting
            | Activity::Idle
            | Activity::Querying
            | Activity::Ending
            | Activity::Ended { .. }
            | Activity::Unknown => None,
        }
    }
}

/// What the session's processes use.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Usage {
    /// How many processes there are.
    pub processes: u32,
    /// Resident memory of all of them.
    pub memory_bytes: u64,
    /// CPU time of those that live.
    pub cpu_ms: u64,
}

/// Evals that have ended and have no outcome yet, because it could not be recorded (SPEC E-11).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unrecorded {
    /// Which.
    pub evals: Vec<EvalSeq>,
    /// What the disk said.
    pub why: String,
}

/// A checkpoint that can be gone back to (SPEC ST-3).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckpointInfo {
    /// What it is called.
    pub label: String,
    /// The work that made it.
    pub eval: EvalSeq,
    /// When it was made, in milliseconds since 1970.
    pub made_ms: u64,
    /// The last code whose effect it has; none if it has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<EvalSeq>,
}

/// What became of the user's standard library in a session (SPEC ST-4).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StdlibStatus {
    /// The eval that loaded it, or tried to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub eval: Option<EvalSeq>,
    /// How many names came from it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub names: Option<u64>,
    /// Why it is not loaded, or not as a whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// What stands before the error is loaded.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub partly: bool,
}

impl StdlibStatus {
    /// That the library is not loaded, or not as a whole, and why; `None` if all of it is.
    pub fn trouble(&self) -> Option<String> {
        let error = self.error.as_deref()?;
        Some(format!(
            "{}: {error}",
            if self.partly { "not loaded as a whole" } else { "not loaded" }
        ))
    }
}

/// Everything about a session, for `status`, `ls` and the `sessions` tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Status {
    /// Its name.
    pub name: SessionName,
    /// Its workspace.
    pub workspace: String,
    /// The language it speaks.
    pub language: String,
    /// The language's version, once the interpreter has said it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The interpreter's executable.
    pub interpreter: String,
    /// Why that interpreter was chosen.
    pub why: String,
    /// What it is doing.
    #[serde(flatten)]
    pub activity: Activity,
    /// Whether it is paused.
    #[serde(default)]
    pub paused: bool,
    /// Whether a background reader waits for input.
    #[serde(default)]
    pub background_waiting: bool,
    /// How often it was started.
    pub generation: Generation,
    /// The interpreter's process id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
    /// The host's process id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host_pid: Option<u32>,
    /// The version of the host's program; hosts of the first versions do not say it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<String>,
    /// The interpreter's working directory.
    pub cwd: String,
    /// When the session was first started, in milliseconds since 1970; hosts of older versions do not say it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created_ms: Option<u64>,
    /// When the interpreter was started, in milliseconds since 1970.
    pub started_ms: u64,
    /// When it was last used, likewise.
    pub last_used_ms: u64,
    /// How many evals the session has had: code only, no other work.
    pub evals: u64,
    /// Who sent the eval that runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<By>,
    /// Evals that wait for their turn.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub queued: Vec<EvalSeq>,
    /// What its processes use.
    #[serde(default)]
    pub usage: Usage,
    /// Command lines of processes that earlier evals left running; told while no eval runs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub background: Vec<String>,
    /// How many names the user has defined, if the language tells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variables: Option<u64>,
    /// What the session has of the user's standard library; `None` if it was opened without, or there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stdlib: Option<StdlibStatus>,
    /// How far evals can be undone; hosts of older versions do not say it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undo: Option<UndoStatus>,
    /// Where its code runs, if that is not this machine: the address of a server (SPEC X-6).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runs_at: Option<String>,
    /// What sessions usually do and this one cannot, for people.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cannot: Vec<String>,
    /// The sandbox as enforced.
    pub sandbox: String,
    /// How long it may be idle; 0 means for ever.
    pub idle_timeout_ms: u64,
    /// Where the spool ends.
    pub spool_end: Offset,
    /// Evals that have ended and whose outcome the disk refuses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unrecorded: Option<Unrecorded>,
    /// How many clients are connected.
    #[serde(default)]
    pub clients: u32,
}
