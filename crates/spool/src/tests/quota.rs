//! What is dropped, what is protected and what is lost.

use stead_protocol::{ChunkKind, EvalSeq, NotKept, Offset};

use super::{read, tempdir};
use crate::{Options, Reader, Spool};

const TIGHT: Options = Options { quota: 64 << 10, segment: 4 << 10 };

fn size(dir: &std::path::Path) -> u64 {
    std::fs::read_dir(dir).unwrap().map(|file| file.unwrap().metadata().unwrap().len()).sum()
}

#[test]
fn old_segments_make_room_for_new_evals() {
    let dir = tempdir().unwrap();
    let mut spool = Spool::open(dir.path(), TIGHT).unwrap();
    for eval in 1..=500 {
        spool.protect(spool.end());
        assert_eq!(spool.append(ChunkKind::Out, EvalSeq(eval), &[b'x'; 1000]).lost, 0);
        assert!(size(dir.path()) <= TIGHT.quota);
    }
    let reader = Reader::open(dir.path()).unwrap();
    assert!(reader.first() > Offset(0));
    let mut records = reader.records(Offset(0), None);
    let evals: Vec<_> = records.by_ref().map(|r| r.unwrap().eval.0).collect();
    assert_eq!(records.dropped(), reader.first().0);
    assert!(evals.len() > 50 && evals.is_sorted() && evals.last() == Some(&500), "{evals:?}");
    let mut back = reader.records_back(Offset(0), spool.end());
    assert_eq!(back.by_ref().filter(|r| r.is_ok()).count(), evals.len());
    assert!(back.dropped());
}

#[test]
fn the_running_eval_keeps_its_head_and_counts_what_is_lost() {
    let dir = tempdir().unwrap();
    let mut spool = Spool::open(dir.path(), TIGHT).unwrap();
    spool.append(ChunkKind::Out, EvalSeq(1), &[b'o'; 10_000]);
    let start = spool.end();
    spool.protect(start);
    let mut lost = 0;
    for _ in 0..100 {
        let appended = spool.append(ChunkKind::Out, EvalSeq(2), &[b'x'; 1000]);
        let why = (appended.lost > 0).then_some(NotKept::Quota { bytes: TIGHT.quota });
        assert_eq!(appended.why, why);
        lost += appended.lost;
    }
    assert_eq!(lost, spool.lost_total());
    let kept: usize = read(dir.path(), start).iter().map(|r| r.2.len()).sum();
    assert_eq!(kept as u64 + lost, 100_000);
    assert!(kept > 50_000, "{kept}");
    // Its error is kept all the same.
    assert_eq!(spool.append(ChunkKind::Error, EvalSeq(2), &[b'e'; 500]).lost, 0);
    assert!(size(dir.path()) <= TIGHT.quota);
    assert_eq!(read(dir.path(), start)[0].2, vec![b'x'; 1000]);

    // The next eval has room again.
    spool.protect(spool.end());
    assert_eq!(spool.append(ChunkKind::Out, EvalSeq(3), &[b'y'; 1000]).lost, 0);
    assert_eq!(read(dir.path(), Offset(0)).last().unwrap().1, EvalSeq(3));
    drop(spool);
    let mut spool = Spool::open(dir.path(), Options { quota: 8 << 10, ..TIGHT }).unwrap();
    assert_eq!(spool.append(ChunkKind::Out, EvalSeq(4), b"smaller quota").lost, 0);
    assert!(size(dir.path()) <= 8 << 10);
}

#[test]
fn a_quota_below_a_segment_still_keeps_the_newest() {
    let dir = tempdir().unwrap();
    let mut spool = Spool::open(dir.path(), Options { quota: 1000, segment: 1 << 20 }).unwrap();
    for eval in 1..=50 {
        spool.protect(spool.end());
        assert_eq!(spool.append(ChunkKind::Out, EvalSeq(eval), &[b'x'; 300]).lost, 0);
    }
    assert_eq!(read(dir.path(), Offset(0)).last().unwrap().1, EvalSeq(50));
    assert!(size(dir.path()) <= 1000);
    let mut none = Spool::open(tempdir().unwrap().path(), Options { quota: 0, ..TIGHT }).unwrap();
    assert_eq!(none.append(ChunkKind::Out, EvalSeq(1), b"abc").lost, 3);
}

#[test]
fn a_reader_is_told_when_segments_go_away_under_it() {
    let dir = tempdir().unwrap();
    let mut spool = Spool::open(dir.path(), TIGHT).unwrap();
    for eval in 1..=60 {
        spool.append(ChunkKind::Out, EvalSeq(eval), &[b'x'; 1000]);
    }
    let reader = Reader::open(dir.path()).unwrap();
    let mut records = reader.records(Offset(0), None);
    let first = records.next().unwrap().unwrap();
    for eval in 61..=300 {
        spool.protect(spool.end());
        spool.append(ChunkKind::Out, EvalSeq(eval), &[b'x'; 1000]);
    }
    // The segment that is open is read to its end; then the oldest kept follows.
    let evals: Vec<_> = records.by_ref().map(|r| r.unwrap().eval.0).collect();
    assert!(evals.is_sorted() && evals.last() == Some(&300));
    assert!(records.dropped() > 0);
    let error = reader.payload(&first).unwrap_err();
    assert!(matches!(error, crate::SpoolError::Dropped { .. }), "{error}");
}
