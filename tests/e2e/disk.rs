//! S-12: disk is given back.

use std::collections::BTreeSet;
use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::Value;
use stead_testkit::{Ran, TestEnv};

use crate::STEAD;

/// The sessions that are on disk.
fn kept(env: &TestEnv) -> BTreeSet<String> {
    let sessions = env.state_dir().join("sessions");
    let workspaces = fs::read_dir(sessions).into_iter().flatten().flatten();
    let entries = workspaces.flat_map(|dir| fs::read_dir(dir.path()).unwrap()).flatten();
    entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

fn run(env: &TestEnv, variables: &[(&str, &str)], arguments: &[&str]) -> Ran {
    let mut command = env.command(arguments);
    command.envs(variables.iter().copied());
    let output = command.output().expect("the binary runs");
    Ran {
        code: output.status.code(),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

fn names(removed: &Value) -> BTreeSet<String> {
    let removed = removed["data"]["removed"].as_array().expect("a list");
    removed.iter().map(|one| one["session"].as_str().unwrap().to_owned()).collect()
}

fn set<const N: usize>(names: [&str; N]) -> BTreeSet<String> {
    names.into_iter().map(str::to_owned).collect()
}

#[test]
fn s12_a_host_at_its_end_removes_what_is_too_much() {
    let env = TestEnv::new(STEAD);
    let few = [("STEAD_KEEP_COUNT", "3"), ("STEAD_KEEP_RUNS_COUNT", "2")];
    run(&env, &few, &["eval", "-n", "live", "-l", "bash", "echo up"]);
    for name in ["a", "b", "c", "d", "e"] {
        let ran = run(&env, &few, &["eval", "-n", name, "-l", "bash", "echo up"]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        assert_eq!(run(&env, &few, &["stop", "-n", name]).code, Some(0));
    }
    assert_eq!(kept(&env), set(["c", "d", "e", "live"]));
    for _ in 0..5 {
        assert_eq!(run(&env, &few, &["run", "bash", "echo up"]).code, Some(0));
    }
    let runs = kept(&env).iter().filter(|name| name.starts_with("run-")).count();
    assert_eq!(runs, 2, "{:?}", kept(&env));
    assert!(kept(&env).is_superset(&set(["c", "d", "e", "live"])));
    // By age too: a host that ends finds the others old.
    let old = [("STEAD_KEEP_AGE", "0"), ("STEAD_KEEP_RUNS_AGE", "0")];
    run(&env, &old, &["eval", "-n", "last", "-l", "bash", "echo up"]);
    assert_eq!(run(&env, &old, &["stop", "-n", "last"]).code, Some(0));
    assert_eq!(kept(&env), set(["last", "live"]));
    assert_eq!(env.run(["stop", "-n", "live"]).code, Some(0));
}

#[test]
fn s12_rm_removes_one_session_unless_it_lives() {
    let env = TestEnv::new(STEAD);
    env.value("print('x' * 100_000)");
    let refused = env.run(["rm", "py"]);
    assert_ne!(refused.code, Some(0), "{refused:?}");
    assert!(refused.stdout.contains("stead stop -n py"), "{refused:?}");
    assert_eq!(env.value("1"), "1", "it was not touched");
    env.run(["stop", "-n", "py"]);
    // By its other name too.
    let removed = env.json(["rm", "python"]);
    assert_eq!(names(&removed), set(["py"]), "{removed:#}");
    assert!(removed["data"]["bytes"].as_u64().unwrap() >= 100_000, "{removed:#}");
    assert!(kept(&env).is_empty());
    assert_eq!(fs::read_dir(env.state_dir().join("sessions")).unwrap().count(), 0);
    for arguments in [&["rm", "py"] as &[&str], &["output", "py:1"], &["evals", "-n", "py"]] {
        let gone = env.json(arguments);
        assert_eq!(gone["error"]["code"], "session_not_found", "{arguments:?}: {gone:#}");
    }
    assert_eq!(env.json(["rm", "../x"])["error"]["code"], "bad_request");
}

#[test]
fn s12_gc_says_what_went_and_what_would_go() {
    let env = TestEnv::new(STEAD);
    for name in ["a", "b", "live"] {
        env.json(["eval", "-n", name, "-l", "bash", "echo up"]);
    }
    env.run(["stop", "-n", "a"]);
    // One that ended by itself and one that nobody reported go like others.
    env.run(["eval", "-n", "b", "kill -9 $PPID"]);
    env.run(["eval", "-n", "b", "exec false"]);
    let none = env.json(["gc"]);
    assert_eq!(names(&none), set([]), "{none:#}");
    env.run(["stop", "-n", "b"]);
    let few = [("STEAD_KEEP_COUNT", "0")];
    let would = run(&env, &few, &["gc", "--dry-run"]).json();
    assert_eq!(names(&would), set(["a", "b"]), "{would:#}");
    assert_eq!(kept(&env), set(["a", "b", "live"]));
    let went = run(&env, &few, &["gc"]).json();
    assert_eq!(names(&went), set(["a", "b"]), "{went:#}");
    assert!(went["data"]["bytes"].as_u64().unwrap() > 0, "{went:#}");
    assert_eq!(kept(&env), set(["live"]));
    let text = run(&env, &few, &["gc", "--text"]).stdout;
    assert_eq!(text, "removed: 0 sessions, 0 bytes\n");
    let wrong = run(&env, &[("STEAD_KEEP_AGE", "soon")], &["gc"]).json();
    assert!(wrong["error"]["message"].as_str().unwrap().contains("STEAD_KEEP_AGE"), "{wrong:#}");
    let doctor = env.run(["doctor", "--text"]).stdout;
    assert!(
        doctor.lines().any(|line| line.contains("disk") && line.contains("session")),
        "{doctor}"
    );
    assert_eq!(env.run(["stop", "-n", "live"]).code, Some(0));
    run(&env, &few, &["gc"]);
    assert_eq!(fs::read_dir(env.state_dir().join("sessions")).unwrap().count(), 0);
}

#[test]
fn s12_a_session_that_is_started_while_it_is_removed_starts() {
    let env = TestEnv::new(STEAD);
    let few = [("STEAD_KEEP_COUNT", "0"), ("STEAD_KEEP_RUNS_COUNT", "0")];
    let done = AtomicBool::new(false);
    /// Ends the others also when this test fails.
    struct Done<'a>(&'a AtomicBool);
    impl Drop for Done<'_> {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Release);
        }
    }
    let collect = || {
        while !done.load(Ordering::Acquire) {
            let ran = run(&env, &few, &["gc"]);
            assert_eq!(ran.code, Some(0), "{ran:?}");
        }
    };
    std::thread::scope(|scope| {
        let _done = Done(&done);
        scope.spawn(collect);
        scope.spawn(collect);
        for round in 0..40 {
            let ran = env.run(["eval", "-n", "x", "-l", "bash", "--text", "echo up"]);
            assert_eq!(
                (ran.code, ran.stdout.as_str()),
                (Some(0), "up\n"),
                "round {round}: {ran:?}"
            );
            let ran = env.run(["stop", "-n", "x"]);
            assert_eq!(ran.code, Some(0), "round {round}: {ran:?}");
        }
    });
}
