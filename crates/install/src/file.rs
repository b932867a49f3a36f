//! Replacing a file of the user's: whole or not at all, with its mode, through links, after a copy was kept.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use thiserror::Error;

/// More than any settings have; some clients keep much in theirs.
const MOST: u64 = 64 << 20;

/// Why a client's file could not be read or replaced. It is as it was.
#[derive(Debug, Error)]
pub enum FileTrouble {
    /// Reading or writing failed.
    #[error("could not {doing} `{}`", path.display())]
    Io {
        /// What was tried.
        doing: &'static str,
        /// On what.
        path: PathBuf,
        /// Why it failed.
        source: io::Error,
    },
    /// It is not text.
    #[error("`{}` is not UTF-8: byte {at}, line {line}", path.display())]
    NotUtf8 {
        /// The file.
        path: PathBuf,
        /// The first byte that is wrong.
        at: usize,
        /// Its line.
        line: usize,
    },
    /// Nobody may write to it.
    #[error("`{}` is read-only", path.display())]
    ReadOnly {
        /// The file.
        path: PathBuf,
    },
    /// Replacing it would give it to another user.
    #[error("`{}` belongs to user {owner}", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
        /// Who owns it.
        owner: u32,
    },
    /// A link leads nowhere.
    #[error("`{}` is a link to `{}`, which is not there", path.display(), to.display())]
    Dangling {
        /// The link.
        path: PathBuf,
        /// Where it leads.
        to: PathBuf,
    },
    /// Another program wrote to it between our reading and our writing.
    #[error("`{}` was changed by another program at this moment", path.display())]
    Changed {
        /// The file.
        path: PathBuf,
    },
}

impl FileTrouble {
    pub(crate) fn io(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| FileTrouble::Io { doing, path, source }
    }
}

/// A client's file, read and held against other `stead install`s until this is dropped.
#[derive(Debug)]
pub(crate) struct ClientFile {
    /// Where it really is, behind all links.
    pub(crate) real: PathBuf,
    /// What is in it; `None` if it is not there.
    pub(crate) text: Option<String>,
    meta: Option<fs::Metadata>,
    _lock: Option<File>,
}

impl ClientFile {
    /// Reads the file. With `hold`, waits for other `stead install`s that are at it.
    pub(crate) fn open(path: &Path, hold: bool) -> Result<Self, FileTrouble> {
        let real = behind_links(path)?;
        let lock = match hold {
            true => Some(hold_directory(&real)?),
            false => None,
        };
        let mut file = ClientFile { real, text: None, meta: None, _lock: lock };
        file.read()?;
        Ok(file)
    }

