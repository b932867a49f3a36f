//! The processes of stead itself that keep a session: its host, and the guard that cleans up after it.

use std::fs;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use crate::process::mark::{Mark, Role};
use crate::process::tree;

/// A host or guard that was alive when it was found. A signal meets this process and never another that got its
/// number.
#[derive(Debug)]
pub struct Keeper {
    /// Its process id.
    pub pid: u32,
    /// The mark of its session's processes.
    pub mark: Mark,
    /// Whether it is the host or a guard.
    pub role: Role,
    process: OwnedFd,
}

/// Who keeps a session.
#[derive(Debug)]
pub enum KeptBy {
    /// No host and no guard that can be seen from here.
    Nobody,
    /// A host.
    Host(Keeper),
    /// Guards alone, which did not end in time.
    Guards(Vec<Keeper>),
}

impl KeptBy {
    /// A guard that keeps it now, if no host did.
    pub fn guard(&self) -> Option<u32> {
        match self {
            KeptBy::Guards(guards) => {
                let lives = guards.iter().find(|guard| !guard.sees_end(Duration::ZERO));
                lives.map(|guard| guard.pid)
            }
            KeptBy::Nobody | KeptBy::Host(_) => None,
        }
    }
}

impl Keeper {
    /// That process, if it is a host or a guard and lives.
    pub fn at(pid: u32) -> Option<Keeper> {
        let process = pidfd_open(Pid::from_raw(pid.cast_signed())?, PidfdFlags::empty()).ok()?;
        let (mark, role) = Mark::of(pid).filter(|(_, role)| *role != Role::Family)?;
        let keeper = Keeper { pid, mark, role, process };
        // While the process behind the descriptor lives, its number is no other's, so the mark is its own.
        (!keeper.sees_end(Duration::ZERO)).then_some(keeper)
    }

    /// The hosts and guards that have this mark, and those that have the lock file of a session open: a host that
    /// ends in good order clears its mark there.
    fn all(mark: Option<Mark>, lock: &Path) -> Vec<Keeper> {
        let identity = |file: fs::Metadata| (file.dev(), file.ino());
        let lock = fs::metadata(lock).map(identity).ok();
        let has_open = |pid: u32| {
            let open = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
            lock.is_some()
                && open.into_iter().any(|fd| fs::metadata(fd.path()).map(identity).ok() == lock)
        };
        let processes = fs::read_dir("/proc").into_iter().flatten().filter_map(tree::numbered);
        let keepers = processes.filter_map(|pid| {
            let (of, _) = Mark::of(pid).filter(|(_, role)| *role != Role::Family)?;
            (Some(of) == mark || has_open(pid)).then(|| Keeper::at(pid))?
        });
        keepers.filter(|keeper| keeper.pid != std::process::id()).collect()
    }

    /// Sees guards of a session to their end whose host is gone. One that was stopped by a signal is let go on, because
    /// it knows best what is left; it is killed if it is stopped again. Each of both may take `patience`.
    pub fn see_guards_gone(mark: Option<Mark>, lock: &Path, patience: Duration) -> KeptBy {
        let (mut hosts, mut guards): (Vec<Keeper>, Vec<Keeper>) =
            Keeper::all(mark, lock).into_iter().partition(|keeper| keeper.role == Role::Host);
        guards.retain(|guard| hosts.iter().all(|host| host.mark != guard.mark));
        let signal_stopped = |guards: &[Keeper], signal| {
            guards.iter().filter(|guard| guard.is_stopped() && guard.signal(signal)).count()
        };
        let see_end = |guards: &mut Vec<Keeper>| {
            let deadline = Instant::now() + patience;
            let left = || deadline.saturating_duration_since(Instant::now());
            guards.retain(|guard| !guard.sees_end(left()));
        };
        signal_stopped(&guards, Signal::CONT);
        see_end(&mut guards);
        // A guard that is at work is not killed: it may know of processes that carry no mark.
        if signal_stopped(&guards, Signal::KILL) > 0 {
            see_end(&mut guards);
        }
        match (hosts.pop(), guards.is_empty()) {
            (Some(host), _) => KeptBy::Host(host),
            (None, true) => KeptBy::Nobody,
            (None, false) => KeptBy::Guards(guards),
        }
    }

    /// Waits until the process has ended; returns whether it has.
    pub fn sees_end(&self, patience: Duration) -> bool {
        let deadline = Instant::now() + patience;
        let mut fds = [PollFd::new(&self.process, PollFlags::IN)];
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let time = Timespec {
                tv_sec: left.as_secs().cast_signed(),
                tv_nsec: left.subsec_nanos().into(),
            };
            match poll(&mut fds, Some(&time)) {
                Err(Errno::INTR) => {}
                ended => return ended.is_ok_and(|ended| ended > 0),
            }
        }
    }

    /// Sends it a signal; returns whether it was there.
    pub fn signal(&self, signal: Signal) -> bool {
        pidfd_send_signal(&self.process, signal).is_ok()
    }

    /// The descriptor of the process.
    pub fn into_process(self) -> OwnedFd {
        self.process
    }

    fn is_stopped(&self) -> bool {
        tree::look(self.pid).is_some_and(|process| matches!(process.state, b'T' | b't'))
    }
}

#[cfg(test)]
#[path = "keeper_tests.rs"]
mod tests;
