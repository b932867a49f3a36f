//! Client to host: one JSON object a line, each request answered once, events in between.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::tagged::{Named, fields, named, tagged};
use crate::words::words;
use crate::{
    By, CheckpointInfo, EvalSeq, Finished, Generation, Offset, ShellPlace, Status, Versions,
    WireError, Work, WorkKind,
};

/// A request with the number its reply will carry.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ToHost {
    /// Chosen by the client, unique on its connection.
    pub id: u64,
    /// What is asked.
    pub request: Request,
}

/// What a client asks of a host; each gets one `Reply` or error with the same id.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(remote = "Self", tag = "op", rename_all = "snake_case")]
pub enum Request {
    /// First message on a connection; answered by `Reply::Hello`.
    Hello {
        /// The oldest version the client speaks; the only one, if it names no range.
        protocol: u32,
        /// All versions it speaks, if they are more.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        versions: Option<Versions>,
        /// The version of its program.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        program: Option<String>,
        /// Who is calling: `cli`, `mcp`, `attach`.
        client: String,
        /// The connection is kept between calls. While no call is under way its client does not count as
        /// attached.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        rests: bool,
    },
    /// Do some work; answered by `Reply::Accepted` once that is on disk.
    Submit(Submit),
    /// Send this connection the events of an eval; answered by `Reply::Watching`, then at
    /// once one event that tells where the eval stands.
    Watch {
        /// Which eval.
        eval: EvalSeq,
        /// Whether growth of the spool is told too.
        output: bool,
        /// Whether `Listens::Alone` is told also of an eval that was found to be so before.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        alone: bool,
    },
    /// Tell this connection of every eval of the session, whichever client sends it; answered by
    /// `Reply::Following`.
    Follow {
        /// The first eval to tell; without it, those that run or wait now.
        #[serde(default)]
        from: Option<EvalSeq>,
        /// Whether growth of the spool is told too.
        #[serde(default)]
        output: bool,
    },
    /// Give text to a program that waits for input; answered by `Reply::InputTaken`.
    Input {
        /// The eval it is meant for; without it, whichever reader waits.
        #[serde(default)]
        eval: Option<EvalSeq>,
        /// What to write.
        text: String,
        /// Whether the input ends here.
        #[serde(default)]
        eof: bool,
    },
    /// Stop the running eval; answered by `Reply::Interrupt` when the effect is known.
    Interrupt {
        /// The eval it is aimed at; without it the running one.
        #[serde(default)]
        eval: Option<EvalSeq>,
        /// Who asks; without it, the client that said hello.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<By>,
    },
    /// Stop all processes of the session where they are; answered by `Reply::Done`.
    Pause,
    /// Let the session's processes go on; answered by `Reply::Done`.
    Resume,
    /// Wait for the interpreter; answered by `Reply::Done` when it is ready for code and its init
    /// code has run, or by the error that it could not be started.
    Ready,
    /// Tell about the session; answered by `Reply::Status` whatever the interpreter does.
    Status,
    /// End the interpreter and start it afresh; answered by `Reply::Done` when the old one is gone.
    Restart,
    /// End the interpreter at once; answered by `Reply::Done` when it is gone.
    Kill,
    /// Empty the namespace; answered by `Reply::Done`. Version 1 has this request in place of `Work::Clear`.
    Clear,
    /// End the session for good; answered by `Reply::Done` when nothing of it is left.
    Stop,
    /// Take note that the loss of earlier state was told to the user; answered by `Reply::Done`.
    AcknowledgeLoss,
    /// List the checkpoints that can be gone back to; answered by `Reply::Checkpoints`.
    Checkpoints,
    /// Drop a checkpoint; answered by `Reply::Done`.
    DropCheckpoint {
        /// What it is called.
        label: String,
    },
    /// Ask the bridge about the namespace; answered by `Reply::Query`.
    Query(Query),
    /// A request of a newer client; answered with an error, not a hang-up.
    #[serde(other)]
    Unknown,
}

