//! The history of a session: what it was asked to run and what came of it.

use std::fs::File;
use std::io;
use std::path::Path;

use rustix::io::Errno;
use stead_protocol::EvalSeq;

use crate::SpoolError;
use crate::disk;
use crate::dropped::Dropped;
use crate::facts::{Before, HistoryFacts};
use crate::history_record::HistoryRecord;
use crate::history_recover::{Recovered, recover};
use crate::index::{ENTRY, Index, RecordMark};
use crate::index_changes::PendingChanges;
use crate::keys::Keys;
use crate::layout::{SessionDir, has_name};
use crate::lines::line_at;
use crate::trim::{self, Old};

/// Room that is reserved with each accepted eval for the records which must follow: its start, its outcome,
/// the interpreter's end.
const LAST_WORDS: u64 = 8 << 10;
/// How much more each eval that has no outcome yet needs: all that wait in a queue may have to be recorded as not run.
const EACH_LAST_WORDS: u64 = 1 << 10;
/// How much is reserved on top, so that not every append has to ask the disk.
const RESERVE: u64 = 8 << 10;

/// A larger buffer than this is given back after use.
const KEEP_BUFFER: usize = 64 << 10;

/// The writer of a session's history; a session has one, the host.
#[derive(Debug)]
pub struct History {
    dir: SessionDir,
    file: File,
    /// The end of the last whole line.
    len: u64,
    index: Index,
    facts: HistoryFacts,
    keys: Keys,
    /// The lines of the append at hand.
    buffer: Vec<u8>,
    /// The running eval: its entry says already that its outcome will stand at `len`.
    expected: Option<EvalSeq>,
    /// What a failed append left behind and could not take back yet.
    leftover: Leftover,
    /// The disk has promised room up to this position.
    reserved: u64,
    /// Which evals were dropped.
    dropped: Dropped,
    /// The eval whose outcome was recorded last.
    last_ended: Option<EvalSeq>,
    /// After the disk refused a trim, the next one is tried when this many bytes are used.
    trim_from: u64,
    /// Set when a trim found nothing to drop: the eval that had ended last by then. Until another eval ends,
    /// there is nothing to drop.
    trim_vain: Option<Option<EvalSeq>>,
}

#[derive(Debug, Default)]
struct Leftover {
    torn: bool,
    marks: Vec<(EvalSeq, RecordMark)>,
}

impl History {
    /// Opens a session's history, cuts a half written line and says where the last host stood.
    ///
    /// Reads the last records only, however long the history is.
    pub fn open(dir: &Path) -> Result<(History, Recovered), SpoolError> {
        let dir = SessionDir::new(dir);
        let (file, index, state) = recover(&dir)?;
        let history = History {
            file,
            len: state.len,
            index,
            facts: state.facts,
            keys: Keys::new(dir.keys()),
            dir,
            buffer: Vec::new(),
            expected: None,
            leftover: Leftover::default(),
            reserved: 0,
            dropped: state.dropped,
            last_ended: None,
            trim_from: 0,
            trim_vain: None,
        };
        Ok((history, state.recovered))
    }

    /// Adds a record. After an error nothing of it is in the history.
    pub fn append(&mut self, record: &HistoryRecord) -> Result<(), SpoolError> {
        self.append_all(std::slice::from_ref(record))
    }

    /// Adds records with one write. After an error none of them is in the history.
    pub fn append_all(&mut self, records: &[HistoryRecord]) -> Result<(), SpoolError> {
        self.settle()?;
        let mut before = Vec::with_capacity(records.len());
        let added = self.add(records, &mut before);
        if added.is_err() {
            before.into_iter().rev().for_each(|before| self.facts.restore(before));
        } else {
            let ended = records.iter().rev().filter_map(HistoryRecord::mark);
            let ended =
                ended.filter(|(_, mark)| *mark == RecordMark::Finished).map(|(eval, _)| eval);
            self.last_ended = ended.into_iter().next().or(self.last_ended);
        }
        if self.buffer.capacity() > KEEP_BUFFER {
            self.buffer = Vec::new();
        }
        added
    }

    fn add(
        &mut self,
        records: &[HistoryRecord],
        before: &mut Vec<Before>,
    ) -> Result<(), SpoolError> {
        let mut entries = PendingChanges::default();
        self.buffer.clear();
        for record in records {
            let pos = self.len + self.buffer.len() as u64;
            before.push(self.facts.apply(record).map_err(|(eval, what)| {
                SpoolError::OutOfOrder { path: self.dir.history(), eval, what }
            })?);
            if let Some((eval, mark)) = record.mark() {
                let oldest = self.facts.open.first_key_value().map_or(eval, |(oldest, _)| *oldest);
                entries.add(eval, mark, pos, oldest);
            }
            serde_json::to_writer(&mut self.buffer, record)
                .map_err(|error| SpoolError::io("write", &self.dir.history())(error))?;
            self.buffer.push(b'\n');
        }
        // An eval that is accepted now must get an outcome, also if its own code fills the disk.
        if records.iter().any(|record| {
            matches!(record, HistoryRecord::Accepted { .. } | HistoryRecord::Opened { .. })
        }) {
            self.reserve()?;
        }
        self.add_keys(records)?;
        self.write(entries)
    }

