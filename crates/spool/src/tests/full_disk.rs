//! A file system that takes no more: here the limit on file sizes, which needs no privileges.

use std::process::Command;

use rustix::io::Errno;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use stead_protocol::{ChunkKind, EvalSeq, NotKept, Offset};

use super::{accepted, finished, keyed, opened, read, tempdir};
use crate::{History, HistoryReader, Options, Spool};

/// Runs a test again in a process that ignores SIGXFSZ, as the limit is the whole process's.
pub(super) fn in_child(name: &str) -> bool {
    if std::env::var_os("SPOOL_TEST_CHILD").is_some() {
        return true;
    }
    let output = Command::new("sh")
        .args(["-c", "trap '' XFSZ; exec \"$@\"", "sh"])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", name, "--nocapture"])
        .env("SPOOL_TEST_CHILD", "1")
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success() && text.contains("1 passed"), "{text}\n{output:?}");
    false
}

pub(super) fn limit(bytes: Option<u64>) {
    let maximum = getrlimit(Resource::Fsize).maximum;
    setrlimit(Resource::Fsize, Rlimit { current: bytes, maximum }).unwrap();
}

#[test]
fn output_on_a_full_disk_is_counted_and_the_log_stays_whole() {
    if !in_child("tests::full_disk::output_on_a_full_disk_is_counted_and_the_log_stays_whole") {
        return;
    }
    let dir = tempdir().unwrap();
    let mut spool = Spool::open(dir.path(), Options::default()).unwrap();
    spool.append(ChunkKind::Out, EvalSeq(1), b"before");
    let (file, end) = (dir.path().join("out-0000000000000000.log"), spool.end());
    // At every limit the write is short by another number of bytes.
    for room in 0..60 {
        limit(Some(end.0 + room));
        let kept = spool.append(ChunkKind::Out, EvalSeq(2), &[b'x'; 40]);
        assert_eq!((kept.end, kept.lost), (end, 40));
        // The limit that stands for a full disk here has an error of its own.
        assert_eq!(kept.why, Some(NotKept::Disk { errno: Errno::FBIG.raw_os_error() }));
        assert_eq!(file.metadata().unwrap().len(), end.0);
    }
    assert_eq!(spool.lost_total(), 60 * 40);
    limit(None);
    assert_eq!(spool.append(ChunkKind::Out, EvalSeq(3), b"after").lost, 0);
    let texts: Vec<_> = read(dir.path(), Offset(0)).into_iter().map(|r| r.2).collect();
    assert_eq!(texts, [b"before".to_vec(), b"after".to_vec()]);
}

#[test]
fn history_on_a_full_disk_keeps_what_it_had_and_goes_on_later() {
    if !in_child("tests::full_disk::history_on_a_full_disk_keeps_what_it_had_and_goes_on_later") {
        return;
    }
    let dir = tempdir().unwrap();
    let (mut history, _) = History::open(dir.path()).unwrap();
    history.append_all(&[opened(1), accepted(1, "1")]).unwrap();
    let path = dir.path().join("history.jsonl");
    let before = std::fs::read(&path).unwrap();
    let pair = [finished(1), keyed(2, "k")];
    // Code is taken only where there is room for its outcome too.
    for room in (0..before.len() as u64 + 400).chain([1 << 20]) {
        limit(Some(room));
        match history.append_all(&pair) {
            Ok(()) => break,
            Err(error) => assert!(error.to_string().starts_with("could not "), "{error}"),
        }
        assert_eq!(std::fs::read(&path).unwrap(), before);
        let reader = HistoryReader::open(dir.path()).unwrap();
        assert_eq!(reader.len().unwrap(), 1);
        assert!(reader.eval(EvalSeq(1)).unwrap().unwrap().finished.is_none());
        assert_eq!((history.key("k"), reader.key("k").unwrap()), (None, None));
    }
    limit(None);
    assert_eq!(history.key("k"), Some(EvalSeq(2)));
    let (_, recovered) = History::open(dir.path()).unwrap();
    assert_eq!((recovered.next_eval, recovered.unfinished.len()), (EvalSeq(3), 1));
}
