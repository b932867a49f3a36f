//! What can stand next on a command line: sessions, ids, variables and languages that there are.
//!
//! The scripts of `stead completions` know commands and options; for the rest they ask `stead __complete LINE`, which
//! answers with a word a line, or with nothing where the script knows better.

use std::env;
use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;

use clap::{Arg, Command, CommandFactory};
use serde_json::Value;
use stead_client::{Client, Dirs, Workspace};
use stead_protocol::{EvalId, SessionName};

use crate::{Cli, print};

/// The first word of the command line that asks for completions.
pub(crate) const WORD: &str = "__complete";

/// How many evals of a session are offered.
const EVALS: u64 = 20;

/// What an argument stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wanted {
    Session,
    /// An eval, or a session whose last eval is meant.
    Eval,
    Language,
    /// A name inside a session.
    Variable,
}

/// A command line up to the cursor, as far as it matters here.
#[derive(Debug, PartialEq, Eq)]
struct AskedWord {
    wanted: Wanted,
    /// The beginning of the word.
    word: String,
    /// The session and the workspace that the line names.
    session: Option<String>,
    workspace: Option<String>,
}

/// Writes what can stand next.
pub(crate) fn answer(line: &[OsString]) {
    let line = line.first().and_then(|line| line.to_str()).unwrap_or_default();
    let Some(asked) = asked(line) else { return };
    // Nobody reads an error in the middle of a line that is being typed.
    let found = candidates(&asked).unwrap_or_default();
    let text: String = found
        .iter()
        .filter(|word| word.starts_with(&asked.word))
        .map(|word| format!("{word}\n"))
        .collect();
    print::out(text.as_bytes());
}

fn candidates(asked: &AskedWord) -> Option<Vec<String>> {
    let cwd = env::current_dir().ok()?;
    let workspace = Workspace::find(asked.workspace.as_deref().map(Path::new), &cwd).ok()?;
    let client = Client {
        dirs: Dirs::from_env().ok()?,
        workspace,
        kind: "cli",
        by: Arc::default(),
        program: None,
        kept: None,
    };
    let configuration = || client.read_config().configuration;
    // Sessions that a configuration file names start by themselves.
    let names = || {
        let mut names = client.names().unwrap_or_default();
        names.extend(configuration().session_names());
        names.sort();
        names.dedup();
        names
    };
    let plain = |names: Vec<SessionName>| names.iter().map(ToString::to_string).collect();
    Some(match asked.wanted {
        Wanted::Language => configuration().toolchain_names(),
        Wanted::Session => plain(names()),
        Wanted::Eval => match asked.word.split_once(':') {
            Some((name, _)) => evals(&client, &client.session(name).ok()?),
            None => plain(names()),
        },
        Wanted::Variable => {
            let name = match &asked.session {
                Some(name) => client.session(name).ok()?,
                None => client.only().ok()?,
            };
            match client.complete(&name, &asked.word) {
                Ok(data) => matches(&data),
                Err(_) => {
                    client.known_names(&name).ok()?.names.into_iter().map(|it| it.name).collect()
                }
            }
        }
    })
}

fn evals(client: &Client, name: &SessionName) -> Vec<String> {
    let listed = client.evals(name, EVALS).map(|listed| listed.evals).unwrap_or_default();
    listed.iter().rev().map(|eval| EvalId::to_string(&eval.id)).collect()
}

fn matches(data: &Value) -> Vec<String> {
    let list = data.get("names").and_then(Value::as_array);
    let words = list.into_iter().flatten().filter_map(Value::as_str);
    // A word that cannot be a name must not come into a shell's line.
    let is_name = |word: &&str| word.chars().all(|c| c.is_alphanumeric() || "_.$".contains(c));
    words.filter(is_name).map(str::to_owned).collect()
}

/// What the last word of the line stands for; `None` if the shell's script has to complete it.
fn asked(line: &str) -> Option<AskedWord> {
    let mut words = split(line);
    let word = words.pop()?;
    if word.starts_with('-') || words.is_empty() {
        return None;
    }
    let mut cli = Cli::command();
    cli.build();
    let (mut command, mut positionals, mut option) = (&cli, 0, None);
    let (mut session, mut workspace) = (None, None);
    for word in &words[1..] {
        if let Some(of) = option.take() {
            match Arg::get_id(of).as_str() {
                "name" => session = Some(word.clone()),
                "workspace" => workspace = Some(word.clone()),
                _ => {}
            }
        } else if let Some(flag) = word.strip_prefix('-') {
            option = option_named(command, flag);
        } else if command.get_name() == cli.get_name() {
            command = cli.find_subcommand(word)?;
        } else {
            positionals += 1;
        }
    }
    if command.get_name() == cli.get_name() && option.is_none() {
        return None;
    }
    let of = match option {
        Some(of) => of,
        None => {
            let all: Vec<&Arg> = command.get_positionals().collect();
            *all.get(positionals).or_else(|| all.last().filter(|last| takes_many(last)))?
        }
    };
    Some(AskedWord { wanted: wanted(command, of)?, word, session, workspace })
}

