//! H-2: whatever lies where a file of ours should be, nobody hangs and nobody fills their memory.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use stead_testkit::{Ran, TestEnv};

use crate::STEAD;

const FILES: [&str; 9] = [
    "meta.json",
    "history.jsonl",
    "history.idx",
    "keys.jsonl",
    "host.lock",
    "start.lock",
    "host.log",
    "loss-told",
    "out-0000000000000000.log",
];

fn session_dir(env: &TestEnv) -> PathBuf {
    let workspace = fs::read_dir(env.state_dir().join("sessions")).unwrap().next().unwrap();
    workspace.unwrap().path().join("py")
}

/// Runs a command with little memory; one that hangs is ended after a time that only serves to fail.
#[track_caller]
fn bounded(env: &TestEnv, arguments: &[&str]) -> Ran {
    let limits = "ulimit -v 2000000; set -- timeout -s KILL 60 \"$@\"";
    let output = env.after(limits, arguments).output().expect("a shell runs");
    let ran = Ran::from(output);
    let ended = ran.code.is_some_and(|code| code < 124);
    assert!(ended, "{arguments:?} neither hangs nor dies: {ran:?}");
    ran
}

fn replace(path: &Path, kind: &str) {
    if path.is_dir() {
        fs::remove_dir(path).unwrap();
    } else if path.symlink_metadata().is_ok() {
        fs::remove_file(path).unwrap();
    }
    match kind {
        "pipe" => assert!(Command::new("mkfifo").arg(path).status().unwrap().success()),
        "zero" => symlink("/dev/zero", path).unwrap(),
        "huge" => fs::File::create(path).unwrap().set_len(1 << 40).unwrap(),
        _ => fs::create_dir(path).unwrap(),
    }
}

#[test]
fn h2_no_file_of_a_session_that_is_something_else_holds_anybody_up() {
    let env = TestEnv::new(STEAD);
    for kind in ["pipe", "zero", "huge", "dir"] {
        for file in FILES {
            env.value("print('out')\n1");
            env.json(["eval", "-n", "py", "--key", kind, "2"]);
            env.run(["stop", "-n", "py"]);
            let path = session_dir(&env).join(file);
            replace(&path, kind);
            for arguments in [
                &["ls"] as &[&str],
                &["ls", "--all"],
                &["status", "-n", "py"],
                &["evals", "-n", "py"],
                &["output", "py:1"],
                &["logs", "-n", "py"],
                &["eval", "-n", "py", "--key", "new", "3"],
            ] {
                let ran = bounded(&env, arguments);
                if kind == "pipe" && file == "meta.json" && arguments[0] == "eval" {
                    assert!(ran.stdout.contains("a named pipe"), "{ran:?}");
                }
            }
            env.run(["stop", "-n", "py"]);
            fs::remove_dir_all(session_dir(&env)).unwrap();
        }
    }
}

#[test]
fn h2_a_pipe_where_a_cache_should_be_costs_nothing() {
    let env = TestEnv::new(STEAD);
    env.value("1");
    env.run(["stop", "-n", "py"]);
    let cache = env.state_dir().join("bridges");
    for entry in fs::read_dir(&cache).into_iter().flatten() {
        replace(&entry.unwrap().path(), "pipe");
    }
    for file in [".python-version", ".nvmrc", ".tool-versions", "pyproject.toml", "environment.yml"]
    {
        replace(&env.workspace().join(file), "pipe");
    }
    let ran = bounded(&env, &["eval", "-n", "py", "40 + 2"]);
    assert!(ran.stdout.contains("42"), "{ran:?}");
}
