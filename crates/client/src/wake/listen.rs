//! Listening to one session for all evals there that are waited for: its host, or the disk if the host is gone.

use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::sync::mpsc::Sender;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use regex::Regex;
use stead_protocol::client::{Event, Listens, Reply, Request};
use stead_protocol::{EvalId, EvalSeq, Finished, SessionName};
use stead_screen::plain;
use stead_spool::{EvalEntry, Reader, SessionDir};

use super::lines::LineSearch;
use super::target::TargetEval;
use super::{Conditions, MatchedLine};
use crate::error::is_stopped;
use crate::eval::wait::{self, HOST_END_TIME};
use crate::reach::call::Unfound;
use crate::reach::connection::{Connection, PATIENCE, Waited};
use crate::read::records;
use crate::{Client, ClientError, ConnectionTrouble, Content, timer};

/// How often is looked whether a host that says nothing was stopped by a signal: nothing tells of that.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Something that was found out about an eval.
#[derive(Debug)]
pub(super) enum Fact {
    /// Its number, if it was known only by a token.
    Named(EvalId),
    /// It waits for its turn.
    Queued { behind: Option<EvalSeq> },
    /// It runs, and has written nothing since then.
    Running { quiet_since: Instant },
    /// It has written something just now.
    Output,
    /// It listens to its input and has been quiet: it may wait.
    MayWait,
    /// It waits for input.
    Waiting { prompt: String, editor: Option<String>, secret: bool },
    /// It wrote a matching line; how it ended, if it has.
    Line { line: MatchedLine, over: Option<(Box<Finished>, Content)> },
    /// It has ended; `result` is its value or error.
    Ended { finished: Box<Finished>, result: Content },
    /// It has ended, and the disk refuses the record.
    Unrecorded { why: String },
    /// The processes of its session were stopped, or go on.
    Paused(bool),
    /// All that was known of it when the wait began has been told.
    CaughtUp,
    /// Its host lives and does not answer; it is asked again.
    HostSilent { pid: Option<u32> },
    /// Its host answers, again or for the first time.
    HostAnswers,
    /// Nothing more can be found out about the evals of its session.
    Failed(Box<ClientError>),
}

/// The process of the session's host, if it is stopped by a signal.
pub(super) fn stopped_host(dir: &SessionDir) -> Option<u32> {
    Unfound::pid(dir).filter(|pid| is_stopped(*pid))
}

/// Hears all there is to hear about the evals of one session.
pub(super) struct SessionEar {
    client: Client,
    name: SessionName,
    evals: Vec<Heard>,
    conditions: Conditions,
    regex: Option<Regex>,
    facts: Sender<(usize, Fact)>,
    /// Closed by the other side when nobody waits any longer.
    closes: UnixStream,
    reader: Option<Reader>,
}

/// One eval that is listened for.
struct Heard {
    /// Its place in the list of all.
    at: usize,
    eval: TargetEval,
    search: Option<LineSearch>,
    caught_up: bool,
    over: bool,
}

/// Listening is over: nobody waits for facts any longer, or there will be none.
struct Enough;

impl From<ClientError> for BrokenOff {
    fn from(error: ClientError) -> Self {
        BrokenOff::Error(Box::new(error))
    }
}

impl From<Enough> for BrokenOff {
    fn from(_: Enough) -> Self {
        BrokenOff::Enough
    }
}

/// Why listening stopped.
enum BrokenOff {
    Enough,
    Error(Box<ClientError>),
}

impl SessionEar {
    pub(super) fn new(
        client: Client,
        name: SessionName,
        evals: Vec<(usize, TargetEval)>,
        conditions: Conditions,
        regex: Option<Regex>,
        facts: &Sender<(usize, Fact)>,
        closes: UnixStream,
    ) -> Self {
        let heard = |(at, eval)| Heard { at, eval, search: None, caught_up: false, over: false };
        SessionEar {
            client,
            name,
            evals: evals.into_iter().map(heard).collect(),
            conditions,
            regex,
            facts: facts.clone(),
            closes,
            reader: None,
        }
    }

    /// Listens until every eval is over or nobody waits.
    pub(super) fn run(mut self) {
        if let Err(BrokenOff::Error(error)) = self.listen() {
            let at = self.evals.iter().find(|heard| !heard.over).map_or(0, |heard| heard.at);
            let _ = self.facts.send((at, Fact::Failed(error)));
        }
    }

