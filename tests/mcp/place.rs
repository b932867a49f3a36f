//! Where a server is that was not started in a project (SPEC M-11).

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use stead_testkit::TestEnv;

use crate::STEAD;
use crate::rig::Server;

/// A directory of the environment that is no project, unless it is marked.
fn dir(env: &TestEnv, name: &str, marked: bool) -> PathBuf {
    let path = env.root().canonicalize().expect("a root").join(name);
    fs::create_dir_all(&path).expect("a directory");
    if marked {
        fs::create_dir_all(path.join(".stead")).expect("a mark");
    }
    path
}

fn raw(env: &TestEnv, cwd: &Path, words: &[&str]) -> Server {
    let mut command = env.command(["mcp"].iter().chain(words));
    command.current_dir(cwd);
    let mut server = Server::of(command);
    server.read();
    server
}

const ROOTS: fn() -> Value = || json!({"roots": {"listChanged": true}});
const WHERE: &str = "import os; print(os.getcwd())";

/// Answers the server's question for roots.
fn tell_roots(server: &mut Server, roots: &[&Path]) {
    let asked = server.asked("roots/list");
    let roots: Vec<Value> =
        roots.iter().map(|root| json!({"uri": format!("file://{}", root.display())})).collect();
    server.message(&json!({"jsonrpc": "2.0", "id": asked["id"], "result": {"roots": roots}}));
}

fn expect_at(server: &mut Server, path: &Path) {
    let reply = server.eval(WHERE);
    assert_eq!(reply.text.lines().next(), path.to_str(), "{}", reply.text);
    let listed = server.call("sessions", json!({})).text;
    assert!(listed.contains(&format!(" in {}", path.display())), "{listed}");
}

#[test]
fn m11_outside_a_project_the_workspace_is_the_clients_first_root() {
    let env = TestEnv::new(STEAD);
    let (nowhere, project, other) =
        (dir(&env, "nowhere", false), dir(&env, "a project", true), dir(&env, "other", true));
    let mut server = raw(&env, &nowhere, &[]);
    server.shake_hands_as("editor", ROOTS());
    // A call that comes before the answer waits for it.
    let early = server.send("eval", json!({"code": WHERE}));
    tell_roots(&mut server, &[&project, &other]);
    let reply = server.reply(early);
    assert_eq!(reply.text, format!("{}\n[py:1 +os module]", project.display()));
    // A root more changes nothing; a workspace that is none any longer is left, and that is said once.
    server.notify("notifications/roots/list_changed", json!({}));
    tell_roots(&mut server, &[&other, &project]);
    expect_at(&mut server, &project);
    server.notify("notifications/roots/list_changed", json!({}));
    tell_roots(&mut server, &[&other]);
    server.ping();
    // A call that is cancelled says nothing, so it is the next that says it.
    let mark = env.root().join("begun");
    let code = format!("open({mark:?}, 'w').close()\nwhile True: pass");
    let cancelled = server.send("eval", json!({"code": code, "timeout_ms": 50000}));
    stead_testkit::wait_for("the eval to run", || mark.exists());
    server.cancel(cancelled);
    assert_eq!(server.unasked(cancelled), 0);
    let reply = server.eval(WHERE);
    let note = format!("[note: the workspace is now {}, the client's root]", other.display());
    assert_eq!(reply.text.lines().next(), Some(&*note), "{}", reply.text);
    expect_at(&mut server, &other);
    // What `open` has chosen, no root changes.
    server.call("open", json!({"workspace": project})).expect(&format!(
        "[open: workspace \"{}\" from now on; sessions there: py]",
        project.display()
    ));
    server.notify("notifications/roots/list_changed", json!({}));
    expect_at(&mut server, &project);
    env.stop_all();
}

#[test]
fn m11_a_client_that_never_tells_its_roots_holds_up_nothing() {
    let env = TestEnv::new(STEAD);
    let (nowhere, late) = (dir(&env, "nowhere", false), dir(&env, "late", false));
    let mut server = raw(&env, &nowhere, &[]);
    server.shake_hands_as("editor", ROOTS());
    expect_at(&mut server, &nowhere);
    // An answer that comes late still counts, and the next reply says so.
    tell_roots(&mut server, &[&late]);
    server.ping();
    server.eval("1").contains(&format!("[note: the workspace is now {}", late.display()));
    expect_at(&mut server, &late);
    env.stop_all();
}

#[test]
fn m11_a_client_that_refuses_to_tell_its_roots_is_served_where_the_server_is() {
    let env = TestEnv::new(STEAD);
    let nowhere = dir(&env, "nowhere", false);
    let mut server = raw(&env, &nowhere, &[]);
    server.shake_hands_as("editor", ROOTS());
    let asked = server.asked("roots/list");
    let error = json!({"code": -32601, "message": "no"});
    server.message(&json!({"jsonrpc": "2.0", "id": asked["id"], "error": error}));
    expect_at(&mut server, &nowhere);
    env.stop_all();
}

#[test]
fn m11_a_project_or_a_named_workspace_is_not_left_for_a_root() {
    let env = TestEnv::new(STEAD);
    let (project, nowhere) = (dir(&env, "project", true), dir(&env, "nowhere", false));
    let named = ["--workspace", nowhere.to_str().expect("UTF-8")];
    for (words, place) in [(&[][..], &project), (&named[..], &nowhere)] {
        let mut server = raw(&env, place, words);
        server.shake_hands_as("editor", ROOTS());
        expect_at(&mut server, place);
    }
    env.stop_all();
}

#[test]
fn m11_a_server_at_home_says_so_once_and_open_switches_it() {
    let env = TestEnv::new(STEAD);
    let home = env.root().canonicalize().expect("a root").join("home");
    let project = dir(&env, "project", false);
    let mut server = raw(&env, &home, &[]);
    server.shake_hands();
    // Who leaves at once needs no note.
    let mut leaves = raw(&env, &home, &[]);
    leaves.shake_hands();
    let moved = leaves.call("open", json!({"workspace": project}));
    assert!(moved.text.starts_with("[open: workspace"), "{}", moved.text);
    let note = format!(
        "[note: the workspace is {}, the home directory; open {{\"workspace\":\"DIR\"}} switches to a project]",
        home.display()
    );
    server.eval("x = 1").expect(&format!("{note}\n[py:1 +x int]"));
    server.eval("x").expect("1\n[py:2]");
    // A session that cannot be opened there leaves the server where it is.
    let failed = server.call("open", json!({"workspace": project, "cwd": "/nonexistent"}));
    assert!(failed.failed, "{}", failed.text);
    let failed = server.call("open", json!({"workspace": "/nonexistent"}));
    assert!(failed.failed && failed.text.contains("/nonexistent"), "{}", failed.text);
    server.eval("x").expect("1\n[py:3]");
    let opened = server.call("open", json!({"workspace": "../project", "language": "python"}));
    let said = format!("; workspace \"{}\" from now on]", project.display());
    assert!(
        opened.closing().starts_with("[py: open, ") && opened.text.ends_with(&said),
        "{}",
        opened.text
    );
    // Ids and what was read of them belong to the workspace.
    server.eval("'x' in globals()").expect("False\n[py:1]");
    server.call("open", json!({"workspace": "~"})).contains("sessions there: py");
    server.eval("x").expect("1\n[py:4]");
    env.stop_all();
}
