//! The socket at which clients find the host, also after somebody deleted its file.

use std::fs;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};

/// A bound socket and the file that leads to it.
pub(crate) struct Listener {
    socket: UnixListener,
    path: PathBuf,
    /// Device and inode of the socket's file; no other file has them while the socket is bound.
    file: (u64, u64),
}

impl Listener {
    /// Listens at `path`. A file that is there was left by an earlier host, because the session's lock is
    /// ours.
    pub(crate) fn bind(path: &Path) -> io::Result<Listener> {
        // Only an empty directory is removed: files that others may have put there are not ours to delete.
        let _ = fs::remove_file(path).or_else(|_| fs::remove_dir(path));
        let socket = bind(path)?;
        let found = fs::symlink_metadata(path)?;
        Ok(Listener { socket, path: path.to_owned(), file: (found.dev(), found.ino()) })
    }

    /// Listens anew if the path no longer leads here.
    pub(crate) fn restore(&mut self) -> io::Result<()> {
        let found = fs::symlink_metadata(&self.path);
        if found.is_ok_and(|found| (found.dev(), found.ino()) == self.file) {
            return Ok(());
        }
        *self = Listener::bind(&self.path)?;
        Ok(())
    }

    pub(crate) fn accept(&self) -> io::Result<UnixStream> {
        self.socket.accept().map(|(stream, _)| stream)
    }
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// Binds with a file mask that keeps other users out.
fn bind(path: &Path) -> io::Result<UnixListener> {
    let dir = path.parent().ok_or(io::ErrorKind::InvalidInput)?;
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let dir = rustix::fs::open(dir, flags, Mode::empty())?;
    let old = rustix::process::umask(Mode::from_raw_mode(0o177));
    let bound = UnixListener::bind(stead_files::socket_path(path, dir.as_fd()));
    rustix::process::umask(old);
    bound
}
