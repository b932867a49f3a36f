//! From a command or an address to a server that answers, and its end.

use std::collections::VecDeque;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs};
use std::os::fd::BorrowedFd;
use std::process::ExitStatus;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use stead_config::{CommandTemplate, Placeholder, TemplateError};
use stead_host_side::{AdapterChild, HostSide, ended_how, plainly, tail};
use stead_protocol::Obstacle;
use stead_protocol::bridge::{BridgeEvent, Stream};
use thiserror::Error;

use crate::message::NreplMessage;
use crate::process::{HeldPort, PortFile, announced, start_server};
use crate::socket::{NreplSocket, SocketEnd};
use crate::talk::{GONE_WITH_SESSION, NreplAction, NreplInput, NreplTalk, ServerOwner};

/// How long a server of ours may take until it listens and answers: a Java machine takes its time, and the tools before it may
/// fetch libraries at their first start.
const STARTS_WITHIN: Duration = Duration::from_secs(180);
/// How long a server that runs already may take until it answers.
const ANSWERS_WITHIN: Duration = Duration::from_secs(10);
/// How long a connection may take to be made.
const CONNECTS_WITHIN: Duration = Duration::from_secs(5);
/// How long a server of others may take to notice that we leave; the host waits a little longer.
const PARTS_WITHIN: Duration = Duration::from_millis(80);
/// How often a server is started with another port because somebody took the first one.
const MOST_STARTS: u32 = 4;
/// Time between two looks whether a server listens.
const LOOK_EVERY: Duration = Duration::from_millis(15);
/// How much of what a server writes before it is ready is kept.
const MOST_WRITTEN: usize = 64 << 10;

/// Where the server is.
pub(crate) enum ServerPlace {
    /// It runs at this address, and is left alone at the end.
    Runs { address: String },
    /// It is started by this command, and ends with the session.
    Started { template: CommandTemplate },
}

/// Why there is no server to speak to.
#[derive(Debug, Error)]
pub(crate) enum ServerFailure {
    #[error("could not start the nREPL server with `{program}`: {}", plainly(source))]
    Spawn { program: String, source: io::Error },
    #[error("the command that starts the nREPL server cannot be used: {0}")]
    Command(TemplateError),
    #[error("the nREPL server `{program}` {how} before it answered{}", written(said))]
    Died { program: String, how: String, said: String },
    #[error("the nREPL server `{program}` runs and did not listen in {} s{}", within.as_secs(), written(said))]
    NotListening { program: String, within: Duration, said: String },
    #[error("no nREPL server can be reached at {address}: {}", plainly(source))]
    NotReached { address: String, source: io::Error },
    #[error("what listens at {address} did not answer as an nREPL server in {} s", within.as_secs())]
    Silent { address: String, within: Duration },
    #[error("what listens at {address} is no nREPL server: {why}")]
    NoServer { address: String, why: String },
    #[error("the host is gone")]
    HostGone,
    #[error("{0}")]
    Io(io::Error),
}

impl ServerFailure {
    /// The same for those who give advice.
    pub(crate) fn obstacle(&self) -> Obstacle {
        match self {
            ServerFailure::Spawn { .. } | ServerFailure::Command(_) => Obstacle::Program,
            ServerFailure::Died { .. } | ServerFailure::NotListening { .. } => Obstacle::Died,
            ServerFailure::NotReached { .. } => Obstacle::NotReached,
            ServerFailure::Silent { .. } | ServerFailure::NoServer { .. } => Obstacle::OtherKind,
            ServerFailure::HostGone | ServerFailure::Io(_) => Obstacle::Other,
        }
    }
}

fn written(text: &str) -> String {
    if text.is_empty() { String::new() } else { format!("; it wrote:\n{text}") }
}

/// How a server went away by itself.
pub(crate) enum ServerEnd {
    /// Its process ended.
    Exited(ExitStatus),
    /// It runs elsewhere and cannot be reached any more, or has closed the connection.
    Lost { reason: String },
}

/// A server that answers.
pub(crate) struct NreplServer {
    pub(crate) socket: NreplSocket,
    pub(crate) messages: VecDeque<NreplMessage>,
    process: Option<AdapterChild>,
    address: String,
    /// Whether the line may yet come in which a server of ours says where it listens.
    announces: bool,
}

/// What was begun, and what is to be done first.
pub(crate) type BegunServer = (NreplServer, NreplTalk, Vec<NreplAction>);

impl NreplServer {
    /// Starts or reaches the server.
    pub(crate) fn begin(
        place: &ServerPlace,
        host: &mut HostSide,
    ) -> Result<BegunServer, ServerFailure> {
        match place {
            ServerPlace::Runs { address } => reach(address, host),
            ServerPlace::Started { template } => {
                let within_ms = (STARTS_WITHIN + ANSWERS_WITHIN).as_millis() as u64;
                host.tell(&BridgeEvent::Starting { within_ms });
                host.flush().map_err(|_| ServerFailure::HostGone)?;
                start(template, host)
            }
        }
    }

