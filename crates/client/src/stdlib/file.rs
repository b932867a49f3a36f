//! Where the user's standard libraries are kept, and how a file of one is read and written.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::FlockOperation;
use rustix::io::Errno;
use stead_config::Language;
use stead_protocol::MAX_STDLIB;

use crate::{ClientError, StdlibError, config, timer};

/// How long another command may be changing the library.
const LOCK_TIME: Duration = Duration::from_secs(60);

/// The file of a language's library; `None` if it has none, or there is no directory for configuration.
pub(crate) fn path(language: &Language) -> Option<PathBuf> {
    Some(config::user_dir()?.join("stdlib").join(language.stdlib?))
}

/// The lock under which one command at a time changes the libraries; the kernel gives it back when the command ends.
#[derive(Debug)]
pub(crate) struct StdlibLock {
    _file: File,
}

impl StdlibLock {
    pub(crate) fn take(library: &Path) -> Result<StdlibLock, ClientError> {
        let dir = library.parent().unwrap_or(Path::new("/"));
        let mut builder = DirBuilder::new();
        builder
            .recursive(true)
            .mode(0o700)
            .create(dir)
            .map_err(ClientError::file("make the directory", dir))?;
        let path = dir.join(".lock");
        let mut options = OpenOptions::new();
        let file = stead_files::open_with(
            options.create(true).truncate(false).read(true).write(true),
            &path,
        )
        .map_err(ClientError::file("open", &path))?;
        let deadline = Instant::now() + LOCK_TIME;
        loop {
            match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => return Ok(StdlibLock { _file: file }),
                Err(Errno::AGAIN) if Instant::now() < deadline => {
                    timer::pause(Duration::from_millis(5))
                }
                Err(error) => return Err(ClientError::file("lock", &path)(error.into())),
            }
        }
    }
}

/// The text of a library; empty if there is no file.
pub(crate) fn read(path: &Path) -> Result<String, ClientError> {
    match stead_files::read_users_text(path, MAX_STDLIB as u64) {
        Ok(text) => Ok(text),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(String::new()),
        Err(error) => Err(ClientError::file("read", path)(error)),
    }
}

/// Writes a library so that a reader finds the old text or the new one. A link stays a link: what it leads to is
/// written, as programs that manage such files expect.
pub(crate) fn write(path: &Path, text: &str) -> Result<(), ClientError> {
    if text.len() > MAX_STDLIB {
        return Err(StdlibError::TooLong { bytes: text.len(), most: MAX_STDLIB }.into());
    }
    let target = target(path).map_err(ClientError::file("follow the link", path))?;
    write_to(&target, text).map_err(ClientError::file("write", &target))
}

/// What the path leads to, which need not exist.
fn target(path: &Path) -> io::Result<PathBuf> {
    let mut at = path.to_owned();
    for _ in 0..40 {
        match fs::read_link(&at) {
            Ok(to) => at = at.parent().unwrap_or(Path::new("/")).join(to),
            // A path that is no link, or does not exist, is where the chain of links ends.
            Err(_) => return Ok(at),
        }
    }
    Err(io::Error::other("there are too many links"))
}

fn write_to(target: &Path, text: &str) -> io::Result<()> {
    let (Some(dir), Some(name)) =
        (target.parent(), target.file_name().and_then(|name| name.to_str()))
    else {
        return Err(io::Error::other("its name is no text"));
    };
    let mode = fs::metadata(target).map(|meta| meta.permissions().mode() & 0o777).ok();
    let prefix = format!(".{name}.");
    // A killed command may have left temporary files; the lock is held, so no other command uses them.
    for entry in fs::read_dir(dir)?.flatten() {
        let found = entry.file_name();
        if found.to_str().is_some_and(|found| found.starts_with(&prefix) && found.ends_with(".tmp"))
        {
            let _ = fs::remove_file(entry.path());
        }
    }
    let temporary = dir.join(format!("{prefix}{}.tmp", std::process::id()));
    let written = (|| {
        let mut file =
            OpenOptions::new().write(true).create_new(true).mode(0o600).open(&temporary)?;
        if let Some(mode) = mode {
            file.set_permissions(Permissions::from_mode(mode))?;
        }
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::rename(&temporary, target)
    })();
    if written.is_err() {
        let _ = fs::remove_file(&temporary);
    }
    written?;
    File::open(dir)?.sync_all()
}
