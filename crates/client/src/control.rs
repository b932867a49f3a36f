//! Everything about a running session that is not an eval.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde_json::Value;
use stead_launch::keeper::Keeper;
use stead_launch::mark::Role;
use stead_launch::roster::Holder;
use stead_protocol::client::{InterruptEffect, Query, Reply, Request};
use stead_protocol::{Activity, EndReason, EvalId, EvalSeq, Outcome, SessionName, Status, Work};
use stead_spool::SessionDir;

use crate::eval::work::WORK_VERSION;
use crate::eval::{loss, wait};
use crate::reach::connection::{self, Connection, PATIENCE};
use crate::reach::leftovers::see_guards_gone;
use crate::reach::start::{Door, IfFound, left, unhurried};
use crate::session::wait_until_ready;
use crate::{
    Client, ClientError, Consent, EvalOptions, EvalStatus, EvalView, LaunchOptions, Launched,
    Quiet, timer,
};

/// How long an interrupt may take: longer than the time after which the host gives up and answers.
const INTERRUPT_TIME: Duration = Duration::from_secs(10);
/// How long ending an interpreter and all it started may take.
pub(crate) const END_TIME: Duration = Duration::from_secs(20);
/// How often it is looked whether a host that is to end goes on in its place.
const END_LOOK: Duration = Duration::from_millis(200);
/// How long an interpreter may take to get ready: longer than the time after which the host gives up on one that takes long.
pub(crate) const READY_TIME: Duration = Duration::from_secs(310);
/// How long a question about the namespace may take.
const QUERY_TIME: Duration = Duration::from_secs(30);

/// What an interrupt did.
#[derive(Debug, Clone, Copy)]
pub struct Interrupted {
    /// The effect.
    pub effect: InterruptEffect,
    /// On which eval.
    pub eval: Option<EvalSeq>,
    /// If it was not the first of that eval: how many children of the eval were killed.
    pub killed: Option<u64>,
}

/// What a `kill` found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KillEffect {
    /// An interpreter, which it killed.
    Killed,
    /// A session that had ended before.
    HadEnded,
}

/// What a `pause` or a `resume` found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PauseEffect {
    /// The session was not so before.
    Changed,
    /// It was paused, or not paused, before.
    WasSo,
}

/// A session that was just stopped.
#[derive(Debug)]
pub struct Stopped {
    /// What it was at the last: its evals, names and times, and what its processes used.
    pub status: Status,
    /// The eval that was running and has ended with it.
    pub running: Option<EvalSeq>,
    /// Evals that waited for their turn and did not run.
    pub queued: Vec<EvalSeq>,
}

impl Stopped {
    /// What is said of evals that ended with their session, or never ran.
    pub fn cut_off(&self) -> Option<String> {
        let id = |seq: &EvalSeq| format!("`{}:{}`", self.status.name, seq.0);
        let ended = self.running.iter().map(|seq| format!("{} was running and has ended", id(seq)));
        let queued = self.queued.iter().map(|seq| format!("{} did not run", id(seq)));
        let said: Vec<String> = ended.chain(queued).collect();
        (!said.is_empty()).then(|| said.join(", "))
    }
}

impl Client {
    /// Stops the running eval, or the one that is named (SPEC E-6).
    pub fn interrupt(
        &self,
        name: &SessionName,
        eval: Option<EvalSeq>,
    ) -> Result<Interrupted, ClientError> {
        let request = Request::Interrupt { eval, by: self.by.get().cloned() };
        let interrupted = match self.ask(name, request, INTERRUPT_TIME) {
            Err(ClientError::Ended { .. }) => {
                Interrupted { effect: InterruptEffect::NothingRunning, eval, killed: None }
            }
            Err(error) => return Err(error),
            Ok((_, Reply::Interrupt { effect, eval, killed })) => {
                Interrupted { effect, eval, killed }
            }
            Ok((connection, other)) => return Err(connection.odd(&other)),
        };
        // The host tells an eval that has ended and one that never was alike; the history tells them apart.
        if let (InterruptEffect::NothingRunning, Some(seq)) = (interrupted.effect, eval)
            && let Err(error @ ClientError::NoEval { .. }) =
                self.entry(&EvalId { session: name.clone(), seq })
        {
            return Err(error);
        }
        Ok(interrupted)
    }

