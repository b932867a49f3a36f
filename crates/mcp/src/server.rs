//! The calls of one client, carried out.

use std::path::PathBuf;
use std::time::Duration;

use stead_client::{Client, ClientError, Launch};
use stead_protocol::{EvalId, SessionName};

use crate::cursors::Cursors;
use crate::watch::{Line, Tell, Watch};
use crate::{Answer, Call};

/// How long a call may take at most; longer work is yielded with its id (SPEC M-4).
pub const LONGEST_CALL: Duration = Duration::from_secs(50);

/// What all calls of a server share.
#[derive(Debug)]
pub struct Server {
    pub(crate) client: Client,
    /// Where sessions start that say nothing else.
    pub(crate) cwd: PathBuf,
    pub(crate) cursors: Cursors,
}

/// What ties a call to its client while it is under way.
pub struct Ties {
    /// Hears what the client wants meanwhile.
    pub line: Line,
    /// Where to tell how far it has come, if the client wants to know.
    pub tell: Option<Tell>,
    /// To be called once a host has taken the eval.
    pub accepted: Option<Box<dyn FnOnce() + Send>>,
}

impl Ties {
    /// A watch over the eval that this call began: to cancel the call is to interrupt it.
    pub(crate) fn own(&mut self) -> Watch<'_> {
        Watch::new(self, true)
    }

    /// A watch over an eval that others began.
    pub(crate) fn looking_on(&mut self) -> Watch<'_> {
        Watch::new(self, false)
    }
}

impl Server {
    /// A server for the sessions that `client` reaches.
    pub fn new(client: Client, cwd: PathBuf) -> Self {
        Server { client, cwd, cursors: Cursors::default() }
    }

    /// Carries out one call; blocks until it is done or its client wants otherwise.
    pub fn call(&self, call: Call, mut ties: Ties) -> Answer {
        let ties = &mut ties;
        match call {
            Call::Eval(args) => args.run(self, ties),
            Call::Shell(args) => args.run(self, ties),
            Call::Output(args) => args.run(self, ties),
            Call::Input(args) => args.run(self, ties),
            Call::Control(args) => args.run(self),
            Call::Sessions(args) => args.run(self),
            Call::Open(args) => args.run(self),
            Call::Inspect(args) => args.run(self),
        }
        .into()
    }

    /// How a session starts that a call finds missing.
    pub(crate) fn launch(&self, language: Option<String>) -> Launch {
        let inside = self.cwd.starts_with(self.client.workspace.path());
        Launch { language, cwd: inside.then(|| self.cwd.clone()), ..Launch::default() }
    }
}

/// A session's name, or the id of an eval in it.
pub(crate) fn target(given: &str) -> Result<(SessionName, Option<EvalId>), ClientError> {
    if given.contains(':') {
        let id: EvalId = given.parse()?;
        return Ok((id.session.clone(), Some(id)));
    }
    Ok((given.parse()?, None))
}

/// How long a call waits: what it asks for, within what a call may take.
pub(crate) fn patience(asked_ms: Option<u64>, default_ms: u64) -> Duration {
    Duration::from_millis(asked_ms.unwrap_or(default_ms)).min(LONGEST_CALL)
}
