//! All processes of a session.
//!
//! Three things tell that a process belongs: it is below the session's root, it carries the session's
//! mark, or its environment holds the session's tag. What carries the mark of another session is that
//! session's affair, wherever it stands: it was started from inside this one.

use std::collections::HashSet;
use std::fs;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::process::mark::{Mark, Role};
pub use crate::process::sweep::{Sweep, Swept};
use crate::process::tree;

/// How the processes of a session are known.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Family {
    root: Option<u32>,
    mark: Option<Mark>,
    tag: Option<String>,
    spared: Vec<u32>,
}

impl Family {
    /// The family of the session whose host or first guard this process is: a child subreaper, so
    /// that whatever is not marked is below it.
    pub fn below_us(mark: Option<Mark>) -> Family {
        Family::below(std::process::id(), mark)
    }

    /// The family of which `root` is the subreaper; it is not among its members.
    pub fn below(root: u32, mark: Option<Mark>) -> Family {
        Family { root: Some(root), mark, ..Family::default() }
    }

    /// The processes that a session left behind whose host is gone.
    pub fn left_behind(mark: Option<Mark>, tag: &str) -> Family {
        Family { mark, tag: Some(tag.to_owned()), ..Family::default() }
    }

    /// The same family, with orphans that became children of this process.
    pub fn with_orphans(self) -> Family {
        Family { root: Some(std::process::id()), ..self }
    }

    /// From now on exactly these processes, and all below them, are left out of the family.
    pub fn spare(&mut self, pids: impl IntoIterator<Item = u32>) {
        self.spared.clear();
        self.spared.extend(pids);
    }

    /// The process that all others are below, unless it is gone.
    pub fn root(&self) -> Option<u32> {
        self.root
    }

    /// Ids of all below the root, parents before children. Processes that are known only by their mark or tag
    /// are searched by a sweep alone, since that means looking at every process of the machine.
    pub fn members(&self) -> Vec<u32> {
        self.members_by(tree::children)
    }

    /// The same, by what `children` says of each process.
    pub(super) fn members_by(&self, children: impl FnMut(u32) -> Vec<u32>) -> Vec<u32> {
        let mark = self.mark_below();
        self.root.map_or_else(Vec::new, |root| {
            tree::walk(root, children, |pid| self.excludes(pid, mark))
        })
    }

    /// Whether a process below the root does not belong to the family: it carries the mark of another session
    /// that was started from inside this one, it is the guard, or it is spared.
    pub fn is_apart(&self, pid: u32) -> bool {
        self.excludes(pid, self.mark_below())
    }

    /// Stops every member, and looks again until no new one appears.
    pub fn freeze(&self) {
        let mut stopped = HashSet::new();
        // The bound is for a process that makes others faster than they are found.
        for _ in 0..tree::ROUNDS {
            let fresh: Vec<u32> =
                self.members().into_iter().filter(|pid| stopped.insert(*pid)).collect();
            if fresh.is_empty() {
                return;
            }
            for pid in fresh {
                tree::signal(pid, Signal::STOP);
            }
        }
    }

    /// Lets every member go on.
    pub fn thaw(&self) {
        for pid in self.members() {
            tree::signal(pid, Signal::CONT);
        }
    }

    /// Kills all members until none is left or `patience` is over; returns those that are left. This blocks:
    /// a loop that has other things to do takes the steps of a [`Sweep`] by itself.
    pub fn sweep(&self, patience: Duration) -> Vec<u32> {
        let mut sweep = Sweep::begin(self.clone(), Instant::now() + patience);
        loop {
            match sweep.step(Instant::now()) {
                Swept::Done => return Vec::new(),
                Swept::Left(left) => return left,
                Swept::Again { at } => sweep.wait(at),
            }
        }
    }

    /// All live members, except this process.
    pub(super) fn find(&self) -> Vec<u32> {
        let own = std::process::id();
        let all = fs::read_dir("/proc").into_iter().flatten().filter_map(tree::numbered);
        let marked = all.filter(|pid| *pid != own && self.holds(*pid));
        let mut found: Vec<u32> = self.members().into_iter().chain(marked).collect();
        found.sort_unstable();
        found.dedup();
        found.retain(|pid| tree::alive_since(*pid).is_some());
        found
    }

    /// Whether this process is the root, to which orphans fall.
    pub(super) fn is_below_us(&self) -> bool {
        self.root == Some(std::process::id())
    }

    pub(super) fn spares(&self, pid: u32) -> bool {
        self.spared.contains(&pid)
    }

    /// Whether some processes are spared, so that a process group may hold others than members.
    pub(super) fn spares_some(&self) -> bool {
        !self.spared.is_empty()
    }

    /// Whether a process carries the mark, or the tag and no other session's mark.
    pub(super) fn holds(&self, pid: u32) -> bool {
        match (Mark::of(pid), &self.tag) {
            _ if self.spares(pid) => false,
            (Some((mark, Role::Family)), _) => Some(mark) == self.mark,
            (Some(_), _) | (None, None) => false,
            (None, Some(tag)) => fs::read(format!("/proc/{pid}/environ")).is_ok_and(|environ| {
                environ.split(|&b| b == 0).any(|variable| variable == tag.as_bytes())
            }),
        }
    }

    /// Whether the root has no child left that belongs to the family. A walk over all descendants can miss
    /// one whose parent ends meanwhile, but then that one becomes a child of the root.
    pub(super) fn is_alone(&self) -> bool {
        let Some(root) = self.root else { return true };
        let mark = self.mark_below();
        tree::children(root).into_iter().all(|pid| self.excludes(pid, mark))
    }

    /// The mark that members carry; where the session could not be marked, whatever its root inherited.
    fn mark_below(&self) -> Option<Mark> {
        self.mark.or_else(|| Mark::of(self.root?).map(|(mark, _)| mark))
    }

    fn excludes(&self, pid: u32, mark: Option<Mark>) -> bool {
        self.spares(pid)
            || Mark::of(pid).is_some_and(|(other, role)| Some(other) != mark || role == Role::Guard)
    }
}
