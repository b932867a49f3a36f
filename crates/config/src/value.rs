//! Values of configuration files, and where each came from.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::sync::Arc;

use stead_screen::{is_unseen, visible};

use crate::template::CommandTemplate;

/// What a key was set to.
#[derive(Clone, PartialEq, Eq)]
pub enum ConfigValue {
    /// A name, path, code or word.
    Text(String),
    /// Yes or no.
    Flag(bool),
    /// A duration in milliseconds.
    Millis(u64),
    /// A number of bytes.
    Bytes(u64),
    /// A command.
    Command(CommandTemplate),
    /// Variables, each with its own origin, since they are merged one by one.
    Variables(BTreeMap<String, Sourced<String>>),
}

/// A value and where it came from.
#[derive(Clone, PartialEq, Eq)]
pub struct Sourced<T> {
    /// The value.
    pub value: T,
    /// Where it was set.
    pub origin: ValueOrigin,
}

/// Where a value was set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ValueOrigin {
    /// Nowhere: it is what holds unless something is said.
    Default,
    /// In the table of toolchains of this program.
    BuiltIn,
    /// In a file.
    File {
        /// Whose file it is.
        owner: FileOwner,
        /// The file.
        path: Arc<Path>,
        /// The line.
        line: usize,
    },
    /// By the command or call that starts the session.
    CommandLine,
}

/// Whose a configuration file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum FileOwner {
    /// The user's own, for all projects.
    User,
    /// The workspace's: it came with the project, and counts once the user has allowed it.
    Workspace,
}

impl ValueOrigin {
    /// Whether it came with the project.
    pub fn is_workspace(&self) -> bool {
        matches!(self, ValueOrigin::File { owner: FileOwner::Workspace, .. })
    }
}

impl fmt::Display for ValueOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ValueOrigin::Default => f.write_str("default"),
            ValueOrigin::BuiltIn => f.write_str("built in"),
            ValueOrigin::File { path, line, .. } => {
                write!(f, "{}:{line}", visible(&path.to_string_lossy()))
            }
            ValueOrigin::CommandLine => f.write_str("command line"),
        }
    }
}

// Both written by hand: values of the environment and code never reach a log.
impl fmt::Debug for ConfigValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ConfigValue::Text(text) => write!(f, "Text({} bytes)", text.len()),
            ConfigValue::Variables(all) => f.debug_set().entries(all.keys()).finish(),
            other => f.write_str(&other.shown()),
        }
    }
}

impl<T> fmt::Debug for Sourced<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "set by {}", self.origin)
    }
}

impl<T> Sourced<T> {
    /// A value of that origin.
    pub fn new(value: T, origin: ValueOrigin) -> Sourced<T> {
        Sourced { value, origin }
    }
}

impl ConfigValue {
    /// The value as it would stand in a file; of variables only the names, since values may be secrets.
    pub fn shown(&self) -> String {
        match self {
            ConfigValue::Text(text) => quoted(text),
            ConfigValue::Flag(flag) => flag.to_string(),
            ConfigValue::Millis(millis) => match time_text(*millis) {
                text if text.chars().all(|c| c.is_ascii_digit()) => text,
                text => quoted(&text),
            },
            ConfigValue::Bytes(bytes) => match size_words(*bytes) {
                Some(text) => quoted(&text),
                None => bytes.to_string(),
            },
            ConfigValue::Command(command) => {
                let words: Vec<String> = command.words().iter().map(|word| quoted(word)).collect();
                format!("[{}]", words.join(", "))
            }
            ConfigValue::Variables(all) => {
                let names: Vec<_> = all.keys().map(|name| visible(name)).collect();
                format!("{{ {} }}", names.join(", "))
            }
        }
    }
}

