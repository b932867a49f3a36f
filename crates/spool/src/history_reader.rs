//! Reading a session's history, while it is written or long after.

use std::fs::File;
use std::io;
use std::path::Path;

use stead_protocol::{By, EndReason, EvalSeq, Finished, Generation, Offset, WorkKind};

use crate::SpoolError;
use crate::dropped::{self, Dropped};
use crate::history_record::HistoryRecord;
use crate::history_recover::{HistoryTail, read_tail};
use crate::index::{self, Index, IndexEntry, RecordMark};
use crate::keys::each_key;
use crate::layout::{SessionDir, has_name};
use crate::lines::{LinesBack, is_line_start, line_at, whole_len};

/// How often an entry without its record is looked up again: the writer may be undoing a failed append just
/// now.
const LOOKS: u32 = 3;

/// How many records are looked at between the end of an eval and the end of its interpreter: those of evals that
/// were queued behind it and never ran.
const RECORDS_BETWEEN: u32 = 64;

/// All that is recorded of one eval.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EvalEntry {
    /// Its number.
    pub seq: EvalSeq,
    /// When it was accepted, in milliseconds since 1970.
    pub accepted_at_ms: u64,
    /// Who sent it.
    pub by: By,
    /// What kind of work it is.
    pub kind: WorkKind,
    /// How many of the evals up to this one are other work than code.
    pub others: u64,
    /// What it ran.
    pub code: String,
    /// The idempotency key that the client gave.
    pub key: Option<String>,
    /// The number that the client sent along to find the eval again.
    pub token: Option<u64>,
    /// The interpreter it ran in, when it started, and where its output begins.
    pub started: Option<(Generation, u64, Offset)>,
    /// When it ended and how.
    pub finished: Option<(u64, Finished)>,
}

/// What became of a session's state when its interpreter had run an eval.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StateAfter {
    /// The next eval found it, in the same interpreter or in a copy.
    Kept,
    /// It is gone with the interpreter.
    Lost {
        /// How that ended, if it is recorded.
        reason: Option<EndReason>,
    },
}

/// Evals whose records were dropped to make room.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Gone {
    /// How many.
    pub evals: u64,
    /// The first that is still there.
    pub first: EvalSeq,
    /// How many bytes a history may take with its index and keys.
    pub quota: u64,
}

/// A reader of a session's history; any number of them, in any process.
#[derive(Debug)]
pub struct HistoryReader {
    dir: SessionDir,
    file: File,
    dropped: Dropped,
    index: IndexSource,
}

#[derive(Debug)]
enum IndexSource {
    File(Index),
    /// Read from the history itself, because the index file is missing or wrong.
    Built(Vec<IndexEntry>),
}

impl HistoryReader {
    /// Opens the history in a session directory. Without a usable index it reads the whole history once.
    pub fn open(dir: &Path) -> Result<HistoryReader, SpoolError> {
        let dir = SessionDir::new(dir);
        let path = dir.history();
        let mut look = 1;
        loop {
            let file = stead_files::open(&path).map_err(SpoolError::io("open", &path))?;
            let dropped = dropped::read(&file).map_err(SpoolError::io("read", &path))?;
            let index = open_index(&dir, &file, dropped, look >= LOOKS)?;
            // An opened history that still has its name was not replaced by a trim, so the index that was
            // opened after it belongs to it.
            if matches!(index, IndexSource::Built(_)) || has_name(&file) {
                return Ok(HistoryReader { dir, file, dropped, index });
            }
            look += 1;
        }
    }

    /// Which evals were dropped; `None` if none was.
    pub fn gone(&self) -> Result<Option<Gone>, SpoolError> {
        let Dropped { before, first, quota } = self.dropped;
        if before <= 1 {
            return Ok(None);
        }
        let mut evals = before - 1;
        for eval in first..before {
            evals -= u64::from(!self.is_gone(EvalSeq(eval))?);
        }
        Ok(Some(Gone { evals, first: EvalSeq(first), quota }))
    }

    /// Whether this eval's records were dropped to make room.
    pub fn is_gone(&self, seq: EvalSeq) -> Result<bool, SpoolError> {
        if seq.0 == 0 || seq.0 >= self.dropped.before {
            return Ok(false);
        }
        let entry = self.entry(seq.0).map_err(SpoolError::io("read", &self.dir.history_index()))?;
        Ok(entry.position(RecordMark::Accepted).is_none())
    }

    /// The number of evals that were accepted so far, which is the number of the last one.
    pub fn len(&self) -> Result<u64, SpoolError> {
        let path = self.dir.history_index();
        let read = || {
            let written = self.file.metadata()?.len();
            let mut last = match &self.index {
                IndexSource::File(index) => index.count()?,
                IndexSource::Built(entries) => self.dropped.base() + entries.len() as u64,
            };
            // The last entry may be of a record that is not written yet.
            while last > self.dropped.base() {
                match self.entry(last)?.position(RecordMark::Accepted) {
                    Some(pos) if pos < written && line_at(&self.file, pos)?.is_some() => break,
                    _ => last -= 1,
                }
            }
            Ok::<u64, io::Error>(last)
        };
        read().map_err(SpoolError::io("read", &path))
    }

