//! An eval's own output as numbered lines, read once and never held in memory (SPEC O-6).
//!
//! Stdout and stderr are split apart, so that a write to one does not tear a line of the other. Both share
//! one sequence of numbers, in the order in which lines begin. Text at the very end that has no line end is a
//! line too.

use std::ops::ControlFlow;

use memchr::memchr;
use stead_protocol::{ChunkKind, Offset};
use stead_spool::{Reader, SpoolError};

use crate::read::records::{payload, usable};

/// How much of a line is looked at; the rest is only counted.
pub(crate) const LINE_BYTES: usize = 1 << 20;

/// A line without its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Line<'a> {
    /// From 1.
    pub(crate) number: u64,
    /// Where it begins in the eval's own output.
    pub(crate) offset: u64,
    pub(crate) kind: ChunkKind,
    /// Its beginning, at most [`LINE_BYTES`].
    pub(crate) bytes: &'a [u8],
    /// How long it is.
    pub(crate) len: u64,
}

/// Which lines are still to come when a line has ended.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ahead {
    /// The number of the next line that begins.
    pub(crate) next: u64,
    /// The line that the other stream has begun.
    pub(crate) open: Option<u64>,
}

impl Ahead {
    /// Whether a line up to this one is still to come.
    pub(crate) fn any_up_to(&self, number: u64) -> bool {
        self.next <= number || self.open.is_some_and(|open| open <= number)
    }
}

/// What is done with each line; lines come in the order in which they end.
pub(crate) type LineSink<'a> = dyn FnMut(Line<'_>, Ahead) -> ControlFlow<()> + 'a;

/// Gives all lines in `from..to` to `sink`. Returns how many there are, unless `sink` stopped before the end.
pub(crate) fn each_line(
    reader: &Reader,
    from: Offset,
    to: Offset,
    sink: &mut LineSink<'_>,
) -> Result<Option<u64>, SpoolError> {
    let mut splitter = Splitter::default();
    // The offset counts bytes of the eval's own output, as `--offset` does.
    let mut offset = 0;
    for record in reader.records(from, Some(to)) {
        let Some(record) = usable(record)? else { continue };
        if !record.kind.is_own_output() {
            continue;
        }
        if let Some(bytes) = payload(reader, &record)?
            && splitter.feed(record.kind, offset, &bytes, sink).is_break()
        {
            return Ok(None);
        }
        offset += u64::from(record.len);
    }
    Ok(splitter.finish(sink).is_continue().then_some(splitter.begun))
}

/// Splits two streams into lines, as they come.
#[derive(Debug, Default)]
pub(crate) struct Splitter {
    /// How many lines have begun.
    begun: u64,
    out: Option<Open>,
    err: Option<Open>,
}

/// A line that has not ended.
#[derive(Debug)]
struct Open {
    number: u64,
    offset: u64,
    kind: ChunkKind,
    bytes: Vec<u8>,
    len: u64,
}

impl Open {
    fn push(&mut self, bytes: &[u8]) {
        let room = LINE_BYTES - self.bytes.len();
        self.bytes.extend_from_slice(&bytes[..room.min(bytes.len())]);
        self.len += bytes.len() as u64;
    }

    fn line(&self) -> Line<'_> {
        let Open { number, offset, kind, ref bytes, len } = *self;
        Line { number, offset, kind, bytes, len }
    }
}

impl Splitter {
    pub(crate) fn feed(
        &mut self,
        kind: ChunkKind,
        mut offset: u64,
        mut bytes: &[u8],
        sink: &mut LineSink<'_>,
    ) -> ControlFlow<()> {
        while !bytes.is_empty() {
            let end = memchr(b'\n', bytes);
            let piece = &bytes[..end.unwrap_or(bytes.len())];
            let (mine, other) = match kind {
                ChunkKind::Err => (&mut self.err, &self.out),
                _ => (&mut self.out, &self.err),
            };
            let other = other.as_ref().map(|open| open.number);
            if mine.is_none() {
                self.begun += 1;
            }
            let ahead = Ahead { next: self.begun + 1, open: other };
            match (mine.take(), end) {
                // Most lines are whole in one record, and need no copy.
                (None, Some(_)) => {
                    let len = piece.len() as u64;
                    let bytes = &piece[..piece.len().min(LINE_BYTES)];
                    sink(Line { number: self.begun, offset, kind, bytes, len }, ahead)?;
                }
                (None, None) => {
                    let number = self.begun;
                    let open =
                        mine.insert(Open { number, offset, kind, bytes: Vec::new(), len: 0 });
                    open.push(piece);
                }
                (Some(mut open), Some(_)) => {
                    open.push(piece);
                    sink(open.line(), ahead)?;
                }
                (Some(open), None) => mine.insert(open).push(piece),
            }
            let taken = end.map_or(bytes.len(), |end| end + 1);
            bytes = &bytes[taken..];
            offset += taken as u64;
        }
        ControlFlow::Continue(())
    }

