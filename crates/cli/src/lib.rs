//! The command line: subcommands, help texts, rendering.

mod answer;
mod board;
mod changed;
mod commands;
mod completing;
mod config_edit;
mod consent;
mod context;
mod exit;
mod follow;
mod full_screen;
mod gateway;
mod habits;
mod hints;
mod install_hints;
mod interpreter;
mod json_stream;
mod paint;
mod print;
mod record_bounds;
mod records;
mod redraw;
#[cfg(test)]
mod reference;
mod reply;
mod search;
mod show;
mod signals;
mod skill;
mod spinner;
mod status;
mod table;
mod text;
mod text_writer;
mod time;
mod verdict;
mod wait_spinner;
mod waiting;
mod watch;
mod welcome;
mod woken;

use std::ffi::OsString;
use std::io::IsTerminal;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{Args, CommandFactory, FromArgMatches, Parser};
use stead_client::Client;
use stead_config::ConfigKey;

use crate::commands::CliCommand;
use crate::context::{Context, WorkspaceNeed};
use crate::paint::{Paint, PaintWhen};
use crate::print::{Failure, Mode, bad_request};

/// The variable that says how commands answer where no flag does.
const OUTPUT_VARIABLE: &str = "STEAD_OUTPUT";

/// Keeps interpreters alive, so that you can think in code: load once, try, look, try again
#[derive(Debug, Parser)]
#[command(
    name = "stead",
    version,
    after_help = "Begin with:
  stead eval -n py 'x = 41'        run code; starts the session `py` if there is none
  stead eval -n py 'x + 1'         the state is still there
  stead ls                         what sessions there are and what each is doing

Output is JSON when stdout is not a terminal or with --json, text otherwise or with --text;
STEAD_OUTPUT=text or STEAD_OUTPUT=json decides where no flag does, then `output` of your configuration.
Times are milliseconds unless they say so: 500, 500ms, 30s, 5m, 2h."
)]
struct Cli {
    #[command(flatten)]
    globals: Globals,
    #[command(subcommand)]
    command: Option<CliCommand>,
}

/// Options of every command.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Options of every command")]
pub(crate) struct Globals {
    /// Project directory that sessions belong to; else the nearest one with `.stead` or `.git`
    #[arg(long, global = true, value_name = "DIR")]
    workspace: Option<PathBuf>,
    /// Answer in JSON
    #[arg(long, global = true, conflicts_with = "text")]
    json: bool,
    /// Answer in text
    #[arg(long, global = true)]
    text: bool,
    /// Paint text with colours: auto, always or never; NO_COLOR and CLICOLOR_FORCE work too
    #[arg(long, global = true, value_name = "WHEN", value_enum, hide_possible_values = true)]
    color: Option<PaintWhen>,
}

/// Modes of the program that other crates carry out.
#[derive(Debug, Clone, Copy)]
pub struct Modes {
    /// Serves the client's sessions by MCP on standard input and output, from this directory. The last argument
    /// says whether the user named the workspace.
    pub mcp: fn(Client, PathBuf, bool) -> std::io::Result<()>,
}

/// Restores the terminal on a panic, which ends the process at once.
fn give_the_terminal_back_on_panic() {
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        full_screen::give_back();
        stead_launch::echo::show_again();
        usual(info);
    }));
}

