//! `stead vars`

use serde_json::Value;

use crate::context::{Context, NamedArg};
use crate::print::CommandResult;
use crate::table::table;
use crate::text;

/// List the names that a session's user has defined
///
/// With type, size and a short value. The session must be idle.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  stead vars py")]
pub(crate) struct VarsArgs {
    #[command(flatten)]
    session: NamedArg,
}

impl VarsArgs {
    pub(crate) fn run(self, context: &Context) -> CommandResult {
        let name = context.named(&self.session)?;
        let mut data = context.client.vars(&name)?;
        text::clean(&mut data);
        context.answer("complete", &data, || listing(&data))
    }
}

fn listing(data: &Value) -> String {
    let vars = data.get("vars").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    if vars.is_empty() {
        return "no names\n".to_owned();
    }
    let field = |var: &Value, name: &str| match var.get(name) {
        Some(Value::String(text)) => text::first_line(text, 80),
        Some(Value::Null) | None => String::new(),
        Some(other) => other.to_string(),
    };
    let rows: Vec<Vec<String>> = vars
        .iter()
        .map(|var| ["name", "type", "size", "value"].map(|name| field(var, name)).to_vec())
        .collect();
    let mut text = table(&["NAME", "TYPE", "SIZE", "VALUE"], &rows);
    match data.get("more").and_then(Value::as_u64) {
        Some(0) | None => {}
        Some(more) => text.push_str(&format!("and {more} more\n")),
    }
    text
}
