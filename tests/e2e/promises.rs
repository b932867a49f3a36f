//! S-7, S-10, C-1, C-2, C-6, C-8: small things that the contract promises of the command line.

use serde_json::Value;
use stead_testkit::{Ran, TestEnv, chunks, wait_for};

use crate::STEAD;
use crate::cli::refused;
use crate::gate::Gate;
use crate::talk::wrote;

#[test]
fn c2_code_without_a_name_goes_to_the_only_live_session_else_to_py() {
    let env = TestEnv::new(STEAD);
    let session = |reply: &Value| reply["data"]["session"].as_str().unwrap_or("?").to_owned();
    let eval = || env.json(["eval", "x = 1"]);
    assert_eq!(session(&env.json(["eval", "-n", "data", "-l", "python", "1"])), "data");
    assert_eq!(session(&eval()), "data", "the only one that lives");
    // A shell command has a session of its own, which nobody means without naming it.
    assert_eq!(env.run(["shell", "true"]).code, Some(0));
    assert_eq!(session(&eval()), "data", "beside a shell");
    assert_eq!(env.json(["status"])["data"]["name"], "data");
    assert_eq!(session(&env.json(["eval", "-n", "other", "-l", "python", "1"])), "other");
    assert_eq!(session(&eval()), "py", "several live");
    let listed = refused(&env.run(["status"]), "status", "session_not_found");
    let hint = listed["error"]["hint"].as_str().unwrap();
    assert!(hint.contains("data, other, py"), "{listed:#}");
    for name in ["other", "py"] {
        assert_eq!(env.run(["eval", "-n", name, "import os; os._exit(3)"]).code, Some(1));
    }
    assert_eq!(session(&eval()), "data", "the others have ended");
    for entry in std::fs::read_dir(env.runtime_dir()).unwrap().flatten() {
        if entry.path().extension().is_some_and(|extension| extension == "sock") {
            std::fs::remove_file(entry.path()).unwrap();
        }
    }
    assert_eq!(session(&eval()), "data", "its socket was deleted, and it lives");
    assert_eq!(env.json(["status"])["data"]["name"], "data");
    assert_eq!(env.run(["stop", "--all"]).code, Some(0));
    assert_eq!(session(&eval()), "py", "none lives");
    assert_eq!(env.run(["eval", "-n", "py", "import os; os._exit(3)"]).code, Some(1));
    assert_eq!(env.json(["status"])["data"]["state"], "ended", "one is there, though it has ended");
}

#[test]
fn s7_stop_answers_with_the_last_status() {
    let env = TestEnv::new(STEAD);
    env.value("x, y = 1, 2");
    env.value("z = 3");
    let created = env.status()["created_ms"].as_u64().unwrap();
    let stopped = env.json(["stop", "py"]);
    let data = &stopped["data"];
    assert_eq!((&data["session"], &data["name"]), (&"py".into(), &"py".into()), "{stopped:#}");
    assert_eq!((&data["evals"], &data["variables"]), (&2.into(), &3.into()), "{stopped:#}");
    assert_eq!(data["state"], "ended", "{stopped:#}");
    assert_eq!(data["created_ms"], created, "{stopped:#}");
    for time in ["started_ms", "last_used_ms"] {
        assert!(data[time].as_u64().unwrap() >= created, "{time}: {stopped:#}");
    }
    assert!(data.get("pid").is_none() && data.get("host_pid").is_none(), "{stopped:#}");

    let gate = Gate::new(&env, "gate");
    let code = format!("print('up', flush=True)\n{}", gate.code());
    env.json(["eval", "-n", "py", "--bg", &code]);
    wait_for("the eval", || wrote(&env.json(["output", "py:3"]), "out") == "up\n");
    env.json(["eval", "-n", "py", "--bg", "1"]);
    let text = env.run(["stop", "py", "--text"]).stdout;
    assert!(text.starts_with("stopped `py`: 4 evals, "), "{text}");
    assert!(text.contains("`py:3` was running and has ended, `py:4` did not run"), "{text}");
    env.value("1");
    let all = env.json(["stop", "--all"]);
    assert_eq!(all["data"]["sessions"][0]["evals"], 5, "{all:#}");

    env.value("1");
    assert_eq!(env.run(["eval", "-n", "py", "import os; os._exit(3)"]).code, Some(1));
    let ended = env.json(["stop", "py"]);
    assert!(ended["data"]["reason"].as_str().unwrap().contains("code 3"), "{ended:#}");
}

#[test]
fn s10_a_session_tells_when_it_was_created() {
    let env = TestEnv::new(STEAD);
    env.value("1");
    let created = env.status()["created_ms"].as_u64().unwrap();
    assert_eq!(env.json(["restart", "py"])["ok"], true);
    let status = env.status();
    assert_eq!(status["created_ms"], created, "{status:#}");
    assert!(status["started_ms"].as_u64().unwrap() > created, "{status:#}");
    let listed = env.json(["ls"]);
    assert_eq!(listed["data"]["sessions"][0]["created_ms"], created, "{listed:#}");
    assert!(env.run(["status", "--text"]).stdout.contains("\ncreated "));
    assert_eq!(env.run(["eval", "-n", "py", "import os; os._exit(3)"]).code, Some(1));
    assert_eq!(env.status()["created_ms"], created, "also when it has ended");
}

