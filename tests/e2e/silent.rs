//! E-2, E-7, E-11: a host that was stopped, as the command line meets it.

use std::fs::File;

use rustix::fs::{FlockOperation, flock};
use rustix::process::Signal;
use stead_testkit::{Hook, TestEnv, wait_for};

use crate::STEAD;
use crate::processes::{signal, stopped};

#[test]
fn e11_what_did_not_reach_a_stopped_host_did_not_run_and_says_so() {
    let env = TestEnv::new(STEAD);
    env.value("1");
    let host = env.host_pid();
    signal(host, Signal::STOP);
    let big = format!("open('ran', 'w')\n'{}'", "x".repeat(2 << 20));
    let small = "open('ran', 'w')".to_owned();
    for code in [small, big] {
        std::fs::write(env.workspace().join("code.py"), code).unwrap();
        let told = env.json(["eval", "-n", "py", "--timeout", "10ms", "--file", "code.py"]);
        assert_eq!(told["error"]["code"], "connection_failed", "{told:#}");
        let message = told["error"]["message"].as_str().unwrap();
        assert!(message.contains("the code was not sent, so it did not run"), "{message}");
        assert!(told["error"]["hint"].as_str().unwrap().contains("kill -CONT"), "{told:#}");
    }
    let told = env.json(["input", "-n", "py", "--timeout", "10ms", "x"]);
    assert_eq!(told["error"]["code"], "connection_failed", "{told:#}");
    signal(host, Signal::CONT);
    assert_eq!(env.value("6 * 7"), "42");
    assert!(!env.workspace().join("ran").exists());
    let evals = env.json(["evals", "-n", "py"]);
    assert_eq!(evals["data"]["evals"].as_array().unwrap().len(), 2, "{evals:#}");
}

#[test]
fn e7_what_a_stopped_host_wrote_is_read_from_disk() {
    let env = TestEnv::new(STEAD);
    env.value("'before'");
    env.json([
        "eval",
        "-n",
        "py",
        "--bg",
        "--",
        "print('so far', flush=True)\nopen('up', 'w')\nimport time\nwhile True: time.sleep(1)",
    ]);
    env.json(["eval", "-n", "py", "--bg", "--", "2"]);
    wait_for("the eval to run", || env.workspace().join("up").exists());
    let host = env.host_pid();
    signal(host, Signal::STOP);
    let evals = env.json(["evals", "-n", "py"]);
    let status = |n: usize| evals["data"]["evals"][n]["status"].as_str().unwrap();
    assert_eq!([status(0), status(1), status(2)], ["complete", "running", "queued"], "{evals:#}");
    assert!(evals["data"]["notice"].as_str().unwrap().contains("does not answer"), "{evals:#}");
    for wait in [None, Some("10ms")] {
        let mut arguments = vec!["output", "py:2"];
        arguments.extend(wait.iter().flat_map(|time| ["--wait", time]));
        let output = env.json(arguments);
        assert_eq!(output["status"], "running", "{output:#}");
        assert_eq!(output["data"]["chunks"][0]["content"], "so far\n", "{output:#}");
        assert!(
            output["data"]["notice"].as_str().unwrap().contains("does not answer"),
            "{output:#}"
        );
    }
    let output = env.json(["output", "py:3"]);
    assert_eq!(output["status"], "queued", "{output:#}");
    assert_eq!(env.json(["output", "py:1"])["data"]["value"], "'before'");
    // All that is over needs nobody's word.
    let status = env.json(["status", "-n", "py"]);
    assert_eq!(status["error"]["code"], "connection_failed", "{status:#}");
    signal(host, Signal::CONT);
    env.json(["interrupt", "py:2"]);
    assert_eq!(env.json(["output", "py:3", "--wait", "60s"])["data"]["value"], "2");
}

#[test]
fn e2_a_client_that_hangs_while_it_starts_a_host_does_not_hold_up_others() {
    let env = TestEnv::new(STEAD);
    env.value("1");
    env.json(["stop", "-n", "py"]);
    let lock = File::open(env.session_dir("py").join("start.lock")).unwrap();
    flock(&lock, FlockOperation::LockExclusive).unwrap();
    let told = env.json(["eval", "-n", "py", "--timeout", "10ms", "--", "open('ran', 'w')"]);
    assert_eq!(told["error"]["code"], "connection_failed", "{told:#}");
    assert!(told.to_string().contains("the code was not sent, so it did not run"), "{told:#}");
    drop(lock);
    assert_eq!(env.value("6 * 7"), "42");
    assert!(!env.workspace().join("ran").exists());
}

#[test]
fn s6_s10_a_session_has_ended_as_soon_as_that_is_recorded_however_long_its_host_tidies_up() {
    let env = TestEnv::new(STEAD);
    let mut command = env.command(["eval", "-n", "py", "--", "import os; os._exit(3)"]);
    Hook::PauseAt.set(&mut command, "leaving");
    command.output().expect("the binary runs");
    let host = stopped(&env);
    let listed = env.json(["ls"]);
    let session = &listed["data"]["sessions"][0];
    assert_eq!(session["state"], "ended", "{listed:#}");
    assert!(!listed.to_string().contains("does not answer"), "{listed:#}");
    let status = env.json(["status", "-n", "py"]);
    assert_eq!(status["data"]["state"], "ended", "{status:#}");
    signal(host, Signal::CONT);
    assert_eq!(env.value("6 * 7"), "42");
}