    /// Stops all processes of a session where they are.
    pub fn pause(&self, name: &SessionName) -> Result<PauseEffect, ClientError> {
        self.ask_pause(name, Request::Pause)
    }

    /// Lets the processes of a paused session go on.
    pub fn resume(&self, name: &SessionName) -> Result<PauseEffect, ClientError> {
        self.ask_pause(name, Request::Resume)
    }

    fn ask_pause(&self, name: &SessionName, request: Request) -> Result<PauseEffect, ClientError> {
        match self.ask(name, request, PATIENCE)? {
            (_, Reply::Done { already: false }) => Ok(PauseEffect::Changed),
            (_, Reply::Done { already: true }) => Ok(PauseEffect::WasSo),
            (connection, other) => Err(connection.odd(&other)),
        }
    }

    /// Empties the namespace: work like any other, which has an id and waits for its turn.
    pub fn clear(&self, name: &SessionName) -> Result<EvalView, ClientError> {
        let connection = self.connect(name)?;
        if connection.protocol() < WORK_VERSION {
            self.done(name, Request::Clear, QUERY_TIME)?;
            return Ok(EvalView::new(name, None, EvalStatus::Complete));
        }
        let options = EvalOptions {
            code: String::new(),
            key: None,
            soft_timeout: QUERY_TIME,
            hard_timeout: None,
            no_queue: false,
            background: false,
            max_chars: 0,
        };
        self.work_over(connection, name, Work::Clear, &options, &mut Quiet)
    }

    /// Ends the interpreter and starts it afresh (SPEC S-7).
    pub fn restart(
        &self,
        name: &SessionName,
        consent: Option<Consent>,
    ) -> Result<Launched, ClientError> {
        let mut connection = match self.connect(name) {
            Err(ClientError::Ended { .. }) => {
                let mut connection =
                    self.door(name).connect_or_start(IfFound::Use, unhurried(), || {
                        self.meta_for(name, &LaunchOptions { consent, ..LaunchOptions::default() })
                    })?;
                if connection.loss.is_some() {
                    loss::acknowledge(&mut connection, &self.dir(name))?;
                }
                connection
            }
            connection => {
                let mut connection = connection?;
                // A session that could not be started again is left as it is.
                if let Some(meta) = self.meta(name)? {
                    self.check_kept(&meta, consent)?;
                }
                let deadline = Instant::now() + END_TIME;
                connection.request(Request::Restart, Some(deadline))?;
                connection
            }
        };
        wait_until_ready(&mut connection, self.door(name), None)?;
        let has_init = self.meta(name)?.is_some_and(|meta| meta.settings.startup.init.is_some());
        let init = if has_init { self.init_of(name)? } else { None };
        Ok(Launched { status: status(&mut connection)?, init, notice: None })
    }

    /// Ends a session for good; its history stays readable. Returns what it was at the last (SPEC S-7).
    pub fn stop(&self, name: &SessionName) -> Result<Stopped, ClientError> {
        // A host that does not answer the question for its status may still obey the order to end.
        let before = self.status(name).ok();
        let meta = self.require(name, true);
        self.end(name)?;
        // The session has ended, so from here on anything that cannot be read is left out and is no error.
        let known = before.map_or_else(|| meta.map(|meta| self.offline_or_bare(&meta)), Ok)?;
        // An eval may have come to its own end after the status was asked for.
        let was_cut_off = |seq: &EvalSeq| self.was_cut_off(name, *seq).unwrap_or(true);
        let running = known.activity.eval().filter(was_cut_off);
        let queued = known.queued.into_iter().filter(was_cut_off).collect();
        let activity = match known.activity {
            ended @ Activity::Ended { .. } => ended,
            _ => Activity::Ended { reason: EndReason::Stopped { by: None } },
        };
        let status = Status {
            activity,
            paused: false,
            background_waiting: false,
            pid: None,
            host_pid: None,
            by: None,
            queued: Vec::new(),
            background: Vec::new(),
            clients: 0,
            ..known
        };
        Ok(Stopped { status, running, queued })
    }

