//! What a history records and how a new host finds its place.

use stead_protocol::{EndReason, EvalSeq, Generation, Offset, Outcome, WorkKind};

use super::{accepted, finished, opened, outcome, started, tempdir};
use crate::{History, HistoryReader, HistoryRecord, SpoolError};

fn ended(generation: u32, reported: bool) -> HistoryRecord {
    let reason = EndReason::Exit { code: 3 };
    HistoryRecord::Ended { generation: Generation(generation), at_ms: 9, reason, reported }
}

fn reported(generation: u32) -> HistoryRecord {
    HistoryRecord::Reported { generation: Generation(generation), at_ms: 9 }
}

#[test]
fn a_new_history_is_empty() {
    let dir = tempdir().unwrap();
    assert!(HistoryReader::open(dir.path()).is_err());
    let (history, recovered) = History::open(dir.path()).unwrap();
    assert_eq!((recovered.generation, recovered.next_eval), (Generation(0), EvalSeq(1)));
    assert_eq!((recovered.unfinished, recovered.last_end, recovered.cut_bytes), (vec![], None, 0));
    let reader = HistoryReader::open(dir.path()).unwrap();
    assert!(reader.is_empty().unwrap() && reader.last(5).unwrap().is_empty());
    assert_eq!(reader.eval(EvalSeq(0)).unwrap(), None);
    assert_eq!(reader.eval(EvalSeq(u64::MAX)).unwrap(), None);
    assert!(history.look());
    std::fs::remove_dir_all(dir.path()).unwrap();
    assert!(!history.look());
}

#[test]
fn an_eval_reads_back_while_the_host_writes() {
    let dir = tempdir().unwrap();
    let (mut history, _) = History::open(dir.path()).unwrap();
    let reader = HistoryReader::open(dir.path()).unwrap();
    let long = "é\n".repeat(100_000);
    history.append(&opened(1)).unwrap();
    history.append(&accepted(1, &long)).unwrap();
    let entry = reader.eval(EvalSeq(1)).unwrap().unwrap();
    assert_eq!((entry.code, entry.by.name(), entry.accepted_at_ms), (long, "test", 2));
    assert_eq!((entry.started, entry.finished), (None, None));
    history.append_all(&[started(1, 1), accepted(2, "2")]).unwrap();
    history.append(&finished(1)).unwrap();
    let entry = reader.eval(EvalSeq(1)).unwrap().unwrap();
    assert_eq!(entry.started, Some((Generation(1), 3, Offset(10))));
    assert_eq!(entry.finished, Some((4, outcome(1))));
    assert_eq!(reader.len().unwrap(), 2);
    let last: Vec<_> = reader.last(9).unwrap().into_iter().map(|e| e.seq.0).collect();
    assert_eq!(last, [1, 2]);
    assert_eq!(reader.last(1).unwrap()[0].code, "2");
    assert_eq!(reader.generation().unwrap(), Generation(1));
}

#[test]
fn e11_an_eval_has_one_outcome_and_one_number() {
    let dir = tempdir().unwrap();
    let (mut history, _) = History::open(dir.path()).unwrap();
    history.append_all(&[opened(1), accepted(1, ""), started(1, 1), finished(1)]).unwrap();
    let before = std::fs::read(dir.path().join("history.jsonl")).unwrap();
    for wrong in [finished(1), started(1, 1), accepted(1, "again"), finished(7)] {
        let error = history.append_all(&[accepted(2, ""), wrong]).unwrap_err();
        assert!(matches!(error, SpoolError::OutOfOrder { .. }), "{error}");
    }
    assert_eq!(std::fs::read(dir.path().join("history.jsonl")).unwrap(), before);
    history.append_all(&[accepted(2, ""), started(2, 1)]).unwrap();
    assert!(history.append(&started(2, 1)).is_err());
    let (mut history, _) = History::open(dir.path()).unwrap();
    assert!(history.append(&finished(1)).is_err());
    history.append(&finished(2)).unwrap();
}

#[test]
fn a_killed_host_leaves_its_evals_to_the_next() {
    let dir = tempdir().unwrap();
    let (mut history, _) = History::open(dir.path()).unwrap();
    history.append_all(&[opened(4), accepted(1, ""), accepted(2, ""), started(1, 4)]).unwrap();
    history.append_all(&[accepted(3, ""), finished(1), started(2, 4)]).unwrap();
    let (mut history, recovered) = History::open(dir.path()).unwrap();
    assert_eq!((recovered.generation, recovered.last_end), (Generation(4), None));
    let running = (EvalSeq(2), Some((Generation(4), Offset(20))));
    assert_eq!(recovered.unfinished, [running, (EvalSeq(3), None)]);
    assert_eq!(recovered.next_eval, EvalSeq(4));

    // One of them stays without an outcome for long; it is found all the same.
    history.append(&finished(3)).unwrap();
    for eval in 4..500 {
        history.append_all(&[accepted(eval, ""), started(eval, 5), finished(eval)]).unwrap();
    }
    let (mut history, recovered) = History::open(dir.path()).unwrap();
    assert_eq!(recovered.unfinished, [running]);
    history.append(&finished(2)).unwrap();
    let (_, recovered) = History::open(dir.path()).unwrap();
    assert_eq!((recovered.unfinished, recovered.next_eval), (vec![], EvalSeq(500)));
}

