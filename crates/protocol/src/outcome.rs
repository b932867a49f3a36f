//! How evals and sessions end, and what an eval leaves to read.

use serde::{Deserialize, Serialize};

use crate::refusal::lenient;
use crate::tagged::{nothing, tagged};
use crate::{By, ByWhom, EvalSeq, Generation, Offset, StartTrouble};

/// How an eval ended; each eval has exactly one (SPEC E-11).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(remote = "Self", tag = "kind", rename_all = "snake_case")]
pub enum Outcome {
    /// Ran to its end.
    Complete,
    /// Raised, or ended with a non-zero exit code.
    Error,
    /// Stopped by an interrupt; the state is kept.
    Interrupted,
    /// Its hard timeout passed.
    Timeout {
        /// The step that ended the eval.
        #[serde(flatten)]
        step: TimeoutStep,
    },
    /// The session ended while it ran.
    Ended {
        /// How the session ended.
        reason: EndReason,
    },
    /// It was accepted but never ran, because the session ended before its turn.
    NotRun {
        /// How the session ended.
        reason: EndReason,
    },
    /// The host was killed while it ran; the next client or host finds that out.
    HostDied,
    /// In a way that a newer version knows.
    #[serde(other)]
    Unknown,
}

tagged!(
    Outcome, "kind",
    "complete" => |rest| nothing(Outcome::Complete, rest),
    "error" => |rest| nothing(Outcome::Error, rest),
    "interrupted" => |rest| nothing(Outcome::Interrupted, rest),
);

impl Outcome {
    /// Whether this outcome tells a client that the interpreter is gone.
    pub fn tells_end(&self) -> bool {
        match self {
            // The session goes on with an earlier state, as was asked for.
            Outcome::Ended { reason: EndReason::RolledBack { .. } }
            | Outcome::NotRun { reason: EndReason::RolledBack { .. } } => false,
            Outcome::Ended { .. } | Outcome::NotRun { .. } | Outcome::HostDied => true,
            Outcome::Timeout { step } => {
                matches!(step, TimeoutStep::InterpreterKilled | TimeoutStep::Disconnected)
            }
            Outcome::Complete | Outcome::Error | Outcome::Interrupted | Outcome::Unknown => false,
        }
    }
}

/// What ended an eval whose hard timeout had passed (SPEC E-3), gentlest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "TimeoutFields", into = "TimeoutFields")]
pub enum TimeoutStep {
    /// The interrupt; the state is kept.
    Interrupted,
    /// The children it had started were killed; the state is kept.
    ChildrenKilled,
    /// The interpreter was killed: the state is lost.
    InterpreterKilled,
    /// What runs the code is not the session's own, so only the connection to it was given up. The code may go on.
    Disconnected,
}

/// The step as it is written. Older versions know only the first field.
#[derive(Serialize, Deserialize)]
struct TimeoutFields {
    killed: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    children_killed: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    disconnected: bool,
}

impl From<TimeoutFields> for TimeoutStep {
    fn from(fields: TimeoutFields) -> Self {
        match fields {
            TimeoutFields { disconnected: true, .. } => TimeoutStep::Disconnected,
            TimeoutFields { killed: true, .. } => TimeoutStep::InterpreterKilled,
            TimeoutFields { children_killed: true, .. } => TimeoutStep::ChildrenKilled,
            TimeoutFields { .. } => TimeoutStep::Interrupted,
        }
    }
}

impl From<TimeoutStep> for TimeoutFields {
    fn from(step: TimeoutStep) -> Self {
        TimeoutFields {
            killed: matches!(step, TimeoutStep::InterpreterKilled | TimeoutStep::Disconnected),
            children_killed: step == TimeoutStep::ChildrenKilled,
            disconnected: step == TimeoutStep::Disconnected,
        }
    }
}

