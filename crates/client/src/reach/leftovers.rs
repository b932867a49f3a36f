//! Processes left by sessions whose host and guard were both killed (SPEC S-9).
//!
//! Every command looks for them, so the look is cheap: one list of the runtime directory, and four system
//! calls for each host that lives.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::fs::FlockOperation;
use stead_launch::family::Family;
use stead_launch::keeper::{Keeper, KeptBy};
use stead_launch::mark::Mark;
use stead_launch::roster::{Holder, Note, Noted};
use stead_launch::tree;
use stead_protocol::SessionName;
use stead_spool::SessionDir;

use crate::control::END_TIME;
use crate::eval::wait;
use crate::reach::connection;
use crate::{Client, ClientError, Dirs, timer};

/// How long a command waits for the guard of a killed host to finish.
const GUARD_TIME: Duration = Duration::from_secs(1);
/// How long a command about something else goes on killing processes that a session left.
const BY_THE_WAY: Duration = Duration::from_millis(500);
/// How often a host that is about to exit is looked at.
const POLL: Duration = Duration::from_millis(10);
/// How long `stop` goes on killing them.
const ON_REQUEST: Duration = Duration::from_secs(5);

impl Dirs {
    /// Ends processes left by sessions whose host and guard were both killed.
    pub fn sweep_leftovers(&self) {
        let notes = Note::of_dead_hosts(&self.runtime);
        // If other users could write notes here, they could make us kill any process of ours.
        if notes.is_empty() || !matches!(self.open_runtime(), Ok(Some(_))) {
            return;
        }
        for note in notes {
            sweep_noted(&note);
        }
    }
}

impl Client {
    /// Ends the processes left by a session that has no host; an error if one stays. `known` is its last host, for
    /// a session whose lock file was deleted.
    pub(crate) fn sweep_left_of(
        &self,
        name: &SessionName,
        known: Option<Holder>,
    ) -> Result<(), ClientError> {
        let dir = self.dir(name);
        let known = known.filter(|_| dir.lock().symlink_metadata().is_err());
        let holder = Holder::read_at(&dir.lock()).or(known);
        let mark = holder.and_then(|holder| holder.mark);
        // The session was started again, and its new host has ended what the old one left.
        if holder.is_some_and(|holder| mark.is_some_and(|mark| mark.has_host(holder.host))) {
            return Ok(());
        }
        if holder.is_none() && !wait::host_lives(&dir) {
            return Ok(());
        }
        let mut keeps = see_guards_gone(&dir, mark);
        let deadline = Instant::now() + END_TIME;
        while let KeptBy::Host(host) = &keeps {
            // The lock file names each host until nothing is left of it, so this one was just started.
            if Holder::read_at(&dir.lock()).is_some_and(|holder| holder.host == host.pid) {
                return Ok(());
            }
            if Instant::now() >= deadline {
                return Err(connection::silent(name, Some(host.pid)));
            }
            // It is about to exit.
            if host.sees_end(POLL) {
                keeps = see_guards_gone(&dir, mark);
            }
        }
        let lock = take_lock(&dir);
        let mut left = Family::left_behind(mark, &tag(&dir)).sweep(ON_REQUEST);
        if let KeptBy::Guards(guards) = keeps {
            let stays = |guard: &&Keeper| !guard.sees_end(GUARD_TIME);
            left.extend(guards.iter().filter(stays).map(|guard| guard.pid));
        }
        if !left.is_empty() {
            let describe = |pid| format!("{pid} ({})", tree::command_line(pid).unwrap_or_default());
            let processes = left.into_iter().map(describe).collect();
            return Err(ClientError::Left { name: name.clone(), processes });
        }
        match lock.or_else(|| take_lock(&dir)) {
            Some(lock) => settle(&lock, mark, &self.dirs.socket(&self.workspace, name)),
            // A process that cannot be seen from here holds the lock, and no new host has come.
            None if wait::host_lives(&dir) && Holder::read_at(&dir.lock()) == holder => {
                return Err(connection::silent(name, None));
            }
            None => {}
        }
        Ok(())
    }
}

/// Waits for guards of a session whose host is gone, and lets one go on that was stopped.
pub(crate) fn see_guards_gone(dir: &SessionDir, mark: Option<Mark>) -> KeptBy {
    Keeper::see_guards_gone(mark, &dir.lock(), GUARD_TIME)
}

fn sweep_noted(note: &Note) {
    let Some(Noted { session, socket }) = note.read() else { return };
    let dir = SessionDir::new(session);
    let family = Family::left_behind(Some(note.mark()), &tag(&dir));
    if !family.sweep(BY_THE_WAY).is_empty() {
        return;
    }
    if let KeptBy::Guards(_) = see_guards_gone(&dir, Some(note.mark())) {
        return;
    }
    // A new host may have written its own mark into the lock file since the note was made.
    if Holder::read_at(&dir.lock()).is_some_and(|holder| holder.mark == Some(note.mark())) {
        let Some(lock) = take_lock(&dir) else { return };
        settle(&lock, Some(note.mark()), &socket);
    }
    note.remove();
}

/// Takes the lock of a session's host, so that no host starts meanwhile; `None` if a process that has it does not
/// give it back.
fn take_lock(dir: &SessionDir) -> Option<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK);
    let file = options.open(dir.lock()).ok()?;
    let deadline = Instant::now() + GUARD_TIME;
    loop {
        if rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok() {
            return Some(file);
        }
        if Instant::now() >= deadline {
            return None;
        }
        timer::pause(Duration::from_millis(2));
    }
}

/// Notes that no process is left of the host with that mark. The session has no host, since we hold its lock,
/// so no process listens at its socket.
fn settle(lock: &File, mark: Option<Mark>, socket: &Path) {
    if Holder::read(lock).is_some_and(|holder| holder.mark == mark) {
        // If the lock file cannot be emptied, the next start looks for leftovers once more.
        let _ = lock.set_len(0);
        let _ = std::fs::remove_file(socket);
    }
}

/// The variable in the environment of a session's processes.
fn tag(dir: &SessionDir) -> String {
    format!("STEAD_SESSION_DIR={}", dir.path().display())
}
