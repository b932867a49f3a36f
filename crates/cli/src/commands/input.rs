//! `stead input`

use std::path::PathBuf;

use stead_client::{ClientError, InputOptions};
use stead_protocol::EvalId;

use super::eval::read_code;
use crate::context::{Context, SessionArg};
use crate::print::{CommandResult, Failure, bad_request};
use crate::reply::ShowBounds;
use crate::show::{self, Judge};
use crate::time::Time;
use crate::watch::{EvalWatcher, Purpose};

/// Answer code that waits for input, then wait like `eval` does
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
  stead input -n sh --file message.txt   for an editor
  stead input py:7 'c'                   refuse if another eval waits")]
pub(crate) struct InputArgs {
    /// What to give to the waiting code; before it may stand the eval it is meant for
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
    /// End the input
    #[arg(long)]
    eof: bool,
    /// Do not add a line end to the text
    #[arg(long)]
    no_newline: bool,
    /// How long to wait for what follows
    #[arg(short, long, value_name = "TIME", default_value = "30s")]
    timeout: Time,
    /// Write output as it comes; in JSON a chunk per line
    #[arg(long)]
    stream: bool,
    #[command(flatten)]
    bounds: ShowBounds,
}

impl InputArgs {
    pub(crate) fn run(self, context: &Context) -> CommandResult {
        let words = self.eval_id.into_iter().chain(self.words).collect();
        let (id, text) =
            id_and_text(words, self.eof || self.file.is_some(), |id| context.client.eval_id(id))?;
        let from_file = match &self.file {
            None => None,
            Some(_) if text.is_some() => {
                return Err(bad_request("give a text or `--file`, not both"));
            }
            Some(path) if path.as_os_str() == "-" => {
                Some(read_code(Some("-".into()), None, context)?)
            }
            Some(path) => Some(read_code(None, Some(path), context)?),
        };
        let name = match &id {
            Some(id) if self.session.name.as_deref().is_none_or(|n| n == id.session.as_str()) => {
                id.session.clone()
            }
            Some(id) => return Err(bad_request(format!("`{id}` is not an eval of that session"))),
            None => context.session(&self.session)?,
        };
        let has_end = from_file.as_ref().is_some_and(|text| text.ends_with('\n'));
        let text = match (from_file.or(text), self.eof) {
            (Some(mut text), _) => {
                if !self.no_newline && !has_end {
                    text.push('\n');
                }
                text
            }
            (None, true) => String::new(),
            (None, false) => return Err(bad_request("give a text, `--file`, or `--eof`")),
        };
        let mode = show::mode(context.mode, &self.bounds);
        let mut watch = EvalWatcher::new(mode, self.stream, self.bounds.raw, Purpose::Look);
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
