//! From a specification to a listening host: lock, guard, records, socket, interpreter.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::event::{Timespec, poll};
use rustix::fs::{FlockOperation, Mode, OFlags, flock};
use stead_launch::tree;
use stead_protocol::{ErrorCode, HostSpec, WireError};
use stead_spool::{SessionDir, write_atomically};

use crate::guard;
use crate::host::Host;
use crate::ledger::Ledger;
use crate::pause;
use crate::with_causes;

/// How long a host waits for the guard of the one before it to finish cleaning up.
const LOCK_PATIENCE: Duration = Duration::from_secs(8);
/// Longest path that fits a socket's address.
const SOCKET_PATH_LIMIT: usize = 107;

/// Builds the host; what it returns listens already and its interpreter is starting.
pub(crate) fn start(spec: &HostSpec) -> Result<Host, WireError> {
    // Nothing of ours is for other users, whatever mask the client had.
    rustix::process::umask(Mode::from_raw_mode(0o077));
    let _ = rustix::process::setsid();
    let _ = std::env::set_current_dir("/");
    let dir = SessionDir::new(&spec.dir);
    let lock = take_lock(&dir.lock())?;
    pause::point("locked");
    guard::split(&spec.socket).map_err(|error| failed("could not fork", &error))?;
    let (ledger, found) = Ledger::open(&spec.dir, spec.meta.settings.quota_bytes)
        .map_err(|error| failed("could not open the session's records", &error))?;
    let tag = format!("STEAD_SESSION_DIR={}", spec.dir.display());
    if found.host_died {
        let swept = tree::sweep_tagged(&tag);
        eprintln!("the host before this one was killed; {swept} of its processes were left");
    }
    let _ = std::fs::remove_file(&spec.socket);
    let listener = bind(&spec.socket).map_err(|error| {
        failed(&format!("could not listen on `{}`", spec.socket.display()), &error)
    })?;
    pause::point("bound");
    let mut host = Host::new(spec, ledger, found, listener, lock, tag);
    match host.start_interpreter() {
        Ok(()) => {
            let meta = serde_json::to_vec_pretty(&host.meta)
                .map_err(|error| failed("could not write `meta.json`", &error))?;
            write_atomically(&dir.meta(), &meta)
                .map_err(|error| failed("could not write `meta.json`", &error))?;
            Ok(host)
        }
        Err(error) => {
            let _ = std::fs::remove_file(&spec.socket);
            Err(error)
        }
    }
}

fn failed(what: &str, error: &dyn std::error::Error) -> WireError {
    WireError::new(ErrorCode::LaunchFailed, format!("{what}: {}", with_causes(error)))
}

/// The lock that makes this the only host of its session; the kernel gives it back at our death.
fn take_lock(path: &Path) -> Result<File, WireError> {
    let file = OpenOptions::new()
        .create(true)
        .truncate(false)
        .write(true)
        .mode(0o600)
        .open(path)
        .map_err(|error| failed(&format!("could not open `{}`", path.display()), &error))?;
    let deadline = Instant::now() + LOCK_PATIENCE;
    loop {
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Ok(file),
            Err(_) if Instant::now() < deadline => {
                // Locks cannot be polled for; this happens only right after a host was killed.
                let _ = poll(&mut [], Some(&Timespec { tv_sec: 0, tv_nsec: 2_000_000 }));
            }
            Err(_) => {
                let message = "another host of this session is still there and does not answer";
                return Err(WireError::new(ErrorCode::ConnectionFailed, message).with_hint(
                    "`stead logs` may say why; kill the process that holds `host.lock`",
                ));
            }
        }
    }
}

/// Binds under a private mask. A path too long for an address is reached through its directory.
fn bind(path: &Path) -> io::Result<UnixListener> {
    let old = rustix::process::umask(Mode::from_raw_mode(0o177));
    let bound = if path.as_os_str().len() <= SOCKET_PATH_LIMIT {
        UnixListener::bind(path)
    } else {
        let (Some(dir), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(io::ErrorKind::InvalidInput.into());
        };
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let dir = rustix::fs::open(dir, flags, Mode::empty())?;
        UnixListener::bind(Path::new(&format!("/proc/self/fd/{}", dir.as_raw_fd())).join(name))
    };
    rustix::process::umask(old);
    bound
}

/// Lets go of the streams that tie us to the client that started us; errors go on to the log.
pub(crate) fn leave_the_caller() {
    if let Ok(null) = OpenOptions::new().read(true).write(true).open("/dev/null") {
        let _ = rustix::stdio::dup2_stdin(&null);
        let _ = rustix::stdio::dup2_stdout(&null);
    }
}
