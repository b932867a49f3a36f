//! ST-3: a session goes back to a checkpoint a thousand times in a row, and keeps fifty at once. Its state is right each
//! time, its memory stays as it is, and no process is left.

use serde_json::Value;
use stead_testkit::TestEnv;

use crate::STEAD;
use crate::rig::number;

fn run(env: &TestEnv, arguments: &[&str]) -> Value {
    let reply = env.json(arguments);
    assert_eq!(reply["status"], "complete", "{arguments:?}: {reply:#}");
    reply
}

fn value(env: &TestEnv, code: &str) -> String {
    let reply = run(env, &["eval", "-n", "py", "--", code]);
    reply["data"]["value"].as_str().unwrap_or_default().to_owned()
}

/// Memory of the session's processes, and how many there are.
fn figures(env: &TestEnv) -> (u64, u64) {
    let status = run(env, &["status", "-n", "py"]);
    let number = |field: &str| status["data"][field].as_u64().unwrap_or_default();
    (number("memory_bytes"), number("processes"))
}

#[test]
fn st3_checkpoint_and_rollback_a_thousand_times() {
    let env = TestEnv::new(STEAD);
    let rounds = number("STEAD_ROLLBACKS", 300);
    // Copies for undo come and go meanwhile, and their memory is counted too.
    run(&env, &["launch", "py", "--no-undo"]);
    value(&env, "data = list(range(100_000)); total = 0");
    let mut early = 0;
    for round in 1..=rounds {
        value(&env, &format!("total = {round}; data[7] = {round}"));
        run(&env, &["checkpoint", "-n", "py"]);
        value(&env, "total = -1; data.clear(); other = 1");
        run(&env, &["rollback", "-n", "py"]);
        let found = value(&env, "total, data[7], len(data), 'other' in dir()");
        assert_eq!(found, format!("({round}, {round}, 100000, False)"));
        let (memory, processes) = figures(&env);
        assert_eq!(processes, 1);
        if round == rounds / 10 {
            early = memory;
        }
        if round == rounds {
            assert!(memory < early + early / 2, "{early} bytes became {memory}");
        }
    }
}

#[test]
fn st3_fifty_checkpoints_at_once() {
    let env = TestEnv::new(STEAD);
    for label in 0..50 {
        value(&env, &format!("label = {label}"));
        run(&env, &["checkpoint", "-n", "py", &label.to_string()]);
    }
    for label in (0..50).rev().chain([25, 25, 49, 0]) {
        run(&env, &["rollback", "-n", "py", &label.to_string()]);
        assert_eq!(value(&env, "label"), label.to_string());
    }
    let list = run(&env, &["checkpoint", "-n", "py", "--list"]);
    assert_eq!(list["data"]["checkpoints"].as_array().map(Vec::len), Some(50));
    assert_eq!(figures(&env).1, 1);
}
