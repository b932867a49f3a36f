//! Named points at which a test build (feature `test-hooks`) stops or panics, so that a test can hit it exactly there.

/// Stops this process with SIGSTOP the first time it comes to the point that `STEAD_PAUSE_AT`
/// names, and panics at the one that `STEAD_PANIC_AT` names; nothing without the feature.
#[cfg(feature = "test-hooks")]
pub fn point(name: &str) {
    use std::sync::atomic::{AtomicBool, Ordering};
    static PAUSED: AtomicBool = AtomicBool::new(false);
    let is_here = |variable| std::env::var_os(variable).is_some_and(|at| at == name);
    if is_here("STEAD_PAUSE_AT") && !PAUSED.swap(true, Ordering::Relaxed) {
        let _ =
            rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::STOP);
    }
    if is_here("STEAD_PANIC_AT") {
        panic!("`STEAD_PANIC_AT` is `{name}`");
    }
}

#[cfg(not(feature = "test-hooks"))]
/// Nothing without the feature.
pub fn point(_name: &str) {}
