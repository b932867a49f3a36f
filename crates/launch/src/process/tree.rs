//! Processes as the kernel shows them: looking at one, finding those below it, signalling them.
//!
//! The root of a session is a child subreaper, so whatever its interpreter started, however it detached itself,
//! is below it. A process group would miss everything that called setsid.

use std::collections::HashSet;
use std::fs;

use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitOptions, kill_process, wait};

use crate::process::proc_file::ProcLine;
use crate::sys;

/// How often new processes are searched for while others are killed.
pub(super) const ROUNDS: usize = 50;

/// A process as one look at it showed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Process {
    /// Its id.
    pub pid: u32,
    /// Its state letter: `R`, `S`, `T`, `Z`.
    pub state: u8,
    /// Its parent's id.
    pub parent: u32,
    /// Its process group.
    pub group: u32,
    /// When it began, in clock ticks since boot.
    pub start_ticks: u64,
    /// CPU time used, in clock ticks.
    pub cpu_ticks: u64,
    /// Resident memory, in pages.
    pub resident_pages: u64,
    /// Whether it is on its way out. Right after a kill this may not be told yet: see [`Process::is_dying`].
    ending: bool,
}

impl Process {
    /// Whether it was killed or is ending by itself, and is not gone yet.
    pub fn is_dying(&self) -> bool {
        // The first thing that a killed process does is to take the signal from its thread's list; its flags tell
        // of the end only later, and on a busy machine another process may run in between. The list that its
        // threads share keeps the signal all the while. Only a process that runs or waits for the kernel itself
        // can be at that point, so that the others, which are most, cost no second look.
        self.ending || matches!(self.state, b'R' | b'D') && self.was_killed()
    }

    /// Whether it has been sent a kill, or is gone meanwhile. A system that does not tell of shared signals tells of
    /// no kill.
    fn was_killed(&self) -> bool {
        let Ok(status) = status(self.pid) else { return true };
        signals(&status, "ShdPnd:") & KILL_PENDING != 0
    }
}

/// Set in a process's flags from the moment that it begins to end.
const PF_EXITING: u64 = 4;
/// SIGKILL among the pending signals of a process; the kernel sets it for each thread of a killed process.
const KILL_PENDING: u64 = 1 << (libc::SIGKILL - 1);

/// The parent of a process, the parent of that one, and so on.
pub fn ancestors(pid: u32) -> impl Iterator<Item = u32> {
    let parent = |pid: &u32| look(*pid).map(|process| process.parent).filter(|parent| *parent > 1);
    std::iter::successors(parent(&pid), parent)
}

/// Looks at one process or thread.
pub fn look(pid: u32) -> Option<Process> {
    let stat = ProcLine::read(&format!("/proc/{pid}/stat")).ok()?;
    let fields: Vec<&str> = std::str::from_utf8(stat.after_name()?).ok()?.split(' ').collect();
    let number =
        |nth: usize| fields.get(nth - 3).and_then(|field| field.trim().parse::<u64>().ok());
    Some(Process {
        pid,
        state: *fields.first()?.as_bytes().first()?,
        parent: number(4)? as u32,
        group: number(5)? as u32,
        start_ticks: number(22)?,
        cpu_ticks: number(14)? + number(15)?,
        resident_pages: number(24)?,
        ending: number(9)? & PF_EXITING != 0 || number(31)? & KILL_PENDING != 0,
    })
}

/// When a process began, unless it has ended. A process whose first thread has ended may live on in other threads.
pub(super) fn alive_since(pid: u32) -> Option<u64> {
    let process = look(pid)?;
    let ended = matches!(process.state, b'Z' | b'X') && threads(pid).len() <= 1;
    (!ended).then_some(process.start_ticks)
}

/// The process that an entry of `/proc` stands for.
pub(super) fn numbered(entry: std::io::Result<fs::DirEntry>) -> Option<u32> {
    entry.ok()?.file_name().to_str()?.parse().ok()
}

/// A process's name, also of one that has ended and was not waited for.
pub fn name(pid: u32) -> Option<String> {
    fs::read_to_string(format!("/proc/{pid}/comm")).ok()
}

