//! What is appended is read, forwards and backwards, also while it is written.

use std::os::unix::fs::PermissionsExt;
use std::sync::atomic::{AtomicBool, Ordering};

use proptest::prelude::*;
use stead_protocol::{ChunkKind, EvalSeq, NotKept, Offset};

use super::{SMALL, read, read_back, small, tempdir};
use crate::{MAX_PAYLOAD, MAX_STREAM_PAYLOAD, Options, Reader, Spool};

#[test]
fn an_eval_reads_back_as_written() {
    let dir = tempdir().unwrap();
    let mut spool = Spool::open(dir.path(), Options::default()).unwrap();
    spool.append(ChunkKind::Out, EvalSeq(1), b"before\n");
    let start = spool.end();
    spool.append(ChunkKind::Out, EvalSeq(2), b"hi\n");
    spool.append(ChunkKind::Err, EvalSeq(2), b"\xff\0");
    let kept = spool.append(ChunkKind::Value, EvalSeq(2), b"");
    assert_eq!((kept.end, kept.lost), (spool.end(), 0));
    let expected = [
        (ChunkKind::Out, EvalSeq(2), b"hi\n".to_vec()),
        (ChunkKind::Err, EvalSeq(2), b"\xff\0".to_vec()),
        (ChunkKind::Value, EvalSeq(2), vec![]),
    ];
    assert_eq!(read(dir.path(), start), expected);
    assert_eq!(read_back(dir.path(), start), expected);

    let reader = Reader::open(dir.path()).unwrap();
    assert_eq!(reader.first(), Offset(0));
    let record = reader.records(start, Some(spool.end())).next().unwrap().unwrap();
    assert_eq!(reader.payload_part(&record, 1..9).unwrap(), b"i\n");
    assert_eq!(reader.payload_part(&record, 7..9).unwrap(), b"");
    let mode = dir.path().join("out-0000000000000000.log").metadata().unwrap().permissions();
    assert_eq!(mode.mode() & 0o777, 0o600);
}

#[test]
fn long_streams_are_split_and_long_values_are_not() {
    let dir = tempdir().unwrap();
    let mut spool = Spool::open(dir.path(), Options::default()).unwrap();
    let long: Vec<u8> = (0..3 * MAX_STREAM_PAYLOAD + 5).map(|i| i as u8).collect();
    spool.append(ChunkKind::Out, EvalSeq(1), &long);
    assert_eq!(spool.append(ChunkKind::Out, EvalSeq(1), b"").end, spool.end());
    spool.append(ChunkKind::Value, EvalSeq(1), &long);
    let records = read(dir.path(), Offset(0));
    assert_eq!(records.len(), 5);
    let stream: Vec<u8> = records[..4].iter().flat_map(|r| r.2.clone()).collect();
    assert!(stream == long && records[4].2 == long);

    let too_long = vec![0; MAX_PAYLOAD + 1];
    let kept = spool.append(ChunkKind::Display, EvalSeq(1), &too_long);
    assert_eq!(kept.lost, too_long.len() as u64);
    assert_eq!(kept.why, Some(NotKept::TooLarge { most: MAX_PAYLOAD as u64 }));
    assert_eq!(spool.lost_total(), kept.lost);
    let kept = spool.append(ChunkKind::Display, EvalSeq(1), &too_long[1..]);
    assert_eq!(kept.lost, 0);
    let reader = Reader::open(dir.path()).unwrap();
    let last = reader.records_back(Offset(0), kept.end).next().unwrap().unwrap();
    assert_eq!(reader.payload(&last).unwrap().len(), MAX_PAYLOAD);
}

#[test]
fn a_session_without_output_reads_as_empty() {
    let dir = tempdir().unwrap();
    assert_eq!(read(dir.path(), Offset(0)), []);
    assert_eq!(read_back(dir.path(), Offset(0)), []);
    let spool = small(dir.path());
    assert_eq!((spool.end(), spool.cut(), spool.lost_total()), (Offset(0), 0, 0));
    assert_eq!(read(dir.path(), Offset(u64::MAX - 3)), []);
    let error = Reader::open(&dir.path().join("none")).unwrap_err();
    assert!(error.to_string().contains("none"), "{error}");
}

