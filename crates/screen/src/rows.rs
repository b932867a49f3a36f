//! The rows of one stream: the last ones can be redrawn, older ones are settled.

mod edits;

use std::collections::VecDeque;

use crate::cells::Cells;
use crate::row::{Body, Row};

/// How many rows the cursor can reach upwards, as on a terminal of that height.
pub(crate) const WINDOW: usize = 64;
/// How many rows a frame may have: a picture that a program draws again and again.
const FRAME: usize = 256;
/// How far the cursor goes where there is no text. Programs that ask for more mean the right margin.
const MARGIN: usize = 256;

/// Where the next character goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Column {
    /// Behind the text of the row, however long that is.
    End,
    At(usize),
}

/// The rows of one stream and its cursor.
#[derive(Debug)]
pub(crate) struct Rows {
    pub(crate) window: VecDeque<Row>,
    /// Rows that left the window, for the owner to take.
    pub(crate) settled: Vec<Row>,
    /// The offset of the bytes that are being read.
    pub(crate) at: u64,
    /// The place of the next row.
    pub(crate) next_place: u64,
    /// The last place that another stream took.
    pub(crate) others: u64,
    /// The cursor's row; one past the last row if that row has not begun.
    row: usize,
    column: Column,
    saved: (usize, usize),
    /// The first row of the frame, if there is one.
    frame: Option<usize>,
    /// Whether a carriage return came before the first character of the row.
    returned: bool,
}

impl Rows {
    pub(crate) fn new() -> Self {
        Rows {
            window: VecDeque::new(),
            settled: Vec::new(),
            at: 0,
            next_place: 1,
            others: 0,
            row: 0,
            column: Column::End,
            saved: (0, 0),
            frame: None,
            returned: false,
        }
    }

    /// The cursor's row.
    pub(crate) fn cursor(&self) -> usize {
        self.row
    }

    /// Whether the cursor stands at the start of its row.
    pub(crate) fn is_returned(&self) -> bool {
        self.column == Column::At(0)
    }

    /// Writes characters; tabs are among them, other control characters are not.
    pub(crate) fn print(&mut self, text: &str) {
        let begun = self.row < self.window.len();
        if !begun || self.at_end() {
            self.begin_row();
            let at = self.at;
            let padding = match self.column {
                Column::At(column) if !begun && column > 0 => Some(column),
                _ => None,
            };
            if let Some(column) = padding {
                let mut cells = Cells::default();
                let end = cells.put(column, text);
                self.window[self.row].body = Body::Cells(Box::new(cells));
                self.column = Column::At(end);
                return;
            }
            let row = &mut self.window[self.row];
            row.append(text, at);
            self.column = match &row.body {
                Body::Text(_) => Column::End,
                Body::Cells(cells) => Column::At(cells.len()),
            };
        } else {
            let column = self.column();
            if let Some(cells) = self.edit() {
                let end = cells.put(column, text);
                self.column = Column::At(end);
            } else {
                self.print(text);
            }
        }
        self.freeze_if_long();
    }

    /// Whether the cursor stands behind all text and nothing above is being redrawn.
    pub(crate) fn is_at_end(&self) -> bool {
        let last = self.row + 1 >= self.window.len();
        last && self.frame.is_none() && (self.column == Column::End || self.window.is_empty())
    }

    /// Takes whole lines that nothing can redraw any more, while the cursor is at the start of a row.
    pub(crate) fn settle_lines(&mut self, lines: &str, verbatim: bool) {
        self.settled.extend(self.window.drain(..));
        let mut row = Row::new(self.next_place, self.at);
        self.next_place += 1;
        row.body = Body::Text(lines.to_owned());
        (row.ended, row.verbatim) = (true, verbatim);
        self.settled.push(row);
        (self.row, self.saved.0) = (0, 0);
    }

