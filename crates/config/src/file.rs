//! Reads a configuration file: text in, values with their lines out, or everything that is wrong with it.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use stead_protocol::{GatewayUrl, SessionName};
use stead_screen::visible;
use toml_edit::{Document, Item, TableLike, Value};

use crate::keys::{ConfigKey, KeyKind, KeySpec, Section, nearest, nearest_key};
use crate::problem::ConfigProblem;
use crate::template::CommandTemplate;
use crate::value::{ConfigValue, FileOwner, Sourced, ValueOrigin, quoted, size, time};

/// More bytes than any configuration has.
pub const MOST_CONFIG: u64 = 1 << 20;

/// What a table of a file says.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ConfigTable {
    /// The keys that are set.
    pub values: BTreeMap<ConfigKey, Sourced<ConfigValue>>,
}

/// A session or toolchain of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedTable {
    /// Where it begins.
    pub origin: ValueOrigin,
    /// What it says.
    pub table: ConfigTable,
}

/// A configuration file that was understood.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigFile {
    /// Whose it is.
    pub owner: FileOwner,
    /// Where it is.
    pub path: Arc<Path>,
    /// What holds for all sessions.
    pub top: ConfigTable,
    /// Its sessions, under the names by which sessions are known.
    pub sessions: BTreeMap<SessionName, NamedTable>,
    /// Its toolchains.
    pub toolchains: BTreeMap<String, NamedTable>,
    /// Its gateways; only the user's own file has any.
    pub gateways: BTreeMap<String, NamedTable>,
}

impl ConfigTable {
    /// What a key is set to.
    pub fn get(&self, key: ConfigKey) -> Option<&Sourced<ConfigValue>> {
        self.values.get(&key)
    }

    /// What a key is set to, if that is a text.
    pub fn text(&self, key: ConfigKey) -> Option<(&str, &ValueOrigin)> {
        match self.get(key)? {
            Sourced { value: ConfigValue::Text(text), origin } => Some((text, origin)),
            _ => None,
        }
    }
}

/// Understands the text of a file.
pub fn read_config(
    text: &str,
    path: &Path,
    owner: FileOwner,
) -> Result<ConfigFile, Vec<ConfigProblem>> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut reader = FileReader { text, path: path.into(), owner, problems: Vec::new() };
    let document = match Document::parse(text) {
        Ok(document) => document,
        Err(error) => {
            // The parser says what it expected on further lines.
            let said = error.message().trim().replace('\n', "; ");
            reader.complain(error.span(), None, said, syntax_fix(text, error.span()));
            return Err(reader.problems);
        }
    };
    let mut file = ConfigFile {
        owner,
        path: reader.path.clone(),
        top: ConfigTable::default(),
        sessions: BTreeMap::new(),
        toolchains: BTreeMap::new(),
        gateways: BTreeMap::new(),
    };
    reader.top(document.as_table(), &mut file);
    match reader.problems.is_empty() {
        true => Ok(file),
        false => Err(reader.problems),
    }
}

/// What the user's own file says of a key that stands before all tables, if that can be understood.
pub fn word_at_top(text: &str, path: &Path, key: ConfigKey) -> Option<String> {
    let starts_table = |line: &&str| line.trim_start().starts_with('[');
    let top: usize =
        text.split_inclusive('\n').take_while(|line| !starts_table(line)).map(str::len).sum();
    let top = &text[..top];
    if !top.contains(key.name()) {
        return None;
    }
    let file = read_config(top, path, FileOwner::User).ok()?;
    file.top.text(key).map(|(word, _)| word.to_owned())
}

struct FileReader<'a> {
    text: &'a str,
    path: Arc<Path>,
    owner: FileOwner,
    problems: Vec<ConfigProblem>,
}

