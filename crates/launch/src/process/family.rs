//! All processes of a session, and the end of them.
//!
//! Three things tell that a process belongs: it is below the host or its guard, it carries the
//! session's mark, or its environment holds the session's tag. What carries the mark of another
//! session is that session's affair, wherever it stands: it was started from inside this one.

use std::collections::HashMap;
use std::fs;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{
    Pid, PidfdFlags, Signal, getpgrp, kill_process_group, pidfd_open, pidfd_send_signal,
};

use crate::process::mark::{Mark, Role};
use crate::process::tree;

/// After so many passes whole process groups are killed: what forks and exits all the time is
/// gone before it is hit by its own number, but it takes its group along.
const PASSES_ONE_BY_ONE: u32 = 4;

/// How the processes of a session are known.
#[derive(Debug, Clone)]
pub struct Family {
    mark: Option<Mark>,
    tag: Option<String>,
    below_us: bool,
}

/// A process that was found, and when it began: its number alone may soon be another's.
type Found = HashMap<u32, u64>;

impl Family {
    /// The family of the session whose host or first guard this process is: a child subreaper, so
    /// that whatever is not marked is below it.
    pub fn below_us(mark: Option<Mark>) -> Family {
        Family { mark, tag: None, below_us: true }
    }

    /// What a session left behind whose host is gone.
    pub fn left_behind(mark: Option<Mark>, tag: &str) -> Family {
        Family { mark, tag: Some(tag.to_owned()), below_us: false }
    }

    /// The same, with what has fallen to this process.
    pub fn with_orphans(self) -> Family {
        Family { below_us: true, ..self }
    }

    /// Kills until nothing is left or `patience` is over; returns what is left.
    pub fn sweep(&self, patience: Duration) -> Vec<u32> {
        let deadline = Instant::now() + patience;
        for pass in 0.. {
            if self.below_us {
                tree::reap();
            }
            let mut killed = Killed::default();
            self.find_below(|pid, began| killed.kill(pid, began));
            // What is below us is caught before its like elsewhere is looked for: to look at all
            // processes takes longer than some live.
            if killed.is_empty() {
                self.find_anywhere(|pid, began| {
                    killed.kill(pid, began);
                    if pass >= PASSES_ONE_BY_ONE && Mark::of(pid).is_some() {
                        kill_group_of(pid);
                    }
                });
            }
            if killed.is_empty() && self.is_alone() {
                return killed.beyond_us;
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return self.find().into_keys().collect();
            }
            killed.wait(left);
        }
        Vec::new()
    }

    /// All that live now, this process aside.
    fn find(&self) -> Found {
        let mut found = Found::new();
        let mut add = |pid, began| {
            found.insert(pid, began);
        };
        self.find_below(&mut add);
        self.find_anywhere(&mut add);
        found
    }

    fn find_below(&self, mut each: impl FnMut(u32, u64)) {
        if !self.below_us {
            return;
        }
        for pid in tree::descendants(std::process::id()) {
            if let Some(began) = alive_since(pid) {
                each(pid, began);
            }
        }
    }

    fn find_anywhere(&self, mut each: impl FnMut(u32, u64)) {
        let own = std::process::id();
        let Ok(all) = fs::read_dir("/proc") else { return };
        for entry in all.flatten() {
            let name = entry.file_name();
            let Some(pid) = name.to_str().and_then(|name| name.parse::<u32>().ok()) else {
                continue;
            };
            if pid != own
                && self.holds(pid)
                && let Some(began) = alive_since(pid)
            {
                each(pid, began);
            }
        }
    }

    /// Whether a process carries the mark, or the tag and no other session's mark.
    fn holds(&self, pid: u32) -> bool {
        match (Mark::of(pid), &self.tag) {
            (Some((mark, Role::Family)), _) => Some(mark) == self.mark,
            (Some(_), _) | (None, None) => false,
            (None, Some(tag)) => fs::read(format!("/proc/{pid}/environ")).is_ok_and(|environ| {
                environ.split(|&b| b == 0).any(|variable| variable == tag.as_bytes())
            }),
        }
    }

    /// Whether no child is left but such as are apart. A look at all descendants can miss one whose
    /// parent ends meanwhile, but then that one is our child.
    fn is_alone(&self) -> bool {
        !self.below_us || tree::near_children(std::process::id()).is_empty()
    }
}

/// When a process began, unless it has ended. One whose first thread has ended may live on in others.
fn alive_since(pid: u32) -> Option<u64> {
    let process = tree::look(pid)?;
    let ended = matches!(process.state, b'Z' | b'X') && tree::threads(pid).len() <= 1;
    (!ended).then_some(process.start_ticks)
}

