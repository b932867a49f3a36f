//! Edits JSON with comments: one member is put in, changed or taken out, and every other byte stays.

mod read;

use serde_json::{Map, Value};

use crate::edit::EditResult;
use crate::entry::{EntryShape, SERVER_NAME, ServerEntry};
use crate::splice::{Splice, indentation_at, line_and_column, newline_of, splice};
use crate::trouble::EditTrouble;
use read::{JsonNode, read_json};

/// All that the text says; nothing at all is an empty object.
pub(crate) fn value_of(text: &str) -> Result<Value, EditTrouble> {
    Ok(read_json(text)?.map_or(Value::Object(Map::new()), |root| root.value()))
}

/// Puts the entry into the object `table`, or changes what it starts.
pub(crate) fn add(
    text: &str,
    table: &'static str,
    shape: EntryShape,
    entry: &ServerEntry,
) -> Result<EditResult, EditTrouble> {
    let style = JsonStyle::of(text);
    let fields = shape.fields(entry);
    let Some(root) = read_json(text)? else {
        let inner = style.object(&fields_of(&style, &fields), 3);
        let whole = style.object(&[(table, style.object(&[(SERVER_NAME, inner)], 2))], 1);
        let gap =
            if text.is_empty() || text.ends_with(['\n', '\u{feff}']) { "" } else { style.newline };
        return Ok(EditResult::added(format!("{text}{gap}{whole}{}", style.newline)));
    };
    let Some(at) = servers(text, &root, table)? else {
        let made = insert(text, &style, &root, table, |depth, style| {
            let inner = style.object(&fields_of(style, &fields), depth + 1);
            style.object(&[(SERVER_NAME, inner)], depth)
        });
        return Ok(EditResult::added(splice(text, made)));
    };
    let Some(position) = at.position(SERVER_NAME) else {
        let made = insert(text, &style, at, SERVER_NAME, |depth, style| {
            style.object(&fields_of(style, &fields), depth)
        });
        return Ok(EditResult::added(splice(text, made)));
    };
    change(text, &at.members().unwrap_or_default()[position].value, shape, entry)
}

/// Takes the entry out, as often as it is there.
pub(crate) fn remove(text: &str, table: &'static str) -> Result<EditResult, EditTrouble> {
    let mut removed = None;
    loop {
        let now = removed.as_deref().unwrap_or(text);
        let root = read_json(now)?;
        let at = root.as_ref().map(|root| servers(now, root, table)).transpose()?.flatten();
        let Some((at, position)) = at.and_then(|at| Some((at, at.position(SERVER_NAME)?))) else {
            return Ok(removed.map_or(EditResult::Same, EditResult::removed));
        };
        let known = &at.members().unwrap_or_default()[position].value;
        if removed.is_some() && !EntryShape::Plain.read(&known.value()).is_ours() {
            let line = line_and_column(text, known.span.start).0;
            let what = "the entry `stead` is there twice, and one of them is not of stead";
            return Err(EditTrouble::TooClever { line, what });
        }
        removed = Some(splice(now, take_out(now, at, position)));
    }
}

/// Takes out the object of servers itself, if it is empty.
pub(crate) fn prune(text: &str, table: &'static str) -> Result<String, EditTrouble> {
    let Some(root) = read_json(text)? else { return Ok(text.to_owned()) };
    let empty =
        servers(text, &root, table)?.is_some_and(|at| at.members().is_some_and(<[_]>::is_empty));
    Ok(match root.position(table) {
        Some(position) if empty => splice(text, take_out(text, &root, position)),
        _ => text.to_owned(),
    })
}

/// The object in which servers are entered, if it is there.
fn servers<'a>(
    text: &str,
    root: &'a JsonNode,
    table: &'static str,
) -> Result<Option<&'a JsonNode>, EditTrouble> {
    let wrong = |node: &JsonNode, key: &str| EditTrouble::NotATable {
        line: line_and_column(text, node.span.start).0,
        key: key.to_owned(),
        found: node.what(),
        wanted: "an object",
    };
    let members = root.members().ok_or_else(|| wrong(root, "the outermost value"))?;
    let Some(position) = root.position(table) else { return Ok(None) };
    let node = &members[position].value;
    node.members().ok_or_else(|| wrong(node, table))?;
    Ok(Some(node))
}

