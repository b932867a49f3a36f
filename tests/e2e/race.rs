//! S-3, E-1, E-12, G: many clients at once, and sockets that are not what they should be.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::Value;
use stead_client::{EvalOptions, EvalView, LaunchOptions, Quiet};
use stead_protocol::{HostSpec, Meta, SessionName, Versions};
use stead_testkit::{Hook, TestEnv, is_alive, pause, wait_for};

use crate::STEAD;
use crate::processes::{
    all_gone, history, kill, one_outcome_each, reply, runs, signal, sockets, stopped, works_again,
};

const COUNT: &str = "n = globals().get('n', 0) + 1\nn";

/// The processes that live now whose command line is `stead host`, each with its parent: a host, its guard, and what they
/// start until it is a program of its own.
fn hosts(env: &TestEnv) -> BTreeMap<u32, u32> {
    let parent_of_host = |pid: u32| {
        let line = fs::read(format!("/proc/{pid}/cmdline")).ok()?;
        let is_host = line.split(|byte| *byte == 0).nth(1) == Some(b"host");
        let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
        let parent = status.lines().find_map(|line| line.strip_prefix("PPid:"))?;
        is_host.then(|| (pid, parent.trim().parse().unwrap()))
    };
    env.processes().into_iter().filter_map(parent_of_host).collect()
}

fn socket(env: &TestEnv) -> PathBuf {
    let client = env.client();
    client.dirs.socket(&client.workspace, &"py".parse().unwrap())
}

fn options(code: &str) -> EvalOptions {
    EvalOptions {
        code: code.to_owned(),
        key: None,
        soft_timeout: Duration::from_secs(60),
        hard_timeout: None,
        no_queue: false,
        background: false,
        max_chars: 4096,
    }
}

fn eval(env: &TestEnv, code: &str) -> EvalView {
    let name: SessionName = "py".parse().unwrap();
    env.client().eval(&name, &LaunchOptions::default(), &options(code), &mut Quiet).expect("a view")
}

fn generations(env: &TestEnv) -> usize {
    history(env).iter().filter(|record| record.get("host_pid").is_some()).count()
}

fn spawn_all(env: &TestEnv, arguments: &[&str]) -> Vec<Child> {
    (0..8).map(|_| env.spawn(arguments)).collect()
}

fn numbers(replies: &[Value]) -> Vec<u64> {
    let number = |reply: &Value| {
        let value = reply["data"]["value"].as_str();
        value.and_then(|text| text.parse().ok()).unwrap_or_else(|| panic!("{reply:#}"))
    };
    let mut numbers: Vec<u64> = replies.iter().map(number).collect();
    numbers.sort_unstable();
    numbers
}

#[test]
fn s5_eight_clients_that_start_a_session_at_once_share_one_host() {
    for _ in 0..3 {
        let env = TestEnv::new(STEAD);
        let over = AtomicBool::new(false);
        let (replies, seen) = std::thread::scope(|scope| {
            let watcher = scope.spawn(|| {
                let mut seen = BTreeMap::new();
                while !over.load(Ordering::Relaxed) {
                    for (pid, parent) in hosts(&env) {
                        seen.entry(pid).or_insert(parent);
                    }
                    pause(Duration::from_millis(1));
                }
                seen
            });
            let clients = spawn_all(&env, &["eval", "-n", "py", "--", COUNT]);
            let replies: Vec<Value> = clients.into_iter().map(reply).collect();
            over.store(true, Ordering::Relaxed);
            (replies, watcher.join().unwrap())
        });
        assert_eq!(numbers(&replies), (1..=8).collect::<Vec<u64>>());
        assert_eq!(generations(&env), 1);
        let begun = seen.values().filter(|parent| !seen.contains_key(parent)).count();
        assert_eq!(begun, 1, "{seen:?}");
        one_outcome_each(&env);
    }
}

