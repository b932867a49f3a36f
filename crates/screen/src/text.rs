//! Which characters are text, and how the others are shown.

use std::borrow::Cow;
use std::fmt::Write;

use crate::{Lane, Piece, Screen};

/// A short text (a value, a prompt, a last line) as a terminal would show it.
pub fn plain(bytes: impl AsRef<[u8]>) -> String {
    let bytes = bytes.as_ref();
    match str::from_utf8(bytes) {
        Ok(text) if is_plain(text) => text.to_owned(),
        _ => drawn(bytes),
    }
}

/// Like `plain`, for a text that is not needed otherwise: nearly all are plain already and are returned as
/// they are.
pub fn into_plain(text: String) -> String {
    if is_plain(&text) { text } else { drawn(text.as_bytes()) }
}

/// A text of somebody else's on one line (a name, a path, a word of a file), with everything escaped that a terminal
/// would obey or not show. Unlike `plain`, nothing of it is lost.
pub fn visible(text: &str) -> Cow<'_, str> {
    if !text.contains(is_unseen) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        match is_unseen(c) {
            true => shown.extend(c.escape_default()),
            false => shown.push(c),
        }
    }
    Cow::Owned(shown)
}

/// Whether a terminal obeys this character, or puts others elsewhere for its sake, instead of showing it.
pub fn is_unseen(c: char) -> bool {
    c.is_control() || is_hidden(c)
}

/// How many columns a line of plain text takes on a terminal.
pub fn columns(line: &str) -> usize {
    crate::cells::width(0, line)
}

/// As much of a line of plain text as fits into so many columns; tabs become spaces. A line that is cut ends
/// with `…`.
pub fn fit(line: &str, most: usize) -> String {
    let mut text = String::with_capacity(line.len().min(4 * most));
    let (mut column, mut cut) = (0, (0, 0));
    for c in line.chars() {
        let next = crate::cells::width(column, c.encode_utf8(&mut [0; 4]));
        if column < most {
            cut = (text.len(), column);
        }
        if next > most {
            text.truncate(cut.0);
            text.extend(std::iter::repeat_n('…', most.min(1)));
            return text;
        }
        match c {
            '\t' => text.extend(std::iter::repeat_n(' ', next - column)),
            c => text.push(c),
        }
        column = next;
    }
    text
}

/// Whether a terminal would show a text just as it is.
fn is_plain(text: &str) -> bool {
    lines_len(text.as_bytes()) == text.len() && (text.is_ascii() || !text.chars().any(is_hidden))
}

fn drawn(bytes: &[u8]) -> String {
    let mut screen = Screen::new();
    screen.write(Lane::Out, 0, bytes);
    let pieces = screen.finish().into_iter();
    pieces
        .map(|piece| if let Piece::Text(text) = piece { text.text } else { String::new() })
        .collect()
}

/// Whether a byte is part of text, as far as a single byte tells.
fn is_text(byte: u8) -> bool {
    (byte == b'\t') | (byte >= 0x20) & (byte != 0x7f)
}

/// How many bytes there are before the next control character.
pub(crate) fn text_len(bytes: &[u8]) -> usize {
    prefix(bytes, is_text)
}

/// How many bytes there are before a control character other than a line feed.
pub(crate) fn lines_len(bytes: &[u8]) -> usize {
    prefix(bytes, |byte| is_text(byte) | (byte == b'\n'))
}

fn prefix(bytes: &[u8], wanted: impl Fn(u8) -> bool) -> usize {
    // Whole blocks first: the compiler makes a few vector instructions of each.
    const BLOCK: usize = 32;
    let mut at = 0;
    for block in bytes.chunks_exact(BLOCK) {
        if !block.iter().fold(true, |all, byte| all & wanted(*byte)) {
            break;
        }
        at += BLOCK;
    }
    at + bytes[at..].iter().take_while(|byte| wanted(**byte)).count()
}

/// Characters that are never shown as they are: C1 controls, those that reorder or break lines, and tags.
pub(crate) fn is_hidden(c: char) -> bool {
    matches!(c,
        '\u{80}'..='\u{9f}'
        | '\u{061c}'
        | '\u{200e}' | '\u{200f}'
        | '\u{2028}' | '\u{2029}'
        | '\u{202a}'..='\u{202e}'
        | '\u{2066}'..='\u{2069}'
        | '\u{e0000}'..='\u{e007f}')
}

/// Cuts a text into pieces that are shown as they are, and hidden characters that are shown escaped.
pub(crate) fn shown(text: &str, mut show: impl FnMut(usize, &str)) {
    if text.is_ascii() {
        return show(0, text);
    }
    let mut from = 0;
    for (at, c) in text.char_indices().filter(|(_, c)| is_hidden(*c)) {
        if from < at {
            show(from, &text[from..at]);
        }
        show(at, &format!("\\u{{{:x}}}", c as u32));
        from = at + c.len_utf8();
    }
    if from < text.len() {
        show(from, &text[from..]);
    }
}

/// Bytes that are not text, escaped.
pub(crate) fn escaped(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len() * 4);
    for byte in bytes {
        let _ = write!(text, "\\x{byte:02x}");
    }
    text
}

/// Whether bytes that are not UTF-8 may be the beginning of a character.
pub(crate) fn is_unfinished(invalid: &[u8]) -> bool {
    str::from_utf8(invalid)
        .is_err_and(|error| error.valid_up_to() == 0 && error.error_len().is_none())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_would_obey_or_hide_is_shown_escaped() {
        for (text, shown) in [
            ("a b é 日本 \\ \"'", "a b é 日本 \\ \"'"),
            ("\x1b[31mred\x07", "\\u{1b}[31mred\\u{7}"),
            ("one\ntwo\tthree\r", "one\\ntwo\\tthree\\r"),
            ("a\u{202e}b\u{2066}c\u{9b}d\u{e0041}", "a\\u{202e}b\\u{2066}c\\u{9b}d\\u{e0041}"),
        ] {
            assert_eq!(visible(text), shown);
        }
    }

    #[test]
    fn a_line_is_cut_to_the_columns_that_there_are() {
        for (line, most, fits) in [
            ("abc", 3, "abc"),
            ("abcd", 3, "ab…"),
            ("日本", 4, "日本"),
            ("日本語", 5, "日本…"),
            ("日本語", 4, "日…"),
            ("a\tb", 9, "a       b"),
            ("a\tb", 4, "a…"),
            ("e\u{301}", 1, "e\u{301}"),
            ("ab", 0, ""),
        ] {
            assert_eq!(fit(line, most), fits, "{line:?} {most}");
            assert!(columns(&fit(line, most)) <= most);
        }
    }
}
