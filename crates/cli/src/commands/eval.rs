//! `stead eval`

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, IsTerminal, Read};
use std::path::{Path, PathBuf};

use stead_client::{EvalOptions, LaunchOptions, language};
use stead_protocol::{ErrorCode, MAX_CODE, SessionName};

use crate::context::{Context, SessionArg};
use crate::print::{CommandResult, Failure, bad_request};
use crate::time::Time;
use crate::waiting::Waiting;

/// Run code in a session and print what it writes
///
/// Without `-n` the code goes to the only live session of the workspace; if there is none, or more
/// than one, to `py`. Starts the session if there is none and its name is a language (`py`, `python`),
/// a toolchain or a session of a configuration file, or `-l` names a language. When the code outlives `--timeout` it keeps running, and the command prints what there is
/// so far and how to read on. The code is the argument, or `--file`, or standard input.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  stead eval '6 * 7'
  stead eval -n py 'import math; math.pi'
  stead eval -n data -l python --file load.py
  echo 'print(1)' | stead eval -n py
  stead eval -n py --bg 'train()'              returns the id at once
  stead eval -n py --stream 'for l in log: print(l)'
  stead eval -n py --hard-timeout 5m -- '-1'   code that begins with a dash

With --stream and in JSON each line is a chunk, {\"type\":\"out\",\"content\":…}, and the last one is
{\"type\":\"done\",…}; --max-chars bounds only what that one repeats, the value and the error.
Progress bars: {\"type\":\"status\",\"redraw\":true,\"stream\":\"err\",\"content\":…} shows lines of that stream as
they are being redrawn, at most ten times a second, until the next chunk of the stream; the text itself
follows when the line is done, so such chunks may be passed over. A text with \"replaces\":N takes the
place of the last N lines of its stream (one without an end counts), which a program went back to and
wrote anew.

Ctrl-C interrupts the code, a second one leaves it running.
Times are milliseconds unless they say so: 500, 500ms, 30s, 5m, 2h.
Exit code: 0 done or still running, 1 the code failed or was interrupted, 2 the request could not
be carried out, 3 hard timeout.")]
pub(crate) struct EvalArgs {
    /// Code to run; `-` reads it from standard input
    #[arg(value_name = "CODE")]
    code: Option<OsString>,
    #[command(flatten)]
    session: SessionArg,
    /// Read the code from a file, `-` for standard input
    #[arg(short, long, value_name = "FILE", conflicts_with = "code")]
    file: Option<PathBuf>,
    /// Language or toolchain of a session that may have to be started
    #[arg(short, long, value_name = "LANGUAGE")]
    language: Option<String>,
    /// Leave your standard library out of a session that has to be started
    #[arg(long)]
    no_stdlib: bool,
    /// How long to wait for the code; it goes on after that
    #[arg(short, long, value_name = "TIME", default_value = "30s")]
    timeout: Time,
    /// Refuse rather than wait behind another eval
    #[arg(long)]
    no_queue: bool,
    /// Run this code once only: the same key again returns the first result
    #[arg(long, value_name = "KEY")]
    key: Option<String>,
    #[command(flatten)]
    waiting: Waiting,
}

impl EvalArgs {
    pub(crate) fn run(self, context: &Context) -> CommandResult {
        let name = self.session_name(context)?;
        let code = read_code(self.code, self.file.as_deref(), context)?;
        let (key, no_queue) = (self.key, self.no_queue);
        let no_stdlib = self.no_stdlib;
        let launch = LaunchOptions { no_stdlib, ..context.launch(self.language) };
        self.waiting.run(context, code, &self.timeout, |options, watch| {
            let options = EvalOptions { key, no_queue, ..options };
            context.client.eval(&name, &launch, &options, watch)
        })
    }

    fn session_name(&self, context: &Context) -> Result<SessionName, Failure> {
        match (&self.session.name, &self.language) {
            (Some(name), _) => context.session_named(name),
            (None, Some(given)) => Ok(context.client.resolve(language::session_name(given)?)),
            // As over MCP, code without a session goes to the one of the default language (SPEC C-2).
            (None, None) => match context.client.only_live()? {
                Some(name) => Ok(name),
                None => context.session_named(stead_config::default_language().alias),
            },
        }
    }
}

/// What a text that a command sends is for.
#[derive(Debug, Clone, Copy)]
pub(super) enum TextUse {
    Code,
    Input,
}

impl TextUse {
    fn word(self) -> &'static str {
        match self {
            TextUse::Code => "code",
            TextUse::Input => "input",
        }
    }

    /// What can be done with bytes that cannot be sent.
    fn instead(self) -> &'static str {
        match self {
            TextUse::Code => "save it as UTF-8; other bytes go into a file that the code reads",
            TextUse::Input => {
                "only text can be sent: put the bytes into a file that the code reads"
            }
        }
    }
}

pub(super) fn read_code(
    argument: Option<OsString>,
    file: Option<&Path>,
    context: &Context,
) -> Result<String, Failure> {
    read_text(TextUse::Code, argument, file, context)
}

pub(super) fn read_text(
    text_use: TextUse,
    argument: Option<OsString>,
    file: Option<&Path>,
    context: &Context,
) -> Result<String, Failure> {
    let bytes = match (argument, file) {
        (Some(code), _) if code != "-" => code.into_encoded_bytes(),
        (_, Some(path)) if path.as_os_str() != "-" => {
            let path = context.path(path);
            File::open(&path).and_then(read_limited).map_err(|error| {
                bad_request(format!("could not read `{}`: {error}", path.display()))
            })?
        }
        (given, file) => {
            if given.is_none() && file.is_none() && io::stdin().is_terminal() {
                let error = Failure::new(ErrorCode::BadRequest, "no code was given");
                let hint = "give it as an argument, with `--file`, or on standard input";
                return Err(error.with_hint(hint));
            }
            read_limited(io::stdin().lock())
                .map_err(|error| bad_request(format!("could not read standard input: {error}")))?
        }
    };
    check(text_use, bytes)
}

/// Reads at most one byte more than is allowed, which is enough to see that it is too much.
fn read_limited(from: impl Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    from.take(MAX_CODE as u64 + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn check(text_use: TextUse, bytes: Vec<u8>) -> Result<String, Failure> {
    let word = text_use.word();
    if bytes.len() > MAX_CODE {
        let most = match text_use {
            TextUse::Code => "the most one eval may have",
            TextUse::Input => "the most that can be sent at once",
        };
        let message =
            format!("the {word} has more than {MAX_CODE} bytes ({} MiB), {most}", MAX_CODE >> 20);
        return Err(Failure::new(ErrorCode::LimitExceeded, message)
            .with_hint("put data into a file and read it from the code"));
    }
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let byte = error.as_bytes()[at];
        bad_request(format!("the {word} is not UTF-8: byte 0x{byte:02x} at position {at}"))
            .with_hint(text_use.instead())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_that_is_no_text_is_refused_with_its_place() {
        let error = check(TextUse::Code, b"ab\xff".to_vec()).unwrap_err();
        assert_eq!(error.code, ErrorCode::BadRequest);
        assert!(
            error.message.contains("the code is not UTF-8: byte 0xff at position 2"),
            "{error:?}"
        );
        assert!(error.hint.unwrap().contains("save it as UTF-8"));
        let error = check(TextUse::Input, b"bin\x00\xff".to_vec()).unwrap_err();
        assert!(
            error.message.contains("the input is not UTF-8: byte 0xff at position 4"),
            "{error:?}"
        );
        assert!(error.hint.unwrap().contains("into a file that the code reads"));
        let error = check(TextUse::Input, vec![b' '; MAX_CODE + 1]).unwrap_err();
        assert!(error.message.starts_with("the input has more than"), "{error:?}");
    }

    #[test]
    fn e15_code_has_a_limit() {
        assert!(check(TextUse::Code, vec![b' '; MAX_CODE]).is_ok());
        let error = check(TextUse::Code, vec![b' '; MAX_CODE + 1]).unwrap_err();
        assert_eq!(error.code, ErrorCode::LimitExceeded);
        assert!(error.message.contains("16 MiB"), "{error:?}");
    }
}
