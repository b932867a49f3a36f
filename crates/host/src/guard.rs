//! A host in two processes: the guard stands by and cleans up if the host is killed.
//!
//! The first guard is the host's parent and a child subreaper, so what a killed host leaves falls to
//! it. If the guard is killed, the host makes another. That one is a child and no ancestor: it
//! finds what a killed host left by the session's mark.

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, getpid, pidfd_open, set_child_subreaper};
use stead_launch::family::Family;
use stead_launch::mark::{Mark, Role};
use stead_launch::ps;
use stead_launch::roster::{Holder, Note};
use stead_launch::tree;

/// How long a guard goes on killing.
const SWEEP_PATIENCE: Duration = Duration::from_secs(10);
/// When to try again to make a guard.
const RETRY: Duration = Duration::from_secs(1);

/// What has to be done when a session's host is gone, and by whom it is known.
#[derive(Debug)]
pub(crate) struct Duty {
    pub(crate) mark: Option<Mark>,
    /// The variable that tells the session's processes where there is no mark.
    pub(crate) tag: String,
    pub(crate) socket: PathBuf,
    pub(crate) session: PathBuf,
    /// Held by host and guard: no other host begins before both are through.
    pub(crate) lock: File,
}

/// What the host knows of its guard.
#[derive(Debug)]
pub(crate) enum Guard {
    /// It lives until this can be read from.
    Stands(OwnedFd),
    /// None could be made; it is tried again then.
    Missing(Instant),
}

impl Duty {
    /// The session's processes, as the host sees them.
    pub(crate) fn family(&self) -> Family {
        Family::below_us(self.mark)
    }

    /// Goes on twice: returns in the host, and never in the guard.
    ///
    /// Called before anything else runs or is opened but the session's lock, which the guard shares.
    pub(crate) fn split(&self) -> io::Result<Guard> {
        set_child_subreaper(Some(getpid()))?;
        let guard = pidfd_open(getpid(), PidfdFlags::empty())?;
        match fork()? {
            None => {
                set_child_subreaper(Some(getpid()))?;
                Ok(Guard::Stands(guard))
            }
            Some(host) => {
                // Our child until we wait for it, so the number is right. If there is no descriptor to be
                // had there is no host to be had either.
                let process = pidfd_open(host, PidfdFlags::empty());
                match process {
                    Ok(process) => self.stand_guard(process, host),
                    Err(error) => {
                        tree::signal(host.as_raw_nonzero().get() as u32, Signal::KILL);
                        Err(error.into())
                    }
                }
            }
        }
    }

    /// Makes another guard for this process.
    pub(crate) fn renew(&self) -> Guard {
        match self.try_renew() {
            Ok(guard) => Guard::Stands(guard),
            Err(error) => {
                eprintln!("could not make another guard: {error}");
                Guard::Missing(Instant::now() + RETRY)
            }
        }
    }

    fn try_renew(&self) -> io::Result<OwnedFd> {
        let (host, pid) = (pidfd_open(getpid(), PidfdFlags::empty())?, getpid());
        match fork()? {
            None => {
                // Clients wait for the end of their connections, user code for that of its pipes.
                close_all_but([self.lock.as_raw_fd(), host.as_raw_fd()]);
                self.stand_guard(host, pid)
            }
            Some(guard) => Ok(pidfd_open(guard, PidfdFlags::empty())?),
        }
    }

    /// Says who we are: from here on there is something to be swept.
    pub(crate) fn enter(&self) -> io::Result<()> {
        Holder { host: std::process::id(), mark: self.mark }.write(&self.lock)?;
        let note = self.note(getpid());
        if let Some(Err(error)) = note.map(|note| note.write(&self.session, &self.socket)) {
            // The lock's file has what the next start needs.
            eprintln!("could not leave a note in the runtime directory: {error}");
        }
        Ok(())
    }

    /// Says that nothing is left.
    pub(crate) fn settle(&self, host: Pid) {
        let _ = self.lock.set_len(0);
        if let Some(note) = self.note(host) {
            note.remove();
        }
    }

    fn note(&self, host: Pid) -> Option<Note> {
        Some(Note::new(self.socket.parent()?, self.mark?, host.as_raw_nonzero().get() as u32))
    }

    fn stand_guard(&self, host: OwnedFd, pid: Pid) -> ! {
        if let Some(mark) = self.mark {
            let _ = mark.take(Role::Guard);
        }
        close_standard_streams();
        ps::rename("session-guard");
        let mut fds = [PollFd::new(&host, PollFlags::IN)];
        while let Err(Errno::INTR | Errno::AGAIN) = poll(&mut fds, None) {}
        self.clean_up(pid);
        // SAFETY: ends this process, whose copies of the host's things are not for it to drop.
        unsafe { libc::_exit(0) }
    }

    fn clean_up(&self, host: Pid) {
        let entered = Holder { host: host.as_raw_nonzero().get() as u32, mark: self.mark };
        // The host left in good order, or had not begun.
        if Holder::read(&self.lock) != Some(entered) {
            return;
        }
        let family = Family::left_behind(self.mark, &self.tag).with_orphans();
        if family.sweep(SWEEP_PATIENCE).is_empty() {
            self.settle(host);
        }
        let _ = std::fs::remove_file(&self.socket);
    }
}

/// Forks; `None` in the child.
fn fork() -> io::Result<Option<Pid>> {
    // SAFETY: the process has one thread, so the child may go on as usual.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        pid => Ok(Pid::from_raw(pid)),
    }
}

/// Closes every descriptor but the standard ones and these.
fn close_all_but(mut keep: [i32; 2]) {
    keep.sort_unstable();
    let close = |first: i32, last: libc::c_uint| {
        if first as libc::c_uint <= last {
            // SAFETY: this process does nothing more with what is closed.
            unsafe { libc::syscall(libc::SYS_close_range, first, last, 0) };
        }
    };
    close(3, keep[0] as libc::c_uint - 1);
    close(keep[0] + 1, keep[1] as libc::c_uint - 1);
    close(keep[1] + 1, libc::c_uint::MAX);
}

/// Whoever started the host waits for the end of its standard output.
fn close_standard_streams() {
    if let Ok(null) = std::fs::OpenOptions::new().read(true).write(true).open("/dev/null") {
        let _ = rustix::stdio::dup2_stdin(&null);
        let _ = rustix::stdio::dup2_stdout(&null);
        let _ = rustix::stdio::dup2_stderr(&null);
    }
}
