//! S-3: clients of one user whose homes differ; and session files that cannot be read.

use std::fs;
use std::os::unix::fs::symlink;
use std::process::Command;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use stead_testkit::{Hook, TestEnv};

use crate::STEAD;
use crate::processes::{all_gone, sockets};

/// A command of a client that has another state directory and the same runtime directory.
fn other_home(env: &TestEnv, arguments: &[&str]) -> Value {
    let mut command: Command = env.command(arguments);
    command.env("STEAD_STATE_DIR", env.root().join("other-state"));
    command.env("HOME", env.root().join("ws"));
    let output = command.output().expect("the binary runs");
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error} in {output:?}"))
}

#[test]
fn s3_clients_with_different_homes_share_the_live_sessions() {
    let env = TestEnv::new(STEAD);
    assert_eq!(env.value("x = 41; x"), "41");
    let other = |arguments: &[&str]| other_home(&env, arguments);
    let reply = other(&["eval", "-n", "py", "--", "print('words'); x + 1"]);
    assert_eq!(reply["data"]["value"], "42", "{reply:#}");
    let background = other(&["eval", "-n", "py", "--bg", "--", "input('? ')"]);
    assert_eq!(background["data"]["eval_id"], "py:3", "{background:#}");
    let waits = other(&["output", "py:3", "--wait", "60s"]);
    assert_eq!(waits["status"], "waiting_input", "{waits:#}");
    let answered = other(&["input", "py:3", "you"]);
    assert_eq!(answered["data"]["value"], "'you'", "{answered:#}");
    let output = other(&["output", "py:2"]);
    assert_eq!(output["data"]["value"], "42", "{output:#}");
    let evals = other(&["evals", "-n", "py"]);
    assert_eq!(evals["data"]["evals"].as_array().map(Vec::len), Some(3), "{evals:#}");
    for all in [&["ls"][..], &["ls", "--all"]] {
        let listed = other(all);
        assert_eq!(listed["data"]["sessions"][0]["name"], "py", "{listed:#}");
        assert_eq!(listed["data"]["sessions"][0]["state"], "idle", "{listed:#}");
    }
    // Without a name: the only live session.
    let status = other(&["status"]);
    assert_eq!(status["data"]["generation"], 1, "{status:#}");
    assert_eq!(other(&["logs", "-n", "py", "--json"])["ok"], true);
    let again = other(&["restart", "-n", "py"]);
    assert_eq!(again["ok"], true, "{again:#}");
    assert_eq!(other(&["stop", "-n", "py"])["ok"], true);
    all_gone(&env);
    assert_eq!(sockets(&env), 0);
    // The one whose home it was has its history; the other begins one of its own.
    assert_eq!(env.json(["output", "py:2"])["data"]["value"], "42");
    let own = other(&["eval", "-n", "py", "--", "1"]);
    assert_eq!(own["data"]["eval_id"], "py:1", "{own:#}");
    other(&["stop", "-n", "py"]);
    all_gone(&env);
}

#[test]
fn files_of_a_newer_stead_are_refused_by_name() {
    let env = TestEnv::new(STEAD);
    env.value("1");
    env.json(["stop", "-n", "py"]);
    let path = env.session_dir("py").join("meta.json");
    let mut meta: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    meta["version"] = 99.into();
    meta["settings"] = "of another shape".into();
    meta["program"] = "9.9.9".into();
    fs::write(&path, meta.to_string()).unwrap();
    let newer = "written by a newer stead (9.9.9): version 99, this one";
    let commands: [&[&str]; 3] =
        [&["eval", "-n", "py", "--", "1"], &["output", "py:1"], &["evals", "-n", "py"]];
    for arguments in commands {
        let reply = env.json(arguments);
        assert_eq!(reply["ok"], false, "{reply:#}");
        assert!(reply["error"]["message"].as_str().unwrap().contains(newer), "{reply:#}");
    }
    let listed = env.json(["ls"]);
    assert!(listed["data"]["unreadable"][0].as_str().unwrap().contains(newer), "{listed:#}");
    fs::remove_file(&path).unwrap();
}

