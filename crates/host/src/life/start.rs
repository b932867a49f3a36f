//! From a specification to a listening host: lock, guard, records, socket, interpreter.

use std::fs::{File, OpenOptions};
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{FlockOperation, Mode, flock};
use rustix::process::Signal;
use stead_interpreter::guard::Duty;
use stead_interpreter::{Near, pause};
use stead_launch::sys::{OnSignal, close_all_but, on_signal};
use stead_protocol::{EndReason, HostSpec, Meta, Refusal, StartTrouble};
use stead_spool::{SessionDir, retention, write_atomically};

use crate::attention::Attention;
use crate::clients::Clients;
use crate::clients::calls::CallSignal;
use crate::clients::listener::Listener;
use crate::clients::lock::SessionLock;
use crate::host::{Host, Launch};
use crate::record::ledger::Ledger;
use crate::run::Session;
use crate::with_causes;

/// How long a host waits for the guard of the one before it to finish cleaning up.
const LOCK_PATIENCE: Duration = Duration::from_secs(8);

/// Builds the host. It listens already when this returns, and its interpreter is starting.
pub(crate) fn start(spec: &HostSpec) -> Result<Session, Refusal> {
    stead_interpreter::log::choose(spec.meta.settings.policy.log);
    // No file of ours is for other users, whatever mask the client had.
    let umask = rustix::process::umask(Mode::from_raw_mode(0o077));
    let _ = rustix::process::setsid();
    let _ = std::env::set_current_dir("/");
    stead_interpreter::reserve_descriptors()
        .map_err(|error| failed("could not open `/dev/null`", &error))?;
    let dir = SessionDir::new(&spec.dir);
    // From here on clients may call this host by a signal. The guard, which is not a host, ignores it.
    let calls =
        CallSignal::await_them().map_err(|error| failed("could not open a descriptor", &error))?;
    // A write beyond the file size limit shall fail and not kill the host.
    on_signal(Signal::XFSZ, OnSignal::Ignore);
    let lock = take_lock(&dir.lock())?;
    let kept_lock = SessionLock::new(&lock, &dir.lock())
        .map_err(|error| failed("could not open a descriptor", &error))?;
    pause::point("locked");
    let mut duty = Duty::take(&spec.dir, &spec.socket, lock);
    duty.copies = Some(dir.checkpoints());
    let guard = duty.split().map_err(|error| failed("could not fork", &error))?;
    duty.enter().map_err(|error| failed("could not say which processes are ours", &error))?;
    let (ledger, found) = Ledger::open(&spec.dir, spec.meta.settings.limits.quota_bytes)
        .map_err(|error| failed("could not open the session's records", &error))?;
    let listener = Listener::bind(&spec.socket).map_err(|error| {
        failed(&format!("could not listen on `{}`", spec.socket.display()), &error)
    })?;
    pause::point("bound");
    let cache = spec.dir.ancestors().nth(3).unwrap_or(&spec.dir).to_owned();
    let near = Near::new(duty, guard, umask, cache)
        .map_err(|error| failed("could not watch over children", &error))?;
    let host = Host::new(spec, ledger, found, Clients::new(listener, calls, kept_lock));
    let mut session = Session { host, near, attention: Attention::default() };
    session.host.start_interpreter();
    session.carry_out();
    let Session { host, near, .. } = &mut session;
    near.wait_for_programs(&mut |told| host.told(told));
    session.carry_out();
    if let Launch::Refused(reason) = &session.host.launch {
        let _ = std::fs::remove_file(&spec.socket);
        return Err(reason.clone().into());
    }
    if let Err(error) = write_meta(&session.host.meta, &dir) {
        session.near.abandon();
        let reason = EndReason::launch_failed(error.message(None), None);
        let reason = session.host.with_untold_loss(reason);
        // The client is told that the session does not start, but not which earlier state was lost.
        let reported = reason.loss().is_none();
        session.host.ledger.end_generation(reason, reported);
        let _ = std::fs::remove_file(&spec.socket);
        return Err(error);
    }
    Ok(session)
}

fn write_meta(meta: &Meta, dir: &SessionDir) -> Result<(), Refusal> {
    let meta = serde_json::to_vec_pretty(meta)
        .map_err(|error| failed("could not write `meta.json`", &error))?;
    write_atomically(&dir.meta(), &meta)
        .map_err(|error| failed("could not write `meta.json`", &error))
}

fn failed(what: &str, error: &dyn std::error::Error) -> Refusal {
    Refusal::NotStarted { message: format!("{what}: {}", with_causes(error)), trouble: None }
}

/// The lock that makes this the only host of its session; the kernel gives it back at our death. Who waits for it while the
/// client that wants this host is gone gives up: the session may have been started by another client and stopped since, and
/// nobody would use it.
fn take_lock(path: &Path) -> Result<File, Refusal> {
    let mut options = OpenOptions::new();
    let file =
        stead_files::open_with(options.create(true).truncate(false).read(true).write(true), path)
            .map_err(|error| failed(&format!("could not open `{}`", path.display()), &error))?;
    let deadline = Instant::now() + LOCK_PATIENCE;
    loop {
        let locked = flock(&file, FlockOperation::NonBlockingLockExclusive);
        // A lock cannot be waited for with `poll`; this pause is needed only right after a host was killed.
        let pause = if locked.is_ok() { 0 } else { 2_000_000 };
        if caller_is_gone(Timespec { tv_sec: 0, tv_nsec: pause }) {
            let message = "the client that wanted it is gone".to_owned();
            return Err(Refusal::NotStarted { message, trouble: None });
        }
        match locked {
            Ok(()) if retention::is_in_place(&file, path) => return Ok(file),
            Ok(()) => {
                let message = "the session was removed while it was started".to_owned();
                let trouble = Some(Box::new(StartTrouble::Removed));
                return Err(Refusal::NotStarted { message, trouble });
            }
            Err(_) if Instant::now() < deadline => {}
            Err(_) => return Err(Refusal::OtherHost),
        }
    }
}

/// Whether the client that started this host, and waits for a line on its standard output, goes away within that time or has
/// gone.
fn caller_is_gone(within: Timespec) -> bool {
    let mut caller = [PollFd::from_borrowed_fd(rustix::stdio::stdout(), PollFlags::empty())];
    let told = poll(&mut caller, Some(&within));
    told.is_ok() && caller[0].revents().contains(PollFlags::ERR)
}

/// Closes inherited descriptors except the standard streams: a host that is started from inside another
/// session would keep that session's pipes open.
pub(crate) fn leave_the_family() {
    close_all_but(&[]);
}

/// Replaces the standard streams that came from the client; errors go to the log from here on.
pub(crate) fn leave_the_caller() {
    if let Ok(null) = OpenOptions::new().read(true).write(true).open("/dev/null") {
        let _ = rustix::stdio::dup2_stdin(&null);
        let _ = rustix::stdio::dup2_stdout(&null);
    }
}
