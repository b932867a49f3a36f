//! An interpreter with our bridge script inside: its control channel, its pipes, its stdin.

use std::collections::{HashSet, VecDeque};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::time::{Duration, Instant};

use rustix::event::{PollFlags, Timespec, poll};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::process::Signal;
use stead_launch::census::Census;
use stead_launch::stdin_wait::{PipeId, Reader, readers};
use stead_launch::{Child, SpawnError, tree};
use stead_protocol::EvalId;
use stead_protocol::bridge::{BridgeEvent, Command, Stream};

use crate::lines::Lines;
use crate::prepare::Feed;

/// How much is read from a pipe at once: its whole default size, small enough to stay cached.
const READ: usize = 64 << 10;

/// How long a shell may take to be ready for an interrupt.
const GOOD_MOMENT_WITHIN: Duration = Duration::from_millis(60);

/// How long a fork may take until it runs its program, in clock ticks.
const FORK_TICKS: u64 = 2;

/// A running interpreter and all we hold of it.
pub struct Bridge {
    child: Child,
    pipe: PipeId,
    /// What it was started as, to tell a replaced program.
    image: Option<Image>,
    /// Its name when the running eval began, for the time when it has no executable any more.
    name: Option<String>,
    lines: Lines,
    outgoing: VecDeque<u8>,
    control: Channel,
    stdout: Channel,
    stderr: Channel,
    input: Input,
    /// Processes and threads that were there before the running eval began: interrupts spare them.
    elders: HashSet<u32>,
    census: Census,
    /// The file that tells its name, kept open because it is read before every eval.
    comm: Option<File>,
    /// Children that the last interrupt was sent to.
    interrupted: HashSet<u32>,
    /// The bridge acts on the command `interrupt` by itself, so that it gets no signal.
    reads_interrupts: bool,
    /// Whether the interpreter is a shell, which waits for what it starts.
    is_shell: bool,
    /// What the last interrupt of a shell may have missed.
    missed: Option<Missed>,
    /// An interrupt waits for the bridge to take the rest of its command.
    interrupt_when_sent: bool,
    /// When the running eval began, in clock ticks since boot.
    born_after: u64,
    buffer: Box<[u8; READ]>,
}

/// What an interrupt of a shell has to come back to.
struct Missed {
    /// Processes that were being started then.
    young: HashSet<u32>,
    /// Whether the shell was waiting for one that was not.
    waits: bool,
    /// How often to come back to those that were being started.
    nudges: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Channel {
    Open,
    Closed,
}

/// What stands before the interpreter's stdin.
#[derive(Debug)]
enum Input {
    /// Bytes not yet in the pipe, and whether the end follows them.
    Open { pending: VecDeque<u8>, then_eof: bool },
    /// Readers see the end of file.
    AtEof,
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

/// Whom an interrupt was sent to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Interrupted {
    /// How many children of the eval got it, beside the interpreter.
    pub children: usize,
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
            input: Input::Open { pending: VecDeque::new(), then_eof: false },
            elders: HashSet::new(),
            census: Census::default(),
            comm: None,
            interrupted: HashSet::new(),
            reads_interrupts: false,
            is_shell: false,
            missed: None,
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

    /// The interpreter has said that it is a shell.
    pub fn set_shell(&mut self, is_shell: bool) {
        self.is_shell = is_shell;
    }

    /// Descriptors to wait on and what for. Those of no use now are left out, because a wait
    /// reports their hang-up for ever.
    pub fn interests(&self) -> impl Iterator<Item = (Source, BorrowedFd<'_>, PollFlags)> {
        let control = match self.control {
            Channel::Closed => PollFlags::empty(),
            Channel::Open if self.outgoing.is_empty() => PollFlags::IN,
            Channel::Open => PollFlags::IN | PollFlags::OUT,
        };
        let stdin = match &self.input {
            Input::Open { pending, .. } if !pending.is_empty() => PollFlags::OUT,
            Input::Open { .. } | Input::AtEof => PollFlags::empty(),
        };
        let pipe = |channel| match channel {
            Channel::Open => PollFlags::IN,
            Channel::Closed => PollFlags::empty(),
        };
        [
            (Source::Control, self.child.control.as_fd(), control),
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
            let sent = write_some(&self.child.control, bytes);
            self.outgoing.extend(&bytes[sent..]);
        } else {
            self.outgoing.extend(bytes);
        }
    }

