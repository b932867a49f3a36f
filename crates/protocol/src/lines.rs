//! Cuts the bytes of a wire into lines. Both sides of both wires use this.

/// How much memory is kept for the next line.
const KEPT: usize = 64 << 10;

/// Bytes of a stream that were read and not handed on as lines yet.
///
/// The reader of the stream appends to `room` and then takes the whole lines.
#[derive(Debug, Default)]
pub struct Lines {
    bytes: Vec<u8>,
    /// Where the first line begins that was not handed on.
    begin: usize,
    /// Where the search for its end goes on.
    searched: usize,
}

impl Lines {
    /// The buffer to append to; it has room for at least `least` bytes.
    pub fn room(&mut self, least: usize) -> &mut Vec<u8> {
        self.forget();
        self.bytes.reserve(least);
        &mut self.bytes
    }

    /// The next whole line, without its line feed.
    pub fn next_line(&mut self) -> Option<&[u8]> {
        let (begin, end) = self.find()?;
        Some(&self.bytes[begin..end])
    }

    /// Like `next_line`, for callers that keep the line. Nearly always the line is all there is in the buffer
    /// and is not copied.
    pub fn take_line(&mut self) -> Option<Vec<u8>> {
        let (begin, end) = self.find()?;
        if begin == 0 && end + 1 == self.bytes.len() {
            let mut line = std::mem::take(&mut self.bytes);
            line.pop();
            (self.begin, self.searched) = (0, 0);
            return Some(line);
        }
        Some(self.bytes[begin..end].to_vec())
    }

    /// How many bytes were not handed on. After `None` these are the bytes of an unfinished line, so its
    /// reader can refuse one that is too long.
    pub fn held(&self) -> usize {
        self.bytes.len() - self.begin
    }

    /// Forgets all bytes.
    pub fn clear(&mut self) {
        *self = Lines::default();
    }

    /// Finds the next whole line and goes past it.
    fn find(&mut self) -> Option<(usize, usize)> {
        let Some(at) = memchr::memchr(b'\n', &self.bytes[self.searched..]) else {
            self.searched = self.bytes.len();
            self.forget();
            return None;
        };
        let (begin, end) = (self.begin, self.searched + at);
        (self.begin, self.searched) = (end + 1, end + 1);
        Some((begin, end))
    }

    /// Gives room back that handed on lines took; a giant line's memory at once.
    fn forget(&mut self) {
        self.bytes.drain(..self.begin);
        self.searched -= self.begin;
        self.begin = 0;
        if self.bytes.is_empty() && self.bytes.capacity() > KEPT {
            self.bytes = Vec::new();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn h2_lines_survive_any_cut() {
        let text = b"{\"a\":1}\n\nthree and more\nrest";
        let whole = [&b"{\"a\":1}"[..], b"", b"three and more"];
        for cut in 0..=text.len() {
            let (mut lent, mut taken) = (Lines::default(), Lines::default());
            let (mut seen, mut kept) = (Vec::new(), Vec::new());
            for part in [&text[..cut], &text[cut..]] {
                lent.room(part.len()).extend_from_slice(part);
                while let Some(line) = lent.next_line() {
                    seen.push(line.to_vec());
                }
                taken.room(part.len()).extend_from_slice(part);
                kept.extend(std::iter::from_fn(|| taken.take_line()));
            }
            assert_eq!(
                (seen.as_slice(), kept.as_slice()),
                (&whole.map(<[u8]>::to_vec)[..], &seen[..]),
                "{cut}"
            );
            assert_eq!((lent.held(), taken.held()), (4, 4), "{cut}");
        }
    }

    #[test]
    fn p5_the_memory_of_a_giant_line_goes_back() {
        let mut lines = Lines::default();
        for _ in 0..1024 {
            lines.room(4096).extend_from_slice(&[b'x'; 4096]);
            assert_eq!(lines.next_line(), None);
        }
        assert_eq!(lines.held(), 4 << 20);
        lines.room(1).push(b'\n');
        assert_eq!(lines.next_line().map(<[u8]>::len), Some(4 << 20));
        assert_eq!(lines.next_line(), None);
        assert!(lines.bytes.capacity() <= KEPT);
    }

    #[test]
    fn what_follows_a_line_is_not_lost() {
        let mut lines = Lines::default();
        lines.room(8).extend_from_slice(b"a\nb");
        assert_eq!(lines.take_line().as_deref(), Some(&b"a"[..]));
        lines.room(8).extend_from_slice(b"c\nd\n");
        assert_eq!(lines.take_line().as_deref(), Some(&b"bc"[..]));
        assert_eq!(lines.take_line().as_deref(), Some(&b"d"[..]));
        assert_eq!((lines.take_line(), lines.held()), (None, 0));
    }
}
