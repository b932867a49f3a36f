//! S-8, S-9: after an end nothing is left: no process, no socket, no zombie, no open port.

use std::fs;
use std::net::TcpStream;
use std::process::Stdio;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::Value;
use stead_client::{Connection, PATIENCE};
use stead_protocol::client::{Reply, Request};
use stead_protocol::{Activity, SessionName};
use stead_testkit::{Hook, TestEnv, wait_for, wait_for_some};

use crate::STEAD;
use crate::processes::{
    DAEMONS, all_gone, children, gone_but, kill, one_outcome_each, reply, runs, signal, sockets,
    stopped,
};

/// A process that never stays: it forks and the parent exits, four times a second.
const HOPPER: &str = "
import os
if os.fork() == 0:
    os.setsid()
    while True:
        if os.fork():
            os._exit(0)
        open('hops', 'a').write('x\\n')
        import select
        select.select([], [], [], 0.26)
";

/// The same without a rest.
const RESTLESS: &str = "
import os
if os.fork() == 0:
    os.setsid()
    while True:
        if os.fork():
            os._exit(0)
";

fn with_daemons(env: &TestEnv, code: &str) {
    env.value(code);
    env.value(DAEMONS);
    wait_for("the daemons", || env.workspace().join("up").exists());
    fs::remove_file(env.workspace().join("up")).unwrap();
}

fn nothing_left(env: &TestEnv) {
    all_gone(env);
    assert_eq!(sockets(env), 0);
}

#[test]
fn s9_stop_leaves_nothing() {
    let env = TestEnv::new(STEAD);
    for _ in 0..3 {
        with_daemons(&env, "1");
        assert_eq!(env.json(["stop", "-n", "py"])["ok"], true);
        nothing_left(&env);
        let listed = env.json(["ls"]);
        assert_eq!(listed["data"]["sessions"], Value::Array(vec![]), "{listed:#}");
    }
    let left: Vec<_> = fs::read_dir(env.root()).unwrap().flatten().map(|e| e.file_name()).collect();
    assert_eq!(left.len(), 5, "home, ws, bin, state, run and nothing else: {left:?}");
}

#[test]
fn s9_stop_of_a_running_eval_leaves_nothing() {
    let env = TestEnv::new(STEAD);
    let code = format!("{DAEMONS}\nwhile True: pass");
    let client = env.spawn(["eval", "-n", "py", "--", &code]);
    wait_for("the daemons", || env.workspace().join("up").exists());
    assert_eq!(env.json(["stop", "-n", "py"])["ok"], true);
    let told = reply(client);
    assert_eq!(told["status"], "ended", "{told:#}");
    nothing_left(&env);
    one_outcome_each(&env);
}

#[test]
fn s9_restart_leaves_nothing_of_the_old_interpreter() {
    let env = TestEnv::new(STEAD);
    // A copy for undo would be a process more.
    env.json(["launch", "py", "--no-undo"]);
    for _ in 0..3 {
        with_daemons(&env, HOPPER);
        let host = env.host_pid();
        let guard = wait_for_some("the guard", || {
            env.processes().into_iter().find(|pid| children(*pid) == [host])
        });
        assert_eq!(env.json(["restart", "-n", "py"])["ok"], true);
        let interpreter = env.interpreter_pid();
        gone_but(&env, &[host, guard, interpreter]);
        assert_eq!(env.value("6 * 7"), "42");
        assert_eq!(env.interpreter_pid(), interpreter);
        assert_eq!(env.host_pid(), host);
    }
}

#[test]
fn s9_an_end_leaves_nothing() {
    let env = TestEnv::new(STEAD);
    // A copy for undo would take the place of the interpreter.
    env.json(["launch", "py", "--no-undo"]);
    for code in ["exit()", "import os; os._exit(3)", "import os; os.kill(os.getpid(), 9)"] {
        with_daemons(&env, HOPPER);
        assert_eq!(env.eval(code)["status"], "ended");
        nothing_left(&env);
        env.eval("1");
    }
    with_daemons(&env, HOPPER);
    kill(env.interpreter_pid());
    nothing_left(&env);
}

