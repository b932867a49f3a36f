//! Torn and damaged output logs: case 54 and 55 of notes/reliability.md.

use std::fs::{self, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::Path;

use stead_protocol::{ChunkKind, EvalSeq, NotKept, Offset};

use super::{SMALL, read, read_back, small, tempdir};
use crate::{Options, Reader, Spool, SpoolError};

const ONE: Options = Options { segment: 1 << 20, ..SMALL };

/// A log in one segment with records of these lengths; their edges.
fn write(dir: &Path, lengths: &[usize]) -> Vec<u64> {
    let mut spool = Spool::open(dir, ONE).unwrap();
    let mut edges = vec![0];
    for (eval, &len) in lengths.iter().enumerate() {
        edges.push(spool.append(ChunkKind::Value, EvalSeq(eval as u64), &vec![b'a'; len]).end.0);
    }
    edges
}

fn first_segment(dir: &Path) -> std::path::PathBuf {
    dir.join("out-0000000000000000.log")
}

#[test]
fn a_log_torn_at_any_byte_opens_with_its_earlier_records_and_goes_on() {
    let lengths = [30, 0, 1, 90];
    let dir = tempdir().unwrap();
    let edges = write(dir.path(), &lengths);
    let whole = fs::read(first_segment(dir.path())).unwrap();
    for len in 0..=whole.len() {
        fs::write(first_segment(dir.path()), &whole[..len]).unwrap();
        let kept = edges.iter().filter(|&&edge| edge <= len as u64).count() - 1;
        // A reader is content before anyone has repaired the log.
        assert_eq!(read(dir.path(), Offset(0)).len(), kept);
        assert_eq!(read_back(dir.path(), Offset(0)).len(), kept);

        let mut spool = Spool::open(dir.path(), ONE).unwrap();
        assert_eq!((spool.end(), spool.cut()), (Offset(edges[kept]), len as u64 - edges[kept]));
        let next = spool.end();
        spool.append(ChunkKind::Out, EvalSeq(9), b"more");
        let records = read(dir.path(), Offset(0));
        assert_eq!(records.len(), kept + 1);
        assert_eq!(records[kept].2, b"more");
        for (record, length) in records.iter().zip(&lengths[..kept]) {
            assert_eq!(record.2, vec![b'a'; *length]);
        }
        assert_eq!(read(dir.path(), next).len(), 1);
    }
}

#[test]
fn an_end_that_was_promised_and_then_torn_is_read_up_to_what_is_there() {
    let dir = tempdir().unwrap();
    let edges = write(dir.path(), &[30, 30, 30]);
    let file = OpenOptions::new().write(true).open(first_segment(dir.path())).unwrap();
    file.set_len(edges[3] - 7).unwrap();
    let reader = Reader::open(dir.path()).unwrap();
    assert_eq!(reader.records(Offset(0), Some(Offset(edges[3]))).count(), 2);
    let back: Vec<_> = reader.records_back(Offset(0), Offset(edges[3])).collect();
    assert_eq!(back.len(), 2);
    assert!(back.iter().all(Result::is_ok));
    assert_eq!(reader.end().unwrap(), Offset(edges[2]));
}

#[test]
fn zeros_after_a_power_loss_are_cut() {
    let dir = tempdir().unwrap();
    let edges = write(dir.path(), &[30, 30]);
    let file = OpenOptions::new().write(true).open(first_segment(dir.path())).unwrap();
    file.set_len(edges[2] + 100_000).unwrap();
    let spool = Spool::open(dir.path(), ONE).unwrap();
    assert_eq!((spool.end().0, spool.cut()), (edges[2], 100_000));
}

#[test]
fn a_flipped_byte_never_panics_and_leaves_other_records_readable() {
    let dir = tempdir().unwrap();
    let edges = write(dir.path(), &[10, 10, 10, 10]);
    let whole = fs::read(first_segment(dir.path())).unwrap();
    for at in edges[1] as usize..edges[2] as usize {
        let header = at < edges[1] as usize + 16;
        let payload = !header && at < edges[2] as usize - 4;
        for bit in 0..8 {
            let mut flipped = whole.clone();
            flipped[at] ^= 1 << bit;
            fs::write(first_segment(dir.path()), &flipped).unwrap();
            let reader = Reader::open(dir.path()).unwrap();
            let all: Vec<_> = reader.records(Offset(0), None).collect();
            assert!(all[0].is_ok());
            for record in all.iter().filter_map(|r| r.as_ref().err()) {
                assert!(matches!(record, SpoolError::Corrupt { at, .. } if *at == edges[1]));
                assert!(record.to_string().contains("out-0000000000000000.log"), "{record}");
            }
            if payload {
                assert!(all.iter().all(Result::is_ok));
            }
            // An eval whose start is known is read past the damage.
            assert_eq!(reader.records(Offset(edges[2]), None).filter(|r| r.is_ok()).count(), 2);
            let back: Vec<_> = reader.records_back(Offset(0), Offset(edges[4])).collect();
            assert!(back[..2].iter().all(Result::is_ok), "{back:?}");

            // The writer destroys nothing that is whole, and what it adds is found.
            let mut spool = Spool::open(dir.path(), ONE).unwrap();
            assert_eq!((spool.end().0, spool.cut()), (edges[4], 0));
            spool.append(ChunkKind::Out, EvalSeq(9), b"more");
            let reader = Reader::open(dir.path()).unwrap();
            let last = reader.records(Offset(0), None).last().unwrap().unwrap();
            assert_eq!(reader.payload(&last).unwrap(), b"more");
            assert_eq!(reader.records(Offset(edges[2]), None).filter(|r| r.is_ok()).count(), 3);
            drop(spool);
            let _ = fs::remove_file(dir.path().join(crate::layout::segment_name(edges[4])));
        }
    }
}

#[test]
fn offsets_inside_a_record_and_foreign_files_are_errors_not_panics() {
    let dir = tempdir().unwrap();
    let edges = write(dir.path(), &[100, 100]);
    fs::write(dir.path().join("out-zz.log"), b"x").unwrap();
    fs::write(dir.path().join("out-ffffffffffffffff.log"), b"x").unwrap();
    let reader = Reader::open(dir.path()).unwrap();
    for from in 1..edges[2] {
        let forward: Vec<_> = reader.records(Offset(from), None).collect();
        assert!(
            from == edges[1] || forward.first().is_some_and(Result::is_err) || forward.is_empty()
        );
        let _ = reader.records_back(Offset(0), Offset(from)).count();
        assert!(reader.records_back(Offset(from), Offset(edges[2])).all(|r| r.is_ok()));
    }
    assert_eq!(small(dir.path()).end().0, edges[2]);
}

#[test]
fn a_deleted_directory_costs_the_output_and_nothing_else() {
    let parent = tempdir().unwrap();
    let dir = parent.path().join("session");
    fs::create_dir(&dir).unwrap();
    let mut spool = Spool::open(&dir, ONE).unwrap();
    spool.append(ChunkKind::Out, EvalSeq(1), b"kept");
    assert!(spool.look());
    fs::remove_dir_all(&dir).unwrap();
    // Another session of this name must not get our output.
    fs::create_dir(&dir).unwrap();
    let end = spool.end();
    spool.protect(end);
    assert!(!spool.look());
    let appended = spool.append(ChunkKind::Out, EvalSeq(2), b"lost");
    assert_eq!((appended.lost, appended.why), (4, Some(NotKept::Removed)));
    assert_eq!((spool.lost_total(), spool.end()), (4, end));
    assert_eq!(fs::read_dir(&dir).unwrap().count(), 0);
}

#[test]
fn a_deleted_segment_is_replaced_by_a_new_one() {
    let dir = tempdir().unwrap();
    let mut spool = Spool::open(dir.path(), ONE).unwrap();
    spool.append(ChunkKind::Out, EvalSeq(1), b"gone");
    fs::remove_file(first_segment(dir.path())).unwrap();
    let start = spool.end();
    spool.protect(start);
    assert_eq!(spool.append(ChunkKind::Out, EvalSeq(2), b"kept").lost, 0);
    assert_eq!(read(dir.path(), start).len(), 1);
    let reader = Reader::open(dir.path()).unwrap();
    let mut all = reader.records(Offset(0), None);
    assert_eq!(all.by_ref().count(), 1);
    assert_eq!(all.dropped(), start.0);
}

#[test]
fn a_writer_that_finds_garbage_behind_its_end_writes_over_nothing_whole() {
    let dir = tempdir().unwrap();
    let edges = write(dir.path(), &[10]);
    let file = OpenOptions::new().write(true).open(first_segment(dir.path())).unwrap();
    file.write_all_at(b"garbage that is no record header at all", edges[1]).unwrap();
    let mut spool = Spool::open(dir.path(), ONE).unwrap();
    assert_eq!((spool.end().0, spool.cut()), (edges[1] + 39, 0));
    spool.append(ChunkKind::Out, EvalSeq(2), b"more");
    let reader = Reader::open(dir.path()).unwrap();
    let all: Vec<_> = reader.records(Offset(0), None).map(|r| r.is_ok()).collect();
    assert_eq!(all, [true, false, true]);
    let back: Vec<_> = reader.records_back(Offset(0), spool.end()).map(|r| r.is_ok()).collect();
    assert_eq!(back, [true, false]);
}
