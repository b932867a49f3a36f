//! From a specification to a listening host: lock, guard, records, socket, interpreter.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::event::{Timespec, poll};
use rustix::fs::{FlockOperation, Mode, flock};
use stead_launch::tree;
use stead_protocol::{ErrorCode, HostSpec, WireError};
use stead_spool::{SessionDir, write_atomically};

use crate::ending;
use crate::guard;
use crate::host::Host;
use crate::ledger::Ledger;
use crate::listener::Listener;
use crate::pause;
use crate::with_causes;

/// How long a host waits for the guard of the one before it to finish cleaning up.
const LOCK_PATIENCE: Duration = Duration::from_secs(8);

/// Builds the host; what it returns listens already and its interpreter is starting.
pub(crate) fn start(spec: &HostSpec) -> Result<Host, WireError> {
    // Nothing of ours is for other users, whatever mask the client had.
    let umask = rustix::process::umask(Mode::from_raw_mode(0o077));
    let _ = rustix::process::setsid();
    let _ = std::env::set_current_dir("/");
    stead_launch::reserve_control()
        .map_err(|error| failed("could not open `/dev/null`", &error))?;
    let dir = SessionDir::new(&spec.dir);
    // From here on clients may call us by signal, and the guard, which is no host, stays deaf.
    ending::block_signals();
    let lock = take_lock(&dir.lock())?;
    pause::point("locked");
    guard::split(&spec.socket).map_err(|error| failed("could not fork", &error))?;
    write_pid(&lock).map_err(|error| failed("could not write `host.lock`", &error))?;
    let (ledger, found) = Ledger::open(&spec.dir, spec.meta.settings.quota_bytes)
        .map_err(|error| failed("could not open the session's records", &error))?;
    let tag = format!("STEAD_SESSION_DIR={}", spec.dir.display());
    if found.host_died {
        let swept = tree::sweep_tagged(&tag);
        eprintln!("the host before this one was killed; {swept} of its processes were left");
    }
    let listener = Listener::bind(&spec.socket).map_err(|error| {
        failed(&format!("could not listen on `{}`", spec.socket.display()), &error)
    })?;
    pause::point("bound");
    let mut host = Host::new(spec, ledger, found, listener, lock, tag, umask);
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

/// Says whom to call when the socket's file is gone.
fn write_pid(mut lock: &File) -> std::io::Result<()> {
    lock.set_len(0)?;
    lock.write_all(format!("{}\n", std::process::id()).as_bytes())
}

/// Lets go of the streams that tie us to the client that started us; errors go on to the log.
pub(crate) fn leave_the_caller() {
    if let Ok(null) = OpenOptions::new().read(true).write(true).open("/dev/null") {
        let _ = rustix::stdio::dup2_stdin(&null);
        let _ = rustix::stdio::dup2_stdout(&null);
    }
}