#[test]
fn s9_a_process_that_hops_is_caught() {
    for code in [HOPPER, RESTLESS] {
        let env = TestEnv::new(STEAD);
        env.value(code);
        if code == HOPPER {
            let hops = || fs::read_to_string(env.workspace().join("hops")).unwrap_or_default();
            wait_for("three hops", || hops().lines().count() > 3);
        }
        assert_eq!(env.json(["stop", "-n", "py"])["ok"], true);
        nothing_left(&env);
        env.value(code);
        kill(env.host_pid());
        nothing_left(&env);
    }
}

#[test]
fn s9_orphans_that_end_leave_no_zombies() {
    let env = TestEnv::new(STEAD);
    // A copy for undo would be a process more.
    env.json(["launch", "py", "--no-undo"]);
    let code = "
import os
for _ in range(200):
    if os.fork() == 0:
        if os.fork() == 0:
            os._exit(0)
        os._exit(0)
    os.wait()
";
    env.value(code);
    let (host, interpreter) = (env.host_pid(), env.interpreter_pid());
    wait_for("the orphans to be reaped", || children(host) == [interpreter]);
    assert_eq!(children(interpreter), Vec::<u32>::new());
    // Children that the interpreter does not wait for are its own affair, until it ends.
    env.value("import os\nfor _ in range(50):\n  if os.fork() == 0: os._exit(0)");
    assert_eq!(env.json(["restart", "-n", "py"])["ok"], true);
    let interpreter = env.interpreter_pid();
    wait_for("the zombies to be reaped", || children(host) == [interpreter]);
}

