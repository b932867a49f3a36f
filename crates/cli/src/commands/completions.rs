//! `stead completions`

use clap::CommandFactory;
use clap_complete::Shell;

use crate::context::Context;
use crate::print::{self, CommandResult};
use crate::{Cli, exit};

/// Print a script that completes `stead` commands in a shell
///
/// The script goes to standard output, whatever the mode. It completes commands and options, and the
/// sessions, ids of evals, names inside sessions and languages that there are.
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
        print::out(
            with_names(self.shell, String::from_utf8_lossy(&script).into_owned()).as_bytes(),
        );
        Ok(exit::SUCCESS)
    }
}

/// The script, which first asks stead for sessions, ids, variables and languages, and completes commands and options
/// by itself.
fn with_names(shell: Shell, script: String) -> String {
    let (own, before) = match shell {
        Shell::Bash => (BASH, "\nif [[ \"${BASH_VERSINFO[0]}\""),
        Shell::Zsh => (ZSH, "\nif [ \"$funcstack[1]\""),
        Shell::Fish => return script + FISH,
        _ => return script,
    };
    // The script's own function gets another name, and ours is called instead of it.
    let script = script.replacen("_stead() {", "_stead_words() {", 1);
    script.replacen(before, &format!("\n{own}{before}"), 1)
}

const BASH: &str = r#"_stead() {
    local line="${COMP_LINE:0:COMP_POINT}" prefix= found=()
    mapfile -t found < <("$1" __complete "$line" 2>/dev/null)
    if ((${#found[@]} == 0)); then
        _stead_words "$@"
        return
    fi
    # Bash takes what stands behind a colon for a word of its own.
    local word="${line##*[[:space:]]}"
    if [[ $COMP_WORDBREAKS == *:* && $word == *:* ]]; then
        prefix="${word%"${word##*:}"}"
    fi
    COMPREPLY=("${found[@]#"$prefix"}")
}
"#;

const ZSH: &str = r#"_stead() {
    local -a found
    found=(${(f)"$($words[1] __complete "${(j: :)words[1,CURRENT-1]} $PREFIX" 2>/dev/null)"})
    if (( $#found )); then
        compadd -- $found
    else
        _stead_words "$@"
    fi
}
"#;

const FISH: &str = r#"function __fish_stead_names
    stead __complete (commandline -cp) 2>/dev/null
end
complete -c stead -n 'not __fish_stead_needs_command' -a '(__fish_stead_names)'
complete -c stead -n 'not __fish_stead_needs_command' -s n -l name -x -a '(__fish_stead_names)'
complete -c stead -n 'not __fish_stead_needs_command' -s l -l language -x -a '(__fish_stead_names)'
"#;