    /// Ends the line: on a pipe a line feed returns too.
    pub(crate) fn line_feed(&mut self) {
        let last = self.row + 1 == self.window.len();
        if self.row >= self.window.len() || last && self.others > self.window[self.row].place {
            self.begin_row();
        }
        let at = self.at;
        let row = &mut self.window[self.row];
        if !row.ended {
            row.ended = true;
            row.verbatim &= matches!(&row.body,
                Body::Text(text) if row.start + text.len() as u64 == at);
        }
        self.row = self.below(self.row);
        self.column = Column::End;
        if self.row < self.window.len() {
            self.column = Column::At(0);
        }
        self.returned = false;
        self.settle();
    }

    /// Carriage return.
    pub(crate) fn return_(&mut self) {
        if self.window.get(self.row).is_none_or(Row::is_empty) {
            self.returned = true;
        }
        self.column = Column::At(0);
    }

    pub(crate) fn back(&mut self, count: usize) {
        self.column = Column::At(self.column().saturating_sub(count));
    }

    pub(crate) fn forward(&mut self, count: usize) {
        let column = self.column();
        self.go_to_column(column.saturating_add(count));
    }

    /// Goes to a column, no further than text or margin.
    pub(crate) fn go_to_column(&mut self, column: usize) {
        let width = self.window.get_mut(self.row).map_or(0, Row::width);
        // Some programs begin a bar by going to the first column, which is what a carriage return does.
        if column == 0 && width == 0 {
            self.returned = true;
        }
        self.column = Column::At(column.min(width.max(MARGIN)));
    }

    pub(crate) fn up(&mut self, count: usize) {
        let column = self.column();
        let top = self.top();
        for _ in 0..count.min(FRAME) {
            while self.row > top && self.window.get(self.row).is_some_and(|row| row.continues) {
                self.row -= 1;
            }
            self.row = self.row.saturating_sub(1).max(top);
        }
        self.column = Column::At(column);
    }

    pub(crate) fn down(&mut self, count: usize) {
        let column = self.column();
        let bottom = match self.frame {
            Some(first) if self.row >= first => first + FRAME - 1,
            _ => self.window.len(),
        };
        for _ in 0..count.min(FRAME) {
            self.row = self.below(self.row).min(bottom);
        }
        self.column = Column::At(column);
    }

    /// Goes to a row of the frame, which begins now if there is none.
    pub(crate) fn go_to_row(&mut self, row: usize) {
        let column = self.column();
        let first = match self.frame {
            Some(first) => first,
            None => self.begin_frame(),
        };
        self.row = first + row.min(FRAME - 1);
        self.column = Column::At(column);
    }

    pub(crate) fn save(&mut self) {
        self.saved = (self.row, self.column());
    }

    pub(crate) fn restore(&mut self) {
        let reach = self.frame.map_or(0, |first| first + FRAME - 1).max(self.window.len());
        self.row = self.saved.0.min(reach);
        self.column = Column::At(self.saved.1);
    }

    /// Leaves the frame as it is and goes on below it.
    pub(crate) fn leave_frame(&mut self) {
        if self.frame.take().is_some() {
            self.go_below_all();
        }
    }

    /// Settles what is left.
    pub(crate) fn finish(&mut self) {
        // Rows at and below the cursor that were erased are removed as if they had never been written.
        while self.window.len() > self.row && self.window.back().is_some_and(Row::is_blank) {
            self.window.pop_back();
        }
        // The cursor came back up to this row, so its line end does not count.
        if self.row + 1 == self.window.len() && self.window[self.row].ended {
            self.window[self.row].ended = false;
            self.window[self.row].verbatim = false;
        }
        self.settled.extend(self.window.drain(..));
    }

    fn begin_frame(&mut self) -> usize {
        self.go_below_all();
        self.frame = Some(self.row);
        self.row
    }

    fn go_below_all(&mut self) {
        if let Some(last) = self.window.back_mut()
            && !last.ended
            && !last.is_blank()
        {
            (last.ended, last.verbatim) = (true, false);
        }
        self.row = self.window.len();
        self.column = Column::End;
    }

