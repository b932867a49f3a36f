//! The last line an eval wrote, and its unfinished line, which may be a prompt.

/// Longest line that is kept.
const MOST: usize = 1024;
/// Most characters of a prompt that are told.
const PROMPT_CHARS: usize = 200;

/// Follows the bytes of an eval's output without keeping them.
#[derive(Debug, Default)]
pub(crate) struct LastLine {
    partial: Vec<u8>,
    whole: Vec<u8>,
}

impl LastLine {
    pub(crate) fn feed(&mut self, bytes: &[u8]) {
        let Some(end) = bytes.iter().rposition(|&b| b == b'\n') else { return self.extend(bytes) };
        let is_blank = |line: &[u8]| line.iter().all(u8::is_ascii_whitespace);
        // Blank lines say nothing; a whole pipe of them need not be searched.
        let lines = bytes[..end].rsplit(|&b| b == b'\n').take(16);
        let first = lines.clone().find(|line| !is_blank(line));
        let begins_here = |line: &[u8]| line.as_ptr() == bytes.as_ptr();
        match first {
            Some(line) if !begins_here(line) => {
                self.partial.clear();
                self.extend(line);
                self.whole = std::mem::take(&mut self.partial);
            }
            Some(line) => {
                self.extend(line);
                self.whole = std::mem::take(&mut self.partial);
            }
            None if !is_blank(&self.partial) => self.whole = std::mem::take(&mut self.partial),
            None => self.partial.clear(),
        }
        self.extend(&bytes[end + 1..]);
    }

    fn extend(&mut self, bytes: &[u8]) {
        // Of a giant line the end is kept, since that is what a progress bar or prompt shows.
        self.partial.extend_from_slice(&bytes[bytes.len().saturating_sub(MOST)..]);
        let over = self.partial.len().saturating_sub(MOST);
        self.partial.drain(..over);
    }

    /// An answer ends the line that asked for it, as its echo would on a terminal.
    pub(crate) fn answered(&mut self) {
        self.feed(b"\n");
    }

    /// The last row of the text after the last line feed, as a person would see it, cut to a length that is
    /// read at a glance.
    pub(crate) fn prompt(&self) -> String {
        let text = stead_screen::plain(&self.partial);
        let mut rows = text.lines().rev();
        let row = rows.find(|row| !row.trim().is_empty()).or(text.lines().next_back());
        let row = row.unwrap_or_default();
        let over = row.chars().count().saturating_sub(PROMPT_CHARS);
        match row.char_indices().nth(over) {
            Some((from, _)) if over > 0 => format!("…{}", &row[from..]),
            _ => row.to_owned(),
        }
    }

    /// The unfinished line if it is not blank, else the last whole one.
    pub(crate) fn show(&self) -> String {
        let blank = self.partial.iter().all(u8::is_ascii_whitespace);
        String::from_utf8_lossy(if blank { &self.whole } else { &self.partial }).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answered_prompt_is_not_part_of_the_next() {
        let mut line = LastLine::default();
        line.feed(b">>> ");
        line.answered();
        assert_eq!((line.prompt(), line.show()), (String::new(), ">>> ".to_owned()));
        line.feed(b"... ");
        assert_eq!(line.prompt(), "... ");
    }

    #[test]
    fn e8_a_prompt_is_one_short_clean_line() {
        let prompt = |bytes: &[u8]| {
            let mut line = LastLine::default();
            line.feed(bytes);
            line.prompt()
        };
        assert_eq!(prompt(b"\x1b[1mname\x1b[0m: "), "name: ");
        assert_eq!(prompt(b"\x1b[2J\x1b[1;1Hone\x1b[12;1H~\x1b[13;1H:wq? "), ":wq? ");
        assert_eq!(prompt(b"10%\r20%\rready?"), "ready?");
        let long = prompt(&b"x".repeat(900));
        assert_eq!((long.chars().count(), long.chars().next()), (201, Some('…')));
        assert_eq!(prompt(b""), "");
        assert_eq!(prompt(b"  "), "  ");
    }

    #[test]
    fn prompt_and_last_line_survive_any_cut() {
        let text = b"one\ntwo\n\nname: ";
        for cut in 0..=text.len() {
            let mut line = LastLine::default();
            line.feed(&text[..cut]);
            line.feed(&text[cut..]);
            assert_eq!(line.prompt(), "name: ");
            let mut line = LastLine::default();
            line.feed(&text[..cut.min(9)]);
            line.feed(&text[cut.min(9)..9]);
            assert_eq!((line.prompt(), line.show()), (String::new(), "two".to_owned()));
        }
    }
}
