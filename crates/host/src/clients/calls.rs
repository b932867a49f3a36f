//! The signal by which a client that cannot find the host's socket calls the host.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::process::Signal;
use stead_launch::sys::{read_signals, signal_descriptor};

/// The signal that calls a host.
const CALL: Signal = Signal::USR1;

/// A descriptor that is readable when a client calls.
#[derive(Debug)]
pub(crate) struct CallSignal(OwnedFd);

impl CallSignal {
    /// Takes the signal over: from here on it does nothing but make this descriptor readable.
    pub(crate) fn await_them() -> io::Result<CallSignal> {
        signal_descriptor(&[CALL]).map(CallSignal)
    }

    /// Whether a client called since the last time.
    pub(crate) fn take(&self) -> bool {
        let mut called = false;
        read_signals(&self.0, |_| called = true);
        called
    }
}

impl AsFd for CallSignal {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
