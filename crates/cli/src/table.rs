//! Columns for people.

use anstyle::Style;
use stead_screen::{columns, fit, visible};

use crate::paint::{HEAD, PLAIN, Paint};
use crate::redraw::TerminalSize;

/// How many columns of a terminal the text at the end of a row has at least.
const LEAST_LAST: usize = 16;

/// Lines up rows under their heads; the last column is as wide as it likes.
pub(crate) fn table(heads: &[&str], rows: &[Vec<String>]) -> String {
    painted(heads, rows, Paint::stdout(), |_, _| PLAIN)
}

/// The same for rows that end with a piece of a longer text, such as code: on a terminal they take one line each. Columns of
/// `spare` heads are left out, the first ones first, where the terminal is too narrow for the text.
pub(crate) fn text_table(heads: &[&str], rows: &[Vec<String>], spare: &[&str]) -> String {
    match TerminalSize::of(std::io::stdout()) {
        Some(size) => {
            let (heads, rows) = cut_to(size.columns, heads, rows, spare);
            table(&heads, &rows)
        }
        None => table(heads, rows),
    }
}

/// The heads and rows that are shown in `width` columns: without spare columns that leave the last one too little room, and
/// with the last cells cut.
fn cut_to<'a>(
    width: usize,
    heads: &[&'a str],
    rows: &[Vec<String>],
    spare: &[&str],
) -> (Vec<&'a str>, Vec<Vec<String>>) {
    let (mut heads, mut rows) = (heads.to_vec(), escaped(rows));
    let room = |heads: &[&str], rows: &[Vec<String>]| {
        let widths = widths(heads, rows);
        let before: usize = widths.iter().rev().skip(1).map(|width| width + 2).sum();
        width.saturating_sub(before)
    };
    for one in spare {
        if room(&heads, &rows) >= LEAST_LAST {
            break;
        }
        if let Some(column) = heads.iter().position(|head| head == one) {
            heads.remove(column);
            for row in rows.iter_mut().filter(|row| column < row.len()) {
                row.remove(column);
            }
        }
    }
    let (room, last) = (room(&heads, &rows).max(LEAST_LAST), heads.len() - 1);
    for cell in rows.iter_mut().filter_map(|row| row.get_mut(last)) {
        *cell = fit(cell, room);
    }
    (heads, rows)
}

/// Cells hold names and paths that anybody may have chosen, so what a terminal would obey is escaped.
fn escaped(rows: &[Vec<String>]) -> Vec<Vec<String>> {
    let shown = |row: &Vec<String>| row.iter().map(|cell| visible(cell).into_owned()).collect();
    rows.iter().map(shown).collect()
}

/// How many columns of a terminal each column of a table takes.
fn widths(heads: &[&str], rows: &[Vec<String>]) -> Vec<usize> {
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column)).map(|cell| columns(cell));
        cells.chain([heads[column].len()]).max().unwrap_or(0)
    };
    (0..heads.len()).map(width).collect()
}

/// The same with a style for the cell of each row and column.
pub(crate) fn painted(
    heads: &[&str],
    rows: &[Vec<String>],
    paint: Paint,
    style: impl Fn(usize, usize) -> Style,
) -> String {
    let rows = escaped(rows);
    let widths = widths(heads, &rows);
    let mut text = String::new();
    let mut line = |cells: &[&str], style: &dyn Fn(usize) -> Style| {
        let last = cells.iter().rposition(|cell| !cell.is_empty()).unwrap_or(0);
        for (column, (cell, width)) in cells.iter().zip(&widths).enumerate().take(last + 1) {
            text.push_str(&paint.paint(style(column), cell.trim_end()));
            if column < last {
                let gap = (width + 2).saturating_sub(columns(cell.trim_end()));
                text.extend(std::iter::repeat_n(' ', gap));
            }
        }
        text.push('\n');
    };
    line(heads, &|_| HEAD);
    for (number, row) in rows.iter().enumerate() {
        let cells: Vec<&str> = row.iter().map(String::as_str).collect();
        line(&cells, &|column| style(number, column));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up() {
        let rows = [vec!["é".to_owned(), "1".to_owned()], vec!["long".to_owned(), "2".to_owned()]];
        assert_eq!(table(&["a", "b"], &rows), "a     b\né     1\nlong  2\n");
        assert_eq!(table(&["a", "b"], &[vec!["x".to_owned(), String::new()]]), "a  b\nx\n");
    }

    #[test]
    fn c10_wide_characters_take_two_columns() {
        let rows =
            [vec!["漢字".to_owned(), "1".to_owned()], vec!["e\u{301}".to_owned(), "2".to_owned()]];
        assert_eq!(table(&["a", "b"], &rows), "a     b\n漢字  1\ne\u{301}     2\n");
    }

    #[test]
    fn c10_the_last_column_is_cut_to_the_terminal() {
        let row = |text: &str| vec!["py:1".to_owned(), "5s ago".to_owned(), text.to_owned()];
        let cut = |width, text: &str| {
            let (heads, rows) = cut_to(width, &["ID", "SENT", "CODE"], &[row(text)], &["SENT"]);
            (heads.len(), rows[0].last().cloned().unwrap_or_default())
        };
        let (long, wide) = ("0123456789abcdefghij", "漢字".repeat(5));
        assert_eq!(cut(34, long), (3, long.to_owned()));
        assert_eq!(cut(33, long), (3, "0123456789abcdefgh…".to_owned()));
        assert_eq!(cut(30, &wide), (3, "漢字漢字漢字漢…".to_owned()));
        assert_eq!(cut(30, "a\tb"), (3, "a\\tb".to_owned()));
        assert_eq!(cut(29, long), (2, long.to_owned()));
        assert_eq!(cut(2, long), (2, "0123456789abcde…".to_owned()));
    }
}