impl FileReader<'_> {
    fn top(&mut self, table: &dyn TableLike, file: &mut ConfigFile) {
        for (name, item) in table.iter() {
            let span = key_span(table, name, item);
            match name {
                "sessions" => self.named(name, item, span, |reader, name, at, table| {
                    reader.session(name, at, table, &mut file.sessions);
                }),
                "toolchains" => self.named(name, item, span, |reader, name, at, table| {
                    reader.toolchain(name, at, table, &mut file.toolchains);
                }),
                "gateways" => self.named(name, item, span, |reader, name, at, table| {
                    reader.gateway(name, at, table, &mut file.gateways);
                }),
                _ => {
                    if let Some((key, value)) = self.entry(Section::Top, "", name, item, span) {
                        file.top.values.insert(key, value);
                    }
                }
            }
        }
    }

    /// Reads `[sessions.NAME]` or `[toolchains.NAME]`, all of them.
    fn named(
        &mut self,
        kind: &str,
        item: &Item,
        span: Option<Range<usize>>,
        mut each: impl FnMut(&mut Self, &str, Option<Range<usize>>, &dyn TableLike),
    ) {
        let fix = format!("write `[{kind}.NAME]` before its keys");
        let Some(tables) = item.as_table_like() else {
            let problem = format!("it takes tables, not {}", kind_of(item));
            return self.complain(span, Some(kind), problem, Some(fix));
        };
        for (name, item) in tables.iter() {
            let span = key_span(tables, name, item);
            match item.as_table_like() {
                Some(table) => each(self, name, span, table),
                None => {
                    let problem = format!("it takes a table, not {}", kind_of(item));
                    self.complain(span, Some(&dotted(kind, name)), problem, Some(fix.clone()));
                }
            }
        }
    }

    fn session(
        &mut self,
        given: &str,
        span: Option<Range<usize>>,
        table: &dyn TableLike,
        into: &mut BTreeMap<SessionName, NamedTable>,
    ) {
        let at = dotted("sessions", given);
        let values = self.table(Section::Session, &at, table);
        let Some(name) = self.name(given, "session", span.clone(), &at) else { return };
        if crate::is_reserved(&name) {
            let problem = "sessions of this name are stead's own".to_owned();
            return self.complain(span, Some(&at), problem, Some("use another name".to_owned()));
        }
        // A language and its alias name one session (SPEC S-5).
        let alias = crate::language(given).and_then(|language| language.alias.parse().ok());
        let known = alias.unwrap_or(name);
        let origin = self.origin(span.clone());
        if into.insert(known.clone(), NamedTable { origin, table: values }).is_some() {
            let problem = format!("it is the same session as `{known}`, which is there already");
            let fix = Some("make one table of both".to_owned());
            self.complain(span, Some(&at), problem, fix);
        }
    }

    fn toolchain(
        &mut self,
        given: &str,
        span: Option<Range<usize>>,
        table: &dyn TableLike,
        into: &mut BTreeMap<String, NamedTable>,
    ) {
        let at = dotted("toolchains", given);
        let values = self.table(Section::Toolchain, &at, table);
        // A session may be called after its toolchain.
        if self.name(given, "toolchain", span.clone(), &at).is_none() {
            return;
        }
        if values.get(ConfigKey::Engine).is_none() && crate::built_in(given).is_none() {
            let problem = "it has no `engine`".to_owned();
            let fix = "say what it starts: engine = \"python\"".to_owned();
            return self.complain(span, Some(&at), problem, Some(fix));
        }
        let has = |key: ConfigKey| values.get(key).is_some();
        if has(ConfigKey::Interpreter) && (has(ConfigKey::Cmd) || has(ConfigKey::Bridge)) {
            let other = if has(ConfigKey::Cmd) { "cmd" } else { "bridge" };
            let problem = format!("it has both `interpreter` and `{other}`");
            let fix = format!("keep one of them: `{other}` names the program that runs");
            return self.complain(span, Some(&at), problem, Some(fix));
        }
        if has(ConfigKey::Bridge)
            && let Some((engine, _)) = values.text(ConfigKey::Engine)
            && let Err(error) = engine.parse::<SessionName>()
        {
            let problem = format!("{} is no name for a language", quoted(&shortened(engine)));
            let fix = stead_protocol::NameError::expected(&error).to_owned();
            return self.complain(span, Some(&format!("{at}.engine")), problem, Some(fix));
        }
        let origin = self.origin(span);
        into.insert(given.to_owned(), NamedTable { origin, table: values });
    }

    fn gateway(
        &mut self,
        given: &str,
        span: Option<Range<usize>>,
        table: &dyn TableLike,
        into: &mut BTreeMap<String, NamedTable>,
    ) {
        let at = dotted("gateways", given);
        let values = self.table(Section::Gateway, &at, table);
        if self.name(given, "gateway", span.clone(), &at).is_none() {
            return;
        }
        // A key that a workspace may not have was complained about already.
        let had_url = table.get(ConfigKey::Url.name()).is_some();
        match values.text(ConfigKey::Url) {
            Some((url, _)) => {
                if let Err(error) = GatewayUrl::parse(url) {
                    let fix = "write it as \"https://HOST:PORT/\"".to_owned();
                    let at = dotted(&at, ConfigKey::Url.name());
                    return self.complain(span, Some(&at), error.to_string(), Some(fix));
                }
            }
            None if had_url => return,
            None => {
                let fix = "say where it is: url = \"https://HOST:PORT/\"".to_owned();
                return self.complain(span, Some(&at), "it has no `url`".to_owned(), Some(fix));
            }
        }
        let tokens = [ConfigKey::Token, ConfigKey::TokenEnv, ConfigKey::TokenFile];
        let has: Vec<&str> =
            tokens.iter().filter(|key| values.get(**key).is_some()).map(|key| key.name()).collect();
        if let [one, other, ..] = has.as_slice() {
            let problem = format!("it has both `{one}` and `{other}`");
            let fix = "keep one of them: a gateway has one token".to_owned();
            return self.complain(span, Some(&at), problem, Some(fix));
        }
        let origin = self.origin(span);
        into.insert(given.to_owned(), NamedTable { origin, table: values });
    }

    /// The name of a table, or a complaint that it is none for a thing of this kind.
    fn name(
        &mut self,
        given: &str,
        kind: &str,
        span: Option<Range<usize>>,
        at: &str,
    ) -> Option<SessionName> {
        let refused = |error| {
            let fix = stead_protocol::NameError::expected(&error).to_owned();
            self.complain(span, Some(at), format!("it is no name for a {kind}"), Some(fix));
        };
        given.parse().map_err(refused).ok()
    }

    fn table(&mut self, section: Section, at: &str, table: &dyn TableLike) -> ConfigTable {
        let mut read = ConfigTable::default();
        for (name, item) in table.iter() {
            let span = key_span(table, name, item);
            if let Some((key, value)) = self.entry(section, at, name, item, span) {
                read.values.insert(key, value);
            }
        }
        read
    }

    /// Reads one key with its value.
    fn entry(
        &mut self,
        section: Section,
        at: &str,
        name: &str,
        item: &Item,
        span: Option<Range<usize>>,
    ) -> Option<(ConfigKey, Sourced<ConfigValue>)> {
        let full = dotted(at, name);
        let Some(spec) = section.keys().find(|spec| spec.name == name) else {
            let fix = match item.as_table_like() {
                // A dot in a header begins an inner table.
                Some(_) if section != Section::Top => {
                    format!("a name with a dot stands in quotes: {}", header(at, name))
                }
                _ => self.meant(section, name),
            };
            self.complain(span, Some(&full), "there is no such key".to_owned(), Some(fix));
            return None;
        };
        if spec.users_only && self.owner == FileOwner::Workspace {
            let problem = "a workspace does not decide this".to_owned();
            let fix = "put it into your own file, the user's configuration".to_owned();
            self.complain(span, Some(&full), problem, Some(fix));
            return None;
        }
        let value = self.value(spec, &full, item, span.clone())?;
        Some((spec.key, Sourced::new(value, self.origin(span))))
    }

    /// What to write in place of a key that there is not.
    fn meant(&self, section: Section, name: &str) -> String {
        if let Some(near) = nearest_key(section, name) {
            return match near {
                "sessions" | "toolchains" | "gateways" => format!("did you mean `[{near}.NAME]`?"),
                near => format!("did you mean `{near}`?"),
            };
        }
        let elsewhere = [Section::Top, Section::Session, Section::Toolchain, Section::Gateway]
            .into_iter()
            .find(|other| other.keys().any(|spec| spec.name == name));
        let known: Vec<&str> = section.keys().map(|spec| spec.name).collect();
        match elsewhere {
            Some(Section::Top) => format!("`{name}` stands at the top, before all tables"),
            Some(other) => format!("`{name}` stands in {}", other.title()),
            None => format!("keys of {}: {}", section.title(), known.join(", ")),
        }
    }

    fn value(
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
            (KeyKind::Name | KeyKind::Path | KeyKind::Text, Some(text), _) => (!text.is_empty()
                && !text.contains('\0'))
            .then(|| ConfigValue::Text(text.to_owned())),
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
            if name.is_empty() || name.contains(['=', '\0']) {
                let problem = "it is no name for a variable".to_owned();
                let fix = "use a name without `=`".to_owned();
                self.complain(span, Some(&at), problem, Some(fix));
                continue;
            }
            match item.as_str().filter(|text| !text.contains('\0')) {
                Some(text) => {
                    let origin = self.origin(span);
                    variables.insert(name.to_owned(), Sourced::new(text.to_owned(), origin));
                }
                // The value may be a secret, so it is not quoted.
                None => {
                    let problem = format!("a variable is a text, not {}", kind_of(item));
                    let fix = format!("put it in quotes: {name} = \"…\"");
                    self.complain(span, Some(&at), problem, Some(fix));
                }
            }
        }
        Some(ConfigValue::Variables(variables))
    }

    fn origin(&self, span: Option<Range<usize>>) -> ValueOrigin {
        let line = span.map_or(1, |span| line_of(self.text, span.start));
        ValueOrigin::File { owner: self.owner, path: self.path.clone(), line }
    }

    fn complain(
        &mut self,
        span: Option<Range<usize>>,
        key: Option<&str>,
        problem: String,
        fix: Option<String>,
    ) {
        // Parts of the file are quoted in all of these, and the file may be anybody's.
        let shown = |text: &str| visible(text).into_owned();
        self.problems.push(ConfigProblem {
            path: self.path.to_path_buf(),
            line: span.map(|span| line_of(self.text, span.start)),
            key: key.map(shown),
            problem: shown(&problem),
            fix: fix.as_deref().map(shown),
        });
    }
}

