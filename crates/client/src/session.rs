//! What front ends can do with a session.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde_json::Value;
use stead_protocol::client::{InterruptEffect, Query, Reply, Request, Submit, WatchFor};
use stead_protocol::{
    Activity, DEFAULT_IDLE_TIMEOUT_MS, DEFAULT_QUOTA_BYTES, ErrorCode, EvalId, EvalSeq, Meta,
    SessionName, Settings, Status, WireError,
};
use stead_spool::{HistoryReader, SessionDir};

use crate::connection::{Connection, PATIENCE};
use crate::read::{self, Span};
use crate::start::{Door, Found};
use crate::wait::{self, Wait, Watcher};
use crate::{ClientError, Dirs, EvalStatus, EvalView, OutputOptions, Workspace, language, loss};

/// How long an interrupt may take: the host's grace time and some.
const INTERRUPT_TIME: Duration = Duration::from_secs(10);
/// How long ending an interpreter and all it started may take.
const END_TIME: Duration = Duration::from_secs(20);
/// How many hosts in a row may leave just before they are given code.
const EVAL_TRIES: usize = 5;
/// How long a question about the namespace may take.
const QUERY_TIME: Duration = Duration::from_secs(30);

/// A front end's door to the sessions of one workspace.
#[derive(Debug, Clone)]
pub struct Client {
    /// Where sessions are kept.
    pub dirs: Dirs,
    /// The workspace whose sessions names refer to.
    pub workspace: Workspace,
    /// Who is calling: `cli`, `mcp`.
    pub kind: &'static str,
    /// The program to run as host; without it, this one.
    pub program: Option<PathBuf>,
}

/// How to start a session that does not exist yet.
#[derive(Debug, Clone, Default)]
pub struct Launch {
    /// The language or its alias; without it the session's name tells.
    pub language: Option<String>,
    /// The interpreter the user named.
    pub interpreter: Option<String>,
    /// Where it starts; without it in the workspace.
    pub cwd: Option<PathBuf>,
    /// Variables on top of the caller's environment.
    pub env: Vec<(String, String)>,
    /// Code to run at every start.
    pub init: Option<String>,
    /// End after this time without use; 0 means never.
    pub idle_timeout_ms: Option<u64>,
}

/// One eval to run.
#[derive(Debug, Clone)]
pub struct EvalOptions {
    /// The code.
    pub code: String,
    /// The same key again returns the first eval.
    pub key: Option<String>,
    /// How long to wait for it.
    pub soft_timeout: Duration,
    /// After which time to stop it.
    pub hard_timeout: Option<Duration>,
    /// Refuse rather than wait for a turn.
    pub no_queue: bool,
    /// Do not wait at all.
    pub background: bool,
    /// How many bytes of output the view may hold.
    pub budget: usize,
}

/// Something for a waiting reader.
#[derive(Debug, Clone)]
pub struct InputOptions {
    /// The eval it is meant for; without it whoever waits.
    pub eval: Option<EvalSeq>,
    /// What to write.
    pub text: String,
    /// Whether the input ends here.
    pub eof: bool,
    /// How long to wait for what follows.
    pub soft_timeout: Duration,
    /// How many bytes of output the view may hold.
    pub budget: usize,
}

/// A session that was just started.
#[derive(Debug)]
pub struct Launched {
    /// What it is.
    pub status: Status,
    /// How its init code went, if it has any.
    pub init: Option<EvalView>,
}

/// What an interrupt did.
#[derive(Debug, Clone, Copy)]
pub struct Interrupted {
    /// The effect.
    pub effect: InterruptEffect,
    /// On which eval.
    pub eval: Option<EvalSeq>,
}