/// The words a process was started with, at most 200 characters of them; none of one that has ended.
pub fn command_line(pid: u32) -> Option<String> {
    let words = fs::read(format!("/proc/{pid}/cmdline")).ok()?;
    let text = String::from_utf8_lossy(&words).replace('\0', " ");
    let text: String = text.trim().chars().take(200).collect();
    (!text.is_empty()).then_some(text)
}

/// Ids of all processes below `root`, parents before children, without `root` itself, the processes that
/// `skip` names and all below them. `children` tells the children of a process.
pub(super) fn walk(
    root: u32,
    mut children: impl FnMut(u32) -> Vec<u32>,
    skip: impl Fn(u32) -> bool,
) -> Vec<u32> {
    let mut found = children(root);
    found.retain(|pid| !skip(*pid));
    let mut next = 0;
    while let Some(&pid) = found.get(next) {
        found.extend(children(pid).into_iter().filter(|pid| !skip(*pid)));
        next += 1;
    }
    found
}

/// Children of a process, ended ones included, whichever of its threads started them.
pub fn children(pid: u32) -> Vec<u32> {
    let mut into = Vec::new();
    let Ok(tasks) = fs::read_dir(format!("/proc/{pid}/task")) else { return into };
    for task in tasks.flatten() {
        let Ok(list) = fs::read_to_string(task.path().join("children")) else { continue };
        into.extend(list.split_ascii_whitespace().filter_map(|pid| pid.parse::<u32>().ok()));
    }
    into
}

/// Ids of a process's threads, its main one included.
pub fn threads(pid: u32) -> Vec<u32> {
    let Ok(tasks) = fs::read_dir(format!("/proc/{pid}/task")) else { return Vec::new() };
    tasks.flatten().filter_map(|task| task.file_name().to_str()?.parse().ok()).collect()
}

/// Sends a signal to one process; whether it was there.
pub fn signal(pid: u32, signal: Signal) -> bool {
    Pid::from_raw(pid as i32).is_some_and(|pid| kill_process(pid, signal).is_ok())
}

/// Whether there is a process with that number, alive or not.
pub fn is_there(pid: u32) -> bool {
    Pid::from_raw(pid as i32)
        .is_some_and(|pid| rustix::process::test_kill_process(pid) != Err(Errno::SRCH))
}

/// Sends a signal to the main thread of a process, so that no other thread takes it late.
pub fn signal_main_thread(pid: u32, signal: Signal) -> bool {
    sys::signal_main_thread(pid, signal)
}

/// Whether a process ignores a signal now.
pub fn ignores(pid: u32, signal: Signal) -> bool {
    is_in_mask(pid, "SigIgn:", signal)
}

/// Whether a signal would do to a process now what it does by default.
pub fn is_default(pid: u32, signal: Signal) -> bool {
    !is_in_mask(pid, "SigIgn:", signal) && !is_in_mask(pid, "SigCgt:", signal)
}

/// Whether a process has a handler for a signal now.
pub fn catches(pid: u32, signal: Signal) -> bool {
    is_in_mask(pid, "SigCgt:", signal)
}

fn is_in_mask(pid: u32, mask: &str, signal: Signal) -> bool {
    status(pid).is_ok_and(|status| signals(&status, mask) & (1 << (signal.as_raw() - 1)) != 0)
}

/// What the kernel says of a process, a line for each thing.
fn status(pid: u32) -> std::io::Result<String> {
    fs::read_to_string(format!("/proc/{pid}/status"))
}

/// The signals in one of the masks of a status; none if it has no such mask.
fn signals(status: &str, mask: &str) -> u64 {
    let mask = status.lines().find_map(|line| line.strip_prefix(mask));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or_default()
}

/// Whether a stopped process was just changing the effect of a signal.
pub fn is_changing_signals(pid: u32) -> bool {
    let call = fs::read_to_string(format!("/proc/{pid}/syscall")).unwrap_or_default();
    let number = call.split_ascii_whitespace().next().and_then(|word| word.parse::<i64>().ok());
    number == Some(libc::SYS_rt_sigaction)
}

/// A child of this process that has ended and was not waited for, so that it can still be looked at.
pub fn ended_child() -> Option<u32> {
    sys::ended_child()
}

