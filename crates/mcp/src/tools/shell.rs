//! `shell`

use std::path::PathBuf;
use std::time::Duration;

use serde::Deserialize;
use serde_json::json;
use stead_client::{ClientError, EvalOptions, language};
use stead_protocol::SessionName;
use stead_protocol::ShellPlace;

use super::arguments::{AboveZero, Count, read};
use super::{Tool, ToolSpec, bad_request, object, reply};
use crate::answer::Answer;
use crate::line::CallWatch;
use crate::server::{Server, patience};

/// How long a command is waited for unless the call says otherwise (SPEC J-1).
const DEFAULT_TIMEOUT_MS: u64 = 5_000;

pub(super) fn spec() -> ToolSpec {
    ToolSpec {
        name: "shell",
        title: "Run a command",
        description: "Run a command in a fresh shell. One that outlives timeout_ms goes on: read it with output, answer it \
            with input, stop it with control, by its id. Servers started with & stay until their session is stopped.",
        schema: object(
            json!({
                "command": {"type": "string"},
                "cwd": {"type": "string"},
                "timeout_ms": {"type": "integer", "description": "Default 5000, at most 50000"},
                "hard_timeout_ms": {"type": "integer"},
                "max_chars": {"type": "integer"}
            }),
            &["command"],
        ),
        read_only: false,
        destructive: true,
        idempotent: false,
        open_world: true,
        read: read::<ShellTool>,
    }
}

/// Arguments of `shell`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ShellTool {
    command: String,
    cwd: Option<PathBuf>,
    timeout_ms: Option<Count>,
    hard_timeout_ms: Option<Count>,
    max_chars: Option<AboveZero>,
}

impl Tool for ShellTool {
    fn session(&self) -> Option<SessionName> {
        language::session_name(stead_config::SHELL.name).ok()
    }

    fn max_chars(&self) -> Option<AboveZero> {
        self.max_chars
    }

    fn waits(&self) -> bool {
        true
    }

    fn run(self: Box<Self>, server: &Server, watch: &mut CallWatch) -> Result<Answer, ClientError> {
        let cwd = self.cwd.map_or_else(|| server.cwd.clone(), |dir| server.cwd.join(dir));
        if !cwd.is_dir() {
            let message = format!("`cwd`: the directory `{}` does not exist", cwd.display());
            return Err(bad_request(message).into());
        }
        let Some(cwd) = cwd.to_str() else {
            return Err(bad_request("`cwd` is not UTF-8").into());
        };
        let max_chars = reply::max_chars(self.max_chars);
        let options = EvalOptions {
            code: self.command,
            key: None,
            soft_timeout: patience(self.timeout_ms.map(|ms| ms.0), DEFAULT_TIMEOUT_MS),
            hard_timeout: self.hard_timeout_ms.map(|ms| Duration::from_millis(ms.0)),
            no_queue: true,
            background: false,
            max_chars,
        };
        let env = std::env::vars_os().filter_map(|(name, value)| {
            Some((name.into_string().ok()?, value.into_string().ok()?))
        });
        let place = ShellPlace { cwd: cwd.to_owned(), env: env.collect() };
        let view = server.client.shell(&options, &place, watch.own())?;
        // Nobody reads the answer to a cancelled call, so nothing in it may count as read or told.
        if watch.is_cancelled() {
            return Ok(Answer::cancelled());
        }
        Ok(reply::eval(server, &view, max_chars))
    }
}
