//! `stead clear`

use serde::Serialize;

use crate::context::{Context, SessionArg};
use crate::print::Outcome;

/// Empty a session's namespace and keep its process
///
/// Names the user defined are gone; imports stay loaded, settings stay as they are.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  stead clear -n py")]
pub(crate) struct ClearArgs {
    #[command(flatten)]
    session: SessionArg,
}

#[derive(Debug, Serialize)]
struct Data {
    session: String,
}

impl ClearArgs {
    pub(crate) fn run(self, context: &Context) -> Outcome {
        let name = context.session(&self.session)?;
        context.client.clear(&name)?;
        context.answer("complete", Data { session: name.to_string() }, || {
            format!("cleared `{name}`\n")
        })
    }
}
