//! Reading the kept output of any eval, also after its session ended (SPEC O-6).

use std::io;
use std::time::{Duration, Instant};

use stead_protocol::client::{AsksAhead, Event, Listens, Request};
use stead_protocol::{EvalId, EvalSeq, Finished, Generation, Offset, SessionName};
use stead_screen::plain;
use stead_spool::{EvalEntry, HistoryReader, Reader, SpoolError};

use crate::eval::loss;
use crate::eval::wait::{self, Wait, Watcher};
use crate::hint;
use crate::reach::connection::{Connection, PATIENCE, Waited};
use crate::reach::patience::answer_time;
use crate::read::records::{self, Span};
use crate::show::page::read_budget;
use crate::{Client, ClientError, Content, EvalStatus, EvalView};

/// Which part of an eval's output to read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// All of it, with values and errors in their places.
    All,
    /// The output after an offset in the spool, with values and errors in their places.
    Since {
        /// The offset, as a view's `reached` has it.
        offset: Offset,
    },
    /// Bytes of its own output.
    Range {
        /// From here.
        offset: u64,
        /// At most so many.
        limit: Option<u64>,
    },
    /// The last lines of its output, with values and errors in their places.
    Tail {
        /// How many.
        lines: usize,
    },
}

impl Part {
    /// Whether it reaches to the end and holds values and errors too.
    fn is_whole(self) -> bool {
        matches!(self, Part::All | Part::Since { .. })
    }

    /// Where it begins, if not where the eval does.
    fn since(self) -> Option<Offset> {
        match self {
            Part::Since { offset } if offset > Offset(0) => Some(offset),
            Part::All | Part::Since { .. } | Part::Range { .. } | Part::Tail { .. } => None,
        }
    }
}

/// What to read, and how long to wait for it.
#[derive(Debug, Clone, Copy)]
pub struct OutputOptions {
    /// Which part.
    pub part: Part,
    /// Wait for the end of the eval, at most so long; without it read what there is.
    pub wait: Option<Duration>,
    /// How many characters of output will be shown; none, if only the value or error matters.
    pub max_chars: usize,
}

/// Where an eval stands, from disk or from its host.
struct OutputPlace {
    status: EvalStatus,
    prompt: Option<String>,
    editor: Option<String>,
    secret: bool,
    listens: bool,
    behind: Option<EvalSeq>,
    asks: Option<AsksAhead>,
    generation: Option<Generation>,
    start: Offset,
    end: Offset,
    finished: Option<Finished>,
    notice: Option<String>,
    paused: bool,
    /// Why its outcome is not recorded, if it has ended.
    unrecorded: Option<String>,
}

impl Client {
    /// Reads an eval's output.
    pub fn output(
        &self,
        id: &EvalId,
        options: &OutputOptions,
        watcher: &mut dyn Watcher,
    ) -> Result<EvalView, ClientError> {
        let entry = self.entry(id)?;
        let by = Some(entry.by.clone());
        Ok(self.output_of(id, entry, options, watcher)?.sent_by(by))
    }

    fn output_of(
        &self,
        id: &EvalId,
        entry: EvalEntry,
        options: &OutputOptions,
        watcher: &mut dyn Watcher,
    ) -> Result<EvalView, ClientError> {
        let name = &id.session;
        let mut silent = None;
        let watched = match options.wait {
            Some(time) if entry.finished.is_none() => {
                match self.watched(id, answer_time(time), watcher.wants_output()) {
                    Ok(connection) => Some((time, connection)),
                    Err(error) if matches!(error, ClientError::Silent { .. }) => {
                        silent = Some(error);
                        None
                    }
                    Err(_) => None,
                }
            }
            _ => None,
        };
        if let Some((time, connection)) = watched {
            watcher.accepted(id);
            let view = Wait {
                door: self.door(name),
                seq: id.seq,
                generation: entry.started.map(|(generation, ..)| generation),
                behind: None,
                from: options.part.since(),
                budget: read_budget(options.max_chars),
                deadline: Instant::now().checked_add(time),
                watcher,
            }
            .run(Box::new(connection))?;
            if options.part.is_whole() {
                return Ok(view);
            }
            return self.read_part(id, self.place(id, &self.entry(id)?, None)?, options);
        }
        let place = self.place(id, &entry, silent)?;
        if options.wait.is_some() {
            watcher.accepted(id);
            if watcher.wants_output() {
                let reader = wait::open(&self.dir(name), name)?;
                let mut sink = |kind, bytes: &[u8]| watcher.chunk(kind, bytes);
                records::copy(&reader, place.start, place.end, &mut sink)
                    .map_err(ClientError::spool(name))?;
            }
        }
        self.read_part(id, place, options)
    }

