//! Finding a session's host, and starting one where there is none.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::buffer::spare_capacity;
use rustix::fs::FlockOperation;
use rustix::io::Errno;
use stead_launch::keeper::KeptBy;
use stead_launch::{cores, sys};
use stead_protocol::{
    By, EndReason, HostReady, HostSpec, Lines, Meta, PROGRAM, SessionName, SessionPlace, Versions,
};
use stead_spool::{HistoryReader, Reader, SessionDir, retention};

use crate::error::is_stopped;
use crate::eval::wait;
use crate::reach::call::Unfound;
use crate::reach::connection::{self, Connection, PATIENCE};
use crate::reach::kept::KeptConnections;
use crate::reach::leftovers;
use crate::{ClientError, ConnectionTrouble, Dirs, RequestError, Workspace, timer};

/// How long a host may take to listen.
const START_TIME: Duration = Duration::from_secs(10);
/// How long another client may hold the lock under which hosts are started.
const LOCK_TIME: Duration = Duration::from_secs(15);
/// How long a host whose files are elsewhere may take to say where.
const LOCATE_TIME: Duration = Duration::from_secs(1);
/// How often a host that is neither there nor gone is looked for.
const POLL: Duration = Duration::from_millis(5);
/// How much of the log an error quotes.
const LOG_TAIL: u64 = 2000;

/// What is needed to reach one session's host.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Door<'a> {
    pub(crate) dirs: &'a Dirs,
    pub(crate) workspace: &'a Workspace,
    pub(crate) name: &'a SessionName,
    /// Who is calling: `cli`, `mcp`.
    pub(crate) client: &'a str,
    /// The name of the caller, if more than its kind is known.
    pub(crate) by: Option<&'a By>,
    /// The program to run as host; without it, this one.
    pub(crate) program: Option<&'a Path>,
    /// Where connections are kept for the next call.
    pub(crate) kept: Option<&'a KeptConnections>,
}

/// Whether a host that was found will do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum IfFound {
    /// Yes.
    Use,
    /// No: the caller wants to start the session itself.
    Refuse,
}

