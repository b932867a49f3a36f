//! Which evals were undone: their output and records stay, what they did to the session's state does not (SPEC ST-5).

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::Path;

use serde::{Deserialize, Serialize};
use stead_protocol::EvalSet;

use crate::SpoolError;
use crate::layout::SessionDir;

/// No file of undone evals that stead writes is larger.
const MOST_BYTES: u64 = 1 << 20;
/// How many ranges of evals are remembered.
const MOST_RANGES: usize = 10_000;

#[derive(Debug, Default, Serialize, Deserialize)]
struct UndoneFile {
    #[serde(default)]
    undone: EvalSet,
}

/// The evals of a session that were undone; none if nothing is written, or nothing that can be read.
pub fn read_undone(dir: &Path) -> EvalSet {
    let bytes = stead_files::read(&SessionDir::new(dir).undone(), MOST_BYTES).unwrap_or_default();
    serde_json::from_slice::<UndoneFile>(&bytes).unwrap_or_default().undone
}

/// Writes which evals were undone. A reader finds the old file or the new one at every moment. The file is not synced:
/// like every record it survives the death of its writer, not of the machine.
pub fn write_undone(dir: &Path, undone: &EvalSet) -> Result<(), SpoolError> {
    let path = SessionDir::new(dir).undone();
    let temporary = path.with_extension("new");
    let mut undone = undone.clone();
    undone.forget_oldest(MOST_RANGES);
    let written = || -> io::Result<()> {
        let bytes = serde_json::to_vec(&UndoneFile { undone })?;
        let mut options = OpenOptions::new();
        stead_files::open_with(options.write(true).create(true).truncate(true), &temporary)?
            .write_all(&bytes)?;
        std::fs::rename(&temporary, &path)
    };
    written().map_err(SpoolError::io("write", &path))
}

#[cfg(test)]
mod tests {
    use stead_protocol::EvalSeq;

    use super::*;

    #[test]
    fn st5_what_was_undone_is_read_back_and_garbage_is_nothing() {
        let dir = tempfile::tempdir().unwrap();
        assert!(read_undone(dir.path()).is_empty());
        let undone: EvalSet = [3, 4, 9].map(EvalSeq).into_iter().collect();
        write_undone(dir.path(), &undone).unwrap();
        assert_eq!(read_undone(dir.path()), undone);
        write_undone(dir.path(), &EvalSet::default()).unwrap();
        assert!(read_undone(dir.path()).is_empty());
        std::fs::write(SessionDir::new(dir.path()).undone(), b"{\"undone\":7}").unwrap();
        assert!(read_undone(dir.path()).is_empty());
    }
}