    /// Makes sure that there is room for the append at hand and for the later records of its evals.
    fn reserve(&mut self) -> Result<(), SpoolError> {
        let needed = self.len + self.buffer.len() as u64 + self.last_words();
        if needed > self.reserved {
            // The disk reserves room beyond the file size limit too, and then refuses to write there.
            let most = disk::largest_file();
            if needed > most {
                let too_large = io::Error::from(Errno::FBIG);
                return Err(SpoolError::io("reserve room in", &self.dir.history())(too_large));
            }
            let end = (needed + RESERVE).min(most);
            disk::reserve(&self.file, self.len, end - self.len)
                .map_err(SpoolError::io("reserve room in", &self.dir.history()))?;
            self.reserved = end;
        }
        Ok(())
    }

    /// Room for the records that must follow those that are there.
    fn last_words(&self) -> u64 {
        LAST_WORDS + self.facts.open.len() as u64 * EACH_LAST_WORDS
    }

    /// Whether this eval's records were dropped to make room.
    pub fn is_gone(&self, eval: EvalSeq) -> bool {
        let is_there =
            || self.index.entry(eval.0).map(|e| e.position(RecordMark::Accepted).is_some());
        (1..self.dropped.before).contains(&eval.0) && !is_there().unwrap_or(false)
    }

    /// How many bytes history, index and keys take.
    pub fn used(&self) -> u64 {
        let evals = self.facts.next_eval.0.saturating_sub(self.dropped.first);
        self.len + evals * ENTRY + self.keys.size()
    }

    /// Drops the oldest ended evals if more than `quota` bytes are used; whether any went. After an error all are
    /// there, and the next try is when some more is used.
    pub fn trim(&mut self, quota: u64) -> Result<bool, SpoolError> {
        let used = self.used();
        if used <= quota.max(self.trim_from) || self.trim_vain == Some(self.last_ended) {
            return Ok(false);
        }
        let trimmed = self.try_trim(quota);
        self.trim_from = 0;
        self.trim_vain = matches!(trimmed, Ok(false)).then_some(self.last_ended);
        if trimmed.is_err() {
            self.trim_from = used + quota / 16;
            trim::clean(&self.dir);
        }
        trimmed
    }

    fn try_trim(&mut self, quota: u64) -> Result<bool, SpoolError> {
        self.settle()?;
        let path = self.dir.history();
        // More is dropped than has to be, so that the cost of copying the history is shared by many evals.
        let most_keys = quota / 4;
        let target = (quota / 4 * 3).saturating_sub(self.keys.size().min(most_keys));
        let old = Old {
            file: &self.file,
            len: self.len,
            index: &self.index,
            dropped: self.dropped,
            facts: &self.facts,
            last_ended: self.last_ended.map(|eval| eval.0),
        };
        let planned = trim::plan(&old, target, quota).map_err(SpoolError::io("read", &path))?;
        let Some(plan) = planned else { return Ok(false) };
        self.keys.trim(&self.file, most_keys, |line| trim::owner(&old, &plan, line))?;
        let (head, middle) = plan.own_lines().map_err(SpoolError::io("write", &path))?;
        let new = trim::write(&self.dir, &old, &plan, &head, &middle)
            .map_err(SpoolError::io("write", &path))?;
        // Unfinished evals keep the room that was reserved for their records.
        let reserved = self.last_words() + RESERVE;
        disk::reserve(&new.file, new.len, reserved)
            .map_err(SpoolError::io("reserve room in", &path))?;
        trim::swap(&self.dir).map_err(SpoolError::io("replace", &path))?;
        (self.file, self.len, self.dropped) = (new.file, new.len, plan.dropped);
        (self.index, self.reserved) = (new.index, new.len + reserved);
        // Entries of the new index make no promise about where an outcome will stand.
        self.expected = None;
        Ok(true)
    }

    /// Gives back the room that was reserved and is not needed any more.
    pub fn close(&mut self) {
        if self.reserved > 0 && !self.leftover.torn {
            self.reserved = 0;
            // Room that stays reserved is of no use to others until the next host closes the history.
            let _ = disk::set_len(&self.file, self.len);
        }
    }

    /// The eval that was accepted with this key.
    ///
    /// An unreadable keys file gives none here and an error when the key is to be recorded, so a
    /// key never runs twice.
    pub fn key(&mut self, key: &str) -> Option<EvalSeq> {
        self.key_owner(key).ok().flatten()
    }

