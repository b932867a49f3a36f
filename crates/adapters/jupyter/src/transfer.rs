//! A saved file on its way between this machine and a kernel that has other files: written here whole or not at all
//! (docs/SAVED.md, "Writing"), read in pieces.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, OFlags, flock};
use stead_launch::sys;
use thiserror::Error;

/// How every saved file begins, whatever its format.
const HEAD: &[u8] = b"STEADSAVE";
/// How many symbolic links lead to a file at most.
const MOST_LINKS: u32 = 40;
/// How many bytes of a file's name are used in its temporary name: a name may have 255 bytes.
const MOST_NAME: usize = 220;

/// What is to be done with the file.
#[derive(Debug, PartialEq, Eq)]
pub enum TransferOrder {
    /// Begin to write a file.
    Create {
        /// Where it is to be.
        path: String,
        /// Whether a file that no save has written may be replaced, too.
        force: bool,
    },
    /// Write this behind what there is.
    Append(Vec<u8>),
    /// Put what was written into its place.
    Finish,
    /// Begin to read.
    Open {
        /// Where the file is.
        path: String,
    },
    /// Read a piece of it.
    Read {
        /// Where it begins.
        at: u64,
        /// How many bytes it has at most.
        most: usize,
    },
    /// Close it, and remove what has not come into its place.
    Abandon,
}

/// What came of an order.
#[derive(Debug)]
pub enum Transferred {
    /// It is done.
    Done,
    /// What was read; nothing at the end of the file.
    Piece(Vec<u8>),
    /// The order could not be carried out, and the file is given up as by `Abandon`.
    Failed(TransferTrouble),
}

/// Why a file cannot be written or read here.
#[derive(Debug, Error)]
pub enum TransferTrouble {
    /// The system did not let us write it.
    #[error("could not write `{path}`: {source}")]
    Write {
        /// As it was given.
        path: String,
        /// Why.
        source: io::Error,
    },
    /// The system did not let us read it.
    #[error("could not read `{path}`: {source}")]
    Read {
        /// As it was given.
        path: String,
        /// Why.
        source: io::Error,
    },
    /// Something else stands there.
    #[error("`{path}` is {what} and not a regular file")]
    NotAFile {
        /// As it was given.
        path: String,
        /// What it is.
        what: &'static str,
    },
    /// A file of the user's stands there.
    #[error("`{path}` is a file that was not saved by stead, and would be lost")]
    OtherFile {
        /// As it was given.
        path: String,
    },
}

/// The file, if one is on its way.
#[derive(Debug, Default)]
pub enum TransferFile {
    /// None is.
    #[default]
    None,
    /// It is written.
    Writing(TransferDraft),
    /// It is read.
    Reading {
        /// Open for that.
        file: File,
        /// Its path, as it was given.
        asked: String,
    },
}

/// A file that is being written under a temporary name; removed if it does not come into its place.
#[derive(Debug)]
pub struct TransferDraft {
    file: File,
    asked: String,
    path: PathBuf,
    /// None once it is in its place.
    temporary: Option<PathBuf>,
}

impl Drop for TransferDraft {
    fn drop(&mut self) {
        if let Some(temporary) = &self.temporary {
            let _ = fs::remove_file(temporary);
        }
    }
}

impl TransferDraft {
    fn failed(&self, source: io::Error) -> TransferTrouble {
        TransferTrouble::Write { path: self.asked.clone(), source }
    }

    /// Puts it into its place: either the old file is there or the new one.
    fn put(&mut self) -> io::Result<()> {
        self.file.sync_all()?;
        if let Some(temporary) = &self.temporary {
            fs::rename(temporary, &self.path)?;
        }
        self.temporary = None;
        if let Some(folder) = self.path.parent().and_then(|folder| File::open(folder).ok()) {
            let _ = folder.sync_all();
        }
        Ok(())
    }
}

impl TransferFile {
    /// Carries out an order. There is no answer to `Abandon`.
    pub fn carry_out(&mut self, order: TransferOrder) -> Option<Transferred> {
        let came = match order {
            TransferOrder::Create { path, force } => self.create(path, force),
            TransferOrder::Append(bytes) => self.append(&bytes),
            TransferOrder::Finish => self.finish(),
            TransferOrder::Open { path } => self.open(path),
            TransferOrder::Read { at, most } => self.read(at, most),
            TransferOrder::Abandon => {
                self.abandon();
                return None;
            }
        };
        Some(came.unwrap_or_else(|trouble| {
            self.abandon();
            Transferred::Failed(trouble)
        }))
    }

