//! What is left of sessions whose host and guard were both killed (SPEC S-9).
//!
//! Every command looks, so the look is cheap: one list of the runtime directory, and two system calls for
//! each host that lives.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::time::{Duration, Instant};

use rustix::fs::FlockOperation;
use stead_launch::family::Family;
use stead_launch::roster::{Holder, Note};
use stead_launch::tree;
use stead_protocol::SessionName;
use stead_spool::SessionDir;

use crate::{Client, ClientError, Dirs, timer};

/// How long a command waits for the guard of a killed host to be through.
const GUARD_TIME: Duration = Duration::from_secs(3);
/// How long a command that has nothing to do with a session goes on killing what is left of it.
const BY_THE_WAY: Duration = Duration::from_millis(500);
/// How long `stop` does.
const ON_REQUEST: Duration = Duration::from_secs(5);

impl Dirs {
    /// Ends what is left of sessions whose host and guard were both killed.
    pub fn sweep_leftovers(&self) {
        let notes = Note::of_dead_hosts(&self.runtime);
        // Notes that others could have written would make us kill what they please.
        if notes.is_empty() || !matches!(self.open_runtime(), Ok(Some(_))) {
            return;
        }
        for note in notes {
            sweep_noted(&note);
        }
    }
}

impl Client {
    /// Ends what is left of a session that has no host; an error if something stays.
    pub(crate) fn sweep_left_of(&self, name: &SessionName) -> Result<(), ClientError> {
        let dir = self.dir(name);
        // Whoever holds the lock is a new host, which has seen to it.
        let Some(lock) = take_lock(&dir, Duration::ZERO) else { return Ok(()) };
        let Some(holder) = Holder::read(&lock) else { return Ok(()) };
        let left = Family::left_behind(holder.mark, &tag(&dir)).sweep(ON_REQUEST);
        if left.is_empty() {
            settle(&lock);
            return Ok(());
        }
        let describe = |pid| format!("{pid} ({})", tree::command_line(pid).unwrap_or_default());
        let processes = left.into_iter().map(describe).collect();
        Err(ClientError::Left { name: name.clone(), processes })
    }
}

fn sweep_noted(note: &Note) {
    let Some(dir) = note.session().map(SessionDir::new) else { return };
    let is_noted = |holder: Holder| holder.mark == Some(note.mark());
    let mut lock = None;
    if Holder::read_at(&dir.lock()).is_some_and(is_noted) {
        // If the guard lives it does the work, and is soon through.
        lock = take_lock(&dir, GUARD_TIME);
        if lock.is_none() {
            return;
        }
    }
    let family = Family::left_behind(Some(note.mark()), &tag(&dir));
    if !family.sweep(BY_THE_WAY).is_empty() {
        return;
    }
    if let Some(lock) = lock.filter(|lock| Holder::read(lock).is_some_and(is_noted)) {
        settle(&lock);
    }
    note.remove();
}

/// Takes the lock of a session's host, so that none begins meanwhile; `None` if one holds it.
fn take_lock(dir: &SessionDir, patience: Duration) -> Option<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK);
    let file = options.open(dir.lock()).ok()?;
    let deadline = Instant::now() + patience;
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

/// Writes down that nothing is left.
fn settle(lock: &File) {
    // If that fails, the next start looks once more.
    let _ = lock.set_len(0);
}

/// The variable in the environment of a session's processes.
fn tag(dir: &SessionDir) -> String {
    format!("STEAD_SESSION_DIR={}", dir.path().display())
}
