//! The end of a session's processes, in steps that are short enough for a loop with other things to do.

use std::collections::{HashSet, VecDeque};
use std::fs;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{
    Pid, PidfdFlags, Signal, getpgrp, kill_process_group, pidfd_open, pidfd_send_signal,
};

use crate::process::family::Family;
use crate::process::mark::Mark;
use crate::process::tree;

/// After this many passes whole process groups are killed: a process that forks and exits all the time is
/// gone before it is hit by its own pid, but its group can be hit.
const PASSES_ONE_BY_ONE: u32 = 4;
/// How long a step goes on. To look at one process takes some ten microseconds.
const STEP: Duration = Duration::from_millis(3);
/// How long to wait for killed processes to be gone, at first and at most: some die at once, some hang at a
/// disk.
const FIRST_PAUSE: Duration = Duration::from_millis(1);
const LONGEST_PAUSE: Duration = Duration::from_millis(50);
/// So many passes in a row may find nothing but processes that had just ended, before the family counts as gone.
/// They are short, since they look at new processes alone.
const MOST_UNSURE: u32 = 64;
/// So many passes in a row must find nothing: process numbers begin anew at some time, and a member that starts
/// a successor and ends is then not seen by a pass that has already gone by the successor's low number.
const CLEAN_PASSES: u32 = 2;
/// So many processes of the machine are listed at once.
const LISTED_AT_ONCE: usize = 1024;
/// So many killed processes are held by a descriptor, to be waited for.
const MOST_HELD: usize = 32;

/// A sweep under way.
#[derive(Debug)]
pub struct Sweep {
    family: Family,
    deadline: Instant,
    reach: Reach,
    /// How long one step goes on.
    budget: Duration,
    stage: PassStage,
    passes: u32,
    /// How many passes in a row were unsure.
    unsure: u32,
    /// How many passes in a row have found nothing and were sure of it.
    clean: u32,
    pass: Pass,
    /// The processes that this sweep has killed, by pid and start time: a pid alone may soon be another's.
    hit: HashSet<(u32, u64)>,
    /// The processes that the last pass and this one found to belong to others.
    strangers: Strangers,
    pause: Duration,
}

/// Where a sweep looks for members.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reach {
    /// Below the root alone.
    Below,
    /// Among all processes of the machine, too.
    Anywhere,
}

/// The result of a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Swept {
    /// No process is left.
    Done,
    /// Step again at that time, or when a child has ended.
    Again {
        /// When.
        at: Instant,
    },
    /// These processes do not die, or belong to another user by now.
    Left(Vec<u32>),
}

/// How far a pass has come. It can be interrupted after each process and continued later.
#[derive(Debug)]
enum PassStage {
    /// It has not begun.
    Fresh,
    /// It looks at these processes, which are below the root.
    Below(VecDeque<u32>),
    /// It looks at all processes of the machine.
    Anywhere(ProcessList),
}

/// A list of all processes of the machine, a part at a time.
#[derive(Debug)]
struct ProcessList {
    all: fs::ReadDir,
    /// Processes that were listed and not looked at yet; the last one is next.
    part: Vec<u32>,
}

/// Processes that belong to others. Most of them are there all the time, and are looked at last, if at all.
#[derive(Debug, Default)]
struct Strangers {
    before: HashSet<u32>,
    now: HashSet<u32>,
    treatment: Treatment,
}

/// What a pass does about processes that the pass before found to belong to others.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Treatment {
    /// It looks at them again, after the new ones.
    #[default]
    Last,
    /// It looks at new processes alone.
    Skipped,
}

/// What one pass over all processes has found.
#[derive(Debug, Default)]
struct Pass {
    /// How many processes it has killed.
    killed: usize,
    /// How many were killed in an earlier pass and are not gone.
    dying: usize,
    /// Descriptors of some processes that were killed, to wait for their ends.
    held: Vec<OwnedFd>,
    /// Processes that may not be killed, since they have become another user's.
    beyond_us: Vec<u32>,
    /// Whether a new process was listed and had ended before it was looked at. It may have been a member of
    /// the family that starts a successor and ends, again and again, and that successor was not seen.
    unsure: bool,
}

