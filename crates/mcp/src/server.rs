//! The calls of one client, carried out.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use stead_client::{Begun, Client, LaunchOptions};
use stead_protocol::{By, SessionName};

use crate::cursors::Cursors;
use crate::line::CallWatch;
use crate::{Answer, Call};

/// How long a call may take at most; longer work is yielded with its id (SPEC M-4).
pub(crate) const LONGEST_CALL: Duration = Duration::from_secs(50);

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

impl Server {
    /// A server for the sessions that `client` reaches.
    pub fn new(client: Client, cwd: PathBuf) -> Self {
        // Calls come one after another, so it pays to stay connected.
        let client = Client { kept: Some(Arc::default()), ..client };
        let start = cwd.starts_with(client.workspace.path()).then(|| cwd.clone());
        Server { client, cwd, start, cursors: Cursors::default() }
    }

    /// Notes the client's name: its evals are recorded with that name and an id of this process, since
    /// several clients of one name may use the same session (SPEC E-16).
    pub fn meet(&self, name: &str) {
        self.client.by.get_or_init(|| {
            let name = if name.trim().is_empty() { self.client.kind } else { name.trim() };
            let instance = format!("{:08x}", RandomState::new().build_hasher().finish() >> 32);
            By::instance(name, &instance)
        });
    }

    /// Carries out one call; blocks until it is done or its client wants otherwise.
    pub(crate) fn call(&self, call: Call, watch: &mut CallWatch) -> Answer {
        self.client.dirs.sweep_leftovers();
        call.run(self, watch)
    }

    /// Carries on with a call that was begun; blocks as `call` does, unless it is over.
    pub(crate) fn finish(&self, call: Call, begun: Begun, watch: &mut CallWatch) -> Answer {
        match self.client.finish(begun, watch.own()) {
            Ok(Some(view)) => call.reply(self, &view),
            // The host exited before it took the code.
            Ok(None) => call.run(self, watch),
            Err(error) => Err(error).into(),
        }
    }

    /// How a session starts that a call finds missing.
    pub(crate) fn launch(&self, language: Option<String>) -> LaunchOptions {
        LaunchOptions { language, cwd: self.start.clone(), ..LaunchOptions::default() }
    }
}

/// The session that a name, or the id of an eval, is about.
pub(crate) fn session_of(given: &str) -> Option<SessionName> {
    given.split_once(':').map_or(given, |(name, _)| name).parse().ok()
}

/// How long a call waits: the time it asks for, at most the longest that a call may take.
pub(crate) fn patience(asked_ms: Option<u64>, default_ms: u64) -> Duration {
    Duration::from_millis(asked_ms.unwrap_or(default_ms)).min(LONGEST_CALL)
}
