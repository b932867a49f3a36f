//! Torn and damaged histories and indexes.

use std::fs;
use std::path::Path;

use stead_protocol::{EvalSeq, Generation};

use super::{accepted, finished, opened, started, tempdir};
use crate::{EvalEntry, History, HistoryReader, SpoolError};

/// Five evals: 1 to 3 finished, 4 runs, 5 waits.
fn write(dir: &Path) -> Vec<EvalEntry> {
    let (mut history, _) = History::open(dir).unwrap();
    history.append(&opened(1)).unwrap();
    for eval in 1..=3 {
        history.append(&accepted(eval, "x = 1\n")).unwrap();
        history.append_all(&[started(eval, 1), finished(eval)]).unwrap();
    }
    history.append_all(&[accepted(4, "four"), accepted(5, "five"), started(4, 1)]).unwrap();
    HistoryReader::open(dir).unwrap().last(9).unwrap()
}

#[test]
fn a_history_torn_at_any_byte_opens_with_its_whole_lines_and_goes_on() {
    let dir = tempdir().unwrap();
    write(dir.path());
    let (path, index) = (dir.path().join("history.jsonl"), dir.path().join("history.idx"));
    let (whole, whole_index) = (fs::read(&path).unwrap(), fs::read(&index).unwrap());
    for len in 0..=whole.len() {
        fs::write(&path, &whole[..len]).unwrap();
        fs::write(&index, &whole_index).unwrap();
        let kept = whole[..len].iter().rposition(|&b| b == b'\n').map_or(0, |end| end + 1);
        let text = String::from_utf8(whole[..kept].to_vec()).unwrap();
        let count = |t: &str| text.matches(&format!("{{\"t\":\"{t}\"")).count() as u64;

        let reader = HistoryReader::open(dir.path()).unwrap();
        assert_eq!(reader.len().unwrap(), count("accepted"));
        for entry in reader.last(9).unwrap() {
            assert_eq!(entry.finished.is_some(), entry.seq.0 <= count("finished"));
            assert_eq!(entry.started.is_some(), entry.seq.0 <= count("started"));
        }

        let (mut history, recovered) = History::open(dir.path()).unwrap();
        assert_eq!(recovered.cut_bytes, (len - kept) as u64);
        assert_eq!(recovered.next_eval, EvalSeq(count("accepted") + 1));
        let open: Vec<_> = recovered.unfinished.iter().map(|(eval, _)| eval.0).collect();
        assert_eq!(open, Vec::from_iter(count("finished") + 1..=count("accepted")));
        assert_eq!(recovered.generation, Generation(count("opened") as u32));
        assert_eq!(fs::read(&path).unwrap(), &whole[..kept]);

        let next = recovered.next_eval.0;
        history.append_all(&[accepted(next, "next"), started(next, 1), finished(next)]).unwrap();
        assert_eq!(reader.eval(EvalSeq(next)).unwrap().unwrap().code, "next");
        assert_eq!(reader.len().unwrap(), next);
    }
}

#[test]
fn an_index_that_is_missing_or_wrong_is_made_anew() {
    let dir = tempdir().unwrap();
    let expected = write(dir.path());
    let index = dir.path().join("history.idx");
    // Opened once more, so that it does not say where the outcome of the running eval will stand.
    History::open(dir.path()).unwrap();
    let right = fs::read(&index).unwrap();
    let garbage: Vec<u8> = (0..right.len()).map(|i| (i * 37 + 11) as u8).collect();
    let shifted = [&[0; 32], &right[..]].concat();
    let mut cases = vec![vec![], garbage, vec![0xff; right.len()], vec![0; right.len()], shifted];
    cases.extend((0..right.len()).map(|len| right[..len].to_vec()));
    for case in cases {
        fs::write(&index, &case).unwrap();
        // A client copes by itself, also when no host comes to repair it.
        let reader = HistoryReader::open(dir.path()).unwrap();
        assert_eq!(reader.last(9).unwrap(), expected, "{case:?}");
        assert_eq!(fs::read(&index).unwrap(), case);

        let (_, recovered) = History::open(dir.path()).unwrap();
        assert_eq!((recovered.next_eval, recovered.unfinished.len()), (EvalSeq(6), 2));
        assert_eq!(fs::read(&index).unwrap(), right, "{case:?}");
    }
    fs::remove_file(&index).unwrap();
    assert_eq!(HistoryReader::open(dir.path()).unwrap().last(9).unwrap(), expected);
    History::open(dir.path()).unwrap();
    assert_eq!(fs::read(&index).unwrap(), right);
}

#[test]
fn a_flipped_bit_in_the_index_is_an_error_that_names_it_or_does_no_harm() {
    let dir = tempdir().unwrap();
    let expected = write(dir.path());
    let index = dir.path().join("history.idx");
    let right = fs::read(&index).unwrap();
    for at in 0..right.len() {
        for bit in 0..8 {
            let mut flipped = right.clone();
            flipped[at] ^= 1 << bit;
            fs::write(&index, &flipped).unwrap();
            let reader = HistoryReader::open(dir.path()).unwrap();
            for entry in &expected {
                match reader.eval(entry.seq) {
                    Ok(read) if read.as_ref() == Some(entry) => {}
                    Ok(read) => panic!("byte {at} bit {bit}: {read:?}"),
                    Err(error) => {
                        // What the last entry says of older ones cannot be checked.
                        let of_last = at == right.len() - 8;
                        assert!(of_last || at as u64 / 32 + 1 == entry.seq.0, "{error}");
                        assert!(error.to_string().contains("history.idx"), "{error}");
                    }
                }
            }
            History::open(dir.path()).unwrap();
        }
    }
}

#[test]
fn a_damaged_line_is_an_error_for_its_eval_only() {
    let dir = tempdir().unwrap();
    let expected = write(dir.path());
    let path = dir.path().join("history.jsonl");
    let mut bytes = fs::read(&path).unwrap();
    let second = String::from_utf8(bytes.clone()).unwrap().find("\"eval\":2,").unwrap();
    bytes[second] = b'#';
    fs::write(&path, &bytes).unwrap();
    let reader = HistoryReader::open(dir.path()).unwrap();
    let error = reader.eval(EvalSeq(2)).unwrap_err();
    assert!(matches!(error, SpoolError::Corrupt { .. }));
    assert!(error.to_string().contains("history.jsonl"), "{error}");
    for entry in expected.iter().filter(|entry| entry.seq.0 != 2) {
        assert_eq!(reader.eval(entry.seq).unwrap().as_ref(), Some(entry));
    }
    let (mut history, recovered) = History::open(dir.path()).unwrap();
    assert_eq!(recovered.next_eval, EvalSeq(6));
    history.append(&finished(4)).unwrap();
}
