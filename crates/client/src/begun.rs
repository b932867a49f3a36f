//! Code that was sent to a host: accepted, then waited for.
//!
//! Who may block goes on with [`Client::finish`] at once. Who may not asks [`Begun::advance`] whenever the
//! connection is readable, until finishing takes no wait.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};
use std::time::{Duration, Instant};

use stead_protocol::client::{Accepted, Event, FromHost, Place, Reply, Request, Submit, WatchFor};
use stead_protocol::{EvalId, EvalSeq, Finished, Generation, SessionName};
use stead_spool::HistoryReader;

use crate::connection::Connection;
use crate::control::END_TIME;
use crate::page::read_budget;
use crate::start::Door;
use crate::wait::{self, Wait, Watcher};
use crate::{Client, ClientError, EvalOptions, EvalStatus, EvalView, timer};

/// More output than this is not read by who must not block.
const QUICK_BYTES: u64 = 256 << 10;

/// How long the end of an eval is waited for awake.
const AWAKE: Duration = Duration::from_micros(300);
/// Where others kept the processor for longer than this there is no use in staying awake for them.
const CROWDED: Duration = Duration::from_micros(100);

/// Code that was sent, and the connection on which its fate will be told.
#[derive(Debug)]
pub struct Begun {
    connection: Box<Connection>,
    name: SessionName,
    /// The number of the request.
    sent: u64,
    /// What the host writes down with the code.
    token: u64,
    accept_by: Instant,
    deadline: Option<Instant>,
    background: bool,
    budget: usize,
    /// What to say with the result.
    notice: Option<String>,
}

/// How far an eval has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// The host has not answered yet.
    Sent,
    /// The host has taken it.
    Accepted,
    /// It can be finished without a wait.
    Over,
    /// Only waiting will tell.
    Unclear,
}

impl AsRawFd for Begun {
    fn as_raw_fd(&self) -> RawFd {
        self.connection.as_raw_fd()
    }
}

impl Begun {
    /// When whoever began it wants an answer.
    pub fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    pub(crate) fn with_notice(mut self, notice: Option<String>) -> Self {
        self.notice = notice;
        self
    }

    /// Waits until the host has said something, `other` can be read or it is `until`: which of them can be
    /// read.
    pub fn wait(&self, other: BorrowedFd<'_>, until: Instant) -> io::Result<[bool; 2]> {
        let fds = [Some(self.connection.as_fd()), Some(other)];
        Ok(timer::wait_readable(fds, Some(until))?)
    }

    /// Looks again and again for a moment how far it has come. A processor that goes to sleep takes longer to
    /// wake than most evals take; and as long as this one is in use, host and interpreter share the caches of
    /// another. Whoever else wants it gets it at once.
    pub fn stay_awake(&mut self) -> Stage {
        let mut now = Instant::now();
        let until = now + AWAKE;
        loop {
            let stage = self.advance().unwrap_or(Stage::Unclear);
            if !matches!(stage, Stage::Sent | Stage::Accepted) {
                return stage;
            }
            std::thread::yield_now();
            let crowded = now + CROWDED;
            now = Instant::now();
            if now > crowded.min(until) {
                return stage;
            }
        }
    }

    /// Takes in what the host has said, without waiting.
    pub fn advance(&mut self) -> Result<Stage, ClientError> {
        let open = self.connection.take_in()?;
        let mut stage = if open { Stage::Sent } else { Stage::Unclear };
        let mut own = None;
        for message in self.connection.inbox() {
            match message {
                FromHost::Error { id, .. } if *id == self.sent => return Ok(Stage::Over),
                FromHost::Reply { id, reply: Reply::Accepted(Accepted { eval, finished, .. }) }
                    if *id == self.sent =>
                {
                    if self.background {
                        return Ok(Stage::Over);
                    }
                    if let Some(finished) = finished {
                        return Ok(over(finished));
                    }
                    own = Some(*eval);
                    stage = if open { Stage::Accepted } else { Stage::Unclear };
                }
                FromHost::Event(Event::Finished { eval, finished }) if own == Some(*eval) => {
                    return Ok(over(finished));
                }
                FromHost::Event(Event::Waiting { eval, .. }) if own == Some(*eval) => {
                    return Ok(Stage::Unclear);
                }
                FromHost::Error { .. } | FromHost::Reply { .. } | FromHost::Event(_) => {}
            }
        }
        Ok(stage)
    }
}

/// Whether what an eval wrote is little enough to be read at once.
fn over(finished: &Finished) -> Stage {
    let bytes = finished.end.0.saturating_sub(finished.start.0);
    if bytes > QUICK_BYTES { Stage::Unclear } else { Stage::Over }
}

/// How long a host may take to accept code: it has to read, check and record all of it.
fn accept_time(code: &str) -> Duration {
    END_TIME + Duration::from_secs(code.len() as u64 >> 20)
}

/// A number that no other submission has; small enough for readers that know only floats.
fn token() -> u64 {
    RandomState::new().build_hasher().finish() >> 11
}

