//! From a specification to a listening host: lock, guard, records, socket, interpreter.

use std::fs::{File, OpenOptions};
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::event::{Timespec, poll};
use rustix::fs::{FlockOperation, Mode, flock};
use stead_launch::family::Family;
use stead_launch::mark::{Mark, Role};
use stead_launch::roster::Holder;
use stead_protocol::{HostSpec, Refusal, StartTrouble};
use stead_spool::{SessionDir, retention, write_atomically};

use crate::clients::listener::Listener;
use crate::ending;
use crate::guard::Duty;
use crate::host::Host;
use crate::ledger::Ledger;
use crate::pause;
use crate::with_causes;

/// How long a host waits for the guard of the one before it to finish cleaning up.
const LOCK_PATIENCE: Duration = Duration::from_secs(8);
/// How long a start is held up by what an earlier host left.
const SWEEP_PATIENCE: Duration = Duration::from_secs(2);

/// Builds the host; what it returns listens already and its interpreter is starting.
pub(crate) fn start(spec: &HostSpec) -> Result<Host, Refusal> {
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
    let tag = format!("STEAD_SESSION_DIR={}", spec.dir.display());
    if let Some(before) = Holder::read(&lock) {
        end_what_is_left_of(before, &tag);
    }
    let duty = Duty {
        mark: take_mark(),
        tag,
        socket: spec.socket.clone(),
        session: spec.dir.clone(),
        lock,
    };
    let guard = duty.split().map_err(|error| failed("could not fork", &error))?;
    duty.enter().map_err(|error| failed("could not say which processes are ours", &error))?;
    let (ledger, found) = Ledger::open(&spec.dir, spec.meta.settings.limits.quota_bytes)
        .map_err(|error| failed("could not open the session's records", &error))?;
    let listener = Listener::bind(&spec.socket).map_err(|error| {
        failed(&format!("could not listen on `{}`", spec.socket.display()), &error)
    })?;
    pause::point("bound");
    let mut host = Host::new(spec, ledger, found, listener, duty, guard, umask);
    match host.start_interpreter() {
        Ok(()) => {
            let written = serde_json::to_vec_pretty(&host.meta)
                .map_err(|error| failed("could not write `meta.json`", &error))
                .and_then(|meta| {
                    write_atomically(&dir.meta(), &meta)
                        .map_err(|error| failed("could not write `meta.json`", &error))
                });
            match written {
                Ok(()) => Ok(host),
                Err(refusal) => {
                    host.abandon(&refusal.message(None));
                    Err(refusal)
                }
            }
        }
        Err(reason) => {
            let _ = std::fs::remove_file(&spec.socket);
            Err(reason.into())
        }
    }
}

fn failed(what: &str, error: &dyn std::error::Error) -> Refusal {
    Refusal::NotStarted { message: format!("{what}: {}", with_causes(error)), trouble: None }
}

/// The lock that makes this the only host of its session; the kernel gives it back at our death.
fn take_lock(path: &Path) -> Result<File, Refusal> {
    let mut options = OpenOptions::new();
    let file =
        stead_files::open_with(options.create(true).truncate(false).read(true).write(true), path)
            .map_err(|error| failed(&format!("could not open `{}`", path.display()), &error))?;
    let deadline = Instant::now() + LOCK_PATIENCE;
    loop {
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) if retention::is_in_place(&file, path) => return Ok(file),
            Ok(()) => {
                let message = "the session was removed while it was started".to_owned();
                let trouble = Some(Box::new(StartTrouble::Removed));
                return Err(Refusal::NotStarted { message, trouble });
            }
            Err(_) if Instant::now() < deadline => {
                // Locks cannot be polled for; this happens only right after a host was killed.
                let _ = poll(&mut [], Some(&Timespec { tv_sec: 0, tv_nsec: 2_000_000 }));
            }
            Err(_) => return Err(Refusal::OtherHost),
        }
    }
}

/// Marks this process and so all that it will start.
fn take_mark() -> Option<Mark> {
    let mark = Mark::draw()?;
    match mark.take(Role::Host) {
        Ok(()) => Some(mark),
        Err(error) => {
            eprintln!("the session's processes cannot be marked: {error}");
            None
        }
    }
}

/// Ends what a host left that was killed together with its guard.
fn end_what_is_left_of(before: Holder, tag: &str) {
    eprintln!("the host before this one was killed; what it left is ended");
    let left = Family::left_behind(before.mark, tag).sweep(SWEEP_PATIENCE);
    if !left.is_empty() {
        eprintln!("these processes of it do not die: {left:?}");
    }
}

/// Closes what was inherited beside the standard streams: a host that is started from inside another
/// session would keep that one's pipes open.
pub(crate) fn leave_the_family() {
    // SAFETY: nothing has been opened yet.
    unsafe { libc::syscall(libc::SYS_close_range, 3, libc::c_uint::MAX, 0) };
}

/// Lets go of the streams that tie us to the client that started us; errors go on to the log.
pub(crate) fn leave_the_caller() {
    if let Ok(null) = OpenOptions::new().read(true).write(true).open("/dev/null") {
        let _ = rustix::stdio::dup2_stdin(&null);
        let _ = rustix::stdio::dup2_stdout(&null);
    }
}
