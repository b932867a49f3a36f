//! What adapters share: commands come from the host, events and output go to it in one order, and the session's input is read
//! a line at a time.

mod asked;
mod child;
mod cut;
mod ended;
mod input;
mod wait;

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::{FdFlags, fcntl_setfd, ioctl_fionbio, ioctl_fionread};
use rustix::process::Signal;
use stead_launch::sys::{self, OnSignal};
use stead_protocol::bridge::{BridgeEvent, Command, Commands, Shown, Stream};
use stead_protocol::{Obstacle, StartTrouble};

pub use asked::AskedEvals;
pub use child::AdapterChild;
pub use cut::cut;
pub use ended::{end_like, ended_how, plainly, tail};
pub use input::{SessionInput, TakenInput};
pub use wait::WaitList;

/// So many bytes may wait for the host before those who speak are made to wait.
const MOST_QUEUED: usize = 4 << 20;

/// Something for the host.
#[derive(Debug)]
enum HostItem {
    /// Output, and how much of it is written.
    Bytes { to: Stream, bytes: Vec<u8>, at: usize },
    /// An event as a line; whether the host's `ack` is waited for.
    Line { bytes: Vec<u8>, at: usize, acked: bool },
}

/// The control channel and both streams. Nothing here blocks, so that what runs the code is heard and interrupts are passed on while
/// the host is busy.
pub struct HostSide {
    control: File,
    commands: Commands,
    queue: VecDeque<HostItem>,
    /// How many bytes are in the queue.
    queued: usize,
    /// An `ack` has to come before anything else is written.
    waits: bool,
    last: Option<Stream>,
}

/// The host is gone, or does not keep to the protocol.
#[derive(Debug)]
pub struct HostGone;

impl HostSide {
    /// The side of the host which has started this process; none, and a message on stderr, if no host has.
    pub fn inherited() -> Option<HostSide> {
        let given = std::env::var("STEAD_BRIDGE_FD").ok().and_then(|fd| fd.parse().ok());
        // Interrupts come as commands. A signal for the whole process group is meant for other processes in it.
        sys::on_signal(Signal::INT, OnSignal::Wake);
        sys::on_signal(Signal::PIPE, OnSignal::Ignore);
        let side = given.and_then(sys::inherited).and_then(|fd| HostSide::new(fd).ok());
        if side.is_none() {
            eprintln!("the adapter is started by a session's host");
        }
        side
    }

    /// Tells, in place of `hello`, why there is nothing that could run code, and waits until the host has heard it.
    pub fn not_ready(&mut self, engine: &str, message: String, obstacle: Obstacle) {
        let trouble = StartTrouble::Elsewhere { engine: engine.to_owned(), obstacle };
        self.tell(&BridgeEvent::NotReady { message, trouble: Some(Box::new(trouble)) });
        self.finish();
    }

    /// Takes the control channel over.
    pub fn new(control: OwnedFd) -> io::Result<HostSide> {
        fcntl_setfd(&control, FdFlags::CLOEXEC)?;
        for fd in [control.as_fd(), io::stdout().as_fd(), io::stderr().as_fd()] {
            ioctl_fionbio(fd, true)?;
        }
        Ok(HostSide {
            control: File::from(control),
            commands: Commands::default(),
            queue: VecDeque::new(),
            queued: 0,
            waits: false,
            last: None,
        })
    }

    /// Tells an event, after all that was told and printed before.
    pub fn tell(&mut self, event: &BridgeEvent) {
        let Ok(mut bytes) = serde_json::to_vec(event) else { return };
        bytes.push(b'\n');
        let acked = match event {
            BridgeEvent::Value(Shown { ack, .. }) | BridgeEvent::Display { ack, .. } => *ack,
            BridgeEvent::Sync {} => true,
            _ => false,
        };
        self.queued += bytes.len();
        // Lines go together if no `ack` is awaited between them, or the host would wake for each.
        match self.queue.back_mut() {
            Some(HostItem::Line { bytes: before, acked: waits @ false, .. }) => {
                before.append(&mut bytes);
                *waits = acked;
            }
            _ => self.queue.push_back(HostItem::Line { bytes, at: 0, acked }),
        }
    }

