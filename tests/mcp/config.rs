//! CF-2, CF-3 and CF-4 over MCP.

use std::fs;

use serde_json::json;

use crate::rig::served;

#[test]
fn cf4_a_session_of_the_project_is_refused_until_the_user_has_allowed_it() {
    let (env, mut server) = served();
    let dir = env.workspace().join(".stead");
    fs::create_dir_all(&dir).unwrap();
    fs::write(dir.join("config.toml"), "[sessions.ml]\ninit = \"z = 41\"\n").unwrap();
    for (tool, arguments) in
        [("eval", json!({"session": "ml", "code": "z + 1"})), ("open", json!({"name": "ml"}))]
    {
        let reply = server.call(tool, arguments);
        assert!(reply.failed && reply.text.contains("is not allowed"), "{}", reply.text);
        assert!(
            reply.text.contains("ask the user") && reply.text.contains("`stead allow`"),
            "{}",
            reply.text
        );
    }
    assert_eq!(env.json(["allow"])["ok"], true);
    let reply = server.call("eval", json!({"session": "ml", "code": "z + 1"}));
    assert!(reply.text.starts_with("42\n"), "{}", reply.text);
    server.call("control", json!({"target": "ml", "action": "stop"}));
    let reply = server.call("open", json!({"name": "ml"}));
    assert!(!reply.failed && reply.text.contains("[ml: open, python"), "{}", reply.text);
    // What was taken back starts nothing again, and one that lives goes on.
    assert_eq!(env.json(["allow", "--remove"])["ok"], true);
    let restart = json!({"target": "ml", "action": "restart"});
    let reply = server.call("control", restart.clone());
    assert!(reply.failed && reply.text.contains("ask the user"), "{}", reply.text);
    let reply = server.call("eval", json!({"session": "ml", "code": "z + 1"}));
    assert!(reply.text.starts_with("42\n"), "{}", reply.text);
    assert_eq!(env.json(["allow"])["ok"], true);
    assert!(!server.call("control", restart).failed);
    fs::write(dir.join("more"), "").unwrap();
    server.call("control", json!({"target": "ml", "action": "stop"}));
    let reply = server.call("eval", json!({"session": "ml", "code": "z"}));
    assert!(reply.failed && reply.text.contains("has changed"), "{}", reply.text);
}

#[test]
fn cf3_a_toolchain_is_a_language_for_eval_and_open() {
    let (env, mut server) = served();
    let dir = env.root().join("home/.config/stead");
    fs::create_dir_all(&dir).unwrap();
    fs::write(
        dir.join("config.toml"),
        "[toolchains.ds]\nengine = \"python\"\ninit = \"answer = 42\"\n",
    )
    .unwrap();
    let reply = server.call("eval", json!({"language": "ds", "code": "answer"}));
    assert!(reply.text.starts_with("42\n") && reply.text.ends_with("[ds:1]"), "{}", reply.text);
    let reply = server.call("open", json!({"language": "ds", "name": "x"}));
    assert!(
        reply.text.contains("[x: open, python") && reply.text.contains("toolchain `ds`"),
        "{}",
        reply.text
    );
    let reply = server.call("eval", json!({"language": "python.venv", "code": "1"}));
    assert!(reply.failed && reply.text.contains("python3 -m venv"), "{}", reply.text);
    let reply = server.call("eval", json!({"language": "cobol", "code": "1"}));
    assert!(reply.failed, "{}", reply.text);
    let (_, known) = reply.text.split_once("there are: ").expect(&reply.text);
    for name in ["ds", "python"] {
        let mut words = known.split(|c: char| !c.is_alphanumeric() && c != '.');
        assert!(words.any(|word| word == name), "{name}: {}", reply.text);
    }
    fs::write(dir.join("config.toml"), "[sessions.a]\nini = \"1\"\n").unwrap();
    let reply = server.call("open", json!({"name": "b"}));
    assert!(
        reply.failed && reply.text.contains("config.toml:2: `sessions.a.ini`"),
        "{}",
        reply.text
    );
    assert!(reply.text.contains("did you mean `init`?"), "{}", reply.text);
}
