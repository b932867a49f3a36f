//! An interpreter with our bridge script inside: its control channel, its pipes, its stdin.

mod arrivals;
mod editor;
mod interrupt;

use std::collections::{HashSet, VecDeque};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::FileExt;

use rustix::event::PollFlags;
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::process::Signal;
use stead_launch::census::Census;
use stead_launch::family::Family;
use stead_launch::stdin_wait::{Answer, PipeId, Reader, Session, judge, readers};
use stead_launch::{Child, SpawnError, tree};
use stead_protocol::bridge::{BridgeEvent, Stream};

use arrivals::Arrivals;
pub use editor::{Among, Editor};
pub use interrupt::Hears;
use interrupt::{Hit, Missed};

use crate::lines::Lines;
use crate::prepare::Feed;

/// How much is read from a pipe at once: its whole default size, small enough to stay cached.
const READ: usize = 64 << 10;

/// A running interpreter and all we hold of it.
pub struct Bridge {
    child: Child,
    pipe: PipeId,
    /// What it was started as, to tell a replaced program.
    image: Option<Image>,
    /// Its name before the running eval began, for the time when it has no executable any more.
    name: Option<String>,
    lines: Lines,
    outgoing: VecDeque<u8>,
    control: Channel,
    stdout: Channel,
    stderr: Channel,
    arrivals: Arrivals,
    input: Input,
    /// Processes and threads that were there before the running eval began: interrupts spare them.
    elders: HashSet<u32>,
    surroundings: Surroundings,
    /// When they were looked at, in clock ticks since boot.
    looked_at: u64,
    census: Census,
    /// The file that tells its name, kept open because it is read for every eval.
    comm: Option<File>,
    /// Children that the last interrupt was sent to.
    interrupted: HashSet<u32>,
    hears: Hears,
    /// What the last interrupt of a shell may have missed.
    missed: Option<Missed>,
    /// What became of the running eval's interrupts.
    hit: Hit,
    /// What the running eval starts is killed.
    killing: bool,
    /// An interrupt waits for the bridge to take the rest of its command.
    interrupt_when_sent: bool,
    /// When the running eval began, in clock ticks since boot.
    born_after: u64,
    buffer: Box<[u8; READ]>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Channel {
    Open,
    Closed,
}

/// Whether it is known who was there after the last eval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Surroundings {
    Unknown,
    Known,
}

/// What stands before the interpreter's stdin.
#[derive(Debug)]
enum Input {
    /// Nothing was given since what nobody read was last dropped.
    Untouched,
    /// Bytes not yet in the pipe, and whether the end follows them.
    Open { pending: VecDeque<u8>, then_eof: bool },
    /// Readers see the end of file.
    AtEof,
}

impl Input {
    fn open() -> Self {
        Input::Open { pending: VecDeque::new(), then_eof: false }
    }
}

/// A descriptor of the interpreter that can be waited on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// The control channel.
    Control,
    /// A pipe that user code writes to.
    Stream(Stream),
    /// The pipe that user code reads from.
    Stdin,
}

/// The control channel is of no more use.
#[derive(Debug)]
pub enum Broken {
    /// The other side closed it: an exit, an exec, or closed descriptors.
    Closed,
    /// It sent something that is not the protocol.
    Garbage(String),
}

impl Bridge {
    /// Starts the interpreter and feeds it its bridge, if it is not one itself.
    pub fn start(command: &stead_launch::Command, feed: &Feed) -> Result<Bridge, SpawnError> {
        let child = stead_launch::spawn(command)?;
        let broken = |source| SpawnError::Start { program: command.program.clone(), source };
        let pipe = PipeId::of(&child.stdin_read).map_err(broken)?;
        let mut bridge = Bridge {
            pipe,
            image: None,
            name: None,
            lines: Lines::default(),
            outgoing: VecDeque::new(),
            control: Channel::Open,
            stdout: Channel::Open,
            stderr: Channel::Open,
            arrivals: Arrivals::watch(&child.stdout, &child.stderr),
            input: Input::Untouched,
            elders: HashSet::new(),
            surroundings: Surroundings::Unknown,
            looked_at: 0,
            census: Census::default(),
            comm: None,
            interrupted: HashSet::new(),
            hears: Hears::Signal,
            missed: None,
            hit: Hit::Nobody,
            killing: false,
            interrupt_when_sent: false,
            born_after: 0,
            buffer: Box::new([0; READ]),
            child,
        };
        let (form, bytes) = match feed {
            Feed::Nothing => return Ok(bridge),
            Feed::Script(source) | Feed::Source(source, _) => ("source", source.as_bytes()),
            Feed::Code(code, _) => ("code", code.as_slice()),
        };
        bridge.send(format!("{form} {}\n", bytes.len()).as_bytes());
        bridge.send(bytes);
        Ok(bridge)
    }

