//! `state`: names kept in files and brought back, checkpoints and rollbacks (SPEC ST-2, ST-3, M-2).

use serde_json::{Value, json};
use stead_testkit::wait_for;

use crate::reply::Reply;
use crate::rig::{Server, served};

#[track_caller]
fn state(server: &mut Server, arguments: Value) -> Reply {
    server.call("state", arguments)
}

/// Calls `state`, which must not be carried out; all the words must be in the answer.
#[track_caller]
fn refused(server: &mut Server, arguments: Value, words: &[&str]) -> String {
    let reply = state(server, arguments.clone());
    assert!(reply.failed, "{arguments}: {}", reply.text);
    for word in words {
        assert!(reply.text.contains(word), "{arguments}: no {word:?} in {}", reply.text);
    }
    reply.text
}

#[test]
fn st2_a_session_is_saved_killed_and_goes_on_under_a_new_name() {
    let (env, mut server) = served();
    server
        .eval("import socket\nx = 41\nshared = [1]\npair = (shared, shared)\ns = socket.socket()");
    let save = json!({"session": "py", "action": "save", "path": "keep/a.stead"});
    let reply = state(&mut server, save);
    assert!(!reply.failed, "{}", reply.text);
    let path = env.workspace().join("keep/a.stead");
    reply.contains(&format!("saved 4 names to {}", path.display()));
    reply.contains("\nnot saved: s (socket): ");
    assert_eq!(
        reply.closing(),
        r#"[py:2; bring back: state {"action":"load","path":"keep/a.stead"}]"#
    );
    server.call("control", json!({"target": "py", "action": "kill"}));

    let load = json!({"action": "load", "path": "keep/a.stead", "new_session": "again"});
    let reply = state(&mut server, load.clone());
    reply.contains("loaded 4 names from ");
    reply.contains("\n[note: session `again` was opened for it]\n[again:1 +");
    let code = "x + len(pair[0]), pair[0] is pair[1] is shared";
    server.call("eval", json!({"session": "again", "code": code})).expect("(42, True)\n[again:2]");
    // A name that is taken is told how to be used; without a name the session gets a free one.
    refused(&mut server, load, &["session_exists", "\"into\":\"again\""]);
    let reply = state(&mut server, json!({"action": "load", "path": "keep/a.stead"}));
    reply.contains("\n[py-2:1 +");
}

#[test]
fn st2_load_goes_into_a_session_that_lives_and_opens_one_that_does_not() {
    let (env, mut server) = served();
    server.eval("x, y = 1, [1]");
    state(&mut server, json!({"session": "py", "action": "save", "path": "a.stead"}));
    server.eval("x, y, z = 2, [2], 3");
    let reply = state(&mut server, json!({"session": "py", "action": "load", "path": "a.stead"}));
    assert!(reply.closing().starts_with("[py:4 ~x int ~y list(1)"), "{}", reply.text);
    server.eval("x, y, z").contains("(1, [1], 3)\n");
    server.call("control", json!({"target": "py", "action": "stop"}));
    let reply = state(&mut server, json!({"session": "py", "action": "load", "path": "a.stead"}));
    reply.contains("session `py` was opened for it");
    server.eval("x, y").contains("(1, [1])\n");
    let into = json!({"action": "load", "path": "a.stead", "into": "none"});
    refused(&mut server, into, &["session_not_found", "`none`"]);
    let both = json!({"action": "load", "path": "a.stead", "into": "py", "new_session": "b"});
    refused(&mut server, both, &["`into`", "`new_session`"]);
    // A session of another language is named, and what to do instead.
    server.call("eval", json!({"language": "bash", "code": "true"}));
    let into = json!({"action": "load", "path": "a.stead", "into": "sh"});
    refused(&mut server, into, &["python", "`sh`", "bash", "hint: "]);
    // An absolute path, one from the home directory and one from the workspace are all meant as they say.
    let path = env.workspace().join("a.stead");
    state(&mut server, json!({"action": "list", "path": path})).contains("x int = 1\n");
    std::fs::copy(&path, env.root().join("home/b.stead")).expect("a home directory");
    state(&mut server, json!({"action": "list", "path": "~/b.stead"})).contains("x int = 1\n");
}

