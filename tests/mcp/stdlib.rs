//! ST-4 over MCP.

use serde_json::json;

use crate::rig::served;

#[test]
fn st4_a_function_is_added_listed_shown_used_and_removed() {
    let (_env, mut server) = served();
    let reply = server.call("stdlib", json!({"action": "list"}));
    assert!(reply.text.starts_with("[stdlib: 0 definitions for python, in "), "{}", reply.text);
    let code = "import json\ndef double(x):\n    'Twice x.'\n    return 2 * x\n";
    let reply = server.call("stdlib", json!({"action": "add", "code": code}));
    assert_eq!(
        reply.text,
        "[stdlib: added `json`, `double`; 2 definitions for python; new sessions have it]"
    );
    let reply = server.call("stdlib", json!({"action": "list"}));
    assert!(
        reply.text.starts_with("double(x): Twice x.\nmodule json: import json\n[stdlib: 2"),
        "{}",
        reply.text
    );
    let reply = server.call("stdlib", json!({"action": "show", "name": "double"}));
    assert!(
        reply
            .text
            .starts_with("def double(x):\n    'Twice x.'\n    return 2 * x\n[stdlib: double in "),
        "{}",
        reply.text
    );
    assert!(server.eval("double(4)").text.starts_with("8\n[py:1"), "it is there");
    let reply = server.call("open", json!({"name": "bare", "language": "python", "stdlib": false}));
    assert!(!reply.failed, "{}", reply.text);
    let reply = server.call("eval", json!({"session": "bare", "code": "double(4)"}));
    assert!(reply.text.contains("NameError"), "{}", reply.text);
    let reply = server.call("stdlib", json!({"action": "remove", "name": "double"}));
    assert_eq!(
        reply.text,
        "[stdlib: removed `double`; 1 definition for python; sessions that run keep it until they are cleared or restarted]"
    );
    let reply = server.call("stdlib", json!({"action": "remove", "name": "double"}));
    assert!(reply.failed && reply.text.contains("it defines: json"), "{}", reply.text);
}

#[test]
fn st4_what_is_wrong_is_named() {
    let (env, mut server) = served();
    for (arguments, says) in [
        (json!({"action": "add"}), "`code`"),
        (json!({"action": "remove"}), "`name`"),
        (json!({"action": "add", "code": "def f(:"}), "line 1"),
        (json!({"action": "add", "code": "f() {", "language": "bash"}), "line "),
        (json!({"action": "explode"}), "`action`"),
    ] {
        let reply = server.call("stdlib", arguments.clone());
        assert!(reply.failed && reply.text.contains(says), "{arguments}: {}", reply.text);
    }
    let dir = env.root().join("home/.config/stead/stdlib");
    std::fs::create_dir_all(&dir).unwrap();
    std::fs::write(dir.join("python.py"), "1 / 0").unwrap();
    let reply = server.call("open", json!({"name": "a", "language": "python"}));
    assert!(
        reply.text.contains("the standard library is not loaded: line 1: ZeroDivisionError"),
        "{}",
        reply.text
    );
    let reply = server.eval("1 + 1");
    assert!(
        reply.text.starts_with("2\n[note: the standard library is not loaded")
            && reply.text.ends_with("[py:1]"),
        "{}",
        reply.text
    );
    let reply = server.call("control", json!({"target": "py", "action": "clear"}));
    assert!(reply.text.contains("cleared") && reply.text.contains("not loaded"), "{}", reply.text);
}

#[test]
fn st4_a_library_that_fails_in_its_middle_is_not_said_to_be_missing() {
    let (env, mut server) = served();
    let dir = env.root().join("home/.config/stead/stdlib");
    std::fs::create_dir_all(&dir).unwrap();
    std::fs::write(dir.join("python.py"), "def double(x): return 2 * x\nnope()\n").unwrap();
    let says = "the standard library is not loaded as a whole: line 2: NameError";
    let reply = server.eval("double(4)");
    assert!(reply.text.starts_with("8\n[note: "), "{}", reply.text);
    reply.contains(says);
    server.call("open", json!({"name": "a", "language": "python"})).contains(says);
    server.call("control", json!({"target": "py", "action": "clear"})).contains(says);
    let status = env.run(["--text", "status", "py"]).stdout;
    assert!(status.contains("not loaded as a whole: line 2: NameError"), "{status}");
    // Of code that cannot be compiled nothing is loaded.
    std::fs::write(dir.join("python.py"), "def double(x): return 2 * x\nnope(\n").unwrap();
    let reply = server.call("open", json!({"name": "b", "language": "python"}));
    reply.contains("the standard library is not loaded: SyntaxError");
    // Bash has run what stands before the line that it cannot read.
    std::fs::write(dir.join("bash.sh"), "hi() { echo hi; }\nfi\n").unwrap();
    let reply = server.call("eval", json!({"language": "bash", "code": "hi"}));
    assert!(reply.text.starts_with("hi\n[note: "), "{}", reply.text);
    reply.contains("the standard library is not loaded as a whole: SyntaxError");
}

#[test]
fn st4_what_defines_no_name_is_removed_in_the_file() {
    let (env, mut server) = served();
    let code = "def f(): pass\nraise SystemExit(3)";
    server.call("stdlib", json!({"action": "add", "code": code}));
    let listed = server.call("stdlib", json!({"action": "list"}));
    listed.contains("other raise SystemExit(3)\n");
    let path = env.root().join("home/.config/stead/stdlib/python.py");
    for name in ["raise SystemExit(3)", "", "other"] {
        let reply = server.call("stdlib", json!({"action": "remove", "name": name}));
        assert!(reply.failed, "{}", reply.text);
        let hint = reply.text.lines().last().unwrap_or_default();
        assert!(hint.contains("it defines: f"), "{}", reply.text);
        assert!(
            hint.contains("to remove what has no name, edit ")
                && hint.contains(&format!("{}", path.display())),
            "{}",
            reply.text
        );
    }
    let told = env.json(["stdlib", "remove", "raise SystemExit(3)"]);
    let hint = told["error"]["hint"].as_str().unwrap_or_default();
    assert!(
        hint.contains("to remove what has no name, edit ") && hint.contains("python.py"),
        "{told:#}"
    );
}
