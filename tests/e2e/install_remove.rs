//! U-4: what `stead install --remove` finds and gives back, also after a client's own command did damage.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use serde_json::Value;
use stead_testkit::TestEnv;

use crate::STEAD;

#[track_caller]
fn install(env: &TestEnv, arguments: &[&str]) -> Value {
    let ran = env.run([&["install"], arguments].concat());
    assert_eq!(ran.code, Some(0), "{ran:?}");
    ran.json()["data"].clone()
}

/// A file below the home directory, with its directories.
fn put(env: &TestEnv, path: &str, text: &str) -> PathBuf {
    let path = env.root().join("home").join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, text).unwrap();
    path
}

/// The answer for one client.
#[track_caller]
fn one(env: &TestEnv, arguments: &[&str]) -> Value {
    install(env, arguments)["clients"][0].clone()
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

/// Entries of stead that users have made, with their files.
const MINE: [(&str, &str, &str); 4] = [
    (
        "cursor",
        ".cursor/mcp.json",
        r#"{"mcpServers": {"stead":{"command":"uvx","args":["stead","mcp"],"env":{"A":"1"},"disabled":true}}}"#,
    ),
    (
        "codex",
        ".codex/config.toml",
        "model = 'x'\n[mcp_servers.stead]\ncommand = '/old/stead' # mine\nargs = ['mcp']\n",
    ),
    (
        "goose",
        ".config/goose/config.yaml",
        "extensions:\n  stead:\n    cmd: /old/stead\n    args: [mcp]\n",
    ),
    (
        "opencode",
        ".config/opencode/opencode.json",
        r#"{"mcp":{"stead":{"command":["/old/stead","mcp"]}}}"#,
    ),
];

#[test]
fn u4_a_remove_gives_back_an_entry_that_was_there_before_the_install() {
    let env = TestEnv::new(STEAD);
    for (client, path, mine) in MINE {
        let file = put(&env, path, mine);
        let read = || fs::read_to_string(&file).unwrap();
        let remove = ["--client", client, "--remove"];
        assert_eq!(one(&env, &["--client", client])["action"], "changed");
        let again = one(&env, &["--client", client, "--command", "/other/stead"]);
        assert_eq!(again["action"], "changed", "{again:#}");
        let answer = one(&env, &remove);
        assert_eq!((text(&answer["action"]), text(&answer["by"])), ("restored", "restore"));
        assert!(text(&answer["note"]).contains("is back"), "{answer:#}");
        assert_eq!(read(), mine, "{client}");
        assert_eq!(one(&env, &remove)["action"], "removed", "a second one takes it out");
        assert!(!read().contains("stead"), "{}", read());
        // Where somebody was at the file, the entry is taken out, and the answer says where the earlier one is.
        fs::write(&file, mine).unwrap();
        install(&env, &["--client", client]);
        fs::write(&file, format!("{}\n", read())).unwrap();
        let answer = one(&env, &remove);
        assert_eq!(answer["action"], "removed", "{answer:#}");
        let copy = text(&answer["note"]).split('`').nth(1).unwrap().to_owned();
        assert_eq!(fs::read_to_string(copy).unwrap(), mine, "{answer:#}");
        assert!(!read().contains("stead"), "{}", read());
    }
}

#[test]
fn u4_an_entry_of_an_earlier_install_is_not_given_back() {
    let env = TestEnv::new(STEAD);
    let file = put(&env, ".cursor/mcp.json", "{\n  \"a\": 1\n}\n");
    install(&env, &["--client", "cursor"]);
    let touched = fs::read_to_string(&file).unwrap().replace("\"a\": 1", "\"a\": 2");
    fs::write(&file, touched).unwrap();
    install(&env, &["--client", "cursor", "--command", "/other/stead"]);
    let answer = one(&env, &["--client", "cursor", "--remove"]);
    assert_eq!(answer["action"], "removed", "{answer:#}");
    let left: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
    assert_eq!(left["a"], 2);
    assert_eq!(left.pointer("/mcpServers/stead"), None, "{left}");
}

#[test]
fn u4_what_a_clients_own_command_takes_out_beside_the_entry_is_told_and_given_back() {
    let env = TestEnv::new(STEAD);
    let mine = r#"{"keep": 1, "starts": 1, "mcpServers": {"o": {"command": "o"}}}"#;
    let file = put(&env, ".claude.json", mine);
    let entry = r#""stead": {"command": "stead", "args": ["mcp"]}"#;
    let own = |after: &str| {
        let program = env.root().join("bin/claude");
        let script = format!("#!/bin/sh\ncat > '{}' <<'E'\n{after}\nE\n", file.display());
        fs::write(&program, script).unwrap();
        fs::set_permissions(&program, Permissions::from_mode(0o755)).unwrap();
    };
    let remove = ["--client", "claude-code", "--remove"];
    own(&format!(r#"{{"mcpServers": {{{entry}}}}}"#));
    let answer = one(&env, &["--client", "claude-code"]);
    assert_eq!(answer["action"], "added", "{answer:#}");
    for name in ["`keep`", "`mcpServers`"] {
        assert!(text(&answer["note"]).contains(name), "{answer:#}");
    }
    assert_eq!(fs::read_to_string(text(&answer["backup"])).unwrap(), mine);
    assert_eq!(one(&env, &remove)["by"], "restore");
    assert_eq!(fs::read_to_string(&file).unwrap(), mine);
    // What it notes beside the entry is its own affair.
    let noted = format!(
        r#"{{"keep": 1, "starts": 2, "new": 1, "mcpServers": {{"o": {{"command": "o"}}, {entry}}}}}"#
    );
    own(&noted);
    assert_eq!(one(&env, &["--client", "claude-code"])["note"], Value::Null);
    own(r#"{"keep": 1, "starts": 2, "new": 1}"#);
    let answer = one(&env, &remove);
    assert!(text(&answer["note"]).contains("`mcpServers`"), "{answer:#}");
    assert!(fs::read_to_string(text(&answer["backup"])).unwrap().contains("\"o\""), "{answer:#}");
    // A file that it breaks is edited as it was before.
    fs::write(&file, mine).unwrap();
    own("{");
    let answer = one(&env, &["--client", "claude-code"]);
    assert_eq!((text(&answer["action"]), text(&answer["by"])), ("added", "edit"), "{answer:#}");
    assert!(text(&answer["note"]).contains("left a broken file"), "{answer:#}");
    let now = fs::read_to_string(&file).unwrap();
    assert!(now.contains("\"keep\": 1") && now.contains("\"stead\""), "{now}");
    assert_eq!(one(&env, &remove)["by"], "restore");
    assert_eq!(fs::read_to_string(&file).unwrap(), mine);
}
