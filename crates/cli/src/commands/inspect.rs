//! `stead inspect`

use clap::ValueEnum;
use serde_json::{Value, json};
use stead_client::ClientError;
use stead_protocol::{ErrorCode, SessionName};

use crate::context::{Context, SessionArg};
use crate::print::{CommandResult, Failure};
use crate::text;

/// Show one name of a session: value, type, size, doc, source, members
///
/// Takes a name or a dotted name; `--what` shows one part of that alone, or what the name can be completed to. While an eval runs,
/// it tells what the results of earlier evals told of the name.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  stead inspect -n py df
  stead inspect -n py np.linalg.svd --what doc")]
pub(crate) struct InspectArgs {
    /// What to look at
    #[arg(value_name = "NAME")]
    what: String,
    /// Show this part alone
    #[arg(long = "what", value_name = "PART")]
    only: Option<InspectPart>,
    #[command(flatten)]
    session: SessionArg,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum InspectPart {
    /// Its value, type and size
    Value,
    /// What it says of itself, or what its type does
    Doc,
    /// The code that defined it
    Source,
    /// Names that begin with it
    Complete,
}

impl InspectPart {
    /// The fields of the answer that belong to it.
    fn fields(self) -> &'static [&'static str] {
        match self {
            InspectPart::Value => &["name", "type", "size", "value"],
            InspectPart::Doc => &["name", "doc", "type_doc"],
            InspectPart::Source => &["name", "file", "signature", "source"],
            InspectPart::Complete => &["names", "more"],
        }
    }
}

impl InspectArgs {
    pub(crate) fn run(self, context: &Context) -> CommandResult {
        let name = context.session(&self.session)?;
        let found = match self.only {
            Some(InspectPart::Complete) => context.client.complete(&name, &self.what),
            _ => context.client.inspect(&name, &self.what),
        };
        let mut data = match found {
            Err(busy) if busy.code() == ErrorCode::SessionBusy => {
                known(context, &name, &self.what, busy)?
            }
            found => found?,
        };
        text::clean(&mut data);
        if let (Some(part), Value::Object(fields)) = (self.only, &mut data) {
            fields.retain(|key, _| key == "notice" || part.fields().contains(&key.as_str()));
        }
        context.answer("complete", &data, || match self.only {
            Some(part) => shown(part, &self.what, &data),
            None => listing(&data),
        })
    }
}

/// What results have told of a name of a session that cannot be asked now.
fn known(
    context: &Context,
    name: &SessionName,
    what: &str,
    busy: ClientError,
) -> Result<Value, Failure> {
    // Results tell of names only: for `df.columns` they can tell of `df`.
    let bound = what.trim().split(['.', '[', '(']).next().unwrap_or_default().trim_end();
    let known = context.client.known_names(name)?;
    let Some(change) = known.names.iter().find(|change| change.name == bound) else {
        return Err(busy.into());
    };
    let notice = format!("{}; this is what the last result told of {bound}", busy.message());
    let mut data = json!({ "name": bound, "type": change.type_name, "notice": notice });
    if let Some(size) = &change.size {
        data["size"] = size.as_str().into();
    }
    Ok(data)
}

/// One part, as it is.
fn shown(part: InspectPart, what: &str, data: &Value) -> String {
    let field = |name: &str| data[name].as_str();
    if field("notice").is_some() {
        return listing(data);
    }
    let found = match part {
        InspectPart::Value => field("value"),
        InspectPart::Doc => field("doc").or_else(|| field("type_doc")),
        InspectPart::Source => field("source"),
        InspectPart::Complete => {
            let names: Vec<_> =
                data["names"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
            let mut text = names.iter().map(|name| format!("{name}\n")).collect::<String>();
            if let Some(more @ 1..) = data["more"].as_u64() {
                text.push_str(&format!("and {more} more\n"));
            }
            return text;
        }
    };
    match found {
        Some(text) => format!("{}\n", text.trim_end()),
        None if part == InspectPart::Doc => format!("`{what}` has no doc\n"),
        None => format!("the source of `{what}` is not known\n"),
    }
}

fn listing(data: &Value) -> String {
    let Value::Object(fields) = data else { return format!("{data}\n") };
    let mut out = String::new();
    for name in ["name", "type", "size", "signature", "file", "value", "doc", "source", "members"] {
        let content = match fields.get(name) {
            None | Some(Value::Null) => continue,
            Some(Value::String(content)) => content.clone(),
            Some(Value::Array(items)) => {
                let mut words: Vec<_> =
                    items.iter().filter_map(Value::as_str).map(str::to_owned).collect();
                if let Some(more @ 1..) = data["more_members"].as_u64() {
                    words.push(format!("and {more} more"));
                }
                words.join(" ")
            }
            Some(other) => other.to_string(),
        };
        let content = content.trim_end();
        if content.contains('\n') {
            out.push_str(&format!("{name}:\n"));
            for line in content.lines() {
                out.push_str(&format!("    {line}\n"));
            }
        } else if !content.is_empty() {
            out.push_str(&format!("{name:<10} {content}\n"));
        }
    }
    if let Some(notice) = data["notice"].as_str() {
        out.push_str(&format!("[{notice}]\n"));
    }
    out
}
