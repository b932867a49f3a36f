//! A terminal that does not show what is typed, and shows it again however this process ends or is stopped.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

/// The signals that end or stop a command which a person has started.
const FATAL: [libc::c_int; 5] =
    [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT, libc::SIGTSTP];

/// The terminal that is silent now. The record behind this pointer is never freed, because a signal handler
/// may be reading it; each question that is asked in silence leaves one record.
static SILENT: AtomicPtr<Silenced> = AtomicPtr::new(ptr::null_mut());

struct Silenced {
    terminal: RawFd,
    before: libc::termios,
    silent: libc::termios,
}

/// A terminal that does not show what is typed until this value is dropped. There is one at a time.
#[derive(Debug)]
pub struct SilentTerminal {
    /// The earlier effect of each signal; none for ignored signals, which stay ignored.
    before: [Option<libc::sighandler_t>; FATAL.len()],
}

impl SilentTerminal {
    /// Turns the echo off, except for line ends, so that what follows begins on a line of its own. The terminal has to
    /// stay open for as long as this lives.
    pub fn new(terminal: BorrowedFd<'_>) -> io::Result<Self> {
        let fd = terminal.as_fd().as_raw_fd();
        // SAFETY: the record is filled in by the call before it is read.
        let before = unsafe {
            let mut before = std::mem::zeroed();
            checked(libc::tcgetattr(fd, &mut before))?;
            before
        };
        let mut silent = before;
        silent.c_lflag &= !libc::ECHO;
        silent.c_lflag |= libc::ECHONL;
        let silenced = Box::new(Silenced { terminal: fd, before, silent });
        SILENT.store(Box::into_raw(silenced), Ordering::Release);
        let kept = SilentTerminal { before: FATAL.map(take_over) };
        // SAFETY: the descriptor is open and the record valid.
        checked(unsafe { libc::tcsetattr(fd, libc::TCSADRAIN, &silent) })?;
        Ok(kept)
    }
}

impl Drop for SilentTerminal {
    fn drop(&mut self) {
        show_again();
        for (signal, before) in FATAL.into_iter().zip(self.before) {
            if let Some(before) = before {
                // SAFETY: this is what the signal did before.
                unsafe { libc::signal(signal, before) };
            }
        }
    }
}

/// Has a silent terminal, if there is one, show what is typed. For code that ends this process without
/// dropping anything.
pub fn show_again() {
    let silenced = SILENT.swap(ptr::null_mut(), Ordering::AcqRel);
    // SAFETY: the pointer is null or leads to what is never freed.
    if let Some(silenced) = unsafe { silenced.as_ref() } {
        // SAFETY: the record is valid; a descriptor that was closed is refused.
        unsafe { libc::tcsetattr(silenced.terminal, libc::TCSADRAIN, &silenced.before) };
    }
}

/// Has a signal give the terminal back first; returns the signal's earlier effect, or `None` if it is ignored.
fn take_over(signal: libc::c_int) -> Option<libc::sighandler_t> {
    let handler: extern "C" fn(libc::c_int) = give_back;
    // SAFETY: the record is initialised, and the handler makes only calls that a handler may make.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handler as libc::sighandler_t;
        action.sa_flags = libc::SA_NODEFER;
        libc::sigemptyset(&mut action.sa_mask);
        let mut before: libc::sigaction = std::mem::zeroed();
        libc::sigaction(signal, ptr::null(), &mut before);
        if before.sa_sigaction == libc::SIG_IGN {
            return None;
        }
        libc::sigaction(signal, &action, ptr::null_mut());
        Some(before.sa_sigaction)
    }
}

/// Shows what is typed again, then lets the signal have its usual effect. Returns only from a stop.
extern "C" fn give_back(signal: libc::c_int) {
    // SAFETY: all these calls may be made in a signal's handler, and what the pointer leads to is never freed.
    unsafe {
        let errno = *libc::__errno_location();
        let silenced = SILENT.load(Ordering::Acquire).as_ref();
        // If another process group has the terminal, a shell has taken it back and has set it as it wants.
        if let Some(silenced) = silenced
            && libc::tcgetpgrp(silenced.terminal) == libc::getpgrp()
        {
            libc::tcsetattr(silenced.terminal, libc::TCSANOW, &silenced.before);
        }
        let own = libc::signal(signal, libc::SIG_DFL);
        libc::raise(signal);
        libc::signal(signal, own);
        // In a background process `tcsetattr` stops the process once more, until it has the terminal again.
        if let Some(silenced) = SILENT.load(Ordering::Acquire).as_ref() {
            libc::tcsetattr(silenced.terminal, libc::TCSANOW, &silenced.silent);
        }
        *libc::__errno_location() = errno;
    }
}

fn checked(result: libc::c_int) -> io::Result<()> {
    if result == -1 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
