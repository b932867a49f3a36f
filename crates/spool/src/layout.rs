//! Names of the files in a session directory.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{AtFlags, OFlags, StatxFlags};
use stead_protocol::Offset;

use crate::SpoolError;
use crate::disk;
use crate::lines::PAST_ANY_FILE;

/// The history's records.
pub const HISTORY: &str = "history.jsonl";
/// Where each eval's records are in the history.
pub const HISTORY_INDEX: &str = "history.idx";
/// The idempotency keys of evals.
pub const KEYS: &str = "keys.jsonl";
/// What the session is.
pub const META: &str = "meta.json";
/// Held by the host while it lives.
pub const HOST_LOCK: &str = "host.lock";
/// Held by a client while it starts a host.
pub const START_LOCK: &str = "start.lock";
/// The host's own log.
pub const HOST_LOG: &str = "host.log";
/// Which evals were undone.
pub const UNDONE: &str = "undone.json";
/// Checkpoints of a language whose state is text.
pub const CHECKPOINTS: &str = "checkpoints";
/// Figures and other files that evals made.
pub const FIGURES: &str = "figures";

/// A session's directory; the caller makes it, with mode 0700.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionDir(PathBuf);

impl SessionDir {
    /// Names the directory; touches nothing.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        SessionDir(path.into())
    }

    /// The directory itself.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// The segment of the output log that begins at `start`.
    pub fn out(&self, start: Offset) -> PathBuf {
        self.0.join(segment_name(start.0))
    }

    /// The history's records.
    pub fn history(&self) -> PathBuf {
        self.0.join(HISTORY)
    }

    /// The history's index.
    pub fn history_index(&self) -> PathBuf {
        self.0.join(HISTORY_INDEX)
    }

    /// The idempotency keys.
    pub fn keys(&self) -> PathBuf {
        self.0.join(KEYS)
    }

    /// What the session is.
    pub fn meta(&self) -> PathBuf {
        self.0.join(META)
    }

    /// Held by the host while it lives.
    pub fn lock(&self) -> PathBuf {
        self.0.join(HOST_LOCK)
    }

    /// Held by a client while it starts a host.
    pub fn start_lock(&self) -> PathBuf {
        self.0.join(START_LOCK)
    }

    /// The host's own log.
    pub fn log(&self) -> PathBuf {
        self.0.join(HOST_LOG)
    }

    /// Which evals were undone.
    pub fn undone(&self) -> PathBuf {
        self.0.join(UNDONE)
    }

    /// The directory of checkpoints that are files.
    pub fn checkpoints(&self) -> PathBuf {
        self.0.join(CHECKPOINTS)
    }

    /// The directory of figures and other files that evals made.
    pub fn figures(&self) -> PathBuf {
        self.0.join(FIGURES)
    }
}

impl AsRef<Path> for SessionDir {
    fn as_ref(&self) -> &Path {
        &self.0
    }
}

/// Replaces a file so that it is old or new at every moment, never torn (SPEC H-3).
pub fn write_atomically(path: &Path, bytes: &[u8]) -> Result<(), SpoolError> {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let bad = || io::Error::from(io::ErrorKind::InvalidInput);
    let (Some(dir), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(SpoolError::io("write", path)(bad()));
    };
    let dir = if dir.as_os_str().is_empty() { Path::new(".") } else { dir };
    let mut temporary = std::ffi::OsString::from(".");
    temporary.push(name);
    temporary.push(format!(".{}.{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed)));
    let temporary = dir.join(temporary);

    let written = (|| {
        // A file left by a killed process that had our pid is in nobody's use.
        match std::fs::remove_file(&temporary) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let file = private(OpenOptions::new().write(true).create_new(true)).open(&temporary)?;
        disk::write_all(&file, bytes)?;
        disk::sync_all(&file)?;
        disk::rename(&temporary, path)
    })();
    if let Err(error) = written {
        let _ = std::fs::remove_file(&temporary);
        return Err(SpoolError::io("write", path)(error));
    }
    File::open(dir).and_then(|dir| disk::sync_all(&dir)).map_err(SpoolError::io("sync", dir))
}

/// Files here are for their owner only and are never reached through a link.
fn private(options: &mut OpenOptions) -> &mut OpenOptions {
    options.mode(0o600).custom_flags(OFlags::NOFOLLOW.bits() as i32)
}

pub(crate) fn segment_name(start: u64) -> String {
    format!("out-{start:016x}.log")
}

/// Where each kept segment begins, oldest first.
pub(crate) fn list_segments(dir: &Path) -> Result<Vec<u64>, SpoolError> {
    let mut starts = Vec::new();
    for entry in std::fs::read_dir(dir).map_err(SpoolError::io("list", dir))? {
        let name = entry.map_err(SpoolError::io("list", dir))?.file_name();
        starts.extend(name.to_str().and_then(segment_start));
    }
    starts.sort_unstable();
    Ok(starts)
}

fn segment_start(name: &str) -> Option<u64> {
    let digits = name.strip_prefix("out-")?.strip_suffix(".log")?;
    let start = u64::from_str_radix(digits, 16).ok()?;
    // No log gets this long. The limit keeps sums of positions from overflowing.
    (start <= PAST_ANY_FILE && segment_name(start) == name).then_some(start)
}

/// Whether an open file or directory still has a name somewhere.
///
/// Only the number of names is asked for. Asking for the times as well would make the kernel record them anew
/// at the next write, which costs more than the write.
pub(crate) fn has_name(file: impl AsFd) -> bool {
    let asked = rustix::fs::statx(&file, c"", AtFlags::EMPTY_PATH, StatxFlags::NLINK);
    match asked {
        Ok(stat) => stat.stx_nlink > 0,
        // A sandbox may have a filter of system calls that is older than `statx` and forbids it.
        Err(_) => rustix::fs::fstat(&file).is_ok_and(|stat| stat.st_nlink > 0),
    }
}
