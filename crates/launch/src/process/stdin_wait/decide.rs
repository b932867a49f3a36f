//! From what one look showed to one of three answers (SPEC E-8). No IO, no time.
//!
//! A process is active if one of its threads may go on without the session's input, by itself or
//! because something active can wake it. That is the least fixpoint over all processes below the
//! host: two programs that wait only for each other, and one of them for input, both wait.

use std::collections::HashMap;

use super::facts::{End, FileCall, Scene, SeenProcess, Thread, ThreadDoing, WaitSource};

/// Whether a program that listens to the session's input can go on without any.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum WaitAnswer {
    /// Something that works can wake it.
    No,
    /// It cannot be known.
    May(WaitDoubt),
    /// Only input lets it go on.
    Waits,
}

/// Why it cannot be known whether a program waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum WaitDoubt {
    /// It also listens to a program elsewhere, as ssh does, and that program may have asked for the input.
    Elsewhere,
    /// Something works beside the reader.
    Beside,
    /// Nothing but input or a time limit of its own wakes it.
    OwnTime,
}

/// How a process may go on without the session's input.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Active {
    /// A thread of its own works.
    works: bool,
    /// Something else can wake it: a working process, a client, a timer.
    woken: bool,
    /// A program elsewhere can wake it.
    elsewhere: bool,
    /// It wakes by itself after some time, and it cannot be known whether it then does more than idle.
    timed: bool,
}

impl Active {
    const WORKS: Active = Active { works: true, woken: false, elsewhere: false, timed: false };
    const WOKEN: Active = Active { works: false, woken: true, elsewhere: false, timed: false };
    const ELSEWHERE: Active = Active { works: false, woken: false, elsewhere: true, timed: false };
    const TIMED: Active = Active { works: false, woken: false, elsewhere: false, timed: true };

    fn or(self, other: Active) -> Active {
        Active {
            works: self.works | other.works,
            woken: self.woken | other.woken,
            elsewhere: self.elsewhere | other.elsewhere,
            timed: self.timed | other.timed,
        }
    }

    /// The same, as seen by a process that waits for this one.
    fn seen_from_afar(self) -> Active {
        Active { works: false, woken: self.woken | self.works, ..self }
    }
}

/// What a thread waits for beside a time limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Partner {
    /// Nothing that is known, so that the wait is a sleep.
    None,
    /// Threads of its own process.
    Own,
    /// Other processes of the session, or the session's input.
    Other,
    /// The host.
    Host,
}

/// The result of one look.
pub(super) struct WaitVerdict<'a> {
    scene: &'a Scene,
    active: HashMap<u32, Active>,
}

