//! What the records of a history say together: which one may come next.

use std::collections::BTreeMap;

use stead_protocol::{EvalSeq, Generation, Offset};

use crate::HistoryRecord;

/// What the records so far tell that limits which record may come next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct HistoryFacts {
    pub(crate) next_eval: EvalSeq,
    /// Evals that were accepted and have no outcome; with their start once they run.
    pub(crate) open: BTreeMap<EvalSeq, EvalStart>,
}

/// The interpreter that an eval runs in and where its output begins; `None` while the eval is queued.
type EvalStart = Option<(Generation, Offset)>;

/// What one record changed in the facts, so that the change can be undone.
#[derive(Debug)]
pub(crate) struct Before {
    next_eval: EvalSeq,
    /// The eval of the record, with its entry in `HistoryFacts::open` before the record.
    open: Option<(EvalSeq, Option<EvalStart>)>,
}

impl HistoryFacts {
    /// Takes a record in, or says what it contradicts.
    pub(crate) fn apply(
        &mut self,
        record: &HistoryRecord,
    ) -> Result<Before, (EvalSeq, &'static str)> {
        let eval = record.mark().map(|(eval, _)| eval);
        let before = Before {
            next_eval: self.next_eval,
            open: eval.map(|eval| (eval, self.open.get(&eval).copied())),
        };
        match record {
            HistoryRecord::Accepted { eval, .. } => {
                if *eval < self.next_eval {
                    return Err((*eval, "its number was used before"));
                }
                self.next_eval = EvalSeq(eval.0 + 1);
                self.open.insert(*eval, None);
            }
            HistoryRecord::Started { eval, generation, start, .. } => {
                match self.open.get_mut(eval) {
                    Some(started @ None) => *started = Some((*generation, *start)),
                    Some(Some(_)) => return Err((*eval, "it was started before")),
                    None => return Err((*eval, "it is not waiting to run")),
                }
            }
            HistoryRecord::Finished { eval, .. } => {
                if self.open.remove(eval).is_none() {
                    return Err((*eval, "it is finished or was never accepted"));
                }
            }
            HistoryRecord::Opened { .. }
            | HistoryRecord::Ended { .. }
            | HistoryRecord::Reported { .. }
            | HistoryRecord::Dropped { .. }
            | HistoryRecord::Unknown => {}
        }
        Ok(before)
    }

    /// Undoes what a record changed. Records are undone in reverse order.
    pub(crate) fn restore(&mut self, before: Before) {
        self.next_eval = before.next_eval;
        match before.open {
            Some((eval, Some(was))) => drop(self.open.insert(eval, was)),
            Some((eval, None)) => drop(self.open.remove(&eval)),
            None => {}
        }
    }
}
