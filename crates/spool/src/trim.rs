//! Dropping the oldest ended evals of a history that has become too large (SPEC S-12).
//!
//! The records that stay are copied to a new file, which takes the place of the old one by a rename: a
//! host that is killed leaves the old history or the new one. The index goes out of the way before and
//! comes back after, so that nobody reads one history with the index of the other; a host or a reader that
//! finds none makes its own. A reader that has the old files open goes on in them.
//!
//! Where the records stand is known from the index, so none of them is parsed.

use std::borrow::Cow;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::ops::Range;
use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use serde::Deserialize;

use crate::dropped::Dropped;
use crate::facts::HistoryFacts;
use crate::history_recover::{HistoryTail, read_tail};
use crate::index::{ENTRY, Index, IndexEntry, LARGEST_GAP, Peek, RecordMark};
use crate::keys::{KeyLine, Owner};
use crate::layout::SessionDir;
use crate::lines::{is_line_start, line_at, read_at};
use crate::{HistoryRecord, disk};

const MARKS: [RecordMark; 3] = [RecordMark::Accepted, RecordMark::Started, RecordMark::Finished];
/// How much is copied at once.
const BLOCK: u64 = 1 << 20;

/// A history before it is trimmed.
pub(crate) struct Old<'a> {
    pub(crate) file: &'a File,
    pub(crate) len: u64,
    pub(crate) index: &'a Index,
    pub(crate) dropped: Dropped,
    pub(crate) facts: &'a HistoryFacts,
    /// The eval that ended last: a client that waited for it may still be reading its record.
    pub(crate) last_ended: Option<u64>,
}

/// Which records of an old history stay.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) dropped: Dropped,
    /// Evals before `dropped.before` that stay nevertheless, in order.
    pub(crate) pinned: Vec<u64>,
    /// The lines of the pinned evals, in the order of the old file.
    lines: Vec<Range<u64>>,
    /// The later part of the old file that stays.
    rest: Vec<Range<u64>>,
    /// The last interpreter and how it ended, if no record in `rest` tells.
    pub(crate) tail: Option<HistoryTail>,
    last: u64,
}

impl Plan {
    /// Whether an eval that is there now will be gone.
    pub(crate) fn drops(&self, eval: u64) -> bool {
        eval < self.dropped.before && self.pinned.binary_search(&eval).is_err()
    }

    fn kept(&self) -> u64 {
        self.lines.iter().chain(&self.rest).map(|range| range.end - range.start).sum()
    }

    /// The lines that are written anew: the first line of the new file, and those between the pinned lines
    /// and the rest.
    pub(crate) fn own_lines(&self) -> io::Result<(Vec<u8>, Vec<u8>)> {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let at_ms = u64::try_from(since.as_millis()).unwrap_or(u64::MAX);
        let line = |record: &HistoryRecord| {
            let mut line = serde_json::to_vec(record)?;
            line.push(b'\n');
            io::Result::Ok(line)
        };
        let head = line(&self.dropped.record(at_ms))?;
        let Some(HistoryTail { generation, last_end, .. }) = &self.tail else {
            return Ok((head, Vec::new()));
        };
        let generation = *generation;
        let middle = match last_end {
            Some((reason, reported)) => {
                let (reason, reported) = (reason.clone(), *reported);
                HistoryRecord::Ended { generation, at_ms, reason, reported }
            }
            // The interpreter has no recorded end: it lives, and this host opened it.
            None => {
                let host_pid = std::process::id();
                let boot_id = String::new();
                HistoryRecord::Opened { generation, at_ms, host_pid, boot_id, from_copy: false }
            }
        };
        Ok((head, line(&middle)?))
    }

    /// The position in the new file of the line that stood at `pos`.
    fn place(&self, pos: u64, head: u64, middle: u64) -> Option<u64> {
        let within = |ranges: &[Range<u64>], mut at: u64| {
            for range in ranges {
                if range.contains(&pos) {
                    return Ok(at + pos - range.start);
                }
                at += range.end - range.start;
            }
            Err(at)
        };
        match within(&self.lines, head) {
            Ok(at) => Some(at),
            Err(at) => within(&self.rest, at + middle).ok(),
        }
    }
}

