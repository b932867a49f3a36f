//! Why a client could not do what it was asked.

use std::io;
use std::path::PathBuf;

use stead_protocol::{ErrorCode, NameError, SessionName, WireError};
use thiserror::Error;

/// Why a request of a front end could not be carried out.
#[derive(Debug, Error)]
pub enum ClientError {
    /// The host refused, or the request was found wrong before it was sent.
    #[error(transparent)]
    Refused(#[from] WireError),
    /// A name breaks the grammar.
    #[error(transparent)]
    Name(#[from] NameError),
    /// There is no such session in the workspace.
    #[error("no session named `{name}` in `{workspace}`")]
    NotFound {
        /// The name that was asked for.
        name: SessionName,
        /// Where it was looked for.
        workspace: String,
        /// What there is.
        existing: Vec<SessionName>,
    },
    /// There is no such session, and its name does not tell in which language to start it.
    #[error("no session named `{name}` in `{workspace}`")]
    NoLanguage {
        /// The name that was asked for.
        name: SessionName,
        /// Where it was looked for.
        workspace: String,
        /// What there is.
        existing: Vec<SessionName>,
    },
    /// No name was given and there is not exactly one session.
    #[error("{}", if existing.is_empty() { "no session in this workspace" } else { "there is more than one session" })]
    WhichSession {
        /// What there is.
        existing: Vec<SessionName>,
    },
    /// The session lives already.
    #[error("session `{name}` exists already")]
    Exists {
        /// Its name.
        name: SessionName,
    },
    /// The session has no interpreter that could answer.
    #[error("session `{name}` has ended: {reason}")]
    Ended {
        /// Its name.
        name: SessionName,
        /// How it ended.
        reason: String,
    },
    /// State that the request counted on is gone and nobody had been told.
    #[error("the state of session `{name}` is lost: {reason}; this code did not run")]
    Lost {
        /// The session.
        name: SessionName,
        /// Why.
        reason: String,
    },
    /// A session that is to be removed and has a live host.
    #[error("session `{name}` has a live host and is not removed")]
    InUse {
        /// The session.
        name: SessionName,
    },
    /// There is no such eval.
    #[error("no eval `{id}`")]
    NoEval {
        /// The id that was asked for.
        id: String,
        /// The ids there are, in words.
        known: String,
    },
    /// An eval whose record was dropped to make room.
    #[error(
        "the record of eval `{id}` is gone: the history of a session may take {}, and the oldest evals go first",
        mebibytes(*quota)
    )]
    EvalGone {
        /// The id that was asked for.
        id: String,
        /// The ids there are, in words.
        known: String,
        /// How many bytes a history may take.
        quota: u64,
    },
    /// A host could not be started.
    #[error("could not start the host of session `{name}`: {message}")]
    Launch {
        /// The session.
        name: SessionName,
        /// What it said last.
        message: String,
    },
    /// A host exists and cannot be talked to.
    #[error("{message}")]
    Connection {
        /// What happened, on what.
        message: String,
        /// The next step.
        hint: Option<String>,
    },
    /// A host lives and says nothing: it may be stopped, or the machine overloaded.
    #[error("the host of session `{name}`{} does not answer{}", in_brackets(*pid), and_so(*fate))]
    Silent {
        /// The session.
        name: SessionName,
        /// The host's process, if it is known.
        pid: Option<u32>,
        /// What that means for what was to be done.
        fate: Option<Fate>,
    },
    /// A host closed the connection before it answered.
    #[error("the host of session `{name}` closed the connection")]
    HungUp {
        /// The session.
        name: SessionName,
        /// It had not read all of the request, so it did nothing about it.
        unread: bool,
    },
    /// Processes of a session that has ended do not die.
    #[error("of session `{name}`, which has ended, processes are left that cannot be killed: {}", processes.join(", "))]
    Left {
        /// The session.
        name: SessionName,
        /// Their ids and command lines.
        processes: Vec<String>,
    },
    /// A file or directory could not be used.
    #[error("could not {action} `{}`", path.display())]
    File {
        /// What was tried.
        action: &'static str,
        /// On what.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// The spool or the history could not be read.
    #[error("could not read the spool of session `{name}`")]
    Spool {
        /// The session.
        name: SessionName,
        /// Why not.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

/// A size of a history in words.
pub fn mebibytes(bytes: u64) -> String {
    match bytes {
        small if small < 1 << 20 => format!("{small} bytes"),
        whole if whole % (1 << 20) == 0 => format!("{} MiB", whole >> 20),
        other => format!("{:.1} MiB", other as f64 / f64::from(1 << 20)),
    }
}

impl ClientError {
    /// The code for programs.
    pub fn code(&self) -> ErrorCode {
        match self {
            ClientError::Refused(error) => error.code,
            ClientError::Name(NameError::Session { .. } | NameError::Eval { .. }) => {
                ErrorCode::BadRequest
            }
            ClientError::NotFound { .. }
            | ClientError::NoLanguage { .. }
            | ClientError::WhichSession { .. } => ErrorCode::SessionNotFound,
            ClientError::Exists { .. } => ErrorCode::SessionExists,
            ClientError::Ended { .. } => ErrorCode::SessionEnded,
            ClientError::Lost { .. } => ErrorCode::SessionLost,
            ClientError::NoEval { .. } | ClientError::EvalGone { .. } => ErrorCode::EvalNotFound,
            ClientError::InUse { .. } => ErrorCode::SessionBusy,
            ClientError::Launch { .. } => ErrorCode::LaunchFailed,
            ClientError::Connection { .. }
            | ClientError::Silent { .. }
            | ClientError::Left { .. }
            | ClientError::HungUp { .. }
            | ClientError::File { .. }
            | ClientError::Spool { .. } => ErrorCode::ConnectionFailed,
        }
    }

    /// The next step, where there is one.
    pub fn hint(&self) -> Option<String> {
        match self {
            ClientError::Refused(error) => error.hint.clone(),
            ClientError::Name(error) => Some(error.hint().to_owned()),
            ClientError::NotFound { existing, .. } if existing.is_empty() => Some(
                "there are no sessions here; start one: `stead launch python -n py`".to_owned(),
            ),
            ClientError::NotFound { existing, .. } => {
                Some(format!("sessions here: {}", joined(existing)))
            }
            ClientError::NoLanguage { name, existing, .. } => {
                let start = format!("to start `{name}`, say in which language: `-l python`");
                Some(match existing.as_slice() {
                    [] => start,
                    some => format!("sessions here: {}; {start}", joined(some)),
                })
            }
            ClientError::WhichSession { existing } if existing.is_empty() => {
                Some("name a language to start with: `stead eval -n py '1+1'`".to_owned())
            }
            ClientError::WhichSession { existing } => {
                Some(format!("name one with `-n`: {}", joined(existing)))
            }
            ClientError::Exists { name } => Some(format!(
                "use it: `stead eval -n {name} …`, or end it first: `stead stop -n {name}`"
            )),
            ClientError::Ended { name, .. } => {
                Some(format!("the next `stead eval -n {name} …` starts it fresh"))
            }
            ClientError::Lost { .. } => {
                Some("run what set the state up again; the next eval starts fresh".to_owned())
            }
            ClientError::NoEval { known, .. } | ClientError::EvalGone { known, .. } => {
                Some(known.clone())
            }
            ClientError::InUse { name } => Some(format!("stop it first: `stead stop -n {name}`")),
            ClientError::Launch { name, .. } => {
                Some(format!("see `stead logs -n {name}` and `stead doctor`"))
            }
            ClientError::Connection { hint, .. } => hint.clone(),
            ClientError::Silent { name, pid, .. } => Some(match pid {
                Some(pid) if is_stopped(*pid) => {
                    format!("it was stopped by a signal: `kill -CONT {pid}` lets it go on")
                }
                Some(pid) => format!(
                    "the machine may be overloaded: try again; see `stead logs -n {name}`, or `kill {pid}`"
                ),
                None => format!("try again; see `stead logs -n {name}`"),
            }),
            ClientError::HungUp { name, .. } => {
                Some(format!("it was killed or has ended: see `stead status -n {name}`"))
            }
            ClientError::Left { name, .. } => {
                Some(format!("end them yourself, then `stead stop -n {name}` again"))
            }
            ClientError::File { .. } => Some("see `stead doctor`".to_owned()),
            ClientError::Spool { .. } => None,
        }
    }

    /// The same of a call whose code had not been sent when it failed.
    pub(crate) fn before_sending(self) -> Self {
        match self {
            ClientError::Silent { name, pid, .. } => {
                ClientError::Silent { name, pid, fate: Some(Fate::CodeNotSent) }
            }
            ClientError::Connection { message, hint } => {
                let message = format!("{message}{}", and_so(Some(Fate::CodeNotSent)));
                ClientError::Connection { message, hint }
            }
            other => other,
        }
    }

    /// Whether the host closed the connection without an answer.
    pub(crate) fn is_hang_up(&self) -> bool {
        matches!(self, ClientError::HungUp { .. })
    }

    /// The error as one flat thing: code, message with its causes, hint.
    pub fn to_wire(&self) -> WireError {
        let mut message = self.to_string();
        let mut cause = std::error::Error::source(self);
        while let Some(error) = cause {
            message.push_str(": ");
            message.push_str(&error.to_string());
            cause = error.source();
        }
        WireError { code: self.code(), message, hint: self.hint() }
    }

    /// A request that is wrong in itself.
    pub fn bad_request(message: impl Into<String>) -> Self {
        ClientError::Refused(WireError::new(ErrorCode::BadRequest, message))
    }

    pub(crate) fn file(
        action: &'static str,
        path: impl Into<PathBuf>,
    ) -> impl FnOnce(io::Error) -> ClientError {
        let path = path.into();
        move |source| ClientError::File { action, path, source }
    }

    pub(crate) fn spool<E>(name: &SessionName) -> impl FnOnce(E) -> ClientError
    where
        E: std::error::Error + Send + Sync + 'static,
    {
        move |source| ClientError::Spool { name: name.clone(), source: Box::new(source) }
    }
}

/// What became of something that a host was asked for and did not answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// Code did not reach the host.
    CodeNotSent,
    /// Input reached the host, which has not said what it did with it.
    InputSent,
}

fn and_so(fate: Option<Fate>) -> &'static str {
    match fate {
        None => "",
        Some(Fate::CodeNotSent) => "; the code was not sent, so it did not run",
        Some(Fate::InputSent) => "; the input was sent and may still be read",
    }
}

fn in_brackets(pid: Option<u32>) -> String {
    pid.map(|pid| format!(" (pid {pid})")).unwrap_or_default()
}

/// Whether a process was stopped by a signal.
pub(crate) fn is_stopped(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with(['T', 't']))
}

fn joined(names: &[SessionName]) -> String {
    names.iter().map(SessionName::as_str).collect::<Vec<_>>().join(", ")
}
