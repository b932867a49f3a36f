//! A client's call, and the end of the host.

use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::Signal;
use stead_launch::sys::read_signals;

use crate::clients::connection::Connection;
use crate::host::Host;

/// The signal by which a client says that it cannot find our socket.
pub(crate) const CALL: Signal = Signal::USR1;

impl Host {
    /// A client calls that cannot find our socket.
    pub(crate) fn take_signals(&mut self) {
        let mut called = false;
        read_signals(&self.signals, |_| called = true);
        if called
            && let Some(listener) = &mut self.listener
            && let Err(error) = listener.restore()
        {
            eprintln!("could not listen on `{}` again: {error}", self.spec.socket.display());
        }
    }

    /// Everyone gets what they were sent, if they take it within a second.
    pub(crate) fn say_goodbye(&mut self) {
        let deadline = Instant::now() + Duration::from_secs(1);
        self.connections.values_mut().for_each(Connection::release);
        loop {
            for connection in self.connections.values_mut() {
                connection.flush();
            }
            self.connections.retain(|_, connection| !connection.is_flushed());
            let left = deadline.saturating_duration_since(Instant::now());
            if self.connections.is_empty() || left.is_zero() {
                return;
            }
            let mut fds: Vec<PollFd<'_>> = self
                .connections
                .values()
                .map(|connection| PollFd::from_borrowed_fd(connection.fd(), PollFlags::OUT))
                .collect();
            let timeout = Timespec { tv_sec: 0, tv_nsec: left.subsec_nanos() as _ };
            let _ = poll(&mut fds, Some(&timeout));
        }
    }
}
