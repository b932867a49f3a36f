//! What the history's first line says of evals whose records were dropped to make room (SPEC S-12).

use std::fs::File;
use std::io;

use stead_protocol::EvalSeq;

use crate::history_record::HistoryRecord;
use crate::index::LARGEST_GAP;
use crate::lines::read_at;

/// The longest line that tells of dropped evals. A longer first line is a usual record and is not read here.
const LONGEST: usize = 512;

/// Which evals were dropped. By default none was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Dropped {
    /// Evals with a smaller number were dropped, except unfinished ones and the one that ended last.
    pub(crate) before: u64,
    /// The first eval that is still recorded; the index begins with it.
    pub(crate) first: u64,
    /// The quota in bytes for which they were dropped.
    pub(crate) quota: u64,
}

impl Default for Dropped {
    fn default() -> Self {
        Dropped { before: 1, first: 1, quota: 0 }
    }
}

impl Dropped {
    /// How many evals at the front have no entry in the index.
    pub(crate) fn base(&self) -> u64 {
        self.first - 1
    }

    pub(crate) fn record(&self, at_ms: u64) -> HistoryRecord {
        let (before, first, quota) = (EvalSeq(self.before), EvalSeq(self.first), self.quota);
        HistoryRecord::Dropped { at_ms, before, first, quota }
    }
}

/// Reads the first line of a history. If that is any other record, nothing was dropped.
pub(crate) fn read(history: &File) -> io::Result<Dropped> {
    let mut bytes = [0; LONGEST];
    let n = read_at(history, &mut bytes, 0)?;
    let line = bytes[..n].iter().position(|&b| b == b'\n').map(|end| &bytes[..end]);
    match line.and_then(|line| serde_json::from_slice(line).ok()) {
        Some(HistoryRecord::Dropped { before, first, quota, .. })
            if first.0 > 0
                && (first.0..=first.0.saturating_add(LARGEST_GAP)).contains(&before.0) =>
        {
            Ok(Dropped { before: before.0, first: first.0, quota })
        }
        _ => Ok(Dropped::default()),
    }
}
