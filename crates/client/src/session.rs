//! What front ends can do with a session.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use stead_config::CommandTemplate;
use stead_protocol::ShellPlace;
use stead_protocol::client::{Reply, Request};
use stead_protocol::{Activity, By, ErrorCode, EvalId, EvalSeq, KernelChoice, SessionName, Status};
use stead_spool::HistoryReader;

use crate::control::{END_TIME, READY_TIME, status};
use crate::eval::loss;
use crate::eval::wait::{self, Wait, Watcher};
use crate::reach::connection::{Connection, PATIENCE};
use crate::reach::patience::{Patience, answer_time};
use crate::reach::start::{Door, IfFound, unhurried};
use crate::read::records::{self, Span};
use crate::show::page::read_budget;
use crate::{
    ClientError, Consent, Dirs, EvalStatus, EvalView, Fate, KeptConnections, OutputOptions,
    Workspace,
};

/// Among how many evals the init code of a session that has just started is looked for.
const STARTED_SINCE: u64 = 64;
/// How long a start waits for init code, which runs on after that.
const INIT_TIME: Duration = Duration::from_secs(30);
/// How often a host is asked at most whether it still starts.
const SHORTEST_LOOK: Duration = Duration::from_millis(50);
/// How many hosts in a row may exit between their hello and the code.
const EVAL_TRIES: usize = 5;

/// A front end's door to the sessions of one workspace.
#[derive(Debug, Clone)]
pub struct Client {
    /// Where sessions are kept.
    pub dirs: Dirs,
    /// The workspace whose sessions names refer to.
    pub workspace: Workspace,
    /// Who is calling: `cli`, `mcp`.
    pub kind: &'static str,
    /// The name of the sender of evals, once it is known; it says more than `kind` (SPEC E-16).
    pub by: Arc<OnceLock<By>>,
    /// The program to run as host; without it, this one.
    pub program: Option<PathBuf>,
    /// Connections that are kept for the next call; `None` for a program that calls once.
    pub kept: Option<Arc<KeptConnections>>,
}

/// How to start a session that does not exist yet.
#[derive(Debug, Clone, Default)]
pub struct LaunchOptions {
    /// The language, its alias or a toolchain; without it the session's name or its configuration tells.
    pub language: Option<String>,
    /// The language where nothing else tells one.
    pub otherwise: Option<String>,
    /// A bridge program of the user's own; the language may then have any name.
    pub bridge: Option<String>,
    /// The interpreter the user named.
    pub interpreter: Option<String>,
    /// The Jupyter kernel that is to run the code.
    pub kernel: Option<KernelChoice>,
    /// The address of a server that runs already and is to run the code.
    pub server: Option<String>,
    /// The command that starts it: words with places to fill in.
    pub command: Option<CommandTemplate>,
    /// The directory it starts in; without it the one of its configuration.
    pub cwd: Option<PathBuf>,
    /// The directory it starts in where nothing else says one; without it the workspace.
    pub here: Option<PathBuf>,
    /// Variables on top of the caller's environment.
    pub env: Vec<(String, String)>,
    /// Code to run at every start.
    pub init: Option<String>,
    /// How long to wait for that code; half a minute unless given.
    pub init_time: Option<Duration>,
    /// Leave the user's standard library out.
    pub no_stdlib: bool,
    /// Keep no copies of its state by itself, so that no eval can be undone.
    pub no_undo: bool,
    /// End after this time without use; 0 means never.
    pub idle_timeout_ms: Option<u64>,
    /// How many bytes of output are kept.
    pub quota_bytes: Option<u64>,
    /// End with the first eval.
    pub once: bool,
    /// Leave configuration files out: the session is for stead itself.
    pub unconfigured: bool,
    /// Asks the user to allow what came with the project, where there is somebody to ask (SPEC CF-4).
    pub consent: Option<Consent>,
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
    /// After which time to stop it; none or zero, if never.
    pub hard_timeout: Option<Duration>,
    /// Refuse rather than wait for a turn.
    pub no_queue: bool,
    /// Do not wait at all.
    pub background: bool,
    /// How many characters of output will be shown; none, if only the value or error matters.
    pub max_chars: usize,
}

/// Text for a reader that waits for input.
#[derive(Debug, Clone)]
pub struct InputOptions {
    /// The eval that it is meant for; without it, whichever reader waits.
    pub eval: Option<EvalSeq>,
    /// What to write.
    pub text: String,
    /// Whether the input ends here.
    pub eof: bool,
    /// How long to wait for what follows.
    pub soft_timeout: Duration,
    /// How many characters of output will be shown; none, if only the value or error matters.
    pub max_chars: usize,
}

