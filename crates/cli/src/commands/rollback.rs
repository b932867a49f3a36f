//! `stead rollback`

use crate::context::{Context, SessionArg};
use crate::print::CommandResult;
use crate::time::Time;
use crate::waiting::Waiting;

/// Go back to the state of a checkpoint
///
/// Without a label, to the last checkpoint that was made. The interpreter and all that it has started are ended, and the
/// copy goes on in its place, with the same session id; the checkpoint stays. An eval that runs is ended for it, also one
/// that ignores interrupts, and evals in the queue do not run. Output and history stay, with evals whose effect is gone
/// marked as undone. Not undone: files, databases, the network.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  stead checkpoint -n py before-merge
  stead rollback -n py before-merge
  stead rollback -n py                     to the last one

Exit code: 0 it is done, 1 it failed, 2 the request could not be carried out.")]
pub(crate) struct RollbackArgs {
    /// The checkpoint; without it the last one
    #[arg(value_name = "LABEL")]
    label: Option<String>,
    #[command(flatten)]
    session: SessionArg,
    /// How long to wait for it; it goes on after that
    #[arg(short, long, value_name = "TIME", default_value = "30s")]
    timeout: Time,
    #[command(flatten)]
    waiting: Waiting,
}

impl RollbackArgs {
    pub(crate) fn run(self, context: &Context) -> CommandResult {
        let name = context.session(&self.session)?;
        let label = self.label;
        self.waiting.run(context, String::new(), &self.timeout, |options, watch| {
            context.client.rollback(&name, label, &options, watch)
        })
    }
}
