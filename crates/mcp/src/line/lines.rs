//! What a client sends, cut into lines; never more than one line of the longest kind is held.

use stead_protocol::Lines;

use super::scan::IdScan;
use super::shape::{INVALID_REQUEST, ShapeRefusal};

/// The longest message that is read (SPEC M-8).
const LONGEST_LINE: usize = 64 << 20;
/// The least that is asked for at once.
const READ: usize = 16 << 10;

/// Lines up to this length are copied.
const SHORT: usize = READ;

/// Bytes that were read and are not yet a line.
#[derive(Debug, Default)]
pub(crate) struct BoundedLines {
    lines: Lines,
    /// Set while the rest of a line that is too long is passed over.
    skipping: Option<IdScan>,
}

impl BoundedLines {
    /// Where to read the next bytes to.
    pub(crate) fn room(&mut self) -> &mut Vec<u8> {
        self.lines.room(READ)
    }

    /// Whether nothing came behind the last line.
    pub(crate) fn is_empty(&self) -> bool {
        self.lines.held() == 0
    }

    /// The next whole line. A short one is copied, so that the buffer stays for the next: to take a big piece of memory
    /// and give it back for each line costs more than a copy.
    fn next(&mut self) -> Option<Vec<u8>> {
        match self.lines.held() <= SHORT {
            true => self.lines.next_line().map(<[u8]>::to_vec),
            false => self.lines.take_line(),
        }
    }

    /// The next whole line that was read, without its end, or that one was too long.
    pub(crate) fn take(&mut self) -> Option<Result<Vec<u8>, ShapeRefusal>> {
        loop {
            let Some(line) = self.next() else {
                if self.lines.held() > LONGEST_LINE || self.skipping.is_some() {
                    self.skipping.get_or_insert_default().feed(self.lines.room(0));
                    self.lines.clear();
                }
                return None;
            };
            if self.skipping.is_some() || line.len() > LONGEST_LINE {
                let mut scan = self.skipping.take().unwrap_or_default();
                scan.feed(&line);
                let most = LONGEST_LINE >> 20;
                let message =
                    format!("a message may have at most {most} MiB; this one was not read");
                return Some(Err(ShapeRefusal::new(scan.finish(), INVALID_REQUEST, message)));
            }
            if !line.trim_ascii().is_empty() {
                return Some(Ok(line));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(lines: &mut BoundedLines) -> Vec<String> {
        let all = std::iter::from_fn(|| lines.take());
        all.map(|line| String::from_utf8(line.unwrap()).unwrap()).collect()
    }

    #[test]
    fn m8_lines_are_whole_however_they_come_and_empty_ones_are_nothing() {
        let mut lines = BoundedLines::default();
        for byte in b"one\n\n  \r\ntwo\nthr" {
            lines.room().push(*byte);
        }
        assert_eq!(taken(&mut lines), ["one", "two"]);
        assert!(!lines.is_empty());
        lines.room().extend_from_slice(b"ee\n");
        assert_eq!(taken(&mut lines), ["three"]);
        assert!(lines.is_empty());
    }

    #[test]
    fn m8_a_line_that_is_too_long_is_passed_over_and_its_id_found() {
        let mut lines = BoundedLines::default();
        lines.room().extend_from_slice(br#"{"x":""#);
        lines.room().resize(LONGEST_LINE + 1, b'x');
        assert!(lines.take().is_none());
        assert!(lines.is_empty(), "nothing of it is kept");
        lines.room().extend_from_slice(b"\",\"id\":7}\nnext\n");
        let refused = lines.take().unwrap().unwrap_err();
        assert_eq!(refused.id, Some(serde_json::json!(7)));
        assert_eq!(taken(&mut lines), ["next"]);
    }
}