impl Client {
    /// Starts a session and waits until its interpreter is ready.
    pub fn launch(
        &self,
        name: &SessionName,
        launch: &Launch,
        watcher: &mut dyn Watcher,
    ) -> Result<Launched, ClientError> {
        let door = self.door(name);
        if let Some(mut connection) = door.connect(PATIENCE)? {
            match status(&mut connection)?.activity {
                Activity::Ended { .. } => {
                    connection.request(&Request::Stop, Some(Instant::now() + END_TIME))?;
                }
                _ => return Err(ClientError::Exists { name: name.clone() }),
            }
        }
        let mut connection =
            door.connect_or_start(Found::Refuse, || self.new_meta(name, launch))?;
        if connection.loss.is_some() {
            loss::acknowledge(&mut connection, &self.dir(name))?;
        }
        let ready = EvalOptions {
            code: String::new(),
            key: None,
            soft_timeout: PATIENCE * 12,
            hard_timeout: None,
            no_queue: false,
            background: false,
            budget: 64 << 10,
        };
        let view = self.submit(door, connection, &ready, watcher)?;
        let view = view.ok_or_else(|| door.ended_early())?;
        if let Some(outcome) = &view.outcome
            && view.status == EvalStatus::Ended
        {
            return Err(launch_error(name, outcome));
        }
        let init = if launch.init.is_some() { self.init_of(name)? } else { None };
        Ok(Launched { status: self.status(name)?, init })
    }

    /// How the init code of the last start went.
    fn init_of(&self, name: &SessionName) -> Result<Option<EvalView>, ClientError> {
        let last = self.evals(name, 2)?;
        let Some(init) = last.into_iter().find(|eval| eval.entry.by == "init") else {
            return Ok(None);
        };
        let options = OutputOptions { part: crate::Part::All, wait: None, budget: 64 << 10 };
        self.output(&init.id, &options, &mut crate::Quiet).map(Some)
    }

    /// Runs code; starts the session if it has to (SPEC S-5).
    pub fn eval(
        &self,
        name: &SessionName,
        launch: &Launch,
        options: &EvalOptions,
        watcher: &mut dyn Watcher,
    ) -> Result<EvalView, ClientError> {
        self.check_language(name, launch)?;
        // A host may leave between its hello and the code; the next one says why it did.
        for _ in 0..EVAL_TRIES {
            if let Some(view) = self.try_eval(name, launch, options, watcher)? {
                return Ok(view);
            }
        }
        Err(self.door(name).ended_early())
    }

    /// Runs code; `None` if the host left before it took the code.
    fn try_eval(
        &self,
        name: &SessionName,
        launch: &Launch,
        options: &EvalOptions,
        watcher: &mut dyn Watcher,
    ) -> Result<Option<EvalView>, ClientError> {
        let door = self.door(name);
        let mut connection = door.connect_or_start(Found::Use, || self.meta_for(name, launch))?;
        let mut fresh = None;
        if let Some(reason) = connection.loss.take() {
            let known = options.key.as_deref().map(|key| self.known_key(name, key));
            if known.transpose()?.flatten().is_none() {
                if !loss::acknowledge(&mut connection, &self.dir(name))? {
                    return Err(ClientError::Lost { name: name.clone(), reason });
                }
                fresh = Some(format!("started fresh, earlier state is gone: {reason}"));
            }
        }
        let mut view = self.submit(door, connection, options, watcher)?;
        if let Some(view) = &mut view {
            view.notices.extend(fresh);
        }
        Ok(view)
    }

    fn submit(
        &self,
        door: Door<'_>,
        mut connection: Connection,
        options: &EvalOptions,
        watcher: &mut dyn Watcher,
    ) -> Result<Option<EvalView>, ClientError> {
        let watch = if watcher.wants_output() { WatchFor::Output } else { WatchFor::State };
        let submit = Request::Submit(Submit {
            code: options.code.clone(),
            key: options.key.clone(),
            hard_timeout_ms: options.hard_timeout.map(|time| time.as_millis() as u64),
            no_queue: options.no_queue,
            watch: (!options.background).then_some(watch),
        });
        let deadline = Instant::now().checked_add(options.soft_timeout);
        let reply = match connection.request(&submit, Some(Instant::now() + END_TIME)) {
            Err(ClientError::HungUp { unread: true, .. }) => return Ok(None),
            Err(ClientError::HungUp { unread: false, .. }) => {
                return self.check_not_taken(door, connection.evals, options).map(|()| None);
            }
            reply => reply?,
        };
        let Reply::Accepted { eval, generation, behind, duplicate } = reply else {
            return Err(connection.odd(&reply));
        };
        watcher.accepted(&EvalId { session: door.name.clone(), seq: eval });
        if options.background {
            let status = if behind.is_some() { EvalStatus::Queued } else { EvalStatus::Running };
            let mut view = EvalView::new(door.name, Some(eval), status);
            view.generation = Some(generation);
            view.behind = behind;
            return Ok(Some(view));
        }
        let budget = options.budget;
        let generation = Some(generation);
        let wait =
            Wait { door, seq: eval, generation, behind, from: None, budget, deadline, watcher };
        let mut view = wait.run(connection)?;
        if duplicate {
            view.notices
                .push("this key was used before: the first eval's result, nothing ran".to_owned());
        }
        Ok(Some(view))
    }

