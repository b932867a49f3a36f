//! What an eval produced, within a budget: whole lines from head and tail (SPEC O-5).

use stead_protocol::{Chunk, ChunkKind, ErrorInfo, ValueInfo};

/// Chunks in order, with at most one gap between `head` and `tail`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Content {
    /// From the beginning; everything, if nothing is left out.
    pub head: Vec<Chunk>,
    /// What stood between the two.
    pub left_out: Option<LeftOut>,
    /// To the end.
    pub tail: Vec<Chunk>,
    /// Where in the eval's own output `head` begins.
    pub offset: u64,
    /// How much the eval itself wrote in all, as far as that was read.
    pub total_bytes: u64,
}

/// A gap in the output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOut {
    /// How many bytes of the streams.
    pub bytes: u64,
    /// How many line ends, if they were counted.
    pub lines: Option<u64>,
    /// Where the gap begins in the eval's own output.
    pub offset: u64,
}

/// Whether this kind is part of what `output --offset` counts.
pub fn is_own_output(kind: ChunkKind) -> bool {
    matches!(kind, ChunkKind::Out | ChunkKind::Err)
}

fn is_stream(kind: ChunkKind) -> bool {
    is_own_output(kind) || matches!(kind, ChunkKind::BackgroundOut | ChunkKind::BackgroundErr)
}

/// Appends to the last chunk if it is a stream of the same kind.
pub(crate) fn push(chunks: &mut Vec<Chunk>, kind: ChunkKind, bytes: &[u8]) {
    match chunks.last_mut() {
        Some(last) if last.kind == kind && is_stream(kind) => last.bytes.extend_from_slice(bytes),
        _ => chunks.push(Chunk { kind, bytes: bytes.to_vec() }),
    }
}

impl Content {
    /// All chunks, the gap aside.
    pub fn chunks(&self) -> impl DoubleEndedIterator<Item = &Chunk> {
        self.head.iter().chain(&self.tail)
    }

    /// Bytes of the eval's own output that are here.
    pub fn shown_bytes(&self) -> u64 {
        own_bytes(self.chunks())
    }

    /// The same within `max_chars` characters.
    pub fn bound(self, max_chars: usize) -> Content {
        let cost: usize = self.chunks().map(chunk_cost).fold(0, usize::saturating_add);
        if cost <= max_chars {
            return self;
        }
        let Content { mut head, left_out, mut tail, offset, total_bytes } = self;
        if left_out.is_none() {
            head.append(&mut tail);
        }
        let budget = max_chars / 2;
        let dropped_by_head = cut_head(&mut head, budget);
        if left_out.is_none() {
            tail = dropped_by_head.clone();
        }
        let dropped_by_tail = cut_tail(&mut tail, budget);
        let mut dropped = dropped_by_tail;
        let mut gap = LeftOut { bytes: 0, lines: Some(0), offset: offset + own_bytes(head.iter()) };
        if let Some(known) = left_out {
            dropped.extend(dropped_by_head);
            gap.bytes = known.bytes;
            gap.lines = known.lines;
        }
        for chunk in dropped.iter().filter(|chunk| is_stream(chunk.kind)) {
            gap.bytes += chunk.bytes.len() as u64;
            gap.lines = gap.lines.map(|lines| lines + line_ends(&chunk.bytes));
        }
        let left_out = (!dropped.is_empty() || gap.bytes > 0).then_some(gap);
        Content { head, left_out, tail, offset, total_bytes }
    }
}

/// How many lines end in `bytes`.
pub(crate) fn line_ends(bytes: &[u8]) -> u64 {
    bytes.iter().filter(|byte| **byte == b'\n').count() as u64
}

fn own_bytes<'a>(chunks: impl Iterator<Item = &'a Chunk>) -> u64 {
    chunks.filter(|chunk| is_own_output(chunk.kind)).map(|chunk| chunk.bytes.len() as u64).sum()
}

/// Keeps what fits from the front and returns the rest.
fn cut_head(chunks: &mut Vec<Chunk>, budget: usize) -> Vec<Chunk> {
    let mut left = budget;
    for index in 0..chunks.len() {
        let chunk = &chunks[index];
        let cost = chunk_cost(chunk);
        if cost <= left {
            left -= cost;
            continue;
        }
        let keep =
            if is_stream(chunk.kind) { front(&chunk.bytes, left, left == budget) } else { 0 };
        let mut rest = chunks.split_off(index);
        if keep > 0 {
            let kind = rest[0].kind;
            let bytes = rest[0].bytes.drain(..keep).collect();
            chunks.push(Chunk { kind, bytes });
        }
        return rest;
    }
    Vec::new()
}

/// Keeps what fits from the back and returns what stood before it.
fn cut_tail(chunks: &mut Vec<Chunk>, budget: usize) -> Vec<Chunk> {
    let mut left = budget;
    let mut any_stream = false;
    for index in (0..chunks.len()).rev() {
        let chunk = &chunks[index];
        let cost = chunk_cost(chunk);
        // The value or the error at the end is what the caller asked for.
        let last = index + 1 == chunks.len() && !is_stream(chunk.kind);
        if cost <= left || last {
            left = left.saturating_sub(cost);
            any_stream |= is_stream(chunk.kind);
            continue;
        }
        let from = if is_stream(chunk.kind) {
            back(&chunk.bytes, left, !any_stream)
        } else {
            chunk.bytes.len()
        };
        let mut kept = chunks.split_off(index);
        let kind = kept[0].kind;
        if from > 0 {
            let bytes: Vec<u8> = kept[0].bytes.drain(..from).collect();
            chunks.push(Chunk { kind, bytes });
        }
        if kept[0].bytes.is_empty() {
            kept.remove(0);
        }
        return std::mem::replace(chunks, kept);
    }
    Vec::new()
}

