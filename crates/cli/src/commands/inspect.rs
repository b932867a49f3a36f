//! `stead inspect`

use serde_json::Value;

use crate::context::{Context, SessionArg};
use crate::print::CommandResult;
use crate::text;

/// Show one name of a session: value, type, doc, source
///
/// Takes a name or a dotted expression. The session must be idle.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  stead inspect -n py df
  stead inspect -n py np.linalg.svd")]
pub(crate) struct InspectArgs {
    /// What to look at
    #[arg(value_name = "NAME")]
    what: String,
    #[command(flatten)]
    session: SessionArg,
}

impl InspectArgs {
    pub(crate) fn run(self, context: &Context) -> CommandResult {
        let name = context.session(&self.session)?;
        let mut data = context.client.inspect(&name, &self.what)?;
        text::clean(&mut data);
        context.answer("complete", &data, || listing(&data))
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
                items.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" ")
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
    out
}
