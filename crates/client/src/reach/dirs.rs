//! Where sessions are kept and where their hosts listen.

use std::collections::BTreeMap;
use std::env;
use std::ffi::OsString;
use std::fs::{self, DirBuilder};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::fs::{FileType, Mode, OFlags};
use rustix::io::Errno;
use stead_protocol::SessionName;

use crate::{ClientError, ConnectionTrouble, RequestError, Workspace};

/// How often a directory is made again after its parent was removed by another process.
const MAKE_TRIES: usize = 10;

/// The directories of one user.
#[derive(Debug, Clone)]
pub struct Dirs {
    /// Files that last: output and history.
    pub state: PathBuf,
    /// Files that live as long as a login: sockets.
    pub runtime: PathBuf,
    /// Sessions whose hosts keep their files elsewhere: they were started by a client with another home, which
    /// shares the runtime directory (SPEC S-3).
    pub elsewhere: Elsewhere,
}

/// Where hosts keep the files of sessions, by their sockets, if not where this client would.
#[derive(Debug, Clone, Default)]
pub struct Elsewhere(Arc<Mutex<BTreeMap<PathBuf, PathBuf>>>);

impl Elsewhere {
    fn all(&self) -> MutexGuard<'_, BTreeMap<PathBuf, PathBuf>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Dirs {
    /// The directories that the environment names.
    pub fn from_env() -> Result<Self, ClientError> {
        Ok(Dirs::new(state_dir()?, runtime_dir()?))
    }

    /// These directories.
    pub fn new(state: PathBuf, runtime: PathBuf) -> Self {
        Dirs { state, runtime, elsewhere: Elsewhere::default() }
    }

    /// The directory of a session: where its host says, else in the state directory.
    pub fn session(&self, workspace: &Workspace, name: &SessionName) -> PathBuf {
        let elsewhere = self.elsewhere.all();
        if !elsewhere.is_empty()
            && let Some(dir) = elsewhere.get(&self.socket(workspace, name))
        {
            return dir.clone();
        }
        drop(elsewhere);
        self.own_session(workspace, name)
    }

    /// The directory of a session that is started from here.
    pub(crate) fn own_session(&self, workspace: &Workspace, name: &SessionName) -> PathBuf {
        self.workspace(workspace).join(name.as_str())
    }

    /// Notes where a live host keeps its session's files; `None` if there is no host.
    pub(crate) fn is_at(&self, workspace: &Workspace, name: &SessionName, dir: Option<&Path>) {
        let own = self.own_session(workspace, name);
        let mut elsewhere = self.elsewhere.all();
        match dir.filter(|dir| *dir != own) {
            Some(dir) => drop(elsewhere.insert(self.socket(workspace, name), dir.to_owned())),
            None if elsewhere.is_empty() => {}
            None => drop(elsewhere.remove(&self.socket(workspace, name))),
        }
    }

    /// The directory with all sessions of a workspace.
    pub fn workspace(&self, workspace: &Workspace) -> PathBuf {
        self.sessions().join(hex(fnv128(workspace.as_str().as_bytes())))
    }

    /// The directory with all workspaces.
    pub fn sessions(&self) -> PathBuf {
        self.state.join("sessions")
    }

    /// The socket of a session's host.
    pub fn socket(&self, workspace: &Workspace, name: &SessionName) -> PathBuf {
        let mut key = workspace.as_str().as_bytes().to_vec();
        key.push(0);
        key.extend_from_slice(name.as_str().as_bytes());
        self.runtime.join(format!("{}.sock", hex(fnv128(&key))))
    }

    /// Makes the directory of a session, and its parents, for this user alone.
    pub fn make_session(
        &self,
        workspace: &Workspace,
        name: &SessionName,
    ) -> Result<PathBuf, ClientError> {
        let dir = self.own_session(workspace, name);
        let mut made = make_private(&dir);
        for _ in 0..MAKE_TRIES {
            match &made {
                // The directory of a workspace without sessions may be removed at any moment.
                Err(error) if error.kind() == io::ErrorKind::NotFound => made = make_private(&dir),
                _ => break,
            }
        }
        made.map_err(ClientError::file("make the directory", &dir))?;
        Ok(dir)
    }

    /// Makes the runtime directory if it is missing, then opens it as `open_runtime` does.
    pub fn make_runtime(&self) -> Result<OwnedFd, ClientError> {
        make_private(&self.runtime)
            .or_else(|error| match error.kind() {
                // If something else has this name, the check below says what.
                io::ErrorKind::AlreadyExists => Ok(()),
                _ => Err(error),
            })
            .map_err(ClientError::file("make the runtime directory", &self.runtime))?;
        self.open_runtime()?.ok_or_else(|| self.unusable("it vanished".to_owned()))
    }