    pub(crate) fn is_ours(&self) -> bool {
        self.process.is_some()
    }

    pub(crate) fn process(&self) -> Option<&AdapterChild> {
        self.process.as_ref()
    }

    pub(crate) fn stream_fd(&self, stream: Stream) -> Option<BorrowedFd<'_>> {
        self.process.as_ref()?.stream_fd(stream)
    }

    pub(crate) fn ended_fd(&self) -> Option<BorrowedFd<'_>> {
        self.process.as_ref().map(AdapterChild::ended_fd)
    }

    pub(crate) fn read_stream(&mut self, stream: Stream) -> Vec<u8> {
        let mut bytes =
            self.process.as_mut().map(|process| process.read(stream)).unwrap_or_default();
        if self.announces && !bytes.is_empty() {
            bytes = self.without_announcement(&bytes);
        }
        bytes
    }

    /// The line in which the server says where it listens is no output of the user's code.
    fn without_announcement(&mut self, bytes: &[u8]) -> Vec<u8> {
        let mut rest = Vec::new();
        for line in bytes.split_inclusive(|byte| *byte == b'\n') {
            let is_it = self.announces && announced(&String::from_utf8_lossy(line)).is_some();
            match is_it {
                true => self.announces = false,
                false => rest.extend_from_slice(line),
            }
        }
        rest
    }

    /// How the process of a server of ours ended.
    pub(crate) fn exited(&mut self) -> Option<ExitStatus> {
        self.process.as_mut().and_then(AdapterChild::status)
    }

    /// The connection is gone. A process that ends closes it first, so its end is waited for a moment.
    pub(crate) fn lost(&mut self, end: &SocketEnd) -> ServerEnd {
        if let Some(process) = &self.process {
            let mut fds = [PollFd::from_borrowed_fd(process.ended_fd(), PollFlags::IN)];
            let _ = poll(&mut fds, Some(&Timespec { tv_sec: 2, tv_nsec: 0 }));
        }
        match self.exited() {
            Some(status) => ServerEnd::Exited(status),
            None => {
                // A request is never answered on another connection, so a new start makes a new session at the server.
                let after = match self.is_ours() {
                    true => String::new(),
                    false => format!("; {GONE_WITH_SESSION}"),
                };
                let reason = format!("nREPL at {}: {end}{after}", self.address);
                ServerEnd::Lost { reason }
            }
        }
    }

    /// Kills a server of ours, which must not outlive its session; leaves a server of others in good order.
    pub(crate) fn finish(&mut self) {
        match &mut self.process {
            Some(process) => process.kill(),
            None => self.socket.part(PARTS_WITHIN),
        }
    }
}

fn start(template: &CommandTemplate, host: &HostSide) -> Result<BegunServer, ServerFailure> {
    let until = Instant::now() + STARTS_WITHIN;
    let mut starts = 0;
    let cwd = std::env::current_dir().unwrap_or_default();
    loop {
        starts += 1;
        let held = match (template.has(Placeholder::Port), starts) {
            (false, _) => None,
            (true, 1) => Some(HeldPort::hold().map_err(ServerFailure::Io)?),
            (true, _) => Some(HeldPort::found().map_err(ServerFailure::Io)?),
        };
        let port = held.as_ref().map(|held| held.port);
        let words = template.fill(|place| match place {
            Placeholder::Cwd => cwd.to_string_lossy().into_owned(),
            Placeholder::Host => "localhost".to_owned(),
            Placeholder::Port => port.unwrap_or_default().to_string(),
            // There is no bridge inside a server.
            Placeholder::Bridge => String::new(),
        });
        let file = PortFile::here();
        let process = start_server(&words).map_err(|source| {
            let program = words.first().cloned().unwrap_or_default();
            ServerFailure::Spawn { program, source }
        })?;
        let (program, written) = (words[0].clone(), Vec::new());
        let mut attempt = ServerStart { program, process, written, port, file, host, until };
        match attempt.listening().and_then(|(socket, address)| {
            let (messages, talk, first) =
                greeted(socket, ServerOwner::Ours, &words[0], &address, host, ANSWERS_WITHIN * 3)?;
            let (socket, messages) = messages;
            Ok((socket, messages, talk, first, address))
        }) {
            Ok((socket, messages, talk, first, address)) => {
                let written = String::from_utf8_lossy(&attempt.written).into_owned();
                let announces = written.lines().find_map(announced).is_none();
                let process = Some(attempt.process);
                let server = NreplServer { socket, messages, process, address, announces };
                return Ok((server, talk, first));
            }
            Err(failure) => {
                let said = String::from_utf8_lossy(&attempt.written).to_ascii_lowercase();
                let taken = said.contains("already in use") || said.contains("eaddrinuse");
                attempt.process.kill();
                if !(taken && port.is_some() && starts < MOST_STARTS) {
                    return Err(failure);
                }
            }
        }
    }
}

