//! Code that was sent to a host: accepted, then waited for.
//!
//! A caller that may block goes on with [`Client::finish`] at once. One that may not calls [`Begun::advance`]
//! whenever the connection is readable, until finishing takes no wait.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};
use std::time::{Duration, Instant};

use stead_protocol::ShellPlace;
use stead_protocol::client::{
    Accepted, Event, FromHost, Listens, Reply, Request, Submit, WatchFor,
};
use stead_protocol::{EvalId, EvalSeq, Finished, Generation, SessionName, Token, Work};
use stead_spool::HistoryReader;

use crate::eval::wait::{self, Wait, Watcher};
use crate::reach::connection::Connection;
use crate::reach::patience::Patience;
use crate::reach::start::Door;
use crate::show::page::read_budget;
use crate::timer::millis;
use crate::{
    Client, ClientError, ConnectionTrouble, EvalOptions, EvalStatus, EvalView, Fate, OutputOptions,
    Part, Quiet, timer,
};

/// A caller that must not block does not read more output than this.
const QUICK_BYTES: u64 = 256 << 10;

/// How long the end of an eval is waited for by looking again and again, without sleeping.
const AWAKE: Duration = Duration::from_micros(600);
/// If other programs kept the processor for longer than this, looking on is of no use.
const CROWDED: Duration = Duration::from_micros(100);

/// Code that was sent, and the connection on which its outcome will be told.
#[derive(Debug)]
pub struct Begun {
    connection: Box<Connection>,
    name: SessionName,
    /// The number of the request.
    sent: u64,
    /// What the host writes down with the code.
    token: Token,
    patience: Patience,
    /// The key it was sent with.
    key: Option<String>,
    background: bool,
    budget: usize,
    /// A notice to show with the result.
    notice: Option<String>,
}

/// How far an eval has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// The host has not answered yet.
    Sent,
    /// The host has taken it.
    Accepted,
    /// The eval can be finished without waiting.
    Over,
    /// Only `Client::finish`, which may wait, can tell how far the eval has come.
    Unclear,
}

impl AsRawFd for Begun {
    fn as_raw_fd(&self) -> RawFd {
        self.connection.as_raw_fd()
    }
}

impl Begun {
    /// When the caller wants an answer.
    pub fn deadline(&self) -> Option<Instant> {
        self.patience.deadline
    }

    pub(crate) fn with_notice(mut self, notice: Option<String>) -> Self {
        self.notice = notice;
        self
    }

    /// Waits until the host has said something, `other` can be read or `until` has come. Returns whether the
    /// connection to the host can be read, and whether `other` can.
    pub fn wait(&self, other: BorrowedFd<'_>, until: Instant) -> io::Result<[bool; 2]> {
        let fds = [Some(self.connection.as_fd()), Some(other)];
        Ok(timer::wait_readable(fds, Some(until))?)
    }

    /// Looks again and again for a moment how far the eval has come. A processor that goes to sleep takes
    /// longer to wake than most evals take. And while this processor is in use, host and interpreter run on
    /// another one, whose caches they share. Any other program that wants this processor gets it at once.
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
                FromHost::Event(
                    Event::Waiting { eval, .. }
                    | Event::Started { eval, listens: Listens::Alone, .. },
                ) if own == Some(*eval) => {
                    return Ok(Stage::Unclear);
                }
                // A reply of a kind that this version does not know ends the waiting.
                FromHost::Reply { id, .. } if *id == self.sent => return Ok(Stage::Over),
                FromHost::Error { .. }
                | FromHost::Reply { .. }
                | FromHost::Event(_)
                | FromHost::Unknown => {}
            }
        }
        Ok(stage)
    }
}

/// Whether an eval wrote little enough to be read without blocking for long.
fn over(finished: &Finished) -> Stage {
    let bytes = finished.end.0.saturating_sub(finished.start.0);
    if bytes > QUICK_BYTES { Stage::Unclear } else { Stage::Over }
}

/// A number that no other submission has; small enough for readers that know only floats.
fn token() -> Token {
    Token(RandomState::new().build_hasher().finish() >> 11)
}