#[test]
fn s9_a_server_in_the_background_is_gone_and_its_port_closed() {
    let env = TestEnv::new(STEAD);
    let server = "
import socket, subprocess, sys
with socket.socket() as s:
    s.bind(('127.0.0.1', 0))
    port = s.getsockname()[1]
subprocess.Popen([sys.executable, '-m', 'http.server', '--bind', '127.0.0.1', str(port)],
    stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
port";
    let stop: [&[&str]; 2] = [&["stop", "-n", "py"], &["restart", "-n", "py"]];
    for end in stop {
        let port: u16 = env.value(server).parse().unwrap();
        wait_for("the server", || TcpStream::connect(("127.0.0.1", port)).is_ok());
        assert_eq!(env.json(end)["ok"], true);
        assert!(TcpStream::connect(("127.0.0.1", port)).is_err(), "after {end:?}");
    }
}

#[test]
fn s8_an_idle_session_ends_and_says_so() {
    let env = TestEnv::new(STEAD);
    for time in ["1ms", "20ms", "200ms"] {
        let launched = env.json(["launch", "-n", "py", "--idle-timeout", time]);
        assert_eq!(launched["ok"], true, "{time}: {launched:#}");
        wait_for("the end", || env.processes().is_empty());
        assert_eq!(sockets(&env), 0);
        assert_eq!(env.status()["state"], "ended");
        let lost = env.eval("open('ran', 'a').write('x\\n')");
        assert_eq!(lost["error"]["code"], "session_lost", "{lost:#}");
        assert!(lost["error"]["message"].as_str().unwrap().contains("idle"), "{lost:#}");
        assert_eq!(runs(&env), 0);
        env.json(["stop", "-n", "py"]);
        nothing_left(&env);
    }
}

#[test]
fn s8_a_session_is_not_idle_while_an_eval_runs() {
    let env = TestEnv::new(STEAD);
    env.json(["launch", "-n", "py", "--idle-timeout", "50ms"]);
    // Nobody waits for this one, and it outlives the timeout many times.
    let code = format!("{DAEMONS}\nimport select; select.select([], [], [], 1)\n6 * 7");
    // The session may have been idle for too long before it comes, or be on its way out.
    let id = wait_for_some("an eval", || {
        let begun = env.json(["eval", "-n", "py", "--bg", "--", &code]);
        begun["data"]["eval_id"].as_str().map(str::to_owned)
    });
    wait_for("the end", || env.processes().is_empty());
    let output = env.json(["output", &id]);
    assert_eq!(output["data"]["value"], "42", "{output:#}");
}

#[test]
fn s8_a_session_is_not_idle_while_a_client_is_attached() {
    let env = TestEnv::new(STEAD);
    let client = env.client();
    let name: SessionName = "py".parse().unwrap();
    let attach = |rests| {
        env.json(["launch", "-n", "py", "--idle-timeout", "50ms"]);
        let runtime = client.dirs.open_runtime().unwrap()?;
        let socket = client.dirs.socket(&client.workspace, &name);
        let connection = Connection::open(&runtime, &socket, &name, "test", rests, PATIENCE);
        // One that it accepted while it was ending already does not count.
        let mut connection = connection.unwrap()?;
        let status = connection.request(Request::Status, None).ok()?;
        let Reply::Status(status) = status else { panic!("{status:?}") };
        (status.activity == Activity::Idle).then_some((connection, status.generation))
    };
    let (connection, generation) = wait_for_some("a connection in time", || attach(false));
    let begin = Instant::now();
    wait_for("ten times the timeout", || begin.elapsed() > Duration::from_millis(500));
    assert_eq!(env.status()["generation"], generation.0);
    assert_eq!(env.status()["state"], "idle");
    drop(connection);
    wait_for("the end", || env.processes().is_empty());
    // One that is only kept for the next call holds up nobody.
    let (_kept, _) = wait_for_some("a connection in time", || attach(true));
    wait_for("the end", || env.processes().is_empty());
}

#[test]
fn s6_an_end_is_told_once_also_to_one_who_comes_while_it_happens() {
    let env = TestEnv::new(STEAD);
    let code = "
import atexit, os
@atexit.register
def wait():
    open('exiting', 'w').close()
    while not os.path.exists('go'): pass
exit()";
    env.json(["eval", "-n", "py", "--bg", "--", code]);
    wait_for("the exit handler", || env.workspace().join("exiting").exists());
    wait_for("the end to begin", || env.status()["state"] == "ending");
    let refused = env.eval("1");
    assert_eq!(refused["error"]["code"], "session_ended", "{refused:#}");
    fs::write(env.workspace().join("go"), "").unwrap();
    nothing_left(&env);
    assert_eq!(env.value("6 * 7"), "42");
}

#[test]
fn s8_a_session_is_not_idle_before_the_client_that_started_it_came() {
    let env = TestEnv::new(STEAD);
    let mut command = env.command(["launch", "-n", "py", "--idle-timeout", "1ms"]);
    Hook::PauseAt.set(&mut command, "bound");
    command.stdout(Stdio::piped());
    let client = command.spawn().unwrap();
    let host = stopped(&env);
    signal(client.id(), Signal::STOP);
    signal(host, Signal::CONT);
    let begin = Instant::now();
    wait_for("many times the timeout", || begin.elapsed() > Duration::from_millis(500));
    signal(client.id(), Signal::CONT);
    let launched = reply(client);
    assert_eq!(launched["ok"], true, "{launched:#}");
    wait_for("the end", || env.processes().is_empty());
}

#[test]
fn s9_an_interpreter_that_stopped_itself_is_shown_resumed_and_ended() {
    let env = TestEnv::new(STEAD);
    let code = "import os, signal\nos.kill(os.getpid(), signal.SIGSTOP)\n6 * 7";
    let client = env.spawn(["eval", "-n", "py", "--", code]);
    wait_for("it to be seen as stopped", || env.status()["paused"] == true);
    assert_eq!(env.json(["resume", "-n", "py"])["ok"], true);
    assert_eq!(reply(client)["data"]["value"], "42");
    for end in ["restart", "stop"] {
        let client = env.spawn(["eval", "-n", "py", "--", code]);
        wait_for("it to be seen as stopped", || env.status()["paused"] == true);
        assert_eq!(env.json([end, "-n", "py"])["ok"], true);
        assert_eq!(reply(client)["status"], "ended", "after {end}");
    }
    nothing_left(&env);
    one_outcome_each(&env);
}

#[test]
fn s6_an_interpreter_that_became_another_program_is_told() {
    let env = TestEnv::new(STEAD);
    let code = "import os; os.execvp('sh', ['sh', '-c', 'echo other; exit 5'])";
    let reply = env.eval(&format!("{DAEMONS}\n{code}"));
    assert_eq!(reply["status"], "ended", "{reply:#}");
    let message = reply["error"]["message"].as_str().unwrap();
    assert!(message.contains("another program") && message.contains("code 5"), "{reply:#}");
    assert_eq!(reply["data"]["chunks"][0]["content"], "other\n", "{reply:#}");
    nothing_left(&env);
    assert_eq!(env.value("6 * 7"), "42");
}
