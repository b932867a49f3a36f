//! What is known of a session's names while it cannot be asked for them.

use std::collections::BTreeMap;

use stead_protocol::{Change, Changed, EvalSet, Outcome, SessionName, WorkKind};
use stead_spool::{EvalEntry, HistoryReader, SpoolError, StateAfter};

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
    /// The names that the finished evals whose effect the session's state has have made, by their results on disk. What the
    /// running eval has done is not among them.
    pub fn known_names(&self, name: &SessionName) -> Result<KnownNames, ClientError> {
        match self.history(name)? {
            Some(history) => {
                let undone = stead_spool::read_undone(self.dir(name).path());
                read(&history, &undone).map_err(ClientError::spool(name))
            }
            None => Ok(KnownNames::default()),
        }
    }
}

fn read(history: &HistoryReader, undone: &EvalSet) -> Result<KnownNames, SpoolError> {
    let all = history.len()?;
    // Most sessions are short; the newest evals are read first.
    let mut count = 64;
    loop {
        let entries = history.last(count)?;
        let begins = beginning(history, &entries, undone)?;
        if begins.is_some() || count >= all || count >= LOOK_BACK {
            let older = begins.is_none() && (entries.len() as u64) < all;
            let since = begins.map_or(0, |at| at + 1);
            return Ok(KnownNames { older, ..gathered(&entries[since..], undone) });
        }
        count = (count * 8).min(LOOK_BACK);
    }
}

/// The last of these evals that no earlier name can have outlived: the state was lost with its interpreter, or it emptied the
/// namespace.
fn beginning(
    history: &HistoryReader,
    entries: &[EvalEntry],
    undone: &EvalSet,
) -> Result<Option<usize>, SpoolError> {
    let mut generation = history.generation()?;
    for (at, entry) in entries.iter().enumerate().rev() {
        // The last eval of each interpreter is met first.
        if let Some((then, ..)) = entry.started
            && then < generation
        {
            generation = then;
            if history.state_after(entry.seq)? != StateAfter::Kept {
                return Ok(Some(at));
            }
        }
        let done = entry.finished.as_ref().map(|(_, finished)| &finished.outcome);
        if entry.kind == WorkKind::Clear
            && done == Some(&Outcome::Complete)
            && !undone.contains(entry.seq)
        {
            return Ok(Some(at));
        }
    }
    Ok(None)
}

fn gathered(entries: &[EvalEntry], undone: &EvalSet) -> KnownNames {
    let mut known: BTreeMap<&str, &Change> = BTreeMap::new();
    let mut more = 0;
    let of_state = entries.iter().filter(|entry| !undone.contains(entry.seq));
    let changes = of_state.filter_map(|entry| entry.finished.as_ref()?.1.changed.as_ref());
    for Changed { added, rebound, removed, more: unnamed, .. } in changes {
        known.extend(added.iter().chain(rebound).map(|change| (change.name.as_str(), change)));
        for gone in removed {
            known.remove(gone.as_str());
        }
        more += unnamed;
    }
    KnownNames { names: known.into_values().cloned().collect(), more, older: false }
}
