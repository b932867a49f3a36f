//! The one error that crosses a wire.

use serde::{Deserialize, Serialize};

use crate::refusal::lenient;
use crate::words::words;
use crate::{Refusal, SessionName, StartTrouble};

/// An error with its causes, in one line.
pub fn with_causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(": ");
        text.push_str(&error.to_string());
        cause = error.source();
    }
    text
}

/// What went wrong, for programs (SPEC C-5).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorCode {
    /// The code failed.
    EvalError,
    /// The eval was interrupted.
    Interrupted,
    /// The eval's hard timeout passed.
    Timeout,
    /// No such session.
    SessionNotFound,
    /// A session of this name exists already.
    SessionExists,
    /// The session runs something and the request does not wait.
    SessionBusy,
    /// The state this request counted on is gone; it did not run.
    SessionLost,
    /// The session ended while or before the request was carried out.
    SessionEnded,
    /// The foreground waits for input, so code cannot run.
    WaitingInput,
    /// No such eval.
    EvalNotFound,
    /// The interpreter or its host could not be started.
    LaunchFailed,
    /// A host exists and cannot be talked to.
    ConnectionFailed,
    /// The sandbox that was asked for cannot be had.
    SandboxUnavailable,
    /// A limit was hit.
    LimitExceeded,
    /// Not possible for this language or version.
    Unsupported,
    /// The request itself is wrong.
    BadRequest,
    /// A code of a newer peer.
    Unknown,
}

words!(ErrorCode {
    EvalError => "eval_error",
    Interrupted => "interrupted",
    Timeout => "timeout",
    SessionNotFound => "session_not_found",
    SessionExists => "session_exists",
    SessionBusy => "session_busy",
    SessionLost => "session_lost",
    SessionEnded => "session_ended",
    WaitingInput => "waiting_input",
    EvalNotFound => "eval_not_found",
    LaunchFailed => "launch_failed",
    ConnectionFailed => "connection_failed",
    SandboxUnavailable => "sandbox_unavailable",
    LimitExceeded => "limit_exceeded",
    Unsupported => "unsupported",
    BadRequest => "bad_request",
    Unknown => "unknown",
} else Unknown);

/// An error as it is sent: what failed and on what. What to do about it is for the front end to say.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WireError {
    /// For programs.
    pub code: ErrorCode,
    /// What failed, on what; for a client that does not know the refusal.
    pub message: String,
    /// The next step in the words of the command line. Hosts of older versions send it, none of this one does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// Why exactly. Hosts of older versions do not say.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "lenient")]
    pub refusal: Option<Box<Refusal>>,
}

impl WireError {
    /// An error without a hint.
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        WireError { code, message: message.into(), hint: None, refusal: None }
    }

    /// The error for a request that a host of this session refuses.
    pub fn refused(refusal: Refusal, session: &SessionName) -> Self {
        WireError {
            code: refusal.code(),
            message: refusal.message(Some(session)),
            hint: None,
            refusal: Some(Box::new(refusal)),
        }
    }

    /// What kept an interpreter from starting, if that is what failed.
    pub fn trouble(&self) -> Option<Box<StartTrouble>> {
        match self.refusal.as_deref() {
            Some(Refusal::NotStarted { trouble, .. }) => trouble.clone(),
            _ => None,
        }
    }

    /// The same error with its next step.
    pub fn with_hint(self, hint: impl Into<String>) -> Self {
        WireError { hint: Some(hint.into()), ..self }
    }
}

/// For a refusal that names no eval, or whose session is not known yet.
impl From<Refusal> for WireError {
    fn from(refusal: Refusal) -> Self {
        WireError {
            code: refusal.code(),
            message: refusal.message(None),
            hint: None,
            refusal: Some(Box::new(refusal)),
        }
    }
}

impl std::fmt::Display for WireError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for WireError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_is_spelled_as_it_is_sent() {
        for code in [ErrorCode::EvalError, ErrorCode::SessionNotFound, ErrorCode::BadRequest] {
            assert_eq!(serde_json::to_value(code).unwrap(), code.as_str());
        }
    }
}