    /// Whether an eval ended with its session, or never ran; `None` if the record does not say.
    fn was_cut_off(&self, name: &SessionName, seq: EvalSeq) -> Option<bool> {
        let entry = self.history(name).ok()??.eval(seq).ok()??;
        let (_, finished) = entry.finished?;
        let by_the_end = matches!(
            finished.outcome,
            Outcome::Ended { .. } | Outcome::NotRun { .. } | Outcome::HostDied
        );
        Some(by_the_end)
    }

    fn end(&self, name: &SessionName) -> Result<(), ClientError> {
        match self.order_end(name, Request::Stop) {
            Err(ClientError::Ended { .. }) => {
                // A host that was killed may have left processes.
                self.sweep_left_of(name, None)?;
                self.mark_stopped(name)?;
                self.remove_left_kernel(name)
            }
            // The session was stopped before, but some of its processes had stayed.
            Err(error @ ClientError::NotFound { .. }) => {
                self.sweep_left_of(name, None)?;
                let had_kernel = self.has_left_kernel(name);
                self.remove_left_kernel(name)?;
                if had_kernel { Ok(()) } else { Err(error) }
            }
            answer => {
                answer?;
                self.remove_left_kernel(name)
            }
        }
    }

    /// Has the host end its interpreter and itself, and waits until that host and its guard are gone, and with them
    /// every process of the session.
    fn order_end(&self, name: &SessionName, order: Request) -> Result<(), ClientError> {
        let mut known = Holder::read_at(&self.dir(name).lock());
        let connection = self.connect(name)?;
        // The lock file tells when the host is gone, unless somebody has deleted it; the process tells always.
        let host = connection.host_pid().and_then(Keeper::at);
        if let Some(Keeper { pid, mark, role: Role::Host, .. }) = &host {
            known = Some(Holder { host: *pid, mark: Some(*mark) });
        }
        let kills = matches!(order, Request::Kill);
        self.ask_over(connection, order, END_TIME)?;
        let dir = self.dir(name);
        let deadline = Instant::now() + END_TIME;
        let pid = known.map(|host| host.host);
        while host.as_ref().is_some_and(|host| !host.sees_end(END_LOOK)) {
            // A restart that another client has asked for wins over a kill: the interpreter was killed, its host stays.
            if kills && self.status(name).is_ok_and(|status| goes_on(&status)) {
                return Ok(());
            }
            if Instant::now() >= deadline {
                return Err(connection::silent(name, pid));
            }
        }
        let kept_by = see_guards_gone(&dir, known.and_then(|host| host.mark));
        // A guard may still be at work, and need not have the lock: its host makes a deleted lock file anew.
        while wait::host_lives(&dir) || kept_by.guard().is_some() {
            // Another client has started the session again, and its new host has waited for the old one's
            // guard.
            let now = Holder::read_at(&dir.lock());
            if now.is_some() && now != known {
                return Ok(());
            }
            if Instant::now() >= deadline {
                return Err(connection::silent(name, kept_by.guard().or(pid)));
            }
            timer::pause(Duration::from_millis(10));
        }
        self.sweep_left_of(name, known)
    }

    /// Ends a session's interpreter at once, whatever it does; the next eval starts it again.
    pub fn kill(&self, name: &SessionName) -> Result<KillEffect, ClientError> {
        let effect = match self.order_end(name, Request::Kill) {
            Err(ClientError::Ended { .. }) => {
                self.sweep_left_of(name, None)?;
                KillEffect::HadEnded
            }
            ended => ended.map(|()| KillEffect::Killed)?,
        };
        self.remove_left_kernel(name)?;
        Ok(effect)
    }

    /// All user-defined names.
    pub fn vars(&self, name: &SessionName) -> Result<Value, ClientError> {
        self.query(name, Query::Vars)
    }

    /// One name or dotted expression.
    pub fn inspect(&self, name: &SessionName, what: &str) -> Result<Value, ClientError> {
        self.query(name, Query::Inspect { name: what.to_owned() })
    }

