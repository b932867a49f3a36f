//! Waits end on an event; the deadline only serves to fail.

use std::time::{Duration, Instant};

use rustix::event::{Timespec, poll};

/// Far beyond what any wait takes on a loaded machine.
const DEADLINE: Duration = Duration::from_secs(60);

/// Waits until the condition holds.
///
/// # Panics
/// When it does not hold within a minute, with `what` in the message.
pub fn wait_for(what: &str, mut holds: impl FnMut() -> bool) {
    wait_for_some(what, || holds().then_some(()));
}

/// Waits until there is something.
///
/// # Panics
/// When there is nothing within a minute, with `what` in the message.
pub fn wait_for_some<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + DEADLINE;
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < deadline, "waited a minute for {what}");
        pause(Duration::from_millis(2));
    }
}

/// Between two looks at something that sends no event, such as another process's state.
pub fn pause(time: Duration) {
    let time = Timespec { tv_sec: time.as_secs() as _, tv_nsec: time.subsec_nanos() as _ };
    let _ = poll(&mut [], Some(&time));
}
