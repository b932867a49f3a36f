//! Reading an eval's part of the spool without ever holding all of it.

use stead_protocol::{Chunk, ChunkKind, Offset};
use stead_spool::{Reader, Record, SpoolError};

use crate::read::content::{Content, LeftOut, line_ends, push};
use crate::show::figures;

/// The lines of gaps up to this size are counted; counting takes reading the whole gap.
const COUNT_LINES_UP_TO: u64 = 256 << 20;

/// How many records may follow the value, error or report of an eval.
const RESULT_RECORDS: usize = 8;

/// A part of the spool.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Span {
    pub(crate) from: Offset,
    /// How many bytes of the eval's own output to pass over first.
    pub(crate) skip: u64,
    pub(crate) to: Offset,
    /// Where in the eval's own output the span begins, `skip` included.
    pub(crate) base: u64,
    /// Whether only the eval's own output is read, as for `output --offset`.
    pub(crate) own_only: bool,
}

impl Span {
    pub(crate) fn all(from: Offset, to: Offset) -> Self {
        Span { from, skip: 0, to, base: 0, own_only: false }
    }

    fn takes(&self, record: &Record) -> bool {
        !self.own_only || record.kind.is_own_output()
    }
}

/// Reads a span: all of it if it fits `budget` bytes, else its head and its tail.
pub(crate) fn content(reader: &Reader, span: Span, budget: usize) -> Result<Content, SpoolError> {
    let half = (budget / 2).max(1) as u64;
    let (head, met) = forward(reader, span, Stop::AtBudget(half))?;
    if met == span.to || met >= span.to {
        return Ok(whole(span, head));
    }
    if span.to.0.saturating_sub(met.0) <= half {
        let (head, _) = forward(reader, span, Stop::AtEnd)?;
        return Ok(whole(span, head));
    }
    let rest = Span { from: met, skip: 0, ..span };
    let (tail, gap_end) = backward(reader, rest, half)?;
    let gap = measure(reader, Span { to: gap_end, ..rest })?;
    let (shown_head, shown_tail) = (own(&head), own(&tail));
    let offset = span.base + shown_head;
    Ok(Content {
        head,
        left_out: Some(LeftOut { bytes: gap.bytes, lines: gap.lines, offset }),
        tail,
        offset: span.base,
        total_bytes: offset + gap.own_bytes + shown_tail,
    })
}

/// Reads at most `limit` bytes of the eval's own output from the beginning of a span.
pub(crate) fn limited(reader: &Reader, span: Span, limit: u64) -> Result<Content, SpoolError> {
    let (mut head, met) = forward(reader, span, Stop::AtBudget(limit))?;
    let read = own(&head);
    trim_end(&mut head, read.saturating_sub(limit));
    let rest = measure_own(reader, met, span.to)?;
    let total_bytes = span.base + read + rest;
    Ok(Content { head, offset: span.base, total_bytes, ..Content::default() })
}

/// Reads the last `lines` lines of an eval's output, at most `budget` bytes of them, and the values, errors and reports that
/// stand among them: the last lines are mostly read to see what came of the eval.
pub(crate) fn tail(
    reader: &Reader,
    from: Offset,
    to: Offset,
    lines: usize,
    budget: usize,
) -> Result<Content, SpoolError> {
    let mut chunks = Vec::new();
    let (mut seen, mut size, mut ends) = (0, 0, 0);
    for record in reader.records_back(from, to) {
        let Some(record) = usable(record)? else { continue };
        let is_result = record.kind.is_result();
        if !record.kind.is_stream() && !is_result {
            continue;
        }
        let Some(mut bytes) = payload(reader, &record)? else { continue };
        if is_result {
            size += bytes.len();
            chunks.push(Chunk { kind: record.kind, bytes });
            if size >= budget {
                break;
            }
            continue;
        }
        // A line end at the very end of the output begins no further line.
        let counted = bytes.len() - usize::from(seen == 0 && bytes.ends_with(b"\n"));
        seen += bytes.len();
        let mut cut = None;
        for at in (0..counted).rev().filter(|at| bytes[*at] == b'\n') {
            ends += 1;
            if ends >= lines {
                cut = Some(at + 1);
                break;
            }
        }
        if let Some(cut) = cut {
            bytes.drain(..cut);
        }
        size += bytes.len();
        chunks.push(Chunk { kind: record.kind, bytes });
        if cut.is_some() || size >= budget || lines == 0 {
            break;
        }
    }
    if lines == 0 {
        return Ok(Content::default());
    }
    let head = merged_back(chunks);
    let total_bytes = measure_own(reader, from, to)?;
    let offset = total_bytes.saturating_sub(own(&head));
    Ok(Content { head, offset, total_bytes, ..Content::default() })
}

