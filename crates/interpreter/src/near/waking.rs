//! An interpreter gives place to a copy: it is killed, all that it started is swept, and the copy gets new descriptors.
//!
//! The copy makes another of itself before it goes on, so it can be gone back to again. It has been a child of the
//! interpreter, so at the interpreter's end it becomes ours, as all orphans of the session do.

use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use stead_launch::{Child, open_channels, packets};
use stead_protocol::Capabilities;

use super::compiled::Compiled;
use super::interpreter::{BridgeFacts, Interpreter};
use super::life::Life;
use super::{Near, Tell};
use crate::told::{Exit, Told};

/// How long a copy may take until it says that it is awake.
const WAKE_PATIENCE: Duration = Duration::from_secs(10);

/// What follows when an interpreter has ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Succession {
    /// Nobody has said; how it ended decides.
    #[default]
    Unasked,
    /// Its end was ordered.
    End,
    /// It was killed for this copy.
    Wake(u32),
}

/// A copy that was told to wake.
pub(super) struct Wakes {
    pub(super) interpreter: Interpreter,
    pub(super) by: Instant,
    /// Kept open until the copy is awake, because a sleeping copy ends when this socket is closed.
    _wake: OwnedFd,
}

/// A copy that is about to take the place of an interpreter.
#[derive(Debug)]
pub(super) struct Waking {
    pub(super) copy: u32,
    /// What its bridge can do.
    pub(super) can: Capabilities,
    /// How the interpreter before it ended.
    pub(super) exit: Exit,
}

impl Interpreter {
    /// The copy that takes the place of this interpreter, which has ended as `exit` says.
    pub(super) fn successor(&self, exit: &Exit) -> Option<u32> {
        let by_itself = || self.copies.fallback.filter(|_| exit.signal.is_some() && !exit.replaced);
        match self.succession {
            Succession::End => None,
            Succession::Wake(copy) => Some(copy),
            Succession::Unasked => by_itself().filter(|copy| self.copies.has(*copy)),
        }
    }

    /// The copy to wake where `copy` was chosen at first: if nobody asked for that very copy, a newer
    /// fallback is woken.
    pub(super) fn newest(&self, copy: u32) -> u32 {
        let fallback = self.copies.fallback.filter(|newest| self.copies.has(*newest));
        match self.succession {
            Succession::Unasked => fallback.unwrap_or(copy),
            Succession::End | Succession::Wake(_) => copy,
        }
    }

    /// Wakes a copy of this interpreter, which has ended: opens new channels and sends the copy its ends of them.
    pub(super) fn wake(&mut self, copy: u32, exit: Exit) -> Result<Wakes, String> {
        let (pid, frozen) = self.copies.take(copy).ok_or("the copy has ended")?;
        let failed = |error: std::io::Error| format!("the copy could not be woken: {error}");
        let (ends, theirs) = open_channels(self.control_kind, true).map_err(failed)?;
        let given = theirs.for_a_copy().ok_or("it has no channel for copies")?;
        let said = format!("wake {copy} {}", self.copies.next());
        packets::send(&frozen.wake, said.as_bytes(), &given).map_err(failed)?;
        let can = match &self.bridge {
            BridgeFacts::Ready { can, .. } => can.clone(),
            _ => Capabilities::default(),
        };
        let mut copies = std::mem::take(&mut self.copies);
        copies.forget_asked();
        copies.watch(ends.nest.as_ref());
        copies.expected = true;
        let child = Child { pid, ends };
        let family = self.family.clone();
        let mut interpreter =
            Interpreter::new(child, family, self.control_kind, Compiled::None, copies)
                .map_err(failed)?;
        interpreter.aim.hears = self.aim.hears;
        interpreter.bridge = BridgeFacts::Wakes(Box::new(Waking { copy, can, exit }));
        interpreter.spare_copies();
        Ok(Wakes { interpreter, by: Instant::now() + WAKE_PATIENCE, _wake: frozen.wake })
    }
}

impl Near {
    /// Goes on from a copy.
    pub(super) fn roll_back(&mut self, copy: u32, tell: Tell<'_>) {
        let interpreter = match &mut self.life {
            Life::Lives(interpreter) => interpreter,
            // The interpreter has just ended by itself, and the copy may still be there.
            Life::Sweeps(sweeps) => {
                if !sweeps.goes_on_from(copy) {
                    tell(Told::CopyLost { copy });
                }
                return;
            }
            Life::None | Life::Looks(_) | Life::Prepared(_) | Life::Wakes(_) => {
                return tell(Told::CopyLost { copy });
            }
        };
        interpreter.hear_of_copies(tell);
        if !interpreter.copies.has(copy) {
            return tell(Told::CopyLost { copy });
        }
        interpreter.succession = Succession::Wake(copy);
        interpreter.kill();
    }

    /// Kills the interpreter, and nothing takes its place.
    pub(super) fn kill(&mut self, tell: Tell<'_>) {
        match &mut self.life {
            Life::Lives(interpreter) => {
                interpreter.succession = Succession::End;
                interpreter.kill();
            }
            Life::Sweeps(sweeps) => sweeps.end(self.duty.family()),
            Life::Wakes(_) => self.give_up_waking("its end was asked for"),
            Life::Looks(_) => self.stop_looking(tell),
            Life::None | Life::Prepared(_) => {}
        }
    }

    /// Looks whether the copy that was told to wake is awake, or never will be.
    pub(super) fn go_on_waking(&mut self) {
        let Life::Wakes(wakes) = &self.life else { return };
        if wakes.interpreter.is_ready() {
            if let Life::Wakes(wakes) = std::mem::replace(&mut self.life, Life::None) {
                self.life = Life::Lives(Box::new(wakes.interpreter));
            }
        } else if wakes.interpreter.is_closed() {
            self.give_up_waking("the copy ended before it was awake");
        } else if wakes.by <= Instant::now() {
            let seconds = WAKE_PATIENCE.as_secs();
            self.give_up_waking(&format!("the copy was not awake within {seconds} s"));
        }
    }

    /// Ends a copy that does not wake, and with it the session's interpreter.
    pub(super) fn give_up_waking(&mut self, why: &str) {
        let Life::Wakes(wakes) = std::mem::replace(&mut self.life, Life::None) else { return };
        let mut interpreter = wakes.interpreter;
        interpreter.succession = Succession::End;
        if let BridgeFacts::Wakes(waking) = &mut interpreter.bridge {
            waking.exit.not_restored.get_or_insert_with(|| why.to_owned());
        }
        interpreter.kill();
        self.life = Life::Lives(Box::new(interpreter));
    }
}