    /// The interpreter's process.
    pub fn pid(&self) -> u32 {
        self.child.pid
    }

    /// Descriptors to wait on and what for. Those of no use now are left out, because a wait
    /// reports their hang-up for ever.
    pub fn interests(&self) -> impl Iterator<Item = (Source, BorrowedFd<'_>, PollFlags)> {
        let control = match self.control {
            Channel::Closed => PollFlags::empty(),
            Channel::Open => PollFlags::IN,
        };
        let commands = match self.control {
            Channel::Open if !self.outgoing.is_empty() => PollFlags::OUT,
            Channel::Open | Channel::Closed => PollFlags::empty(),
        };
        let stdin = match &self.input {
            Input::Open { pending, .. } if !pending.is_empty() => PollFlags::OUT,
            Input::Untouched | Input::Open { .. } | Input::AtEof => PollFlags::empty(),
        };
        let pipe = |channel| match channel {
            Channel::Open => PollFlags::IN,
            Channel::Closed => PollFlags::empty(),
        };
        [
            (Source::Control, self.child.control.as_fd(), control),
            (Source::Control, self.child.commands.as_fd(), commands),
            (Source::Stream(Stream::Out), self.child.stdout.as_fd(), pipe(self.stdout)),
            (Source::Stream(Stream::Err), self.child.stderr.as_fd(), pipe(self.stderr)),
            (Source::Stdin, self.child.stdin.as_fd(), stdin),
        ]
        .into_iter()
        .filter(|(_, _, flags)| !flags.is_empty())
    }

    /// Queues bytes for the bridge and sends what it takes now.
    pub fn send(&mut self, bytes: &[u8]) {
        if self.outgoing.is_empty() {
            let sent = write_some(&self.child.commands, bytes);
            self.outgoing.extend(&bytes[sent..]);
        } else {
            self.outgoing.extend(bytes);
        }
    }

    /// Goes on sending what the bridge did not take before.
    pub fn flush(&mut self) {
        drain_into(&self.child.commands, &mut self.outgoing);
        if self.interrupt_when_sent && self.outgoing.is_empty() {
            self.interrupt_when_sent = false;
            self.signal_interrupt();
            if self.hears == Hears::ShellSignal {
                tree::signal(self.child.pid, Signal::CONT);
            }
        }
    }

    /// Reads what the bridge has said. Pipes must be drained before these events are acted on.
    pub fn read_control(&mut self, events: &mut Vec<BridgeEvent>) -> Result<(), Broken> {
        if self.control == Channel::Closed {
            return Ok(());
        }
        loop {
            let read = match rustix::io::read(&self.child.control, &mut self.buffer[..]) {
                Ok(0) | Err(Errno::CONNRESET) => {
                    self.control = Channel::Closed;
                    return Err(Broken::Closed);
                }
                Ok(read) => read,
                Err(Errno::AGAIN) => return Ok(()),
                Err(Errno::INTR) => continue,
                Err(error) => return Err(Broken::Garbage(io::Error::from(error).to_string())),
            };
            let mut bad = None;
            let fed = self.lines.feed(&self.buffer[..read], |line| match parse(line) {
                Ok(event) => events.push(event),
                Err(message) => drop(bad.get_or_insert(message)),
            });
            if let Some(message) = bad {
                return Err(Broken::Garbage(message));
            }
            if fed.is_err() {
                return Err(Broken::Garbage("a line without end".to_owned()));
            }
            if read < READ {
                return Ok(());
            }
        }
    }

    /// Takes exactly what is in both pipes now. Everything that was written before an event
    /// which has been read is then through; a background writer cannot keep this going.
    pub fn drain(&mut self, mut sink: impl FnMut(Stream, &[u8])) {
        let held = [&self.child.stdout, &self.child.stderr]
            .map(|fd| rustix::io::ioctl_fionread(fd).is_ok_and(|left| left > 0));
        for stream in self.arrivals.order(held) {
            let fd = match stream {
                Stream::Out => &self.child.stdout,
                Stream::Err => &self.child.stderr,
            };
            let mut left = rustix::io::ioctl_fionread(fd).unwrap_or(0) as usize;
            while left > 0 {
                let most = left.min(READ);
                match rustix::io::read(fd, &mut self.buffer[..most]) {
                    Ok(0) | Err(Errno::AGAIN) => break,
                    Ok(read) => {
                        self.arrivals.note(stream, &self.buffer[..read]);
                        sink(stream, &self.buffer[..read]);
                        left -= read;
                    }
                    Err(Errno::INTR) => {}
                    Err(_) => break,
                }
            }
        }
    }

