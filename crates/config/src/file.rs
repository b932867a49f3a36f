//! Reads a configuration file: text in, values with their lines out, or everything that is wrong with it.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use stead_protocol::{GatewayUrl, SessionName};
use stead_screen::visible;
use toml_edit::{Document, Item, TableLike};

use crate::file_values::kind_of;
use crate::keys::{ConfigKey, Section, TABLES, nearest_key};
use crate::problem::ConfigProblem;
use crate::syntax::SyntaxProblem;
use crate::value::{ConfigValue, FileOwner, Sourced, ValueOrigin, quoted};

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
    /// What the file may define beyond that, in parts that were not understood.
    pub unread: UnreadPart,
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

/// The parts of a file that were not understood: nothing that they may define can be called missing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UnreadPart {
    /// These tables, as `toolchains.NAME`.
    Tables(BTreeSet<String>),
    /// All of it.
    All,
}

/// Understands the text of a file.
pub fn read_config(
    text: &str,
    path: &Path,
    owner: FileOwner,
) -> Result<ConfigFile, Vec<ConfigProblem>> {
    match read_partly(text, path, owner) {
        (file, problems) if problems.is_empty() => Ok(file),
        (_, problems) => Err(problems),
    }
}

/// What can be understood of the text of a file, and everything that is wrong with it.
pub fn read_partly(text: &str, path: &Path, owner: FileOwner) -> (ConfigFile, Vec<ConfigProblem>) {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut file = ConfigFile::unread(path, owner);
    let mut reader = FileReader { text, path: path.into(), owner, problems: Vec::new() };
    match Document::parse(text) {
        Ok(document) => {
            file.unread = UnreadPart::Tables(BTreeSet::new());
            reader.top(document.as_table(), &mut file);
        }
        Err(error) => {
            let found = SyntaxProblem::of(text, &error);
            let at = found.at..found.at;
            reader.complain(Some(at), found.key.as_deref(), found.problem, Some(found.fix));
        }
    }
    (file, reader.problems)
}

