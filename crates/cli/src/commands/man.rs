//! `stead man`

use std::env;
use std::fs;
use std::path::PathBuf;

use clap::{Command, CommandFactory};
use clap_mangen::Man;
use serde::Serialize;

use crate::context::Context;
use crate::print::{self, CommandResult, Failure, bad_request};
use crate::{Cli, exit};

/// Print or install the manual pages
///
/// Without an option the page of stead, or of one command, goes to standard output, whatever the mode.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  stead man | man -l -
  stead man eval | man -l -
  stead man --install             then `man stead` and `man stead-eval` find them")]
pub(crate) struct ManArgs {
    /// The command whose page is wanted
    #[arg(value_name = "COMMAND", conflicts_with = "install")]
    command: Option<String>,
    /// Write all pages into a directory, `~/.local/share/man/man1` unless given
    #[arg(long, value_name = "DIR", num_args = 0..=1)]
    install: Option<Option<PathBuf>>,
}

#[derive(Debug, Serialize)]
struct ManData {
    directory: String,
    pages: usize,
}

impl ManArgs {
    pub(crate) fn run(self, context: &Context) -> CommandResult {
        let mut cli = Cli::command();
        cli.build();
        let Some(dir) = self.install else {
            print::out(&page(one(&cli, self.command.as_deref())?)?);
            return Ok(exit::SUCCESS);
        };
        let dir = dir.map_or_else(usual_directory, |dir| Ok(context.path(&dir)))?;
        let failed = |error: std::io::Error| {
            bad_request(format!("could not write to `{}`: {error}", dir.display()))
        };
        fs::create_dir_all(&dir).map_err(failed)?;
        let commands: Vec<&Command> =
            cli.get_subcommands().filter(|command| command.get_name() != "help").collect();
        let names = commands.iter().map(|command| Some(command.get_name()));
        let all: Vec<Option<&str>> = [None].into_iter().chain(names).collect();
        for name in &all {
            let file = name.map_or("stead.1".to_owned(), |name| format!("stead-{name}.1"));
            fs::write(dir.join(file), page(one(&cli, *name)?)?).map_err(failed)?;
        }
        let data = ManData { directory: dir.display().to_string(), pages: all.len() };
        context.answer("complete", data, || {
            format!("wrote {} pages to {}\n", all.len(), dir.display())
        })
    }
}

/// The command of this name, called as in a manual: `stead-eval`.
fn one(cli: &Command, name: Option<&str>) -> Result<Command, Failure> {
    let Some(name) = name else { return Ok(cli.clone()) };
    let found = cli.find_subcommand(name).ok_or_else(|| {
        bad_request(format!("there is no command `{}`", name.escape_debug()))
            .with_hint("see `stead --help`")
    })?;
    Ok(found.clone().version(env!("CARGO_PKG_VERSION")))
}

fn page(command: Command) -> Result<Vec<u8>, Failure> {
    let mut page = Vec::new();
    Man::new(command)
        .render(&mut page)
        .map_err(|error| bad_request(format!("could not write the page: {error}")))?;
    Ok(page)
}

/// Where `man` looks for the pages of one user.
fn usual_directory() -> Result<PathBuf, Failure> {
    let given = |name| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let data =
        given("XDG_DATA_HOME").or_else(|| given("HOME").map(|home| home.join(".local/share")));
    let missing = || bad_request("HOME is not set").with_hint("name a directory: `--install DIR`");
    Ok(data.ok_or_else(missing)?.join("man/man1"))
}