/// How a session's interpreter came to its end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum EndReason {
    /// The interpreter exited.
    Exit {
        /// Its exit code.
        code: i32,
    },
    /// A signal ended the interpreter.
    Signal {
        /// The signal's number.
        signal: i32,
    },
    /// User code replaced the interpreter by another program (`exec`), which then ended.
    Replaced {
        /// The program's exit code, or 128 plus the signal.
        code: i32,
    },
    /// The bridge said something that is not the protocol.
    Protocol {
        /// What it said.
        message: String,
    },
    /// What ran the code elsewhere is gone, or cannot be reached any more.
    Gone {
        /// What happened.
        reason: String,
    },
    /// The interpreter could not be started.
    LaunchFailed {
        /// What was tried and what it printed.
        message: String,
        /// What kept it from starting, where that is known.
        #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "lenient")]
        trouble: Option<Box<StartTrouble>>,
        /// How the state was lost that the session had before, if nobody was told of that (SPEC S-6).
        #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "lenient")]
        untold: Option<Box<EndReason>>,
    },
    /// `stop` was asked for.
    Stopped {
        /// Who asked.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<Box<By>>,
    },
    /// `restart` was asked for.
    Restarted {
        /// Who asked.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<Box<By>>,
    },
    /// `kill` was asked for.
    Killed {
        /// Who asked.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<Box<By>>,
    },
    /// A hard timeout passed and the code would not stop.
    HardTimeout,
    /// Nobody used the session for its idle timeout.
    Idle {
        /// The timeout.
        after_ms: u64,
    },
    /// The session's host was killed.
    HostDied,
    /// The session went back to a copy of its earlier state while this was running or waiting; it lives on.
    RolledBack {
        /// Who asked.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<Box<By>>,
    },
    /// The session was to go back to a copy of its earlier state, which could not be woken.
    NotRestored {
        /// Why.
        message: String,
    },
    /// A reason of a newer version.
    #[serde(other)]
    Unknown,
}

impl EndReason {
    /// That an interpreter, or what was to run the code, could not be started.
    pub fn launch_failed(message: String, trouble: Option<Box<StartTrouble>>) -> Self {
        EndReason::LaunchFailed { message, trouble, untold: None }
    }

    /// The state that was lost with this end, if there was any.
    pub fn loss(&self) -> Option<&EndReason> {
        match self {
            // An interpreter that could not be started had no state to lose.
            EndReason::LaunchFailed { untold, .. } => untold.as_deref(),
            lost => Some(lost),
        }
    }

    /// The same end with who asked for it, if it is one that somebody asks for.
    pub fn asked_by(mut self, asker: Option<&By>) -> Self {
        if let EndReason::Stopped { by }
        | EndReason::Restarted { by }
        | EndReason::Killed { by }
        | EndReason::RolledBack { by } = &mut self
        {
            *by = asker.cloned().map(Box::new);
        }
        self
    }

    /// Who asked for it, if somebody did and that is known.
    pub fn asker(&self) -> Option<&By> {
        match self {
            EndReason::Stopped { by }
            | EndReason::Restarted { by }
            | EndReason::Killed { by }
            | EndReason::RolledBack { by } => by.as_deref(),
            _ => None,
        }
    }
}

impl std::fmt::Display for EndReason {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            EndReason::Exit { code } => write!(f, "the interpreter exited with code {code}"),
            EndReason::Signal { signal } => {
                write!(f, "the interpreter was ended by {}", signal_words(*signal))
            }
            EndReason::Replaced { code } => {
                write!(f, "the interpreter was replaced by another program, which exited with code {code}")
            }
            EndReason::Protocol { message } => write!(f, "the bridge broke its protocol: {message}"),
            EndReason::Gone { reason } => write!(f, "what ran the code is gone: {reason}"),
            EndReason::LaunchFailed { message, .. } => write!(f, "the session could not be started: {message}"),
            EndReason::Stopped { by } => write!(f, "the session was stopped{}", ByWhom(by.as_deref())),
            EndReason::Restarted { by } => {
                write!(f, "the session was restarted{}", ByWhom(by.as_deref()))
            }
            EndReason::Killed { by: None } => f.write_str("the interpreter was killed on request"),
            EndReason::Killed { by } => {
                write!(f, "the interpreter was killed{}", ByWhom(by.as_deref()))
            }
            EndReason::HardTimeout => {
                f.write_str("the hard timeout passed and the code would not stop, so the interpreter was killed")
            }
            EndReason::Idle { after_ms } => write!(f, "the session was idle for {} s", after_ms / 1000),
            EndReason::HostDied => f.write_str("the session's host process was killed"),
            EndReason::RolledBack { by } => {
                write!(f, "the session was rolled back{}", ByWhom(by.as_deref()))
            }
            EndReason::NotRestored { message } => {
                write!(f, "the session could not be rolled back: {message}")
            }
            EndReason::Unknown => f.write_str("unknown reason"),
        }
    }
}

/// A signal by its number, and its name if it has one.
pub fn signal_words(signal: i32) -> String {
    match signal_name(signal) {
        Some(name) => format!("signal {signal} ({name})"),
        None => format!("signal {signal}"),
    }
}

fn signal_name(signal: i32) -> Option<&'static str> {
    Some(match signal {
        1 => "SIGHUP",
        2 => "SIGINT",
        3 => "SIGQUIT",
        4 => "SIGILL",
        6 => "SIGABRT",
        7 => "SIGBUS",
        8 => "SIGFPE",
        9 => "SIGKILL",
        11 => "SIGSEGV",
        13 => "SIGPIPE",
        14 => "SIGALRM",
        15 => "SIGTERM",
        24 => "SIGXCPU",
        25 => "SIGXFSZ",
        31 => "SIGSYS",
        _ => return None,
    })
}

