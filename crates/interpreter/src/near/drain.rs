//! The pipes that user code writes to: read as it writes, and drained exactly before an event counts.

use std::borrow::Cow;
use std::time::Instant;

use rustix::io::Errno;
use stead_protocol::bridge::Stream;

use super::Tell;
use super::channel::Channel;
use super::complaint;
use super::interpreter::{BridgeFacts, Interpreter};
use crate::told::Told;

/// How much is read from a pipe at once: its whole default size, which fits into the processor's cache.
pub(super) const READ: usize = 64 << 10;

impl Interpreter {
    /// Reads exactly the bytes that are in both pipes now, and so everything that was written before an event
    /// that has been read. A background writer cannot keep this going.
    pub(super) fn drain(&mut self, tell: Tell<'_>) {
        let held = [&self.child.ends.stdout, &self.child.ends.stderr]
            .map(|fd| rustix::io::ioctl_fionread(fd).is_ok_and(|left| left > 0));
        for stream in self.arrivals.order(held) {
            let fd = match stream {
                Stream::Out => &self.child.ends.stdout,
                Stream::Err => &self.child.ends.stderr,
            };
            let mut left = rustix::io::ioctl_fionread(fd).unwrap_or(0) as usize;
            while left > 0 {
                let fd = match stream {
                    Stream::Out => &self.child.ends.stdout,
                    Stream::Err => &self.child.ends.stderr,
                };
                let most = left.min(READ);
                match rustix::io::read(fd, &mut self.buffer[..most]) {
                    Ok(0) | Err(Errno::AGAIN) => break,
                    Ok(read) => {
                        self.tell_output(stream, read, tell);
                        left -= read;
                    }
                    Err(Errno::INTR) => {}
                    Err(_) => break,
                }
            }
        }
    }

    /// Reads from the pipes that are ready, in the order in which they were written to.
    pub(super) fn read_streams(&mut self, mut ready: [bool; 2], tell: Tell<'_>) {
        // A pipe that was left unread counts as ready: its bytes are older than those that woke us in the other pipe.
        match self.pace.left_unread() {
            Some(Stream::Out) => ready[0] = true,
            Some(Stream::Err) => ready[1] = true,
            None => {}
        }
        for stream in self.arrivals.order(ready) {
            self.read_stream(stream, tell);
        }
        self.leave_alone(self.pace.resting(Instant::now()));
    }

    /// Reads once from a pipe that may be ready.
    fn read_stream(&mut self, stream: Stream, tell: Tell<'_>) {
        let (fd, channel) = match stream {
            Stream::Out => (&self.child.ends.stdout, &mut self.stdout),
            Stream::Err => (&self.child.ends.stderr, &mut self.stderr),
        };
        match rustix::io::read(fd, &mut self.buffer[..]) {
            Ok(0) => *channel = Channel::Closed,
            Ok(read) => {
                self.pace.note(stream, read, Instant::now());
                self.tell_output(stream, read, tell);
            }
            Err(Errno::AGAIN | Errno::INTR) => {}
            Err(_) => *channel = Channel::Closed,
        }
    }

    /// Tells the first `read` bytes of the buffer as output of this stream.
    fn tell_output(&mut self, stream: Stream, read: usize, tell: Tell<'_>) {
        let bytes = &self.buffer[..read];
        self.arrivals.note(stream, bytes);
        tell(Told::Output { stream, bytes: Cow::Borrowed(bytes) });
        if let Some(run) = &mut self.run {
            run.probe.stir();
        }
        match &mut self.bridge {
            BridgeFacts::Ready { .. } | BridgeFacts::Wakes(_) => {}
            BridgeFacts::Complained(said) => complain(said, bytes),
            unknown @ BridgeFacts::Unknown => {
                let mut said = Vec::new();
                complain(&mut said, bytes);
                *unknown = BridgeFacts::Complained(said);
            }
        }
    }

    /// Stops watching in which order this stream is written to, or watches both.
    pub(super) fn leave_alone(&mut self, stream: Option<Stream>) {
        self.arrivals.leave_alone(stream, &self.child.ends.stdout, &self.child.ends.stderr);
    }
}

fn complain(said: &mut Vec<u8>, bytes: &[u8]) {
    said.extend_from_slice(bytes);
    let over = said.len().saturating_sub(complaint::KEPT);
    said.drain(..over);
}
