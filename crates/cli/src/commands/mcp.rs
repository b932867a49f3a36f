//! `stead mcp`

use std::sync::Arc;

use crate::context::Context;
use crate::exit;
use crate::print::{CommandResult, Failure};
use stead_client::Client;
use stead_protocol::ErrorCode;

/// Serve the sessions of this workspace to an agent by MCP, on standard input and output
///
/// Agents start this by themselves once they are told of it: `stead install` does that. Sessions do not belong to it: it may be
/// killed and started again at any time, and commands and other servers see the same sessions.
///
/// The workspace is `--workspace`, else the project that the current directory is in. Outside a
/// project it is the first root that the agent's program names, else the current directory; the
/// agent can switch with the tool `open`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  stead mcp                                     in the project's directory
  stead mcp --workspace ~/project
  claude mcp add stead -- stead mcp             tell Claude Code of it
  codex mcp add stead -- stead mcp              tell Codex of it

Cursor and others: {\"mcpServers\": {\"stead\": {\"command\": \"stead\", \"args\": [\"mcp\"]}}}")]
pub(crate) struct McpArgs {}

impl McpArgs {
    pub(crate) fn run(self, context: &Context) -> CommandResult {
        let client = Client { kind: "mcp", by: Arc::default(), ..context.client.clone() };
        match (context.modes.mcp)(client, context.cwd.clone(), context.workspace_given) {
            Ok(()) => Ok(exit::SUCCESS),
            Err(error) => {
                let message = format!("could not serve on standard input and output: {error}");
                Err(Failure::new(ErrorCode::ConnectionFailed, message))
            }
        }
    }
}