    /// Whether the history still has a name in its directory, so that others can read it.
    pub fn look(&self) -> bool {
        has_name(&self.file)
    }

    fn add_keys(&mut self, records: &[HistoryRecord]) -> Result<(), SpoolError> {
        for record in records {
            let HistoryRecord::Accepted { eval, key: Some(key), .. } = record else { continue };
            let here = records.iter().find_map(|earlier| match earlier {
                HistoryRecord::Accepted { eval: of, key: Some(k), .. } if k == key => Some(*of),
                _ => None,
            });
            let owner = self.key_owner(key)?.or(here.filter(|of| of != eval));
            if let Some(eval) = owner {
                return Err(SpoolError::KeyUsed { path: self.dir.keys(), eval });
            }
            self.keys.add(key, *eval, &self.file)?;
        }
        Ok(())
    }

    fn key_owner(&mut self, key: &str) -> Result<Option<EvalSeq>, SpoolError> {
        let Some(eval) = self.keys.find(key, &self.file)? else { return Ok(None) };
        let path = self.dir.history();
        if eval >= self.facts.next_eval {
            return Ok(None);
        }
        let read = || -> io::Result<Option<Vec<u8>>> {
            match self.index.entry(eval.0)?.position(RecordMark::Accepted) {
                Some(pos) => line_at(&self.file, pos),
                None => Ok(None),
            }
        };
        // The key of a dropped eval was compared with the eval's record before that was dropped.
        if self.is_gone(eval) {
            return Ok(Some(eval));
        }
        let Some(line) = read().map_err(SpoolError::io("read", &path))? else { return Ok(None) };
        match serde_json::from_slice(&line) {
            Ok(HistoryRecord::Accepted { key: Some(of), .. }) => Ok((of == key).then_some(eval)),
            Ok(_) => Ok(None),
            // An error is better than running code twice.
            Err(_) => Err(SpoolError::corrupt(&path, 0, "the record of this key is not readable")),
        }
    }

    /// Writes the index entries before the lines, so that each whole line has its entry.
    fn write(&mut self, mut entries: PendingChanges) -> Result<(), SpoolError> {
        let end = self.len + self.buffer.len() as u64;
        let expected = entries.expect_outcome(end);
        let written = self.write_index(&mut entries).and_then(|()| self.write_lines());
        match written {
            Ok(()) => {
                self.len = end;
                self.expected = expected;
                self.leftover.torn = false;
                self.leftover.marks.clear();
            }
            // If this fails, the next append tries it again before it writes.
            Err(_) => drop(self.settle()),
        }
        written
    }

    fn write_index(&mut self, entries: &mut PendingChanges) -> Result<(), SpoolError> {
        self.keep_promise(entries)?;
        for (eval, change) in &entries.changes {
            self.leftover.marks.extend(change.marks().map(|mark| (*eval, mark)));
            self.index
                .write(eval.0, change)
                .map_err(|error| SpoolError::io("write", &self.dir.history_index())(error))?;
        }
        Ok(())
    }

    fn write_lines(&mut self) -> Result<(), SpoolError> {
        self.leftover.torn = true;
        disk::write_all_at(&self.file, &self.buffer, self.len)
            .map_err(|error| SpoolError::io("write", &self.dir.history())(error))
    }

    /// The running eval's entry says that its outcome stands at the end of the history. If this append begins
    /// with that outcome, the entry is right; if not, the entry must be corrected before anything is written
    /// there.
    fn keep_promise(&mut self, entries: &mut PendingChanges) -> Result<(), SpoolError> {
        let Some(eval) = self.expected.take() else { return Ok(()) };
        // The entry is corrected also if this append fails.
        self.leftover.marks.push((eval, RecordMark::Finished));
        if entries.drop_expected(eval, self.len) {
            return Ok(());
        }
        let path = self.dir.history_index();
        self.index.mark(eval.0, RecordMark::Finished, None).map_err(SpoolError::io("write", &path))
    }

    /// Removes what a failed append left in the files.
    fn settle(&mut self) -> Result<(), SpoolError> {
        if self.leftover.torn {
            let path = self.dir.history();
            // Truncating the file gives its reserved room back as well.
            self.reserved = 0;
            disk::set_len(&self.file, self.len).map_err(SpoolError::io("truncate", &path))?;
            self.leftover.torn = false;
        }
        while let Some(&(eval, mark)) = self.leftover.marks.last() {
            let path = self.dir.history_index();
            // An entry past the end of the index was never written. Writing zeros there would itself need
            // room on the disk.
            if eval.0 <= self.index.count().map_err(SpoolError::io("read", &path))? {
                self.index.mark(eval.0, mark, None).map_err(SpoolError::io("write", &path))?;
            }
            self.leftover.marks.pop();
        }
        Ok(())
    }
}
