//! Ctrl-C as something to wait for.

use std::fs::File;
use std::io::Read;
use std::os::fd::{AsFd, BorrowedFd, FromRawFd};

/// SIGINT as a readable descriptor; the signal no longer ends the process.
#[derive(Debug)]
pub(crate) struct CtrlC(File);

impl CtrlC {
    /// Takes SIGINT over; `None` if the system does not let us.
    pub(crate) fn new() -> Option<Self> {
        // SAFETY: the set is initialised by `sigemptyset` before it is read; the calls get valid
        // pointers to it and touch nothing else.
        let fd = unsafe {
            let mut set = std::mem::zeroed::<libc::sigset_t>();
            libc::sigemptyset(&mut set);
            libc::sigaddset(&mut set, libc::SIGINT);
            if libc::pthread_sigmask(libc::SIG_BLOCK, &set, std::ptr::null_mut()) != 0 {
                return None;
            }
            libc::signalfd(-1, &set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK)
        };
        if fd < 0 {
            return None;
        }
        // SAFETY: the descriptor was just made and belongs to nobody else.
        Some(CtrlC(unsafe { File::from_raw_fd(fd) }))
    }

    /// Takes one press.
    pub(crate) fn take(&mut self) -> bool {
        let mut info = [0; size_of::<libc::signalfd_siginfo>()];
        self.0.read(&mut info).is_ok_and(|count| count > 0)
    }
}

impl AsFd for CtrlC {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
