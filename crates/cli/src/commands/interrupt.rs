//! `stead interrupt`

use serde::Serialize;
use stead_protocol::client::InterruptEffect;

use crate::context::{Context, SessionArg, target};
use crate::print::Outcome;

/// Stop the running eval and keep the session's state
///
/// Aimed at one eval if its id is given: when that one has ended, nothing is sent and nothing
/// else is hit. An eval that waits for its turn is taken out of the queue.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  stead interrupt -n py
  stead interrupt py:7")]
pub(crate) struct InterruptArgs {
    /// The eval, or the session whose running eval is meant
    #[arg(value_name = "ID", conflicts_with = "name")]
    target: Option<String>,
    #[command(flatten)]
    session: SessionArg,
}

#[derive(Debug, Serialize)]
struct Data {
    session: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    eval_id: Option<String>,
    effect: InterruptEffect,
}

impl InterruptArgs {
    pub(crate) fn run(self, context: &Context) -> Outcome {
        let (name, id) = match &self.target {
            Some(given) => target(&context.client, given)?,
            None => (context.session(&self.session)?, None),
        };
        let interrupted = context.client.interrupt(&name, id.map(|id| id.seq))?;
        let eval_id = interrupted.eval.map(|seq| format!("{name}:{}", seq.0));
        let (status, text) = match interrupted.effect {
            InterruptEffect::Interrupted => ("interrupted", "interrupted; the state is kept"),
            InterruptEffect::Finished => ("complete", "it came to its own end first"),
            InterruptEffect::NothingRunning => ("complete", "nothing was running"),
            InterruptEffect::StillRunning => {
                ("running", "still running: it has not obeyed yet; `stead restart` ends it")
            }
            InterruptEffect::Dequeued => ("interrupted", "taken out of the queue; it never ran"),
        };
        let line = match &eval_id {
            Some(id) => format!("{id}: {text}\n"),
            None => format!("{text}\n"),
        };
        let data = Data { session: name.to_string(), eval_id, effect: interrupted.effect };
        context.answer(status, data, || line)
    }
}