/// Runs the command line of this process.
pub fn main(modes: Modes) -> ExitCode {
    give_the_terminal_back_on_panic();
    let args: Vec<OsString> = std::env::args_os().collect();
    if args.get(1).is_some_and(|word| word == completing::WORD) {
        completing::answer(&args[2..]);
        return ExitCode::from(exit::SUCCESS);
    }
    let cli = match parse(&args) {
        Ok(cli) => cli,
        Err(error) => return ExitCode::from(refuse(&error, &args)),
    };
    if let Some(when) = cli.globals.color {
        when.choose();
    }
    let mode = match (cli.globals.json, cli.globals.text) {
        (true, _) => Ok(Mode::Json),
        (_, true) => Ok(Mode::Text),
        (false, false) => default_mode(cli.command.as_ref().map(CliCommand::name)),
    };
    let Some(command) = cli.command else {
        // `stead` alone is for a person who wants to know what it is, so it answers in text, also to a pipe,
        // unless a flag asks for JSON.
        let mode = if cli.globals.json { Mode::Json } else { Mode::Text };
        let context = Context::new("stead", mode, &cli.globals, modes, WorkspaceNeed::Required);
        return ExitCode::from(match (mode, context) {
            (Mode::Json, context) => context
                .and_then(|context| welcome::answer(&context))
                .unwrap_or_else(|failure| print::failure(mode, "stead", &failure)),
            (Mode::Text, context) => {
                print::out(welcome::welcome(context.ok().as_ref(), Paint::stdout()).as_bytes());
                exit::SUCCESS
            }
        });
    };
    let name = command.name();
    let mode = match mode {
        Ok(mode) => mode,
        Err(failure) => return ExitCode::from(print::failure(stream_mode(), name, &failure)),
    };
    if command.may_hold_secrets() {
        // The caller put code and input into the arguments; from here on at least no other user can read them
        // (SPEC X-5).
        let words = args.iter().position(|word| word == name).unwrap_or(0);
        stead_launch::ps::hide_arguments(words + 1);
    }
    let need = command.workspace_need();
    let context = Context::new(name, mode, &cli.globals, modes, need);
    let ran = context.and_then(|context| {
        // Every command ends processes that a killed session left. It looks again at its end, because a
        // session that was just killed may take a moment to be gone.
        context.client.dirs.sweep_leftovers();
        let ran = command.run(&context);
        context.client.dirs.sweep_leftovers();
        ran
    });
    ExitCode::from(ran.unwrap_or_else(|failure| print::failure(mode, name, &failure)))
}

/// Reads the command line. To define all commands takes longer than a warm eval, so only the one that is asked for is defined;
/// what cannot be read like that is read once more with all of them, which know how to say what is wrong.
fn parse(args: &[OsString]) -> Result<Cli, clap::Error> {
    if let Some(Ok(cli)) = parse_alone(args) {
        return Ok(cli);
    }
    let matches = Cli::command().try_get_matches_from(args)?;
    Cli::from_arg_matches(&matches)
}

/// Reads the command line as if there were only the command that it begins with; none if it begins with none.
fn parse_alone(args: &[OsString]) -> Option<Result<Cli, clap::Error>> {
    let mut words = args.iter().skip(1).map(|word| word.to_str().unwrap_or_default());
    let command = CliCommand::definition(words.find(|word| !word.starts_with('-'))?)?;
    let alone = Globals::augment_args(clap::Command::new("stead")).subcommand(command);
    let matches = alone.try_get_matches_from(args);
    Some(matches.and_then(|matches| Cli::from_arg_matches(&matches)))
}

/// The mode where no flag says one: what STEAD_OUTPUT says, else the user's configuration, else by where the answer goes
/// (SPEC C-3). What an MCP server writes to its standard output is MCP alone.
fn default_mode(command: Option<&str>) -> Result<Mode, Failure> {
    if command == Some("mcp") {
        return Ok(Mode::Text);
    }
    match std::env::var_os(OUTPUT_VARIABLE) {
        Some(word) if word == "json" => Ok(Mode::Json),
        Some(word) if word == "text" => Ok(Mode::Text),
        Some(word) if !word.is_empty() => {
            let word = word.to_string_lossy();
            let message = format!("{OUTPUT_VARIABLE} is `{}`", word.escape_debug());
            Err(bad_request(message).with_hint("set it to `text` or `json`, or unset it"))
        }
        _ => Ok(match stead_client::users_word(ConfigKey::Output).as_deref() {
            Some("json") => Mode::Json,
            Some("text") => Mode::Text,
            _ => stream_mode(),
        }),
    }
}

