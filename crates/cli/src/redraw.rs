//! Output on a terminal whose last lines can be redrawn: progress bars move in place (SPEC C-9).
//!
//! Below the text stand the bars: lines that are still being redrawn. They are erased before text is written
//! and drawn anew below it. This decides what to write and writes nothing itself.

use std::fmt::Write;
use std::os::fd::AsFd;

use stead_protocol::ChunkKind;
use stead_screen::{columns, fit};

/// Columns and rows of a terminal.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TerminalSize {
    pub(crate) columns: usize,
    pub(crate) rows: usize,
}

impl TerminalSize {
    /// The size that is assumed where a terminal does not tell its own.
    pub(crate) const USUAL: TerminalSize = TerminalSize { columns: 80, rows: 24 };

    /// The size of a terminal; `None` if it is not one.
    pub(crate) fn of(terminal: impl AsFd) -> Option<Self> {
        let size = rustix::termios::tcgetwinsize(terminal).ok()?;
        // A terminal that does not know its size says zero.
        let or = |size: u16, usual| if size == 0 { usual } else { usize::from(size).max(2) };
        let TerminalSize { columns, rows } = TerminalSize::USUAL;
        Some(TerminalSize { columns: or(size.ws_col, columns), rows: or(size.ws_row, rows) })
    }
}

/// How many of the last lines are known, so that they can be taken back: as many as a screen may have.
const KNOWN_LINES: usize = 256;

/// What stands at the end of a terminal's output.
#[derive(Debug, Default)]
pub(crate) struct Redraw {
    /// How many rows the bars have; the cursor is at the end of the last one.
    bars: usize,
    /// The stream that wrote the last lines; only these can be taken back.
    stream: Option<ChunkKind>,
    /// How many columns each of these lines has.
    lines: Vec<usize>,
    /// Whether the last one has no end.
    open: bool,
    /// How many lines of each stream were taken back already, because bars stand in their place.
    taken: Vec<(ChunkKind, usize)>,
}

/// Text of a stream that takes the place of the stream's last `replaces` lines.
#[derive(Debug, Clone)]
pub(crate) struct Strip<'a> {
    pub(crate) kind: ChunkKind,
    pub(crate) replaces: usize,
    pub(crate) text: &'a str,
}

impl Redraw {
    /// What to write for a text that stays.
    pub(crate) fn text(&mut self, strip: &Strip<'_>, size: TerminalSize) -> String {
        let mut out = self.take_back(strip, size);
        self.taken.retain(|(kind, _)| *kind != strip.kind);
        if self.stream != Some(strip.kind) {
            // A stream does not go on in the open line of another stream.
            out.push_str(&self.end_line());
            self.stream = Some(strip.kind);
        }
        out.push_str(strip.text);
        for line in strip.text.split_inclusive('\n') {
            let width = columns(line.trim_end_matches('\n'));
            match (self.open, self.lines.last_mut()) {
                (true, Some(last)) => *last += width,
                _ => self.lines.push(width),
            }
            self.open = !line.ends_with('\n');
        }
        let old = self.lines.len().saturating_sub(KNOWN_LINES);
        self.lines.drain(..old);
        out
    }

