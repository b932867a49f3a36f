//! Bytes of user code as text: never invalid, never in command of a terminal (SPEC O-7).

use std::fmt::Write;

/// Text for JSON: bytes that are no UTF-8 are shown as `\xNN`.
pub(crate) fn decode(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for part in bytes.utf8_chunks() {
        text.push_str(part.valid());
        for byte in part.invalid() {
            let _ = write!(text, "\\x{byte:02x}");
        }
    }
    text
}

/// Text for a terminal: control characters and what reorders text are shown escaped too.
pub(crate) fn defuse(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for part in bytes.utf8_chunks() {
        for c in part.valid().chars() {
            match c {
                '\n' | '\t' => text.push(c),
                c if (c as u32) < 0x20 || c as u32 == 0x7f => {
                    let _ = write!(text, "\\x{:02x}", c as u32);
                }
                c if is_deceptive(c) => {
                    let _ = write!(text, "\\u{{{:x}}}", c as u32);
                }
                c => text.push(c),
            }
        }
        for byte in part.invalid() {
            let _ = write!(text, "\\x{byte:02x}");
        }
    }
    text
}

/// C1 controls, bidirectional overrides and tag characters.
fn is_deceptive(c: char) -> bool {
    matches!(c,
        '\u{80}'..='\u{9f}'
        | '\u{200e}' | '\u{200f}' | '\u{061c}'
        | '\u{202a}'..='\u{202e}'
        | '\u{2066}'..='\u{2069}'
        | '\u{e0000}'..='\u{e007f}')
}

/// How many bytes at the end may be the beginning of a character that goes on.
pub(crate) fn unfinished(bytes: &[u8]) -> usize {
    for back in 1..=bytes.len().min(3) {
        let byte = bytes[bytes.len() - back];
        let length = match byte {
            0xc2..=0xdf => 2,
            0xe0..=0xef => 3,
            0xf0..=0xf4 => 4,
            0x80..=0xbf => continue,
            _ => return 0,
        };
        return if length > back { back } else { 0 };
    }
    0
}

/// At most `max` characters, cut in the middle.
pub(crate) fn cut(text: &str, max: usize) -> String {
    let count = text.chars().count();
    if count <= max {
        return text.to_owned();
    }
    let (head, tail) = (max.div_ceil(2), max / 2);
    let start: String = text.chars().take(head).collect();
    let end: String = text.chars().skip(count - tail).collect();
    format!("{start}[… {} characters left out …]{end}", count - max)
}

/// The first line, at most `max` characters of it.
pub(crate) fn first_line(text: &str, max: usize) -> String {
    let line = text.trim_start().lines().next().unwrap_or_default();
    let mut short: String = defuse(line.as_bytes()).chars().take(max).collect();
    if short.len() < text.trim_end().len() {
        short.push('…');
    }
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn o7_bytes_that_are_no_text_are_shown() {
        assert_eq!(decode(b"a\xff\xc3\xa9\x00"), "a\\xffé\0");
        assert_eq!(defuse(b"\x1b[2J\r\n\t\xff"), "\\x1b[2J\\x0d\n\t\\xff");
        assert_eq!(defuse("\u{202e}x\u{9b}".as_bytes()), "\\u{202e}x\\u{9b}");
    }

    #[test]
    fn a_character_split_over_two_chunks_is_found() {
        let bytes = "aé€😀".as_bytes();
        assert_eq!(unfinished(bytes), 0);
        for cut in 1..4 {
            assert_eq!(unfinished(&bytes[..bytes.len() - cut]), 4 - cut);
        }
        assert_eq!(unfinished(b"\xff"), 0);
        assert_eq!(unfinished(b"\x80\x80"), 0);
        assert_eq!(unfinished(b""), 0);
    }

    #[test]
    fn long_text_is_cut_in_the_middle() {
        assert_eq!(cut("abcdef", 6), "abcdef");
        assert_eq!(cut("abcdefgh", 4), "ab[… 4 characters left out …]gh");
    }
}
