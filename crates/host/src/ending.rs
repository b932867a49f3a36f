//! Signals, ended children, the end of the interpreter and of the host.

use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, WaitOptions, WaitStatus, waitpid};
use stead_launch::tree;
use stead_protocol::EndReason;

use crate::clients::connection::Connection;
use crate::guard::Guard;
use crate::host::{Compiled, Host};
use crate::state::{Action, Input};

/// How long the end of an interpreter waits for everything it started to be gone.
const SWEEP_PATIENCE: Duration = Duration::from_secs(5);

/// The signal by which a client says that it cannot find our socket.
const CALL: i32 = libc::SIGUSR1;

impl Host {
    pub(crate) fn take_signals(&mut self) {
        let mut called = false;
        // Whole records only: 128 bytes each, the signal's number first.
        let mut buffer = [0; 1024];
        while let Ok(read) = rustix::io::read(&self.signals, &mut buffer) {
            let records = buffer[..read].chunks_exact(128);
            called |= records.into_iter().any(|record| {
                record.first_chunk().is_some_and(|number| i32::from_ne_bytes(*number) == CALL)
            });
        }
        if called
            && let Some(listener) = &mut self.listener
            && let Err(error) = listener.restore()
        {
            eprintln!("could not listen on `{}` again: {error}", self.spec.socket.display());
        }
        self.reap();
    }

    /// Makes another guard if the one there was is gone.
    pub(crate) fn keep_guarded(&mut self, gone: bool) {
        let due = match &self.guard {
            Guard::Stands(_) => gone,
            Guard::Missing(retry) => *retry <= Instant::now(),
        };
        if due {
            eprintln!("the guard was killed; another takes its place");
            self.guard = self.duty.renew();
        }
    }

    /// Waits for the children that ended: orphans, and the interpreter itself.
    pub(crate) fn reap(&mut self) {
        while let Some(pid) = tree::ended_child() {
            let interpreter = self.bridge.as_ref().is_some_and(|bridge| bridge.pid() == pid);
            if interpreter {
                // Its last words, while it can still be seen whether it was replaced.
                self.read_bridge();
            }
            let waited = waitpid(Pid::from_raw(pid as i32), WaitOptions::NOHANG);
            let Ok(Some((_, status))) = waited else { return };
            if interpreter {
                return self.interpreter_exited(status);
            }
        }
    }

    pub(crate) fn interpreter_exited(&mut self, status: WaitStatus) {
        // The rest of its family, then what they had written.
        self.left = self.duty.family().sweep(SWEEP_PATIENCE);
        if !self.left.is_empty() {
            eprintln!("these processes of the session do not die: {:?}", self.left);
        }
        self.drain();
        let replaced = self.replaced;
        self.bridge = None;
        self.background_input = None;
        self.clock.resume();
        let code = status.exit_status();
        let reason = match (code, status.terminating_signal()) {
            (Some(code), _) if replaced => EndReason::Replaced { code },
            (_, Some(signal)) if replaced => EndReason::Replaced { code: 128 + signal },
            (Some(code), _) => EndReason::Exit { code },
            (None, Some(signal)) => EndReason::Signal { signal },
            (None, None) => EndReason::Exit { code: 0 },
        };
        if let (None, Compiled::Used(file)) = (&self.facts.version, &self.compiled) {
            // Never let a bad file stand in the way twice.
            let _ = std::fs::remove_file(file);
        }
        let reason = match self.init_refused.take() {
            Some(message) => EndReason::LaunchFailed { message, trouble: None },
            None if self.facts.version.is_none() => self.not_ready(&reason),
            None => reason,
        };
        if self.closing.exit_code.is_none() {
            self.closing.exit_code = code;
        }
        self.step(Input::Exited(reason));
    }

    /// Gives up a start after the interpreter was begun: nothing of it stays, and the next start knows that there is
    /// no state to miss.
    pub(crate) fn abandon(&mut self, why: &str) {
        self.act(Action::Kill);
        self.left = self.duty.family().sweep(SWEEP_PATIENCE);
        self.bridge = None;
        let reason = EndReason::LaunchFailed { message: why.to_owned(), trouble: None };
        self.ledger.end_generation(reason, true);
        let _ = std::fs::remove_file(&self.spec.socket);
    }

    /// Why an interpreter that never said hello could not be started.
    pub(crate) fn not_ready(&self, reason: &EndReason) -> EndReason {
        let path = self.meta.found.as_ref().map(|found| found.path.as_str()).unwrap_or_default();
        let said = String::from_utf8_lossy(&self.complaint);
        let said = said.trim();
        let colon = if said.is_empty() { "" } else { ": " };
        EndReason::LaunchFailed {
            message: format!("`{path}` was not ready ({reason}){colon}{said}"),
            trouble: None,
        }
    }

    /// Everyone gets what they were sent, if they take it within a second.
    pub(crate) fn say_goodbye(&mut self) {
        let deadline = Instant::now() + Duration::from_secs(1);
        self.connections.values_mut().for_each(Connection::release);
        loop {
            for connection in self.connections.values_mut() {
                connection.flush();
            }
            self.connections.retain(|_, connection| !connection.is_flushed());
            let left = deadline.saturating_duration_since(Instant::now());
            if self.connections.is_empty() || left.is_zero() {
                return;
            }
            let mut fds: Vec<PollFd<'_>> = self
                .connections
                .values()
                .map(|connection| PollFd::from_borrowed_fd(connection.fd(), PollFlags::OUT))
                .collect();
            let timeout = Timespec { tv_sec: 0, tv_nsec: left.subsec_nanos() as _ };
            let _ = poll(&mut fds, Some(&timeout));
        }
    }
}

/// Keeps the signals that we read from a descriptor from ending this process.
pub(crate) fn block_signals() {
    // SAFETY: the set is initialised before use.
    unsafe {
        libc::sigprocmask(libc::SIG_BLOCK, &handled(), std::ptr::null_mut());
    }
}

pub(crate) fn handled() -> libc::sigset_t {
    // SAFETY: the set is initialised by `sigemptyset`.
    unsafe {
        let mut set = std::mem::zeroed();
        libc::sigemptyset(&mut set);
        libc::sigaddset(&mut set, libc::SIGCHLD);
        libc::sigaddset(&mut set, CALL);
        set
    }
}

/// A descriptor that is readable whenever a child has ended or a client calls.
pub(crate) fn signals() -> OwnedFd {
    use std::os::fd::FromRawFd;
    block_signals();
    // SAFETY: the descriptor is ours alone.
    unsafe {
        let set = handled();
        // A file size limit shall be an error of the write and not our death.
        libc::signal(libc::SIGXFSZ, libc::SIG_IGN);
        OwnedFd::from_raw_fd(libc::signalfd(-1, &set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK))
    }
}
