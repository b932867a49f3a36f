//! Interrupting an eval: whom, how, and again where it was missed.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use rustix::event::{Timespec, poll};
use rustix::process::Signal;
use stead_launch::tree;
use stead_protocol::EvalId;
use stead_protocol::bridge::Command;

use super::{Bridge, image, ticks_since_boot};

/// How long a shell may take to be ready for an interrupt.
const GOOD_MOMENT_WITHIN: Duration = Duration::from_millis(60);

/// How long a fork may take until it runs its program, in clock ticks.
const FORK_TICKS: u64 = 2;

/// How an interpreter hears of an interrupt, as its bridge said in its hello.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hears {
    /// By SIGINT.
    Signal,
    /// By SIGINT too, but it is a shell: it waits for what it starts, and can die of the signal at a
    /// bad moment.
    ShellSignal,
    /// By the command `interrupt`, which its bridge reads while user code runs.
    Command,
}

/// What an interrupt of a shell has to come back to.
pub(super) struct Missed {
    /// Processes that were being started then.
    young: HashSet<u32>,
    /// Whether the shell was waiting for one that was not.
    waits: bool,
    /// How often to come back to those that were being started.
    nudges: u32,
}

/// Whom interrupts of the running eval have come to, beside the interpreter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Hit {
    /// None of its children was alive.
    Nobody,
    /// Only children that ignore it, or that wait for one which does, as shells do.
    Deaf,
    /// A child that it ends, or that has a handler for it.
    Taken,
}

impl Bridge {
    /// The bridge has said how it hears of interrupts.
    pub fn set_hears(&mut self, hears: Hears) {
        self.hears = hears;
    }

    /// Sends SIGINT to the interpreter and to what this eval started, sparing older processes.
    ///
    /// The bridge reads first for which eval it is: one that comes before the code runs would
    /// look the same as a late one for the eval before.
    pub fn interrupt(&mut self, host: u32, eval: Option<&EvalId>) {
        match eval {
            Some(id) => self.send(&Command::Interrupt { id }.encode()),
            // A question that takes too long has no id.
            None if self.hears == Hears::Command => self.send(b"interrupt - 0\n"),
            None => {}
        }
        let shell = self.hears == Hears::ShellSignal;
        if shell {
            tree::hold(self.child.pid);
        }
        self.interrupted = self.young(host).collect();
        if shell {
            self.note_missed();
        }
        match self.hears {
            Hears::Command => {}
            Hears::Signal | Hears::ShellSignal if self.outgoing.is_empty() => {
                self.signal_interrupt();
            }
            Hears::Signal | Hears::ShellSignal => self.interrupt_when_sent = true,
        }
        if shell {
            tree::signal(self.child.pid, Signal::CONT);
        }
        self.hit = self.hit.max(foresee(&self.interrupted));
        for &pid in &self.interrupted {
            tree::signal(pid, Signal::INT);
        }
    }

    /// Kills what the running eval, which was interrupted, has started. Says how many that were.
    ///
    /// A shell does not act on a SIGINT if the command that it waited for died of something else, but goes
    /// on with the next. A trap of its bridge's runs before that, if its signal is there before the command
    /// is gone.
    pub fn kill_children(&mut self, host: u32) -> usize {
        self.killing = true;
        if self.hears != Hears::ShellSignal {
            return self.kill_young(host);
        }
        tree::hold(self.child.pid);
        tree::signal_main_thread(self.child.pid, Signal::URG);
        let killed = self.kill_young(host);
        tree::signal(self.child.pid, Signal::CONT);
        killed
    }

    fn kill_young(&mut self, host: u32) -> usize {
        let killed = tree::kill_all(|| self.young(host).collect());
        if killed > 0 {
            self.hit = Hit::Taken;
        }
        killed
    }

    /// Whether an interrupt of the running eval came to a child that ends because of it, or may do so.
    pub fn was_taken(&self) -> bool {
        self.hit == Hit::Taken
    }

    /// Whether an interrupt of the running eval came to any child at all.
    pub fn was_sent(&self) -> bool {
        self.hit != Hit::Nobody
    }

