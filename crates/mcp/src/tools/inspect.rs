//! `inspect`

use std::fmt::Write;

use serde::Deserialize;
use serde_json::{Value, json};
use stead_client::{ClientError, KnownNames, counted};
use stead_protocol::{Change, ErrorCode, SessionName, WireError};

use super::arguments::read;
use super::{Tool, ToolSpec, bad_request, object, reply};
use crate::answer::Answer;
use crate::hints::next_call;
use crate::line::CallWatch;
use crate::server::Server;
use crate::text::{NOTE_CHARS, cut, guard, one_line, own_lines, word};

/// Members of a value that are named beside it.
const MEMBERS: usize = 40;

pub(super) fn spec() -> ToolSpec {
    ToolSpec {
        name: "inspect",
        title: "Look at names",
        description: "All variables with type, size and short value; with name (dotted allowed) its value, doc, source, \
            or what completes it.",
        schema: object(
            json!({
                "session": {"type": "string"},
                "name": {"type": "string"},
                "what": {"type": "string", "enum": ["value", "doc", "source", "complete"]}
            }),
            &["session"],
        ),
        read_only: true,
        destructive: false,
        idempotent: true,
        open_world: false,
        read: read::<InspectTool>,
    }
}

/// Arguments of `inspect`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct InspectTool {
    session: String,
    name: Option<String>,
    what: Option<InspectWhat>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum InspectWhat {
    Value,
    Doc,
    Source,
    Complete,
}

impl Tool for InspectTool {
    fn session(&self) -> Option<SessionName> {
        self.session.parse().ok()
    }

    fn run(
        self: Box<Self>,
        server: &Server,
        _watch: &mut CallWatch,
    ) -> Result<Answer, ClientError> {
        let session = server.client.session(&self.session)?;
        let Some(name) = self.name.filter(|name| !name.trim().is_empty()) else {
            if matches!(self.what, Some(InspectWhat::Doc | InspectWhat::Source)) {
                return Err(bad_request("`name` must be given").into());
            }
            return match server.client.vars(&session) {
                Err(busy) if busy.code() == ErrorCode::SessionBusy => {
                    let known = server.client.known_names(&session)?;
                    Ok(Answer::text(known_variables(&session, &known, &busy)))
                }
                found => Ok(Answer::text(variables(&session, &found?))),
            };
        };
        if self.what == Some(InspectWhat::Complete) {
            let found = server.client.complete(&session, &name)?;
            return Ok(Answer::text(completions(&session, &name, &found)));
        }
        let found = match server.client.inspect(&session, &name) {
            Err(busy) if busy.code() == ErrorCode::SessionBusy => {
                let known = server.client.known_names(&session)?;
                return Ok(refused(&name, &known, &busy));
            }
            found => found?,
        };
        let field = |key: &str| found[key].as_str().map(str::to_owned);
        let text = match self.what {
            Some(InspectWhat::Doc) => field("doc")
                .or_else(|| field("type_doc"))
                .unwrap_or_else(|| format!("`{name}` has no doc")),
            Some(InspectWhat::Source) => {
                field("source").unwrap_or_else(|| format!("the source of `{name}` is not known"))
            }
            Some(InspectWhat::Value) | None => field("value").unwrap_or_default(),
            Some(InspectWhat::Complete) => String::new(),
        };
        let mut shown = String::new();
        own_lines(&mut shown, &stead_screen::plain(text.trim_end().as_bytes()));
        if self.what.is_none() {
            for more in ["signature", "doc"].into_iter().filter_map(field) {
                let more: String = more.chars().take(500).collect();
                own_lines(&mut shown, &stead_screen::plain(more.trim_end().as_bytes()));
            }
            // Members are named beside a doc only: everybody knows those of a number or a list.
            if found.get("doc").or(found.get("type_doc")).is_some() {
                own_lines(&mut shown, &members(&found));
            }
        }
        let kind = field("type").map(|kind| format!(" {}", word(&kind))).unwrap_or_default();
        let size = field("size").map(|size| format!("({})", word(&size))).unwrap_or_default();
        let _ = write!(shown, "[{session}: {}{kind}{size}]", word(&name));
        Ok(Answer::text(shown))
    }
}

