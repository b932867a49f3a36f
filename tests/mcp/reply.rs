//! What a tool replied, read strictly: whatever looks like one of our lines must be one.

use regex::Regex;
use serde_json::Value;

/// The text of a tool's reply.
#[derive(Debug, Clone)]
pub(crate) struct Reply {
    pub(crate) text: String,
    pub(crate) failed: bool,
}

impl Reply {
    /// Reads an answer that must be the result of a tool.
    #[track_caller]
    pub(crate) fn of(answer: &Value) -> Reply {
        let result = &answer["result"];
        let content =
            result["content"].as_array().unwrap_or_else(|| panic!("no content: {answer}"));
        assert!(result.get("structuredContent").is_none(), "{answer}");
        assert_eq!(content[0]["type"], "text", "{answer}");
        let text = content[0]["text"].as_str().expect("text").to_owned();
        let failed = result["isError"].as_bool().unwrap_or(false);
        let reply = Reply { text, failed };
        if failed {
            assert!(reply.text.starts_with('['), "{}", reply.text);
        }
        reply
    }

    /// The line that closes it.
    #[track_caller]
    pub(crate) fn closing(&self) -> &str {
        let line = self.text.rsplit('\n').next().unwrap_or_default();
        assert!(line.starts_with('[') && line.ends_with(']'), "no closing line: {}", self.text);
        line
    }

    /// The id in the closing line.
    #[track_caller]
    pub(crate) fn id(&self) -> String {
        let closing = self.closing();
        let id = closing[1..].split([' ', ']', ';']).next().unwrap_or_default();
        assert!(id.contains(':'), "no id in {closing}");
        id.to_owned()
    }

    /// All before the closing line.
    #[track_caller]
    pub(crate) fn body(&self) -> &str {
        let closing = self.closing().len();
        &self.text[..self.text.len() - closing]
    }

    /// Lines that claim to be ours, in order.
    pub(crate) fn ours(&self) -> Vec<&str> {
        self.text.lines().filter(|line| claims(line)).collect()
    }

    /// The text without the time in its last line, which is told of an eval that took a second: on a busy machine
    /// that may be any.
    fn untimed(&self) -> String {
        let (before, closing) = self.text.split_at(self.text.rfind('\n').map_or(0, |end| end + 1));
        let time = Regex::new(r"^(\[[a-z0-9._-]+:\d+) [0-9.]+ s\b").expect("an expression");
        format!("{before}{}", time.replace(closing, "$1"))
    }

    #[track_caller]
    pub(crate) fn expect(&self, text: &str) {
        if self.untimed() != text {
            assert_eq!(self.text, text);
        }
        assert!(!self.failed);
    }

    #[track_caller]
    pub(crate) fn contains(&self, text: &str) {
        let is_there = self.text.contains(text) || self.untimed().contains(text);
        assert!(is_there, "no {text:?} in:\n{}", self.text);
    }
}

/// Whether a line claims to be one of ours: written apart from the server's own rule on purpose.
pub(crate) fn claims(line: &str) -> bool {
    let Some(rest) = line.strip_prefix('[') else { return false };
    if ["…", "stdout]", "stderr]", "value]"].iter().any(|mark| rest.starts_with(mark)) {
        return true;
    }
    let name: String = rest
        .chars()
        .take_while(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || "._-".contains(*c))
        .collect();
    let Some(after) = rest[name.len()..].strip_prefix(':') else { return false };
    if name.is_empty() {
        return false;
    }
    let number = after.len() - after.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let end = after[number..].chars().next();
    match number {
        0 => matches!(end, Some(' ')),
        _ => matches!(end, None | Some(' ' | ']' | ';')),
    }
}
