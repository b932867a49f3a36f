//! A history within its quota: the oldest ended evals go, nothing else does, and what is gone is known (SPEC S-12).

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use stead_protocol::{EndReason, EvalSeq, Generation};

use super::full_disk::{in_child, limit};
use super::history_orders::{Model, Numbers};
use super::{accepted, finished, keyed, opened, started, tempdir};
use crate::{History, HistoryReader, HistoryRecord, SpoolError};

const FILES: [&str; 3] = ["history.jsonl", "history.idx", "keys.jsonl"];

fn size(dir: &Path) -> u64 {
    FILES.iter().map(|name| fs::metadata(dir.join(name)).map_or(0, |meta| meta.len())).sum()
}

/// Copies what a killed host leaves.
fn copy(from: &Path, to: &Path) {
    for entry in fs::read_dir(to).unwrap() {
        fs::remove_file(entry.unwrap().path()).unwrap();
    }
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
    }
}

/// Evals of the model are there as they should be, or gone if they are over; says how many are gone.
fn check(model: &Model, reader: &HistoryReader, what: &str) -> u64 {
    assert_eq!(reader.len().unwrap(), model.0.len() as u64, "{what}");
    let mut gone = Vec::new();
    for (&eval, &(started, finished)) in &model.0 {
        let seq = EvalSeq(eval);
        match reader.eval(seq).unwrap() {
            Some(entry) => {
                let known = (entry.started.is_some(), entry.finished.is_some());
                assert_eq!((entry.seq, known), (seq, (started, finished)), "{what}, eval {eval}");
                assert!(!reader.is_gone(seq).unwrap(), "{what}, eval {eval}");
            }
            None => {
                assert!(finished && reader.is_gone(seq).unwrap(), "{what}, eval {eval} is gone");
                gone.push(eval);
            }
        }
    }
    let count = gone.len() as u64;
    assert_eq!(reader.gone().unwrap().map_or(0, |gone| gone.evals), count, "{what}");
    assert_eq!(reader.last(u64::MAX).unwrap().len() as u64 + count, model.0.len() as u64);
    assert!(
        !reader.is_gone(EvalSeq(model.next())).unwrap() && !reader.is_gone(EvalSeq(0)).unwrap()
    );
    count
}

fn next_host_agrees(dir: &Path, copied: &Path, model: &Model, gone: u64, what: &str) {
    copy(dir, copied);
    let (mut history, recovered) = History::open(copied).unwrap();
    assert_eq!(recovered.next_eval.0, model.next(), "{what}");
    assert_eq!(recovered.generation, Generation(1), "{what}");
    let mut model = model.clone();
    let open: BTreeMap<u64, bool> = model
        .0
        .iter()
        .filter(|(_, state)| !state.1)
        .map(|(eval, state)| (*eval, state.0))
        .collect();
    let found: BTreeMap<u64, bool> =
        recovered.unfinished.iter().map(|(eval, start)| (eval.0, start.is_some())).collect();
    assert_eq!(open, found, "{what}");
    for eval in open.keys() {
        history.append(&finished(*eval)).unwrap();
        model.0.get_mut(eval).unwrap().1 = true;
    }
    assert_eq!(check(&model, &HistoryReader::open(copied).unwrap(), what), gone, "{what}");
    let left: Vec<_> = fs::read_dir(copied).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(left.len(), FILES.len(), "{what}: {left:?}");
    // And without an index.
    fs::remove_file(copied.join("history.idx")).unwrap();
    assert_eq!(check(&model, &HistoryReader::open(copied).unwrap(), what), gone, "{what}");
    History::open(copied).unwrap();
    assert_eq!(check(&model, &HistoryReader::open(copied).unwrap(), what), gone, "{what}");
}

#[test]
fn s12_only_ended_evals_go_in_any_order_and_whatever_the_disk_refuses() {
    let own = "tests::trim::s12_only_ended_evals_go_in_any_order_and_whatever_the_disk_refuses";
    if !in_child(own) {
        return;
    }
    let copied = tempdir().unwrap();
    let mut total = 0;
    for seed in 0..6 {
        let dir = tempdir().unwrap();
        let mut numbers = Numbers(seed);
        let quota = 1500 + numbers.below(1500);
        let (mut history, _) = History::open(dir.path()).unwrap();
        history.append(&opened(1)).unwrap();
        let mut model = Model::default();
        let mut gone = 0;
        for round in 0..80 {
            let what = format!("seed {seed}, round {round}");
            let mut after = model.clone();
            let count = numbers.below(3) + 1;
            let records: Vec<_> = (0..count).map(|_| after.record(&mut numbers)).collect();
            if history.append_all(&records).is_ok() {
                model = after;
            }
            let refused = numbers.below(3) == 0;
            if refused {
                limit(Some(numbers.below(quota)));
            }
            let open = HistoryReader::open(dir.path()).unwrap();
            let trimmed = history.trim(quota);
            limit(None);
            assert!(trimmed.is_ok() || refused, "{what}: {trimmed:?}");
            // Who has the old files open reads on in them.
            assert_eq!(check(&model, &open, &what), gone, "{what}");
            let reader = HistoryReader::open(dir.path()).unwrap();
            let now = check(&model, &reader, &what);
            assert!(now == gone || matches!(trimmed, Ok(true)), "{what}: {trimmed:?}");
            gone = now;
            assert_eq!(history.used(), size(dir.path()), "{what}");
            let latest = reader.eval(EvalSeq(model.next() - 1));
            assert!(model.0.is_empty() || latest.unwrap().is_some(), "{what}");
            if round % 15 == 0 || trimmed.is_err() {
                next_host_agrees(dir.path(), copied.path(), &model, gone, &what);
            }
        }
        total += gone;
    }
    assert!(total > 60, "{total}");
}

