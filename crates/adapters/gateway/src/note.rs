//! Notes of the kernels that were started for a session, in the session's directory, one file each: the next
//! adapter or command deletes the kernel that a killed adapter has left at its server.
//!
//! An adapter holds the lock of its note as long as it lives, so nobody takes the kernel of a session that has been started anew for
//! one that was left.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};
use stead_protocol::{GatewayKernel, LEFT_KERNEL, tells_of_left_kernel};

use crate::trace::KernelTrace;

const MOST_NOTE: u64 = 64 << 10;

/// A kernel at a server that somebody has to delete.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct LeftKernel {
    pub(crate) server: GatewayKernel,
    /// The id that we have chosen for it.
    pub(crate) id: String,
    pub(crate) known: KnownOfKernel,
}

/// How much is known of the kernel. Each fact is noted as soon as it is known, since we may be killed at any moment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub(crate) enum KnownOfKernel {
    /// The server was asked to make the kernel at this second of the clock, and has not answered.
    Asked { at: u64, trace: KernelTrace },
    /// The server has said that it makes no kernel; if it has made one all the same, that kernel is there by now.
    Refused { trace: KernelTrace },
    /// The server has it under this id.
    Made { id: String },
    /// What a newer version knows.
    #[serde(other)]
    Unknown,
}

/// The note of a kernel of this process.
pub(crate) struct KernelNote {
    path: PathBuf,
    left: Box<LeftKernel>,
    /// Held while this process lives.
    _lock: File,
}

impl KernelNote {
    /// Notes a kernel that the server is asked to make from now on; nothing if nobody said which session it is for.
    pub(crate) fn begin(
        server: &GatewayKernel,
        id: &str,
        trace: KernelTrace,
    ) -> io::Result<Option<KernelNote>> {
        let Some(dir) = session_dir() else { return Ok(None) };
        KernelNote::begin_in(&dir, server, id, trace).map(Some)
    }

    fn begin_in(
        dir: &Path,
        server: &GatewayKernel,
        id: &str,
        trace: KernelTrace,
    ) -> io::Result<KernelNote> {
        let path = dir.join(format!("{}{id}{}", LEFT_KERNEL.0, LEFT_KERNEL.1));
        let known = KnownOfKernel::Asked { at: clock(), trace };
        let left = LeftKernel { server: server.clone(), id: id.to_owned(), known };
        let lock = write(&path, &left)?;
        Ok(KernelNote { path, left: Box::new(left), _lock: lock })
    }

    /// Notes what is known now.
    pub(crate) fn learn(&mut self, known: KnownOfKernel) -> io::Result<()> {
        self.left.known = known;
        self._lock = write(&self.path, &self.left)?;
        Ok(())
    }

    pub(crate) fn left(&self) -> &LeftKernel {
        &self.left
    }

    /// There is no such kernel any more.
    pub(crate) fn forget(self) {
        let _ = fs::remove_file(&self.path);
    }
}

/// Replaces an earlier note as a whole: if this process is killed meanwhile, or the disk is full, one of the
/// two notes is left.
fn write(path: &Path, left: &LeftKernel) -> io::Result<File> {
    let text = serde_json::to_vec(left)?;
    let new = path.with_extension("new");
    let mut options = fs::OpenOptions::new();
    let mut file = options.write(true).create(true).truncate(true).mode(0o600).open(&new)?;
    file.write_all(&text)?;
    // The note is locked before it has its name. On a file system without locks it stays unlocked, and nobody
    // else may be at work there.
    let _ = flock(&file, FlockOperation::NonBlockingLockExclusive);
    fs::rename(&new, path)?;
    Ok(file)
}

/// What a note says.
pub(crate) enum ReadNote {
    /// The note is gone, or the adapter that wrote it lives.
    Nothing,
    Left(Box<LeftKernel>),
}

