//! What an append changes in the index: one write for each eval, however many of its records are appended.

use stead_protocol::EvalSeq;

use crate::index::{ENTRY, IndexEntry, RecordMark};

const MARKS: [RecordMark; 3] = [RecordMark::Accepted, RecordMark::Started, RecordMark::Finished];

/// New fields of one entry, next to each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct EntryChange {
    pub(crate) entry: IndexEntry,
    first: RecordMark,
    last: RecordMark,
}

impl EntryChange {
    /// The records whose positions this change sets.
    pub(crate) fn marks(&self) -> impl Iterator<Item = RecordMark> + use<> {
        let (first, last) = (self.first as usize, self.last as usize);
        MARKS.into_iter().skip(first).take(last + 1 - first)
    }

    /// The part of the entry that is written. A new entry is written whole.
    pub(crate) fn bytes(&self) -> (usize, usize) {
        match self.first {
            RecordMark::Accepted => (0, ENTRY as usize),
            first => (first as usize * 8, self.last as usize * 8 + 8),
        }
    }
}

/// The changes of one append, in the order of their first records.
#[derive(Debug, Default)]
pub(crate) struct PendingChanges {
    pub(crate) changes: Vec<(EvalSeq, EntryChange)>,
}

impl PendingChanges {
    /// A record of an eval will stand at `pos`.
    pub(crate) fn add(&mut self, eval: EvalSeq, mark: RecordMark, pos: u64, oldest: EvalSeq) {
        // The records of one eval mostly follow each other; where they do not, it has two changes.
        if let Some((of, change)) = self.changes.last_mut()
            && *of == eval
            && change.last as usize + 1 == mark as usize
        {
            change.entry.set(mark, Some(pos));
            change.last = mark;
            return;
        }
        let mut entry = IndexEntry::new(oldest.0);
        entry.set(mark, Some(pos));
        self.changes.push((eval, EntryChange { entry, first: mark, last: mark }));
    }

    /// If this append, which ends at `end`, starts an eval, notes in its entry that its outcome will stand
    /// there. Returns that eval.
    pub(crate) fn expect_outcome(&mut self, end: u64) -> Option<EvalSeq> {
        let (eval, change) = self.changes.last_mut()?;
        if change.last != RecordMark::Started {
            return None;
        }
        change.entry.set(RecordMark::Finished, Some(end));
        change.last = RecordMark::Finished;
        Some(*eval)
    }

    /// Drops the change for the outcome of `eval` if the append begins with it at `pos`, where the index says
    /// already that it stands. Returns whether it does.
    pub(crate) fn drop_expected(&mut self, eval: EvalSeq, pos: u64) -> bool {
        let is_it = |(of, change): &(EvalSeq, EntryChange)| {
            *of == eval
                && change.first == RecordMark::Finished
                && change.entry.position(RecordMark::Finished) == Some(pos)
        };
        let comes = self.changes.first().is_some_and(is_it);
        if comes {
            self.changes.remove(0);
        }
        comes
    }
}