    /// The lines that have not ended, in the order of their numbers.
    pub(crate) fn open(&self) -> Vec<Line<'_>> {
        let mut open: Vec<Line<'_>> = self.out.iter().chain(&self.err).map(Open::line).collect();
        open.sort_by_key(|line| line.number);
        open
    }

    /// Gives the lines that never ended.
    fn finish(&mut self, sink: &mut LineSink<'_>) -> ControlFlow<()> {
        let mut open: Vec<Open> = self.out.take().into_iter().chain(self.err.take()).collect();
        open.sort_by_key(|open| open.number);
        for (at, line) in open.iter().enumerate() {
            let other = open.get(at + 1).map(|open| open.number);
            sink(line.line(), Ahead { next: self.begun + 1, open: other })?;
        }
        ControlFlow::Continue(())
    }
}

#[cfg(test)]
mod tests {
    use ChunkKind::{Err, Out};

    use super::*;

    type Seen = (u64, u64, ChunkKind, String);

    fn split(writes: &[(ChunkKind, &str)]) -> (Vec<Seen>, u64) {
        let mut splitter = Splitter::default();
        let mut seen = Vec::new();
        let mut sink = |line: Line<'_>, _: Ahead| {
            let text = String::from_utf8(line.bytes.to_vec()).unwrap();
            assert_eq!(line.len, text.len() as u64);
            seen.push((line.number, line.offset, line.kind, text));
            ControlFlow::Continue(())
        };
        let mut offset = 0;
        for (kind, text) in writes {
            let _ = splitter.feed(*kind, offset, text.as_bytes(), &mut sink);
            offset += text.len() as u64;
        }
        let _ = splitter.finish(&mut sink);
        (seen, splitter.begun)
    }

    fn seen(number: u64, offset: u64, kind: ChunkKind, text: &str) -> Seen {
        (number, offset, kind, text.to_owned())
    }

    #[test]
    fn o6_lines_are_split_per_stream_and_numbered_by_their_beginning() {
        let (lines, count) = split(&[(Out, "one\ntw"), (Err, "warn\nmore"), (Out, "o\n\nend")]);
        let expected = [
            seen(1, 0, Out, "one"),
            seen(3, 6, Err, "warn"),
            seen(2, 4, Out, "two"),
            seen(5, 17, Out, ""),
            seen(4, 11, Err, "more"),
            seen(6, 18, Out, "end"),
        ];
        assert_eq!(lines, expected);
        assert_eq!(count, 6);
    }

    #[test]
    fn o6_a_line_end_begins_no_line() {
        assert_eq!(split(&[]), (Vec::new(), 0));
        assert_eq!(split(&[(Out, "")]), (Vec::new(), 0));
        assert_eq!(split(&[(Out, "a\n")]), (vec![seen(1, 0, Out, "a")], 1));
        assert_eq!(split(&[(Out, "a"), (Out, "\n")]), (vec![seen(1, 0, Out, "a")], 1));
    }

    #[test]
    fn o6_of_an_enormous_line_the_beginning_is_held() {
        let mut splitter = Splitter::default();
        let piece = vec![b'x'; 300 << 10];
        let mut ended = Vec::new();
        let mut sink = |line: Line<'_>, _: Ahead| {
            ended.push((line.bytes.len(), line.len));
            ControlFlow::Continue(())
        };
        for at in 0..10 {
            let _ = splitter.feed(Out, at * piece.len() as u64, &piece, &mut sink);
        }
        let _ = splitter.feed(Out, 10 * piece.len() as u64, b"\n", &mut sink);
        assert_eq!(ended, [(LINE_BYTES, 10 * piece.len() as u64)]);
    }

    #[test]
    fn what_is_ahead_is_told_with_each_line() {
        let mut splitter = Splitter::default();
        let mut ahead = Vec::new();
        let mut sink = |_: Line<'_>, then: Ahead| {
            ahead.push((then.next, then.open));
            ControlFlow::Continue(())
        };
        let _ = splitter.feed(Out, 0, b"open", &mut sink);
        let _ = splitter.feed(Err, 4, b"a\nb", &mut sink);
        let _ = splitter.finish(&mut sink);
        assert_eq!(ahead, [(3, Some(1)), (4, Some(3)), (4, None)]);
    }
}
