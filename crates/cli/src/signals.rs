//! Ctrl-C, and the end of whoever reads our output, as something to wait for.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::event::epoll;
use rustix::process::Signal;
use stead_launch::sys;

/// SIGINT as a readable descriptor; the signal does not end the process until this is dropped.
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

    /// Lets Ctrl-C end the process again, for a thread that has given its descriptor to another.
    pub(crate) fn let_go() {
        let _ = sys::unblock(&[Signal::INT]);
    }
}

impl Drop for CtrlC {
    fn drop(&mut self) {
        // A Ctrl-C from before this moment was for the command; from now on Ctrl-C ends the process.
        self.take();
        CtrlC::let_go();
    }
}

impl AsFd for CtrlC {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Why a command that only looks should leave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Leave {
    /// Ctrl-C was pressed.
    CtrlC,
    /// Nobody reads standard output any more: a closed pipe or terminal.
    Unread,
}

/// What ends a look, as one descriptor that is readable when it is time to leave.
#[derive(Debug)]
pub(crate) struct Exits {
    any: OwnedFd,
    ctrl_c: Option<CtrlC>,
}

impl Exits {
    /// Listens to standard output, and to Ctrl-C if `ctrl_c` says so; without that, Ctrl-C ends the process
    /// as it ends any other.
    pub(crate) fn new(ctrl_c: bool) -> Option<Self> {
        let any = epoll::create(epoll::CreateFlags::CLOEXEC).ok()?;
        let ctrl_c = if ctrl_c { CtrlC::new() } else { None };
        let add =
            |fd: BorrowedFd<'_>, wanted| epoll::add(&any, fd, epoll::EventData::new_u64(0), wanted);
        if let Some(ctrl_c) = &ctrl_c {
            add(ctrl_c.as_fd(), epoll::EventFlags::IN).ok()?;
        }
        // epoll tells of a closed other end without being asked. It refuses plain files, which have no other
        // end.
        let _ = add(std::io::stdout().as_fd(), epoll::EventFlags::empty());
        Some(Exits { any, ctrl_c })
    }

    /// Whether it is time to leave, and why.
    pub(crate) fn take(&mut self) -> Option<Leave> {
        if self.ctrl_c.as_mut().is_some_and(CtrlC::take) {
            // The command leaves now. SIGINT stays held back, or a second Ctrl-C would end the process before its exit code is told.
            std::mem::forget(self.ctrl_c.take());
            return Some(Leave::CtrlC);
        }
        let mut events = Vec::with_capacity(2);
        let now = rustix::event::Timespec { tv_sec: 0, tv_nsec: 0 };
        epoll::wait(&self.any, rustix::buffer::spare_capacity(&mut events), Some(&now)).ok()?;
        let closed = epoll::EventFlags::ERR | epoll::EventFlags::HUP;
        let is_closed = |flags: epoll::EventFlags| flags.intersects(closed);
        events.iter().any(|event| is_closed(event.flags)).then_some(Leave::Unread)
    }
}

impl AsFd for Exits {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.any.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether this thread holds SIGINT back.
    fn holds_back() -> bool {
        let status = std::fs::read_to_string("/proc/thread-self/status").unwrap();
        let blocked = status.lines().find_map(|line| line.strip_prefix("SigBlk:")).unwrap();
        u64::from_str_radix(blocked.trim(), 16).unwrap() & (1 << (Signal::INT.as_raw() - 1)) != 0
    }

    #[test]
    fn c9_ctrl_c_is_held_back_for_as_long_as_it_is_listened_for() {
        let before = holds_back();
        let ctrl_c = CtrlC::new().unwrap();
        assert!(!before && holds_back());
        drop(ctrl_c);
        assert!(!holds_back());
    }
}