#[test]
fn a_reader_that_was_opened_early_sees_segments_that_came_later() {
    let dir = tempdir().unwrap();
    let reader = Reader::open(dir.path()).unwrap();
    let mut spool = small(dir.path());
    assert_eq!(reader.records(Offset(0), None).count(), 0);
    for eval in 1..=40 {
        spool.append(ChunkKind::Out, EvalSeq(eval), &[b'x'; 50]);
    }
    assert_eq!(reader.records(Offset(0), None).count(), 40);
    let middle = spool.end();
    for eval in 41..=60 {
        spool.append(ChunkKind::Out, EvalSeq(eval), &[b'x'; 50]);
    }
    assert_eq!(reader.records(middle, None).count(), 20);
    assert_eq!(reader.records_back(middle, spool.end()).count(), 20);
}

#[test]
fn readers_beside_the_writer_get_whole_records_only() {
    const RECORDS: u64 = 20_000;
    let dir = tempdir().unwrap();
    let mut spool = Spool::open(dir.path(), Options { segment: 1 << 16, ..SMALL }).unwrap();
    let done = AtomicBool::new(false);
    // The payload follows from the eval, so a reader can tell a torn one.
    let payload = |eval: u64| vec![eval as u8; (eval * 7919 % 3000) as usize];
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let reader = Reader::open(dir.path()).unwrap();
                let (mut at, mut seen) = (Offset(0), 0);
                loop {
                    let last_look = done.load(Ordering::Acquire);
                    let mut records = reader.records(at, None);
                    for record in records.by_ref() {
                        let record = record.unwrap();
                        assert_eq!(record.eval, EvalSeq(seen));
                        assert_eq!(reader.payload(&record).unwrap(), payload(seen));
                        seen += 1;
                    }
                    at = records.position();
                    if last_look {
                        break;
                    }
                    std::thread::yield_now();
                }
                assert_eq!(seen, RECORDS);
            });
        }
        for eval in 0..RECORDS {
            assert_eq!(spool.append(ChunkKind::Value, EvalSeq(eval), &payload(eval)).lost, 0);
        }
        done.store(true, Ordering::Release);
    });
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(60) })]
    #[test]
    fn any_appends_and_reopens_read_like_the_model(
        ops in prop::collection::vec((0..9usize, 0..5u64, 0..400usize, prop::bool::weighted(0.1)), 0..80),
        segment in 1..2000u64,
    ) {
        let kinds = [
            ChunkKind::Out, ChunkKind::Err, ChunkKind::Value, ChunkKind::Error,
            ChunkKind::Display, ChunkKind::Status, ChunkKind::BackgroundOut, ChunkKind::BackgroundErr,
            ChunkKind::Report,
        ];
        let dir = tempdir().unwrap();
        let options = Options { segment, ..SMALL };
        let mut spool = Spool::open(dir.path(), options).unwrap();
        let mut model = vec![];
        let mut edges = vec![Offset(0)];
        for (kind, eval, len, reopen) in ops {
            if reopen {
                let end = spool.end();
                drop(spool);
                spool = Spool::open(dir.path(), options).unwrap();
                prop_assert_eq!((spool.end(), spool.cut()), (end, 0));
            }
            // Payloads that look like frames must not confuse anyone.
            let bytes: Vec<u8> = b"\x5D\x01\0\0\x02\0\0\0".iter().copied().cycle().take(len).collect();
            let kept = spool.append(kinds[kind], EvalSeq(eval), &bytes);
            prop_assert_eq!(kept.lost, 0);
            if kept.end > edges[edges.len() - 1] {
                edges.push(kept.end);
                model.push((kinds[kind], EvalSeq(eval), bytes));
            }
        }
        for (i, &from) in edges.iter().enumerate().step_by(9) {
            prop_assert_eq!(&read(dir.path(), from)[..], &model[i..]);
            prop_assert_eq!(&read_back(dir.path(), from)[..], &model[i..]);
        }
        let reader = Reader::open(dir.path()).unwrap();
        let (a, b) = (edges.len() / 3, edges.len() - 1);
        prop_assert_eq!(reader.records(edges[a], Some(edges[b])).count(), b - a);
        prop_assert_eq!(reader.records_back(edges[0], edges[a]).count(), a);
    }
}
