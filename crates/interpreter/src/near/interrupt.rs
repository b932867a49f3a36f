//! Interrupting an eval: which processes, how, and again if the signal was lost.

use std::collections::HashSet;
use std::os::unix::fs::MetadataExt;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use stead_launch::tree;
use stead_protocol::bridge::Command;

use super::Tell;
use super::elders::{image, ticks_since_boot};
use super::interpreter::Interpreter;
use crate::told::Told;

/// How long it is waited for a moment in which a shell can take an interrupt.
const GOOD_MOMENT_WITHIN: Duration = Duration::from_millis(60);

/// How long children are spared while a bridge has not said that it has passed an interrupt on.
const PASSED_ON_WITHIN: Duration = Duration::from_millis(1500);

/// After this time a shell that was not ready is looked at again.
const AGAIN_AFTER: Duration = Duration::from_micros(200);
/// How long a forked process may take until it runs its program, in clock ticks.
const FORK_TICKS: u64 = 2;

/// How an interpreter is told of an interrupt, as its bridge said in its hello.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Hears {
    /// By SIGINT.
    #[default]
    Signal,
    /// By SIGINT too, but it is a shell: it waits for the processes it starts, and can die of the signal at a
    /// bad moment.
    ShellSignal,
    /// By the command `interrupt`, which its bridge reads while user code runs.
    Command,
}

/// Processes that an interrupt of a shell may have missed.
#[derive(Debug)]
struct Missed {
    /// Processes that were being started when it was sent.
    young: HashSet<u32>,
    /// Whether the shell was waiting for a process that was already running.
    waits: bool,
    /// How often the processes that were being started are sent the interrupt again.
    nudges: u32,
}

/// The control channel, where only the bridge and what it forks for its own work has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct HeldChannel {
    number: u32,
    /// The device and number of the socket.
    file: (u64, u64),
}

impl HeldChannel {
    /// The file that a process has at this number.
    fn of(pid: u32, number: u32) -> Option<Self> {
        let file = std::fs::metadata(format!("/proc/{pid}/fd/{number}")).ok()?;
        Some(HeldChannel { number, file: (file.dev(), file.ino()) })
    }

    fn is_held_by(self, pid: u32) -> bool {
        Self::of(pid, self.number) == Some(self)
    }
}

/// Which processes, beside the interpreter, the interrupts of the running eval have reached.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
enum Reached {
    /// No child was alive.
    #[default]
    Nobody,
    /// Only children that ignore the signal, or that wait for one that does, as shells do.
    Deaf,
    /// A child that the signal ends, or that has a handler for it.
    Taken,
}

/// The interrupts of the running eval, and what is still to be done about them.
#[derive(Debug, Default)]
pub(super) struct Aim {
    pub(super) hears: Hears,
    channel: Option<HeldChannel>,
    /// Children that the last interrupt was sent to.
    interrupted: HashSet<u32>,
    /// Processes that the last interrupt of a shell may have missed.
    missed: Option<Missed>,
    hit: Reached,
    /// The bridge has said that it has passed on an interrupt of the running eval. A further interrupt changes nothing about
    /// that: Node's bridge says it once, since code that is being terminated cannot go on.
    passed_on: bool,
    /// Processes that the running eval starts are killed.
    killing: bool,
    shot: Shot,
}

/// A signal that has to wait.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Shot {
    #[default]
    None,
    /// To the interpreter: waits until the bridge has read the rest of its command.
    WhenSent,
    /// To the children: waits until the bridge says that it has passed the interrupt on, at the latest until `by`. A loop that
    /// starts one command after the other would otherwise begin the next one before it is interrupted itself.
    WhenPassedOn { by: Instant },
    /// To the interpreter: waits until the shell, which was sent SIGSTOP, stands still at a good moment; at the latest until
    /// `by`.
    Held { then: Then, next: Instant, by: Instant },
}

/// What is done to a shell once it stands still.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Then {
    Interrupt,
    KillChildren,
    Both,
}

impl Aim {
    /// Another eval begins.
    pub(super) fn begin(&mut self) {
        *self = Aim { hears: self.hears, channel: self.channel, ..Aim::default() };
    }

