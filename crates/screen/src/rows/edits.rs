//! Erasing, inserting and deleting in the rows.

use super::{Column, MARGIN, Rows, WINDOW};
use crate::row::{Body, Row};

impl Rows {
    /// Erases from the cursor to the end of the row.
    pub(crate) fn erase_right(&mut self) {
        let Some(row) = self.window.get(self.row) else { return };
        let column = match self.column {
            Column::End => return,
            Column::At(column) => column,
        };
        if row.is_empty() || matches!(&row.body, Body::Cells(cells) if column >= cells.len()) {
            return;
        }
        if column == 0 {
            self.erase_row();
        } else if let Some(cells) = self.edit() {
            cells.truncate(column);
        }
    }

    /// Erases from the start of the row to the cursor.
    pub(crate) fn erase_left(&mut self) {
        let column = self.column();
        if self.row < self.window.len()
            && let Some(cells) = self.edit()
        {
            cells.erase(0, column + 1);
        }
    }

    /// Erases the whole row.
    pub(crate) fn erase_row(&mut self) {
        if self.row < self.window.len() && !self.window[self.row].is_empty() {
            self.column = Column::At(self.column());
            self.touch();
            self.window[self.row].body = Body::Cells(Box::default());
        }
    }

    pub(crate) fn erase(&mut self, count: usize) {
        let column = self.column();
        if self.row < self.window.len()
            && let Some(cells) = self.edit()
        {
            cells.erase(column, column.saturating_add(count));
        }
    }

    pub(crate) fn delete(&mut self, count: usize) {
        let column = self.column();
        if self.row < self.window.len()
            && let Some(cells) = self.edit()
        {
            cells.delete(column, count);
        }
    }

    pub(crate) fn insert(&mut self, count: usize) {
        let column = self.column();
        if self.row < self.window.len()
            && let Some(cells) = self.edit()
        {
            cells.insert(column, count.min(MARGIN));
        }
        self.freeze_if_long();
    }

    pub(crate) fn insert_rows(&mut self, count: usize) {
        self.column = Column::At(0);
        if self.row >= self.window.len() {
            return;
        }
        let mut below = self.window.split_off(self.row);
        for _ in 0..count.min(WINDOW) {
            let mut row = Row::new(0, self.at);
            row.ended = true;
            self.window.push_back(row);
        }
        self.window.append(&mut below);
        self.replace_from(self.row);
        self.settle();
    }

    pub(crate) fn delete_rows(&mut self, count: usize) {
        self.column = Column::At(0);
        if self.row < self.window.len() {
            let end = self.row.saturating_add(count).min(self.window.len());
            self.window.drain(self.row..end);
        }
    }

    /// Erases from the cursor to the end of everything.
    pub(crate) fn erase_below(&mut self) {
        self.erase_right();
        self.window.truncate(self.row + 1);
    }

    /// Erases from the start of the frame to the cursor; what stood before it stays.
    pub(crate) fn erase_above(&mut self) {
        if let Some(first) = self.frame {
            // The frame's first row and the cursor may be below the last row that is left.
            let end = self.row.min(self.window.len());
            for row in self.window.range_mut(first.min(end)..end) {
                row.body = Body::Cells(Box::default());
                row.redrawn = true;
            }
        }
        self.erase_left();
    }

    /// Clears the screen: a frame begins, or begins again.
    pub(crate) fn clear(&mut self) {
        match self.frame {
            Some(first) => {
                self.window.truncate(first);
                self.row = first;
                self.column = Column::End;
            }
            None => {
                self.begin_frame();
            }
        }
    }
}