fn chunk_cost(chunk: &Chunk) -> usize {
    match chunk.kind {
        // Shown as one short line.
        ChunkKind::Display => 80,
        ChunkKind::Value => match serde_json::from_slice::<ValueInfo>(&chunk.bytes) {
            Ok(value) => value.text.chars().count(),
            Err(_) => chunk.bytes.len(),
        },
        ChunkKind::Error => match serde_json::from_slice::<ErrorInfo>(&chunk.bytes) {
            Ok(error) => error.traceback.unwrap_or(error.message).chars().count(),
            Err(_) => chunk.bytes.len(),
        },
        ChunkKind::Out
        | ChunkKind::Err
        | ChunkKind::Status
        | ChunkKind::BackgroundOut
        | ChunkKind::BackgroundErr => units(&chunk.bytes).map(|(_, cost)| cost).sum(),
    }
}

/// Length of the longest prefix of whole lines within `budget`; of characters, if `any`.
fn front(bytes: &[u8], budget: usize, any: bool) -> usize {
    let (mut position, mut cost, mut line_end) = (0, 0, 0);
    for (length, unit) in units(bytes) {
        if cost + unit > budget {
            return if line_end == 0 && any { position } else { line_end };
        }
        cost += unit;
        position += length;
        if bytes[position - 1] == b'\n' {
            line_end = position;
        }
    }
    bytes.len()
}

/// Start of the longest suffix of whole lines within `budget`; of characters, if `any`.
fn back(bytes: &[u8], budget: usize, any: bool) -> usize {
    let window = bytes.len().saturating_sub(budget.saturating_mul(4).saturating_add(4));
    let sizes: Vec<(usize, usize)> = units(&bytes[window..]).collect();
    let (mut position, mut cost, mut line_start) = (bytes.len(), 0, bytes.len());
    for (length, unit) in sizes.into_iter().rev() {
        if cost + unit > budget {
            break;
        }
        cost += unit;
        position -= length;
        if position == 0 || bytes[position - 1] == b'\n' {
            line_start = position;
        }
    }
    if line_start == bytes.len() && any { position } else { line_start }
}

/// Length and cost of each character; a byte that is none is shown as `\xNN`.
fn units(bytes: &[u8]) -> impl Iterator<Item = (usize, usize)> {
    bytes.utf8_chunks().flat_map(|part| {
        let valid = part.valid().chars().map(|c| (c.len_utf8(), 1));
        valid.chain(part.invalid().iter().map(|_| (1, 4)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn out(text: &str) -> Chunk {
        Chunk { kind: ChunkKind::Out, bytes: text.as_bytes().to_vec() }
    }

    fn content(head: Vec<Chunk>) -> Content {
        let total_bytes = own_bytes(head.iter());
        Content { head, total_bytes, ..Content::default() }
    }

    #[test]
    fn o5_what_fits_is_left_alone() {
        let all = content(vec![out("one\ntwo\n")]);
        assert_eq!(all.clone().bound(8), all);
    }

    #[test]
    fn o5_whole_lines_stay_from_head_and_tail() {
        let text: String = (0..100).map(|n| format!("{n:03}\n")).collect();
        let bounded = content(vec![out(&text)]).bound(20);
        assert_eq!(bounded.head, [out("000\n001\n")]);
        assert_eq!(bounded.tail, [out("098\n099\n")]);
        let gap = LeftOut { bytes: 384, lines: Some(96), offset: 8 };
        assert_eq!(bounded.left_out, Some(gap));
        assert_eq!((bounded.shown_bytes(), bounded.total_bytes), (16, 400));
    }

    #[test]
    fn o5_one_enormous_line_is_cut_by_characters() {
        let bounded = content(vec![out(&"é".repeat(1000))]).bound(10);
        assert_eq!(bounded.head, [out("ééééé")]);
        assert_eq!(bounded.tail, [out("ééééé")]);
        assert_eq!(bounded.left_out.unwrap().bytes, 1980);
    }

    #[test]
    fn o5_the_value_at_the_end_stays() {
        let value = Chunk { kind: ChunkKind::Value, bytes: br#"{"text":"42"}"#.to_vec() };
        let bounded = content(vec![out(&"x\n".repeat(1000)), value.clone()]).bound(10);
        assert_eq!(bounded.tail.last(), Some(&value));
        assert!(bounded.left_out.is_some());
    }

    #[test]
    fn o5_a_gap_that_is_there_grows() {
        let head = vec![out("a\nb\nc\nd\n")];
        let tail = vec![out("w\nx\ny\nz\n")];
        let left_out = Some(LeftOut { bytes: 100, lines: Some(50), offset: 8 });
        let wide = Content { head, left_out, tail, offset: 0, total_bytes: 116 };
        let bounded = wide.bound(8);
        assert_eq!(bounded.head, [out("a\nb\n")]);
        assert_eq!(bounded.tail, [out("y\nz\n")]);
        assert_eq!(bounded.left_out, Some(LeftOut { bytes: 108, lines: Some(54), offset: 4 }));
    }

    #[test]
    fn o5_bytes_that_are_no_text_count_as_they_are_shown() {
        let garbage = Chunk { kind: ChunkKind::Out, bytes: vec![0xff; 1000] };
        let bounded = content(vec![garbage]).bound(80);
        assert_eq!(bounded.shown_bytes(), 20);
    }
}
