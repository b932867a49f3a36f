//! Which calls wait for which: never one session's for another's, and evals of a session in the order
//! in which they came (SPEC M-7, E-1).

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use stead_protocol::SessionName;
use tokio::sync::{OwnedMutexGuard, OwnedSemaphorePermit, Semaphore};

use crate::Call;

/// Calls on one session that may wait at the same time, each on a thread.
const WAITING_CALLS: usize = 32;
/// Calls on one session at once that wait for no eval. Some can take long even so: an interrupt of code
/// that ignores it, the start of an interpreter.
const ASKING_CALLS: usize = 8;
/// Calls at once that are about no session.
const OTHER_CALLS: usize = 16;
/// Sessions whose turns are kept although nobody has one.
const IDLE_SESSIONS: usize = 256;

/// All turns of a server.
#[derive(Debug)]
pub(super) struct Turns {
    sessions: Mutex<HashMap<SessionName, SessionTurns>>,
    others: Arc<Semaphore>,
}

#[derive(Debug, Clone)]
struct SessionTurns {
    waits: Arc<Semaphore>,
    asks: Arc<Semaphore>,
    /// Held by the eval that is about to be handed to the host.
    next_eval: Arc<tokio::sync::Mutex<()>>,
}

/// A call's right to be carried out now; given back when it is dropped.
#[derive(Debug)]
pub(super) struct Turn {
    _slot: Option<OwnedSemaphorePermit>,
    next_eval: Option<OwnedMutexGuard<()>>,
}

impl Turn {
    /// Lets the next eval of the session go, because the host has taken this one. The call itself goes on.
    pub(super) fn pass_on(&mut self) {
        self.next_eval = None;
    }
}

impl Default for Turns {
    fn default() -> Self {
        Turns { sessions: Mutex::default(), others: Arc::new(Semaphore::new(OTHER_CALLS)) }
    }
}

impl Turns {
    /// Returns when it is this call's turn; of the calls on a session, those that asked first get it first.
    pub(super) async fn wait(&self, call: &Call) -> Turn {
        let Some(name) = call.session() else {
            return Turn { _slot: self.others.clone().acquire_owned().await.ok(), next_eval: None };
        };
        let session = self.session(name);
        // The order is taken before the slot, so that an eval cannot overtake one that still waits for its slot.
        let next_eval = match call.is_ordered() {
            true => Some(session.next_eval.lock_owned().await),
            false => None,
        };
        let slots = if call.waits() { session.waits } else { session.asks };
        Turn { _slot: slots.acquire_owned().await.ok(), next_eval }
    }

    fn session(&self, name: SessionName) -> SessionTurns {
        let mut sessions = self.sessions.lock().unwrap_or_else(|e| e.into_inner());
        if sessions.len() > IDLE_SESSIONS {
            let in_use = |turns: &SessionTurns| {
                let shared = |slots: &Arc<Semaphore>| Arc::strong_count(slots) > 1;
                shared(&turns.waits)
                    || shared(&turns.asks)
                    || Arc::strong_count(&turns.next_eval) > 1
            };
            sessions.retain(|_, turns| in_use(turns));
        }
        let fresh = || SessionTurns {
            waits: Arc::new(Semaphore::new(WAITING_CALLS)),
            asks: Arc::new(Semaphore::new(ASKING_CALLS)),
            next_eval: Arc::default(),
        };
        sessions.entry(name).or_insert_with(fresh).clone()
    }
}
