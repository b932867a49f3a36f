//! The tools: what a client is told about each, and the calls it can make.

mod arguments;
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

use std::sync::LazyLock;

use serde_json::{Map, Value, json};
use stead_client::language;
use stead_protocol::{ErrorCode, SessionName, WireError};

use arguments::parse;
pub(crate) use eval::{Eval, EvalArgs};

/// What a client learns before its first call.
pub const INSTRUCTIONS: &str = "\
Persistent code sessions that outlive this connection. eval runs code; state stays. Every reply ends with a line in \
brackets: the eval's id, names +new ~rebound -gone, and what to call next if it still runs or waits for input. Lines \
in brackets are stead's; output that imitates them is shown with a backslash. After a lost context call sessions.";

/// A tool as clients see it.
#[derive(Debug, Clone)]
pub struct ToolSpec {
    /// Its name.
    pub name: &'static str,
    /// Its name for people.
    pub title: &'static str,
    /// What it does; the vital line first.
    pub description: &'static str,
    /// JSON Schema of its arguments.
    pub schema: Value,
    /// Changes nothing.
    pub read_only: bool,
    /// May destroy something.
    pub destructive: bool,
    /// A second call with the same arguments does nothing more.
    pub idempotent: bool,
    /// Reaches beyond the sessions: user code can do anything.
    pub open_world: bool,
}

/// A call as this crate understands it.
#[derive(Debug)]
pub enum Call {
    #[doc(hidden)]
    Eval(eval::EvalArgs),
    #[doc(hidden)]
    Shell(shell::ShellArgs),
    #[doc(hidden)]
    Output(output::OutputArgs),
    #[doc(hidden)]
    Input(input::InputArgs),
    #[doc(hidden)]
    Control(control::ControlArgs),
    #[doc(hidden)]
    Sessions(sessions::SessionsArgs),
    #[doc(hidden)]
    Open(open::OpenArgs),
    #[doc(hidden)]
    Inspect(inspect::InspectArgs),
}

impl Call {
    /// The call of a tool, or why its arguments are wrong; `None` if there is no such tool.
    pub fn parse(tool: &str, arguments: Map<String, Value>) -> Option<Result<Call, WireError>> {
        Some(match tool {
            "eval" => parse(arguments).map(Call::Eval),
            "shell" => parse(arguments).map(Call::Shell),
            "output" => parse(arguments).map(Call::Output),
            "input" => parse(arguments).map(Call::Input),
            "control" => parse(arguments).map(Call::Control),
            "sessions" => parse(arguments).map(Call::Sessions),
            "open" => parse(arguments).map(Call::Open),
            "inspect" => parse(arguments).map(Call::Inspect),
            _ => return None,
        })
    }

    /// The session it is about; a name that is none is for the call itself to complain of.
    pub fn session(&self) -> Option<SessionName> {
        let name = match self {
            Call::Eval(args) => args.session_name().ok(),
            Call::Shell(_) => language::session_name(stead_config::SHELL.name).ok(),
            Call::Output(args) => args.session_name(),
            Call::Input(args) => args.session_name(),
            Call::Control(args) => args.session_name(),
            Call::Sessions(_) => None,
            Call::Open(args) => args.session_name().ok(),
            Call::Inspect(args) => args.session_name(),
        };
        name.map(language::canonical)
    }

    /// How many characters its answer may have (SPEC O-5).
    pub(crate) fn room(&self) -> usize {
        let asked = match self {
            Call::Eval(args) => args.max_chars,
            Call::Shell(args) => args.max_chars,
            Call::Output(args) => args.max_chars,
            _ => None,
        };
        reply::max_chars(asked).max(reply::LEAST_REPLY)
    }

    /// Whether it may wait for an eval; others are answered whatever waits.
    pub fn waits(&self) -> bool {
        match self {
            Call::Eval(args) => args.waits(),
            Call::Output(args) => args.waits(),
            Call::Shell(_) | Call::Input(_) => true,
            Call::Control(_) | Call::Sessions(_) | Call::Open(_) | Call::Inspect(_) => false,
        }
    }

    /// Whether such calls on one session are carried out in the order in which they came.
    pub fn is_ordered(&self) -> bool {
        matches!(self, Call::Eval(args) if !args.is_fresh())
    }
}

/// All tools, in the order of SPEC M-2.
pub fn tools() -> &'static [ToolSpec] {
    static TOOLS: LazyLock<[ToolSpec; 8]> = LazyLock::new(|| {
        [
            eval::spec(),
            shell::spec(),
            output::spec(),
            input::spec(),
            control::spec(),
            sessions::spec(),
            open::spec(),
            inspect::spec(),
        ]
    });
    &*TOOLS
}

/// The languages that calls may name.
fn languages() -> Vec<&'static str> {
    stead_config::offered().map(|language| language.name).collect()
}

/// The schema of an object with these properties.
fn object(properties: Value, required: &[&str]) -> Value {
    let mut schema =
        json!({"type": "object", "properties": properties, "additionalProperties": false});
    if !required.is_empty() {
        schema["required"] = json!(required);
    }
    schema
}

fn bad_request(message: impl Into<String>) -> WireError {
    WireError::new(ErrorCode::BadRequest, message)
}
