//! Following one session while it has a host.

use std::collections::BTreeMap;
use std::os::fd::BorrowedFd;
use std::time::{Duration, Instant};

use stead_protocol::client::{Event, Reply, Request};
use stead_protocol::{EvalSeq, Finished, Generation, Offset, SessionName, WorkKind};
use stead_screen::plain;
use stead_spool::{EvalEntry, HistoryReader, Reader};

use super::{PastEval, SessionChange};
use crate::error::is_stopped;
use crate::eval::wait;
use crate::reach::connection::{self, Connection, PATIENCE, Waited};
use crate::read::last_line::last_line;
use crate::read::records;
use crate::{Client, ClientError, EvalView, hint, timer};

/// How long a host that does not answer is left alone before it is tried again, and how often is looked whether one that
/// says nothing was stopped by a signal: nothing tells of that.
const TRY_AGAIN: Duration = Duration::from_secs(1);
/// Time between two looks at a host that is beginning or ending: no event tells when it is done.
const HOST_MOMENT: Duration = Duration::from_millis(20);

/// How far a session was followed; the next host is asked to go on from there.
#[derive(Debug, Default)]
pub(super) struct Memory {
    /// The last eval that was told.
    last: Option<EvalSeq>,
    /// Evals that were told and are not over.
    open: BTreeMap<EvalSeq, OpenEval>,
    /// All output before this was told.
    cursor: Option<Offset>,
    /// What was told last of the session as a whole.
    told: ToldLast,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum ToldLast {
    #[default]
    Nothing,
    Lives,
    Silent,
    Over,
    Gone,
}

/// How much was told of an eval that is not over.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum OpenEval {
    #[default]
    Accepted,
    Queued,
    Started,
    Waits,
}

impl Memory {
    /// Whether it was told that the session was stopped or removed.
    pub(super) fn is_told_gone(&self) -> bool {
        self.told == ToldLast::Gone
    }

    /// The first eval that the host is to tell of; `None` for those that run or wait.
    fn from(&self) -> Option<EvalSeq> {
        let next = self.last.map(|last| EvalSeq(last.0 + 1));
        self.open.keys().next().copied().or(next)
    }
}

/// Tells what happens until the session has no host, or nobody listens.
pub(super) fn follow(
    client: &Client,
    name: &SessionName,
    memory: &mut Memory,
    output: bool,
    closes: BorrowedFd<'_>,
    tell: &mut dyn FnMut(SessionChange) -> bool,
) {
    let mut following = Onlooker { client, name, memory, output, closes, tell, reader: None };
    loop {
        let met = following.meet();
        let failed = match met {
            // A host that is about to listen cannot be connected to yet, and one that leaves not any more.
            Ok(None) if wait::host_lives(&client.dir(name)) => {
                if !following.rest(HOST_MOMENT) {
                    return;
                }
                continue;
            }
            Ok(None) => return following.see_the_end(),
            Ok(Some(connection)) => match following.listen(connection) {
                Ok(true) => continue,
                Ok(false) => return,
                Err(error) => error,
            },
            Err(error) => error,
        };
        // Nothing tells when a host that was stopped by a signal goes on.
        if !following.is_silent(&failed) || !following.rest(TRY_AGAIN) {
            return;
        }
    }
}

/// Follows one session.
struct Onlooker<'a> {
    client: &'a Client,
    name: &'a SessionName,
    memory: &'a mut Memory,
    output: bool,
    /// Readable when nobody listens any longer.
    closes: BorrowedFd<'a>,
    tell: &'a mut dyn FnMut(SessionChange) -> bool,
    reader: Option<Reader>,
}