/// Changes what an entry starts and keeps everything else that it says.
fn change(
    text: &str,
    node: &JsonNode,
    shape: EntryShape,
    entry: &ServerEntry,
) -> Result<EditResult, EditTrouble> {
    let known = shape.read(&node.value());
    let line = line_and_column(text, node.span.start).0;
    if known.command.is_none() {
        return Err(EditTrouble::NotOurs { line });
    }
    if known.starts(entry) {
        return Ok(EditResult::Same);
    }
    let style = JsonStyle::of(text);
    let mut made = Vec::new();
    for (key, wanted) in shape.vital(&known, entry) {
        match node.position(key).map(|at| &node.members().unwrap_or_default()[at].value) {
            Some(value) if value.members().is_some() => {
                let what = "the entry `stead` has an older form: take it out first";
                return Err(EditTrouble::TooClever { line, what });
            }
            Some(value) => {
                let (at, wanted) = value.least_change(&wanted);
                made.push(Splice { at, with: style.scalar(wanted) });
            }
            None => made.extend(insert(text, &style, node, key, |_, style| style.scalar(&wanted))),
        }
    }
    Ok(EditResult::changed(splice(text, made)))
}

/// What it takes to put a member at the end of an object, in the way its other members are written.
fn insert(
    text: &str,
    style: &JsonStyle,
    object: &JsonNode,
    key: &str,
    value: impl FnOnce(usize, &JsonStyle) -> String,
) -> Vec<Splice> {
    let open = object.span.start + 1;
    let inner = &text[open..object.span.end - 1];
    let members = object.members().unwrap_or_default();
    let tail = open + inner.trim_end().len();
    let outside = indentation_at(text, object.span.start);
    let on_lines = match members {
        [] => style.on_lines,
        _ => inner.contains('\n'),
    };
    let member = |indent: &str, style: &JsonStyle| {
        let key = serde_json::to_string(key).unwrap_or_default();
        let value = value(1, &style.inside(indent));
        format!("{key}{}{value}", style.colon)
    };
    if !on_lines {
        let flat = style.flat();
        let gap = if flat.colon == ":" { "" } else { " " };
        let member = member("", &flat);
        let Some(last) = members.last() else {
            return match inner.trim().is_empty() {
                true => vec![Splice { at: open..object.span.end - 1, with: member }],
                false => vec![Splice::insert(tail, format!(" {member}"))],
            };
        };
        return match last.comma {
            Some(_) => vec![Splice::insert(tail, format!("{gap}{member},"))],
            None => vec![
                Splice::insert(last.value.span.end, ","),
                Splice::insert(tail, format!("{gap}{member}")),
            ],
        };
    }
    let own_line = members
        .iter()
        .rev()
        .find(|it| text[..it.start].rsplit('\n').next().is_some_and(|line| line.trim().is_empty()));
    let indent = match own_line {
        Some(member) => indentation_at(text, member.start).to_owned(),
        None => format!("{outside}{}", style.unit),
    };
    // The value's own lines are indented from where its name stands.
    let member = member(&indent, style);
    let newline = style.newline;
    match members.last() {
        None if inner.trim().is_empty() => {
            let with = format!("{newline}{indent}{member}{newline}{outside}");
            vec![Splice { at: open..object.span.end - 1, with }]
        }
        None => {
            let end = if text[tail..object.span.end].contains('\n') { "" } else { newline };
            vec![Splice::insert(tail, format!("{newline}{indent}{member}{end}"))]
        }
        Some(last) if last.comma.is_some() => {
            vec![Splice::insert(tail, format!("{newline}{indent}{member},"))]
        }
        Some(last) => vec![
            Splice::insert(last.value.span.end, ","),
            Splice::insert(tail, format!("{newline}{indent}{member}")),
        ],
    }
}

