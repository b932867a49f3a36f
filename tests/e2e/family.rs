//! S-9: nothing is left, whoever of host and guard is killed and in whatever order. The daemons here
//! have an empty environment and a session of their own, so that only their mark tells where they belong.

use rustix::process::Signal;
use serde_json::Value;
use stead_testkit::{TestEnv, is_alive, wait_for, wait_for_some};

use crate::STEAD;
use crate::places::as_other;
use crate::processes::{all_gone, gone_but, kill, signal, sockets};

/// Starts a daemon with nothing in its environment that writes its process id to `daemon`.
const DAEMON: &str = "
import subprocess
subprocess.run(['env', '-i', '/usr/bin/setsid', '-f', '/bin/sh', '-c',
                'echo $$ > daemon.new; mv daemon.new daemon; exec /bin/sleep 1000'],
               stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
";

fn daemon(env: &TestEnv) -> u32 {
    let path = env.workspace().join("daemon");
    let _ = std::fs::remove_file(&path);
    env.value(DAEMON);
    let pid = wait_for_some("the daemon", || std::fs::read_to_string(&path).ok());
    let pid = pid.trim().parse().unwrap();
    assert!(is_alive(pid));
    pid
}

fn guard_of(host: u32) -> u32 {
    wait_for_some("a guard", || stead_testkit::guard_of(host))
}

fn gone(pid: u32) {
    wait_for("a killed process to be gone", || !is_alive(pid));
}

/// Kills host and guard so that neither can do anything about the other's death.
fn kill_both(host: u32, guard: u32) {
    signal(host, Signal::STOP);
    kill(guard);
    gone(guard);
    kill(host);
    gone(host);
}

#[test]
fn s9_a_killed_guard_is_replaced_and_the_session_goes_on() {
    let env = TestEnv::new(STEAD);
    env.value("x = 41");
    let (host, interpreter) = (env.host_pid(), env.interpreter_pid());
    let mut daemons = vec![];
    for _ in 0..3 {
        let guard = guard_of(host);
        kill(guard);
        gone(guard);
        let next = guard_of(host);
        assert_ne!(guard, next);
        daemons.push(daemon(&env));
        assert_eq!(env.value("x + 1"), "42");
        assert_eq!((env.host_pid(), env.interpreter_pid()), (host, interpreter));
        // The guard is not counted, and what made the daemon is soon gone.
        let counted = 1 + daemons.len() as u64;
        wait_for("the daemons to be alone", || env.status()["processes"] == counted);
    }
    kill(host);
    all_gone(&env);
    wait_for("the daemons to be gone", || !daemons.iter().any(|pid| is_alive(*pid)));
    assert_eq!(sockets(&env), 0);
}

#[test]
fn s9_a_guard_is_replaced_while_an_eval_runs_and_clients_still_hear_of_a_killed_host() {
    let env = TestEnv::new(STEAD);
    env.value("1");
    let host = env.host_pid();
    let eval = env.spawn(["eval", "-n", "py", "--", "open('up', 'w').close()\nwhile True: pass"]);
    wait_for("the eval", || env.workspace().join("up").exists());
    let guard = guard_of(host);
    kill(guard);
    gone(guard);
    guard_of(host);
    kill(host);
    // A connection that the guard had kept open would never end.
    let told = crate::processes::reply(eval);
    assert_eq!(told["data"]["outcome"], "host_died", "{told:#}");
    all_gone(&env);
}

#[test]
fn s9_stop_and_restart_after_a_guard_was_replaced_leave_nothing() {
    let env = TestEnv::new(STEAD);
    // A copy for undo would be a process more.
    env.json(["launch", "py", "--no-undo"]);
    let first = daemon(&env);
    let host = env.host_pid();
    let guard = guard_of(host);
    kill(guard);
    gone(guard);
    let guard = guard_of(host);
    assert_eq!(env.json(["restart", "-n", "py"])["ok"], true);
    assert!(!is_alive(first));
    gone_but(&env, &[host, guard, env.interpreter_pid()]);
    let second = daemon(&env);
    assert_eq!(env.json(["stop", "-n", "py"])["ok"], true);
    assert!(!is_alive(second));
    all_gone(&env);
    assert_eq!(sockets(&env), 0);
}

/// Whatever command comes next: of another workspace, about another session, or one that fails.
#[test]
fn s9_what_host_and_guard_left_that_were_both_killed_is_ended_by_the_next_command() {
    let env = TestEnv::new(STEAD);
    let elsewhere = env.root().join("home");
    let elsewhere = elsewhere.to_str().unwrap();
    let commands: [&[&str]; 8] = [
        &["ls"],
        &["ls", "--workspace", elsewhere],
        &["status", "-n", "py"],
        &["evals", "-n", "py"],
        &["output", "py:1"],
        &["eval", "-n", "other", "-l", "bash", "true"],
        &["eval", "-n", "no-such-language", "1"],
        &["doctor"],
    ];
    for command in commands {
        let daemon = daemon(&env);
        let host = env.host_pid();
        kill_both(host, guard_of(host));
        assert!(is_alive(daemon), "before {command:?}");
        env.run(command);
        assert!(!is_alive(daemon), "after {command:?}");
        // The next eval is told once that the state is gone.
        env.eval("1");
        env.run(["stop", "-n", "other"]);
    }
}

#[test]
fn s9_stop_of_a_session_whose_host_and_guard_were_killed_leaves_nothing() {
    let env = TestEnv::new(STEAD);
    for notes in [true, false] {
        // Told once that the state of the last round is gone.
        env.eval("1");
        let daemon = daemon(&env);
        let host = env.host_pid();
        kill_both(host, guard_of(host));
        if !notes {
            // A login manager may have emptied the runtime directory.
            std::fs::remove_dir_all(env.runtime_dir()).unwrap();
        }
        let stopped = env.json(["stop", "-n", "py"]);
        assert_eq!(stopped["ok"], true, "{stopped:#}");
        assert!(!is_alive(daemon));
        all_gone(&env);
        assert_eq!(sockets(&env), 0);
    }
}

#[test]
fn s9_the_next_host_ends_what_was_left_even_without_a_note() {
    let env = TestEnv::new(STEAD);
    let daemon = daemon(&env);
    let host = env.host_pid();
    kill_both(host, guard_of(host));
    std::fs::remove_dir_all(env.runtime_dir()).unwrap();
    assert_eq!(env.eval("1")["error"]["code"], "session_lost");
    assert!(!is_alive(daemon));
    assert_eq!(env.value("6 * 7"), "42");
}

/// Only what carries the mark goes: sessions of other directories are not even known of.
#[test]
fn s9_a_sweep_spares_sessions_of_other_state_directories() {
    let (env, other) = (TestEnv::new(STEAD), TestEnv::new(STEAD));
    let theirs = daemon(&other);
    let ours = daemon(&env);
    let host = env.host_pid();
    kill_both(host, guard_of(host));
    env.run(["ls"]);
    assert!(!is_alive(ours) && is_alive(theirs));
    assert_eq!(other.value("6 * 7"), "42");
    other.run(["stop", "-n", "py"]);
    assert!(!is_alive(theirs));
}

/// What `stead` answers an ordinary user.
fn other(env: &TestEnv, arguments: &[&str]) -> Value {
    let output = as_other(env, arguments).output().unwrap();
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error} in {output:?}"))
}

