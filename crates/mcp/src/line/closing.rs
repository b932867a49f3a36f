//! How a server learns that its client has gone.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use tokio::sync::Notify;

/// How long open calls may take to end by themselves once the client has closed its side: long enough
/// for a script that pipes its requests in, short enough for a client that waits for us to leave.
const GRACE: Duration = Duration::from_secs(1);

/// Whether and since when the client is gone.
#[derive(Debug, Default)]
pub(crate) struct Closing {
    leave_at: Mutex<Option<Instant>>,
    changed: Notify,
}

impl Closing {
    /// The client will send nothing more.
    pub(crate) fn ended(&self) {
        self.set(Instant::now() + GRACE);
    }

    /// The client reads nothing more.
    pub(crate) fn lost(&self) {
        self.set(Instant::now());
    }

    /// Whether the client has gone, so that a cancelled call was not cancelled by it.
    pub(crate) fn is_set(&self) -> bool {
        self.get().is_some()
    }

    /// Returns when calls should stop waiting for their evals.
    pub(crate) async fn leave(&self) {
        loop {
            let changed = self.changed.notified();
            match self.get() {
                Some(at) => return tokio::time::sleep_until(at.into()).await,
                None => changed.await,
            }
        }
    }

    fn get(&self) -> Option<Instant> {
        *self.leave_at.lock().unwrap_or_else(|e| e.into_inner())
    }

    fn set(&self, at: Instant) {
        let mut leave_at = self.leave_at.lock().unwrap_or_else(|e| e.into_inner());
        *leave_at = Some(leave_at.map_or(at, |known| known.min(at)));
        drop(leave_at);
        self.changed.notify_waiters();
    }
}
