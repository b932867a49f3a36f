//! The lower half in the loop of the process that calls it: one interpreter after another, each with all that
//! it starts.
//!
//! The caller polls the descriptors of `interests`, calls `turn` with those that were ready or at the time of
//! `next`, and hands over orders. Nothing here waits: a sweep is a phase, and everything that needs time has
//! a time in `next`.

mod arrivals;
mod background;
mod channel;
mod compiled;
mod complaint;
mod copies;
mod drain;
mod editor;
mod elders;
mod events;
mod figures;
mod input;
mod interpreter;
mod interrupt;
mod life;
mod limit;
mod listening;
mod looks;
mod nudge;
mod pace;
mod probe;
mod run;
mod waking;

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use rustix::event::PollFlags;
use rustix::fs::Mode;
use rustix::process::Signal;
use stead_launch::family::Family;
use stead_launch::tree;
use stead_protocol::Capability;
use stead_protocol::bridge::{Command, Stream};

use crate::clock::Clock;
use crate::guard::{Duty, Guard};
use crate::order::Order;
use crate::told::Told;
use life::Life;
use run::{OWN_PAUSE, OWN_RESUME};

/// The function that is told what happens.
type Tell<'t> = &'t mut dyn FnMut(Told<'_>);

/// The lower half in this process.
pub struct Near {
    duty: Duty,
    guard: Guard,
    /// Readable when a child of this process has ended.
    children: OwnedFd,
    /// The file mask of the client that began the session, which user code gets too.
    umask: Mode,
    /// Where compiled bridges are kept.
    cache: PathBuf,
    life: Life,
    clock: Clock,
}

/// Something that can be waited on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// The bridge's channel.
    Control,
    /// A pipe that user code writes to.
    Stream(Stream),
    /// The pipe that user code reads from.
    Stdin,
    /// Children of this process.
    Children,
    /// The guard's end.
    Guard,
    /// Copies of the interpreter.
    Copies,
    /// A program that is asked where the interpreter is.
    Asked,
}

/// Which sources were ready.
#[derive(Debug, Clone, Copy, Default)]
pub struct NearReady {
    control: bool,
    streams: [bool; 2],
    stdin: bool,
    children: bool,
    guard: bool,
    clients: bool,
    copies: bool,
    asked: bool,
}

impl NearReady {
    /// Notes that somebody waits for an answer of this process, so that what takes long may be put off.
    pub fn note_clients(&mut self) {
        self.clients = true;
    }

    /// Notes that a source was ready.
    pub fn note(&mut self, source: Source) {
        match source {
            Source::Control => self.control = true,
            Source::Stream(Stream::Out) => self.streams[0] = true,
            Source::Stream(Stream::Err) => self.streams[1] = true,
            Source::Stdin => self.stdin = true,
            Source::Children => self.children = true,
            Source::Guard => self.guard = true,
            Source::Copies => self.copies = true,
            Source::Asked => self.asked = true,
        }
    }
}

impl Near {
    /// A lower half without an interpreter, guarded as `duty` says.
    pub fn new(duty: Duty, guard: Guard, umask: Mode, cache: PathBuf) -> io::Result<Near> {
        Ok(Near {
            children: stead_launch::sys::signal_descriptor(&[Signal::CHILD])?,
            duty,
            guard,
            umask,
            cache,
            life: Life::None,
            clock: Clock::new(),
        })
    }

