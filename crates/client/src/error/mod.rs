//! Why a client could not do what it was asked.
//!
//! Errors say what failed and on what. What to do about it is for each front end to say in its own words, so nothing
//! here names a command or a tool.

mod connection;
mod request;
mod stdlib;

use std::io;
use std::path::PathBuf;

use stead_protocol::{
    ErrorCode, NameError, SessionName, StartTrouble, Token, WireError, with_causes,
};
use thiserror::Error;

use crate::config::{TrustStanding, Unallowed};

pub use connection::ConnectionTrouble;
pub use request::RequestError;
pub use stdlib::StdlibError;

/// Why a request of a front end could not be carried out.
#[derive(Debug, Error)]
pub enum ClientError {
    /// The host refused.
    #[error("{error}")]
    Refused {
        /// The session.
        name: SessionName,
        /// What it said.
        error: Box<WireError>,
    },
    /// What was asked for is wrong in itself, which was found before anything was sent.
    #[error(transparent)]
    Request(#[from] RequestError),
    /// What a front end itself found wrong, in its own words.
    #[error("{0}")]
    FrontEnd(Box<WireError>),
    /// There is no such session in the workspace.
    #[error("no session named `{name}` in `{workspace}`")]
    NotFound {
        /// The name that was asked for.
        name: SessionName,
        /// Where it was looked for.
        workspace: String,
        /// What there is.
        existing: Vec<SessionName>,
        /// The nearest workspace around this one that has such a session.
        around: Option<String>,
    },
    /// The session is one of the project's configuration, which the user has not allowed.
    #[error(
        "session `{name}` is set up by {}`{}`, which {}",
        if unallowed.standing == TrustStanding::Gone { "an earlier content of " } else { "" },
        unallowed.dir.display(),
        match unallowed.standing {
            TrustStanding::Changed => "has changed since it was allowed",
            TrustStanding::Gone => "is not allowed any more",
            TrustStanding::New | TrustStanding::Allowed => "is not allowed",
        }
    )]
    NotAllowed {
        /// The session.
        name: SessionName,
        /// What the user would have to allow.
        unallowed: Box<Unallowed>,
    },
    /// There is no such session, and its name does not tell in which language to start it.
    #[error("no session named `{name}` in `{workspace}`")]
    NoLanguage {
        /// Sessions that could be started because a configuration file names them.
        configured: Vec<SessionName>,
        /// The name that was asked for.
        name: SessionName,
        /// Where it was looked for.
        workspace: String,
        /// What there is.
        existing: Vec<SessionName>,
        /// The nearest workspace around this one that has such a session.
        around: Option<String>,
    },
    /// No name was given and there is not exactly one session.
    #[error("{}", if existing.is_empty() { "no session in this workspace" } else { "there is more than one session" })]
    WhichSession {
        /// What there is.
        existing: Vec<SessionName>,
        /// The nearest workspace around this one that has such a session.
        around: Option<String>,
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
    /// A file could not be loaded into the session that was opened for it.
    #[error("{}; {closed}", error.message())]
    NotLoaded {
        /// Why not.
        error: Box<ClientError>,
        /// What became of the session.
        closed: String,
    },
    /// The session is to be removed and has a live host.
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
    /// A host was started, and its interpreter could not be.
    #[error("could not start session `{name}`: {message}")]
    NotStarted {
        /// The session.
        name: SessionName,
        /// What was tried, and what came of it.
        message: String,
        /// What kept it from starting, where that is known.
        trouble: Option<Box<StartTrouble>>,
    },
    /// A host exists and cannot be talked to.
    #[error("{trouble}{}", and_so(*fate))]
    Connection {
        /// What happened, on what.
        trouble: Box<ConnectionTrouble>,
        /// What became of the code or input that was being sent.
        fate: Option<Fate>,
    },
    /// A host lives and says nothing: it may be stopped, or the machine overloaded.
    #[error("the host of session `{name}`{} does not answer{}", in_brackets(*pid), and_so(*fate))]
    Silent {
        /// The session.
        name: SessionName,
        /// The host's process, if it is known.
        pid: Option<u32>,
        /// What became of the code or input that was being sent.
        fate: Option<Fate>,
    },
    /// A host closed the connection before it answered.
    #[error("the host of session `{name}` closed the connection")]
    HungUp {
        /// The session.
        name: SessionName,
        /// Whether the host had not read all of the request, so that it did nothing about it.
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
            ClientError::Refused { error, .. } | ClientError::FrontEnd(error) => error.code,
            ClientError::Request(_) => ErrorCode::BadRequest,
            ClientError::NotLoaded { error, .. } => error.code(),
            ClientError::NotFound { .. }
            | ClientError::NoLanguage { .. }
            | ClientError::WhichSession { .. } => ErrorCode::SessionNotFound,
            ClientError::Exists { .. } => ErrorCode::SessionExists,
            ClientError::Ended { .. } => ErrorCode::SessionEnded,
            ClientError::Lost { .. } => ErrorCode::SessionLost,
            ClientError::NoEval { .. } | ClientError::EvalGone { .. } => ErrorCode::EvalNotFound,
            ClientError::InUse { .. } => ErrorCode::SessionBusy,
            ClientError::Launch { .. }
            | ClientError::NotAllowed { .. }
            | ClientError::NotStarted { .. } => ErrorCode::LaunchFailed,
            ClientError::Connection { .. }
            | ClientError::Silent { .. }
            | ClientError::Left { .. }
            | ClientError::HungUp { .. }
            | ClientError::File { .. }
            | ClientError::Spool { .. } => ErrorCode::ConnectionFailed,
        }
    }

    /// The same error, saying that the code had not been sent.
    pub(crate) fn before_sending(self) -> Self {
        let fate = Some(Fate::CodeNotSent);
        match self {
            ClientError::Silent { name, pid, .. } => ClientError::Silent { name, pid, fate },
            ClientError::Connection { trouble, .. } => ClientError::Connection { trouble, fate },
            other => other,
        }
    }

    /// Whether the host closed the connection without an answer.
    pub(crate) fn is_hang_up(&self) -> bool {
        matches!(self, ClientError::HungUp { .. })
    }

    /// What failed, with its causes.
    pub fn message(&self) -> String {
        with_causes(self)
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

impl From<ConnectionTrouble> for ClientError {
    fn from(trouble: ConnectionTrouble) -> Self {
        ClientError::Connection { trouble: Box::new(trouble), fate: None }
    }
}

impl From<StdlibError> for ClientError {
    fn from(error: StdlibError) -> Self {
        RequestError::Stdlib(error).into()
    }
}

impl From<NameError> for ClientError {
    fn from(error: NameError) -> Self {
        RequestError::Name(error).into()
    }
}

impl From<WireError> for ClientError {
    fn from(error: WireError) -> Self {
        ClientError::FrontEnd(Box::new(error))
    }
}

/// What became of code or input that was sent to a host which did not answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// Code did not reach the host.
    CodeNotSent,
    /// Code reached the host, which has not said that it took it.
    CodeSent {
        /// What the code was sent with: by this it can be found.
        token: Token,
    },
    /// Input reached the host, which has not said what it did with it.
    InputSent,
}

fn and_so(fate: Option<Fate>) -> &'static str {
    match fate {
        None => "",
        Some(Fate::CodeNotSent) => "; the code was not sent, so it did not run",
        Some(Fate::CodeSent { .. }) => "; the code was sent and may still run",
        Some(Fate::InputSent) => "; the input was sent and may still be read",
    }
}

fn in_brackets(pid: Option<u32>) -> String {
    pid.map(|pid| format!(" (pid {pid})")).unwrap_or_default()
}

/// Whether a process was stopped by a signal.
pub fn is_stopped(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with(['T', 't']))
}
