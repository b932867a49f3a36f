//! File names and whole-file replacement.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use stead_protocol::Offset;

use super::tempdir;
use crate::{SessionDir, write_atomically};

#[test]
fn files_have_their_names() {
    let dir = SessionDir::new("/s");
    assert_eq!(dir.out(Offset(0x2000000)), Path::new("/s/out-0000000002000000.log"));
    assert_eq!(dir.meta(), Path::new("/s/meta.json"));
    assert_eq!(dir.start_lock(), Path::new("/s/start.lock"));
}

#[test]
fn a_file_is_replaced_as_a_whole_and_nothing_is_left_beside_it() {
    let dir = tempdir().unwrap();
    let path = SessionDir::new(dir.path()).meta();
    write_atomically(&path, b"old").unwrap();
    write_atomically(&path, b"new").unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), b"new");
    assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
    let error = write_atomically(&dir.path().join("none/meta.json"), b"x").unwrap_err();
    assert!(error.to_string().contains("none/meta.json"), "{error}");
}
