//! How a kernel's end is told by servers: none of them closes the connection.

use serde_json::Value;
use stead_jupyter::{JupyterMessage, KernelChannel};

use crate::trouble::ServerTrouble;

/// The reason if a message says that the kernel with the session's state is gone.
pub(crate) fn end_told(channel: KernelChannel, message: &JupyterMessage) -> Option<&'static str> {
    match (channel, message.kind()) {
        // The server has found the kernel's process gone and starts another.
        (_, "status") => match message.text("execution_state") {
            "restarting" => {
                Some("the kernel died, and its server started it anew: its state is gone")
            }
            "dead" => Some("the kernel died, and its server could not start it again"),
            _ => None,
        },
        // Servers publish this reply when a kernel is deleted, culled or restarted by anyone; replies to our
        // own requests come on another channel.
        (KernelChannel::Published, "shutdown_reply") => {
            match message.content["restart"] == Value::Bool(true) {
                true => Some("the kernel was started anew at its server: its state is gone"),
                false => Some("the kernel was shut down at its server"),
            }
        }
        _ => None,
    }
}

/// Why the kernel of a session is gone, for the user whose session ends with it.
pub(crate) fn gone_words(trouble: &ServerTrouble) -> String {
    match trouble {
        ServerTrouble::NoSuchId { url, .. } => {
            format!("the kernel is gone from {url}: it was deleted or culled there")
        }
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn k2_restarts_and_deletions_are_seen_and_nothing_else_ends_a_session() {
        let said = |channel, kind: &str, content| {
            end_told(channel, &JupyterMessage::request("1", "s", kind, content))
        };
        let published = KernelChannel::Published;
        let status = |word: &str| said(published, "status", json!({"execution_state": word}));
        assert!(status("restarting").is_some_and(|why| why.contains("state is gone")));
        assert!(status("dead").is_some());
        assert_eq!(status("idle"), None);
        assert_eq!(status("starting"), None);
        let shut = |restart: bool| said(published, "shutdown_reply", json!({"restart": restart}));
        assert!(shut(true).is_some_and(|why| why.contains("anew")));
        assert!(shut(false).is_some_and(|why| why.contains("shut down")));
        assert_eq!(said(KernelChannel::Control, "shutdown_reply", json!({})), None);
    }
}