    /// Writes to a stream of the session, after all that was told and printed before.
    pub fn print(&mut self, to: Stream, bytes: Vec<u8>) {
        if !bytes.is_empty() {
            self.queued += bytes.len();
            self.queue.push_back(HostItem::Bytes { to, bytes, at: 0 });
        }
    }

    /// Whether all was taken.
    pub fn is_done(&self) -> bool {
        self.queue.is_empty() && !self.waits
    }

    /// Whether so much waits for the host that no more should be read from the kernel or server.
    pub fn is_full(&self) -> bool {
        self.queued > MOST_QUEUED
    }

    /// Writes what can be written now.
    pub fn flush(&mut self) -> Result<(), HostGone> {
        while !self.waits {
            // The host has to read one stream before the other is written to, or the order of their output
            // would be lost.
            if let Some(HostItem::Bytes { to, .. }) = self.queue.front()
                && self.last.is_some_and(|last| last != *to && is_unread(last))
            {
                self.last = None;
                let bytes = b"{\"ev\":\"sync\"}\n".to_vec();
                self.queued += bytes.len();
                self.queue.push_front(HostItem::Line { bytes, at: 0, acked: true });
            }
            let Some(item) = self.queue.front_mut() else { break };
            let wrote = match item {
                HostItem::Bytes { to, bytes, at } => {
                    self.last = Some(*to);
                    rustix::io::write(stream_fd(*to), &bytes[*at..]).map_err(io::Error::from)
                }
                HostItem::Line { bytes, at, .. } => self.control.write(&bytes[*at..]),
            };
            let count = match wrote {
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(_) => return Err(HostGone),
            };
            let (HostItem::Bytes { bytes, at, .. } | HostItem::Line { bytes, at, .. }) = item;
            *at += count;
            self.queued -= count;
            if *at == bytes.len() {
                self.waits = matches!(item, HostItem::Line { acked: true, .. });
                self.queue.pop_front();
            }
        }
        Ok(())
    }

    /// Waits until the host has taken everything; a host that is gone takes nothing.
    pub fn finish(&mut self) {
        while self.flush().is_ok() && !self.is_done() {
            let (control, stream) = self.wants();
            let mut fds = vec![PollFd::new(&*self, control)];
            if let Some(stream) = stream {
                fds.push(PollFd::from_borrowed_fd(stream_fd(stream), PollFlags::OUT));
            }
            if poll(&mut fds, None).is_err() {
                return;
            }
            drop(fds);
            if self.each_command(|_| {}).is_err() {
                return;
            }
        }
    }

    /// What is to be polled for: the control channel, and the stream that took no more.
    pub fn wants(&self) -> (PollFlags, Option<Stream>) {
        match self.queue.front().filter(|_| !self.waits) {
            Some(HostItem::Line { .. }) => (PollFlags::IN | PollFlags::OUT, None),
            Some(HostItem::Bytes { to, .. }) => (PollFlags::IN, Some(*to)),
            None => (PollFlags::IN, None),
        }
    }

    fn read(&mut self) -> Result<(), HostGone> {
        let mut bytes = [0; 64 << 10];
        loop {
            match self.control.read(&mut bytes) {
                Ok(0) => return Err(HostGone),
                Ok(count) => self.commands.push(&bytes[..count]).map_err(|_| HostGone)?,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return Err(HostGone),
            }
        }
    }

    /// Reads commands and hands each on, except `ack`, which says that the host has recorded an event.
    pub fn each_command(&mut self, mut each: impl FnMut(&Command<'_>)) -> Result<(), HostGone> {
        let read = self.read();
        while let Some(frame) = self.commands.next_frame() {
            match frame.command() {
                Some(Command::Ack) => self.waits = false,
                Some(command) => each(&command),
                // A command of a newer host is skipped.
                None => {}
            }
        }
        read
    }
}

impl AsFd for HostSide {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.control.as_fd()
    }
}

/// Whether the host has not read yet what was written there.
fn is_unread(stream: Stream) -> bool {
    ioctl_fionread(stream_fd(stream)).is_ok_and(|count| count > 0)
}

/// The descriptor of a stream of the session.
pub fn stream_fd(stream: Stream) -> BorrowedFd<'static> {
    match stream {
        Stream::Out => rustix::stdio::stdout(),
        Stream::Err => rustix::stdio::stderr(),
    }
}
