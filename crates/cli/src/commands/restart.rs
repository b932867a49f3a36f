//! `stead restart`

use serde::Serialize;
use stead_client::Launched;

use crate::commands::launch::init_news;
use crate::consent::consent;
use crate::context::{Context, NamedArg};
use crate::print::CommandResult;

/// Start a session's interpreter afresh; keeps name and settings, loses state
///
/// Whatever runs is ended, with every process it started. The next generation begins.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  stead restart py")]
pub(crate) struct RestartArgs {
    #[command(flatten)]
    session: NamedArg,
}

#[derive(Debug, Serialize)]
struct RestartData {
    session: String,
    generation: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    notice: Option<String>,
}

impl RestartArgs {
    pub(crate) fn run(self, context: &Context) -> CommandResult {
        let name = context.named(&self.session)?;
        let Launched { status, init, .. } = context.client.restart(&name, consent())?;
        let generation = status.generation.0;
        let notice = init.as_ref().and_then(init_news);
        let said = notice.as_ref().map(|notice| format!("[{notice}]\n")).unwrap_or_default();
        let data = RestartData { session: name.to_string(), generation, notice };
        context.answer("complete", data, || {
            format!("restarted `{name}`, generation {generation}\n{said}")
        })
    }
}
