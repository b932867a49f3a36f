//! Files that evals made: from the name in a record to a path that can be opened (SPEC O-9).

use std::io;
use std::path::{Component, Path, PathBuf};

use stead_protocol::DisplayInfo;

/// The path of a session's file with the name that a record has, or why it cannot be given.
///
/// User code can write records too, so no path outside the session's directory is ever given, be it through
/// `..` or through a link.
pub fn locate(session_dir: &Path, file: &str) -> Result<PathBuf, &'static str> {
    let inside = |part| matches!(part, Component::Normal(_));
    if file.is_empty() || !Path::new(file).components().all(inside) {
        return Err("its file is not in the session's directory");
    }
    let gone = |_| "its file is no longer kept";
    let dir = session_dir.canonicalize().map_err(gone)?;
    let path = dir.join(file).canonicalize().map_err(gone)?;
    if !path.starts_with(&dir) {
        return Err("its file is not in the session's directory");
    }
    if path.is_file() { Ok(path) } else { Err("its file is no longer kept") }
}

/// Reads a file of a session that `locate` found, if it still has at most `most` bytes.
pub fn read(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    stead_files::read(path, most)
}

/// A display's record as front ends get it: with the file's whole path, or with a note that says why there is
/// none.
pub(crate) fn resolve(session_dir: &Path, record: Vec<u8>) -> Vec<u8> {
    let Ok(mut display) = serde_json::from_slice::<DisplayInfo>(&record) else { return record };
    let Some(file) = &display.file else { return record };
    match locate(session_dir, file).map(|path| path.to_str().map(str::to_owned)) {
        Ok(Some(path)) => display.file = Some(path),
        Ok(None) => (display.file, display.note) = (None, Some("its path is no text".to_owned())),
        Err(why) => (display.file, display.note) = (None, Some(why.to_owned())),
    }
    serde_json::to_vec(&display).unwrap_or(record)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn o9_only_files_of_the_session_are_found() {
        let temp = tempfile::tempdir().unwrap();
        let dir = temp.path().join("session");
        fs::create_dir_all(dir.join("figures")).unwrap();
        fs::write(dir.join("figures/1-1.png"), "png").unwrap();
        fs::write(temp.path().join("secret"), "key").unwrap();
        std::os::unix::fs::symlink(temp.path().join("secret"), dir.join("figures/link")).unwrap();
        std::os::unix::fs::symlink(temp.path(), dir.join("figures/up")).unwrap();
        let found = locate(&dir, "figures/1-1.png").unwrap();
        assert_eq!(found, dir.canonicalize().unwrap().join("figures/1-1.png"));
        for bad in ["../secret", "/etc/passwd", "", "figures/../../secret", "./x"] {
            assert!(locate(&dir, bad).unwrap_err().contains("not in the session"), "{bad}");
        }
        for bad in ["figures/link", "figures/up/secret"] {
            assert!(locate(&dir, bad).unwrap_err().contains("not in the session"), "{bad}");
        }
        for gone in ["figures/1-2.png", "figures", "figures/a\0b"] {
            assert!(locate(&dir, gone).unwrap_err().contains("no longer kept"), "{gone}");
        }
    }

    #[test]
    fn o9_a_record_gets_the_whole_path_or_a_note() {
        let temp = tempfile::tempdir().unwrap();
        fs::write(temp.path().join("1-1.png"), "png").unwrap();
        let display = |file: &str| {
            let info = DisplayInfo { file: Some(file.to_owned()), ..DisplayInfo::default() };
            let resolved = resolve(temp.path(), serde_json::to_vec(&info).unwrap());
            serde_json::from_slice::<DisplayInfo>(&resolved).unwrap()
        };
        let path = temp.path().canonicalize().unwrap().join("1-1.png");
        assert_eq!(display("1-1.png").file.as_deref(), path.to_str());
        let gone = display("1-2.png");
        assert_eq!((gone.file, gone.note.as_deref()), (None, Some("its file is no longer kept")));
        assert_eq!(resolve(temp.path(), b"{".to_vec()), b"{");
    }
}
