//! From a kernelspec or a connection file to a kernel that answers, and its end.

use std::io;
use std::os::fd::BorrowedFd;
use std::path::Path;
use std::process::ExitStatus;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use stead_host_side::{HostSide, ended_how, plainly, tail};
use stead_launch::{FindError, KernelSpec, sys};
use stead_protocol::Obstacle;
use stead_protocol::bridge::Stream;
use thiserror::Error;

use crate::connection::{ConnectionFileError, KernelConnection, KernelTransport};
use crate::process::KernelProcess;
use crate::quirks;
use crate::runtime::KernelDir;
use crate::sockets::{CHANNELS, KernelSockets};
use crate::talk::{KernelOwner, KernelTalk, TalkAction, TalkInput};

/// How long a kernel of ours may take until it answers; the host waits for a minute.
const READY_WITHIN: Duration = Duration::from_secs(50);
/// How long a kernel of ours may take until it listens at socket files; one that does not may know only ports.
const LISTENS_WITHIN: Duration = Duration::from_secs(25);
/// How long a kernel that runs already may take until it answers.
const ANSWERS_WITHIN: Duration = Duration::from_secs(10);
/// How often a kernel is started with other ports because somebody took one of the first.
const MOST_STARTS: u32 = 4;
/// Time between two looks whether a kernel listens.
const LOOK_EVERY: Duration = Duration::from_millis(10);
/// How much of what a kernel writes before it answers is kept.
const MOST_WRITTEN: usize = 64 << 10;
/// How often a kernel is greeted again, since messages that it published before our subscription are lost.
const GREET_EVERY: Duration = Duration::from_millis(150);

/// Why there is no kernel to speak to.
#[derive(Debug, Error)]
pub(crate) enum StartFailure {
    #[error(transparent)]
    Find(#[from] FindError),
    #[error(transparent)]
    File(#[from] ConnectionFileError),
    #[error("could not start the kernel `{name}` with `{program}`: {}", plainly(source))]
    Spawn { name: String, program: String, source: io::Error },
    #[error("the kernel `{name}` {how} before it answered{}", written(said))]
    Died { name: String, how: String, said: String },
    #[error("the kernel `{name}` runs and did not answer in {} s{}{}", within.as_secs(), key.words(), written(said))]
    Silent { name: String, within: Duration, key: KeyDoubt, said: String },
    #[error("the kernel `{name}` runs and has opened no socket in {} s{}", within.as_secs(), written(said))]
    Deaf { name: String, within: Duration, said: String },
    #[error("the kernel `{name}` cannot be reached at {address}: {}", plainly(source))]
    NotListening { name: String, address: String, source: io::Error },
    #[error("what listens at the addresses of `{path}` is no kernel: {why}")]
    NoKernel { path: String, why: String },
    #[error("the host is gone")]
    HostGone,
    #[error("{0}")]
    Io(io::Error),
}

impl StartFailure {
    /// The same for those who give advice.
    pub(crate) fn obstacle(&self) -> Obstacle {
        match self {
            StartFailure::File(_) => Obstacle::File,
            StartFailure::Find(_) | StartFailure::Spawn { .. } => Obstacle::Program,
            StartFailure::Silent { key: KeyDoubt::OfFile, .. } => Obstacle::File,
            StartFailure::Died { .. } | StartFailure::Silent { .. } | StartFailure::Deaf { .. } => {
                Obstacle::Died
            }
            StartFailure::NotListening { .. } => Obstacle::NotReached,
            StartFailure::NoKernel { .. } => Obstacle::OtherKind,
            StartFailure::HostGone | StartFailure::Io(_) => Obstacle::Other,
        }
    }
}

fn written(text: &str) -> String {
    if text.is_empty() { String::new() } else { format!("; it wrote:\n{text}") }
}

/// Whether the key of a connection may be why a kernel is not heard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KeyDoubt {
    /// Nothing suggests that the key is wrong.
    None,
    /// The kernel's messages are signed with another key.
    Other,
    /// The file is somebody else's, and a kernel with another key does not answer.
    OfFile,
}

impl KeyDoubt {
    fn words(self) -> &'static str {
        match self {
            KeyDoubt::None => "",
            KeyDoubt::Other => ": what it sent is signed with another key",
            KeyDoubt::OfFile => ": its key may be another than that in the file",
        }
    }
}

