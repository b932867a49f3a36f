//! Edits TOML: `[mcp_servers.stead]` is put in, changed or taken out, and every other byte stays.

use std::ops::Range;

use serde_json::{Map, Value, json};
use toml_edit::{Document, Item, TableLike};

use crate::edit::EditResult;
use crate::entry::{EntryShape, SERVER_NAME, ServerEntry};
use crate::splice::{Splice, line_and_column, newline_of, splice};
use crate::trouble::EditTrouble;

/// The table that lists servers.
pub(crate) const TABLE: &str = "mcp_servers";

/// All that the text says.
pub(crate) fn value_of(text: &str) -> Result<Value, EditTrouble> {
    Ok(table_value(read(text)?.as_table()))
}

/// Puts the entry in, or changes what it starts.
pub(crate) fn add(text: &str, entry: &ServerEntry) -> Result<EditResult, EditTrouble> {
    let document = read(text)?;
    let newline = newline_of(text);
    let args = words(&entry.args);
    let command = quoted(&entry.command);
    let inline = format!("{{ command = {command}, args = {args} }}");
    let servers = document.get(TABLE);
    if let Some(known) = servers.and_then(|servers| servers.get(SERVER_NAME)) {
        return change(text, known, entry);
    }
    let made = match servers {
        Some(Item::Value(toml_edit::Value::InlineTable(table))) => {
            let end = span(text, table.span())?.end - 1;
            let inner = text[..end].trim_end();
            let comma = if inner.ends_with(['{', ',']) { " " } else { ", " };
            Splice::insert(inner.len(), format!("{comma}{SERVER_NAME} = {inline}"))
        }
        // A table that was made by dotted keys cannot get a header; one more dotted key it can get.
        Some(Item::Table(table)) if table.is_dotted() => {
            let start = line_start(text, span(text, table.span())?.start);
            Splice::insert(start, format!("{TABLE}.{SERVER_NAME} = {inline}{newline}"))
        }
        None | Some(Item::Table(_)) => {
            let lines = [
                format!("[{TABLE}.{SERVER_NAME}]"),
                format!("command = {command}"),
                format!("args = {args}"),
            ];
            let block = lines.join(newline);
            let end = text.trim_end().len();
            match text[..end].trim_start_matches('\u{feff}').is_empty() {
                true => Splice::insert(text.len(), format!("{block}{newline}")),
                false => Splice::insert(end, format!("{newline}{newline}{block}")),
            }
        }
        Some(other) => {
            let (line, found) = (line_of(text, other), other.type_name());
            let wanted = "a table";
            return Err(EditTrouble::NotATable { line, key: TABLE.to_owned(), found, wanted });
        }
    };
    Ok(EditResult::added(splice(text, vec![made])))
}

/// Takes the entry out.
pub(crate) fn remove(text: &str) -> Result<EditResult, EditTrouble> {
    let document = read(text)?;
    let servers = document.get(TABLE).and_then(Item::as_table_like);
    let Some((servers, known)) = servers.and_then(|it| Some((it, it.get(SERVER_NAME)?))) else {
        return Ok(EditResult::Same);
    };
    let ranges = match known {
        Item::Table(_) => lines_of(text, servers, SERVER_NAME, known)?,
        _ if document.get(TABLE).is_some_and(Item::is_inline_table) => {
            let key = servers.key(SERVER_NAME).and_then(|key| key.span());
            vec![inline_part(text, span(text, key)?.start, span(text, known.span())?.end)]
        }
        _ => lines_of(text, servers, SERVER_NAME, known)?,
    };
    let ranges = joined(text, ranges);
    let made = ranges.into_iter().map(|range| Splice::delete(with_gap(text, range)));
    Ok(EditResult::removed(splice(text, made.collect())))
}

fn read(text: &str) -> Result<Document<&str>, EditTrouble> {
    Document::parse(text).map_err(|error| {
        let at = error.span().map_or(0, |span| span.start);
        let (line, column) = line_and_column(text, at);
        let what = error.message().lines().next().unwrap_or("it is not TOML").to_owned();
        EditTrouble::Broken { line, column, what }
    })
}

fn change(text: &str, known: &Item, entry: &ServerEntry) -> Result<EditResult, EditTrouble> {
    let line = line_of(text, known);
    let read = EntryShape::Plain.read(&item_value(known));
    let Some(table) = known.as_table_like().filter(|_| read.command.is_some()) else {
        return Err(EditTrouble::NotOurs { line });
    };
    if read.starts(entry) {
        return Ok(EditResult::Same);
    }
    let args = read.args_for(entry);
    let mut wanted = vec![("command", quoted(&entry.command))];
    if args != read.args {
        wanted.push(("args", words(&args)));
    }
    let mut made = Vec::new();
    for (key, with) in wanted {
        match table.get(key) {
            Some(value) => {
                made.push(Splice { at: span(text, value.span())?, with });
            }
            // A missing key is put behind `command`, which the entry has.
            None => {
                let at = span(text, table.get("command").and_then(Item::span))?.end;
                let with = match known {
                    Item::Table(table) if !table.is_dotted() => {
                        let at = line_end(text, at);
                        Splice::insert(at, format!("{}{key} = {with}", newline_of(text)))
                    }
                    Item::Value(_) => Splice::insert(at, format!(", {key} = {with}")),
                    _ => {
                        let what = "the entry `stead` is made of dotted keys: take it out first";
                        return Err(EditTrouble::TooClever { line, what });
                    }
                };
                made.push(with);
            }
        }
    }
    Ok(EditResult::changed(splice(text, made)))
}

