//! The end of a client or a server, at any moment: nothing runs twice, nothing is lost, nothing is left.

use rustix::process::Signal;
use serde_json::{Value, json};
use stead_testkit::{TestEnv, guard_of, is_alive, wait_for, wait_for_some};

use crate::STEAD;
use crate::rig::{Server, served};

/// Code that says that it runs, counts its runs in a file, and waits for a gate.
fn gated(env: &TestEnv) -> String {
    let path = |name: &str| env.root().join(name);
    format!(
        "import os, time\nprint('begun', flush=True)\nopen({:?}, 'a').write('x')\n\
         while not os.path.exists({:?}): time.sleep(0.005)\n'result'",
        path("runs"),
        path("gate")
    )
}

fn runs(env: &TestEnv) -> u64 {
    std::fs::metadata(env.root().join("runs")).map_or(0, |file| file.len())
}

/// Opens the gate and reads the result with a new server.
#[track_caller]
fn result(env: &TestEnv, id: &str) {
    std::fs::write(env.root().join("gate"), "").expect("the gate opens");
    let mut next = Server::start(env);
    let reply = next.call("output", json!({"id": id, "wait_ms": 50000}));
    assert!(reply.text.starts_with("begun\n'result'\n"), "{}", reply.text);
    assert_eq!(reply.id(), id);
    assert_eq!(runs(env), 1);
    next.call("eval", json!({"code": "'alive'"})).contains("'alive'\n[");
    assert_eq!(next.end(), Some(0));
}

#[test]
fn m8_requests_before_the_end_are_answered_and_half_a_line_is_not() {
    let (_env, mut server) = served();
    server.eval("0");
    let id = server.send("eval", json!({"code": "6 * 7"}));
    let listed = server.request("tools/list", json!({}));
    server.bytes(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"");
    server.hang_up();
    server.reply(id).expect("42\n[py:2]");
    assert!(server.answer(listed)["result"]["tools"].is_array());
    assert_eq!(server.end(), Some(0));
    assert_eq!(server.waiting(1), 0);
}

#[test]
fn m8_a_whole_script_of_requests_can_be_piped_in() {
    let env = TestEnv::new(STEAD);
    let lines = [
        json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-06-18",
            "capabilities": {}, "clientInfo": {"name": "script", "version": "0"}}}),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call",
            "params": {"name": "eval", "arguments": {"code": "x = 20"}}}),
        json!({"jsonrpc": "2.0", "id": 3, "method": "tools/call",
            "params": {"name": "eval", "arguments": {"code": "x + 1"}}}),
    ];
    // The session is started first: a script's calls have a second after its end.
    env.eval("0");
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let ran = env.run_with(["mcp"], text.as_bytes());
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let answers: Vec<Value> =
        ran.stdout.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let text = |id: i64| {
        let answer = answers.iter().find(|answer| answer["id"] == id).expect("an answer");
        answer["result"]["content"][0]["text"].as_str().unwrap_or_default().to_owned()
    };
    assert_eq!((text(2).as_str(), text(3).as_str()), ("[py:2 +x int]", "21\n[py:3]"));
    // Nothing at all, and garbage alone, are no reason to fail.
    assert_eq!(env.run_with(["mcp"], b"").code, Some(0));
    assert_eq!(env.run_with(["mcp"], b"garbage\n{}\n").code, Some(0));
}

#[test]
fn m5_a_client_that_leaves_detaches_from_its_eval() {
    let (env, mut server) = served();
    let id = server.send("eval", json!({"code": gated(&env), "timeout_ms": 50000}));
    wait_for("the eval to run", || runs(&env) == 1);
    assert_eq!(server.end(), Some(0));
    // The call is answered on the way out, with the id to read on.
    let reply = server.reply(id);
    assert!(reply.text.starts_with("begun\n[py:1 still running; read on: "), "{}", reply.text);
    result(&env, "py:1");
}

