//! `stead input`

use std::io::IsTerminal;
use std::path::PathBuf;

use stead_client::{ClientError, InputOptions, OutputOptions, Part};
use stead_protocol::{Activity, EvalId, SessionName};
use stead_screen::plain;

use super::eval::{TextUse, read_text};
use crate::answer::{self, Typed};
use crate::context::{Context, SessionArg};
use crate::exit;
use crate::print::{CommandResult, Failure, Mode, bad_request};
use crate::reply::ShowBounds;
use crate::show::{self, Judge};
use crate::time::Time;
use crate::watch::{EvalWatcher, Purpose};

/// Answer code that waits for input, then wait like `eval` does
///
/// On a terminal, without a text, the question is asked right there; so it is by `eval` and
/// `output --wait`. Ctrl-D ends the input, Ctrl-C stops `eval`'s code.
///
/// A line end is added to the text unless `--no-newline` says not to. `--eof` ends the input,
/// after the text if there is any. A program that listens to its input without being known to wait
/// for it (`read -t 60`, ssh) takes it too.
///
/// A program that asks for an editor (`git commit`) waits with its file: the text is the whole new
/// content, `--eof` alone leaves it as it is, and `stead interrupt` makes the program give up.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  stead input -n py 'yes'
  stead input -n py --eof
  stead input -n py --hidden             for a password
  pass show key | stead input -n py -    from standard input
  stead input -n sh --file message.txt   for an editor
  stead input py:7 'c'                   refuse if another eval waits")]
pub(crate) struct InputArgs {
    /// What to give to the waiting code, `-` for what is on standard input; before it may stand the
    /// eval it is meant for
    #[arg(value_name = "[ID] TEXT", num_args = 0..=2)]
    words: Vec<String>,
    /// The same as ID before the text
    #[arg(long, value_name = "ID", hide = true)]
    eval_id: Option<String>,
    #[command(flatten)]
    session: SessionArg,
    /// Read the text from a file, `-` for standard input; a line end is added if it has none
    #[arg(long, value_name = "PATH")]
    file: Option<PathBuf>,
    /// Ask for the text on the terminal and do not show what is typed
    #[arg(long, conflicts_with_all = ["file", "eof"])]
    hidden: bool,
    /// End the input
    #[arg(long)]
    eof: bool,
    /// Do not add a line end to the text
    #[arg(long)]
    no_newline: bool,
    /// How long to wait for what follows
    #[arg(short, long, value_name = "TIME", default_value = "30s")]
    timeout: Time,
    /// Write output as it comes, all of it; in JSON a chunk per line
    #[arg(long)]
    stream: bool,
    #[command(flatten)]
    bounds: ShowBounds,
}

impl InputArgs {
    pub(crate) fn run(mut self, context: &Context) -> CommandResult {
        let words = self.eval_id.take().into_iter().chain(std::mem::take(&mut self.words));
        let alone = self.eof || self.hidden || self.file.is_some();
        let (id, text) = id_and_text(words.collect(), alone, |id| context.client.eval_id(id))?;
        if self.hidden && text.is_some() {
            return Err(bad_request("give a text or `--hidden`, not both"));
        }
        // Text from a file or a pipe may end with a line end already.
        let whole = self.file.is_some() || text.as_deref() == Some("-");
        let from_file = match &self.file {
            None => None,
            Some(_) if text.is_some() => {
                return Err(bad_request("give a text or `--file`, not both"));
            }
            Some(path) => Some(read_text(TextUse::Input, None, Some(path), context)?),
        };
        let name = match &id {
            Some(id) if self.session.name.as_deref().is_none_or(|n| n == id.session.as_str()) => {
                id.session.clone()
            }
            Some(id) => return Err(bad_request(format!("`{id}` is not an eval of that session"))),
            None => context.session(&self.session)?,
        };
        let text = match (text.as_deref(), self.hidden) {
            (Some("-"), false) => Some(read_text(TextUse::Input, Some("-".into()), None, context)?),
            (_, true) => match ask_hidden(context, &name, id.as_ref())? {
                Typed::Line(line) => Some(line),
                Typed::End => {
                    self.eof = true;
                    None
                }
                Typed::Nothing => return Ok(exit::LEFT),
            },
            _ => text,
        };
        let text = from_file.or(text);
        if text.is_none() && !self.eof {
            return self.ask_here(context, &name, id);
        }
        let mut text = text.unwrap_or_default();
        // `--eof` without a text sends no line end either.
        if !(self.no_newline || text.is_empty() && self.eof || whole && text.ends_with('\n')) {
            text.push('\n');
        }
        let mode = show::mode(context.mode, &self.bounds);
        let mut watch = self.watcher(mode);
        let options = InputOptions {
            eval: id.map(|id| id.seq),
            text,
            eof: self.eof,
            soft_timeout: self.timeout.0,
            max_chars: self.bounds.chars(),
        };
        let result = context.client.input(&name, &options, &mut watch);
        show::eval(&context.with_mode(mode), result, watch, &self.bounds, Judge::Eval)
    }

