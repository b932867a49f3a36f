//! S-12: disk is given back.

use std::collections::BTreeSet;
use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::Value;
use stead_testkit::{Hook, Ran, TestEnv};

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
    command.output().expect("the binary runs").into()
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

/// What history, index and keys of a session take.
fn history_size(env: &TestEnv, name: &str) -> u64 {
    let dir = env.session_dir(name);
    let files = ["history.jsonl", "history.idx", "keys.jsonl"].map(|file| dir.join(file));
    files.iter().map(|file| fs::metadata(file).map_or(0, |meta| meta.len())).sum()
}

#[test]
fn s12_the_oldest_evals_go_when_the_history_is_too_large_and_this_is_said() {
    let env = TestEnv::new(STEAD);
    let small = [("STEAD_KEEP_HISTORY", "100K")];
    let launched = run(&env, &small, &["launch", "python", "-n", "py", "--init", "n = 0"]);
    assert_eq!(launched.code, Some(0), "{launched:?}");
    let keyed = ["eval", "-n", "py", "--key", "once", "n += 1"];
    assert_eq!(env.json(keyed)["status"], "complete");
    // It ends before it is asked to take more.
    let size = || {
        env.json(["status", "-n", "py"]);
        history_size(&env, "py")
    };
    for i in 0..40 {
        assert_eq!(env.value(&format!("#{}\n{i}", "x".repeat(9000))), i.to_string());
        assert!(size() <= 100 << 10, "{i}: {}", size());
    }
    for _ in 0..2 {
        for id in ["py:1", "py:2"] {
            let gone = env.json(["output", id]);
            assert_eq!(gone["error"]["code"], "eval_not_found", "{gone:#}");
            let message = gone["error"]["message"].as_str().unwrap();
            assert!(message.contains("is gone") && message.contains("102400 bytes"), "{message}");
            assert!(gone["error"]["hint"].as_str().unwrap().contains("to `py:4"), "{gone:#}");
        }
        let listed = env.json(["evals", "-n", "py", "--limit", "100"]);
        let evals = listed["data"]["evals"].as_array().unwrap();
        let gone = listed["data"]["gone"].as_u64().unwrap();
        assert!(gone >= 30 && evals.len() >= 5, "{gone}, {}", evals.len());
        assert_eq!(evals[0]["eval_id"], format!("py:{}", gone + 1));
        let text = env.run(["evals", "-n", "py", "--text"]).stdout;
        assert!(text.contains(&format!("[{gone} older evals are gone")), "{text}");
        let found = env.json(["output", "--session", "-n", "py", "--grep", "x"]);
        assert_eq!(found["data"]["gone"], gone, "{found:#}");
        let none = env.json(["output", "py:1000"]);
        assert!(none["error"]["message"].as_str().unwrap().contains("no eval"), "{none:#}");
        assert_eq!(env.json(["output", "py:40"])["status"], "complete");

        // A key whose eval is gone is refused, and its code not run.
        let again = env.json(keyed);
        assert_eq!(again["error"]["code"], "eval_not_found", "{again:#}");
        let message = again["error"]["message"].as_str().unwrap();
        assert!(message.contains("`py:2`") && message.contains("not run again"), "{message}");
        // So does the next host.
        env.run(["stop", "-n", "py"]);
        run(&env, &small, &["launch", "python", "-n", "py", "--init", "n = 1"]);
        assert_eq!(env.json(["eval", "-n", "py", "n"])["data"]["value"], "1");
    }
}

#[test]
fn s12_evals_of_16_mib_leave_room_for_the_next() {
    let env = TestEnv::new(STEAD);
    env.value("0");
    let file = env.root().join("large.py");
    fs::write(&file, format!("#{}\n1", "x".repeat((16 << 20) - 4))).unwrap();
    for round in 0..6 {
        let ran = env.json(["eval", "-n", "py", "-f", file.to_str().unwrap()]);
        assert_eq!(ran["status"], "complete", "{:.300}", ran.to_string());
        env.json(["status", "-n", "py"]);
        assert!(history_size(&env, "py") <= 64 << 20, "{round}: {}", history_size(&env, "py"));
    }
    assert_eq!(env.json(["output", "py:2"])["error"]["code"], "eval_not_found");
    assert_eq!(env.json(["output", "py:7"])["status"], "complete");
}

