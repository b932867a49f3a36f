//! What `tests/peers/install` has made for tests.

use std::path::{Path, PathBuf};

/// A file or directory that it has made.
///
/// # Panics
/// When it has not.
#[track_caller]
pub(crate) fn made(name: &str) -> PathBuf {
    there(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.test").join(name))
}

/// The same for one that a variable names.
#[track_caller]
pub(crate) fn there(path: &Path) -> PathBuf {
    assert!(path.exists(), "{} is missing: tests/peers/install makes it", path.display());
    path.to_owned()
}