/// What one pass has killed, to wait for.
#[derive(Default)]
struct Killed {
    dying: Vec<OwnedFd>,
    /// What we may not kill, since it has become another user's.
    beyond_us: Vec<u32>,
}

impl Killed {
    fn kill(&mut self, pid: u32, began: u64) {
        let Some(number) = Pid::from_raw(pid as i32) else { return };
        let Ok(process) = pidfd_open(number, PidfdFlags::empty()) else { return };
        // The descriptor is this process's for good: look once more whose it is.
        if tree::look(pid).is_none_or(|process| process.start_ticks != began) {
            return;
        }
        match pidfd_send_signal(&process, Signal::KILL) {
            Ok(()) => self.dying.push(process),
            Err(Errno::PERM) => self.beyond_us.push(pid),
            Err(_) => {}
        }
    }

    fn is_empty(&self) -> bool {
        self.dying.is_empty()
    }

    /// Waits for the first to be gone. A dying process may not answer (a hung disk), so not long.
    fn wait(&self, left: Duration) {
        let at_most = Duration::from_millis(if self.dying.is_empty() { 1 } else { 50 }).min(left);
        let mut fds: Vec<PollFd<'_>> =
            self.dying.iter().map(|fd| PollFd::new(fd, PollFlags::IN)).collect();
        let timeout = Timespec { tv_sec: 0, tv_nsec: at_most.subsec_nanos() as _ };
        let _ = poll(&mut fds, Some(&timeout));
    }
}

/// Kills the group of a marked process. All in it are of the same family, because an interpreter
/// begins as the leader of a group and a session of its own.
fn kill_group_of(pid: u32) {
    let group = tree::look(pid).and_then(|process| Pid::from_raw(process.group as i32));
    if let Some(group) = group.filter(|group| *group != getpgrp()) {
        let _ = kill_process_group(group, Signal::KILL);
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader};
    use std::process::{Child, Command, Stdio};

    use super::*;
    use crate::sys::before_exec;

    const PATIENCE: Duration = Duration::from_secs(30);

    /// A marked shell that has said `up`, in a session of its own.
    fn marked(mark: Mark, script: &str) -> Child {
        let mut command = Command::new("sh");
        command.args(["-c", script]).stdin(Stdio::null()).stdout(Stdio::piped());
        before_exec(&mut command, move || {
            rustix::process::setsid()?;
            mark.take(Role::Family)
        });
        let mut child = command.spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line, "up\n");
        child
    }

    #[test]
    fn s9_what_carries_the_mark_is_swept_wherever_it_is_and_nothing_else() {
        let (mark, other) = (Mark::draw().unwrap(), Mark::draw().unwrap());
        let mut stranger = marked(other, "echo up; exec sleep 1000");
        let mut child = marked(
            mark,
            "env -i setsid sleep 1000 & (setsid sh -c 'sleep 1000 & sleep 1000' &) ; echo up; wait",
        );
        let family = Family::left_behind(Some(mark), "STEAD_TEST=no such tag");
        assert!(family.find().len() >= 3);
        assert!(family.sweep(PATIENCE).is_empty());
        assert!(family.find().is_empty());
        child.wait().unwrap();
        assert!(alive_since(stranger.id()).is_some(), "another session's process was killed");
        stranger.kill().unwrap();
        stranger.wait().unwrap();
    }

    #[test]
    fn s9_what_never_stays_is_swept_by_its_mark() {
        let mark = Mark::draw().unwrap();
        let hop = "hop() { hop & }; echo up; hop";
        let mut child = marked(mark, hop);
        child.wait().unwrap();
        let family = Family::left_behind(Some(mark), "STEAD_TEST=no such tag");
        assert!(family.sweep(PATIENCE).is_empty());
    }

    #[test]
    fn s9_a_tag_tells_what_has_no_mark() {
        let tag = format!("STEAD_TEST_FAMILY={}", std::process::id());
        let (name, value) = tag.split_once('=').unwrap();
        let mut child = Command::new("sleep").arg("1000").env(name, value).spawn().unwrap();
        let other = Mark::draw().unwrap();
        let mut nested = Command::new("sleep");
        before_exec(&mut nested, move || other.take(Role::Family));
        let mut nested = nested.arg("1000").env(name, value).spawn().unwrap();
        let family = Family::left_behind(Mark::draw(), &tag);
        // A program that has just been started shows its environment a moment later.
        while !family.holds(child.id()) {
            std::thread::yield_now();
        }
        assert!(family.sweep(PATIENCE).is_empty());
        child.wait().unwrap();
        assert!(alive_since(nested.id()).is_some(), "a session inside was taken for this one");
        nested.kill().unwrap();
        nested.wait().unwrap();
    }
}
