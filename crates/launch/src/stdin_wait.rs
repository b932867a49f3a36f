//! Which threads of a process tree are blocked on reading one pipe.
//!
//! Every thread's `/proc/P/task/T/syscall` names the call it sits in and its arguments. Comparing
//! the pipe's inode instead of the number 0 also finds duplicates. Nothing is guessed from
//! output or time; a program that polls without blocking is the one kind that cannot be seen.

use std::collections::HashSet;
use std::fs::{self, File};
use std::os::fd::AsFd;
use std::os::unix::fs::{FileExt, MetadataExt};

/// A thread that reads the pipe.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Reader {
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

/// All threads of these processes that are blocked on the pipe.
pub fn readers(pids: impl IntoIterator<Item = u32>, pipe: PipeId) -> Vec<Reader> {
    let mut found = Vec::new();
    for pid in pids {
        let Ok(tasks) = fs::read_dir(format!("/proc/{pid}/task")) else { continue };
        for task in tasks.flatten() {
            let Some(tid) = task.file_name().to_str().and_then(|tid| tid.parse().ok()) else {
                continue;
            };
            if let Some(polls) = waits_for(pid, tid, pipe) {
                found.push(Reader { pid, tid, polls });
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
    let text = fs::read_to_string(format!("/proc/{pid}/task/{tid}/syscall")).ok()?;
    // "running" while it runs; else the call's number and its six arguments.
    let mut words = text.split_ascii_whitespace();
    let call = words.next()?.parse::<i64>().ok()?;
    let hex = |word: &str| u64::from_str_radix(word.trim_start_matches("0x"), 16).ok();
    let arguments: Vec<u64> = words.take(6).filter_map(hex).collect();
    let argument = |nth: usize| arguments.get(nth).copied().unwrap_or_default();
    let (waits, polls) = match call {
        libc::SYS_read
        | libc::SYS_readv
        | libc::SYS_pread64
        | libc::SYS_preadv
        | libc::SYS_splice
        | libc::SYS_tee
        | libc::SYS_sendfile => {
            // sendfile's source is its second argument.
            let fd = if call == libc::SYS_sendfile { argument(1) } else { argument(0) };
            (pipe.is(pid, fd), false)
        }
        libc::SYS_poll | libc::SYS_ppoll => (polls(pid, argument(0), argument(1), pipe), true),
        libc::SYS_select | libc::SYS_pselect6 => {
            (selects(pid, argument(0), argument(1), pipe), true)
        }
        libc::SYS_epoll_wait | libc::SYS_epoll_pwait | libc::SYS_epoll_pwait2 => {
            (epolls(pid, argument(0), pipe), true)
        }
        _ => (false, false),
    };
    waits.then_some(polls)
}

fn memory(pid: u32, at: u64, len: usize) -> Option<Vec<u8>> {
    let mut bytes = vec![0; len];
    File::open(format!("/proc/{pid}/mem")).ok()?.read_exact_at(&mut bytes, at).ok()?;
    Some(bytes)
}

fn polls(pid: u32, at: u64, count: u64, pipe: PipeId) -> bool {
    // struct pollfd { int fd; short events; short revents; }
    let Some(fds) = memory(pid, at, (count as usize).min(1024) * 8) else { return false };
    fds.chunks_exact(8).any(|entry| {
        let fd = i32::from_ne_bytes([entry[0], entry[1], entry[2], entry[3]]);
        let events = i16::from_ne_bytes([entry[4], entry[5]]);
        fd >= 0 && events & libc::POLLIN != 0 && pipe.is(pid, fd as u64)
    })
}

fn selects(pid: u32, count: u64, read_set: u64, pipe: PipeId) -> bool {
    if read_set == 0 {
        return false;
    }
    let Some(bits) = memory(pid, read_set, (count as usize).min(1024).div_ceil(64) * 8) else {
        return false;
    };
    (0..count.min(1024))
        .filter(|fd| bits[*fd as usize / 8] & (1 << (fd % 8)) != 0)
        .any(|fd| pipe.is(pid, fd))
}

fn epolls(pid: u32, epoll: u64, pipe: PipeId) -> bool {
    let Ok(info) = fs::read_to_string(format!("/proc/{pid}/fdinfo/{epoll}")) else { return false };
    let watched: HashSet<u64> = info
        .lines()
        .filter_map(|line| line.strip_prefix("tfd:"))
        .filter_map(|rest| rest.split_ascii_whitespace().next()?.parse().ok())
        .collect();
    watched.into_iter().any(|fd| pipe.is(pid, fd))
}