/// Reads the value, error or report with which an eval ended, and nothing else.
pub(crate) fn result(reader: &Reader, from: Offset, to: Offset) -> Result<Content, SpoolError> {
    let mut content = Content::default();
    for record in reader.records_back(from, to).take(RESULT_RECORDS) {
        let Some(record) = usable(record)? else { continue };
        if record.kind.is_result()
            && let Some(bytes) = payload(reader, &record)?
        {
            content.head.push(Chunk { kind: record.kind, bytes });
            break;
        }
    }
    Ok(content)
}

/// Finds the place `offset` bytes into the eval's own output.
pub(crate) fn seek(
    reader: &Reader,
    from: Offset,
    to: Offset,
    offset: u64,
) -> Result<Span, SpoolError> {
    let mut passed = 0;
    for record in reader.records(from, Some(to)) {
        let Some(record) = usable(record)? else { continue };
        if !record.kind.is_own_output() {
            continue;
        }
        if passed + u64::from(record.len) > offset {
            let skip = offset - passed;
            return Ok(Span { from: record.offset, skip, to, base: offset, own_only: true });
        }
        passed += u64::from(record.len);
    }
    Ok(Span { from: to, skip: 0, to, base: passed, own_only: true })
}

/// Gives everything in `from..to` to `sink`, in order; returns how far that was.
pub(crate) fn copy(
    reader: &Reader,
    from: Offset,
    to: Offset,
    sink: &mut dyn FnMut(ChunkKind, &[u8]),
) -> Result<Offset, SpoolError> {
    let mut records = reader.records(from, Some(to));
    for record in records.by_ref() {
        let Some(record) = usable(record)? else { continue };
        if let Some(bytes) = payload(reader, &record)? {
            sink(record.kind, &bytes);
        }
    }
    Ok(records.position())
}

/// How many bytes of an eval's own output are in `from..to`.
pub(crate) fn measure_own(reader: &Reader, from: Offset, to: Offset) -> Result<u64, SpoolError> {
    let mut bytes = 0;
    for record in reader.records(from, Some(to)) {
        if let Some(record) = usable(record)?
            && record.kind.is_own_output()
        {
            bytes += u64::from(record.len);
        }
    }
    Ok(bytes)
}

enum Stop {
    AtEnd,
    /// After the record that makes this many bytes.
    AtBudget(u64),
}

fn forward(reader: &Reader, span: Span, stop: Stop) -> Result<(Vec<Chunk>, Offset), SpoolError> {
    let mut chunks = Vec::new();
    let (mut size, mut skip) = (0, span.skip);
    let records = reader.records(span.from, Some(span.to));
    for record in records {
        let Some(record) = usable(record)? else { continue };
        if !span.takes(&record) {
            continue;
        }
        let Some(mut bytes) = payload(reader, &record)? else { continue };
        let passed = if record.kind.is_own_output() { skip.min(bytes.len() as u64) } else { 0 };
        skip -= passed;
        size += bytes.len() as u64 - passed;
        bytes.drain(..passed as usize);
        push(&mut chunks, record.kind, bytes);
        if matches!(stop, Stop::AtBudget(budget) if size >= budget) {
            return Ok((chunks, record.next));
        }
    }
    Ok((chunks, span.to))
}

