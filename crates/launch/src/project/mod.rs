//! A workspace's `.stead` directory, read as a whole: what came with the project counts only once the user has allowed it,
//! and what is used of it is what was looked at (SPEC CF-4).

mod allowed;

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};
use stead_config::{ConfigProblem, MOST_CONFIG};
use stead_protocol::MAX_STDLIB;
use thiserror::Error;

pub use allowed::{AllowNote, TrustStanding, allow_path, standing_of_kept};

/// The directory of a workspace's own settings.
pub const PROJECT_DIR: &str = ".stead";
/// The name of configuration files.
pub const CONFIG_FILE: &str = "config.toml";
/// Where a project's standard libraries are in its directory.
const STDLIB_DIR: &str = "stdlib/";

/// Most files that the directory may have.
const MOST_FILES: usize = 2_000;
/// Most bytes that they may have together.
const MOST_BYTES: u64 = 64 << 20;

/// A workspace's directory as it was at one moment.
#[derive(Debug)]
pub struct ProjectDir {
    /// Where it is.
    pub path: PathBuf,
    /// Its hash: names, contents and which files can be run.
    pub hash: String,
    /// Its files with their sizes, by name.
    pub files: BTreeMap<String, u64>,
    /// The contents of the files that stead itself reads.
    kept: BTreeMap<String, Vec<u8>>,
    /// The hash of all but its settings.
    rest: String,
}

/// Why a directory cannot be taken into account.
#[derive(Debug, Error)]
pub enum ProjectTrouble {
    /// Something in it cannot be read.
    #[error("could not read `{}`: {source}", path.display())]
    Read {
        /// What.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// It has too much in it.
    #[error("`{}` has more than {MOST_FILES} files or {} MiB", path.display(), MOST_BYTES >> 20)]
    TooMuch {
        /// The directory.
        path: PathBuf,
    },
    /// Something else is in its place.
    #[error("`{}` is not a directory", path.display())]
    NoDirectory {
        /// Its place.
        path: PathBuf,
    },
    /// It has something in it whose content nobody can vouch for.
    #[error("`{}` is {what}", path.display())]
    Odd {
        /// The path.
        path: PathBuf,
        /// What it is.
        what: &'static str,
    },
}

impl ProjectTrouble {
    /// The same, as something wrong with the configuration.
    pub fn problem(self) -> ConfigProblem {
        let problem = self.to_string();
        let (path, fix) = match self {
            ProjectTrouble::Read { path, .. } => (path, "make it readable for you, or remove it"),
            ProjectTrouble::TooMuch { path } => (path, "keep only settings there"),
            ProjectTrouble::NoDirectory { path } => {
                (path, "move it away: a project's settings stand in `.stead/config.toml`")
            }
            ProjectTrouble::Odd { path, .. } => (path, "put the files themselves there"),
        };
        ConfigProblem { path, line: None, key: None, problem, fix: Some(fix.to_owned()) }
    }
}

impl ProjectDir {
    /// Whether nothing in the directory of a workspace is odd. No file in it is read, so that a directory
    /// that nobody ever allowed costs a session's start next to nothing, however much is in it.
    pub fn is_sound(workspace: &Path) -> bool {
        collect(&workspace.join(PROJECT_DIR), "", &mut Vec::new()).is_ok()
    }

