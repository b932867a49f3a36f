//! Finds the id of a message that cannot or will not be parsed, so that its sender is answered.

use serde_json::Value;

/// The longest id that is worth answering to.
const LONGEST_ID: usize = 256;

/// Reads a JSON text bytewise and remembers the `id` of its outermost object.
#[derive(Debug, Default)]
pub(super) struct IdScan {
    depth: usize,
    text: ScanPlace,
    /// The last string at depth 1: a key, if a colon follows.
    key: Vec<u8>,
    taking: bool,
    value: Vec<u8>,
    found: Option<Value>,
}

/// Where in a string the scan is.
#[derive(Debug, Default, PartialEq, Eq)]
enum ScanPlace {
    #[default]
    Outside,
    Inside,
    Escaped,
}

impl IdScan {
    /// Takes the next bytes of the text.
    pub(super) fn feed(&mut self, bytes: &[u8]) {
        let mut rest = bytes;
        while self.found.is_none() && !rest.is_empty() {
            let skip = if self.passes_over() {
                memchr::memchr2(b'"', b'\\', rest).unwrap_or(rest.len())
            } else {
                0
            };
            let Some((byte, after)) = rest[skip..].split_first() else { return };
            self.step(*byte);
            rest = after;
        }
    }

    /// Whether the scan is inside a string of which it keeps nothing; most of a long message is such strings.
    fn passes_over(&self) -> bool {
        let keeps_key = self.depth == 1 && !self.taking && self.key.len() <= LONGEST_ID;
        let keeps_value = self.taking && self.value.len() <= LONGEST_ID;
        self.text == ScanPlace::Inside && !keeps_key && !keeps_value
    }

    /// The id, as far as there was one.
    pub(super) fn finish(mut self) -> Option<Value> {
        self.take_value();
        self.found
    }

    fn step(&mut self, byte: u8) {
        let ends =
            self.text == ScanPlace::Outside && self.depth == 1 && matches!(byte, b',' | b'}');
        if self.taking && ends {
            self.take_value();
        } else if self.taking && self.value.len() <= LONGEST_ID {
            self.value.push(byte);
        }
        match (&self.text, byte) {
            (ScanPlace::Escaped, _) => self.text = ScanPlace::Inside,
            (ScanPlace::Inside, b'\\') => self.text = ScanPlace::Escaped,
            (ScanPlace::Inside, b'"') => self.text = ScanPlace::Outside,
            (ScanPlace::Inside, _) => {
                if self.depth == 1 && !self.taking && self.key.len() <= LONGEST_ID {
                    self.key.push(byte);
                }
            }
            (ScanPlace::Outside, b'"') => {
                self.text = ScanPlace::Inside;
                if !self.taking {
                    self.key.clear();
                }
            }
            (ScanPlace::Outside, b':') if self.depth == 1 => self.taking = self.key == b"id",
            (ScanPlace::Outside, b'{' | b'[') => self.depth += 1,
            (ScanPlace::Outside, b'}' | b']') => self.depth = self.depth.saturating_sub(1),
            (ScanPlace::Outside, _) => {}
        }
    }

    fn take_value(&mut self) {
        if std::mem::take(&mut self.taking) && self.found.is_none() {
            self.found = serde_json::from_slice(&self.value).ok().filter(is_id);
        }
        self.value.clear();
    }
}

/// Whether this may be the id of a request.
pub(super) fn is_id(value: &Value) -> bool {
    value.is_string() || value.is_i64()
}

/// The id of a message in one piece.
pub(crate) fn id(line: &[u8]) -> Option<Value> {
    let mut scan = IdScan::default();
    scan.feed(line);
    scan.finish()
}

#[cfg(test)]
#[path = "scan_tests.rs"]
mod tests;
