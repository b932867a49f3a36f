//! `stead undo`

use stead_protocol::{EvalSeq, SessionName};

use crate::context::{Context, SessionArg};
use crate::print::{CommandResult, Failure};
use crate::time::Time;
use crate::waiting::Waiting;

/// Go back to before an eval
///
/// Without an id, to before the last code that ran, or that runs: that is ended for it, also if it ignores interrupts.
/// All evals after the one that is named are undone too. A session copies itself while it is idle, so nothing has to be
/// prepared: the last five states can be gone back to, as long as nobody sends evals faster than twenty a second. `stead
/// status` says how far undo reaches, what it costs and why it is off where it is. Output and history stay, with the evals
/// marked as undone. Not undone: files, databases, the network, processes that were started.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  stead undo -n py                  the last code
  stead undo py:7                   py:7 and all that came after it

Python, and Bash by its text. Elsewhere `stead save` keeps names and values in a file.
Exit code: 0 it is done, 1 it failed, 2 the request could not be carried out.")]
pub(crate) struct UndoArgs {
    /// The eval; without it the last code that ran
    #[arg(value_name = "ID")]
    id: Option<String>,
    #[command(flatten)]
    session: SessionArg,
    /// How long to wait for it; it goes on after that
    #[arg(short, long, value_name = "TIME", default_value = "30s")]
    timeout: Time,
    #[command(flatten)]
    waiting: Waiting,
}

impl UndoArgs {
    pub(crate) fn run(self, context: &Context) -> CommandResult {
        let (name, eval) = self.target(context)?;
        self.waiting.run(context, String::new(), &self.timeout, |options, watch| {
            context.client.undo(&name, eval, &options, watch)
        })
    }

    /// The session, and the eval if one is named: `py:7`, or `7` beside `-n py`.
    fn target(&self, context: &Context) -> Result<(SessionName, Option<EvalSeq>), Failure> {
        match (&self.id, &self.session.name) {
            (None, _) => Ok((context.session(&self.session)?, None)),
            (Some(id), Some(name)) if id.parse::<u64>().is_ok() => {
                let seq = EvalSeq(id.parse().unwrap_or_default());
                Ok((context.session_named(name)?, Some(seq)))
            }
            (Some(id), _) => {
                let (name, eval) = context.client.target(id)?;
                Ok((name, eval.map(|eval| eval.seq)))
            }
        }
    }
}
