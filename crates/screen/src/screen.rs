//! What all streams of an eval leave behind, in order.

use std::fmt;

use crate::input::LaneInput;
use crate::row::{ANCHOR, Body, Row};

/// A stream of bytes with a cursor of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Lane {
    /// Standard output.
    Out,
    /// Standard error.
    Err,
    /// Standard output that no running eval wrote.
    BackgroundOut,
    /// Standard error that no running eval wrote.
    BackgroundErr,
}

impl Lane {
    pub(crate) const ALL: [Lane; 4] =
        [Lane::Out, Lane::Err, Lane::BackgroundOut, Lane::BackgroundErr];

    /// Whether its bytes count as the eval's own output.
    pub fn is_own(self) -> bool {
        matches!(self, Lane::Out | Lane::Err)
    }
}

/// One item of what is to be shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece {
    /// Text of a stream.
    Text(LaneText),
    /// Where `Screen::mark` was called, by its number.
    Mark(usize),
}

/// Text of one stream: one row, or several whole lines if each byte is as it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LaneText {
    /// The stream that wrote it.
    pub lane: Lane,
    /// The text with its line ends: free of control characters but `\n` and `\t`.
    pub text: String,
    /// The offset of the first byte that the text stands for.
    pub start: u64,
    /// The offset behind the last byte: the start of the next text, so that nothing lies between.
    pub end: u64,
    origin: Origin,
}

/// Where the bytes of a text came from.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Origin {
    /// Byte n of the text is byte n from the start.
    Verbatim,
    /// Something was left out before these positions.
    Anchors(Vec<(usize, u64)>),
    /// The text was written over, so its bytes cannot be told apart.
    Unknown,
}

impl LaneText {
    /// Where in the output the byte at `position` of the text stands, if that can be told.
    pub fn origin(&self, position: usize) -> Option<u64> {
        let anchors = match &self.origin {
            Origin::Verbatim => return Some(self.start + position as u64),
            Origin::Anchors(anchors) => anchors,
            Origin::Unknown => return (position == 0).then_some(self.start),
        };
        let next = anchors.partition_point(|(at, _)| *at <= position);
        let (at, raw) = next.checked_sub(1).map_or((0, self.start), |last| anchors[last]);
        let exact = match anchors.get(next) {
            // Text and output have equally many bytes between the two anchors, so nothing was left out there.
            Some((end, raw_end)) => raw_end - raw == (end - at) as u64,
            // Behind the last anchor only a short piece of text is without one.
            None => position - at >= 2 * ANCHOR,
        };
        (exact || position == at).then(|| raw + (position - at) as u64)
    }

    /// Cuts the text in two and returns the part that begins at `position`.
    ///
    /// If the offset at `position` is not known, the second part gets the start of the first.
    pub fn split_off(&mut self, position: usize) -> LaneText {
        let start = self.origin(position).unwrap_or(self.start);
        let origin = match &mut self.origin {
            Origin::Anchors(anchors) if start > self.start => {
                let mut rest = anchors.split_off(anchors.partition_point(|(at, _)| *at < position));
                rest.iter_mut().for_each(|(at, _)| *at -= position);
                Origin::Anchors(rest)
            }
            Origin::Verbatim => Origin::Verbatim,
            Origin::Anchors(_) | Origin::Unknown => Origin::Unknown,
        };
        let text = self.text.split_off(position);
        let end = std::mem::replace(&mut self.end, start);
        LaneText { lane: self.lane, text, start, end, origin }
    }
}

/// Turns the output of an eval into the text a person would read.
///
/// ```
/// use stead_screen::{Lane, Piece, Screen};
/// let mut screen = Screen::new();
/// screen.write(Lane::Out, 0, b"10%\r50%\r\x1b[32m100%\x1b[0m\n");
/// let pieces = screen.finish();
/// assert!(matches!(&pieces[..], [Piece::Text(text)] if text.text == "100%\n"));
/// ```
pub struct Screen {
    lanes: [LaneState; 4],
    next_place: u64,
    /// The end of the eval's own output so far.
    end: u64,
    settled: Vec<Settled>,
    marks: usize,
}

/// A lane that was written to.
#[derive(Default)]
struct LaneState {
    input: Option<Box<LaneInput>>,
    last_place: u64,
}

/// Rows that cannot change any more.
struct Settled {
    first_place: u64,
    last_place: u64,
    piece: Piece,
}

impl fmt::Debug for Screen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Screen").field("end", &self.end).finish_non_exhaustive()
    }
}

impl Default for Screen {
    fn default() -> Self {
        Screen::new()
    }
}

impl Screen {
    /// A screen with nothing on it.
    pub fn new() -> Self {
        let lanes = std::array::from_fn(|_| LaneState::default());
        Screen { lanes, next_place: 1, end: 0, settled: Vec::new(), marks: 0 }
    }