/// JSON for programs, text for a person at a terminal.
fn stream_mode() -> Mode {
    if std::io::stdout().is_terminal() { Mode::Text } else { Mode::Json }
}

/// Answers a command line that could not be understood, or that asked for help.
fn refuse(error: &clap::Error, args: &[OsString]) -> u8 {
    // The flags may stand behind the word that could not be parsed.
    let options: Vec<&str> =
        args.iter().skip(1).map_while(|a| a.to_str().filter(|a| *a != "--")).collect();
    PaintWhen::choose_from(&options);
    let help = matches!(
        error.kind(),
        ErrorKind::DisplayHelp
            | ErrorKind::DisplayVersion
            | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
    );
    if help {
        let help = error.render();
        let help = match Paint::stdout().is_on() {
            true => help.ansi().to_string(),
            false => help.to_string(),
        };
        print::out(help.as_bytes());
        return exit::SUCCESS;
    }
    let names: Vec<String> =
        Cli::command().get_subcommands().map(|c| c.get_name().to_owned()).collect();
    let command = options
        .iter()
        .find(|option| names.iter().any(|name| name == *option))
        .or_else(|| options.iter().find(|option| !option.starts_with('-')))
        .unwrap_or(&"stead");
    let mode = if options.contains(&"--json") {
        Mode::Json
    } else if options.contains(&"--text") {
        Mode::Text
    } else {
        default_mode(Some(command)).unwrap_or_else(|_| stream_mode())
    };
    if mode == Mode::Text {
        let said = error.render();
        let said = match Paint::stderr().is_on() {
            true => said.ansi().to_string(),
            false => said.to_string(),
        };
        print::err(said.as_bytes());
    } else {
        let message = error.render().to_string();
        let mut lines = message.lines().filter(|line| !line.trim().is_empty());
        let first = lines.next().unwrap_or_default().trim_start_matches("error: ");
        // clap lists missing arguments and known values on lines of their own.
        let more: Vec<&str> = lines
            .take_while(|line| line.starts_with(' ') && !line.trim_start().starts_with("tip:"))
            .map(str::trim)
            .collect();
        let said = [&[first], more.as_slice()].concat().join(" ");
        let tip = message.lines().find_map(|line| line.trim_start().strip_prefix("tip: "));
        let tip = tip.map(|tip| format!("{tip}; ")).unwrap_or_default();
        let hint = match names.iter().any(|name| name == command) {
            true => format!("{tip}see `stead {command} --help`"),
            false => format!("{tip}see `stead --help`"),
        };
        print::failure(mode, command, &bad_request(said).with_hint(hint));
    }
    exit::REQUEST_FAILED
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn c10_the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn c10_a_command_that_is_read_alone_is_read_as_among_all() {
        for command in Cli::command().get_subcommands() {
            let (name, alone) = (command.get_name(), CliCommand::definition(command.get_name()));
            let alone = alone.unwrap_or_else(|| panic!("{name} has no definition"));
            let words = |command: &clap::Command| -> Vec<String> {
                command.get_arguments().map(|argument| format!("{argument:?}")).collect()
            };
            assert_eq!(words(command), words(&alone), "{name}");
            let inner = |command: &clap::Command| -> Vec<String> {
                command.get_subcommands().map(|one| one.get_name().to_owned()).collect()
            };
            assert_eq!(inner(command), inner(&alone), "{name}");
        }
        let lines: [&[&str]; 9] = [
            &["eval", "-n", "py", "1+1"],
            &["--json", "eval", "--workspace", "/w", "--", "-x"],
            &["--workspace", "eval", "eval", "1"],
            &["--workspace", "/w", "ls", "--text"],
            &["stdlib", "add", "-l", "python", "f.py"],
            &["eval", "--no-such-flag"],
            &["eval", "--json", "--text", "1"],
            &["--help"],
            &["eval", "--help"],
        ];
        for line in lines {
            let args: Vec<OsString> =
                ["stead"].iter().chain(line).map(|word| OsString::from(*word)).collect();
            let among_all = Cli::command()
                .try_get_matches_from(&args)
                .and_then(|matches| Cli::from_arg_matches(&matches));
            match (parse(&args), among_all) {
                (Ok(one), Ok(other)) => assert_eq!(format!("{one:?}"), format!("{other:?}")),
                (Err(one), Err(other)) => assert_eq!(one.to_string(), other.to_string()),
                (one, other) => panic!("{line:?}: {one:?} and {other:?}"),
            }
        }
    }

    #[test]
    fn c10_every_command_has_help_with_an_example() {
        for command in Cli::command().get_subcommands() {
            let name = command.get_name();
            assert!(command.get_about().is_some(), "{name}");
            let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            assert!(help.contains(&format!("stead {name}")), "{name} has no example");
        }
    }

    /// A line of a help text without what is said about it, which stands behind two blanks.
    fn command_of(line: &str) -> String {
        let mut quote = None;
        let mut end = line.len();
        for (at, c) in line.char_indices() {
            match (quote, c) {
                (None, '\'' | '"') => quote = Some(c),
                (Some(open), _) if open == c => quote = None,
                (None, ' ') if line[at..].starts_with("  ") => {
                    end = at;
                    break;
                }
                _ => {}
            }
        }
        line[..end].to_owned()
    }

    /// The words of each `stead` in a line of shell, as the shell would pass them.
    fn words_of(line: &str) -> Vec<Vec<String>> {
        let stand_in = "stead() { printf '%s\\0' \"$@\" >&3; printf '\\001\\0' >&3; }; pass() { :; }; claude() { shift 4; \"$@\"; }; codex() { shift 4; \"$@\"; }";
        // Where the output goes does not matter here.
        let line = line.split(" > ").next().unwrap_or_default();
        let script = format!("{stand_in}; {line}");
        let place = std::env::temp_dir().join(format!("stead-help-{}", std::process::id()));
        std::fs::create_dir_all(&place).unwrap();
        let said = place.join("said");
        let run = format!("exec 3>'{}'; cd '{}'; {script}", said.display(), place.display());
        let ran = std::process::Command::new("sh")
            .args(["-c", &run])
            .env("HOME", &place)
            .stdin(std::process::Stdio::null())
            .output()
            .unwrap();
        assert!(ran.status.success() || !ran.stderr.is_empty(), "{line}");
        let said = std::fs::read_to_string(&said).unwrap();
        let mut commands = vec![Vec::new()];
        for word in said.split_terminator('\0') {
            match word {
                "\x01" => commands.push(Vec::new()),
                word => commands.last_mut().unwrap().push(word.to_owned()),
            }
        }
        commands.pop();
        commands
    }

    #[test]
    fn c10_every_example_of_the_help_texts_is_a_command() {
        let mut cli = Cli::command();
        cli.build();
        let mut tried = 0;
        let texts = cli.get_subcommands().chain([&cli]);
        let texts = texts.filter_map(|command| command.get_after_help());
        for text in texts.map(ToString::to_string).collect::<Vec<_>>() {
            let lines = text.lines().filter_map(|line| line.strip_prefix("  "));
            for line in lines.filter(|line| line.contains("stead ")).map(command_of) {
                let commands = words_of(&line);
                assert!(!commands.is_empty(), "{line}");
                for words in commands {
                    let words = ["stead".to_owned()].into_iter().chain(words);
                    let parsed = Cli::try_parse_from(words);
                    assert!(parsed.is_ok(), "{line}: {}", parsed.unwrap_err());
                    tried += 1;
                }
            }
        }
        assert!(tried > 60, "{tried}");
    }
}