tagged!(Request, "op", "submit" => |rest| fields(rest).map(Request::Submit));

/// Work to do in its turn.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Submit {
    /// Code to run, in the form that hosts of every version read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// Any work, for hosts from version 2 on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work: Option<Work>,
    /// The same key again returns the first eval and runs nothing (SPEC E-12).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// Tells this submission from all others, so that a client whose host dies before it answers can
    /// see in the history whether the code was taken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<u64>,
    /// The code was sent before with this token and it is not known whether it ran: if the host has accepted
    /// it already, the reply names the first eval and nothing runs.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub again: bool,
    /// Interrupt, then kill, after this time of running.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hard_timeout_ms: Option<u64>,
    /// Refuse with `session_busy` rather than wait behind another eval.
    #[serde(default)]
    pub no_queue: bool,
    /// Begin watching at once, as `Watch` would.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub watch: Option<WatchFor>,
    /// The reply may be held back for a moment: most evals are over by then, and the client is woken once and
    /// told all.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub hold: bool,
    /// The directory and environment of a shell command; never written to disk.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<ShellPlace>,
    /// Who sends it; without it, the client that said hello (SPEC E-16).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<By>,
}

impl Submit {
    /// A submission with every option left out.
    pub fn new(work: Work) -> Submit {
        match work {
            Work::Code { code } => Submit { code: Some(code), ..Submit::default() },
            other => Submit { work: Some(other), ..Submit::default() },
        }
    }

    /// The work to do; `None` if there is none, or if it was taken before.
    pub fn take_work(&mut self) -> Option<Work> {
        let code = self.code.take();
        self.work.take().or_else(|| code.map(|code| Work::Code { code }))
    }
}

/// Which events a watching connection wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WatchFor {
    /// Start, waits for input and the end.
    State,
    /// Also growth of the spool.
    Output,
}

// A client that wants events of an unknown kind gets at least those of the eval's state.
words!(WatchFor { State => "state", Output => "output" } else State);

/// A question about the namespace (SPEC ST-1).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "what", rename_all = "snake_case")]
pub enum Query {
    /// All user-defined names.
    Vars,
    /// One name or dotted expression: value, type, doc, source.
    Inspect {
        /// The name.
        name: String,
    },
    /// What can follow the beginning of a name or dotted expression.
    Complete {
        /// The beginning to complete.
        text: String,
    },
    /// What a source text defines; none of it is run.
    Definitions {
        /// The text.
        text: String,
    },
    /// A question of a newer client; answered with an error.
    #[serde(other)]
    Unknown,
}

/// What a host sends.
#[derive(Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FromHost {
    /// Answer to a request.
    Reply {
        /// The request's id.
        id: u64,
        /// The answer.
        reply: Reply,
    },
    /// A request that could not be carried out.
    Error {
        /// The request's id; 0 if the line could not be read.
        id: u64,
        /// Why.
        error: WireError,
    },
    /// Something happened to a watched eval.
    Event(Event),
    /// A message of a newer host; ignored.
    Unknown,
}

named!(FromHost,
    "reply" => |value: Answered| FromHost::Reply { id: value.id, reply: value.reply },
    "error" => |value: Refused| FromHost::Error { id: value.id, error: value.error },
    "event" => |value: Event| FromHost::Event(value),
);

#[derive(Deserialize)]
struct Answered {
    id: u64,
    reply: Reply,
}

#[derive(Deserialize)]
struct Refused {
    id: u64,
    error: WireError,
}