    /// The pipes that are to be read now, in this order, where these were seen to be ready.
    pub fn stream_order(&self, ready: [bool; 2]) -> impl Iterator<Item = Stream> + use<> {
        self.arrivals.order(ready)
    }

    /// Does not watch in which order this stream is written to, or watches both.
    pub fn leave_alone(&mut self, stream: Option<Stream>) {
        self.arrivals.leave_alone(stream, &self.child.stdout, &self.child.stderr);
    }

    /// Reads once from a pipe that may be ready.
    pub fn read_stream(&mut self, stream: Stream, sink: impl FnOnce(&[u8])) {
        let (fd, channel) = match stream {
            Stream::Out => (&self.child.stdout, &mut self.stdout),
            Stream::Err => (&self.child.stderr, &mut self.stderr),
        };
        match rustix::io::read(fd, &mut self.buffer[..]) {
            Ok(0) => *channel = Channel::Closed,
            Ok(read) => {
                self.arrivals.note(stream, &self.buffer[..read]);
                sink(&self.buffer[..read]);
            }
            Err(Errno::AGAIN | Errno::INTR) => {}
            Err(_) => *channel = Channel::Closed,
        }
    }

    /// Remembers which processes were there before the eval that begins now.
    pub fn begin_eval(&mut self, host: u32) {
        self.interrupted.clear();
        self.missed = None;
        self.hit = Hit::Nobody;
        self.killing = false;
        self.look_around(host);
        self.surroundings = Surroundings::Unknown;
        self.born_after = ticks_since_boot();
    }

    /// Looks who is there, if it is not known: best while nobody waits. What comes up between this and the
    /// next eval is told from that eval's own by its age.
    pub fn look_around(&mut self, host: u32) {
        if self.surroundings == Surroundings::Known {
            return;
        }
        self.surroundings = Surroundings::Known;
        self.elders = self.census.take(&Family::below(host, None), self.child.pid);
        self.looked_at = ticks_since_boot();
        self.name = self.read_name();
        if self.image.is_none() {
            self.image = image(self.child.pid);
        }
    }

    fn read_name(&mut self) -> Option<String> {
        let mut name = [0; 32];
        let comm = match &mut self.comm {
            Some(comm) => comm,
            none => none.insert(File::open(format!("/proc/{}/comm", self.child.pid)).ok()?),
        };
        let read = comm.read_at(&mut name, 0).ok()?;
        String::from_utf8(name[..read].to_vec()).ok()
    }

    /// Whether a process or thread was there before the running eval began.
    pub fn is_elder(&self, id: u32) -> bool {
        id != self.child.pid
            && tree::look(id).is_none_or(|process| {
                let known = self.elders.contains(&id) && process.start_ticks <= self.looked_at;
                known || process.start_ticks < self.born_after
            })
    }

    /// Whether the process is no longer the program that was started. One that has ended already
    /// has no executable, but still its name.
    pub fn is_replaced(&self) -> bool {
        match image(self.child.pid) {
            Some(image) => self.image.as_ref().is_some_and(|known| *known != image),
            None => {
                let name = tree::name(self.child.pid);
                name.is_some() && self.name.is_some() && name != self.name
            }
        }
    }

    /// Threads below the host that are blocked on this session's stdin.
    pub fn stdin_readers(&self, host: u32) -> Vec<Reader> {
        if self.stdin_unread() > 0 {
            return Vec::new();
        }
        readers(tree::descendants(host), self.pipe)
    }

    /// Those of the threads that listen to this session's stdin which count, each with whether it waits for
    /// it. `no_timers` says that the main thread's event loop has none of the user's.
    pub fn listeners(
        &self,
        host: u32,
        no_timers: bool,
        counts: impl Fn(&Reader) -> bool,
    ) -> Vec<(Reader, Answer)> {
        if self.stdin_unread() > 0 {
            return Vec::new();
        }
        let pids = tree::descendants(host);
        let mut readers = readers(pids.iter().copied(), self.pipe);
        readers.retain(counts);
        if readers.is_empty() {
            return Vec::new();
        }
        let family = &Family::below(host, None);
        let session = Session { family, interpreter: self.child.pid, pipe: self.pipe, no_timers };
        judge(session, &pids, &readers, |tid| self.is_elder(tid))
    }

    /// Whether looking at the interpreter tells whether it reads.
    pub fn is_visible(&self) -> bool {
        stead_launch::stdin_wait::is_visible(self.child.pid)
    }