fn reach(address: &str, host: &HostSide) -> Result<BegunServer, ServerFailure> {
    let unreached = |source| ServerFailure::NotReached { address: address.to_owned(), source };
    let unknown = |_| unreached(io::Error::other("no address is known for this name"));
    let all: Vec<SocketAddr> = address.to_socket_addrs().map_err(unknown)?.collect();
    let mut last = io::Error::from(io::ErrorKind::NotFound);
    for one in &all {
        match NreplSocket::connect(one, CONNECTS_WITHIN) {
            Ok(socket) => {
                let (connection, talk, first) =
                    greeted(socket, ServerOwner::Others, address, address, host, ANSWERS_WITHIN)?;
                let (socket, messages) = connection;
                let address = address.to_owned();
                let (process, announces) = (None, false);
                let server = NreplServer { socket, messages, process, address, announces };
                return Ok((server, talk, first));
            }
            Err(error) => last = error,
        }
    }
    Err(unreached(last))
}

/// A connection, and messages that came on it and were not looked at.
type OpenConnection = (NreplSocket, VecDeque<NreplMessage>);

/// Says the first words and waits until the server has answered them.
fn greeted(
    mut socket: NreplSocket,
    owner: ServerOwner,
    executable: &str,
    address: &str,
    host: &HostSide,
    within: Duration,
) -> Result<(OpenConnection, NreplTalk, Vec<NreplAction>), ServerFailure> {
    let no_server = |why: String| ServerFailure::NoServer { address: address.to_owned(), why };
    let until = Instant::now() + within;
    let mut talk = NreplTalk::new(owner, executable);
    let mut actions = Vec::new();
    let mut messages = VecDeque::new();
    for action in talk.greet() {
        if let NreplAction::Send(request) = action {
            socket.send(&request).map_err(|end| no_server(end.to_string()))?;
        }
    }
    loop {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            let address = address.to_owned();
            return Err(ServerFailure::Silent { address, within });
        }
        socket.hurry();
        let flags = match socket.wants_to_write() {
            true => PollFlags::IN | PollFlags::OUT,
            false => PollFlags::IN,
        };
        let mut fds = [PollFd::new(host, PollFlags::RDHUP), PollFd::new(&socket, flags)];
        wait(&mut fds, left)?;
        let read = socket.flush().and_then(|()| socket.read(&mut messages));
        while let Some(message) = messages.pop_front() {
            actions.extend(talk.step(NreplInput::Server(message)));
            if talk.is_ready() {
                return Ok(((socket, messages), talk, actions));
            }
        }
        if let Some(why) = talk.refusal() {
            return Err(no_server(why));
        }
        read.map_err(|end| no_server(end.to_string()))?;
    }
}

/// Waits for something to come; an error if the host is gone, whose channel is the first.
fn wait(fds: &mut [PollFd<'_>], within: Duration) -> Result<(), ServerFailure> {
    let polled = poll(fds, Timespec::try_from(within).ok().as_ref());
    let gone = fds[0].revents().intersects(PollFlags::RDHUP | PollFlags::HUP);
    match gone || polled.is_err_and(|error| error != rustix::io::Errno::INTR) {
        true => Err(ServerFailure::HostGone),
        false => Ok(()),
    }
}

/// One try to start a server.
struct ServerStart<'a> {
    program: String,
    process: AdapterChild,
    /// What the process wrote before it was ready.
    written: Vec<u8>,
    /// The port, if it was told one.
    port: Option<u16>,
    file: PortFile,
    host: &'a HostSide,
    until: Instant,
}

impl ServerStart<'_> {
    /// Waits until the server listens.
    fn listening(&mut self) -> Result<(NreplSocket, String), ServerFailure> {
        loop {
            self.died()?;
            // The port that the server itself names counts most: a command may set another port than ours.
            let said = String::from_utf8_lossy(&self.written).lines().find_map(announced);
            let port = said.or(self.port).or_else(|| self.file.port());
            if let Some(port) = port {
                for host in [Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()] {
                    let address = SocketAddr::new(host, port);
                    if let Ok(socket) = NreplSocket::connect(&address, CONNECTS_WITHIN) {
                        return Ok((socket, address.to_string()));
                    }
                }
            }
            if Instant::now() >= self.until {
                let (program, said) = (self.program.clone(), tail(&self.written));
                return Err(ServerFailure::NotListening { program, within: STARTS_WITHIN, said });
            }
            let mut fds = vec![PollFd::new(self.host, PollFlags::RDHUP)];
            fds.push(PollFd::from_borrowed_fd(self.process.ended_fd(), PollFlags::IN));
            wait(&mut fds, LOOK_EVERY)?;
        }
    }

    /// An error if the process has ended.
    fn died(&mut self) -> Result<(), ServerFailure> {
        let status = self.process.status();
        for stream in [Stream::Out, Stream::Err] {
            self.written.extend(self.process.read(stream));
        }
        let over = self.written.len().saturating_sub(MOST_WRITTEN);
        self.written.drain(..over);
        match status {
            None => Ok(()),
            Some(status) => {
                let (program, said) = (self.program.clone(), tail(&self.written));
                Err(ServerFailure::Died { program, how: ended_how(status), said })
            }
        }
    }
}