/// Chooses what stays: the newest evals that fit into `target` bytes with their index, and all that must not
/// be dropped. `None` if too little would be freed.
pub(crate) fn plan(old: &Old<'_>, target: u64, quota: u64) -> io::Result<Option<Plan>> {
    let Some(mut plan) = choose(old, target, quota)? else { return Ok(None) };
    // The room for pinned evals is taken from that of the others.
    let lines: u64 = plan.lines.iter().map(|range| range.end - range.start).sum();
    let pinned = lines + (plan.dropped.before - plan.dropped.first) * ENTRY;
    if pinned > 0 {
        let Some(smaller) = choose(old, target.saturating_sub(pinned), quota)? else {
            return Ok(None);
        };
        plan = smaller;
    }
    // Dropping must free enough to be worth the copying, or pinned evals would be copied again each time.
    let entries = |first: u64| (plan.last + 1 - first) * ENTRY;
    let (before, after) =
        (old.len + entries(old.dropped.first), plan.kept() + entries(plan.dropped.first));
    Ok((before.saturating_sub(after) > after / 8).then_some(plan))
}

fn choose(old: &Old<'_>, target: u64, quota: u64) -> io::Result<Option<Plan>> {
    let accepted = |eval: u64| -> io::Result<Option<u64>> {
        let pos = old.index.entry(eval)?.position(RecordMark::Accepted);
        Ok(pos.filter(|pos| *pos < old.len))
    };
    let last = old.facts.next_eval.0 - 1;
    let (mut low, mut high) = (old.dropped.before, last);
    // The last eval stays whatever it takes: its record holds the number from which the next one follows.
    while low < high {
        let middle = low + (high - low) / 2;
        let cost = accepted(middle)?.map(|pos| old.len - pos + (last - middle + 1) * ENTRY);
        match cost.is_some_and(|cost| cost <= target) {
            true => high = middle,
            false => low = middle + 1,
        }
    }
    let open = old.facts.open.keys().map(|eval| eval.0);
    let mut pinned: Vec<u64> = open.chain(old.last_ended).filter(|eval| *eval < high).collect();
    pinned.sort_unstable();
    pinned.dedup();
    if let Some(first) = pinned.first() {
        high = high.min(first + LARGEST_GAP);
        pinned.retain(|eval| *eval < high);
    }
    let Some(cut) = accepted(high)? else { return Ok(None) };
    lines_of(old, high, |pos| pos == cut)?;

    let mut lines = Vec::new();
    for eval in &pinned {
        lines.extend(lines_of(old, *eval, |pos| pos < cut)?);
    }
    lines.sort_unstable_by_key(|range: &Range<u64>| range.start);
    lines.dedup();
    let rest = rest(old, cut, high, &pinned)?;
    let tail = read_tail(old.file, old.len, None)?;
    let told = tail.at.is_none_or(|at| rest.iter().any(|range| range.contains(&at)));
    let first = pinned.first().copied().unwrap_or(high);
    Ok(Some(Plan {
        dropped: Dropped { before: high, first, quota },
        pinned,
        lines,
        rest,
        tail: (!told).then_some(tail),
        last,
    }))
}

/// The ranges that stay from `cut` on: everything except records of dropped evals that finished behind the
/// cut.
fn rest(old: &Old<'_>, cut: u64, before: u64, pinned: &[u64]) -> io::Result<Vec<Range<u64>>> {
    let oldest = old.index.entry(before)?.oldest.clamp(old.index.base() + 1, before);
    let mut gaps = Vec::new();
    for eval in (oldest..before).filter(|eval| pinned.binary_search(eval).is_err()) {
        gaps.extend(lines_of(old, eval, |pos| pos >= cut)?);
    }
    gaps.sort_unstable_by_key(|range| range.start);
    let mut rest = Vec::new();
    let mut from = cut;
    for gap in gaps {
        rest.push(from..gap.start.max(from));
        from = gap.end.max(from);
    }
    rest.push(from..old.len);
    rest.retain(|range| !range.is_empty());
    Ok(rest)
}

/// The lines of an eval's records at positions that are `wanted`. They are read and compared, because a wrong
/// index must not lose records for good.
fn lines_of(old: &Old<'_>, eval: u64, wanted: impl Fn(u64) -> bool) -> io::Result<Vec<Range<u64>>> {
    let entry = old.index.entry(eval)?;
    let mut lines = Vec::new();
    for mark in MARKS {
        let Some(pos) = entry.position(mark).filter(|pos| *pos < old.len && wanted(*pos)) else {
            continue;
        };
        let line = line_at(old.file, pos)?.unwrap_or_default();
        let peek = serde_json::from_slice::<Peek<'_>>(&line).ok();
        if peek.and_then(|peek| peek.mark()) != Some((eval, mark)) || !is_line_start(old.file, pos)?
        {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "its index is damaged"));
        }
        lines.push(pos..pos + line.len() as u64 + 1);
    }
    Ok(lines)
}