    /// What the running eval has started.
    fn young(&self, host: u32) -> impl Iterator<Item = u32> + '_ {
        let all = tree::descendants(host).into_iter();
        all.filter(|&pid| pid != self.child.pid && !self.is_elder(pid))
    }

    /// Wakes an interpreter that may have slept through its interrupt, and sends the interrupt on
    /// to what its children were just starting: a shell that is between two commands holds it back
    /// until the next one is over. Children that the interpreter itself started since are spared,
    /// they may be cleaning up. Where children are killed, so is what a shell goes on to start; says how many.
    pub fn nudge(&mut self, host: u32) -> usize {
        let wake = |signal| tree::signal_main_thread(self.child.pid, signal);
        match self.hears {
            Hears::Signal => drop(wake(Signal::WINCH)),
            // It may have been about to read, and does not let SIGWINCH end that.
            Hears::ShellSignal => drop((wake(Signal::URG), wake(Signal::WINCH))),
            Hears::Command => self.unblock_read(),
        }
        if self.killing && self.hears == Hears::ShellSignal {
            return self.kill_young(host);
        }
        self.nudge_shell(host);
        let born: Vec<u32> =
            self.young(host).filter(|pid| !self.interrupted.contains(pid)).collect();
        let mut killed = 0;
        for pid in born {
            let parent = tree::look(pid).map(|process| process.parent);
            if parent.is_some_and(|parent| self.interrupted.contains(&parent)) {
                self.interrupted.insert(pid);
                let signal = if self.killing { Signal::KILL } else { Signal::INT };
                killed += usize::from(tree::signal(pid, signal) && self.killing);
            }
        }
        killed
    }

    /// Ends the input of a main thread that sits in a read of it, which no signal of ours ends: it
    /// can act on the interrupt only after that.
    fn unblock_read(&mut self) {
        let pid = self.child.pid;
        if stead_launch::stdin_wait::waits_for(pid, pid, self.pipe) == Some(false)
            && self.stdin_unread() == 0
            && let Err(error) = self.give_input(b"", true)
        {
            eprintln!("could not end the input: {error}");
        }
    }

    /// A shell waits for what it starts. A signal that comes while it forks is lost to both: the
    /// child forgets what came before it runs its program, and the shell waits for the child.
    fn note_missed(&mut self) {
        let at = ticks_since_boot();
        let (mut young, mut waits) = (HashSet::new(), false);
        let image = image(self.child.pid);
        for &pid in &self.interrupted {
            let Some(process) = tree::look(pid) else { continue };
            // What still is the shell's image has not run its program yet.
            let forked = image.is_some() && image == self::image(pid);
            if forked || process.start_ticks + FORK_TICKS >= at {
                young.insert(pid);
            } else {
                waits |= process.parent == self.child.pid && process.state != b'Z';
            }
        }
        self.missed = Some(Missed { young, waits, nudges: 3 });
    }

    /// Sends the interrupt again to what was just being started, and only to that: a program that
    /// runs may be ending in good order, and what a shell starts when its command was interrupted
    /// is cleaning up.
    fn nudge_shell(&mut self, host: u32) {
        let Some(mut missed) = self.missed.take() else { return };
        let again = missed.nudges > 0;
        missed.nudges = missed.nudges.saturating_sub(1);
        for pid in self.young(host).collect::<Vec<u32>>() {
            let parent = tree::look(pid).map(|process| process.parent);
            // What a subshell was starting when it died falls to the host.
            let newborn = !self.interrupted.contains(&pid)
                && (parent == Some(host) || (!missed.waits && parent == Some(self.child.pid)));
            if newborn {
                missed.young.insert(pid);
                self.interrupted.insert(pid);
            }
            if newborn || (again && missed.young.contains(&pid)) {
                tree::signal(pid, Signal::INT);
            }
        }
        self.missed = Some(missed);
    }

    /// The interrupted eval is over; what missed its interrupt must not go on without it, nor what a shell
    /// has started since its children were killed. Says how many were killed.
    pub fn end_interrupt(&mut self, host: u32) -> usize {
        let killed = match self.killing && self.hears == Hears::ShellSignal {
            true => self.kill_young(host),
            false => 0,
        };
        self.nudge_shell(host);
        self.missed = None;
        killed
    }

    pub(super) fn signal_interrupt(&self) {
        if self.hears == Hears::ShellSignal {
            self.avoid_bad_moment();
        }
        // C's `system()` ignores SIGINT for its duration, and what is ignored is lost.
        let deaf = tree::ignores(self.child.pid, Signal::INT);
        let signal = if deaf { Signal::URG } else { Signal::INT };
        tree::signal_main_thread(self.child.pid, signal);
    }

    /// A shell that changes its trap for SIGINT does so by way of the default, which is to die of
    /// it. One that has just set a handler for it, which it does for every command, may not know
    /// yet that it has, and never comes out of the handler. It is looked at while it stands still.
    fn avoid_bad_moment(&self) {
        let pid = self.child.pid;
        let deadline = Instant::now() + GOOD_MOMENT_WITHIN;
        loop {
            let held = tree::hold(pid);
            let bad = tree::is_default(pid, Signal::INT) || tree::is_changing_signals(pid);
            if (held && !bad) || Instant::now() >= deadline {
                return;
            }
            tree::signal(pid, Signal::CONT);
            // Stopped again at once it would not get anywhere.
            let _ = poll(&mut [], Some(&Timespec { tv_sec: 0, tv_nsec: 200_000 }));
        }
    }
}

/// What a SIGINT will do to these processes. A shell and its like wait for what they have started and go on
/// if that does, so it is the last of each line who decides.
fn foresee(pids: &HashSet<u32>) -> Hit {
    let alive: Vec<tree::Process> = pids
        .iter()
        .filter_map(|&pid| tree::look(pid))
        .filter(|process| !matches!(process.state, b'Z' | b'X'))
        .collect();
    let waits = |pid: u32| alive.iter().any(|process| process.parent == pid);
    let takes = |pid: u32| !waits(pid) && !tree::ignores(pid, Signal::INT);
    match alive.iter().any(|process| takes(process.pid)) {
        _ if alive.is_empty() => Hit::Nobody,
        true => Hit::Taken,
        false => Hit::Deaf,
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader};
    use std::process::{Command, Stdio};

    use super::*;

    /// What an interrupt will do to a shell script that has said `up`, and to all below it.
    fn foreseen(script: &str) -> Hit {
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
            tree::descendants(child.id()).into_iter().chain([child.id()]).collect();
        let hit = foresee(&all);
        tree::kill_all(|| all.iter().copied().collect());
        child.wait().unwrap();
        hit
    }

    #[test]
    fn e6_whether_somebody_can_take_an_interrupt_is_known_before_it_is_sent() {
        assert_eq!(foreseen("echo up; exec cat"), Hit::Taken);
        assert_eq!(foreseen("trap : INT; echo up; cat"), Hit::Taken);
        assert_eq!(foreseen("trap '' INT; echo up; cat"), Hit::Deaf);
        // The shell waits for one that goes on, and so goes on itself.
        assert_eq!(foreseen("(trap '' INT; echo up; cat); true"), Hit::Deaf);
        assert_eq!(foreseen("(trap '' INT; cat) | (echo up; cat); true"), Hit::Taken);
        assert_eq!(foreseen("echo up; exit"), Hit::Nobody);
    }
}