impl Sweep {
    /// Begins to kill a family; nothing is done before the first step.
    pub fn begin(family: Family, deadline: Instant) -> Sweep {
        Sweep::reaching(Reach::Anywhere, family, deadline)
    }

    /// Begins to kill what is below the root, without a look at all processes of the machine. Enough where the
    /// root has been there all the time and another sweep follows at the session's end.
    pub fn begin_below(family: Family, deadline: Instant) -> Sweep {
        Sweep::reaching(Reach::Below, family, deadline)
    }

    fn reaching(reach: Reach, family: Family, deadline: Instant) -> Sweep {
        Sweep {
            family,
            deadline,
            reach,
            budget: STEP,
            stage: PassStage::Fresh,
            passes: 0,
            unsure: 0,
            clean: 0,
            pass: Pass::default(),
            hit: HashSet::new(),
            strangers: Strangers::default(),
            pause: FIRST_PAUSE,
        }
    }

    /// Kills members for a few milliseconds, each process once. Collects ended children of this process if orphans
    /// become its children: a caller that wants to know how a child ended waits for that child before this call.
    pub fn step(&mut self, now: Instant) -> Swept {
        let end = now + self.budget;
        loop {
            let over = self.go_on(end);
            let now = Instant::now();
            if over && let Some(result) = self.judge(now) {
                return result;
            }
            if now >= self.deadline {
                return match self.family.find() {
                    left if left.is_empty() => Swept::Done,
                    left => Swept::Left(left),
                };
            }
            if now >= end {
                return Swept::Again { at: now };
            }
        }
    }

    /// Descriptors that are readable when a killed process is gone, so that another step is worthwhile.
    pub fn dying(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.pass.held.iter().map(AsFd::as_fd)
    }

    /// Waits until a killed process is gone, at most until `until`.
    pub(super) fn wait(&self, until: Instant) {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return;
        }
        let mut fds: Vec<PollFd<'_>> =
            self.dying().map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)).collect();
        let timeout = Timespec { tv_sec: 0, tv_nsec: left.subsec_nanos() as _ };
        let _ = poll(&mut fds, Some(&timeout));
    }

    /// Whether a finished pass ends this step; `None` if the next pass begins at once.
    fn judge(&mut self, now: Instant) -> Option<Swept> {
        self.passes += 1;
        if self.pass.killed > 0 {
            // Each killed process may just have started another, so the next pass begins at once.
            self.pause = FIRST_PAUSE;
            (self.unsure, self.clean) = (0, 0);
            return None;
        }
        // Where orphans become our children, no member gets away unseen, so that no pass needs repetition.
        if !self.family.is_below_us() {
            if self.pass.unsure && self.unsure < MOST_UNSURE {
                (self.unsure, self.clean) = (self.unsure + 1, 0);
                return None;
            }
            self.clean += 1;
            if self.clean < CLEAN_PASSES {
                return None;
            }
        }
        if self.pass.dying == 0 && self.family.is_alone() {
            let left = std::mem::take(&mut self.pass.beyond_us);
            return Some(if left.is_empty() { Swept::Done } else { Swept::Left(left) });
        }
        if now >= self.deadline {
            return None;
        }
        let at = now + self.pause.min(self.deadline - now);
        self.pause = (self.pause * 2).min(LONGEST_PAUSE);
        Some(Swept::Again { at })
    }

    /// Goes on with the pass until `end`, by at least one process; returns whether the pass is over.
    fn go_on(&mut self, end: Instant) -> bool {
        loop {
            let more = match &mut self.stage {
                PassStage::Fresh => {
                    self.pass = Pass::default();
                    if self.family.is_below_us() {
                        reap_until(end);
                    }
                    let near = self.family.root().map(tree::children).unwrap_or_default();
                    self.stage = PassStage::Below(near.into());
                    true
                }
                PassStage::Below(queue) => match queue.pop_front() {
                    Some(pid) if self.family.is_apart(pid) => true,
                    Some(pid) => {
                        queue.extend(tree::children(pid));
                        self.pass.kill(pid, &mut self.hit);
                        true
                    }
                    // Processes below the root are killed before others are searched: looking at all
                    // processes takes longer than some live.
                    None if self.pass.killed == 0 && self.reach == Reach::Anywhere => {
                        match fs::read_dir("/proc") {
                            Ok(all) => {
                                self.strangers.begin_pass(match self.unsure + self.clean {
                                    0 => Treatment::Last,
                                    _ => Treatment::Skipped,
                                });
                                let part = Vec::new();
                                self.stage = PassStage::Anywhere(ProcessList { all, part });
                                true
                            }
                            Err(_) => false,
                        }
                    }
                    None => false,
                },
                PassStage::Anywhere(listing) => match listing.next(&mut self.strangers) {
                    Some(pid) => {
                        self.kill_anywhere(pid);
                        true
                    }
                    None => false,
                },
            };
            if !more {
                self.stage = PassStage::Fresh;
                return true;
            }
            if Instant::now() >= end {
                return false;
            }
        }
    }

    fn kill_anywhere(&mut self, pid: u32) {
        if pid == std::process::id() {
            return;
        }
        if self.family.holds(pid) {
            // The process group of a member that has ended is still known, and the member's successor is in it.
            let by_groups = self.passes >= PASSES_ONE_BY_ONE && !self.family.spares_some();
            if by_groups && Mark::of(pid).is_some() {
                kill_group_of(pid);
            }
            let alive = self.pass.kill(pid, &mut self.hit);
            self.pass.unsure |= !alive;
        } else if tree::is_there(pid) {
            self.strangers.now.insert(pid);
        } else {
            self.pass.unsure |= !self.strangers.before.contains(&pid);
        }
    }
}