/// A session that was just started.
#[derive(Debug)]
pub struct Launched {
    /// What it is.
    pub status: Status,
    /// How its init code went, if it has any.
    pub init: Option<EvalView>,
    /// What the user should know about the start.
    pub notice: Option<String>,
}

impl Client {
    /// The same client for the sessions of another workspace.
    pub fn in_workspace(&self, workspace: &str) -> Client {
        Client { workspace: Workspace::stored(workspace.to_owned()), ..self.clone() }
    }

    /// Starts a session and waits until its interpreter is ready.
    pub fn launch(
        &self,
        name: &SessionName,
        launch: &LaunchOptions,
    ) -> Result<Launched, ClientError> {
        let door = self.door(name);
        if let Some(mut connection) = door.connect(PATIENCE)? {
            match status(&mut connection)?.activity {
                Activity::Ended { .. } => {
                    connection.request(Request::Stop, Some(Instant::now() + END_TIME))?;
                }
                _ => return Err(ClientError::Exists { name: name.clone() }),
            }
        }
        let (mut has_init, mut notice) = (false, None);
        let meta = || {
            let meta = self.new_meta(name, launch)?;
            has_init = meta.settings.startup.init.is_some();
            notice = meta.settings.startup.notice.clone();
            Ok(meta)
        };
        let mut connection = door.connect_or_start(IfFound::Refuse, unhurried(), meta)?;
        if connection.loss.is_some() {
            loss::acknowledge(&mut connection, &self.dir(name))?;
        }
        wait_until_ready(&mut connection, door, launch.init_time)?;
        let init = if has_init { self.init_of(name)? } else { None };
        Ok(Launched { status: self.status(name)?, init, notice })
    }

    /// How the init code of the last start went. Other clients may have sent code since.
    pub(crate) fn init_of(&self, name: &SessionName) -> Result<Option<EvalView>, ClientError> {
        let last = self.evals(name, STARTED_SINCE)?.evals.into_iter();
        let init = last.filter(|eval| eval.entry.by == By::init());
        let Some(init) = init.max_by_key(|eval| eval.entry.seq) else { return Ok(None) };
        let options = OutputOptions { part: crate::Part::All, wait: None, max_chars: 0 };
        self.output(&init.id, &options, &mut crate::Quiet).map(Some)
    }

    /// Runs code; starts the session if it has to (SPEC S-5).
    pub fn eval(
        &self,
        name: &SessionName,
        launch: &LaunchOptions,
        options: &EvalOptions,
        watcher: &mut dyn Watcher,
    ) -> Result<EvalView, ClientError> {
        self.eval_at(name, launch, options, None, watcher)
    }

    /// Like `eval`, in the directory and environment of a shell command.
    pub(crate) fn eval_at(
        &self,
        name: &SessionName,
        launch: &LaunchOptions,
        options: &EvalOptions,
        place: Option<&ShellPlace>,
        watcher: &mut dyn Watcher,
    ) -> Result<EvalView, ClientError> {
        self.check_language(name, launch.language.as_deref())?;
        let patience = Patience::new(options);
        // A host may exit between its hello and the code; the next host says why it did.
        for _ in 0..EVAL_TRIES {
            if let Some(view) = self.try_eval(name, launch, options, &patience, place, watcher)? {
                return Ok(view);
            }
        }
        Err(loss::before(self.door(name).ended_early(), &self.dir(name), name))
    }

    /// Runs code; `None` if the host exited before it took the code.
    fn try_eval(
        &self,
        name: &SessionName,
        launch: &LaunchOptions,
        options: &EvalOptions,
        patience: &Patience,
        place: Option<&ShellPlace>,
        watcher: &mut dyn Watcher,
    ) -> Result<Option<EvalView>, ClientError> {
        let door = self.door(name);
        let mut connection = match door.kept() {
            Some(connection) => connection,
            None => {
                let meta = || self.meta_for(name, launch);
                let connected = door.connect_or_start(IfFound::Use, patience.answer_by, meta);
                let told = |error| loss::before(error, &self.dir(name), name).before_sending();
                Box::new(connected.map_err(told)?)
            }
        };
        let mut fresh = None;
        if let Some(reason) = connection.loss.take() {
            let known = options.key.as_deref().map(|key| self.known_key(name, key));
            if known.transpose()?.flatten().is_none() {
                let known = loss::acknowledge(&mut connection, &self.dir(name));
                if !known.map_err(ClientError::before_sending)? {
                    return Err(ClientError::Lost { name: name.clone(), reason });
                }
                fresh = Some(format!("started fresh, earlier state is gone: {reason}"));
            }
        }
        let output = watcher.wants_output();
        match self.send(name, connection, options, patience, place, output) {
            Ok(begun) => self.finish(begun.with_notice(fresh), watcher),
            Err(ClientError::HungUp { unread: true, .. }) => Ok(None),
            Err(other) => Err(other.before_sending()),
        }
    }

