//! The calls of one client, carried out.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::ops::Deref;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use stead_client::{Begun, Client, EvalView};
use stead_protocol::{By, SessionName};

use crate::line::CallWatch;
use crate::others::Others;
use crate::place::{Here, Place};
use crate::told_once::ToldOnce;
use crate::{Answer, Call};

/// How long a call may take at most; longer work is yielded with its id (SPEC M-4).
pub(crate) const LONGEST_CALL: Duration = Duration::from_secs(50);

/// A server as one call finds it: a later call may find it in another workspace.
#[derive(Debug, Clone)]
pub struct Server {
    here: Arc<Here>,
    shared: Arc<Shared>,
}

/// What all calls of a server share, wherever it is.
#[derive(Debug)]
struct Shared {
    place: Place,
    others: Others,
}

impl Deref for Server {
    type Target = Here;

    fn deref(&self) -> &Here {
        &self.here
    }
}

impl Server {
    /// A server for the sessions that `client` reaches, in the workspace that the user named.
    pub fn new(client: Client, cwd: PathBuf) -> Self {
        Server::in_place(Place::given(Here::new(staying(client), cwd)))
    }

    /// A server in the workspace that was found from its directory. If that is no project, its client may know a
    /// better one (SPEC M-11).
    pub fn found(client: Client, cwd: PathBuf) -> Self {
        Server::in_place(Place::found(Here::new(staying(client), cwd)))
    }

    fn in_place(place: Place) -> Self {
        let here = place.here();
        Server { here, shared: Arc::new(Shared { place, others: Others::default() }) }
    }

    /// The server as it is now.
    pub(crate) fn now(&self) -> Server {
        Server { here: self.shared.place.here(), shared: self.shared.clone() }
    }

    /// The same server elsewhere, for one call.
    pub(crate) fn at(&self, here: Arc<Here>) -> Server {
        Server { here, shared: self.shared.clone() }
    }

    /// Where this call finds it.
    pub(crate) fn here(&self) -> Arc<Here> {
        self.here.clone()
    }

    /// Where it is, and how that may change.
    pub(crate) fn place(&self) -> &Place {
        &self.shared.place
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

    /// What others did before an eval of this server, in the words of its reply.
    pub(crate) fn meanwhile(&self, view: &EvalView) -> Option<String> {
        self.shared.others.before(&self.client, view)
    }

    /// Notes what a reply tells about the end of a session.
    pub(crate) fn tells(&self, view: &EvalView) -> Option<ToldOnce> {
        let before = self.shared.others.told(&self.client, view)?;
        let (workspace, session) = (self.client.workspace.clone(), view.session.clone());
        Some(ToldOnce::End { workspace, session, before })
    }

    /// What a reply about this eval has told of others.
    pub(crate) fn told_meanwhile(&self, view: &EvalView, text: String) -> ToldOnce {
        let (workspace, session) = (self.client.workspace.clone(), view.session.clone());
        ToldOnce::Meanwhile { workspace, session, text }
    }

    /// Takes back an answer that nobody reads: what it says only once is still to be said.
    pub(crate) fn take_back(&self, unread: Answer) {
        for told in unread.once {
            match told {
                ToldOnce::Output { here, id, from, to } => here.cursors.take_back(&id, from, to),
                ToldOnce::Meanwhile { workspace, session, text } => {
                    self.shared.others.owe(workspace, session, text);
                }
                ToldOnce::End { workspace, session, before } => {
                    self.shared.others.not_told(&workspace, &session, before);
                }
                ToldOnce::Place(news) => self.shared.place.say_again(news),
            }
        }
    }

    /// Carries out one call; blocks until it is done or its client wants otherwise.
    pub(crate) fn call(&self, call: Call, watch: &mut CallWatch) -> Answer {
        self.client.dirs.sweep_leftovers();
        call.run(self, watch)
    }

    /// Carries on with a call that was begun; blocks as `call` does, unless it is over.
    pub(crate) fn finish(&self, call: Call, begun: Begun, watch: &mut CallWatch) -> Answer {
        match self.client.finish(begun, watch.own()) {
            // Nobody reads the answer to a cancelled call, so nothing in it may count as read or told.
            Ok(Some(_)) if watch.is_cancelled() => Answer::cancelled(),
            Ok(Some(view)) => call.reply(self, &view),
            // The host exited before it took the code.
            Ok(None) => call.run(self, watch),
            Err(error) => Answer::of(Err(error), call.room()),
        }
    }
}

/// Calls come one after another, so it pays to stay connected.
fn staying(client: Client) -> Client {
    Client { kept: Some(Arc::default()), ..client }
}

/// The session that a name, or the id of an eval, is about.
pub(crate) fn session_of(given: &str) -> Option<SessionName> {
    given.split_once(':').map_or(given, |(name, _)| name).parse().ok()
}

/// How long a call waits: the time it asks for, at most the longest that a call may take.
pub(crate) fn patience(asked_ms: Option<u64>, default_ms: u64) -> Duration {
    Duration::from_millis(asked_ms.unwrap_or(default_ms)).min(LONGEST_CALL)
}
