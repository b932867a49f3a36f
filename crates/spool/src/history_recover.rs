//! Finds out where the last host stood, from the last records of a history.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io;

use stead_protocol::{EndReason, EvalSeq, Generation, Offset};

use crate::SpoolError;
use crate::disk;
use crate::dropped::{self, Dropped};
use crate::facts::HistoryFacts;
use crate::history_record::HistoryRecord;
use crate::index::{self, Index, RecordMark};
use crate::keys;
use crate::layout::SessionDir;
use crate::lines::{LinesBack, line_at, whole_len};
use crate::trim;

/// Most lines that are read in search of the last accepted eval. A full queue that ends with its interpreter
/// writes fewer.
const LOOK_BACK: usize = 256;

/// Where the last host stood.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recovered {
    /// The last interpreter that was opened; 0 if there was none.
    pub generation: Generation,
    /// The number of the next eval.
    pub next_eval: EvalSeq,
    /// How many of the evals before it are other work than code.
    pub others: u64,
    /// Evals without an outcome, oldest first; with generation and start if they ran.
    pub unfinished: Vec<(EvalSeq, Option<(Generation, Offset)>)>,
    /// How that interpreter ended and whether a client was told. `None` with a generation above 0 means that
    /// its host was killed.
    pub last_end: Option<(EndReason, bool)>,
    /// Bytes of a half written line that were cut off.
    pub cut_bytes: u64,
}

pub(crate) struct Opened {
    pub(crate) len: u64,
    pub(crate) facts: HistoryFacts,
    pub(crate) dropped: Dropped,
    pub(crate) recovered: Recovered,
}

/// Opens the files and makes them whole.
pub(crate) fn recover(dir: &SessionDir) -> Result<(File, Index, Opened), SpoolError> {
    let (path, index_path) = (dir.history(), dir.history_index());
    let mut options = OpenOptions::new();
    let file = stead_files::open_with(options.read(true).write(true).create(true), &path)
        .map_err(SpoolError::io("open", &path))?;
    if file.metadata().is_ok_and(|meta| meta.len() == 0) {
        keys::create(&dir.keys()).map_err(SpoolError::io("open", &dir.keys()))?;
    }
    let (len, cut_bytes) = cut_tail(&file).map_err(SpoolError::io("read", &path))?;
    // A host that was killed in the middle of a trim left its new files.
    trim::clean(dir);
    let dropped = dropped::read(&file).map_err(SpoolError::io("read", &path))?;
    let index = Index::open(&index_path, true, dropped.base())
        .map_err(SpoolError::io("open", &index_path))?;

    let tail = read_tail(&file, len, Some(&index)).map_err(SpoolError::io("read", &path))?;
    let mut facts = None;
    if tail.index_agrees
        && index.fits(len).map_err(SpoolError::io("read", &index_path))?
        && !lacks_evals(&file, len, &index).map_err(SpoolError::io("read", &path))?
    {
        facts =
            read_facts(&file, len, &index, dropped).map_err(SpoolError::io("read", &index_path))?;
    }
    if facts.is_none() {
        let entries = index::build(&file, len, dropped).map_err(SpoolError::io("read", &path))?;
        index.replace(&entries).map_err(SpoolError::io("write", &index_path))?;
        facts =
            read_facts(&file, len, &index, dropped).map_err(SpoolError::io("read", &index_path))?;
    }
    let facts =
        facts.ok_or_else(|| SpoolError::corrupt(&path, 0, "its records contradict each other"))?;
    let recovered = Recovered {
        generation: tail.generation,
        next_eval: facts.next_eval,
        others: read_others(&file, &index, facts.next_eval)
            .map_err(SpoolError::io("read", &path))?,
        unfinished: facts.open.iter().map(|(eval, start)| (*eval, *start)).collect(),
        last_end: tail.last_end,
        cut_bytes,
    };
    Ok((file, index, Opened { len, facts, dropped, recovered }))
}

/// How many evals were other work than code, as the last accepted eval's record says; 0 if that record was
/// dropped or damaged.
fn read_others(file: &File, index: &Index, next: EvalSeq) -> io::Result<u64> {
    #[derive(serde::Deserialize)]
    struct OtherFields {
        #[serde(default)]
        others: u64,
    }
    let last = next.0.saturating_sub(1);
    if last <= index.base() {
        return Ok(0);
    }
    let Some(pos) = index.entry(last)?.position(RecordMark::Accepted) else { return Ok(0) };
    let line = line_at(file, pos)?.unwrap_or_default();
    Ok(serde_json::from_slice::<OtherFields>(&line).map_or(0, |read| read.others))
}

fn cut_tail(file: &File) -> io::Result<(u64, u64)> {
    let len = whole_len(file)?;
    let cut = file.metadata()?.len() - len;
    if cut > 0 {
        disk::set_len(file, len)?;
    }
    Ok((len, cut))
}

