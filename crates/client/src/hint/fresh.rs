//! Names that were lost with an earlier interpreter, from the history of what each eval changed.

use stead_protocol::{EvalSeq, Outcome, WorkKind};
use stead_spool::{EvalEntry, HistoryReader};

use super::{Hint, LostBy};

/// How many evals back the history is searched.
const SEARCHED: u64 = 1000;
/// How many bytes of code may be read on the way.
const MOST_CODE: usize = 4 << 20;

/// The hint for a name that an eval before `failed` had bound, in an interpreter that has ended or before all names were cleared.
pub(super) fn lost(history: &HistoryReader, failed: &EvalEntry, name: &str) -> Option<Hint> {
    let (generation, ..) = failed.started?;
    // In a first interpreter whose names were never cleared nothing can have been lost.
    if generation.0 <= 1 && failed.others == 0 {
        return None;
    }
    let (mut cleared, mut last_before, mut read) = (None, None, 0);
    let first = failed.seq.0.saturating_sub(SEARCHED).max(1);
    for seq in (first..failed.seq.0).rev() {
        let Some(entry) = history.eval(EvalSeq(seq)).ok()? else { continue };
        read += entry.code.len();
        if read > MOST_CODE {
            return None;
        }
        // The last eval of each interpreter is met first.
        if let Some((then, ..)) = entry.started
            && then < generation
            && last_before.is_none_or(|(known, _)| known != then)
        {
            last_before = Some((then, entry.seq));
        }
        let Some((_, finished)) = &entry.finished else { continue };
        if entry.kind == WorkKind::Clear && finished.outcome == Outcome::Complete {
            cleared.get_or_insert(entry.seq);
        }
        let Some(changed) = &finished.changed else { continue };
        if changed.removed.iter().any(|removed| removed == name) {
            return None;
        }
        if !changed.added.iter().chain(&changed.rebound).any(|change| change.name == name) {
            continue;
        }
        let lost = match (cleared, last_before) {
            (Some(eval), _) => LostBy::Clear { eval },
            (None, Some((_, last))) => {
                LostBy::End { reason: history.end_after(last).ok().flatten() }
            }
            // It is bound in this interpreter: the code asks for it where it is not seen.
            (None, None) => return None,
        };
        return Some(Hint::Fresh { name: name.to_owned(), eval: entry.seq, lost });
    }
    None
}
