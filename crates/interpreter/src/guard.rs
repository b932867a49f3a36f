//! A host in two processes: the guard stands by and cleans up if the host is killed.
//!
//! The first guard is the host's parent and a child subreaper, so processes that a killed host leaves become
//! its children. If the guard is killed, the host makes another, which is its child and not its ancestor:
//! that one finds the processes of a killed host by the session's mark.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, getpid, pidfd_open, set_child_subreaper};
use stead_launch::family::Family;
use stead_launch::mark::{Mark, Role};
use stead_launch::ps;
use stead_launch::roster::{Holder, Note};
use stead_launch::sys::{close_all_but, exit_at_once, fork};
use stead_launch::tree;

/// How long a guard goes on killing.
const SWEEP_PATIENCE: Duration = Duration::from_secs(10);
/// How long a start waits for processes of an earlier host to die.
const START_PATIENCE: Duration = Duration::from_secs(2);
/// How long the host waits before it tries again to make a guard.
const RETRY: Duration = Duration::from_secs(1);

/// What has to be cleaned up when a session's host is gone, and how to find it.
#[derive(Debug)]
pub struct Duty {
    /// The mark that the session's processes carry.
    pub mark: Option<Mark>,
    /// The environment variable by which the session's processes are known if there is no mark.
    pub tag: String,
    /// The socket, which is removed when the host was killed.
    pub socket: PathBuf,
    /// The session's directory.
    pub session: PathBuf,
    /// Where copies of the interpreter's state lie as text, if they do. They hold all that the user's names hold and
    /// are of no use without the interpreter, so they go with it.
    pub copies: Option<PathBuf>,
    /// Held by host and guard: no other host begins before both have exited.
    pub lock: File,
    /// Whether processes may be left, because they could not be ended or because nothing was swept since they were started.
    pub left: bool,
}

/// What the host knows of its guard.
#[derive(Debug)]
pub enum Guard {
    /// The guard lives until this descriptor is readable.
    Stands(OwnedFd),
    /// No guard could be made; when to try again.
    Missing(Instant),
}

impl Duty {
    /// Takes on a session whose lock this process has: ends processes of a host that was killed together with
    /// its guard, and marks this process and so all that it will start.
    pub fn take(session: &Path, socket: &Path, lock: File) -> Duty {
        let tag = format!("STEAD_SESSION_DIR={}", session.display());
        if let Some(before) = Holder::read(&lock) {
            end_what_is_left_of(before, &tag);
        }
        let (session, socket) = (session.to_owned(), socket.to_owned());
        Duty { mark: take_mark(), tag, socket, session, copies: None, lock, left: false }
    }

    /// The session's processes, as the host sees them.
    pub fn family(&self) -> Family {
        Family::below_us(self.mark)
    }

    /// Forks: returns in the host, and never in the guard.
    ///
    /// Called before any thread is started and before anything is opened except the session's lock, which the
    /// guard shares.
    pub fn split(&self) -> io::Result<Guard> {
        set_child_subreaper(Some(getpid()))?;
        let guard = pidfd_open(getpid(), PidfdFlags::empty())?;
        match fork()? {
            None => {
                set_child_subreaper(Some(getpid()))?;
                Ok(Guard::Stands(guard))
            }
            Some(host) => {
                // The host is our child until we wait for it, so its pid is right. Without a free descriptor
                // no host could run either.
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
    pub fn renew(&self) -> Guard {
        match self.try_renew() {
            Ok(guard) => Guard::Stands(guard),
            Err(error) => {
                crate::log_error!("could not make another guard: {error}");
                Guard::Missing(Instant::now() + RETRY)
            }
        }
    }

    fn try_renew(&self) -> io::Result<OwnedFd> {
        let (host, pid) = (pidfd_open(getpid(), PidfdFlags::empty())?, getpid());
        match fork()? {
            None => {
                // The guard must hold no copies of descriptors: clients wait for the end of their
                // connections, and user code for the end of its pipes.
                close_all_but(&[self.lock.as_fd(), host.as_fd()]);
                self.stand_guard(host, pid)
            }
            Some(guard) => Ok(pidfd_open(guard, PidfdFlags::empty())?),
        }
    }

    /// Writes the host's mark to the lock file: from here on there are processes to clean up.
    pub fn enter(&self) -> io::Result<()> {
        Holder { host: std::process::id(), mark: self.mark }.write(&self.lock)?;
        let note = self.note(getpid());
        if let Some(Err(error)) = note.map(|note| note.write(&self.session, &self.socket)) {
            // The note is not needed: the next start finds the mark in the lock file.
            crate::log_warn!("could not leave a note in the runtime directory: {error}");
        }
        Ok(())
    }

    /// Clears the mark in the lock file: no process is left.
    pub fn settle(&self, host: Pid) {
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
        // The guard must not run destructors of the host's values that it has copies of.
        exit_at_once(0)
    }

    fn clean_up(&self, host: Pid) {
        let entered = Holder { host: host.as_raw_nonzero().get() as u32, mark: self.mark };
        // The host exited in good order, or had not entered its mark yet.
        if Holder::read(&self.lock) != Some(entered) {
            return;
        }
        let family = Family::left_behind(self.mark, &self.tag).with_orphans();
        if family.sweep(SWEEP_PATIENCE).is_empty() {
            self.settle(host);
        }
        if let Some(copies) = &self.copies {
            let _ = std::fs::remove_dir_all(copies);
        }
        let _ = std::fs::remove_file(&self.socket);
    }
}

/// Marks this process and so all that it will start.
fn take_mark() -> Option<Mark> {
    let mark = Mark::draw()?;
    match mark.take(Role::Host) {
        Ok(()) => Some(mark),
        Err(error) => {
            crate::log_warn!("the session's processes cannot be marked: {error}");
            None
        }
    }
}

/// Ends processes of a host that was killed together with its guard.
fn end_what_is_left_of(before: Holder, tag: &str) {
    crate::log_warn!("the host before this one was killed; what it left is ended");
    let left = Family::left_behind(before.mark, tag).sweep(START_PATIENCE);
    if !left.is_empty() {
        crate::log_error!("these processes of it do not die: {left:?}");
    }
}

/// Closes the standard streams, because the client that started the host waits for the end of the host's output.
fn close_standard_streams() {
    if let Ok(null) = std::fs::OpenOptions::new().read(true).write(true).open("/dev/null") {
        let _ = rustix::stdio::dup2_stdin(&null);
        let _ = rustix::stdio::dup2_stdout(&null);
        let _ = rustix::stdio::dup2_stderr(&null);
    }
}
