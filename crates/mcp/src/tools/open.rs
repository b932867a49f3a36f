//! `open`

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::Deserialize;
use serde_json::json;
use stead_client::{ClientError, LaunchOptions, language};
use stead_protocol::SessionName;

use super::arguments::{Count, read};
use super::{Tool, ToolSpec, bad_request, languages, object, reply};
use crate::answer::Answer;
use crate::line::CallWatch;
use crate::server::Server;
use crate::text;

pub(super) fn spec() -> ToolSpec {
    ToolSpec {
        name: "open",
        title: "Open a session",
        description: "Start a session with settings: its own name, directory, environment, code to run at every start. \
            Not needed for plain use: eval starts what it needs. Sessions live until stopped or idle for 12 h.",
        schema: object(
            json!({
                "language": {"type": "string", "enum": languages(), "description": format!("Default {}", stead_config::default_language().name)},
                "name": {"type": "string", "description": "Default: the next free one: py, py-2, …"},
                "cwd": {"type": "string"},
                "env": {"type": "object", "additionalProperties": {"type": "string"}},
                "init": {"type": "string", "description": "Code to run at every start"},
                "idle_timeout_ms": {"type": "integer", "minimum": 0, "description": "0: never ends when idle"}
            }),
            &[],
        ),
        read_only: false,
        destructive: false,
        idempotent: false,
        open_world: true,
        read: read::<OpenTool>,
    }
}

/// Arguments of `open`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct OpenTool {
    language: Option<String>,
    name: Option<String>,
    cwd: Option<PathBuf>,
    env: Option<BTreeMap<String, String>>,
    init: Option<String>,
    idle_timeout_ms: Option<Count>,
}

impl Tool for OpenTool {
    fn session(&self) -> Option<SessionName> {
        self.name.as_deref()?.parse().ok()
    }

    fn run(
        self: Box<Self>,
        server: &Server,
        _watch: &mut CallWatch,
    ) -> Result<Answer, ClientError> {
        let client = &server.client;
        let named = self.name.as_deref().map(|name| client.session(name)).transpose()?;
        let default = stead_config::default_language().name;
        for (key, value) in self.env.iter().flatten() {
            if key.is_empty() || key.contains(['=', '\0']) || value.contains('\0') {
                let message = format!("wrong argument `env.{}`: no variable", key.escape_debug());
                return Err(bad_request(message).into());
            }
        }
        let implied = named.as_ref().and_then(language::implied).map(|language| language.name);
        let spoken = self.language.as_deref().or(implied).unwrap_or(default).to_owned();
        let free = language::session_name(&spoken)?;
        let default = server.launch(Some(spoken));
        let launch = LaunchOptions {
            cwd: self.cwd.map(|cwd| server.cwd.join(cwd)).or(default.cwd.clone()),
            env: self.env.unwrap_or_default().into_iter().collect(),
            init: self.init,
            idle_timeout_ms: self.idle_timeout_ms.map(|ms| ms.0),
            ..default
        };
        let launched = match &named {
            Some(name) => client.launch(name, &launch)?,
            None => client.launch_free(&client.resolve(free), &launch)?,
        };
        let status = &launched.status;
        let version = status.version.as_deref().unwrap_or_default();
        let mut said = String::new();
        let mut images = Vec::new();
        if let Some(init) = &launched.init {
            let answer = reply::eval(server, init, reply::max_chars(None));
            said = format!("{}\n", answer.text);
            images = answer.images;
        }
        said.push_str(&format!(
            "[{}: open, {} {}, {} ({}), in {}]",
            status.name,
            status.language,
            text::one_line(version),
            text::one_line(&status.interpreter),
            text::one_line(&status.why),
            text::one_line(&status.cwd),
        ));
        Ok(Answer { images, ..Answer::text(said) })
    }
}