#[test]
fn c8_a_soft_timeout_of_0_does_not_wait() {
    let env = TestEnv::new(STEAD);
    let gate = Gate::new(&env, "gate");
    env.value("1");
    let code = gate.code();
    let first = env.json(["eval", "-n", "py", "--timeout", "0", &code]);
    assert_eq!((&first["ok"], &first["status"]), (&true.into(), &"partial".into()), "{first:#}");
    let queued = env.json(["eval", "-n", "py", "-t", "0", "2"]);
    assert_eq!(queued["status"], "queued", "{queued:#}");
    let read = env.json(["output", "py:2", "--wait", "0"]);
    assert_eq!(read["status"], "partial", "{read:#}");
    let second = Gate::new(&env, "second");
    let shell = env.json(["shell", "-t", "0", "cat second"]);
    assert_eq!(shell["status"], "partial", "{shell:#}");
    second.open();
    gate.open();
    let whole = env.json(["output", "py:3", "--wait", "60s"]);
    assert_eq!(whole["data"]["value"], "2", "{whole:#}");
}

#[test]
fn c2_an_id_may_be_given_by_an_option_too() {
    let env = TestEnv::new(STEAD);
    env.value("41");
    let read = env.json(["output", "--eval-id", "py:1"]);
    assert_eq!(read["data"]["value"], "41", "{read:#}");
    let twice = env.run(["output", "py:1", "--eval-id", "py:1"]);
    refused(&twice, "output", "bad_request");
    assert_eq!(env.eval("input('? ')")["status"], "waiting_input");
    let answered = env.json(["input", "--eval-id", "py:2", "yes"]);
    assert_eq!(answered["data"]["value"], "'yes'", "{answered:#}");
    let nothing = env.json(["interrupt", "--eval-id", "py:2"]);
    assert_eq!(nothing["data"]["effect"], "nothing_running", "{nothing:#}");
    assert!(!env.run(["output", "--help"]).stdout.contains("--eval-id"));
}

#[test]
fn c1_kill_ends_an_interpreter_that_does_not_stop() {
    let env = TestEnv::new(STEAD);
    env.value("x = 1");
    let code = "import signal; signal.pthread_sigmask(signal.SIG_BLOCK, [2])\nwhile True: pass";
    env.json(["eval", "-n", "py", "--bg", code]);
    refused(&env.run(["kill", "py:1"]), "kill", "bad_request");
    refused(&env.run(["kill", "nope"]), "kill", "session_not_found");
    let killed = env.json(["kill", "py:2"]);
    assert_eq!((&killed["ok"], &killed["data"]["session"]), (&true.into(), &"py".into()));
    let ended = env.json(["output", "py:2", "--wait", "60s"]);
    assert_eq!(ended["status"], "ended", "{ended:#}");
    assert_eq!(env.status()["state"], "ended");
    let next = env.json(["eval", "-n", "py", "'x' in dir()"]);
    assert_eq!((&next["data"]["value"], &next["data"]["generation"]), (&"False".into(), &2.into()));
}

#[test]
fn o6_output_of_a_session_is_that_of_its_last_eval() {
    let env = TestEnv::new(STEAD);
    env.value("print('first')");
    env.value("print('second')\n7");
    env.run(["clear", "py"]);
    let read = env.json(["output", "py"]);
    assert_eq!(read["data"]["eval_id"], "py:2", "{read:#}");
    assert_eq!(chunks(&read), [("out", "second\n"), ("value", "7")], "{read:#}");
    assert_eq!(env.run(["output", "py", "--grep", "sec", "--text"]).stdout, "1:second\n");
    assert_eq!(env.run(["launch", "-l", "python", "-n", "fresh"]).code, Some(0));
    refused(&env.run(["output", "fresh"]), "output", "eval_not_found");
}

#[test]
fn c7_launch_takes_its_language_by_option_too() {
    let env = TestEnv::new(STEAD);
    let launched = env.json(["launch", "-l", "bash", "-n", "build"]);
    assert_eq!(launched["data"]["language"], "bash", "{launched:#}");
    refused(&env.run(["launch", "python", "-l", "bash", "-n", "two"]), "launch", "bad_request");
}

#[test]
fn c6_shell_and_run_can_exit_as_the_code_did() {
    let env = TestEnv::new(STEAD);
    let code = |arguments: &[&str]| env.run(arguments).code.unwrap();
    assert_eq!(code(&["shell", "exit 7"]), 1);
    assert_eq!(code(&["shell", "--exit-code", "exit 7"]), 7);
    assert_eq!(code(&["shell", "--exit-code", "true"]), 0);
    assert_eq!(code(&["shell", "--exit-code", "kill -9 $$"]), 137);
    assert_eq!(code(&["shell", "--exit-code", "--text", "no-such-program-here"]), 127);
    assert_eq!(code(&["run", "python", "--exit-code", "import sys; sys.exit(5)"]), 5);
    assert_eq!(code(&["run", "python", "--exit-code", "1/0"]), 1);
    assert_eq!(code(&["run", "python", "--exit-code", "1"]), 0);
    assert_eq!(code(&["shell", "--exit-code", "--cwd", "/no/such", "true"]), 2);
}

