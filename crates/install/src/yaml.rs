//! Edits Goose's YAML: one mapping under `extensions` is put in, changed or taken out, and every other byte stays.

use std::ops::Range;

use saphyr_parser::{Event, Parser, ScalarStyle, Span};
use serde_json::{Value, json};

use crate::edit::EditResult;
use crate::entry::{EntryShape, SERVER_NAME, ServerEntry};
use crate::splice::{Splice, line_and_column, newline_of, splice};
use crate::trouble::EditTrouble;

/// The mapping that lists servers.
pub(crate) const TABLE: &str = "extensions";
/// Deeper than any settings are; a bound keeps the stack whole.
const DEEPEST: usize = 200;

/// A value and its place in the text, in bytes.
#[derive(Debug)]
struct YamlNode {
    /// From its first to behind its last character; of what is written on lines, the last one that says something.
    span: Range<usize>,
    kind: YamlKind,
    /// Whether it is written with braces or brackets.
    is_flow: bool,
}

#[derive(Debug)]
enum YamlKind {
    Mapping(Vec<(YamlNode, YamlNode)>),
    Sequence(Vec<YamlNode>),
    Scalar { text: String, quoted: bool },
}

/// All that the text says.
pub(crate) fn value_of(text: &str) -> Result<Value, EditTrouble> {
    Ok(read(text)?.map_or(json!({}), |root| root.value()))
}

/// Puts the entry in, or changes what it starts.
pub(crate) fn add(text: &str, entry: &ServerEntry) -> Result<EditResult, EditTrouble> {
    let newline = newline_of(text);
    let Some(root) = read(text)?.filter(|root| !root.is_null()) else {
        let block = block(newline, entry, "  ", "  ");
        let gap = if text.is_empty() || text.ends_with(['\n', '\u{feff}']) { "" } else { newline };
        return Ok(EditResult::added(format!("{text}{gap}{TABLE}:{newline}{block}{newline}")));
    };
    let Some((key, extensions)) = table(text, &root)? else {
        let block = block(newline, entry, "  ", "  ");
        let at = text.trim_end().len();
        return Ok(EditResult::added(splice(
            text,
            vec![Splice::insert(at, format!("{newline}{TABLE}:{newline}{block}"))],
        )));
    };
    match &extensions.kind {
        YamlKind::Mapping(members) if !members.is_empty() => {
            if let Some((_, known)) = members.iter().find(|(key, _)| key.is(SERVER_NAME)) {
                return change(text, known, entry);
            }
            let indent = column(text, members[0].0.span.start);
            let nested = members
                .iter()
                .find(|(_, value)| matches!(value.kind, YamlKind::Mapping(_)) && !value.is_flow);
            let unit = nested
                .map(|(key, value)| {
                    column(text, value.span.start).saturating_sub(column(text, key.span.start))
                })
                .filter(|unit| *unit > 0);
            let block = block(newline, entry, &" ".repeat(indent), &" ".repeat(unit.unwrap_or(2)));
            let at = line_end(text, extensions.span.end);
            Ok(EditResult::added(splice(
                text,
                vec![Splice::insert(at, format!("{newline}{block}"))],
            )))
        }
        // `extensions:` or `extensions: {}`.
        _ => {
            let outer = " ".repeat(column(text, key.span.start) + 2);
            let block = block(newline, entry, &outer, "  ");
            let colon =
                key.span.end + text[key.span.end..].find(':').ok_or(EditTrouble::Unsafe)? + 1;
            let mut made = Vec::new();
            if !extensions.span.is_empty() {
                made.push(Splice::delete(colon..extensions.span.end));
            }
            made.push(Splice::insert(
                line_end(text, colon.max(extensions.span.end)),
                format!("{newline}{block}"),
            ));
            Ok(EditResult::added(splice(text, made)))
        }
    }
}

/// Takes the entry out.
pub(crate) fn remove(text: &str) -> Result<EditResult, EditTrouble> {
    let Some(root) = read(text)?.filter(|root| !root.is_null()) else {
        return Ok(EditResult::Same);
    };
    let Some((_, extensions)) = table(text, &root)? else { return Ok(EditResult::Same) };
    let YamlKind::Mapping(members) = &extensions.kind else { return Ok(EditResult::Same) };
    let Some((key, value)) = members.iter().find(|(key, _)| key.is(SERVER_NAME)) else {
        return Ok(EditResult::Same);
    };
    let start = before_line(text, key.span.start);
    let end = line_end(text, value.span.end.max(key.span.end));
    let mut made = vec![Splice::delete(start..end)];
    if members.len() == 1 {
        // `extensions:` without members would be read as null, so it becomes `extensions: {}`.
        let at = text[..extensions.span.start].rfind(':').ok_or(EditTrouble::Unsafe)? + 1;
        made.insert(0, Splice::insert(at, " {}"));
    }
    Ok(EditResult::removed(splice(text, made)))
}

