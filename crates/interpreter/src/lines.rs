//! Cuts a byte stream into lines without keeping more than one longest line.

use stead_protocol::MAX_LINE;

/// Bytes of a line that is not complete yet.
#[derive(Debug, Default)]
pub(crate) struct Lines {
    pending: Vec<u8>,
}

/// A line grew past the limit.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TooLong;

impl Lines {
    /// Takes bytes and hands on each whole line, without its line feed.
    pub(crate) fn feed(
        &mut self,
        mut bytes: &[u8],
        mut each: impl FnMut(&[u8]),
    ) -> Result<(), TooLong> {
        while let Some(end) = bytes.iter().position(|&b| b == b'\n') {
            if self.pending.is_empty() {
                each(&bytes[..end]);
            } else {
                self.pending.extend_from_slice(&bytes[..end]);
                each(&self.pending);
                // A giant line's memory goes back at once.
                self.pending = Vec::new();
            }
            bytes = &bytes[end + 1..];
        }
        self.pending.extend_from_slice(bytes);
        if self.pending.len() > MAX_LINE { Err(TooLong) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_survive_any_cut() {
        let text = b"one\n\nthree and more\n";
        for cut in 0..text.len() {
            let (mut lines, mut seen) = (Lines::default(), Vec::new());
            for part in [&text[..cut], &text[cut..]] {
                lines.feed(part, |line| seen.push(line.to_vec())).unwrap();
            }
            assert_eq!(seen, [&b"one"[..], b"", b"three and more"]);
        }
    }
}
