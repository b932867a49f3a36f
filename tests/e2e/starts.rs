//! CF-2, CF-3, E-8 and P-3: starts with init code that asks or takes its time, before one-off runs, starts that fail, and what a start keeps for the next.

use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::PathBuf;

use serde_json::Value;
use stead_testkit::{TestEnv, wait_for, wait_for_some};

use crate::STEAD;
use crate::config::{value, write, write_users};

#[test]
fn j2_a_one_off_run_runs_its_code_after_the_init_code_of_its_toolchain() {
    let env = TestEnv::new(STEAD);
    write_users(
        &env,
        "[toolchains.python]\ninit = \"a = 41\"\n[toolchains.bash]\ninit = \"a=41\"\n[toolchains.node]\ninit = \"a = 41\"\n",
    );
    for (language, code) in
        [("python", "print(a + 1)"), ("bash", "echo $((a + 1))"), ("node", "console.log(a + 1)")]
    {
        let ran = env.json(["run", language, code]);
        assert_eq!(ran["status"], "complete", "{ran:#}");
        assert_eq!(ran["data"]["chunks"][0]["content"], "42\n", "{ran:#}");
    }
}

#[test]
fn e8_code_that_is_sent_before_init_code_asks_is_told_what_asks() {
    let env = TestEnv::new(STEAD);
    write_users(&env, "[sessions.ask]\ninit = \"name = input('who? ')\"\n");
    let reply = env.json(["eval", "-n", "ask", "--timeout", "60s", "name + '!'"]);
    assert_eq!(reply["status"], "queued", "{reply:#}");
    assert_eq!(reply["data"]["asks"]["prompt"], "who? ", "{reply:#}");
    let id = reply["data"]["eval_id"].as_str().unwrap();
    let asks = reply["data"]["asks"]["eval_id"].as_str().unwrap();
    let text = env.run(["output", id, "--text"]);
    assert!(
        (text.stdout.clone() + &text.stderr)
            .contains(&format!("{asks} before it waits for input: who?")),
        "{text:?}"
    );
    assert_eq!(env.json(["input", asks, "Bob"])["status"], "complete");
    let reply = env.json(["output", id, "--wait", "60s"]);
    assert_eq!(reply["data"]["value"], "'Bob!'", "{reply:#}");
}

#[test]
fn e1_code_that_is_sent_before_init_code_runs_is_queued_behind_it() {
    let env = TestEnv::new(STEAD);
    let init = "import time, os\\nwhile not os.path.exists('go'): time.sleep(0.01)";
    write_users(&env, &format!("[sessions.slow]\ninit = \"{init}\"\n"));
    let reply = env.json(["eval", "-n", "slow", "--timeout", "3s", "1 + 1"]);
    assert_eq!(reply["status"], "queued", "{reply:#}");
    let running = env.json(["status", "-n", "slow"])["data"]["running"]["eval_id"].clone();
    assert!(running.is_string());
    assert_eq!(reply["data"]["behind"], running, "{reply:#}");
    std::fs::write(env.workspace().join("go"), "").unwrap();
    assert_eq!(value(&env, "slow", "6 * 7"), "42");
}

#[test]
fn e8_what_is_queued_returns_when_what_runs_begins_to_ask() {
    let env = TestEnv::new(STEAD);
    let code =
        "import os, time\nwhile not os.path.exists('go'): time.sleep(0.01)\nx = input('sure? ')";
    let first = env.json(["eval", "-n", "py", "--bg", "--", code]);
    let queued = env.spawn(["eval", "-n", "py", "--timeout", "60s", "x"]);
    stead_testkit::wait_for("the second eval", || {
        env.status()["queued"].as_array().is_some_and(|all| all.len() == 1)
    });
    std::fs::write(env.workspace().join("go"), "").unwrap();
    let reply: Value = serde_json::from_slice(&queued.wait_with_output().unwrap().stdout).unwrap();
    assert_eq!(reply["status"], "queued", "{reply:#}");
    assert_eq!(reply["data"]["asks"]["eval_id"], first["data"]["eval_id"], "{reply:#}");
    assert_eq!(reply["data"]["asks"]["prompt"], "sure? ", "{reply:#}");
    env.json(["input", "-n", "py", "yes"]);
    let id = reply["data"]["eval_id"].as_str().unwrap();
    assert_eq!(env.json(["output", id, "--wait", "60s"])["data"]["value"], "'yes'");
}

