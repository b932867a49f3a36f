//! The pipe that user code reads from.

use std::collections::VecDeque;
use std::io;
use std::os::fd::AsRawFd;

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use stead_launch::stdin_wait::{InputReader, readers, waits_for};
use stead_protocol::EvalId;

use super::background::BackgroundInput;
use super::channel::drain_into;
use super::drain::READ;
use super::editor::Among;
use super::interpreter::Interpreter;
use super::life::Life;
use super::listening::ToldListening;
use super::{Near, Tell};
use crate::told::{InputRefusal, Told};

/// The state of the interpreter's stdin.
#[derive(Debug)]
pub(super) enum StdinPipe {
    /// Nothing was written to it since unread input was last dropped.
    Untouched,
    /// Bytes that are not in the pipe yet, and whether the end of file follows them.
    Open { pending: VecDeque<u8>, then_eof: bool },
    /// Readers see the end of file.
    AtEof,
}

impl StdinPipe {
    fn open() -> Self {
        StdinPipe::Open { pending: VecDeque::new(), then_eof: false }
    }

    pub(super) fn has_pending(&self) -> bool {
        matches!(self, StdinPipe::Open { pending, .. } if !pending.is_empty())
    }
}

impl Near {
    /// Gives input to the eval, or to a reader in the background if none is named.
    pub(super) fn input(
        &mut self,
        seq: u64,
        eval: Option<EvalId>,
        text: &str,
        eof: bool,
        tell: Tell<'_>,
    ) {
        let given = match &mut self.life {
            Life::Lives(interpreter) => interpreter.take_input(seq, eval, text, eof, tell),
            Life::None | Life::Looks(_) | Life::Prepared(_) | Life::Sweeps(_) | Life::Wakes(_) => {
                Err(InputRefusal::NoInterpreter)
            }
        };
        if let Err(why) = given {
            tell(Told::InputRefused { seq, why });
        }
    }
}

impl Interpreter {
    fn take_input(
        &mut self,
        seq: u64,
        eval: Option<EvalId>,
        text: &str,
        eof: bool,
        tell: Tell<'_>,
    ) -> Result<(), InputRefusal> {
        if eval.is_some() && self.run.as_ref().map(|run| &run.eval) != eval.as_ref() {
            return Err(InputRefusal::NotRunning);
        }
        self.drain(tell);
        let reader = match eval {
            Some(_) => None,
            None => Some(*self.stdin_readers().first().ok_or(InputRefusal::NoReader)?),
        };
        let among = if reader.is_none() { Among::Young } else { Among::All };
        match self.editor(among) {
            Some(_) => self.answer_editor(text.as_bytes(), eof),
            None => self.give_input(text.as_bytes(), eof),
        }
        .map_err(|error| InputRefusal::Failed { message: error.to_string() })?;
        tell(Told::InputGiven { seq });
        match (reader, &mut self.run) {
            (Some(reader), _) => {
                // An earlier request for a background reader is answered now and does not wait any longer.
                if let Some(earlier) = self.background.take() {
                    tell(Told::InputRead { seq: earlier.seq() });
                }
                self.background = Some(BackgroundInput::new(seq, reader));
            }
            (None, Some(run)) => {
                run.listening = ToldListening::No;
                run.word.secret = false;
                run.probe.restart();
            }
            (None, None) => {}
        }
        Ok(())
    }

    /// Threads of the session that are blocked on its empty stdin.
    pub(super) fn stdin_readers(&self) -> Vec<InputReader> {
        if self.stdin_unread() > 0 {
            return Vec::new();
        }
        readers(self.family.members(), self.pipe)
    }

    /// Whether that thread is blocked on an empty stdin.
    pub(super) fn is_reading(&self, reader: InputReader) -> bool {
        self.stdin_unread() == 0 && waits_for(reader.pid, reader.tid, self.pipe).is_some()
    }

    /// How many bytes of input are in the pipe.
    pub(super) fn stdin_unread(&self) -> usize {
        let pending = match &self.stdin {
            StdinPipe::Open { pending, .. } => pending.len(),
            StdinPipe::Untouched | StdinPipe::AtEof => 0,
        };
        pending + rustix::io::ioctl_fionread(&self.child.ends.stdin_read).unwrap_or(0) as usize
    }

    /// Writes input for readers, and the end of file after it if `eof`.
    pub(super) fn give_input(&mut self, text: &[u8], eof: bool) -> io::Result<()> {
        match self.stdin {
            StdinPipe::AtEof => self.reopen_stdin()?,
            StdinPipe::Untouched => self.stdin = StdinPipe::open(),
            StdinPipe::Open { .. } => {}
        }
        if let StdinPipe::Open { pending, then_eof } = &mut self.stdin {
            pending.extend(text);
            *then_eof |= eof;
        }
        self.flush_input();
        Ok(())
    }

    /// Goes on writing input that did not fit the pipe.
    pub(super) fn flush_input(&mut self) {
        let StdinPipe::Open { pending, then_eof } = &mut self.stdin else { return };
        drain_into(&self.child.ends.stdin, pending);
        if pending.is_empty() && *then_eof {
            // Dropping the only writing end is what makes readers see the end. A descriptor must
            // stay in its place, so a closed pipe's reading end stands in.
            if let Ok(stand_in) = self.child.ends.stdin_read.try_clone() {
                self.child.ends.stdin = stand_in;
                self.stdin = StdinPipe::AtEof;
            }
        }
    }

    /// Drops unread input, and takes back an end of file (SPEC E-9).
    pub(super) fn drop_input(&mut self) {
        if let Err(error) = self.try_drop_input() {
            crate::log_warn!("could not drop unread input: {error}");
        }
    }

    fn try_drop_input(&mut self) -> io::Result<()> {
        match &mut self.stdin {
            // Nothing was written to the pipe, so nothing can be in it.
            StdinPipe::Untouched => return Ok(()),
            StdinPipe::Open { pending, then_eof } => {
                pending.clear();
                *then_eof = false;
            }
            StdinPipe::AtEof => {}
        }
        let mut left = rustix::io::ioctl_fionread(&self.child.ends.stdin_read)? as usize;
        while left > 0 {
            let most = left.min(READ);
            match rustix::io::read(&self.child.ends.stdin_read, &mut self.buffer[..most]) {
                Ok(0) | Err(Errno::AGAIN) => break,
                Ok(read) => left -= read,
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        if matches!(self.stdin, StdinPipe::AtEof) {
            self.reopen_stdin()?;
        }
        self.stdin = StdinPipe::Untouched;
        Ok(())
    }

    /// Opens a writing end of the stdin pipe anew, through its reading end.
    fn reopen_stdin(&mut self) -> io::Result<()> {
        let path = format!("/proc/self/fd/{}", self.child.ends.stdin_read.as_raw_fd());
        let flags = OFlags::WRONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
        self.child.ends.stdin = rustix::fs::open(path, flags, Mode::empty())?;
        self.stdin = StdinPipe::open();
        Ok(())
    }
}
