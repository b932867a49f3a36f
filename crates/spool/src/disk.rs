//! Everything that changes a session's files on disk. In a test build (feature `test-hooks`) any of it can be refused.

use std::fs::File;
use std::io::{self, IoSlice, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;

use rustix::fs::FallocateFlags;
use rustix::io::Errno;
use rustix::process::Resource;

pub(crate) fn write_all_at(file: &File, bytes: &[u8], pos: u64) -> io::Result<()> {
    if let Err(error) = refusal() {
        // A disk that is full takes what still fits.
        let _ = file.write_all_at(&bytes[..bytes.len() / 2], pos);
        return Err(error);
    }
    file.write_all_at(bytes, pos)
}

pub(crate) fn write_all(mut file: &File, bytes: &[u8]) -> io::Result<()> {
    if let Err(error) = refusal() {
        let _ = file.write_all(&bytes[..bytes.len() / 2]);
        return Err(error);
    }
    file.write_all(bytes)
}

pub(crate) fn pwritev(file: &File, slices: &[IoSlice<'_>], pos: u64) -> Result<usize, Errno> {
    if let Err(error) = refusal() {
        let _ = file.write_at(&slices[0][..slices[0].len() / 2], pos);
        return Err(Errno::from_io_error(&error).unwrap_or(Errno::IO));
    }
    rustix::io::pwritev(file, slices, pos)
}

pub(crate) fn set_len(file: &File, len: u64) -> io::Result<()> {
    refusal()?;
    file.set_len(len)
}

pub(crate) fn sync_all(file: &File) -> io::Result<()> {
    refusal()?;
    file.sync_all()
}

pub(crate) fn rename(from: &Path, to: &Path) -> io::Result<()> {
    refusal()?;
    std::fs::rename(from, to)
}

/// Makes sure that `len` bytes at `pos` can be written later; the file does not look longer. A file system
/// that has no such call is trusted to have the room.
pub(crate) fn reserve(file: &File, pos: u64, len: u64) -> io::Result<()> {
    refusal()?;
    match rustix::fs::fallocate(file, FallocateFlags::KEEP_SIZE, pos, len) {
        Err(error @ (Errno::NOSPC | Errno::DQUOT | Errno::FBIG | Errno::IO | Errno::ROFS)) => {
            Err(error.into())
        }
        _ => Ok(()),
    }
}

/// How long a file of this process may become (`ulimit -f`).
pub(crate) fn largest_file() -> u64 {
    rustix::process::getrlimit(Resource::Fsize).current.unwrap_or(u64::MAX)
}

#[cfg(not(feature = "test-hooks"))]
#[inline]
fn refusal() -> io::Result<()> {
    Ok(())
}

/// Refuses what `STEAD_REFUSE` names: `N:ERRNO:FILE` the N-th change this process makes and all that follow for as
/// long as FILE exists, `N:ERRNO` only the N-th; with `N:kill` the process is killed instead of it. That something was refused is noted in `STEAD_REFUSED`.
#[cfg(feature = "test-hooks")]
fn refusal() -> io::Result<()> {
    use std::sync::atomic::{AtomicU64, Ordering};
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let Ok(wanted) = std::env::var("STEAD_REFUSE") else { return Ok(()) };
    let count = COUNT.fetch_add(1, Ordering::Relaxed) + 1;
    let mut words = wanted.splitn(3, ':');
    let number = |word: Option<&str>| word.and_then(|word| word.parse().ok()).unwrap_or(u64::MAX);
    let (first, what) = (number(words.next()), words.next());
    let refused = match words.next() {
        Some(file) => count >= first && Path::new(file).exists(),
        None => count == first,
    };
    if !refused {
        return Ok(());
    }
    if let Ok(note) = std::env::var("STEAD_REFUSED") {
        let _ = std::fs::write(note, count.to_string());
    }
    if what == Some("kill") {
        let _ =
            rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL);
    }
    Err(io::Error::from_raw_os_error(number(what) as i32))
}
