//! Columns for people.

use anstyle::Style;
use stead_screen::visible;

use crate::paint::{HEAD, PLAIN, Paint};

/// Lines up rows under their heads; the last column is as wide as it likes.
pub(crate) fn table(heads: &[&str], rows: &[Vec<String>]) -> String {
    painted(heads, rows, Paint::stdout(), |_, _| PLAIN)
}

/// The same with a style for the cell of each row and column.
pub(crate) fn painted(
    heads: &[&str],
    rows: &[Vec<String>],
    paint: Paint,
    style: impl Fn(usize, usize) -> Style,
) -> String {
    // Cells hold names and paths that anybody may have chosen, so what a terminal would obey is escaped.
    let shown = |row: &Vec<String>| row.iter().map(|cell| visible(cell).into_owned()).collect();
    let rows: Vec<Vec<String>> = rows.iter().map(shown).collect();
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count());
        cells.chain([heads[column].len()]).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..heads.len()).map(width).collect();
    let mut text = String::new();
    let mut line = |cells: &[&str], style: &dyn Fn(usize) -> Style| {
        let last = cells.iter().rposition(|cell| !cell.is_empty()).unwrap_or(0);
        for (column, (cell, width)) in cells.iter().zip(&widths).enumerate().take(last + 1) {
            text.push_str(&paint.paint(style(column), cell.trim_end()));
            if column < last {
                let gap = (width + 2).saturating_sub(cell.trim_end().chars().count());
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
}
