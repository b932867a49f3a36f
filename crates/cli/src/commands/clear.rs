//! `stead clear`

use serde::Serialize;
use stead_client::EvalStatus;

use crate::context::{Context, NamedArg};
use crate::print::CommandResult;
use crate::verdict::verdict;

/// Empty a session's namespace and keep its process
///
/// The process, its id and its settings stay, and what runs beside it: threads, timers and background jobs go on, and the
/// reply says so. Names that the user defined are gone, and builtins are as they were; modules that were imported stay loaded, so
/// importing one again is quick and does not run it anew. Python and Node stay in their directory; Bash goes back to where it
/// began, with its first options and environment, and keeps readonly names. Your standard
/// library is loaded again if the session was started with it. It waits for its turn like an eval, has an id and
/// stands in `stead evals`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  stead clear py")]
pub(crate) struct ClearArgs {
    #[command(flatten)]
    session: NamedArg,
}

#[derive(Debug, Serialize)]
struct ClearData {
    session: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    eval_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    notice: Option<String>,
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
            (EvalStatus::Complete, _) | (_, None) => {
                let goes_on: String =
                    view.notices.iter().map(|notice| format!("; {notice}")).collect();
                format!("cleared `{name}`{goes_on}\n")
            }
            (status, Some(id)) => {
                format!(
                    "`{id}`, which clears it, is {}: `stead output {id} --wait 30s`\n",
                    status.as_str()
                )
            }
        };
        let notice = (!view.notices.is_empty()).then(|| view.notices.join("; "));
        let data = ClearData { session: name.to_string(), eval_id: id, notice };
        context.answer(view.status.as_str(), data, || text)
    }
}