#[test]
fn st2_bash_and_node_are_saved_and_come_back() {
    let (_env, mut server) = served();
    for (language, session, code, ask, value) in [
        ("bash", "sh", "declare -A m=([k]=v); hi() { echo hi ${m[k]}; }", "hi", "hi v"),
        (
            "node",
            "js",
            "const m = new Map([[1, 41]]); class A { go() { return m.get(1) + 1; } }",
            "new A().go()",
            "42",
        ),
    ] {
        server.call("eval", json!({"language": language, "code": code}));
        let path = format!("{session}.stead");
        let reply = state(&mut server, json!({"session": session, "action": "save", "path": path}));
        reply.contains("saved 2 names to ");
        // A shell's status is not the save's.
        let call = format!(r#"bring back: state {{"action":"load","path":"{path}"}}"#);
        assert_eq!(reply.closing(), format!("[{session}:2; {call}]"));
        let reply = state(&mut server, json!({"action": "load", "path": path}));
        assert!(reply.closing().starts_with(&format!("[{session}-2:1 +m ")), "{}", reply.text);
        let arguments = json!({"session": format!("{session}-2"), "code": ask});
        server.call("eval", arguments).contains(&format!("{value}\n["));
    }
}

/// A load of which nothing comes back has failed, in every language and for every client.
#[test]
fn st2_a_load_of_which_nothing_comes_back_has_failed() {
    let (env, mut server) = served();
    let at = |name: &str| env.workspace().join(name);
    std::fs::write(at("gone.py"), "class Gone: pass\n").unwrap();
    std::fs::write(at("gone.js"), "module.exports = class Gone {};\n").unwrap();
    server.eval("import sys; sys.path.insert(0, '.')\nfrom gone import Gone\nvalue = Gone()");
    let node = "const gone = new (require('./gone.js'))()";
    server.call("eval", json!({"language": "node", "code": node}));
    server.call("eval", json!({"language": "bash", "code": "value=1"}));
    for (session, name) in [("py", "value"), ("js", "gone"), ("sh", "value")] {
        let path = format!("{session}.stead");
        let save = json!({"session": session, "action": "save", "path": path, "names": [name]});
        state(&mut server, save).contains("saved 1 name to ");
    }
    std::fs::remove_file(at("gone.py")).unwrap();
    std::fs::remove_file(at("gone.js")).unwrap();
    for (path, name) in [("py.stead", "value"), ("js.stead", "gone")] {
        let said = refused(
            &mut server,
            json!({"action": "load", "path": path, "new_session": "new"}),
            &[
                "[eval_error: load failed]\nloaded 0 names from ",
                "LoadError: nothing of `",
                " error]",
            ],
        );
        assert!(said.contains(&format!("\nnot loaded: {name} (")), "{said}");
        assert!(
            said.contains("session `new`, which was opened for it, was stopped again"),
            "{said}"
        );
    }
    server
        .call("eval", json!({"session": "fixed", "language": "bash", "code": "readonly value=2"}));
    let load = json!({"action": "load", "path": "sh.stead", "into": "fixed"});
    refused(&mut server, load, &["load failed]\n", "not loaded: value (", "[fixed:2 error]"]);
    // The command line says the same, with its exit code.
    let ran = env.run(["load", "py.stead", "--into", "py-9"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    let ran = env.run(["load", "py.stead"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    let reply = ran.json();
    assert_eq!((&reply["ok"], &reply["status"]), (&false.into(), &"error".into()), "{reply:#}");
    assert_eq!(reply["data"]["failed"][0]["name"], "value", "{reply:#}");
    // What comes back in part is no failure.
    server.eval("other = 5");
    let both = json!({"session": "py", "action": "save", "path": "both.stead", "names": ["other", "value"]});
    state(&mut server, both);
    let reply = state(&mut server, json!({"action": "load", "path": "both.stead"}));
    assert!(!reply.failed, "{}", reply.text);
    reply.contains("loaded 1 name from ");
    reply.contains("\nnot loaded: value (");
}

#[test]
fn st2_a_file_tells_what_it_holds_without_a_session() {
    let (env, mut server) = served();
    server.eval("import socket\nx = 41\ns = socket.socket()");
    let save = json!({"session": "py", "action": "save", "path": "a.stead"});
    state(&mut server, save);
    server.call("control", json!({"target": "py", "action": "stop"}));
    let reply = state(&mut server, json!({"action": "list", "path": "a.stead"}));
    reply.contains("x int = 41\n");
    reply.contains("not saved: s socket: ");
    let closing = reply.closing();
    assert!(closing.starts_with("[state: 2 names in "), "{closing}");
    assert!(closing.contains("; 1 could not be saved; bring back: state {"), "{closing}");
    assert!(env.json(["ls"])["data"]["sessions"].as_array().unwrap().is_empty());
    // What cannot be read is named, whatever it is.
    let whole = std::fs::read(env.workspace().join("a.stead")).unwrap();
    std::fs::write(env.workspace().join("cut.stead"), &whole[..whole.len() - 1]).unwrap();
    std::fs::write(env.workspace().join("notes"), "dear diary").unwrap();
    for (path, said) in [
        ("cut.stead", "cut off"),
        ("notes", "is not a file that a save has written"),
        (".", "a directory"),
        ("none.stead", "No such file"),
    ] {
        for action in ["list", "load"] {
            refused(&mut server, json!({"action": action, "path": path}), &[path, said]);
        }
    }
    server.eval("1");
    let save = json!({"session": "py", "action": "save", "path": "notes"});
    refused(&mut server, save, &["notes", "hint: name another file"]);
    assert_eq!(std::fs::read(env.workspace().join("notes")).unwrap(), b"dear diary");
}

#[test]
fn st3_checkpoints_are_made_listed_gone_back_to_and_dropped() {
    let (_env, mut server) = served();
    let call = |action: &str| json!({"session": "py", "action": action});
    let labelled =
        |action: &str, label: &str| json!({"session": "py", "action": action, "label": label});
    server.eval("x = 1");
    refused(&mut server, call("rollback"), &["there is no checkpoint", "state with checkpoint"]);
    state(&mut server, call("list"))
        .expect(r#"[py: 0 checkpoints; make one: state {"action":"checkpoint","session":"py"}]"#);
    let reply = state(&mut server, labelled("checkpoint", "before \"merge\""));
    let go_back =
        r#"go back: state {"action":"rollback","label":"before \"merge\"","session":"py"}"#;
    assert!(reply.closing().ends_with(&format!("; {go_back}]")), "{}", reply.text);
    server.eval("x = 2");
    state(&mut server, call("checkpoint"));
    server.eval("del x");
    let reply = state(&mut server, call("list"));
    let first = reply.text.lines().next().unwrap();
    assert!(first.starts_with("\"before \\\"merge\\\"\", "), "{}", reply.text);
    assert!(first.ends_with(", after py:1"), "{}", reply.text);
    assert!(reply.closing().starts_with("[py: 2 checkpoints; go back: "), "{}", reply.text);
    let reply = state(&mut server, labelled("rollback", "before \"merge\""));
    reply.contains("undone: ");
    server.eval("x").contains("1\n[");
    state(&mut server, call("rollback"));
    server.eval("x").contains("2\n[");
    state(&mut server, labelled("drop", "checkpoint"))
        .expect("[py: checkpoint \"checkpoint\" dropped, 1 checkpoint left]");
    refused(&mut server, labelled("rollback", "checkpoint"), &["`checkpoint`", "state with list"]);
    refused(&mut server, call("drop"), &["`label`"]);
    refused(&mut server, labelled("checkpoint", "a\nb"), &["is not a label"]);
}

#[test]
fn st3_bash_goes_back_by_its_text() {
    let (_env, mut server) = served();
    let bash = |server: &mut Server, code: &str| {
        server.call("eval", json!({"language": "bash", "code": code}))
    };
    bash(&mut server, "a=1");
    state(&mut server, json!({"session": "sh", "action": "checkpoint", "label": "x"}));
    bash(&mut server, "unset a");
    let reply = state(&mut server, json!({"session": "sh", "action": "rollback"}));
    reply.contains("rolled back to `x`\nundone: sh:3\n");
    // A shell's status is not the rollback's.
    assert_eq!(reply.closing(), "[sh:4]");
    bash(&mut server, "echo $a").contains("1\n[");
}

#[test]
fn st3_a_rollback_rescues_from_code_that_hangs() {
    let (env, mut server) = served();
    server.eval("x = 1");
    state(&mut server, json!({"session": "py", "action": "checkpoint"}));
    let mark = env.root().join("runs");
    let code = format!(
        "x = 2\nimport signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\nopen({mark:?}, 'w').close()\nwhile True: pass"
    );
    let running = server.send("eval", json!({"code": code, "timeout_ms": 50000}));
    wait_for("the code to run", || mark.exists());
    let reply = state(&mut server, json!({"session": "py", "action": "rollback"}));
    assert!(!reply.failed, "{}", reply.text);
    server.reply(running).contains("[py:3");
    server.eval("x").contains("1\n[");
}

#[test]
fn m7_work_keeps_its_place_among_evals_that_were_sent_at_once() {
    let (_env, mut server) = served();
    let mut ids = Vec::new();
    for n in 0..5 {
        ids.push(server.send("eval", json!({"code": format!("x = {n}")})));
        let path = format!("{n}.stead");
        ids.push(server.send("state", json!({"session": "py", "action": "save", "path": path})));
    }
    ids.into_iter().for_each(|id| drop(server.reply(id)));
    for n in 0..5 {
        let list = json!({"action": "list", "path": format!("{n}.stead")});
        state(&mut server, list).contains(&format!("x int = {n}\n"));
    }
}

/// A value whose save runs code of the user's.
fn slow(begin: &str) -> String {
    format!(
        "class Slow:\n    def __reduce__(self):\n        {begin}\n        return int, ()\nslow = Slow()"
    )
}

#[test]
fn m5_a_cancelled_save_is_interrupted_and_keeps_the_earlier_file() {
    let (env, mut server) = served();
    server.eval("x = 41");
    let save = json!({"session": "py", "action": "save", "path": "a.stead"});
    state(&mut server, save.clone());
    let before = std::fs::read(env.workspace().join("a.stead")).unwrap();
    let mark = env.root().join("saves");
    server.eval(&slow(&format!("open({mark:?}, 'w').close()\n        while True: pass")));
    let id = server.send("state", save);
    wait_for("the save to run", || mark.exists());
    server.cancel(id);
    server.eval("x + 1").contains("42\n[");
    server.call("output", json!({"id": "py:4"})).contains("[py:4 interrupted, state kept");
    assert_eq!(std::fs::read(env.workspace().join("a.stead")).unwrap(), before);
    assert_eq!(server.unasked(id), 0);
}

#[test]
fn m4_a_save_that_has_to_wait_is_yielded_with_its_id() {
    let (_env, mut server) = served();
    server.eval(&slow("input('may I? ')"));
    let reply = state(&mut server, json!({"session": "py", "action": "save", "path": "a.stead"}));
    assert!(!reply.failed, "{}", reply.text);
    assert!(
        reply.closing().starts_with("[py:2 waits for input, prompt \"may I?\""),
        "{}",
        reply.text
    );
    let mut reply = server.call("input", json!({"target": "py:2", "text": "y"}));
    // Each of the tries to save the value may ask.
    while reply.closing().contains("waits for input") {
        reply = server.call("input", json!({"target": "py:2", "text": "y"}));
    }
    reply.contains("saved 2 names to ");
}

#[test]
fn m8_what_is_wrong_with_a_call_is_named() {
    let (_env, mut server) = served();
    server.eval("x = 1");
    for (arguments, words) in [
        (json!({}), &["`action`"][..]),
        (json!({"action": "explode"}), &["`action`", "`explode`"]),
        (json!({"action": "save", "path": "a"}), &["`session`"]),
        (json!({"action": "save", "session": "py"}), &["`path`"]),
        (json!({"action": "save", "session": "py", "path": 7}), &["`path`"]),
        (json!({"action": "save", "session": "py", "path": "a", "names": "x"}), &["`names`"]),
        (json!({"action": "save", "session": "py", "path": "a", "names": [1]}), &["`names[0]`"]),
        (json!({"action": "save", "session": "py", "path": "a\nb"}), &["a line break"]),
        (
            json!({"action": "save", "session": "py", "path": "a", "label": "b"}),
            &["`label`", "`save`"],
        ),
        (
            json!({"action": "checkpoint", "session": "py", "path": "a"}),
            &["`path`", "`checkpoint`"],
        ),
        (json!({"action": "load"}), &["`path`"]),
        (json!({"action": "list"}), &["`session` or `path`"]),
        (json!({"action": "list", "session": "no/name"}), &["no/name"]),
        (json!({"action": "save", "session": "none", "path": "a"}), &["session_not_found", "py"]),
        (json!({"action": "save", "session": "py", "path": "a", "extra": 1}), &["`extra`"]),
    ] {
        refused(&mut server, arguments, words);
    }
    // Many clients fill in all that there is, with nothing in it.
    let padded = json!({"action": "save", "session": "py", "path": "a.stead", "label": "", "into": null,
        "new_session": "", "names": []});
    state(&mut server, padded).contains("saved 1 name to ");
    server.call("eval", json!({"language": "node", "code": "1"}));
    let js = json!({"session": "js", "action": "checkpoint"});
    refused(&mut server, js, &["unsupported", "node", "state with save"]);
}

#[test]
fn st5_undo_over_mcp_needs_no_preparation() {
    let (env, mut server) = served();
    let settled = || {
        wait_for("a copy of the session as it is", || {
            env.json(["status", "-n", "py"])["data"]["undo"]["kept"] == true
        });
    };
    server.eval("x = [1]");
    settled();
    server.eval("x.clear()");
    settled();
    server.eval("del x");
    let reply = state(&mut server, json!({"session": "py", "action": "undo"}));
    reply.contains("back to before py:3\n[py:4]");
    server.eval("x").contains("[]\n[");
    settled();
    let reply = state(&mut server, json!({"action": "undo", "id": "py:2"}));
    reply.contains("back to before py:2\nundone: py:2, py:5\n[");
    server.eval("x").contains("[1]\n[");
    refused(&mut server, json!({"action": "undo", "id": "py:3"}), &["undone already"]);
    refused(&mut server, json!({"action": "undo", "id": "py:1"}), &["`py:1` cannot be undone"]);
    refused(&mut server, json!({"action": "undo"}), &["`session` must be given"]);
    refused(&mut server, json!({"action": "undo", "id": "py:7", "label": "x"}), &["`label`"]);
    refused(&mut server, json!({"action": "undo", "session": "other", "id": "py:7"}), &["py:7"]);
    settled();
    let crashed = server.eval("import ctypes; ctypes.string_at(0)");
    crashed.contains("signal 11 (SIGSEGV); the session goes on");
    crashed.contains("restored to before py:");
    server.eval("x").contains("[1]\n[");
}

#[test]
fn st5_what_a_rollback_or_an_undo_cuts_short_is_told_that_the_session_goes_on() {
    let (env, mut server) = served();
    server.eval("x = 1");
    state(&mut server, json!({"session": "py", "action": "checkpoint"}));
    for action in ["rollback", "undo"] {
        wait_for("a copy of the session as it is", || {
            env.json(["status", "-n", "py"])["data"]["undo"]["kept"] == true
        });
        let mark = env.root().join(action);
        let code = format!("x = 2\nopen({mark:?}, 'w').close()\nwhile True: pass");
        let cut = server.call("eval", json!({"code": code, "background": true})).id();
        wait_for("the eval to run", || mark.exists());
        let queued = server.call("eval", json!({"code": "x = 3", "background": true})).id();
        let back = state(&mut server, json!({"session": "py", "action": action}));
        assert!(!back.failed, "{}", back.text);
        for (id, says) in [
            (&cut, " ended: the session was rolled back by "),
            (&queued, " did not run: the session was rolled back by "),
        ] {
            let reply = server.call("output", json!({"id": id, "wait_ms": 50000}));
            assert!(reply.closing().contains(says), "{action}: {}", reply.text);
            assert!(
                reply.closing().contains("; the session goes on with its earlier state"),
                "{action}: {}",
                reply.text
            );
            assert!(!reply.text.contains("fresh"), "{action}: {}", reply.text);
            // The command line says the same, in words and in its JSON.
            let told = env.run(["output", id, "--text"]);
            assert!(
                told.stderr.contains("the session goes on with its earlier state"),
                "{action}: {told:?}"
            );
            let told = env.json(["output", id]);
            assert_eq!(told["status"], "ended", "{told:#}");
            assert!(!told.to_string().contains("fresh"), "{told:#}");
        }
        server.eval("x").contains("1\n[py:");
    }
}

#[test]
fn s5_the_name_of_a_language_is_given_to_no_other() {
    let (_env, mut server) = served();
    server.call("eval", json!({"code": "const x = 41", "language": "node"}));
    server.call("state", json!({"action": "save", "session": "js", "path": "a.stead"}));
    server.call("control", json!({"target": "js", "action": "stop"}));
    for arguments in [
        json!({"action": "load", "path": "a.stead", "session": "py"}),
        json!({"action": "load", "path": "a.stead", "new_session": "py"}),
    ] {
        let refused = server.call("state", arguments);
        assert!(refused.failed, "{}", refused.text);
        refused
            .contains("`py` is the name of the session in python, and this one would be in node");
        refused.contains("give another name, such as `js`");
    }
    let refused = server.call("open", json!({"language": "node", "name": "py"}));
    assert!(refused.failed && refused.text.contains("such as `js`"), "{}", refused.text);
    let refused =
        server.call("eval", json!({"code": "1", "language": "node", "session": "python"}));
    assert!(refused.failed && refused.text.contains("such as `js`"), "{}", refused.text);
    server.eval("type(1)").contains("<class 'int'>");
    let loaded = server.call("state", json!({"action": "load", "path": "a.stead"}));
    assert!(loaded.closing().starts_with("[js:"), "{}", loaded.text);
}