#[test]
fn o6_the_last_lines_have_the_error_below_them() {
    let env = TestEnv::new(STEAD);
    env.eval("for n in range(9): print(n)\nraise ValueError('at the end')");
    let ran = env.run(["output", "py:1", "--tail", "2", "--text"]);
    assert_eq!(ran.stdout, "7\n8\n", "{ran:?}");
    assert!(ran.stderr.ends_with("ValueError: at the end\n"), "{ran:?}");
    let reply = env.json(["output", "py:1", "--tail", "2"]);
    let kinds: Vec<&str> = chunks(&reply).into_iter().map(|(kind, _)| kind).collect();
    assert_eq!(kinds, ["out", "error"], "{reply:#}");
}

#[test]
fn c10_one_of_a_thing_is_not_called_several() {
    let env = TestEnv::new(STEAD);
    env.value("1");
    let told = env.run(["doctor", "--text"]).stdout;
    assert!(told.contains(", 1 session, 1 of them live"), "{told}");
    let none = env.run(["gc", "--text"]).stdout;
    assert!(none.contains("0 sessions"), "{none}");
}

#[test]
fn e13_names_of_a_busy_session_are_those_that_results_told() {
    let env = TestEnv::new(STEAD);
    env.value("old = 1");
    assert_eq!(env.json(["restart", "py"])["ok"], true);
    env.value("kept, gone, typed = [1, 2], 2, 3");
    env.value("del gone; typed = 'text'");
    let gate = Gate::new(&env, "gate");
    let code = format!("print('up', flush=True)\nlater = 1\n{}", gate.code());
    env.json(["eval", "-n", "py", "--bg", &code]);
    wait_for("the eval", || wrote(&env.json(["output", "py:4"]), "out") == "up\n");
    let reply = env.json(["vars", "py"]);
    let vars = reply["data"]["vars"].as_array().unwrap();
    let known: Vec<(&str, &str)> = vars
        .iter()
        .map(|var| (var["name"].as_str().unwrap(), var["type"].as_str().unwrap()))
        .collect();
    assert_eq!(known, [("kept", "list"), ("typed", "str")], "{reply:#}");
    let notice = reply["data"]["notice"].as_str().unwrap();
    assert!(notice.contains("`py:4`") && notice.contains("finished evals"), "{reply:#}");
    let text = env.run(["vars", "py", "--text"]).stdout;
    assert!(text.contains("kept") && text.contains("[the session runs `py:4`"), "{text}");
    gate.open();
    env.json(["output", "py:4", "--wait", "60s"]);
    env.json(["clear", "py"]);
    let again = env.json(["vars", "py"]);
    assert!(again["data"].get("notice").is_none(), "{again:#}");
    env.value("fresh = 1");
    let second = Gate::new(&env, "second");
    let code = format!("print('up', flush=True)\n{}", second.code());
    env.json(["eval", "-n", "py", "--bg", &code]);
    wait_for("the eval", || wrote(&env.json(["output", "py"]), "out") == "up\n");
    let reply = env.json(["vars", "py"]);
    assert_eq!(reply["data"]["vars"][0]["name"], "fresh", "{reply:#}");
    assert_eq!(reply["data"]["vars"].as_array().unwrap().len(), 1, "{reply:#}");
    second.open();
}

#[test]
fn s1_in_a_nested_repository_the_workspace_around_it_is_named() {
    let env = TestEnv::new(STEAD);
    std::fs::create_dir(env.workspace().join(".stead")).unwrap();
    let nested = env.workspace().join("vendor/inner");
    std::fs::create_dir_all(nested.join(".git")).unwrap();
    env.json(["eval", "-n", "data", "-l", "python", "1"]);
    let inside = |arguments: &[&str]| -> Ran {
        env.command(arguments).current_dir(&nested).output().unwrap().into()
    };
    let around = env.workspace().canonicalize().unwrap();
    for arguments in [&["status", "data"][..], &["eval", "-n", "data", "1"], &["status"]] {
        let reply = refused(&inside(arguments), arguments[0], "session_not_found");
        let hint = reply["error"]["hint"].as_str().unwrap();
        let flag = format!("--workspace {}`", around.display());
        assert!(hint.contains(&flag), "{arguments:?}: {reply:#}");
    }
    let other = refused(&inside(&["status", "nope"]), "status", "session_not_found");
    assert!(!other["error"]["hint"].as_str().unwrap().contains("--workspace"), "{other:#}");
    let there = inside(&["status", "data", "--workspace", around.to_str().unwrap()]);
    assert_eq!(there.code, Some(0), "{there:?}");
}
