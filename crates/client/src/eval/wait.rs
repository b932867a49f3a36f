//! Waiting for an eval: events from its host, or what is on disk if the host is gone.

use std::os::fd::BorrowedFd;
use std::time::{Duration, Instant};

use stead_protocol::client::{AsksAhead, Event, Listens, Reply, Request};
use stead_protocol::{ChunkKind, EvalId, EvalSeq, Finished, Generation, Offset, SessionName};
use stead_screen::plain;
use stead_spool::{HistoryReader, Reader, SessionDir};

use crate::eval::loss;
use crate::hint;
use crate::reach::connection::{Connection, PATIENCE, Waited};
use crate::reach::start::Door;
use crate::read::records::{self, Span};
use crate::{ClientError, ConnectionTrouble, EvalStatus, EvalView, timer};

/// How long a host that hung up may take to exit.
pub(crate) const HOST_END_TIME: Duration = Duration::from_secs(2);

/// How long an outcome that could not be recorded is waited for: the disk may have been full only for a moment.
pub(crate) const RECORD_TIME: Duration = Duration::from_secs(1);

/// What a front end does while an eval runs.
pub trait Watcher {
    /// Whether output is wanted as it comes.
    fn wants_output(&self) -> bool {
        false
    }
    /// Where the eval stands has changed.
    fn stands(&mut self, _standing: Standing) {}
    /// The eval has an id now.
    fn accepted(&mut self, _id: &EvalId) {}
    /// The next piece of output.
    fn chunk(&mut self, _kind: ChunkKind, _bytes: &[u8]) {}
    /// A descriptor that ends a wait when it is readable.
    fn wake(&self) -> Option<BorrowedFd<'_>> {
        None
    }
    /// Called when `wake` was readable; says what to do.
    fn woken(&mut self) -> WaitAction {
        WaitAction::GoOn
    }
    /// Whether the watcher itself asks the user for the input that the eval waits for, so that the wait goes on.
    /// `view` has the question, and what the eval wrote since the last question.
    fn asks(&mut self, _view: &EvalView) -> bool {
        false
    }
    /// The answer was not taken: the eval does not wait any more.
    fn not_taken(&mut self, _error: &ClientError) {}
    /// Called before each wait; the time at which to be called again.
    fn tick(&mut self) -> Option<Instant> {
        None
    }
}

/// Where an eval that is waited for stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// It waits for its turn, behind that eval; without one, for the interpreter.
    Queued(Option<EvalSeq>),
    /// It runs.
    Running,
    /// The session is paused.
    Paused,
}

/// The eval that waits for input ahead of a queued one, with its prompt made fit to be shown.
pub(crate) fn shown_ahead(asks: AsksAhead) -> AsksAhead {
    AsksAhead { prompt: plain(asks.prompt), ..asks }
}

/// What to do about a wait that was woken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WaitAction {
    /// Wait on.
    GoOn,
    /// Interrupt the eval and wait on.
    Interrupt,
    /// Stop waiting; the eval goes on.
    Leave,
    /// Give the eval, which waits for input, something to read, and wait on.
    Answer {
        /// What to write.
        text: String,
        /// Whether the input ends here.
        eof: bool,
    },
}

/// A watcher that only waits.
#[derive(Debug)]
pub struct Quiet;

impl Watcher for Quiet {}

/// One wait for one eval.
pub(crate) struct Wait<'a> {
    pub(crate) door: Door<'a>,
    pub(crate) seq: EvalSeq,
    pub(crate) generation: Option<Generation>,
    pub(crate) behind: Option<EvalSeq>,
    /// Where the answer begins, if not where the eval does.
    pub(crate) from: Option<Offset>,
    /// How many bytes of output the view may hold.
    pub(crate) budget: usize,
    pub(crate) deadline: Option<Instant>,
    pub(crate) watcher: &'a mut dyn Watcher,
}

/// Where an eval stands, as the last event said.
enum EvalStands {
    Unknown,
    Queued,
    Running { start: Offset, listens: Listens },
}

