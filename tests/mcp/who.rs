//! Several servers and a person on one session: each is told once what the others ran (SPEC M-2, E-16).

use serde_json::{Value, json};
use stead_testkit::TestEnv;

use crate::STEAD;
use crate::rig::{Server, served};

fn server(env: &TestEnv, name: &str) -> Server {
    let mut server = Server::raw(env);
    server.shake_hands_as(name, json!({}));
    server
}

fn person(env: &TestEnv, code: &str) -> Value {
    env.json(["eval", "-n", "py", code])
}

#[test]
fn m2_two_servers_and_a_person_are_told_of_each_other_exactly_once() {
    let env = TestEnv::new(STEAD);
    let (mut one, mut two) = (server(&env, "claude"), server(&env, "codex"));
    one.eval("x = 1").expect("[py:1 +x int]");
    // What was before its first eval is no news to a server.
    two.eval("x").expect("1\n[py:2]");
    person(&env, "y = 2");
    person(&env, "1/0");
    one.eval("x").expect("1\n[py:5; meanwhile by codex: py:2; by cli: py:3, py:4]");
    one.eval("x").expect("1\n[py:6]");
    two.eval("x").expect("1\n[py:7; meanwhile by cli: py:3, py:4; by claude: py:5, py:6]");
    two.eval("x").expect("1\n[py:8]");
    one.eval("x").expect("1\n[py:9; meanwhile by codex: py:7, py:8]");
    one.eval("x").expect("1\n[py:10]");
    env.run(["stop", "-n", "py"]);
}

#[test]
fn m2_servers_of_the_same_client_are_two() {
    let env = TestEnv::new(STEAD);
    let (mut one, mut two) = (server(&env, "claude"), server(&env, "claude"));
    one.eval("x = 1");
    two.eval("x");
    let reply = one.eval("x");
    let closing = reply.closing();
    assert!(
        closing.starts_with("[py:3; meanwhile by claude#") && closing.ends_with(": py:2]"),
        "{closing}"
    );
    one.eval("x").expect("1\n[py:4]");
    env.run(["stop", "-n", "py"]);
}

/// Clients that never say who they are have servers of their own all the same.
#[test]
fn e16_servers_of_clients_without_a_name_are_told_apart() {
    let env = TestEnv::new(STEAD);
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let eval = |server: &mut Server| {
        let params = json!({"name": "eval", "arguments": {"code": "1"}, "_meta": meta});
        let id = server.request("tools/call", params);
        server.reply(id)
    };
    let (mut one, mut two) = (Server::raw(&env), Server::raw(&env));
    eval(&mut one).expect("1\n[py:1]");
    eval(&mut two);
    let reply = eval(&mut one);
    assert!(reply.closing().starts_with("[py:3; meanwhile by mcp#"), "{}", reply.text);
    eval(&mut one).expect("1\n[py:4]");
    env.run(["stop", "-n", "py"]);
}

#[test]
fn m2_whatever_became_of_an_eval_of_others_it_is_named() {
    let (env, mut server) = served();
    server.eval("import time").expect("[py:1 +time module]");
    // One that waits for input, one that is queued behind it, and one that is sent in the background.
    env.json(["eval", "-n", "py", "--bg", "input('go? ')"]);
    env.json(["output", "py:2", "--wait", "30s"]);
    env.json(["input", "-n", "py", "--timeout", "30s", "x"]);
    env.json(["clear", "-n", "py"]);
    let id = server.call("eval", json!({"code": "2", "background": true}));
    id.contains("py:4");
    id.contains("meanwhile by cli: py:2, py:3 (clear)");
    let read = server.call("output", json!({"id": "py:4", "wait_ms": 30_000}));
    assert!(!read.text.contains("meanwhile"), "{}", read.text);
    // The eval of another is marked with who sent it.
    server.call("output", json!({"id": "py:2", "offset": 0})).contains("; by cli]");
    // Many are counted.
    for _ in 0..7 {
        person(&env, "1");
    }
    server.eval("3").expect("3\n[py:12; meanwhile 7 evals by cli: py:5 … py:11]");
    // A failing eval tells it too, and what is told is told.
    person(&env, "1");
    let failed = server.eval("1/0");
    failed.contains("meanwhile by cli: py:13]");
    server.eval("3").expect("3\n[py:15]");
    env.run(["stop", "-n", "py"]);
}

/// A reply that was never written has told nothing and given nothing to read.
#[test]
fn m2_what_a_cancelled_call_would_have_told_is_told_by_the_next() {
    let (env, mut server) = served();
    server.eval("x = 1");
    person(&env, "y = 2");
    person(&env, "z = 3");
    let mark = env.root().join("mark");
    let code = format!("print('up', flush=True)\nopen({mark:?}, 'w').close()\nwhile True: pass");
    let id = server.send("eval", json!({"code": code, "timeout_ms": 50_000}));
    stead_testkit::wait_for("the eval to run", || mark.exists());
    server.cancel(id);
    server.eval("x").expect("1\n[py:5; meanwhile by cli: py:2, py:3]");
    server.eval("x").expect("1\n[py:6]");
    let unread = server.call("output", json!({"id": "py:4"}));
    assert!(unread.text.starts_with("up\n"), "{}", unread.text);
    assert_eq!(server.unasked(id), 0);
    env.run(["stop", "-n", "py"]);
}

