//! What an eval shows as numbered lines, read once and never held in memory (SPEC O-6).
//!
//! Stdout and stderr are split apart, so that a write to one does not tear a line of the other. Both share
//! one sequence of numbers, in the order in which lines begin. Text at the very end that has no line end is a
//! line too. Lines of background output have numbers of their own, and so have those of each value, error, display
//! and report: the numbers of the eval's own output, which `--lines` takes, do not depend on them.

use std::ops::ControlFlow;

use memchr::memchr;
use stead_protocol::{ChunkKind, Offset};
use stead_spool::{Reader, SpoolError};

use crate::read::records::{payload, usable};
use crate::show::shown::item_text;

/// How much of a line is looked at; the rest is only counted.
pub(crate) const LINE_BYTES: usize = 1 << 20;

/// A line without its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Line<'a> {
    /// Its place among all lines that are read, by their beginning, from 1.
    pub(crate) order: u64,
    /// Its number in the eval's own output, in background output, or in the value or error that it is of; from 1.
    pub(crate) number: u64,
    /// Where it begins in the eval's own output; where that output stood when a line of something else came.
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
    /// The order of the next line that begins.
    pub(crate) next: u64,
    /// The first line that another stream has begun.
    pub(crate) open: Option<u64>,
}

impl Ahead {
    /// Whether a line up to this one is still to come.
    pub(crate) fn any_up_to(&self, order: u64) -> bool {
        self.next <= order || self.open.is_some_and(|open| open <= order)
    }
}

/// Which lines are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LineScope {
    /// Those of the eval's own output: the order of a line is its number.
    Own,
    /// All that is shown of an eval, its value and error too.
    Shown,
}

/// What is done with each line; lines come in the order in which they end.
pub(crate) type LineSink<'a> = dyn FnMut(Line<'_>, Ahead) -> ControlFlow<()> + 'a;

/// Gives all lines in `from..to` to `sink`. Returns how many there are, unless `sink` stopped before the end.
pub(crate) fn each_line(
    reader: &Reader,
    from: Offset,
    to: Offset,
    scope: LineScope,
    sink: &mut LineSink<'_>,
) -> Result<Option<u64>, SpoolError> {
    let mut splitter = Splitter::default();
    // The offset counts bytes of the eval's own output, as `--offset` does.
    let mut offset = 0;
    for record in reader.records(from, Some(to)) {
        let Some(record) = usable(record)? else { continue };
        let (kind, is_own) = (record.kind, record.kind.is_own_output());
        if !is_own && scope == LineScope::Own {
            continue;
        }
        if let Some(bytes) = payload(reader, &record)? {
            let fed = match kind.is_stream() {
                true => splitter.feed(kind, offset, &bytes, sink),
                false => match item_text(kind, &bytes) {
                    Some(text) => splitter.item(kind, offset, &text, sink),
                    None => ControlFlow::Continue(()),
                },
            };
            if fed.is_break() {
                return Ok(None);
            }
        }
        offset += if is_own { u64::from(record.len) } else { 0 };
    }
    Ok(splitter.finish(sink).is_continue().then_some(splitter.begun))
}

/// Splits streams into lines, as they come.
#[derive(Debug, Default)]
pub(crate) struct Splitter {
    /// How many lines have begun.
    begun: u64,
    /// How many of them are the eval's own output.
    own: u64,
    /// How many of them are background output.
    background: u64,
    /// The line that each stream has begun.
    open: [Option<Open>; STREAMS],
}

/// Stdout and stderr, of the eval and in the background.
const STREAMS: usize = 4;

/// The place of a stream among the open lines.
fn place(kind: ChunkKind) -> usize {
    match kind {
        ChunkKind::Err => 1,
        ChunkKind::BackgroundOut => 2,
        ChunkKind::BackgroundErr => 3,
        ChunkKind::Out
        | ChunkKind::Value
        | ChunkKind::Error
        | ChunkKind::Display
        | ChunkKind::Status
        | ChunkKind::Report => 0,
    }
}

/// A line that has not ended.
#[derive(Debug)]
struct Open {
    order: u64,
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
        let Open { order, number, offset, kind, ref bytes, len } = *self;
        Line { order, number, offset, kind, bytes, len }
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
        let place = place(kind);
        while !bytes.is_empty() {
            let end = memchr(b'\n', bytes);
            let piece = &bytes[..end.unwrap_or(bytes.len())];
            let mine = self.open[place].take();
            if mine.is_none() {
                self.begin(kind);
            }
            let (order, number) =
                (self.begun, if kind.is_background() { self.background } else { self.own });
            let ahead = self.ahead();
            match (mine, end) {
                // Most lines are whole in one record, and need no copy.
                (None, Some(_)) => {
                    let len = piece.len() as u64;
                    let bytes = &piece[..piece.len().min(LINE_BYTES)];
                    sink(Line { order, number, offset, kind, bytes, len }, ahead)?;
                }
                (None, None) => {
                    let mut open = Open { order, number, offset, kind, bytes: Vec::new(), len: 0 };
                    open.push(piece);
                    self.open[place] = Some(open);
                }
                (Some(mut open), Some(_)) => {
                    open.push(piece);
                    sink(open.line(), ahead)?;
                }
                (Some(mut open), None) => {
                    open.push(piece);
                    self.open[place] = Some(open);
                }
            }
            let taken = end.map_or(bytes.len(), |end| end + 1);
            bytes = &bytes[taken..];
            // Only the eval's own bytes are counted by offsets.
            offset += if kind.is_own_output() { taken as u64 } else { 0 };
        }
        ControlFlow::Continue(())
    }

    /// Gives the lines of what is shown as a whole, such as a value.
    fn item(
        &mut self,
        kind: ChunkKind,
        offset: u64,
        text: &str,
        sink: &mut LineSink<'_>,
    ) -> ControlFlow<()> {
        for (number, line) in (1..).zip(text.lines()) {
            self.begun += 1;
            let bytes = &line.as_bytes()[..line.len().min(LINE_BYTES)];
            let len = line.len() as u64;
            sink(Line { order: self.begun, number, offset, kind, bytes, len }, self.ahead())?;
        }
        ControlFlow::Continue(())
    }

    /// A line of this stream begins.
    fn begin(&mut self, kind: ChunkKind) {
        self.begun += 1;
        match kind.is_background() {
            true => self.background += 1,
            false => self.own += 1,
        }
    }

    /// What is ahead of a line that has just ended.
    fn ahead(&self) -> Ahead {
        let open = self.open.iter().flatten().map(|open| open.order).min();
        Ahead { next: self.begun + 1, open }
    }

    /// The lines that have not ended, in the order of their beginning.
    pub(crate) fn open(&self) -> Vec<Line<'_>> {
        let mut open: Vec<Line<'_>> = self.open.iter().flatten().map(Open::line).collect();
        open.sort_by_key(|line| line.order);
        open
    }

    /// Gives the lines that never ended.
    fn finish(&mut self, sink: &mut LineSink<'_>) -> ControlFlow<()> {
        let mut open: Vec<Open> = self.open.iter_mut().filter_map(Option::take).collect();
        open.sort_by_key(|open| open.order);
        for (at, line) in open.iter().enumerate() {
            let other = open.get(at + 1).map(|open| open.order);
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
