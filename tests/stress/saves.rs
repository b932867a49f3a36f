//! ST-2: interpreter, host or client are killed at any moment of a save. The path names the earlier file or the new one,
//! whole, and the next save leaves nothing beside it.

use std::process::Child;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use stead_client::Manifest;
use stead_testkit::{TestEnv, is_alive, pause, wait_for};

use crate::STEAD;
use crate::rig::{Random, number};

/// How a language binds `round` and data that belong to it, and writes `whole` if what came back belongs together.
struct Saving {
    session: &'static str,
    bind: fn(u64) -> String,
    check: &'static str,
}

const PYTHON: Saving = Saving {
    session: "py",
    bind: |round| {
        format!("round = {round}; data = bytes([round % 256]) * 16_000_000; more = [round] * 1000")
    },
    check: "print('whole' if data == bytes([round % 256]) * 16_000_000 and more == [round] * 1000 else 'torn')",
};

const BASH: Saving = Saving {
    session: "sh",
    bind: |round| {
        format!(
            "round={round}; fill() {{ head -c 200000 /dev/zero | tr '\\0' $((round % 10)); }}; data=$(fill)"
        )
    },
    check: "[[ $data == \"$(fill)\" ]] && echo whole",
};

#[derive(Debug, Clone, Copy)]
enum Victim {
    Interpreter,
    Host,
    Client,
}

fn kill(pid: u32) {
    // It may have come to its end.
    let _ = kill_process(Pid::from_raw(pid as i32).unwrap(), Signal::KILL);
}

fn eval(env: &TestEnv, saving: &Saving, code: &str) -> Value {
    let run = || env.json(["eval", "-n", saving.session, "--", code]);
    // The loss of what was killed is told once.
    match run() {
        lost if lost["error"]["code"] == "session_lost" => run(),
        ran => ran,
    }
}

fn status(env: &TestEnv, saving: &Saving, field: &str) -> u32 {
    env.json(["status", saving.session])["data"][field].as_u64().unwrap() as u32
}

fn save(env: &TestEnv, saving: &Saving) -> Child {
    env.spawn(["save", "-n", saving.session, "kept.stead"])
}

/// The round that the file holds.
fn round_in(env: &TestEnv) -> u64 {
    let manifest = Manifest::read(&env.workspace().join("kept.stead")).unwrap();
    let name = manifest.names.iter().find(|name| name.name == "round").unwrap();
    name.value.as_deref().unwrap().trim_matches('"').parse().unwrap()
}

fn storm(env: &TestEnv, saving: &Saving) {
    let rounds = number("STEAD_SAVES", 12);
    let mut random = Random::new();
    eval(env, saving, &(saving.bind)(0));
    let began = Instant::now();
    assert!(save(env, saving).wait().unwrap().success());
    let usual = began.elapsed().as_micros() as u64;
    let (mut old, mut new) = (0, 0);
    for round in 1..=rounds {
        let before = round_in(env);
        let bound = eval(env, saving, &(saving.bind)(round));
        assert_eq!(bound["status"], "complete", "{bound:#}");
        let (interpreter, host) = (status(env, saving, "pid"), status(env, saving, "host_pid"));
        let victim = match random.below(3) {
            0 => Victim::Interpreter,
            1 => Victim::Host,
            _ => Victim::Client,
        };
        let delay = Duration::from_micros(random.below(usual));
        let what = format!("round {round}: {victim:?} after {delay:?}");
        let mut client = save(env, saving);
        pause(delay);
        match victim {
            Victim::Interpreter => kill(interpreter),
            Victim::Host => kill(host),
            Victim::Client => kill(client.id()),
        }
        client.wait().unwrap();
        match victim {
            Victim::Interpreter | Victim::Host => {
                wait_for("the interpreter to be gone", || !is_alive(interpreter));
            }
            // Whatever became of the save, an eval behind it runs when it is over.
            Victim::Client => drop(eval(env, saving, "1")),
        }
        let holds = round_in(env);
        assert!(holds == round || holds == before, "{what}: {holds} after {before}");
        if holds == round {
            new += 1
        } else {
            old += 1
        }
        let loaded = env.json(["load", "kept.stead", "-n", "check"]);
        assert_eq!(
            (&loaded["status"], &loaded["data"]["failed_count"]),
            (&"complete".into(), &0.into()),
            "{what}: {loaded:#}"
        );
        let whole = env.json(["eval", "-n", "check", "--", saving.check]);
        assert_eq!(whole["data"]["chunks"][0]["content"], "whole\n", "{what}: {whole:#}");
        env.json(["stop", "check"]);
    }
    println!("{rounds} kills: {old} times the earlier file, {new} times the new one");
    eval(env, saving, &(saving.bind)(7));
    assert!(save(env, saving).wait().unwrap().success());
    let left: Vec<_> = std::fs::read_dir(env.workspace())
        .unwrap()
        .flatten()
        .map(|entry| entry.file_name())
        .collect();
    assert_eq!(left, ["kept.stead"], "nothing is left of the saves that were killed");
}

#[test]
fn st2_whoever_is_killed_while_python_saves_the_file_is_the_old_or_the_new_one() {
    storm(&TestEnv::new(STEAD), &PYTHON);
}

#[test]
fn st2_whoever_is_killed_while_bash_saves_the_file_is_the_old_or_the_new_one() {
    storm(&TestEnv::new(STEAD), &BASH);
}
