//! Names that were lost with an earlier interpreter, from the history of what each eval changed.

use stead_protocol::{Changed, EvalSeq, EvalSet, Outcome, WorkKind};
use stead_spool::{EvalEntry, HistoryReader, StateAfter};

use super::{Hint, LostBy};

/// How many evals back the history is searched.
const SEARCHED: u64 = 1000;
/// How many bytes of code may be read on the way.
const MOST_CODE: usize = 4 << 20;

/// The hint for a name that an eval before `failed` had bound, in an interpreter that has ended, before all names were
/// cleared, or in code that was undone.
pub(super) fn lost(
    history: &HistoryReader,
    undone: &EvalSet,
    failed: &EvalEntry,
    name: &str,
) -> Option<Hint> {
    let (mut generation, ..) = failed.started?;
    // In a first interpreter whose names were never cleared, and that never went back, nothing can have been lost.
    if generation.0 <= 1 && failed.others == 0 {
        return None;
    }
    let hint = |eval, lost| Some(Hint::Fresh { name: name.to_owned(), eval, lost });
    // The first of what happened to the state after the eval that is looked at, and the last eval that is undone and had bound the name.
    let (mut lost_by, mut undone_binding, mut read) = (None, None, 0);
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
        {
            generation = then;
            if let StateAfter::Lost { reason } = history.state_after(entry.seq).ok()? {
                lost_by = Some(LostBy::End { reason });
            }
        }
        let Some((_, finished)) = &entry.finished else { continue };
        let changed = finished.changed.as_ref();
        if undone.contains(entry.seq) {
            if changed.is_some_and(|changed| binds(changed, name)) {
                undone_binding.get_or_insert(entry.seq);
            }
            continue;
        }
        if entry.kind == WorkKind::Clear && finished.outcome == Outcome::Complete {
            lost_by = Some(LostBy::Clear { eval: entry.seq });
        }
        let Some(changed) = changed else { continue };
        if changed.removed.iter().any(|removed| removed == name) {
            break;
        }
        if binds(changed, name) {
            // Bound in this very state, it is only asked for where it is not seen.
            return hint(entry.seq, lost_by?);
        }
    }
    hint(undone_binding?, LostBy::Undo)
}

fn binds(changed: &Changed, name: &str) -> bool {
    changed.added.iter().chain(&changed.rebound).any(|change| change.name == name)
}
