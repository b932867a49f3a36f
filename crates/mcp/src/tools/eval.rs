//! `eval`

use serde::Deserialize;
use serde_json::json;
use std::time::Duration;
use stead_client::{Begun, ClientError, EvalOptions, EvalView, language};
use stead_protocol::{MAX_CODE, SessionName, WireError};

use super::arguments::{AboveZero, Count, read};
use super::{Tool, ToolSpec, bad_request, languages, object, reply};
use crate::answer::Answer;
use crate::line::CallWatch;
use crate::server::{Server, patience};

/// How long an eval is waited for unless the call says otherwise (SPEC E-2).
const DEFAULT_TIMEOUT_MS: u64 = 10_000;
/// Longer code is not sent without a thread: the host may take it more slowly than it is written.
const QUICK_CODE: usize = 32 << 10;

pub(super) fn spec() -> ToolSpec {
    ToolSpec {
        name: "eval",
        title: "Run code",
        description: "Run code in a persistent session, started if there is none; variables, imports and running work stay. \
            Replies with output in order, the last value, figures and the eval's id. Code that outlives timeout_ms goes on: \
            read it with output. Evals of a session queue. sys.exit ends the eval, exit() the session.",
        schema: object(
            json!({
                "code": {"type": "string"},
                "session": {"type": "string", "description": format!("Default: that of the language: {}", stead_config::session_names())},
                "language": {"type": "string", "description": languages()},
                "timeout_ms": {"type": "integer", "description": "Wait so long; default 10000, at most 50000"},
                "hard_timeout_ms": {"type": "integer", "description": "Interrupt after this, else kill what it started, then its interpreter"},
                "background": {"type": "boolean", "description": "Return the id at once"},
                "fresh": {"type": "boolean", "description": "In a new interpreter, gone afterwards"},
                "max_chars": {"type": "integer", "description": "Default 8000, least 500"},
                "key": {"type": "string", "description": "Same key again: the first result, nothing runs"}
            }),
            &["code"],
        ),
        read_only: false,
        destructive: true,
        idempotent: false,
        open_world: true,
        read: read::<EvalTool>,
    }
}

/// Arguments of `eval`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct EvalTool {
    code: String,
    session: Option<String>,
    language: Option<String>,
    timeout_ms: Option<Count>,
    hard_timeout_ms: Option<Count>,
    background: Option<bool>,
    fresh: Option<bool>,
    max_chars: Option<AboveZero>,
    key: Option<String>,
}

impl Tool for EvalTool {
    fn session(&self) -> Option<SessionName> {
        self.session_name().ok()
    }

    fn max_chars(&self) -> Option<AboveZero> {
        self.max_chars
    }

    fn waits(&self) -> bool {
        self.background != Some(true)
    }

    fn is_ordered(&self) -> bool {
        !self.is_fresh()
    }

    fn begin(&self, server: &Server, output: bool) -> Option<Begun> {
        if self.is_fresh() || self.code.len() > QUICK_CODE {
            return None;
        }
        let (name, options) = self.prepare(server).ok()?;
        server.client.begin(&name, self.language.as_deref(), &options, output)?.ok()
    }

    fn reply(&self, server: &Server, view: &EvalView) -> Answer {
        reply::own_eval(server, view, reply::max_chars(self.max_chars))
    }

    fn run(self: Box<Self>, server: &Server, watch: &mut CallWatch) -> Result<Answer, ClientError> {
        let (name, options) = self.prepare(server)?;
        let view = match self.is_fresh() {
            true => {
                let language = self.language.as_deref();
                let language = language.unwrap_or(stead_config::default_language().name).to_owned();
                server.client.run(&server.launch(Some(language)), &options, watch.own())?
            }
            false => {
                let launch = server.launch(self.language.clone());
                server.client.eval(&name, &launch, &options, watch.own())?
            }
        };
        // Nobody reads the answer to a cancelled call, so nothing in it may count as read or told.
        if watch.is_cancelled() {
            return Ok(Answer::cancelled());
        }
        Ok(self.reply(server, &view))
    }
}

impl EvalTool {
    fn is_fresh(&self) -> bool {
        self.fresh == Some(true)
    }

    /// The session that is meant: by name, else by language, else `py` (SPEC M-2).
    fn session_name(&self) -> Result<SessionName, ClientError> {
        match (&self.session, &self.language) {
            (Some(name), _) => Ok(name.parse()?),
            (None, Some(given)) => language::session_name(given),
            (None, None) => language::session_name(stead_config::default_language().name),
        }
    }

    /// What the arguments mean, if they mean something.
    fn prepare(&self, server: &Server) -> Result<(SessionName, EvalOptions), ClientError> {
        let name = server.client.resolve(self.session_name()?);
        if self.is_fresh() && self.session.is_some() {
            return Err(bad_request("`fresh` and `session` cannot be combined").into());
        }
        if self.is_fresh() && self.key.is_some() {
            return Err(bad_request("`fresh` and `key` cannot be combined").into());
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
        Ok((name, options))
    }
}
