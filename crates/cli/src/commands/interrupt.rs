//! `stead interrupt`

use serde::Serialize;
use stead_client::Interrupted;
use stead_protocol::client::InterruptEffect;

use crate::context::{Context, SessionArg};
use crate::print::CommandResult;

/// Stop the running eval and keep the session's state
///
/// Aimed at one eval if its id is given: when that one has ended, nothing is sent and nothing
/// else is hit. An eval that waits for its turn is taken out of the queue. A second interrupt of the
/// same eval kills the processes it has started, an editor or whatever else ignores interrupts.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  stead interrupt py
  stead interrupt py:7")]
pub(crate) struct InterruptArgs {
    /// The eval, or the session whose running eval is meant
    #[arg(value_name = "ID", conflicts_with = "name")]
    target: Option<String>,
    /// The same as ID
    #[arg(long, value_name = "ID", hide = true, conflicts_with_all = ["target", "name"])]
    eval_id: Option<String>,
    #[command(flatten)]
    session: SessionArg,
}

#[derive(Debug, Serialize)]
struct InterruptData {
    session: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    eval_id: Option<String>,
    effect: InterruptEffect,
    #[serde(skip_serializing_if = "Option::is_none")]
    killed: Option<u64>,
}

impl InterruptArgs {
    pub(crate) fn run(self, context: &Context) -> CommandResult {
        let (name, id) = match self.target.as_ref().or(self.eval_id.as_ref()) {
            Some(given) => context.client.target(given)?,
            None => (context.session(&self.session)?, None),
        };
        let interrupted = context.client.interrupt(&name, id.map(|id| id.seq))?;
        let eval_id = interrupted.eval.map(|seq| format!("{name}:{}", seq.0));
        let (status, text) = match interrupted.effect {
            InterruptEffect::Interrupted => ("interrupted", "interrupted; the state is kept"),
            InterruptEffect::Finished => ("complete", "it has ended; `stead output` says how"),
            InterruptEffect::NothingRunning => ("complete", "nothing was running"),
            InterruptEffect::StillRunning if interrupted.killed.is_none() => (
                "running",
                "still running: it has not obeyed yet; a second interrupt kills the processes that it has started here",
            ),
            InterruptEffect::StillRunning => {
                ("running", "still running: it has not obeyed yet; `stead restart` gives up on it")
            }
            InterruptEffect::Unknown => {
                ("complete", "the host, a newer stead, says what this one does not know")
            }
            InterruptEffect::Dequeued => ("interrupted", "taken out of the queue; it never ran"),
        };
        let text = match interrupted.killed {
            None | Some(0) => text.to_owned(),
            Some(1) => format!("killed a process it had started; {text}"),
            Some(more) => format!("killed {more} processes it had started; {text}"),
        };
        let line = match &eval_id {
            Some(id) => format!("{id}: {text}\n"),
            None => format!("{text}\n"),
        };
        let Interrupted { effect, killed, .. } = interrupted;
        let data = InterruptData { session: name.to_string(), eval_id, effect, killed };
        context.answer(status, data, || line)
    }
}