    /// Reads it again, after another program was at it.
    pub(crate) fn read(&mut self) -> Result<(), FileTrouble> {
        (self.text, self.meta) = match stead_files::open_users(&self.real) {
            Ok(file) => {
                let meta = file.metadata().map_err(FileTrouble::io("look at", &self.real))?;
                (Some(read_text(file, &self.real)?), Some(meta))
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => (None, None),
            Err(error) => return Err(FileTrouble::io("read", &self.real)(error)),
        };
        Ok(())
    }

    /// Whether the file may be replaced at all.
    pub(crate) fn check_writable(&self) -> Result<(), FileTrouble> {
        let Some(meta) = &self.meta else { return Ok(()) };
        let me = rustix::process::geteuid().as_raw();
        if meta.permissions().mode() & 0o222 == 0 {
            return Err(FileTrouble::ReadOnly { path: self.real.clone() });
        }
        if me != 0 && meta.uid() != me {
            return Err(FileTrouble::Foreign { path: self.real.clone(), owner: meta.uid() });
        }
        Ok(())
    }

    /// Replaces what is in the file; a new one gets `mode`. Returns the directories that had to be made.
    pub(crate) fn replace(&mut self, text: &str, mode: u32) -> Result<Vec<PathBuf>, FileTrouble> {
        self.check_writable()?;
        let parent = self.real.parent().unwrap_or(Path::new("/"));
        let made = missing_directories(parent);
        DirBuilder::new()
            .recursive(true)
            .create(parent)
            .map_err(FileTrouble::io("make the directory", parent))?;
        let name = self.real.file_name().unwrap_or_default().to_string_lossy();
        let beside = parent.join(format!("{}{}", beside_prefix(&name), std::process::id()));
        clear_leftovers(parent, &beside_prefix(&name));
        let written = self.write_beside(&beside, text, mode);
        let written = written.and_then(|()| self.is_still_the_same());
        let written = written.and_then(|()| {
            fs::rename(&beside, &self.real).map_err(FileTrouble::io("replace", &self.real))
        });
        if written.is_err() {
            let _ = fs::remove_file(&beside);
            for dir in made.iter().rev() {
                let _ = fs::remove_dir(dir);
            }
        }
        written?;
        // A rename is on disk once its directory is synced. File systems that cannot sync directories do not need it.
        let _ = File::open(parent).and_then(|dir| dir.sync_all());
        self.read()?;
        Ok(made)
    }

    /// Removes the file that an install had made.
    pub(crate) fn delete(&mut self) -> Result<(), FileTrouble> {
        self.check_writable()?;
        self.is_still_the_same()?;
        fs::remove_file(&self.real).map_err(FileTrouble::io("remove", &self.real))?;
        self.read()
    }

    fn write_beside(&self, beside: &Path, text: &str, mode: u32) -> Result<(), FileTrouble> {
        let failed = || FileTrouble::io("write", beside);
        let mut options = OpenOptions::new();
        let mut file =
            options.write(true).create_new(true).mode(mode).open(beside).map_err(failed())?;
        if let Some(meta) = &self.meta {
            if meta.uid() != rustix::process::geteuid().as_raw() {
                fchown(&file, Some(meta.uid()), Some(meta.gid())).map_err(failed())?;
            }
            let mode = meta.permissions().mode() & 0o7777;
            file.set_permissions(Permissions::from_mode(mode)).map_err(failed())?;
        }
        file.write_all(text.as_bytes()).map_err(failed())?;
        file.sync_all().map_err(failed())
    }

    fn is_still_the_same(&self) -> Result<(), FileTrouble> {
        let now = match stead_files::open_users(&self.real) {
            Ok(file) => Some(read_text(file, &self.real)?),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(FileTrouble::io("read", &self.real)(error)),
        };
        match now == self.text {
            true => Ok(()),
            false => Err(FileTrouble::Changed { path: self.real.clone() }),
        }
    }
}

/// The prefix of the temporary files that take the place of a client's file.
fn beside_prefix(name: &str) -> String {
    format!(".{name}.stead-")
}

/// Removes temporary files of installs that were killed. No other install runs now, since the directory is held.
fn clear_leftovers(dir: &Path, prefix: &str) {
    let files = fs::read_dir(dir).into_iter().flatten().flatten();
    let left = files.filter(|file| file.file_name().to_string_lossy().starts_with(prefix));
    for file in left {
        let _ = fs::remove_file(file.path());
    }
}

fn read_text(file: File, path: &Path) -> Result<String, FileTrouble> {
    stead_files::check_size(&file, MOST).map_err(FileTrouble::io("read", path))?;
    let mut bytes = Vec::new();
    file.take(MOST).read_to_end(&mut bytes).map_err(FileTrouble::io("read", path))?;
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let before = &error.as_bytes()[..at];
        let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
        FileTrouble::NotUtf8 { path: path.to_owned(), at, line }
    })
}

/// Where a file really is. One that is not there may lie in directories that are not there either.
fn behind_links(path: &Path) -> Result<PathBuf, FileTrouble> {
    if let Ok(real) = path.canonicalize() {
        return Ok(real);
    }
    if let Ok(to) = fs::read_link(path) {
        return Err(FileTrouble::Dangling { path: path.to_owned(), to });
    }
    let there = path.ancestors().skip(1).find_map(|dir| Some((dir, dir.canonicalize().ok()?)));
    Ok(match there {
        Some((dir, real)) => real.join(path.strip_prefix(dir).unwrap_or(path)),
        None => path.to_owned(),
    })
}

/// Holds the nearest directory that is there, so that two `stead install`s take turns and leave no lock file.
fn hold_directory(real: &Path) -> Result<File, FileTrouble> {
    let dir = real.ancestors().skip(1).find(|dir| dir.is_dir()).unwrap_or(Path::new("/"));
    let file = File::open(dir).map_err(FileTrouble::io("open", dir))?;
    match flock(&file, FlockOperation::LockExclusive) {
        // Some network file systems have no locks: there it must do that the file is checked again before it is replaced.
        Ok(()) | Err(Errno::NOLCK | Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL) => Ok(file),
        Err(error) => Err(FileTrouble::io("lock", dir)(error.into())),
    }
}

fn missing_directories(dir: &Path) -> Vec<PathBuf> {
    let mut missing: Vec<PathBuf> =
        dir.ancestors().take_while(|dir| !dir.exists()).map(Path::to_owned).collect();
    missing.reverse();
    missing
}
