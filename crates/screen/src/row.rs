//! One row of a stream.

use crate::cells::{self, Cells};

/// Longest row that can be redrawn.
const LONGEST: usize = 10_000;
/// Pieces of text that are shorter than this get no anchor.
pub(crate) const ANCHOR: usize = 32;

/// A row that can still change.
#[derive(Debug)]
pub(crate) struct Row {
    /// Rows are shown in this order, those of all streams together.
    pub(crate) place: u64,
    /// Where its bytes begin.
    pub(crate) start: u64,
    pub(crate) body: Body,
    /// Whether a line end was written behind it.
    pub(crate) ended: bool,
    /// Whether its text is byte for byte what was written, from `start` on.
    pub(crate) verbatim: bool,
    /// Whether it goes on where the row before it was interrupted by another stream.
    pub(crate) continues: bool,
    /// Positions in the text with the bytes they came from, wherever something was left out.
    pub(crate) anchors: Vec<(usize, u64)>,
    /// How many bytes of the text were handed out and are no longer kept.
    passed: usize,
    /// How many bytes of the text have been measured, and their columns.
    measured: (usize, usize),
    /// Whether it began with a carriage return, as progress bars do.
    pub(crate) bar: bool,
    /// For live output: how much of the row was handed out.
    pub(crate) sent: Sent,
    /// Whether it was redrawn since it was handed out.
    pub(crate) redrawn: bool,
}

#[derive(Debug)]
pub(crate) enum Body {
    /// Only ever appended to.
    Text(String),
    Cells(Box<Cells>),
}

/// How much of a row was handed out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sent {
    /// That many bytes.
    Part(usize),
    /// With its line end.
    Line,
}

impl Row {
    pub(crate) fn new(place: u64, start: u64) -> Self {
        Row {
            place,
            start,
            body: Body::Text(String::new()),
            ended: false,
            verbatim: true,
            continues: false,
            anchors: Vec::new(),
            passed: 0,
            measured: (0, 0),
            bar: false,
            sent: Sent::Part(0),
            redrawn: false,
        }
    }

    pub(crate) fn is_blank(&self) -> bool {
        match &self.body {
            Body::Text(_) => self.is_empty(),
            Body::Cells(cells) => cells.is_blank(),
        }
    }

    /// Whether the row holds nothing: nothing was written, or all of it was erased.
    pub(crate) fn is_empty(&self) -> bool {
        match &self.body {
            Body::Text(text) => text.is_empty() && self.passed == 0,
            Body::Cells(cells) => cells.len() == 0,
        }
    }

    pub(crate) fn width(&mut self) -> usize {
        match &self.body {
            Body::Text(text) if self.passed + text.len() > LONGEST * 4 => LONGEST,
            Body::Text(text) => {
                let (bytes, columns) = self.measured;
                self.measured = (text.len(), cells::width(columns, &text[bytes..]));
                self.measured.1
            }
            Body::Cells(cells) => cells.len(),
        }
    }

    pub(crate) fn append(&mut self, text: &str, at: u64) {
        match &mut self.body {
            Body::Text(body) => {
                let (position, raw) = self.anchors.last().copied().unwrap_or((0, self.start));
                let apart = body.len() - position;
                self.verbatim &= self.start + body.len() as u64 == at;
                if raw + apart as u64 != at && (apart >= ANCHOR || text.len() >= ANCHOR) {
                    self.anchors.push((body.len(), at));
                }
                body.push_str(text);
            }
            Body::Cells(cells) => {
                let end = cells.len();
                cells.put(end, text);
                self.redrawn = true;
            }
        }
        if self.ended {
            self.redrawn = true;
            self.verbatim = false;
        }
    }

    /// Makes it a row that can be redrawn, unless it is too long for that.
    pub(crate) fn make_cells(&mut self) -> bool {
        if let Body::Text(text) = &self.body {
            if self.passed + text.len() > LONGEST * 4 {
                return false;
            }
            let cells = Cells::new(text);
            if cells.len() > LONGEST {
                return false;
            }
            self.body = Body::Cells(Box::new(cells));
            self.anchors = Vec::new();
        }
        true
    }

    /// Whether the beginning of its text was handed out and is no longer kept.
    pub(crate) fn is_cut(&self) -> bool {
        self.passed > 0
    }

    /// Forgets what was handed out of a row that is too long to be redrawn anyway; whether it did.
    pub(crate) fn forget_sent(&mut self) -> bool {
        if let (Body::Text(text), Sent::Part(sent)) = (&mut self.body, self.sent)
            && self.passed + sent > LONGEST * 4
        {
            text.drain(..sent);
            self.passed += sent;
            (self.sent, self.anchors) = (Sent::Part(0), Vec::new());
            return true;
        }
        false
    }

    /// Makes a row text again that has become too long to be redrawn; whether it was.
    pub(crate) fn freeze_if_long(&mut self) -> bool {
        match &self.body {
            Body::Cells(cells) if cells.len() > LONGEST => {
                self.body = Body::Text(cells.render());
                (self.measured, self.redrawn) = ((0, 0), true);
                true
            }
            _ => false,
        }
    }
}
