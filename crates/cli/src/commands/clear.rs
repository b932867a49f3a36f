//! `stead clear`

use serde::Serialize;
use stead_client::EvalStatus;

use crate::context::{Context, NamedArg};
use crate::print::CommandResult;
use crate::verdict::verdict;

/// Empty a session's namespace and keep its process
///
/// Names the user defined are gone; imports stay loaded, settings stay as they are. It waits for its
/// turn like an eval, has an id and stands in `stead evals`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  stead clear py")]
pub(crate) struct ClearArgs {
    #[command(flatten)]
    session: NamedArg,
}

#[derive(Debug, Serialize)]
struct Data {
    session: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    eval_id: Option<String>,
}

impl ClearArgs {
    pub(crate) fn run(self, context: &Context) -> CommandResult {
        let name = context.named(&self.session)?;
        let view = context.client.clear(&name)?;
        if let Some(error) = verdict(&view).error {
            return Err(error);
        }
        let id = view.id_text();
        let text = match (view.status, &id) {
            (EvalStatus::Complete, _) | (_, None) => format!("cleared `{name}`\n"),
            (status, Some(id)) => {
                format!(
                    "`{id}`, which clears it, is {}: `stead output {id} --wait 30s`\n",
                    status.as_str()
                )
            }
        };
        let data = Data { session: name.to_string(), eval_id: id };
        context.answer(view.status.as_str(), data, || text)
    }
}
