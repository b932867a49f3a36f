//! Records in any order, in pieces of any size, with writes refused in between: readers see what was
//! recorded and nothing else, and so does the next host.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use stead_protocol::EvalSeq;

use super::full_disk::{in_child, limit};
use super::{accepted, finished, opened, started, tempdir};
use crate::{History, HistoryReader, HistoryRecord};

/// A small generator of numbers that look random and are the same each time.
pub(super) struct Numbers(pub(super) u64);

impl Numbers {
    pub(super) fn below(&mut self, limit: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}

/// What should be known of each eval.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Model(pub(super) BTreeMap<u64, (bool, bool)>);

impl Model {
    pub(super) fn next(&self) -> u64 {
        self.0.len() as u64 + 1
    }

    fn with(&self, want: impl Fn(&(bool, bool)) -> bool) -> Option<u64> {
        self.0.iter().find(|(_, state)| want(state)).map(|(eval, _)| *eval)
    }

    /// Any record that may come next: one eval runs at a time, the oldest that waits goes first, and one
    /// that waits may be taken out.
    pub(super) fn record(&mut self, numbers: &mut Numbers) -> HistoryRecord {
        let running = self.with(|state| *state == (true, false));
        let waiting = self.with(|state| *state == (false, false));
        match (numbers.below(5), running, waiting) {
            (0 | 1, Some(eval), _) => {
                self.0.insert(eval, (true, true));
                finished(eval)
            }
            (0 | 1, None, Some(eval)) => {
                self.0.insert(eval, (true, false));
                started(eval, 1)
            }
            (2, _, Some(eval)) if numbers.below(4) == 0 => {
                self.0.insert(eval, (false, true));
                finished(eval)
            }
            (3, _, _) if numbers.below(4) == 0 => opened(1),
            _ => {
                let eval = self.next();
                self.0.insert(eval, (false, false));
                accepted(eval, "code")
            }
        }
    }

    fn check(&self, reader: &HistoryReader, what: &str) {
        assert_eq!(reader.len().unwrap(), self.0.len() as u64, "{what}");
        for (eval, (started, finished)) in &self.0 {
            let entry = reader.eval(EvalSeq(*eval)).unwrap().unwrap();
            let known = (entry.started.is_some(), entry.finished.is_some());
            assert_eq!(known, (*started, *finished), "{what}, eval {eval}");
        }
    }
}

#[test]
fn h1_records_in_any_order_are_read_as_they_were_written() {
    if !in_child("tests::history_orders::h1_records_in_any_order_are_read_as_they_were_written") {
        return;
    }
    let copy = tempdir().unwrap();
    for seed in 0..25 {
        let dir = tempdir().unwrap();
        let mut numbers = Numbers(seed);
        let (mut history, _) = History::open(dir.path()).unwrap();
        history.append(&opened(1)).unwrap();
        let (mut model, reader) = (Model::default(), HistoryReader::open(dir.path()).unwrap());
        for round in 0..40 {
            let what = format!("seed {seed}, round {round}");
            let mut after = model.clone();
            let count = numbers.below(3) + 1;
            let records: Vec<_> = (0..count).map(|_| after.record(&mut numbers)).collect();
            // Refused at any byte of the history or of its index.
            if numbers.below(3) == 0 {
                let len = |name: &str| fs::metadata(dir.path().join(name)).unwrap().len();
                let most = len("history.jsonl").max(len("history.idx"));
                limit(Some(numbers.below(most + 200)));
            }
            let added = history.append_all(&records);
            limit(None);
            if added.is_ok() {
                model = after;
            }
            model.check(&reader, &what);
            model.check(&HistoryReader::open(dir.path()).unwrap(), &what);
            next_host_agrees(dir.path(), copy.path(), &model, &what);
        }
    }
}

/// A host that is killed now leaves the same to the next one.
fn next_host_agrees(dir: &Path, copy: &Path, model: &Model, what: &str) {
    for file in ["history.jsonl", "history.idx"] {
        fs::copy(dir.join(file), copy.join(file)).unwrap();
    }
    let (mut history, recovered) = History::open(copy).unwrap();
    assert_eq!(recovered.next_eval.0, model.next(), "{what}");
    let open = |state: &&(bool, bool)| !state.1;
    assert_eq!(recovered.unfinished.len(), model.0.values().filter(open).count(), "{what}");
    let mut model = model.clone();
    for (eval, started) in recovered.unfinished {
        assert_eq!(model.0[&eval.0], (started.is_some(), false), "{what}");
        history.append(&finished(eval.0)).unwrap();
        model.0.insert(eval.0, (started.is_some(), true));
    }
    model.check(&HistoryReader::open(copy).unwrap(), what);
}
