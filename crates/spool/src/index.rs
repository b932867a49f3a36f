//! `history.idx`: where an eval's records are, 32 bytes for each eval number.
//!
//! Four u64 little endian: the positions in `history.jsonl` of its accepted, started and finished
//! record, each plus one so that 0 means none, and the oldest eval that was unfinished when this
//! one was accepted. By the last field a reader knows how far back unfinished evals can be.
//! An entry is written before its record, so each whole record has its entry; an entry that points
//! past the end of the history belongs to a record that was never written. For the same reason the
//! entry of an eval that starts can say where its outcome will stand: right behind the start. If another
//! record is to come first, the entry is corrected before that record is written.
//!
//! Evals at the front whose records were dropped take no room: the history's first line says with
//! which eval the index begins (`dropped.rs`).

use std::collections::BTreeSet;
use std::fs::{File, OpenOptions};
use std::io::{self, BufReader, Seek, SeekFrom};
use std::path::Path;

use serde::Deserialize;

use crate::disk;
use crate::dropped::Dropped;
use crate::index_changes::EntryChange;
use crate::lines::{read_at, read_line};

pub(crate) const ENTRY: u64 = 32;
/// A number that is further past the last one than this is damage, not an eval.
pub(crate) const LARGEST_GAP: u64 = 1 << 20;
/// No record of an accepted eval has fewer bytes.
const SHORTEST_RECORD: u64 = 32;

/// Which record of an eval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RecordMark {
    Accepted,
    Started,
    Finished,
}

/// Where the records of one eval are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct IndexEntry {
    fields: [u64; 3],
    pub(crate) oldest: u64,
}

impl IndexEntry {
    /// An entry without records.
    pub(crate) fn new(oldest: u64) -> Self {
        IndexEntry { fields: [0; 3], oldest }
    }

    /// The position of a record.
    pub(crate) fn position(&self, mark: RecordMark) -> Option<u64> {
        self.fields[mark as usize].checked_sub(1)
    }

    pub(crate) fn set(&mut self, mark: RecordMark, pos: Option<u64>) {
        self.fields[mark as usize] = pos.map_or(0, |pos| pos + 1);
    }

    pub(crate) fn encode(&self) -> [u8; ENTRY as usize] {
        let [a, s, f] = self.fields;
        let mut bytes = [0; ENTRY as usize];
        for (to, field) in bytes.chunks_exact_mut(8).zip([a, s, f, self.oldest]) {
            to.copy_from_slice(&field.to_le_bytes());
        }
        bytes
    }

    pub(crate) fn decode(bytes: &[u8; ENTRY as usize]) -> Self {
        let field = |i: usize| {
            let mut field = [0; 8];
            field.copy_from_slice(&bytes[i * 8..i * 8 + 8]);
            u64::from_le_bytes(field)
        };
        IndexEntry { fields: [field(0), field(1), field(2)], oldest: field(3) }
    }
}

/// The index file.
#[derive(Debug)]
pub(crate) struct Index {
    file: File,
    /// How many evals at the front have no entry.
    base: u64,
}