/// What the last records tell about the last interpreter.
#[derive(Debug)]
pub(crate) struct HistoryTail {
    pub(crate) generation: Generation,
    pub(crate) last_end: Option<(EndReason, bool)>,
    /// The position of the record that tells it.
    pub(crate) at: Option<u64>,
    /// The index has the records that were looked at.
    pub(crate) index_agrees: bool,
}

/// Reads backwards until it is certain which interpreter was the last and how it ended.
///
/// An eval that started proves both, so this does not go back to where the interpreter was opened.
pub(crate) fn read_tail(file: &File, len: u64, index: Option<&Index>) -> io::Result<HistoryTail> {
    let mut tail =
        HistoryTail { generation: Generation(0), last_end: None, at: None, index_agrees: true };
    let mut lines = LinesBack::new(file, len);
    let mut reported = Vec::new();
    let (mut certain, mut compared, mut looked) = (false, index.is_none(), 0);
    while !(certain && (compared || looked >= LOOK_BACK)) {
        let Some((pos, line)) = lines.next_line()? else { break };
        looked += 1;
        // A damaged line is no reason to lose the session; readers of its eval are told.
        let Ok(record) = serde_json::from_slice::<HistoryRecord>(line) else { continue };
        if let (Some((eval, mark)), Some(index)) = (record.mark(), index) {
            compared |= mark == RecordMark::Accepted;
            tail.index_agrees &= index.entry(eval.0)?.position(mark) == Some(pos);
        }
        if certain {
            continue;
        }
        match record {
            HistoryRecord::Opened { generation, .. }
            | HistoryRecord::Started { generation, .. } => {
                tail.generation = generation;
                tail.at = Some(pos);
                certain = true;
            }
            HistoryRecord::Ended { generation, reason, reported: told, .. } => {
                tail.generation = generation;
                tail.last_end = Some((reason, told || reported.contains(&generation)));
                tail.at = Some(pos);
                certain = true;
            }
            HistoryRecord::Reported { generation, .. } => reported.push(generation),
            HistoryRecord::Accepted { .. }
            | HistoryRecord::Finished { .. }
            | HistoryRecord::Dropped { .. }
            | HistoryRecord::Unknown => {}
        }
    }
    Ok(tail)
}

/// Drops entries of records that were never written and finds the evals without an outcome.
///
/// `None` if the index cannot be right.
fn read_facts(
    file: &File,
    len: u64,
    index: &Index,
    dropped: Dropped,
) -> io::Result<Option<HistoryFacts>> {
    let is_written = |pos: &u64| *pos < len;
    let mut last = index.count()?;
    while last > index.base()
        && index.entry(last)?.position(RecordMark::Accepted).is_none_or(|pos| pos >= len)
    {
        last -= 1;
    }
    index.truncate(last)?;
    // The number of a dropped eval is never used again.
    let next_eval = EvalSeq((last + 1).max(dropped.before));
    let mut facts = HistoryFacts { next_eval, open: BTreeMap::new() };
    if last == index.base() {
        return Ok(Some(facts));
    }
    let oldest = index.entry(last)?.oldest;
    if !(1..=last).contains(&oldest) {
        return Ok(None);
    }
    for eval in oldest.max(index.base() + 1)..=last {
        let entry = index.entry(eval)?;
        for mark in [RecordMark::Started, RecordMark::Finished] {
            if entry.position(mark).is_some_and(|pos| !is_written(&pos)) {
                index.mark(eval, mark, None)?;
            }
        }
        let position = |mark| entry.position(mark).filter(is_written);
        if position(RecordMark::Accepted).is_none() || position(RecordMark::Finished).is_some() {
            continue;
        }
        let started = match position(RecordMark::Started) {
            None => None,
            Some(pos) => match read_started(file, pos, eval)? {
                Some(started) => Some(started),
                None => return Ok(None),
            },
        };
        facts.open.insert(EvalSeq(eval), started);
    }
    Ok(Some(facts))
}

/// Whether the index is empty and the history has evals, which the last records need not show.
fn lacks_evals(file: &File, len: u64, index: &Index) -> io::Result<bool> {
    if index.count()? > index.base() {
        return Ok(false);
    }
    let mut lines = LinesBack::new(file, len);
    while let Some((_, line)) = lines.next_line()? {
        let peek = serde_json::from_slice::<index::Peek>(line).ok();
        if peek.and_then(|peek| peek.mark()).is_some_and(|(_, mark)| mark == RecordMark::Accepted) {
            return Ok(true);
        }
    }
    Ok(false)
}

fn read_started(file: &File, pos: u64, eval: u64) -> io::Result<Option<(Generation, Offset)>> {
    let Some(line) = line_at(file, pos)? else { return Ok(None) };
    Ok(match serde_json::from_slice(&line) {
        Ok(HistoryRecord::Started { eval: of, generation, start, .. }) if of.0 == eval => {
            Some((generation, start))
        }
        _ => None,
    })
}
