//! S-9: what becomes of a session whose host or guard is not as it should be, or whose files were deleted.

use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use stead_protocol::SessionName;
use stead_testkit::{TestEnv, is_alive, pause, wait_for, wait_for_some};

use crate::STEAD;
use crate::processes::{DAEMONS, all_gone, children, kill, reply, signal, sockets};

/// Longer than any of these commands takes, and shorter than the time after which one gives up.
const NO_WAIT: Duration = Duration::from_secs(8);

fn guard_of(env: &TestEnv, host: u32) -> u32 {
    wait_for_some("the guard", || {
        env.processes().into_iter().find(|pid| children(*pid).contains(&host))
    })
}

/// A session whose guard is stopped; returns host and guard.
fn with_stopped_guard(env: &TestEnv) -> (u32, u32) {
    env.json(["launch", "python", "-n", "py"]);
    env.value(DAEMONS);
    let host = env.host_pid();
    let guard = guard_of(env, host);
    signal(guard, Signal::STOP);
    (host, guard)
}

fn socket(env: &TestEnv) -> PathBuf {
    let client = env.client();
    client.dirs.socket(&client.workspace, &"py".parse().unwrap())
}

fn kill_host(host: u32) {
    kill(host);
    wait_for("the host's death", || !is_alive(host));
}

#[test]
fn s9_a_stopped_guard_of_a_killed_host_holds_nothing_up_and_is_not_left() {
    let env = TestEnv::new(STEAD);
    let commands: [&[&str]; 5] = [
        &["stop", "-n", "py"],
        &["kill", "-n", "py"],
        &["stop", "--all"],
        &["restart", "-n", "py"],
        &["eval", "-n", "py", "1"],
    ];
    for command in commands {
        let (host, guard) = with_stopped_guard(&env);
        kill_host(host);
        let began = Instant::now();
        let said = env.json(command);
        assert!(began.elapsed() < NO_WAIT, "{command:?} took {:?}", began.elapsed());
        assert!(!is_alive(guard), "{command:?}: {said:#}");
        match command[0] {
            "eval" => assert_eq!(said["error"]["code"], "session_lost", "{said:#}"),
            "restart" => {
                assert_eq!((&said["ok"], env.value("6 * 7").as_str()), (&true.into(), "42"))
            }
            _ => {
                assert_eq!(said["ok"], true, "{command:?}: {said:#}");
                assert_eq!(env.processes(), Vec::<u32>::new(), "{command:?}");
                assert_eq!(sockets(&env), 0, "{command:?}");
            }
        }
        env.run(["stop", "-n", "py"]);
    }
}

/// A server that has been up for long does not look for leftovers before each step of a call.
#[test]
fn s9_stop_and_kill_by_themselves_see_to_a_stopped_guard() {
    let env = TestEnv::new(STEAD);
    let (client, name) = (env.client(), "py".parse::<SessionName>().unwrap());
    for stops in [true, false] {
        let (host, guard) = with_stopped_guard(&env);
        kill_host(host);
        match stops {
            true => drop(client.stop(&name).unwrap()),
            false => drop(client.kill(&name).unwrap()),
        }
        assert!(!is_alive(guard), "stops: {stops}");
        assert_eq!(env.processes(), Vec::<u32>::new(), "stops: {stops}");
        env.run(["stop", "-n", "py"]);
    }
}

#[test]
fn s9_a_guard_that_was_stopped_before_the_session_ended_holds_nothing_up() {
    let env = TestEnv::new(STEAD);
    for end in ["stop", "kill"] {
        let (_, guard) = with_stopped_guard(&env);
        let began = Instant::now();
        let said = env.json([end, "-n", "py"]);
        assert_eq!(said["ok"], true, "{end}: {said:#}");
        assert!(!is_alive(guard), "{end}");
        assert!(began.elapsed() < NO_WAIT, "{end} took {:?}", began.elapsed());
    }
    // The host has cleared its mark when it exits by itself.
    let (_, guard) = with_stopped_guard(&env);
    assert_eq!(env.eval("exit()")["status"], "ended");
    let began = Instant::now();
    assert_eq!(env.value("6 * 7"), "42");
    assert!(began.elapsed() < NO_WAIT, "it took {:?}", began.elapsed());
    assert!(!is_alive(guard));
    let (_, guard) = {
        env.run(["stop", "-n", "py"]);
        with_stopped_guard(&env)
    };
    assert_eq!(env.eval("exit()")["status"], "ended");
    assert_eq!(env.json(["stop", "-n", "py"])["ok"], true);
    assert!(!is_alive(guard));
}

#[test]
fn s9_a_guard_that_is_stopped_again_and_again_is_ended() {
    let env = TestEnv::new(STEAD);
    let (host, guard) = with_stopped_guard(&env);
    kill_host(host);
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let guard = Pid::from_raw(guard as i32).unwrap();
            while !done.load(Ordering::Acquire) && kill_process(guard, Signal::STOP).is_ok() {
                pause(Duration::from_micros(100));
            }
        });
        let said = env.json(["stop", "-n", "py"]);
        done.store(true, Ordering::Release);
        assert_eq!(said["ok"], true, "{said:#}");
    });
    assert!(!is_alive(guard));
    all_gone(&env);
}

