//! Hosts that cannot be talked to.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use stead_protocol::{EvalId, SessionName, Speaker};
use thiserror::Error;

/// Why a host that exists, or is about to, cannot be talked to.
#[derive(Debug, Error)]
pub enum ConnectionTrouble {
    /// Another client holds the lock under which a host is started.
    #[error("another client has been starting session `{name}` for {:.1} s", waited.as_secs_f32())]
    StartedByAnother {
        /// The session.
        name: SessionName,
        /// How long it was waited for.
        waited: Duration,
        /// The lock.
        lock: PathBuf,
    },
    /// A host was started and did not get ready in time.
    #[error("the host of session `{name}` did not start within {:.1} s", waited.as_secs_f32())]
    SlowStart {
        /// The session.
        name: SessionName,
        /// How long it was waited for.
        waited: Duration,
    },
    /// The connection failed.
    #[error("lost the connection to session `{name}`: {error}")]
    Broken {
        /// The session.
        name: SessionName,
        /// What the system said.
        error: io::Error,
    },
    /// The host said something that is not its protocol.
    #[error("the host of session `{name}` sent what is not its protocol: {problem}")]
    Garbled {
        /// The session.
        name: SessionName,
        /// What is wrong with it.
        problem: String,
    },
    /// The host and this client have no version in common.
    #[error("session `{name}` cannot be reached: {}", Speaker::skew(host, &Speaker::this()))]
    OtherVersion {
        /// The session.
        name: SessionName,
        /// The host.
        host: Speaker,
    },
    /// The host is another user's.
    #[error("the host of session `{name}` belongs to another user")]
    OtherUser {
        /// The session.
        name: SessionName,
    },
    /// The host closed the connection before it answered, and lives.
    #[error("the host of session `{name}` hung up before it answered")]
    HungUpUnanswered {
        /// The session.
        name: SessionName,
    },
    /// The host closed the connection while an eval was waited for, and lives.
    #[error("the host of session `{}` hung up and still lives", eval.session)]
    HungUpAlive {
        /// The eval.
        eval: EvalId,
    },
    /// A kernel that was started for the session could not be deleted at its server.
    #[error("session `{name}` has ended, and something is left: {said}")]
    KernelLeft {
        /// The session.
        name: SessionName,
        /// Which kernel, where, and why.
        said: String,
    },
    /// The directory of sockets is not one that can be trusted.
    #[error("will not use the runtime directory `{}`: {problem}", path.display())]
    RuntimeDir {
        /// The directory.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
}

impl ConnectionTrouble {
    /// The session it is about.
    pub fn session(&self) -> Option<&SessionName> {
        match self {
            ConnectionTrouble::StartedByAnother { name, .. }
            | ConnectionTrouble::SlowStart { name, .. }
            | ConnectionTrouble::Broken { name, .. }
            | ConnectionTrouble::KernelLeft { name, .. }
            | ConnectionTrouble::Garbled { name, .. }
            | ConnectionTrouble::OtherVersion { name, .. }
            | ConnectionTrouble::OtherUser { name }
            | ConnectionTrouble::HungUpUnanswered { name } => Some(name),
            ConnectionTrouble::HungUpAlive { eval } => Some(&eval.session),
            ConnectionTrouble::RuntimeDir { .. } => None,
        }
    }
}
