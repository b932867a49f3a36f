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
mod tests {
    use std::process::{Child, Command, Stdio};
    use std::sync::mpsc::channel;

    use super::*;

    /// A program that ends with its standard input.
    fn cat() -> Child {
        Command::new("cat").stdin(Stdio::piped()).spawn().unwrap()
    }

    fn end(mut child: Child) {
        drop(child.stdin.take());
        child.wait().unwrap();
    }

    /// Other tests start and end processes below us meanwhile, so only our own are looked for.
    #[test]
    fn e6_threads_and_children_are_seen_when_they_come_and_when_they_go() {
        let (ours, child) = (Family::below_us(None), cat());
        let mut census = Census::default();
        for _ in 0..3 {
            let alone = census.take(&Family::below(child.id(), None), child.id());
            assert_eq!(alone, HashSet::from([child.id()]));
        }
        assert!(census.take(&ours, child.id()).contains(&child.id()));
        let (stop, stopped) = channel::<()>();
        let (tell, told) = channel();
        let thread = std::thread::spawn(move || {
            let child = cat();
            tell.send((rustix::thread::gettid().as_raw_nonzero().get() as u32, child.id()))
                .unwrap();
            stopped.recv().unwrap_err();
            end(child);
        });
        let (id, of_thread) = told.recv().unwrap();
        for _ in 0..2 {
            assert!(census.take(&ours, child.id()).contains(&of_thread));
        }
        assert!(census.take(&ours, std::process::id()).contains(&id));
        drop(stop);
        thread.join().unwrap();
        // A thread is joined a moment before the kernel lists it no longer.
        while census.take(&ours, std::process::id()).contains(&id) {
            std::thread::yield_now();
        }
        assert!(!census.take(&ours, child.id()).contains(&of_thread));
        let gone = child.id();
        end(child);
        assert!(!census.take(&ours, gone).contains(&gone));
        assert!(
            !census.processes.contains_key(&of_thread) && !census.processes.contains_key(&gone)
        );
    }

    #[test]
    fn e6_of_more_processes_than_files_may_stay_open_all_are_seen() {
        let mut shell = Command::new("sh")
            .args(["-c", "exec 3<&0; for i in $(seq 120); do cat <&3 & done; echo up; wait"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let mut out = std::io::BufReader::new(shell.stdout.take().unwrap());
        std::io::BufRead::read_line(&mut out, &mut line).unwrap();
        let (family, mut census) = (Family::below(shell.id(), None), Census::default());
        for _ in 0..3 {
            assert_eq!(census.take(&family, shell.id()).len(), 121);
            let open: usize = census.processes.values().map(Threads::open).sum();
            assert!(open <= MOST_OPEN);
        }
        end(shell);
    }
}