    /// The highest row the cursor can reach.
    fn top(&self) -> usize {
        self.frame.filter(|first| *first <= self.row).unwrap_or(0)
    }

    /// The row below; parts of one line are one row.
    fn below(&self, row: usize) -> usize {
        let mut below = row + 1;
        while self.window.get(below).is_some_and(|row| row.continues) {
            below += 1;
        }
        below
    }

    fn column(&mut self) -> usize {
        match self.column {
            Column::At(column) => column,
            Column::End => self.window.get_mut(self.row).map_or(0, Row::width),
        }
    }

    /// Whether the next character is appended to the text of the row.
    fn at_end(&self) -> bool {
        match (&self.window[self.row].body, self.column) {
            (_, Column::End) => true,
            (Body::Text(_), Column::At(column)) => column == 0 && self.window[self.row].is_empty(),
            (Body::Cells(cells), Column::At(column)) => column == cells.len(),
        }
    }

    /// Whether another stream wrote after this stream wrote its unfinished row.
    fn is_interrupted(&self) -> bool {
        let row = &self.window[self.row];
        self.others > row.place && self.row + 1 == self.window.len() && !row.is_blank()
    }

    /// Sees to it that the cursor's row is there and may be appended to.
    fn begin_row(&mut self) {
        if self.row < self.window.len() {
            let row = &self.window[self.row];
            if self.others < row.place {
                return;
            }
            if self.is_interrupted() && self.frame.is_none_or(|first| first > self.row) {
                self.push();
                self.row = self.window.len() - 1;
                self.window[self.row].continues = true;
                self.column = Column::End;
                self.settle();
                return;
            }
            self.touch();
            return;
        }
        while self.row >= self.window.len() {
            if let Some(last) = self.window.back_mut()
                && !last.ended
            {
                (last.ended, last.verbatim) = (true, false);
            }
            self.push();
        }
        self.window[self.row].bar = self.returned;
        self.settle();
    }

    fn push(&mut self) {
        self.window.push_back(Row::new(self.next_place, self.at));
        self.next_place += 1;
    }

    /// The cursor's row as cells; `None` if it was too long and a new row is to begin.
    fn edit(&mut self) -> Option<&mut Cells> {
        if !self.window[self.row].make_cells() {
            self.go_below_all();
            return None;
        }
        self.touch();
        match &mut self.window[self.row].body {
            Body::Cells(cells) => Some(cells),
            Body::Text(_) => None,
        }
    }

    fn freeze_if_long(&mut self) {
        if self.window.get_mut(self.row).is_some_and(Row::freeze_if_long) {
            self.column = Column::End;
        }
    }

    /// Moves a row that is redrawn, and the rows below it, to the place where that happens.
    fn touch(&mut self) {
        self.window[self.row].redrawn = true;
        self.window[self.row].verbatim = false;
        if self.others > self.window[self.row].place {
            let first = self.frame.filter(|first| *first <= self.row).unwrap_or(self.row);
            self.replace_from(first);
        }
    }

    fn replace_from(&mut self, first: usize) {
        let at = self.at;
        for row in self.window.range_mut(first..) {
            row.place = self.next_place;
            row.start = at;
            row.verbatim = false;
            self.next_place += 1;
        }
    }

    /// Settles the oldest rows if there are too many.
    fn settle(&mut self) {
        let most = if self.frame.is_some() { FRAME } else { WINDOW };
        while self.window.len() > most.max(1) {
            self.settled.extend(self.window.pop_front());
            self.row = self.row.saturating_sub(1);
            self.saved.0 = self.saved.0.saturating_sub(1);
            // A frame that scrolls out of the window is no frame any more; the next one begins below it.
            self.frame = self.frame.and_then(|first| first.checked_sub(1));
        }
    }
}
