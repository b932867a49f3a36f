//! Records that the disk refuses: kept in order, tried again, and never told to clients before they are
//! written (SPEC E-11).

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use stead_protocol::client::Event;
use stead_protocol::{EvalSeq, Finished, Unrecorded};
use stead_spool::{History, HistoryRecord, SpoolError};

use crate::with_causes;

/// How often what the disk refused is tried again.
pub(crate) const TRY_EVERY: Duration = Duration::from_millis(100);

/// Records that the disk has refused so far, oldest first.
#[derive(Debug, Default)]
pub(crate) struct Unsaved {
    records: VecDeque<HistoryRecord>,
    /// What the disk said last.
    why: String,
    next_try: Option<Instant>,
    /// Outcomes that were written late and that no client was told yet.
    pub(crate) recorded: Vec<(EvalSeq, Finished)>,
}

impl Unsaved {
    /// Writes a record after all that wait; returns whether it is written.
    pub(crate) fn add(&mut self, record: HistoryRecord, history: &mut History) -> bool {
        match self.save(history).and_then(|()| history.append(&record)) {
            Ok(()) => true,
            Err(error) => {
                self.refused(&error);
                self.records.push_back(record);
                false
            }
        }
    }

    /// Writes the waiting records one at a time: if several were written at once, a reader could see one that
    /// is undone when the next fails.
    pub(crate) fn save(&mut self, history: &mut History) -> Result<(), SpoolError> {
        while let Some(record) = self.records.front() {
            if let Err(error) = history.append(record) {
                self.refused(&error);
                return Err(error);
            }
            if let Some(HistoryRecord::Finished { eval, finished, .. }) = self.records.pop_front() {
                self.recorded.push((eval, finished));
            }
        }
        self.next_try = None;
        Ok(())
    }

    fn refused(&mut self, error: &SpoolError) {
        self.why = with_causes(error);
        if self.next_try.is_none() {
            stead_interpreter::log_warn!("a record waits until the disk takes it: {}", self.why);
        }
        self.next_try = Some(Instant::now() + TRY_EVERY);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// When to try again.
    pub(crate) fn next_try(&self) -> Option<Instant> {
        self.next_try.filter(|_| !self.is_empty())
    }

    fn outcomes(&self) -> impl Iterator<Item = (EvalSeq, &Finished)> {
        self.records.iter().filter_map(|record| match record {
            HistoryRecord::Finished { eval, finished, .. } => Some((*eval, finished)),
            _ => None,
        })
    }

    /// What to say of an eval whose outcome is not recorded.
    pub(crate) fn event(&self, wanted: EvalSeq) -> Option<Event> {
        let (eval, finished) = self.outcomes().find(|(eval, _)| *eval == wanted)?;
        let (start, end, why) = (finished.start, finished.end, self.why.clone());
        Some(Event::Unrecorded { eval, start, end, why })
    }

    /// The evals whose outcome is not recorded.
    pub(crate) fn told(&self) -> Option<Unrecorded> {
        let evals: Vec<EvalSeq> = self.outcomes().map(|(eval, _)| eval).collect();
        (!evals.is_empty()).then(|| Unrecorded { evals, why: self.why.clone() })
    }
}
