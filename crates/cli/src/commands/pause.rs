//! `stead pause`

use serde::Serialize;

use crate::context::{Context, SessionArg};
use crate::print::Outcome;

/// Stop all processes of a session where they are
///
/// The time they stand still counts toward no timeout. `resume` lets them go on.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  stead pause -n py")]
pub(crate) struct PauseArgs {
    #[command(flatten)]
    session: SessionArg,
}

#[derive(Debug, Serialize)]
struct Data {
    session: String,
}

impl PauseArgs {
    pub(crate) fn run(self, context: &Context) -> Outcome {
        let name = context.session(&self.session)?;
        context.client.pause(&name)?;
        context
            .answer("complete", Data { session: name.to_string() }, || format!("paused `{name}`\n"))
    }
}