impl Index {
    /// `base` evals at the front have no entry.
    pub(crate) fn open(path: &Path, write: bool, base: u64) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        let file = stead_files::open_with(options.read(true).write(write).create(write), path)?;
        Ok(Index { file, base })
    }

    pub(crate) fn base(&self) -> u64 {
        self.base
    }

    /// The last eval that has a whole entry.
    pub(crate) fn count(&self) -> io::Result<u64> {
        Ok(self.base.saturating_add(self.file.metadata()?.len() / ENTRY))
    }

    /// Whether this can be the index of a history of `len` bytes. An index with more entries than the history
    /// can have records is damaged and not searched for its last entry.
    pub(crate) fn fits(&self, len: u64) -> io::Result<bool> {
        Ok(self.count()? - self.base <= len / SHORTEST_RECORD + LARGEST_GAP)
    }

    /// The entry of an eval; all zero where none was written.
    pub(crate) fn entry(&self, eval: u64) -> io::Result<IndexEntry> {
        let mut bytes = [0; ENTRY as usize];
        let Some(at) = self.at(eval) else { return Ok(IndexEntry::default()) };
        // Half an entry counts as none.
        let whole = read_at(&self.file, &mut bytes, at)? == bytes.len();
        Ok(if whole { IndexEntry::decode(&bytes) } else { IndexEntry::default() })
    }

    pub(crate) fn write(&self, eval: u64, change: &EntryChange) -> io::Result<()> {
        let entry = change.entry.encode();
        let (from, to) = change.bytes();
        let at = self.at(eval).ok_or(io::ErrorKind::InvalidInput)? + from as u64;
        disk::write_all_at(&self.file, &entry[from..to], at)
    }

    /// Sets one field; the others need not be known.
    pub(crate) fn mark(&self, eval: u64, mark: RecordMark, pos: Option<u64>) -> io::Result<()> {
        let at = self.at(eval).ok_or(io::ErrorKind::InvalidInput)? + mark as u64 * 8;
        disk::write_all_at(&self.file, &pos.map_or(0, |pos| pos + 1).to_le_bytes(), at)
    }

    /// Forgets all evals after the first `count`.
    pub(crate) fn truncate(&self, count: u64) -> io::Result<()> {
        let len = count.saturating_sub(self.base) * ENTRY;
        // Even a truncation that changes nothing can make the file system write out the file.
        match self.file.metadata()?.len() == len {
            true => Ok(()),
            false => disk::set_len(&self.file, len),
        }
    }

    /// The entries of the evals `from..=to`, in one piece.
    pub(crate) fn entries(&self, from: u64, to: u64) -> io::Result<Vec<IndexEntry>> {
        let (Some(start), Some(end)) = (self.at(from), self.at(to.saturating_add(1))) else {
            return Err(io::ErrorKind::InvalidInput.into());
        };
        let mut bytes = vec![0; end.saturating_sub(start) as usize];
        read_at(&self.file, &mut bytes, start)?;
        Ok(bytes.as_chunks().0.iter().map(IndexEntry::decode).collect())
    }

    fn at(&self, eval: u64) -> Option<u64> {
        let number = eval.checked_sub(1)?.checked_sub(self.base)?;
        number.checked_mul(ENTRY).filter(|at| *at <= i64::MAX as u64 - ENTRY)
    }

    /// Writes all entries anew, in place: readers that have the file open see the new ones.
    pub(crate) fn replace(&self, entries: &[IndexEntry]) -> io::Result<()> {
        // The last entries are written last, so a rebuild that was killed halfway does not fit the history
        // and is done again.
        disk::set_len(&self.file, 0)?;
        let mut bytes = Vec::with_capacity(1 << 16);
        let mut pos = 0;
        for part in entries.chunks(2048) {
            bytes.clear();
            part.iter().for_each(|entry| bytes.extend_from_slice(&entry.encode()));
            disk::write_all_at(&self.file, &bytes, pos)?;
            pos += bytes.len() as u64;
        }
        Ok(())
    }
}

/// As much of a history line as the index needs.
#[derive(Debug, Deserialize)]
pub(crate) struct Peek<'a> {
    #[serde(borrow)]
    t: std::borrow::Cow<'a, str>,
    #[serde(default)]
    eval: Option<u64>,
}

impl Peek<'_> {
    /// Which record of which eval this is, if it is one.
    pub(crate) fn mark(&self) -> Option<(u64, RecordMark)> {
        let mark = match &*self.t {
            "accepted" => RecordMark::Accepted,
            "started" => RecordMark::Started,
            "finished" => RecordMark::Finished,
            _ => return None,
        };
        Some((self.eval?, mark))
    }
}

/// Reads a whole history; lines that are no records are passed over. The first entry is that of the first eval
/// which was not dropped.
pub(crate) fn build(mut history: &File, len: u64, dropped: Dropped) -> io::Result<Vec<IndexEntry>> {
    let base = dropped.base();
    let mut entries: Vec<IndexEntry> = Vec::new();
    let mut open = BTreeSet::new();
    let mut pos = 0;
    let mut line = Vec::new();
    history.seek(SeekFrom::Start(0))?;
    let mut lines = BufReader::with_capacity(1 << 16, history);
    while pos < len {
        line.clear();
        let n = read_line(&mut lines, &mut line)? as u64;
        if n == 0 {
            break;
        }
        let peek = serde_json::from_slice::<Peek>(&line).ok();
        let known = (base + entries.len() as u64).max(dropped.before);
        let fits =
            |&(eval, _): &(u64, RecordMark)| eval > base && eval - LARGEST_GAP.min(eval) <= known;
        if let Some((eval, mark)) = peek.and_then(|peek| peek.mark()).filter(fits) {
            let i = (eval - 1 - base) as usize;
            if mark == RecordMark::Accepted && i >= entries.len() {
                open.insert(eval);
                entries.resize(i + 1, IndexEntry::default());
                entries[i].oldest = open.first().copied().unwrap_or(eval);
            }
            // The first record of each kind counts; an eval has one outcome.
            let is_new = |e: &&mut IndexEntry| {
                e.position(mark).is_none()
                    && (mark == RecordMark::Accepted || e.position(RecordMark::Accepted).is_some())
            };
            if let Some(entry) = entries.get_mut(i).filter(is_new) {
                entry.set(mark, Some(pos));
            }
            if mark == RecordMark::Finished {
                open.remove(&eval);
            }
        }
        pos += n;
    }
    Ok(entries)
}
