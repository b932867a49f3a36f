//! What a tool answers, before any protocol.

use stead_client::ClientError;
use stead_protocol::{ErrorCode, SessionName, WireError};

use crate::text::{bounded, cut, one_line};

/// How much of an error is shown.
const MESSAGE_CHARS: usize = 2_000;
/// How many sessions a hint names.
const NAMES_SHOWN: usize = 20;

/// Text first, then pictures.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Answer {
    /// What the model reads.
    pub(crate) text: String,
    /// What it looks at.
    pub(crate) images: Vec<Image>,
    /// Whether the call could not be carried out. Code that raises is no such failure (SPEC M-3).
    pub(crate) failed: bool,
}

/// A picture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Image {
    /// Its mime type.
    pub(crate) mime: String,
    /// Its bytes.
    pub(crate) bytes: Vec<u8>,
}

impl Answer {
    /// An answer in words.
    pub(crate) fn text(text: impl Into<String>) -> Self {
        Answer { text: text.into(), images: Vec::new(), failed: false }
    }

    /// The same in at most `room` characters.
    pub(crate) fn bounded(self, room: usize) -> Self {
        Answer { text: bounded(self.text, room), ..self }
    }

    /// A call that could not be carried out, and what to do about it.
    pub(crate) fn failure(error: &WireError) -> Self {
        let message = cut(&one_line(&error.message), MESSAGE_CHARS);
        let mut text = format!("[{}: {message}]", error.code.as_str());
        if let Some(hint) = &error.hint {
            text.push_str("\nhint: ");
            text.push_str(&cut(&one_line(hint), MESSAGE_CHARS));
        }
        Answer { text, images: Vec::new(), failed: true }
    }
}

impl From<Result<Answer, ClientError>> for Answer {
    fn from(result: Result<Answer, ClientError>) -> Self {
        result.unwrap_or_else(|error| {
            let hint = next_call(&error);
            Answer::failure(&WireError { hint, ..error.to_wire() })
        })
    }
}

/// The next step in terms of tools; the client's own hints speak of commands.
fn next_call(error: &ClientError) -> Option<String> {
    let names = |names: &[SessionName]| {
        let shown: Vec<_> = names.iter().take(NAMES_SHOWN).map(SessionName::as_str).collect();
        let more = names.len() - shown.len();
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        shown.join(", ") + &more
    };
    match error {
        ClientError::NotFound { existing, .. } | ClientError::WhichSession { existing } => {
            Some(match existing.as_slice() {
                [] => "there are no sessions here; eval with a language starts one".to_owned(),
                some => {
                    format!("sessions here: {}; eval with a language starts a new one", names(some))
                }
            })
        }
        ClientError::NoLanguage { name, existing, .. } => {
            let start = format!("to start `{name}`, give eval a `language`");
            Some(match existing.as_slice() {
                [] => start,
                some => format!("sessions here: {}; {start}", names(some)),
            })
        }
        ClientError::Exists { .. } => {
            Some("use it with eval, or stop it first with control".to_owned())
        }
        ClientError::Ended { .. } => Some("the next eval starts it fresh".to_owned()),
        ClientError::HungUp { .. } | ClientError::Connection { .. } => {
            Some("call sessions to see how it stands".to_owned())
        }
        ClientError::Silent { .. } => error.hint(),
        ClientError::Refused(error) if error.code == ErrorCode::WaitingInput => {
            Some("answer it with input, or interrupt it with control".to_owned())
        }
        ClientError::Refused(error) if error.code == ErrorCode::SessionBusy => {
            Some("wait for it with output and wait_ms, or interrupt it with control".to_owned())
        }
        ClientError::Refused(_)
        | ClientError::Name(_)
        | ClientError::Lost { .. }
        | ClientError::NoEval { .. }
        | ClientError::EvalGone { .. }
        | ClientError::InUse { .. }
        | ClientError::Launch { .. }
        | ClientError::Left { .. }
        | ClientError::File { .. }
        | ClientError::Spool { .. } => error.hint(),
    }
}