    /// Whether the interpreter was stopped for a signal, and goes on in a moment.
    pub(super) fn holds(&self) -> bool {
        matches!(self.shot, Shot::Held { .. })
    }

    /// When a signal that waits is due.
    pub(super) fn next(&self) -> Option<Instant> {
        match self.shot {
            Shot::Held { next, .. } => Some(next),
            Shot::WhenPassedOn { by } => Some(by),
            Shot::None | Shot::WhenSent => None,
        }
    }
}

impl Interpreter {
    /// Sends SIGINT to the interpreter and to the processes that this eval started; older processes are
    /// spared.
    ///
    /// Before the signal the bridge is told for which eval it is: a signal that comes before the code runs
    /// would otherwise look like a late one for the eval before.
    pub(super) fn interrupt(&mut self) {
        self.interrupt_behind_copy();
        match self.run.as_ref().map(|run| run.eval.clone()) {
            Some(id) => self.send(&Command::Interrupt { id: &id }.encode()),
            // A question about the namespace has no eval id, so it is interrupted by another command.
            None if self.aim.hears == Hears::Command => {
                self.send(&Command::InterruptQuery.encode())
            }
            None => {}
        }
        self.nudges.begin();
        let taken = self.outgoing.is_empty();
        match self.aim.hears {
            Hears::ShellSignal if taken => return self.hold(Then::Interrupt),
            Hears::ShellSignal => self.aim.shot = Shot::WhenSent,
            Hears::Signal if taken => self.signal_interrupt(),
            Hears::Signal => self.aim.shot = Shot::WhenSent,
            Hears::Command if self.run.is_some() => {
                self.aim.shot = Shot::WhenPassedOn { by: Instant::now() + PASSED_ON_WITHIN };
                return;
            }
            Hears::Command => {}
        }
        self.signal_young();
    }

    /// The bridge has passed the interrupt of an eval on, or cannot if that is not `possible`.
    pub(super) fn passed_on(&mut self, eval: &str, possible: bool) {
        if self.run.as_ref().is_none_or(|run| run.eval.to_string() != eval) {
            return;
        }
        self.aim.passed_on |= possible;
        if matches!(self.aim.shot, Shot::WhenPassedOn { .. }) {
            self.aim.shot = Shot::None;
            self.signal_young();
        }
        if possible {
            self.unblock_read();
        }
    }

    /// The bridge has read everything that it was sent.
    pub(super) fn sent(&mut self) {
        if self.aim.shot != Shot::WhenSent {
            return;
        }
        self.aim.shot = Shot::None;
        match self.aim.hears {
            Hears::ShellSignal => self.hold(Then::Interrupt),
            Hears::Signal | Hears::Command => self.signal_interrupt(),
        }
    }

    fn signal_young(&mut self) {
        self.aim.interrupted = self.young().collect();
        self.signal_children();
    }

    fn signal_children(&mut self) {
        let met =
            self.aim.interrupted.iter().copied().filter(|&pid| !self.is_of_bridge(pid)).collect();
        self.aim.hit = self.aim.hit.max(foresee(&met));
        for &pid in &self.aim.interrupted {
            tree::signal(pid, Signal::INT);
        }
    }

    /// Kills the processes that the interrupted eval has started, and tells how many there were.
    ///
    /// A shell ignores a SIGINT if the command that it waited for died of something else, and goes on with
    /// the next command. But a trap of its bridge runs before that, if the trap's signal comes before the
    /// command is gone.
    pub(super) fn kill_children(&mut self, tell: Tell<'_>) {
        self.aim.killing = true;
        self.nudges.begin();
        match self.aim.hears {
            Hears::ShellSignal => self.hold(Then::KillChildren),
            Hears::Signal | Hears::Command => {
                let children = self.kill_young();
                tell(Told::Killed { children });
            }
        }
    }

