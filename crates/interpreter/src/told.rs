//! What the lower half tells of an interpreter.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use stead_protocol::bridge::{BridgeEvent, Done, Stream};
use stead_protocol::client::Listens;
use stead_protocol::{Capabilities, FoundInterpreter, StartTrouble, TimeoutStep, Usage};

/// Something that has happened. Told in order: output that user code wrote before an event is told before the
/// event.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "told", rename_all = "snake_case")]
pub enum Told<'a> {
    /// The interpreter was found.
    Prepared {
        /// Which, and why.
        found: FoundInterpreter,
    },
    /// It could not be found or started.
    Refused {
        /// Why.
        message: String,
        /// Why, as data for front ends that give advice.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        trouble: Option<Box<StartTrouble>>,
    },
    /// Its process runs; its bridge has not said hello.
    Started {
        /// The process.
        pid: u32,
    },
    /// Its bridge takes code.
    Ready {
        /// The language's version.
        version: String,
        /// The interpreter's real executable, where the bridge knows it.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        executable: String,
        /// What it can do beyond evals.
        can: Capabilities,
        /// What it cannot, for people.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        cannot: Vec<String>,
    },
    /// Bytes that user code or its children wrote.
    Output {
        /// The stream they were written to.
        stream: Stream,
        /// The bytes.
        #[serde(with = "bytes")]
        bytes: Cow<'a, [u8]>,
    },
    /// The bridge said something that is to be recorded: a value, an error, a display, what came
    /// of work, output in the background, a line for the log. Events for the lower half itself are not told like this.
    Said {
        /// What it said.
        event: BridgeEvent,
    },
    /// The bridge's answer to a question.
    Answer {
        /// Number of the question.
        seq: u64,
        /// The answer.
        #[serde(default)]
        data: Option<Value>,
        /// Why there is no answer.
        #[serde(default)]
        error: Option<String>,
    },
    /// The running eval is over.
    Done(Done),
    /// The interpreter exits by itself, another program has taken its place, or it has ended and what it started is being
    /// ended: nothing more has to be done for its end.
    Leaving {
        /// The code it said it exits with.
        #[serde(default)]
        code: Option<i32>,
    },
    /// The bridge cannot get at what is to run the code, and exits.
    NotReady {
        /// What failed, and on what.
        message: String,
        /// The same for front ends that give advice.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        trouble: Option<Box<StartTrouble>>,
    },
    /// What ran the code elsewhere is gone, and the bridge exits.
    Gone {
        /// What happened.
        reason: String,
    },
    /// The bridge's channel was closed: its process must end too.
    Closed,
    /// The bridge does not keep to its protocol.
    Broken {
        /// What is wrong.
        message: String,
    },
    /// Only input lets the running eval go on (SPEC E-8).
    Waits {
        /// The prompt, if the bridge has said it; else it is the last line that was written.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        prompt: Option<String>,
        /// The file that an editor wants to be answered about (SPEC E-19).
        #[serde(default, skip_serializing_if = "Option::is_none")]
        editor: Option<String>,
        /// Whether the answer is a secret that should not be shown.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        secret: bool,
    },
    /// The interpreter takes long to start.
    Starting {
        /// How long it may take from now on.
        within_ms: u64,
    },
    /// The running eval does not wait for input, or may be waiting.
    Listens {
        /// Whether it reads its input.
        listens: Listens,
    },
    /// Children of the running eval were killed.
    Killed {
        /// How many.
        children: u64,
    },
    /// The running eval has passed its hard timeout, and a step was taken.
    Overdue {
        /// The step.
        step: TimeoutStep,
    },
    /// Input was written; all output before it has been told.
    InputGiven {
        /// Number of the request.
        seq: u64,
    },
    /// The reader in the background has read the input, and what it wrote then has been told.
    InputRead {
        /// Number of the request.
        seq: u64,
    },
    /// The input was not written.
    InputRefused {
        /// Number of the request.
        seq: u64,
        /// Why.
        why: InputRefusal,
    },
    /// The session's processes were stopped, or go on.
    Paused {
        /// Whether they are stopped.
        paused: bool,
    },
    /// The bridge could not pause its code or let it go on, and nothing else can.
    NotPaused {
        /// Why.
        message: String,
    },
    /// What is known of the session's processes.
    Figures(Box<Figures>),
    /// A notice for readers of the running eval's outcome.
    Notice {
        /// The notice.
        text: String,
    },
    /// The bridge has lost the connection to the place where the code runs.
    ConnectionLost {
        /// What happened.
        reason: String,
    },
    /// The bridge has that connection back.
    ConnectionBack {
        /// Something the reader should know.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
        /// Whether output from between may be missing.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        gap: bool,
    },
    /// The bridge has made a copy of the interpreter, or the copy that was woken has made another of itself, with
    /// the same number.
    Copied(Copied),
    /// A copy has ended by itself, or there was none with this number.
    CopyLost {
        /// Its number.
        copy: u32,
    },
    /// A copy has taken the place of the interpreter. All processes that had been started are gone, except
    /// copies, and all they wrote has been told.
    Restored(Box<Restored>),
    /// The interpreter and all processes it had started are gone, and all they wrote has been told.
    Exited(Exit),
    /// A telling of a newer lower half.
    #[serde(other)]
    Unknown,
}