impl<'a> WaitVerdict<'a> {
    pub(super) fn new(scene: &'a Scene) -> WaitVerdict<'a> {
        let mut verdict = WaitVerdict { scene, active: HashMap::new() };
        loop {
            let mut changed = false;
            for (&pid, process) in &scene.processes {
                let found = verdict.threads(pid, process, None);
                changed |= verdict.active.insert(pid, found).unwrap_or_default() != found;
            }
            if !changed {
                return verdict;
            }
        }
    }

    /// Whether this thread, which listens to the session's input, waits for it.
    pub(super) fn of(&self, pid: u32, tid: u32) -> WaitAnswer {
        let Some(process) = self.scene.processes.get(&pid) else { return WaitAnswer::No };
        let Some(thread) = process.threads.iter().find(|thread| thread.tid == tid) else {
            return WaitAnswer::No;
        };
        let ThreadDoing::Files { call, files } = &thread.doing else { return WaitAnswer::No };
        if !files.contains(&WaitSource::Stdin) {
            return WaitAnswer::No;
        }
        let others = self.threads(pid, process, Some(tid));
        let answer = match *call {
            // A program goes on only if its main thread does, so a program whose main thread reads waits.
            FileCall::Read if tid == pid => WaitAnswer::Waits,
            FileCall::Read => beside(others, WaitAnswer::Waits),
            FileCall::Poll { limited } => {
                let sources = self.files(pid, process, files);
                if sources.woken || others.woken {
                    return WaitAnswer::No;
                }
                let alone = match sources {
                    Active { elsewhere: true, .. } => WaitAnswer::May(WaitDoubt::Elsewhere),
                    Active { timed: true, .. } => WaitAnswer::May(WaitDoubt::OwnTime),
                    _ if limited && !self.is_untimed(tid) => WaitAnswer::May(WaitDoubt::OwnTime),
                    _ => WaitAnswer::Waits,
                };
                beside(others, alone)
            }
        };
        if pid == self.scene.interpreter {
            return answer;
        }
        beside(self.goes_on(self.scene.interpreter, pid), answer)
    }

    /// Whether a time limit of this thread means nothing: it is the event loop of which the bridge says that no
    /// timer is set in it.
    fn is_untimed(&self, tid: u32) -> bool {
        tid == self.scene.interpreter && self.scene.no_timers
    }

    /// How a process goes on while one below it reads. A shell that waits for any of its children
    /// waits for the one that it started last; older ones are jobs.
    fn goes_on(&self, pid: u32, reader: u32) -> Active {
        let main = self.scene.processes.get(&pid).and_then(|process| main_thread(pid, process));
        let child = self.child_towards(pid, reader).filter(|child| match main {
            Some(Thread { doing: ThreadDoing::Children(Some(one)), .. }) => one == child,
            Some(Thread { doing: ThreadDoing::Children(None) | ThreadDoing::Signals, .. }) => true,
            _ => false,
        });
        if let Some(child) = child {
            let below =
                if child == reader { Active::default() } else { self.goes_on(child, reader) };
            return below.or(self.younger(pid, child));
        }
        self.active.get(&pid).copied().unwrap_or_default()
    }

    /// The activity of the children that a process started after this one.
    fn younger(&self, pid: u32, than: u32) -> Active {
        let began = |pid: u32| self.scene.processes.get(&pid).map(|child| (child.start_ticks, pid));
        let children = self.scene.processes.iter().filter(|(_, child)| child.parent == pid);
        children
            .filter(|(child, _)| began(**child) > began(than))
            .map(|(&child, _)| self.process(child))
            .fold(Active::default(), Active::or)
    }

    /// The child of `pid` that is `below` or has it below itself.
    fn child_towards(&self, pid: u32, below: u32) -> Option<u32> {
        let mut at = below;
        // Parents were read at different times and may form a circle, so the steps are bounded.
        for _ in &self.scene.processes {
            let parent = self.scene.processes.get(&at)?.parent;
            if parent == pid {
                return Some(at);
            }
            at = parent;
        }
        None
    }

    /// The activity of the threads of a process, without one of them.
    fn threads(&self, pid: u32, process: &SeenProcess, without: Option<u32>) -> Active {
        let others = process.threads.iter().filter(|thread| Some(thread.tid) != without);
        others
            .filter(|thread| !thread.elder)
            .map(|thread| self.thread(pid, process, thread))
            .fold(Active::default(), Active::or)
    }

    fn thread(&self, pid: u32, process: &SeenProcess, thread: &Thread) -> Active {
        match &thread.doing {
            ThreadDoing::Works => Active::WORKS,
            ThreadDoing::Still | ThreadDoing::Locked { timed: false } => Active::default(),
            // In side threads of many runtimes a timed lock is housekeeping.
            ThreadDoing::Locked { timed: true } if thread.tid != pid => Active::TIMED,
            ThreadDoing::Locked { timed: true } => Active::WORKS,
            ThreadDoing::Children(Some(child)) => self.process(*child),
            ThreadDoing::Children(None) => self.children(pid),
            ThreadDoing::Signals if self.has_children(pid) => self.children(pid),
            // A timer that cannot be seen may send a signal.
            ThreadDoing::Signals => Active::TIMED,
            ThreadDoing::Files { call, files } => {
                let found = self.files(pid, process, files);
                if !matches!(call, FileCall::Poll { limited: true }) || self.is_untimed(thread.tid)
                {
                    return found;
                }
                match self.partner(pid, files) {
                    // This is the bridge's own thread, which listens to the host, so its time limit does not count.
                    Partner::Host if thread.tid != pid => found,
                    // A loop in a side thread may have timers for housekeeping only.
                    Partner::Own | Partner::Host if thread.tid != pid => found.or(Active::TIMED),
                    Partner::Other => found.or(Active::TIMED),
                    Partner::None | Partner::Own | Partner::Host => found.or(Active::WORKS),
                }
            }
        }
    }

    /// What besides time wakes a thread.
    fn partner(&self, pid: u32, files: &[WaitSource]) -> Partner {
        let of = |file: &WaitSource| match file {
            WaitSource::Stdin => Partner::Other,
            WaitSource::Holders(end) => match self.holders(*end) {
                holders if holders.iter().any(|holder| self.is_root(*holder)) => Partner::Host,
                holders if holders.iter().any(|holder| *holder != pid) => Partner::Other,
                _ => Partner::Own,
            },
            WaitSource::Process(_)
            | WaitSource::Children
            | WaitSource::Remote
            | WaitSource::Outside => Partner::None,
        };
        files.iter().map(of).max().unwrap_or(Partner::None)
    }

    fn files(&self, pid: u32, process: &SeenProcess, files: &[WaitSource]) -> Active {
        let mut found = Active::default();
        for file in files {
            found = found.or(match file {
                WaitSource::Stdin => Active::default(),
                WaitSource::Holders(end) => self.other_end(pid, *end),
                WaitSource::Process(other) => self.process(*other),
                WaitSource::Children => self.children(pid),
                WaitSource::Remote => Active::ELSEWHERE,
                WaitSource::Outside => Active::WOKEN,
            });
        }
        // A signal handler wakes its event loop through a pipe of which the process holds both ends.
        let wakes_itself = |file: &WaitSource| matches!(file, WaitSource::Holders(end) if self.holders(*end) == [pid]);
        if process.catches_sigchld && files.iter().any(wakes_itself) {
            found = found.or(self.children(pid));
        }
        found
    }

    /// The activity of the processes that hold the other end. What a process can do to itself is counted with
    /// its threads.
    fn other_end(&self, pid: u32, end: End) -> Active {
        match self.holders(end) {
            [] if matches!(end, End::Socket(_)) => Active::ELSEWHERE,
            [] => Active::WOKEN,
            holders => holders
                .iter()
                .filter(|holder| **holder != pid)
                .map(|&holder| match end {
                    // The host reads everything that is written to it.
                    End::PipeReader(_) if self.is_root(holder) => Active::WOKEN,
                    _ if self.is_root(holder) => Active::default(),
                    _ => self.process(holder),
                })
                .fold(Active::default(), Active::or),
        }
    }

    fn children(&self, pid: u32) -> Active {
        let children = self.scene.processes.iter().filter(|(_, child)| child.parent == pid);
        children.map(|(&child, _)| self.process(child)).fold(Active::default(), Active::or)
    }

    fn has_children(&self, pid: u32) -> bool {
        self.scene.processes.values().any(|child| child.parent == pid)
    }

    fn process(&self, pid: u32) -> Active {
        match self.scene.processes.contains_key(&pid) {
            true => self.active.get(&pid).copied().unwrap_or_default().seen_from_afar(),
            false => Active::WOKEN,
        }
    }

    /// Whether this process is the root, which gives input and takes output.
    fn is_root(&self, pid: u32) -> bool {
        self.scene.root == Some(pid)
    }

    fn holders(&self, end: End) -> &[u32] {
        self.scene.holders.get(&end).map(Vec::as_slice).unwrap_or_default()
    }
}

/// The answer for a reader beside which others do something.
fn beside(others: Active, alone: WaitAnswer) -> WaitAnswer {
    match others {
        Active { works: false, woken: false, elsewhere: false, timed: false } => alone,
        Active { works: false, woken: false, elsewhere: false, timed: true } => {
            alone.min(WaitAnswer::May(WaitDoubt::OwnTime))
        }
        _ => alone.min(WaitAnswer::May(WaitDoubt::Beside)),
    }
}

fn main_thread(pid: u32, process: &SeenProcess) -> Option<&Thread> {
    process.threads.iter().find(|thread| thread.tid == pid)
}

#[cfg(test)]
#[path = "decide_tests.rs"]
mod tests;
