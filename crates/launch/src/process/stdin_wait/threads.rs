//! The call that a thread is blocked in, with the parts of it that are in its process's memory.

use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::FileExt;

use super::PipeId;
use super::calls::{Abi, SyscallLine, SystemCall, WaitLimit, decode, decode_restarted};
use super::descriptors::members;
use crate::process::proc_file::ProcLine;

/// Most descriptors of one call that are looked at.
const MOST: u64 = 1024;
/// A wait this long counts as endless: some event loops write an endless wait as a very long one.
const FAR_MILLIS: u64 = 86_000_000;

/// A thread's state letter.
pub(super) fn state(pid: u32, tid: u32) -> Option<u8> {
    let stat = ProcLine::read(&format!("/proc/{pid}/task/{tid}/stat")).ok()?;
    stat.after_name()?.first().copied()
}

/// Whether a thread in this state does nothing until a signal comes, or never again.
pub(super) fn is_still(state: u8) -> bool {
    matches!(state, b'T' | b't' | b'Z' | b'X')
}

/// The system call that a thread is in.
#[derive(Debug, Clone, Copy)]
pub(super) enum ThreadCall {
    /// It runs, or the kernel does not tell.
    Unknown,
    In(SystemCall, Abi),
}

pub(super) fn now(pid: u32, tid: u32) -> ThreadCall {
    let text = fs::read_to_string(format!("/proc/{pid}/task/{tid}/syscall")).unwrap_or_default();
    let (Some(line), Some(mut abi)) = (SyscallLine::parse(&text), Abi::NATIVE) else {
        return ThreadCall::Unknown;
    };
    if line.is_low() && abi == Abi::X86_64 && is_32_bit(pid) {
        abi = Abi::I386;
    }
    let call = match decode(line, abi) {
        SystemCall::Restarted { arguments } => {
            let sleeps_in = fs::read_to_string(format!("/proc/{pid}/task/{tid}/wchan"));
            decode_restarted(arguments, &sleeps_in.unwrap_or_default())
        }
        call => call,
    };
    ThreadCall::In(call, abi)
}

fn is_32_bit(pid: u32) -> bool {
    let mut head = [0; 5];
    let read = File::open(format!("/proc/{pid}/exe")).and_then(|mut exe| exe.read_exact(&mut head));
    read.is_ok() && head == *b"\x7fELF\x01"
}

/// Whether the thread's call waits for the pipe; if so, whether it polls.
pub(super) fn listens(pid: u32, tid: u32, pipe: PipeId) -> Option<bool> {
    let ThreadCall::In(call, abi) = now(pid, tid) else { return None };
    match call {
        SystemCall::Read { fd } => pipe.is(pid, fd).then_some(false),
        SystemCall::Poll { .. } | SystemCall::Select { .. } => {
            let watched = watched(pid, call, abi)?;
            watched.iter().any(|watch| watch.input && pipe.is(pid, watch.fd)).then_some(true)
        }
        SystemCall::Epoll { fd, .. } => {
            members(pid, fd).iter().any(|member| member.is(pid, pipe)).then_some(true)
        }
        _ => None,
    }
}

/// A descriptor in a call, and what it is watched for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct WatchedFile {
    pub(super) fd: u64,
    pub(super) input: bool,
    pub(super) output: bool,
}

/// The descriptors of a poll or select; `None` if they cannot be read.
pub(super) fn watched(pid: u32, call: SystemCall, abi: Abi) -> Option<Vec<WatchedFile>> {
    match call {
        SystemCall::Poll { at, count, .. } => {
            let bytes = memory(pid, at, count.min(MOST) as usize * 8)?;
            Some(poll_set(&bytes))
        }
        SystemCall::Select { count, read, write, .. } => {
            let count = count.min(MOST);
            let bits = |at: u64| match at {
                0 => Some(Vec::new()),
                at => memory(pid, at, (count as usize).div_ceil(abi.word() * 8) * abi.word()),
            };
            Some(select_set(count, &bits(read)?, &bits(write)?))
        }
        _ => None,
    }
}

