//! What an append changes in the index: one write for each eval, however many of its records are appended.

use stead_protocol::EvalSeq;

use crate::index::{ENTRY, Entry, Mark};

const MARKS: [Mark; 3] = [Mark::Accepted, Mark::Started, Mark::Finished];

/// New fields of one entry, next to each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Change {
    pub(crate) entry: Entry,
    first: Mark,
    last: Mark,
}

impl Change {
    /// The records whose positions this change sets.
    pub(crate) fn marks(&self) -> impl Iterator<Item = Mark> + use<> {
        let (first, last) = (self.first as usize, self.last as usize);
        MARKS.into_iter().skip(first).take(last + 1 - first)
    }

    /// The part of the entry that is written. A new entry is written whole.
    pub(crate) fn bytes(&self) -> (usize, usize) {
        match self.first {
            Mark::Accepted => (0, ENTRY as usize),
            first => (first as usize * 8, self.last as usize * 8 + 8),
        }
    }
}

/// The changes of one append, in the order of their first records.
#[derive(Debug, Default)]
pub(crate) struct Pending {
    pub(crate) changes: Vec<(EvalSeq, Change)>,
}

impl Pending {
    /// A record of an eval will stand at `pos`.
    pub(crate) fn add(&mut self, eval: EvalSeq, mark: Mark, pos: u64, oldest: EvalSeq) {
        // The records of one eval mostly follow each other; where they do not, it has two changes.
        if let Some((of, change)) = self.changes.last_mut()
            && *of == eval
            && change.last as usize + 1 == mark as usize
        {
            change.entry.set(mark, Some(pos));
            change.last = mark;
            return;
        }
        let mut entry = Entry::new(oldest.0);
        entry.set(mark, Some(pos));
        self.changes.push((eval, Change { entry, first: mark, last: mark }));
    }

    /// If this append, which ends at `end`, starts an eval, notes in its entry that its outcome will stand
    /// there. Returns that eval.
    pub(crate) fn expect_outcome(&mut self, end: u64) -> Option<EvalSeq> {
        let (eval, change) = self.changes.last_mut()?;
        if change.last != Mark::Started {
            return None;
        }
        change.entry.set(Mark::Finished, Some(end));
        change.last = Mark::Finished;
        Some(*eval)
    }

    /// Drops the change for the outcome of `eval` if the append begins with it at `pos`, where the index says
    /// already that it stands. Returns whether it does.
    pub(crate) fn drop_expected(&mut self, eval: EvalSeq, pos: u64) -> bool {
        let is_it = |(of, change): &(EvalSeq, Change)| {
            *of == eval
                && change.first == Mark::Finished
                && change.entry.position(Mark::Finished) == Some(pos)
        };
        let comes = self.changes.first().is_some_and(is_it);
        if comes {
            self.changes.remove(0);
        }
        comes
    }
}
