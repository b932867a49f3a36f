//! MCP tools, each a thin call into the client.
//!
//! The server keeps no session state: hosts do, and any number of servers and commands reach them
//! side by side. Calls go one way, in `line`. The protocol's SDK stays behind `sdk`: it does the handshake, the lists
//! and whatever else is no call.

mod answer;
mod cursors;
mod habits;
mod hints;
mod line;
mod others;
mod place;
mod sdk;
mod server;
mod standing;
mod sys;
mod text;
mod told_once;
mod tools;

use answer::{Answer, Image};
pub use sdk::{Handler, serve_stdio};
pub use server::Server;
use tools::{Call, INSTRUCTIONS, ToolSpec, tools};
