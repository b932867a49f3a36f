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
mod tests {
    use stead_protocol::WorkKind;

    use super::*;

    fn eval(number: usize, code: &str) -> RecordData<'_> {
        RecordData {
            eval_id: format!("py:{number}"),
            status: Some("complete"),
            outcome: None,
            kind: WorkKind::default(),
            code: Cow::Borrowed(code),
            code_bytes: None,
            by: "cli".to_owned(),
            accepted_ms: 1,
            started_ms: Some(1),
            finished_ms: Some(2),
            duration_ms: Some(1),
            exit_code: None,
            interrupted_by: None,
            generation: Some(1),
            key: None,
            changed: None,
            undone: false,
        }
    }

    fn length(evals: &[RecordData<'_>]) -> usize {
        evals.iter().map(|eval| length_beside_code(eval) + eval.code.chars().count()).sum()
    }

    #[test]
    fn o5_only_the_longest_code_of_a_list_is_cut() {
        let (long, longer) = ("é".repeat(20_000), "x".repeat(3_000_000));
        let codes = ["1 + 1", &long, "y = 2", &longer];
        let mut evals: Vec<_> = codes.iter().zip(1..).map(|(code, at)| eval(at, code)).collect();
        assert_eq!(bound(&mut evals, usize::MAX), 0);
        assert!(evals.iter().zip(codes).all(|(eval, code)| eval.code == code));
        assert_eq!(bound(&mut evals, 32_000), 0);
        assert!((31_800..=32_000).contains(&length(&evals)), "{}", length(&evals));
        assert_eq!((&*evals[0].code, &*evals[2].code), ("1 + 1", "y = 2"));
        assert_eq!((evals[0].code_bytes, evals[2].code_bytes), (None, None));
        assert_eq!((evals[1].code_bytes, evals[3].code_bytes), (Some(40_000), Some(3_000_000)));
        assert!(evals[3].code.contains("characters left out"), "{}", evals[3].code);
    }

    #[test]
    fn o5_of_a_list_that_is_too_long_without_code_the_oldest_evals_are_left_out() {
        let code = "z = 1\n".repeat(100);
        let mut evals: Vec<_> = (1..=1000).map(|at| eval(at, &code)).collect();
        let left_out = bound(&mut evals, 32_000);
        assert!(evals.len() > 80 && left_out + evals.len() == 1000, "{left_out}");
        assert_eq!(evals[evals.len() - 1].eval_id, "py:1000");
        assert!(length(&evals) <= 32_000, "{}", length(&evals));
        assert!(evals.iter().all(|eval| eval.code.chars().count() >= LEAST_CODE));
        // One is always told, however small the bound is.
        assert_eq!(bound(&mut evals, 1) + 1, 1000 - left_out);
        assert!(evals[0].code.chars().count() <= CUT_MARK, "{}", evals[0].code);
    }
}