/// Takes out the mapping of servers itself, if it is empty.
pub(crate) fn prune(text: &str) -> Result<String, EditTrouble> {
    let Some(root) = read(text)?.filter(|root| !root.is_null()) else { return Ok(text.to_owned()) };
    Ok(match table(text, &root)? {
        Some((key, value)) if value.value().as_object().is_some_and(|it| it.is_empty()) => {
            let start = before_line(text, key.span.start);
            splice(text, vec![Splice::delete(start..line_end(text, value.span.end))])
        }
        _ => text.to_owned(),
    })
}

/// The mapping in which servers are entered, with its name, if it is there.
fn table<'a>(
    text: &str,
    root: &'a YamlNode,
) -> Result<Option<(&'a YamlNode, &'a YamlNode)>, EditTrouble> {
    let wrong = |node: &YamlNode, key: &str| EditTrouble::NotATable {
        line: line_and_column(text, node.span.start).0,
        key: key.to_owned(),
        found: match &node.kind {
            YamlKind::Mapping(_) => "a mapping in braces",
            YamlKind::Sequence(_) => "a list",
            YamlKind::Scalar { .. } => "a single value",
        },
        wanted: "a mapping on lines of its own",
    };
    let YamlKind::Mapping(members) = &root.kind else { return Err(wrong(root, "the document")) };
    if root.is_flow {
        return Err(wrong(root, "the document"));
    }
    let Some((key, value)) = members.iter().rfind(|(key, _)| key.is(TABLE)) else {
        return Ok(None);
    };
    let usable = match &value.kind {
        YamlKind::Mapping(members) => !value.is_flow || members.is_empty(),
        _ => value.is_null(),
    };
    if usable { Ok(Some((key, value))) } else { Err(wrong(value, TABLE)) }
}

fn change(text: &str, known: &YamlNode, entry: &ServerEntry) -> Result<EditResult, EditTrouble> {
    let line = line_and_column(text, known.span.start).0;
    let read = EntryShape::Goose.read(&known.value());
    let YamlKind::Mapping(members) = &known.kind else { return Err(EditTrouble::NotOurs { line }) };
    if read.command.is_none() {
        return Err(EditTrouble::NotOurs { line });
    }
    if read.starts(entry) {
        return Ok(EditResult::Same);
    }
    let command = members.iter().find(|(key, _)| key.is("cmd"));
    match command {
        Some((_, command)) if read.is_called_stead() && read.serves() => {
            let made = Splice { at: command.span.clone(), with: scalar(&entry.command) };
            Ok(EditResult::changed(splice(text, vec![made])))
        }
        _ => {
            let what = "the entry `stead` has a form that cannot be changed: take it out first";
            Err(EditTrouble::TooClever { line, what })
        }
    }
}

/// The lines of the entry, without the end of the last one.
fn block(newline: &str, entry: &ServerEntry, indent: &str, unit: &str) -> String {
    let mut lines = vec![format!("{indent}{SERVER_NAME}:")];
    for (key, value) in EntryShape::Goose.fields(entry) {
        match value {
            Value::Array(items) => {
                lines.push(format!("{indent}{unit}{key}:"));
                let items = items.iter().filter_map(Value::as_str);
                lines.extend(items.map(|item| format!("{indent}{unit}{unit}- {}", scalar(item))));
            }
            Value::String(text) => lines.push(format!("{indent}{unit}{key}: {}", scalar(&text))),
            other => lines.push(format!("{indent}{unit}{key}: {other}")),
        }
    }
    lines.join(newline)
}

/// A string, in quotes unless it can only be read as one.
fn scalar(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '/' | '.' | '_' | '-' | ' ');
    let begins = text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '/');
    let word = ["true", "false", "null", "yes", "no", "on", "off", "y", "n"];
    let safe = begins
        && text.chars().all(plain)
        && !text.ends_with(' ')
        && !word.contains(&text.to_ascii_lowercase().as_str());
    if safe { text.to_owned() } else { json!(text).to_string() }
}

fn column(text: &str, at: usize) -> usize {
    at - text[..at].rfind('\n').map_or(0, |end| end + 1)
}

/// Where the line before ends, without what ends it.
fn before_line(text: &str, at: usize) -> usize {
    let start = text[..at].rfind('\n').unwrap_or(0);
    if text[..start].ends_with('\r') { start - 1 } else { start }
}

/// Where the line ends, without what ends it.
fn line_end(text: &str, at: usize) -> usize {
    let end = text[at..].find('\n').map_or(text.len(), |end| at + end);
    if text[at..end].ends_with('\r') { end - 1 } else { end }
}

impl YamlNode {
    fn is(&self, key: &str) -> bool {
        matches!(&self.kind, YamlKind::Scalar { text, .. } if text == key)
    }