/// The last record of an eval, on disk before a client is told.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finished {
    /// How it ended.
    pub outcome: Outcome,
    /// The interpreter it ran in.
    pub generation: Generation,
    /// Where its part of the spool begins; background output of earlier evals comes first.
    pub start: Offset,
    /// Where its part of the spool ends: it writes nothing after this, so no reader has to wait for more.
    pub end: Offset,
    /// From start to end, without paused time.
    pub duration_ms: u64,
    /// What `sys.exit(…)` or a shell command ended with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// What it did to the names of the session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changed: Option<Changed>,
    /// Bytes of output that were not kept because of the quota or a full disk.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub lost_bytes: u64,
    /// Why the first of those bytes were not kept. Older versions do not say.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "lenient")]
    pub not_kept: Option<Box<NotKept>>,
    /// Something unusual that the user should know.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notice: Option<String>,
    /// The namespace that the next eval runs in, in languages that have such (Clojure).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ns: Option<String>,
    /// Who first asked to stop it, if somebody did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interrupted_by: Option<By>,
    /// Its interpreter was ended, and the session went on from a copy by itself: the last eval whose effect that
    /// copy has, or 0 if it has none (SPEC ST-5).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub restored: Option<EvalSeq>,
}

/// Why output was not kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum NotKept {
    /// The quota is used up, and everything that is kept belongs to the running eval.
    Quota {
        /// How many bytes a session keeps.
        bytes: u64,
    },
    /// There is no room on the disk, or none for this user.
    DiskFull,
    /// The session's files were deleted.
    Removed,
    /// The disk did not take it for another reason.
    Disk {
        /// The system's number for the error.
        errno: i32,
    },
    /// A value, an error or a display is larger than any that is kept.
    TooLarge {
        /// The most that one may have.
        most: u64,
    },
    /// A reason of a newer version.
    #[serde(other)]
    Unknown,
}

impl std::fmt::Display for NotKept {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            NotKept::Quota { bytes } => write!(f, "the session keeps at most {bytes} bytes"),
            NotKept::DiskFull => f.write_str("the disk is full"),
            NotKept::Removed => f.write_str("the session's files were removed"),
            NotKept::Disk { errno } => {
                let error = std::io::Error::from_raw_os_error(*errno);
                write!(f, "the disk did not take them: {error}")
            }
            NotKept::TooLarge { most } => {
                write!(f, "a single value or display may have at most {most} bytes")
            }
            NotKept::Unknown => f.write_str("unknown reason"),
        }
    }
}

impl Finished {
    /// The record of an eval of which nothing else is known.
    pub fn new(outcome: Outcome, generation: Generation, start: Offset, end: Offset) -> Self {
        Finished {
            outcome,
            generation,
            start,
            end,
            duration_ms: 0,
            exit_code: None,
            changed: None,
            lost_bytes: 0,
            not_kept: None,
            notice: None,
            ns: None,
            interrupted_by: None,
            restored: None,
        }
    }

    /// The record that a killed host could not write. An eval is recorded as started before its code is sent.
    /// So for an eval with a `start` it cannot be known whether its code had begun; one without was never
    /// sent.
    pub fn host_died(generation: Generation, start: Option<Offset>, end: Offset) -> Self {
        let notice = match start {
            Some(_) => "its code may have run, wholly or in part",
            None => "it did not run",
        };
        let finished = Finished::new(Outcome::HostDied, generation, start.unwrap_or(end), end);
        Finished { notice: Some(notice.to_owned()), ..finished }
    }
}

pub(crate) fn is_zero(n: &u64) -> bool {
    *n == 0
}

/// Names an eval made, bound anew or removed (SPEC E-13).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Changed {
    /// New names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub added: Vec<Change>,
    /// Names that now hold another object, or a data frame or array that was changed in place.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rebound: Vec<Change>,
    /// Names that are gone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub removed: Vec<String>,
    /// How many more there were than are listed.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub more: u64,
}

impl Changed {
    /// Whether nothing changed.
    pub fn is_empty(&self) -> bool {
        self.added.is_empty() && self.rebound.is_empty() && self.removed.is_empty()
    }
}

/// One changed name with what it holds now.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// The name.
    pub name: String,
    /// The type of its value.
    #[serde(rename = "type")]
    pub type_name: String,
    /// Its size where that says something: `1000×5`, `12`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<String>,
    /// How a data frame or array differs from what the name held before: `1000×5→940×6 +ratio`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub change: Option<String>,
}

impl Change {
    /// What is said of it in brackets: how it differs, which tells its size too, or else its size.
    pub fn detail(&self) -> Option<&str> {
        self.change.as_deref().or(self.size.as_deref())
    }
}