    /// Reads the next bytes of a lane.
    ///
    /// `offset` is where the first one stands in the eval's own output; for background lanes, where
    /// that output was when they came.
    pub fn write(&mut self, lane: Lane, offset: u64, bytes: &[u8]) {
        let index = lane as usize;
        let others = self.last_place_but(index);
        let length = if lane.is_own() { bytes.len() as u64 } else { 0 };
        self.end = self.end.max(offset + length);
        let state = &mut self.lanes[index];
        let input = state.input.get_or_insert_with(|| Box::new(LaneInput::new()));
        input.rows.next_place = self.next_place;
        input.rows.others = others;
        // In steps, so that rows do not pile up before they are settled.
        const STEP: usize = 64 << 10;
        for (n, step) in bytes.chunks(STEP).enumerate() {
            let at = if lane.is_own() { offset + (n * STEP) as u64 } else { offset };
            input.write(at, lane.is_own(), step);
            for row in input.rows.settled.drain(..) {
                settle(&mut self.settled, lane, row);
            }
        }
        if input.rows.next_place > self.next_place {
            self.next_place = input.rows.next_place;
            state.last_place = self.next_place - 1;
        }
    }

    /// Marks this place for something that is not text; returns the mark's number.
    pub fn mark(&mut self) -> usize {
        let mark = self.marks;
        self.marks += 1;
        let place = self.next_place;
        self.next_place += 1;
        let piece = Piece::Mark(mark);
        self.settled.push(Settled { first_place: place, last_place: place, piece });
        mark
    }

    /// Everything in order.
    pub fn finish(mut self) -> Vec<Piece> {
        for (lane, state) in Lane::ALL.into_iter().zip(&mut self.lanes) {
            let Some(input) = &mut state.input else { continue };
            input.rows.next_place = self.next_place;
            input.finish();
            self.next_place = input.rows.next_place;
            for row in input.rows.settled.drain(..) {
                settle(&mut self.settled, lane, row);
            }
        }
        self.settled.sort_by_key(|settled| settled.first_place);
        let mut pieces: Vec<Piece> =
            self.settled.into_iter().map(|settled| settled.piece).collect();
        close_gaps(&mut pieces, self.end);
        pieces
    }

    /// The last place that was taken by anything but this lane.
    fn last_place_but(&self, index: usize) -> u64 {
        // Marks belong to no lane: all places that are not the lane's own count.
        let own = self.lanes[index].last_place;
        if own + 1 < self.next_place {
            return self.next_place - 1;
        }
        let others = self.lanes.iter().enumerate().filter(|(other, _)| *other != index);
        others.map(|(_, state)| state.last_place).max().unwrap_or(0)
    }
}

/// Keeps a row; lines that are as they were written are kept in one piece.
fn settle(settled: &mut Vec<Settled>, lane: Lane, row: Row) {
    let (place, start) = (row.place, row.start);
    let verbatim = row.verbatim && lane.is_own();
    let blank = row.is_blank();
    if blank && !row.ended {
        return;
    }
    if let Some(last) = settled.last_mut()
        && last.last_place + 1 == place
        && let Piece::Text(before) = &mut last.piece
        && before.lane == lane
    {
        let as_written = before.origin == Origin::Verbatim;
        let joins = verbatim && as_written && before.text.ends_with('\n');
        if joins
            && before.start + before.text.len() as u64 == start
            && let Body::Text(text) = &row.body
        {
            before.text.push_str(text);
            if row.ended {
                before.text.push('\n');
            }
            last.last_place = place;
            return;
        }
        // Programs that move the cursor about can make many blank rows with few bytes, so those are joined to
        // the text before.
        if blank && row.ended && before.text.ends_with('\n') && !as_written {
            before.text.push('\n');
            last.last_place = place;
            return;
        }
    }
    let ended = row.ended;
    let (mut text, origin) = match row.body {
        Body::Text(text) if verbatim => (text, Origin::Verbatim),
        Body::Text(text) if row.redrawn || !lane.is_own() => (text, Origin::Unknown),
        Body::Text(text) => (text, Origin::Anchors(row.anchors)),
        Body::Cells(cells) => (cells.render(), Origin::Unknown),
    };
    if ended {
        text.push('\n');
    }
    let piece = Piece::Text(LaneText { lane, text, start, end: start, origin });
    settled.push(Settled { first_place: place, last_place: place, piece });
}

/// Lets each text stand for all bytes up to the next one.
///
/// A row that is redrawn can begin before a row above it was finished. Each text begins no later than all
/// that follow it, so reading on from there misses nothing.
fn close_gaps(pieces: &mut [Piece], end: u64) {
    let mut next = end;
    for piece in pieces.iter_mut().rev() {
        let Piece::Text(text) = piece else { continue };
        if text.start > next {
            (text.start, text.origin) = (next, Origin::Unknown);
        }
        text.end = next;
        next = text.start;
    }
}
