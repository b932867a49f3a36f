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
    rename("session-guard");
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

/// Gives this process another name in `ps`. Who kills everything called `stead` by that name
/// should meet the hosts and leave us to clean up after them.
fn rename(name: &str) {
    let Ok(comm) = std::ffi::CString::new(name) else { return };
    let _ = rustix::thread::set_name(&comm);
    let Some((start, len)) = argument_memory() else { return };
    let mut text = name.as_bytes().to_vec();
    text.truncate(len - 1);
    text.resize(len, 0);
    // SAFETY: the kernel put our arguments at this place of our own stack, `len` bytes long, and
    // nothing refers to them: the standard library has made copies.
    unsafe { std::ptr::copy_nonoverlapping(text.as_ptr(), start as *mut u8, len) };
}

/// Where the kernel put this process's arguments, and how many bytes they take.
fn argument_memory() -> Option<(usize, usize)> {
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    let fields: Vec<&str> = stat[stat.rfind(')')? + 2..].split(' ').collect();
    // Fields 48 and 49, counted from 1; the third is the first after the name.
    let field = |nth: usize| fields.get(nth - 3)?.trim().parse::<usize>().ok();
    let (start, end) = (field(48)?, field(49)?);
    (start != 0 && end > start).then(|| (start, end - start))
}