/// The option of this name whose value stands in the next word.
fn option_named<'a>(command: &'a Command, flag: &str) -> Option<&'a Arg> {
    let found = command.get_arguments().find(|arg| match flag.strip_prefix('-') {
        Some(long) => arg.get_long() == Some(long),
        None => arg.get_short().is_some_and(|short| flag.ends_with(short) && flag.len() == 1),
    });
    found.filter(|arg| arg.get_action().takes_values())
}

fn takes_many(arg: &Arg) -> bool {
    matches!(arg.get_action(), clap::ArgAction::Append)
        || arg.get_num_args().is_some_and(|range| range.max_values() > 1)
}

fn wanted(command: &Command, arg: &Arg) -> Option<Wanted> {
    let value = arg.get_value_names()?.first()?.as_str();
    Some(match (command.get_name(), arg.get_id().as_str(), value) {
        ("inspect", "what", _) | ("save", "names", _) => Wanted::Variable,
        ("launch" | "load", "name", _) => return None,
        (_, _, "NAME") => Wanted::Session,
        (_, _, "ID" | "[ID] TEXT") => Wanted::Eval,
        (_, _, "LANGUAGE") => Wanted::Language,
        _ => return None,
    })
}

/// The words of a line as a shell takes them; the last one may be empty or have an open quote.
fn split(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let (mut quote, mut chars) = (None, line.trim_start().chars());
    while let Some(c) = chars.next() {
        let last = words.last_mut();
        match (quote, c) {
            (None, ' ' | '\t') if last.as_ref().is_some_and(|word| word.is_empty()) => {}
            (None, ' ' | '\t') => words.push(String::new()),
            (None, '\'' | '"') => quote = Some(c),
            (Some(open), c) if open == c => quote = None,
            (None | Some('"'), '\\') => {
                last.into_iter().for_each(|word| word.extend(chars.next()));
            }
            (_, c) => last.into_iter().for_each(|word| word.push(c)),
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn want(line: &str) -> Option<(Wanted, String)> {
        asked(line).map(|asked| (asked.wanted, asked.word))
    }

    #[test]
    fn c1_a_word_is_completed_by_what_its_argument_stands_for() {
        let wants = |wanted, word: &str| Some((wanted, word.to_owned()));
        assert_eq!(want("stead eval -n p"), wants(Wanted::Session, "p"));
        assert_eq!(want("stead --json eval --name "), wants(Wanted::Session, ""));
        assert_eq!(want("stead stop "), wants(Wanted::Session, ""));
        assert_eq!(want("stead rm one t"), wants(Wanted::Session, "t"));
        assert_eq!(want("stead output py:1"), wants(Wanted::Eval, "py:1"));
        assert_eq!(want("stead interrupt p"), wants(Wanted::Eval, "p"));
        assert_eq!(want("stead wait py:1 py:"), wants(Wanted::Eval, "py:"));
        assert_eq!(want("stead launch no"), wants(Wanted::Language, "no"));
        assert_eq!(want("stead run --timeout 5s py"), wants(Wanted::Language, "py"));
        assert_eq!(want("stead eval -l "), wants(Wanted::Language, ""));
        assert_eq!(want("stead inspect -n py df.col"), wants(Wanted::Variable, "df.col"));
        assert_eq!(want("stead save -n py a.stead df"), wants(Wanted::Variable, "df"));
        assert_eq!(want("stead save -n p"), wants(Wanted::Session, "p"));
        assert_eq!(want("stead load a.stead --into p"), wants(Wanted::Session, "p"));
        for ours_not in [
            "stead",
            "stead ev",
            "stead eval 'x ",
            "stead output --ta",
            "stead eval -f x",
            "stead load a.stead -n x",
            "stead save a",
            "",
        ] {
            assert_eq!(want(ours_not), None, "{ours_not}");
        }
        let asked = asked("stead inspect --workspace '/a b' -n data x").unwrap();
        assert_eq!(asked.workspace.as_deref(), Some("/a b"));
        assert_eq!(asked.session.as_deref(), Some("data"));
    }
}
