//! What is known of a session's names while it cannot be asked for them.

use std::collections::BTreeMap;

use stead_protocol::{Change, Changed, Generation, Outcome, SessionName, WorkKind};
use stead_spool::{EvalEntry, HistoryReader, SpoolError};

use crate::{Client, ClientError};

/// How many evals are read back at most.
const LOOK_BACK: u64 = 5_000;

/// Names of a session as the results of its evals told them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KnownNames {
    /// In the order of the alphabet, each with what the last eval that bound it said.
    pub names: Vec<Change>,
    /// How many more names results spoke of without naming them.
    pub more: u64,
    /// Whether there may be names of evals that were not read.
    pub older: bool,
}

impl Client {
    /// The names that the finished evals of the living interpreter have made, by their results on disk. What the
    /// running eval has done is not among them.
    pub fn known_names(&self, name: &SessionName) -> Result<KnownNames, ClientError> {
        match self.history(name)? {
            Some(history) => read(&history).map_err(ClientError::spool(name)),
            None => Ok(KnownNames::default()),
        }
    }
}

fn read(history: &HistoryReader) -> Result<KnownNames, SpoolError> {
    let generation = history.generation()?;
    let all = history.len()?;
    // Most sessions are short; the newest evals are read first.
    let mut count = 64;
    loop {
        let entries = history.last(count)?;
        let begins = entries.iter().rposition(|entry| is_beginning(entry, generation));
        if begins.is_some() || count >= all || count >= LOOK_BACK {
            let older = begins.is_none() && (entries.len() as u64) < all;
            let since = begins.map_or(0, |at| at + 1);
            return Ok(KnownNames { older, ..gathered(&entries[since..]) });
        }
        count = (count * 8).min(LOOK_BACK);
    }
}

/// Whether no name of before can have outlived this eval: it is of an earlier interpreter, or emptied the namespace.
fn is_beginning(entry: &EvalEntry, generation: Generation) -> bool {
    let earlier = entry.started.is_some_and(|(of, ..)| of != generation);
    let done =
        |(_, finished): &(u64, stead_protocol::Finished)| finished.outcome == Outcome::Complete;
    earlier || (entry.kind == WorkKind::Clear && entry.finished.as_ref().is_some_and(done))
}

fn gathered(entries: &[EvalEntry]) -> KnownNames {
    let mut known: BTreeMap<&str, &Change> = BTreeMap::new();
    let mut more = 0;
    let changes = entries.iter().filter_map(|entry| entry.finished.as_ref()?.1.changed.as_ref());
    for Changed { added, rebound, removed, more: unnamed, .. } in changes {
        known.extend(added.iter().chain(rebound).map(|change| (change.name.as_str(), change)));
        for gone in removed {
            known.remove(gone.as_str());
        }
        more += unnamed;
    }
    KnownNames { names: known.into_values().cloned().collect(), more, older: false }
}