    /// Carries out an order; what is known of its result already is told at once.
    pub fn order(&mut self, order: Order, tell: Tell<'_>) {
        match order {
            Order::Prepare { settings, name } => self.prepare(settings, name, tell),
            Order::Start => self.start(tell),
            Order::Pause => self.pause(tell),
            Order::Resume => self.resume(tell),
            Order::Figures => {
                self.with(|interpreter| interpreter.ask_figures());
                tell(Told::Figures(Box::new(self.figures())));
            }
            Order::Input { seq, eval, text, eof } => self.input(seq, eval, &text, eof, tell),
            Order::Interrupt => {
                self.wake_up(tell);
                self.with(|interpreter| interpreter.interrupt());
            }
            Order::KillChildren => self.with(|interpreter| interpreter.kill_children(tell)),
            Order::Kill => self.kill(tell),
            Order::Exit => {
                self.stop_looking(tell);
                self.wake_up(tell);
                self.with(|interpreter| interpreter.ask_exit());
            }
            Order::Copy { seq, save } => {
                let now = self.clock.now();
                self.with(|interpreter| interpreter.copy(seq, save, now, tell));
            }
            Order::Rollback { copy } => self.roll_back(copy, tell),
            Order::Drop { copies } => {
                if let Some(interpreter) = self.life.interpreter_mut() {
                    interpreter.drop_copies(&copies);
                }
            }
            Order::Fallback { copy } => {
                if let Some(interpreter) = self.life.interpreter_mut() {
                    interpreter.copies.fallback = copy;
                }
            }
            Order::Run { eval, code, place, last, limit_ms } => {
                let now = self.clock.now();
                self.with(|interpreter| {
                    if last {
                        interpreter.announce_last();
                    }
                    interpreter.run(eval, &code, place, limit_ms, now);
                });
                crate::pause::point("sent");
            }
            Order::Work { eval, what, argument, limit_ms } => {
                let now = self.clock.now();
                self.with(|it| it.work(eval, &what, &argument, limit_ms, now));
                crate::pause::point("sent");
            }
            Order::Ask { seq, what, arg } => {
                self.with(|interpreter| interpreter.ask(seq, &what, &arg))
            }
            Order::Clear { seq, limit_ms } => {
                let now = self.clock.now();
                self.with(|interpreter| interpreter.clear(seq, limit_ms, now));
            }
            Order::Leave => self.leave(),
            Order::Unknown => {}
        }
    }

    /// Descriptors to wait on, and for what. Those of no use now are left out, because `poll` reports their
    /// hang-up for ever.
    pub fn interests(&self) -> impl Iterator<Item = (Source, BorrowedFd<'_>, PollFlags)> {
        let children = (Source::Children, self.children.as_fd(), PollFlags::IN);
        let guard = match &self.guard {
            Guard::Stands(guard) => Some((Source::Guard, guard.as_fd(), PollFlags::IN)),
            Guard::Missing(_) => None,
        };
        let interpreter = self.life.interpreter().into_iter().flat_map(|it| it.interests());
        let asked = self.life.looks().into_iter().flat_map(|looks| looks.interests());
        [children].into_iter().chain(guard).chain(interpreter).chain(asked)
    }

    /// When `turn` has something to do even if no descriptor is ready.
    pub fn next(&self) -> Option<Instant> {
        let guard = match self.guard {
            Guard::Stands(_) => None,
            Guard::Missing(retry) => Some(retry),
        };
        let phase = match &self.life {
            Life::Sweeps(sweeps) => Some(sweeps.next),
            Life::Wakes(wakes) => Some(wakes.by),
            Life::Looks(looks) => Some(looks.deadline()),
            Life::None | Life::Prepared(_) | Life::Lives(_) => None,
        };
        let paused = self.clock.is_paused();
        // The output of one that has ended is read until all that it started is gone; the rest is for one that lives.
        let pace = self.life.interpreter().and_then(|it| it.next_read());
        let lives = match &self.life {
            Life::Lives(interpreter) => Some(interpreter),
            Life::None | Life::Looks(_) | Life::Prepared(_) | Life::Sweeps(_) | Life::Wakes(_) => {
                None
            }
        };
        let interpreter = lives.and_then(|it| it.next(paused));
        let limit = lives.and_then(|it| it.next_limit()).filter(|_| !paused);
        // One millisecond is added because the session's clock counts whole milliseconds.
        let left = |at: u64| at.saturating_sub(self.clock.now()).saturating_add(1);
        let limit = limit.map(|at| Instant::now() + Duration::from_millis(left(at)));
        [guard, phase, pace, interpreter, limit].into_iter().flatten().min()
    }

    /// Deals with the sources that were ready and with everything that is due.
    pub fn turn(&mut self, ready: NearReady, tell: Tell<'_>) {
        if let Some(interpreter) = self.life.interpreter_mut() {
            if ready.copies {
                interpreter.hear_of_copies(tell);
            }
            if ready.control {
                // `hear` reads the output pipes, too.
                interpreter.hear(tell);
            } else if ready.streams != [false, false] {
                interpreter.read_streams(ready.streams, tell);
            }
            if ready.stdin {
                interpreter.flush_input();
            }
        }
        self.take_pause_answer(tell);
        if ready.children {
            self.take_children(tell);
        }
        self.keep_guarded(ready.guard);
        self.go_on_looking(ready.asked, tell);
        self.go_on_waking();
        self.go_on_sweeping(ready.children, ready.clients, tell);
        let clock = &self.clock;
        if let Life::Lives(interpreter) = &mut self.life {
            interpreter.look_for_readers(clock, tell);
            interpreter.shoot(tell);
            interpreter.nudge(tell);
            interpreter.continue_background_input(tell);
            if !clock.is_paused() {
                interpreter.pass_limit(clock.now(), tell);
            }
        }
    }

