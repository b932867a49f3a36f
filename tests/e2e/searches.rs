//! E-7, S-9, S-11: while a program is asked where the interpreter is, its session answers, can be ended, and leaves nothing.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Child;

use serde_json::Value;
use stead_testkit::{TestEnv, state_of, wait_for};

use crate::STEAD;
use crate::processes::{all_gone, kill, reply};
use crate::talk::{touch, wait_for_file};

/// A poetry that knows a Python. While there is a file `hold` it does not answer, and has started a daemon.
const POETRY: &str = r#"#!/bin/sh
if [ -e hold ]; then
    setsid sleep 1000 &
    echo $$ > asked.new; mv asked.new asked
    while [ -e hold ]; do sleep 0.01; done
fi
echo "$ANSWER"
"#;

/// A poetry project with a session that is started anew while poetry does not answer; and who waits for that.
fn searching() -> (TestEnv, Child) {
    let env = TestEnv::new(STEAD);
    let poetry = env.root().join("bin/poetry");
    fs::write(&poetry, POETRY.replace("$ANSWER", &env.python().display().to_string())).unwrap();
    fs::set_permissions(&poetry, fs::Permissions::from_mode(0o755)).unwrap();
    fs::write(env.workspace().join("pyproject.toml"), "[tool.poetry]\n").unwrap();
    assert_eq!(env.value("6 * 7"), "42");
    assert!(env.status()["why"].to_string().contains("poetry"), "{:#}", env.status());
    // What poetry said of another project is asked again.
    fs::write(env.workspace().join("pyproject.toml"), "[tool.poetry]\nname = \"b\"\n").unwrap();
    touch(&env, "hold");
    let restart = env.spawn(["restart", "py", "--json"]);
    wait_for_file(&env, "asked");
    (env, restart)
}

fn asked(env: &TestEnv) -> u32 {
    fs::read_to_string(env.workspace().join("asked")).unwrap().trim().parse().unwrap()
}

fn go_on(env: &TestEnv) {
    fs::remove_file(env.workspace().join("hold")).unwrap();
}

#[test]
fn e7_a_session_answers_while_its_interpreter_is_looked_for() {
    let (env, restart) = searching();
    assert_eq!(env.status()["state"], "starting", "{:#}", env.status());
    let pause = env.json(["pause", "-n", "py"]);
    assert!(pause["error"].to_string().contains("still being looked for"), "{pause:#}");
    let queued = env.json(["eval", "-n", "py", "--timeout", "0", "x = 41"]);
    assert_eq!(queued["ok"], true, "{queued:#}");
    go_on(&env);
    let restarted = reply(restart);
    assert_eq!(restarted["ok"], true, "{restarted:#}");
    assert_eq!(env.value("x + 1"), "42");
}

#[test]
fn s9_a_session_is_stopped_while_its_interpreter_is_looked_for() {
    let (env, restart) = searching();
    let stopped = env.json(["stop", "py"]);
    assert_eq!(stopped["ok"], true, "{stopped:#}");
    // Nothing is left when `stop` answers, also not what has left poetry's process group.
    assert_eq!(sleeps(&env), 0);
    let restarted = reply(restart);
    assert_eq!(restarted["ok"], false, "{restarted:#}");
    go_on(&env);
    assert_eq!(env.value("6 * 7"), "42");
}

#[test]
fn s9_a_session_is_killed_or_restarted_again_while_its_interpreter_is_looked_for() {
    let (env, restart) = searching();
    let first = asked(&env);
    fs::remove_file(env.workspace().join("asked")).unwrap();
    let again = env.spawn(["restart", "py", "--json"]);
    wait_for_file(&env, "asked");
    assert_ne!(asked(&env), first);
    wait_for("the end of the first poetry", || state_of(first).is_none());
    let killed = env.json(["kill", "py"]);
    assert_eq!(killed["ok"], true, "{killed:#}");
    for waits in [restart, again] {
        let told: Value = reply(waits);
        assert_ne!(told["error"]["code"], "host_died", "{told:#}");
    }
    go_on(&env);
    let next = env.eval("6 * 7");
    assert_eq!(next["data"]["value"], "42", "{next:#}");
}

#[test]
fn s9_nothing_is_left_when_a_host_is_killed_while_it_looks_for_its_interpreter() {
    let (env, restart) = searching();
    kill(env.host_pid());
    let restarted = reply(restart);
    assert_eq!(restarted["ok"], false, "{restarted:#}");
    let message = restarted["error"]["message"].to_string();
    assert!(message.contains("it died without saying why"), "{restarted:#}");
    all_gone(&env);
}

/// How many processes of poetry's daemon there are.
fn sleeps(env: &TestEnv) -> usize {
    let name = |pid: &u32| fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    env.processes().iter().filter(|pid| name(pid).trim() == "sleep").count()
}
