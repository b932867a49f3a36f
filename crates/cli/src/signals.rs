//! Ctrl-C as something to wait for.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::process::Signal;
use stead_launch::sys;

/// SIGINT as a readable descriptor; the signal no longer ends the process.
#[derive(Debug)]
pub(crate) struct CtrlC(OwnedFd);

impl CtrlC {
    /// Takes SIGINT over; `None` if the system refuses.
    pub(crate) fn new() -> Option<Self> {
        sys::signal_descriptor(&[Signal::INT]).ok().map(CtrlC)
    }

    /// Whether Ctrl-C was pressed since the last call.
    pub(crate) fn take(&mut self) -> bool {
        let mut pressed = false;
        sys::read_signals(&self.0, |_| pressed = true);
        pressed
    }
}

impl AsFd for CtrlC {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
