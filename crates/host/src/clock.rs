//! The session's clock: monotonic, and it stands still while the session is paused (SPEC E-10).

use std::time::{Duration, Instant};

use crate::state::Millis;

#[derive(Debug)]
pub(crate) struct Clock {
    base: Instant,
    stopped: Duration,
    paused_at: Option<Instant>,
}

impl Clock {
    pub(crate) fn new() -> Clock {
        Clock { base: Instant::now(), stopped: Duration::ZERO, paused_at: None }
    }

    pub(crate) fn now(&self) -> Millis {
        let at = self.paused_at.unwrap_or_else(Instant::now);
        (at.duration_since(self.base) - self.stopped).as_millis() as Millis
    }

    pub(crate) fn is_paused(&self) -> bool {
        self.paused_at.is_some()
    }

    pub(crate) fn pause(&mut self) {
        self.paused_at.get_or_insert_with(Instant::now);
    }

    pub(crate) fn resume(&mut self) {
        if let Some(at) = self.paused_at.take() {
            self.stopped += at.elapsed();
        }
    }
}

/// Milliseconds since 1970, for records that people read.
pub(crate) fn wall_ms() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.unwrap_or_default().as_millis() as u64
}