    /// Goes on sending what the bridge did not take before.
    pub fn flush(&mut self) {
        drain_into(&self.child.control, &mut self.outgoing);
        if self.interrupt_when_sent && self.outgoing.is_empty() {
            self.interrupt_when_sent = false;
            self.signal_interrupt();
            if self.is_shell {
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
        for stream in [Stream::Out, Stream::Err] {
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
                        sink(stream, &self.buffer[..read]);
                        left -= read;
                    }
                    Err(Errno::INTR) => {}
                    Err(_) => break,
                }
            }
        }
    }

    /// Reads once from a pipe that is ready.
    pub fn read_stream(&mut self, stream: Stream, sink: impl FnOnce(&[u8])) {
        let (fd, channel) = match stream {
            Stream::Out => (&self.child.stdout, &mut self.stdout),
            Stream::Err => (&self.child.stderr, &mut self.stderr),
        };
        match rustix::io::read(fd, &mut self.buffer[..]) {
            Ok(0) => *channel = Channel::Closed,
            Ok(read) => sink(&self.buffer[..read]),
            Err(Errno::AGAIN | Errno::INTR) => {}
            Err(_) => *channel = Channel::Closed,
        }
    }

    /// Remembers which processes were there before the eval that begins now.
    pub fn begin_eval(&mut self, host: u32) {
        self.interrupted.clear();
        self.missed = None;
        self.elders = self.census.take(host, self.child.pid);
        self.born_after = ticks_since_boot();
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
            && (self.elders.contains(&id)
                || tree::look(id).is_none_or(|process| process.start_ticks < self.born_after))
    }

    /// What the bridge said of itself: whether it reads interrupts while user code runs.
    pub fn reads_interrupts(&mut self, does: bool) {
        self.reads_interrupts = does;
    }

    /// Sends SIGINT to the interpreter and to what this eval started, sparing older processes.
    ///
    /// The bridge reads first for which eval it is: one that comes before the code runs would
    /// look the same as a late one for the eval before.
    pub fn interrupt(&mut self, host: u32, eval: Option<&EvalId>) -> Interrupted {
        match eval {
            Some(id) => self.send(&Command::Interrupt { id }.encode()),
            // A question that takes too long has no id.
            None if self.reads_interrupts => self.send(b"interrupt - 0\n"),
            None => {}
        }
        if self.is_shell {
            tree::hold(self.child.pid);
        }
        self.interrupted = self.young(host).collect();
        if self.is_shell {
            self.note_missed();
        }
        if self.reads_interrupts {
            // Nothing to signal.
        } else if self.outgoing.is_empty() {
            self.signal_interrupt();
        } else {
            self.interrupt_when_sent = true;
        }
        if self.is_shell {
            tree::signal(self.child.pid, Signal::CONT);
        }
        let children = &self.interrupted;
        let children = children.iter().filter(|&&pid| tree::signal(pid, Signal::INT)).count();
        Interrupted { children }
    }