    /// Stops a shell with SIGSTOP, to do something to it once it stands still at a good moment.
    fn hold(&mut self, then: Then) {
        let now = Instant::now();
        self.aim.shot = match self.aim.shot {
            Shot::Held { then: known, next, by } if known != then => {
                Shot::Held { then: Then::Both, next, by }
            }
            held @ Shot::Held { .. } => held,
            Shot::None | Shot::WhenSent | Shot::WhenPassedOn { .. } => {
                Shot::Held { then, next: now, by: now + GOOD_MOMENT_WITHIN }
            }
        };
        tree::signal(self.core(), Signal::STOP);
    }

    /// When it is time, does what had to wait: the thing that a shell was stopped for, or the signal to the children.
    pub(super) fn shoot(&mut self, tell: Tell<'_>) {
        let (now, pid) = (Instant::now(), self.core());
        let (then, next, by) = match self.aim.shot {
            Shot::Held { then, next, by } => (then, next, by),
            Shot::WhenPassedOn { by } if by <= now => {
                self.aim.shot = Shot::None;
                return self.signal_young();
            }
            Shot::None | Shot::WhenSent | Shot::WhenPassedOn { .. } => return,
        };
        if now < next {
            return;
        }
        let process = tree::look(pid);
        let is_held = process.is_none_or(|process| matches!(process.state, b'T' | b'Z'));
        if now < by && !(is_held && self.is_good_moment()) {
            // A shell at a bad moment runs until the next look, because it would never reach a good moment
            // while it is stopped.
            let signal = if is_held { Signal::CONT } else { Signal::STOP };
            tree::signal(pid, signal);
            self.aim.shot = Shot::Held { then, next: now + AGAIN_AFTER, by };
            return;
        }
        self.aim.shot = Shot::None;
        if then != Then::KillChildren {
            self.aim.interrupted = self.young().collect();
            self.note_missed();
            self.signal_interrupt();
        }
        let mut killed = None;
        if then != Then::Interrupt {
            tree::signal_main_thread(pid, Signal::URG);
            killed = Some(self.kill_young());
        }
        tree::signal(pid, Signal::CONT);
        if then != Then::KillChildren {
            self.signal_children();
        }
        if let Some(children) = killed {
            tell(Told::Killed { children });
        }
    }

    /// Does at once the thing that a shell was stopped for, because a pause is about to stop it, too.
    pub(super) fn shoot_now(&mut self, tell: Tell<'_>) {
        if let Shot::Held { then, .. } = self.aim.shot {
            let now = Instant::now();
            self.aim.shot = Shot::Held { then, next: now, by: now };
            self.shoot(tell);
        }
    }

    /// Whether a stopped shell can take a SIGINT. A shell that changes its trap for SIGINT sets the default
    /// first, which is to die of it. And a shell that has just installed its handler, as it does for every
    /// command, may not have noted that yet, and would never come out of the handler.
    fn is_good_moment(&self) -> bool {
        let pid = self.core();
        !tree::is_default(pid, Signal::INT) && !tree::is_changing_signals(pid)
    }

    fn kill_young(&mut self) -> u64 {
        let killed =
            tree::kill_all(|| self.young().filter(|&pid| !self.is_of_bridge(pid)).collect());
        if killed > 0 {
            self.aim.hit = Reached::Taken;
        }
        killed as u64
    }

    /// Whether an interrupt of the running eval reached a child that ends because of it, or may do so.
    pub(super) fn was_taken(&self) -> bool {
        self.aim.hit == Reached::Taken
    }

    /// Whether an interrupt of the running eval reached any child at all.
    pub(super) fn was_sent(&self) -> bool {
        self.aim.hit != Reached::Nobody
    }

    /// At its hello a bridge runs no code of the user's, so that the channel is where it says.
    pub(super) fn note_channel(&mut self, number: Option<u32>) {
        self.aim.channel = number.and_then(|number| HeldChannel::of(self.core(), number));
    }

    /// Whether the process is a subshell that the bridge forked for its own work: after code that took long it looks at names
    /// in one. It is no process of the eval's, and what it sees would be lost. A program that the shell has started is none.
    fn is_of_bridge(&self, pid: u32) -> bool {
        let forked = || {
            let image = image(self.core());
            image.is_some() && image == self::image(pid)
        };
        self.aim.channel.is_some_and(|channel| channel.is_held_by(pid)) && forked()
    }

