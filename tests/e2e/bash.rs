//! Sessions in Bash through the real binary: the ten ways to hang a shell, how one is chosen, what
//! only the host can see.

use serde_json::Value;
use stead_testkit::{TestEnv, wait_for_some};

use crate::STEAD;

fn sh(env: &TestEnv, code: &str) -> Value {
    env.json(["eval", "-n", "sh", "--timeout", "60s", "--", code])
}

fn stream(reply: &Value, kind: &str) -> String {
    let chunks = reply["data"]["chunks"].as_array().cloned().unwrap_or_default();
    let of_kind = chunks.iter().filter(|chunk| chunk["type"] == kind);
    of_kind.map(|chunk| chunk["content"].as_str().unwrap_or_default()).collect()
}

/// It can end itself only in POSIX mode, where functions do not hide `exit`.
#[test]
fn sh2_s6_a_shell_that_has_lost_all_that_it_needs_ends_with_the_reason() {
    let env = TestEnv::new(STEAD);
    let reply = sh(&env, "FUNCNEST=1; enable -n printf; builtin() { :; }");
    assert_eq!(reply["status"], "ended", "{reply:#}");
    let reason = wait_for_some("the end", || {
        let status = env.json(["status", "-n", "sh"])["data"].clone();
        (status["state"] == "ended").then(|| status["reason"].as_str().unwrap().to_owned())
    });
    assert!(reason.starts_with("what ran the code is gone: "), "{reason}");
    // The reply of the code that ended the shell has told it.
    let next = sh(&env, "echo ok");
    assert_eq!((stream(&next, "out").as_str(), &next["data"]["generation"]), ("ok\n", &2.into()));
}

#[test]
fn sh2_sh3_ten_ways_to_hang_a_shell_do_not() {
    let env = TestEnv::new(STEAD);
    let hangs: [(&str, &str); 10] = [
        ("printf abc", "complete"),
        ("echo 'open", "error"),
        ("echo a; if )", "error"),
        ("exit", "complete"),
        ("set -e; false; echo never", "error"),
        ("set -eu; echo $nothing; echo never", "error"),
        ("cat", "waiting_input"),
        ("read -r line", "waiting_input"),
        ("cat <<END\ntext", "error"),
        ("exec 1>&-", "complete"),
    ];
    sh(&env, "x=41");
    for (code, status) in hangs {
        let reply = sh(&env, code);
        assert_eq!(reply["status"], status, "{code}: {reply:#}");
        assert!(!stream(&reply, "out").contains("never"), "{code}: {reply:#}");
        if status == "waiting_input" {
            let ended = env.json(["input", "-n", "sh", "--eof"]);
            assert!(ended["status"] == "complete" || ended["status"] == "error", "{ended:#}");
            sh(&env, code);
            assert_eq!(env.json(["interrupt", "-n", "sh"])["data"]["effect"], "interrupted");
        }
        let reply = sh(&env, "set +eu; echo $((x + 1))");
        assert_eq!(stream(&reply, "out"), "42\n", "after {code}: {reply:#}");
        assert_eq!(reply["data"]["generation"], 1, "after {code}: {reply:#}");
    }
}

#[test]
fn e6_an_interrupt_is_one_under_errexit_too() {
    let env = TestEnv::new(STEAD);
    sh(&env, "set -euo pipefail");
    for code in ["cat", "cat | cat", "read -r line", "f() { cat; }; f"] {
        for _ in 0..3 {
            assert_eq!(sh(&env, code)["status"], "waiting_input", "{code}");
            let interrupted = env.json(["interrupt", "-n", "sh"]);
            assert_eq!(interrupted["data"]["effect"], "interrupted", "{code}: {interrupted:#}");
            let id = interrupted["data"]["eval_id"].as_str().unwrap().to_owned();
            let reply = env.json(["output", &id]);
            assert_eq!(reply["status"], "interrupted", "{code}: {reply:#}");
        }
    }
    let reply = sh(&env, "[[ -o errexit && -o nounset && -o pipefail ]] && echo kept");
    assert_eq!(stream(&reply, "out"), "kept\n", "{reply:#}");
}

#[test]
fn s5_launch_takes_a_bash_a_directory_variables_and_init_code() {
    let env = TestEnv::new(STEAD);
    let dir = env.root().join("home");
    let launched = env.json([
        "launch",
        "bash",
        "-n",
        "b1",
        "--cwd",
        dir.to_str().unwrap(),
        "--env",
        "WORD=from outside",
        "--init",
        "alias x='echo \"$WORD\"'",
        "--bash",
        "/bin/bash",
    ]);
    assert_eq!(launched["ok"], true, "{launched:#}");
    assert_eq!(launched["data"]["why"], "named by the user");
    let reply = env.json(["eval", "-n", "b1", "--", "x; pwd"]);
    assert_eq!(stream(&reply, "out"), format!("from outside\n{}\n", dir.display()), "{reply:#}");
    let reply = env.json(["launch", "python", "--bash", "/bin/bash"]);
    assert_eq!(reply["error"]["code"], "bad_request", "{reply:#}");
    let reply = env.json(["launch", "--bash", "/no/such/bash"]);
    assert_eq!(reply["error"]["code"], "launch_failed", "{reply:#}");
}