/// What is known of the eval that a key is noted for, before evals are dropped.
pub(crate) fn owner(old: &Old<'_>, plan: &Plan, line: &KeyLine<'_>) -> io::Result<Owner> {
    #[derive(Deserialize)]
    struct Keyed<'a> {
        #[serde(borrow, default)]
        key: Option<Cow<'a, str>>,
    }
    if !plan.drops(line.eval.0) {
        return Ok(Owner::Kept);
    }
    let Some(pos) = old.index.entry(line.eval.0)?.position(RecordMark::Accepted) else {
        let gone = line.eval.0 < old.dropped.before;
        return Ok(if gone { Owner::Gone } else { Owner::Other });
    };
    let record = line_at(old.file, pos)?.unwrap_or_default();
    Ok(match serde_json::from_slice::<Keyed<'_>>(&record) {
        Ok(Keyed { key }) if key.as_ref() != Some(&line.key) => Owner::Other,
        // If the record is damaged, the key is kept: code that is refused does less harm than code that runs
        // twice.
        _ => Owner::Goes,
    })
}

/// The files that will take the place of the old ones.
pub(crate) struct New {
    pub(crate) file: File,
    pub(crate) len: u64,
    pub(crate) index: Index,
}

/// Writes the new history and its index beside the old ones. `head` stands first, `middle` before the rest.
pub(crate) fn write(
    dir: &SessionDir,
    old: &Old<'_>,
    plan: &Plan,
    head: &[u8],
    middle: &[u8],
) -> io::Result<New> {
    // An earlier try may have left such a file, which a reader may even have open.
    clean(dir);
    let create = |path: PathBuf| {
        let mut options = OpenOptions::new();
        stead_files::open_with(options.read(true).write(true).create_new(true), &path)
    };
    let file = create(new_history(dir))?;
    disk::write_all(&file, head)?;
    plan.lines.iter().try_for_each(|range| copy(old.file, range, &file))?;
    disk::write_all(&file, middle)?;
    plan.rest.iter().try_for_each(|range| copy(old.file, range, &file))?;
    let len = (head.len() + middle.len()) as u64 + plan.kept();

    let mut entries = Vec::new();
    let from = old.index.base() + 1;
    for (eval, entry) in (from..).zip(old.index.entries(from, plan.last)?) {
        if eval < plan.dropped.first {
            continue;
        }
        let mut moved = IndexEntry::default();
        if !plan.drops(eval) && entry != IndexEntry::default() {
            moved.oldest = entry.oldest.max(plan.dropped.first);
            for mark in MARKS {
                let place = |pos| plan.place(pos, head.len() as u64, middle.len() as u64);
                moved.set(mark, entry.position(mark).and_then(place));
            }
        }
        entries.extend_from_slice(&moved.encode());
    }
    disk::write_all(&create(new_index(dir))?, &entries)?;
    let index = Index::open(&new_index(dir), true, plan.dropped.base())?;
    Ok(New { file, len, index })
}

/// Puts the new files in the place of the old ones. After an error the old history is in its place; its index
/// is too, unless even that could not be put back.
pub(crate) fn swap(dir: &SessionDir) -> io::Result<()> {
    match disk::rename(&dir.history_index(), &old_index(dir)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    if let Err(error) = disk::rename(&new_history(dir), &dir.history()) {
        let _ = fs::rename(old_index(dir), dir.history_index());
        return Err(error);
    }
    // Without an index each reader has to make its own; the next host writes one for all.
    if disk::rename(&new_index(dir), &dir.history_index()).is_err() {
        let _ = fs::rename(new_index(dir), dir.history_index());
    }
    let _ = fs::remove_file(old_index(dir));
    Ok(())
}

/// Removes new files that were not put in place.
pub(crate) fn clean(dir: &SessionDir) {
    for path in [new_history(dir), new_index(dir), old_index(dir)] {
        let _ = fs::remove_file(path);
    }
}

fn copy(from: &File, range: &Range<u64>, to: &File) -> io::Result<()> {
    let mut block = vec![0; (range.end - range.start).min(BLOCK) as usize];
    let mut pos = range.start;
    while pos < range.end {
        let len = (range.end - pos).min(BLOCK) as usize;
        if read_at(from, &mut block[..len], pos)? < len {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        disk::write_all(to, &block[..len])?;
        pos += len as u64;
    }
    Ok(())
}

fn new_history(dir: &SessionDir) -> PathBuf {
    dir.path().join(".history.jsonl.new")
}

fn new_index(dir: &SessionDir) -> PathBuf {
    dir.path().join(".history.idx.new")
}

fn old_index(dir: &SessionDir) -> PathBuf {
    dir.path().join(".history.idx.old")
}