impl ProcessList {
    /// The next process to look at. The newest processes of a part come first: one that starts a successor
    /// and ends is there for a moment only.
    fn next(&mut self, strangers: &mut Strangers) -> Option<u32> {
        while self.part.is_empty() {
            let entries: Vec<_> = self.all.by_ref().take(LISTED_AT_ONCE).collect();
            if entries.is_empty() {
                return None;
            }
            let listed = entries.into_iter().filter_map(tree::numbered);
            self.part.extend(listed.filter(|pid| !strangers.skips(*pid)));
            self.part.sort_unstable_by_key(|pid| (!strangers.before.contains(pid), *pid));
        }
        self.part.pop()
    }
}

impl Strangers {
    fn begin_pass(&mut self, treatment: Treatment) {
        self.before = std::mem::take(&mut self.now);
        self.treatment = treatment;
    }

    /// Whether a process is not looked at in this pass, since it was a stranger in the one before.
    fn skips(&mut self, pid: u32) -> bool {
        let skips = self.treatment == Treatment::Skipped && self.before.contains(&pid);
        if skips {
            self.now.insert(pid);
        }
        skips
    }
}

impl Pass {
    /// Kills a process unless it was killed before; returns whether it is alive.
    fn kill(&mut self, pid: u32, hit: &mut HashSet<(u32, u64)>) -> bool {
        let Some(began) = tree::alive_since(pid) else { return false };
        let Some(number) = Pid::from_raw(pid as i32) else { return false };
        let Ok(process) = pidfd_open(number, PidfdFlags::empty()) else { return false };
        if hit.contains(&(pid, began)) {
            self.dying += 1;
        } else {
            // A pidfd stays with its process; one more look shows whether that is still the process that began then.
            if tree::look(pid).is_none_or(|process| process.start_ticks != began) {
                return false;
            }
            match pidfd_send_signal(&process, Signal::KILL) {
                Ok(()) => {
                    hit.insert((pid, began));
                    self.killed += 1;
                }
                Err(Errno::PERM) => {
                    self.beyond_us.push(pid);
                    return true;
                }
                Err(_) => return false,
            }
        }
        if self.held.len() < MOST_HELD {
            self.held.push(process);
        }
        true
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

/// Collects ended children, at most until `end`.
fn reap_until(end: Instant) {
    while tree::reap_one() && Instant::now() < end {}
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader};
    use std::process::{Child, Command, Stdio};

    use super::*;
    use crate::process::mark::Role;
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
        assert!(tree::alive_since(stranger.id()).is_some(), "another session's process was killed");
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
        assert!(family.find().is_empty());
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
        assert!(
            tree::alive_since(nested.id()).is_some(),
            "a session inside was taken for this one"
        );
        nested.kill().unwrap();
        nested.wait().unwrap();
    }

