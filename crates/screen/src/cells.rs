//! A row that is redrawn: one cell a column, so that text can be written over text.

use unicode_width::UnicodeWidthChar;

const TAB: usize = 8;

/// A column of a row: a character, a cluster, or the rest of a wide character or a tab.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Cell(u32);

/// The further columns of a wide character or a tab.
const REST: Cell = Cell(u32::MAX);
const BLANK: Cell = Cell(' ' as u32);
/// Marks the number of a cluster: a character with its combining marks.
const CLUSTER: u32 = 1 << 31;

/// The columns of a row.
#[derive(Debug, Clone, Default)]
pub(crate) struct Cells {
    cells: Vec<Cell>,
    clusters: Vec<String>,
}

impl Cells {
    pub(crate) fn new(text: &str) -> Self {
        let mut cells = Cells::default();
        cells.put(0, text);
        cells
    }

    /// How many columns there are.
    pub(crate) fn len(&self) -> usize {
        self.cells.len()
    }

    pub(crate) fn is_blank(&self) -> bool {
        self.cells.iter().all(|cell| *cell == BLANK)
    }

    /// Writes over what stands at `column`; returns the column behind it.
    pub(crate) fn put(&mut self, column: usize, text: &str) -> usize {
        if self.cells.len() < column {
            self.cells.resize(column, BLANK);
        }
        if text.is_ascii() && !text.contains('\t') {
            let end = column + text.len();
            self.part(column);
            self.part(end);
            let over = text.len().min(self.cells.len() - column);
            for (cell, byte) in self.cells[column..].iter_mut().zip(text.bytes()) {
                *cell = Cell(u32::from(byte));
            }
            self.cells.extend(text.bytes().skip(over).map(|byte| Cell(u32::from(byte))));
            return end;
        }
        text.chars().fold(column, |column, c| self.put_char(column, c))
    }

    fn put_char(&mut self, column: usize, c: char) -> usize {
        let width = match c {
            '\t' => TAB - column % TAB,
            c => c.width().unwrap_or(0),
        };
        if width == 0 && column > 0 {
            self.combine(column - 1, c);
            return column;
        }
        let end = column + width.max(1);
        if c == '\t' && column < self.cells.len() {
            // Over existing text a tab only moves the cursor.
            if self.cells.len() < end {
                self.cells.resize(end, BLANK);
            }
            return end;
        }
        self.part(column);
        self.part(end);
        if self.cells.len() < end {
            self.cells.resize(end, BLANK);
        }
        self.cells[column] = Cell(c as u32);
        self.cells[column + 1..end].fill(REST);
        end
    }

    /// Adds a mark to the character at `column`.
    fn combine(&mut self, mut column: usize, mark: char) {
        while column > 0 && self.cells[column] == REST {
            column -= 1;
        }
        let cell = &mut self.cells[column];
        if cell.0 & CLUSTER != 0 && *cell != REST {
            self.clusters[(cell.0 & !CLUSTER) as usize].push(mark);
            return;
        }
        let base = char::from_u32(cell.0).unwrap_or(' ');
        self.clusters.push([base, mark].iter().collect());
        *cell = Cell(CLUSTER | (self.clusters.len() - 1) as u32);
    }

    /// Makes sure that a character ends before `column`: one that would be cut in half becomes blank.
    fn part(&mut self, column: usize) {
        if self.cells.get(column) != Some(&REST) {
            return;
        }
        let mut from = column;
        while from > 0 && self.cells[from] == REST {
            from -= 1;
        }
        self.cells[from] = BLANK;
        for cell in self.cells[from + 1..].iter_mut().take_while(|cell| **cell == REST) {
            *cell = BLANK;
        }
    }

    /// Removes everything from `column` on.
    pub(crate) fn truncate(&mut self, column: usize) {
        self.part(column);
        self.cells.truncate(column);
    }

    /// Makes a range blank.
    pub(crate) fn erase(&mut self, from: usize, to: usize) {
        let to = to.min(self.cells.len());
        if from < to {
            self.part(from);
            self.part(to);
            self.cells[from..to].fill(BLANK);
        }
    }

    /// Removes `count` columns; what follows moves up.
    pub(crate) fn delete(&mut self, column: usize, count: usize) {
        let end = column.saturating_add(count).min(self.cells.len());
        if column < end {
            self.part(column);
            self.part(end);
            self.cells.drain(column..end);
        }
    }

    /// Makes room for `count` columns.
    pub(crate) fn insert(&mut self, column: usize, count: usize) {
        if column < self.cells.len() {
            self.part(column);
            self.cells.splice(column..column, std::iter::repeat_n(BLANK, count));
        }
    }

    /// The text, without the blanks at its end.
    pub(crate) fn render(&self) -> String {
        let last = self.cells.iter().rposition(|cell| *cell != BLANK).map_or(0, |at| at + 1);
        let mut text = String::with_capacity(last);
        for cell in self.cells[..last].iter().filter(|cell| **cell != REST) {
            match cell.0 & CLUSTER {
                0 => text.push(char::from_u32(cell.0).unwrap_or(' ')),
                _ => text.push_str(&self.clusters[(cell.0 & !CLUSTER) as usize]),
            }
        }
        text
    }
}

/// The column behind a text that begins at `column`.
pub(crate) fn width(column: usize, text: &str) -> usize {
    if text.is_ascii() && !text.contains('\t') {
        return column + text.len();
    }
    text.chars().fold(column, |column, c| match c {
        '\t' => column + TAB - column % TAB,
        c => column + c.width().unwrap_or(0),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn over(first: &str, column: usize, text: &str) -> String {
        let mut cells = Cells::new(first);
        cells.put(column, text);
        cells.render()
    }

    #[test]
    fn o7_text_is_written_over_text() {
        assert_eq!(over("hello", 0, "J"), "Jello");
        assert_eq!(over("ab", 4, "c"), "ab  c");
        assert_eq!(over("ab   ", 0, "x"), "xb");
    }

    #[test]
    fn o7_half_a_wide_character_is_blank() {
        assert_eq!(over("日本", 0, "x"), "x 本");
        assert_eq!(over("日本", 1, "x"), " x本");
        assert_eq!(over("日本", 1, "語"), " 語");
        assert_eq!(over("日本", 2, "x"), "日x");
    }

    #[test]
    fn o7_marks_stay_with_their_character() {
        assert_eq!(over("e\u{301}a", 1, "b"), "e\u{301}b");
        assert_eq!(over("e\u{301}a", 0, "o\u{308}\u{301}"), "o\u{308}\u{301}a");
        assert_eq!(over("日\u{301}a", 2, "b"), "日\u{301}b");
        assert_eq!(over("\u{301}", 0, ""), "\u{301}");
    }

    #[test]
    fn o7_a_tab_is_as_wide_as_on_a_terminal() {
        assert_eq!(over("a\tb", 8, "c"), "a\tc");
        assert_eq!(over("a\tb", 3, "c"), "a  c    b");
        assert_eq!(over("0123456789", 0, "x\ty"), "x1234567y9");
    }

    #[test]
    fn o7_cells_are_removed_and_inserted() {
        let mut cells = Cells::new("abcdef");
        cells.delete(1, 2);
        cells.insert(2, 2);
        assert_eq!(cells.render(), "ad  ef");
        cells.erase(0, 2);
        assert_eq!(cells.render(), "    ef");
        cells.truncate(5);
        assert_eq!(cells.render(), "    e");
        cells.delete(0, usize::MAX);
        assert_eq!((cells.render(), cells.len()), (String::new(), 0));
    }
}