    fn create(&mut self, asked: String, force: bool) -> Result<Transferred, TransferTrouble> {
        self.abandon();
        let failed = |source| TransferTrouble::Write { path: asked.clone(), source };
        let path = final_path(Path::new(&asked)).map_err(failed)?;
        let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(failed(io::ErrorKind::InvalidInput.into()));
        };
        fs::create_dir_all(folder).map_err(failed)?;
        check_place(&path, &asked, force)?;
        let name = name.to_string_lossy();
        let most = (0..=MOST_NAME).rev().find(|at| name.is_char_boundary(*at)).unwrap_or(0);
        let start = format!(".{}.", &name[..most]);
        remove_leftovers(folder, &start);
        let (file, temporary) = loop {
            let number = sys::random().map_err(failed)? as u32;
            let temporary = folder.join(format!("{start}{number:08x}.tmp"));
            let mut options = OpenOptions::new();
            let made = options.write(true).create_new(true).mode(0o600).open(&temporary);
            match made {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(failed(error)),
                Ok(file) => {
                    // While the file is locked, no other save takes it for a leftover of a killed save.
                    let _ = flock(&file, FlockOperation::NonBlockingLockExclusive);
                    if file.metadata().is_ok_and(|found| found.nlink() > 0) {
                        break (file, temporary);
                    }
                }
            }
        };
        let draft = TransferDraft { file, asked, path, temporary: Some(temporary) };
        // The permissions must not depend on the umask.
        let narrowed = draft.file.set_permissions(Permissions::from_mode(0o600));
        narrowed.map_err(|source| draft.failed(source))?;
        *self = TransferFile::Writing(draft);
        Ok(Transferred::Done)
    }

    fn append(&mut self, bytes: &[u8]) -> Result<Transferred, TransferTrouble> {
        if let TransferFile::Writing(draft) = self {
            draft.file.write_all(bytes).map_err(|source| draft.failed(source))?;
        }
        Ok(Transferred::Done)
    }

    fn finish(&mut self) -> Result<Transferred, TransferTrouble> {
        if let TransferFile::Writing(draft) = self {
            draft.put().map_err(|source| draft.failed(source))?;
            *self = TransferFile::None;
        }
        Ok(Transferred::Done)
    }

    fn open(&mut self, asked: String) -> Result<Transferred, TransferTrouble> {
        self.abandon();
        let mut options = OpenOptions::new();
        let opened = options.read(true).custom_flags(OFlags::NONBLOCK.bits() as i32).open(&asked);
        let file =
            opened.map_err(|source| TransferTrouble::Read { path: asked.clone(), source })?;
        *self = TransferFile::Reading { file, asked };
        Ok(Transferred::Done)
    }

    fn read(&mut self, at: u64, most: usize) -> Result<Transferred, TransferTrouble> {
        let mut piece = Vec::new();
        if let TransferFile::Reading { file, asked } = self {
            let read = file
                .seek(SeekFrom::Start(at))
                .and_then(|_| file.take(most as u64).read_to_end(&mut piece));
            read.map_err(|source| TransferTrouble::Read { path: asked.clone(), source })?;
        }
        Ok(Transferred::Piece(piece))
    }

    fn abandon(&mut self) {
        *self = TransferFile::None;
    }
}

/// Where a file is to be, behind symbolic links; it need not be there yet.
fn final_path(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_owned();
    for _ in 0..MOST_LINKS {
        match fs::read_link(&path) {
            Ok(linked) => path = path.parent().unwrap_or(Path::new("/")).join(linked),
            Err(_) => return Ok(path),
        }
    }
    Err(io::Error::other("too many symbolic links"))
}

