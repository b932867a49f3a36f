//! Opening and reading files whatever somebody put in their place (SPEC H-2).
//!
//! A named pipe would hold a reader up for ever, a link to a device or a file of gigabytes would
//! fill its memory. So a file is opened without waiting, must be a regular one, and is read up to a
//! bound that its caller knows.

use std::borrow::Cow;
use std::fmt;
use std::fs::{File, FileType, OpenOptions};
use std::io::{self, Read};
use std::os::fd::{AsRawFd, BorrowedFd};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;

use rustix::fs::OFlags;

/// More than any file of a session has that is read as a whole: settings may carry code to run at
/// the start, which JSON can make several times longer.
pub const MOST_SETTINGS: u64 = 128 << 20;
/// More than any small note of ours has: a number, a lock, a cache of paths.
pub const MOST_NOTE: u64 = 1 << 20;

/// Opens a file of ours for reading. Those are never links.
pub fn open(path: &Path) -> io::Result<File> {
    open_with(OpenOptions::new().read(true), path)
}

/// Opens a file of ours, for its owner only if it has to be made. Those are never links.
pub fn open_with(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    options.mode(0o600);
    open_flags(options, OFlags::NOFOLLOW | OFlags::NONBLOCK, path)
}

/// Reads a file of ours of at most `most` bytes.
pub fn read(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    read_all(&open(path)?, most)
}

/// Reads a file of ours that is text of at most `most` bytes.
pub fn read_text(path: &Path, most: u64) -> io::Result<String> {
    text(read(path, most)?)
}

/// Reads a file of the user's of at most `most` bytes, which may be reached through links.
pub fn read_users_text(path: &Path, most: u64) -> io::Result<String> {
    text(read_all(&open_users(path)?, most)?)
}

/// Opens a file of the user's for reading, which may be reached through links.
pub fn open_users(path: &Path) -> io::Result<File> {
    open_flags(OpenOptions::new().read(true), OFlags::NONBLOCK, path)
}

fn open_flags(options: &mut OpenOptions, flags: OFlags, path: &Path) -> io::Result<File> {
    let opened = options.custom_flags(flags.bits() as i32).open(path);
    let file = opened.map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => error,
        // The system's errors for a link, and for a pipe without a reader, do not say what is there.
        _ => match path.symlink_metadata().map(|meta| meta.file_type()) {
            Ok(kind) if !kind.is_file() => not_regular(kind),
            _ => error,
        },
    })?;
    let kind = file.metadata()?.file_type();
    if kind.is_file() { Ok(file) } else { Err(not_regular(kind)) }
}

/// Refuses a file that is larger than any of its kind.
pub fn check_size(file: &File, most: u64) -> io::Result<()> {
    let size = file.metadata()?.len();
    if size > most { Err(too_large(size, most)) } else { Ok(()) }
}

fn too_large(size: u64, most: u64) -> io::Error {
    let message = format!("it has {size} bytes, and at most {most} are read");
    io::Error::new(io::ErrorKind::FileTooLarge, message)
}

/// Reads all of a file, if that is not more than `most` bytes.
fn read_all(file: &File, most: u64) -> io::Result<Vec<u8>> {
    check_size(file, most)?;
    let mut bytes = Vec::new();
    // The file may have grown since its size was checked.
    file.take(most + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most { Err(too_large(bytes.len() as u64, most)) } else { Ok(bytes) }
}

/// A file that is read as text and is none. It is the cause inside an `io::Error`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotUtf8 {
    /// The first line that is no text.
    pub line: usize,
}

impl fmt::Display for NotUtf8 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("it is not UTF-8")
    }
}

impl std::error::Error for NotUtf8 {}

/// The text that bytes of a file are.
pub fn text(bytes: Vec<u8>) -> io::Result<String> {
    String::from_utf8(bytes).map_err(|error| {
        let before = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
        io::Error::new(io::ErrorKind::InvalidData, NotUtf8 { line })
    })
}

fn not_regular(kind: FileType) -> io::Error {
    let what = not_a_file(kind).unwrap_or("a file");
    io::Error::new(io::ErrorKind::InvalidData, format!("it is {what} and not a regular file"))
}

/// What something is that is no regular file, in words.
pub fn not_a_file(kind: FileType) -> Option<&'static str> {
    Some(match kind {
        kind if kind.is_file() => return None,
        kind if kind.is_dir() => "a directory",
        kind if kind.is_symlink() => "a symbolic link",
        kind if kind.is_fifo() => "a named pipe",
        kind if kind.is_socket() => "a socket",
        _ => "a device",
    })
}

/// Longest path of a socket's address; the kernel's structure has 108 bytes, one of them for the end.
const SOCKET_PATH: usize = 107;

/// The path by which a socket is bound or reached: its own, or one through its open directory where that is too long
/// for an address. The directory must stay open until then.
pub fn socket_path<'a>(socket: &'a Path, dir: BorrowedFd<'_>) -> Cow<'a, Path> {
    match socket.file_name() {
        Some(name) if socket.as_os_str().len() > SOCKET_PATH => {
            Cow::Owned(Path::new("/proc/self/fd").join(dir.as_raw_fd().to_string()).join(name))
        }
        _ => Cow::Borrowed(socket),
    }
}

#[cfg(test)]
#[path = "lib_tests.rs"]
mod tests;
