//! An eval that comes alone is answered the short way. Nobody can tell, except by the time it takes.

use serde_json::{Value, json};
use stead_testkit::{TestEnv, wait_for};

use crate::STEAD;
use crate::rig::{Server, served};

/// Code that says that it runs and goes on until it may end.
fn gated(env: &TestEnv, name: &str) -> String {
    let (runs, gate) =
        (env.root().join(format!("runs-{name}")), env.root().join(format!("gate-{name}")));
    format!(
        "import os, time\nopen({runs:?}, 'w').close()\nwhile not os.path.exists({gate:?}): time.sleep(0.005)\n'{name}'"
    )
}

fn runs(env: &TestEnv, name: &str) {
    let path = env.root().join(format!("runs-{name}"));
    wait_for("the eval to run", || path.exists());
}

fn open(env: &TestEnv, name: &str) {
    std::fs::write(env.root().join(format!("gate-{name}")), "").expect("the gate opens");
}

/// A server that talks over sockets, as those do that Node starts, and one over pipes.
fn both() -> [(TestEnv, Server); 2] {
    let env = TestEnv::new(STEAD);
    let server = Server::over_sockets(&env);
    [(env, server), served()]
}

#[test]
fn m1_the_first_answer_and_the_next_have_the_same_shape() {
    for (_env, mut server) in both() {
        let mut shapes = Vec::new();
        let metas =
            [Value::Null, json!({}), json!({"progressToken": 1}), json!({"client/toolUseId": "t"})];
        for meta in [&Value::Null].into_iter().chain(&metas) {
            let mut params = json!({"name": "eval", "arguments": {"code": "print('a')\n'b'"}});
            if !meta.is_null() {
                params["_meta"] = meta.clone();
            }
            let mut answer = server.ask("tools/call", params);
            let text = answer["result"]["content"][0]["text"].take();
            assert!(text.as_str().is_some_and(|text| text.starts_with("a\n'b'\n[py:")), "{text}");
            answer["id"].take();
            shapes.push(answer);
        }
        assert!(shapes.iter().all(|shape| *shape == shapes[0]), "{shapes:#?}");
    }
}

#[test]
fn m8_wrong_arguments_are_named_the_short_way_too() {
    let (_env, mut server) = served();
    let mut said = Vec::new();
    for _ in 0..2 {
        for arguments in [
            json!({}),
            json!({"code": 1}),
            json!({"code": "1", "cod": 2}),
            json!({"code": "1", "timeout_ms": -1}),
        ] {
            said.push(server.call("eval", arguments).text);
        }
        server.eval("1");
        server.eval("1");
    }
    assert_eq!(said[..4], said[4..]);
}

#[test]
fn m7_whatever_comes_while_an_eval_runs_is_dealt_with_at_once() {
    for (env, mut server) in both() {
        server.eval("x = 1");
        let first = server.send("eval", json!({"code": gated(&env, "first"), "timeout_ms": 50000}));
        runs(&env, "first");
        server.ping();
        let other = json!({"code": "6 * 7", "session": "other", "language": "python"});
        server.call("eval", other.clone()).contains("42");
        server.call("eval", other).contains("42");
        let second = server.send("eval", json!({"code": "x + 1", "timeout_ms": 50000}));
        server.ping();
        assert_eq!((server.waiting(first), server.waiting(second)), (0, 0));
        open(&env, "first");
        server.reply(first).contains("'first'\n[py:2");
        server.reply(second).contains("2\n[py:3");
    }
}

#[test]
fn m5_an_eval_that_was_begun_the_short_way_can_be_cancelled() {
    for (env, mut server) in both() {
        server.eval("x = 1");
        let id = server.send("eval", json!({"code": gated(&env, "never"), "timeout_ms": 50000}));
        runs(&env, "never");
        server.cancel(id);
        server.eval("x + 1").expect("2\n[py:3]");
        server.call("output", json!({"id": "py:2"})).contains("interrupted, state kept");
        assert_eq!(server.unasked(id), 0);
    }
}

