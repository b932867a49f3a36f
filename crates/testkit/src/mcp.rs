//! A single MCP call, for tests of something else.

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

/// Starts a server (`stead mcp`), shakes hands, calls one tool and gives the result; the server ends.
///
/// # Panics
/// When the server does not answer.
#[track_caller]
pub fn mcp_call(mut server: Command, tool: &str, arguments: Value) -> Value {
    server.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = server.spawn().expect("the server starts");
    let mut stdin = child.stdin.take().expect("stdin is a pipe");
    let hello = json!({ "protocolVersion": "2025-06-18", "capabilities": {},
        "clientInfo": { "name": "test", "version": "1" } });
    let call = json!({ "name": tool, "arguments": arguments });
    for message in [
        json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello }),
        json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }),
        json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": call }),
    ] {
        writeln!(stdin, "{message}").expect("the server listens");
    }
    let lines = BufReader::new(child.stdout.take().expect("stdout is a pipe")).lines();
    let mut answers =
        lines.map_while(Result::ok).map(|line| serde_json::from_str::<Value>(&line).expect("JSON"));
    let answer = answers.find(|answer| answer["id"] == 2).expect("an answer");
    drop(stdin);
    child.wait().expect("the server ends");
    answer["result"].clone()
}
