//! Host to bridge and back.
//!
//! To the bridge go lines of plain words, each followed by as many raw bytes as its last word
//! says. A Bash bridge can read that with builtins; JSON in this direction would need a parser
//! in every language. From the bridge come JSON objects, one a line.

use std::fmt;
use std::io::Write;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::client::Place;
use crate::tagged::{fields, tagged};
use crate::words::words;
use crate::{Changed, EvalId};

/// The version of this wire.
pub const VERSION: u32 = 1;

/// As long as most first lines.
const HEAD: usize = 64;

/// What the host tells a bridge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command<'a> {
    /// Run this code; answered by `done`, with anything else of its events before it.
    Eval {
        /// The eval.
        id: &'a EvalId,
        /// Its code.
        code: &'a str,
    },
    /// Where the next eval runs: a directory and the whole environment. For shell commands only.
    Place(&'a Place),
    /// The ordered event before this has been recorded: go on.
    Ack,
    /// The signal that follows is meant for this eval; no answer.
    Interrupt {
        /// The eval.
        id: &'a EvalId,
    },
    /// Answer a question about the namespace with `reply`.
    Query {
        /// Number of the question.
        seq: u64,
        /// `vars`, `inspect` or `complete`.
        what: &'a str,
        /// Its argument.
        arg: &'a str,
    },
    /// Empty the namespace; answered by `reply`.
    Clear {
        /// Number of the request.
        seq: u64,
    },
    /// End the interpreter in good order.
    Exit,
}

impl Command<'_> {
    /// The bytes to send.
    pub fn encode(&self) -> Vec<u8> {
        let with = |head: fmt::Arguments<'_>, payload: &[u8]| {
            let mut bytes = Vec::with_capacity(HEAD + payload.len());
            // A Vec takes all that is written to it.
            let _ = writeln!(bytes, "{head} {}", payload.len());
            bytes.extend_from_slice(payload);
            bytes
        };
        match self {
            Command::Eval { id, code } => with(format_args!("eval {id}"), code.as_bytes()),
            Command::Place(place) => with(format_args!("place"), &place.encode()),
            Command::Ack => with(format_args!("ack"), b""),
            Command::Interrupt { id } => with(format_args!("interrupt {id}"), b""),
            Command::Query { seq, what, arg } => {
                with(format_args!("query {seq} {what}"), arg.as_bytes())
            }
            Command::Clear { seq } => with(format_args!("clear {seq}"), b""),
            Command::Exit => with(format_args!("exit"), b""),
        }
    }
}

