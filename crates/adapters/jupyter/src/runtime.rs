//! The directory for the sockets and the key of a kernel of ours.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use stead_launch::sys;

/// What the names of these directories begin with; the process that made one comes next.
const PREFIX: &str = "stead-kernel-";
/// A socket's path may have 107 bytes; `/k-5` comes behind the directory's.
const MOST_PATH: usize = 100;

/// A directory that only this user may enter, and that goes with this value.
pub(crate) struct KernelDir(PathBuf);

impl KernelDir {
    pub(crate) fn make() -> io::Result<KernelDir> {
        let name = format!("{PREFIX}{}-{:016x}", std::process::id(), sys::random()?);
        let mut last = io::Error::from(io::ErrorKind::NotFound);
        for base in bases() {
            if base.as_os_str().len() + 1 + name.len() > MOST_PATH {
                continue;
            }
            remove_left_behind(&base);
            let dir = base.join(&name);
            match DirBuilder::new().mode(0o700).create(&dir) {
                Ok(()) => return Ok(KernelDir(dir)),
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for KernelDir {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Where such a directory may lie, the best first.
fn bases() -> impl Iterator<Item = PathBuf> {
    let var = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    let given = var("STEAD_RUNTIME_DIR").map(PathBuf::from);
    let runtime = var("XDG_RUNTIME_DIR").map(PathBuf::from);
    let temporary = Some(std::env::temp_dir());
    [given, runtime, temporary, Some("/tmp".into())].into_iter().flatten()
}

/// Removes directories of adapters that were killed and could not do it.
fn remove_left_behind(base: &Path) {
    let me = rustix::process::geteuid().as_raw();
    for entry in fs::read_dir(base).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let pid = name.to_str().and_then(|name| name.strip_prefix(PREFIX)?.split_once('-'));
        let Some((pid, _)) = pid else { continue };
        let is_alive = Path::new("/proc").join(pid).exists();
        let is_ours = entry.metadata().is_ok_and(|meta| meta.is_dir() && meta.uid() == me);
        if !is_alive && is_ours {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}
