//! `stead status`

use crate::context::{Context, NamedArg};
use crate::print::CommandResult;
use crate::status::{StatusData, full_text};

/// Tell everything about a session
///
/// Answered at once, whatever the interpreter does: what runs and for how long, memory and CPU of
/// all its processes, which interpreter it is and why that one.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  stead status
  stead status py --json")]
pub(crate) struct StatusArgs {
    #[command(flatten)]
    session: NamedArg,
}

impl StatusArgs {
    pub(crate) fn run(self, context: &Context) -> CommandResult {
        let name = context.named(&self.session)?;
        let status = context.client.status(&name)?;
        context.answer("complete", StatusData::new(&status), || full_text(&status))
    }
}
