//! One key never runs twice (SPEC E-12), whenever the host is killed.

use std::fs;

use stead_protocol::EvalSeq;

use super::{accepted, finished, keyed, opened, tempdir};
use crate::{History, HistoryReader, SpoolError};

#[test]
fn a_key_finds_its_eval_also_after_a_restart() {
    let dir = tempdir().unwrap();
    let (mut history, _) = History::open(dir.path()).unwrap();
    assert_eq!(history.key("a"), None);
    history.append_all(&[opened(1), keyed(1, "a"), keyed(2, "b\"\n")]).unwrap();
    assert_eq!((history.key("a"), history.key("b\"\n")), (Some(EvalSeq(1)), Some(EvalSeq(2))));
    let error = history.append(&keyed(3, "a")).unwrap_err();
    assert!(matches!(error, SpoolError::KeyUsed { eval: EvalSeq(1), .. }), "{error}");
    let error = history.append_all(&[keyed(3, "c"), keyed(4, "c")]).unwrap_err();
    assert!(matches!(error, SpoolError::KeyUsed { eval: EvalSeq(3), .. }), "{error}");
    assert_eq!(history.key("c"), None);
    drop(history);

    let (mut history, _) = History::open(dir.path()).unwrap();
    assert_eq!(history.key("b\"\n"), Some(EvalSeq(2)));
    let reader = HistoryReader::open(dir.path()).unwrap();
    assert_eq!(reader.key("a").unwrap(), Some(EvalSeq(1)));
    assert_eq!(reader.key("z").unwrap(), None);
    fs::remove_file(dir.path().join("keys.jsonl")).unwrap();
    let (mut history, _) = History::open(dir.path()).unwrap();
    assert_eq!((history.key("a"), history.key("z")), (Some(EvalSeq(1)), None));
}

#[test]
fn a_host_killed_at_any_byte_of_an_acceptance_leaves_the_key_with_its_eval_or_with_none() {
    let dir = tempdir().unwrap();
    let (mut history, _) = History::open(dir.path()).unwrap();
    history.append_all(&[opened(1), keyed(1, "a"), finished(1)]).unwrap();
    drop(history);
    let path = |name: &str| dir.path().join(name);
    let names = ["keys.jsonl", "history.idx", "history.jsonl"];
    let before = names.map(|name| fs::read(path(name)).unwrap());
    let (mut history, _) = History::open(dir.path()).unwrap();
    history.append(&keyed(2, "k")).unwrap();
    drop(history);
    let after = names.map(|name| fs::read(path(name)).unwrap());

    // The files are written one after the other; a kill comes at any byte of one of them.
    for (killed_in, _) in names.iter().enumerate() {
        for len in before[killed_in].len()..=after[killed_in].len() {
            for (i, name) in names.iter().enumerate() {
                let bytes = match i.cmp(&killed_in) {
                    std::cmp::Ordering::Less => &after[i][..],
                    std::cmp::Ordering::Equal => &after[i][..len],
                    std::cmp::Ordering::Greater => &before[i][..],
                };
                fs::write(path(name), bytes).unwrap();
            }
            let (mut history, recovered) = History::open(dir.path()).unwrap();
            let reader = HistoryReader::open(dir.path()).unwrap();
            let was_accepted = fs::read(path("history.jsonl")).unwrap() == after[2];
            let expected = was_accepted.then_some(EvalSeq(2));
            assert_eq!(history.key("k"), expected);
            assert_eq!(reader.key("k").unwrap(), expected);
            assert_eq!(recovered.unfinished.len(), usize::from(was_accepted));
            if was_accepted {
                continue;
            }
            // The number goes to another eval; the key must not follow it there.
            history.append(&accepted(2, "other")).unwrap();
            assert_eq!((history.key("k"), history.key("a")), (None, Some(EvalSeq(1))));
            history.append(&keyed(3, "k")).unwrap();
            assert_eq!(history.key("k"), Some(EvalSeq(3)));
        }
    }
}
