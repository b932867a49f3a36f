//! A note of the kernel that was started for a session, in the session's directory: whoever comes next deletes what a killed
//! adapter has left at its server.

use std::fs;
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use rustix::event::{Timespec, poll};
use serde::{Deserialize, Serialize};
use stead_protocol::{GatewayKernel, LEFT_KERNEL};
use thiserror::Error;

use crate::api::{CREATED_WITHIN, KernelApi, KernelRemoval, is_id};
use crate::trouble::ServerTrouble;

const MOST_NOTE: u64 = 64 << 10;
/// How long a server may take to remove a kernel.
pub(crate) const REMOVED_WITHIN: Duration = Duration::from_secs(10);

/// How often is looked whether a kernel that is being made is there.
const LOOK_EVERY: Timespec = Timespec { tv_sec: 0, tv_nsec: 300_000_000 };

/// A kernel at a server that somebody has to delete.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct LeftKernel {
    server: GatewayKernel,
    id: String,
    /// When the server was asked to make it, in seconds of the clock, if it has not answered that yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    begun: Option<u64>,
}

/// Why a kernel that was left could not be removed.
#[derive(Debug, Error)]
pub(crate) enum LeftError {
    #[error("could not use `{}`: {source}", path.display())]
    Note { path: PathBuf, source: io::Error },
    #[error("the kernel `{id}` is left at its server: {trouble}")]
    Server { id: String, trouble: ServerTrouble },
    #[error("the kernel `{id}` is left at {url}, which was asked to delete it and does not answer")]
    Silent { id: String, url: String },
    #[error("the kernel `{id}` is still being made at {url}, and can be deleted when it is there")]
    BeingMade { id: String, url: String },
}

impl LeftKernel {
    /// Where the note of this session is; none if nobody said which session it is.
    pub(crate) fn place() -> Option<PathBuf> {
        let dir = std::env::var_os("STEAD_SESSION_DIR").map(PathBuf::from)?;
        dir.is_absolute().then(|| dir.join(LEFT_KERNEL))
    }

    /// Notes a kernel that was just started.
    pub(crate) fn note(server: &GatewayKernel, id: &str) -> io::Result<()> {
        LeftKernel { server: server.clone(), id: id.to_owned(), begun: None }.write()
    }

    /// Notes a kernel that the server is asked to make.
    pub(crate) fn note_begun(server: &GatewayKernel, id: &str) -> io::Result<()> {
        LeftKernel { server: server.clone(), id: id.to_owned(), begun: Some(clock()) }.write()
    }

    fn write(&self) -> io::Result<()> {
        LeftKernel::place().map_or(Ok(()), |path| self.write_to(&path))
    }

    /// Takes the place of an earlier note as a whole: whoever is killed meanwhile, or finds the disk full, leaves one of the two.
    fn write_to(&self, path: &Path) -> io::Result<()> {
        let text = serde_json::to_vec(self)?;
        let new = path.with_extension("new");
        let mut options = fs::OpenOptions::new();
        let file = options.write(true).create(true).truncate(true).mode(0o600);
        io::Write::write_all(&mut file.open(&new)?, &text)?;
        fs::rename(&new, path)
    }

    /// The kernel is gone.
    pub(crate) fn forget() {
        if let Some(path) = LeftKernel::place() {
            let _ = fs::remove_file(path);
        }
    }

    /// Deletes the kernel of a note, and the note.
    pub(crate) fn remove(path: &Path) -> Result<(), LeftError> {
        let bad = |source: io::Error| LeftError::Note { path: path.to_owned(), source };
        let text = match stead_files::read(path, MOST_NOTE) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            text => text.map_err(bad)?,
        };
        let note: LeftKernel = match serde_json::from_slice(&text) {
            Ok(note) => note,
            // A note that was not written whole is of a kernel whose id nobody knows.
            Err(_) => return fs::remove_file(path).map_err(bad),
        };
        if is_id(&note.id) {
            note.delete()?;
        }
        match fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(bad(error)),
            _ => Ok(()),
        }
    }

    /// Has the server delete it. One that is still being made is waited for.
    fn delete(&self) -> Result<(), LeftError> {
        let LeftKernel { server, id, begun } = self;
        let (id, url) = (id.clone(), server.url.clone());
        let failed = |trouble| LeftError::Server { id: id.clone(), trouble };
        let api = KernelApi::new(server).map_err(failed)?;
        let until = Instant::now() + REMOVED_WITHIN;
        loop {
            match api.delete(&id, REMOVED_WITHIN).map_err(failed)? {
                KernelRemoval::Gone => return Ok(()),
                KernelRemoval::Asked => return Err(LeftError::Silent { id, url }),
                KernelRemoval::NotThere => {}
            }
            // Servers that give ids of their own never have this one, and one that takes longer than this has given it up.
            let may_come = begun.is_some_and(|at| clock() < at + CREATED_WITHIN.as_secs());
            if !may_come {
                return Ok(());
            }
            if until <= Instant::now() {
                return Err(LeftError::BeingMade { id, url });
            }
            let _ = poll(&mut [], Some(&LOOK_EVERY));
        }
    }
}

/// Seconds of the clock that goes on while nobody of ours runs.
fn clock() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

#[cfg(test)]
mod tests {
    use stead_protocol::GatewayTarget;

    use super::*;

    #[test]
    fn k2_a_note_takes_the_place_of_the_earlier_one_or_leaves_it() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(LEFT_KERNEL);
        let wanted = GatewayTarget::Started { kernel: None };
        let url = "http://127.0.0.1:1/".to_owned();
        let server = GatewayKernel { url, wanted, token: None, ca_file: None, gateway: None };
        let note =
            |id: &str, begun| LeftKernel { server: server.clone(), id: id.to_owned(), begun };
        let noted = || serde_json::from_slice::<LeftKernel>(&fs::read(&path).unwrap()).unwrap().id;
        note("first", Some(1)).write_to(&path).unwrap();
        note("second", None).write_to(&path).unwrap();
        assert_eq!(noted(), "second");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1, "nothing beside it");
        // The new one cannot be written.
        fs::create_dir(path.with_extension("new")).unwrap();
        note("third", None).write_to(&path).unwrap_err();
        assert_eq!(noted(), "second");
    }
}