/// Kills the processes that `find` returns, and asks again until there is no new one: a killed process may
/// just have started another. Returns how many it killed. Does not wait for their ends.
pub fn kill_all(mut find: impl FnMut() -> Vec<u32>) -> usize {
    let (mut seen, mut killed) = (HashSet::new(), 0);
    // The bound is for a process that makes others faster than they are found.
    for _ in 0..ROUNDS {
        let found: Vec<_> = find().into_iter().map(|pid| (pid, look(pid))).collect();
        // The kernel may leave out a child whose sibling is collected while it lists them.
        let whole = found.iter().all(|(_, process)| process.is_some());
        let fresh: Vec<u32> = found
            .into_iter()
            .filter(|(pid, process)| {
                !seen.contains(pid) && process.is_some_and(|process| process.state != b'Z')
            })
            .map(|(pid, _)| pid)
            .collect();
        if fresh.is_empty() && whole {
            break;
        }
        for pid in fresh {
            killed += usize::from(signal(pid, Signal::KILL));
            seen.insert(pid);
        }
    }
    killed
}

/// Collects a child of this process that has ended; returns whether there was one.
pub(super) fn reap_one() -> bool {
    matches!(wait(WaitOptions::NOHANG), Ok(Some(_)) | Err(Errno::INTR))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::family::Family;

    fn descendants(root: u32) -> Vec<u32> {
        Family::below(root, None).members()
    }

    #[test]
    fn a_look_at_oneself_tells_state_and_memory() {
        let own = look(std::process::id()).unwrap();
        assert!(matches!(own.state, b'R' | b'S' | b'D'));
        assert!(own.resident_pages > 0 && own.start_ticks > 0);
        assert!(!own.is_dying());
        assert!(look(u32::MAX >> 1).is_none());
    }

    #[test]
    fn s9_a_status_without_a_mask_tells_of_no_signal() {
        assert_eq!(
            signals("SigPnd:\t0000000000000100\nShdPnd:\t0000000000000200\n", "ShdPnd:"),
            0x200
        );
        assert_eq!(signals("Name:\tstead\nState:\tR (running)\n", "ShdPnd:"), 0);
    }

    #[test]
    fn s9_what_was_killed_and_not_waited_for_is_dying() {
        let is_dying = |pid| look(pid).is_some_and(|process| process.is_dying());
        // Often, as the moment at which only the shared list of signals tells of the kill is a short one.
        for _ in 0..300 {
            let mut child = shell("echo up; read a");
            assert!(!is_dying(child.id()));
            child.kill().unwrap();
            // From the moment of the kill on, however long its end takes.
            for _ in 0..20 {
                assert!(is_dying(child.id()));
            }
            child.wait().unwrap();
            assert!(!is_dying(child.id()));
        }
    }

    /// A shell that has said `up`.
    fn shell(script: &str) -> std::process::Child {
        let mut child = std::process::Command::new("sh")
            .args(["-c", script])
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let mut out = std::io::BufReader::new(child.stdout.take().unwrap());
        std::io::BufRead::read_line(&mut out, &mut line).unwrap();
        assert_eq!(line, "up\n");
        child
    }

    #[test]
    fn an_ignored_signal_is_known() {
        let mut child = shell("trap '' INT; echo up; read a");
        assert!(ignores(child.id(), Signal::INT));
        assert!(!ignores(child.id(), Signal::TERM));
        child.kill().unwrap();
        child.wait().unwrap();
    }

    #[test]
    fn grandchildren_are_descendants() {
        let mut child = shell("sleep 600 & echo up; wait");
        assert!(descendants(std::process::id()).contains(&child.id()));
        let below = descendants(child.id());
        assert_eq!(below.len(), 1);
        assert!(signal(below[0], Signal::KILL));
        child.wait().unwrap();
    }

    #[test]
    fn e6_children_that_ignore_an_interrupt_are_killed_with_theirs() {
        let mut child = shell("trap '' INT; sh -c 'sleep 600 & echo up; wait'; sleep 600");
        let (root, own) = (child.id(), std::process::id());
        let below = || {
            descendants(own).into_iter().filter(|&pid| {
                pid == root
                    || look(pid).is_some_and(|process| descendants(root).contains(&process.pid))
            })
        };
        assert_eq!(kill_all(|| below().collect()), 3);
        child.wait().unwrap();
    }
}