fn backward(reader: &Reader, span: Span, budget: u64) -> Result<(Vec<Chunk>, Offset), SpoolError> {
    let mut chunks = Vec::new();
    let mut size = 0;
    for record in reader.records_back(span.from, span.to) {
        let Some(record) = usable(record)? else { continue };
        if !span.takes(&record) {
            continue;
        }
        let Some(bytes) = payload(reader, &record)? else { continue };
        size += bytes.len() as u64;
        chunks.push(Chunk { kind: record.kind, bytes });
        if size >= budget {
            return Ok((merged_back(chunks), record.offset));
        }
    }
    Ok((merged_back(chunks), span.from))
}

struct Gap {
    bytes: u64,
    own_bytes: u64,
    lines: Option<u64>,
}

fn measure(reader: &Reader, span: Span) -> Result<Gap, SpoolError> {
    let count = span.to.0.saturating_sub(span.from.0) <= COUNT_LINES_UP_TO;
    let mut gap = Gap { bytes: 0, own_bytes: 0, lines: count.then_some(0) };
    let mut bytes = Vec::new();
    for record in reader.records(span.from, Some(span.to)) {
        let Some(record) = usable(record)? else { continue };
        let counts = match span.own_only {
            true => record.kind.is_own_output(),
            false => record.kind.is_stream(),
        };
        if !counts {
            continue;
        }
        gap.bytes += u64::from(record.len);
        if record.kind.is_own_output() {
            gap.own_bytes += u64::from(record.len);
        }
        if let Some(lines) = &mut gap.lines
            && usable(reader.payload_into(&record, &mut bytes))?.is_some()
        {
            *lines += line_ends(&bytes);
        }
    }
    Ok(gap)
}

fn whole(span: Span, head: Vec<Chunk>) -> Content {
    let total_bytes = span.base + own(&head);
    Content { head, offset: span.base, total_bytes, ..Content::default() }
}

fn own(chunks: &[Chunk]) -> u64 {
    chunks.iter().filter(|c| c.kind.is_own_output()).map(|c| c.bytes.len() as u64).sum()
}

fn trim_end(chunks: &mut Vec<Chunk>, mut excess: u64) {
    while excess > 0 {
        let Some(last) = chunks.last_mut() else { return };
        let cut = excess.min(last.bytes.len() as u64);
        last.bytes.truncate(last.bytes.len() - cut as usize);
        excess -= cut;
        if last.bytes.is_empty() {
            chunks.pop();
        }
    }
}

fn merged_back(chunks: Vec<Chunk>) -> Vec<Chunk> {
    let mut merged = Vec::new();
    for chunk in chunks.into_iter().rev() {
        push(&mut merged, chunk.kind, chunk.bytes);
    }
    merged
}

