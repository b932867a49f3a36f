//! The processes of a session and the threads of its interpreter, between two evals.
//!
//! They are listed for every eval, so it has to cost little. The files in `/proc` stay open: reading one
//! again takes a single system call, where opening it takes a walk through a path. The whole tree is walked
//! only if there is more than an interpreter and its threads.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::ErrorKind;
use std::os::unix::fs::FileExt;

use rustix::fs::{Dir, Mode, OFlags};

use crate::process::family::Family;
use crate::process::tree;

/// If there are more threads than this, they are not kept track of one by one.
const MOST_THREADS: usize = 64;

/// How many bytes of a list of children are read. Copies of the interpreter stand in it, too.
const MOST_LISTED: usize = 512;

/// Looks at the interpreter of one session.
#[derive(Debug, Default)]
pub struct Census {
    root: Threads,
    interpreter: Threads,
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
        let only = [interpreter];
        if let Some(root) = family.root()
            && self.root.look(root, &only, family)
            && self.interpreter.look(interpreter, &[], family)
        {
            return self.interpreter.lists.keys().copied().collect();
        }
        family.members().into_iter().chain(tree::threads(interpreter)).collect()
    }
}

impl Threads {
    /// Looks at all threads. Returns whether their children are exactly these and processes apart from the
    /// family.
    fn look(&mut self, pid: u32, children: &[u32], family: &Family) -> bool {
        if self.pid != pid {
            *self = Threads { pid, ..Threads::default() };
        }
        self.find() && self.lists.len() <= MOST_THREADS && self.have(children, family)
    }

    /// Finds new threads and forgets those that are gone; returns whether that worked.
    fn find(&mut self) -> bool {
        let path = format!("/proc/{}/task", self.pid);
        let folder = match &mut self.folder {
            Some(folder) => folder,
            None => match open_folder(&path) {
                Ok(folder) => self.folder.insert(folder),
                Err(_) => return false,
            },
        };
        // A thread directory has two links, and one for each thread. If there is only one thread, it is known
        // which.
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

    fn have(&self, children: &[u32], family: &Family) -> bool {
        let mut found = 0;
        for list in self.lists.values() {
            let mut bytes = [0; MOST_LISTED];
            let Ok(read) = list.read_at(&mut bytes, 0) else { return false };
            let Ok(text) = std::str::from_utf8(&bytes[..read]) else { return false };
            for child in text.split_ascii_whitespace() {
                let Ok(child) = child.parse() else { return false };
                if read == bytes.len() {
                    return false;
                }
                if children.contains(&child) {
                    found += 1;
                } else if !family.is_apart(child) {
                    return false;
                }
            }
        }
        found == children.len()
    }
}

fn open_folder(path: &str) -> rustix::io::Result<Dir> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    Dir::new(rustix::fs::open(path, flags, Mode::empty())?)
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};
    use std::sync::mpsc::channel;

    use super::*;

    /// What a census finds is what a walk of the tree finds, in whatever order things come and go.
    #[test]
    fn e6_threads_and_children_are_seen_when_they_come_and_when_they_go() {
        let own = std::process::id();
        let ours = Family::below_us(None);
        let mut child = Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
        let below = Family::below(child.id(), None);
        let mut census = Census::default();
        let all = |below: u32| -> HashSet<u32> {
            Family::below(below, None).members().into_iter().chain(tree::threads(below)).collect()
        };
        assert!(census.take(&ours, child.id()).contains(&child.id()));
        for _ in 0..3 {
            assert_eq!(census.take(&below, child.id()), all(child.id()));
        }
        let mut threads = Threads::default();
        assert!(!threads.look(own, &[], &ours), "a child of ours is not seen");
        assert!(threads.lists.contains_key(&own));
        let (stop, stopped) = channel::<()>();
        let (tell, told) = channel();
        let thread = std::thread::spawn(move || {
            let child = Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
            tell.send((rustix::thread::gettid().as_raw_nonzero().get() as u32, child.id()))
                .unwrap();
            stopped.recv().unwrap_err();
            let mut child = child;
            drop(child.stdin.take());
            child.wait().unwrap();
        });
        let (id, of_thread) = told.recv().unwrap();
        assert!(!threads.look(own, &[child.id()], &ours));
        assert!(threads.lists.contains_key(&id));
        assert!(census.take(&ours, child.id()).contains(&of_thread));
        drop(stop);
        thread.join().unwrap();
        assert!(!threads.look(own, &[of_thread], &ours));
        assert!(!census.take(&ours, child.id()).contains(&of_thread));
        drop(child.stdin.take());
        child.wait().unwrap();
        assert!(!census.take(&ours, child.id()).contains(&child.id()));
    }
}
