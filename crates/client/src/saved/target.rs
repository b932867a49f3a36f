//! Where a save may go: a new file, or one that a save has written.

use std::fs;
use std::io::Read;
use std::path::Path;

use thiserror::Error;

use crate::RequestError;

/// How every saved file begins, whatever its format.
const HEAD: &[u8] = b"STEADSAVE";

/// Why a save may not go there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum TargetTrouble {
    /// It is no file.
    #[error("is {0} and not a regular file")]
    NotAFile(&'static str),
    /// It is a file with other content, which would be lost.
    #[error("exists and is not a file that a save has written")]
    OtherFile,
}

/// Refuses a path with something that a save must not replace. A path that cannot be looked at is left to the
/// session.
pub(super) fn check(path: &Path, force: bool) -> Result<(), RequestError> {
    let refused = |trouble| RequestError::SaveTarget { path: path.to_owned(), trouble };
    let Ok(found) = fs::metadata(path) else { return Ok(()) };
    if let Some(what) = stead_files::not_a_file(found.file_type()) {
        return Err(refused(TargetTrouble::NotAFile(what)));
    }
    if force || found.len() == 0 {
        return Ok(());
    }
    let Ok(file) = stead_files::open_users(path) else { return Ok(()) };
    let mut head = Vec::new();
    let read = file.take(HEAD.len() as u64).read_to_end(&mut head);
    match read.is_ok() && head != HEAD {
        true => Err(refused(TargetTrouble::OtherFile)),
        false => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn st2_a_save_takes_the_place_of_nothing_but_a_save() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        fs::write(at("notes"), "dear diary").unwrap();
        fs::write(at("old"), "STEADSAVE1\n").unwrap();
        let trouble = |name: &str, force| match check(&at(name), force) {
            Err(RequestError::SaveTarget { trouble, .. }) => Some(trouble),
            Err(other) => panic!("{other}"),
            Ok(()) => None,
        };
        assert_eq!(trouble("notes", false), Some(TargetTrouble::OtherFile));
        assert_eq!(trouble("notes", true), None);
        assert_eq!(trouble("old", false), None);
        assert_eq!(trouble("new/deep", false), None);
        assert_eq!(trouble(".", true), Some(TargetTrouble::NotAFile("a directory")));
    }
}