#[test]
fn cf3_a_command_that_drops_the_environment_is_told_what_is_missing() {
    let env = TestEnv::new(STEAD);
    for (language, program) in [("python", "python3"), ("bash", "bash"), ("node", "node")] {
        let command = format!("env -i PATH={} {program}", std::env::var("PATH").unwrap());
        let told = env.json(["launch", language, "-n", "a", "--cmd", &command]);
        assert_eq!(told["error"]["code"], "launch_failed", "{told:#}");
        let message = told["error"]["message"].as_str().unwrap();
        assert!(message.contains("the variable STEAD_BRIDGE_FD is missing"), "{message}");
    }
}

#[test]
fn s6_a_start_that_was_given_up_is_told_as_that() {
    let env = TestEnv::new(STEAD);
    let bridge = write(
        &env,
        "late",
        "#!/usr/bin/perl\nopen my $c, '>&=', $ENV{STEAD_BRIDGE_FD}; $| = 1;\n\
         syswrite $c, qq({\"ev\":\"starting\",\"within_ms\":50}\\n); sleep 1000;\n",
    );
    std::fs::set_permissions(&bridge, std::fs::Permissions::from_mode(0o755)).unwrap();
    let told = env.json(["launch", "late", "-n", "a", "--bridge", bridge.to_str().unwrap()]);
    assert_eq!(told["error"]["code"], "launch_failed", "{told:#}");
    let message = told["error"]["message"].as_str().unwrap();
    assert!(message.contains("it did not say that it is ready in time"), "{message}");
}

#[test]
fn c10_a_program_that_ends_at_once_is_told_with_its_exit_code() {
    let env = TestEnv::new(STEAD);
    for (language, command, how) in [
        ("python", "false", "exited with code 1"),
        ("bash", "sh -c 'exit 5'", "exited with code 5"),
        ("node", "sh -c 'kill -9 $$'", "ended by signal 9"),
    ] {
        let reply = env.json(["launch", language, "--cmd", command]);
        assert_eq!(reply["error"]["code"], "launch_failed", "{reply:#}");
        let message = reply["error"]["message"].as_str().unwrap();
        assert!(message.contains(how) && !message.contains("in time"), "{message}");
    }
}

#[test]
fn c10_a_program_that_is_no_interpreter_is_told_without_boot_code() {
    let env = TestEnv::new(STEAD);
    let told = |arguments: &[&str]| {
        let reply = env.json(["launch"].iter().chain(arguments));
        assert_eq!(reply["error"]["code"], "launch_failed", "{reply:#}");
        let message = reply["error"]["message"].as_str().unwrap().to_owned();
        assert!(!message.contains("STEAD_BRIDGE_FD") && message.len() < 400, "{message}");
        message
    };
    let message = told(&["python", "--python", "/bin/ls"]);
    assert!(
        message.contains("`/bin/ls` was not ready (the interpreter exited with code 2)"),
        "{message}"
    );
    assert!(message.contains("cannot access '…"), "{message}");
    for language in ["python", "node", "bash"] {
        // It repeats all that it was given.
        let message =
            told(&[language, "--cmd", "sh -c 'echo \"$@\"; echo last words >&2; exit 3' x"]);
        assert!(
            message.contains("exited with code 3") && message.contains("last words"),
            "{message}"
        );
    }
    // What is wrong with a program that says much stands at the end.
    let message = told(&["bash", "--cmd", "sh -c 'seq 3000; echo no licence >&2; exit 4' x"]);
    assert!(message.contains("exited with code 4") && message.contains("no licence"), "{message}");
}