/// Answers.
#[derive(Debug, Serialize, Deserialize)]
#[serde(remote = "Self", tag = "kind", rename_all = "snake_case")]
pub enum Reply {
    /// To `Hello`.
    Hello {
        /// The version that is spoken on this connection: the newest that both know.
        protocol: u32,
        /// All versions the host speaks.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        versions: Option<Versions>,
        /// The version of its program.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        program: Option<String>,
        /// The interpreter's generation.
        generation: Generation,
        /// Why earlier state is gone, if no client was told yet.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        loss: Option<String>,
        /// How many evals there have been; later ones have higher numbers.
        #[serde(default)]
        evals: u64,
        /// Where the session's files are. Clients whose home is another look for them there (SPEC S-3).
        #[serde(default, skip_serializing_if = "Option::is_none")]
        dir: Option<PathBuf>,
    },
    /// To `Submit`.
    Accepted(Accepted),
    /// To `Watch`.
    Watching,
    /// To `Follow`.
    Following {
        /// The first eval that is told: earlier ones were dropped, or not asked for.
        from: EvalSeq,
    },
    /// To `Input`.
    InputTaken {
        /// The foreground eval that got it; none if a background reader did.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        eval: Option<EvalSeq>,
        /// Where the spool ended when the input was written; a reaction to it stands after this.
        from: Offset,
        /// For a background reader: where the spool ended when the reader had read the input and then ended,
        /// waited again, or went on with something else.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        to: Option<Offset>,
    },
    /// To `Interrupt`.
    Interrupt {
        /// What happened.
        effect: InterruptEffect,
        /// The eval in question.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        eval: Option<EvalSeq>,
        /// To a second interrupt of the same eval: how many of its children were killed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        killed: Option<u64>,
    },
    /// To `Status`.
    Status(Box<Status>),
    /// To `Query`: the bridge's own JSON.
    Query {
        /// See `docs/PROTOCOL.md`.
        data: Value,
    },
    /// To `Checkpoints`, the oldest first.
    Checkpoints {
        /// All of them.
        checkpoints: Vec<CheckpointInfo>,
    },
    /// To requests that are carried out when this is sent.
    Done {
        /// To `Pause` and `Resume`: the session was paused, or not paused, before.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        already: bool,
    },
    /// An answer of a newer host.
    #[serde(other)]
    Unknown,
}

impl Reply {
    /// The request is carried out.
    pub const DONE: Reply = Reply::Done { already: false };
}

tagged!(Reply, "kind", "accepted" => |rest| fields(rest).map(Reply::Accepted));

/// Work was accepted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Accepted {
    /// The eval's number.
    pub eval: EvalSeq,
    /// The interpreter it will run in.
    pub generation: Generation,
    /// The eval it waits behind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub behind: Option<EvalSeq>,
    /// Its key was known: this is the first eval with it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub duplicate: bool,
    /// How the eval ended, if it ended while the reply was held back; its events are not sent then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finished: Option<Box<Finished>>,
}

/// What an interrupt did (SPEC E-6).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InterruptEffect {
    /// The eval stopped and the state is kept.
    Interrupted,
    /// The eval came to its own end first.
    Finished,
    /// Nothing was running, or the eval had ended before; nothing was sent.
    NothingRunning,
    /// The interrupt was sent, and the eval has not stopped within the grace time.
    StillRunning,
    /// The eval had not begun and was taken out of the queue.
    Dequeued,
    /// Something that a newer host knows.
    Unknown,
}

words!(InterruptEffect {
    Interrupted => "interrupted",
    Finished => "finished",
    NothingRunning => "nothing_running",
    StillRunning => "still_running",
    Dequeued => "dequeued",
    Unknown => "unknown",
} else Unknown);

/// Whether a running eval may be waiting for input: it reads the session's input, and nobody can know whether
/// it would go on without any (SPEC E-8).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Listens {
    /// As far as is known it does not read.
    #[default]
    No,
    /// It reads, beside a process or thread that works.
    Yes,
    /// It reads and has been quiet for a while, and only input or a time limit of its own will wake it. Sent
    /// once; a client that waits should look at the eval.
    Alone,
}

// A word of a newer version counts as `yes`: the eval reads its input.
words!(Listens { No => "no", Yes => "yes", Alone => "alone" } else Yes);