impl Onlooker<'_> {
    /// Lets `time` pass; false once nobody listens.
    fn rest(&self, time: Duration) -> bool {
        let until = Some(Instant::now() + time);
        timer::wait_readable([Some(self.closes)], until).is_ok_and(|[closed]| !closed)
    }

    /// Tells once that the host does not answer; false once nobody listens.
    fn is_silent(&mut self, why: &ClientError) -> bool {
        if self.memory.told == ToldLast::Silent {
            return true;
        }
        self.memory.told = ToldLast::Silent;
        (self.tell)(SessionChange::Silent(why.to_string()))
    }

    /// Tells once that the host answers; false once nobody listens.
    fn lives(&mut self, connection: &Connection) -> bool {
        if self.memory.told == ToldLast::Lives {
            return true;
        }
        self.memory.told = ToldLast::Lives;
        let last = self.last_eval();
        (self.tell)(SessionChange::Lives { generation: connection.generation, last })
    }

    /// Connects and asks to be told; `None` if there is no host.
    fn meet(&mut self) -> Result<Option<Connection>, ClientError> {
        let Some(mut connection) = self.client.door(self.name).look(PATIENCE)? else {
            return Ok(None);
        };
        let request = Request::Follow { from: self.memory.from(), output: self.output };
        match connection.request(request, Some(Instant::now() + PATIENCE)) {
            Ok(Reply::Following { from }) => {
                self.reader = None;
                if self.memory.cursor.is_none() && from.0 > connection.evals && self.output {
                    self.memory.cursor = self.reader()?.end().ok();
                }
                if self.memory.last.is_none() {
                    self.memory.last = from.0.checked_sub(1).map(EvalSeq);
                }
                Ok(Some(connection))
            }
            Ok(other) => Err(connection.odd(&other)),
            Err(error) if error.is_hang_up() => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Tells what the host tells, until it hangs up; false once nobody listens.
    fn listen(&mut self, mut connection: Connection) -> Result<bool, ClientError> {
        if !self.lives(&connection) {
            return Ok(false);
        }
        loop {
            let look = Some(Instant::now() + TRY_AGAIN);
            let listened = match connection.next_event(look, Some(self.closes))? {
                Waited::Event(event) => self.lives(&connection) && self.event(event)?,
                Waited::Deadline => match connection.host_pid() {
                    Some(pid) if is_stopped(pid) => {
                        self.is_silent(&connection::silent(self.name, Some(pid)))
                    }
                    _ => self.lives(&connection),
                },
                Waited::Woken => false,
                Waited::Closed => return Ok(true),
            };
            if !listened {
                return Ok(false);
            }
        }
    }

    fn event(&mut self, event: Event) -> Result<bool, ClientError> {
        let change = match event {
            Event::Accepted { eval, work, by } => {
                self.memory.last = self.memory.last.max(Some(eval));
                if self.memory.open.contains_key(&eval) {
                    return Ok(true);
                }
                let behind = self.memory.open.keys().next_back().copied();
                self.memory.open.insert(eval, OpenEval::default());
                let code = self.entry(eval).map(|entry| entry.code).unwrap_or_default();
                let accepted = SessionChange::Accepted { eval, by, work, code };
                if !(self.tell)(accepted) {
                    return Ok(false);
                }
                // A host tells a follower only at the beginning which evals are queued; later ones are told here.
                return if behind.is_some() { self.queued(eval, behind) } else { Ok(true) };
            }
            Event::Queued { eval, behind, .. } => return self.queued(eval, behind),
            Event::Started { eval, start, .. } => {
                self.memory.cursor.get_or_insert(start);
                // Output before the start of this eval came from the background.
                self.copy(start)?;
                let known = self.memory.open.entry(eval).or_default();
                if *known == OpenEval::Started {
                    return Ok(true);
                }
                *known = OpenEval::Started;
                let started = self.entry(eval).and_then(|entry| entry.started);
                let (generation, since_ms) = match started {
                    Some((generation, since_ms, _)) => (Some(generation), since_ms),
                    None => (None, 0),
                };
                SessionChange::Started { eval, generation, since_ms, start }
            }
            Event::Output { end, .. } | Event::Background { end } => return self.copy(end),
            Event::Paused { paused } => SessionChange::Paused(paused),
            Event::Waiting { eval, prompt, end, .. } => {
                if !self.copy(end)? {
                    return Ok(false);
                }
                self.memory.open.insert(eval, OpenEval::Waits);
                SessionChange::Waiting { eval, prompt: plain(prompt) }
            }
            Event::Unrecorded { eval, end, why, .. } => {
                if !self.copy(end)? {
                    return Ok(false);
                }
                SessionChange::Unrecorded { eval, why }
            }
            Event::Finished { eval, finished } => return self.finished(eval, finished),
            Event::Unknown => return Ok(true),
        };
        Ok((self.tell)(change))
    }

    fn queued(&mut self, eval: EvalSeq, behind: Option<EvalSeq>) -> Result<bool, ClientError> {
        let known = self.memory.open.entry(eval).or_default();
        if *known >= OpenEval::Queued {
            return Ok(true);
        }
        *known = OpenEval::Queued;
        Ok((self.tell)(SessionChange::Queued { eval, behind }))
    }

    fn finished(&mut self, eval: EvalSeq, finished: Finished) -> Result<bool, ClientError> {
        if !self.copy(finished.end)? {
            return Ok(false);
        }
        self.memory.open.remove(&eval);
        self.memory.last = self.memory.last.max(Some(eval));
        let entry = self.entry(eval);
        let past = self.past(eval, entry, finished);
        Ok((self.tell)(SessionChange::Finished(Box::new(past))))
    }

    /// Tells the output up to `end`.
    fn copy(&mut self, end: Offset) -> Result<bool, ClientError> {
        let Some(from) = self.memory.cursor.filter(|from| self.output && *from < end) else {
            return Ok(true);
        };
        self.reader()?;
        let Some(reader) = &self.reader else { return Ok(true) };
        let mut listened = true;
        let copied = records::copy(reader, from, end, &mut |kind, bytes| {
            if listened {
                listened = (self.tell)(SessionChange::Output { kind, bytes: bytes.to_vec() });
            }
        });
        let reached = copied.map_err(ClientError::spool(self.name))?;
        self.memory.cursor = Some(reached);
        Ok(listened)
    }

    /// Tells how the session and its open evals ended, from disk.
    fn see_the_end(&mut self) {
        let open: Vec<EvalSeq> = self.memory.open.keys().copied().collect();
        for eval in open {
            let Some(entry) = self.entry(eval) else { continue };
            let finished = match &entry.finished {
                Some((_, finished)) => finished.clone(),
                None => {
                    let dir = self.client.dir(self.name);
                    let died = wait::died(dir, self.name, entry.started, Some(Generation(0)));
                    let Ok(died) = died else { continue };
                    died
                }
            };
            if !self.finished(eval, finished).unwrap_or(true) {
                return;
            }
        }
        // Output that the host wrote before it left is told too.
        if let Some(end) = self.reader().ok().and_then(|reader| reader.end().ok()) {
            let _ = self.copy(end);
        }
        if matches!(self.memory.told, ToldLast::Over | ToldLast::Gone) {
            return;
        }
        self.memory.told = ToldLast::Over;
        let meta = self.client.meta(self.name).ok().flatten().filter(|meta| !meta.stopped);
        let change = match meta {
            None => {
                self.memory.told = ToldLast::Gone;
                SessionChange::Gone
            }
            Some(meta) => match self.client.end_of(&meta) {
                Ok(reason) => SessionChange::Ended { reason, last: self.last_eval() },
                Err(error) => SessionChange::Silent(error.to_string()),
            },
        };
        (self.tell)(change);
    }

    /// The last eval that is over.
    fn last_eval(&mut self) -> Option<Box<PastEval>> {
        let history = HistoryReader::open(self.client.dir(self.name).path()).ok()?;
        let last = history.last(8).ok()?;
        let last = last.into_iter().rev().find(|entry| entry.finished.is_some())?;
        let (_, finished) = last.finished.clone()?;
        Some(Box::new(self.past(last.seq, Some(last), finished)))
    }

    fn past(&mut self, eval: EvalSeq, entry: Option<EvalEntry>, finished: Finished) -> PastEval {
        let (start, end) = (finished.start, finished.end);
        let reader = self.reader().ok();
        let result = reader.and_then(|reader| records::result(reader, start, end).ok());
        let last_line = reader.map(|reader| last_line(reader, start, end)).unwrap_or_default();
        let mut view = EvalView::finished(self.name, eval, finished, result.unwrap_or_default());
        hint::add(&mut view, &self.client.dir(self.name));
        let (by, code, work, at_ms) = match entry {
            Some(entry) => {
                let at_ms = entry.finished.as_ref().map_or(entry.accepted_at_ms, |(at, _)| *at);
                (entry.by, entry.code, entry.kind, at_ms)
            }
            None => (Default::default(), String::new(), WorkKind::Code, 0),
        };
        PastEval { by, code, work, at_ms, view, last_line }
    }

    fn reader(&mut self) -> Result<&Reader, ClientError> {
        self.client.door(self.name).reader(&mut self.reader)
    }

    fn entry(&self, eval: EvalSeq) -> Option<EvalEntry> {
        HistoryReader::open(self.client.dir(self.name).path()).ok()?.eval(eval).ok()?
    }
}