    /// Makes sure that a host which read the code and hung up without an answer, because it was
    /// killed, had not taken it in; `known` is how many evals there were before it was sent.
    fn check_not_taken(
        &self,
        door: Door<'_>,
        known: u64,
        options: &EvalOptions,
    ) -> Result<(), ClientError> {
        let name = door.name;
        let not_taken = wait::see_host_gone(&door.dir()) && {
            let history =
                HistoryReader::open(door.dir().path()).map_err(ClientError::spool(name))?;
            let len = history.len().map_err(ClientError::spool(name))?;
            let later =
                history.last(len.saturating_sub(known)).map_err(ClientError::spool(name))?;
            !later.iter().any(|entry| entry.by == self.kind && entry.code == options.code)
        };
        if not_taken {
            return Ok(());
        }
        Err(ClientError::Connection {
            message: format!(
                "the host of session `{name}` hung up before it took the code or refused it"
            ),
            hint: Some(format!("`stead evals -n {name}` tells whether it ran")),
        })
    }

    /// Gives a waiting reader something to read, then waits like an eval does (SPEC E-8).
    pub fn input(
        &self,
        name: &SessionName,
        options: &InputOptions,
        watcher: &mut dyn Watcher,
    ) -> Result<EvalView, ClientError> {
        let mut connection = self.connect(name)?;
        let deadline = Instant::now().checked_add(options.soft_timeout);
        let input =
            Request::Input { eval: options.eval, text: options.text.clone(), eof: options.eof };
        let reply = connection.request(&input, deadline.map(|at| at + PATIENCE))?;
        let Reply::InputTaken { eval, from, to } = reply else {
            return Err(connection.odd(&reply));
        };
        let Some(seq) = eval else {
            let mut view = EvalView::new(name, None, EvalStatus::Complete);
            view.generation = Some(connection.generation);
            let reader = wait::open(&self.dir(name), name)?;
            view.content =
                read::content(&reader, Span::all(from, to.unwrap_or(from)), options.budget)
                    .map_err(ClientError::spool(name))?;
            return Ok(view);
        };
        let watch = Request::Watch { eval: seq, output: watcher.wants_output() };
        connection.request(&watch, Some(Instant::now() + PATIENCE))?;
        watcher.accepted(&EvalId { session: name.clone(), seq });
        Wait {
            door: self.door(name),
            seq,
            generation: Some(connection.generation),
            behind: None,
            from: Some(from),
            budget: options.budget,
            deadline,
            watcher,
        }
        .run(connection)
    }

    /// Stops the running eval, or the one that is named (SPEC E-6).
    pub fn interrupt(
        &self,
        name: &SessionName,
        eval: Option<EvalSeq>,
    ) -> Result<Interrupted, ClientError> {
        match self.ask(name, &Request::Interrupt { eval }, INTERRUPT_TIME) {
            Err(ClientError::Ended { .. }) => {
                Ok(Interrupted { effect: InterruptEffect::NothingRunning, eval })
            }
            Err(error) => Err(error),
            Ok((_, Reply::Interrupt { effect, eval })) => Ok(Interrupted { effect, eval }),
            Ok((connection, other)) => Err(connection.odd(&other)),
        }
    }

    /// Stops all processes of a session where they are.
    pub fn pause(&self, name: &SessionName) -> Result<(), ClientError> {
        self.done(name, &Request::Pause, PATIENCE)
    }

    /// Lets them go on.
    pub fn resume(&self, name: &SessionName) -> Result<(), ClientError> {
        self.done(name, &Request::Resume, PATIENCE)
    }

    /// Empties the namespace.
    pub fn clear(&self, name: &SessionName) -> Result<(), ClientError> {
        self.done(name, &Request::Clear, QUERY_TIME)
    }

    /// Ends the interpreter and starts it afresh (SPEC S-7).
    pub fn restart(&self, name: &SessionName) -> Result<Status, ClientError> {
        match self.connect(name) {
            Err(ClientError::Ended { .. }) => {
                let mut connection = self
                    .door(name)
                    .connect_or_start(Found::Use, || self.meta_for(name, &Launch::default()))?;
                if connection.loss.is_some() {
                    loss::acknowledge(&mut connection, &self.dir(name))?;
                }
            }
            connection => {
                let mut connection = connection?;
                let deadline = Instant::now() + END_TIME;
                connection.request(&Request::Restart, Some(deadline))?;
                return status(&mut connection);
            }
        }
        self.status(name)
    }