    /// Gives all bytes of an eval's own output to `sink`, without holding them.
    pub fn copy_output(
        &self,
        id: &EvalId,
        sink: &mut dyn FnMut(stead_protocol::ChunkKind, &[u8]),
    ) -> Result<EvalView, ClientError> {
        let name = &id.session;
        let entry = self.entry(id)?;
        let place = self.place(id, &entry, None)?;
        let reader = wait::open(&self.dir(name), name)?;
        records::copy(&reader, place.start, place.end, sink).map_err(ClientError::spool(name))?;
        let options = OutputOptions { part: Part::Tail { lines: 0 }, wait: None, max_chars: 0 };
        Ok(self.read_part(id, place, &options)?.sent_by(Some(entry.by)))
    }

    /// A connection that tells of an eval.
    fn watched(
        &self,
        id: &EvalId,
        patience: Duration,
        output: bool,
    ) -> Result<Connection, ClientError> {
        let by = Instant::now() + patience;
        let mut connection = self.connect_by(&id.session, by)?;
        match connection.request(Request::Watch { eval: id.seq, output, alone: false }, Some(by)) {
            // The host exited just now: the wait below finds out how the eval ended.
            Err(error) if error.is_hang_up() => {}
            watching => drop(watching?),
        }
        Ok(connection)
    }

    /// The first event that the host tells about an eval, and whether the session is paused.
    fn first_word(&self, id: &EvalId) -> Result<(Waited, bool), ClientError> {
        let by = Instant::now() + PATIENCE;
        let mut connection = self.look(&id.session, by)?;
        let watch = Request::Watch { eval: id.seq, output: false, alone: false };
        match connection.request(watch, Some(by)) {
            Err(error) if error.is_hang_up() => return Ok((Waited::Closed, false)),
            watching => drop(watching?),
        }
        match connection.next_event(Some(by), None)? {
            Waited::Event(Event::Paused { paused }) => {
                Ok((connection.next_event(Some(by), None)?, paused))
            }
            word => Ok((word, false)),
        }
    }

    /// What is recorded of an eval.
    pub(crate) fn entry(&self, id: &EvalId) -> Result<EvalEntry, ClientError> {
        self.require(&id.session, true)?;
        let Some(history) = self.history(&id.session)? else {
            let known = format!("session `{}` has had no evals", id.session);
            return Err(ClientError::NoEval { id: id.to_string(), known });
        };
        let read = || {
            Ok::<_, SpoolError>(match history.eval(id.seq)? {
                Some(entry) => Ok(entry),
                None => Err((history.len()?, history.gone()?, history.is_gone(id.seq)?)),
            })
        };
        let (last, gone, is_gone) = match read().map_err(ClientError::spool(&id.session))? {
            Ok(entry) => return Ok(entry),
            Err(known) => known,
        };
        let first = gone.map_or(1, |gone| gone.first.0);
        let known = match last {
            0 => format!("session `{}` has had no evals", id.session),
            only if only == first => format!("there is only `{}:{only}`", id.session),
            last => format!("there are `{0}:{first}` to `{0}:{last}`", id.session),
        };
        let id = id.to_string();
        Err(match gone.filter(|_| is_gone) {
            Some(gone) => ClientError::EvalGone { id, known, quota: gone.quota },
            None => ClientError::NoEval { id, known },
        })
    }

    /// The history; `None` if the session never got one.
    pub(crate) fn history(&self, name: &SessionName) -> Result<Option<HistoryReader>, ClientError> {
        match HistoryReader::open(self.dir(name).path()) {
            Ok(history) => Ok(Some(history)),
            Err(SpoolError::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
                Ok(None)
            }
            Err(error) => Err(ClientError::spool(name)(error)),
        }
    }

