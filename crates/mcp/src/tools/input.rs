//! `input`

use serde::Deserialize;
use serde_json::json;
use stead_client::{ClientError, InputOptions};
use stead_protocol::SessionName;

use super::arguments::{Count, read};
use super::{Tool, ToolSpec, bad_request, object, reply};
use crate::answer::Answer;
use crate::line::CallWatch;
use crate::server::{Server, patience, session_of};

const DEFAULT_TIMEOUT_MS: u64 = 10_000;

pub(super) fn spec() -> ToolSpec {
    ToolSpec {
        name: "input",
        title: "Answer a prompt",
        description: "Send text to an eval that waits for input, then wait like eval does. A newline is added. \
            If an editor waits, text is the whole new file, eof leaves it as it is.",
        schema: object(
            json!({
                "target": {"type": "string", "description": "Eval id or session"},
                "text": {"type": "string"},
                "eof": {"type": "boolean", "description": "End of file, after text if any"},
                "timeout_ms": {"type": "integer"}
            }),
            &["target"],
        ),
        read_only: false,
        destructive: true,
        idempotent: false,
        open_world: true,
        read: read::<InputTool>,
    }
}

/// Arguments of `input`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct InputTool {
    target: String,
    text: Option<String>,
    eof: Option<bool>,
    timeout_ms: Option<Count>,
}

impl Tool for InputTool {
    fn session(&self) -> Option<SessionName> {
        session_of(&self.target)
    }

    fn waits(&self) -> bool {
        true
    }

    fn run(self: Box<Self>, server: &Server, watch: &mut CallWatch) -> Result<Answer, ClientError> {
        let (name, id) = server.client.target(&self.target)?;
        let eof = self.eof.unwrap_or(false);
        if self.text.is_none() && !eof {
            return Err(bad_request("`text` or `eof` must be given").into());
        }
        let text = self.text.map(|text| if text.ends_with('\n') { text } else { text + "\n" });
        let options = InputOptions {
            eval: id.map(|id| id.seq),
            text: text.unwrap_or_default(),
            eof,
            soft_timeout: patience(self.timeout_ms.map(|ms| ms.0), DEFAULT_TIMEOUT_MS),
            max_chars: reply::max_chars(None),
        };
        let view = server.client.input(&name, &options, watch.own())?;
        // Nobody reads the answer to a cancelled call, so nothing in it may count as read or told.
        if watch.is_cancelled() {
            return Ok(Answer::cancelled());
        }
        Ok(reply::eval(server, &view, reply::max_chars(None)))
    }
}