    /// What can follow the beginning of a name or dotted expression.
    pub fn complete(&self, name: &SessionName, text: &str) -> Result<Value, ClientError> {
        self.query(name, Query::Complete { text: text.to_owned() })
    }

    /// The path of the host's log.
    pub fn log(&self, name: &SessionName) -> Result<PathBuf, ClientError> {
        self.require(name, true)?;
        Ok(self.dir(name).log())
    }

    fn query(&self, name: &SessionName, query: Query) -> Result<Value, ClientError> {
        match self.ask(name, Request::Query(query), QUERY_TIME)? {
            (_, Reply::Query { data }) => Ok(data),
            (connection, other) => Err(connection.odd(&other)),
        }
    }

    pub(crate) fn done(
        &self,
        name: &SessionName,
        request: Request,
        time: Duration,
    ) -> Result<(), ClientError> {
        match self.ask(name, request, time)? {
            (_, Reply::Done { .. }) => Ok(()),
            (connection, other) => Err(connection.odd(&other)),
        }
    }

    /// One request on a connection of its own; `Ended` also if the host left meanwhile.
    pub(crate) fn ask(
        &self,
        name: &SessionName,
        request: Request,
        time: Duration,
    ) -> Result<(Connection, Reply), ClientError> {
        self.ask_over(self.connect(name)?, request, time)
    }

    fn ask_over(
        &self,
        mut connection: Connection,
        request: Request,
        time: Duration,
    ) -> Result<(Connection, Reply), ClientError> {
        match connection.request(request, Some(Instant::now() + time)) {
            Ok(reply) => Ok((connection, reply)),
            Err(error) if error.is_hang_up() => {
                let name = connection.session();
                wait::see_host_gone(&self.dir(name));
                Err(self.connect(name).err().unwrap_or(error))
            }
            Err(error) => Err(error),
        }
    }

    /// Connects to the host of a session that exists; `Ended` if it has none.
    pub(crate) fn connect(&self, name: &SessionName) -> Result<Connection, ClientError> {
        self.connect_by(name, Instant::now() + PATIENCE)
    }

    /// Like `connect`, and gives up at `by`.
    pub(crate) fn connect_by(
        &self,
        name: &SessionName,
        by: Instant,
    ) -> Result<Connection, ClientError> {
        match self.door(name).connect(left(by))? {
            Some(connection) => Ok(connection),
            None => Err(self.ended(name)?),
        }
    }

    /// Like `connect_by`, for callers that only read: a host that is stopped by a signal is not waited for.
    pub(crate) fn look(&self, name: &SessionName, by: Instant) -> Result<Connection, ClientError> {
        match self.door(name).look(left(by))? {
            Some(connection) => Ok(connection),
            None => Err(self.ended(name)?),
        }
    }

    /// The error for a session that has no host.
    pub(crate) fn ended(&self, name: &SessionName) -> Result<ClientError, ClientError> {
        let meta = self.require(name, false)?;
        let reason = self.end_of(&meta)?.to_string();
        Ok(ClientError::Ended { name: name.clone(), reason })
    }

    pub(crate) fn door<'a>(&'a self, name: &'a SessionName) -> Door<'a> {
        Door {
            dirs: &self.dirs,
            workspace: &self.workspace,
            name,
            client: self.kind,
            by: self.by.get(),
            program: self.program.as_deref(),
            kept: self.kept.as_deref(),
        }
    }

    pub(crate) fn dir(&self, name: &SessionName) -> SessionDir {
        self.door(name).dir()
    }
}

/// Asks a host about its session.
pub(crate) fn status(connection: &mut Connection) -> Result<Status, ClientError> {
    match connection.request(Request::Status, Some(Instant::now() + PATIENCE))? {
        Reply::Status(status) => Ok(*status),
        other => Err(connection.odd(&other)),
    }
}

/// Whether the session has an interpreter that is not about to end.
fn goes_on(status: &Status) -> bool {
    !matches!(status.activity, Activity::Ending | Activity::Ended { .. } | Activity::Unknown)
}
