//! Reads the values of a configuration file, each as its key wants it.

use std::collections::BTreeMap;
use std::ops::Range;

use toml_edit::{Item, Value};

use crate::file::{FileReader, dotted, key_span, shortened};
use crate::keys::{KeyKind, KeySpec, nearest};
use crate::template::CommandTemplate;
use crate::value::{ConfigValue, Sourced, quoted, size, time};

const HAS_NUL: &str = "it has a NUL byte, which the system takes for its end";
const NUL_FIX: &str = "take the `\\u0000` out";

impl FileReader<'_> {
    pub(crate) fn value(
        &mut self,
        spec: &KeySpec,
        full: &str,
        item: &Item,
        span: Option<Range<usize>>,
    ) -> Option<ConfigValue> {
        if spec.kind == KeyKind::Variables {
            return self.variables(full, item, span);
        }
        let number = item.as_integer();
        let text = item.as_str();
        let read = match (spec.kind, text, number) {
            (KeyKind::Flag, ..) => item.as_bool().map(ConfigValue::Flag),
            (KeyKind::Time, Some(text), _) => time(text).map(ConfigValue::Millis),
            (KeyKind::Time, _, Some(number)) => u64::try_from(number).ok().map(ConfigValue::Millis),
            (KeyKind::Size, Some(text), _) => size(text).map(ConfigValue::Bytes),
            (KeyKind::Size, _, Some(number)) => u64::try_from(number).ok().map(ConfigValue::Bytes),
            (KeyKind::Word(words), Some(text), _) => {
                if let Some(near) = (!words.contains(&text))
                    .then(|| nearest(&text.to_ascii_lowercase(), words.iter().copied()))
                    .flatten()
                {
                    let problem = format!("{} is none of its words", quoted(text));
                    let fix = format!("did you mean \"{near}\"?");
                    self.complain(span, Some(full), problem, Some(fix));
                    return None;
                }
                words.contains(&text).then(|| ConfigValue::Text(text.to_owned()))
            }
            (KeyKind::Command, ..) => return self.command(spec, full, item, span),
            (KeyKind::Name | KeyKind::Path | KeyKind::Text, Some(text), _)
                if text.contains('\0') =>
            {
                self.complain(span, Some(full), HAS_NUL.to_owned(), Some(NUL_FIX.to_owned()));
                return None;
            }
            (KeyKind::Name | KeyKind::Path | KeyKind::Text, Some(text), _) => {
                (!text.is_empty()).then(|| ConfigValue::Text(text.to_owned()))
            }
            (KeyKind::Address, Some(text), _) => crate::server_address(text).map(ConfigValue::Text),
            (KeyKind::Code, Some(text), _) => Some(ConfigValue::Text(text.to_owned())),
            _ => None,
        };
        if read.is_none() {
            let problem = match text {
                Some(text) => format!("{} is no value for it", quoted(&shortened(text))),
                None => format!("{} is no value for it", kind_of(item)),
            };
            let fix = format!("write {}", spec.kind.expected());
            self.complain(span, Some(full), problem, Some(fix));
        }
        read
    }

    fn command(
        &mut self,
        spec: &KeySpec,
        full: &str,
        item: &Item,
        span: Option<Range<usize>>,
    ) -> Option<ConfigValue> {
        let template = match (item.as_str(), item.as_array()) {
            (Some(text), _) => CommandTemplate::split(text),
            (None, Some(array)) => {
                let words: Option<Vec<String>> =
                    array.iter().map(|word| word.as_str().map(str::to_owned)).collect();
                let Some(words) = words else {
                    let problem = "not all of its words are texts".to_owned();
                    self.complain(span, Some(full), problem, Some("put each in quotes".to_owned()));
                    return None;
                };
                CommandTemplate::of_words(words)
            }
            (None, None) => {
                let problem = format!("{} is no value for it", kind_of(item));
                let fix = format!("write {}", spec.kind.expected());
                self.complain(span, Some(full), problem, Some(fix));
                return None;
            }
        };
        match template {
            Ok(template) if template.words().iter().any(|word| word.contains('\0')) => {
                self.complain(span, Some(full), HAS_NUL.to_owned(), Some(NUL_FIX.to_owned()));
                None
            }
            Ok(template) => Some(ConfigValue::Command(template)),
            Err(error) => {
                self.complain(span, Some(full), error.to_string(), Some(error.fix()));
                None
            }
        }
    }

    fn variables(
        &mut self,
        full: &str,
        item: &Item,
        span: Option<Range<usize>>,
    ) -> Option<ConfigValue> {
        let Some(table) = item.as_table_like() else {
            let problem = format!("{} is no value for it", kind_of(item));
            let fix = format!("write {}", KeyKind::Variables.expected());
            self.complain(span, Some(full), problem, Some(fix));
            return None;
        };
        let mut variables = BTreeMap::new();
        for (name, item) in table.iter() {
            let span = key_span(table, name, item);
            let at = dotted(full, name);
            match variable(name, item) {
                Ok(text) => {
                    let origin = self.origin(span);
                    variables.insert(name.to_owned(), Sourced::new(text.to_owned(), origin));
                }
                Err((problem, fix)) => self.complain(span, Some(&at), problem, Some(fix)),
            }
        }
        Some(ConfigValue::Variables(variables))
    }
}

/// The value of a variable, or what is wrong and what to write instead. Values may be secrets, so none is quoted.
fn variable<'a>(name: &str, item: &'a Item) -> Result<&'a str, (String, String)> {
    let refused = |problem: &str, fix: &str| Err((problem.to_owned(), fix.to_owned()));
    match item.as_str() {
        _ if name.is_empty() => refused("it is no name for a variable", "give it a name"),
        _ if name.contains('=') => {
            refused("it is no name for a variable", "use a name without `=`")
        }
        _ if name.contains('\0') => refused(HAS_NUL, NUL_FIX),
        Some(text) if text.contains('\0') => refused(HAS_NUL, NUL_FIX),
        Some(text) => Ok(text),
        None => {
            let problem = format!("a variable is a text, not {}", kind_of(item));
            Err((problem, format!("put it in quotes: {name} = \"…\"")))
        }
    }
}

/// What a value is, for a sentence.
pub(crate) fn kind_of(item: &Item) -> &'static str {
    match item {
        Item::None => "nothing",
        Item::Table(_) | Item::Value(Value::InlineTable(_)) => "a table",
        Item::ArrayOfTables(_) => "a list of tables",
        Item::Value(Value::String(_)) => "a text",
        Item::Value(Value::Integer(_)) => "a number",
        Item::Value(Value::Float(_)) => "a number with a point",
        Item::Value(Value::Boolean(_)) => "true or false",
        Item::Value(Value::Datetime(_)) => "a date",
        Item::Value(Value::Array(_)) => "a list",
    }
}
