//! An interpreter's life: found, started, ended, swept.

use std::time::{Duration, Instant};

use rustix::process::{Pid, WaitOptions, WaitStatus, getpid, waitpid};
use stead_launch::family::{Family, Sweep, Swept};
use stead_launch::tree;

use super::interpreter::{BridgeFacts, Interpreter};
use super::looks::Looks;
use super::waking::{Succession, Wakes};
use super::{Near, Tell};
use crate::prepare::Prepared;
use crate::told::{Exit, Told};

/// How long a sweep is put off for clients that wait for an answer. While hundreds of processes die, each turn of the
/// scheduler that this process uses up for the sweep makes a client wait for the next.
const PUT_OFF: Duration = Duration::from_millis(20);

/// How long the end of an interpreter waits for everything it started to be gone.
const SWEEP_PATIENCE: Duration = Duration::from_secs(5);

/// Where an interpreter stands.
pub(super) enum Life {
    None,
    /// A program is asked where the interpreter is.
    Looks(Box<Looks>),
    Prepared(Box<Prepared>),
    Lives(Box<Interpreter>),
    /// The interpreter has ended; processes it started are being killed.
    Sweeps(Box<Sweeps>),
    /// A copy was told to take the place of the one that has ended.
    Wakes(Box<Wakes>),
}

/// What is left of an ended interpreter.
pub(super) struct Sweeps {
    interpreter: Interpreter,
    exit: Exit,
    sweep: Sweep,
    pub(super) next: Instant,
    /// When the last step ended.
    stepped: Instant,
    /// The copy that takes the interpreter's place after the sweep; with none, the interpreter just ends.
    then: Option<u32>,
}

impl Sweeps {
    fn begin(interpreter: Interpreter, exit: Exit, then: Option<u32>, all: Family) -> Sweeps {
        let now = Instant::now();
        let deadline = now + SWEEP_PATIENCE;
        let sweep = match then {
            Some(_) => Sweep::begin_below(interpreter.family.clone(), deadline),
            None => Sweep::begin(all, deadline),
        };
        Sweeps { interpreter, exit, sweep, next: now, stepped: now, then }
    }

    /// Gives up the plan that a copy takes the interpreter's place: all copies are killed, too.
    pub(super) fn end(&mut self, all: Family) {
        if self.then.take().is_some() {
            let now = Instant::now();
            self.interpreter.copies.release_all();
            self.sweep = Sweep::begin(all, now + SWEEP_PATIENCE);
            self.next = now;
        }
    }

    /// Makes `copy` the one that takes the interpreter's place, if a copy was to take it; says whether it will.
    pub(super) fn goes_on_from(&mut self, copy: u32) -> bool {
        let goes_on = self.then.is_some() && self.interpreter.copies.has(copy);
        if goes_on {
            self.then = Some(copy);
            self.interpreter.succession = Succession::Wake(copy);
        }
        goes_on
    }
}

impl Life {
    /// The interpreter whose pipes are read, also after its end.
    pub(super) fn interpreter(&self) -> Option<&Interpreter> {
        match self {
            Life::Lives(interpreter) => Some(interpreter),
            Life::Sweeps(sweeps) => Some(&sweeps.interpreter),
            Life::Wakes(wakes) => Some(&wakes.interpreter),
            Life::None | Life::Looks(_) | Life::Prepared(_) => None,
        }
    }

    pub(super) fn interpreter_mut(&mut self) -> Option<&mut Interpreter> {
        match self {
            Life::Lives(interpreter) => Some(interpreter),
            Life::Sweeps(sweeps) => Some(&mut sweeps.interpreter),
            Life::Wakes(wakes) => Some(&mut wakes.interpreter),
            Life::None | Life::Looks(_) | Life::Prepared(_) => None,
        }
    }
}

impl Near {
    pub(super) fn start(&mut self, tell: Tell<'_>) {
        let Life::Prepared(prepared) = &self.life else {
            let message = "no interpreter was prepared".to_owned();
            return tell(Told::Refused { message, trouble: None });
        };
        let own = rustix::process::umask(self.umask);
        let started = Interpreter::start(prepared, self.duty.family());
        rustix::process::umask(own);
        self.life = Life::None;
        // A pause that came between two interpreters does not hold for the next one.
        self.wake_up(tell);
        match started {
            Ok(interpreter) => {
                tell(Told::Started { pid: interpreter.pid() });
                self.life = Life::Lives(Box::new(interpreter));
            }
            Err(error) => {
                tell(Told::Refused { message: crate::with_causes(&error), trouble: None });
            }
        }
    }