/// The lines that an item takes, without the last line's end; of a table with a header also those of tables in it.
fn lines_of(
    text: &str,
    parent: &dyn TableLike,
    name: &str,
    item: &Item,
) -> Result<Vec<Range<usize>>, EditTrouble> {
    let mut ranges = Vec::new();
    match item {
        Item::Table(table) => {
            if !table.is_dotted() && !table.is_implicit() {
                let header = span(text, table.span())?;
                ranges.push(line_start(text, header.start)..line_end(text, header.end));
            }
            for (key, inner) in table.iter() {
                ranges.extend(lines_of(text, table, key, inner)?);
            }
        }
        Item::ArrayOfTables(array) => {
            for table in array.iter() {
                let header = span(text, table.span())?;
                ranges.push(line_start(text, header.start)..line_end(text, header.end));
                for (key, inner) in table.iter() {
                    ranges.extend(lines_of(text, table, key, inner)?);
                }
            }
        }
        Item::Value(_) | Item::None => {
            let key = span(text, parent.key(name).and_then(|key| key.span()))?;
            let value = span(text, item.span())?;
            ranges.push(line_start(text, key.start)..line_end(text, value.end));
        }
    }
    Ok(ranges)
}

/// One range for all that stand with nothing but space between them.
fn joined(text: &str, mut ranges: Vec<Range<usize>>) -> Vec<Range<usize>> {
    ranges.sort_by_key(|range| range.start);
    let mut joined: Vec<Range<usize>> = Vec::new();
    for range in ranges {
        match joined.last_mut() {
            Some(last)
                if range.start <= last.end || text[last.end..range.start].trim().is_empty() =>
            {
                last.end = last.end.max(range.end);
            }
            _ => joined.push(range),
        }
    }
    joined
}

/// The range with the empty line before it and the line end before that: both were put in together with the entry.
fn with_gap(text: &str, range: Range<usize>) -> Range<usize> {
    let back = |at: usize| {
        let before = text[..at].strip_suffix('\n')?;
        Some(before.strip_suffix('\r').unwrap_or(before).len())
    };
    match back(range.start) {
        Some(once) => back(once).unwrap_or(once)..range.end,
        None if range.start == line_start(text, range.start) => {
            let after = &text[range.end..];
            let newline = after.strip_prefix("\r\n").or_else(|| after.strip_prefix('\n'));
            range.start..newline.map_or(range.end, |rest| text.len() - rest.len())
        }
        None => range,
    }
}

/// One pair of an inline table with the comma that goes with it.
fn inline_part(text: &str, start: usize, end: usize) -> Range<usize> {
    let before = text[..start].trim_end();
    let after = &text[end..];
    match (before.ends_with(','), after.trim_start().strip_prefix(',')) {
        (true, _) => before.len() - 1..end,
        (false, Some(rest)) => start..text.len() - rest.trim_start_matches(' ').len(),
        (false, None) => before.len()..end,
    }
}

fn span(text: &str, span: Option<Range<usize>>) -> Result<Range<usize>, EditTrouble> {
    span.filter(|span| text.is_char_boundary(span.start) && text.is_char_boundary(span.end))
        .ok_or(EditTrouble::Unsafe)
}

fn line_of(text: &str, item: &Item) -> usize {
    line_and_column(text, item.span().map_or(0, |span| span.start)).0
}

fn line_start(text: &str, at: usize) -> usize {
    text[..at].rfind('\n').map_or(0, |end| end + 1)
}

/// Where the line ends, without what ends it.
fn line_end(text: &str, at: usize) -> usize {
    let end = text[at..].find('\n').map_or(text.len(), |end| at + end);
    if text[at..end].ends_with('\r') { end - 1 } else { end }
}

/// A string as TOML's basic ones are, which escape as JSON does.
fn quoted(text: &str) -> String {
    json!(text).to_string().replace('\u{7f}', "\\u007f")
}

/// A list of strings on one line.
fn words(words: &[String]) -> String {
    format!("[{}]", words.iter().map(|it| quoted(it)).collect::<Vec<_>>().join(", "))
}

fn table_value(table: &dyn TableLike) -> Value {
    let pairs = table.iter().map(|(key, item)| (key.to_owned(), item_value(item)));
    Value::Object(pairs.collect::<Map<_, _>>())
}

fn item_value(item: &Item) -> Value {
    match item {
        Item::None => Value::Null,
        Item::Table(table) => table_value(table),
        Item::ArrayOfTables(tables) => tables.iter().map(|it| table_value(it)).collect(),
        Item::Value(value) => plain_value(value),
    }
}

fn plain_value(value: &toml_edit::Value) -> Value {
    match value {
        toml_edit::Value::String(text) => json!(text.value()),
        toml_edit::Value::Integer(number) => json!(number.value()),
        // Some floats have no form in JSON; only whether they are the same matters here.
        toml_edit::Value::Float(number) => json!(format!("{:?}", number.value())),
        toml_edit::Value::Boolean(yes) => json!(yes.value()),
        toml_edit::Value::Datetime(time) => json!(time.value().to_string()),
        toml_edit::Value::Array(items) => items.iter().map(plain_value).collect(),
        toml_edit::Value::InlineTable(table) => table_value(table),
    }
}
