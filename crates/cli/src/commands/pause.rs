//! `stead pause`

use serde::Serialize;

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
}

impl PauseArgs {
    pub(crate) fn run(self, context: &Context) -> CommandResult {
        let name = context.named(&self.session)?;
        context.client.pause(&name)?;
        context.answer("complete", PauseData { session: name.to_string() }, || {
            format!("paused `{name}`\n")
        })
    }
}