    fn listen(&mut self) -> Result<(), BrokenOff> {
        self.find_numbers()?;
        self.read_disk()?;
        let mut host_gone_by = None;
        while !self.is_over() {
            self.see_stopped()?;
            match self.client.door(&self.name).connect(PATIENCE) {
                Ok(Some(connection)) => {
                    host_gone_by = None;
                    self.hear_host(connection)?;
                }
                Ok(None) => {
                    let by = *host_gone_by.get_or_insert_with(|| Instant::now() + HOST_END_TIME);
                    self.hear_no_host(by)?;
                }
                Err(ClientError::Silent { pid, .. }) => self.host_is_silent(pid)?,
                Err(error) => return Err(error.into()),
            }
            if self.nobody_waits() {
                return Err(BrokenOff::Enough);
            }
        }
        Ok(())
    }

    /// Says of a host that is stopped by a signal that it is silent, before it is asked.
    fn see_stopped(&self) -> Result<(), Enough> {
        let stopped = stopped_host(&self.client.dir(&self.name));
        stopped.map_or(Ok(()), |pid| self.host_is_silent(Some(pid)))
    }

    fn host_is_silent(&self, pid: Option<u32>) -> Result<(), Enough> {
        self.tell_all(|| Fact::HostSilent { pid })
    }

    fn tell_all(&self, fact: impl Fn() -> Fact) -> Result<(), Enough> {
        (0..self.evals.len()).try_for_each(|at| self.tell(at, fact()))
    }

    fn is_over(&self) -> bool {
        self.evals.iter().all(|heard| heard.over)
    }

    fn nobody_waits(&self) -> bool {
        timer::wait_readable([Some(self.closes.as_fd())], Some(Instant::now()))
            .is_ok_and(|[closed]| closed)
    }

    fn tell(&self, at: usize, fact: Fact) -> Result<(), Enough> {
        match self.evals[at].over {
            true => Ok(()),
            false => self.facts.send((self.evals[at].at, fact)).map_err(|_| Enough),
        }
    }

    /// Finds the numbers of evals that are known only by a token: at the latest when the host answers.
    fn find_numbers(&mut self) -> Result<(), BrokenOff> {
        for at in 0..self.evals.len() {
            let TargetEval::Sent(given) = self.evals[at].eval.clone() else { continue };
            self.see_stopped()?;
            let id = loop {
                match self.client.eval_id(&given) {
                    Ok(id) => break id,
                    Err(ClientError::Silent { pid, .. }) => {
                        self.tell(at, Fact::HostSilent { pid })?;
                    }
                    Err(error) => return Err(error.into()),
                }
                if self.nobody_waits() {
                    return Err(BrokenOff::Enough);
                }
            };
            self.evals[at].eval = TargetEval::Seq(id.seq);
            self.tell(at, Fact::Named(id))?;
        }
        Ok(())
    }

    fn seq(&self, at: usize) -> EvalSeq {
        match self.evals[at].eval {
            TargetEval::Seq(seq) => seq,
            TargetEval::Sent(_) => EvalSeq(0),
        }
    }

    /// The eval of this number that still runs or waits for its turn.
    fn at(&self, eval: EvalSeq) -> Option<usize> {
        (0..self.evals.len()).find(|at| self.seq(*at) == eval && !self.evals[*at].over)
    }

    fn entry(&self, at: usize) -> Result<EvalEntry, ClientError> {
        self.client.entry(&EvalId { session: self.name.clone(), seq: self.seq(at) })
    }

    /// Tells what the disk knows: that is all there is of evals that are over.
    fn read_disk(&mut self) -> Result<(), BrokenOff> {
        for at in 0..self.evals.len() {
            let entry = self.entry(at)?;
            match (entry.finished, entry.started) {
                (Some((_, finished)), _) => self.ended(at, finished)?,
                (None, Some((_, started_ms, start))) => {
                    self.begin_search(at, start);
                    let quiet_since = self.quiet_since(started_ms);
                    self.tell(at, Fact::Running { quiet_since })?;
                    self.search(at)?;
                }
                (None, None) => self.tell(at, Fact::Queued { behind: None })?,
            }
        }
        Ok(())
    }

