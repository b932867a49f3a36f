//! MCP tools, each a thin call into the client.
//!
//! The server keeps no session state: hosts do, and any number of servers and commands reach them
//! side by side. The protocol's SDK stays behind `sdk`; everything else speaks of `Call` and `Answer`.

mod answer;
mod cursors;
mod sdk;
mod server;
mod text;
mod tools;
mod watch;

pub use answer::{Answer, Image};
pub use sdk::{Handler, serve_stdio};
pub use server::{LONGEST_CALL, Quick, Server, Ties, Work};
pub use tools::{Call, INSTRUCTIONS, ToolSpec, tools};
pub use watch::{Line, Tell, Wish};
