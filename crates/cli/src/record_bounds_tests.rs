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
