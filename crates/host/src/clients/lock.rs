//! The file of the session's lock, which is made anew if somebody deleted it: without it another host could start, and
//! whoever looks for a live host would find none.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};
use stead_launch::mark::Mark;
use stead_launch::roster::Holder;
use stead_spool::retention;

/// The lock of this host's session.
#[derive(Debug)]
pub(crate) struct SessionLock {
    path: PathBuf,
    /// The file that is locked. The guard shares the first one, and goes on with it.
    file: File,
    /// Whether the file is the first one, which the lower half settles.
    first: bool,
}

impl SessionLock {
    /// The lock that was taken with this file.
    pub(crate) fn new(file: &File, path: &Path) -> io::Result<SessionLock> {
        Ok(SessionLock { path: path.to_owned(), file: file.try_clone()?, first: true })
    }

    /// Takes the lock anew if its file is no longer in its place.
    pub(crate) fn restore(&mut self) {
        if retention::is_in_place(&self.file, &self.path) {
            return;
        }
        match take(&self.path) {
            Ok(file) => {
                stead_interpreter::log_warn!("the lock file was deleted; it is made anew");
                (self.file, self.first) = (file, false);
            }
            // The whole directory was deleted.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => {
                stead_interpreter::log_warn!(
                    "the lock file was deleted and cannot be made: {error}"
                );
            }
        }
    }

    /// Clears the mark in a lock file that was made anew: no process is left.
    pub(crate) fn settle(&self) {
        if !self.first {
            let _ = self.file.set_len(0);
        }
    }
}

fn take(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    let file =
        stead_files::open_with(options.create(true).truncate(false).read(true).write(true), path)?;
    flock(&file, FlockOperation::NonBlockingLockExclusive)?;
    let mark = Mark::own().map(|(mark, _)| mark);
    Holder { host: std::process::id(), mark }.write(&file)?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s9_a_lock_file_that_was_deleted_is_made_anew_and_never_taken_from_another() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("host.lock");
        let first = take(&path).unwrap();
        let mut lock = SessionLock::new(&first, &path).unwrap();
        lock.restore();
        assert!(lock.first, "it is in its place");
        std::fs::remove_file(&path).unwrap();
        lock.restore();
        assert!(!lock.first && retention::is_in_place(&lock.file, &path));
        assert!(take(&path).is_err(), "it is locked");
        assert_eq!(Holder::read_at(&path).map(|holder| holder.host), Some(std::process::id()));
        lock.settle();
        assert_eq!(Holder::read_at(&path), None);
        std::fs::remove_file(&path).unwrap();
        let other = take(&path).unwrap();
        lock.restore();
        assert!(
            retention::is_in_place(&other, &path) && !retention::is_in_place(&lock.file, &path)
        );
        std::fs::remove_dir_all(dir.path()).unwrap();
        lock.restore();
        assert!(!path.exists());
    }
}
