//! Host to bridge and back. The host sends words and bytes, the bridge sends JSON objects, one a line.

mod command;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::refusal::lenient;
use crate::tagged::{fields, tagged};
use crate::words::words;
use crate::{Capabilities, Changed, Missing, StartTrouble, Usage};

pub use command::{Command, CommandFrame, Commands, NoCommand};

/// The version of this wire.
pub const VERSION: u32 = 1;

/// What a bridge tells the host.
#[derive(Debug, Deserialize, Serialize)]
#[serde(remote = "Self", tag = "ev", rename_all = "snake_case")]
pub enum BridgeEvent {
    /// Said before `hello` by a bridge whose interpreter takes long to start.
    Starting {
        /// How long it may take from now on.
        within_ms: u64,
    },
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
        /// What it can do beyond evals.
        #[serde(default)]
        can: Capabilities,
        /// What sessions usually do and this one cannot, for people.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        cannot: Vec<String>,
        /// The number at which only the bridge, and what it forks for its own work, has the control channel; code of the
        /// user's finds something else there.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        channel: Option<u32>,
    },
    /// Said in place of `hello` by a bridge that cannot get at what is to run the code; it exits then.
    NotReady {
        /// What failed, and on what.
        message: String,
        /// The same for front ends that give advice.
        #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "lenient")]
        trouble: Option<Box<StartTrouble>>,
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
        /// The code ends before it is whole, and none of it has run (SPEC E-20).
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        incomplete: bool,
        /// What is known of a package that is missing.
        #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "lenient")]
        missing: Option<Box<Missing>>,
    },
    /// A display: an image, a table or other rich output.
    Display {
        /// Mime type.
        mime: String,
        /// Text, or base64 for binary types.
        data: String,
        /// A note for the reader about it.
        #[serde(default)]
        note: Option<String>,
        /// The id by which later displays update this one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        id: Option<String>,
        /// It takes the place of the last one with this id, which may be of an earlier eval.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        update: bool,
        /// Whether the bridge waits.
        #[serde(default)]
        ack: bool,
    },
    /// What came of the work that runs; at most once, before `done`.
    Report {
        /// An object; its fields depend on the kind of work.
        data: Value,
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
        /// The answer is a secret, as a password: it should not be shown.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        secret: bool,
    },
    /// The main thread, which waited behind another reader, goes on.
    StdinTurn {},
    /// Code that runs elsewhere waits for input; the answer comes on standard input. Said by bridges that can `own_waits`.
    Waits {
        /// What it asks; not written to standard output as well.
        #[serde(default)]
        prompt: Option<String>,
        /// The answer is a secret, as a password: it should not be shown.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        secret: bool,
        /// The eval it belongs to; the running one if nothing is said.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        eval: Option<String>,
    },
    /// The code no longer waits, though no input came: it was answered elsewhere, or its time was over.
    WaitsNoMore {},
    /// An interrupt was passed on, or could not be. Whether it has stopped the eval is told by `done`.
    Interrupted {
        /// The eval.
        eval: String,
        /// Why it was not passed on.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<String>,
    },
    /// What processes elsewhere use; those below the bridge itself are counted by the host.
    Figures(Usage),
    /// The connection to the place where the code runs is lost. The bridge tries to get it back.
    Lost {
        /// What happened.
        reason: String,
    },
    /// That connection is back.
    Found {
        /// Something the reader should know.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
        /// Output from between may be missing.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        gap: bool,
    },
    /// The bridge waits for `ack`, which comes when all output before is read from the pipes. For languages
    /// that cannot ask whether a pipe is empty.
    Sync {},
    /// The eval is over; everything it wrote was flushed before.
    Done(Done),
    /// User code asked to end the session; exit handlers run now, then the process exits.
    Exiting {
        /// With this code.
        code: i32,
        /// Why, if the user's code did not ask for it: the kernel elsewhere was removed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
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
    /// The first line of a copy that was woken, where `hello` stands in a new interpreter: it takes commands.
    Restored {
        /// Its process.
        pid: u32,
        /// What of the state could not be had again, for people.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        lost: Vec<String>,
        /// How many names the user has.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        variables: Option<u64>,
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
    /// None of the code has run, because it cannot be compiled or is incomplete, so there is nothing to undo.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub nothing_ran: bool,
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
    /// The namespace that the next eval runs in, in languages that have such (Clojure).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ns: Option<String>,
}

impl Done {
    /// The end of an eval of which there is nothing else to say.
    pub fn new(eval: impl Into<String>, status: DoneStatus) -> Done {
        Done {
            eval: eval.into(),
            status,
            nothing_ran: false,
            exit_code: None,
            changed: None,
            variables: None,
            notice: None,
            ns: None,
        }
    }
}

/// A standard stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stream {
    /// Standard output.
    Out,
    /// Standard error.
    Err,
}

// Text of an unknown stream is shown with standard output rather than lost.
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
    fn a_newer_event_is_no_parse_error() {
        let event: BridgeEvent = serde_json::from_str(r#"{"ev":"sing","song":1}"#).unwrap();
        assert!(matches!(event, BridgeEvent::Unknown));
    }
}
