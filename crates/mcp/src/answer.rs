//! What a tool answers, before any protocol.

use stead_client::ClientError;
use stead_protocol::{ErrorCode, WireError};

use crate::hints::next_call;
use crate::text::{bounded, cut, one_line};
use crate::told_once::ToldOnce;

/// How much of an error is shown.
const MESSAGE_CHARS: usize = 2_000;

/// Text first, then pictures.
#[derive(Debug, Clone)]
pub(crate) struct Answer {
    /// The text that the model reads.
    pub(crate) text: String,
    /// The images that the model sees.
    pub(crate) images: Vec<Image>,
    /// Whether the call could not be carried out. Code that raises is no such failure (SPEC M-3).
    pub(crate) failed: bool,
    /// What in it is said only once.
    pub(crate) once: Vec<ToldOnce>,
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
        Answer { text: text.into(), images: Vec::new(), failed: false, once: Vec::new() }
    }

    /// The same in at most `room` characters.
    pub(crate) fn bounded(self, room: usize) -> Self {
        Answer { text: bounded(self.text, room), ..self }
    }

    /// For a call that was cancelled; it is written to nobody.
    pub(crate) fn cancelled() -> Self {
        Answer::failure(&WireError::new(ErrorCode::Interrupted, "the request was cancelled"))
    }

    /// A call that could not be carried out, and what to do about it.
    pub(crate) fn failure(error: &WireError) -> Self {
        Answer::failure_in(error, usize::MAX)
    }

    /// The same in at most `room` characters: the code is whole, and the message leaves half of the room to the hint.
    fn failure_in(error: &WireError, room: usize) -> Self {
        let (code, hint) = (error.code.as_str(), error.hint.as_deref().map(one_line));
        // The brackets, a colon, the word in front of the hint and the marks of two cuts.
        let room = room.saturating_sub(code.len() + "[: ]\nhint: ……".chars().count());
        let least = hint.as_ref().map_or(0, |hint| hint.chars().count().min(room / 2));
        let message = cut(&one_line(&error.message), (room - least).min(MESSAGE_CHARS));
        let left = room.saturating_sub(message.chars().count());
        let mut text = format!("[{code}: {message}]");
        if let Some(hint) = &hint {
            text.push_str("\nhint: ");
            text.push_str(&cut(hint, left.min(MESSAGE_CHARS)));
        }
        Answer { failed: true, ..Answer::text(text) }
    }

    /// What became of a call, in at most `room` characters if it could not be carried out.
    pub(crate) fn of(result: Result<Answer, ClientError>, room: usize) -> Self {
        result.unwrap_or_else(|error| {
            let hint = next_call(&error);
            let error = WireError { hint, ..WireError::new(error.code(), error.message()) };
            Answer::failure_in(&error, room)
        })
    }
}