impl Client {
    /// Sends code over a connection that was kept; `None` if there is none. The session has to be in
    /// `language`, if one is given. `output` says whether whoever will wait wants output as it comes.
    pub fn begin(
        &self,
        name: &SessionName,
        language: Option<&str>,
        options: &EvalOptions,
        output: bool,
    ) -> Option<Result<Begun, ClientError>> {
        let mut connection = self.door(name).kept()?;
        // A session's language does not change as long as its host lives.
        if language.is_some() && language != connection.language.as_deref() {
            if let Err(error) = self.check_language(name, language) {
                return Some(Err(error));
            }
            connection.language = language.map(str::to_owned);
        }
        match self.send(name, connection, options, None, output) {
            Err(ClientError::HungUp { unread: true, .. }) => None,
            begun => Some(begun),
        }
    }

    pub(crate) fn send(
        &self,
        name: &SessionName,
        mut connection: Box<Connection>,
        options: &EvalOptions,
        place: Option<&Place>,
        output: bool,
    ) -> Result<Begun, ClientError> {
        let watch = if output { WatchFor::Output } else { WatchFor::State };
        let token = token();
        let submit = Request::Submit(Submit {
            code: options.code.clone(),
            key: options.key.clone(),
            token: Some(token),
            hard_timeout_ms: options.hard_timeout.map(|time| time.as_millis() as u64),
            no_queue: options.no_queue,
            watch: (!options.background).then_some(watch),
            hold: !options.background,
            place: place.cloned(),
        });
        let now = Instant::now();
        let sent = connection.send(submit)?;
        Ok(Begun {
            connection,
            name: name.clone(),
            sent,
            token,
            accept_by: now + accept_time(&options.code),
            deadline: now.checked_add(options.soft_timeout),
            background: options.background,
            budget: read_budget(options.max_chars),
            notice: None,
        })
    }

    /// Waits for what was begun; `None` if the host left before it took the code.
    pub fn finish(
        &self,
        begun: Begun,
        watcher: &mut dyn Watcher,
    ) -> Result<Option<EvalView>, ClientError> {
        let Begun { mut connection, name, sent, token, deadline, budget, .. } = begun;
        let reply = match connection.reply(sent, Some(begun.accept_by)) {
            Err(ClientError::HungUp { unread: true, .. }) => return Ok(None),
            // It read the code and was killed before it answered; what it wrote down tells.
            Err(ClientError::HungUp { unread: false, .. }) => {
                match taken(self.door(&name), connection.evals, token)? {
                    Some((eval, generation)) => Reply::Accepted(Accepted {
                        eval,
                        generation,
                        behind: None,
                        duplicate: false,
                        finished: None,
                    }),
                    None => return Ok(None),
                }
            }
            reply => reply?,
        };
        let Reply::Accepted(accepted) = reply else {
            return Err(connection.odd(&reply));
        };
        let Accepted { eval, generation, behind, duplicate, finished } = accepted;
        connection.evals = connection.evals.max(eval.0);
        if let Some(finished) = finished {
            connection.expect(Event::Finished { eval, finished: *finished });
        }
        let id = EvalId { session: name, seq: eval };
        watcher.accepted(&id);
        let door = self.door(&id.session);
        let mut view = if begun.background {
            let status = if behind.is_some() { EvalStatus::Queued } else { EvalStatus::Running };
            let mut view = EvalView::new(door.name, Some(eval), status);
            view.generation = Some(generation);
            view.behind = behind;
            door.keep(connection);
            view
        } else {
            let generation = Some(generation);
            Wait { door, seq: eval, generation, behind, from: None, budget, deadline, watcher }
                .run(connection)?
        };
        if duplicate {
            view.notices
                .push("this key was used before: the first eval's result, nothing ran".to_owned());
        }
        view.notices.extend(begun.notice);
        Ok(Some(view))
    }
}

/// Whether a host that hung up without an answer, because it was killed, had taken the code in;
/// `known` is how many evals there were before it was sent.
fn taken(
    door: Door<'_>,
    known: u64,
    token: u64,
) -> Result<Option<(EvalSeq, Generation)>, ClientError> {
    let name = door.name;
    if !wait::see_host_gone(&door.dir()) {
        return Err(ClientError::Connection {
            message: format!(
                "the host of session `{name}` hung up before it took the code or refused it"
            ),
            hint: Some(format!("`stead evals -n {name}` tells whether it ran")),
        });
    }
    let history = HistoryReader::open(door.dir().path()).map_err(ClientError::spool(name))?;
    let len = history.len().map_err(ClientError::spool(name))?;
    let later = history.last(len.saturating_sub(known)).map_err(ClientError::spool(name))?;
    let own = later.into_iter().find(|entry| entry.token == Some(token));
    Ok(own.map(|entry| {
        let generation = entry.started.map(|(generation, _, _)| generation);
        (entry.seq, generation.unwrap_or_default())
    }))
}