#[test]
fn s12_a_history_stays_within_its_quota_however_long_it_gets() {
    let dir = tempdir().unwrap();
    let (mut history, _) = History::open(dir.path()).unwrap();
    history.append_all(&[opened(1), accepted(1, "runs all the time"), started(1, 1)]).unwrap();
    let quota = 20_000;
    let mut trims = 0;
    for eval in 2..3000 {
        if eval == 300 {
            history.append(&finished(1)).unwrap();
        }
        history.append_all(&[accepted(eval, "code"), finished(eval)]).unwrap();
        trims += u64::from(history.trim(quota).unwrap());
        assert!(size(dir.path()) <= quota, "eval {eval}: {}", size(dir.path()));
        assert!(!history.is_gone(EvalSeq(1)) || eval > 300, "it goes when it is over: {eval}");
    }
    assert!(trims < 150, "one drop serves many evals: {trims}");
    let reader = HistoryReader::open(dir.path()).unwrap();
    let first = reader.last(u64::MAX).unwrap()[0].seq.0;
    assert!(history.is_gone(EvalSeq(1)) && first > 2900, "{first}");
}

#[test]
fn s12_one_eval_larger_than_the_quota_stays_until_there_is_a_newer_one() {
    let dir = tempdir().unwrap();
    let (mut history, _) = History::open(dir.path()).unwrap();
    history.append_all(&[opened(1), accepted(1, "small"), finished(1)]).unwrap();
    history.append_all(&[accepted(2, &"x".repeat(50_000)), finished(2)]).unwrap();
    history.trim(20_000).unwrap();
    let read = |eval| HistoryReader::open(dir.path()).unwrap().eval(EvalSeq(eval)).unwrap();
    assert!(read(2).is_some());
    history.append_all(&[accepted(3, "small"), started(3, 1)]).unwrap();
    history.trim(20_000).unwrap();
    assert!(read(2).is_some(), "who waited for it may still read");
    history.append(&finished(3)).unwrap();
    assert!(history.trim(20_000).unwrap());
    assert!(read(2).is_none() && read(3).is_some());
    assert!(size(dir.path()) < 2_000);
}

#[test]
fn s12_how_the_last_interpreter_ended_is_known_when_its_record_went() {
    for reported in [false, true] {
        let dir = tempdir().unwrap();
        let (mut history, _) = History::open(dir.path()).unwrap();
        let ended = HistoryRecord::Ended {
            generation: Generation(7),
            at_ms: 1,
            reason: EndReason::HostDied,
            reported,
        };
        history.append_all(&[opened(7), ended]).unwrap();
        for eval in 1..100 {
            history.append_all(&[accepted(eval, "never started"), finished(eval)]).unwrap();
        }
        assert!(history.trim(4000).unwrap());
        let (_, recovered) = History::open(dir.path()).unwrap();
        assert_eq!(recovered.generation, Generation(7));
        assert_eq!(recovered.last_end, Some((EndReason::HostDied, reported)));
    }
}

#[test]
fn s12_a_key_whose_eval_is_gone_is_known_and_never_runs_again() {
    let dir = tempdir().unwrap();
    let (mut history, _) = History::open(dir.path()).unwrap();
    history.append_all(&[opened(1), keyed(1, "first"), finished(1)]).unwrap();
    // A host that was killed before it accepted: the number went to another eval.
    let path = dir.path().join("keys.jsonl");
    let keys = fs::read_to_string(&path).unwrap() + "{\"key\":\"never\",\"eval\":2}\n";
    fs::write(&path, keys).unwrap();
    drop(history);
    let (mut history, _) = History::open(dir.path()).unwrap();
    for eval in 2..200 {
        history.append_all(&[accepted(eval, "code"), finished(eval)]).unwrap();
        history.trim(4000).unwrap();
    }
    for _ in 0..2 {
        assert!(history.is_gone(EvalSeq(1)) && history.is_gone(EvalSeq(2)));
        assert_eq!((history.key("first"), history.key("never")), (Some(EvalSeq(1)), None));
        let error = history.append(&keyed(200, "first")).unwrap_err();
        assert!(matches!(error, SpoolError::KeyUsed { eval: EvalSeq(1), .. }), "{error}");
        let reader = HistoryReader::open(dir.path()).unwrap();
        assert_eq!(reader.key("first").unwrap(), Some(EvalSeq(1)));
        assert_eq!(reader.key("never").unwrap(), None);
        drop(history);
        history = History::open(dir.path()).unwrap().0;
    }
    history.append(&keyed(200, "never")).unwrap();
    assert_eq!(history.key("never"), Some(EvalSeq(200)));
}

