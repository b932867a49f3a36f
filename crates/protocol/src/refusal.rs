//! Why a host refuses a request, and why an interpreter does not start.
//!
//! These carry numbers and names and no advice: each front end says in its own words what to do next.

use serde::{Deserialize, Deserializer, Serialize};

use crate::words::words;
use crate::{EndReason, ErrorCode, EvalId, EvalSeq, PROGRAM, SessionName, Speaker, UndoTrouble};

/// Why a host refuses a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Refusal {
    /// The line is not a request.
    NotARequest {
        /// What is wrong with it.
        problem: String,
    },
    /// Another request came before `hello`.
    NotGreeted,
    /// A request or question of a newer client.
    UnknownRequest {
        /// Which of the two.
        what: String,
        /// The host that does not know it.
        host: Speaker,
    },
    /// Host and client have no version of the wire in common.
    OtherVersion {
        /// The host.
        host: Speaker,
        /// The client.
        client: Speaker,
    },
    /// The client writes files that the host it starts cannot read.
    NewerFiles {
        /// Their version.
        files: u32,
        /// The newest version that the host reads.
        reads: u32,
        /// The client.
        client: Speaker,
    },
    /// A message is longer than any may be.
    MessageTooLong {
        /// Most bytes of a message.
        most: usize,
    },
    /// The messages of all clients together take more memory than they may.
    MessagesTooLong {
        /// Most bytes of all of them.
        most: usize,
    },
    /// The code is longer than any may be.
    CodeTooLong {
        /// How many bytes it has.
        bytes: usize,
        /// Most bytes of code.
        most: usize,
    },
    /// The queue is full.
    QueueFull {
        /// How many evals wait.
        evals: usize,
    },
    /// The evals in the queue have as much code as they may.
    QueuedCodeFull {
        /// How many bytes of it wait.
        bytes: usize,
    },
    /// The same key or token was sent before, and the record of its eval was dropped.
    SentBefore {
        /// The number that this eval had.
        eval: EvalSeq,
    },
    /// The disk refused the record that every eval has before it runs.
    NotRecorded {
        /// What the disk said.
        why: String,
    },
    /// The interpreter that the code counted on is gone.
    StateLost {
        /// How it ended.
        reason: EndReason,
    },
    /// The interpreter ended while nothing ran, and the session went back to a state that is older than the one that the code
    /// counts on.
    StateSetBack {
        /// The last eval whose effect is there; none if it is as at the start.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        after: Option<EvalSeq>,
        /// The evals that have no effect any more, oldest first.
        undone: Vec<EvalSeq>,
    },
    /// An eval waits for input, so that code cannot run.
    WaitsForInput {
        /// The eval.
        eval: EvalSeq,
        /// What it asks, if anything.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        prompt: String,
    },
    /// An eval runs, and the request does not want to wait for it.
    Busy {
        /// The eval.
        eval: EvalSeq,
    },
    /// The names of the session cannot be looked at now.
    NamesBusy {
        /// What it is doing instead.
        doing: Doing,
    },
    /// Showing the names of the session took too long.
    NamesSlow,
    /// The session is about to end.
    Ending,
    /// The session has ended.
    Ended {
        /// How.
        reason: EndReason,
    },
    /// There never was such an eval.
    NoEval {
        /// Its number.
        eval: EvalSeq,
    },
    /// The record of an eval was dropped to make room.
    EvalGone {
        /// Its number.
        eval: EvalSeq,
    },
    /// Input was for an eval that does not run.
    NotRunning {
        /// Its number.
        eval: EvalSeq,
    },
    /// The session has no interpreter that could read.
    NoInterpreter,
    /// Nothing reads the session's input.
    NothingReads,
    /// The input could not be written.
    InputNotWritten {
        /// What the system said.
        why: String,
    },
    /// The language cannot do this.
    NotPossible {
        /// What was asked for.
        what: String,
        /// The session's language.
        language: String,
    },
    /// There is no checkpoint with this label, or none at all.
    NoCheckpoint {
        /// The label that was asked for.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        label: Option<String>,
        /// The labels that there are.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        labels: Vec<String>,
    },
    /// There are as many checkpoints as there may be.
    TooManyCheckpoints {
        /// How many.
        most: usize,
    },
    /// The eval cannot be undone.
    NotUndone {
        /// Why.
        trouble: UndoTrouble,
    },
    /// The bridge could not answer a question about names.
    NoAnswer {
        /// What it said.
        problem: String,
    },
    /// The session could not be started.
    NotStarted {
        /// What was tried, and what came of it.
        message: String,
        /// What kept it from starting, where that is known.
        #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "lenient")]
        trouble: Option<Box<StartTrouble>>,
    },
    /// Another host holds the session and says nothing.
    OtherHost,
    /// A refusal of a newer host, which is told in its own words.
    #[serde(other)]
    Unknown,
}

