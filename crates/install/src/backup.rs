//! Copies of clients' files as they were before, so that `--remove` can give the same bytes back.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::file::FileTrouble;

/// The directory with the copies of one client's file, for its owner alone: settings may hold keys.
#[derive(Debug)]
pub(crate) struct BackupDir {
    dir: PathBuf,
    name: String,
}

/// What an install left, and how the file was before it.
#[derive(Debug, Serialize, Deserialize)]
struct InstallRecord {
    path: PathBuf,
    /// Whether there was a file before.
    existed: bool,
    /// A fingerprint of what the install left.
    left: String,
    /// Directories that the install made.
    made: Vec<PathBuf>,
    /// Whether an entry in the copy was made by an earlier install, so that a remove does not give it back.
    #[serde(default)]
    renewed: bool,
    /// The program that the install entered.
    #[serde(default)]
    entered: String,
}

/// How a file was before the install.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct BeforeInstall {
    /// What was in it; `None` if it was not there.
    pub(crate) text: Option<String>,
    /// Whether the file is exactly as the install left it.
    pub(crate) untouched: bool,
    /// Directories that the install made.
    pub(crate) made: Vec<PathBuf>,
    /// Whether the entry that the text may have is of an earlier install.
    pub(crate) renewed: bool,
    /// The program that the install entered.
    pub(crate) entered: String,
}

impl BackupDir {
    pub(crate) fn new(state: &Path, client: &str, real: &Path) -> Self {
        let mark = fingerprint(real.as_os_str().as_encoded_bytes());
        let dir = state.join("clients").join(format!("{client}-{}", &mark[..16]));
        let name = real.file_name().unwrap_or_default().to_string_lossy().into_owned();
        BackupDir { dir, name }
    }

    /// Keeps the file as it is now, before the entry is put in.
    pub(crate) fn keep_before_install(
        &self,
        text: Option<&str>,
    ) -> Result<Option<PathBuf>, FileTrouble> {
        text.map(|text| self.write(&self.copy_name(), text)).transpose()
    }

    /// Keeps the file as it is now, before the entry is taken out.
    pub(crate) fn keep_before_remove(&self, text: &str) -> Result<PathBuf, FileTrouble> {
        self.write(&format!("{}.before-remove", self.name), text)
    }

    /// Notes what the install left, so that a remove can tell whether anybody was at the file since.
    pub(crate) fn note(
        &self,
        real: &Path,
        left: &str,
        before: BeforeInstall,
    ) -> Result<(), FileTrouble> {
        let BeforeInstall { text, made, renewed, entered, .. } = before;
        let (path, existed) = (real.to_owned(), text.is_some());
        let left = fingerprint(left.as_bytes());
        let record = InstallRecord { path, existed, left, made, renewed, entered };
        let record = serde_json::to_string(&record).unwrap_or_default();
        self.write("record.json", &record).map(drop)
    }

    /// How the file was before the install, if that is known.
    pub(crate) fn before(&self, real: &Path, now: &str) -> Option<BeforeInstall> {
        let record = fs::read_to_string(self.dir.join("record.json")).ok()?;
        let record: InstallRecord = serde_json::from_str(&record).ok()?;
        if record.path != real {
            return None;
        }
        let text = match record.existed {
            true => Some(fs::read_to_string(self.copy()).ok()?),
            false => None,
        };
        let InstallRecord { left, made, renewed, entered, .. } = record;
        let untouched = left == fingerprint(now.as_bytes());
        Some(BeforeInstall { text, untouched, made, renewed, entered })
    }

    /// The copy of the file as it was before the install.
    pub(crate) fn copy(&self) -> PathBuf {
        self.dir.join(self.copy_name())
    }

    fn copy_name(&self) -> String {
        format!("{}.before-install", self.name)
    }

    /// The install is undone, so nothing is left to take back.
    pub(crate) fn forget_install(&self) {
        let _ = fs::remove_file(self.dir.join("record.json"));
        let _ = fs::remove_dir(&self.dir);
    }

    /// The file is again what it was before the install, so its copy is of no more use.
    pub(crate) fn forget_copy(&self) {
        let _ = fs::remove_file(self.copy());
        let _ = fs::remove_dir(&self.dir);
    }

    fn write(&self, name: &str, text: &str) -> Result<PathBuf, FileTrouble> {
        let path = self.dir.join(name);
        let failed = || FileTrouble::io("write the copy", &path);
        DirBuilder::new().recursive(true).mode(0o700).create(&self.dir).map_err(failed())?;
        let beside = self.dir.join(format!(".{name}-{}", std::process::id()));
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(true).mode(0o600);
        let mut file = options.open(&beside).map_err(failed())?;
        file.write_all(text.as_bytes()).map_err(failed())?;
        file.sync_all().map_err(failed())?;
        fs::rename(&beside, &path).map_err(failed())?;
        Ok(path)
    }
}

/// Keeps a file as it is before stead writes it anew. A copy of other content is never overwritten, so nothing that anybody
/// wrote into the file is lost by a second time.
pub fn keep_copy(
    state: &Path,
    kind: &str,
    path: &Path,
    text: &str,
) -> Result<PathBuf, FileTrouble> {
    let real = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let copies = BackupDir::new(state, kind, &real);
    let mark = fingerprint(text.as_bytes());
    copies.write(&format!("{}.{}", copies.name, &mark[..8]), text)
}

/// FNV-1a with 128 bits and the length: whether a file is the same, not whether somebody wants to deceive.
fn fingerprint(bytes: &[u8]) -> String {
    const PRIME: u128 = (1 << 88) + 0x13b;
    const BASIS: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
    let hash =
        bytes.iter().fold(BASIS, |hash, byte| (hash ^ u128::from(*byte)).wrapping_mul(PRIME));
    format!("{hash:032x}-{}", bytes.len())
}