/// What a bridge tells the host.
#[derive(Debug, Deserialize, Serialize)]
#[serde(remote = "Self", tag = "ev", rename_all = "snake_case")]
pub enum BridgeEvent {
    /// The first line: the bridge is ready for commands.
    Hello {
        /// The version it speaks.
        protocol: u32,
        /// Its language.
        language: String,
        /// The language's version.
        version: String,
        /// The interpreter's real executable.
        executable: String,
        /// Its process id; signals go there.
        pid: u32,
        /// What it can do beyond evals: `clear`, `vars`, `inspect`, `complete`, `changed`, `code`,
        /// `interrupts`, `waits`.
        #[serde(default)]
        can: Vec<String>,
    },
    /// A value to show. If `ack` is set the bridge waits for `ack` before it goes on, which
    /// keeps what user code prints next behind it.
    Value(Shown),
    /// An error of user code.
    Error {
        /// The exception's type.
        name: String,
        /// Its message.
        message: String,
        /// As the language prints it.
        #[serde(default)]
        traceback: Option<String>,
    },
    /// Something rich to show.
    Display {
        /// Mime type.
        mime: String,
        /// Text, or base64 for binary types.
        data: String,
        /// What the reader should know about it.
        #[serde(default)]
        note: Option<String>,
        /// Whether the bridge waits.
        #[serde(default)]
        ack: bool,
    },
    /// Output of a thread that belongs to an earlier eval.
    Background {
        /// That eval, if known.
        #[serde(default)]
        eval: Option<String>,
        /// `out` or `err`.
        stream: Stream,
        /// The text.
        text: String,
    },
    /// A thread is about to block on an empty stdin.
    StdinWait {
        /// Its kernel thread id.
        tid: u32,
        /// The eval it belongs to, if known.
        #[serde(default)]
        eval: Option<String>,
        /// The thread that reads now and that this one waits for.
        #[serde(default)]
        behind: Option<u32>,
        /// No timer of the user's is set in the event loop that waits.
        #[serde(default)]
        no_timers: bool,
    },
    /// The main thread, which waited behind another reader, goes on.
    StdinTurn {},
    /// The bridge waits for `ack`, which comes when all that was written before is taken from the
    /// pipes: for languages that cannot ask whether a pipe is empty.
    Sync {},
    /// The eval is over; everything it wrote was flushed before.
    Done(Done),
    /// User code asked to end the session; exit handlers run now, then the process exits.
    Exiting {
        /// With this code.
        code: i32,
    },
    /// Answer to `query` or `clear`.
    Reply {
        /// Number of the request.
        seq: u64,
        /// The answer.
        #[serde(default)]
        data: Option<Value>,
        /// Why there is none.
        #[serde(default)]
        error: Option<String>,
    },
    /// For the log.
    Log {
        /// The text.
        text: String,
    },
    /// An event of a newer bridge; ignored.
    #[serde(other)]
    Unknown,
}

tagged!(
    BridgeEvent, "ev",
    "value" => |rest| fields(rest).map(BridgeEvent::Value),
    "done" => |rest| fields(rest).map(BridgeEvent::Done),
);

/// A value.
#[derive(Debug, Deserialize, Serialize)]
pub struct Shown {
    /// The rendering, within the budget.
    pub text: String,
    /// The type's name.
    #[serde(rename = "type")]
    pub type_name: String,
    /// Whether the bridge waits.
    #[serde(default)]
    pub ack: bool,
}

/// The end of an eval.
#[derive(Debug, Deserialize, Serialize)]
pub struct Done {
    /// Which eval.
    pub eval: String,
    /// How it ended.
    pub status: DoneStatus,
    /// Code of an exit inside the eval.
    #[serde(default)]
    pub exit_code: Option<i32>,
    /// What it did to the names of the session.
    #[serde(default)]
    pub changed: Option<Changed>,
    /// How many names the user has now.
    #[serde(default)]
    pub variables: Option<u64>,
    /// Something the user should know.
    #[serde(default)]
    pub notice: Option<String>,
}

/// A standard stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stream {
    /// Standard output.
    Out,
    /// Standard error.
    Err,
}

// Text of a stream that we do not know is shown with standard output rather than lost.
words!(Stream { Out => "out", Err => "err" } else Out);

/// How the bridge saw an eval end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DoneStatus {
    /// To its end.
    Ok,
    /// It failed; an `error` event came before.
    Error,
    /// An interrupt stopped it.
    Interrupted,
    /// In a way that a newer bridge knows.
    Unknown,
}

words!(DoneStatus {
    Ok => "ok",
    Error => "error",
    Interrupted => "interrupted",
    Unknown => "unknown",
} else Unknown);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_words_then_bytes() {
        let id: EvalId = "py:7".parse().unwrap();
        assert_eq!(Command::Eval { id: &id, code: "é\n" }.encode(), "eval py:7 3\né\n".as_bytes());
        assert_eq!(Command::Query { seq: 2, what: "vars", arg: "" }.encode(), b"query 2 vars 0\n");
        assert_eq!(Command::Exit.encode(), b"exit 0\n");
    }

    #[test]
    fn a_newer_event_is_no_parse_error() {
        let event: BridgeEvent = serde_json::from_str(r#"{"ev":"sing","song":1}"#).unwrap();
        assert!(matches!(event, BridgeEvent::Unknown));
    }
}