    /// Ends a session for good; its history stays readable.
    pub fn stop(&self, name: &SessionName) -> Result<(), ClientError> {
        match self.ask(name, &Request::Stop, END_TIME) {
            Err(ClientError::Ended { .. }) => self.mark_stopped(name),
            answer => answer.map(drop),
        }
    }

    /// All user-defined names.
    pub fn vars(&self, name: &SessionName) -> Result<Value, ClientError> {
        self.query(name, Query::Vars)
    }

    /// One name or dotted expression.
    pub fn inspect(&self, name: &SessionName, what: &str) -> Result<Value, ClientError> {
        self.query(name, Query::Inspect { name: what.to_owned() })
    }

    /// The path of the host's log.
    pub fn log(&self, name: &SessionName) -> Result<PathBuf, ClientError> {
        self.require(name, true)?;
        Ok(self.dir(name).log())
    }

    fn query(&self, name: &SessionName, query: Query) -> Result<Value, ClientError> {
        match self.ask(name, &Request::Query(query), QUERY_TIME)? {
            (_, Reply::Query { data }) => Ok(data),
            (connection, other) => Err(connection.odd(&other)),
        }
    }

    fn done(
        &self,
        name: &SessionName,
        request: &Request,
        time: Duration,
    ) -> Result<(), ClientError> {
        match self.ask(name, request, time)? {
            (_, Reply::Done) => Ok(()),
            (connection, other) => Err(connection.odd(&other)),
        }
    }

    /// One request on a connection of its own; `Ended` also if the host left meanwhile.
    fn ask(
        &self,
        name: &SessionName,
        request: &Request,
        time: Duration,
    ) -> Result<(Connection, Reply), ClientError> {
        let mut connection = self.connect(name)?;
        match connection.request(request, Some(Instant::now() + time)) {
            Ok(reply) => Ok((connection, reply)),
            Err(error) if error.is_hang_up() => {
                wait::see_host_gone(&self.dir(name));
                Err(self.connect(name).err().unwrap_or(error))
            }
            Err(error) => Err(error),
        }
    }

    /// Connects to the host of a session that exists; `Ended` if it has none.
    pub(crate) fn connect(&self, name: &SessionName) -> Result<Connection, ClientError> {
        if let Some(connection) = self.door(name).connect(PATIENCE)? {
            return Ok(connection);
        }
        let meta = self.require(name, false)?;
        let reason = self.end_of(&meta)?.to_string();
        Err(ClientError::Ended { name: name.clone(), reason })
    }

    pub(crate) fn door<'a>(&'a self, name: &'a SessionName) -> Door<'a> {
        Door {
            dirs: &self.dirs,
            workspace: &self.workspace,
            name,
            client: self.kind,
            program: self.program.as_deref(),
        }
    }

    pub(crate) fn dir(&self, name: &SessionName) -> SessionDir {
        self.door(name).dir()
    }

    /// What is kept of a session; `None` if there never was one of this name.
    pub(crate) fn meta(&self, name: &SessionName) -> Result<Option<Meta>, ClientError> {
        let Some(meta) = read_meta(&self.dir(name).meta())? else { return Ok(None) };
        if meta.workspace != self.workspace.as_str() {
            return Err(ClientError::bad_request(format!(
                "`{}` belongs to the workspace `{}`, not to `{}`",
                self.dir(name).path().display(),
                meta.workspace,
                self.workspace.as_str()
            )));
        }
        Ok(Some(meta))
    }

    /// What is kept of a session that must exist.
    pub(crate) fn require(&self, name: &SessionName, stopped: bool) -> Result<Meta, ClientError> {
        match self.meta(name)? {
            Some(meta) if stopped || !meta.stopped => Ok(meta),
            _ => Err(self.not_found(name)),
        }
    }

    fn not_found(&self, name: &SessionName) -> ClientError {
        ClientError::NotFound {
            name: name.clone(),
            workspace: self.workspace.as_str().to_owned(),
            existing: self.names().unwrap_or_default(),
        }
    }

