//! E-2, E-11: a host that does not answer, or a disk that takes nothing. The soft timeout holds, and what is said of
//! the code is true.
//!
//! `STEAD_SILENT_ROUNDS` makes the run longer; a round takes about two seconds.

use std::time::Instant;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;
use stead_testkit::{Hook, TestEnv, wait_for};

use crate::reply::Reply;
use crate::rig::{Server, served};

const TIMEOUT_MS: u64 = 2000;

fn signal(pid: u32, signal: Signal) {
    let pid = Pid::from_raw(pid.cast_signed()).expect("a pid is not zero");
    kill_process(pid, signal).expect("the process is there");
}

/// The id `py:~…` under which an unanswered reply says that the code can be found.
fn sent_as(reply: &Reply) -> String {
    reply.contains("may still run");
    let id = reply.text.split_once("\"id\":\"").and_then(|(_, rest)| rest.split_once('"'));
    let id = id.unwrap_or_else(|| panic!("no id: {}", reply.text)).0;
    assert!(id.starts_with("py:~"), "{}", reply.text);
    id.to_owned()
}

fn runs(env: &TestEnv, round: u64) -> usize {
    let ran = std::fs::read_to_string(env.workspace().join("ran")).unwrap_or_default();
    ran.lines().filter(|line| *line == round.to_string()).count()
}

/// What an agent may do after it was told that its code may still run.
#[derive(Debug, Clone, Copy)]
enum Then {
    /// Look, once the host goes on.
    Look,
    /// Send it again at once, and once more when the host goes on.
    SendAgain,
    /// Send it again when the host goes on.
    GoOnAndSendAgain,
    /// The host is killed before it went on.
    Dies,
}

#[test]
fn e2_e11_a_stopped_host_holds_up_no_call_and_no_code_runs_twice() {
    let rounds = std::env::var("STEAD_SILENT_ROUNDS").ok().and_then(|text| text.parse().ok());
    let (env, mut server) = served();
    let mut longest = 0;
    let rounds = rounds.unwrap_or(4);
    for round in 0..rounds {
        let then = [Then::Look, Then::SendAgain, Then::GoOnAndSendAgain, Then::Dies];
        let then = then[round as usize % 4];
        longest = longest.max(one_round(&env, &mut server, round, then));
    }
    eprintln!(
        "{rounds} rounds with `timeout_ms` {TIMEOUT_MS}: answered after {longest} ms at most"
    );
}

/// Returns how long the call took, in milliseconds.
fn one_round(env: &TestEnv, server: &mut Server, round: u64, then: Then) -> u128 {
    server.eval("1");
    let host = env.host_pid();
    signal(host, Signal::STOP);
    let code = format!("open('ran', 'a').write('{round}\\n'); 'done {round}'");
    let eval = json!({"code": code, "timeout_ms": TIMEOUT_MS});
    let began = Instant::now();
    let reply = server.call("eval", eval.clone());
    let took = began.elapsed().as_millis();
    let id = sent_as(&reply);
    assert!(!reply.failed, "{}", reply.text);
    let mut again = eval;
    again["key"] = id.trim_start_matches("py:").into();
    let mut patient = again.clone();
    patient["timeout_ms"] = 50000.into();
    match then {
        Then::Look => signal(host, Signal::CONT),
        Then::SendAgain => {
            // This one makes a connection of its own, so it is known not to have been sent.
            server.call("eval", again).contains("the code was not sent, so it did not run");
            signal(host, Signal::CONT);
            server.call("eval", patient).contains(&format!("'done {round}'"));
        }
        Then::GoOnAndSendAgain => {
            signal(host, Signal::CONT);
            server.call("eval", patient).contains(&format!("'done {round}'"));
        }
        Then::Dies => {
            signal(host, Signal::KILL);
            wait_for("the session's end", || env.status()["state"] == "ended");
            let reply = server.call("output", json!({"id": id, "wait_ms": 1000}));
            reply.contains("it did not run");
            assert_eq!(runs(env, round), 0, "{then:?}");
            // Told once that the state is gone.
            server.eval("1");
            return took;
        }
    }
    let reply = server.call("output", json!({"id": id, "wait_ms": 50000, "offset": 0}));
    reply.contains(&format!("'done {round}'"));
    assert_eq!(runs(env, round), 1, "{then:?}");
    took
}

#[test]
fn e12_a_key_of_the_callers_own_is_named_and_runs_once() {
    let (env, mut server) = served();
    server.eval("1");
    let host = env.host_pid();
    signal(host, Signal::STOP);
    let eval =
        json!({"code": "open('ran', 'a').write('7\\n'); 'once'", "key": "mine", "timeout_ms": 100});
    server.call("eval", eval.clone()).contains("\"key\":\"mine\"");
    signal(host, Signal::CONT);
    let mut again = eval;
    again["timeout_ms"] = 50000.into();
    server.call("eval", again).contains("'once'");
    assert_eq!(runs(&env, 7), 1);
}

#[test]
fn e11_all_say_of_an_outcome_that_it_is_not_recorded_until_it_is() {
    let env = TestEnv::new(crate::STEAD);
    let full = env.root().join("full");
    let mut launch = env.command(["launch", "python", "-n", "py"]);
    Hook::Refuse.set(&mut launch, format!("1:28:{}", full.display()));
    assert!(launch.output().expect("the binary runs").status.success());
    let mut server = Server::start(&env);
    server.eval("import os, time");
    // The first fills the disk once the second waits behind it.
    let code = format!(
        "while not os.path.exists('go'): time.sleep(0.01)\nopen({full:?}, 'w').close()\n'done'"
    );
    let first = server.send("eval", json!({"code": code, "timeout_ms": 50000}));
    wait_for("the eval to run", || env.status()["state"] == "running");
    server.call("eval", json!({"code": "open('ran', 'a').write('1\\n')", "background": true}));
    std::fs::write(env.workspace().join("go"), "").unwrap();
    let unrecorded = |text: &str| {
        assert!(text.contains("could not be recorded") && text.contains("No space left"), "{text}");
    };
    unrecorded(&server.reply(first).text);
    unrecorded(&server.call("output", json!({"id": "py:2"})).text);
    unrecorded(&server.call("sessions", json!({})).text);
    for arguments in [&["output", "py:2"][..], &["status", "-n", "py"], &["evals", "-n", "py"]] {
        unrecorded(&env.run(arguments).stdout);
    }
    // What cannot be recorded as started is not sent.
    server.call("output", json!({"id": "py:3"})).contains("queued");
    server.eval("1").contains("so it was not run");
    assert_eq!(runs(&env, 1), 0);
    std::fs::remove_file(&full).unwrap();
    // Its value was lost to the full disk, which is said.
    let told = server.call("output", json!({"id": "py:2", "wait_ms": 50000, "offset": 0}));
    told.expect("[note: 30 bytes of output were not kept: the disk is full]\n[py:2]");
    server.call("output", json!({"id": "py:3", "wait_ms": 50000})).contains("[py:3");
    assert_eq!(runs(&env, 1), 1);
    assert_eq!(env.json(["output", "py:2"])["status"], "complete");
}