    /// Sweeps in steps that are over after one process each; says how many steps it took.
    fn sweep_one_by_one(family: &Family) -> usize {
        let mut sweep = Sweep::begin(family.clone(), Instant::now() + PATIENCE);
        sweep.budget = Duration::ZERO;
        for steps in 1.. {
            match sweep.step(Instant::now()) {
                Swept::Done => return steps,
                Swept::Again { at } => sweep.wait(at),
                Swept::Left(left) => panic!("these are left: {left:?}"),
            }
        }
        unreachable!()
    }

    #[test]
    fn s9_a_sweep_goes_on_where_it_was_left() {
        let mark = Mark::draw().unwrap();
        let stubborn = "trap '' TERM INT HUP; for i in 1 2 3 4 5 6 7 8 9 10; do \
            setsid sh -c 'trap \"\" TERM; sleep 1000 & (sleep 1000 &); wait' & done; echo up; wait";
        let mut child = marked(mark, stubborn);
        let family = Family::below(child.id(), Some(mark));
        let many = family.members().len();
        assert!(many >= 10);
        assert!(sweep_one_by_one(&family) > many, "a step did more than it had time for");
        assert!(family.find().is_empty());
        child.wait().unwrap();
    }

    #[test]
    fn s9_what_forks_on_and_on_is_swept_in_steps() {
        let scripts = [
            "echo up; while :; do setsid sleep 1000 & done",
            "hop() { hop & }; echo up; hop",
            "echo up; while :; do (sh -c 'setsid sh -c \"sleep 1000 & sleep 1000\" &' &); done",
        ];
        for script in scripts {
            let mark = Mark::draw().unwrap();
            let mut child = marked(mark, script);
            let family = Family::left_behind(Some(mark), "STEAD_TEST=no such tag");
            let mut sweep = Sweep::begin(family.clone(), Instant::now() + PATIENCE);
            let end = loop {
                match sweep.step(Instant::now()) {
                    Swept::Again { at } => sweep.wait(at),
                    end => break end,
                }
                let _ = child.try_wait();
            };
            assert_eq!(end, Swept::Done, "{script}");
            assert!(family.find().is_empty(), "{script}");
            child.wait().unwrap();
        }
    }

    #[test]
    fn s9_who_is_spared_lives_on_with_all_below() {
        let mark = Mark::draw().unwrap();
        let mut child = marked(mark, "sleep 1000 & sh -c 'sleep 1000; :' & echo up; wait");
        let family = Family::below(child.id(), None);
        let sh = |pid: &u32| tree::name(*pid).is_some_and(|name| name == "sh\n");
        // The shells may not have become what they start yet.
        let spared = loop {
            let members = family.members();
            let copies: Vec<u32> = members.iter().copied().filter(sh).collect();
            if members.len() == 3 && copies.len() == 1 {
                break copies[0];
            }
            std::thread::yield_now();
        };
        let mut family = family;
        family.spare([spared]);
        assert_eq!(family.members().len(), 1);
        assert!(family.sweep(PATIENCE).is_empty());
        assert!(family.members().is_empty() && family.is_apart(spared));
        assert!(tree::alive_since(spared).is_some());
        assert!(Family::below(child.id(), None).sweep(PATIENCE).is_empty());
        child.wait().unwrap();
    }

    #[test]
    fn s9_what_is_left_at_the_deadline_is_named() {
        let mark = Mark::draw().unwrap();
        let mut child = marked(mark, "echo up; exec sleep 1000");
        let family = Family::left_behind(Some(mark), "STEAD_TEST=no such tag");
        let mut sweep = Sweep::begin(family, Instant::now());
        sweep.budget = Duration::ZERO;
        // Its time is over before it is found.
        assert_eq!(sweep.step(Instant::now()), Swept::Left(vec![child.id()]));
        child.kill().unwrap();
        child.wait().unwrap();
    }
}