    /// Collects children that have ended: orphans, and the interpreter itself.
    pub(super) fn take_children(&mut self, tell: Tell<'_>) {
        stead_launch::sys::read_signals(&self.children, |_| {});
        while let Some(pid) = tree::ended_child() {
            if matches!(&self.life, Life::Wakes(wakes) if wakes.interpreter.pid() == pid) {
                self.give_up_waking("the copy ended before it was awake");
            }
            let ends = matches!(&self.life, Life::Lives(interpreter) if interpreter.pid() == pid);
            if let (true, Life::Lives(interpreter)) = (ends, &mut self.life) {
                // The last events are read before `waitpid`, while the process still shows whether user code
                // replaced it.
                interpreter.hear_last(tell);
            }
            let waited = waitpid(Pid::from_raw(pid as i32), WaitOptions::NOHANG);
            let Ok(Some((_, status))) = waited else { return };
            self.hear_asked(pid, status, tell);
            if ends {
                self.ended(status);
                // `Exited` is told only after the sweep, which may take a while.
                tell(Told::Leaving { code: None });
            }
        }
    }

    fn ended(&mut self, status: WaitStatus) {
        let Life::Lives(interpreter) = std::mem::replace(&mut self.life, Life::None) else {
            return;
        };
        let mut interpreter = *interpreter;
        let exit = match std::mem::take(&mut interpreter.bridge) {
            // A copy that ends before it is awake never took the interpreter's place, so the interpreter's end is told.
            BridgeFacts::Wakes(waking) => waking.exit,
            facts => {
                interpreter.bridge = facts;
                Exit {
                    code: status.exit_status(),
                    signal: status.terminating_signal(),
                    replaced: interpreter.replaced,
                    complaint: interpreter.complaint(),
                    ..Exit::default()
                }
            }
        };
        self.clock.resume();
        let then = interpreter.successor(&exit);
        if then.is_none() {
            interpreter.copies.release_all();
        }
        interpreter.spare_copies();
        let sweeps = Sweeps::begin(interpreter, exit, then, self.duty.family());
        self.life = Life::Sweeps(Box::new(sweeps));
    }

    /// Goes on killing processes of an ended interpreter. When none is left, or time is up, their output is
    /// told, and then the end.
    pub(super) fn go_on_sweeping(&mut self, stirred: bool, clients: bool, tell: Tell<'_>) {
        let Life::Sweeps(sweeps) = &mut self.life else { return };
        let now = Instant::now();
        if !stirred && now < sweeps.next || clients && now < sweeps.stepped + PUT_OFF {
            return;
        }
        let swept = sweeps.sweep.step(now);
        sweeps.stepped = Instant::now();
        match swept {
            Swept::Again { at } => return sweeps.next = at,
            Swept::Done => {}
            Swept::Left(left) => {
                crate::log_error!("these processes of the session do not die: {left:?}");
                sweeps.exit.left = left;
            }
        }
        let Life::Sweeps(mut sweeps) = std::mem::replace(&mut self.life, Life::None) else {
            return;
        };
        sweeps.interpreter.drain(tell);
        if let Some(copy) = sweeps.then {
            // While the sweep ran, a newer copy may have become the fallback, and the older one may have been dropped.
            let copy = sweeps.interpreter.newest(copy);
            return self.wake(*sweeps, copy);
        }
        sweeps.interpreter.forget_compiled();
        self.duty.left = !sweeps.exit.left.is_empty();
        tell(Told::Exited(sweeps.exit));
    }

    /// The processes of an ended interpreter are gone, and a copy takes its place.
    fn wake(&mut self, sweeps: Sweeps, copy: u32) {
        let Sweeps { mut interpreter, mut exit, .. } = sweeps;
        exit.left.clear();
        self.life = match interpreter.wake(copy, exit.clone()) {
            Ok(wakes) => Life::Wakes(Box::new(wakes)),
            Err(why) => {
                exit.not_restored = Some(why);
                interpreter.copies.release_all();
                let all = self.duty.family();
                Life::Sweeps(Box::new(Sweeps::begin(interpreter, exit, None, all)))
            }
        };
    }

    /// Ends an interpreter whose session could not be recorded, and all that it started. This waits, because
    /// there is no loop yet.
    pub fn abandon(&mut self) {
        self.kill(&mut |_| {});
        self.duty.left = !self.duty.family().sweep(SWEEP_PATIENCE).is_empty();
        self.life = Life::None;
    }

    pub(super) fn leave(&mut self) {
        // If processes may be left, the guard sweeps.
        if !self.duty.left {
            self.duty.settle(getpid());
        }
    }
}
