//! The tool calls that hints about failed code name (SPEC E-18).

use stead_client::{EvalView, HintCalls};
use stead_protocol::SessionName;

/// The hint for an eval whose code failed, if there is one.
pub(crate) fn hint(view: &EvalView) -> Option<String> {
    Some(view.hint.as_deref()?.text(&view.session, &ToolCalls))
}

struct ToolCalls;

impl HintCalls for ToolCalls {
    fn shell(&self, command: &str) -> String {
        let command = serde_json::to_string(command).unwrap_or_default();
        format!("shell {{\"command\":{command}}}")
    }

    fn eval(&self, language: &str) -> String {
        format!("give eval \"language\":\"{language}\"")
    }

    fn inspect(&self, session: &SessionName, name: &str) -> String {
        format!("inspect {{\"session\":\"{session}\",\"name\":\"{name}\"}}")
    }

    fn names(&self, session: &SessionName) -> String {
        format!("inspect {{\"session\":\"{session}\"}}")
    }

    fn clear(&self, session: &SessionName) -> String {
        format!("control {{\"target\":\"{session}\",\"action\":\"clear\"}}")
    }

    fn restart(&self, session: &SessionName) -> String {
        format!("control {{\"target\":\"{session}\",\"action\":\"restart\"}}")
    }
}
