//! The session's clock: monotonic, and it stands still while the session is paused (SPEC E-10).

use std::time::{Duration, Instant};

/// Milliseconds of a session's clock.
pub type Millis = u64;

/// Counts the time in which the session was not paused.
#[derive(Debug)]
pub struct Clock {
    base: Instant,
    stopped: Duration,
    paused_at: Option<Instant>,
}

impl Clock {
    /// Begins at 0.
    #[allow(clippy::new_without_default, reason = "the time at which it begins matters")]
    pub fn new() -> Clock {
        Clock { base: Instant::now(), stopped: Duration::ZERO, paused_at: None }
    }

    /// The time it shows.
    pub fn now(&self) -> Millis {
        let at = self.paused_at.unwrap_or_else(Instant::now);
        (at.duration_since(self.base) - self.stopped).as_millis() as Millis
    }

    /// Whether it stands still.
    pub fn is_paused(&self) -> bool {
        self.paused_at.is_some()
    }

    /// Stops it.
    pub fn pause(&mut self) {
        self.paused_at.get_or_insert_with(Instant::now);
    }

    /// Lets it go on.
    pub fn resume(&mut self) {
        if let Some(at) = self.paused_at.take() {
            self.stopped += at.elapsed();
        }
    }
}
