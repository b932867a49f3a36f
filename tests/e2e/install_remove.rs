//! U-4: what `stead install --remove` finds and gives back.

use std::fs;

use serde_json::Value;
use stead_testkit::TestEnv;

use crate::STEAD;

#[track_caller]
fn install(env: &TestEnv, arguments: &[&str]) -> Value {
    let ran = env.run([&["install"], arguments].concat());
    assert_eq!(ran.code, Some(0), "{ran:?}");
    ran.json()["data"].clone()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

#[test]
fn u4_a_remove_finds_entries_whose_program_is_not_here() {
    let env = TestEnv::new(STEAD);
    let data = install(&env, &["--scope", "project", "--remove"]);
    assert!(text(&data["notes"][0]).contains("no entry of stead"), "{data:#}");
    let clients = [
        "claude-code",
        "codex",
        "cursor",
        "vscode",
        "copilot-cli",
        "gemini-cli",
        "zed",
        "opencode",
    ];
    for client in clients {
        install(&env, &["--scope", "project", "--client", client]);
    }
    let data = install(&env, &["--scope", "project", "--remove"]);
    let found: Vec<&str> =
        data["clients"].as_array().unwrap().iter().map(|it| text(&it["client"])).collect();
    assert_eq!(found, clients, "{data:#}");
    assert!(data["clients"].as_array().unwrap().iter().all(|it| it["action"] == "removed"));
    assert_eq!(fs::read_dir(env.workspace()).unwrap().count(), 0, "nothing is left");
    // Nobody can say of a file that cannot be read that it has no entry.
    fs::create_dir(env.workspace().join(".cursor")).unwrap();
    fs::write(env.workspace().join(".cursor/mcp.json"), "{").unwrap();
    let ran = env.run(["install", "--scope", "project", "--remove"]);
    assert!(ran.code == Some(2) && ran.stdout.contains("line 1, column 2"), "{ran:?}");
}
