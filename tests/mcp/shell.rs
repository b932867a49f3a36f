//! J-1, J-2 over MCP.

use serde_json::json;

use crate::rig::served;

#[test]
fn j1_a_command_is_answered_with_output_code_and_time() {
    let (env, mut server) = served();
    let reply = server.call("shell", json!({"command": "echo hi; pwd"}));
    let workspace = env.workspace().canonicalize().unwrap();
    assert!(
        reply.text.starts_with(&format!("hi\n{}\n[shell:1 ", workspace.display())),
        "{}",
        reply.text
    );
    assert!(reply.closing().ends_with(" ms exit code 0]"), "{}", reply.text);
    let reply = server.call("shell", json!({"command": "exit 3"}));
    assert!(reply.closing().ends_with(" exit code 3]") && !reply.failed, "{}", reply.text);
    let reply = server.call("shell", json!({"command": "true", "cwd": "nowhere"}));
    assert!(reply.failed && reply.text.contains("`cwd`"), "{}", reply.text);
}

#[test]
fn j1_a_long_command_is_read_answered_and_stopped_by_its_id() {
    let (_env, mut server) = served();
    let reply = server.call("shell", json!({"command": "read x; echo got $x; read y"}));
    assert!(reply.closing().starts_with("[shell:1 waits for input"), "{}", reply.text);
    let other = server.call("shell", json!({"command": "echo meanwhile"}));
    assert!(other.text.starts_with("meanwhile\n[shell-2:1 "), "{}", other.text);
    let reply = server.call("input", json!({"target": "shell:1", "text": "it"}));
    assert!(reply.text.starts_with("got it\n[shell:1 waits for input"), "{}", reply.text);
    let reply = server.call("control", json!({"target": "shell:1", "action": "interrupt"}));
    assert!(reply.text.contains("interrupted"), "{}", reply.text);
    let reply = server.call("shell", json!({"command": "sleep 1000", "timeout_ms": 50}));
    assert!(reply.closing().contains("still running"), "{}", reply.text);
    let reply = server.call("sessions", json!({}));
    assert!(reply.text.contains("\"sleep 1000\""), "{}", reply.text);
}

#[test]
fn j2_a_fresh_eval_shares_nothing() {
    let (_env, mut server) = served();
    server.eval("x = 1");
    let reply = server.call("eval", json!({"code": "x", "fresh": true}));
    assert!(
        reply.text.contains("NameError") && reply.closing().starts_with("[run-"),
        "{}",
        reply.text
    );
    let reply = server.call("eval", json!({"code": "x", "fresh": true, "session": "py"}));
    assert!(reply.failed && reply.text.contains("`fresh`"), "{}", reply.text);
    let reply = server.call("sessions", json!({}));
    assert!(!reply.text.contains("run-"), "{}", reply.text);
}
