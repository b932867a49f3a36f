//! Which calls wait for which: never one session's for another's, and evals of a session in the order
//! in which they came (SPEC M-7, E-1).

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use stead_protocol::SessionName;
use tokio::sync::{OwnedMutexGuard, OwnedSemaphorePermit, Semaphore};

/// Calls on one session that may wait at the same time, each on a thread.
const WAITING_CALLS: usize = 32;
/// Calls on one session at once that wait for no eval. Some can take long even so: an interrupt of code
/// that ignores it, the start of an interpreter.
const ASKING_CALLS: usize = 8;
/// Calls at once that are about no session.
const QUICK_CALLS: usize = 16;
/// Sessions of which a lane is kept although nobody is in it.
const IDLE_LANES: usize = 256;

/// All lanes of a server.
#[derive(Debug)]
pub(super) struct Lanes {
    sessions: Mutex<HashMap<SessionName, Lane>>,
    quick: Arc<Semaphore>,
}

#[derive(Debug, Clone)]
struct Lane {
    waits: Arc<Semaphore>,
    asks: Arc<Semaphore>,
    /// Held by the eval that is about to be handed to the host.
    door: Arc<tokio::sync::Mutex<()>>,
}

/// What a call holds while it is under way.
#[derive(Debug)]
pub(super) struct Place {
    _slot: Option<OwnedSemaphorePermit>,
    door: Option<OwnedMutexGuard<()>>,
}

impl Place {
    /// The right to be the next eval of its session; given back when the host has taken it.
    pub(super) fn take_door(&mut self) -> Option<OwnedMutexGuard<()>> {
        self.door.take()
    }
}

impl Default for Lanes {
    fn default() -> Self {
        Lanes { sessions: Mutex::default(), quick: Arc::new(Semaphore::new(QUICK_CALLS)) }
    }
}

impl Lanes {
    /// A place among the calls that are about no session.
    pub(super) async fn quick(&self) -> Place {
        Place { _slot: self.quick.clone().acquire_owned().await.ok(), door: None }
    }

    /// A place among the calls on a session; those that asked first get it first.
    pub(super) async fn session(&self, name: SessionName, waits: bool, in_order: bool) -> Place {
        let lane = self.lane(name);
        // The door comes first: who needs no slot must not overtake who waits for one.
        let door = if in_order { Some(lane.door.lock_owned().await) } else { None };
        let slots = if waits { lane.waits } else { lane.asks };
        let slot = slots.acquire_owned().await.ok();
        Place { _slot: slot, door }
    }

    fn lane(&self, name: SessionName) -> Lane {
        let mut lanes = self.sessions.lock().unwrap_or_else(|e| e.into_inner());
        if lanes.len() > IDLE_LANES {
            let in_use = |lane: &Lane| {
                [&lane.waits, &lane.asks].iter().any(|slots| Arc::strong_count(slots) > 1)
            };
            lanes.retain(|_, lane| in_use(lane));
        }
        let fresh = || Lane {
            waits: Arc::new(Semaphore::new(WAITING_CALLS)),
            asks: Arc::new(Semaphore::new(ASKING_CALLS)),
            door: Arc::default(),
        };
        lanes.entry(name).or_insert_with(fresh).clone()
    }
}