#[test]
fn e15_nul_characters_are_left_out_and_large_code_runs() {
    let env = TestEnv::new(STEAD);
    let run = |code: &str| {
        let ran = env.run_with(["eval", "-n", "sh", "--timeout", "60s", "-"], code.as_bytes());
        ran.json()
    };
    let reply = run("echo a\0b; echo c");
    assert_eq!(stream(&reply, "out"), "ab\nc\n", "{reply:#}");
    let reply = run(&format!("x='{}'\necho ${{#x}}", "y".repeat(15 << 20)));
    assert_eq!(stream(&reply, "out"), format!("{}\n", 15 << 20));
    assert_eq!(stream(&sh(&env, "echo on"), "out"), "on\n");
}

#[test]
fn s9_e6_a_stop_takes_jobs_along_and_an_interrupt_spares_them() {
    let env = TestEnv::new(STEAD);
    sh(&env, "sleep 1000 & (setsid sleep 1000 &) ; true");
    let running = env.json(["eval", "-n", "sh", "--bg", "--", "sleep 1000 | cat; echo never"]);
    let id = running["data"]["eval_id"].as_str().unwrap().to_owned();
    assert_eq!(env.json(["interrupt", &id])["data"]["effect"], "interrupted");
    let reply = sh(&env, "jobs -r | grep -c sleep; pgrep -c -x sleep 2>/dev/null || true");
    assert!(stream(&reply, "out").starts_with("1\n"), "{reply:#}");
    assert_eq!(env.json(["stop", "-n", "sh"])["ok"], true);
    // Dropping the environment fails if a process is left.
}

/// A script of about 200 lines under `set -euo pipefail`, with `middle` in it.
fn strict(middle: &str) -> String {
    let mut lines = vec!["set -euo pipefail".to_owned(), "total=0".to_owned()];
    for n in 0..48 {
        lines.push(format!("step_{n}() {{"));
        lines.push(format!("    total=$((total + {n}))"));
        lines.push("}".to_owned());
        lines.push(format!("step_{n}"));
        if n == 24 {
            lines.push(middle.to_owned());
        }
    }
    lines.push("echo \"total $total\"".to_owned());
    lines.join("\n")
}

#[test]
fn sh2_strict_scripts_end_where_they_fail_and_keep_the_session() {
    let env = TestEnv::new(STEAD);
    let fails: [(&str, i64); 9] = [
        ("false", 1),
        ("(exit 7)", 7),
        ("work() { ls /no/such/file 2>/dev/null; echo never; }; work", 2),
        ("false | cat", 1),
        ("value=$(exit 5)", 5),
        ("( cd /; exit 6; echo never )", 6),
        ("echo \"$no_such_variable\"", 1),
        ("no_such_command_at_all", 127),
        ("exit 9", 9),
    ];
    sh(&env, "kept=41");
    for (middle, code) in fails {
        let reply = sh(&env, &strict(&format!("{middle}\necho never")));
        assert_eq!(reply["status"], "error", "{middle}: {reply:#}");
        assert_eq!(reply["data"]["exit_code"], code, "{middle}: {reply:#}");
        assert_eq!(stream(&reply, "out"), "", "{middle}: {reply:#}");
        // 24 of the 48 steps have run, and what they did is there; so are the options (SH-1).
        let reply = sh(
            &env,
            "echo $total $((kept + 1)) ${-//[!eu]/}; shopt -qo pipefail; set +euo pipefail",
        );
        assert_eq!(stream(&reply, "out"), "300 42 eu\n", "after {middle}: {reply:#}");
        assert_eq!(reply["status"], "complete", "after {middle}: {reply:#}");
        assert_eq!(reply["data"]["generation"], 1, "after {middle}: {reply:#}");
    }
    let reply = sh(&env, &strict(":"));
    assert_eq!(reply["status"], "complete", "{reply:#}");
    assert_eq!(stream(&reply, "out"), "total 1128\n", "{reply:#}");
}

/// An EXIT trap belongs to the shell, which lives on: it runs when the session ends.
#[test]
fn sh2_the_cleanup_of_a_strict_script_waits_for_the_end_of_the_shell() {
    let env = TestEnv::new(STEAD);
    let script = strict("trap 'echo cleaned > \"$mark\"' EXIT\nfalse");
    let mark = env.workspace().join("mark");
    sh(&env, &format!("mark='{}'", mark.display()));
    let reply = sh(&env, &script);
    assert_eq!(reply["data"]["exit_code"], 1, "{reply:#}");
    assert!(!mark.exists(), "{reply:#}");
    assert_eq!(
        stream(&sh(&env, "set +eu; trap -p EXIT"), "out"),
        "trap -- 'echo cleaned > \"$mark\"' EXIT\n"
    );
    env.json(["stop", "-n", "sh"]);
    assert_eq!(std::fs::read_to_string(&mark).expect("the trap ran"), "cleaned\n");
}

/// A pipe that gets line after line is read only now and then, but before anything that comes to the other one.
#[test]
fn o2_an_error_comes_after_the_many_lines_before_it() {
    let env = TestEnv::new(STEAD);
    for _ in 0..5 {
        let reply = sh(&env, "for ((i = 0; i < 2000; i++)); do echo o; done; echo end >&2");
        let chunks = reply["data"]["chunks"].as_array().unwrap();
        let kinds: Vec<_> = chunks.iter().map(|chunk| &chunk["type"]).collect();
        assert_eq!(kinds, ["out", "err"], "{reply:#}");
    }
}