impl Wait<'_> {
    /// Waits until the eval is over, waits for input, or the deadline has passed.
    pub(crate) fn run(mut self, mut connection: Box<Connection>) -> Result<EvalView, ClientError> {
        let mut standing = EvalStands::Unknown;
        let mut cursor = self.from;
        let mut reconnected = false;
        let mut reader = connection.reader.take();
        let mut unrecorded = None;
        let patience = self.deadline.map(|at| at.saturating_duration_since(Instant::now()));
        let mut paused = false;
        if self.behind.is_some() {
            self.watcher.stands(Standing::Queued(self.behind));
        }
        loop {
            let tick = self.watcher.tick();
            let until = [tick, self.deadline].into_iter().flatten().min();
            match connection.next_event(until, self.watcher.wake())? {
                Waited::Event(Event::Queued { eval, behind, asks }) if eval == self.seq => {
                    standing = EvalStands::Queued;
                    self.behind = behind;
                    if let Some(asks) = asks {
                        let mut view = self.unfinished(&mut reader, &standing)?;
                        (view.asks, view.paused) = (Some(shown_ahead(asks)), paused);
                        return Ok(view);
                    }
                    self.watcher.stands(if paused {
                        Standing::Paused
                    } else {
                        Standing::Queued(behind)
                    });
                }
                Waited::Event(Event::Paused { paused: now }) => {
                    paused = now;
                    self.watcher.stands(match &standing {
                        _ if paused => Standing::Paused,
                        EvalStands::Queued => Standing::Queued(self.behind),
                        EvalStands::Unknown if self.behind.is_some() => {
                            Standing::Queued(self.behind)
                        }
                        EvalStands::Unknown | EvalStands::Running { .. } => Standing::Running,
                    });
                }
                Waited::Event(Event::Started { eval, start, listens, .. }) if eval == self.seq => {
                    standing = EvalStands::Running { start, listens };
                    self.behind = None;
                    self.watcher.stands(if paused { Standing::Paused } else { Standing::Running });
                    cursor.get_or_insert(start);
                    // Output from before this wait is shown now, since the eval may write nothing from now on.
                    self.stream(&mut reader, &mut cursor, None)?;
                    if listens == Listens::Alone {
                        return self.unfinished(&mut reader, &standing);
                    }
                }
                Waited::Event(Event::Output { eval, end }) if eval == self.seq => {
                    self.stream(&mut reader, &mut cursor, Some(end))?;
                }
                Waited::Event(Event::Waiting { eval, prompt, end, editor, secret })
                    if eval == self.seq =>
                {
                    let start = self.start(&standing)?;
                    cursor.get_or_insert(start);
                    self.stream(&mut reader, &mut cursor, Some(end))?;
                    let mut view =
                        self.view(&mut reader, EvalStatus::WaitingInput, start, Some(end))?;
                    view.prompt = Some(plain(prompt));
                    view.editor = editor.map(plain);
                    view.secret = secret;
                    if !self.watcher.asks(&view) {
                        return Ok(view);
                    }
                    // A person who is asked has no deadline. Output that was shown is not shown again.
                    self.deadline = None;
                    self.from = Some(end);
                    cursor = Some(end);
                    standing = EvalStands::Running { start, listens: Listens::No };
                }
                Waited::Event(Event::Finished { eval, finished }) if eval == self.seq => {
                    cursor.get_or_insert(finished.start);
                    self.stream(&mut reader, &mut cursor, Some(finished.end))?;
                    let view = self.finished(&mut reader, finished)?;
                    connection.reader = reader;
                    self.door.keep(connection);
                    return Ok(view);
                }
                Waited::Event(Event::Unrecorded { eval, start, end, why }) if eval == self.seq => {
                    cursor.get_or_insert(start);
                    self.stream(&mut reader, &mut cursor, Some(end))?;
                    unrecorded = Some((start, end, why));
                    // If the disk was full only for a moment, the outcome follows soon.
                    let soon = Instant::now() + RECORD_TIME;
                    self.deadline = Some(self.deadline.map_or(soon, |at| at.min(soon)));
                }
                Waited::Event(_) => {}
                Waited::Deadline
                    if unrecorded.is_some()
                        && self.deadline.is_some_and(|at| at <= Instant::now()) =>
                {
                    let Some((start, end, why)) = unrecorded else { continue };
                    let mut view = self.view(&mut reader, EvalStatus::Partial, start, Some(end))?;
                    view.unrecorded = Some(why);
                    return Ok(view);
                }
                Waited::Deadline if self.deadline.is_some_and(|at| at <= Instant::now()) => {
                    self.stream(&mut reader, &mut cursor, None)?;
                    let mut view = self.unfinished(&mut reader, &standing)?;
                    view.paused = paused;
                    return Ok(view);
                }
                Waited::Deadline => {}
                Waited::Woken => match self.watcher.woken() {
                    WaitAction::GoOn => {}
                    WaitAction::Interrupt => {
                        connection.send(Request::Interrupt { eval: Some(self.seq), by: None })?;
                    }
                    WaitAction::Answer { text, eof } => {
                        let input = Request::Input { eval: Some(self.seq), text, eof };
                        match connection.request(input, Some(Instant::now() + PATIENCE)) {
                            Ok(_) => {}
                            Err(error @ ClientError::Refused { .. }) => {
                                self.watcher.not_taken(&error)
                            }
                            // The next turn of this loop finds that the host is gone.
                            Err(error) if error.is_hang_up() => {}
                            Err(error) => return Err(error),
                        }
                        self.deadline = patience.and_then(|time| Instant::now().checked_add(time));
                    }
                    WaitAction::Leave => {
                        let mut view = self.unfinished(&mut reader, &standing)?;
                        (view.left, view.paused) = (true, paused);
                        return Ok(view);
                    }
                },
                Waited::Closed if reconnected => return self.after_the_host(cursor),
                Waited::Closed => {
                    reconnected = true;
                    match self.reconnect()? {
                        Some(again) => *connection = again,
                        None => return self.after_the_host(cursor),
                    }
                }
            }
        }
    }

    /// Gives the watcher what is new in the spool.
    fn stream(
        &mut self,
        reader: &mut Option<Reader>,
        cursor: &mut Option<Offset>,
        end: Option<Offset>,
    ) -> Result<(), ClientError> {
        let (true, Some(from)) = (self.watcher.wants_output(), *cursor) else { return Ok(()) };
        let reader = self.door.reader(reader)?;
        let end = match end {
            Some(end) => end,
            None => reach(reader, &self.door.dir(), self.door.name, self.seq)?,
        };
        let watcher = &mut *self.watcher;
        let reached =
            records::copy(reader, from, end, &mut |kind, bytes| watcher.chunk(kind, bytes))
                .map_err(ClientError::spool(self.door.name))?;
        *cursor = Some(reached);
        Ok(())
    }

    /// A second connection, when the first was closed before the eval was over.
    fn reconnect(&self) -> Result<Option<Connection>, ClientError> {
        if let Some((_, finished)) = self.entry()?.and_then(|entry| entry.finished) {
            drop(finished);
            return Ok(None);
        }
        let Ok(Some(mut connection)) = self.door.connect(PATIENCE) else { return Ok(None) };
        let output = self.watcher.wants_output();
        let watch = Request::Watch { eval: self.seq, output, alone: false };
        match connection.request(watch, Some(Instant::now() + PATIENCE)) {
            Ok(Reply::Watching) => Ok(Some(connection)),
            _ => Ok(None),
        }
    }

    /// What the disk tells once the host has exited (SPEC E-11).
    fn after_the_host(&mut self, cursor: Option<Offset>) -> Result<EvalView, ClientError> {
        let deadline = Instant::now() + HOST_END_TIME;
        loop {
            let gone = !host_lives(&self.door.dir());
            let entry = self.entry()?;
            if let Some((_, finished)) = entry.as_ref().and_then(|entry| entry.finished.clone()) {
                let mut cursor = cursor.or(Some(finished.start));
                self.stream(&mut None, &mut cursor, Some(finished.end))?;
                loss::tell(&self.door.dir(), &finished);
                return self.finished(&mut None, finished);
            }
            if gone {
                let started = entry.and_then(|entry| entry.started);
                let finished = died(self.door.dir(), self.door.name, started, self.generation)?;
                loss::tell(&self.door.dir(), &finished);
                let mut cursor = cursor.or(Some(finished.start));
                self.stream(&mut None, &mut cursor, Some(finished.end))?;
                return self.finished(&mut None, finished);
            }
            if Instant::now() >= deadline {
                return Err(ConnectionTrouble::HungUpAlive { eval: self.id() }.into());
            }
            timer::pause(Duration::from_millis(10));
        }
    }

    fn finished(
        &self,
        reader: &mut Option<Reader>,
        finished: Finished,
    ) -> Result<EvalView, ClientError> {
        let from = self.from.unwrap_or(finished.start).max(finished.start);
        let content = self.content(reader, finished.start, from, finished.end)?;
        let mut view = EvalView::finished(self.door.name, self.seq, finished, content);
        hint::add(&mut view, &self.door.dir());
        Ok(view)
    }

    fn unfinished(
        &self,
        reader: &mut Option<Reader>,
        standing: &EvalStands,
    ) -> Result<EvalView, ClientError> {
        match standing {
            EvalStands::Queued => {
                let mut view = EvalView::new(self.door.name, Some(self.seq), EvalStatus::Queued);
                view.generation = self.generation;
                view.behind = self.behind;
                Ok(view)
            }
            EvalStands::Unknown if self.behind.is_some() => {
                self.unfinished(reader, &EvalStands::Queued)
            }
            EvalStands::Unknown => {
                let mut view = EvalView::new(self.door.name, Some(self.seq), EvalStatus::Partial);
                view.generation = self.generation;
                Ok(view)
            }
            EvalStands::Running { start, listens } => {
                let mut view = self.view(reader, EvalStatus::Partial, *start, None)?;
                view.listens = *listens != Listens::No;
                Ok(view)
            }
        }
    }

    fn view(
        &self,
        reader: &mut Option<Reader>,
        status: EvalStatus,
        start: Offset,
        end: Option<Offset>,
    ) -> Result<EvalView, ClientError> {
        let end = match end {
            Some(end) => end,
            None => {
                let dir = self.door.dir();
                reach(self.door.reader(reader)?, &dir, self.door.name, self.seq)?
            }
        };
        let mut view = EvalView::new(self.door.name, Some(self.seq), status);
        view.generation = self.generation;
        view.content = self.content(reader, start, self.from.unwrap_or(start).max(start), end)?;
        view.reached = Some(end);
        Ok(view)
    }

    fn content(
        &self,
        reader: &mut Option<Reader>,
        start: Offset,
        from: Offset,
        end: Offset,
    ) -> Result<crate::Content, ClientError> {
        if from >= end {
            return Ok(crate::Content::default());
        }
        let reader = self.door.reader(reader)?;
        let base = if from > start { records::measure_own(reader, start, from) } else { Ok(0) };
        base.and_then(|base| {
            records::content(reader, Span { base, ..Span::all(from, end) }, self.budget)
        })
        .map_err(ClientError::spool(self.door.name))
    }

    /// Where the eval's part of the spool begins.
    fn start(&self, standing: &EvalStands) -> Result<Offset, ClientError> {
        if let EvalStands::Running { start, .. } = standing {
            return Ok(*start);
        }
        let started = self.entry()?.and_then(|entry| entry.started);
        Ok(started.map(|(_, _, start)| start).or(self.from).unwrap_or_default())
    }

    fn entry(&self) -> Result<Option<stead_spool::EvalEntry>, ClientError> {
        HistoryReader::open(self.door.dir().path())
            .and_then(|history| history.eval(self.seq))
            .map_err(ClientError::spool(self.door.name))
    }

    fn id(&self) -> EvalId {
        EvalId { session: self.door.name.clone(), seq: self.seq }
    }
}