    /// Since when a running eval has been silent: since its start, or since the last write to the spool.
    fn quiet_since(&mut self, started_ms: u64) -> Instant {
        let now = Instant::now();
        let started = UNIX_EPOCH + Duration::from_millis(started_ms);
        let written = self.spool().ok().and_then(Reader::written_at);
        let last = written.map_or(started, |written| written.max(started));
        // If the wall clock was set back meanwhile, the silence counts from now.
        let silent = SystemTime::now().duration_since(last).unwrap_or_default();
        now.checked_sub(silent).unwrap_or(now)
    }

    fn spool(&mut self) -> Result<&Reader, ClientError> {
        self.client.door(&self.name).reader(&mut self.reader)
    }

    /// Asks the host about all evals that are not over, and hears what it says until it hangs up.
    fn hear_host(&mut self, mut connection: Connection) -> Result<(), BrokenOff> {
        let output = self.conditions.line || self.conditions.idle.is_some();
        for at in 0..self.evals.len() {
            if self.evals[at].over {
                continue;
            }
            let watch = Request::Watch { eval: self.seq(at), output, alone: true };
            match connection.request(watch, Some(Instant::now() + PATIENCE)) {
                Ok(Reply::Watching) => {}
                Ok(other) => return Err(connection.odd(&other).into()),
                Err(error) if error.is_hang_up() => return Ok(()),
                Err(ClientError::Silent { pid, .. }) => {
                    return Ok(self.tell(at, Fact::HostSilent { pid })?);
                }
                Err(error) => return Err(error.into()),
            }
        }
        // Facts about an earlier host do not hold for this one, which first tells how its evals stand.
        for at in 0..self.evals.len() {
            self.evals[at].caught_up = false;
            self.tell(at, Fact::HostAnswers)?;
            self.tell(at, Fact::Paused(false))?;
        }
        let mut stopped = None;
        while !self.is_over() {
            let look = Instant::now() + LOOK_EVERY;
            match connection.next_event(Some(look), Some(self.closes.as_fd()))? {
                Waited::Event(event) => self.hear_event(event)?,
                Waited::Closed => return Ok(()),
                Waited::Woken => return Err(BrokenOff::Enough),
                Waited::Deadline => {
                    let now = connection.host_pid().filter(|pid| is_stopped(*pid));
                    match now {
                        _ if now == stopped => {}
                        Some(pid) => self.host_is_silent(Some(pid))?,
                        None => self.tell_all(|| Fact::HostAnswers)?,
                    }
                    stopped = now;
                }
            }
        }
        Ok(())
    }

    fn hear_event(&mut self, event: Event) -> Result<(), BrokenOff> {
        if let Event::Paused { paused } = event {
            return Ok(self.tell_all(|| Fact::Paused(paused))?);
        }
        let at = match &event {
            Event::Queued { eval, .. }
            | Event::Started { eval, .. }
            | Event::Output { eval, .. }
            | Event::Waiting { eval, .. }
            | Event::Unrecorded { eval, .. }
            | Event::Finished { eval, .. } => self.at(*eval),
            Event::Accepted { .. }
            | Event::Background { .. }
            | Event::Paused { .. }
            | Event::Unknown => None,
        };
        let Some(at) = at else { return Ok(()) };
        match event {
            Event::Queued { behind, .. } => self.tell(at, Fact::Queued { behind })?,
            Event::Started { start, listens, .. } => {
                self.begin_search(at, start);
                // The eval may have run for long before this wait; only the disk knows since when it is silent.
                let started = match self.evals[at].caught_up {
                    true => None,
                    false => self.entry(at)?.started,
                };
                let quiet_since = match started {
                    Some((_, started_ms, _)) => self.quiet_since(started_ms),
                    None => Instant::now(),
                };
                match listens {
                    Listens::No => self.tell(at, Fact::Running { quiet_since })?,
                    Listens::Yes | Listens::Alone => {
                        self.search(at)?;
                        self.search_open(at)?;
                        self.tell(at, Fact::Running { quiet_since })?;
                    }
                }
                if listens == Listens::Alone {
                    self.tell(at, Fact::MayWait)?;
                }
                self.search(at)?;
            }
            Event::Output { .. } => {
                self.search(at)?;
                self.tell(at, Fact::Output)?;
            }
            Event::Waiting { prompt, editor, secret, .. } => {
                if let Some((_, _, start)) = self.entry(at)?.started {
                    self.begin_search(at, start);
                }
                self.search(at)?;
                self.search_open(at)?;
                let editor = editor.map(plain);
                self.tell(at, Fact::Waiting { prompt: plain(prompt), editor, secret })?;
            }
            Event::Unrecorded { why, .. } => self.tell(at, Fact::Unrecorded { why })?,
            Event::Finished { finished, .. } => self.ended(at, finished)?,
            Event::Accepted { .. }
            | Event::Background { .. }
            | Event::Paused { .. }
            | Event::Unknown => {}
        }
        if !self.evals[at].caught_up {
            self.evals[at].caught_up = true;
            self.tell(at, Fact::CaughtUp)?;
        }
        Ok(())
    }