/// What keeps a session from answering a question.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Doing {
    /// Its interpreter is starting.
    Starting,
    /// It runs an eval.
    Running {
        /// Which.
        eval: EvalSeq,
    },
    /// It answers another question.
    Answering,
    /// It is ending.
    Ending,
    /// It is paused.
    Paused,
    /// Something of a newer version.
    #[serde(other)]
    Unknown,
}

/// What kept an interpreter from starting.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum StartTrouble {
    /// No such program was found.
    Missing {
        /// The language of the session.
        language: String,
        /// The program that was looked for.
        program: String,
    },
    /// Programs were found, and none of them starts.
    NoneStarts {
        /// The language of the session.
        language: String,
        /// The program that was looked for.
        program: String,
    },
    /// The one that was named or chosen cannot be run.
    NotRunnable {
        /// The language of the session.
        language: String,
        /// Its path.
        path: String,
    },
    /// The project has no environment of the kind that the session's toolchain takes.
    NoEnvironment {
        /// The language of the session.
        language: String,
        /// How it can be made.
        make: String,
    },
    /// There is no Jupyter kernel of this name.
    NoKernel {
        /// The name.
        name: String,
        /// Those that there are.
        known: Vec<String>,
    },
    /// What runs elsewhere, or was started for the session and is spoken to, cannot be used.
    Elsewhere {
        /// The engine of the session: `jupyter`, `gateway` or `nrepl`.
        engine: String,
        /// What is in the way.
        obstacle: Obstacle,
    },
    /// The session was removed while it was started.
    Removed,
    /// The session was set up by its project, and that is not allowed any more (SPEC CF-4).
    NotAllowed {
        /// The project's directory.
        dir: String,
    },
    /// Something of a newer version.
    #[serde(other)]
    Unknown,
}

/// What keeps a session from using a server or a kernel that it speaks to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Obstacle {
    /// Nobody listens at the address, its name is not known, or it does not answer.
    NotReached,
    /// Something else listens there.
    OtherKind,
    /// It wants another token, or one at all.
    Token,
    /// Its certificate is not trusted, or TLS cannot be had of it.
    Untrusted,
    /// It leads to another address.
    LeadsElsewhere,
    /// It has no such kernel to start.
    NoSuchKernel,
    /// It has no running kernel of this id.
    NoSuchId,
    /// The file that says how to reach it cannot be used.
    File,
    /// It was started, and has ended or does not answer.
    Died,
    /// The program that starts it cannot be run.
    Program,
    /// Something else, or of a newer version.
    Other,
}

words!(Obstacle {
    NotReached => "not_reached",
    OtherKind => "other_kind",
    Token => "token",
    Untrusted => "untrusted",
    LeadsElsewhere => "leads_elsewhere",
    NoSuchKernel => "no_such_kernel",
    NoSuchId => "no_such_id",
    File => "file",
    Died => "died",
    Program => "program",
    Other => "other",
} else Other);

