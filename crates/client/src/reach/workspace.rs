//! Which project a call belongs to (SPEC S-1).

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::{ClientError, Dirs, RequestError};

/// A workspace: the canonical path of a project directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Workspace(Arc<str>);

impl Workspace {
    /// The workspace named by the user, else the nearest ancestor of `cwd` with `.stead/` or
    /// `.git`, else `cwd`, which must be canonical (as the kernel gives it).
    pub fn find(explicit: Option<&Path>, cwd: &Path) -> Result<Self, ClientError> {
        match explicit {
            Some(given) => {
                let unusable =
                    |problem| RequestError::Workspace { path: given.to_owned(), problem };
                let path = given.canonicalize().map_err(|error| unusable(error.to_string()))?;
                if !path.is_dir() {
                    return Err(unusable("it is not a directory".to_owned()).into());
                }
                Self::from_path(path)
            }
            None => {
                let root = cwd
                    .ancestors()
                    .find(|dir| dir.join(".stead").is_dir() || dir.join(".git").exists());
                Self::from_path(root.unwrap_or(cwd).to_owned())
            }
        }
    }

    /// The same where the directory may have been removed: its sessions live on, and can be stopped.
    pub fn find_or_gone(
        explicit: Option<&Path>,
        cwd: &Path,
        dirs: &Dirs,
    ) -> Result<Self, ClientError> {
        let has_sessions =
            |path: PathBuf| Self::from_path(path).ok().filter(|it| dirs.workspace(it).is_dir());
        let gone = match explicit {
            Some(given) if given.symlink_metadata().is_err() => {
                as_it_was(&cwd.join(given)).and_then(has_sessions)
            }
            None if cwd.symlink_metadata().is_err() => {
                let found = cwd.ancestors().map(Path::to_owned).find_map(has_sessions);
                let problem = "the current directory was removed, and has no sessions".to_owned();
                let missing = || RequestError::Workspace { path: cwd.to_owned(), problem };
                Some(found.ok_or_else(missing)?)
            }
            _ => None,
        };
        gone.map_or_else(|| Self::find(explicit, cwd), Ok)
    }

    /// The path as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The path.
    pub fn path(&self) -> &Path {
        Path::new(&*self.0)
    }

    /// A workspace whose path was stored before.
    pub fn stored(path: String) -> Self {
        Workspace(path.into())
    }

    fn from_path(path: PathBuf) -> Result<Self, ClientError> {
        let text = path.into_os_string().into_string().map(Self::stored);
        text.map_err(|path| {
            let problem = "its path is not UTF-8".to_owned();
            RequestError::Workspace { path: path.into(), problem }.into()
        })
    }
}

/// The canonical path of a directory that is not there, if the one above it is.
fn as_it_was(path: &Path) -> Option<PathBuf> {
    Some(path.parent()?.canonicalize().ok()?.join(path.file_name()?))
}

/// The current directory, also if it was removed meanwhile.
pub fn current_dir() -> std::io::Result<PathBuf> {
    std::env::current_dir().or_else(|error| {
        let link = std::fs::read_link("/proc/self/cwd")?;
        let gone = link.as_os_str().as_bytes().strip_suffix(b" (deleted)");
        gone.map(|path| PathBuf::from(OsStr::from_bytes(path))).ok_or(error)
    })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn s1_the_nearest_marked_ancestor_is_the_workspace() {
        let temp = tempfile::tempdir().unwrap();
        let root = temp.path().canonicalize().unwrap();
        let inner = root.join("a/b/c");
        fs::create_dir_all(&inner).unwrap();
        assert_eq!(Workspace::find(None, &inner).unwrap().path(), inner);
        fs::create_dir(root.join(".stead")).unwrap();
        assert_eq!(Workspace::find(None, &inner).unwrap().path(), root);
        // A worktree has `.git` as a file.
        fs::write(root.join("a/.git"), "gitdir: elsewhere").unwrap();
        assert_eq!(Workspace::find(None, &inner).unwrap().path(), root.join("a"));
        assert_eq!(Workspace::find(Some(&inner), &root).unwrap().path(), inner);
    }

    #[test]
    fn a_named_workspace_must_be_a_directory_with_a_readable_name() {
        let temp = tempfile::tempdir().unwrap();
        let missing = temp.path().join("missing");
        let error = Workspace::find(Some(&missing), temp.path()).unwrap_err();
        assert_eq!(error.code(), stead_protocol::ErrorCode::BadRequest);
        let odd = temp.path().join(OsStr::from_bytes(b"\xff"));
        fs::create_dir(&odd).unwrap();
        let error = Workspace::find(Some(&odd), temp.path()).unwrap_err();
        assert!(error.to_string().contains("UTF-8"), "{error}");
    }
}
