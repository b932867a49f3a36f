//! How much of a list of evals a reply in JSON has (SPEC O-5).

use std::borrow::Cow;

use stead_client::cut_middle;

use crate::records::RecordData;
use crate::reply::{DEFAULT_MAX_CHARS, above_zero};

/// Evals are left out of a list only where not even this much of each code has room.
const LEAST_CODE: usize = 100;
/// How many characters say that a code is cut, at most: the mark in it, and `code_bytes`.
const CUT_MARK: usize = 64;

/// How long a list of evals may be.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct ListBounds {
    /// In JSON, show at most this many characters; 32000 unless given
    #[arg(long, value_name = "N", value_parser = above_zero)]
    max_chars: Option<usize>,
    /// In JSON, show all code, however long
    #[arg(long, conflicts_with = "max_chars")]
    full: bool,
}

impl ListBounds {
    /// Shortens a list that is too long; returns how many evals it left out.
    pub(crate) fn apply(&self, evals: &mut Vec<RecordData<'_>>) -> usize {
        if self.full { 0 } else { bound(evals, self.max_chars.unwrap_or(DEFAULT_MAX_CHARS)) }
    }

    /// Shortens the code of an eval that is told alone, which is whole unless the user says otherwise.
    pub(crate) fn apply_to_one<'a>(&self, eval: RecordData<'a>) -> RecordData<'a> {
        let mut evals = vec![eval.clone()];
        if let Some(max) = self.max_chars {
            bound(&mut evals, max);
        }
        evals.pop().unwrap_or(eval)
    }
}

/// The words that say how many evals are left out, and `command`, which lists all.
pub(crate) fn left_out(count: usize, command: &str) -> Option<String> {
    let evals = match count {
        0 => return None,
        1 => "1 older eval is".to_owned(),
        more => format!("{more} older evals are"),
    };
    Some(format!("{evals} left out: `{command} --full` lists all"))
}

/// Shortens a list until it has at most `max` characters: it cuts the longest code in the middle, and leaves out the oldest
/// evals where that is not enough. Returns how many it left out.
fn bound(evals: &mut Vec<RecordData<'_>>, max: usize) -> usize {
    // No text has more characters than bytes.
    let code = |eval: &RecordData<'_>| match eval.code.len() {
        bytes if bytes <= LEAST_CODE => bytes,
        _ => eval.code.chars().count(),
    };
    let lengths: Vec<(usize, usize)> =
        evals.iter().map(|eval| (length_beside_code(eval), code(eval))).collect();
    let least = |&(beside, code): &(usize, usize)| beside + code.min(LEAST_CODE + CUT_MARK);
    let mut needed: usize = lengths.iter().map(least).sum();
    let mut left_out = 0;
    while needed > max && left_out + 1 < lengths.len() {
        needed -= least(&lengths[left_out]);
        left_out += 1;
    }
    evals.drain(..left_out);
    let shown = &lengths[left_out..];
    let beside: usize = shown.iter().map(|(beside, _)| beside).sum();
    let codes = shown.iter().map(|(_, code)| *code).collect();
    let most = share(codes, max.saturating_sub(beside)).max(CUT_MARK);
    for (eval, (_, code)) in evals.iter_mut().zip(shown).filter(|(_, (_, code))| *code > most) {
        eval.code_bytes = Some(eval.code.len());
        eval.code = Cow::Owned(cut_middle(&eval.code, most.min(*code) - CUT_MARK));
    }
    left_out
}

/// How many characters an eval takes beside its code, with the comma behind it.
fn length_beside_code(eval: &RecordData<'_>) -> usize {
    let bare = RecordData { code: Cow::Borrowed(""), ..eval.clone() };
    serde_json::to_string(&bare).map_or(0, |text| text.chars().count() + 1)
}

/// The most characters that each code may have so that all have `room`: what short codes leave is for the long ones.
fn share(mut codes: Vec<usize>, mut room: usize) -> usize {
    codes.sort_unstable();
    let count = codes.len();
    for (at, code) in codes.into_iter().enumerate() {
        let most = room / (count - at);
        if code > most {
            return most;
        }
        room -= code;
    }
    usize::MAX
}

#[cfg(test)]
#[path = "record_bounds_tests.rs"]
mod tests;