#[test]
fn v_a_session_that_a_newer_stead_placed_elsewhere_is_not_started_here() {
    let env = TestEnv::new(STEAD);
    env.value("1");
    env.json(["stop", "-n", "py"]);
    let path = env.session_dir("py").join("meta.json");
    let mut meta: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    meta["stopped"] = false.into();
    meta["settings"]["cwd"] = "/only/there".into();
    meta["settings"]["via"] = serde_json::json!([{"ssh": "far"}]);
    fs::write(&path, meta.to_string()).unwrap();
    let reply = env.json(["eval", "-n", "py", "--", "open('ran', 'w')"]);
    assert_eq!(reply["error"]["code"], "launch_failed", "{reply:#}");
    assert!(reply["error"]["message"].as_str().unwrap().contains("elsewhere"), "{reply:#}");
    assert!(!env.workspace().join("ran").exists());
    let kept: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    assert_eq!(kept["settings"]["via"][0]["ssh"], "far", "{kept:#}");
}

#[test]
fn e11_ls_names_what_it_cannot_read() {
    let env = TestEnv::new(STEAD);
    env.value("1");
    let meta = env.session_dir("py").join("meta.json");
    let broken = env.session_dir("py").parent().unwrap().join("broken");
    fs::create_dir(&broken).unwrap();
    symlink("/nowhere", broken.join("meta.json")).unwrap();
    let listed = env.json(["ls"]);
    assert_eq!(listed["data"]["sessions"][0]["name"], "py", "{listed:#}");
    let named = listed["data"]["unreadable"][0].as_str().unwrap_or_default();
    assert!(named.contains("broken/meta.json"), "{listed:#}");
    assert!(meta.exists());
    fs::remove_dir_all(broken).unwrap();
}

/// What an eval that starts its session is told if the disk refuses this change of the start.
fn started_until(env: &TestEnv, change: u32) -> Value {
    let mut command = env.command(["eval", "-n", "py", "--", "1"]);
    Hook::Refuse.set(&mut command, format!("{change}:5"));
    let output = command.output().unwrap();
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn h2_a_start_that_fails_at_its_last_write_leaves_no_socket_and_no_loss() {
    // The changes of a first start: a record, then `meta.json` with two syncs and a rename.
    for change in 1..=12 {
        let env = TestEnv::new(STEAD);
        let first = started_until(&env, change);
        if first["error"]["code"] != "launch_failed" {
            continue;
        }
        all_gone(&env);
        assert_eq!(sockets(&env), 0, "change {change}: {first:#}");
        let next = env.eval("6 * 7");
        assert_eq!(next["data"]["value"], "42", "change {change}: {next:#}");
    }
}

/// A refusal of the disk must not be the last that is heard of a state that was lost before it.
#[test]
fn s6_h2_a_start_that_fails_at_its_last_write_does_not_swallow_a_loss() {
    let mut met = 0;
    for change in 1..=12 {
        let env = TestEnv::new(STEAD);
        env.json(["launch", "py", "--no-undo"]);
        env.eval("x = 1");
        let host = env.status()["host_pid"].as_i64().expect("a host") as i32;
        kill_process(Pid::from_raw(host).expect("a process"), Signal::KILL).unwrap();
        all_gone(&env);
        let first = started_until(&env, change);
        if first["error"]["code"] != "launch_failed" {
            continue;
        }
        met += 1;
        all_gone(&env);
        let next = env.eval("open('ran', 'w')");
        let told = format!("{first}{next}");
        assert!(told.contains("host process was killed"), "change {change}: {told}");
        assert_eq!(next["error"]["code"], "session_lost", "change {change}: {next:#}");
        assert!(!env.workspace().join("ran").exists(), "change {change}");
    }
    assert!(met > 0);
}
