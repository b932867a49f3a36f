//! The processes of a session and the threads of its interpreter, between two evals.
//!
//! They are listed for every eval, so it has to cost little. The files in `/proc` stay open: reading one
//! again takes a single system call, where opening it takes a walk through a path. A Jupyter kernel has some
//! twenty threads, each of which may have children.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::ErrorKind;
use std::os::unix::fs::FileExt;

use rustix::fs::{Dir, Mode, OFlags};

use crate::process::family::Family;
use crate::process::tree;

/// How many files may stay open: a host may be allowed few. A process without room is looked at anew each time.
const MOST_OPEN: usize = 64;

/// How many bytes of a list of children are read. Copies of the interpreter stand in it, too.
const MOST_LISTED: usize = 512;

/// Looks at the processes of one session.
#[derive(Debug, Default)]
pub struct Census {
    processes: HashMap<u32, Threads>,
}

/// The threads of a process, with an open list of the children of each.
#[derive(Debug, Default)]
struct Threads {
    pid: u32,
    folder: Option<Dir>,
    lists: HashMap<u32, File>,
}

impl Census {
    /// Ids of all members of the family and of all threads of `interpreter`.
    pub fn take(&mut self, family: &Family, interpreter: u32) -> HashSet<u32> {
        let mut met = Vec::new();
        let members = family.members_by(|pid| {
            met.push(pid);
            self.children(pid)
        });
        self.processes.retain(|pid, _| met.contains(pid));
        let mut found = HashSet::from_iter(members);
        match self.processes.get(&interpreter) {
            Some(threads) => found.extend(threads.lists.keys()),
            None => found.extend(tree::threads(interpreter)),
        }
        found
    }

    fn children(&mut self, pid: u32) -> Vec<u32> {
        let others = self.processes.iter().filter(|(other, _)| **other != pid);
        let room = MOST_OPEN.saturating_sub(others.map(|(_, one)| one.open()).sum());
        let threads = self.processes.entry(pid).or_insert_with(|| Threads::of(pid));
        if let Some(children) = threads.children(room) {
            return children;
        }
        // The process has ended and its number may be another's, or its threads need too many open files.
        self.processes.remove(&pid);
        tree::children(pid)
    }
}

impl Threads {
    fn of(pid: u32) -> Threads {
        Threads { pid, ..Threads::default() }
    }

    /// How many files this keeps open.
    fn open(&self) -> usize {
        self.lists.len() + usize::from(self.folder.is_some())
    }

    /// The children of all threads; `None` if they cannot be read, or not with at most `room` open files.
    fn children(&mut self, room: usize) -> Option<Vec<u32>> {
        if room < 2 || !self.find(room - 1) {
            return None;
        }
        let mut found = Vec::new();
        for list in self.lists.values() {
            let mut bytes = [0; MOST_LISTED];
            let read = list.read_at(&mut bytes, 0).ok().filter(|read| *read < MOST_LISTED)?;
            let text = std::str::from_utf8(&bytes[..read]).ok()?;
            for child in text.split_ascii_whitespace() {
                found.push(child.parse().ok()?);
            }
        }
        Some(found)
    }

    /// Finds new threads and forgets those that are gone; returns whether that worked with at most `most` threads.
    fn find(&mut self, most: usize) -> bool {
        let path = format!("/proc/{}/task", self.pid);
        let folder = match &mut self.folder {
            Some(folder) => folder,
            None => match open_folder(&path) {
                Ok(folder) => self.folder.insert(folder),
                Err(_) => return false,
            },
        };
        // A thread directory has two links of its own and one for each thread. A single thread is the main
        // thread, whose list is open already.
        let Ok(found) = folder.stat() else { return false };
        if found.st_nlink == 3 && self.lists.len() == 1 && self.lists.contains_key(&self.pid) {
            return true;
        }
        folder.rewind();
        let mut lists = HashMap::new();
        for entry in folder.by_ref() {
            let Ok(entry) = entry else { return false };
            let Some(id) = entry.file_name().to_str().ok().and_then(|name| name.parse().ok())
            else {
                continue;
            };
            if lists.len() == most {
                return false;
            }
            let list = match self.lists.remove(&id) {
                Some(list) => list,
                None => match File::open(format!("{path}/{id}/children")) {
                    Ok(list) => list,
                    Err(error) if error.kind() == ErrorKind::NotFound => continue,
                    Err(_) => return false,
                },
            };
            lists.insert(id, list);
        }
        self.lists = lists;
        !self.lists.is_empty()
    }
}

fn open_folder(path: &str) -> rustix::io::Result<Dir> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    Dir::new(rustix::fs::open(path, flags, Mode::empty())?)
}

#[cfg(test)]
#[path = "census_tests.rs"]
mod tests;