/// What it takes to take a member out: the reverse of `insert`. Comments stay.
fn take_out(text: &str, object: &JsonNode, position: usize) -> Vec<Splice> {
    let members = object.members().unwrap_or_default();
    let member = &members[position];
    let start = text[..member.start].trim_end().len();
    let end = member.comma.map_or(member.value.span.end, |comma| comma + 1);
    let (open, close) = (object.span.start + 1, object.span.end - 1);
    if members.len() == 1 {
        let nothing =
            text[open..start.max(open)].trim().is_empty() && text[end..close].trim().is_empty();
        let at = if nothing { open..close } else { start..end };
        return vec![Splice::delete(at)];
    }
    if position + 1 < members.len() {
        // If the first member of an object on one line goes, the space behind it goes too.
        let gap = &text[end..members[position + 1].start];
        let flat = start == open && gap.trim().is_empty() && !gap.contains('\n');
        return vec![Splice::delete(start..if flat { end + gap.len() } else { end })];
    }
    let mut made = vec![Splice::delete(start..end)];
    if member.comma.is_none()
        && let Some(comma) = members[position - 1].comma
    {
        // If nothing stands between comma and member, both are deleted as one piece.
        match comma + 1 == start {
            true => made = vec![Splice::delete(comma..end)],
            false => made.push(Splice::delete(comma..comma + 1)),
        }
    }
    made
}

/// Fields with their values ready to be written.
fn fields_of<'a>(style: &JsonStyle, fields: &[(&'a str, Value)]) -> Vec<(&'a str, String)> {
    fields.iter().map(|(key, value)| (*key, style.scalar(value))).collect()
}

/// How a text is written.
#[derive(Debug, Clone)]
struct JsonStyle {
    newline: &'static str,
    /// One step of indentation.
    unit: String,
    /// What stands between a name and its value.
    colon: &'static str,
    /// Whether members stand on lines of their own.
    on_lines: bool,
    /// The indentation that everything has beside its own.
    indent: String,
}

impl JsonStyle {
    fn of(text: &str) -> Self {
        let body = text.trim_start_matches('\u{feff}');
        let indented = body.lines().find(|line| {
            let inner = line.trim_start_matches([' ', '\t']);
            inner.len() < line.len() && inner.starts_with('"')
        });
        let unit = indented
            .map_or("  ", |line| &line[..line.len() - line.trim_start_matches([' ', '\t']).len()]);
        let on_lines = body.trim().contains('\n') || body.trim().len() <= 2;
        let tight = !body.contains("\": ") && !body.contains("\" :") && body.contains("\":");
        JsonStyle {
            newline: newline_of(text),
            unit: unit.to_owned(),
            colon: if tight { ":" } else { ": " },
            on_lines,
            indent: String::new(),
        }
    }

    /// The same, for what stands inside a member with this indentation.
    fn inside(&self, indent: &str) -> Self {
        JsonStyle { indent: indent.to_owned(), ..self.clone() }
    }

    /// The same, all on one line.
    fn flat(&self) -> Self {
        JsonStyle { on_lines: false, ..self.clone() }
    }

    /// An object; `depth` counts the steps from `indent` to its members, whose values are ready.
    fn object(&self, members: &[(&str, String)], depth: usize) -> String {
        let pair = |(key, value): &(&str, String)| {
            format!("{}{}{value}", serde_json::to_string(key).unwrap_or_default(), self.colon)
        };
        let pairs: Vec<String> = members.iter().map(pair).collect();
        if !self.on_lines {
            let comma = if self.colon == ":" { "," } else { ", " };
            return format!("{{{}}}", pairs.join(comma));
        }
        let outer = format!("{}{}", self.indent, self.unit.repeat(depth.saturating_sub(1)));
        let inner = format!("{}{}", self.indent, self.unit.repeat(depth));
        let newline = self.newline;
        let pairs = pairs.join(&format!(",{newline}{inner}"));
        format!("{{{newline}{inner}{pairs}{newline}{outer}}}")
    }

    /// A value on one line.
    fn scalar(&self, value: &Value) -> String {
        match value {
            Value::Array(items) => {
                let comma = if self.colon == ":" { "," } else { ", " };
                let items: Vec<String> = items.iter().map(|item| self.scalar(item)).collect();
                format!("[{}]", items.join(comma))
            }
            other => other.to_string(),
        }
    }
}
