//! What others have done in a session meanwhile (SPEC M-2).

use stead_protocol::{By, EndReason, EvalSeq, Generation, SessionName, WorkKind};

use crate::{Client, ClientError};

/// An eval, as far as somebody else has to know of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SentEval {
    /// Its number.
    pub eval: EvalSeq,
    /// Who sent it.
    pub by: By,
    /// What kind of work it is.
    pub kind: WorkKind,
    /// The interpreter it ran in, if it ran.
    pub generation: Option<Generation>,
    /// If the eval ended its interpreter and the session went on from a copy: the last eval whose effect the copy
    /// has, 0 if none.
    pub restored: Option<EvalSeq>,
}

impl Client {
    /// The evals after one and before another, oldest first; of many only the newest `most`.
    pub fn sent_between(
        &self,
        name: &SessionName,
        after: u64,
        before: u64,
        most: u64,
    ) -> Result<Vec<SentEval>, ClientError> {
        let Some(history) = self.history(name)? else { return Ok(Vec::new()) };
        let first = (after + 1).max(before.saturating_sub(most));
        let mut sent = Vec::new();
        for seq in first..before {
            let entry = history.eval(EvalSeq(seq)).map_err(ClientError::spool(name))?;
            sent.extend(entry.map(|entry| SentEval {
                eval: entry.seq,
                by: entry.by,
                kind: entry.kind,
                generation: entry.started.map(|(generation, ..)| generation),
                restored: entry.finished.and_then(|(_, finished)| finished.restored),
            }));
        }
        Ok(sent)
    }

    /// How the last interpreter before `generation` ended, if that is recorded.
    pub fn end_before(
        &self,
        name: &SessionName,
        generation: Generation,
    ) -> Result<Option<(Generation, EndReason)>, ClientError> {
        let Some(history) = self.history(name)? else { return Ok(None) };
        history.end_before(generation).map_err(ClientError::spool(name))
    }
}
