//! `stead resume`

use serde::Serialize;

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
}

impl ResumeArgs {
    pub(crate) fn run(self, context: &Context) -> CommandResult {
        let name = context.named(&self.session)?;
        context.client.resume(&name)?;
        context.answer("complete", ResumeData { session: name.to_string() }, || {
            format!("resumed `{name}`\n")
        })
    }
}
