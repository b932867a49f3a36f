//! Named points at which a test build stops itself, so that a test can kill it exactly there.

/// Stops this process with SIGSTOP if `STEAD_PAUSE_AT` names the point; nothing in release builds.
#[cfg(debug_assertions)]
pub(crate) fn point(name: &str) {
    if std::env::var_os("STEAD_PAUSE_AT").is_some_and(|at| at == name) {
        let _ =
            rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::STOP);
    }
}

#[cfg(not(debug_assertions))]
pub(crate) fn point(_name: &str) {}
