//! In which order the two output pipes were written to.
//!
//! Two pipes have no common order, and a look at both later shows only that both hold something. But the
//! kernel's list of descriptors that became ready is in order: of everything that was written since the pipes
//! were last empty, it tells which pipe was first. Bash needs this most, because no bridge code runs between
//! its commands.

use std::os::fd::{AsFd, OwnedFd};

use rustix::event::Timespec;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use stead_protocol::bridge::Stream;

/// Reported once each time that a pipe ceases to be empty.
const FLAGS: EventFlags = EventFlags::IN.union(EventFlags::ET);

/// Watches both pipes; it is asked, never waited on.
#[derive(Debug)]
pub(super) struct Arrivals {
    /// `None` if the system refused: then the order is guessed by unfinished lines.
    ready: Option<OwnedFd>,
    /// Whether the last byte read from each stream was not a line feed.
    open: [bool; 2],
    /// The stream that is not watched now.
    alone: Option<Stream>,
}

impl Arrivals {
    pub(super) fn watch(stdout: impl AsFd, stderr: impl AsFd) -> Arrivals {
        let ready = || {
            let ready = epoll::create(CreateFlags::CLOEXEC)?;
            epoll::add(&ready, stdout, EventData::new_u64(0), FLAGS)?;
            epoll::add(&ready, stderr, EventData::new_u64(1), FLAGS)?;
            Ok::<_, rustix::io::Errno>(ready)
        };
        Arrivals { ready: ready().ok(), open: [false; 2], alone: None }
    }

    /// Stops watching a stream, or watches both. Being watched costs a program that writes many small pieces
    /// a fifteenth of its time.
    pub(super) fn leave_alone(
        &mut self,
        stream: Option<Stream>,
        stdout: impl AsFd,
        stderr: impl AsFd,
    ) {
        if stream == self.alone {
            return;
        }
        let Some(ready) = &self.ready else { return };
        let fd = |stream| match stream {
            Stream::Out => stdout.as_fd(),
            Stream::Err => stderr.as_fd(),
        };
        // If the system refuses, only the order suffers.
        if let Some(again) = self.alone {
            let _ = epoll::add(ready, fd(again), EventData::new_u64(at(again) as u64), FLAGS);
        }
        if let Some(alone) = stream {
            let _ = epoll::delete(ready, fd(alone));
        }
        self.alone = stream;
    }

    /// Bytes were read from a stream.
    pub(super) fn note(&mut self, stream: Stream, bytes: &[u8]) {
        if let Some(last) = bytes.last() {
            self.open[at(stream)] = *last != b'\n';
        }
    }

    /// The streams to read now, in this order. `held` says which pipes held bytes before this call. A pipe that held
    /// bytes and is not reported by the kernel now has held them since an earlier turn, so it comes first.
    pub(super) fn order(&self, held: [bool; 2]) -> impl Iterator<Item = Stream> + use<> {
        let none = Event { flags: EventFlags::empty(), data: EventData::new_u64(0) };
        let mut events = [none; 2];
        let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
        let told = match &self.ready {
            // Output that comes from now on is for the next turn.
            _ if held == [false, false] => 0,
            Some(ready) => epoll::wait(ready, &mut events, Some(&at_once)).unwrap_or(0),
            None => 0,
        };
        let mut arrived = [None; 2];
        for (place, event) in arrived.iter_mut().zip(&events[..told]) {
            *place = Some(if event.data.u64() == 0 { Stream::Out } else { Stream::Err });
        }
        let kept = |stream| held[at(stream)] && !arrived.contains(&Some(stream));
        let mut kept = [Stream::Out, Stream::Err].map(|stream| Some(stream).filter(|s| kept(*s)));
        // The kernel does not tell which of two such pipes was first, so the one with an unfinished line is read first.
        if self.open == [false, true] {
            kept.reverse();
        }
        kept.into_iter().chain(arrived).flatten()
    }
}

fn at(stream: Stream) -> usize {
    match stream {
        Stream::Out => 0,
        Stream::Err => 1,
    }
}

#[cfg(test)]
#[path = "arrivals_tests.rs"]
mod tests;