    /// Does work for the next eval, if none runs; called when no client waits.
    pub fn look_around(&mut self) {
        self.with(|interpreter| {
            // During an eval the list of older processes would name the eval's own, too, and spare them.
            if interpreter.run.is_some() {
                return;
            }
            interpreter.forget_gone_copies();
            interpreter.look_around();
            interpreter.ask_for_compiled();
        });
    }

    /// The processes of the session, without copies of the interpreter.
    fn family(&self) -> Family {
        let family = self.life.interpreter().map(|interpreter| interpreter.family.clone());
        family.unwrap_or_else(|| self.duty.family())
    }

    fn with(&mut self, act: impl FnOnce(&mut interpreter::Interpreter)) {
        if let Life::Lives(interpreter) = &mut self.life {
            act(interpreter);
        }
    }

    fn pause(&mut self, tell: Tell<'_>) {
        if self.asks_bridge(&Command::Pause { seq: OWN_PAUSE }) {
            return;
        }
        let hindrance = match &self.life {
            Life::Sweeps(_) | Life::Wakes(_) => {
                "the interpreter is ending, or another takes its place"
            }
            Life::Looks(_) => "the interpreter is still being looked for",
            Life::None | Life::Prepared(_) | Life::Lives(_) => "",
        };
        if !hindrance.is_empty() {
            return tell(Told::NotPaused { message: hindrance.to_owned() });
        }
        self.with(|interpreter| interpreter.shoot_now(tell));
        self.family().freeze();
        self.clock.pause();
        tell(Told::Paused { paused: true });
    }

    fn resume(&mut self, tell: Tell<'_>) {
        if self.asks_bridge(&Command::Resume { seq: OWN_RESUME }) {
            return;
        }
        // To whoever lets it go on, an interpreter that a signal has stopped was paused.
        if !self.clock.is_paused() && self.stands() {
            tell(Told::Paused { paused: true });
        }
        self.family().thaw();
        self.clock.resume();
        tell(Told::Paused { paused: false });
    }

    /// Lets stopped processes go on, since they would do nothing that they are asked for.
    fn wake_up(&mut self, tell: Tell<'_>) {
        if self.clock.is_paused() {
            self.resume(tell);
        } else if self.stands() {
            self.family().thaw();
        }
    }

    /// Whether somebody else has stopped the interpreter with a signal; its own code may have done that.
    fn stands(&self) -> bool {
        let Life::Lives(interpreter) = &self.life else { return false };
        // The lower half itself stops a shell for a moment, to interrupt it.
        !interpreter.aim.holds()
            && tree::look(interpreter.core()).is_some_and(|process| process.state == b'T')
    }

    /// Whether the bridge carries out pauses, since its code runs elsewhere; if so, the bridge is sent `command`.
    fn asks_bridge(&mut self, command: &Command<'_>) -> bool {
        let Life::Lives(interpreter) = &mut self.life else { return false };
        let asks = interpreter.can(Capability::Pauses);
        if asks {
            interpreter.send(&command.encode());
        }
        asks
    }

    /// Tells the bridge's answer to a pause.
    fn take_pause_answer(&mut self, tell: Tell<'_>) {
        let answer = self.life.interpreter_mut().and_then(|it| it.pause_answer.take());
        match answer {
            None => {}
            Some(Err(message)) => tell(Told::NotPaused { message }),
            Some(Ok(paused)) => {
                if paused {
                    self.clock.pause();
                } else {
                    self.clock.resume();
                }
                tell(Told::Paused { paused });
            }
        }
    }

    /// Makes another guard if the last one is gone.
    fn keep_guarded(&mut self, gone: bool) {
        let due = match &self.guard {
            Guard::Stands(_) => gone,
            Guard::Missing(retry) => *retry <= Instant::now(),
        };
        if due {
            crate::log_warn!("the guard was killed; another takes its place");
            self.guard = self.duty.renew();
        }
    }
}