impl Door<'_> {
    pub(crate) fn dir(&self) -> SessionDir {
        SessionDir::new(self.dirs.session(self.workspace, self.name))
    }

    /// The session's output, opened if it is not yet.
    pub(crate) fn reader<'r>(
        &self,
        reader: &'r mut Option<Reader>,
    ) -> Result<&'r Reader, ClientError> {
        Ok(match reader {
            Some(reader) => reader,
            none => none.insert(wait::open(&self.dir(), self.name)?),
        })
    }

    /// Keeps a connection for the next call, if calls are to come.
    pub(crate) fn keep(&self, connection: Box<Connection>) {
        if let Some(kept) = self.kept {
            kept.keep(self.workspace, connection);
        }
    }

    /// A connection that was kept, if it is still good.
    pub(crate) fn kept(&self) -> Option<Box<Connection>> {
        self.kept?.take(self.workspace, self.name)
    }

    /// Connects to the host if there is one.
    pub(crate) fn connect(&self, patience: Duration) -> Result<Option<Connection>, ClientError> {
        if let Some(connection) = self.dial(patience)? {
            return Ok(Some(connection));
        }
        let dir = self.dir();
        // The host has begun to exit, or cannot be found because its socket was deleted. If its lock file was deleted
        // too, only its note tells of it.
        let locked = if wait::host_lives(&dir) { Unfound::find(&dir) } else { None };
        let noted = || Unfound::noted(&self.dirs.socket(self.workspace, self.name));
        let Some(host) = locked.or_else(noted) else { return Ok(None) };
        if self.is_leaving(&dir) {
            return Ok(None);
        }
        self.dirs.make_runtime()?;
        let deadline = Instant::now() + patience;
        while host.call() {
            if Instant::now() >= deadline {
                return Err(connection::silent(self.name, Some(host.pid)));
            }
            timer::pause(Duration::from_millis(5));
            if let Some(connection) = self.dial(patience)? {
                return Ok(Some(connection));
            }
        }
        Ok(None)
    }

    /// Whether the session's end is recorded and its host, which lives, only has to tidy up: it hears nobody any more.
    fn is_leaving(&self, dir: &SessionDir) -> bool {
        let socket = self.dirs.socket(self.workspace, self.name);
        let ended = || {
            let history = HistoryReader::open(dir.path()).ok()?;
            history.last_end().ok()?
        };
        socket.symlink_metadata().is_err() && ended().is_some()
    }

    /// Finds out where the session's files are, before they are read without asking the host: a host that was
    /// started by a client with another home keeps them there.
    pub(crate) fn locate(&self) {
        let own = SessionDir::new(self.dirs.own_session(self.workspace, self.name));
        let socket = self.dirs.socket(self.workspace, self.name);
        if socket.symlink_metadata().is_ok() && !wait::host_lives(&own) {
            // A host that does not answer cannot say where its files are.
            let _ = self.dial(LOCATE_TIME);
        }
    }

    /// Connects to the host if there is one, for callers that only read: a host that is stopped by a signal
    /// is not waited for.
    pub(crate) fn look(&self, patience: Duration) -> Result<Option<Connection>, ClientError> {
        match Unfound::pid(&self.dir()) {
            Some(pid)
                if is_stopped(pid)
                    && wait::host_lives(&self.dir())
                    && !self.is_leaving(&self.dir()) =>
            {
                Err(connection::silent(self.name, Some(pid)))
            }
            _ => self.connect(patience),
        }
    }

    fn dial(&self, patience: Duration) -> Result<Option<Connection>, ClientError> {
        let Some(runtime) = self.dirs.open_runtime()? else { return Ok(None) };
        let socket = self.dirs.socket(self.workspace, self.name);
        let rests = self.kept.is_some();
        let by = self.by.map(ToString::to_string);
        let client = by.as_deref().unwrap_or(self.client);
        let found = Connection::open(&runtime, &socket, self.name, client, rests, patience)?;
        let dir = found.as_ref().and_then(|connection| connection.dir.as_deref());
        self.dirs.is_at(self.workspace, self.name, dir);
        Ok(found)
    }

    /// Connects to the host, which is started with `meta` if there is none.
    ///
    /// However many clients do this at once, one host comes up: it is started under a lock that the kernel
    /// takes back from a client that dies. A host that is not there at `by` is not waited for.
    pub(crate) fn connect_or_start(
        &self,
        found: IfFound,
        by: Instant,
        meta: impl FnOnce() -> Result<Meta, ClientError>,
    ) -> Result<Connection, ClientError> {
        if let Some(connection) = self.connect(left(by))? {
            return self.accept(connection, found);
        }
        let meta = meta()?;
        check_cwd(&meta.settings.place)?;
        let dir = SessionDir::new(self.dirs.make_session(self.workspace, self.name)?);
        self.dirs.make_runtime()?;
        let lock = self.lock(&dir, by)?;
        if let Some(connection) = self.connect_or_see_it_gone(&dir, by)? {
            return self.accept(connection, found);
        }
        self.spawn(&dir, meta, by)?;
        let connection = self.connect(left(by))?;
        drop(lock);
        connection.ok_or_else(|| self.ended_early())
    }

    /// Waits for a host that is neither there nor gone: its client died while starting it, or its guard still
    /// cleans up.
    fn connect_or_see_it_gone(
        &self,
        dir: &SessionDir,
        by: Instant,
    ) -> Result<Option<Connection>, ClientError> {
        let deadline = by.min(Instant::now() + START_TIME);
        let mut kept_by = None;
        loop {
            // Whether the host lives is asked before connecting, because a host may begin to listen in between.
            let lives = wait::host_lives(dir);
            if let Some(connection) = self.connect(left(by))? {
                return Ok(Some(connection));
            }
            if !lives {
                return Ok(None);
            }
            if Instant::now() >= deadline {
                let guard = kept_by.as_ref().and_then(KeptBy::guard);
                return Err(connection::silent(self.name, guard));
            }
            match &kept_by {
                // The guard of a host that is gone may have been stopped by a signal.
                None => kept_by = Some(leftovers::see_guards_gone(dir, None)),
                Some(KeptBy::Host(host)) if host.sees_end(POLL) => kept_by = None,
                Some(KeptBy::Host(_)) => {}
                Some(KeptBy::Nobody | KeptBy::Guards(_)) => timer::pause(POLL),
            }
        }
    }

    fn accept(&self, connection: Connection, found: IfFound) -> Result<Connection, ClientError> {
        match found {
            IfFound::Use => Ok(connection),
            IfFound::Refuse => Err(ClientError::Exists { name: self.name.clone() }),
        }
    }

    fn lock(&self, dir: &SessionDir, by: Instant) -> Result<File, ClientError> {
        let path = dir.start_lock();
        let began = Instant::now();
        let deadline = by.min(began + LOCK_TIME);
        let open = || match private_file(&path) {
            // The session was removed since its directory was made.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                self.dirs.make_session(self.workspace, self.name)?;
                private_file(&path).map_err(ClientError::file("open", &path))
            }
            opened => opened.map_err(ClientError::file("open", &path)),
        };
        let mut file = open()?;
        loop {
            match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) if retention::is_in_place(&file, &path) => return Ok(file),
                // The lock file was removed while this process waited for it.
                Ok(()) if Instant::now() < deadline => file = open()?,
                Ok(()) => return Err(self.launch_failed("it is removed all the time".to_owned())),
                Err(Errno::AGAIN) if Instant::now() < deadline => {
                    timer::pause(Duration::from_millis(5));
                }
                Err(Errno::AGAIN) => {
                    let (name, waited) = (self.name.clone(), began.elapsed());
                    let lock = path.clone();
                    return Err(ConnectionTrouble::StartedByAnother { name, waited, lock }.into());
                }
                Err(error) => return Err(ClientError::file("lock", &path)(error.into())),
            }
        }
    }

    fn spawn(&self, dir: &SessionDir, meta: Meta, by: Instant) -> Result<(), ClientError> {
        let began = Instant::now();
        let log_path = dir.log();
        let mut log = private_file(&log_path).map_err(ClientError::file("open", &log_path))?;
        let log_start = log.seek(SeekFrom::End(0)).unwrap_or(0);
        let spec = HostSpec {
            protocol: Versions::OURS.oldest,
            versions: Some(Versions::OURS),
            program: Some(PROGRAM.to_owned()),
            dir: dir.path().to_owned(),
            socket: self.dirs.socket(self.workspace, self.name),
            meta,
        };
        let spec = serde_json::to_vec(&spec).map_err(|e| self.launch_failed(e.to_string()))?;
        let mut child = self
            .command()
            .and_then(|mut command| command.stderr(log).spawn())
            .map_err(|error| self.launch_failed(error.to_string()))?;
        let ready = hand_over(&mut child, &spec, by.min(began + START_TIME));
        // The host now lives on its own, but this process must still collect its exit status.
        std::thread::spawn(move || child.wait());
        match ready.map_err(|error| self.launch_failed(error.to_string()))? {
            Said::Ready(HostReady::Ready { .. }) => Ok(()),
            Said::Ready(HostReady::Failed(error)) => {
                Err(ClientError::Refused { name: self.name.clone(), error: Box::new(error) })
            }
            Said::Ready(HostReady::Unknown) => Err(self.launch_failed(format!(
                "the program that should be its host is of another version and says what stead {PROGRAM} does not know"
            ))),
            Said::Nothing => {
                let tail = log_tail(&log_path, log_start);
                let tail = if tail.is_empty() { "it said nothing".to_owned() } else { tail };
                Err(self.launch_failed(format!("it died: {tail}")))
            }
            Said::TooLate => {
                let (name, waited) = (self.name.clone(), began.elapsed());
                Err(ConnectionTrouble::SlowStart { name, waited }.into())
            }
        }
    }

    fn command(&self) -> io::Result<Command> {
        let program = match self.program {
            Some(program) => program.to_owned(),
            // The file of this running program may have been replaced; `/proc/self/exe` still leads to it.
            None => std::env::current_exe()
                .ok()
                .filter(|path| path.exists())
                .unwrap_or_else(|| PathBuf::from("/proc/self/exe")),
        };
        let mut command = Command::new(program);
        command.arg("host").stdin(Stdio::piped()).stdout(Stdio::piped());
        // A session that is started from inside another one must not count as one of its processes.
        command.env_remove("STEAD_SESSION").env_remove("STEAD_SESSION_DIR");
        sys::before_exec(&mut command, || {
            cores::restore();
            rustix::process::setsid().map(drop).map_err(io::Error::from)
        });
        Ok(command)
    }

    /// Why a host that had started is gone already: as a rule its interpreter would not start.
    pub(crate) fn ended_early(&self) -> ClientError {
        let end = HistoryReader::open(self.dir().path()).and_then(|history| history.last_end());
        match end {
            Ok(Some((EndReason::LaunchFailed { message, trouble, .. }, _))) => {
                ClientError::NotStarted { name: self.name.clone(), message, trouble }
            }
            // After these a host goes on with another interpreter, so they are not why it is gone.
            Ok(Some((EndReason::Restarted { .. } | EndReason::RolledBack { .. }, _))) => {
                self.launch_failed("it died without saying why".to_owned())
            }
            Ok(Some((reason, _))) => self.launch_failed(format!("it has ended already: {reason}")),
            Ok(None) | Err(_) => self.launch_failed("it started and does not listen".to_owned()),
        }
    }

    fn launch_failed(&self, message: String) -> ClientError {
        ClientError::Launch { name: self.name.clone(), message }
    }
}

