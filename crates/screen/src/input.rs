//! From the bytes of one stream to its rows.

use crate::escapes::Escapes;
use crate::rows::{Rows, WINDOW};
use crate::text;

/// One stream: its rows, and the part of a sequence or character that has come so far.
pub(crate) struct LaneInput {
    escapes: Escapes,
    /// The first bytes of an unfinished character, and the offset of the first one.
    held: Vec<u8>,
    held_at: u64,
    pub(crate) rows: Rows,
}

impl LaneInput {
    pub(crate) fn new() -> Self {
        LaneInput { escapes: Escapes::default(), held: Vec::new(), held_at: 0, rows: Rows::new() }
    }

    /// Reads the next bytes. The first one has the offset `offset`; if not `counted`, all of them have that
    /// offset.
    pub(crate) fn write(&mut self, offset: u64, counted: bool, bytes: &[u8]) {
        let place = |at: usize| if counted { offset + at as u64 } else { offset };
        let mut at = self.complete(bytes);
        let mut looked_to = at;
        while at < bytes.len() {
            let rest = &bytes[at..];
            if at >= looked_to && !self.escapes.is_inside() && self.rows.is_at_end() {
                let lines = text::lines_len(rest);
                looked_to = at + lines.max(1);
                if let Some(many) = many_lines(&rest[..lines]) {
                    let first = many.find('\n').map_or(0, |end| end + 1);
                    self.rows.at = place(at);
                    self.rows.print(&many[..first - 1]);
                    self.rows.at = place(at + first - 1);
                    self.rows.line_feed();
                    self.rows.at = place(at + first);
                    self.rows.settle_lines(&many[first..many.len() - 1], counted);
                    at += many.len();
                    continue;
                }
            }
            // A sequence takes effect at the offset where it began, in whatever pieces it comes.
            if !self.escapes.is_inside() {
                self.rows.at = place(at);
            }
            if self.escapes.is_inside() || rest[0] == 0x1b {
                at += self.escapes.read(rest, &mut self.rows);
                continue;
            }
            let length = text::text_len(rest);
            if length == 0 {
                control(&mut self.rows, rest[0]);
                at += 1;
                continue;
            }
            let last = length == rest.len();
            let mut from = at;
            at += length;
            for part in rest[..length].utf8_chunks() {
                if !part.valid().is_empty() {
                    text::shown(part.valid(), |at, text| {
                        self.rows.at = place(from + at);
                        self.rows.print(text);
                    });
                }
                from += part.valid().len();
                if part.invalid().is_empty() {
                    continue;
                }
                self.rows.at = place(from);
                from += part.invalid().len();
                if last && from == bytes.len() && text::is_unfinished(part.invalid()) {
                    self.held.extend_from_slice(part.invalid());
                    self.held_at = self.rows.at;
                } else {
                    self.rows.print(&text::escaped(part.invalid()));
                }
            }
        }
    }

    /// Settles all rows.
    pub(crate) fn finish(&mut self) {
        self.give_up_held();
        self.rows.finish();
    }

    /// Adds the bytes that belong to an unfinished character; returns how many did.
    fn complete(&mut self, bytes: &[u8]) -> usize {
        let mut taken = 0;
        while !self.held.is_empty() && taken < bytes.len() {
            self.held.push(bytes[taken]);
            taken += 1;
            if let Ok(text) = str::from_utf8(&self.held) {
                let text = text.to_owned();
                self.held.clear();
                self.rows.at = self.held_at;
                text::shown(&text, |_, text| self.rows.print(text));
            } else if !text::is_unfinished(&self.held) {
                self.held.pop();
                taken -= 1;
                self.give_up_held();
            }
        }
        taken
    }

    /// Shows the bytes of a character that was never finished.
    pub(crate) fn give_up_held(&mut self) {
        if !self.held.is_empty() {
            self.rows.at = self.held_at;
            let held = std::mem::take(&mut self.held);
            self.rows.print(&text::escaped(&held));
        }
    }
}

/// The leading lines that no later sequence can redraw, since enough other lines follow. `None` if there are
/// too few to be worth a shortcut.
fn many_lines(lines: &[u8]) -> Option<&str> {
    const WORTH_IT: usize = 4096;
    if lines.len() < WORTH_IT {
        return None;
    }
    let ends = lines.iter().enumerate().rev().filter(|(_, byte)| **byte == b'\n');
    let (end, _) = ends.skip(WINDOW).take(1).next()?;
    let many = str::from_utf8(&lines[..=end]).ok()?;
    let whole = many.len() >= WORTH_IT && many.as_bytes()[..end].contains(&b'\n');
    (whole && (many.is_ascii() || !many.chars().any(text::is_hidden))).then_some(many)
}

/// A control character.
pub(crate) fn control(rows: &mut Rows, byte: u8) {
    match byte {
        b'\n' => rows.line_feed(),
        b'\r' => rows.return_(),
        0x08 => rows.back(1),
        b'\t' => rows.print("\t"),
        // The bell, and shifts between character sets.
        0x07 | 0x0e | 0x0f => {}
        byte => rows.print(&text::escaped(&[byte])),
    }
}
