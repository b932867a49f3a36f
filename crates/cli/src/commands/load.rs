//! `stead load`

use std::path::{Path, PathBuf};

use serde_json::{Map, Value};
use stead_client::{Manifest, report_length};
use stead_protocol::ErrorCode;

use crate::context::Context;
use crate::print::CommandResult;
use crate::table::text_table;
use crate::text;
use crate::time::Time;
use crate::waiting::Waiting;

/// Bring back names and values that were saved to a file
///
/// Opens a new session in the file's language, under the name that `-n` gives or the next free one, and says which.
/// With `--into` the names come into a session that lives, over those of the same name. Code that values need to come
/// back runs in that session and nowhere else: load only files that you trust. What does not come back is named with
/// the reason. If the load fails as a whole, a session that was opened for it is stopped again.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  stead load before.stead                a new session: py, or py-2, py-3, …
  stead load before.stead -n again
  stead load model.stead --into py
  stead load --list model.stead          what is in it; no session is needed, nothing runs

Ctrl-C interrupts the load.
Exit code: 0 loaded or still loading, 1 it failed or was interrupted, 2 the request could not be carried
out, 3 hard timeout.")]
pub(crate) struct LoadArgs {
    /// File that `stead save` has written
    #[arg(value_name = "FILE")]
    path: PathBuf,
    /// Name of the new session; else the short name of its language, or the next free one
    #[arg(short, long, value_name = "NAME", conflicts_with_all = ["into", "list"])]
    name: Option<String>,
    /// Load into this session, which lives
    #[arg(long, value_name = "NAME", conflicts_with = "list")]
    into: Option<String>,
    /// Show what the file holds and load nothing
    #[arg(long)]
    list: bool,
    /// How long to wait for it; it goes on after that
    #[arg(short, long, value_name = "TIME", default_value = "30s")]
    timeout: Time,
    #[command(flatten)]
    waiting: Waiting,
}

impl LoadArgs {
    pub(crate) fn run(self, context: &Context) -> CommandResult {
        let path = context.path(&self.path);
        if self.list {
            return list(context, &path, self.waiting.bounds.chars());
        }
        let client = &context.client;
        let (name, into) = (self.name.as_deref(), self.into.as_deref());
        let name = name.map(|name| context.session_named(name)).transpose()?;
        let into = into.map(|name| context.session_named(name)).transpose()?;
        let launch = context.launch(None);
        let name_given = name.clone();
        let loaded =
            self.waiting.run(context, String::new(), &self.timeout, |options, watch| match into {
                Some(into) => client.load_into(&into, &path, &options, watch),
                None => client.load_new(name.as_ref(), &path, &launch, &options, watch),
            });
        loaded.map_err(|failure| match (failure.code, name_given) {
            (ErrorCode::SessionExists, Some(name)) => failure.with_hint(format!(
                "load into it: `--into {name}`, or name one that there is not; without `-n` it gets a free name"
            )),
            _ => failure,
        })
    }
}

/// What the file says of itself. Only the first names are shown where all are too many.
fn list(context: &Context, path: &Path, max_chars: usize) -> CommandResult {
    let manifest = Manifest::read(path).map_err(stead_client::ClientError::from)?;
    let (count, failed) = (manifest.names.len(), manifest.failed.len());
    let mut data = serde_json::to_value(&manifest).unwrap_or_default();
    text::clean(&mut data);
    let Value::Object(mut data) = data else { return context.answer("complete", (), String::new) };
    data.insert("path".to_owned(), path.to_string_lossy().into_owned().into());
    data.insert("bytes".to_owned(), manifest.bytes.into());
    data.insert("count".to_owned(), count.into());
    data.insert("failed_count".to_owned(), failed.into());
    let shown = shorten(&mut data, max_chars);
    if shown < count {
        data.insert("more".to_owned(), (count - shown).into());
    }
    context.answer("complete", &data, || listing(&data))
}

/// Leaves out the last names, then what failed, until the rest is short enough; returns how many names are left.
fn shorten(data: &mut Map<String, Value>, max_chars: usize) -> usize {
    let mut length: usize = data.values().map(report_length).sum();
    for field in ["names", "failed"] {
        let Some(items) = data.get_mut(field).and_then(Value::as_array_mut) else { continue };
        while length > max_chars && items.len() > 1 {
            length -= items.pop().as_ref().map_or(0, report_length);
        }
    }
    data.get("names").and_then(Value::as_array).map_or(0, Vec::len)
}

fn listing(data: &Map<String, Value>) -> String {
    let field = |of: Option<&Value>| match of {
        Some(Value::String(text)) => text::first_line(text, 80),
        Some(Value::Null) | None => String::new(),
        Some(other) => other.to_string(),
    };
    let list = |name: &str| data.get(name).and_then(Value::as_array).cloned().unwrap_or_default();
    let bytes = data.get("bytes").and_then(Value::as_u64).unwrap_or_default();
    let [path, language, version, saved, session, count] =
        ["path", "language", "version", "saved", "session", "count"].map(|it| field(data.get(it)));
    let mut said = format!(
        "{path}: {count} names, {}, saved {saved} by session {session} in {language} {version}\n",
        text::bytes(bytes)
    );
    let columns = ["name", "type", "size", "value"];
    let row = |item: &Value| columns.map(|column| field(item.get(column))).to_vec();
    let rows: Vec<Vec<String>> = list("names").iter().map(row).collect();
    if !rows.is_empty() {
        said += &text_table(&["NAME", "TYPE", "SIZE", "VALUE"], &rows, &["SIZE"]);
    }
    if let Some(more) = data.get("more").and_then(Value::as_u64) {
        said += &format!("and {more} more: add `--full`\n");
    }
    for failed in list("failed") {
        let [name, kind, why] = ["name", "type", "why"].map(|it| field(failed.get(it)));
        said += &format!("not saved: {name} ({kind}): {why}\n");
    }
    said
}