/// Turns the error of a record that is damaged or gone into `None`, so that the record is passed over: the whole
/// records around it are worth more than an error.
pub(crate) fn usable<T>(read: Result<T, SpoolError>) -> Result<Option<T>, SpoolError> {
    match read {
        Ok(read) => Ok(Some(read)),
        Err(SpoolError::Corrupt { .. } | SpoolError::Dropped { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// The bytes of a record, unless they are damaged or gone.
pub(crate) fn payload(reader: &Reader, record: &Record) -> Result<Option<Vec<u8>>, SpoolError> {
    let bytes = usable(reader.payload(record))?;
    Ok(match record.kind {
        ChunkKind::Display => bytes.map(|bytes| figures::resolve(reader.dir(), bytes)),
        _ => bytes,
    })
}

#[cfg(test)]
mod tests {
    use stead_protocol::EvalSeq;
    use stead_spool::{Options, Spool};

    use super::*;

    const EVAL: EvalSeq = EvalSeq(1);

    /// A spool with one eval: a late line of another, numbered lines, a value.
    fn spool(lines: usize) -> (tempfile::TempDir, Reader, Offset) {
        let dir = tempfile::tempdir().unwrap();
        let mut spool = Spool::open(dir.path(), Options::default()).unwrap();
        spool.append(ChunkKind::BackgroundOut, EvalSeq(0), b"late\n");
        for n in 0..lines {
            let kind = if n % 10 == 3 { ChunkKind::Err } else { ChunkKind::Out };
            spool.append(kind, EVAL, format!("{n:07}\n").as_bytes());
        }
        spool.append(ChunkKind::Value, EVAL, br#"{"text":"42","type":"int"}"#);
        let reader = Reader::open(dir.path()).unwrap();
        (dir, reader, spool.end())
    }

    fn text(content: &Content) -> String {
        let bytes: Vec<u8> = content.chunks().flat_map(|chunk| chunk.bytes.clone()).collect();
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn what_fits_is_read_whole_and_merged() {
        let (_dir, reader, end) = spool(5);
        let content = content(&reader, Span::all(Offset(0), end), 10_000).unwrap();
        let kinds: Vec<ChunkKind> = content.head.iter().map(|chunk| chunk.kind).collect();
        use ChunkKind::{BackgroundOut, Err, Out, Value};
        assert_eq!(kinds, [BackgroundOut, Out, Err, Out, Value]);
        assert_eq!(content.total_bytes, 40);
        assert_eq!(content.left_out, None);
    }

    #[test]
    fn o5_what_does_not_fit_is_read_from_both_ends_and_counted() {
        let (_dir, reader, end) = spool(10_000);
        let content = content(&reader, Span::all(Offset(0), end), 400).unwrap();
        let gap = content.left_out.clone().unwrap();
        assert_eq!(content.total_bytes, 80_000);
        assert_eq!(content.shown_bytes() + gap.bytes, 80_000);
        assert_eq!(gap.lines, Some(gap.bytes / 8));
        assert!(content.tail.last().is_some_and(|chunk| chunk.kind == ChunkKind::Value));
        let at = seek(&reader, Offset(0), end, gap.offset).unwrap();
        let next = limited(&reader, at, 8).unwrap();
        assert_eq!(text(&next), format!("{:07}\n", gap.offset / 8));
    }

    #[test]
    fn o6_a_range_is_bytes_of_the_evals_own_output() {
        let (_dir, reader, end) = spool(100);
        let range = |offset, limit| {
            let span = seek(&reader, Offset(0), end, offset).unwrap();
            let content = limited(&reader, span, limit).unwrap();
            (text(&content), content.offset, content.total_bytes)
        };
        assert_eq!(range(0, 8), ("0000000\n".to_owned(), 0, 800));
        assert_eq!(range(30, 5), ("3\n000".to_owned(), 30, 800));
        assert_eq!(range(796, 99), ("099\n".to_owned(), 796, 800));
        assert_eq!(range(5000, 9), (String::new(), 800, 800));
    }

    #[test]
    fn o6_a_tail_is_its_last_lines() {
        let (_dir, reader, end) = spool(100);
        let last = |lines| {
            let mut content = tail(&reader, Offset(0), end, lines, 10_000).unwrap();
            let value = content.head.pop_if(|chunk| chunk.kind == ChunkKind::Value);
            assert_eq!(value.is_some(), lines > 0);
            text(&content)
        };
        assert_eq!(last(0), "");
        assert_eq!(last(1), "0000099\n");
        assert_eq!(last(2), "0000098\n0000099\n");
        assert_eq!(last(100).lines().next(), Some("0000000"));
        assert_eq!(last(1000).lines().count(), 101);
    }

    #[test]
    fn the_result_is_found_without_the_output() {
        let (_dir, reader, end) = spool(100);
        let content = result(&reader, Offset(0), end).unwrap();
        assert_eq!(content.head.len(), 1);
        assert_eq!(content.head[0].kind, ChunkKind::Value);
    }
}
