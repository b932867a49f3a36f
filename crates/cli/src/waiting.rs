//! What all commands that run code and wait for it have in common.

use stead_client::{ClientError, EvalOptions, EvalView};

use crate::context::Context;
use crate::print::{CommandResult, Mode};
use crate::reply::ShowBounds;
use crate::show::{self, Judge};
use crate::time::Time;
use crate::verdict::wait_for;
use crate::watch::{EvalWatcher, Purpose};

/// How a command waits for what it runs, and how it shows what comes.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Waiting {
    /// Interrupt it after this time, 0 for never; if it will not stop, kill what it started, then its interpreter
    #[arg(long, value_name = "TIME")]
    hard_timeout: Option<Time>,
    /// Return the id at once and let it run
    #[arg(long, conflicts_with = "stream")]
    bg: bool,
    /// Write output as it comes, all of it; in JSON a chunk per line
    #[arg(long)]
    stream: bool,
    #[command(flatten)]
    pub(crate) bounds: ShowBounds,
}

impl Waiting {
    /// Runs code or other work with `run` and answers with the result.
    pub(crate) fn run(
        self,
        context: &Context,
        code: String,
        timeout: &Time,
        run: impl FnOnce(EvalOptions, &mut EvalWatcher) -> Result<EvalView, ClientError>,
    ) -> CommandResult {
        let mode = show::mode(context.mode, &self.bounds);
        let mut watch = EvalWatcher::new(mode, self.stream, self.bounds.raw, Purpose::Run);
        if !self.bg && !self.bounds.raw && !timeout.0.is_zero() {
            watch = watch.answering(mode);
        }
        let options = EvalOptions {
            code,
            key: None,
            soft_timeout: timeout.0,
            hard_timeout: self.hard_timeout.map(|time| time.0),
            no_queue: false,
            background: self.bg,
            max_chars: if self.stream { 0 } else { self.bounds.chars() },
        };
        let mut result = run(options, &mut watch);
        // In text the notes below the output name the command that waits.
        if let (true, Mode::Json, Ok(view)) = (self.bg, mode, &mut result)
            && let Some(id) = view.id()
        {
            view.notices.push(wait_for(&id));
        }
        show::eval(&context.with_mode(mode), result, watch, &self.bounds, Judge::Eval)
    }
}
