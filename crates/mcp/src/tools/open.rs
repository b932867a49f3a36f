//! `open`

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::json;
use stead_client::{AskedGateway, ClientError, GatewayChoice, LaunchOptions, kernel, language};
use stead_protocol::{GatewayTarget, KernelChoice, SessionName, StdlibStatus};

use super::arguments::{Count, read};
use super::{Tool, ToolSpec, bad_request, object, reply};
use crate::answer::Answer;
use crate::hints::joined;
use crate::line::CallWatch;
use crate::place::{self, Here};
use crate::server::Server;
use crate::text;

pub(super) fn spec() -> ToolSpec {
    ToolSpec {
        name: "open",
        title: "Open a session",
        description: "Start a session of your own, or one with settings; the reply says its name. eval alone starts \
            plain ones. Sessions live until stopped or idle for 12 h.",
        schema: object(
            json!({
                "language": {"type": "string", "description": "As in eval"},
                "name": {"type": "string", "description": "Of the config, or new; default the next free one: py, py-2, …"},
                "kernel": {"type": "string", "description": "Of Jupyter"},
                "url": {"type": "string", "description": "Gateway in config"},
                "cwd": {"type": "string"},
                "env": {"type": "object", "additionalProperties": {"type": "string"}},
                "init": {"type": "string", "description": "Code for every start"},
                "stdlib": {"type": "boolean", "description": "false: without it"},
                "workspace": {"type": "string", "description": "Project directory of later calls; alone, opens nothing"},
                "idle_timeout_ms": {"type": "integer", "description": "0: never"}
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
    kernel: Option<String>,
    url: Option<String>,
    cwd: Option<PathBuf>,
    env: Option<BTreeMap<String, String>>,
    init: Option<String>,
    stdlib: Option<bool>,
    workspace: Option<String>,
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
        let moved = self.workspace.as_deref().map(|given| {
            let workspace = place::named(given, &server.cwd)?;
            let cwd = workspace.path().to_owned();
            Ok::<Here, ClientError>(server.moved(workspace, cwd))
        });
        match moved.transpose()? {
            None => self.open(server, None),
            Some(there) if self.only_moves() => {
                let sessions = there.client.names()?;
                let sessions = match sessions.is_empty() {
                    true => "no sessions there yet".to_owned(),
                    false => format!("sessions there: {}", joined(&sessions)),
                };
                let said = place::switched(&there.client.workspace);
                server.place().open(Arc::new(there));
                Ok(Answer::text(format!("[open: {said}; {sessions}]")))
            }
            Some(there) => {
                let said = place::switched(&there.client.workspace);
                // If the session cannot be opened in the other workspace, the server stays where it is.
                let there = Arc::new(there);
                let answer = self.open(&server.at(there.clone()), Some(&said))?;
                server.place().open(there);
                Ok(answer)
            }
        }
    }
}

impl OpenTool {
    /// Whether the call names a workspace and nothing that a session would need.
    fn only_moves(&self) -> bool {
        let OpenTool {
            language,
            name,
            kernel,
            url,
            cwd,
            env,
            init,
            stdlib,
            workspace: _,
            idle_timeout_ms,
        } = self;
        language.is_none()
            && name.is_none()
            && kernel.is_none()
            && url.is_none()
            && cwd.is_none()
            && env.is_none()
            && init.is_none()
            && stdlib.is_none()
            && idle_timeout_ms.is_none()
    }

    /// Opens a session where the server is; `moved` says that this is another workspace than before.
    fn open(self, server: &Server, moved: Option<&str>) -> Result<Answer, ClientError> {
        let client = &server.client;
        let named = self.name.as_deref().map(|name| client.session(name)).transpose()?;
        for (key, value) in self.env.iter().flatten() {
            if key.is_empty() || key.contains(['=', '\0']) || value.contains('\0') {
                let message = format!("wrong argument `env.{}`: no variable", key.escape_debug());
                return Err(bad_request(message).into());
            }
        }
        let default = stead_config::default_language().name;
        let free = match &self.kernel {
            Some(kernel) => kernel::session_name(kernel)
                .ok_or_else(|| bad_request(format!("no kernel is called `{kernel}`")))?,
            None => {
                let gateway = self.url.as_ref().map(|_| stead_config::GATEWAY.name);
                language::session_name(self.language.as_deref().or(gateway).unwrap_or(default))?
            }
        };
        let default = LaunchOptions {
            otherwise: Some(default.to_owned()),
            ..server.launch(self.language.clone())
        };
        let launch = LaunchOptions {
            kernel: match self.url {
                Some(server) => {
                    let wanted = GatewayTarget::Started { kernel: self.kernel };
                    let asked = AskedGateway { server, wanted, token: None, ca_file: None };
                    Some(client.gateway_kernel(asked, GatewayChoice::Configured)?)
                }
                None => self.kernel.map(|name| KernelChoice::Name { name }),
            },
            cwd: self.cwd.map(|cwd| server.cwd.join(cwd)),
            env: self.env.unwrap_or_default().into_iter().collect(),
            init: self.init,
            no_stdlib: self.stdlib == Some(false),
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
        let trouble = status.stdlib.as_ref().and_then(StdlibStatus::trouble);
        let trouble = trouble
            .map(|trouble| format!("; the standard library is {}", text::one_line(&trouble)));
        let trouble = match &launched.notice {
            Some(notice) => {
                Some(format!("; {}{}", text::one_line(notice), trouble.unwrap_or_default()))
            }
            None => trouble,
        };
        said.push_str(&format!(
            "[{}: open, {} {}, {} ({}), in {}{}{}]",
            status.name,
            status.language,
            text::one_line(version),
            text::one_line(&status.interpreter),
            text::one_line(&status.why),
            text::one_line(&status.cwd),
            trouble.unwrap_or_default(),
            moved.map(|moved| format!("; {moved}")).unwrap_or_default(),
        ));
        Ok(Answer { images, ..Answer::text(said) })
    }
}