/// How many evals that were undone a message names.
const UNDONE_NAMED: usize = 10;

impl Refusal {
    /// The code for programs.
    pub fn code(&self) -> ErrorCode {
        match self {
            Refusal::NotARequest { .. }
            | Refusal::NotGreeted
            | Refusal::NewerFiles { .. }
            | Refusal::NotRunning { .. }
            | Refusal::NoInterpreter
            | Refusal::NothingReads
            | Refusal::NoCheckpoint { .. }
            | Refusal::NotUndone { .. }
            | Refusal::NoAnswer { .. } => ErrorCode::BadRequest,
            Refusal::UnknownRequest { .. } | Refusal::NotPossible { .. } => ErrorCode::Unsupported,
            Refusal::MessageTooLong { .. }
            | Refusal::MessagesTooLong { .. }
            | Refusal::CodeTooLong { .. }
            | Refusal::QueueFull { .. }
            | Refusal::QueuedCodeFull { .. }
            | Refusal::NotRecorded { .. }
            | Refusal::TooManyCheckpoints { .. }
            | Refusal::InputNotWritten { .. } => ErrorCode::LimitExceeded,
            Refusal::SentBefore { .. } | Refusal::NoEval { .. } | Refusal::EvalGone { .. } => {
                ErrorCode::EvalNotFound
            }
            Refusal::StateLost { .. } | Refusal::StateSetBack { .. } => ErrorCode::SessionLost,
            Refusal::WaitsForInput { .. } => ErrorCode::WaitingInput,
            Refusal::Busy { .. } | Refusal::NamesBusy { .. } => ErrorCode::SessionBusy,
            Refusal::NamesSlow => ErrorCode::Timeout,
            Refusal::Ending | Refusal::Ended { .. } => ErrorCode::SessionEnded,
            Refusal::NotStarted { .. } => ErrorCode::LaunchFailed,
            Refusal::OtherVersion { .. } | Refusal::OtherHost => ErrorCode::ConnectionFailed,
            Refusal::Unknown => ErrorCode::Unknown,
        }
    }