    /// Whether no eval was accepted yet.
    pub fn is_empty(&self) -> Result<bool, SpoolError> {
        self.len().map(|len| len == 0)
    }

    /// What is recorded of an eval; `None` if there is no such eval.
    pub fn eval(&self, seq: EvalSeq) -> Result<Option<EvalEntry>, SpoolError> {
        let mut look = 1;
        loop {
            match self.read_eval(seq) {
                Err(SpoolError::Corrupt { .. }) if look < LOOKS => look += 1,
                read => return read,
            }
        }
    }

    /// The last `n` evals, oldest first.
    pub fn last(&self, n: u64) -> Result<Vec<EvalEntry>, SpoolError> {
        let len = self.len()?;
        let mut entries = Vec::new();
        for seq in len.saturating_sub(n).max(self.dropped.base()) + 1..=len {
            entries.extend(self.eval(EvalSeq(seq))?);
        }
        Ok(entries)
    }

    /// How the last interpreter ended and whether a client was told. `None` if no end is recorded: the
    /// interpreter runs, its host was killed, or there never was one.
    pub fn last_end(&self) -> Result<Option<(EndReason, bool)>, SpoolError> {
        self.tail().map(|tail| tail.last_end)
    }

    /// What became of an interpreter's state after this eval, its last one.
    pub fn state_after(&self, seq: EvalSeq) -> Result<StateAfter, SpoolError> {
        let index_path = self.dir.history_index();
        let entry = self.entry(seq.0).map_err(SpoolError::io("read", &index_path))?;
        let mut state = StateAfter::Lost { reason: None };
        let Some(mut pos) = entry.position(RecordMark::Finished) else { return Ok(state) };
        for _ in 0..RECORDS_BETWEEN {
            let line =
                line_at(&self.file, pos).map_err(SpoolError::io("read", &self.dir.history()))?;
            let Some(line) = line else { break };
            pos += line.len() as u64 + 1;
            state = match serde_json::from_slice(&line) {
                Ok(HistoryRecord::Ended { reason, .. }) => {
                    StateAfter::Lost { reason: Some(reason) }
                }
                Ok(HistoryRecord::Opened { from_copy: true, .. }) => StateAfter::Kept,
                // The host of a copy was killed.
                Ok(HistoryRecord::Opened { .. }) if state == StateAfter::Kept => {
                    return Ok(StateAfter::Lost { reason: None });
                }
                Ok(HistoryRecord::Opened { .. } | HistoryRecord::Started { .. }) | Err(_) => break,
                Ok(_) => continue,
            };
        }
        Ok(state)
    }

    /// The last interpreter that was opened; 0 if there was none.
    pub fn generation(&self) -> Result<Generation, SpoolError> {
        self.tail().map(|tail| tail.generation)
    }

    /// The eval that was accepted with this key; reads all keys.
    pub fn key(&self, key: &str) -> Result<Option<EvalSeq>, SpoolError> {
        let path = self.dir.keys();
        let file = match stead_files::open(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            opened => opened.map_err(SpoolError::io("open", &path))?,
        };
        let mut found = None;
        each_key(&file, |line| {
            if line.key == key {
                found = Some(line.eval);
            }
        })
        .map_err(SpoolError::io("read", &path))?;
        let Some(seq) = found else { return Ok(None) };
        if self.is_gone(seq)? {
            return Ok(Some(seq));
        }
        let entry = self.eval(seq)?;
        Ok(entry.filter(|entry| entry.key.as_deref() == Some(key)).map(|entry| entry.seq))
    }

    /// How the last interpreter before `generation` ended; `None` if that is not recorded. Reads back to that
    /// record.
    pub fn end_before(
        &self,
        generation: Generation,
    ) -> Result<Option<(Generation, EndReason)>, SpoolError> {
        let read = || -> io::Result<Option<(Generation, EndReason)>> {
            let mut lines = LinesBack::new(&self.file, whole_len(&self.file)?);
            while let Some((_, line)) = lines.next_line()? {
                match serde_json::from_slice::<HistoryRecord>(line) {
                    Ok(HistoryRecord::Ended { generation: ended, reason, .. })
                        if ended < generation =>
                    {
                        return Ok(Some((ended, reason)));
                    }
                    Ok(HistoryRecord::Started { generation: older, .. }) if older < generation => {
                        return Ok(None);
                    }
                    _ => {}
                }
            }
            Ok(None)
        };
        read().map_err(SpoolError::io("read", &self.dir.history()))
    }

    fn tail(&self) -> Result<HistoryTail, SpoolError> {
        whole_len(&self.file)
            .and_then(|len| read_tail(&self.file, len, None))
            .map_err(SpoolError::io("read", &self.dir.history()))
    }