#[test]
fn s12_h3_whatever_the_disk_refuses_while_evals_go_the_others_stay() {
    let mut refusals = 0;
    for first in places(24..110) {
        let env = TestEnv::new(STEAD);
        let note = env.root().join("note");
        let mut launch = env.command(["launch", "bash", "-n", "sh"]);
        Hook::Refuse.set(&mut launch, format!("{first}:28"));
        Hook::Refused.set(&mut launch, &note);
        launch.env("STEAD_KEEP_HISTORY", "6000");
        assert!(launch.output().unwrap().status.success());
        let mut last = 0;
        for i in 0..24 {
            let code = format!("echo {i} # {}", "x".repeat(400));
            let ran = env.json(["eval", "-n", "sh", &code]);
            // What could not be recorded was not run, and has no number.
            if let Some(id) = ran["data"]["eval_id"].as_str() {
                last = id["sh:".len()..].parse().unwrap();
            }
        }
        refusals += u64::from(note.exists());
        assert_eq!(env.json(["output", &format!("sh:{last}")])["status"], "complete");
        let listed = env.json(["evals", "-n", "sh", "--limit", "100"]);
        let (data, gone) = (&listed["data"], listed["data"]["gone"].as_u64().unwrap());
        let evals = data["evals"].as_array().unwrap();
        assert_eq!(gone + evals.len() as u64, last, "refused {first}: {listed:#}");
        assert!(
            evals.iter().all(|eval| eval["status"] == "complete"),
            "refused {first}: {listed:#}"
        );
        assert!(gone > 5, "refused {first}: {listed:#}");
        env.run(["stop", "-n", "sh"]);
    }
    assert!(refusals > 3, "{refusals}");
}

#[test]
fn s12_h3_a_host_killed_at_any_change_on_disk_while_evals_go_leaves_the_others() {
    let mut kills = 0;
    for at in places(24..110) {
        let env = TestEnv::new(STEAD);
        let note = env.root().join("note");
        let mut launch = env.command(["launch", "bash", "-n", "sh"]);
        Hook::Refuse.set(&mut launch, format!("{at}:kill"));
        Hook::Refused.set(&mut launch, &note);
        launch.env("STEAD_KEEP_HISTORY", "6000");
        assert!(launch.output().unwrap().status.success());
        let code = |i: u64| format!("echo {i} # {}", "x".repeat(400));
        let mut told = Vec::new();
        for i in 0..24 {
            let ran = env.json(["eval", "-n", "sh", &code(i)]);
            let known = ran["data"]["eval_id"].as_str().map(str::to_owned);
            told.extend(known.filter(|_| ran["status"] == "complete").map(|id| (id, i)));
        }
        kills += u64::from(note.exists());
        let listed = env.json(["evals", "-n", "sh", "--limit", "100"]);
        let gone = listed["data"]["gone"].as_u64().unwrap_or(0);
        let evals = listed["data"]["evals"].as_array().unwrap();
        for (eval, number) in evals.iter().zip(gone + 1..) {
            assert_eq!(eval["eval_id"], format!("sh:{number}"), "killed at {at}: {listed:#}");
            assert_ne!(eval["status"], "running", "killed at {at}: {listed:#}");
        }
        // Whoever was told a result finds that one, or that it is gone.
        for (id, i) in &told {
            let output = env.json(["output", id]);
            let number: u64 = id["sh:".len()..].parse().unwrap();
            match number <= gone {
                true => assert_eq!(output["error"]["code"], "eval_not_found", "{at}: {output:#}"),
                false => {
                    assert_eq!(
                        crate::talk::wrote(&output, "out"),
                        format!("{i}\n"),
                        "{at}: {output:#}"
                    );
                }
            }
        }
        let left = fs::read_dir(env.session_dir("sh")).unwrap().flatten();
        let left: Vec<_> = left.map(|entry| entry.file_name()).collect();
        let is_temporary =
            |name: &&std::ffi::OsString| name.to_string_lossy().starts_with(".history");
        assert_eq!(left.iter().find(is_temporary), None, "killed at {at}");
        env.run(["stop", "-n", "sh"]);
    }
    assert!(kills > 3, "{kills}");
}

/// A few of the changes on disk, or all of them.
fn places(all: std::ops::Range<u64>) -> impl Iterator<Item = u64> {
    all.step_by(if std::env::var_os("STEAD_REFUSE_ALL").is_some() { 1 } else { 6 })
}
