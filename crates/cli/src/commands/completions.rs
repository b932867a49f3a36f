//! `stead completions`

use clap::CommandFactory;
use clap_complete::Shell;

use crate::context::Context;
use crate::print::{self, CommandResult};
use crate::{Cli, exit};

/// Print a script that completes `stead` commands in a shell
///
/// The script goes to standard output, whatever the mode.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  stead completions bash > ~/.local/share/bash-completion/completions/stead
  stead completions zsh > ~/.zfunc/_stead
  stead completions fish > ~/.config/fish/completions/stead.fish")]
pub(crate) struct CompletionsArgs {
    /// The shell
    shell: Shell,
}

impl CompletionsArgs {
    pub(crate) fn run(self, _context: &Context) -> CommandResult {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut Cli::command(), "stead", &mut script);
        print::out(&script);
        Ok(exit::SUCCESS)
    }
}