    /// Refuses a language that an existing session does not have.
    fn check_language(&self, name: &SessionName, launch: &Launch) -> Result<(), ClientError> {
        let Some(wanted) = &launch.language else { return Ok(()) };
        let wanted = language::language(wanted)?;
        match self.meta(name)?.filter(|meta| !meta.stopped) {
            Some(meta) if meta.settings.language != wanted => {
                let message =
                    format!("session `{name}` is in {}, not {wanted}", meta.settings.language);
                Err(WireError::new(ErrorCode::BadRequest, message)
                    .with_hint("use another name for the other language")
                    .into())
            }
            _ => Ok(()),
        }
    }

    /// What a session that has no host is started with: what it had, or what its name tells.
    fn meta_for(&self, name: &SessionName, launch: &Launch) -> Result<Meta, ClientError> {
        match self.meta(name)?.filter(|meta| !meta.stopped) {
            Some(meta) => Ok(Meta { found: None, ..meta }),
            None => self.new_meta(name, launch),
        }
    }

    fn new_meta(&self, name: &SessionName, launch: &Launch) -> Result<Meta, ClientError> {
        let language = match &launch.language {
            Some(given) => language::language(given)?,
            None => language::implied(name).unwrap_or_else(|| Err(self.not_found(name)))?,
        };
        let cwd = launch.cwd.as_deref().unwrap_or(self.workspace.path());
        let settings = Settings {
            language: language.to_owned(),
            bridge: None,
            interpreter: launch.interpreter.clone(),
            cwd: text(cwd)?,
            env: launch.env.clone(),
            init: launch.init.clone(),
            idle_timeout_ms: launch.idle_timeout_ms.unwrap_or(DEFAULT_IDLE_TIMEOUT_MS),
            quota_bytes: DEFAULT_QUOTA_BYTES,
        };
        Ok(Meta {
            version: 1,
            name: name.clone(),
            workspace: self.workspace.as_str().to_owned(),
            settings,
            created_ms: now_ms(),
            stopped: false,
            found: None,
        })
    }

    fn mark_stopped(&self, name: &SessionName) -> Result<(), ClientError> {
        let meta = Meta { stopped: true, ..self.require(name, false)? };
        let path = self.dir(name).meta();
        let bytes = serde_json::to_vec(&meta)
            .map_err(|error| ClientError::file("write", &path)(error.into()))?;
        stead_spool::write_atomically(&path, &bytes).map_err(ClientError::spool(name))
    }

    fn known_key(&self, name: &SessionName, key: &str) -> Result<Option<EvalSeq>, ClientError> {
        HistoryReader::open(self.dir(name).path())
            .and_then(|history| history.key(key))
            .map_err(ClientError::spool(name))
    }
}

/// Asks a host about its session.
pub(crate) fn status(connection: &mut Connection) -> Result<Status, ClientError> {
    match connection.request(&Request::Status, Some(Instant::now() + PATIENCE))? {
        Reply::Status(status) => Ok(*status),
        other => Err(connection.odd(&other)),
    }
}

pub(crate) fn read_meta(path: &Path) -> Result<Option<Meta>, ClientError> {
    let bytes = match fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(ClientError::file("read", path)(error)),
    };
    serde_json::from_slice(&bytes)
        .map(Some)
        .map_err(|error| ClientError::file("understand", path)(error.into()))
}

fn launch_error(name: &SessionName, outcome: &stead_protocol::Outcome) -> ClientError {
    use stead_protocol::{EndReason, Outcome};
    let message = match outcome {
        Outcome::Ended { reason: EndReason::LaunchFailed { message } }
        | Outcome::NotRun { reason: EndReason::LaunchFailed { message } } => {
            format!("could not start session `{name}`: {message}")
        }
        Outcome::Ended { reason } | Outcome::NotRun { reason } => {
            format!("could not start session `{name}`: {reason}")
        }
        _ => format!("could not start session `{name}`: its host was killed"),
    };
    WireError::new(ErrorCode::LaunchFailed, message)
        .with_hint(format!("see `stead logs -n {name}` and `stead doctor`"))
        .into()
}

fn text(path: &Path) -> Result<String, ClientError> {
    path.to_str()
        .map(str::to_owned)
        .ok_or_else(|| ClientError::bad_request(format!("the path {path:?} is not UTF-8")))
}

pub(crate) fn now_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_millis() as u64)
}
