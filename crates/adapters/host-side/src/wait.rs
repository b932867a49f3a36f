//! Waiting for several descriptors at once, each by a name.

use std::io;
use std::os::fd::BorrowedFd;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use crate::{HostSide, stream_fd};

/// What a loop waits for.
#[derive(Debug)]
pub struct WaitList<'a, S> {
    sources: Vec<S>,
    fds: Vec<PollFd<'a>>,
}

impl<'a, S> WaitList<'a, S> {
    /// The host's channel, under the name `host`, and the stream that took no more, under `stream`.
    pub fn new(side: &'a HostSide, host: S, stream: S) -> WaitList<'a, S> {
        let (control, full) = side.wants();
        let mut list = WaitList { sources: vec![host], fds: vec![PollFd::new(side, control)] };
        if let Some(full) = full {
            list.add(stream, stream_fd(full), PollFlags::OUT);
        }
        list
    }

    /// Adds one more descriptor to wait for.
    pub fn add(&mut self, source: S, fd: BorrowedFd<'a>, flags: PollFlags) {
        self.sources.push(source);
        self.fds.push(PollFd::from_borrowed_fd(fd, flags));
    }

    /// Waits until something can be read or written, or until the time has come; returns the sources that are ready.
    pub fn wait(mut self, until: Option<Instant>) -> io::Result<Vec<S>> {
        // The system's timers round down, and a wait that ends too early would find nothing due.
        let left = until.map(|at| match at.saturating_duration_since(Instant::now()) {
            Duration::ZERO => Duration::ZERO,
            left => left + Duration::from_millis(1),
        });
        let left = left.and_then(|left| Timespec::try_from(left).ok());
        match poll(&mut self.fds, left.as_ref()) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let ready = self.sources.into_iter().zip(&self.fds);
        let ready = ready.filter(|(_, fd)| !fd.revents().is_empty());
        Ok(ready.map(|(source, _)| source).collect())
    }
}