    /// What failed, with evals named as users know them where the session is known.
    pub fn message(&self, session: Option<&SessionName>) -> String {
        let id = |eval: &EvalSeq| match session {
            Some(session) => format!("`{}`", EvalId { session: session.clone(), seq: *eval }),
            None => format!("eval {}", eval.0),
        };
        match self {
            Refusal::NotARequest { problem } => format!("not a request: {problem}"),
            Refusal::NotGreeted => "the first request must be `hello`".to_owned(),
            Refusal::UnknownRequest { what, host } => {
                format!(
                    "this host{}, protocol {}, does not know the {what}",
                    host.in_brackets(),
                    host.versions
                )
            }
            Refusal::OtherVersion { host, client } => Speaker::skew(host, client),
            Refusal::NewerFiles { files, reads, client } => format!(
                "the client{} writes files of version {files}, this host (stead {PROGRAM}) reads up to {reads}",
                client.in_brackets()
            ),
            Refusal::MessageTooLong { most } => {
                format!("a message may have at most {most} bytes")
            }
            Refusal::MessagesTooLong { most } => format!(
                "messages of other clients are on their way, and all together may have at most {most} bytes"
            ),
            Refusal::CodeTooLong { bytes, most } => {
                format!("the code has {bytes} bytes, at most {most} are allowed")
            }
            Refusal::QueueFull { evals } => format!("{evals} evals wait already"),
            Refusal::QueuedCodeFull { bytes } => format!("{bytes} bytes of code wait already"),
            Refusal::SentBefore { eval } => format!(
                "this was sent before, as {}, whose record is gone to make room; it was not run again",
                id(eval)
            ),
            Refusal::NotRecorded { why } => {
                format!("the eval could not be recorded, so it was not run: {why}")
            }
            Refusal::StateLost { reason } => {
                format!("the code was not run: the session's earlier state is gone: {reason}")
            }
            Refusal::StateSetBack { after, undone } => {
                let to = after
                    .as_ref()
                    .map_or("at its start".to_owned(), |eval| format!("after {}", id(eval)));
                let named: Vec<String> = undone.iter().take(UNDONE_NAMED).map(id).collect();
                let more = undone.len() - named.len();
                let more = if more > 0 { format!(" and {more} more") } else { String::new() };
                format!(
                    "the code was not run: the interpreter had ended, and the session went back to the state {to}; \
                     without effect now: {}{more}",
                    named.join(", ")
                )
            }
            Refusal::WaitsForInput { eval, prompt } if prompt.is_empty() => {
                format!("{} waits for input, so code cannot run now", id(eval))
            }
            Refusal::WaitsForInput { eval, prompt } => {
                format!("{} waits for input ({prompt:?}), so code cannot run now", id(eval))
            }
            Refusal::Busy { eval } => format!("the session is busy with {}", id(eval)),
            Refusal::NamesBusy { doing } => {
                let doing = match doing {
                    Doing::Starting => "is starting".to_owned(),
                    Doing::Running { eval } => format!("runs {}", id(eval)),
                    Doing::Answering => "answers another question".to_owned(),
                    Doing::Ending => "is ending".to_owned(),
                    Doing::Paused => "is paused".to_owned(),
                    Doing::Unknown => "is busy".to_owned(),
                };
                format!("the session {doing}, so its names cannot be looked at now")
            }
            Refusal::NamesSlow => "showing the session's names takes too long".to_owned(),
            Refusal::Ending => "the session is ending; its state is gone".to_owned(),
            Refusal::Ended { reason } => reason.to_string(),
            Refusal::NoEval { eval } => format!("there is no eval {}", id(eval)),
            Refusal::EvalGone { eval } => {
                format!("the record of {} is gone to make room", id(eval))
            }
            Refusal::NotRunning { eval } => {
                format!("{} does not run, so nothing was sent to it", id(eval))
            }
            Refusal::NoInterpreter => "the session has no interpreter".to_owned(),
            Refusal::NothingReads => "nothing waits for input in this session".to_owned(),
            Refusal::InputNotWritten { why } => format!("the input could not be written: {why}"),
            Refusal::NotPossible { what, language } => {
                format!("`{what}` is not possible in {language}")
            }
            Refusal::NoCheckpoint { label: Some(label), .. } => {
                format!("there is no checkpoint `{label}`")
            }
            Refusal::NoCheckpoint { label: None, .. } => "there is no checkpoint".to_owned(),
            Refusal::TooManyCheckpoints { most } => {
                format!("there are {most} checkpoints, and there may be no more")
            }
            Refusal::NotUndone { trouble } => trouble.message(session),
            Refusal::NoAnswer { problem } => problem.clone(),
            Refusal::NotStarted { message, .. } => message.clone(),
            Refusal::OtherHost => {
                "another host of this session is still there and does not answer".to_owned()
            }
            Refusal::Unknown => {
                "the host refused for a reason that this version does not know".to_owned()
            }
        }
    }
}

/// For a session that ended before it got ready, while a client waited for that.
impl From<EndReason> for Refusal {
    fn from(reason: EndReason) -> Self {
        match reason {
            EndReason::LaunchFailed { message, trouble, .. } => {
                Refusal::NotStarted { message, trouble }
            }
            reason => Refusal::Ended { reason },
        }
    }
}

/// Reads a detail that only makes an error more precise. A detail that cannot be read is left out, so that an
/// addition of a newer peer never hides the error itself.
pub(crate) fn lenient<'de, T, D>(from: D) -> Result<Option<T>, D::Error>
where
    T: serde::de::DeserializeOwned,
    D: Deserializer<'de>,
{
    let value = Option::<serde_json::Value>::deserialize(from)?;
    Ok(value.and_then(|value| serde_json::from_value(value).ok()))
}
