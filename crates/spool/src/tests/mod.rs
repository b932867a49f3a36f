//! Tests of what the crate promises on disk.

mod damage;
mod full_disk;
mod history;
mod history_damage;
mod history_orders;
mod keys;
mod layout;
mod log;
mod quota;
mod trim;

use std::path::Path;

use stead_protocol::{ChunkKind, EvalSeq, Finished, Generation, Offset, Outcome, WorkKind};
use tempfile::TempDir;

use crate::{HistoryRecord, Options, Reader, Spool};

/// Small segments, so that few records make many of them.
const SMALL: Options = Options { quota: 1 << 30, segment: 200 };

/// In memory where there is such a place: cutting a file a thousand times is slow on a disk.
fn tempdir() -> std::io::Result<TempDir> {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir())
}

fn small(dir: &Path) -> Spool {
    Spool::open(dir, SMALL).unwrap()
}

/// All records from `from` on with their payloads.
fn read(dir: &Path, from: Offset) -> Vec<(ChunkKind, EvalSeq, Vec<u8>)> {
    let reader = Reader::open(dir).unwrap();
    let records: Vec<_> = reader.records(from, None).map(Result::unwrap).collect();
    records.iter().map(|r| (r.kind, r.eval, reader.payload(r).unwrap())).collect()
}

/// The same, backwards from the end.
fn read_back(dir: &Path, from: Offset) -> Vec<(ChunkKind, EvalSeq, Vec<u8>)> {
    let reader = Reader::open(dir).unwrap();
    let end = reader.end().unwrap();
    let records: Vec<_> = reader.records_back(from, end).map(Result::unwrap).collect();
    records.iter().rev().map(|r| (r.kind, r.eval, reader.payload(r).unwrap())).collect()
}

fn opened(generation: u32) -> HistoryRecord {
    HistoryRecord::Opened {
        generation: Generation(generation),
        at_ms: 1,
        host_pid: 7,
        boot_id: "boot".into(),
        from_copy: false,
    }
}

fn accepted(eval: u64, code: &str) -> HistoryRecord {
    accepted_with(eval, code, None)
}

fn keyed(eval: u64, key: &str) -> HistoryRecord {
    accepted_with(eval, "1", Some(key.into()))
}

fn accepted_with(eval: u64, code: &str, key: Option<String>) -> HistoryRecord {
    HistoryRecord::Accepted {
        eval: EvalSeq(eval),
        at_ms: 2,
        by: "test".into(),
        kind: WorkKind::Code,
        others: 0,
        code: code.into(),
        key,
        token: None,
    }
}

fn started(eval: u64, generation: u32) -> HistoryRecord {
    HistoryRecord::Started {
        eval: EvalSeq(eval),
        generation: Generation(generation),
        at_ms: 3,
        start: Offset(eval * 10),
    }
}

fn finished(eval: u64) -> HistoryRecord {
    HistoryRecord::Finished { eval: EvalSeq(eval), at_ms: 4, finished: outcome(eval) }
}

fn outcome(eval: u64) -> Finished {
    let (start, end) = (Offset(eval * 10), Offset(eval * 10 + 5));
    let finished = Finished::new(Outcome::Complete, Generation(1), start, end);
    Finished { duration_ms: 1, ..finished }
}