impl Client {
    /// Sends code over a kept connection; `None` if there is none. If a `language` is given, the session has
    /// to be in it. `output` says whether the caller wants output as it comes.
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
        match self.send(name, connection, options, &Patience::new(options), None, output) {
            Err(ClientError::HungUp { unread: true, .. }) => None,
            begun => Some(begun),
        }
    }

    pub(crate) fn send(
        &self,
        name: &SessionName,
        connection: Box<Connection>,
        options: &EvalOptions,
        patience: &Patience,
        place: Option<&ShellPlace>,
        output: bool,
    ) -> Result<Begun, ClientError> {
        let work = Work::Code { code: options.code.clone() };
        self.send_work(name, connection, work, options, patience, place, output)
    }

    /// Sends work of any kind; `options.code` is used only if it is code.
    #[expect(clippy::too_many_arguments, reason = "each is a thing of its own")]
    pub(crate) fn send_work(
        &self,
        name: &SessionName,
        mut connection: Box<Connection>,
        work: Work,
        options: &EvalOptions,
        patience: &Patience,
        place: Option<&ShellPlace>,
        output: bool,
    ) -> Result<Begun, ClientError> {
        let watch = if output { WatchFor::Output } else { WatchFor::State };
        // The key may be the token of an earlier call: a reply that could not say whether the code runs asked
        // the user to repeat the call with that token as key.
        let earlier: Option<Token> = options.key.as_deref().and_then(|key| key.parse().ok());
        let key = options.key.clone().filter(|_| earlier.is_none());
        let token = earlier.unwrap_or_else(token);
        let submit = Request::Submit(Submit {
            key: key.clone(),
            token: Some(token.0),
            again: earlier.is_some(),
            hard_timeout_ms: options.hard_timeout.filter(|limit| !limit.is_zero()).map(millis),
            no_queue: options.no_queue,
            watch: (!options.background).then_some(watch),
            hold: !options.background,
            place: place.cloned(),
            by: self.by.get().cloned(),
            ..Submit::new(work)
        });
        let sent = connection.send_by(submit, patience.answer_by)?;
        Ok(Begun {
            connection,
            name: name.clone(),
            sent,
            token,
            patience: *patience,
            key,
            background: options.background,
            budget: read_budget(options.max_chars),
            notice: None,
        })
    }

    /// Waits for an eval that was begun; `None` if the host exited before it took the code.
    pub fn finish(
        &self,
        begun: Begun,
        watcher: &mut dyn Watcher,
    ) -> Result<Option<EvalView>, ClientError> {
        let Begun { mut connection, name, sent, token, patience, budget, .. } = begun;
        let deadline = patience.deadline;
        let reply = match connection.reply(sent, Some(patience.answer_by)) {
            Err(ClientError::HungUp { unread: true, .. }) => return Ok(None),
            // The soft timeout holds even if the host is silent.
            Err(ClientError::Silent { pid, .. }) => {
                return Ok(Some(EvalView::unanswered(&name, token, begun.key, pid)));
            }
            Err(ClientError::Connection { trouble, .. }) => {
                let fate = Some(Fate::CodeSent { token });
                return Err(ClientError::Connection { trouble, fate });
            }
            // The host read the code and was killed before it answered; its records tell whether it took the
            // code.
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
        let host = connection.host_pid();
        connection.evals = connection.evals.max(eval.0);
        if let Some(finished) = finished {
            connection.expect(Event::Finished { eval, finished: *finished });
        }
        let id = EvalId { session: name, seq: eval };
        watcher.accepted(&id);
        let door = self.door(&id.session);
        let mut view = if begun.background && duplicate {
            // The first eval may be over long since.
            door.keep(connection);
            let options = OutputOptions { part: Part::All, wait: None, max_chars: budget };
            self.output(&id, &options, &mut Quiet)?
        } else if begun.background {
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
        view.host = host;
        view.by = match duplicate {
            false => Some(self.sender()),
            true => self.sender_of(&id),
        };
        if duplicate {
            view.notices
                .push("this key was used before: the first eval's result, nothing ran".to_owned());
        }
        view.notices.extend(begun.notice);
        Ok(Some(view))
    }
}

/// Whether a killed host that hung up without an answer had taken the code. `known` is how many evals there
/// were before the code was sent.
fn taken(
    door: Door<'_>,
    known: u64,
    token: Token,
) -> Result<Option<(EvalSeq, Generation)>, ClientError> {
    let name = door.name;
    if !wait::see_host_gone(&door.dir()) {
        let trouble = ConnectionTrouble::HungUpUnanswered { name: name.clone() };
        let fate = Some(Fate::CodeSent { token });
        return Err(ClientError::Connection { trouble: Box::new(trouble), fate });
    }
    let history = HistoryReader::open(door.dir().path()).map_err(ClientError::spool(name))?;
    let len = history.len().map_err(ClientError::spool(name))?;
    let later = history.last(len.saturating_sub(known)).map_err(ClientError::spool(name))?;
    let own = later.into_iter().find(|entry| entry.token == Some(token.0));
    Ok(own.map(|entry| {
        let generation = entry.started.map(|(generation, _, _)| generation);
        (entry.seq, generation.unwrap_or_default())
    }))
}

/// How many evals back the history is searched for a token.
const SEARCHED: u64 = 4096;

impl Client {
    /// The eval that an id names: `py:7`, or `py:~…` from a reply that came before the eval had a number.
    pub fn eval_id(&self, given: &str) -> Result<EvalId, ClientError> {
        let sent = given.split_once(':').and_then(|(name, token)| {
            Some((self.resolve(name.parse().ok()?), token.parse::<Token>().ok()?))
        });
        let Some((name, token)) = sent else {
            return Ok(self.resolve_eval(given.parse()?));
        };
        self.require(&name, true)?;
        if let Some(seq) = self.sent_with(&name, token)? {
            return Ok(EvalId { session: name, seq });
        }
        // A host that answers now has dealt with everything that was sent to it before.
        let host = self.connect(&name);
        if let Some(seq) = self.sent_with(&name, token)? {
            return Ok(EvalId { session: name, seq });
        }
        let known = match host {
            Ok(_) => "the host answers again and has not taken this code: it has not run",
            Err(ClientError::Ended { .. } | ClientError::NotFound { .. }) => {
                "the session ended before it took this code: it did not run"
            }
            Err(error) => return Err(error),
        };
        Err(ClientError::NoEval { id: given.to_owned(), known: known.to_owned() })
    }

    fn sent_with(&self, name: &SessionName, token: Token) -> Result<Option<EvalSeq>, ClientError> {
        let Some(history) = self.history(name)? else { return Ok(None) };
        let entries = history.last(SEARCHED).map_err(ClientError::spool(name))?;
        let own = entries.into_iter().rev().find(|entry| entry.token == Some(token.0));
        Ok(own.map(|entry| entry.seq))
    }
}