#[test]
fn s9_a_host_whose_client_is_gone_brings_back_no_session_that_was_stopped() {
    let env = TestEnv::new(STEAD);
    env.value("1");
    let dir = env.session_dir("py");
    let meta: Meta = serde_json::from_slice(&fs::read(dir.join("meta.json")).unwrap()).unwrap();
    let spec = HostSpec {
        protocol: Versions::OURS.oldest,
        versions: Some(Versions::OURS),
        program: None,
        dir: dir.clone(),
        socket: socket(&env),
        meta,
    };
    let mut command = env.command(["host"]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut late = command.spawn().unwrap();
    serde_json::to_writer(late.stdin.take().unwrap(), &spec).unwrap();
    // It waits for the lock of the host that is there.
    let descriptors = format!("/proc/{}/fd", late.id());
    wait_for("the late host to open the lock", || {
        fs::read_dir(&descriptors).unwrap().flatten().any(|entry| {
            fs::read_link(entry.path()).is_ok_and(|file| file == dir.join("host.lock"))
        })
    });
    drop(late.stdout.take());
    env.json(["stop", "-n", "py"]);
    wait_for("the late host to give up", || late.try_wait().unwrap().is_some());
    all_gone(&env);
    assert!(env.json(["ls"])["data"]["sessions"].as_array().unwrap().is_empty());
}

#[test]
fn s1_two_workspaces_do_not_share_a_name() {
    let env = TestEnv::new(STEAD);
    let other = env.root().join("other");
    fs::create_dir(&other).unwrap();
    env.value("x = 'here'");
    let there = ["eval", "-n", "py", "--workspace", other.to_str().unwrap(), "--"];
    let reply = env.json(there.iter().copied().chain(["'x' in globals()"]));
    assert_eq!(reply["data"]["value"], "False", "{reply:#}");
    assert_eq!(reply["data"]["eval_id"], "py:1");
    env.json(there.iter().copied().chain(["x = 'there'"]));
    assert_eq!(env.value("x"), "'here'");
    env.json(["stop", "-n", "py"]);
    let reply = env.json(there.iter().copied().chain(["x"]));
    assert_eq!(reply["data"]["value"], "'there'", "{reply:#}");
}

#[test]
fn e1_eight_clients_of_25_evals_each_count_to_200() {
    let env = TestEnv::new(STEAD);
    let mut all: Vec<u64> = std::thread::scope(|scope| {
        let worker = || {
            let one = |_| numbers(&[env.json(["eval", "-n", "py", "--", COUNT])])[0];
            (0..25).map(one).collect::<Vec<u64>>()
        };
        let workers: Vec<_> = (0..8).map(|_| scope.spawn(worker)).collect();
        workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect()
    });
    all.sort_unstable();
    assert_eq!(all, (1..=200).collect::<Vec<u64>>());
    assert_eq!(generations(&env), 1);
    one_outcome_each(&env);
}

#[test]
fn e1_simultaneous_submits_have_one_order() {
    let env = TestEnv::new(STEAD);
    env.value("order = []");
    let both = Barrier::new(2);
    let ids: Vec<Vec<u64>> = std::thread::scope(|scope| {
        let worker = |who: u64| {
            let (both, env) = (&both, &env);
            move || {
                let one = |round| {
                    both.wait();
                    let view = eval(env, &format!("order.append(({who}, {round}))"));
                    assert_eq!(view.status.as_str(), "complete");
                    view.eval.unwrap().0
                };
                (0..500).map(one).collect::<Vec<u64>>()
            }
        };
        let workers = [scope.spawn(worker(0)), scope.spawn(worker(1))];
        workers.into_iter().map(|worker| worker.join().unwrap()).collect()
    });
    let mut by_id: Vec<(u64, u64, usize)> = Vec::new();
    for (who, ids) in ids.iter().enumerate() {
        by_id.extend(ids.iter().enumerate().map(|(round, id)| (*id, who as u64, round)));
    }
    by_id.sort_unstable();
    let told: Vec<String> =
        by_id.iter().map(|(_, who, round)| format!("({who}, {round})")).collect();
    let told = format!("[{}]", told.join(", "));
    assert_eq!(eval(&env, &format!("order == {told}")).value().unwrap().text, "True");
    one_outcome_each(&env);
}

#[test]
fn e12_a_key_runs_once_also_at_once_and_after_the_host_was_killed() {
    let env = TestEnv::new(STEAD);
    let arguments =
        ["eval", "-n", "py", "--key", "k1", "--", "open('ran', 'a').write('x\\n'); 6 * 7"];
    let replies: Vec<Value> = spawn_all(&env, &arguments).into_iter().map(reply).collect();
    let same = |reply: &Value| {
        assert_eq!(reply["data"]["value"], "42", "{reply:#}");
        assert_eq!(reply["data"]["eval_id"], "py:1", "{reply:#}");
    };
    replies.iter().for_each(same);
    assert_eq!(runs(&env), 1);
    kill(env.host_pid());
    same(&env.json(arguments));
    assert_eq!(runs(&env), 1);
    // What is lost is still told to the first eval that would have run.
    assert_eq!(env.eval("1")["error"]["code"], "session_lost");
    same(&env.json(arguments));
    assert_eq!(runs(&env), 1);
    one_outcome_each(&env);
}

#[test]
fn e12_a_key_whose_eval_died_with_its_host_does_not_run_again() {
    let env = TestEnv::new(STEAD);
    let code = "open('ran', 'a').write('x\\n')\nwhile True: pass";
    let arguments = ["eval", "-n", "py", "--key", "k1", "--", code];
    let client = env.spawn(arguments);
    wait_for("the eval to run", || runs(&env) == 1);
    kill(env.host_pid());
    assert_eq!(reply(client)["data"]["outcome"], "host_died");
    for _ in 0..3 {
        let again = env.json(arguments);
        assert_eq!(again["data"]["outcome"], "host_died", "{again:#}");
    }
    assert_eq!(runs(&env), 1);
    works_again(&env);
}

#[test]
fn g87_a_session_starts_at_once_after_its_host_was_killed() {
    let env = TestEnv::new(STEAD);
    env.value("1");
    for _ in 0..5 {
        kill(env.host_pid());
        let clients = spawn_all(&env, &["eval", "-n", "py", "--", COUNT]);
        let replies: Vec<Value> = clients.into_iter().map(reply).collect();
        for reply in &replies {
            let lost = reply["error"]["code"] == "session_lost";
            assert!(lost || reply["status"] == "complete", "{reply:#}");
        }
        assert!(replies.iter().any(|reply| reply["error"]["code"] == "session_lost"));
        assert_eq!(env.value("6 * 7"), "42");
    }
    assert_eq!(generations(&env), 6);
    one_outcome_each(&env);
}

#[test]
fn g87_what_stands_at_the_sockets_path_is_replaced() {
    let env = TestEnv::new(STEAD);
    env.value("1");
    env.json(["stop", "-n", "py"]);
    all_gone(&env);
    let path = socket(&env);
    // Left over by a host that was killed: bound, and nobody listens.
    drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
    assert_eq!(env.value("6 * 7"), "42");
    for directory in [false, true] {
        env.json(["stop", "-n", "py"]);
        all_gone(&env);
        assert!(!path.exists());
        if directory {
            fs::create_dir(&path).unwrap()
        } else {
            fs::write(&path, "x").unwrap()
        }
        let status = env.json(["ls"]);
        assert_eq!(status["ok"], true, "{status:#}");
        assert_eq!(env.value("6 * 7"), "42");
    }
    env.json(["stop", "-n", "py"]);
    all_gone(&env);
    fs::create_dir(&path).unwrap();
    fs::write(path.join("keep"), "x").unwrap();
    let refused = env.eval("1");
    assert_eq!(refused["error"]["code"], "launch_failed", "{refused:#}");
    let message = refused["error"]["message"].as_str().unwrap();
    assert!(message.contains(path.to_str().unwrap()), "{refused:#}");
    assert!(path.join("keep").exists());
    all_gone(&env);
}

#[test]
fn g58_a_host_whose_socket_was_deleted_is_found_again() {
    let env = TestEnv::new(STEAD);
    env.value("x = 41");
    let host = env.host_pid();
    let path = socket(&env);
    for round in 0..4 {
        match round {
            0 | 1 => fs::remove_file(&path).unwrap(),
            2 => {
                fs::remove_file(&path).unwrap();
                fs::write(&path, "not a socket").unwrap();
            }
            _ => fs::remove_dir_all(env.runtime_dir()).unwrap(),
        }
        match round {
            0 => assert_eq!(env.json(["ls"])["data"]["sessions"][0]["state"], "idle"),
            1 => assert_eq!(env.status()["state"], "idle"),
            _ => {
                let clients = spawn_all(&env, &["eval", "-n", "py", "--", "x + 1"]);
                let replies: Vec<Value> = clients.into_iter().map(reply).collect();
                assert_eq!(numbers(&replies), [42; 8]);
            }
        }
        assert_eq!(env.host_pid(), host);
        assert_eq!(sockets(&env), 1);
    }
    assert_eq!(generations(&env), 1);
    fs::remove_file(&path).unwrap();
    assert_eq!(env.json(["stop", "-n", "py"])["ok"], true);
    all_gone(&env);
    assert_eq!(sockets(&env), 0);
}

#[test]
fn g58_a_client_that_waits_is_not_cut_off_when_the_socket_is_deleted() {
    let env = TestEnv::new(STEAD);
    let code = "import os\nopen('ran', 'a').write('x\\n')\nwhile not os.path.exists('go'): pass";
    let client = env.spawn(["eval", "-n", "py", "--", code]);
    wait_for("the eval to run", || runs(&env) == 1);
    fs::remove_file(socket(&env)).unwrap();
    assert_eq!(env.status()["state"], "running");
    fs::write(env.workspace().join("go"), "").unwrap();
    assert_eq!(reply(client)["status"], "complete");
}

#[test]
fn d57_a_session_whose_directory_was_deleted_goes_on_and_can_be_stopped() {
    let env = TestEnv::new(STEAD);
    env.value("x = 41");
    let host = env.host_pid();
    fs::remove_dir_all(env.session_dir("py")).unwrap();
    let went_on = env.eval("x += 1; open('x', 'w').write(str(x))");
    assert_eq!(fs::read_to_string(env.workspace().join("x")).unwrap(), "42", "{went_on:#}");
    assert!(went_on["data"]["lost_bytes"].as_u64().unwrap() > 0, "{went_on:#}");
    let notice = went_on["data"]["notice"].as_str().unwrap();
    assert!(notice.contains("not kept: the session's files were removed"), "{notice}");
    assert_eq!(env.host_pid(), host);
    assert_eq!(env.json(["stop", "-n", "py"])["ok"], true);
    all_gone(&env);
    assert_eq!(env.value("6 * 7"), "42");
}

#[test]
fn b25_a_stopped_host_does_not_hang_its_clients() {
    let env = TestEnv::new(STEAD);
    env.value("x = 41");
    let host = env.host_pid();
    signal(host, Signal::STOP);
    let begin = Instant::now();
    let clients = spawn_all(&env, &["eval", "-n", "py", "--", "x"]);
    for reply in clients.into_iter().map(reply) {
        assert_eq!(reply["error"]["code"], "connection_failed", "{reply:#}");
        let message = reply["error"]["message"].as_str().unwrap();
        assert!(message.contains(&host.to_string()), "{reply:#}");
    }
    let listed = env.json(["ls"]);
    assert_eq!(listed["data"]["sessions"][0]["name"], "py", "{listed:#}");
    let took = begin.elapsed();
    assert!(took < Duration::from_secs(20), "{took:?}");
    fs::remove_file(socket(&env)).unwrap();
    let silent = env.eval("x");
    assert_eq!(silent["error"]["code"], "connection_failed", "{silent:#}");
    signal(host, Signal::CONT);
    assert_eq!(env.value("x + 1"), "42");
    assert_eq!(env.host_pid(), host);
    one_outcome_each(&env);
}

#[test]
fn s6_an_interpreter_that_dies_at_once_is_told_each_time() {
    let env = TestEnv::new(STEAD);
    env.value("1");
    env.json(["stop", "-n", "py"]);
    let broken = env.workspace().join("sitecustomize.py");
    fs::write(&broken, "import os; os.write(2, b'broken here'); os._exit(7)").unwrap();
    let path = format!("PYTHONPATH={}", env.workspace().display());
    let launch = ["launch", "-n", "py", "--env", &path];
    for _ in 0..3 {
        let failed = env.json(launch);
        assert_eq!(failed["error"]["code"], "launch_failed", "{failed:#}");
        all_gone(&env);
    }
    for _ in 0..5 {
        let failed = env.eval("open('ran', 'a')");
        assert_eq!(failed["error"]["code"], "launch_failed", "{failed:#}");
        assert!(failed["error"]["message"].as_str().unwrap().contains("broken here"), "{failed:#}");
        all_gone(&env);
        assert_eq!(sockets(&env), 0);
    }
    // One that nobody was told of had no state to lose either.
    let mut command = env.command(["eval", "-n", "py", "--", "open('ran', 'a')"]);
    Hook::PauseAt.set(&mut command, "ready");
    let mut client = command.spawn().unwrap();
    let host = stopped(&env);
    client.kill().unwrap();
    client.wait().unwrap();
    signal(host, Signal::CONT);
    all_gone(&env);
    let failed = env.eval("open('ran', 'a')");
    assert_eq!(failed["error"]["code"], "launch_failed", "{failed:#}");
    let clients = spawn_all(&env, &["eval", "-n", "py", "--", "open('ran', 'a')"]);
    for failed in clients.into_iter().map(reply) {
        assert_eq!(failed["error"]["code"], "launch_failed", "{failed:#}");
    }
    all_gone(&env);
    fs::remove_file(&broken).unwrap();
    assert_eq!(env.value("6 * 7"), "42");
    assert!(!env.workspace().join("ran").exists());
    one_outcome_each(&env);
}

#[test]
fn s4_a_hang_up_or_a_kill_of_the_clients_group_does_not_reach_the_host() {
    let env = TestEnv::new(STEAD);
    let code = "import os\nopen('ran', 'a').write('x\\n')\nwhile not os.path.exists('go'): pass";
    for (round, how) in [Signal::HUP, Signal::INT, Signal::TERM, Signal::KILL].iter().enumerate() {
        let mut command = env.command(["eval", "-n", "py", "--", code]);
        command.stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
        let mut client = command.spawn().unwrap();
        wait_for("the eval to run", || runs(&env) == round + 1);
        let host = env.host_pid();
        kill_process_group(Pid::from_child(&client), *how).unwrap();
        client.wait().unwrap();
        assert!(is_alive(host));
        fs::write(env.workspace().join("go"), "").unwrap();
        let id = format!("py:{}", round + 1);
        let output = env.json(["output", &id, "--wait", "60s"]);
        assert_eq!(output["status"], "complete", "{output:#}");
        fs::remove_file(env.workspace().join("go")).unwrap();
        assert_eq!(env.host_pid(), host);
    }
    one_outcome_each(&env);
}

#[test]
fn s6_clients_that_meet_an_end_are_told_and_never_left_without_an_answer() {
    let env = TestEnv::new(STEAD);
    for _ in 0..8 {
        let mut clients = Vec::new();
        for (round, code) in [COUNT, "import os; os._exit(3)", COUNT].iter().cycle().enumerate() {
            if round == 9 {
                break;
            }
            clients.push(env.spawn(["eval", "-n", "py", "--", code]));
        }
        for reply in clients.into_iter().map(reply) {
            let code = reply["error"]["code"].as_str().unwrap_or_default();
            let told = matches!(code, "session_lost" | "session_ended");
            assert!(told || reply["status"] == "complete", "{reply:#}");
        }
        let status = env.status();
        assert!(status["state"] == "idle" || status["state"] == "ended", "{status:#}");
    }
    works_again(&env);
    one_outcome_each(&env);
}

#[test]
fn s7_clients_that_restart_a_session_at_once_all_succeed() {
    let env = TestEnv::new(STEAD);
    env.value("x = 41");
    for round in 0..5 {
        let clients = spawn_all(&env, &["restart", "-n", "py"]);
        for said in clients.into_iter().map(reply) {
            assert_eq!(said["ok"], true, "round {round}: {said:#}");
        }
        assert_eq!(env.value("'x' in globals()"), "False", "round {round}");
    }
    // Of a session that has ended, too.
    assert_eq!(env.eval("exit()")["status"], "ended");
    for said in spawn_all(&env, &["restart", "-n", "py"]).into_iter().map(reply) {
        assert_eq!(said["ok"], true, "{said:#}");
    }
    one_outcome_each(&env);
}
