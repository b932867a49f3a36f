//! One connection to a host: requests, their replies, and events in between.

use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::buffer::spare_capacity;
use rustix::io::Errno;
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketAddrUnix, SocketFlags, SocketType};
use stead_protocol::client::{Event, FromHost, Reply, Request, ToHost};
use stead_protocol::{
    Generation, Lines, MAX_LINE, PROGRAM, SessionName, Speaker, Versions, WireError,
};
use stead_spool::Reader;

use crate::timer;
use crate::{ClientError, ConnectionTrouble};

/// How long a host may take to answer a request that it can always answer at once.
pub const PATIENCE: Duration = Duration::from_secs(5);

/// The least that one read asks for: room for a message or two.
const SHORT_READ: usize = 2 << 10;

/// A connection on which `Hello` was exchanged.
#[derive(Debug)]
pub struct Connection {
    stream: UnixStream,
    name: SessionName,
    incoming: Lines,
    /// Messages that were read and not used yet.
    inbox: VecDeque<FromHost>,
    events: VecDeque<Event>,
    last_id: u64,
    /// The host closed the connection before it read all of our messages; the kernel tells.
    unread: bool,
    host_pid: Option<u32>,
    /// The version that is spoken: the newest that both know.
    protocol: u32,
    /// The version of the host's program; hosts of the first versions do not say it.
    program: Option<String>,
    /// The interpreter's generation when the connection was made.
    pub generation: Generation,
    /// Why earlier state is gone, if nobody was told yet.
    pub loss: Option<String>,
    /// How many evals there had been when the connection was made.
    pub evals: u64,
    /// Where the host says that its session's files are.
    pub(crate) dir: Option<PathBuf>,
    /// The reader of the session's output, once it was opened; it is kept with the connection.
    pub(crate) reader: Option<Reader>,
    /// A name of the session's language that was checked before.
    pub(crate) language: Option<String>,
}

/// How a wait on a connection ended.
#[derive(Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "one lives at a time; a box would cost every message an allocation"
)]
pub enum Waited {
    /// An event.
    Event(Event),
    /// The deadline passed.
    Deadline,
    /// The descriptor that was to wake the wait is readable.
    Woken,
    /// The host closed the connection.
    Closed,
}

#[expect(
    clippy::large_enum_variant,
    reason = "one lives at a time; a box would cost every message an allocation"
)]
enum Next {
    Message(FromHost),
    Deadline,
    Woken,
    Closed,
}

impl AsRawFd for Connection {
    fn as_raw_fd(&self) -> RawFd {
        self.stream.as_raw_fd()
    }
}

impl AsFd for Connection {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }
}

