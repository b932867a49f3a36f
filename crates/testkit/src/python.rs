//! The Pythons of this machine, without shims.

use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;

/// Every CPython 3.8 or newer that is found, one for each minor version, oldest first.
///
/// `STEAD_TEST_PYTHONS` (paths separated by colons) overrides the search.
pub fn pythons() -> &'static [PathBuf] {
    static FOUND: OnceLock<Vec<PathBuf>> = OnceLock::new();
    FOUND.get_or_init(|| {
        let mut found: Vec<(u32, PathBuf)> =
            candidates().into_iter().filter_map(|path| Some((minor(&path)?, path))).collect();
        found.sort();
        found.dedup_by_key(|(minor, _)| *minor);
        assert!(!found.is_empty(), "no CPython 3.8 or newer on this machine");
        found.into_iter().map(|(_, path)| path).collect()
    })
}

/// The Python that tests use when one is enough: the newest.
pub fn python() -> PathBuf {
    pythons().last().expect("`pythons` finds at least one").clone()
}

/// The CPython 3 of this minor version.
///
/// # Panics
/// When there is none.
pub fn python_of(minor: u32) -> PathBuf {
    let found = pythons().iter().find(|python| self::minor(python) == Some(minor));
    found.unwrap_or_else(|| panic!("no CPython 3.{minor} among {:?}", pythons())).clone()
}

fn candidates() -> Vec<PathBuf> {
    if let Some(given) = std::env::var_os("STEAD_TEST_PYTHONS") {
        return std::env::split_paths(&given).collect();
    }
    let mut paths = Vec::new();
    if let Some(home) = std::env::var_os("HOME")
        && let Ok(versions) = std::fs::read_dir(PathBuf::from(home).join(".pyenv/versions"))
    {
        paths.extend(versions.flatten().map(|version| version.path().join("bin/python3")));
    }
    for dir in ["/usr/local/bin", "/usr/bin"] {
        paths.extend((8..20).map(|minor| PathBuf::from(dir).join(format!("python3.{minor}"))));
    }
    paths.retain(|path| path.is_file());
    paths
}

fn minor(path: &PathBuf) -> Option<u32> {
    let code = "import sys; print(*sys.version_info[:2], sys.implementation.name)";
    let output = Command::new(path).args(["-S", "-c", code]).output().ok()?;
    let said = String::from_utf8(output.stdout).ok()?;
    let words: Vec<&str> = said.split_whitespace().collect();
    match words[..] {
        ["3", minor, "cpython"] => minor.parse().ok().filter(|minor| *minor >= 8),
        _ => None,
    }
}
