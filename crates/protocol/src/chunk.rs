//! What an eval leaves to read: the pieces of a session's output.

use serde::{Deserialize, Serialize};

use crate::bridge::Stream;
use crate::outcome::is_zero;
use crate::refusal::lenient;

/// What a spool record holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ChunkKind {
    /// Bytes of standard output.
    Out,
    /// Bytes of standard error.
    Err,
    /// A value; the payload is a `ValueInfo` in JSON.
    Value,
    /// An error; the payload is an `ErrorInfo` in JSON.
    Error,
    /// A display; the payload is a `DisplayInfo` in JSON.
    Display,
    /// A note of the host about the session, as text.
    Status,
    /// Standard output that no running eval wrote.
    BackgroundOut,
    /// Standard error that no running eval wrote.
    BackgroundErr,
    /// What came of work that is not code; the payload is a `ReportInfo` in JSON.
    Report,
}

impl ChunkKind {
    /// The word for it in JSON replies (SPEC C-4). What came of work is a note there, as those of the host are.
    pub fn word(self) -> &'static str {
        match self {
            ChunkKind::Out => "out",
            ChunkKind::Err => "err",
            ChunkKind::Value => "value",
            ChunkKind::Error => "error",
            ChunkKind::Display => "display",
            ChunkKind::Status | ChunkKind::Report => "status",
            ChunkKind::BackgroundOut | ChunkKind::BackgroundErr => "background",
        }
    }

    /// Whether an eval or other work ends with it: its value or error, or its report.
    pub fn is_result(self) -> bool {
        match self {
            ChunkKind::Value | ChunkKind::Error | ChunkKind::Report => true,
            ChunkKind::Out
            | ChunkKind::Err
            | ChunkKind::Display
            | ChunkKind::Status
            | ChunkKind::BackgroundOut
            | ChunkKind::BackgroundErr => false,
        }
    }

    /// Whether the eval itself wrote it; `output --offset` counts this output.
    pub fn is_own_output(self) -> bool {
        match self {
            ChunkKind::Out | ChunkKind::Err => true,
            ChunkKind::BackgroundOut | ChunkKind::BackgroundErr => false,
            ChunkKind::Value
            | ChunkKind::Error
            | ChunkKind::Display
            | ChunkKind::Status
            | ChunkKind::Report => false,
        }
    }

    /// Whether it was written by a process while none of its own evals ran.
    pub fn is_background(self) -> bool {
        self.is_stream() && !self.is_own_output()
    }

    /// Whether it holds bytes of a standard stream, which may be cut anywhere; all other kinds are whole or
    /// missing.
    pub fn is_stream(self) -> bool {
        self.stream().is_some()
    }

    /// The standard stream that its bytes were written to.
    pub fn stream(self) -> Option<Stream> {
        match self {
            ChunkKind::Out | ChunkKind::BackgroundOut => Some(Stream::Out),
            ChunkKind::Err | ChunkKind::BackgroundErr => Some(Stream::Err),
            ChunkKind::Value
            | ChunkKind::Error
            | ChunkKind::Display
            | ChunkKind::Status
            | ChunkKind::Report => None,
        }
    }

    /// The kind of bytes of this stream: the running eval's own, or background output.
    pub fn of(stream: Stream, background: bool) -> ChunkKind {
        match (stream, background) {
            (Stream::Out, false) => ChunkKind::Out,
            (Stream::Err, false) => ChunkKind::Err,
            (Stream::Out, true) => ChunkKind::BackgroundOut,
            (Stream::Err, true) => ChunkKind::BackgroundErr,
        }
    }
}

/// One piece of what an eval produced, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chunk {
    /// What it is.
    pub kind: ChunkKind,
    /// Raw bytes for the streams, text or JSON for the rest.
    pub bytes: Vec<u8>,
}

/// A value as the bridge rendered it, within its budget.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ValueInfo {
    /// The rendering.
    pub text: String,
    /// The name of its type.
    #[serde(rename = "type")]
    pub type_name: String,
}

/// An error of the user's code.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorInfo {
    /// The exception's type.
    pub name: String,
    /// Its message.
    pub message: String,
    /// The traceback as the language prints it; absent for exits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub traceback: Option<String>,
    /// The code ends before it is whole, and none of it has run (SPEC E-20).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub incomplete: bool,
    /// What its bridge knows of a package that is missing.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "lenient")]
    pub missing: Option<Box<Missing>>,
}

/// What is known where a package is missing, or where code was to install one.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Missing {
    /// The module that was not found, with its dots.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub module: Option<String>,
    /// It belongs to the language itself, so no package brings it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub of_language: bool,
    /// The command that installs packages into the environment that the code runs in; their names follow it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub install: Option<String>,
    /// That command makes an environment, which only the next interpreter runs in.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub makes_environment: bool,
}

/// Whether text of this type is for a browser: it lies in a file and is never shown as it is (SPEC O-9).
pub fn is_markup(mime: &str) -> bool {
    let kind = mime.split(';').next().unwrap_or_default().trim();
    matches!(
        kind,
        "text/html"
            | "application/xhtml+xml"
            | "image/svg+xml"
            | "text/javascript"
            | "application/javascript"
    )
}

/// A display of an eval: text that is not plain, or a file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DisplayInfo {
    /// Its mime type.
    pub mime: String,
    /// The text itself, for text that can be read as it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<String>,
    /// The file that holds it: in the spool relative to the session's directory, from a client as
    /// a whole path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The size of that file.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub bytes: u64,
    /// Width and height in pixels, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pixels: Option<(u32, u32)>,
    /// A note for the reader: that it was scaled down, or could not be kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// The id by which later displays update this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// It takes the place of the last one with this id, which may be of an earlier eval.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub update: bool,
}
