//! Shell commands and one-off runs (SPEC J-1, J-2).

use stead_testkit::{TestEnv, is_alive, wait_for, wait_for_some};

use crate::STEAD;
use crate::gate::Gate;

fn text(reply: &serde_json::Value, kind: &str) -> String {
    let chunks = reply["data"]["chunks"].as_array().cloned().unwrap_or_default();
    let of_kind = chunks.iter().filter(|chunk| chunk["type"] == kind);
    of_kind.filter_map(|chunk| chunk["content"].as_str()).collect()
}

#[test]
fn j1_a_command_is_answered_with_output_code_and_time() {
    let env = TestEnv::new(STEAD);
    let reply = env.json(["shell", "echo out; echo err >&2; exit 3"]);
    assert_eq!(reply["status"], "error", "{reply:#}");
    assert_eq!((text(&reply, "out"), text(&reply, "err")), ("out\n".into(), "err\n".into()));
    assert_eq!(reply["data"]["exit_code"], 3);
    assert!(reply["data"]["duration_ms"].is_u64(), "{reply:#}");
    let ran = env.run(["shell", "--text", "exit 3"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert_eq!(env.run(["shell", "true"]).code, Some(0));
}

#[test]
fn j1_o1_streams_that_a_program_left_without_blocking_are_whole_for_the_next_command() {
    let env = TestEnv::new(STEAD);
    let unblock = "import os; [os.set_blocking(fd, False) for fd in range(3)]";
    let python = env.python().display().to_string();
    env.json(["shell", &format!("{python} -c '{unblock}'")]);
    let reply = env.json(["shell", "--timeout", "60s", "seq 1 1000000; echo rc=$?"]);
    let id = reply["data"]["eval_id"].as_str().unwrap();
    let whole = env.run(["output", id, "--raw"]).stdout;
    assert!(whole.ends_with("\n1000000\nrc=0\n"), "{}", &whole[whole.len().saturating_sub(200)..]);
    env.json(["shell", &format!("{python} -c '{unblock}'")]);
    let asked = env.json(["shell", "--timeout", "60s", "read v; echo got $v"]);
    assert_eq!(asked["status"], "waiting_input", "{asked:#}");
    let id = asked["data"]["eval_id"].as_str().unwrap();
    assert_eq!(text(&env.json(["input", id, "it"]), "out"), "got it\n");
}

#[test]
fn j1_each_command_has_a_fresh_shell_in_the_callers_place() {
    let env = TestEnv::new(STEAD);
    std::fs::create_dir(env.workspace().join("sub")).unwrap();
    env.run(["shell", "X=1; export Y=2; cd /; alias z=ls; set -e"]);
    let reply = env.json(["shell", "echo \"${X-none} ${Y-none} $PWD\"; false; echo on"]);
    let workspace = env.workspace().canonicalize().unwrap();
    assert_eq!(text(&reply, "out"), format!("none none {}\non\n", workspace.display()));
    let reply = env.json(["shell", "--cwd", "sub", "basename $PWD"]);
    assert_eq!(text(&reply, "out"), "sub\n");
    let mut command = env.command(["shell", "echo $FLAVOUR"]);
    let output = command.env("FLAVOUR", "mint").output().unwrap();
    assert!(String::from_utf8_lossy(&output.stdout).contains("mint"), "{output:?}");
    let reply = env.json(["shell", "--cwd", "nowhere", "true"]);
    assert_eq!(reply["error"]["code"], "bad_request", "{reply:#}");
}

#[test]
fn j1_a_long_command_is_yielded_with_its_id_and_runs_once() {
    let env = TestEnv::new(STEAD);
    let gate = Gate::new(&env, "gate");
    let command = "echo once >> ran; cat gate; echo done";
    let reply = env.json(["shell", "--timeout", "200ms", command]);
    assert_eq!(reply["status"], "partial", "{reply:#}");
    let id = reply["data"]["eval_id"].as_str().unwrap().to_owned();
    // Meanwhile another one runs at once.
    let other = env.json(["shell", "echo quick"]);
    assert_eq!(text(&other, "out"), "quick\n");
    assert_ne!(other["data"]["session"], reply["data"]["session"]);
    gate.open();
    let reply = env.json(["output", &id, "--wait", "60s"]);
    assert_eq!(reply["status"], "complete", "{reply:#}");
    assert_eq!(text(&reply, "out"), "done\n");
    assert_eq!(std::fs::read_to_string(env.workspace().join("ran")).unwrap(), "once\n");
    let evals = env.json(["evals", "-n", "shell"]);
    assert_eq!(evals["data"]["evals"].as_array().unwrap().len(), 1, "{evals:#}");
}

#[test]
fn j1_a_command_that_reads_says_so_and_is_answered() {
    let env = TestEnv::new(STEAD);
    let reply = env.json(["shell", "read x; echo got $x"]);
    assert_eq!(reply["status"], "waiting_input", "{reply:#}");
    let id = reply["data"]["eval_id"].as_str().unwrap().to_owned();
    let reply = env.json(["input", &id, "hello"]);
    assert_eq!(
        (reply["status"].as_str(), text(&reply, "out")),
        (Some("complete"), "got hello\n".into())
    );
    let reply = env.json(["shell", "cat"]);
    assert_eq!(reply["status"], "waiting_input");
    let id = reply["data"]["eval_id"].as_str().unwrap().to_owned();
    let reply = env.json(["interrupt", &id]);
    assert_eq!(reply["data"]["effect"], "interrupted", "{reply:#}");
    let reply = env.json(["output", &id, "--wait", "60s"]);
    assert_eq!(reply["status"], "interrupted");
    assert_eq!(text(&env.json(["shell", "echo next"]), "out"), "next\n");
}

#[test]
fn j1_a_server_in_the_background_holds_up_nothing_and_lives_until_its_session_is_stopped() {
    let env = TestEnv::new(STEAD);
    let reply = env.json(["shell", "sleep 1000 & echo $!"]);
    assert_eq!(reply["status"], "complete", "{reply:#}");
    let pid: u32 = text(&reply, "out").trim().parse().unwrap();
    assert!(is_alive(pid));
    // The shell's child may not have become `sleep` yet.
    wait_for("the server to be listed", || {
        let listed = env.json(["ls"]);
        listed["data"]["sessions"][0]["background"] == serde_json::json!(["sleep 1000"])
    });
    // A setsid daemon that holds no pipe is found as well, and more commands change nothing.
    let reply = env.json(["shell", "setsid sleep 1001 >/dev/null 2>&1 </dev/null & wait $!; true"]);
    assert!(reply["ok"].is_boolean());
    env.json(["shell", "true"]);
    assert!(is_alive(pid));
    for session in ["shell", "shell-2"] {
        env.run(["stop", "-n", session]);
    }
    wait_for_some("the server is gone", || (!is_alive(pid)).then_some(()));
}

#[test]
fn j1_a_hard_timeout_interrupts_and_then_kills() {
    let env = TestEnv::new(STEAD);
    let reply = env.json(["shell", "--timeout", "30s", "--hard-timeout", "100ms", "sleep 1000"]);
    assert_eq!(reply["status"], "timeout", "{reply:#}");
    let stubborn = "trap '' INT; while :; do :; done";
    // Long enough for a busy machine to come to the trap.
    let reply = env.json(["shell", "--timeout", "30s", "--hard-timeout", "1s", stubborn]);
    assert_eq!(
        (reply["status"].as_str(), reply["data"]["outcome"].as_str()),
        (Some("timeout"), Some("children_killed"))
    );
    assert_eq!(text(&env.json(["shell", "echo on"]), "out"), "on\n");
}

#[test]
fn j1_a_command_that_kills_or_replaces_its_shell_is_told() {
    let env = TestEnv::new(STEAD);
    assert_eq!(env.json(["shell", "kill -9 $$"])["data"]["exit_code"], 137);
    assert_eq!(text(&env.json(["shell", "exec echo replaced"]), "out"), "replaced\n");
    assert_eq!(env.json(["shell", "exec 1>&- 2>&-; exit 4"])["data"]["exit_code"], 4);
    let reply = env.json(["shell", "if then"]);
    assert_eq!(reply["status"], "error");
    assert!(text(&reply, "err").contains("syntax error"), "{reply:#}");
    let long = format!("echo {} | wc -c", "x".repeat(300_000));
    let reply: serde_json::Value =
        serde_json::from_str(&env.run_with(["shell", "-"], long.as_bytes()).stdout).unwrap();
    assert_eq!(text(&reply, "out").trim(), "300001");
}

#[test]
fn j1_many_commands_run_at_once_each_in_its_place() {
    let env = TestEnv::new(STEAD);
    let children: Vec<_> = (0..12)
        .map(|n| env.spawn(["shell", "--timeout", "60s", &format!("echo {n} >> all; echo {n}")]))
        .collect();
    for (n, child) in children.into_iter().enumerate() {
        let output = child.wait_with_output().unwrap();
        let reply: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(text(&reply, "out"), format!("{n}\n"), "{reply:#}");
    }
    let all = std::fs::read_to_string(env.workspace().join("all")).unwrap();
    assert_eq!(all.lines().count(), 12);
}

#[test]
fn j2_a_run_shares_nothing_and_leaves_no_session() {
    let env = TestEnv::new(STEAD);
    env.eval("x = 41");
    let reply = env.json(["run", "python", "x = 1; print(x)"]);
    assert_eq!((reply["status"].as_str(), text(&reply, "out")), (Some("complete"), "1\n".into()));
    assert_eq!(env.value("x"), "41");
    let reply = env.json(["run", "python", "x"]);
    assert_eq!(
        (reply["status"].as_str(), reply["data"]["error"]["name"].as_str()),
        (Some("error"), Some("NameError"))
    );
    let reply = env.json(["run", "python", "import os; os._exit(7)"]);
    assert_eq!(
        (reply["status"].as_str(), reply["data"]["exit_code"].as_i64()),
        (Some("ended"), Some(7))
    );
    let names = env.json(["ls"]);
    let names: Vec<_> =
        names["data"]["sessions"].as_array().unwrap().iter().map(|s| s["name"].clone()).collect();
    assert_eq!(names, ["py"]);
}

#[test]
fn j2_what_the_code_of_a_run_leaves_to_be_done_is_part_of_it() {
    let env = TestEnv::new(STEAD);
    for (language, code, out) in [
        (
            "python",
            "import atexit, threading\natexit.register(print, 'exit')\n\
             threading.Timer(0.2, print, ['late']).start()\nprint('first')",
            "first\nlate\nexit\n",
        ),
        (
            "node",
            "process.on('exit', () => console.log('exit')); \
             setTimeout(() => console.log('late'), 200); console.log('first')",
            "first\nlate\nexit\n",
        ),
        ("bash", "trap 'echo exit' EXIT; echo first", "first\nexit\n"),
    ] {
        let reply = env.json(["run", language, code]);
        assert_eq!(
            (reply["status"].as_str(), text(&reply, "out").as_str()),
            (Some("complete"), out),
            "{reply:#}"
        );
    }
}

#[test]
fn j2_a_run_that_outlives_the_wait_goes_on_and_ends_by_itself() {
    let env = TestEnv::new(STEAD);
    let gate = Gate::new(&env, "gate");
    let code = format!("{}\nprint('through')", gate.code());
    let reply = env.json(["run", "python", "--timeout", "300ms", &code]);
    assert_eq!(reply["status"], "partial", "{reply:#}");
    let id = reply["data"]["eval_id"].as_str().unwrap().to_owned();
    gate.open();
    let reply = env.json(["output", &id, "--wait", "60s"]);
    assert_eq!(
        (reply["status"].as_str(), text(&reply, "out")),
        (Some("complete"), "through\n".into())
    );
    wait_for_some("the run is gone", || {
        let listed = env.json(["ls"]);
        listed["data"]["sessions"].as_array().unwrap().is_empty().then_some(())
    });
    // What it wrote stays readable.
    assert_eq!(text(&env.json(["output", &id]), "out"), "through\n");
}

#[test]
fn j2_s7_a_run_that_is_restarted_is_listed_until_it_ends() {
    let env = TestEnv::new(STEAD);
    let gate = Gate::new(&env, "gate");
    let reply = env.json(["run", "python", "--timeout", "300ms", &gate.code()]);
    let id = reply["data"]["eval_id"].as_str().unwrap().to_owned();
    let name = id.split(':').next().unwrap();
    assert_eq!(env.run(["restart", "-n", name]).code, Some(0));
    let listed = env.json(["ls"]);
    assert_eq!(listed["data"]["sessions"][0]["name"], name, "{listed:#}");
    assert_eq!(env.run(["stop", "-n", name]).code, Some(0));
    let listed = env.json(["ls"]);
    assert_eq!(listed["data"]["sessions"].as_array().map(Vec::len), Some(0), "{listed:#}");
}

#[test]
fn e8_a_command_that_reads_an_answer_shows_its_question() {
    let env = TestEnv::new(STEAD);
    std::fs::write(env.workspace().join("ask.sh"), "read -rp 'Sourced? ' a; echo \"<$a>\"\n")
        .unwrap();
    for (code, question) in [
        ("read -p 'Continue? [y/N] ' a; echo \"<$a>\"", "Continue? [y/N] "),
        (". ./ask.sh", "Sourced? "),
    ] {
        let reply = env.json(["shell", code]);
        assert_eq!(reply["status"], "waiting_input", "{reply:#}");
        assert_eq!(text(&reply, "err"), question, "{reply:#}");
        let id = reply["data"]["eval_id"].as_str().unwrap().to_owned();
        let reply = env.json(["input", &id, "y"]);
        assert_eq!(
            (&reply["status"], text(&reply, "out")),
            (&"complete".into(), "<y>\n".into()),
            "{reply:#}"
        );
    }
    let reply = env.json(["shell", "echo x | read -p 'No? ' a; env | grep -c stead_ask"]);
    assert_eq!(
        (text(&reply, "err"), text(&reply, "out")),
        (String::new(), "0\n".into()),
        "{reply:#}"
    );
}