#[test]
fn s9_stop_of_a_session_whose_directory_was_deleted_is_ok_when_all_is_gone() {
    let env = TestEnv::new(STEAD);
    for end in ["stop", "kill"] {
        env.value(DAEMONS);
        fs::remove_dir_all(env.session_dir("py")).unwrap();
        let said = env.json([end, "-n", "py"]);
        assert_eq!(said["ok"], true, "{end}: {said:#}");
        assert_eq!(env.processes(), Vec::<u32>::new(), "{end}");
        assert_eq!(sockets(&env), 0, "{end}");
    }
}

#[test]
fn s9_stop_of_a_session_whose_lock_was_deleted_is_ok_when_all_is_gone() {
    let env = TestEnv::new(STEAD);
    for stopped_guard in [false, true] {
        let host = match stopped_guard {
            true => with_stopped_guard(&env).0,
            false => {
                env.value(DAEMONS);
                env.host_pid()
            }
        };
        fs::remove_file(env.session_dir("py").join("host.lock")).unwrap();
        let said = env.json(["stop", "-n", "py"]);
        assert_eq!(said["ok"], true, "{said:#}");
        assert!(!is_alive(host));
        assert_eq!(env.processes(), Vec::<u32>::new(), "guard stopped: {stopped_guard}");
    }
}

#[test]
fn s9_a_host_whose_socket_and_lock_were_deleted_stays_the_only_one() {
    let env = TestEnv::new(STEAD);
    env.value("x = 41");
    let (host, lock) = (env.host_pid(), env.session_dir("py").join("host.lock"));
    let delete = || {
        fs::remove_file(&lock).unwrap();
        fs::remove_file(socket(&env)).unwrap();
    };
    for round in 0..3 {
        delete();
        // Whichever command comes first.
        match round {
            0 => assert_eq!(env.value("x + 1"), "42"),
            1 => assert_eq!(env.status()["state"], "idle"),
            _ => {
                let clients: Vec<_> =
                    (0..4).map(|_| env.spawn(["eval", "-n", "py", "x"])).collect();
                for client in clients {
                    assert_eq!(reply(client)["data"]["value"], "41");
                }
            }
        }
        assert_eq!((env.host_pid(), sockets(&env)), (host, 1), "round {round}");
        assert!(lock.exists(), "round {round}");
    }
    delete();
    let refused = env.json(["rm", "py"]);
    assert_eq!(refused["error"]["code"], "session_busy", "{refused:#}");
    // With its lock alone deleted it is still the one live session.
    assert_eq!(env.value("x"), "41");
    fs::remove_file(&lock).unwrap();
    assert_eq!(env.json(["status"])["data"]["host_pid"], host);
    delete();
    assert_eq!(env.json(["stop", "-n", "py"])["ok"], true);
    assert_eq!(env.processes(), Vec::<u32>::new());
    assert_eq!(sockets(&env), 0);
}

#[test]
fn s9_a_host_that_is_stopped_and_has_neither_socket_nor_lock_is_named() {
    let env = TestEnv::new(STEAD);
    env.value("x = 41");
    let host = env.host_pid();
    fs::remove_file(env.session_dir("py").join("host.lock")).unwrap();
    fs::remove_file(socket(&env)).unwrap();
    signal(host, Signal::STOP);
    let refused = env.json(["eval", "-n", "py", "--timeout", "2s", "x"]);
    let error = &refused["error"];
    assert!(error["message"].as_str().unwrap().contains(&host.to_string()), "{refused:#}");
    assert!(error["hint"].as_str().unwrap().contains("kill -CONT"), "{refused:#}");
    signal(host, Signal::CONT);
    assert_eq!((env.value("x").as_str(), env.host_pid()), ("41", host));
}

#[test]
fn s9_what_a_host_leaves_that_made_its_lock_anew_is_swept() {
    let env = TestEnv::new(STEAD);
    for with_guard in [true, false] {
        env.json(["launch", "python", "-n", "py"]);
        env.value(DAEMONS);
        let host = env.host_pid();
        let guard = guard_of(&env, host);
        fs::remove_file(env.session_dir("py").join("host.lock")).unwrap();
        assert_eq!(env.value("6 * 7"), "42");
        if !with_guard {
            signal(guard, Signal::STOP);
            kill(guard);
        }
        kill(host);
        let lost = env.eval("1");
        assert_eq!(lost["error"]["code"], "session_lost", "{lost:#}");
        assert_eq!(env.value("6 * 7"), "42", "with guard: {with_guard}");
        assert_eq!(env.json(["stop", "-n", "py"])["ok"], true);
        all_gone(&env);
        assert_eq!(sockets(&env), 0);
    }
}

#[test]
fn e11_an_eval_that_is_not_recorded_because_its_directory_is_gone_says_so() {
    let env = TestEnv::new(STEAD);
    assert!(env.eval("x = 41")["data"]["notice"].is_null());
    fs::remove_dir_all(env.session_dir("py")).unwrap();
    // Neither has output, so no bytes are said to be lost.
    for (code, status) in [("x += 1", "complete"), ("exit()", "ended")] {
        let said = env.eval(code);
        assert_eq!(said["status"], status, "{said:#}");
        let notice = said["data"]["notice"].as_str().unwrap_or_default();
        assert!(notice.contains("are not recorded"), "{code}: {said:#}");
    }
    all_gone(&env);
}
