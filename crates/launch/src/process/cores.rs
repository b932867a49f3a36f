//! No process of stead leaves a core file: it would hold code, input and values (SPEC X-5).

use std::sync::OnceLock;

/// The limit that this process had, for what it starts.
static BEFORE: OnceLock<libc::rlim_t> = OnceLock::new();

/// Makes this process leave no core file.
pub fn forbid() {
    let Some(mut limit) = limit() else { return };
    let _ = BEFORE.set(limit.rlim_cur);
    limit.rlim_cur = 0;
    // SAFETY: the record is plain data.
    unsafe { libc::setrlimit(libc::RLIMIT_CORE, &limit) };
}

/// Gives back what the user had set, in a process that is about to run something else. Nothing but
/// system calls, so it may be called between fork and exec.
pub fn restore() {
    if let (Some(before), Some(mut limit)) = (BEFORE.get(), limit()) {
        limit.rlim_cur = *before;
        // SAFETY: the record is plain data.
        unsafe { libc::setrlimit(libc::RLIMIT_CORE, &limit) };
    }
}

fn limit() -> Option<libc::rlimit> {
    let mut found = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the record is filled in by the call.
    (unsafe { libc::getrlimit(libc::RLIMIT_CORE, &mut found) } == 0).then_some(found)
}