/// A key with the table it stands in.
pub(crate) fn dotted(table: &str, name: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    let name = match !name.is_empty() && name.chars().all(plain) {
        true => name.to_owned(),
        false => quoted(&shortened(name)),
    };
    if table.is_empty() { name } else { format!("{table}.{name}") }
}

/// The header of a table whose name has a dot: `[toolchains."python.mine"]`.
fn header(at: &str, name: &str) -> String {
    let (kind, first) = at.split_once('.').unwrap_or(("sessions", at));
    format!("`[{kind}.\"{first}.{name}\"]`")
}

fn shortened(text: &str) -> String {
    match text.chars().count() {
        0..=80 => text.to_owned(),
        _ => text.chars().take(79).chain(['…']).collect(),
    }
}

/// Where a key stands; a table that only its inner tables name stands where the first of them does.
fn key_span(table: &dyn TableLike, name: &str, item: &Item) -> Option<Range<usize>> {
    let key = table.get_key_value(name).and_then(|(key, _)| key.span());
    key.or_else(|| item.span())
}

fn line_of(text: &str, at: usize) -> usize {
    text.as_bytes()[..at.min(text.len())].iter().filter(|byte| **byte == b'\n').count() + 1
}

/// What a value is, for a sentence.
fn kind_of(item: &Item) -> &'static str {
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

/// What to do about frequent mistakes that the parser only reports as unexpected characters.
fn syntax_fix(text: &str, span: Option<Range<usize>>) -> Option<String> {
    let before = text.get(..span?.start.min(text.len()))?;
    let from = before.rfind('\n').map_or(0, |at| at + 1);
    let line = text[from..].lines().next().unwrap_or_default().trim();
    let value = line.split_once('=').map(|(_, value)| value.trim());
    Some(match value {
        Some("") => "give the key a value".to_owned(),
        Some(value)
            if value.starts_with(|c: char| c.is_alphabetic() || matches!(c, '/' | '~' | '.')) =>
        {
            "put the value in quotes".to_owned()
        }
        Some(value) if value.starts_with('"') && value.matches('"').count() == 1 => {
            "close the quote, or put `'''` around several lines".to_owned()
        }
        None if line.starts_with('[') => "close the bracket: `[sessions.NAME]`".to_owned(),
        None if line.contains(':') => "write `key = value`, with `=`".to_owned(),
        _ => "see https://toml.io for how values are written".to_owned(),
    })
}
