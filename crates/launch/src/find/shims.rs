//! Shims: scripts that version managers put before the real interpreters.

use std::collections::BTreeMap;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::{fs, io};

use stead_config::VersionManagers;

use super::asked::ProgramQuestion;
use crate::find::{FindError, Search, is_executable, users_text};

/// Whether the file begins with `#!`: pyenv, asdf and the like put scripts before the real thing,
/// which cost hundreds of milliseconds at every start.
pub(super) fn is_script(path: &Path) -> bool {
    let mut head = [0; 2];
    stead_files::open_users(path).and_then(|mut file| file.read_exact(&mut head)).is_ok()
        && &head == b"#!"
}

/// The interpreter that a shim leads to. It is asked once, and the answer is kept until something changes
/// that it may depend on.
pub(super) fn through_shim(
    shim: &Path,
    managers: &VersionManagers,
    search: &Search<'_>,
) -> Result<PathBuf, FindError> {
    let key = shim_key(shim, managers, search);
    let mut answers = Answers::open(search);
    if let Some(path) = answers.get(&key).filter(|path| is_executable(path)) {
        return Ok(path.to_owned());
    }
    let real = ask(shim, managers.tell, search)
        .map_err(|why| FindError::Shim { path: shim.to_owned(), why })?;
    answers.put(key, real.clone());
    Ok(real)
}

/// Answers of slow programs to where an interpreter lies; an empty path stands for nowhere. A key holds all
/// that an answer depends on, so the program is asked again when something of that changes.
pub(super) struct Answers {
    file: PathBuf,
    known: BTreeMap<String, PathBuf>,
}

impl Answers {
    pub(super) fn open(search: &Search<'_>) -> Answers {
        let file = search.cache_dir.join("interpreters.json");
        let known = stead_files::read(&file, stead_files::MOST_NOTE)
            .ok()
            .and_then(|bytes| serde_json::from_slice(&bytes).ok())
            .unwrap_or_default();
        Answers { file, known }
    }

    pub(super) fn get(&self, key: &str) -> Option<&Path> {
        self.known.get(key).map(PathBuf::as_path)
    }

    pub(super) fn put(&mut self, key: String, answer: PathBuf) {
        self.known.retain(|_, path| path.as_os_str().is_empty() || is_executable(path));
        self.known.insert(key, answer);
        // If the file cannot be written, only the next start is slower.
        let _ = store(&self.file, &self.known);
    }
}

fn ask(shim: &Path, arguments: &[&str], search: &Search<'_>) -> Result<PathBuf, String> {
    let question = ProgramQuestion::new(shim, arguments).in_dir(search.cwd);
    let said = search.programs.ask(&question).map_err(|why| why.to_string())?;
    let path = PathBuf::from(said.out.lines().last().unwrap_or_default().trim());
    if said.status.success() && path.is_absolute() && is_executable(&path) {
        return Ok(path);
    }
    Err(said.err.lines().last().unwrap_or("it printed nothing").trim().to_owned())
}

fn store(cache: &Path, known: &BTreeMap<String, PathBuf>) -> io::Result<()> {
    let fresh = cache.with_extension(format!("{}.tmp", std::process::id()));
    fs::write(&fresh, serde_json::to_vec(known)?)?;
    fs::rename(&fresh, cache)
}

/// All that a version manager may look at when it decides which version to run.
fn shim_key(shim: &Path, managers: &VersionManagers, search: &Search<'_>) -> String {
    let mtime = |path: &Path| fs::metadata(path).map(|meta| meta.mtime()).unwrap_or_default();
    let mut key = format!("{} {}", shim.display(), mtime(shim));
    for name in managers.variables {
        key += &format!(" {}", search.var(name).unwrap_or_default().to_string_lossy());
    }
    let home = search.var("HOME").map(PathBuf::from);
    for (variable, in_home) in managers.roots {
        let root = search.var(variable).map(PathBuf::from);
        let root = root.or_else(|| home.as_ref().map(|home| home.join(in_home)));
        let version = root.and_then(|root| users_text(&root.join("version")));
        key += &format!(" {}", version.unwrap_or_default().trim());
    }
    for file in managers.files {
        let found = search.cwd.ancestors().find_map(|dir| users_text(&dir.join(file)));
        key += &format!(" {}", found.unwrap_or_default().trim());
    }
    key
}