    /// Finds out from the disk how evals ended whose host is gone. A host that has begun to exit records all it
    /// knows first, so it is waited for. The guard of a killed host is not, because it records nothing.
    fn hear_no_host(&mut self, by: Instant) -> Result<(), BrokenOff> {
        let lives = Unfound::find(&self.client.dir(&self.name)).is_some();
        for at in 0..self.evals.len() {
            if self.evals[at].over {
                continue;
            }
            let entry = self.entry(at)?;
            match entry.finished {
                Some((_, finished)) => self.ended(at, finished)?,
                None if lives => {
                    if Instant::now() >= by {
                        let eval = EvalId { session: self.name.clone(), seq: self.seq(at) };
                        return Err(
                            ClientError::from(ConnectionTrouble::HungUpAlive { eval }).into()
                        );
                    }
                }
                None => {
                    let dir = self.client.dir(&self.name);
                    let finished = wait::died(dir, &self.name, entry.started, None)?;
                    self.ended(at, finished)?;
                }
            }
        }
        if lives && !self.is_over() {
            timer::pause(Duration::from_millis(10));
        }
        Ok(())
    }

    /// The eval is over: its last lines are searched, then its end is told.
    fn ended(&mut self, at: usize, finished: Finished) -> Result<(), BrokenOff> {
        self.begin_search(at, finished.start);
        let line = match self.search_line(at)? {
            None => self.evals[at].search.as_ref().and_then(LineSearch::open),
            line => line,
        };
        let name = self.name.clone();
        let result = match finished.start < finished.end {
            true => records::result(self.spool()?, finished.start, finished.end)
                .map_err(ClientError::spool(&name))?,
            false => Content::default(),
        };
        let finished = Box::new(finished);
        let fact = match line {
            Some(line) => Fact::Line { line, over: Some((finished, result)) },
            None => Fact::Ended { finished, result },
        };
        self.tell(at, fact)?;
        self.evals[at].over = true;
        Ok(())
    }

    fn begin_search(&mut self, at: usize, start: stead_protocol::Offset) {
        let eval = self.seq(at);
        let heard = &mut self.evals[at];
        if let (None, Some(regex)) = (&heard.search, &self.regex) {
            heard.search = Some(LineSearch::new(regex.clone(), eval, start));
        }
    }

    /// Searches what is new, and tells a line that matches.
    fn search(&mut self, at: usize) -> Result<(), BrokenOff> {
        match self.search_line(at)? {
            Some(line) => self.found(at, line),
            None => Ok(()),
        }
    }

    fn found(&mut self, at: usize, line: MatchedLine) -> Result<(), BrokenOff> {
        self.tell(at, Fact::Line { line, over: None })?;
        self.evals[at].over = true;
        Ok(())
    }

    fn search_line(&mut self, at: usize) -> Result<Option<MatchedLine>, BrokenOff> {
        let Some(mut search) = self.evals[at].search.take() else { return Ok(None) };
        let name = self.name.clone();
        let found = search.read(self.spool()?).map_err(ClientError::spool(&name))?;
        self.evals[at].search = Some(search);
        Ok(found)
    }

    /// Tells a matching line that was left open, for now or for good.
    fn search_open(&mut self, at: usize) -> Result<(), BrokenOff> {
        match self.evals[at].search.as_ref().and_then(LineSearch::open) {
            Some(line) => self.found(at, line),
            None => Ok(()),
        }
    }
}