/// Opens a session's output.
pub(crate) fn open(dir: &SessionDir, name: &SessionName) -> Result<Reader, ClientError> {
    Reader::open(dir.path()).map_err(ClientError::spool(name))
}

/// Where the output of an eval ends that was running a moment ago.
///
/// The end of the spool is looked up before the history. If the eval has no outcome even then, all output
/// before that end is its own, because the next eval begins after the outcome is written.
pub(crate) fn reach(
    reader: &Reader,
    dir: &SessionDir,
    name: &SessionName,
    seq: EvalSeq,
) -> Result<Offset, ClientError> {
    let end = reader.end().map_err(ClientError::spool(name))?;
    let entry = HistoryReader::open(dir.path()).and_then(|history| history.eval(seq));
    let entry = entry.map_err(ClientError::spool(name))?;
    Ok(entry.and_then(|entry| entry.finished).map_or(end, |(_, finished)| finished.end))
}

/// Whether a host, or the guard that cleans up after it, still lives.
pub(crate) fn host_lives(dir: &SessionDir) -> bool {
    stead_spool::retention::has_host(dir)
}

/// Waits for a host that hung up, and for its guard, to exit; returns whether they have.
pub(crate) fn see_host_gone(dir: &SessionDir) -> bool {
    let deadline = Instant::now() + HOST_END_TIME;
    while host_lives(dir) {
        if Instant::now() >= deadline {
            return false;
        }
        timer::pause(Duration::from_millis(10));
    }
    true
}