impl Connection {
    /// Connects to the host at `socket` and says hello; `None` if no host listens there.
    ///
    /// `dir` is the open directory of the socket, used when its path is too long for an address.
    /// `rests` says that the connection will be kept between calls.
    pub fn open(
        dir: &OwnedFd,
        socket: &Path,
        name: &SessionName,
        client: &str,
        rests: bool,
        patience: Duration,
    ) -> Result<Option<Self>, ClientError> {
        let deadline = Instant::now() + patience;
        let Some(stream) = dial(dir, socket, deadline).map_err(|error| {
            if error.kind() == io::ErrorKind::WouldBlock {
                silent(name, None)
            } else {
                ClientError::file("connect to", socket)(error)
            }
        })?
        else {
            return Ok(None);
        };
        // A client believes what a host says, so the host has to be a process of this user.
        let peer = rustix::net::sockopt::socket_peercred(&stream)
            .map_err(|error| ClientError::file("connect to", socket)(error.into()))?;
        if peer.uid != rustix::process::geteuid() {
            return Err(ConnectionTrouble::OtherUser { name: name.clone() }.into());
        }
        let host_pid = Some(peer.pid.as_raw_nonzero().get().unsigned_abs());
        let mut connection = Connection {
            stream,
            name: name.clone(),
            incoming: Lines::default(),
            inbox: VecDeque::new(),
            events: VecDeque::new(),
            last_id: 0,
            unread: false,
            host_pid,
            protocol: Versions::OURS.oldest,
            program: None,
            generation: Generation::default(),
            loss: None,
            evals: 0,
            dir: None,
            reader: None,
            language: None,
        };
        let hello = Request::Hello {
            protocol: Versions::OURS.oldest,
            versions: Some(Versions::OURS),
            program: Some(PROGRAM.to_owned()),
            client: client.to_owned(),
            rests,
        };
        match connection.request(hello, Some(deadline)) {
            Ok(Reply::Hello { protocol, versions, program, .. }) if !speaks(protocol) => {
                let theirs = Versions::of_peer(protocol, versions);
                Err(connection.other_version(theirs, program))
            }
            Ok(Reply::Hello { protocol, program, generation, loss, evals, dir, .. }) => {
                connection.protocol = protocol;
                connection.program = program;
                connection.dir = dir.filter(|dir| dir.is_absolute());
                connection.generation = generation;
                connection.loss = loss;
                connection.evals = evals;
                Ok(Some(connection))
            }
            Ok(other) => Err(connection.odd(&other)),
            // A host that is about to exit closes before it answers: the same as no host.
            Err(error) if error.is_hang_up() => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The session it leads to.
    pub(crate) fn session(&self) -> &SessionName {
        &self.name
    }

    /// The version that is spoken on it.
    pub fn protocol(&self) -> u32 {
        self.protocol
    }

    /// The version of the host's program, if it says it.
    pub fn program(&self) -> Option<&str> {
        self.program.as_deref()
    }

    /// The process id of the host, if the kernel tells.
    pub fn host_pid(&self) -> Option<u32> {
        self.host_pid
    }

    /// Sends a request and waits for its reply.
    pub fn request(
        &mut self,
        request: Request,
        deadline: Option<Instant>,
    ) -> Result<Reply, ClientError> {
        let sent = self.send(request)?;
        self.reply(sent, deadline)
    }

    /// Waits for the reply to a request.
    pub fn reply(&mut self, sent: u64, deadline: Option<Instant>) -> Result<Reply, ClientError> {
        loop {
            match self.next(deadline, None)? {
                Next::Message(FromHost::Reply { id, reply }) if id == sent => return Ok(reply),
                Next::Message(FromHost::Error { id, error }) if id == sent || id == 0 => {
                    return Err(self.refused(error));
                }
                Next::Message(FromHost::Event(event)) => self.events.push_back(event),
                // The late answer to a request that was given up, or a message of a newer host.
                Next::Message(
                    FromHost::Reply { .. } | FromHost::Error { .. } | FromHost::Unknown,
                ) => {}
                Next::Deadline | Next::Woken => return Err(silent(&self.name, self.host_pid)),
                Next::Closed => return Err(self.closed()),
            }
        }
    }

    /// Sends a request whose reply is not waited for.
    pub fn send(&mut self, request: Request) -> Result<u64, ClientError> {
        self.send_by(request, Instant::now() + PATIENCE)
    }

    /// Like `send`; the host must make room for the request by `by`. A request that failed was not sent
    /// whole, so the host does nothing about it.
    pub(crate) fn send_by(
        &mut self,
        request: Request,
        deadline: Instant,
    ) -> Result<u64, ClientError> {
        self.last_id += 1;
        let message = ToHost { id: self.last_id, request };
        let mut line = serde_json::to_vec(&message).map_err(|error| self.garbled(&error))?;
        line.push(b'\n');
        match self.write(&line, deadline) {
            Ok(()) => Ok(self.last_id),
            Err(Errno::AGAIN) => Err(silent(&self.name, self.host_pid)),
            Err(_) => {
                self.unread = true;
                // A host that refuses a connection says why before it closes.
                match self.next(Some(Instant::now()), None) {
                    Ok(Next::Message(FromHost::Error { error, .. })) => Err(self.refused(error)),
                    _ => Err(self.closed()),
                }
            }
        }
    }

    fn write(&self, mut bytes: &[u8], deadline: Instant) -> Result<(), Errno> {
        let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
        while !bytes.is_empty() {
            match rustix::net::send(&self.stream, bytes, flags) {
                Ok(sent) => bytes = &bytes[sent..],
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) if timer::wait_writable(self.stream.as_fd(), deadline)? => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Adds an event to the inbox that was told in another way.
    pub(crate) fn expect(&mut self, event: Event) {
        self.events.push_back(event);
    }

    /// Waits for the next event until `deadline`, or until `wake` is readable.
    pub fn next_event(
        &mut self,
        deadline: Option<Instant>,
        wake: Option<BorrowedFd<'_>>,
    ) -> Result<Waited, ClientError> {
        if let Some(event) = self.events.pop_front() {
            return Ok(Waited::Event(event));
        }
        loop {
            match self.next(deadline, wake)? {
                Next::Message(FromHost::Event(event)) => return Ok(Waited::Event(event)),
                Next::Message(
                    FromHost::Reply { .. } | FromHost::Error { .. } | FromHost::Unknown,
                ) => {}
                Next::Deadline => return Ok(Waited::Deadline),
                Next::Woken => return Ok(Waited::Woken),
                Next::Closed => return Ok(Waited::Closed),
            }
        }
    }

    /// The next message. One that was read already is returned even when the deadline has passed.
    fn next(
        &mut self,
        deadline: Option<Instant>,
        wake: Option<BorrowedFd<'_>>,
    ) -> Result<Next, ClientError> {
        loop {
            if let Some(message) = self.inbox.pop_front() {
                return Ok(Next::Message(message));
            }
            if let Some(message) = self.parse_line()? {
                return Ok(Next::Message(message));
            }
            let [readable, woken] =
                timer::wait_readable([Some(self.stream.as_fd()), wake], deadline)
                    .map_err(|error| self.broken(error.into()))?;
            if woken {
                return Ok(Next::Woken);
            }
            if !readable {
                return Ok(Next::Deadline);
            }
            let room = spare_capacity(self.incoming.room(SHORT_READ));
            match rustix::io::read(&self.stream, room) {
                Ok(0) => return Ok(Next::Closed),
                Ok(_) | Err(Errno::INTR) => {}
                Err(Errno::CONNRESET) => {
                    self.unread = true;
                    return Ok(Next::Closed);
                }
                Err(error) => return Err(self.broken(error.into())),
            }
        }
    }

    /// The next message of those that were read. Messages of a kind that only newer hosts send are passed
    /// over.
    fn parse_line(&mut self) -> Result<Option<FromHost>, ClientError> {
        loop {
            match self.parse_next()? {
                Some(FromHost::Unknown | FromHost::Event(Event::Unknown)) => {}
                message => return Ok(message),
            }
        }
    }

    fn parse_next(&mut self) -> Result<Option<FromHost>, ClientError> {
        let Some(line) = self.incoming.next_line() else {
            return match self.incoming.held() > MAX_LINE {
                true => Err(self.garbled(&"the line is too long")),
                false => Ok(None),
            };
        };
        // Checking the text once is less work than checking each string in it.
        let message = str::from_utf8(line)
            .map_err(|error| error.to_string())
            .and_then(|line| serde_json::from_str(line).map_err(|error| error.to_string()));
        message.map(Some).map_err(|error| self.garbled(&error))
    }

    /// Reads messages that have come into `inbox`, without waiting; returns whether more may come.
    pub(crate) fn take_in(&mut self) -> Result<bool, ClientError> {
        let mut open = true;
        loop {
            let buffer = self.incoming.room(SHORT_READ);
            let room = buffer.capacity() - buffer.len();
            let flags = RecvFlags::DONTWAIT;
            match rustix::net::recv(&self.stream, spare_capacity(buffer), flags) {
                Ok((0, _)) => open = false,
                Ok((count, _)) if count == room => continue,
                Ok(_) => {}
                Err(Errno::AGAIN) => {}
                Err(Errno::INTR) => continue,
                Err(Errno::CONNRESET) => (self.unread, open) = (true, false),
                Err(error) => return Err(self.broken(error.into())),
            }
            while let Some(message) = self.parse_line()? {
                self.inbox.push_back(message);
            }
            return Ok(open);
        }
    }

    /// Messages that were read and not used yet.
    pub(crate) fn inbox(&self) -> impl Iterator<Item = &FromHost> {
        self.inbox.iter()
    }

    /// Whether the connection can take another request, as far as can be told without a system call. A host that
    /// has hung up is noticed when something is sent.
    pub(crate) fn is_at_rest(&self) -> bool {
        self.inbox.is_empty() && self.events.is_empty() && self.incoming.held() == 0
    }

    /// The error for a reply that does not belong to the request.
    pub(crate) fn odd(&self, reply: &Reply) -> ClientError {
        let kind = serde_json::to_value(reply).ok();
        let kind = kind.as_ref().and_then(|value| value.get("kind")?.as_str());
        self.garbled(&format!("an answer of kind `{}`", kind.unwrap_or("?")))
    }

    fn closed(&self) -> ClientError {
        ClientError::HungUp { name: self.name.clone(), unread: self.unread }
    }

    fn refused(&self, error: WireError) -> ClientError {
        ClientError::Refused { name: self.name.clone(), error: Box::new(error) }
    }

    fn broken(&self, error: io::Error) -> ClientError {
        ConnectionTrouble::Broken { name: self.name.clone(), error }.into()
    }

    fn garbled(&self, what: &dyn std::fmt::Display) -> ClientError {
        ConnectionTrouble::Garbled { name: self.name.clone(), problem: what.to_string() }.into()
    }

    fn other_version(&self, theirs: Versions, program: Option<String>) -> ClientError {
        let host = Speaker { program, versions: theirs };
        ConnectionTrouble::OtherVersion { name: self.name.clone(), host }.into()
    }
}

/// Whether this client speaks that version.
fn speaks(protocol: u32) -> bool {
    (Versions::OURS.oldest..=Versions::OURS.newest).contains(&protocol)
}

/// The error for a host that lives and does not answer.
pub(crate) fn silent(name: &SessionName, pid: Option<u32>) -> ClientError {
    ClientError::Silent { name: name.clone(), pid, fate: None }
}

/// Connects; `None` if no process listens. While the backlog is full this tries again until `deadline`.
fn dial(dir: &OwnedFd, socket: &Path, deadline: Instant) -> io::Result<Option<UnixStream>> {
    let address = SocketAddrUnix::new(&*stead_files::socket_path(socket, dir.as_fd()))?;
    loop {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let stream =
            rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
        match rustix::net::connect(&stream, &address) {
            Ok(()) => {
                let stream = UnixStream::from(stream);
                stream.set_nonblocking(false)?;
                return Ok(Some(stream));
            }
            Err(Errno::NOENT | Errno::CONNREFUSED) => return Ok(None),
            Err(Errno::INTR) => {}
            Err(Errno::AGAIN) if Instant::now() < deadline => {
                timer::pause(Duration::from_millis(10));
            }
            Err(error) => return Err(error.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader, Write};
    use std::os::unix::net::UnixListener;
    use std::thread;

    use super::*;
    use std::io::Read;

    /// For who is not to be waited for.
    const SHORT: Duration = Duration::from_millis(200);
    /// Far beyond what a thread needs for an answer on a loaded machine.
    const LONG: Duration = Duration::from_secs(60);

    /// Tries to connect to a host that says `lines` as soon as it is spoken to.
    fn meet(
        path: PathBuf,
        lines: &'static [&'static str],
        stay: bool,
        patience: Duration,
    ) -> Result<Option<Connection>, ClientError> {
        let listener = UnixListener::bind(&path).unwrap();
        let host = thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut hello = String::new();
            BufReader::new(stream.try_clone().unwrap()).read_line(&mut hello).unwrap();
            for line in lines {
                stream.write_all(line.as_bytes()).unwrap();
            }
            // A host that stays says no more; the client hangs up first.
            if stay {
                let _ = stream.read(&mut [0]);
            }
        });
        let met = open(&path, patience);
        if !matches!(met, Ok(Some(_))) {
            host.join().unwrap();
        }
        met
    }

    fn open(path: &Path, patience: Duration) -> Result<Option<Connection>, ClientError> {
        let dir = std::fs::File::open(path.parent().unwrap()).unwrap().into();
        Connection::open(&dir, path, &"py".parse().unwrap(), "test", false, patience)
    }

    const HELLO: &str = concat!(
        r#"{"event":{"kind":"queued","eval":1,"behind":2}}"#,
        "\n",
        r#"{"reply":{"id":1,"reply":{"kind":"hello","protocol":1,"generation":3,"new":true}}}"#,
        "\n"
    );

    #[test]
    fn events_before_a_reply_are_kept() {
        let temp = tempfile::tempdir().unwrap();
        let mut connection = meet(temp.path().join("s"), &[HELLO], true, LONG).unwrap().unwrap();
        assert_eq!(connection.generation, Generation(3));
        let waited = connection.next_event(Some(Instant::now()), None).unwrap();
        assert!(matches!(waited, Waited::Event(Event::Queued { .. })), "{waited:?}");
        let waited = connection.next_event(Some(Instant::now()), None).unwrap();
        assert!(matches!(waited, Waited::Deadline), "{waited:?}");
    }

    #[test]
    fn nobody_and_a_host_on_its_way_out_are_no_host() {
        let temp = tempfile::tempdir().unwrap();
        assert!(open(&temp.path().join("none"), SHORT).unwrap().is_none());
        let stale = temp.path().join("stale");
        drop(UnixListener::bind(&stale).unwrap());
        assert!(open(&stale, SHORT).unwrap().is_none());
        assert!(meet(temp.path().join("s"), &[], false, LONG).unwrap().is_none());
    }

    #[test]
    fn a_silent_host_is_named_and_not_waited_for() {
        let temp = tempfile::tempdir().unwrap();
        let error = meet(temp.path().join("s"), &["{\"reply\":"], true, SHORT).unwrap_err();
        assert_eq!(error.code(), stead_protocol::ErrorCode::ConnectionFailed);
        assert!(error.to_string().contains("does not answer"), "{error}");
        assert!(error.to_string().contains(&std::process::id().to_string()), "{error}");
    }

    #[test]
    fn garbage_and_other_versions_are_errors() {
        let temp = tempfile::tempdir().unwrap();
        let error = meet(temp.path().join("a"), &["HTTP/1.1 400\n"], false, LONG).unwrap_err();
        assert!(error.to_string().contains("not its protocol"), "{error}");
        let newer =
            &[r#"{"reply":{"id":1,"reply":{"kind":"hello","protocol":9,"generation":1}}}"#, "\n"];
        let error = meet(temp.path().join("b"), newer, false, LONG).unwrap_err();
        let said = error.to_string();
        assert!(said.contains("host speaks version 9") && said.contains("1 to 2"), "{said}");
    }

    /// A newer host may say what this client does not know: it is passed over, the answer counts.
    #[test]
    fn what_a_newer_host_says_beside_its_answers_is_passed_over() {
        let temp = tempfile::tempdir().unwrap();
        let said = &[
            "{\"progress\":{\"id\":1}}\n{\"event\":{\"kind\":\"sung\",\"eval\":3}}\n",
            r#"{"reply":{"id":1,"new":1,"reply":{"kind":"hello","protocol":2,"versions":{"oldest":2,"newest":7},"generation":3}}}"#,
            "\n",
        ];
        let connection = meet(temp.path().join("s"), said, false, LONG).unwrap().expect("a host");
        assert_eq!((connection.protocol(), connection.generation.0), (2, 3));
        let odd = &["{\"reply\":{\"id\":1,\"reply\":{\"kind\":\"sung\"}}}\n"];
        let error = meet(temp.path().join("t"), odd, false, LONG).unwrap_err();
        assert_eq!(error.code(), stead_protocol::ErrorCode::ConnectionFailed);
    }

    #[test]
    fn r8_a_socket_path_may_be_longer_than_an_address() {
        let temp = tempfile::tempdir().unwrap();
        let deep = temp.path().join("d".repeat(150));
        std::fs::create_dir(&deep).unwrap();
        // Bound where the address fits, moved to where it does not.
        let short = temp.path().join("s");
        let _listener = UnixListener::bind(&short).unwrap();
        std::fs::rename(&short, deep.join("s")).unwrap();
        let error = open(&deep.join("s"), SHORT).unwrap_err();
        assert!(error.to_string().contains("does not answer"), "{error}");
    }
}
