//! The session's input, read a line at a time: the next question gets the next line, and the host drops the rest.

use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// The input of the session, as far as a line was read of it.
#[derive(Debug, Default)]
pub struct SessionInput {
    line: Vec<u8>,
    /// Code waits for a line.
    listens: bool,
}

/// What was read.
#[derive(Debug, PartialEq, Eq)]
pub enum TakenInput {
    /// A line without its end; none at the end of the input.
    Line(Option<String>),
    /// A part of a line; the rest has not come.
    Part,
    /// Nothing.
    Nothing,
}

impl SessionInput {
    /// Notes whether code waits for a line. If it no longer does, a part of a line is forgotten, since the
    /// code that asked for it is gone.
    pub fn listen(&mut self, listens: bool) {
        self.listens = listens;
        if !listens {
            self.line.clear();
        }
    }

    /// Whether code waits for a line.
    pub fn listens(&self) -> bool {
        self.listens
    }

    /// Reads a line, after which code waits for none.
    pub fn take(&mut self) -> TakenInput {
        let taken = self.take_part();
        self.listens &= !matches!(taken, TakenInput::Line(_));
        taken
    }

    /// Reads byte by byte, so that no more than a line is taken.
    fn take_part(&mut self) -> TakenInput {
        let mut byte = [0];
        let mut grew = false;
        loop {
            let unread = rustix::io::ioctl_fionread(rustix::stdio::stdin()).unwrap_or(0);
            if unread == 0 && !is_at_end() {
                return if grew { TakenInput::Part } else { TakenInput::Nothing };
            }
            grew = true;
            match rustix::io::read(rustix::stdio::stdin(), &mut byte) {
                Ok(0) if self.line.is_empty() => return TakenInput::Line(None),
                Ok(0) => break,
                Ok(_) if byte[0] == b'\n' => break,
                Ok(_) => self.line.push(byte[0]),
                Err(_) => return TakenInput::Nothing,
            }
        }
        let line = std::mem::take(&mut self.line);
        TakenInput::Line(Some(String::from_utf8_lossy(&line).into_owned()))
    }
}

/// Whether the host has closed its end, so that a read does not block.
fn is_at_end() -> bool {
    let mut fds = [PollFd::from_borrowed_fd(rustix::stdio::stdin(), PollFlags::IN)];
    let polled = poll(&mut fds, Some(&Timespec { tv_sec: 0, tv_nsec: 0 }));
    polled.is_ok() && fds[0].revents().contains(PollFlags::HUP)
}