/// The outcome that a killed host could not record.
pub(crate) fn died(
    dir: SessionDir,
    name: &SessionName,
    started: Option<(Generation, u64, Offset)>,
    generation: Option<Generation>,
) -> Result<Finished, ClientError> {
    let generation = generation.unwrap_or_default();
    let Some((generation, _, start)) = started else {
        return Ok(Finished::host_died(generation, None, Offset(0)));
    };
    let end = open(&dir, name)?.end().map_err(ClientError::spool(name))?;
    Ok(Finished::host_died(generation, Some(start), end.max(start)))
}

#[cfg(test)]
mod tests {
    use stead_protocol::{By, ChunkKind, Outcome, WorkKind};
    use stead_spool::{History, HistoryRecord, Options, Spool};

    use super::*;

    fn finished(start: Offset, end: Offset) -> Finished {
        Finished::new(Outcome::Complete, Generation(1), start, end)
    }

    #[test]
    fn o1_what_the_next_eval_wrote_is_not_taken_for_the_last_ones() {
        let temp = tempfile::tempdir().unwrap();
        let (dir, name) = (SessionDir::new(temp.path()), "py".parse().unwrap());
        let mut spool = Spool::open(temp.path(), Options::default()).unwrap();
        let (mut history, _) = History::open(temp.path()).unwrap();
        let mut run = |eval: EvalSeq, start: Offset, ends: bool| {
            let accepted = HistoryRecord::Accepted {
                eval,
                at_ms: 0,
                by: By::default(),
                kind: WorkKind::Code,
                others: 0,
                code: String::new(),
                key: None,
                token: None,
            };
            history.append(&accepted).unwrap();
            let generation = Generation(1);
            history.append(&HistoryRecord::Started { eval, generation, at_ms: 0, start }).unwrap();
            let end = spool.append(ChunkKind::Out, eval, b"words\n").end;
            if ends {
                let finished = finished(start, end);
                history.append(&HistoryRecord::Finished { eval, at_ms: 0, finished }).unwrap();
            }
            end
        };
        let first = run(EvalSeq(1), Offset(0), true);
        let second = run(EvalSeq(2), first, false);
        let reader = open(&dir, &name).unwrap();
        assert_eq!(reach(&reader, &dir, &name, EvalSeq(1)).unwrap(), first);
        assert_eq!(reach(&reader, &dir, &name, EvalSeq(2)).unwrap(), second);
    }
}
