//! `stead output`

use std::time::Duration;

use stead_client::{Followed, OutputOptions, Part};
use stead_protocol::SessionName;

use crate::context::Context;
use crate::print::{CommandResult, Failure, Mode, bad_request};
use crate::reply::ShowBounds;
use crate::search::SearchArgs;
use crate::show::{self, Judge};
use crate::text_writer::TextWriter;
use crate::time::Time;
use crate::watch::{EvalWatcher, Purpose};
use crate::{exit, follow};

/// Read what an eval wrote, also after its session ended
///
/// Offsets and limits are bytes of the eval's own output, stdout and stderr in their order.
/// Without them everything is shown in place, values and errors too. `--wait` and `--follow`
/// answer as `eval` does.
///
/// `--grep` and `--lines` count lines from 1. Stdout and stderr are split into lines apart, and a
/// line has its number by where it begins. `--grep` and `--tail` also look at what else is shown of an
/// eval: background output, its value, its error. Lines of those have numbers of their own and say
/// what they are of: `3error:`. Lines are searched as they are shown, at most the first MiB of each.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  stead output py:7
  stead output py                        the last eval of `py`
  stead output py:7 --tail 20
  stead output py:7 --offset 32000 --limit 10000
  stead output py:7 --follow             until it is finished
  stead output py --follow               all that anyone runs in a session, until Ctrl-C
  stead output py:7 --wait 5m            for its result
  stead output py:7 --grep 'loss: nan' --context 2
  stead output py:7 --lines 120:180
  stead output --session -n py -i --grep warning
  stead output --session -n py --tail 50
  stead output py:7 --raw > log.bin

Ctrl-C leaves and interrupts nothing; the exit code is 130 then, and 0 if a session was followed.
--follow writes as `stead eval --stream` does. For a session, over all its restarts, it also tells who runs what and
how that ended: in JSON in the lines that `stead watch` has, and chunks name their eval in `eval_id`.")]
pub(crate) struct OutputArgs {
    /// The eval, or a session whose last eval is meant
    #[arg(value_name = "ID", required_unless_present_any = ["session", "eval_id", "name"])]
    id: Option<String>,
    /// The same as ID
    #[arg(long, value_name = "ID", hide = true, conflicts_with_all = ["id", "session"])]
    eval_id: Option<String>,
    /// Begin this many bytes into its output
    #[arg(long, value_name = "N")]
    offset: Option<u64>,
    /// Read at most this many bytes
    #[arg(long, value_name = "N")]
    limit: Option<u64>,
    /// Read the last lines
    #[arg(long, value_name = "LINES", conflicts_with_all = ["offset", "limit"])]
    tail: Option<usize>,
    /// Write output as it comes, all of it, until the eval is finished
    #[arg(long, conflicts_with_all = ["offset", "limit", "tail", "wait"])]
    follow: bool,
    /// Wait for the eval to finish, at most this long
    #[arg(long, value_name = "TIME")]
    wait: Option<Time>,
    #[command(flatten)]
    bounds: ShowBounds,
    #[command(flatten)]
    search: SearchArgs,
}

impl OutputArgs {
    /// The session that is to be followed as a whole: it is named in place of an eval.
    fn followed_session(&self, context: &Context) -> Result<Option<SessionName>, Failure> {
        if !self.follow {
            return Ok(None);
        }
        let named = match (&self.id, self.search.name()) {
            (Some(id), _) if id.contains(':') => None,
            (Some(name), _) => Some(name.as_str()),
            (None, name) => name,
        };
        let Some(named) = named else { return Ok(None) };
        let name = context.session_named(named)?;
        // A session that does not exist is an error now, not something to wait for.
        context.client.evals(&name, 1)?;
        Ok(Some(name))
    }

    pub(crate) fn run(self, context: &Context) -> CommandResult {
        let given = self.id.as_deref().or(self.eval_id.as_deref()).or(self.search.name());
        if let Some(name) = self.followed_session(context)? {
            let followed = Followed::Session(name);
            return follow::lines(context, followed, true, self.bounds.raw);
        }
        let id = given.map(|given| context.eval_meant(given)).transpose()?;
        if let Some(answer) = self.search.run(context, id.as_ref(), self.tail, &self.bounds) {
            return answer;
        }
        let Some(id) = id else { return Err(bad_request("an eval's id is missing")) };
        let mode = show::mode(context.mode, &self.bounds);
        let part = match (self.offset, self.limit, self.tail) {
            (_, _, Some(lines)) => Part::Tail { lines },
            (None, None, None) => Part::All,
            (offset, limit, None) => Part::Range { offset: offset.unwrap_or(0), limit },
        };
        let all_as_text = mode == Mode::Text && self.bounds.chars() == usize::MAX;
        if part == Part::All && all_as_text && !self.follow && self.wait.is_none() {
            let mut writer = TextWriter::new(self.bounds.raw);
            let raw = self.bounds.raw;
            context.client.copy_output(&id, &mut |kind, bytes| {
                if !raw || kind.is_own_output() {
                    writer.chunk(kind, bytes);
                }
            })?;
            writer.finish();
            return Ok(exit::SUCCESS);
        }
        let wait = if self.follow { Some(Duration::MAX) } else { self.wait.map(|time| time.0) };
        let judge = if wait.is_some() { Judge::Eval } else { Judge::Reading };
        let mut watch = EvalWatcher::new(mode, self.follow, self.bounds.raw, Purpose::Look);
        if self.wait.is_some_and(|time| !time.0.is_zero()) && !self.bounds.raw {
            watch = watch.answering(mode);
        }
        let max_chars = if self.follow { 0 } else { self.bounds.chars() };
        let options = OutputOptions { part, wait, max_chars };
        let result = context.client.output(&id, &options, &mut watch);
        show::eval(&context.with_mode(mode), result, watch, &self.bounds, judge)
    }
}
