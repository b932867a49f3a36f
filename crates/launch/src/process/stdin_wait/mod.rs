//! Which threads of a process tree are blocked on reading one pipe, and whether anything but input
//! can let them go on.
//!
//! Every thread's `/proc/P/task/T/syscall` names the call it sits in and its arguments. Comparing
//! the pipe's inode instead of the number 0 also finds duplicates. Nothing is guessed from
//! output or time; a program that polls without blocking is the one kind that cannot be seen.

mod calls;
mod collect;
mod decide;
mod descriptors;
mod diag;
mod facts;
mod threads;

use std::fs;
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;

pub use decide::{WaitAnswer, WaitDoubt};

use crate::process::family::Family;

/// A thread that reads the pipe.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct InputReader {
    /// Its process.
    pub pid: u32,
    /// The thread.
    pub tid: u32,
    /// It waits for the pipe and maybe for other things too, as an event loop does.
    pub polls: bool,
}

/// Identity of a pipe, the same for every descriptor of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PipeId {
    dev: u64,
    ino: u64,
}

impl PipeId {
    /// The pipe behind a descriptor of ours.
    pub fn of(fd: impl AsFd) -> std::io::Result<PipeId> {
        let stat = rustix::fs::fstat(fd)?;
        Ok(PipeId { dev: stat.st_dev, ino: stat.st_ino })
    }

    fn is(self, pid: u32, fd: u64) -> bool {
        fs::metadata(format!("/proc/{pid}/fd/{fd}"))
            .is_ok_and(|meta| meta.dev() == self.dev && meta.ino() == self.ino)
    }
}

/// The session that a look is about.
#[derive(Debug, Clone, Copy)]
pub struct InputSession<'a> {
    /// Its processes.
    pub family: &'a Family,
    /// The process whose main thread runs the eval.
    pub interpreter: u32,
    /// The session's input.
    pub pipe: PipeId,
    /// Whether the bridge says that no timer of the user's is set in the main thread's event loop.
    pub no_timers: bool,
}

/// All threads of these processes that are blocked on the pipe.
pub fn readers(pids: impl IntoIterator<Item = u32>, pipe: PipeId) -> Vec<InputReader> {
    let mut found = Vec::new();
    for pid in pids {
        for tid in crate::process::tree::threads(pid) {
            if let Some(polls) = waits_for(pid, tid, pipe) {
                found.push(InputReader { pid, tid, polls });
            }
        }
    }
    found
}

/// Whether the kernel lets us see what the process does; not so if it made itself undumpable or a
/// security module forbids it.
pub fn is_visible(pid: u32) -> bool {
    fs::read(format!("/proc/{pid}/syscall")).is_ok()
}

/// Whether this thread sits in a call that waits for the pipe; if so, whether it polls.
pub fn waits_for(pid: u32, tid: u32, pipe: PipeId) -> Option<bool> {
    let polls = threads::listens(pid, tid, pipe)?;
    // A stopped thread still shows its call, but does not go on when input comes.
    (!threads::is_still(threads::state(pid, tid)?)).then_some(polls)
}

/// Whether each of these readers waits for input; if the main thread reads, it alone is returned. Threads for
/// which `is_elder` holds were left behind by earlier evals: what they do is not the running eval's affair.
pub fn judge(
    session: InputSession<'_>,
    pids: &[u32],
    readers: &[InputReader],
    is_elder: impl Fn(u32) -> bool,
) -> Vec<(InputReader, WaitAnswer)> {
    let main = |reader: &&InputReader| reader.tid == session.interpreter && !reader.polls;
    // If the main thread reads, the program waits, whatever its other threads do.
    if let Some(reader) = readers.iter().find(main) {
        return vec![(*reader, WaitAnswer::Waits)];
    }
    let scene = collect::scene(session, pids, is_elder);
    let verdict = decide::WaitVerdict::new(&scene);
    readers.iter().map(|reader| (*reader, verdict.of(reader.pid, reader.tid))).collect()
}
