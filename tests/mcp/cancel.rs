//! M-5, M-7, E-1: a cancelled call stops its own eval and no other; evals of a session keep their
//! order, and sessions do not wait for each other.

use serde_json::json;
use stead_testkit::{TestEnv, wait_for};

use crate::rig::{Server, served};

/// Code that runs until a file is there.
fn until(env: &TestEnv, file: &str) -> String {
    let path = env.root().join(file);
    format!("import os, time\nwhile not os.path.exists({path:?}): time.sleep(0.005)\n")
}

fn open(env: &TestEnv, file: &str) {
    std::fs::write(env.root().join(file), "").expect("the gate opens");
}

/// Starts an eval in a session and waits until it runs; the id of its request.
fn run(env: &TestEnv, server: &mut Server, session: &str, code: &str) -> i64 {
    run_after(env, server, session, "pass", code)
}

/// The same; `first` has run by then, too.
fn run_after(env: &TestEnv, server: &mut Server, session: &str, first: &str, code: &str) -> i64 {
    let mark = env.root().join(format!("mark-{}", server.new_id()));
    let code = format!("{first}\nopen({mark:?}, 'w').close()\n{code}");
    let arguments =
        json!({"code": code, "session": session, "language": "python", "timeout_ms": 50000});
    let id = server.send("eval", arguments);
    wait_for("the eval to run", || mark.exists());
    id
}

#[test]
fn m5_cancelling_interrupts_the_eval_of_that_call_and_keeps_state() {
    let (env, mut server) = served();
    server.eval("x = 41");
    let id = run_after(&env, &mut server, "py", "y = 1", "while True: pass");
    server.cancel(id);
    server.eval("x + y").expect("42\n[py:3]");
    let reply = server.call("output", json!({"id": "py:2"}));
    reply.contains("[py:2 interrupted, state kept");
    assert_eq!(server.unasked(id), 0);
    // The id of a cancelled request may be used again, at once.
    for round in 0..20 {
        let call = |code: String| {
            json!({"jsonrpc": "2.0", "id": "again", "method": "tools/call",
                   "params": {"name": "eval", "arguments": {"code": code}}})
        };
        server.message(&call("import time\ntime.sleep(60)".to_owned()));
        server.cancel("again");
        server.message(&call(format!("'round {round}'")));
        server.reply("again").contains(&format!("'round {round}'\n["));
    }
    assert_eq!(server.unasked("again"), 0);
}

#[test]
fn m5_cancelling_a_queued_call_takes_it_out_and_nothing_else() {
    let (env, mut server) = served();
    let first = run(&env, &mut server, "py", &until(&env, "gate"));
    let ids: Vec<i64> = (0..5)
        .map(|n| {
            server.send("eval", json!({"code": format!("ran{n} = True"), "timeout_ms": 50000}))
        })
        .collect();
    wait_for("all to be queued", || env.status()["queued"].as_array().map_or(0, Vec::len) == 5);
    server.cancel(ids[1]);
    server.cancel(ids[3]);
    wait_for("two to be taken out", || env.status()["queued"].as_array().map_or(0, Vec::len) == 3);
    open(&env, "gate");
    assert!(!server.reply(first).failed);
    for n in [0, 2, 4] {
        server.reply(ids[n]).contains(&format!("+ran{n} bool"));
    }
    server
        .eval("sorted(n for n in globals() if n.startswith('ran'))")
        .contains("['ran0', 'ran2', 'ran4']");
    assert_eq!((server.unasked(ids[1]), server.unasked(ids[3])), (0, 0));
}

#[test]
fn m5_cancelling_what_is_unknown_or_answered_does_nothing() {
    let (env, mut server) = served();
    let done = server.send("eval", json!({"code": "1"}));
    server.reply(done).expect("1\n[py:1]");
    let id = run(&env, &mut server, "py", &until(&env, "gate"));
    server.cancel(done);
    server.cancel(999_999);
    server.cancel("never");
    server.cancel(json!(null));
    server.notify("notifications/cancelled", json!({}));
    // A call that only reads takes nobody's eval with it.
    let reading = server.send("output", json!({"id": "py:2", "wait_ms": 50000}));
    server.cancel(reading);
    let reading = server.send("output", json!({"session": "py", "wait_ms": 50000}));
    server.ping();
    server.cancel(reading);
    open(&env, "gate");
    assert!(server.reply(id).closing().starts_with("[py:2 "));
    assert_eq!((server.unasked(done), server.unasked(reading)), (0, 0));
}

