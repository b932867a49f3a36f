//! `stead vars`

use serde_json::{Value, json};
use stead_client::ClientError;
use stead_protocol::{ErrorCode, SessionName};

use crate::context::{Context, NamedArg};
use crate::print::{CommandResult, Failure};
use crate::table::text_table;
use crate::text;

/// List the names that a session's user has defined
///
/// With type, size and a short value. While an eval runs, the names are those that the results of
/// earlier evals told, without values.
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
        let mut data = match context.client.vars(&name) {
            Ok(data) => data,
            Err(error) if error.code() == ErrorCode::SessionBusy => known(context, &name, &error)?,
            Err(error) => return Err(error.into()),
        };
        text::clean(&mut data);
        let notice = data.get("notice").and_then(Value::as_str);
        let note = notice.map(|notice| format!("[{notice}]\n")).unwrap_or_default();
        context.answer("complete", &data, || listing(&data) + &note)
    }
}

/// What results have told of the names of a session that cannot be asked now.
fn known(context: &Context, name: &SessionName, busy: &ClientError) -> Result<Value, Failure> {
    let known = context.client.known_names(name)?;
    let older = if known.older { ", of the newest evals only" } else { "" };
    let notice = format!(
        "{}; this is what the results of its finished evals told{older}, without values",
        busy.message()
    );
    let mut data = json!({ "vars": known.names, "notice": notice });
    if known.more > 0 {
        data["more"] = known.more.into();
    }
    Ok(data)
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
    let mut text = text_table(&["NAME", "TYPE", "SIZE", "VALUE"], &rows, &["SIZE"]);
    match data.get("more").and_then(Value::as_u64) {
        Some(0) | None => {}
        Some(more) => text.push_str(&format!("and {more} more\n")),
    }
    text
}