    /// Opens the runtime directory and refuses one that others could have tampered with (SPEC
    /// X-5); `None` if there is none.
    pub fn open_runtime(&self) -> Result<Option<OwnedFd>, ClientError> {
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let dir = match rustix::fs::open(&self.runtime, flags, Mode::empty()) {
            Ok(dir) => dir,
            Err(Errno::NOENT) => return Ok(None),
            Err(error) => return Err(self.unusable(io::Error::from(error).to_string())),
        };
        let stat =
            rustix::fs::fstat(&dir).map_err(|e| self.unusable(io::Error::from(e).to_string()))?;
        let me = rustix::process::geteuid().as_raw();
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::Directory => {}
            FileType::Symlink => return Err(self.unusable("it is a symbolic link".to_owned())),
            _ => return Err(self.unusable("it is not a directory".to_owned())),
        }
        if stat.st_uid != me {
            let why = format!("it belongs to user {} and not to {me}", stat.st_uid);
            return Err(self.unusable(why));
        }
        if stat.st_mode & 0o077 != 0 {
            let mode = stat.st_mode & 0o777;
            return Err(self.unusable(format!("its mode is {mode:04o}, others can get in")));
        }
        Ok(Some(dir))
    }

    fn unusable(&self, why: String) -> ClientError {
        ConnectionTrouble::RuntimeDir { path: self.runtime.clone(), problem: why }.into()
    }
}

/// Makes `dir` and its missing parents, each with mode 0700.
fn make_private(dir: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true).mode(0o700).create(dir)
}

fn state_dir() -> Result<PathBuf, ClientError> {
    if let Some(dir) = var("STEAD_STATE_DIR") {
        return absolute("STEAD_STATE_DIR", dir);
    }
    if let Some(dir) = var("XDG_STATE_HOME") {
        return Ok(absolute("XDG_STATE_HOME", dir)?.join("stead"));
    }
    match var("HOME") {
        Some(home) => Ok(absolute("HOME", home)?.join(".local/state/stead")),
        None => Err(RequestError::NoStateDir.into()),
    }
}

fn runtime_dir() -> Result<PathBuf, ClientError> {
    if let Some(dir) = var("STEAD_RUNTIME_DIR") {
        return absolute("STEAD_RUNTIME_DIR", dir);
    }
    if let Some(dir) = var("XDG_RUNTIME_DIR") {
        return Ok(absolute("XDG_RUNTIME_DIR", dir)?.join("stead"));
    }
    let uid = rustix::process::geteuid().as_raw();
    let login = PathBuf::from(format!("/run/user/{uid}"));
    if fs::metadata(&login).is_ok_and(|meta| meta.is_dir() && meta.uid() == uid) {
        return Ok(login.join("stead"));
    }
    Ok(PathBuf::from(format!("/tmp/stead-{uid}")))
}

fn var(name: &str) -> Option<OsString> {
    env::var_os(name).filter(|value| !value.is_empty())
}

fn absolute(name: &'static str, dir: OsString) -> Result<PathBuf, ClientError> {
    let path = PathBuf::from(dir);
    if path.as_os_str().as_bytes().contains(&0) || !path.is_absolute() {
        return Err(RequestError::RelativeDir { variable: name, path }.into());
    }
    Ok(path)
}

/// FNV-1a with 128 bits: the same in every version and build, which `Hash` does not promise.
fn fnv128(bytes: &[u8]) -> u128 {
    const PRIME: u128 = (1 << 88) + 0x13b;
    const BASIS: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
    bytes.iter().fold(BASIS, |hash, byte| (hash ^ u128::from(*byte)).wrapping_mul(PRIME))
}

fn hex(hash: u128) -> String {
    format!("{hash:032x}")
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    fn at(runtime: PathBuf) -> Dirs {
        Dirs::new("/nonexistent".into(), runtime)
    }

    #[test]
    fn fnv_matches_its_published_vectors() {
        assert_eq!(hex(fnv128(b"")), "6c62272e07bb014262b821756295c58d");
        assert_eq!(hex(fnv128(b"a")), "d228cb696f1a8caf78912b704e4a8964");
    }

    #[test]
    fn x5_a_missing_runtime_directory_is_made_private() {
        let temp = tempfile::tempdir().unwrap();
        let dirs = at(temp.path().join("no/parent/yet"));
        assert!(dirs.open_runtime().unwrap().is_none());
        dirs.make_runtime().unwrap();
        assert_eq!(fs::metadata(&dirs.runtime).unwrap().mode() & 0o777, 0o700);
        dirs.make_runtime().unwrap();
    }

    #[test]
    fn x5_a_runtime_directory_that_others_can_touch_is_refused() {
        let temp = tempfile::tempdir().unwrap();
        let real = temp.path().join("real");
        DirBuilder::new().mode(0o700).create(&real).unwrap();
        let link = temp.path().join("link");
        symlink(&real, &link).unwrap();
        let file = temp.path().join("file");
        fs::write(&file, "").unwrap();
        for (path, reason) in [(link, "symbolic link"), (file, "not a directory")] {
            let error = at(path).make_runtime().unwrap_err();
            assert!(error.to_string().contains(reason), "{error}");
        }
        for mode in [0o777, 0o750, 0o701] {
            fs::set_permissions(&real, Permissions::from_mode(mode)).unwrap();
            let error = at(real.clone()).make_runtime().unwrap_err();
            assert_eq!(error.code(), stead_protocol::ErrorCode::ConnectionFailed);
            assert_eq!(fs::metadata(&real).unwrap().mode() & 0o777, mode, "it was left alone");
        }
    }
}
