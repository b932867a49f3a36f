//! `stead shell`

use std::ffi::OsString;
use std::path::PathBuf;

use stead_protocol::ShellPlace;

use super::eval::read_code;
use crate::context::Context;
use crate::exit;
use crate::print::{CommandResult, bad_request};
use crate::time::Time;
use crate::waiting::Waiting;

/// Run a shell command, and come back while it runs if it takes long
///
/// Runs in a fresh shell with your directory and environment. A command that is done within `--timeout`
/// is answered with its output and exit code; another goes on, and the reply has its id. It is an eval like
/// any other: `output`, `input`, `interrupt`, `pause`, `evals` work on it. What it leaves running in the
/// background lives until its session is stopped.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  stead shell 'make -j8'                 comes back after 5 s at the latest
  stead output shell:3 --wait 5m         its result
  stead shell --exit-code 'pytest -q'    exits as pytest does
  stead shell --cwd web -- npm run build --if-present
  stead shell 'npm run dev >dev.log 2>&1 &'   a server that stays; `stead ls` shows it
  stead stop -n shell                    ends it")]
pub(crate) struct ShellArgs {
    /// The command; several words are joined by spaces, `-` reads it from standard input
    #[arg(value_name = "COMMAND")]
    command: Vec<OsString>,
    /// Directory to run it in
    #[arg(long, value_name = "DIR")]
    cwd: Option<PathBuf>,
    /// How long to wait for it; it goes on after that
    #[arg(short, long, value_name = "TIME", default_value = "5s")]
    timeout: Time,
    /// Exit with the exit code of the command, where it has ended by itself
    #[arg(long)]
    exit_code: bool,
    #[command(flatten)]
    waiting: Waiting,
}

impl ShellArgs {
    pub(crate) fn run(self, context: &Context) -> CommandResult {
        let cwd = self.cwd.map_or_else(|| context.cwd.clone(), |dir| context.path(&dir));
        if !cwd.is_dir() {
            return Err(bad_request(format!("the directory `{}` does not exist", cwd.display())));
        }
        let Some(cwd) = cwd.to_str() else {
            return Err(bad_request(format!("the path {cwd:?} is not UTF-8")));
        };
        let words = self.command.join(&OsString::from(" "));
        let given = (!self.command.is_empty()).then_some(words);
        let code = read_code(given, None, context)?;
        let place = ShellPlace { cwd: cwd.to_owned(), env: environment() };
        let mut own = None;
        let exit = self.waiting.run(context, code, &self.timeout, |options, watch| {
            let view = context.client.shell(&options, &place, watch)?;
            own = exit::of_code(&view);
            Ok(view)
        })?;
        Ok(own.filter(|_| self.exit_code).unwrap_or(exit))
    }
}

/// The environment of this command; variables that are not valid text cannot be passed on.
fn environment() -> Vec<(String, String)> {
    std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .collect()
}
