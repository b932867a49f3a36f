//! The one door to all formats: text in, text out, and nothing but the entry differs.

use serde_json::Value;

use crate::entry::{EntryShape, KnownEntry, SERVER_NAME, ServerEntry};
use crate::loss::lost;
use crate::trouble::EditTrouble;
use crate::{json, toml, yaml};

/// How a client's file is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConfigFormat {
    /// JSON, perhaps with comments: the object that lists servers, and what an entry has.
    Json {
        /// The name of the object that lists servers.
        table: &'static str,
        /// The fields of an entry.
        shape: EntryShape,
    },
    /// TOML with a table `[mcp_servers.NAME]` for each server.
    Toml,
    /// YAML with a mapping `extensions`.
    Yaml,
}

/// What an edit did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EditKind {
    /// The entry is new.
    Added,
    /// The entry was there and started something else.
    Changed,
    /// The entry is gone.
    Removed,
}

/// What comes out of an edit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EditResult {
    /// Nothing has to change.
    Same,
    /// The whole text afterwards.
    To {
        /// What was done.
        did: EditKind,
        /// The text.
        text: String,
    },
}

impl EditResult {
    pub(crate) fn added(text: String) -> Self {
        EditResult::To { did: EditKind::Added, text }
    }

    pub(crate) fn changed(text: String) -> Self {
        EditResult::To { did: EditKind::Changed, text }
    }

    pub(crate) fn removed(text: String) -> Self {
        EditResult::To { did: EditKind::Removed, text }
    }
}

impl ConfigFormat {
    /// Puts the entry in. One that is there keeps everything but what it starts.
    pub fn add(self, text: &str, entry: &ServerEntry) -> Result<EditResult, EditTrouble> {
        let edited = match self {
            ConfigFormat::Json { table, shape } => json::add(text, table, shape, entry)?,
            ConfigFormat::Toml => toml::add(text, entry)?,
            ConfigFormat::Yaml => yaml::add(text, entry)?,
        };
        self.checked(text, edited, |now| now.is_some_and(|now| now.starts(entry)))
    }

    /// Takes the entry out.
    pub fn remove(self, text: &str) -> Result<EditResult, EditTrouble> {
        let edited = match self {
            ConfigFormat::Json { table, .. } => json::remove(text, table)?,
            ConfigFormat::Toml => toml::remove(text)?,
            ConfigFormat::Yaml => yaml::remove(text)?,
        };
        self.checked(text, edited, |now| now.is_none())
    }

    /// Takes out the list of servers too, if it is empty and `before` had none.
    pub fn prune(self, text: String, before: &str) -> String {
        if self.value(before).is_ok_and(|before| before.get(self.table()).is_some()) {
            return text;
        }
        let pruned = match self {
            ConfigFormat::Json { table, .. } => json::prune(&text, table),
            ConfigFormat::Toml => return text,
            ConfigFormat::Yaml => yaml::prune(&text),
        };
        pruned.unwrap_or(text)
    }

    /// The entry that is there.
    pub fn look(self, text: &str) -> Result<Option<KnownEntry>, EditTrouble> {
        let value = self.value(text)?;
        let entry = value.get(self.table()).and_then(|table| table.get(SERVER_NAME));
        Ok(entry.map(|entry| self.shape().read(entry)))
    }

    /// Another name under which stead is entered already, with that entry.
    pub fn other_name(self, text: &str) -> Result<Option<(String, KnownEntry)>, EditTrouble> {
        let value = self.value(text)?;
        let all = value.get(self.table()).and_then(Value::as_object).into_iter().flatten();
        let others = all.filter(|(name, _)| *name != SERVER_NAME);
        let mut others = others.map(|(name, entry)| (name.clone(), self.shape().read(entry)));
        Ok(others.find(|(_, entry)| entry.is_called_stead() && entry.serves() && !entry.off))
    }

    /// Whether two texts say the same beside our entry.
    pub(crate) fn same_beside_entry(self, one: &str, other: &str) -> bool {
        match (self.without_entry(one), self.without_entry(other)) {
            (Ok(one), Ok(other)) => one == other,
            _ => false,
        }
    }

    /// The names of what `before` has beside our entry and `after` has not; none if one of the texts cannot be read.
    pub(crate) fn lost(self, before: &str, after: &str) -> Vec<String> {
        match (self.without_entry(before), self.without_entry(after)) {
            (Ok(before), Ok(after)) => lost(&before, &after, self.table()),
            _ => Vec::new(),
        }
    }

    /// The whole file for an entry, as an example for people.
    pub fn example(self, entry: &ServerEntry) -> String {
        match self.add("", entry) {
            Ok(EditResult::To { text, .. }) => text,
            _ => String::new(),
        }
    }

    fn table(self) -> &'static str {
        match self {
            ConfigFormat::Json { table, .. } => table,
            ConfigFormat::Toml => toml::TABLE,
            ConfigFormat::Yaml => yaml::TABLE,
        }
    }

    fn shape(self) -> EntryShape {
        match self {
            ConfigFormat::Json { shape, .. } => shape,
            ConfigFormat::Toml => EntryShape::Plain,
            ConfigFormat::Yaml => EntryShape::Goose,
        }
    }

    fn value(self, text: &str) -> Result<Value, EditTrouble> {
        match self {
            ConfigFormat::Json { .. } => json::value_of(text),
            ConfigFormat::Toml => toml::value_of(text),
            ConfigFormat::Yaml => yaml::value_of(text),
        }
    }

    /// An edit is believed only after its result was read again: everything but the entry is what it was.
    fn checked(
        self,
        before: &str,
        edited: EditResult,
        holds: impl FnOnce(Option<KnownEntry>) -> bool,
    ) -> Result<EditResult, EditTrouble> {
        let EditResult::To { text, .. } = &edited else { return Ok(edited) };
        let same = self.without_entry(before)? == self.without_entry(text)?;
        match same && holds(self.look(text)?) {
            true => Ok(edited),
            false => Err(EditTrouble::Unsafe),
        }
    }

    /// What a text says beside our entry. No list of servers and an empty one are the same.
    fn without_entry(self, text: &str) -> Result<Value, EditTrouble> {
        let mut value = self.value(text)?;
        let table = self.table();
        if let Some(root) = value.as_object_mut() {
            if let Some(servers) = root.get_mut(table).and_then(Value::as_object_mut) {
                servers.remove(SERVER_NAME);
            }
            let empty = |it: &Value| it.is_null() || it.as_object().is_some_and(|it| it.is_empty());
            if root.get(table).is_some_and(empty) {
                root.remove(table);
            }
        }
        Ok(value)
    }
}
