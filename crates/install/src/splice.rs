//! Changing a text in a few places and leaving every other byte as it is.

use std::ops::Range;

/// One place of a text and what stands there afterwards.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Splice {
    pub(crate) at: Range<usize>,
    pub(crate) with: String,
}

impl Splice {
    pub(crate) fn insert(at: usize, with: impl Into<String>) -> Self {
        Splice { at: at..at, with: with.into() }
    }

    pub(crate) fn delete(at: Range<usize>) -> Self {
        Splice { at, with: String::new() }
    }
}

/// The text with all splices made. Those at one place are made in the order in which they are given.
pub(crate) fn splice(text: &str, mut splices: Vec<Splice>) -> String {
    splices.sort_by_key(|one| one.at.start);
    let mut made = String::with_capacity(text.len() + 512);
    let mut from = 0;
    for one in splices {
        made.push_str(&text[from..one.at.start]);
        made.push_str(&one.with);
        from = one.at.end;
    }
    made.push_str(&text[from..]);
    made
}

/// The line and column, both from 1, of a place in a text.
pub(crate) fn line_and_column(text: &str, at: usize) -> (usize, usize) {
    let before = &text.as_bytes()[..at.min(text.len())];
    let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
    let begin = before.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
    let column = String::from_utf8_lossy(&before[begin..]).chars().count() + 1;
    (line, column)
}

/// The whitespace that the line of a place begins with.
pub(crate) fn indentation_at(text: &str, at: usize) -> &str {
    let begin = text[..at].rfind('\n').map_or(0, |end| end + 1);
    let line = &text[begin..];
    let line = line.strip_prefix('\u{feff}').unwrap_or(line);
    &line[..line.len() - line.trim_start_matches([' ', '\t']).len()]
}

/// How lines of this text end.
pub(crate) fn newline_of(text: &str) -> &'static str {
    match text.find('\n') {
        Some(at) if text[..at].ends_with('\r') => "\r\n",
        _ => "\n",
    }
}
