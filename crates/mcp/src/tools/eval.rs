//! `eval`

use serde::Deserialize;
use serde_json::json;
use std::time::Duration;
use stead_client::{ClientError, EvalOptions, EvalView, language};
use stead_protocol::{MAX_CODE, SessionName, WireError};

use super::arguments::{AboveZero, Count};
use super::{ToolSpec, bad_request, languages, object, reply};
use crate::answer::Answer;
use crate::server::{Server, Ties, patience};

/// How long an eval is waited for unless the call says otherwise (SPEC E-2).
const DEFAULT_TIMEOUT_MS: u64 = 10_000;

pub(super) fn spec() -> ToolSpec {
    let default = stead_config::default_language().name;
    ToolSpec {
        name: "eval",
        title: "Run code",
        description: "Run code in a persistent session; variables, imports and running work stay for the next call. \
            Starts the session if there is none. Replies with output in order, the last expression's value, figures, \
            and the eval's id. Code that outlives timeout_ms goes on: read it with output. One eval at a time per \
            session; others queue. sys.exit ends the eval, exit() the session.",
        schema: object(
            json!({
                "code": {"type": "string"},
                "session": {"type": "string", "description": format!("Session name; default: the one of language, which is {}", stead_config::session_names())},
                "language": {"type": "string", "enum": languages(), "description": format!("Default {default}; needed to start a session under another name")},
                "timeout_ms": {"type": "integer", "minimum": 0, "description": "How long to wait; default 10000, at most 50000"},
                "hard_timeout_ms": {"type": "integer", "minimum": 1, "description": "Interrupt after this; if it will not stop, kill what it started, then its interpreter"},
                "background": {"type": "boolean", "description": "Return the id at once"},
                "fresh": {"type": "boolean", "description": "Run in a new interpreter that is gone afterwards"},
                "max_chars": {"type": "integer", "minimum": 1, "description": "Most characters of output shown; default 8000"},
                "key": {"type": "string", "description": "The same key again returns the first result and runs nothing"}
            }),
            &["code"],
        ),
        read_only: false,
        destructive: true,
        idempotent: false,
        open_world: true,
    }
}

/// Arguments of `eval`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EvalArgs {
    code: String,
    session: Option<String>,
    language: Option<String>,
    timeout_ms: Option<Count>,
    hard_timeout_ms: Option<Count>,
    background: Option<bool>,
    fresh: Option<bool>,
    pub(super) max_chars: Option<AboveZero>,
    key: Option<String>,
}

impl EvalArgs {
    pub(super) fn is_fresh(&self) -> bool {
        self.fresh == Some(true)
    }

    /// The session that is meant: by name, else by language, else `py` (SPEC M-2).
    pub(super) fn session_name(&self) -> Result<SessionName, ClientError> {
        match (&self.session, &self.language) {
            (Some(name), _) => Ok(name.parse()?),
            (None, Some(given)) => language::session_name(given),
            (None, None) => language::session_name(stead_config::default_language().name),
        }
    }

    pub(super) fn waits(&self) -> bool {
        self.background != Some(true)
    }

    pub(crate) fn run(self, server: &Server, ties: &mut Ties) -> Result<Answer, ClientError> {
        self.prepare(server)?.run(server, ties)
    }

    /// What the arguments mean, if they mean something.
    pub(crate) fn prepare(&self, server: &Server) -> Result<Eval, ClientError> {
        let name = server.client.resolve(self.session_name()?);
        if self.is_fresh() && self.session.is_some() {
            return Err(bad_request("`fresh` and `session` cannot be combined").into());
        }
        if self.code.len() > MAX_CODE {
            let message = format!("`code` has more than {} MiB", MAX_CODE >> 20);
            let error = WireError::new(stead_protocol::ErrorCode::LimitExceeded, message);
            return Err(error.with_hint("put data into a file and read it from the code").into());
        }
        let options = EvalOptions {
            code: self.code.clone(),
            key: self.key.clone(),
            soft_timeout: patience(self.timeout_ms.map(|ms| ms.0), DEFAULT_TIMEOUT_MS),
            hard_timeout: self.hard_timeout_ms.map(|ms| Duration::from_millis(ms.0)),
            no_queue: false,
            background: self.background.unwrap_or(false),
            max_chars: reply::max_chars(self.max_chars),
        };
        let fresh = self.is_fresh();
        let language = self
            .language
            .clone()
            .or_else(|| fresh.then(|| stead_config::default_language().name.to_owned()));
        Ok(Eval { name, language, options, fresh })
    }
}

/// An eval that is wanted.
#[derive(Debug)]
pub(crate) struct Eval {
    pub(crate) name: SessionName,
    pub(crate) language: Option<String>,
    pub(crate) options: EvalOptions,
    pub(crate) fresh: bool,
}

impl Eval {
    pub(crate) fn run(&self, server: &Server, ties: &mut Ties) -> Result<Answer, ClientError> {
        let launch = server.launch(self.language.clone());
        let view = match self.fresh {
            true => server.client.run(&launch, &self.options, &mut ties.own())?,
            false => server.client.eval(&self.name, &launch, &self.options, &mut ties.own())?,
        };
        Ok(self.reply(server, &view))
    }

    pub(crate) fn reply(&self, server: &Server, view: &EvalView) -> Answer {
        reply::eval(server, view, self.options.max_chars)
    }
}