#[test]
fn s12_keys_outlive_their_evals_up_to_a_quarter_of_the_quota() {
    let dir = tempdir().unwrap();
    let (mut history, _) = History::open(dir.path()).unwrap();
    history.append(&opened(1)).unwrap();
    let quota = 20_000;
    for eval in 1..2000 {
        history.append_all(&[keyed(eval, &format!("key-{eval}")), finished(eval)]).unwrap();
        history.trim(quota).unwrap();
        assert!(size(dir.path()) <= quota, "eval {eval}");
    }
    let reader = HistoryReader::open(dir.path()).unwrap();
    let oldest = reader.gone().unwrap().unwrap().first.0;
    assert!((oldest..2000).all(|eval| history.key(&format!("key-{eval}")) == Some(EvalSeq(eval))));
    let known = (1..oldest).filter(|eval| history.key(&format!("key-{eval}")).is_some()).count();
    assert!(known > 50, "{known}");
}

#[test]
fn s12_h3_a_host_killed_while_it_drops_leaves_all_evals_or_those_that_stay() {
    let (dir, new, copied) = (tempdir().unwrap(), tempdir().unwrap(), tempdir().unwrap());
    let (mut history, _) = History::open(dir.path()).unwrap();
    history.append_all(&[opened(1), accepted(1, "runs"), started(1, 1)]).unwrap();
    let mut model = Model::default();
    model.0.insert(1, (true, false));
    for eval in 2..60 {
        history.append_all(&[accepted(eval, "code"), finished(eval)]).unwrap();
        model.0.insert(eval, (false, true));
    }
    copy(dir.path(), new.path());
    let (mut history, _) = History::open(new.path()).unwrap();
    assert!(history.trim(4000).unwrap());
    let gone = check(&model, &HistoryReader::open(new.path()).unwrap(), "new");
    assert!(gone > 20, "{gone}");
    let read = |name: &str| fs::read(new.path().join(name)).unwrap();
    let (history, index) = (read("history.jsonl"), read("history.idx"));
    let at = |name: &str| dir.path().join(name);
    let (temporary, its_index) = (at(".history.jsonl.new"), at(".history.idx.new"));
    for len in (0..=history.len()).step_by(97) {
        fs::write(&temporary, &history[..len]).unwrap();
        next_host_agrees(dir.path(), copied.path(), &model, 0, "the history is written");
    }
    fs::write(&temporary, &history).unwrap();
    for len in (0..=index.len()).step_by(41) {
        fs::write(&its_index, &index[..len]).unwrap();
        next_host_agrees(dir.path(), copied.path(), &model, 0, "the index is written");
    }
    fs::write(&its_index, &index).unwrap();
    fs::rename(at("history.idx"), at(".history.idx.old")).unwrap();
    check(&model, &HistoryReader::open(dir.path()).unwrap(), "no index");
    next_host_agrees(dir.path(), copied.path(), &model, 0, "the old index is away");
    fs::rename(&temporary, at("history.jsonl")).unwrap();
    check(&model, &HistoryReader::open(dir.path()).unwrap(), "no index");
    next_host_agrees(dir.path(), copied.path(), &model, gone, "the new history is there");
    fs::rename(&its_index, at("history.idx")).unwrap();
    next_host_agrees(dir.path(), copied.path(), &model, gone, "the new index is there");
}

#[test]
fn s12_readers_agree_while_evals_are_dropped() {
    let dir = tempdir().unwrap();
    let (mut history, _) = History::open(dir.path()).unwrap();
    // All records of all evals have the same length: the index of another history would look right.
    history.append_all(&[opened(1), accepted(100_000, "code"), finished(100_000)]).unwrap();
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let reads = || {
            let mut count = 0;
            while !over.load(Ordering::Acquire) {
                let reader = HistoryReader::open(dir.path()).unwrap();
                let last = reader.len().unwrap();
                for entry in reader.last(8).unwrap() {
                    assert!(entry.finished.is_some() || entry.seq.0 >= last, "{entry:?}");
                    let wanted = format!("code {}", entry.seq.0);
                    assert!(entry.code == wanted || entry.seq.0 == 100_000, "{entry:?}");
                    count += 1;
                }
            }
            count
        };
        let readers = [scope.spawn(reads), scope.spawn(reads)];
        for eval in 100_001..104_000 {
            history.append_all(&[accepted(eval, &format!("code {eval}")), finished(eval)]).unwrap();
            history.trim(4000).unwrap();
        }
        over.store(true, Ordering::Release);
        readers.into_iter().for_each(|reader| assert!(reader.join().unwrap() > 0));
    });
}