/// Refuses a place where something stands that would be lost.
fn check_place(path: &Path, asked: &str, force: bool) -> Result<(), TransferTrouble> {
    let Ok(found) = fs::metadata(path) else { return Ok(()) };
    let asked = asked.to_owned();
    if let Some(what) = stead_files::not_a_file(found.file_type()) {
        return Err(TransferTrouble::NotAFile { path: asked, what });
    }
    let mut head = Vec::new();
    if !force {
        let read = stead_files::open_users(path)
            .and_then(|file| file.take(HEAD.len() as u64).read_to_end(&mut head));
        if let Err(source) = read {
            return Err(TransferTrouble::Write { path: asked, source });
        }
        if head != HEAD {
            return Err(TransferTrouble::OtherFile { path: asked });
        }
    }
    Ok(())
}

/// Removes temporary files that a killed save to the same place has left.
fn remove_leftovers(folder: &Path, start: &str) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let is_left = name
            .strip_prefix(start)
            .is_some_and(|rest| rest.len() == "00000000.tmp".len() && rest.ends_with(".tmp"));
        if is_left
            && let Ok(file) = stead_files::open(&entry.path())
            && flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok()
        {
            let _ = fs::remove_file(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn done(file: &mut TransferFile, order: TransferOrder) {
        let came = file.carry_out(order);
        assert!(matches!(came, Some(Transferred::Done)), "{came:?}");
    }

    fn said(came: Option<Transferred>) -> String {
        match came {
            Some(Transferred::Failed(trouble)) => trouble.to_string(),
            came => panic!("{came:?}"),
        }
    }

    #[test]
    fn st2_a_file_is_there_whole_or_not_at_all() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("new/deep/a.stead");
        let asked = path.to_str().unwrap().to_owned();
        let mut file = TransferFile::default();
        done(&mut file, TransferOrder::Create { path: asked.clone(), force: false });
        done(&mut file, TransferOrder::Append(b"STEADSAVE1\n".to_vec()));
        assert!(!path.exists());
        done(&mut file, TransferOrder::Append(b"more".to_vec()));
        done(&mut file, TransferOrder::Finish);
        assert_eq!(fs::read(&path).unwrap(), b"STEADSAVE1\nmore");
        assert_eq!(path.metadata().unwrap().mode() & 0o777, 0o600);
        // One that is given up leaves the earlier one, and one that was killed is cleaned up after.
        fs::write(path.with_file_name(".a.stead.0123abcd.tmp"), "left").unwrap();
        done(&mut file, TransferOrder::Create { path: asked.clone(), force: false });
        done(&mut file, TransferOrder::Append(b"other".to_vec()));
        assert!(file.carry_out(TransferOrder::Abandon).is_none());
        assert_eq!(fs::read(&path).unwrap(), b"STEADSAVE1\nmore");
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
        // It is read in pieces.
        done(&mut file, TransferOrder::Open { path: asked });
        let piece = file.carry_out(TransferOrder::Read { at: 9, most: 4 });
        assert!(
            matches!(&piece, Some(Transferred::Piece(bytes)) if bytes == b"1\nmo"),
            "{piece:?}"
        );
        let end = file.carry_out(TransferOrder::Read { at: 15, most: 4 });
        assert!(matches!(&end, Some(Transferred::Piece(bytes)) if bytes.is_empty()), "{end:?}");
    }

    #[test]
    fn st2_a_file_takes_the_place_of_no_other() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
        fs::write(at("notes"), "dear diary").unwrap();
        fs::write(at("old"), "STEADSAVE1\n").unwrap();
        std::os::unix::fs::symlink("old", at("link")).unwrap();
        std::os::unix::fs::symlink("loop", at("loop")).unwrap();
        let mut file = TransferFile::default();
        let mut create =
            |name: &str, force| file.carry_out(TransferOrder::Create { path: at(name), force });
        assert!(said(create("notes", false)).contains("would be lost"));
        assert!(said(create("", true)).contains("a directory"));
        assert!(said(create("loop", false)).contains("symbolic links"));
        assert!(said(create("notes/below", false)).contains("could not write"));
        assert!(matches!(create("notes", true), Some(Transferred::Done)));
        assert!(matches!(create("link", false), Some(Transferred::Done)));
        done(&mut file, TransferOrder::Append(b"STEADSAVE1\nnew".to_vec()));
        done(&mut file, TransferOrder::Finish);
        assert_eq!(fs::read(at("old")).unwrap(), b"STEADSAVE1\nnew");
        assert!(Path::new(&at("link")).is_symlink());
        let missing = file.carry_out(TransferOrder::Open { path: at("missing") });
        assert!(said(missing).contains("could not read"));
    }
}
