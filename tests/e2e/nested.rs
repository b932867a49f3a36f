//! S-9: a session that is started from inside another is a session of its own and outlives it.

use rustix::process::Signal;
use serde_json::Value;
use stead_testkit::{TestEnv, is_alive, state_of, wait_for};

use crate::STEAD;
use crate::processes::{children, kill, signal};
use crate::talk::{touch, until};

fn inner(env: &TestEnv, code: &str) -> Value {
    env.json(["eval", "-n", "inner", "-l", "python", "--", code])
}

fn inner_status(env: &TestEnv) -> Value {
    env.json(["status", "-n", "inner"])["data"].clone()
}

/// Session `py` with session `inner` that code of it has started, and the inner host.
fn nested() -> (TestEnv, u32) {
    let env = TestEnv::new(STEAD);
    start_inner(&env);
    let host = inner_status(&env)["host_pid"].as_u64().unwrap() as u32;
    (env, host)
}

fn start_inner(env: &TestEnv) {
    let arguments = "['eval', '-n', 'inner', '-l', 'python', '--', 'x = 5']";
    let code = format!(
        "import subprocess\nsubprocess.run(['{}', *{arguments}]).returncode",
        env.program().display()
    );
    assert_eq!(env.value(&code), "0");
}

#[track_caller]
fn inner_lives(env: &TestEnv, host: u32) {
    assert_eq!(inner(env, "x")["data"]["value"], "5");
    assert_eq!(inner_status(env)["host_pid"], host);
}

#[test]
fn s9_a_session_from_inside_another_outlives_its_stop_restart_and_exit() {
    let (env, host) = nested();
    for end in [&["stop"][..], &["restart"], &["eval", "exit()"]] {
        env.value("1");
        let (verb, rest) = end.split_first().unwrap();
        let command: Vec<&str> = [*verb, "-n", "py"].into_iter().chain(rest.to_vec()).collect();
        env.run(command);
        inner_lives(&env, host);
    }
    assert_eq!(env.json(["stop", "-n", "inner"])["ok"], true);
    assert!(!is_alive(host));
}

#[test]
fn s9_a_session_from_inside_another_outlives_its_host_and_guard() {
    let (env, inner_host) = nested();
    let host = env.host_pid();
    kill(host);
    wait_for("the outer host to be gone", || !is_alive(host));
    inner_lives(&env, inner_host);
    env.run(["stop", "-n", "py"]);
    inner_lives(&env, inner_host);
    // Killed with its guard, and swept by the next command.
    crate::processes::works_again(&env);
    let host = env.host_pid();
    let is_parent = |pid: &u32| children(*pid).contains(&host);
    let guard = env.processes().into_iter().find(is_parent).unwrap();
    signal(host, Signal::STOP);
    kill(guard);
    kill(host);
    wait_for("both to be gone", || !is_alive(host) && !is_alive(guard));
    env.run(["ls"]);
    inner_lives(&env, inner_host);
}

/// The inner one of two that were started one inside the other may also end first.
#[test]
fn s9_the_end_of_a_session_inside_another_is_no_end_of_that() {
    let (env, inner_host) = nested();
    let host = env.host_pid();
    assert_eq!(env.json(["stop", "-n", "inner"])["ok"], true);
    wait_for("the inner host to be gone", || !is_alive(inner_host));
    assert_eq!((env.value("6 * 7").as_str(), env.host_pid()), ("42", host));
}

#[test]
fn s9_pause_and_figures_of_a_session_spare_those_inside() {
    let (env, inner_host) = nested();
    let status = env.status();
    assert_eq!(status["processes"], 1, "{status:#}");
    assert_eq!(status["background"], Value::Null, "{status:#}");
    assert_eq!(env.json(["pause", "-n", "py"])["ok"], true);
    // It runs no more from here on; that it shows in its state may take until it next has a processor.
    wait_for("the interpreter to be stopped", || state_of(env.interpreter_pid()) == Some('T'));
    inner_lives(&env, inner_host);
    assert_eq!(env.json(["resume", "-n", "py"])["ok"], true);
}

/// The outer eval still runs that started the inner session: an interrupt is for what is the eval's own.
#[test]
fn e6_an_interrupt_spares_a_session_that_the_eval_started() {
    let env = TestEnv::new(STEAD);
    let arguments = "['eval', '-n', 'inner', '-l', 'python', '--', 'x = 5']";
    let code = format!(
        "import subprocess\nsubprocess.run(['{}', *{arguments}])\n\
         open('up', 'w').close()\nwhile True: pass",
        env.program().display()
    );
    let eval = env.spawn(["eval", "-n", "py", "--", &code]);
    wait_for("the inner session", || env.workspace().join("up").exists());
    let inner_host = inner_status(&env)["host_pid"].as_u64().unwrap() as u32;
    let code = format!("import time\n{}\nx", until("go"));
    let busy = env.spawn(["eval", "-n", "inner", "--", &code]);
    wait_for("the inner eval", || inner_status(&env)["state"] == "running");
    assert_eq!(env.json(["interrupt", "-n", "py"])["data"]["effect"], "interrupted");
    assert_eq!(crate::processes::reply(eval)["status"], "interrupted");
    touch(&env, "go");
    let told = crate::processes::reply(busy);
    assert_eq!(told["data"]["value"], "5", "{told:#}");
    inner_lives(&env, inner_host);
}