#[test]
fn m2_a_loss_of_state_that_others_caused_is_told() {
    let (env, mut server) = served();
    server.eval("x = 1");
    env.json(["restart", "-n", "py"]);
    let said = "state lost meanwhile: the session was restarted by cli";
    server.eval("2").expect(&format!("2\n[py:2 g2; {said}]"));
    server.eval("3").expect("3\n[py:3 g2]");
    // Of a session that another stopped and used again, both are told.
    env.json(["stop", "-n", "py"]);
    person(&env, "y = 1");
    let said = "meanwhile by cli: py:4; state lost meanwhile: the session was stopped by cli";
    server.eval("2").expect(&format!("2\n[py:5 g3; {said}]"));
    server.eval("3").expect("3\n[py:6 g3]");
    // What this server did itself needs no telling.
    server.call("control", json!({"target": "py", "action": "restart"}));
    server.eval("2").expect("2\n[py:7 g4]");
    env.run(["stop", "-n", "py"]);
}

/// A session that was removed and made anew has numbers of its own.
#[test]
fn m2_another_session_of_the_same_name_is_another() {
    let (env, mut server) = served();
    for n in 1..4 {
        server.eval("1").contains(&format!("py:{n}"));
    }
    env.json(["stop", "-n", "py"]);
    env.json(["rm", "py"]);
    person(&env, "1");
    server.eval("2").contains("[py:2; meanwhile by cli: py:1");
    server.eval("2").expect("2\n[py:3]");
    env.run(["stop", "-n", "py"]);
}

/// Calls that are open at once are all this server's own.
#[test]
fn m2_evals_of_one_server_do_not_count_as_others() {
    let (env, mut server) = served();
    let ids: Vec<i64> =
        (0..8).map(|n| server.send("eval", json!({"code": format!("{n}")}))).collect();
    for id in ids {
        let reply = server.reply(id);
        assert!(!reply.text.contains("meanwhile"), "{}", reply.text);
    }
    env.run(["stop", "-n", "py"]);
}

#[test]
fn e6_who_interrupted_is_told() {
    let (env, mut server) = served();
    let id = server.send(
        "eval",
        json!({"code": "print('up', flush=True)\nwhile True: pass", "timeout_ms": 50_000}),
    );
    env.json(["output", "py:1", "--wait", "0"]);
    stead_testkit::wait_for("the eval to run", || {
        env.run(["output", "py:1", "--text"]).stdout.contains("up")
    });
    env.json(["interrupt", "-n", "py"]);
    server.reply(id).contains("[py:1 interrupted, state kept; interrupted by cli]");
    env.run(["stop", "-n", "py"]);
}

#[test]
fn e16_sessions_say_whose_eval_runs_where_it_is_not_their_own() {
    let env = TestEnv::new(STEAD);
    let (mut one, mut two) = (server(&env, "claude"), server(&env, "codex"));
    one.eval("input('go? ')").contains("waits for input");
    let listed = |server: &mut Server| server.call("sessions", json!({})).text;
    let (own, other) = (listed(&mut one), listed(&mut two));
    assert!(own.contains(": py:1 \"input('go? ')\" waits for input"), "{own}");
    assert!(other.contains(": py:1 \"input('go? ')\" by claude waits for input"), "{other}");
    one.call("input", json!({"target": "py:1", "text": "x"}));
    let mark = env.root().join("mark");
    person(&env, "import time");
    env.json(["eval", "-n", "py", "--bg", &format!("open({mark:?}, 'w').close()\ntime.sleep(60)")]);
    stead_testkit::wait_for("the eval to run", || mark.exists());
    for server in [&mut one, &mut two] {
        let text = listed(server);
        assert!(text.contains(": running py:3 \"open(") && text.contains(" by cli for "), "{text}");
    }
    env.run(["stop", "-n", "py"]);
    // What has ended is nobody's any more.
    assert!(!listed(&mut two).contains(" by "));
}

#[test]
fn s13_a_sub_agent_opens_a_session_of_its_own() {
    let (env, mut server) = served();
    server.call("open", json!({})).contains("[py: open, python");
    server.call("open", json!({"language": "python"})).contains("[py-2: open, python");
    server.call("eval", json!({"code": "x = 1", "session": "py-2"})).expect("[py-2:1 +x int]");
    server.call("open", json!({"language": "bash", "name": "mine"})).contains("[mine: open, bash");
    for name in ["py", "py-2", "mine"] {
        env.run(["stop", "-n", name]);
    }
}