    /// Reads the directory of a workspace; `None` if it has none, or an empty one.
    pub fn read(workspace: &Path) -> Result<Option<ProjectDir>, ProjectTrouble> {
        let path = workspace.join(PROJECT_DIR);
        if !path.is_dir() {
            return match path.symlink_metadata() {
                Ok(_) => Err(ProjectTrouble::NoDirectory { path }),
                Err(_) => Ok(None),
            };
        }
        let mut names = Vec::new();
        collect(&path, "", &mut names)?;
        names.sort();
        let (mut whole, mut rest) = (Sha256::new(), Sha256::new());
        let (mut files, mut kept, mut total) = (BTreeMap::new(), BTreeMap::new(), 0_u64);
        for name in names {
            let at = path.join(&name);
            let failed = |source| ProjectTrouble::Read { path: at.clone(), source };
            let mut file = stead_files::open_users(&at).map_err(failed)?;
            let runs = file.metadata().map_err(failed)?.permissions().mode() & 0o111 != 0;
            let mut bytes = Vec::new();
            let most = MOST_BYTES.saturating_sub(total);
            (&mut file).take(most + 1).read_to_end(&mut bytes).map_err(failed)?;
            total += bytes.len() as u64;
            if total > MOST_BYTES {
                return Err(ProjectTrouble::TooMuch { path });
            }
            // Lengths keep names and contents apart, so that no two directories give the same bytes.
            let mut head = (name.len() as u64).to_le_bytes().to_vec();
            head.extend(name.as_bytes());
            head.push(u8::from(runs));
            head.extend((bytes.len() as u64).to_le_bytes());
            let of_rest = (name != CONFIG_FILE).then_some(&mut rest);
            for hash in [&mut whole].into_iter().chain(of_rest) {
                hash.update(&head);
                hash.update(&bytes);
            }
            files.insert(name.clone(), bytes.len() as u64);
            if name == CONFIG_FILE || name.starts_with(STDLIB_DIR) {
                kept.insert(name, bytes);
            }
        }
        let written = |hash: Sha256| -> String {
            hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
        };
        let (hash, rest) = (written(whole), written(rest));
        Ok((!files.is_empty()).then_some(ProjectDir { path, hash, files, kept, rest }))
    }

    /// Whether this directory differs from the one before in its settings at most.
    pub fn has_same_rest(&self, before: Option<&ProjectDir>) -> bool {
        match before {
            Some(before) => before.rest == self.rest,
            None => self.files.keys().all(|name| name == CONFIG_FILE),
        }
    }

    /// The text of its configuration, if it has one.
    pub fn config(&self) -> io::Result<Option<String>> {
        self.text(CONFIG_FILE, MOST_CONFIG)
    }

    /// The text of the project's standard library of this file name, if it has one.
    pub fn stdlib(&self, file: &str) -> io::Result<Option<String>> {
        self.text(&format!("{STDLIB_DIR}{file}"), MAX_STDLIB as u64)
    }

    fn text(&self, name: &str, most: u64) -> io::Result<Option<String>> {
        let Some(bytes) = self.kept.get(name) else { return Ok(None) };
        if bytes.len() as u64 > most {
            let message = format!("it has {} bytes, and at most {most} are read", bytes.len());
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, message));
        }
        stead_files::text(bytes.clone()).map(Some)
    }
}

/// The names of all files below a directory.
fn collect(root: &Path, below: &str, names: &mut Vec<String>) -> Result<(), ProjectTrouble> {
    let dir = root.join(below);
    let failed = |source| ProjectTrouble::Read { path: dir.clone(), source };
    for entry in fs::read_dir(&dir).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let path = entry.path();
        let odd = |what| Err(ProjectTrouble::Odd { path: path.clone(), what });
        let Ok(name) = entry.file_name().into_string() else { return odd("no UTF-8") };
        let kind = entry.file_type().map_err(failed)?;
        if is_leftover(&name, &path, kind) {
            continue;
        }
        let name = format!("{below}{name}");
        // A link to a file stands for its content; one to a directory could lead round in a circle.
        let is_file = kind.is_file() || (kind.is_symlink() && path.is_file());
        match kind {
            _ if is_file => names.push(name),
            kind if kind.is_dir() && name == CONFIG_FILE => {
                return odd("a directory and not a regular file");
            }
            kind if kind.is_dir() => collect(root, &format!("{name}/"), names)?,
            kind if kind.is_symlink() => return odd("a link that leads to no file"),
            _ => return odd("neither a file nor a directory"),
        }
        if names.len() > MOST_FILES {
            return Err(ProjectTrouble::TooMuch { path: root.to_owned() });
        }
    }
    Ok(())
}