    /// Whether that thread is blocked on an empty stdin.
    pub fn is_reading(&self, reader: Reader) -> bool {
        self.stdin_unread() == 0
            && stead_launch::stdin_wait::waits_for(reader.pid, reader.tid, self.pipe).is_some()
    }

    /// Bytes of input that nobody has read yet.
    pub fn stdin_unread(&self) -> usize {
        let pending = match &self.input {
            Input::Open { pending, .. } => pending.len(),
            Input::Untouched | Input::AtEof => 0,
        };
        pending + rustix::io::ioctl_fionread(&self.child.stdin_read).unwrap_or(0) as usize
    }

    /// Gives readers something to read, and the end of file after it if `eof`.
    pub fn give_input(&mut self, text: &[u8], eof: bool) -> io::Result<()> {
        match self.input {
            Input::AtEof => self.reopen_stdin()?,
            Input::Untouched => self.input = Input::open(),
            Input::Open { .. } => {}
        }
        if let Input::Open { pending, then_eof } = &mut self.input {
            pending.extend(text);
            *then_eof |= eof;
        }
        self.flush_input();
        Ok(())
    }

    /// Goes on writing input that did not fit the pipe.
    pub fn flush_input(&mut self) {
        let Input::Open { pending, then_eof } = &mut self.input else { return };
        drain_into(&self.child.stdin, pending);
        if pending.is_empty() && *then_eof {
            // Dropping the only writing end is what makes readers see the end. A descriptor must
            // stay in its place, so a closed pipe's reading end stands in.
            if let Ok(stand_in) = self.child.stdin_read.try_clone() {
                self.child.stdin = stand_in;
                self.input = Input::AtEof;
            }
        }
    }

    /// Drops input that nobody read, and takes back an end of file (SPEC E-9).
    pub fn drop_input(&mut self) -> io::Result<()> {
        match &mut self.input {
            // There is nothing to be found in the pipe.
            Input::Untouched => return Ok(()),
            Input::Open { pending, then_eof } => {
                pending.clear();
                *then_eof = false;
            }
            Input::AtEof => {}
        }
        let mut left = rustix::io::ioctl_fionread(&self.child.stdin_read)? as usize;
        while left > 0 {
            let most = left.min(READ);
            match rustix::io::read(&self.child.stdin_read, &mut self.buffer[..most]) {
                Ok(0) | Err(Errno::AGAIN) => break,
                Ok(read) => left -= read,
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        if matches!(self.input, Input::AtEof) {
            self.reopen_stdin()?;
        }
        self.input = Input::Untouched;
        Ok(())
    }

    /// Opens a writing end of the stdin pipe anew, through its reading end.
    fn reopen_stdin(&mut self) -> io::Result<()> {
        let path = format!("/proc/self/fd/{}", self.child.stdin_read.as_raw_fd());
        let flags = OFlags::WRONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
        self.child.stdin = rustix::fs::open(path, flags, Mode::empty())?;
        self.input = Input::open();
        Ok(())
    }
}

fn parse(line: &[u8]) -> Result<BridgeEvent, String> {
    serde_json::from_slice(line).map_err(|error| {
        let shown: String = String::from_utf8_lossy(line).chars().take(80).collect();
        format!("{error} in `{}`", shown.escape_debug())
    })
}

/// The executable of a process and its arguments; a program may replace itself by its like.
type Image = (std::path::PathBuf, Vec<u8>);

fn image(pid: u32) -> Option<Image> {
    let exe = std::fs::read_link(format!("/proc/{pid}/exe")).ok()?;
    Some((exe, std::fs::read(format!("/proc/{pid}/cmdline")).ok()?))
}

/// Writes as much as fits; what cannot be written because the reader is gone counts as written.
fn write_some(fd: &OwnedFd, bytes: &[u8]) -> usize {
    let mut sent = 0;
    while sent < bytes.len() {
        match rustix::io::write(fd, &bytes[sent..]) {
            Ok(written) => sent += written,
            Err(Errno::INTR) => {}
            Err(Errno::AGAIN) => return sent,
            // The end of the other side is noticed where we read from it.
            Err(_) => return bytes.len(),
        }
    }
    sent
}

fn drain_into(fd: &OwnedFd, queue: &mut VecDeque<u8>) {
    while !queue.is_empty() {
        let (first, _) = queue.as_slices();
        let len = first.len();
        let sent = write_some(fd, first);
        queue.drain(..sent);
        if sent < len {
            return;
        }
    }
    // A large code or input does not keep its memory.
    queue.shrink_to(READ);
}

fn ticks_since_boot() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
    let per_second = rustix::param::clock_ticks_per_second();
    now.tv_sec as u64 * per_second + now.tv_nsec as u64 * per_second / 1_000_000_000
}
