//! A line of output as it is shown: clean text, cut to what is worth reading (SPEC O-7).

use std::borrow::Cow;
use std::ops::Range;

use stead_protocol::{ChunkKind, is_markup};

use crate::read::lines::Line;
use crate::show::page::{self, PageItem};

/// Most characters of a line in a search's result.
pub(crate) const HIT_CHARS: usize = 400;

/// How many characters before a match are shown, if the line is too long to be shown whole.
const BEFORE_MATCH: usize = HIT_CHARS / 4;

/// The text of a record that is shown as a whole: a value, an error, a report, or a display that is text.
pub(crate) fn item_text(kind: ChunkKind, bytes: &[u8]) -> Option<String> {
    match page::other(kind, bytes) {
        PageItem::Value(value) => Some(value.text),
        PageItem::Error(error) => Some(match (error.traceback, error.message.as_str()) {
            (Some(traceback), _) => traceback,
            (None, "") => error.name,
            (None, message) => format!("{}: {message}", error.name),
        }),
        PageItem::Display(display) => display.data.filter(|_| !is_markup(&display.mime)),
        PageItem::Report(text) => Some(text),
        PageItem::Text { .. } | PageItem::Status(_) | PageItem::Gap(_) => None,
    }
}

/// The line as text: this is searched, and this is shown.
pub(crate) fn shown<'a>(line: &Line<'a>) -> Cow<'a, str> {
    let bytes = match is_cut_off(line) {
        true => without_half_character(line.bytes),
        false => line.bytes.strip_suffix(b"\r").unwrap_or(line.bytes),
    };
    clean(bytes)
}

/// Turns bytes of user code into text; nothing else here does. A redrawn line is searched in its last state.
fn clean(bytes: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(bytes) {
        Ok(text) if text.bytes().all(|byte| matches!(byte, b'\t' | b' '..=b'~')) => {
            Cow::Borrowed(text)
        }
        // Cursor movements can turn one line into several rows.
        _ => Cow::Owned(stead_screen::plain(bytes).replace('\n', " ")),
    }
}

/// The bytes without a last character that was cut in half with its long line.
fn without_half_character(bytes: &[u8]) -> &[u8] {
    for back in 1..=bytes.len().min(3) {
        let at = bytes.len() - back;
        let length = match bytes[at] {
            0x80..=0xbf => continue,
            0xc0..=0xdf => 2,
            0xe0..=0xef => 3,
            0xf0..=0xf7 => 4,
            _ => 1,
        };
        return if length > back { &bytes[..at] } else { bytes };
    }
    bytes
}

/// At most [`HIT_CHARS`] characters of a line, those around a match.
pub(crate) fn around(text: &str, line: &Line<'_>, found: Range<usize>) -> String {
    if text.len() <= HIT_CHARS || text.char_indices().nth(HIT_CHARS).is_none() {
        return text.to_owned();
    }
    let back = |from: usize, count: usize| {
        text[..from].char_indices().rev().nth(count.saturating_sub(1)).map_or(0, |(at, _)| at)
    };
    let start = back(found.start, BEFORE_MATCH);
    let (start, end) = match text[start..].char_indices().nth(HIT_CHARS) {
        Some((length, _)) => (start, start + length),
        // A match near the end shows the line's last characters.
        None => (back(text.len(), HIT_CHARS), text.len()),
    };
    let before = if start > 0 { "…" } else { "" };
    let after = if end < text.len() || is_cut_off(line) { "…" } else { "" };
    format!("{before}{}{after}", &text[start..end])
}

/// How many there are of something: `1 line`, `2 lines`.
pub fn counted(number: u64, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}

/// The size of a file as a person says it: `812 bytes`, `43 kB`, `2.5 MB`.
pub fn size_text(bytes: u64) -> String {
    match bytes {
        0..1_000 => counted(bytes, "byte", "bytes"),
        1_000..1_000_000 => format!("{} kB", bytes.div_ceil(1_000)),
        _ => format!("{}.{} MB", bytes / 1_000_000, bytes % 1_000_000 / 100_000),
    }
}

/// At most `max` characters of a line from its beginning.
pub(crate) fn beginning(text: &str, line: &Line<'_>, max: usize) -> String {
    match text.char_indices().nth(max) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None if is_cut_off(line) => format!("{text}…"),
        None => text.to_owned(),
    }
}

/// Whether only the beginning of the line was looked at.
fn is_cut_off(line: &Line<'_>) -> bool {
    (line.bytes.len() as u64) < line.len
}

#[cfg(test)]
#[path = "shown_tests.rs"]
mod tests;
