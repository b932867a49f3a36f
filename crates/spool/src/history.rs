//! The history of a session: what it was asked to run and what came of it.

use std::fs::File;
use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};
use stead_protocol::{EndReason, EvalSeq, Finished, Generation, Offset};

use crate::SpoolError;
use crate::disk;
use crate::facts::{Before, Facts};
use crate::history_recover::{Recovered, recover};
use crate::index::{Index, Mark};
use crate::index_changes::Pending;
use crate::keys::Keys;
use crate::layout::{SessionDir, has_name};
use crate::lines::line_at;

/// Room that is kept for the records which follow when code was taken in: its start, its outcome, an end.
const LAST_WORDS: u64 = 8 << 10;
/// How much is reserved on top, so that this is not asked for each time.
const RESERVE: u64 = 8 << 10;

/// A larger buffer than this is given back after use.
const KEEP_BUFFER: usize = 64 << 10;

/// One line of `history.jsonl`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "t", rename_all = "snake_case")]
pub enum HistoryRecord {
    /// An interpreter was started.
    Opened {
        /// Which one.
        generation: Generation,
        /// When, in milliseconds since 1970.
        at_ms: u64,
        /// The host's process.
        host_pid: u32,
        /// The boot in which that pid means something.
        boot_id: String,
    },
    /// An eval was taken in.
    Accepted {
        /// Its number.
        eval: EvalSeq,
        /// When.
        at_ms: u64,
        /// Who sent it.
        by: String,
        /// What to run.
        code: String,
        /// The client's key.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        key: Option<String>,
        /// The mark by which its client knows it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        token: Option<u64>,
    },
    /// An eval began to run.
    Started {
        /// Its number.
        eval: EvalSeq,
        /// The interpreter.
        generation: Generation,
        /// When.
        at_ms: u64,
        /// Where its output begins.
        start: Offset,
    },
    /// An eval has its outcome.
    Finished {
        /// Its number.
        eval: EvalSeq,
        /// When.
        at_ms: u64,
        /// The outcome.
        finished: Finished,
    },
    /// An interpreter came to its end.
    Ended {
        /// Which one.
        generation: Generation,
        /// When.
        at_ms: u64,
        /// How.
        reason: EndReason,
        /// Someone has been told already.
        reported: bool,
    },
    /// Someone has been told how an interpreter ended.
    Reported {
        /// Which one.
        generation: Generation,
        /// When.
        at_ms: u64,
    },
    /// A record of a newer version.
    #[serde(other)]
    Unknown,
}

impl HistoryRecord {
    /// Which record of which eval this is, if it is one.
    pub(crate) fn mark(&self) -> Option<(EvalSeq, Mark)> {
        match self {
            HistoryRecord::Accepted { eval, .. } => Some((*eval, Mark::Accepted)),
            HistoryRecord::Started { eval, .. } => Some((*eval, Mark::Started)),
            HistoryRecord::Finished { eval, .. } => Some((*eval, Mark::Finished)),
            HistoryRecord::Opened { .. }
            | HistoryRecord::Ended { .. }
            | HistoryRecord::Reported { .. }
            | HistoryRecord::Unknown => None,
        }
    }
}

/// The writer of a session's history; a session has one, the host.
#[derive(Debug)]
pub struct History {
    dir: SessionDir,
    file: File,
    /// The end of the last whole line.
    len: u64,
    index: Index,
    facts: Facts,
    keys: Keys,
    /// The lines of the append at hand.
    buffer: Vec<u8>,
    /// The running eval: its entry says already that its outcome will stand at `len`.
    expected: Option<EvalSeq>,
    /// What a failed append left behind and could not take back yet.
    leftover: Leftover,
    /// Up to here the disk has promised room.
    reserved: u64,
}

#[derive(Debug, Default)]
struct Leftover {
    torn: bool,
    marks: Vec<(EvalSeq, Mark)>,
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
        let mut entries = Pending::default();
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
        // What is taken in now has to get an outcome, also if its code fills the disk.
        if records.iter().any(|record| {
            matches!(record, HistoryRecord::Accepted { .. } | HistoryRecord::Opened { .. })
        }) {
            self.reserve()?;
        }
        self.add_keys(records)?;
        self.write(entries)
    }

    /// Makes sure that the append at hand, and what its evals will have to say, can be written.
    fn reserve(&mut self) -> Result<(), SpoolError> {
        let needed = self.len + self.buffer.len() as u64 + LAST_WORDS;
        if needed > self.reserved {
            let end = needed + RESERVE;
            disk::reserve(&self.file, self.len, end - self.len)
                .map_err(SpoolError::io("reserve room in", &self.dir.history()))?;
            self.reserved = end;
        }
        Ok(())
    }

    /// Gives back the room that was reserved and is not needed any more.
    pub fn close(&mut self) {
        if self.reserved > 0 && !self.leftover.torn {
            self.reserved = 0;
            // What stays reserved is lost to others until the next host has left.
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
            match self.index.entry(eval.0)?.position(Mark::Accepted) {
                Some(pos) => line_at(&self.file, pos),
                None => Ok(None),
            }
        };
        let Some(line) = read().map_err(SpoolError::io("read", &path))? else { return Ok(None) };
        match serde_json::from_slice(&line) {
            Ok(HistoryRecord::Accepted { key: Some(of), .. }) => Ok((of == key).then_some(eval)),
            Ok(_) => Ok(None),
            // Better an error than to run it again.
            Err(_) => Err(SpoolError::corrupt(&path, 0, "the record of this key is not readable")),
        }
    }

    /// Index entries, then the lines: so each whole line has its entry.
    fn write(&mut self, mut entries: Pending) -> Result<(), SpoolError> {
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
            // What cannot be taken back now is taken back before the next append.
            Err(_) => drop(self.settle()),
        }
        written
    }

    fn write_index(&mut self, entries: &mut Pending) -> Result<(), SpoolError> {
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

    /// Where an outcome was expected and comes, its entry is right; where something else comes, the entry
    /// must not point there.
    fn keep_promise(&mut self, entries: &mut Pending) -> Result<(), SpoolError> {
        let Some(eval) = self.expected.take() else { return Ok(()) };
        // Also if the append fails.
        self.leftover.marks.push((eval, Mark::Finished));
        if entries.drop_expected(eval, self.len) {
            return Ok(());
        }
        let path = self.dir.history_index();
        self.index.mark(eval.0, Mark::Finished, None).map_err(SpoolError::io("write", &path))
    }

    /// Takes back what a failed append left.
    fn settle(&mut self) -> Result<(), SpoolError> {
        if self.leftover.torn {
            let path = self.dir.history();
            // This gives back what was reserved, too.
            self.reserved = 0;
            disk::set_len(&self.file, self.len).map_err(SpoolError::io("truncate", &path))?;
            self.leftover.torn = false;
        }
        while let Some(&(eval, mark)) = self.leftover.marks.last() {
            let path = self.dir.history_index();
            // Writing zeros where an entry could not be written would need room as well.
            if eval.0 <= self.index.count().map_err(SpoolError::io("read", &path))? {
                self.index.mark(eval.0, mark, None).map_err(SpoolError::io("write", &path))?;
            }
            self.leftover.marks.pop();
        }
        Ok(())
    }
}
