//! `stead kill`

use serde::Serialize;
use stead_client::KillEffect;

use crate::context::{Context, SessionArg};
use crate::print::{CommandResult, bad_request};

/// End a session's interpreter at once, whatever it does
///
/// For code that no interrupt stops. All processes of the session end, its state is lost, and the next
/// eval starts it fresh with the same settings. `restart` does both at once, `stop` removes the session.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  stead kill py
  stead kill py:7         refuse if another eval runs")]
pub(crate) struct KillArgs {
    /// The session, or its running eval
    #[arg(value_name = "NAME", conflicts_with = "name")]
    target: Option<String>,
    #[command(flatten)]
    session: SessionArg,
}

#[derive(Debug, Serialize)]
struct KillData {
    session: String,
}

impl KillArgs {
    pub(crate) fn run(self, context: &Context) -> CommandResult {
        let (name, id) = match &self.target {
            Some(given) => context.client.target(given)?,
            None => (context.session(&self.session)?, None),
        };
        if let Some(id) = id
            && context.client.status(&name)?.activity.eval() != Some(id.seq)
        {
            let error = bad_request(format!("`{id}` does not run"));
            return Err(error.with_hint(format!("name the session: `stead kill {name}`")));
        }
        let said = match context.client.kill(&name)? {
            KillEffect::Killed => {
                format!("killed the interpreter of `{name}`; the next eval starts it fresh\n")
            }
            // If nobody was told of that end yet, the next eval tells it and does not run.
            KillEffect::HadEnded => format!("session `{name}` has ended already\n"),
        };
        context.answer("complete", KillData { session: name.to_string() }, || said)
    }
}
