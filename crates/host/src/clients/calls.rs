//! The way a client has left that cannot find the host's socket: a signal.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::process::Signal;
use stead_launch::sys::{read_signals, signal_descriptor};

/// The signal that calls a host.
const CALL: Signal = Signal::USR1;

/// Readable when somebody calls.
#[derive(Debug)]
pub(crate) struct Calls(OwnedFd);

impl Calls {
    /// From here on the signal does nothing else.
    pub(crate) fn await_them() -> io::Result<Calls> {
        signal_descriptor(&[CALL]).map(Calls)
    }

    /// Whether somebody called since the last time.
    pub(crate) fn take(&self) -> bool {
        let mut called = false;
        read_signals(&self.0, |_| called = true);
        called
    }
}

impl AsFd for Calls {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