#[test]
fn the_end_of_the_last_interpreter_and_who_was_told_are_known() {
    let exit = EndReason::Exit { code: 3 };
    let table = [
        (vec![opened(1)], 1, None),
        (vec![opened(1), ended(1, false)], 1, Some(false)),
        (vec![opened(1), ended(1, true)], 1, Some(true)),
        (vec![opened(1), ended(1, false), reported(1)], 1, Some(true)),
        (vec![opened(1), ended(1, false), opened(2)], 2, None),
        (vec![opened(1), ended(1, false), opened(2), ended(2, false), reported(1)], 2, Some(false)),
        (vec![opened(1), accepted(1, ""), ended(1, false), finished(1)], 1, Some(false)),
        (vec![opened(1), accepted(1, ""), started(1, 1), finished(1)], 1, None),
    ];
    for (records, generation, told) in table {
        let dir = tempdir().unwrap();
        let (mut history, _) = History::open(dir.path()).unwrap();
        history.append_all(&records).unwrap();
        let expected = told.map(|told| (exit.clone(), told));
        let reader = HistoryReader::open(dir.path()).unwrap();
        assert_eq!(reader.generation().unwrap(), Generation(generation), "{records:?}");
        assert_eq!(reader.last_end().unwrap(), expected, "{records:?}");
        let (_, recovered) = History::open(dir.path()).unwrap();
        assert_eq!((recovered.generation.0, recovered.last_end), (generation, expected));
    }
}

#[test]
fn records_of_a_newer_version_and_numbers_that_were_skipped_are_passed_over() {
    let dir = tempdir().unwrap();
    std::fs::write(dir.path().join("history.jsonl"), "{\"t\":\"later\",\"eval\":5}\n").unwrap();
    let (mut history, recovered) = History::open(dir.path()).unwrap();
    assert_eq!(recovered.next_eval, EvalSeq(1));
    history.append_all(&[accepted(3, "x"), finished(3)]).unwrap();
    let reader = HistoryReader::open(dir.path()).unwrap();
    assert_eq!((reader.len().unwrap(), reader.eval(EvalSeq(2)).unwrap()), (3, None));
    assert_eq!(reader.last(10).unwrap().len(), 1);
    let (_, recovered) = History::open(dir.path()).unwrap();
    assert_eq!(recovered.next_eval, EvalSeq(4));
}

#[test]
fn opening_a_long_history_reads_only_its_end() {
    let dir = tempdir().unwrap();
    let (mut history, _) = History::open(dir.path()).unwrap();
    history.append(&opened(1)).unwrap();
    for eval in 1..=2000 {
        history.append_all(&[accepted(eval, ""), started(eval, 1), finished(eval)]).unwrap();
    }
    // Had it looked at the beginning, it would find no line there.
    let path = dir.path().join("history.jsonl");
    let mut bytes = std::fs::read(&path).unwrap();
    let half = bytes.len() / 2;
    bytes[..half].fill(0);
    std::fs::write(&path, bytes).unwrap();
    let (_, recovered) = History::open(dir.path()).unwrap();
    assert_eq!((recovered.generation, recovered.next_eval), (Generation(1), EvalSeq(2001)));
    assert_eq!((recovered.unfinished, recovered.cut_bytes), (vec![], 0));
}

/// Records of a kind that this version does not know, and kinds of work and outcomes in those that it does, are passed
/// over or read as unknown, and stay where they are.
#[test]
fn h3_what_a_newer_version_recorded_is_read_around_and_kept() {
    let dir = tempdir().unwrap();
    let (mut history, _) = History::open(dir.path()).unwrap();
    history.append(&opened(1)).unwrap();
    drop(history);
    let newer = [
        r#"{"t":"sung","eval":1,"song":{"a":[1]}}"#,
        r#"{"t":"accepted","eval":1,"at_ms":2,"by":"x#1","kind":"dance","others":1,"code":"","new":1}"#,
        r#"{"t":"started","eval":1,"generation":1,"at_ms":3,"start":0}"#,
        r#"{"t":"finished","eval":1,"at_ms":4,"finished":{"outcome":{"kind":"vanished"},"generation":1,"start":0,"end":0,"duration_ms":1}}"#,
    ];
    let path = dir.path().join("history.jsonl");
    let mut text = std::fs::read_to_string(&path).unwrap();
    newer.iter().for_each(|line| text.extend([line, "\n"]));
    std::fs::write(&path, &text).unwrap();
    let (mut history, recovered) = History::open(dir.path()).unwrap();
    assert_eq!((recovered.next_eval, recovered.others), (EvalSeq(2), 1));
    assert_eq!(recovered.unfinished, vec![]);
    history.append(&accepted(2, "1")).unwrap();
    let reader = HistoryReader::open(dir.path()).unwrap();
    let entry = reader.eval(EvalSeq(1)).unwrap().expect("its records");
    assert_eq!((entry.kind, entry.by.to_string()), (WorkKind::Unknown, "x#1".to_owned()));
    assert_eq!(entry.finished.expect("its end").1.outcome, Outcome::Unknown);
    assert!(std::fs::read_to_string(&path).unwrap().starts_with(&text));
}