/// Reads a note that somebody may have left.
pub(crate) fn read(path: &Path) -> io::Result<ReadNote> {
    loop {
        let file = match stead_files::open(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(ReadNote::Nothing),
            file => file?,
        };
        let locked = flock(&file, FlockOperation::NonBlockingLockShared);
        if locked == Err(rustix::io::Errno::WOULDBLOCK) {
            return Ok(ReadNote::Nothing);
        }
        // An adapter that lives may just have put a newer note in the place of this one.
        let identity = |meta: fs::Metadata| (meta.dev(), meta.ino());
        let there = path.symlink_metadata().map(identity).ok();
        if there == Some(identity(file.metadata()?)) {
            let text = stead_files::read(path, MOST_NOTE)?;
            return Ok(ReadNote::Left(Box::new(serde_json::from_slice(&text)?)));
        }
    }
}

/// The notes in a session's directory.
pub(crate) fn all_in(dir: &Path) -> io::Result<Vec<PathBuf>> {
    let mut notes = Vec::new();
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        if entry.file_name().to_str().is_some_and(tells_of_left_kernel) {
            notes.push(entry.path());
        }
    }
    notes.sort();
    Ok(notes)
}

/// The directory of this session; none if nobody said which session it is.
pub(crate) fn session_dir() -> Option<PathBuf> {
    let dir = std::env::var_os("STEAD_SESSION_DIR").map(PathBuf::from)?;
    dir.is_absolute().then_some(dir)
}

/// Seconds of the clock that goes on while no process of ours runs.
pub(crate) fn clock() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

#[cfg(test)]
mod tests {
    use stead_protocol::GatewayTarget;

    use super::*;

    fn server() -> GatewayKernel {
        let wanted = GatewayTarget::Started { kernel: None };
        let url = "http://127.0.0.1:1/".to_owned();
        GatewayKernel { url, wanted, token: None, ca_file: None, gateway: None }
    }

    fn known(path: &Path) -> KnownOfKernel {
        serde_json::from_slice::<LeftKernel>(&fs::read(path).unwrap()).unwrap().known
    }

    #[test]
    fn k2_a_note_takes_the_place_of_the_earlier_one_or_leaves_it() {
        let dir = tempfile::tempdir().unwrap();
        let mut note =
            KernelNote::begin_in(dir.path(), &server(), "a", KernelTrace::Session).unwrap();
        let made = |id: &str| KnownOfKernel::Made { id: id.to_owned() };
        note.learn(made("b")).unwrap();
        let [path] = all_in(dir.path()).unwrap().try_into().unwrap();
        assert_eq!(known(&path), made("b"));
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1, "nothing beside it");
        // The new one cannot be written.
        fs::create_dir(path.with_extension("new")).unwrap();
        note.learn(made("c")).unwrap_err();
        assert_eq!(known(&path), made("b"));
        note.forget();
        assert!(all_in(dir.path()).unwrap().is_empty());
    }

    #[test]
    fn k2_s9_a_kernel_is_left_when_its_adapter_is_gone_and_each_has_its_own_note() {
        let dir = tempfile::tempdir().unwrap();
        let begin =
            |id: &str| KernelNote::begin_in(dir.path(), &server(), id, KernelTrace::Id).unwrap();
        let (mut first, second) = (begin("a"), begin("b"));
        first.learn(KnownOfKernel::Refused { trace: KernelTrace::Id }).unwrap();
        let left = || {
            let read = |path: PathBuf| match read(&path).unwrap() {
                ReadNote::Left(left) => Some(left.id),
                ReadNote::Nothing => None,
            };
            all_in(dir.path()).unwrap().into_iter().filter_map(read).collect::<Vec<_>>()
        };
        assert!(left().is_empty());
        drop(second);
        assert_eq!(left(), ["b"]);
        drop(first);
        assert_eq!(left(), ["a", "b"]);
        fs::write(dir.path().join("gateway-c.json"), "{").unwrap();
        assert!(read(&dir.path().join("gateway-c.json")).is_err());
    }
}