/// The first daemon's process id is what the eval printed.
fn others_daemon(env: &TestEnv) -> u32 {
    let code = "exec 3< <(exec env -i setsid sh -c 'echo $$; exec sleep 1000'); read pid <&3; exec 3<&-; echo $pid";
    let reply = other(env, &["eval", "-n", "bash", "--", code]);
    assert_eq!(reply["status"], "complete", "{reply:#}");
    reply["data"]["chunks"][0]["content"].as_str().unwrap().trim().parse().unwrap()
}

#[test]
fn s9_an_ordinary_users_processes_are_marked_too() {
    let env = TestEnv::new(STEAD);
    let daemon = others_daemon(&env);
    let host = other(&env, &["status", "-n", "bash"])["data"]["host_pid"].as_u64().unwrap() as u32;
    kill_both(host, guard_of(host));
    assert!(is_alive(daemon));
    assert_eq!(other(&env, &["ls"])["ok"], true);
    assert!(!is_alive(daemon));
    assert_eq!(other(&env, &["stop", "-n", "bash"])["ok"], true);
}

#[test]
fn s9_stop_is_no_success_while_something_is_left_and_says_what() {
    let env = TestEnv::new(STEAD);
    let daemon = others_daemon(&env);
    let notes = std::fs::read_dir(env.root().join("other/run")).unwrap().flatten();
    let mut notes = notes.filter_map(|file| file.file_name().into_string().ok());
    let note = notes.find(|name| name.ends_with(".mark")).unwrap();
    let mark = u64::from_str_radix(note.split('-').next().unwrap(), 16).unwrap();
    // With the session's mark, but root's: as what `sudo` starts is.
    let mut left = std::process::Command::new("prlimit");
    left.args([&format!("--rttime={mark}:{mark}"), "sleep", "1000"]);
    let mut left = left.spawn().unwrap();
    let limits = format!("/proc/{}/limits", left.id());
    let marked = || std::fs::read_to_string(&limits).is_ok_and(|it| it.contains(&mark.to_string()));
    wait_for("the mark", marked);
    for _ in 0..2 {
        let stopped = other(&env, &["stop", "-n", "bash"]);
        assert_eq!(stopped["ok"], false, "{stopped:#}");
        let message = stopped["error"]["message"].as_str().unwrap();
        assert!(message.contains(&format!("{} (sleep 1000)", left.id())), "{stopped:#}");
        assert!(!is_alive(daemon), "all else is gone");
        assert_eq!(other(&env, &["ls"])["data"]["sessions"][0]["state"], "ended");
    }
    left.kill().unwrap();
    left.wait().unwrap();
    assert_eq!(other(&env, &["stop", "-n", "bash"])["ok"], true);
    assert_eq!(other(&env, &["ls"])["data"]["sessions"], Value::Array(vec![]));
    let left = std::fs::read_dir(env.root().join("other/run")).unwrap().count();
    assert_eq!(left, 0, "no socket and no note");
}
