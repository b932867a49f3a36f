//! Calling a live host that cannot be found because its socket was deleted.

use std::fs;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Instant;

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use stead_launch::roster::{Holder, Note};
use stead_spool::SessionDir;

use crate::timer;

/// A live host that cannot be found by its socket, only by its session's lock or its note.
pub(crate) struct Unfound {
    pub(crate) pid: u32,
    process: OwnedFd,
}

impl Unfound {
    /// The session's host, if it lives itself and not only its guard.
    ///
    /// The lock file holds the host's pid. That process must have the lock file open, because the pid alone
    /// may be another program's by now.
    pub(crate) fn find(dir: &SessionDir) -> Option<Unfound> {
        let path = dir.lock();
        let number = Unfound::pid(dir)?;
        let process = pidfd_open(Pid::from_raw(number.cast_signed())?, PidfdFlags::empty()).ok()?;
        let lock = fs::metadata(&path).ok()?;
        let holds = |fd: &fs::DirEntry| {
            fs::metadata(fd.path())
                .is_ok_and(|open| (open.dev(), open.ino()) == (lock.dev(), lock.ino()))
        };
        let held = fs::read_dir(format!("/proc/{number}/fd")).ok()?.flatten().any(|fd| holds(&fd));
        held.then_some(Unfound { pid: number, process })
    }

    /// The host that a note says listens at `socket`, for a session whose lock file was deleted, too.
    pub(crate) fn noted(socket: &Path) -> Option<Unfound> {
        let host = Note::live_host(socket)?;
        Some(Unfound { pid: host.pid, process: host.into_process() })
    }

    /// The process that the lock file names; it may be gone.
    pub(crate) fn pid(dir: &SessionDir) -> Option<u32> {
        Holder::read_at(&dir.lock()).map(|holder| holder.host)
    }

    /// Asks the host to listen again; returns whether it still lives.
    pub(crate) fn call(&self) -> bool {
        // A process that has ended can be signalled until its parent has collected it.
        let ended = timer::wait_readable([Some(self.process.as_fd())], Some(Instant::now()));
        ended.is_ok_and(|[ended]| !ended) && pidfd_send_signal(&self.process, Signal::USR1).is_ok()
    }
}