    /// The processes that the running eval has started.
    fn young(&self) -> impl Iterator<Item = u32> + '_ {
        let all = self.family.members().into_iter();
        all.filter(|&pid| pid != self.core() && !self.is_elder(pid))
    }

    /// When it is time, wakes an interpreter that may have slept through its interrupt, and sends the
    /// interrupt to processes that its children were just starting: a shell between two commands holds the
    /// signal back until the next command is over. Children that the interpreter itself started since then
    /// are spared, because they may be cleaning up. If children are to be killed, those that a shell goes on
    /// to start are killed too.
    pub(super) fn nudge(&mut self, tell: Tell<'_>) {
        // A shell that is held by SIGSTOP has not had its interrupt yet.
        if self.aim.holds() || !self.nudges.is_due() {
            return;
        }
        let wake = |signal| tree::signal_main_thread(self.core(), signal);
        match self.aim.hears {
            Hears::Signal => drop(wake(Signal::WINCH)),
            // The shell may have been about to read; SIGWINCH does not end a read.
            Hears::ShellSignal => drop((wake(Signal::URG), wake(Signal::WINCH))),
            // Before the bridge knows of the interrupt, the code would go on with an empty input.
            Hears::Command if self.run.is_none() || self.aim.passed_on => self.unblock_read(),
            Hears::Command => {}
        }
        let killed = match self.aim.killing && self.aim.hears == Hears::ShellSignal {
            true => self.kill_young(),
            false => {
                self.nudge_shell();
                self.nudge_grandchildren()
            }
        };
        if killed > 0 {
            tell(Told::Killed { children: killed });
        }
    }

    /// Sends the interrupt to processes that interrupted children have started since; returns how many it
    /// killed.
    fn nudge_grandchildren(&mut self) -> u64 {
        let born: Vec<u32> =
            self.young().filter(|pid| !self.aim.interrupted.contains(pid)).collect();
        let mut killed = 0;
        for pid in born {
            let parent = tree::look(pid).map(|process| process.parent);
            if parent.is_some_and(|parent| self.aim.interrupted.contains(&parent)) {
                self.aim.interrupted.insert(pid);
                let signal = if self.aim.killing { Signal::KILL } else { Signal::INT };
                killed += u64::from(tree::signal(pid, signal) && self.aim.killing);
            }
        }
        killed
    }

    /// Gives an end of file to a main thread that blocks in a read of stdin: no signal of ours ends that
    /// read, and the thread can act on the interrupt only after it.
    fn unblock_read(&mut self) {
        let pid = self.core();
        if stead_launch::stdin_wait::waits_for(pid, pid, self.pipe) == Some(false)
            && self.stdin_unread() == 0
            && let Err(error) = self.give_input(b"", true)
        {
            crate::log_warn!("could not end the input: {error}");
        }
    }

    /// Notes processes that an interrupt of a shell may have missed. A signal that comes while a shell forks
    /// is lost to both: the child forgets signals from before it runs its program, and the shell waits for
    /// the child.
    fn note_missed(&mut self) {
        let at = ticks_since_boot();
        let (mut young, mut waits) = (HashSet::new(), false);
        let image = image(self.core());
        for &pid in &self.aim.interrupted {
            let Some(process) = tree::look(pid) else { continue };
            // A child that still has the shell's image has not run its program yet.
            let forked = image.is_some() && image == self::image(pid);
            if forked || process.start_ticks + FORK_TICKS >= at {
                young.insert(pid);
            } else {
                waits |= process.parent == self.core() && process.state != b'Z';
            }
        }
        self.aim.missed = Some(Missed { young, waits, nudges: 3 });
    }

    /// Sends the interrupt again to processes that were just being started, and to no others: a running
    /// program may be ending in good order, and processes that a shell starts after its command was
    /// interrupted are cleaning up.
    fn nudge_shell(&mut self) {
        let Some(mut missed) = self.aim.missed.take() else { return };
        let again = missed.nudges > 0;
        missed.nudges = missed.nudges.saturating_sub(1);
        for pid in self.young().collect::<Vec<u32>>() {
            let parent = tree::look(pid).map(|process| process.parent);
            // A process that a subshell was starting when it died becomes a child of the family's root.
            let newborn = !self.aim.interrupted.contains(&pid)
                && ((parent.is_some() && parent == self.family.root())
                    || (!missed.waits && parent == Some(self.core())));
            if newborn {
                missed.young.insert(pid);
                self.aim.interrupted.insert(pid);
            }
            if newborn || (again && missed.young.contains(&pid)) {
                tree::signal(pid, Signal::INT);
            }
        }
        self.aim.missed = Some(missed);
    }

    /// The running eval is over. Processes that missed its interrupt must not live on, nor those that a shell
    /// has started since its children were killed. Returns how many were killed.
    pub(super) fn end_interrupt(&mut self) -> u64 {
        match std::mem::take(&mut self.aim.shot) {
            Shot::Held { .. } => drop(tree::signal(self.core(), Signal::CONT)),
            Shot::WhenPassedOn { .. } => self.signal_young(),
            Shot::None | Shot::WhenSent => {}
        }
        let killed = match self.aim.killing && self.aim.hears == Hears::ShellSignal {
            true => self.kill_young(),
            false => 0,
        };
        self.nudge_shell();
        self.aim.missed = None;
        self.nudges.end();
        killed
    }

    fn signal_interrupt(&self) {
        // C's `system()` ignores SIGINT while its command runs, and an ignored signal is lost.
        let deaf = tree::ignores(self.core(), Signal::INT);
        let signal = if deaf { Signal::URG } else { Signal::INT };
        tree::signal_main_thread(self.core(), signal);
    }
}

