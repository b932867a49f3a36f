//! A host in two processes: the guard stays behind the host and cleans up if it is killed.
//!
//! When the host dies, the kernel kills the interpreter, but not what the interpreter started.
//! All of that falls to the next child subreaper above, which is the guard.

use std::io;
use std::path::Path;
use std::time::Duration;

use rustix::process::{Pid, WaitOptions, set_child_subreaper, waitpid};
use stead_launch::tree;

/// Goes on twice: returns in the host, and never in the guard.
///
/// Called before anything else runs or is opened but the session's lock, which the guard shares:
/// no other host can begin before the guard is through.
pub(crate) fn split(socket: &Path) -> io::Result<()> {
    set_child_subreaper(Some(rustix::process::getpid()))?;
    // SAFETY: the process has one thread, so the child may go on as usual.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        0 => {
            set_child_subreaper(Some(rustix::process::getpid()))?;
            Ok(())
        }
        host => guard(Pid::from_raw(host), socket),
    }
}

fn guard(host: Option<Pid>, socket: &Path) -> ! {
    close_standard_streams();
    // The host is the only child as long as it lives.
    let died = match host.map(|host| waitpid(Some(host), WaitOptions::empty())) {
        Some(Ok(Some((_, status)))) => status.exit_status() != Some(0),
        _ => true,
    };
    if died {
        tree::sweep(std::process::id(), Duration::from_secs(10), tree::reap);
        let _ = std::fs::remove_file(socket);
    }
    std::process::exit(0)
}

/// Whoever started the host waits for the end of its standard output.
fn close_standard_streams() {
    if let Ok(null) = std::fs::OpenOptions::new().read(true).write(true).open("/dev/null") {
        let _ = rustix::stdio::dup2_stdin(&null);
        let _ = rustix::stdio::dup2_stdout(&null);
        let _ = rustix::stdio::dup2_stderr(&null);
    }
}