/// Why input was not written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "why", rename_all = "snake_case")]
pub enum InputRefusal {
    /// There is no interpreter.
    NoInterpreter,
    /// The eval does not run.
    NotRunning,
    /// No process reads the session's input.
    NoReader,
    /// The system refused.
    Failed {
        /// What it said.
        message: String,
    },
    /// A reason of a newer lower half.
    #[serde(other)]
    Unknown,
}

/// The session's processes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Figures {
    /// The interpreter.
    pub pid: Option<u32>,
    /// Its working directory.
    pub cwd: Option<String>,
    /// Whether it is stopped by a signal.
    pub stopped: bool,
    /// Memory and processor time of all of them.
    pub usage: Usage,
    /// Command lines of the first few beside the interpreter.
    pub background: Vec<String>,
    /// Whether one of them waits for input while no eval runs.
    pub reads: bool,
    /// Copies of the interpreter, which are not among the processes.
    pub copies: CopiesTake,
}

/// A copy of the interpreter, which stands still until it is woken or dropped.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Copied {
    /// Its number, by which orders name it.
    pub copy: u32,
    /// Its process.
    pub pid: u32,
    /// How long the interpreter took to make it, in milliseconds.
    pub ms: f64,
    /// How many threads it does not have.
    pub threads: u64,
    /// What else it does not have, for people.
    pub lost: Vec<String>,
}

/// What has taken the place of an interpreter.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Restored {
    /// The copy.
    pub copy: u32,
    /// Its process.
    pub pid: u32,
    /// How the interpreter before it ended.
    pub exit: Exit,
    /// Parts of the copied state that could not be restored, for people.
    pub lost: Vec<String>,
    /// How many names the user has.
    pub variables: Option<u64>,
}

/// What copies take.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct CopiesTake {
    /// How many there are.
    pub count: u64,
    /// Memory that would be free without them, where that is known.
    pub bytes: Option<u64>,
}

/// How an interpreter ended.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Exit {
    /// Its exit code, if it exited.
    pub code: Option<i32>,
    /// The signal that ended it, if one did.
    pub signal: Option<i32>,
    /// User code had replaced it by another program.
    pub replaced: bool,
    /// What it printed before it was ready; empty if it became ready.
    pub complaint: String,
    /// Processes that do not die.
    pub left: Vec<u32>,
    /// Why the copy that was to take its place did not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_restored: Option<String>,
}

/// Bytes are a string where they are text, else `{"base64": "…"}`.
mod bytes {
    use std::borrow::Cow;

    use base64::Engine;
    use base64::engine::general_purpose::STANDARD;
    use serde::de::{Error, IgnoredAny};
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    #[derive(Serialize, Deserialize)]
    #[serde(untagged)]
    enum Written<'a> {
        Text(Cow<'a, str>),
        Binary {
            base64: String,
        },
        /// A form of a newer version, whose bytes are not known here.
        #[serde(skip_serializing)]
        Unknown(IgnoredAny),
    }

    pub(super) fn serialize<S: Serializer>(bytes: &[u8], to: S) -> Result<S::Ok, S::Error> {
        match std::str::from_utf8(bytes) {
            Ok(text) => Written::Text(Cow::Borrowed(text)),
            Err(_) => Written::Binary { base64: STANDARD.encode(bytes) },
        }
        .serialize(to)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Cow<'static, [u8]>, D::Error> {
        match Written::deserialize(from)? {
            Written::Text(text) => Ok(Cow::Owned(text.into_owned().into_bytes())),
            Written::Binary { base64 } => {
                STANDARD.decode(base64).map(Cow::Owned).map_err(D::Error::custom)
            }
            Written::Unknown(_) => Ok(Cow::Borrowed(&[])),
        }
    }
}