#[test]
fn m5_cancelling_at_once_stops_a_call_whose_session_has_to_start() {
    let (env, mut server) = served();
    let id = server.send("eval", json!({"code": "began = 1\nimport time\ntime.sleep(60)"}));
    server.cancel(id);
    // Whether it began or not, it does not hold up what comes after it.
    server.eval("'next'").contains("'next'\n[py:");
    assert_eq!(server.unasked(id), 0);
    // Calls that were never handed over: the session is busy and all places are taken.
    let busy =
        server.send("eval", json!({"code": "import time\ntime.sleep(60)", "timeout_ms": 50000}));
    let ids: Vec<i64> = (0..60)
        .map(|n| server.send("eval", json!({"code": format!("late = {n}"), "timeout_ms": 50000})))
        .collect();
    server.ping();
    ids.iter().for_each(|id| server.cancel(*id));
    // What the host has got already is taken out by one connection each, in any order.
    wait_for("all to be taken out", || env.status()["queued"].as_array().is_none_or(Vec::is_empty));
    server.cancel(busy);
    server.eval("'late' in globals()").contains("False\n[");
    assert!(ids.iter().all(|id| server.unasked(*id) == 0));
}

#[test]
fn m5_what_a_cancelled_call_would_have_told_is_told_by_the_next() {
    let (env, mut server) = served();
    let code = format!("print('one', flush=True)\n{}print('two')", until(&env, "gate"));
    server.call("eval", json!({"code": code, "background": true}));
    wait_for("it to write", || env.status()["running"]["last_line"] == "one");
    for _ in 0..3 {
        let reading = server.send("output", json!({"id": "py:1", "wait_ms": 50000}));
        server.ping();
        server.cancel(reading);
        assert_eq!(server.unasked(reading), 0);
    }
    server.call("output", json!({"id": "py:1"})).contains("one\n");
    open(&env, "gate");
    server.call("output", json!({"id": "py:1", "wait_ms": 50000})).contains("two\n");
    // The same for an answer, and for a shell command.
    let mark = env.root().join("asked");
    let code = format!("print(input())\nopen({mark:?}, 'w').close()\n{}", until(&env, "later"));
    server.eval(&code).contains("waits for input");
    let answering =
        server.send("input", json!({"target": "py:2", "text": "x", "timeout_ms": 50000}));
    wait_for("it to go on", || mark.exists());
    server.cancel(answering);
    let read = server.call("output", json!({"id": "py:2", "wait_ms": 50000}));
    read.contains("x\n");
    read.contains("interrupted");
    let mark = env.root().join("shell-runs");
    let command = format!("echo of the shell; touch {}; sleep 1000", mark.display());
    let shell = server.send("shell", json!({"command": command, "timeout_ms": 50000}));
    wait_for("it to run", || mark.exists());
    server.cancel(shell);
    server.call("output", json!({"id": "shell:1", "wait_ms": 50000})).contains("of the shell\n");
}

#[test]
fn m5_cancelling_an_input_call_interrupts_what_it_went_on_to_do() {
    let (env, mut server) = served();
    let mark = env.root().join("went-on");
    let code = format!("x = 1\ninput()\nopen({mark:?}, 'w').close()\nwhile True: pass");
    server.eval(&code).contains("waits for input");
    let id = server.send("input", json!({"target": "py:1", "text": "go", "timeout_ms": 50000}));
    wait_for("it to go on", || mark.exists());
    server.cancel(id);
    server.eval("x").contains("1\n[py:2]");
    assert_eq!(server.unasked(id), 0);
}

#[test]
fn e1_evals_that_are_sent_at_once_run_in_their_order() {
    let (_env, mut server) = served();
    // The session does not exist yet: the first call starts it, the others must not overtake.
    let ids: Vec<i64> = (0..50)
        .map(|n| {
            let background = n % 3 == 1;
            let code = format!("seen = globals().get('seen', []) + [{n}]");
            server
                .send("eval", json!({"code": code, "background": background, "timeout_ms": 50000}))
        })
        .collect();
    for (n, id) in ids.into_iter().enumerate() {
        assert_eq!(server.reply(id).id(), format!("py:{}", n + 1));
    }
    server.eval("seen == list(range(50))").contains("True\n[py:51]");
}

#[test]
fn m7_a_stuck_session_delays_no_other() {
    let (env, mut server) = served();
    let stuck = run(&env, &mut server, "a", "import time\nwhile True: time.sleep(1)");
    let queued: Vec<i64> = (0..100)
        .map(|n| {
            server
                .send("eval", json!({"code": format!("{n}"), "session": "a", "timeout_ms": 50000}))
        })
        .collect();
    let waits: Vec<i64> =
        (0..20).map(|_| server.send("output", json!({"session": "a", "wait_ms": 50000}))).collect();
    let other = server.call("eval", json!({"code": "6 * 7", "session": "b", "language": "python"}));
    other.expect("42\n[b:1]");
    server.call("sessions", json!({})).contains("a (python ");
    server.call("inspect", json!({"session": "b"})).expect("[b: 0 names]");
    let reply = server.call("control", json!({"target": "a:1", "action": "interrupt"}));
    reply.expect("[a:1 interrupted, state kept]");
    server.reply(stuck).contains("[a:1 interrupted, state kept");
    for (n, id) in queued.into_iter().enumerate() {
        server.reply(id).expect(&format!("{n}\n[a:{}]", n + 2));
    }
    waits.into_iter().for_each(|id| drop(server.reply(id)));
}