    /// Gives a waiting reader something to read, then waits like an eval does (SPEC E-8).
    pub fn input(
        &self,
        name: &SessionName,
        options: &InputOptions,
        watcher: &mut dyn Watcher,
    ) -> Result<EvalView, ClientError> {
        let now = Instant::now();
        let deadline = now.checked_add(options.soft_timeout);
        let answer_by = now + answer_time(options.soft_timeout);
        let mut connection = self.connect_by(name, answer_by)?;
        let input =
            Request::Input { eval: options.eval, text: options.text.clone(), eof: options.eof };
        let sent = connection.send_by(input, answer_by)?;
        let sent_and_silent = |error| match error {
            ClientError::Silent { name, pid, .. } => {
                ClientError::Silent { name, pid, fate: Some(Fate::InputSent) }
            }
            other => other,
        };
        // A background reader is waited for until it has read the text.
        let reply = connection.reply(sent, deadline.map(|at| at.max(answer_by)));
        let reply = reply.map_err(sent_and_silent)?;
        let Reply::InputTaken { eval, from, to } = reply else {
            return Err(connection.odd(&reply));
        };
        let Some(seq) = eval else {
            let mut view = EvalView::new(name, None, EvalStatus::Complete);
            view.generation = Some(connection.generation);
            let reader = wait::open(&self.dir(name), name)?;
            let span = Span::all(from, to.unwrap_or(from));
            view.content = records::content(&reader, span, read_budget(options.max_chars))
                .map_err(ClientError::spool(name))?;
            return Ok(view);
        };
        let watch = Request::Watch { eval: seq, output: watcher.wants_output(), alone: false };
        connection.request(watch, Some(answer_by)).map_err(sent_and_silent)?;
        watcher.accepted(&EvalId { session: name.clone(), seq });
        let by = self.sender_of(&EvalId { session: name.clone(), seq });
        let view = Wait {
            door: self.door(name),
            seq,
            generation: Some(connection.generation),
            behind: None,
            from: Some(from),
            budget: read_budget(options.max_chars),
            deadline,
            watcher,
        }
        .run(Box::new(connection))?;
        Ok(view.sent_by(by))
    }

    /// Who this client's evals are by.
    pub fn sender(&self) -> By {
        self.by.get().cloned().unwrap_or_else(|| By::named(self.kind))
    }

    /// Who sent an eval, if its record can be read.
    pub(crate) fn sender_of(&self, id: &EvalId) -> Option<By> {
        self.entry(id).ok().map(|entry| entry.by)
    }

    fn known_key(&self, name: &SessionName, key: &str) -> Result<Option<EvalSeq>, ClientError> {
        HistoryReader::open(self.dir(name).path())
            .and_then(|history| history.key(key))
            .map_err(ClientError::spool(name))
    }
}

/// Waits until the interpreter can take code, or its init code takes long. The host gives up on a start before
/// this wait ends: after a minute, or later if the bridge says that it takes long.
pub(crate) fn wait_until_ready(
    connection: &mut Connection,
    door: Door<'_>,
    init_time: Option<Duration>,
) -> Result<(), ClientError> {
    match ready_or_busy(connection, init_time.unwrap_or(INIT_TIME)) {
        Ok(()) => Ok(()),
        Err(error) if error.is_hang_up() => Err(door.ended_early()),
        Err(ClientError::Refused { name, error })
            if matches!(error.code, ErrorCode::LaunchFailed | ErrorCode::SessionEnded) =>
        {
            let trouble = error.trouble();
            Err(ClientError::NotStarted { name, message: error.message, trouble })
        }
        Err(other) => Err(other),
    }
}

/// Waits until the host says that it is ready, or until code has run for `patience`: a host is not ready before
/// the code has ended.
fn ready_or_busy(connection: &mut Connection, patience: Duration) -> Result<(), ClientError> {
    // A long `patience` may reach further than an `Instant` can; then the wait has no end.
    let give_up = Instant::now().checked_add(READY_TIME.max(patience));
    let mut left = patience.max(SHORTEST_LOOK);
    loop {
        let next = Instant::now().checked_add(left);
        let until = next.into_iter().chain(give_up).min();
        match connection.request(Request::Ready, until) {
            Err(ClientError::Silent { .. }) if until != give_up => {}
            answer => return answer.map(drop),
        }
        let ran = match status(connection)?.activity {
            Activity::Running { elapsed_ms, .. } => Duration::from_millis(elapsed_ms),
            Activity::WaitingInput { .. } => return Ok(()),
            _ => Duration::ZERO,
        };
        if ran >= patience {
            return Ok(());
        }
        left = (patience - ran).max(SHORTEST_LOOK);
    }
}