/// How a kernel went away by itself.
pub(crate) enum KernelEnd {
    /// Its process ended.
    Exited(ExitStatus),
    /// It runs elsewhere and cannot be reached any more.
    Lost { reason: String },
}

/// A kernel that answers.
pub(crate) struct Kernel {
    pub(crate) sockets: KernelSockets,
    process: Option<KernelProcess>,
    /// Actions that the conversation wanted once the kernel had answered.
    pub(crate) first: Vec<TalkAction>,
}

impl Kernel {
    /// Starts the kernel that is described in the directory `path` or is part of that Python, or reaches the one of the
    /// connection file.
    pub(crate) fn begin(
        target: &str,
        path: &Path,
        host: &HostSide,
    ) -> Result<(Kernel, KernelTalk), StartFailure> {
        let session = format!("{:016x}", sys::random().map_err(StartFailure::Io)?);
        match target {
            "connection-file" => attach(path, &session, host),
            "python" => start(&KernelSpec::of_python(path), &session, host),
            _ => start(&KernelSpec::read(path)?, &session, host),
        }
    }

    pub(crate) fn is_ours(&self) -> bool {
        self.process.is_some()
    }

    pub(crate) fn interrupt(&self) {
        if let Some(process) = &self.process {
            process.interrupt();
        }
    }

    pub(crate) fn interrupt_children(&self) {
        if let Some(process) = &self.process {
            process.interrupt_children();
        }
    }

    pub(crate) fn stream_fd(&self, stream: Stream) -> Option<BorrowedFd<'_>> {
        self.process.as_ref()?.child.stream_fd(stream)
    }

    pub(crate) fn ended_fd(&self) -> Option<BorrowedFd<'_>> {
        self.process.as_ref().map(|process| process.child.ended_fd())
    }

    pub(crate) fn read_stream(&mut self, stream: Stream) -> Vec<u8> {
        self.process.as_mut().map(|process| process.child.read(stream)).unwrap_or_default()
    }

    /// How its process ended.
    pub(crate) fn ended(&mut self) -> KernelEnd {
        match self.process.as_mut().and_then(|process| process.child.status()) {
            Some(status) => KernelEnd::Exited(status),
            None => KernelEnd::Lost { reason: "the kernel ended".to_owned() },
        }
    }

    /// How the kernel ended whose connection is gone. A process that ends closes its sockets first, so its
    /// end is waited for a moment.
    pub(crate) fn lost(&mut self, why: &str) -> KernelEnd {
        if let Some(process) = &self.process {
            let mut fds = [PollFd::from_borrowed_fd(process.child.ended_fd(), PollFlags::IN)];
            let moment = Timespec { tv_sec: 2, tv_nsec: 0 };
            let _ = poll(&mut fds, Some(&moment));
        }
        match self.process.as_mut().and_then(|process| process.child.status()) {
            Some(status) => KernelEnd::Exited(status),
            None => KernelEnd::Lost { reason: format!("{why}: it ended or was started anew") },
        }
    }

    /// A kernel of ours does not outlive its session.
    pub(crate) fn finish(&mut self) {
        if let Some(process) = &mut self.process {
            process.kill();
        }
    }
}

