//! The bridge's channel: commands to it, events from it.

use std::collections::VecDeque;
use std::io;
use std::os::fd::OwnedFd;

use rustix::buffer::spare_capacity;
use rustix::io::Errno;
use stead_protocol::MAX_LINE;
use stead_protocol::bridge::BridgeEvent;

use super::drain::READ;
use super::interpreter::Interpreter;

/// How many full reads of a bridge's events are made in one turn of the loop, which clients wait for.
const MOST_READS: usize = 4;

/// Whether a descriptor can still be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Channel {
    Open,
    Closed,
}

/// Why the channel cannot be used any more.
#[derive(Debug)]
pub(super) enum Broken {
    /// The other side closed it: it exited, called exec, or closed its descriptors.
    Closed,
    /// It sent something that is not the protocol.
    Garbage(String),
}

impl Interpreter {
    /// Sends the bridge a command, or keeps it back until the bridge can take it.
    pub(super) fn send(&mut self, command: &[u8]) {
        if !self.holds_back(command) {
            self.send_at_once(command);
        }
    }

    /// Queues bytes for the bridge and sends as many as the pipe takes now.
    pub(super) fn send_at_once(&mut self, bytes: &[u8]) {
        if self.outgoing.is_empty() {
            let sent = write_some(&self.child.ends.commands, bytes);
            self.outgoing.extend(&bytes[sent..]);
        } else {
            self.outgoing.extend(bytes);
        }
    }

    /// Goes on sending bytes that the pipe did not take before.
    pub(super) fn flush(&mut self) {
        drain_into(&self.child.ends.commands, &mut self.outgoing);
        if self.outgoing.is_empty() {
            self.sent();
        }
    }

    /// Reads events of the bridge, and leaves the rest for the next turn of a bridge that tells them faster than they are
    /// dealt with. The pipes must be drained before these events are acted on.
    pub(super) fn read_control(&mut self, events: &mut Vec<BridgeEvent>) -> Result<(), Broken> {
        if self.control == Channel::Closed {
            return Ok(());
        }
        for _ in 0..MOST_READS {
            let room = spare_capacity(self.lines.room(READ));
            let read = match rustix::io::read(&self.child.ends.control, room) {
                Ok(0) | Err(Errno::CONNRESET) => {
                    self.control = Channel::Closed;
                    return Err(Broken::Closed);
                }
                Ok(read) => read,
                Err(Errno::AGAIN) => return Ok(()),
                Err(Errno::INTR) => continue,
                Err(error) => return Err(Broken::Garbage(io::Error::from(error).to_string())),
            };
            while let Some(line) = self.lines.next_line() {
                events.push(parse(line).map_err(Broken::Garbage)?);
            }
            if self.lines.held() > MAX_LINE {
                return Err(Broken::Garbage("a line without end".to_owned()));
            }
            if read < READ {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Whether the bridge has told something that was not read yet.
    pub(super) fn is_telling(&self) -> bool {
        self.control == Channel::Open
            && rustix::io::ioctl_fionread(&self.child.ends.control).is_ok_and(|left| left > 0)
    }
}

fn parse(line: &[u8]) -> Result<BridgeEvent, String> {
    serde_json::from_slice(line).map_err(|error| {
        let shown: String = String::from_utf8_lossy(line).chars().take(80).collect();
        format!("{error} in `{}`", shown.escape_debug())
    })
}

/// Writes as much as fits. If the reader is gone, everything counts as written.
fn write_some(fd: &OwnedFd, bytes: &[u8]) -> usize {
    let mut sent = 0;
    while sent < bytes.len() {
        match rustix::io::write(fd, &bytes[sent..]) {
            Ok(written) => sent += written,
            Err(Errno::INTR) => {}
            Err(Errno::AGAIN) => return sent,
            // A reader that is gone is no error here: it is noticed where the bridge's events are read.
            Err(_) => return bytes.len(),
        }
    }
    sent
}

pub(super) fn drain_into(fd: &OwnedFd, queue: &mut VecDeque<u8>) {
    while !queue.is_empty() {
        let (first, _) = queue.as_slices();
        let len = first.len();
        let sent = write_some(fd, first);
        queue.drain(..sent);
        if sent < len {
            return;
        }
    }
    // A large piece of code or input must not keep its memory after it was sent.
    queue.shrink_to(READ);
}