impl ConfigFile {
    /// A file of which nothing is known.
    pub fn unread(path: &Path, owner: FileOwner) -> ConfigFile {
        ConfigFile {
            owner,
            path: path.into(),
            top: ConfigTable::default(),
            sessions: BTreeMap::new(),
            toolchains: BTreeMap::new(),
            gateways: BTreeMap::new(),
            unread: UnreadPart::All,
        }
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

/// Reads one file, and collects what is wrong with it.
pub(crate) struct FileReader<'a> {
    text: &'a str,
    path: Arc<Path>,
    owner: FileOwner,
    problems: Vec<ConfigProblem>,
}

impl FileReader<'_> {
    fn top(&mut self, table: &dyn TableLike, file: &mut ConfigFile) {
        let ConfigFile { sessions, toolchains, gateways, unread, .. } = file;
        for (name, item) in table.iter() {
            let span = key_span(table, name, item);
            match name {
                "sessions" => self.named(name, item, span, unread, |reader, name, at, table| {
                    reader.session(name, at, table, sessions);
                }),
                "toolchains" => self.named(name, item, span, unread, |reader, name, at, table| {
                    reader.toolchain(name, at, table, toolchains);
                }),
                "gateways" => self.named(name, item, span, unread, |reader, name, at, table| {
                    reader.gateway(name, at, table, gateways);
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
        unread: &mut UnreadPart,
        mut each: impl FnMut(&mut Self, &str, Option<Range<usize>>, &dyn TableLike),
    ) {
        let fix = format!("write `[{kind}.NAME]` before its keys");
        let Some(tables) = item.as_table_like() else {
            let problem = format!("it takes tables, not {}", kind_of(item));
            return self.complain(span, Some(kind), problem, Some(fix));
        };
        for (name, item) in tables.iter() {
            let span = key_span(tables, name, item);
            let known = self.problems.len();
            match item.as_table_like() {
                Some(table) => each(self, name, span, table),
                None => {
                    let problem = format!("it takes a table, not {}", kind_of(item));
                    self.complain(span, Some(&dotted(kind, name)), problem, Some(fix.clone()));
                }
            }
            if let UnreadPart::Tables(tables) = unread
                && self.problems.len() > known
            {
                tables.insert(dotted(kind, name));
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
        // A session may be called after its toolchain, so a toolchain's name has to be one for sessions too.
        if self.name(given, "toolchain", span.clone(), &at).is_none() {
            return;
        }
        // An engine that is wrong was complained about already.
        if table.get(ConfigKey::Engine.name()).is_none() && crate::built_in(given).is_none() {
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
            let (at, span) = key_of(&at, table, ConfigKey::Engine);
            return self.complain(span, Some(&at), problem, Some(fix));
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
                    let (at, span) = key_of(&at, table, ConfigKey::Url);
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
        let has: Vec<ConfigKey> =
            tokens.into_iter().filter(|key| values.get(*key).is_some()).collect();
        if let [one, other, ..] = has.as_slice() {
            let problem = format!("the gateway has `{}` already", one.name());
            let fix = "keep one of them: a gateway has one token".to_owned();
            let (at, span) = key_of(&at, table, *other);
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
            let fix = match is_part_of_name(section, name, item) {
                true => format!("a name with a dot stands in quotes: {}", header(at, name)),
                false => meant(section, name),
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

    pub(crate) fn origin(&self, span: Option<Range<usize>>) -> ValueOrigin {
        let line = span.map_or(1, |span| line_of(self.text, span.start));
        ValueOrigin::File { owner: self.owner, path: self.path.clone(), line }
    }

    pub(crate) fn complain(
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

/// A key of a table, as it is called and where it stands.
fn key_of(at: &str, table: &dyn TableLike, key: ConfigKey) -> (String, Option<Range<usize>>) {
    let span = table.get(key.name()).and_then(|item| key_span(table, key.name(), item));
    (dotted(at, key.name()), span)
}

/// Whether an inner table that is no key was meant as the rest of a name: a dot in a header begins an inner table.
fn is_part_of_name(section: Section, name: &str, item: &Item) -> bool {
    let Item::Table(table) = item else { return false };
    let is_key = |(name, _): (&str, &Item)| section.keys().any(|spec| spec.name == name);
    let has_only_keys = table.iter().all(is_key);
    section != Section::Top && (has_only_keys || nearest_key(section, name).is_none())
}

/// What to write in place of a key that there is not.
fn meant(section: Section, name: &str) -> String {
    let sections = [Section::Top, Section::Session, Section::Toolchain, Section::Gateway];
    let has = |other: &Section| other.keys().any(|spec| spec.name == name);
    if let Some(other) = sections.iter().find(|other| has(other)) {
        return match other {
            Section::Top => format!("`{name}` stands at the top, before all tables"),
            other => format!("`{name}` stands in {}", other.title()),
        };
    }
    match nearest_key(section, name) {
        Some(near) if TABLES.contains(&near) => format!("did you mean `[{near}.NAME]`?"),
        Some(near) => format!("did you mean `{near}`?"),
        None => {
            let tables = TABLES.iter().map(|table| format!("[{table}.NAME]"));
            let tables = tables.filter(|_| section == Section::Top);
            let keys = section.keys().map(|spec| spec.name.to_owned());
            let known: Vec<String> = keys.chain(tables).collect();
            format!("keys of {}: {}", section.title(), known.join(", "))
        }
    }
}

/// The header of a table whose name has a dot: `[toolchains."python.mine"]`.
fn header(at: &str, name: &str) -> String {
    let (kind, first) = at.split_once('.').unwrap_or(("sessions", at));
    format!("`[{kind}.\"{first}.{name}\"]`")
}

pub(crate) fn shortened(text: &str) -> String {
    match text.chars().count() {
        0..=80 => text.to_owned(),
        _ => text.chars().take(79).chain(['…']).collect(),
    }
}

/// Where a key stands; a table that only its inner tables name stands where the first of them does.
pub(crate) fn key_span(table: &dyn TableLike, name: &str, item: &Item) -> Option<Range<usize>> {
    let key = table.get_key_value(name).and_then(|(key, _)| key.span());
    key.or_else(|| item.span())
}

fn line_of(text: &str, at: usize) -> usize {
    text.as_bytes()[..at.min(text.len())].iter().filter(|byte| **byte == b'\n').count() + 1
}
