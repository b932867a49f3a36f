//! Connections that are kept between calls: whatever happens to the session meanwhile, the next call meets it as it
//! is.

use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;
use stead_testkit::{TestEnv, wait_for};

use crate::rig::{Server, served};

fn kill(env: &TestEnv, which: &str) {
    let pid = env.status()[which].as_i64().expect("a process") as i32;
    kill_process(Pid::from_raw(pid).expect("a process"), Signal::KILL).expect("it is there");
}

/// Waits until nobody is left but the server.
fn gone(env: &TestEnv) {
    wait_for("the end of the session's processes", || env.processes().len() <= 1);
}

/// A session with state, and a server that has used it.
fn used() -> (TestEnv, Server) {
    let (env, mut server) = served();
    server.eval("x = 41");
    server.eval("x + 1").expect("42\n[py:2]");
    (env, server)
}

#[test]
fn s6_h1_a_death_between_two_calls_is_told_and_the_code_does_not_run() {
    for which in ["host_pid", "pid"] {
        let (env, mut server) = served();
        // A copy for undo would take the place of the interpreter.
        env.json(["launch", "py", "--no-undo"]);
        server.eval("x = 41");
        kill(&env, which);
        gone(&env);
        let reply = server.eval("open('ran', 'a').write('x')");
        reply.contains("state");
        assert!(!env.workspace().join("ran").exists(), "{which}: {}", reply.text);
        let reply = server.eval("'x' in globals()");
        assert!(reply.text.contains("False"), "{which}: {}", reply.text);
        server.eval("6 * 7").contains("42");
    }
}

#[test]
fn s7_restarts_and_stops_by_others_are_met_by_the_next_call() {
    let (env, mut server) = used();
    env.json(["restart", "-n", "py"]);
    server.eval("'x' in globals()").contains("False");
    env.json(["stop", "-n", "py"]);
    gone(&env);
    server.eval("7 * 6").contains("42");
    server.call("control", json!({"target": "py", "action": "stop"}));
    gone(&env);
    server.eval("8 * 6").contains("48");
}

/// Calls that connect by themselves leave no pile of connections behind, each of which the next eval would try.
#[test]
fn s6_the_eval_after_an_end_runs_fresh_whatever_was_called_before() {
    let (env, mut server) = used();
    for _ in 0..6 {
        let checkpoint = json!({"session": "py", "action": "checkpoint", "label": "a"});
        server.call("state", checkpoint).contains("checkpoint `a` made");
    }
    server.eval("import os; os._exit(3)").contains("the next eval starts fresh");
    gone(&env);
    server.eval("6 * 7").contains("42\n[");
}

#[test]
fn e11_code_that_kills_its_own_host_at_once_is_told_so_once() {
    let (env, mut server) = used();
    let code = "open('ran', 'a').write('x')\nimport os, signal\nos.kill(os.getppid(), signal.SIGKILL)\n\
                while True: pass";
    let reply = server.eval(code);
    assert!(reply.text.contains("py:3") && reply.text.contains("host"), "{}", reply.text);
    gone(&env);
    assert_eq!(std::fs::read(env.workspace().join("ran")).unwrap(), b"x");
    let reply = server.eval("6 * 7");
    assert!(reply.text.contains("42"), "{}", reply.text);
}

#[test]
fn m2_a_language_that_a_session_does_not_have_is_refused_over_a_kept_connection_too() {
    let (_env, mut server) = used();
    let asked = |language: &str| json!({"code": "1", "session": "py", "language": language});
    server.call("eval", asked("python")).contains("1\n[");
    server.call("eval", asked("bash")).contains("is in python, not bash");
    server.call("eval", asked("py")).contains("1\n[");
    server.eval("x").contains("41");
}

#[test]
fn m7_many_calls_at_once_on_sessions_in_use_keep_their_order() {
    let (_env, mut server) = used();
    server.eval("seen = []");
    let ids: Vec<i64> = (0..50)
        .map(|n| server.send("eval", json!({"code": format!("seen.append({n}); len(seen)")})))
        .collect();
    for (n, id) in ids.into_iter().enumerate() {
        server.reply(id).contains(&format!("{}\n[", n + 1));
    }
    server.eval("seen == list(range(50))").contains("True");
}
