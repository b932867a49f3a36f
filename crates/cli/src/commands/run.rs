//! `stead run`

use std::ffi::OsString;
use std::path::PathBuf;

use stead_client::LaunchOptions;

use super::eval::read_code;
use super::launch::{absolute, variable};
use crate::context::Context;
use crate::exit;
use crate::print::CommandResult;
use crate::time::Time;
use crate::waiting::Waiting;

/// Run code in a new interpreter that is gone afterwards
///
/// Nothing is shared with any session and no session is left. Code that outlives `--timeout` goes on, and the
/// reply has its id; its interpreter ends with it. Threads, timers and exit handlers that the code leaves are
/// waited for, as when the interpreter runs a file.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  stead run python 'import sys; print(sys.version)'
  stead run python --file report.py --timeout 5m
  stead run python --exit-code 'import sys; sys.exit(3)'
  echo 'print(1)' | stead run python")]
pub(crate) struct RunArgs {
    /// Language or toolchain
    #[arg(value_name = "LANGUAGE")]
    language: String,
    /// Code to run; `-` reads it from standard input
    #[arg(value_name = "CODE")]
    code: Option<OsString>,
    /// Read the code from a file, `-` for standard input
    #[arg(short, long, value_name = "FILE", conflicts_with = "code")]
    file: Option<PathBuf>,
    /// Directory the interpreter starts in
    #[arg(long, value_name = "DIR")]
    cwd: Option<PathBuf>,
    /// Environment variable for the interpreter; may be given more than once
    #[arg(long, value_name = "NAME=VALUE")]
    env: Vec<String>,
    /// Interpreter to use: an executable or a name on the PATH
    #[arg(long, value_name = "PATH")]
    interpreter: Option<String>,
    /// How long to wait for the code; it goes on after that
    #[arg(short, long, value_name = "TIME", default_value = "30s")]
    timeout: Time,
    /// Exit with the exit code of the code, where it has ended by itself
    #[arg(long)]
    exit_code: bool,
    #[command(flatten)]
    waiting: Waiting,
}

impl RunArgs {
    pub(crate) fn run(self, context: &Context) -> CommandResult {
        let code = read_code(self.code, self.file.as_deref(), context)?;
        let here = context.launch(Some(self.language));
        let launch = LaunchOptions {
            interpreter: self.interpreter.map(|path| absolute(context, path)),
            cwd: self.cwd.map(|dir| context.path(&dir)),
            env: self.env.iter().map(|pair| variable(pair)).collect::<Result<_, _>>()?,
            ..here
        };
        let mut own = None;
        let exit = self.waiting.run(context, code, &self.timeout, |options, watch| {
            let view = context.client.run(&launch, &options, watch)?;
            own = exit::of_code(&view);
            Ok(view)
        })?;
        Ok(own.filter(|_| self.exit_code).unwrap_or(exit))
    }
}