#[test]
fn e2_what_takes_longer_than_the_short_way_waits_goes_on_as_any_other() {
    for (_env, mut server) in both() {
        server.eval("import time");
        server.eval("time.sleep(0.6); 'late'").contains("'late'\n[py:2");
        let reply = server.call("eval", json!({"code": "time.sleep(60)", "timeout_ms": 20}));
        assert!(reply.text.contains("running"), "{}", reply.text);
        let reply = server.call("eval", json!({"code": "7", "timeout_ms": 0}));
        assert!(reply.text.contains("queued"), "{}", reply.text);
        server.call("control", json!({"target": "py", "action": "interrupt"}));
        let reply = server.call("eval", json!({"code": "input('name? ')"}));
        assert!(reply.text.contains("name? "), "{}", reply.text);
        server.call("input", json!({"target": "py:5", "text": "Ada\n"})).contains("'Ada'\n[py:5");
    }
}

#[test]
fn m7_two_servers_on_one_session_wait_for_each_other_and_for_nothing_else() {
    let (env, mut first) = served();
    first.eval("x = 1");
    let mut second = Server::start(&env);
    second.eval("x").contains("1\n[py:2");
    second.eval("x").contains("1\n[py:3");
    let held = first.send("eval", json!({"code": gated(&env, "held"), "timeout_ms": 50000}));
    runs(&env, "held");
    let queued = second.send("eval", json!({"code": "x + 1", "timeout_ms": 50000}));
    second.ping();
    first.ping();
    assert_eq!(second.waiting(queued), 0);
    open(&env, "held");
    first.reply(held).contains("'held'\n[py:4");
    second.reply(queued).contains("2\n[py:5");
}

#[test]
fn m6_a_client_that_leaves_during_an_eval_leaves_the_eval() {
    for (env, mut server) in both() {
        server.eval("x = 1");
        server.send("eval", json!({"code": gated(&env, "left"), "timeout_ms": 50000}));
        runs(&env, "left");
        server.hang_up();
        assert_eq!(server.end(), Some(0));
        open(&env, "left");
        let mut again = Server::start(&env);
        again.call("eval", json!({"code": "x + 1"})).contains("2\n[py:3");
        again.call("output", json!({"id": "py:2"})).contains("'left'\n[py:2");
    }
}

#[test]
fn m8_much_goes_over_sockets_in_both_directions() {
    let env = TestEnv::new(STEAD);
    let mut server = Server::over_sockets(&env);
    server.eval("x = 1");
    let text = "z".repeat(3_000_000);
    server.eval(&format!("y = '{text}'\nlen(y)")).contains("3000000\n[");
    let ids: Vec<i64> = (0..40)
        .map(|_| server.send("eval", json!({"code": "print('é' * 190000)", "max_chars": 200_000})))
        .collect();
    for id in ids {
        assert_eq!(server.reply(id).text.matches('é').count(), 190_000);
    }
}

/// The short way must not sit on what it has heard: a prompt, or more output than it reads itself. It is told
/// before an eval of 0.2 s in another session is over, at least once in a while on the busiest machine.
#[test]
fn e8_a_prompt_and_long_output_are_told_at_once() {
    let (env, mut server) = served();
    let mut clock = Server::start(&env);
    let long =
        json!({"code": "import time; time.sleep(0.2)", "session": "clock", "language": "python"});
    clock.call("eval", long.clone());
    server.eval("x = 1");
    let mut first = |code: &str, after: &str| {
        (0..20).any(|_| {
            let id = clock.send("eval", long.clone());
            server.eval(code);
            clock.progress();
            let told = clock.waiting(id) == 0;
            clock.reply(id);
            if !after.is_empty() {
                server.call("input", json!({"target": "py", "text": after}));
            }
            told
        })
    };
    assert!(first("input('name? ')", "Ada\n"), "a prompt");
    assert!(first("print('x' * 400_000)", ""), "long output");
}