    /// What the running eval has started.
    fn young(&self, host: u32) -> impl Iterator<Item = u32> + '_ {
        let all = tree::descendants(host).into_iter();
        all.filter(|&pid| pid != self.child.pid && !self.is_elder(pid))
    }

    /// Wakes an interpreter that may have slept through its interrupt, and sends the interrupt on
    /// to what its children were just starting: a shell that is between two commands holds it back
    /// until the next one is over. Children that the interpreter itself started since are spared,
    /// they may be cleaning up.
    pub fn nudge(&mut self, host: u32) {
        if self.is_shell {
            // It may have been about to read, and does not let SIGWINCH end that.
            tree::signal_main_thread(self.child.pid, Signal::URG);
        }
        if self.reads_interrupts {
            self.unblock_read();
        } else {
            tree::signal_main_thread(self.child.pid, Signal::WINCH);
        }
        self.nudge_shell(host);
        let born: Vec<u32> =
            self.young(host).filter(|pid| !self.interrupted.contains(pid)).collect();
        for pid in born {
            let parent = tree::look(pid).map(|process| process.parent);
            if parent.is_some_and(|parent| self.interrupted.contains(&parent)) {
                self.interrupted.insert(pid);
                tree::signal(pid, Signal::INT);
            }
        }
    }

    /// Ends the input of a main thread that sits in a read of it, which no signal of ours ends: it
    /// can act on the interrupt only after that.
    fn unblock_read(&mut self) {
        let pid = self.child.pid;
        if stead_launch::stdin_wait::waits_for(pid, pid, self.pipe) == Some(false)
            && self.stdin_unread() == 0
            && let Err(error) = self.give_input(b"", true)
        {
            eprintln!("could not end the input: {error}");
        }
    }

    /// A shell waits for what it starts. A signal that comes while it forks is lost to both: the
    /// child forgets what came before it runs its program, and the shell waits for the child.
    fn note_missed(&mut self) {
        let at = ticks_since_boot();
        let (mut young, mut waits) = (HashSet::new(), false);
        let image = image(self.child.pid);
        for &pid in &self.interrupted {
            let Some(process) = tree::look(pid) else { continue };
            // What still is the shell's image has not run its program yet.
            let forked = image.is_some() && image == self::image(pid);
            if forked || process.start_ticks + FORK_TICKS >= at {
                young.insert(pid);
            } else {
                waits |= process.parent == self.child.pid && process.state != b'Z';
            }
        }
        self.missed = Some(Missed { young, waits, nudges: 3 });
    }

    /// Sends the interrupt again to what was just being started, and only to that: a program that
    /// runs may be ending in good order, and what a shell starts when its command was interrupted
    /// is cleaning up.
    fn nudge_shell(&mut self, host: u32) {
        let Some(mut missed) = self.missed.take() else { return };
        let again = missed.nudges > 0;
        missed.nudges = missed.nudges.saturating_sub(1);
        for pid in self.young(host).collect::<Vec<u32>>() {
            let parent = tree::look(pid).map(|process| process.parent);
            // What a subshell was starting when it died falls to the host.
            let newborn = !self.interrupted.contains(&pid)
                && (parent == Some(host) || (!missed.waits && parent == Some(self.child.pid)));
            if newborn {
                missed.young.insert(pid);
                self.interrupted.insert(pid);
            }
            if newborn || (again && missed.young.contains(&pid)) {
                tree::signal(pid, Signal::INT);
            }
        }
        self.missed = Some(missed);
    }

    /// The interrupted eval is over; what missed its interrupt must not go on without it.
    pub fn end_interrupt(&mut self, host: u32) {
        self.nudge_shell(host);
        self.missed = None;
    }

    fn signal_interrupt(&self) {
        if self.is_shell {
            self.avoid_bad_moment();
        }
        // C's `system()` ignores SIGINT for its duration, and what is ignored is lost.
        let deaf = tree::ignores(self.child.pid, Signal::INT);
        let signal = if deaf { Signal::URG } else { Signal::INT };
        tree::signal_main_thread(self.child.pid, signal);
    }

    /// A shell that changes its trap for SIGINT does so by way of the default, which is to die of
    /// it. One that has just set a handler for it, which it does for every command, may not know
    /// yet that it has, and never comes out of the handler. It is looked at while it stands still.
    fn avoid_bad_moment(&self) {
        let pid = self.child.pid;
        let deadline = Instant::now() + GOOD_MOMENT_WITHIN;
        loop {
            let held = tree::hold(pid);
            let bad = tree::is_default(pid, Signal::INT) || tree::is_changing_signals(pid);
            if (held && !bad) || Instant::now() >= deadline {
                return;
            }
            tree::signal(pid, Signal::CONT);
            // Stopped again at once it would not get anywhere.
            let _ = poll(&mut [], Some(&Timespec { tv_sec: 0, tv_nsec: 200_000 }));
        }
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
            Input::AtEof => 0,
        };
        pending + rustix::io::ioctl_fionread(&self.child.stdin_read).unwrap_or(0) as usize
    }

    /// Gives readers something to read, and the end of file after it if `eof`.
    pub fn give_input(&mut self, text: &[u8], eof: bool) -> io::Result<()> {
        if matches!(self.input, Input::AtEof) {
            self.reopen_stdin()?;
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
        if let Input::Open { pending, then_eof } = &mut self.input {
            pending.clear();
            *then_eof = false;
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
        if matches!(self.input, Input::AtEof) { self.reopen_stdin() } else { Ok(()) }
    }

    /// Opens a writing end of the stdin pipe anew, through its reading end.
    fn reopen_stdin(&mut self) -> io::Result<()> {
        let path = format!("/proc/self/fd/{}", self.child.stdin_read.as_raw_fd());
        let flags = OFlags::WRONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
        self.child.stdin = rustix::fs::open(path, flags, Mode::empty())?;
        self.input = Input::Open { pending: VecDeque::new(), then_eof: false };
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
