//! Writing replies: one JSON object a command, or text (SPEC C-3).

use std::io::{self, Write};

use serde::Serialize;
use stead_client::ClientError;
use stead_protocol::ErrorCode;
use stead_screen::plain;

use crate::paint::{BAD, PLACE, Paint};
use crate::{exit, full_screen, hints};

/// How replies are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    /// One JSON object.
    Json,
    /// For people.
    Text,
}

/// A command that could not be carried out; the fields stand in the order of SPEC C-3.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Failure {
    /// For programs.
    pub(crate) code: ErrorCode,
    /// What failed, on what.
    pub(crate) message: String,
    /// The next step.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) hint: Option<String>,
}

impl Failure {
    pub(crate) fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Failure { code, message: message.into(), hint: None }
    }

    /// The same failure with its next step.
    pub(crate) fn with_hint(self, hint: impl Into<String>) -> Self {
        Failure { hint: Some(hint.into()), ..self }
    }
}

impl From<ClientError> for Failure {
    fn from(error: ClientError) -> Self {
        let hint = hints::next_step(&error);
        Failure { code: error.code(), message: error.message(), hint }
    }
}

/// What a command returns: its exit code.
pub(crate) type CommandResult = Result<u8, Failure>;

/// A request that is wrong in itself.
pub(crate) fn bad_request(message: impl Into<String>) -> Failure {
    Failure::new(ErrorCode::BadRequest, message)
}

/// A reply; the fields stand in the order of SPEC C-3.
#[derive(Debug, Serialize)]
pub(crate) struct CliReply<'a, T> {
    ok: bool,
    command: &'a str,
    status: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a Failure>,
    #[serde(skip_serializing_if = "Option::is_none")]
    data: Option<T>,
}

impl<'a, T: Serialize> CliReply<'a, T> {
    pub(crate) fn success(command: &'a str, status: &'a str, data: T) -> Self {
        CliReply { ok: true, command, status, error: None, data: Some(data) }
    }

    pub(crate) fn verdict(
        command: &'a str,
        status: &'a str,
        error: Option<&'a Failure>,
        data: T,
    ) -> Self {
        CliReply { ok: error.is_none(), command, status, error, data: Some(data) }
    }
}

/// Writes one line of JSON.
pub(crate) fn json(value: &impl Serialize) {
    match serde_json::to_vec(value) {
        Ok(mut line) => {
            line.push(b'\n');
            out(&line);
        }
        Err(error) => err(format!("could not write the reply: {error}\n").as_bytes()),
    }
}

/// Writes a failure: as JSON too, if that is the mode.
pub(crate) fn failure(mode: Mode, command: &str, failure: &Failure) -> u8 {
    let mut error = failure.clone();
    error.message = plain(&error.message);
    error.hint = error.hint.map(stead_screen::into_plain);
    match mode {
        Mode::Json => {
            let status = if error.code == ErrorCode::SessionEnded { "ended" } else { "error" };
            json(&CliReply::<()> { ok: false, command, status, error: Some(&error), data: None });
        }
        Mode::Text => {
            let paint = Paint::stderr();
            let mut text = format!("{} {}\n", paint.paint(BAD, "error:"), error.message);
            if let Some(hint) = &error.hint {
                text.push_str(&format!("{} {hint}\n", paint.paint(PLACE, "hint:")));
            }
            err(text.as_bytes());
        }
    }
    exit::REQUEST_FAILED
}

/// Writes to standard output. An error means that nobody reads it any more, so nothing is left to do.
pub(crate) fn out(bytes: &[u8]) {
    let mut stdout = io::stdout().lock();
    finish(stdout.write_all(bytes).and_then(|()| stdout.flush()));
}

/// Whether the terminal, if there is one, can move its cursor.
pub(crate) fn moves_the_cursor() -> bool {
    std::env::var_os("TERM").is_some_and(|term| !term.is_empty() && term != "dumb")
}

/// Writes to standard error.
pub(crate) fn err(bytes: &[u8]) {
    let _ = io::stderr().write_all(bytes);
}

fn finish(written: io::Result<()>) {
    match written {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => leave(exit::SUCCESS),
        Err(error) => {
            full_screen::give_back();
            err(format!("error: could not write to standard output: {error}\n").as_bytes());
            leave(exit::REQUEST_FAILED)
        }
    }
}

/// Ends this process at once, and leaves the terminal as it was before.
pub(crate) fn leave(code: u8) -> ! {
    full_screen::give_back();
    stead_launch::echo::show_again();
    std::process::exit(code.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn c3_replies_have_their_fields_in_order() {
        let reply = CliReply::success("stop", "complete", serde_json::json!({"session": "py"}));
        assert_eq!(
            serde_json::to_string(&reply).unwrap(),
            r#"{"ok":true,"command":"stop","status":"complete","data":{"session":"py"}}"#
        );
        let error = Failure::new(ErrorCode::SessionNotFound, "no").with_hint("look");
        let reply = CliReply::<()> {
            ok: false,
            command: "eval",
            status: "error",
            error: Some(&error),
            data: None,
        };
        assert_eq!(
            serde_json::to_string(&reply).unwrap(),
            r#"{"ok":false,"command":"eval","status":"error","error":{"code":"session_not_found","message":"no","hint":"look"}}"#
        );
    }
}