    fn watcher(&self, mode: Mode) -> EvalWatcher {
        let watch = EvalWatcher::new(mode, self.stream, self.bounds.raw, Purpose::Look);
        match self.bounds.raw || self.timeout.0.is_zero() {
            true => watch,
            false => watch.answering(mode),
        }
    }

    /// Without a text, a person at a terminal is asked what the eval asks.
    fn ask_here(self, context: &Context, name: &SessionName, id: Option<EvalId>) -> CommandResult {
        let mode = show::mode(context.mode, &self.bounds);
        let nothing = || bad_request("give a text, `-`, `--file`, `--hidden` or `--eof`");
        if mode != Mode::Text || !std::io::stdin().is_terminal() {
            return Err(nothing());
        }
        let status = context.client.status(name)?;
        let waiting =
            EvalId { session: name.clone(), seq: status.activity.eval().ok_or_else(nothing)? };
        let asked = id.unwrap_or(waiting);
        let options = OutputOptions {
            part: Part::Since { offset: status.spool_end },
            wait: Some(self.timeout.0),
            max_chars: self.bounds.chars(),
        };
        let mut watch = self.watcher(mode);
        let result = context.client.output(&asked, &options, &mut watch);
        show::eval(&context.with_mode(mode), result, watch, &self.bounds, Judge::Eval)
    }
}

/// Asks on the terminal what the eval asks, and does not show what is typed.
fn ask_hidden(
    context: &Context,
    name: &SessionName,
    id: Option<&EvalId>,
) -> Result<Typed, Failure> {
    let prompt = match context.client.status(name)?.activity {
        Activity::WaitingInput { eval, prompt, .. } if id.is_none_or(|id| id.seq == eval) => {
            plain(prompt)
        }
        _ => String::new(),
    };
    let prompt = if prompt.trim().is_empty() { "input:" } else { prompt.trim_end() };
    answer::hidden_line(&format!("{prompt} ")).map_err(|error| {
        let message = format!("there is no terminal to ask on: {error}");
        bad_request(message).with_hint("send it on standard input: `stead input -`")
    })
}

/// Two words are an id and a text. One word is the text, or the id if an id may stand alone.
fn id_and_text(
    words: Vec<String>,
    alone: bool,
    eval_id: impl Fn(&str) -> Result<EvalId, ClientError>,
) -> Result<(Option<EvalId>, Option<String>), Failure> {
    let mut words = words.into_iter();
    match (words.next(), words.next()) {
        (Some(id), Some(text)) => Ok((Some(eval_id(&id)?), Some(text))),
        (Some(word), None) if alone => match word.parse() {
            Ok::<EvalId, _>(_) => Ok((Some(eval_id(&word)?), None)),
            Err(_) => Ok((None, Some(word))),
        },
        (text, _) => Ok((None, text)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_may_stand_before_the_text() {
        let parse = |id: &str| id.parse().map_err(ClientError::from);
        let split = |words: &[&str], eof| {
            let words = words.iter().map(|w| (*w).to_owned()).collect();
            let (id, text) = id_and_text(words, eof, parse).unwrap();
            (id.map(|id| id.to_string()), text)
        };
        let text = |text: &str| Some(text.to_owned());
        assert_eq!(split(&["py:7", "yes"], false), (text("py:7"), text("yes")));
        assert_eq!(split(&["py:7"], false), (None, text("py:7")));
        assert_eq!(split(&["py:7"], true), (text("py:7"), None));
        assert_eq!(split(&[], true), (None, None));
        assert!(id_and_text(vec!["x".to_owned(), "y".to_owned()], false, parse).is_err());
    }
}