fn start(
    spec: &KernelSpec,
    session: &str,
    host: &HostSide,
) -> Result<(Kernel, KernelTalk), StartFailure> {
    let dir = KernelDir::make().map_err(StartFailure::Io)?;
    let began = Instant::now();
    let mut transport = match quirks::wants_tcp(&spec.argv) {
        true => KernelTransport::Tcp,
        false => KernelTransport::Ipc,
    };
    let mut starts = 0;
    loop {
        starts += 1;
        let key = format!(
            "{:016x}{:016x}",
            sys::random().map_err(StartFailure::Io)?,
            sys::random().map_err(StartFailure::Io)?
        );
        let file =
            KernelConnection::write(dir.path(), transport, &key).map_err(StartFailure::Io)?;
        let connection = KernelConnection::read(&file)?;
        let process = KernelProcess::start(spec, &file).map_err(|source| {
            let program = spec.argv[0].clone();
            StartFailure::Spawn { name: spec.name.clone(), program, source }
        })?;
        let mut attempt = Attempt {
            name: spec.name.clone(),
            process: Some(process),
            written: Vec::new(),
            host,
            until: began + READY_WITHIN,
            listens_by: match transport {
                KernelTransport::Ipc => began + LISTENS_WITHIN,
                KernelTransport::Tcp => began + READY_WITHIN,
            },
        };
        let owner = KernelOwner::Ours { by_message: spec.by_message };
        let mut talk = KernelTalk::new(owner, session, &spec.argv[0]);
        match attempt.answer(&connection, session, &mut talk) {
            Ok((sockets, first)) => {
                let mut process = attempt.process.take();
                if let Some(process) = &mut process {
                    process.answers(sockets.listener());
                }
                // Both sides have read the files by now, and an adapter that is killed later could not remove them.
                drop(dir);
                return Ok((Kernel { sockets, process, first }, talk));
            }
            Err(failure) => {
                let taken =
                    String::from_utf8_lossy(&attempt.written).contains("ddress already in use");
                if let Some(process) = &mut attempt.process {
                    process.kill();
                }
                match (&failure, transport) {
                    // Some kernels know only ports; started with socket files, they end or wait for ever.
                    (
                        StartFailure::Died { .. } | StartFailure::Deaf { .. },
                        KernelTransport::Ipc,
                    ) => {
                        transport = KernelTransport::Tcp;
                    }
                    (StartFailure::Died { .. }, KernelTransport::Tcp)
                        if taken && starts < MOST_STARTS => {}
                    _ => return Err(failure),
                }
            }
        }
    }
}

fn attach(
    path: &Path,
    session: &str,
    host: &HostSide,
) -> Result<(Kernel, KernelTalk), StartFailure> {
    let connection = KernelConnection::read(path)?;
    let now = Instant::now();
    let mut attempt = Attempt {
        name: path.display().to_string(),
        process: None,
        written: Vec::new(),
        host,
        until: now + ANSWERS_WITHIN,
        listens_by: now,
    };
    let mut talk = KernelTalk::new(KernelOwner::Others, session, &path.to_string_lossy());
    let (sockets, first) = attempt.answer(&connection, session, &mut talk)?;
    Ok((Kernel { sockets, process: None, first }, talk))
}

/// One try to get an answer from a kernel.
struct Attempt<'a> {
    name: String,
    process: Option<KernelProcess>,
    /// What the process wrote before it was ready.
    written: Vec<u8>,
    host: &'a HostSide,
    until: Instant,
    listens_by: Instant,
}

