use std::os::unix::fs::symlink;

use rustix::fs::{CWD, FileType as Kind, Mode, mknodat};

use super::*;

#[test]
fn h2_what_is_no_regular_file_is_named_and_nobody_waits() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    let refused = |name: &str| open(&at(name)).unwrap_err().to_string();
    mknodat(CWD, at("pipe"), Kind::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
    symlink("/dev/zero", at("zero")).unwrap();
    symlink("file", at("link")).unwrap();
    std::fs::create_dir(at("dir")).unwrap();
    std::fs::write(at("file"), "text").unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(at("socket")).unwrap();
    assert!(refused("pipe").contains("a named pipe"), "{}", refused("pipe"));
    assert!(refused("zero").contains("a symbolic link"), "{}", refused("zero"));
    assert!(refused("link").contains("a symbolic link"), "{}", refused("link"));
    assert!(refused("dir").contains("a directory"), "{}", refused("dir"));
    assert!(refused("socket").contains("a socket"), "{}", refused("socket"));
    for name in ["pipe", "zero", "dir"] {
        let writing = open_with(OpenOptions::new().append(true).create(true), &at(name));
        assert!(writing.unwrap_err().to_string().contains("not a regular file"));
    }
    assert_eq!(open(&at("none")).unwrap_err().kind(), io::ErrorKind::NotFound);
    assert_eq!(read_text(&at("file"), 4).unwrap(), "text");
    assert_eq!(read_users_text(&at("link"), 4).unwrap(), "text");
    assert!(read_users_text(&at("zero"), 4).unwrap_err().to_string().contains("a device"));
}

#[test]
fn h2_a_file_that_is_no_text_is_refused_with_its_line() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("odd");
    std::fs::write(&path, b"one\ntwo \xff\n").unwrap();
    let error = read_users_text(&path, 1 << 20).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::InvalidData);
    let cause = error.get_ref().and_then(|cause| cause.downcast_ref::<NotUtf8>());
    assert_eq!(cause, Some(&NotUtf8 { line: 2 }));
}

#[test]
fn h2_a_file_that_is_too_large_is_not_read() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("large");
    File::create(&path).unwrap().set_len(1 << 40).unwrap();
    let error = read(&path, 1 << 20).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::FileTooLarge);
    assert!(error.to_string().contains("at most 1048576"), "{error}");
}
