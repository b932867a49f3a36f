//! `stead wait`

use clap::ArgAction;
use stead_client::{AwaitedEval, WakeOptions, WakeWatcher, Woken};

use crate::context::{Context, SessionArg};
use crate::print::{self, CommandResult, Mode};
use crate::time::Time;
use crate::wait_spinner::WaitSpinner;
use crate::woken::{self, Report};

/// Wait until an eval has ended, waits for input, wrote a matching line or fell silent
///
/// Made for a shell in the background: the command exits when there is something to look at, and one line says which
/// eval and why. It stops nothing; Ctrl-C leaves. An ID is an eval (`py:24`) or a session, which stands for the eval that
/// runs there, else for its last one.
///
/// Without `--match`, `--input` and `--idle` it waits for the end, or for input. With them it waits for any of those that
/// are given; the end of an eval ends the wait for it in any case. What has happened before the wait began counts: an
/// eval that is over answers at once, and a matching line may stand in its output already.
///
/// A line is matched when it has ended, as `output --grep` shows it: without colours, a progress bar in its last state.
/// A line that is left open counts when the eval has ended or reads its input. Stdout and stderr are searched, values and
/// tracebacks are not.
///
/// Of several evals the first that comes to its condition, or fails, ends the wait; with `--all` each has to come to its
/// condition or end, and has a line of its own.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  stead wait py:24                                the end, or a question
  stead wait py                                   of what runs in `py`
  stead wait py:24 --match 'Epoch 3 done' --idle 5m
  stead wait py:24 --input --timeout 10m
  stead wait py:24 sh:3 js:1 --all

Times are milliseconds unless they say so: 500, 500ms, 30s, 5m, 2h.
Exit code: 0 what was waited for has happened, 1 the eval failed, was interrupted or ended
without it, 2 the request could not be carried out, 3 `--timeout` passed, or the eval's hard
timeout did.")]
pub(crate) struct WaitArgs {
    /// Evals, or sessions
    #[arg(value_name = "ID", action = ArgAction::Append)]
    ids: Vec<String>,
    #[command(flatten)]
    session: SessionArg,
    /// Until it has written a line that matches this regular expression
    #[arg(long = "match", value_name = "RE")]
    pattern: Option<String>,
    /// Until it waits for input
    #[arg(long)]
    input: bool,
    /// Until it has written nothing for this time
    #[arg(long, value_name = "TIME")]
    idle: Option<Time>,
    /// Until the first of several comes to its condition; the default
    #[arg(long, conflicts_with = "all")]
    any: bool,
    /// Until every one of several has come to its condition, or ended
    #[arg(long)]
    all: bool,
    /// Give up after this time, with exit code 3
    #[arg(short, long, value_name = "TIME")]
    timeout: Option<Time>,
}

impl WaitArgs {
    pub(crate) fn run(self, context: &Context) -> CommandResult {
        let mut ids = self.ids;
        // `-n py 24` is `py:24`.
        let numbers = ids.iter().any(|id| id.parse::<u64>().is_ok());
        if ids.is_empty() || self.session.name.is_some() {
            let session = context.session(&self.session)?;
            for id in ids.iter_mut().filter(|id| id.parse::<u64>().is_ok()) {
                *id = format!("{session}:{id}");
            }
            if !numbers {
                ids.push(session.to_string());
            }
        }
        let options = WakeOptions {
            pattern: self.pattern,
            input: self.input,
            idle: self.idle.map(|time| time.0),
            all: self.all,
            timeout: self.timeout.map(|time| time.0),
        };
        // With `--all` each line is written as soon as it is known.
        let live = options.all && context.mode == Mode::Text;
        let spinner = WaitSpinner::start(context.mode, &context.client, &options);
        let mut watch = Watch { options: &options, live, spinner };
        let woken = context.client.wait(&ids, &options, &mut watch);
        // The spinner's line goes before anything else is written.
        drop(watch);
        let woken = woken?;
        let report = Report::new(&woken, &options);
        match context.mode {
            Mode::Json => print::json(&report.json(context.command)),
            Mode::Text if live => {}
            Mode::Text => print::out(format!("{}\n", report.line()).as_bytes()),
        }
        Ok(report.exit())
    }
}

/// Shows how the wait goes on.
struct Watch<'a> {
    options: &'a WakeOptions,
    live: bool,
    spinner: Option<WaitSpinner>,
}

impl WakeWatcher for Watch<'_> {
    fn stands(&mut self, eval: AwaitedEval) {
        if let Some(spinner) = &self.spinner {
            spinner.stands(eval);
        }
    }

    fn woken(&mut self, one: &Woken) {
        let write = || {
            if self.live {
                print::out(format!("{}\n", woken::line(one, self.options)).as_bytes());
            }
        };
        match &self.spinner {
            Some(spinner) => spinner.woken(one.at, write),
            None => write(),
        }
    }
}
