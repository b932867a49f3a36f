//! What the records of a history say together: which one may come next.

use std::collections::BTreeMap;

use stead_protocol::{EvalSeq, Generation, Offset};

use crate::HistoryRecord;

/// What the records so far say, as far as it limits the next one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Facts {
    pub(crate) next_eval: EvalSeq,
    /// Accepted and not finished; with their start once they run.
    pub(crate) open: BTreeMap<EvalSeq, Start>,
}

/// In which interpreter an eval runs and where its output begins; `None` while it waits.
type Start = Option<(Generation, Offset)>;

/// What one record changed in the facts, so that it can be taken back.
#[derive(Debug)]
pub(crate) struct Before {
    next_eval: EvalSeq,
    /// The eval, and whether and how it was open.
    open: Option<(EvalSeq, Option<Start>)>,
}

impl Facts {
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

    /// Takes back what a record changed; the last one first.
    pub(crate) fn restore(&mut self, before: Before) {
        self.next_eval = before.next_eval;
        match before.open {
            Some((eval, Some(was))) => drop(self.open.insert(eval, was)),
            Some((eval, None)) => drop(self.open.remove(&eval)),
            None => {}
        }
    }
}
