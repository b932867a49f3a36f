//! What is kept of an eval beside its output: its code, who sent it, when, and how it ended (SPEC E-16).

use stead_protocol::EvalId;
use stead_spool::EvalEntry;

use crate::{Client, ClientError, EvalView, OutputOptions, Part, Quiet};

/// The whole record of an eval.
#[derive(Debug, Clone)]
pub struct EvalRecord {
    /// What was written down when it was sent, began and ended.
    pub entry: EvalEntry,
    /// Where it stands, without its output.
    pub view: EvalView,
    /// What it did to the session's state is gone, because the session went back to an earlier one.
    pub undone: bool,
}

impl Client {
    /// The record of an eval, also of an ended session.
    pub fn record(&self, id: &EvalId) -> Result<EvalRecord, ClientError> {
        let options = OutputOptions { part: Part::Tail { lines: 0 }, wait: None, max_chars: 0 };
        let view = self.output(id, &options, &mut Quiet)?;
        // The entry is read after the view, so that it has the eval's end if the view has it.
        let entry = self.entry(id)?;
        let undone = stead_spool::read_undone(self.dir(&id.session).path()).contains(id.seq);
        Ok(EvalRecord { entry, view, undone })
    }
}