/// How long a host may take to answer a caller that wants to be done at `by`.
pub(crate) fn left(by: Instant) -> Duration {
    by.saturating_duration_since(Instant::now()).min(PATIENCE)
}

/// When to give up on a start for which the caller set no time.
pub(crate) fn unhurried() -> Instant {
    Instant::now() + LOCK_TIME + START_TIME
}

enum Said {
    Ready(HostReady),
    Nothing,
    TooLate,
}

/// Gives the host its spec and waits for its one line.
fn hand_over(child: &mut Child, spec: &[u8], by: Instant) -> io::Result<Said> {
    if let Some(mut stdin) = child.stdin.take() {
        match stdin.write_all(spec) {
            // The host died before it read its spec; its last words are in the log.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {}
            written => written?,
        }
    }
    let Some(stdout) = child.stdout.take() else { return Ok(Said::Nothing) };
    read_line(stdout, by)
}

fn read_line(stdout: ChildStdout, deadline: Instant) -> io::Result<Said> {
    let mut incoming = Lines::default();
    loop {
        let [ready] = timer::wait_readable([Some(stdout.as_fd())], Some(deadline))?;
        if !ready {
            return Ok(Said::TooLate);
        }
        if rustix::io::read(&stdout, spare_capacity(incoming.room(4096)))? == 0 {
            return Ok(Said::Nothing);
        }
        if let Some(line) = incoming.next_line() {
            return Ok(Said::Ready(serde_json::from_slice(line)?));
        }
    }
}