    /// What to write so that the bars look like this.
    pub(crate) fn bars(&mut self, bars: &[Strip<'_>], size: TerminalSize) -> String {
        let mut out = self.erase(size);
        for strip in bars {
            out.push_str(&self.take_back(strip, size));
            self.taken.retain(|(kind, _)| *kind != strip.kind);
            self.taken.push((strip.kind, strip.replaces));
        }
        let lines = bars.iter().flat_map(|strip| strip.text.lines());
        // The last column stays empty, because a terminal may go on to the next row after it.
        let lines: Vec<String> = lines.map(|line| fit(line, size.columns - 1)).collect();
        let shown = &lines[lines.len().saturating_sub(size.rows - 1)..];
        if !shown.is_empty() && self.open {
            out.push('\n');
        }
        out.push_str(&shown.join("\n"));
        self.bars = shown.len();
        out
    }

    /// What to write before something that belongs to no stream; after it, no line can be taken back.
    pub(crate) fn end_line(&mut self) -> String {
        let mut out = self.erase_to_new_line();
        if std::mem::take(&mut self.open) {
            out.push('\n');
        }
        self.lines.clear();
        self.stream = None;
        out
    }

    /// Whether bars stand below the text.
    pub(crate) fn has_bars(&self) -> bool {
        self.bars > 0
    }

    /// Erases the bars; the cursor stands below a text that does not end its line.
    fn erase_to_new_line(&mut self) -> String {
        if self.bars == 0 {
            return String::new();
        }
        // The bars began on a row of their own, so the line above them is ended on the screen.
        self.open = false;
        let out = up_and_erase(self.bars - 1);
        self.bars = 0;
        out
    }

    /// Erases the bars; the cursor stands where the text ended.
    fn erase(&mut self, size: TerminalSize) -> String {
        let open = self.open;
        let mut out = self.erase_to_new_line();
        self.open = open;
        let column = self.lines.last().map_or(0, |width| width % size.columns);
        // After a line that fills its row the text goes on in the next row, where the cursor is already.
        if !out.is_empty() && open && column > 0 {
            let _ = write!(out, "\x1b[A\x1b[{}G", column + 1);
        }
        out
    }

    /// Erases the bars, and the lines of text that are replaced if they are in reach.
    fn take_back(&mut self, strip: &Strip<'_>, size: TerminalSize) -> String {
        let mut out = self.erase(size);
        let taken =
            self.taken.iter().find(|(kind, _)| *kind == strip.kind).map_or(0, |known| known.1);
        let count = strip.replaces.saturating_sub(taken);
        if count == 0 {
            return out;
        }
        let kept = self.lines.len().checked_sub(count);
        let Some(kept) = kept.filter(|_| self.stream == Some(strip.kind)) else {
            out.push_str(&self.end_line());
            return out;
        };
        let rows = |width: &usize| width.div_ceil(size.columns).max(1);
        let rows: usize = self.lines[kept..].iter().map(rows).sum();
        let up = rows - usize::from(self.open);
        if up >= size.rows {
            // The lines to be replaced have left the screen, so the new text stands below them.
            out.push_str(&self.end_line());
            return out;
        }
        self.lines.truncate(kept);
        self.open = false;
        out.push_str(&up_and_erase(up));
        out
    }
}

fn up_and_erase(rows: usize) -> String {
    match rows {
        0 => "\r\x1b[J".to_owned(),
        rows => format!("\r\x1b[{rows}A\x1b[J"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: TerminalSize = TerminalSize { columns: 20, rows: 6 };

    fn strip(kind: ChunkKind, replaces: usize, text: &str) -> Strip<'_> {
        Strip { kind, replaces, text }
    }

    #[test]
    fn c9_a_bar_is_drawn_in_place_below_the_text() {
        let mut redraw = Redraw::default();
        assert_eq!(redraw.text(&strip(ChunkKind::Out, 0, "one\n"), SIZE), "one\n");
        assert_eq!(redraw.bars(&[strip(ChunkKind::Err, 0, "10%")], SIZE), "10%");
        assert_eq!(redraw.bars(&[strip(ChunkKind::Err, 0, "20%")], SIZE), "\r\x1b[J20%");
        // Other text comes above it.
        assert_eq!(redraw.text(&strip(ChunkKind::Out, 0, "two\n"), SIZE), "\r\x1b[Jtwo\n");
        assert_eq!(redraw.bars(&[strip(ChunkKind::Err, 0, "30%\nb")], SIZE), "30%\nb");
        assert_eq!(redraw.text(&strip(ChunkKind::Err, 0, "99%\n"), SIZE), "\r\x1b[1A\x1b[J99%\n");
        assert_eq!(redraw.end_line(), "");
    }

    #[test]
    fn c9_lines_that_a_bar_replaces_are_taken_off_the_screen_once() {
        let mut redraw = Redraw::default();
        redraw.text(&strip(ChunkKind::Out, 0, "a 0\nb 0\n"), SIZE);
        let bars = [strip(ChunkKind::Out, 2, "a 1\nb 1\n")];
        assert_eq!(redraw.bars(&bars, SIZE), "\r\x1b[2A\x1b[Ja 1\nb 1");
        let bars = [strip(ChunkKind::Out, 2, "a 2\nb 2\n")];
        assert_eq!(redraw.bars(&bars, SIZE), "\r\x1b[1A\x1b[Ja 2\nb 2");
        let end = strip(ChunkKind::Out, 2, "a 3\nb 3\nend\n");
        assert_eq!(redraw.text(&end, SIZE), "\r\x1b[1A\x1b[Ja 3\nb 3\nend\n");
        // A long line has two rows; one that was written by another stream stays.
        redraw.text(&strip(ChunkKind::Out, 0, "0123456789012345678901234"), SIZE);
        assert_eq!(redraw.text(&strip(ChunkKind::Out, 1, "short"), SIZE), "\r\x1b[1A\x1b[Jshort");
        redraw.text(&strip(ChunkKind::Err, 0, "note\n"), SIZE);
        assert_eq!(redraw.text(&strip(ChunkKind::Out, 1, "shorter"), SIZE), "shorter");
    }

    #[test]
    fn c9_a_line_without_end_is_gone_on_with_after_a_bar() {
        let mut redraw = Redraw::default();
        redraw.text(&strip(ChunkKind::Out, 0, "dots: .."), SIZE);
        assert_eq!(redraw.bars(&[strip(ChunkKind::Err, 0, "10%")], SIZE), "\n10%");
        let more = redraw.text(&strip(ChunkKind::Out, 0, "."), SIZE);
        assert_eq!(more, "\r\x1b[J\x1b[A\x1b[9G.");
        redraw.bars(&[strip(ChunkKind::Err, 0, "20%")], SIZE);
        assert_eq!(redraw.end_line(), "\r\x1b[J");
        // More bars than rows: the last ones are shown, cut to the width.
        let many = "1\n2\n3\n4\n5\n6\n7 7890123456789012345";
        let shown = redraw.bars(&[strip(ChunkKind::Err, 0, many)], SIZE);
        assert_eq!(shown, "3\n4\n5\n6\n7 7890123456789012…".trim_start_matches('\n'));
    }
}
