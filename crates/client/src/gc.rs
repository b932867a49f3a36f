//! Giving disk back: removing one session, and those that are too old or too many (SPEC S-12).

use std::fs;
use std::io;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use stead_launch::roster::Note;
use stead_protocol::SessionName;
use stead_spool::SessionDir;
use stead_spool::retention::{self, RemoveError, Removed, Retention, Used};

use crate::list::subdirectories;
use crate::{Client, ClientError, RequestError, timer};

/// How long a removal is tried again: another command may hold a lock of the session for a moment to look at it.
const LOCK_TIME: Duration = Duration::from_millis(500);
/// The limit of a collection: far more time than it takes, so that it may finish.
const COLLECT_TIME: Duration = Duration::from_secs(3600);

/// What a collection removed, of all workspaces.
#[derive(Debug, Default)]
pub struct Garbage {
    /// Each session that went, with the directory of its workspace.
    pub removed: Vec<(PathBuf, Removed)>,
    /// Sessions that could not be removed, and why.
    pub failed: Vec<(PathBuf, String)>,
    /// How many workspaces had no session left, so that their directories were removed too.
    pub workspaces: u64,
}

impl Client {
    /// Removes a session with all it wrote; it must not have a host.
    pub fn remove(&self, name: &SessionName) -> Result<Removed, ClientError> {
        let dir = self.dir(name);
        if !dir.path().is_dir() {
            self.require(name, true)?;
        }
        // Kernels left at servers go first: without the session's notes nobody would know of them.
        if !retention::has_host(&dir) {
            self.remove_left_kernel(name)?;
        }
        let deadline = Instant::now() + LOCK_TIME;
        let socket = self.dirs.socket(&self.workspace, name);
        loop {
            // The lock file of a live host may have been deleted.
            let removed = match Note::live_host(&socket) {
                Some(_) => Err(RemoveError::Live),
                None => retention::remove(dir.path()),
            };
            match removed {
                Ok(removed) => {
                    let _ = fs::remove_dir(self.dirs.workspace(&self.workspace));
                    return Ok(removed);
                }
                Err(RemoveError::Io(error)) if error.kind() == io::ErrorKind::NotFound => {
                    return Err(self
                        .require(name, true)
                        .err()
                        .unwrap_or_else(|| ClientError::file("remove", dir.path())(error)));
                }
                Err(RemoveError::Io(error)) => {
                    return Err(ClientError::file("remove", dir.path())(error));
                }
                Err(RemoveError::Live | RemoveError::Starting) if Instant::now() < deadline => {
                    timer::pause(Duration::from_millis(5));
                }
                Err(_) => return Err(ClientError::InUse { name: name.clone() }),
            }
        }
    }

    /// Removes the ended sessions of all workspaces that are too old or too many; with `dry_run` only
    /// says which those are.
    pub fn collect_garbage(&self, dry_run: bool) -> Result<Garbage, ClientError> {
        let retention =
            Retention::from_env().map_err(|problem| RequestError::Retention { problem })?;
        let mut garbage = Garbage::default();
        for workspace in subdirectories(&self.dirs.sessions())? {
            let failed = |error: io::Error| (workspace.clone(), error.to_string());
            if dry_run {
                match retention::too_many(&workspace, &retention, None) {
                    Ok(going) => garbage.removed.extend(going.into_iter().map(|path| {
                        let name = path.file_name().unwrap_or_default().to_string_lossy();
                        let used = retention::usage(&path);
                        (workspace.clone(), Removed { name: name.into_owned(), used })
                    })),
                    Err(error) => garbage.failed.push(failed(error)),
                }
                continue;
            }
            match retention::collect(&workspace, &retention, None, COLLECT_TIME) {
                Ok(collected) => {
                    let here = |removed| (workspace.clone(), removed);
                    garbage.removed.extend(collected.removed.into_iter().map(here));
                    let failed = collected.failed.into_iter();
                    let failed =
                        failed.map(|(name, error)| (workspace.join(name), error.to_string()));
                    garbage.failed.extend(failed);
                    // `remove_dir` removes the workspace's directory only if it is empty.
                    garbage.workspaces += u64::from(fs::remove_dir(&workspace).is_ok());
                }
                Err(error) => garbage.failed.push(failed(error)),
            }
        }
        Ok(garbage)
    }

    /// How many sessions are on disk, how many of those have a host, and what all take.
    pub fn disk_usage(&self) -> Result<(u64, u64, Used), ClientError> {
        let (mut sessions, mut live) = (0, 0);
        for workspace in subdirectories(&self.dirs.sessions())? {
            for dir in subdirectories(&workspace)? {
                sessions += 1;
                live += u64::from(retention::has_host(&SessionDir::new(dir)));
            }
        }
        Ok((sessions, live, retention::usage(&self.dirs.state)))
    }
}