#[test]
fn cf2_a_start_does_not_wait_for_ever_for_its_init_code() {
    let env = TestEnv::new(STEAD);
    let flag = env.root().join("go");
    let init = format!(
        "import os, time\nwhile not os.path.exists({:?}): time.sleep(0.01)\n1/0",
        flag.to_str().unwrap()
    );
    let told = env.json(["launch", "python", "-n", "py", "--init", &init, "--timeout", "100ms"]);
    assert_eq!(told["ok"], true, "{told:#}");
    assert_eq!(told["data"]["running"]["by"], "init", "{told:#}");
    let notice = "the init code still runs: `stead wait py:1`";
    assert_eq!(told["data"]["notice"], notice, "{told:#}");
    let queued = env.json(["eval", "-n", "py", "--timeout", "100ms", "7"]);
    assert_eq!(queued["status"], "queued", "{queued:#}");
    std::fs::write(&flag, "").unwrap();
    // Nobody has waited for its end, so it is told with the next code how it went.
    let next = env.json(["output", "py:2", "--wait", "60s"]);
    assert_eq!(next["data"]["value"], "7", "{next:#}");
    let notice = next["data"]["notice"].as_str().unwrap_or_default();
    assert!(notice.contains("init code failed: ZeroDivisionError"), "{next:#}");
    // Whoever answers its question sees how it goes on.
    let told = env.json(["launch", "python", "-n", "asks", "--init", "int(input('how many? '))"]);
    let notice = "the init code waits for input: `stead input asks:1 TEXT`";
    assert_eq!(told["data"]["notice"], notice, "{told:#}");
    let answered = env.json(["input", "asks:1", "none"]);
    assert_eq!(answered["data"]["error"]["name"], "ValueError", "{answered:#}");
    let next = env.json(["eval", "-n", "asks", "9"]);
    assert_eq!(next["data"].get("notice"), None, "{next:#}");
}

/// The compiled form of the Python bridge that the environment's sessions have kept.
fn kept_bridge(env: &TestEnv) -> Option<PathBuf> {
    let files = std::fs::read_dir(env.state_dir().join("bridges")).ok()?;
    files
        .flatten()
        .map(|file| file.path())
        .find(|path| path.extension().is_some_and(|end| end == "code"))
}

#[test]
fn p3_the_bridge_is_compiled_for_later_starts_once_and_not_by_each_session_that_began_before() {
    let env = TestEnv::new(STEAD);
    for name in ["one", "two"] {
        assert_eq!(env.json(["launch", "python", "-n", name])["ok"], true);
    }
    assert_eq!(kept_bridge(&env), None);
    assert_eq!(value(&env, "one", "6 * 7"), "42");
    let kept = wait_for_some("the compiled bridge", || kept_bridge(&env));
    let written = kept.metadata().unwrap().ino();
    // What a session does after its first eval is done before its second ends.
    for _ in 0..2 {
        assert_eq!(value(&env, "two", "6 * 7"), "42");
    }
    assert_eq!(kept.metadata().unwrap().ino(), written);
}

#[test]
fn p3_a_compiled_bridge_that_cannot_be_used_is_made_anew() {
    let env = TestEnv::new(STEAD);
    assert_eq!(value(&env, "py", "6 * 7"), "42");
    let kept = wait_for_some("the compiled bridge", || kept_bridge(&env));
    let length = kept.metadata().unwrap().len();
    for unusable in [0, 100 << 20] {
        env.json(["stop", "-n", "py"]);
        std::fs::File::create(&kept).unwrap().set_len(unusable).unwrap();
        assert_eq!(value(&env, "py", "6 * 7"), "42");
        wait_for("another compiled bridge", || kept.metadata().unwrap().len() == length);
    }
}
