//! What an nREPL server says, and what it is asked.

use std::collections::BTreeMap;

use crate::bencode::{Bencode, write_message};

/// A message of a server.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NreplMessage(pub BTreeMap<String, Bencode>);

impl NreplMessage {
    /// The request that it answers; empty if it names none.
    pub fn id(&self) -> String {
        self.text("id").unwrap_or_default()
    }

    /// The text of a field.
    pub fn text(&self, key: &str) -> Option<String> {
        self.0.get(key)?.text()
    }

    /// Whether it has this word among its `status`.
    pub fn has_status(&self, word: &str) -> bool {
        match self.0.get("status") {
            Some(Bencode::List(words)) => words
                .iter()
                .any(|one| matches!(one, Bencode::Bytes(bytes) if bytes == word.as_bytes())),
            Some(Bencode::Bytes(bytes)) => bytes == word.as_bytes(),
            _ => false,
        }
    }

    /// All words of its `status`.
    pub fn statuses(&self) -> Vec<String> {
        match self.0.get("status") {
            Some(Bencode::List(words)) => words.iter().filter_map(Bencode::text).collect(),
            Some(other) => other.text().into_iter().collect(),
            None => Vec::new(),
        }
    }

    /// Whether it brings output and nothing else.
    pub fn is_output(&self) -> bool {
        let has = |key: &str| self.0.contains_key(key);
        (has("out") || has("err")) && !has("value") && !has("status")
    }

    /// A field that is a dictionary.
    pub fn dictionary(&self, key: &str) -> Option<&BTreeMap<String, Bencode>> {
        match self.0.get(key)? {
            Bencode::Dictionary(entries) => Some(entries),
            _ => None,
        }
    }

    /// A field that is a list.
    pub fn list(&self, key: &str) -> &[Bencode] {
        match self.0.get(key) {
            Some(Bencode::List(items)) => items,
            _ => &[],
        }
    }
}

/// Something that a server is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NreplRequest(BTreeMap<String, Bencode>);

impl NreplRequest {
    /// A request of this kind.
    pub fn new(op: &str, id: &str) -> NreplRequest {
        NreplRequest(BTreeMap::new()).with("op", op).with("id", id)
    }

    /// The same with this field.
    pub fn with(mut self, key: &str, value: &str) -> NreplRequest {
        self.0.insert(key.to_owned(), value.into());
        self
    }

    /// The same with this field, if there is something to say.
    pub fn with_some(self, key: &str, value: Option<&str>) -> NreplRequest {
        match value {
            Some(value) => self.with(key, value),
            None => self,
        }
    }

    /// The same with a number.
    pub fn with_number(mut self, key: &str, value: i64) -> NreplRequest {
        self.0.insert(key.to_owned(), Bencode::Integer(value));
        self
    }

    /// The text of a field.
    pub fn text(&self, key: &str) -> Option<String> {
        self.0.get(key)?.text()
    }

    /// Appends its bytes.
    pub fn write(&self, to: &mut Vec<u8>) {
        write_message(&self.0, to);
    }
}