/// The first members of a value, in a line; empty if it has none.
fn members(found: &Value) -> String {
    let all: Vec<_> =
        found["members"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    if all.is_empty() {
        return String::new();
    }
    let more =
        all.len().saturating_sub(MEMBERS) as u64 + found["more_members"].as_u64().unwrap_or(0);
    let shown: Vec<_> = all.iter().take(MEMBERS).map(|name| word(name)).collect();
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("members: {}{more}", shown.join(" "))
}

fn variables(session: &SessionName, found: &Value) -> String {
    let row = |variable: &Value| {
        let word = |key: &str| word(variable[key].as_str().unwrap_or_default());
        let size = variable["size"].as_str().map(|_| format!("({})", word("size")));
        format!(
            "{} {}{} = {}\n",
            word("name"),
            word("type"),
            size.unwrap_or_default(),
            one_line(variable["value"].as_str().unwrap_or_default())
        )
    };
    let rows: Vec<String> = found["vars"].as_array().into_iter().flatten().map(row).collect();
    let all = rows.len() as u64 + found["more"].as_u64().unwrap_or(0);
    let mut after = String::new();
    if let Some(notice) = found["notice"].as_str() {
        let _ = write!(after, "; {}", cut(&one_line(notice), NOTE_CHARS));
    }
    list(session, &rows, all, "", &after)
}

/// The names of a session that cannot be asked now, by the results of its finished evals.
fn known_variables(session: &SessionName, known: &KnownNames, busy: &ClientError) -> String {
    let row = |change: &Change| format!("{} {}\n", word(&change.name), kind(change));
    let rows: Vec<String> = known.names.iter().map(row).collect();
    let all = rows.len() as u64 + known.more;
    let older = if known.older { ", of the newest evals only" } else { "" };
    let busy = cut(&one_line(&busy.message()), NOTE_CHARS);
    let after = format!("; {busy}; this is what results of finished evals told{older}");
    list(session, &rows, all, " known", &after)
}

/// As many rows as the reply has room for, and a closing line that tells how many of all names they are.
fn list(session: &SessionName, rows: &[String], all: u64, known: &str, after: &str) -> String {
    let others = format!(
        "; others: by name, or inspect {{\"session\":\"{session}\",\"name\":\"…\",\"what\":\"complete\"}} with how they begin"
    );
    let closing = |shown: usize| {
        let mut text = format!("[{session}: {}{known}", counted(all, "name", "names"));
        if (shown as u64) < all {
            let _ = write!(text, ", {shown} shown");
            // A session that cannot be asked for its names cannot be asked for completions either.
            if known.is_empty() {
                text.push_str(&others);
            }
        }
        text + after + "]"
    };
    let room = reply::max_chars(None);
    let chars = |text: &str| text.chars().count();
    let whole = chars(&closing(rows.len())) + rows.iter().map(|row| chars(row)).sum::<usize>();
    let mut left = match whole <= room {
        true => whole,
        // No number of rows has more digits than this one.
        false => room.saturating_sub(chars(&closing(0)) + rows.len().to_string().len()),
    };
    let fits = |row: &&String| {
        let fits = chars(row) <= left;
        left = left.saturating_sub(chars(row));
        fits
    };
    let shown: Vec<&str> = rows.iter().take_while(fits).map(String::as_str).collect();
    shown.concat() + &closing(shown.len())
}

/// Why a name of a busy session cannot be looked at, and what results of its finished evals told of it.
fn refused(name: &str, known: &KnownNames, busy: &ClientError) -> Answer {
    // Results tell of names only: for `df.columns` they can tell of `df`.
    let bound = name.trim().split(['.', '[', '(']).next().unwrap_or_default().trim_end();
    let mut message = busy.message();
    if let Some(change) = known.names.iter().find(|change| change.name == bound) {
        let _ = write!(message, "; by its last result, {} is {}", word(bound), kind(change));
    }
    let error = WireError { hint: next_call(busy), ..WireError::new(busy.code(), message) };
    Answer::failure(&error)
}

/// `DataFrame(1000×5)`
fn kind(change: &Change) -> String {
    let size = change.size.as_deref().or(change.change.as_deref());
    let size = size.map(|size| format!("({})", word(size))).unwrap_or_default();
    format!("{}{size}", word(&change.type_name))
}

fn completions(session: &SessionName, prefix: &str, found: &Value) -> String {
    let names: Vec<String> = found["names"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .map(one_line)
        .collect();
    let more = found["more"].as_u64().unwrap_or(0);
    let more = if more > 0 { format!(", {more} more") } else { String::new() };
    let found = counted(names.len() as u64, "completion", "completions");
    let mut text = String::new();
    if !names.is_empty() {
        guard(&mut text, &format!("{}\n", names.join(" ")));
    }
    let _ = write!(text, "[{session}: {} of {}{more}]", found, word(prefix));
    text
}