#[test]
fn m5_a_client_that_reads_nothing_does_not_keep_the_server() {
    let env = TestEnv::new(STEAD);
    let mut server = Server::unread(&env);
    for id in 0..400 {
        server.message(&json!({"jsonrpc": "2.0", "id": id, "method": "initialize", "params": {
            "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "x", "version": "0"}}}));
    }
    server.hang_up();
    assert_eq!(server.end(), Some(0));
}

#[test]
fn h1_a_server_killed_while_an_eval_runs_loses_nothing() {
    for signal in [Signal::KILL, Signal::TERM] {
        let (env, mut server) = served();
        server.send("eval", json!({"code": gated(&env), "timeout_ms": 50000}));
        wait_for("the eval to run", || runs(&env) == 1);
        server.signal(signal);
        assert_eq!(server.end(), None, "a signal ends it");
        result(&env, "py:1");
    }
}

#[test]
fn h1_a_server_killed_while_a_session_starts_runs_code_once_or_never() {
    let env = TestEnv::new(STEAD);
    for round in 0..12 {
        let name = format!("s{round}");
        let mut server = Server::start(&env);
        let code = format!("open({:?}, 'a').write('x')\n'done'", env.root().join(&name));
        let key = format!("key {round}");
        let arguments = json!({"code": code, "session": name, "language": "python", "key": key});
        server.send("eval", arguments.clone());
        // Later and later: before the host is there, while it starts, while the code is handed over.
        match round % 4 {
            0 => server.ping(),
            more => wait_for("more processes", || env.processes().len() > more),
        }
        server.kill();
        // The same key runs it if it did not run, and gives its result if it did.
        let mut next = Server::start(&env);
        let reply = wait_for_some("a result", || {
            let reply = next.call("eval", arguments.clone());
            (!reply.failed).then_some(reply)
        });
        assert!(reply.text.starts_with("'done'\n"), "{}", reply.text);
        assert_eq!(std::fs::metadata(env.root().join(&name)).expect("it ran").len(), 1);
        next.call("control", json!({"target": name, "action": "stop"}));
        assert_eq!(next.end(), Some(0));
        wait_for("all to be gone", || env.processes().is_empty());
    }
}

#[test]
fn h1_servers_killed_between_request_and_answer_run_nothing_twice() {
    let (env, mut server) = served();
    server.eval("n = 0");
    let count = env.root().join("count");
    for round in 0..20 {
        let code = format!("open({count:?}, 'a').write('x')\nn += 1\nn");
        let arguments = json!({"code": code, "key": format!("k{round}")});
        server.send("eval", arguments.clone());
        if round % 2 == 0 {
            wait_for("it to run", || {
                std::fs::metadata(&count).is_ok_and(|file| file.len() > round)
            });
        }
        server.kill();
        server = Server::start(&env);
        let reply = server.call("eval", arguments);
        assert!(reply.text.starts_with(&format!("{}\n", round + 1)), "{}", reply.text);
    }
    assert_eq!(std::fs::metadata(&count).expect("it ran").len(), 20);
}

#[test]
fn s3_two_servers_and_the_command_line_share_a_session() {
    let (env, mut one) = served();
    let mut two = Server::start(&env);
    one.eval("x = 1").expect("[py:1 +x int]");
    two.eval("x + 1").expect("2\n[py:2]");
    assert_eq!(env.value("x + 2"), "3");
    let id = one.call("eval", json!({"code": gated(&env), "background": true})).id();
    wait_for("the eval to run", || runs(&env) == 1);
    let seen = two.call("output", json!({"id": id}));
    assert!(seen.text.starts_with("begun\n[py:4 still running"), "{}", seen.text);
    two.call("control", json!({"target": id, "action": "interrupt"}))
        .expect("[py:4 interrupted, state kept]");
    let reply = one.call("output", json!({"id": id}));
    reply.contains("[py:4 interrupted, state kept");
}

/// A server is no command, but it too is somebody who comes next.
#[test]
fn s9_what_a_session_left_that_was_killed_with_its_guard_is_ended_by_the_next_call() {
    let (env, mut server) = served();
    let code = "import subprocess\ndaemon = subprocess.Popen(['setsid', 'sleep', '1000'], env={'PATH': '/usr/bin:/bin'})\n\
                print(daemon.pid)";
    for (tool, arguments) in [("sessions", json!({})), ("eval", json!({"code": "1"}))] {
        let reply = server.eval(code);
        let daemon: u32 = reply.text.lines().next().unwrap().parse().unwrap();
        let host = env.host_pid();
        let guard = wait_for_some("the guard", || guard_of(host));
        let kill = |pid: u32, signal| {
            let pid = rustix::process::Pid::from_raw(pid as i32).unwrap();
            rustix::process::kill_process(pid, signal).unwrap();
        };
        kill(host, Signal::STOP);
        kill(guard, Signal::KILL);
        kill(host, Signal::KILL);
        wait_for("both to be gone", || !is_alive(host) && !is_alive(guard));
        assert!(is_alive(daemon));
        server.call(tool, arguments);
        assert!(!is_alive(daemon), "after {tool}");
        // Told once that the state is gone.
        server.call("eval", json!({"code": "1"}));
    }
}