    fn read_eval(&self, seq: EvalSeq) -> Result<Option<EvalEntry>, SpoolError> {
        if self.is_gone(seq)? {
            return Ok(None);
        }
        let index_path = self.dir.history_index();
        let entry = self.entry(seq.0).map_err(SpoolError::io("read", &index_path))?;
        let Some(HistoryRecord::Accepted { at_ms, by, kind, others, code, key, token, .. }) =
            self.record(seq, &entry, RecordMark::Accepted)?
        else {
            return Ok(None);
        };
        let started = match self.record(seq, &entry, RecordMark::Started)? {
            Some(HistoryRecord::Started { generation, at_ms, start, .. }) => {
                Some((generation, at_ms, start))
            }
            _ => None,
        };
        let finished = match self.record(seq, &entry, RecordMark::Finished)? {
            Some(HistoryRecord::Finished { at_ms, finished, .. }) => Some((at_ms, finished)),
            _ => None,
        };
        Ok(Some(EvalEntry {
            seq,
            accepted_at_ms: at_ms,
            by,
            kind,
            others,
            code,
            key,
            token,
            started,
            finished,
        }))
    }

    /// A record of an eval; `None` if it is not written, or not yet.
    fn record(
        &self,
        seq: EvalSeq,
        entry: &IndexEntry,
        mark: RecordMark,
    ) -> Result<Option<HistoryRecord>, SpoolError> {
        let path = self.dir.history();
        let wrong_place = |what| {
            let number = seq.0.saturating_sub(1).saturating_sub(self.dropped.base());
            let at = number.saturating_mul(index::ENTRY) + mark as u64 * 8;
            SpoolError::corrupt(&self.dir.history_index(), at, what)
        };
        let line = match entry.position(mark) {
            Some(pos) => line_at(&self.file, pos)
                .map_err(SpoolError::io("read", &path))?
                .map(|line| (pos, line)),
            None => None,
        };
        let Some((pos, line)) = line else {
            return match self.must_have(seq, entry, mark)? {
                true => Err(wrong_place("it points to no record")),
                false => Ok(None),
            };
        };
        match serde_json::from_slice::<HistoryRecord>(&line) {
            Ok(record) if record.mark() == Some((seq, mark)) => Ok(Some(record)),
            Ok(_) => Err(wrong_place("it points to another record")),
            Err(_) if is_line_start(&self.file, pos).unwrap_or(true) => {
                Err(SpoolError::corrupt(&path, pos, "the line is not a record"))
            }
            Err(_) => Err(wrong_place("it points into a record")),
        }
    }

    /// Whether later entries prove that this record was written.
    fn must_have(
        &self,
        seq: EvalSeq,
        entry: &IndexEntry,
        mark: RecordMark,
    ) -> Result<bool, SpoolError> {
        let last = self.len()?;
        if seq.0 >= last {
            return Ok(false);
        }
        let index_path = self.dir.history_index();
        let oldest = self.entry(last).map_err(SpoolError::io("read", &index_path))?.oldest;
        let is_over = (seq.0 + 1..=last).contains(&oldest);
        Ok(match mark {
            // A number that was never used has an entry of zeros.
            RecordMark::Accepted => *entry != IndexEntry::default(),
            RecordMark::Started => is_over && entry.position(mark).is_some(),
            RecordMark::Finished => is_over,
        })
    }

    fn entry(&self, seq: u64) -> io::Result<IndexEntry> {
        match &self.index {
            IndexSource::File(index) => index.entry(seq),
            IndexSource::Built(entries) => {
                let number = seq.checked_sub(1).and_then(|i| i.checked_sub(self.dropped.base()));
                let i = number.and_then(|i| usize::try_from(i).ok());
                Ok(i.and_then(|i| entries.get(i)).copied().unwrap_or_default())
            }
        }
    }
}

/// The index file if it covers the last records, as it does while a host lives: the host writes entries
/// first. With `built` the index is made from the history, whatever file there is: the files change too fast
/// to open two that belong together.
fn open_index(
    dir: &SessionDir,
    file: &File,
    dropped: Dropped,
    built: bool,
) -> Result<IndexSource, SpoolError> {
    let (path, index_path) = (dir.history(), dir.history_index());
    let len = whole_len(file).map_err(SpoolError::io("read", &path))?;
    match Index::open(&index_path, false, dropped.base()) {
        Ok(_) if built => {}
        Ok(index) => {
            let tail = read_tail(file, len, Some(&index)).map_err(SpoolError::io("read", &path))?;
            let fits = index.fits(len).map_err(SpoolError::io("read", &index_path))?;
            if tail.index_agrees && fits {
                return Ok(IndexSource::File(index));
            }
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(SpoolError::io("open", &index_path)(error)),
    }
    index::build(file, len, dropped).map(IndexSource::Built).map_err(SpoolError::io("read", &path))
}