/// Whether this is what an editor leaves beside a file that it has open: a lock of Emacs, which is a link to nowhere, a
/// copy that it saves by itself, or a swap file of Vim. They come and go while somebody writes. What can be run is
/// never one of them.
fn is_leftover(name: &str, path: &Path, kind: fs::FileType) -> bool {
    if kind.is_symlink() {
        return name.starts_with(".#") && !path.exists();
    }
    let swap = name.rsplit_once(".sw").is_some_and(|(stem, end)| {
        stem.starts_with('.') && end.len() == 1 && end.bytes().all(|byte| byte.is_ascii_lowercase())
    });
    let copy = name.ends_with('~') || (name.starts_with('#') && name.ends_with('#'));
    let runs = || path.metadata().is_ok_and(|meta| meta.permissions().mode() & 0o111 != 0);
    kind.is_file() && (swap || copy) && !runs()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn cf4_whatever_changes_in_the_directory_changes_its_hash() {
        let temp = tempfile::tempdir().unwrap();
        let at = |name: &str| temp.path().join(PROJECT_DIR).join(name);
        let hash = || ProjectDir::read(temp.path()).unwrap().unwrap().hash;
        assert!(ProjectDir::read(temp.path()).unwrap().is_none());
        fs::create_dir_all(at("stdlib")).unwrap();
        assert!(ProjectDir::read(temp.path()).unwrap().is_none());
        let mut seen = Vec::new();
        let mut changed = |what: &str| {
            let now = hash();
            assert!(!seen.contains(&now), "{what}");
            seen.push(now);
        };
        fs::write(at("config.toml"), "").unwrap();
        changed("a file");
        fs::write(at("config.toml"), "a").unwrap();
        changed("its content");
        fs::write(at("a"), "").unwrap();
        changed("another file");
        fs::rename(at("a"), at("b")).unwrap();
        changed("its name");
        fs::set_permissions(at("b"), fs::Permissions::from_mode(0o755)).unwrap();
        changed("that it can be run");
        fs::write(temp.path().join("lib.py"), "x = 1").unwrap();
        symlink("../../lib.py", at("stdlib/python.py")).unwrap();
        changed("a link");
        fs::write(temp.path().join("lib.py"), "x = 2").unwrap();
        changed("what it leads to");
        let project = ProjectDir::read(temp.path()).unwrap().unwrap();
        assert_eq!(project.stdlib("python.py").unwrap().as_deref(), Some("x = 2"));
        assert_eq!(hash(), project.hash);
    }

    #[test]
    fn cf4_what_editors_leave_beside_a_file_is_not_part_of_it() {
        let temp = tempfile::tempdir().unwrap();
        let at = |name: &str| temp.path().join(PROJECT_DIR).join(name);
        fs::create_dir(at("")).unwrap();
        fs::write(at("config.toml"), "").unwrap();
        let hash = || ProjectDir::read(temp.path()).unwrap().unwrap().hash;
        let before = hash();
        symlink("me@machine.1234:1700000000", at(".#config.toml")).unwrap();
        for name in ["#config.toml#", "config.toml~", ".config.toml.swp", ".config.toml.swo"] {
            fs::write(at(name), "half a line").unwrap();
            fs::set_permissions(at(name), fs::Permissions::from_mode(0o600)).unwrap();
        }
        assert_eq!(hash(), before);
        // What can be run counts, whatever it is called; so does a link that leads somewhere.
        fs::set_permissions(at("config.toml~"), fs::Permissions::from_mode(0o700)).unwrap();
        let with_program = hash();
        assert_ne!(with_program, before);
        symlink("config.toml", at(".#other")).unwrap();
        assert_ne!(hash(), with_program);
    }

    #[test]
    fn cf4_what_nobody_can_vouch_for_is_refused() {
        let temp = tempfile::tempdir().unwrap();
        let at = |name: &str| temp.path().join(PROJECT_DIR).join(name);
        fs::create_dir(at("")).unwrap();
        symlink("/", at("root")).unwrap();
        let refused = || ProjectDir::read(temp.path()).unwrap_err().problem().to_string();
        assert!(refused().contains("leads to no file"), "{}", refused());
        fs::remove_file(at("root")).unwrap();
        let _socket = std::os::unix::net::UnixListener::bind(at("socket")).unwrap();
        assert!(refused().contains("neither a file"), "{}", refused());
        fs::remove_file(at("socket")).unwrap();
        fs::File::create(at("large")).unwrap().set_len(MOST_BYTES + 1).unwrap();
        assert!(refused().contains("64 MiB"), "{}", refused());
        fs::remove_dir_all(at("")).unwrap();
        fs::write(temp.path().join(PROJECT_DIR), "x").unwrap();
        assert!(refused().contains("not a directory"), "{}", refused());
        fs::remove_file(temp.path().join(PROJECT_DIR)).unwrap();
        symlink("nowhere", temp.path().join(PROJECT_DIR)).unwrap();
        assert!(refused().contains("not a directory"), "{}", refused());
    }
}