/// Reads `struct pollfd { int fd; short events; short revents; }`.
fn poll_set(bytes: &[u8]) -> Vec<WatchedFile> {
    let entry = |entry: &[u8]| {
        let fd = i32::from_ne_bytes([entry[0], entry[1], entry[2], entry[3]]);
        let events = i16::from_ne_bytes([entry[4], entry[5]]);
        let input = events & (libc::POLLIN | libc::POLLPRI | libc::POLLRDHUP) != 0;
        let output = events & libc::POLLOUT != 0;
        Some(WatchedFile { fd: u64::try_from(fd).ok()?, input, output })
    };
    bytes.chunks_exact(8).filter_map(entry).collect()
}

fn select_set(count: u64, read: &[u8], write: &[u8]) -> Vec<WatchedFile> {
    let is_in = |set: &[u8], fd: u64| {
        set.get(fd as usize / 8).is_some_and(|byte| byte & (1 << (fd % 8)) != 0)
    };
    (0..count)
        .map(|fd| WatchedFile { fd, input: is_in(read, fd), output: is_in(write, fd) })
        .filter(|watch| watch.input || watch.output)
        .collect()
}

/// Whether a wait ends by itself within the time that counts.
pub(super) fn is_limited(pid: u32, limit: WaitLimit) -> bool {
    let millis = match limit {
        WaitLimit::None => return false,
        WaitLimit::Millis(millis) => millis,
        WaitLimit::Memory { at, wide, micros } => {
            let word = if wide { 8 } else { 4 };
            // A time that cannot be read may be short.
            let Some(bytes) = memory(pid, at, 2 * word) else { return true };
            time(&bytes, word, micros)
        }
    };
    millis < FAR_MILLIS
}

fn time(bytes: &[u8], word: usize, micros: bool) -> u64 {
    let number = |bytes: &[u8]| match <[u8; 8]>::try_from(bytes) {
        Ok(bytes) => u64::from_ne_bytes(bytes),
        Err(_) => <[u8; 4]>::try_from(bytes).map_or(0, u32::from_ne_bytes).into(),
    };
    let (seconds, rest) = (number(&bytes[..word]), number(&bytes[word..]));
    let rest = if micros { rest / 1_000 } else { rest / 1_000_000 };
    seconds.saturating_mul(1_000).saturating_add(rest)
}

fn memory(pid: u32, at: u64, len: usize) -> Option<Vec<u8>> {
    let mut bytes = vec![0; len];
    File::open(format!("/proc/{pid}/mem")).ok()?.read_exact_at(&mut bytes, at).ok()?;
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_poll_set_tells_what_each_descriptor_is_watched_for() {
        let mut bytes = Vec::new();
        for (fd, events) in [(0_i32, libc::POLLIN), (-1, libc::POLLIN), (4, libc::POLLOUT), (5, 0)]
        {
            bytes.extend(fd.to_ne_bytes());
            bytes.extend(events.to_ne_bytes());
            bytes.extend([0, 0]);
        }
        let watch = |fd, input, output| WatchedFile { fd, input, output };
        let wanted = [watch(0, true, false), watch(4, false, true), watch(5, false, false)];
        assert_eq!(poll_set(&bytes), wanted);
    }

    #[test]
    fn bits_beyond_the_count_do_not_matter() {
        let set = select_set(10, &[1, 0b110, 0xff], &[]);
        let fds: Vec<u64> = set.iter().map(|watch| watch.fd).collect();
        assert_eq!(fds, [0, 9]);
    }

    #[test]
    fn times_of_both_widths_are_milliseconds() {
        let mut wide = 2_u64.to_ne_bytes().to_vec();
        wide.extend(500_000_000_u64.to_ne_bytes());
        assert_eq!(time(&wide, 8, false), 2_500);
        let mut narrow = 1_u32.to_ne_bytes().to_vec();
        narrow.extend(250_000_u32.to_ne_bytes());
        assert_eq!(time(&narrow, 4, true), 1_250);
    }
}