    fn is_null(&self) -> bool {
        matches!(&self.kind, YamlKind::Scalar { text, quoted: false } if text.is_empty() || text == "~" || text == "null")
    }

    fn value(&self) -> Value {
        match &self.kind {
            YamlKind::Sequence(items) => items.iter().map(YamlNode::value).collect(),
            YamlKind::Mapping(members) => {
                let name = |key: &YamlNode| match &key.kind {
                    YamlKind::Scalar { text, .. } => text.clone(),
                    _ => key.value().to_string(),
                };
                Value::Object(members.iter().map(|(k, value)| (name(k), value.value())).collect())
            }
            YamlKind::Scalar { text, quoted: true } => json!(text),
            YamlKind::Scalar { .. } if self.is_null() => Value::Null,
            YamlKind::Scalar { text, .. } if text == "true" => json!(true),
            YamlKind::Scalar { text, .. } if text == "false" => json!(false),
            YamlKind::Scalar { text, .. } => json!(text),
        }
    }
}

/// Reads a whole text; `None` if it holds nothing but space and comments.
fn read(text: &str) -> Result<Option<YamlNode>, EditTrouble> {
    // The parser counts characters, and splices count bytes.
    let mut bytes: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
    bytes.push(text.len());
    let mut reader = YamlReader { text, bytes, parser: Parser::new_from_str(text) };
    let mut root = None;
    loop {
        let (event, span) = reader.event()?;
        match event {
            Event::StreamEnd => return Ok(root),
            Event::DocumentStart(_) if root.is_some() => {
                let line = line_and_column(text, reader.byte(span.start.index())).0;
                let what = "a second document begins here";
                return Err(EditTrouble::TooClever { line, what });
            }
            Event::StreamStart | Event::Nothing | Event::DocumentStart(_) | Event::DocumentEnd => {}
            event => root = Some(reader.node(event, span, 0)?),
        }
    }
}

struct YamlReader<'a> {
    text: &'a str,
    bytes: Vec<usize>,
    parser: Parser<'a, saphyr_parser::StrInput<'a>>,
}

impl<'a> YamlReader<'a> {
    fn byte(&self, index: usize) -> usize {
        self.bytes.get(index).copied().unwrap_or(self.text.len())
    }

    fn event(&mut self) -> Result<(Event<'a>, Span), EditTrouble> {
        match self.parser.next_event() {
            Some(Ok(event)) => Ok(event),
            Some(Err(error)) => {
                let at = self.byte(error.marker().index());
                let (line, column) = line_and_column(self.text, at);
                Err(EditTrouble::Broken { line, column, what: error.info().to_owned() })
            }
            None => Err(EditTrouble::Unsafe),
        }
    }

    fn node(
        &mut self,
        event: Event<'a>,
        span: Span,
        depth: usize,
    ) -> Result<YamlNode, EditTrouble> {
        let start = self.byte(span.start.index());
        if depth > DEEPEST {
            let (line, column) = line_and_column(self.text, start);
            let what = "values are nested too deeply".to_owned();
            return Err(EditTrouble::Broken { line, column, what });
        }
        let is_flow = span.start.index() != span.end.index();
        let mut end = start;
        let kind = match event {
            Event::MappingStart(..) => {
                let mut members = Vec::new();
                loop {
                    let (event, span) = self.event()?;
                    if event == Event::MappingEnd {
                        end = end.max(if is_flow { self.byte(span.end.index()) } else { end });
                        break YamlKind::Mapping(members);
                    }
                    let key = self.node(event, span, depth + 1)?;
                    let (event, span) = self.event()?;
                    let value = self.node(event, span, depth + 1)?;
                    end = end.max(key.span.end).max(value.span.end);
                    members.push((key, value));
                }
            }
            Event::SequenceStart(..) => {
                let mut items = Vec::new();
                loop {
                    let (event, span) = self.event()?;
                    if event == Event::SequenceEnd {
                        end = end.max(if is_flow { self.byte(span.end.index()) } else { end });
                        break YamlKind::Sequence(items);
                    }
                    let item = self.node(event, span, depth + 1)?;
                    end = end.max(item.span.end);
                    items.push(item);
                }
            }
            Event::Scalar(text, style, ..) => {
                let whole = &self.text[start..self.byte(span.end.index()).max(start)];
                end = start + whole.trim_end().len();
                let quoted = !matches!(style, ScalarStyle::Plain);
                return Ok(YamlNode {
                    span: start..end,
                    kind: YamlKind::Scalar { text: text.into_owned(), quoted },
                    is_flow: false,
                });
            }
            // The number of an alias stands for its value, which is enough to compare texts.
            Event::Alias(number) => {
                end = self.byte(span.end.index());
                YamlKind::Scalar { text: format!("*{number}"), quoted: true }
            }
            _ => return Err(EditTrouble::Unsafe),
        };
        Ok(YamlNode { span: start..end, kind, is_flow })
    }
}
