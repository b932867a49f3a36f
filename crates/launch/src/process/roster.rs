//! What is written down of a session's processes, so that they can be found when their host is gone.
//!
//! `host.lock` names the host and the mark. It is emptied when no process is left, so the next host of that
//! session knows. A note in the runtime directory tells all other commands: its name alone says whether the
//! host still lives, so looking is cheap enough for every command.

use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use crate::process::keeper::Keeper;
use crate::process::mark::{Mark, Role};

/// How a note's name ends.
const SUFFIX: &str = ".mark";
/// More bytes than a note holds: no path is longer.
const LONGEST_NOTE: u64 = 16 << 10;
/// More bytes than a lock file ever holds.
const LONGEST_LOCK: usize = 256;

/// The host that holds a session's lock, or was the last to hold it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Holder {
    /// The host's process.
    pub host: u32,
    /// The mark of its processes, if they could be marked.
    pub mark: Option<Mark>,
}

impl Holder {
    /// Writes this into the lock's file.
    pub fn write(&self, lock: &File) -> io::Result<()> {
        let mark = self.mark.map(|mark| format!("{mark}\n")).unwrap_or_default();
        lock.set_len(0)?;
        lock.write_all_at(format!("{}\n{mark}", self.host).as_bytes(), 0)
    }

    /// The content of the lock file; `None` if no process of the session is left.
    pub fn read(lock: &File) -> Option<Holder> {
        let mut bytes = [0; LONGEST_LOCK];
        let read = lock.read_at(&mut bytes, 0).ok()?;
        let mut lines = std::str::from_utf8(&bytes[..read]).ok()?.lines();
        let host = lines.next()?.trim().parse().ok()?;
        Some(Holder { host, mark: lines.next().and_then(|mark| mark.trim().parse().ok()) })
    }

    /// Like `read`, for the lock file at `path`.
    pub fn read_at(path: &Path) -> Option<Holder> {
        Holder::read(&open_to_read(path).ok()?)
    }
}

/// The content of a note.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Noted {
    /// The session's directory.
    pub session: PathBuf,
    /// Where its host listened.
    pub socket: PathBuf,
}

/// A note of one host in the runtime directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    path: PathBuf,
    mark: Mark,
    host: u32,
}

impl Note {
    /// Names the note of a host; touches nothing.
    pub fn new(runtime: &Path, mark: Mark, host: u32) -> Note {
        Note { path: runtime.join(format!("{mark}-{host}{SUFFIX}")), mark, host }
    }

    /// Writes the note, for the session in that directory, whose host listens at `socket` beside the note.
    pub fn write(&self, session: &Path, socket: &Path) -> io::Result<()> {
        let mut text = pid_namespace();
        text.push(b'\n');
        text.extend_from_slice(socket.file_name().unwrap_or_default().as_bytes());
        text.push(b'\n');
        text.extend_from_slice(session.as_os_str().as_bytes());
        let mut file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(&self.path)?;
        file.write_all(&text)
    }

    /// Removes the note, because no process is left.
    pub fn remove(&self) {
        let _ = fs::remove_file(&self.path);
    }

    /// The mark of the processes that its host started.
    pub fn mark(&self) -> Mark {
        self.mark
    }

    /// The content; `None` if the processes cannot be seen from here, because they run in another container
    /// that shares the runtime directory.
    pub fn read(&self) -> Option<Noted> {
        let mut text = Vec::new();
        open_to_read(&self.path).ok()?.take(LONGEST_NOTE).read_to_end(&mut text).ok()?;
        let mut parts = text.splitn(3, |byte| *byte == b'\n');
        let (namespace, socket, session) = (parts.next()?, parts.next()?, parts.next()?);
        if namespace != pid_namespace() || socket.is_empty() || socket.contains(&b'/') {
            return None;
        }
        Some(Noted {
            session: OsStr::from_bytes(session).into(),
            socket: self.path.with_file_name(OsStr::from_bytes(socket)),
        })
    }

    /// Notes of hosts that do not live any more.
    pub fn of_dead_hosts(runtime: &Path) -> Vec<Note> {
        Note::all(runtime).filter(|note| !note.mark.has_host(note.host)).collect()
    }

    /// The live host that a note says listens at `socket`, in the directory of the notes. It is found also if socket
    /// and lock file were deleted.
    pub fn live_host(socket: &Path) -> Option<Keeper> {
        Note::all(socket.parent()?).find_map(|note| {
            let noted = note.read()?;
            let host = (noted.socket == socket).then(|| Keeper::at(note.host))??;
            (host.role == Role::Host && host.mark == note.mark).then_some(host)
        })
    }

    fn all(runtime: &Path) -> impl Iterator<Item = Note> {
        let entries = fs::read_dir(runtime).into_iter().flatten().flatten();
        entries.filter_map(move |entry| {
            let name = entry.file_name();
            let (mark, host) = name.to_str()?.strip_suffix(SUFFIX)?.split_once('-')?;
            Some(Note::new(runtime, mark.parse().ok()?, host.parse().ok()?))
        })
    }
}

/// Opens a regular file; a pipe in its place must not block us.
fn open_to_read(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK)
        .open(path)?;
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(io::ErrorKind::InvalidInput.into()),
    }
}

fn pid_namespace() -> Vec<u8> {
    let link = fs::read_link("/proc/self/ns/pid").unwrap_or_default();
    link.into_os_string().into_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s9_notes_of_the_dead_are_found_and_others_are_let_be() {
        let dir = tempfile::tempdir().unwrap();
        let mark = Mark::draw().unwrap();
        let session = Path::new("/no such/session\nat all");
        // This process lives, but is no host with that mark: its number was used again.
        let note = Note::new(dir.path(), mark, std::process::id());
        assert_eq!(Note::of_dead_hosts(dir.path()), []);
        note.write(session, Path::new("/run/0123.sock")).unwrap();
        fs::write(dir.path().join("0123.sock"), "").unwrap();
        fs::write(dir.path().join("x-y.mark"), "").unwrap();
        assert_eq!(Note::of_dead_hosts(dir.path()), std::slice::from_ref(&note));
        let socket = dir.path().join("0123.sock");
        assert_eq!(note.read(), Some(Noted { session: session.to_owned(), socket }));
        fs::write(&note.path, "pid:[1]\n0123.sock\n/elsewhere").unwrap();
        assert_eq!(note.read(), None, "it is another container's");
        note.remove();
        assert_eq!(Note::of_dead_hosts(dir.path()), []);
    }

    #[test]
    fn s9_a_lock_names_its_host_and_mark() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("host.lock");
        fs::write(&path, "4711\n").unwrap();
        assert_eq!(Holder::read_at(&path), Some(Holder { host: 4711, mark: None }));
        let holder = Holder { host: 1, mark: Mark::draw() };
        holder.write(&OpenOptions::new().write(true).open(&path).unwrap()).unwrap();
        assert_eq!(Holder::read_at(&path), Some(holder));
        fs::write(&path, "").unwrap();
        assert_eq!(Holder::read_at(&path), None);
        assert_eq!(Holder::read_at(dir.path()), None);
    }
}
