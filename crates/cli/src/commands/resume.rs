//! `stead resume`

use serde::Serialize;
use stead_client::PauseEffect;

use crate::context::{Context, NamedArg};
use crate::print::CommandResult;

/// Let a paused session go on
///
/// Continues all processes that `pause` stopped.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  stead resume py")]
pub(crate) struct ResumeArgs {
    #[command(flatten)]
    session: NamedArg,
}

#[derive(Debug, Serialize)]
struct ResumeData {
    session: String,
    /// It was not paused before.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    already: bool,
}

impl ResumeArgs {
    pub(crate) fn run(self, context: &Context) -> CommandResult {
        let name = context.named(&self.session)?;
        let effect = context.client.resume(&name)?;
        let already = effect == PauseEffect::WasSo;
        let data = ResumeData { session: name.to_string(), already };
        context.answer("complete", data, || match effect {
            PauseEffect::Changed => format!("resumed `{name}`\n"),
            PauseEffect::WasSo => format!("`{name}` was not paused\n"),
        })
    }
}