impl Listens {
    /// Whether the eval does not read its input.
    pub fn is_no(&self) -> bool {
        *self == Listens::No
    }
}

/// An eval that waits for input while others are queued behind it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AsksAhead {
    /// Which.
    pub eval: EvalSeq,
    /// What it asked; empty if nothing.
    pub prompt: String,
}

/// What a host tells watchers and followers, in this order for each eval.
#[expect(
    clippy::large_enum_variant,
    reason = "one lives at a time; a box would cost every message an allocation"
)]
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Event {
    /// The eval was sent by a client and is recorded. Only followers are told: the sender has the reply.
    Accepted {
        /// Which.
        eval: EvalSeq,
        /// What kind of work it is; its code is in the record.
        #[serde(default, skip_serializing_if = "WorkKind::is_code")]
        work: WorkKind,
        /// Who sent it.
        by: By,
    },
    /// The eval waits for its turn.
    Queued {
        /// Which.
        eval: EvalSeq,
        /// The one right before it; none while the interpreter starts.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        behind: Option<EvalSeq>,
        /// What runs waits for input, so its turn does not come before that is answered.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        asks: Option<AsksAhead>,
    },
    /// The eval runs; told again when it begins or ceases to listen to the session's input.
    Started {
        /// Which.
        eval: EvalSeq,
        /// Where its part of the spool begins.
        start: Offset,
        /// Whether it listens.
        #[serde(default, skip_serializing_if = "Listens::is_no")]
        listens: Listens,
        /// Who sent it; told to followers.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<By>,
    },
    /// The spool now reaches `end`; readers fetch the bytes from there.
    Output {
        /// Which.
        eval: EvalSeq,
        /// How far.
        end: Offset,
    },
    /// The spool now reaches `end` while no eval runs: a background process wrote. Told to followers.
    Background {
        /// How far.
        end: Offset,
    },
    /// The session's processes were stopped where they are, or go on. Told to all who watch an eval or follow
    /// the session, also at once when they begin to while it is paused.
    Paused {
        /// Whether they are stopped.
        paused: bool,
    },
    /// The eval waits for input.
    Waiting {
        /// Which.
        eval: EvalSeq,
        /// What it asked; empty if nothing.
        prompt: String,
        /// All it wrote before it waited is below this.
        end: Offset,
        /// The file that an editor of ours has open, if that is what waits (SPEC E-19).
        #[serde(default, skip_serializing_if = "Option::is_none")]
        editor: Option<String>,
        /// Whether the answer is a secret, which should not be shown while it is typed.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        secret: bool,
    },
    /// The eval has ended, and the disk refuses its record (SPEC E-11). No client is told the outcome before
    /// it is recorded; `Finished` follows as soon as it is.
    Unrecorded {
        /// Which.
        eval: EvalSeq,
        /// Where its part of the spool begins.
        start: Offset,
        /// All it wrote is below this.
        end: Offset,
        /// What the disk said.
        why: String,
    },
    /// The eval is over and wrote nothing past `finished.end`.
    Finished {
        /// Which.
        eval: EvalSeq,
        /// Its record.
        finished: Finished,
    },
    /// An event of a newer host; ignored.
    #[serde(other)]
    Unknown,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_requests_and_fields_are_no_parse_errors() {
        let newer = r#"{"id":3,"request":{"op":"teleport","to":"mars"},"trace":1}"#;
        let parsed: ToHost = serde_json::from_str(newer).unwrap();
        assert!(matches!(parsed.request, Request::Unknown));
        let more = r#"{"id":4,"request":{"op":"submit","code":"1","colour":"red"}}"#;
        let parsed: ToHost = serde_json::from_str(more).unwrap();
        assert!(
            matches!(parsed.request, Request::Submit(Submit { code: Some(ref code), .. }) if code == "1")
        );
    }
}
