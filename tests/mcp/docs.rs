//! docs/mcp.md against the server.

use serde_json::json;

use crate::rig::served;

#[test]
fn m2_the_documentation_has_every_tool_with_its_arguments() {
    let docs = include_str!("../../docs/mcp.md");
    let (_env, mut server) = served();
    let answer = server.ask("tools/list", json!({}));
    let tools = answer["result"]["tools"].as_array().expect("tools");
    for tool in tools {
        let name = tool["name"].as_str().expect("a name");
        let begins = format!("| `{name}` | ");
        let row = docs.lines().find(|line| line.starts_with(&begins));
        let row = row.unwrap_or_else(|| panic!("docs/mcp.md has no tool `{name}`"));
        let schema = &tool["inputSchema"];
        for (argument, about) in schema["properties"].as_object().expect("arguments") {
            // An argument may be left out, which a question mark says, or stands between others of which one is needed.
            let is_named = row.contains(&format!("`{argument}`"));
            assert!(is_named || row.contains(&format!("`{argument}?`")), "`{argument}`: {row}");
            for value in about["enum"].as_array().into_iter().flatten() {
                let is_language = argument == "language";
                let value = value.as_str().expect("a word");
                assert!(is_language || row.contains(&format!("`{value}`")), "`{value}`: {row}");
            }
        }
    }
}
