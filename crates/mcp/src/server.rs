//! The calls of one client, carried out.

use std::os::fd::{AsRawFd, RawFd};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use stead_client::{Begun, Client, ClientError, Launch};
use stead_protocol::{EvalId, SessionName};

use crate::cursors::Cursors;
use crate::tools::Eval;
use crate::watch::{Line, Tell, Watch};
use crate::{Answer, Call};

/// How long a call may take at most; longer work is yielded with its id (SPEC M-4).
pub const LONGEST_CALL: Duration = Duration::from_secs(50);

/// Longer code is not handed over by who must not block.
const QUICK_CODE: usize = 32 << 10;

/// What there is to do about a call.
#[derive(Debug)]
pub enum Work {
    /// All of it.
    Call(Call),
    /// To wait for its eval.
    Begun(Box<Quick>),
}

impl Work {
    /// The session it is about.
    pub fn session(&self) -> Option<SessionName> {
        match self {
            Work::Call(call) => call.session(),
            Work::Begun(quick) => Some(quick.eval.name.clone()),
        }
    }
}

/// An eval that its host has in hand.
#[derive(Debug)]
pub struct Quick {
    /// What was sent to the host.
    pub begun: Begun,
    eval: Eval,
}

impl AsRawFd for Quick {
    fn as_raw_fd(&self) -> RawFd {
        self.begun.as_raw_fd()
    }
}

/// What all calls of a server share.
#[derive(Debug)]
pub struct Server {
    pub(crate) client: Client,
    /// Where sessions start that say nothing else.
    pub(crate) cwd: PathBuf,
    /// The same, if it is in the workspace: elsewhere they start there.
    start: Option<PathBuf>,
    pub(crate) cursors: Cursors,
}

/// What ties a call to its client while it is under way.
pub struct Ties {
    /// Hears what the client wants meanwhile; nothing, if there will be no wait.
    pub line: Option<Line>,
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
        // Calls come one after another, so it pays to stay connected.
        let client = Client { kept: Some(Arc::default()), ..client };
        let start = cwd.starts_with(client.workspace.path()).then(|| cwd.clone());
        Server { client, cwd, start, cursors: Cursors::default() }
    }

    /// Carries out one call; blocks until it is done or its client wants otherwise.
    pub fn call(&self, call: Call, mut ties: Ties) -> Answer {
        let ties = &mut ties;
        self.client.dirs.sweep_leftovers();
        let room = call.room();
        let answer: Answer = match call {
            Call::Eval(args) => args.run(self, ties),
            Call::Shell(args) => args.run(self, ties),
            Call::Output(args) => args.run(self, ties),
            Call::Input(args) => args.run(self, ties),
            Call::Control(args) => args.run(self),
            Call::Sessions(args) => args.run(self),
            Call::Open(args) => args.run(self),
            Call::Inspect(args) => args.run(self),
        }
        .into();
        answer.bounded(room)
    }

    /// Hands a call to its host over a connection that is kept, and does not wait; if that cannot be
    /// done the call is still to be made. `output` says whether the client wants to hear of progress.
    pub fn begin(&self, call: Call, output: bool) -> Work {
        let Call::Eval(args) = call else { return Work::Call(call) };
        let Ok(eval) = args.prepare(self) else { return Work::Call(Call::Eval(args)) };
        if eval.fresh || eval.options.code.len() > QUICK_CODE {
            return Work::Call(Call::Eval(args));
        }
        match self.client.begin(&eval.name, eval.language.as_deref(), &eval.options, output) {
            Some(Ok(begun)) => Work::Begun(Box::new(Quick { begun, eval })),
            Some(Err(_)) | None => Work::Call(Call::Eval(args)),
        }
    }

    /// Carries on with a call that was begun; blocks as `call` does, unless it is over.
    pub fn finish(&self, quick: Box<Quick>, mut ties: Ties) -> Answer {
        let Quick { begun, eval } = *quick;
        match self.client.finish(begun, &mut ties.own()) {
            Ok(Some(view)) => Ok(eval.reply(self, &view)),
            Ok(None) => eval.run(self, &mut ties),
            Err(error) => Err(error),
        }
        .into()
    }

    /// How a session starts that a call finds missing.
    pub(crate) fn launch(&self, language: Option<String>) -> Launch {
        Launch { language, cwd: self.start.clone(), ..Launch::default() }
    }
}

impl Server {
    /// The session that a call names.
    pub(crate) fn session(&self, given: &str) -> Result<SessionName, ClientError> {
        Ok(self.client.resolve(given.parse()?))
    }

    /// The session and the eval that a call names.
    pub(crate) fn target(&self, given: &str) -> Result<(SessionName, Option<EvalId>), ClientError> {
        if given.contains(':') {
            let id = self.client.eval_id(given)?;
            return Ok((id.session.clone(), Some(id)));
        }
        Ok((self.session(given)?, None))
    }
}

/// The session that a name, or the id of an eval, is about.
pub(crate) fn session_of(given: &str) -> Option<SessionName> {
    given.split_once(':').map_or(given, |(name, _)| name).parse().ok()
}

/// How long a call waits: what it asks for, within what a call may take.
pub(crate) fn patience(asked_ms: Option<u64>, default_ms: u64) -> Duration {
    Duration::from_millis(asked_ms.unwrap_or(default_ms)).min(LONGEST_CALL)
}