/// A text as TOML writes it on one line.
pub(crate) fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            '\n' => quoted.push_str("\\n"),
            '\t' => quoted.push_str("\\t"),
            '\r' => quoted.push_str("\\r"),
            c if is_unseen(c) && u32::from(c) > 0xffff => {
                quoted.push_str(&format!("\\U{:08X}", u32::from(c)));
            }
            c if is_unseen(c) => quoted.push_str(&format!("\\u{:04X}", u32::from(c))),
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

/// A duration as users write it: a bare number is milliseconds (SPEC C-8).
pub fn time(text: &str) -> Option<u64> {
    let at = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(at);
    let scale = match unit.trim_start() {
        "" | "ms" => 1.0,
        "s" => 1e3,
        "m" => 60e3,
        "h" => 3600e3,
        _ => return None,
    };
    scaled(number, scale)
}

/// A size as users write it: `64 MiB`, `1GB`, or a number of bytes.
pub fn size(text: &str) -> Option<u64> {
    let at = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(at);
    let scale: u64 = match unit.trim_start().to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "k" | "kib" => 1 << 10,
        "m" | "mib" => 1 << 20,
        "g" | "gib" => 1 << 30,
        "t" | "tib" => 1 << 40,
        "kb" => 1_000,
        "mb" => 1_000_000,
        "gb" => 1_000_000_000,
        "tb" => 1_000_000_000_000,
        _ => return None,
    };
    scaled(number, scale as f64)
}

fn scaled(number: &str, scale: f64) -> Option<u64> {
    if !number.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let number = number.parse::<f64>().ok()? * scale;
    // Beyond this, an f64 cannot tell whole numbers apart, and nobody means so much.
    (number < 9e15).then_some(number as u64)
}

fn time_text(millis: u64) -> String {
    match millis {
        0 => "0".to_owned(),
        whole if whole % 3_600_000 == 0 => format!("{}h", whole / 3_600_000),
        whole if whole % 60_000 == 0 => format!("{}m", whole / 60_000),
        whole if whole % 1_000 == 0 => format!("{}s", whole / 1_000),
        odd => format!("{odd}ms"),
    }
}

fn size_words(bytes: u64) -> Option<String> {
    let units = [(30, "GiB"), (20, "MiB"), (10, "KiB")];
    let (shift, unit) =
        units.into_iter().find(|(shift, _)| bytes > 0 && bytes.is_multiple_of(1 << shift))?;
    Some(format!("{} {unit}", bytes >> shift))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn c8_times_and_sizes_are_read_as_they_are_written() {
        for (text, millis) in [
            ("0", 0),
            ("500", 500),
            ("500ms", 500),
            ("30s", 30_000),
            ("5m", 300_000),
            ("1.5h", 5_400_000),
        ] {
            assert_eq!(time(text), Some(millis), "{text}");
        }
        for (text, bytes) in [("7", 7), ("64 MiB", 64 << 20), ("1G", 1 << 30), ("2kb", 2000)] {
            assert_eq!(size(text), Some(bytes), "{text}");
        }
        for bad in ["", "h", "-1", "1d", "1 2", "1e9", "nan", "99999999999999999h", "1..2s"] {
            assert_eq!(time(bad), None, "{bad}");
            assert_eq!(size(bad), None, "{bad}");
        }
        for millis in [0, 1, 999, 1000, 60_000, 7_200_000, 90_000] {
            assert_eq!(time(&time_text(millis)), Some(millis));
        }
    }

    #[test]
    fn x5_neither_values_of_the_environment_nor_code_are_in_debug_output() {
        let secret = Sourced::new("hunter2".to_owned(), ValueOrigin::Default);
        let variables = ConfigValue::Variables(BTreeMap::from([("TOKEN".to_owned(), secret)]));
        let said = format!("{variables:?} {:?}", ConfigValue::Text("pw = 'hunter2'".to_owned()));
        assert!(said.contains("TOKEN") && !said.contains("hunter2"), "{said}");
        assert!(!variables.shown().contains("hunter2"));
    }
}
