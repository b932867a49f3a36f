//! `stead pause`

use serde::Serialize;
use stead_client::PauseEffect;

use crate::context::{Context, NamedArg};
use crate::print::CommandResult;

/// Stop all processes of a session where they are
///
/// The time they stand still counts toward no timeout. `resume` lets them go on.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  stead pause py")]
pub(crate) struct PauseArgs {
    #[command(flatten)]
    session: NamedArg,
}

#[derive(Debug, Serialize)]
struct PauseData {
    session: String,
    /// It was paused before.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    already: bool,
}

impl PauseArgs {
    pub(crate) fn run(self, context: &Context) -> CommandResult {
        let name = context.named(&self.session)?;
        let effect = context.client.pause(&name)?;
        let already = effect == PauseEffect::WasSo;
        let data = PauseData { session: name.to_string(), already };
        context.answer("complete", data, || match effect {
            PauseEffect::Changed => format!("paused `{name}`\n"),
            PauseEffect::WasSo => format!("`{name}` was paused already\n"),
        })
    }
}