/// What a SIGINT will do to these processes. A shell waits for the process it has started and goes on if that
/// goes on, so in each chain of processes the last one decides.
fn foresee(pids: &HashSet<u32>) -> Reached {
    let alive: Vec<tree::Process> = pids
        .iter()
        .filter_map(|&pid| tree::look(pid))
        .filter(|process| !matches!(process.state, b'Z' | b'X'))
        .collect();
    let waits = |pid: u32| alive.iter().any(|process| process.parent == pid);
    let takes = |pid: u32| !waits(pid) && !tree::ignores(pid, Signal::INT);
    match alive.iter().any(|process| takes(process.pid)) {
        _ if alive.is_empty() => Reached::Nobody,
        true => Reached::Taken,
        false => Reached::Deaf,
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader};
    use std::process::{Command, Stdio};

    use stead_launch::family::Family;

    use super::*;

    /// What an interrupt will do to a shell script that has said `up`, and to all below it.
    fn foreseen(script: &str) -> Reached {
        let mut command = Command::new("sh");
        command.args(["-c", script]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut line = String::new();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        out.read_line(&mut line).unwrap();
        assert_eq!(line, "up\n");
        if script.ends_with("exit") {
            // Its other end of the pipe is closed when it has ended, and it is not waited for yet.
            out.read_line(&mut line).unwrap();
            while tree::look(child.id()).is_some_and(|process| process.state != b'Z') {
                std::thread::yield_now();
            }
        }
        let all: HashSet<u32> =
            Family::below(child.id(), None).members().into_iter().chain([child.id()]).collect();
        let hit = foresee(&all);
        tree::kill_all(|| all.iter().copied().collect());
        child.wait().unwrap();
        hit
    }

    #[test]
    fn e6_whether_somebody_can_take_an_interrupt_is_known_before_it_is_sent() {
        assert_eq!(foreseen("echo up; exec cat"), Reached::Taken);
        assert_eq!(foreseen("trap : INT; echo up; cat"), Reached::Taken);
        assert_eq!(foreseen("trap '' INT; echo up; cat"), Reached::Deaf);
        // The shell waits for one that goes on, and so goes on itself.
        assert_eq!(foreseen("(trap '' INT; echo up; cat); true"), Reached::Deaf);
        assert_eq!(foreseen("(trap '' INT; cat) | (echo up; cat); true"), Reached::Taken);
        assert_eq!(foreseen("echo up; exit"), Reached::Nobody);
    }
}