impl Attempt<'_> {
    fn answer(
        &mut self,
        connection: &KernelConnection,
        session: &str,
        talk: &mut KernelTalk,
    ) -> Result<(KernelSockets, Vec<TalkAction>), StartFailure> {
        let mut sockets = loop {
            match KernelSockets::connect(connection, session) {
                Ok(sockets) => break sockets,
                Err(_) if Instant::now() < self.listens_by => {}
                Err(_) if self.process.is_some() => return Err(self.deaf()),
                Err(error) => {
                    let (name, address) = (self.name.clone(), error.address.to_string());
                    return Err(StartFailure::NotListening { name, address, source: error.source });
                }
            }
            self.look(None, LOOK_EVERY)?;
        };
        let mut greet_at = Instant::now();
        let mut actions = Vec::new();
        loop {
            let now = Instant::now();
            if now >= self.until {
                return Err(self.silent(&sockets));
            }
            if now >= greet_at && sockets.are_open() {
                greet_at = now + GREET_EVERY;
                for action in talk.greet() {
                    if let TalkAction::Send(channel, message) = action {
                        self.spoken(sockets.send(channel, &message))?;
                    }
                }
            }
            self.look(Some(&mut sockets), LOOK_EVERY)?;
            for channel in CHANNELS {
                self.spoken(sockets.fill(channel))?;
            }
            while let Some((channel, message)) = sockets.next() {
                if let Ok(message) = message {
                    actions.extend(talk.step(TalkInput::Kernel(channel, &message)));
                }
            }
            if talk.is_ready() {
                return Ok((sockets, actions));
            }
        }
    }

    /// The failure of a process that runs and does not listen.
    fn deaf(&self) -> StartFailure {
        let within =
            READY_WITHIN.saturating_sub(self.until.saturating_duration_since(Instant::now()));
        StartFailure::Deaf { name: self.name.clone(), within, said: tail(&self.written) }
    }

    /// The failure of a kernel that listens and does not answer.
    fn silent(&self, sockets: &KernelSockets) -> StartFailure {
        let (within, unknown) = match self.process {
            Some(_) => (READY_WITHIN, KeyDoubt::None),
            None => (ANSWERS_WITHIN, KeyDoubt::OfFile),
        };
        let key = if sockets.unsigned > 0 { KeyDoubt::Other } else { unknown };
        StartFailure::Silent { name: self.name.clone(), within, key, said: tail(&self.written) }
    }

    /// The result of sending or reading; a kernel of ours that hangs up is about to end.
    fn spoken<T>(
        &mut self,
        result: Result<T, crate::socket::KernelSocketError>,
    ) -> Result<T, StartFailure> {
        match (result, &mut self.process) {
            (Ok(done), _) => Ok(done),
            (Err(error), None) => {
                Err(StartFailure::NoKernel { path: self.name.clone(), why: error.to_string() })
            }
            (Err(error), Some(process)) => {
                let mut fds = [PollFd::from_borrowed_fd(process.child.ended_fd(), PollFlags::IN)];
                let _ = poll(&mut fds, Some(&Timespec { tv_sec: 2, tv_nsec: 0 }));
                self.died()?;
                Err(StartFailure::NoKernel { path: self.name.clone(), why: error.to_string() })
            }
        }
    }

    /// Waits for something to come, for this time at most; an error if the process has ended or the host is gone.
    fn look(
        &mut self,
        sockets: Option<&mut KernelSockets>,
        within: Duration,
    ) -> Result<(), StartFailure> {
        let mut fds = vec![PollFd::new(self.host, PollFlags::RDHUP)];
        if let Some(sockets) = &sockets {
            fds.extend(
                CHANNELS.iter().map(|channel| PollFd::new(sockets.at(*channel), PollFlags::IN)),
            );
        }
        if let Some(process) = &self.process {
            fds.push(PollFd::from_borrowed_fd(process.child.ended_fd(), PollFlags::IN));
        }
        let polled = poll(&mut fds, Timespec::try_from(within).ok().as_ref());
        let gone = fds[0].revents().intersects(PollFlags::RDHUP | PollFlags::HUP);
        drop(fds);
        if gone || polled.is_err_and(|error| error != rustix::io::Errno::INTR) {
            return Err(StartFailure::HostGone);
        }
        self.died()
    }

    /// An error if the process has ended.
    fn died(&mut self) -> Result<(), StartFailure> {
        let Some(process) = &mut self.process else { return Ok(()) };
        for stream in [Stream::Out, Stream::Err] {
            self.written.extend(process.child.read(stream));
        }
        let most = self.written.len().saturating_sub(MOST_WRITTEN);
        self.written.drain(..most);
        match process.child.status() {
            None => Ok(()),
            Some(status) => {
                for stream in [Stream::Out, Stream::Err] {
                    self.written.extend(process.child.read(stream));
                }
                let (name, how) = (self.name.clone(), ended_how(status));
                Err(StartFailure::Died { name, how, said: tail(&self.written) })
            }
        }
    }
}