    /// Where an eval stands. If its host does not answer (`silent`), this is what the disk says, with a
    /// notice.
    fn place(
        &self,
        id: &EvalId,
        entry: &EvalEntry,
        silent: Option<ClientError>,
    ) -> Result<OutputPlace, ClientError> {
        let name = &id.session;
        let (generation, start) = match entry.started {
            Some((generation, _, start)) => (Some(generation), start),
            None => (None, Offset(0)),
        };
        let mut place = OutputPlace {
            status: EvalStatus::Running,
            prompt: None,
            editor: None,
            secret: false,
            listens: false,
            behind: None,
            asks: None,
            generation,
            start,
            end: start,
            notice: None,
            paused: false,
            unrecorded: None,
            finished: entry.finished.as_ref().map(|(_, finished)| finished.clone()),
        };
        if place.finished.is_none() {
            let word = silent.map_or_else(|| self.first_word(id), Err);
            let word = word.map(|(word, paused)| {
                place.paused = paused;
                word
            });
            match word {
                Ok(Waited::Event(Event::Queued { behind, asks, .. })) => {
                    place.status = EvalStatus::Queued;
                    (place.behind, place.asks) = (behind, asks.map(wait::shown_ahead));
                }
                Ok(Waited::Event(Event::Started { start, listens, .. })) => {
                    place.start = start;
                    place.listens = listens != Listens::No;
                }
                Ok(Waited::Event(
                    Event::Accepted { .. }
                    | Event::Output { .. }
                    | Event::Background { .. }
                    | Event::Paused { .. }
                    | Event::Unknown,
                )) => {}
                Ok(Waited::Event(Event::Waiting { prompt, end, editor, secret, .. })) => {
                    place.status = EvalStatus::WaitingInput;
                    place.prompt = Some(plain(prompt));
                    place.editor = editor.map(plain);
                    place.secret = secret;
                    place.end = end;
                }
                Ok(Waited::Event(Event::Unrecorded { start, end, why, .. })) => {
                    (place.start, place.end) = (start, end);
                    place.unrecorded = Some(why);
                }
                Ok(Waited::Event(Event::Finished { finished, .. })) => {
                    place.finished = Some(finished);
                }
                // A host records all it knows of an eval before it exits, so the eval may have finished since
                // the entry was read.
                Ok(Waited::Closed)
                | Err(ClientError::Ended { .. } | ClientError::NotFound { .. }) => {
                    place.finished = Some(self.last_word(id)?);
                }
                Ok(Waited::Deadline | Waited::Woken) => {}
                Err(error @ ClientError::Silent { .. }) => {
                    let entry = self.entry(id)?;
                    place.finished = entry.finished.map(|(_, finished)| finished);
                    if place.finished.is_none() {
                        place.notice = Some(format!("{error}; this is what it had written"));
                        if entry.started.is_none() {
                            place.status = EvalStatus::Queued;
                        }
                    }
                }
                Err(error) => return Err(error),
            }
        }
        if place.finished.is_none() && entry.started.is_none() && place.status != EvalStatus::Queued
        {
            // The eval has started since the entry was read.
            if let Some((generation, _, start)) = self.entry(id)?.started {
                (place.generation, place.start) = (Some(generation), start);
                place.end = place.end.max(start);
            }
        }
        if let Some(finished) = &place.finished {
            (place.start, place.end) = (finished.start, finished.end);
        } else if place.status == EvalStatus::Running && place.unrecorded.is_none() {
            let dir = self.dir(name);
            place.end = wait::reach(&wait::open(&dir, name)?, &dir, name, id.seq)?;
        }
        Ok(place)
    }

    /// The outcome of an eval whose host has exited.
    fn last_word(&self, id: &EvalId) -> Result<Finished, ClientError> {
        let entry = self.entry(id)?;
        match entry.finished {
            Some((_, finished)) => Ok(finished),
            None => wait::died(self.dir(&id.session), &id.session, entry.started, None),
        }
    }

    fn read_part(
        &self,
        id: &EvalId,
        place: OutputPlace,
        options: &OutputOptions,
    ) -> Result<EvalView, ClientError> {
        let name = &id.session;
        let reader = wait::open(&self.dir(name), name)?;
        let content = if place.status == EvalStatus::Queued {
            Content::default()
        } else {
            read_content(&reader, &place, options).map_err(ClientError::spool(name))?
        };
        if let Some(finished) = &place.finished {
            loss::tell(&self.dir(name), finished);
            if options.part == Part::All {
                let mut view = EvalView::finished(name, id.seq, finished.clone(), content);
                hint::add(&mut view, &self.dir(name));
                return Ok(view);
            }
            // The value or error stands at the end of the output, which this part need not reach.
            let result = records::result(&reader, finished.start, finished.end)
                .map_err(ClientError::spool(name))?;
            let mut view = EvalView::finished(name, id.seq, finished.clone(), result);
            view.content = content;
            if options.part.is_whole() {
                hint::add(&mut view, &self.dir(name));
            }
            return Ok(view);
        }
        let mut view = EvalView::new(name, Some(id.seq), place.status);
        view.generation = place.generation;
        view.prompt = place.prompt;
        view.editor = place.editor;
        view.secret = place.secret;
        view.listens = place.listens;
        view.paused = place.paused;
        view.behind = place.behind;
        view.asks = place.asks;
        view.notices.extend(place.notice);
        view.unrecorded = place.unrecorded;
        view.content = content;
        view.reached = options.part.is_whole().then_some(place.end);
        Ok(view)
    }
}

fn read_content(
    reader: &Reader,
    place: &OutputPlace,
    options: &OutputOptions,
) -> Result<Content, SpoolError> {
    let end = place.end;
    let budget = read_budget(options.max_chars);
    match options.part {
        Part::All => records::content(reader, Span::all(place.start, end), budget),
        Part::Since { offset } => {
            let from = offset.clamp(place.start, end);
            let base = records::measure_own(reader, place.start, from)?;
            records::content(reader, Span { base, ..Span::all(from, end) }, budget)
        }
        Part::Range { offset, limit } => {
            let span = records::seek(reader, place.start, end, offset)?;
            match limit {
                Some(limit) => records::limited(reader, span, limit),
                None => records::content(reader, span, budget),
            }
        }
        Part::Tail { lines } => records::tail(reader, place.start, end, lines, budget),
    }
}
