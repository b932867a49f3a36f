//! `stead save`

use std::path::PathBuf;

use stead_client::SaveOptions;

use crate::context::{Context, SessionArg};
use crate::print::CommandResult;
use crate::time::Time;
use crate::waiting::Waiting;

/// Save a session's names and values to a file
///
/// Without names, all that the user has defined. What cannot be saved is named with the reason and prevents nothing
/// else. The file is written whole or not at all, for its owner only; parent directories are made. It takes the place
/// of an earlier save, and with `--force` of any other file. A save waits for its turn like an eval, has an id, goes on
/// after `--timeout` and can be interrupted.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  stead save -n py before.stead
  stead save -n py results/model.stead model scaler   only these names
  stead save -n py --bg big.stead                     returns the id at once
  stead load before.stead                             brings all back in a new session
  stead load --list before.stead                      what is in it

Ctrl-C interrupts the save and keeps the earlier file.
Exit code: 0 saved or still saving, 1 it failed or was interrupted, 2 the request could not be carried
out, 3 hard timeout.")]
pub(crate) struct SaveArgs {
    /// File to write
    #[arg(value_name = "FILE")]
    path: PathBuf,
    /// Names to save; all if none is given
    #[arg(value_name = "NAME")]
    names: Vec<String>,
    #[command(flatten)]
    session: SessionArg,
    /// Take the place of a file that is no earlier save
    #[arg(long)]
    force: bool,
    /// How long to wait for it; it goes on after that
    #[arg(short, long, value_name = "TIME", default_value = "30s")]
    timeout: Time,
    #[command(flatten)]
    waiting: Waiting,
}

impl SaveArgs {
    pub(crate) fn run(self, context: &Context) -> CommandResult {
        let name = context.session(&self.session)?;
        let path = context.path(&self.path);
        let what = SaveOptions { names: self.names, force: self.force };
        self.waiting.run(context, String::new(), &self.timeout, |options, watch| {
            context.client.save(&name, &path, &what, &options, watch)
        })
    }
}
