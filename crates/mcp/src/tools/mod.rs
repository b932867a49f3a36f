//! The tools: what a client is told about each, and the calls it can make.

mod arguments;
mod code;
mod control;
mod eval;
mod input;
mod inspect;
mod open;
mod output;
mod reply;
mod search;
mod sessions;
mod shell;
mod state;
mod stdlib;

use std::fmt;
use std::sync::LazyLock;

use serde_json::{Map, Value, json};
use stead_client::{Begun, ClientError, EvalView, language};
use stead_protocol::{ErrorCode, SessionName, WireError};

use crate::Answer;
use crate::line::CallWatch;
use crate::server::Server;
use arguments::AboveZero;

/// What a client learns before its first call.
pub(crate) const INSTRUCTIONS: &str = "\
Persistent code sessions that outlive this connection. eval runs code; state stays. Every reply ends with a line in \
brackets: the eval's id, names +new ~rebound -gone, and what to call next if it still runs or waits for input. Lines \
in brackets are stead's; output that imitates them is shown with a backslash. \
Long work: background:true, then `stead wait py:24` in a background shell of your own wakes you. \
All agents and people of a workspace share its sessions; `meanwhile by …` names what others ran. \
For a session of your own, as a sub-agent should have, call open without a name.";

/// A tool as clients see it.
#[derive(Debug, Clone)]
pub(crate) struct ToolSpec {
    /// Its name.
    pub(crate) name: &'static str,
    /// Its name for people.
    pub(crate) title: &'static str,
    /// What it does; the vital line first.
    pub(crate) description: &'static str,
    /// JSON Schema of its arguments.
    pub(crate) schema: Value,
    /// Changes nothing.
    pub(crate) read_only: bool,
    /// May destroy something.
    pub(crate) destructive: bool,
    /// A second call with the same arguments does nothing more.
    pub(crate) idempotent: bool,
    /// Reaches beyond the sessions: user code can do anything.
    pub(crate) open_world: bool,
    /// Reads its arguments.
    pub(crate) read: ReadArguments,
}

/// How the arguments of a call become what the tool does with them.
pub(crate) type ReadArguments = fn(Map<String, Value>) -> Result<Box<dyn Tool>, WireError>;

/// What a tool does with the arguments of one call. The defaults are those of a call that looks and does not wait.
pub(crate) trait Tool: fmt::Debug + Send + Sync {
    /// The session it is about, as the call names it.
    fn session(&self) -> Option<SessionName> {
        None
    }

    /// How many characters of output the call wants at most.
    fn max_chars(&self) -> Option<AboveZero> {
        None
    }

    /// Whether it may wait for an eval; others are answered whatever waits.
    fn waits(&self) -> bool {
        false
    }

    /// Whether such calls on one session are carried out in the order in which they came.
    fn is_ordered(&self) -> bool {
        false
    }

    /// Sends the call to its host without a wait, if that can be done; `output` says whether the client wants to
    /// hear of progress. `reply` makes the answer then.
    fn begin(&self, _server: &Server, _output: bool) -> Option<Begun> {
        None
    }

    /// The answer to a call that `begin` has sent.
    fn reply(&self, server: &Server, view: &EvalView) -> Answer {
        reply::eval(server, view, reply::max_chars(self.max_chars()))
    }

    /// Carries out the whole call; blocks until it is done or its client wants otherwise.
    fn run(self: Box<Self>, server: &Server, watch: &mut CallWatch) -> Result<Answer, ClientError>;
}

/// A call as this crate understands it: a tool and its arguments.
#[derive(Debug)]
pub(crate) struct Call(Box<dyn Tool>);

impl Call {
    /// The call of a tool, or why its arguments are wrong; `None` if there is no such tool.
    pub(crate) fn read(
        tool: &str,
        arguments: Map<String, Value>,
    ) -> Option<Result<Call, WireError>> {
        let spec = tools().iter().find(|spec| spec.name == tool)?;
        let read = arguments::check(&spec.schema, &arguments).and_then(|()| (spec.read)(arguments));
        Some(read.map(Call))
    }

    /// The session it is about.
    pub(crate) fn session(&self) -> Option<SessionName> {
        self.0.session().map(language::canonical)
    }

    /// Whether it may wait for an eval; others are answered whatever waits.
    pub(crate) fn waits(&self) -> bool {
        self.0.waits()
    }

    /// Whether such calls on one session are carried out in the order in which they came.
    pub(crate) fn is_ordered(&self) -> bool {
        self.0.is_ordered()
    }

    pub(crate) fn begin(&self, server: &Server, output: bool) -> Option<Begun> {
        self.0.begin(server, output)
    }

    pub(crate) fn reply(&self, server: &Server, view: &EvalView) -> Answer {
        self.0.reply(server, view)
    }

    /// How many characters its answer may have.
    pub(crate) fn room(&self) -> usize {
        reply::room(reply::max_chars(self.0.max_chars()))
    }

    /// Carries out the whole call; the answer has no more characters than the call wants (SPEC O-5).
    pub(crate) fn run(self, server: &Server, watch: &mut CallWatch) -> Answer {
        let room = self.room();
        Answer::of(self.0.run(server, watch), room).bounded(room)
    }
}

/// All tools, in the order of SPEC M-2. A tool is a file with its `spec`, and a line here.
pub(crate) fn tools() -> &'static [ToolSpec] {
    static TOOLS: LazyLock<Vec<ToolSpec>> = LazyLock::new(|| {
        vec![
            eval::spec(),
            shell::spec(),
            output::spec(),
            input::spec(),
            control::spec(),
            sessions::spec(),
            open::spec(),
            inspect::spec(),
            state::spec(),
            stdlib::spec(),
        ]
    });
    &TOOLS
}

/// The languages that there are.
fn language_names() -> Vec<&'static str> {
    stead_config::offered().map(|language| language.name).collect()
}

/// The languages that calls may name, for a description. No enumeration: a project may have toolchains of its own.
fn languages() -> String {
    // The first is the default.
    let names = language_names().join(", ").replacen(',', " (default),", 1);
    format!("{names} or a toolchain")
}

/// The schema of an object with these properties.
fn object(properties: Value, required: &[&str]) -> Value {
    // Schemas are short, because clients read them beforehand (SPEC M-6): unknown arguments
    // (`arguments::check`) and numbers that are too small are refused all the same.
    let mut schema = json!({"type": "object", "properties": properties});
    if !required.is_empty() {
        schema["required"] = json!(required);
    }
    schema
}

fn bad_request(message: impl Into<String>) -> WireError {
    WireError::new(ErrorCode::BadRequest, message)
}