/// Refuses a directory that no session can start in.
pub(crate) fn check_cwd(place: &SessionPlace) -> Result<(), ClientError> {
    // The directory of a session that runs elsewhere is not on this machine, so only its host can check it.
    if !place.via.is_empty() {
        return Ok(());
    }
    let cwd = &place.cwd;
    let unusable = |problem| RequestError::Directory { path: cwd.clone(), problem }.into();
    match Path::new(cwd).metadata() {
        Ok(found) if found.is_dir() => Ok(()),
        Ok(_) => Err(unusable("it is not a directory".to_owned())),
        Err(error) => Err(unusable(error.to_string())),
    }
}

fn private_file(path: &Path) -> io::Result<File> {
    stead_files::open_with(OpenOptions::new().read(true).append(true).create(true), path)
}

/// What was appended to the log since `start`, at most its last lines.
fn log_tail(path: &Path, start: u64) -> String {
    let mut text = Vec::new();
    let read = stead_files::open(path).and_then(|mut log| {
        let end = log.seek(SeekFrom::End(0))?;
        log.seek(SeekFrom::Start(start.max(end.saturating_sub(LOG_TAIL))))?;
        log.take(LOG_TAIL).read_to_end(&mut text)
    });
    match read {
        Ok(_) => String::from_utf8_lossy(&text).trim().to_owned(),
        Err(_) => String::new(),
    }
}
