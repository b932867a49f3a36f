//! C: how commands answer, by which words they are called, and what their exit codes say.

use std::process::Stdio;

use serde_json::Value;
use stead_testkit::{Ran, ReadLines, Terminal, TestEnv, wait_for};

use crate::STEAD;
use crate::gate::Gate;
use crate::talk::without_spinner;

#[track_caller]
pub(crate) fn refused(ran: &Ran, command: &str, code: &str) -> Value {
    let reply = ran.json();
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert_eq!(reply["ok"], false, "{reply:#}");
    assert_eq!(reply["command"], command, "{reply:#}");
    assert_eq!(reply["status"], "error", "{reply:#}");
    assert_eq!(reply["error"]["code"], code, "{reply:#}");
    assert!(!reply["error"]["message"].as_str().unwrap().is_empty(), "{reply:#}");
    reply
}

/// The output of a reply's chunks of one kind.
fn text_of(reply: &Value, kind: &str) -> String {
    let chunks = reply["data"]["chunks"].as_array().unwrap_or_else(|| panic!("{reply:#}"));
    chunks.iter().filter(|c| c["type"] == kind).filter_map(|c| c["content"].as_str()).collect()
}

#[test]
fn c2_without_a_name_the_only_session_is_used_else_they_are_listed() {
    let env = TestEnv::new(STEAD);
    let none = env.run(["status"]);
    let reply = refused(&none, "status", "session_not_found");
    assert!(reply["error"]["hint"].as_str().unwrap().contains("stead eval -n py"), "{reply:#}");

    env.value("x = 1");
    let only = env.json(["eval", "x + 1"]);
    assert_eq!(only["data"]["value"], "2", "{only:#}");
    assert_eq!(env.json(["status"])["data"]["name"], "py");

    assert_eq!(env.run(["eval", "-n", "two", "-l", "python", "1"]).code, Some(0));
    for command in [
        &["status"][..],
        &["vars"],
        &["restart"],
        &["clear"],
        &["stop"],
        &["evals"],
        &["logs"],
        &["pause"],
        &["interrupt"],
        &["input", "x"],
        &["inspect", "x"],
    ] {
        let reply = refused(&env.run(command), command[0], "session_not_found");
        let hint = reply["error"]["hint"].as_str().unwrap();
        assert!(hint.contains("py, two") && hint.contains("-n"), "{reply:#}");
    }
    let unknown = refused(&env.run(["eval", "-n", "nope", "1"]), "eval", "session_not_found");
    assert!(unknown["error"]["hint"].as_str().unwrap().contains("py, two"), "{unknown:#}");
    assert!(unknown["error"]["hint"].as_str().unwrap().contains("-l"), "{unknown:#}");
}

#[test]
fn c2_a_session_is_named_by_an_argument_too() {
    let env = TestEnv::new(STEAD);
    env.value("x = 1");
    assert_eq!(env.run(["eval", "-n", "two", "-l", "python", "1"]).code, Some(0));
    let verbs = [
        "status",
        "logs",
        "interrupt",
        "pause",
        "resume",
        "vars",
        "evals",
        "clear",
        "restart",
        "stop",
    ];
    for verb in verbs {
        let twice = env.run([verb, "py", "-n", "py"]);
        refused(&twice, verb, "bad_request");
        refused(&env.run([verb, "nope"]), verb, "session_not_found");
        let ran = env.run([verb, "py"]);
        assert_eq!(ran.code, Some(0), "{verb}: {ran:?}");
        let data = &ran.json()["data"];
        let (tells, expected) = match verb {
            "status" => (&data["name"], "py"),
            "vars" => (&data["vars"][0]["name"], "x"),
            _ => (&data["session"], "py"),
        };
        assert_eq!(tells, expected, "{verb}: {ran:?}");
    }
    refused(&env.run(["stop", "two", "--all"]), "stop", "bad_request");
    let left = env.json(["ls"]);
    assert_eq!(left["data"]["sessions"].as_array().unwrap().len(), 1, "{left:#}");
    assert_eq!(left["data"]["sessions"][0]["name"], "two", "{left:#}");
}

#[test]
fn c3_every_reply_is_one_object_of_the_same_shape() {
    let env = TestEnv::new(STEAD);
    let runs: [(&[&str], &str); 16] = [
        (&["launch", "python", "-n", "py"], "complete"),
        (&["eval", "-n", "py", "x = 1"], "complete"),
        (&["output", "py:1"], "complete"),
        (&["evals", "-n", "py"], "complete"),
        (&["ls"], "complete"),
        (&["ls", "--all"], "complete"),
        (&["status", "-n", "py"], "complete"),
        (&["vars", "-n", "py"], "complete"),
        (&["inspect", "-n", "py", "x"], "complete"),
        (&["interrupt", "-n", "py"], "complete"),
        (&["pause", "-n", "py"], "complete"),
        (&["resume", "-n", "py"], "complete"),
        (&["clear", "-n", "py"], "complete"),
        (&["restart", "-n", "py"], "complete"),
        (&["logs", "-n", "py"], "complete"),
        (&["stop", "-n", "py"], "complete"),
    ];
    for (arguments, status) in runs {
        let ran = env.run(arguments);
        let command = arguments[0];
        assert_eq!(ran.code, Some(0), "{arguments:?}: {ran:?}");
        let begin = format!(r#"{{"ok":true,"command":"{command}","status":"{status}","data":{{"#);
        assert!(ran.stdout.starts_with(&begin), "{arguments:?}: {ran:?}");
        assert_eq!(ran.stdout.lines().count(), 1, "{ran:?}");
        assert_eq!(ran.stderr, "", "{arguments:?}");
        ran.json();
    }
    let refusals: [(&[&str], &str, &str); 8] = [
        (&["nonsense"], "nonsense", "bad_request"),
        (&["eval", "--nonsense"], "eval", "bad_request"),
        (&["eval", "-n", "A", "1"], "eval", "bad_request"),
        (&["output", "nope"], "output", "session_not_found"),
        (&["output", "A"], "output", "bad_request"),
        (&["output", "py:99"], "output", "eval_not_found"),
        (&["status", "-n", "other"], "status", "session_not_found"),
        (&["launch", "cobol", "-n", "c"], "launch", "bad_request"),
    ];
    for (arguments, command, code) in refusals {
        let reply = refused(&env.run(arguments), command, code);
        assert!(reply["error"]["hint"].is_string(), "{arguments:?}: {reply:#}");
    }
}

#[test]
fn c3_json_on_a_pipe_and_text_on_a_terminal() {
    let env = TestEnv::new(STEAD);
    let (code, shown) = Terminal::run(env.command(["eval", "-n", "py", "6 * 7"])).finish();
    assert_eq!((code, without_spinner(&shown).as_str()), (Some(0), "42\r\n"));
    let (_, shown) = Terminal::run(env.command(["eval", "-n", "py", "--json", "6 * 7"])).finish();
    assert!(shown.starts_with(r#"{"ok":true,"command":"eval""#), "{shown:?}");
    assert_eq!(env.run(["eval", "-n", "py", "--text", "6 * 7"]).stdout, "42\n");
    assert!(env.run(["--text", "eval", "-n", "py", "6 * 7"]).stdout == "42\n");
    let (code, shown) = Terminal::run(env.command(["status", "-n", "no"])).finish();
    assert_eq!(code, Some(2));
    assert!(shown.contains("error:\x1b[0m no session named `no`"), "{shown:?}");
    assert!(shown.contains("hint:\x1b[0m "), "{shown:?}");
    let (code, shown) = Terminal::run(env.command(["ls"])).finish();
    assert_eq!(code, Some(0));
    assert!(shown.starts_with("\x1b[1mNAME"), "{shown:?}");
    let both = env.run(["--json", "--text", "ls"]);
    assert_eq!(both.code, Some(2));
}

#[test]
fn c4_an_eval_tells_what_happened_and_leaves_out_what_did_not() {
    let env = TestEnv::new(STEAD);
    let code = "import sys\nprint('one'); print('two', file=sys.stderr)\nx = 1\nx";
    let reply = env.eval(code);
    let data = &reply["data"];
    assert_eq!(data["session"], "py");
    assert_eq!(data["eval_id"], "py:1");
    assert_eq!(data["value"], "1");
    assert_eq!(data["type"], "int");
    assert_eq!(data["generation"], 1);
    assert!(data["duration_ms"].is_u64(), "{reply:#}");
    let kinds: Vec<&str> =
        data["chunks"].as_array().unwrap().iter().map(|c| c["type"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["out", "err", "value"]);
    assert_eq!(text_of(&reply, "out"), "one\n");
    assert_eq!(text_of(&reply, "err"), "two\n");
    let added: Vec<&str> = data["changed"]["added"]
        .as_array()
        .unwrap()
        .iter()
        .map(|c| c["name"].as_str().unwrap())
        .collect();
    assert!(added.contains(&"x"), "{reply:#}");
    for absent in ["error", "prompt", "exit_code", "truncated", "notice", "behind"] {
        assert!(data.get(absent).is_none(), "{absent} in {reply:#}");
    }
    let silent = env.eval("pass");
    assert_eq!(silent["data"].get("value"), Some(&Value::Null), "{silent:#}");
    assert!(silent["data"].get("type").is_none(), "{silent:#}");
    assert!(silent["data"].get("changed").is_none(), "{silent:#}");

    let failed = env.run(["eval", "-n", "py", "1 / 0"]);
    let reply = failed.json();
    assert_eq!(failed.code, Some(1));
    assert_eq!(reply["ok"], false);
    assert_eq!(reply["status"], "error");
    assert_eq!(reply["error"]["code"], "eval_error");
    assert_eq!(reply["data"]["error"]["name"], "ZeroDivisionError");
    assert_eq!(reply["data"]["error"]["message"], "division by zero");
    let trace = reply["data"]["error"]["traceback"].as_str().unwrap();
    assert!(trace.starts_with("Traceback") && trace.contains("1 / 0"), "{trace}");
}

#[test]
fn c6_exit_codes_tell_success_failure_refusal_and_hard_timeout() {
    let env = TestEnv::new(STEAD);
    let code = |arguments: &[&str]| env.run(arguments).code.unwrap();
    assert_eq!(code(&["eval", "-n", "py", "1"]), 0);
    assert_eq!(code(&["eval", "-n", "py", "raise ValueError"]), 1);
    assert_eq!(code(&["eval", "-n", "py", "import sys; sys.exit(7)"]), 1);
    assert_eq!(code(&["eval", "-n", "py", "import sys; sys.exit(0)"]), 0);
    assert_eq!(code(&["eval", "-n", "nope", "1"]), 2);
    assert_eq!(code(&["nonsense"]), 2);
    assert_eq!(code(&["eval", "-n", "py", "--timeout", "0", "while True: pass"]), 0);
    assert_eq!(code(&["eval", "-n", "py", "--timeout", "0", "1"]), 0, "queued");
    assert_eq!(code(&["interrupt", "-n", "py"]), 0);
    let waiting = env.run(["eval", "-n", "py", "input('name? ')"]);
    assert_eq!((waiting.code, &waiting.json()["status"]), (Some(0), &"waiting_input".into()));
    let refused = env.run(["eval", "-n", "py", "1"]);
    assert_eq!(
        (refused.code, &refused.json()["error"]["code"]),
        (Some(2), &"waiting_input".into())
    );
    let answered = env.run(["input", "-n", "py", "Ada"]);
    assert_eq!((answered.code, &answered.json()["data"]["value"]), (Some(0), &"'Ada'".into()));
    let ended = env.run(["eval", "-n", "py", "import os; os._exit(3)"]);
    assert_eq!((ended.code, &ended.json()["status"]), (Some(1), &"ended".into()));
    assert_eq!(ended.json()["error"]["code"], "session_ended");
    assert_eq!(ended.json()["data"]["exit_code"], 3);
}

#[test]
fn e3_a_hard_timeout_interrupts_keeps_the_state_and_says_so() {
    let env = TestEnv::new(STEAD);
    env.value("x = 41");
    let ran = env.run(["eval", "-n", "py", "--hard-timeout", "1s", "x = 42\nwhile True: pass"]);
    let reply = ran.json();
    assert_eq!(ran.code, Some(3), "{reply:#}");
    assert_eq!(reply["status"], "timeout");
    assert_eq!(reply["error"]["code"], "timeout");
    assert_eq!(reply["data"]["outcome"], "interrupted");
    assert!(reply["error"]["message"].as_str().unwrap().contains("state is kept"), "{reply:#}");
    assert_eq!(env.value("x"), "42");
}

#[test]
fn c7_o5_a_stream_has_all_output_and_bounds_only_what_its_last_line_repeats() {
    let env = TestEnv::new(STEAD);
    let code = "print('o' * 500)\n'v' * 500";
    let ran = env.run(["eval", "-n", "py", "--stream", "--max-chars", "20", "--json", code]);
    let lines: Vec<Value> =
        ran.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines[0]["content"], format!("{}\n", "o".repeat(500)), "{ran:?}");
    assert_eq!(lines[1]["content"], format!("'{}'", "v".repeat(500)), "{ran:?}");
    let repeated = lines[2]["data"]["value"].as_str().unwrap();
    assert!(repeated.contains("characters left out"), "{ran:?}");
    for command in ["eval", "run", "shell", "input"] {
        let help = env.run([command, "--help"]).stdout;
        assert!(help.contains("Write output as it comes, all of it"), "{help}");
    }
}

#[test]
fn c7_a_stream_gives_each_chunk_as_it_comes() {
    let env = TestEnv::new(STEAD);
    let gate = Gate::new(&env, "gate");
    let code = format!("import sys\nprint('a')\n{}\nprint('b', file=sys.stderr)\n42", gate.code());
    let mut child = env.spawn(["eval", "-n", "py", "--stream", &code]);
    let lines = ReadLines::of(child.stdout.take().unwrap());
    let line = || -> Value { serde_json::from_str(&lines.next_line().unwrap()).unwrap() };
    assert_eq!(line(), serde_json::json!({"type": "out", "content": "a\n"}));
    // `b` cannot have been written yet: the code waits for the gate.
    gate.open();
    assert_eq!(line(), serde_json::json!({"type": "err", "content": "b\n"}));
    assert_eq!(line(), serde_json::json!({"type": "value", "content": "42"}));
    let done = line();
    assert_eq!(done["type"], "done");
    assert_eq!(done["ok"], true);
    assert_eq!(done["status"], "complete");
    assert_eq!(done["data"]["value"], "42");
    assert_eq!(done["data"]["eval_id"], "py:1");
    assert!(done["data"].get("chunks").is_none(), "{done:#}");
    assert_eq!(lines.next_line(), None);
    assert_eq!(child.wait().unwrap().code(), Some(0));

    let failed = env.run(["eval", "-n", "py", "--stream", "print('x'); 1 / 0"]);
    assert_eq!(failed.code, Some(1));
    let last: Value = serde_json::from_str(failed.stdout.lines().last().unwrap()).unwrap();
    assert_eq!((&last["type"], &last["ok"]), (&"done".into(), &false.into()));
    assert_eq!(last["error"]["code"], "eval_error");
}

#[test]
fn e4_in_the_background_the_id_comes_at_once_and_output_waits() {
    let env = TestEnv::new(STEAD);
    let gate = Gate::new(&env, "gate");
    let code = format!("print('up')\n{}\nprint('end')\n7", gate.code());
    let started = env.json(["eval", "-n", "py", "--bg", &code]);
    assert_eq!(started["status"], "running", "{started:#}");
    assert_eq!(started["data"]["eval_id"], "py:1");
    wait_for("the output", || text_of(&env.json(["output", "py:1"]), "out") == "up\n");
    assert_eq!(env.json(["output", "py:1"])["status"], "running");
    let listed = env.json(["evals", "-n", "py"]);
    assert_eq!(listed["data"]["evals"][0]["status"], "running", "{listed:#}");
    let partial = env.run(["output", "py:1", "--wait", "1ms"]);
    assert_eq!((partial.code, &partial.json()["status"]), (Some(0), &"partial".into()));
    assert_eq!(text_of(&partial.json(), "out"), "up\n");
    let mut waiter = env.spawn(["output", "py:1", "--follow"]);
    let lines = ReadLines::of(waiter.stdout.take().unwrap());
    assert!(lines.next_line().unwrap().contains("up"));
    gate.open();
    assert!(lines.next_line().unwrap().contains("end"));
    assert!(lines.next_line().unwrap().contains(r#""type":"value""#));
    assert!(
        lines.next_line().unwrap().starts_with(r#"{"type":"done","ok":true,"status":"complete""#)
    );
    waiter.wait().unwrap();
    let reply = env.json(["output", "py:1", "--wait", "60s"]);
    assert_eq!((&reply["status"], &reply["data"]["value"]), (&"complete".into(), &"7".into()));
    assert_eq!(text_of(&reply, "out"), "up\nend\n");
}

#[test]
fn e2_when_the_timeout_passes_the_code_goes_on() {
    let env = TestEnv::new(STEAD);
    let gate = Gate::new(&env, "gate");
    env.value("x = 1");
    let code = format!("{}\nx = 2\nx", gate.code());
    let partial = env.run(["eval", "-n", "py", "--timeout", "1ms", &code]);
    assert_eq!(partial.code, Some(0));
    assert_eq!(partial.json()["ok"], true);
    assert_eq!(partial.json()["status"], "partial");
    assert_eq!(partial.json()["data"]["eval_id"], "py:2");
    gate.open();
    let whole = env.json(["output", "py:2", "--wait", "60s"]);
    assert_eq!((&whole["status"], &whole["data"]["value"]), (&"complete".into(), &"2".into()));
}

#[test]
fn e1_a_second_eval_is_queued_behind_the_first_or_refused() {
    let env = TestEnv::new(STEAD);
    let gate = Gate::new(&env, "gate");
    env.json(["eval", "-n", "py", "--bg", &gate.code()]);
    let queued = env.json(["eval", "-n", "py", "--timeout", "0", "2"]);
    assert_eq!(queued["status"], "queued", "{queued:#}");
    assert_eq!(queued["data"]["behind"], "py:1", "{queued:#}");
    let queued = env.json(["eval", "-n", "py", "--bg", "3"]);
    assert_eq!((&queued["status"], &queued["data"]["behind"]), (&"queued".into(), &"py:2".into()));
    let busy = env.run(["eval", "-n", "py", "--no-queue", "4"]);
    let reply = refused(&busy, "eval", "session_busy");
    assert!(reply["error"]["message"].as_str().unwrap().contains("`py:1`"), "{reply:#}");
    assert!(reply["error"]["hint"].as_str().unwrap().contains("stead output py:1"), "{reply:#}");
    let reading = env.json(["output", "py:2"]);
    assert_eq!(
        (&reading["status"], &reading["data"]["behind"]),
        (&"queued".into(), &"py:1".into())
    );
    gate.open();
    assert_eq!(env.json(["output", "py:3", "--wait", "60s"])["data"]["value"], "3");
}

#[test]
fn e12_a_key_of_an_eval_that_is_over_tells_its_outcome_in_the_background_too() {
    let env = TestEnv::new(STEAD);
    env.json(["eval", "-n", "py", "--key", "k", "1/0"]);
    let reply = env.json(["eval", "-n", "py", "--key", "k", "--bg", "1/0"]);
    assert_eq!(reply["status"], "error", "{reply:#}");
    assert_eq!(reply["data"]["eval_id"], "py:1", "{reply:#}");
    assert_eq!(reply["data"]["error"]["name"], "ZeroDivisionError", "{reply:#}");
}

#[test]
fn e12_the_same_key_returns_the_first_result() {
    let env = TestEnv::new(STEAD);
    env.value("n = 0");
    let first = env.json(["eval", "-n", "py", "--key", "k1", "n += 1; n"]);
    assert_eq!(first["data"]["value"], "1");
    let again = env.json(["eval", "-n", "py", "--key", "k1", "n += 1; n"]);
    assert_eq!(again["data"]["value"], "1", "{again:#}");
    assert_eq!(again["data"]["eval_id"], first["data"]["eval_id"]);
    assert!(again["data"]["notice"].as_str().unwrap().contains("key"), "{again:#}");
    assert_eq!(env.value("n"), "1");
}

#[test]
fn c7_code_comes_by_argument_file_or_standard_input() {
    let env = TestEnv::new(STEAD);
    let value = |ran: Ran| ran.json()["data"]["value"].clone();
    assert_eq!(value(env.run(["eval", "-n", "py", "1 + 1"])), "2");
    assert_eq!(value(env.run(["eval", "-n", "py", "--", "-1"])), "-1");
    assert_eq!(value(env.run(["eval", "-n", "py", "--", "--help"])), Value::Null);
    std::fs::write(env.workspace().join("code.py"), "20 + 1\n").unwrap();
    assert_eq!(value(env.run(["eval", "-n", "py", "--file", "code.py"])), "21");
    assert_eq!(value(env.run(["eval", "-n", "py", "-f", "code.py"])), "21");
    assert_eq!(value(env.run_with(["eval", "-n", "py", "-"], b"30 + 1")), "31");
    assert_eq!(value(env.run_with(["eval", "-n", "py"], b"40 + 1\n")), "41");
    let missing = env.run(["eval", "-n", "py", "--file", "none.py"]);
    let reply = refused(&missing, "eval", "bad_request");
    assert!(reply["error"]["message"].as_str().unwrap().contains("none.py"), "{reply:#}");
    assert_eq!(env.run(["eval", "-n", "py", "--file", "code.py", "1"]).code, Some(2));
    let (code, shown) = Terminal::run(env.command(["eval", "-n", "py"])).finish();
    assert_eq!(code, Some(2));
    assert!(shown.contains("no code was given") && shown.contains("--file"), "{shown}");
}

#[test]
fn c8_durations_are_milliseconds_unless_they_say_so() {
    let env = TestEnv::new(STEAD);
    for good in ["500", "500ms", "30s", "5m", "2h", "1.5s"] {
        let ran = env.run(["eval", "-n", "py", "--timeout", good, "1"]);
        assert_eq!(ran.code, Some(0), "{good}: {ran:?}");
    }
    for bad in ["", "x", "-1", "1d", "1 s", "5 m", "1e3", "inf", "99999999999999999999999h"] {
        let reply = refused(
            &env.run(["eval", "-n", "py", &format!("--timeout={bad}"), "1"]),
            "eval",
            "bad_request",
        );
        let message = reply["error"]["message"].as_str().unwrap();
        assert!(message.contains("--timeout"), "{bad}: {message}");
    }
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let env = TestEnv::new(STEAD);
    env.value("1");
    let mut command =
        env.command(["eval", "-n", "py", "--raw", "for n in range(300000): print(n)"]);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    assert!(output.status.code().is_some(), "{:?}", output.status);
    assert_eq!(env.value("n"), "299999");
}

#[test]
fn st1_vars_and_inspect_tell_about_names() {
    let env = TestEnv::new(STEAD);
    env.value("x = [1, 2, 3]\ndef f(a, b=2):\n  'Adds.'\n  return a + b");
    let vars = env.json(["vars", "-n", "py"]);
    let names: Vec<&str> = vars["data"]["vars"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|v| v["name"].as_str())
        .collect();
    assert_eq!(names, ["x", "f"], "{vars:#}");
    let list = &vars["data"]["vars"][0];
    assert_eq!((&list["type"], &list["value"]), (&"list".into(), &"[1, 2, 3]".into()), "{list:#}");
    let f = env.json(["inspect", "-n", "py", "f"]);
    assert!(f["data"]["doc"].as_str().unwrap().contains("Adds."), "{f:#}");
    assert!(f["data"]["source"].as_str().unwrap().contains("return a + b"), "{f:#}");
    let text = env.run(["inspect", "-n", "py", "--text", "f"]).stdout;
    assert!(text.contains("Adds.") && text.contains("return a + b"), "{text}");
    let missing = env.run(["inspect", "-n", "py", "nope"]);
    let reply = refused(&missing, "inspect", "bad_request");
    assert!(reply["error"]["message"].as_str().unwrap().contains("nope"), "{reply:#}");
}

#[test]
fn e4_evals_lists_what_ran_also_after_the_session_was_stopped() {
    let env = TestEnv::new(STEAD);
    env.eval("x = 1");
    env.eval("1 / 0");
    let check = || {
        let listed = env.json(["evals", "-n", "py"]);
        let evals = listed["data"]["evals"].as_array().unwrap();
        assert_eq!(evals.len(), 2, "{listed:#}");
        assert_eq!(
            (&evals[0]["eval_id"], &evals[0]["status"]),
            (&"py:1".into(), &"complete".into())
        );
        assert_eq!((&evals[1]["eval_id"], &evals[1]["status"]), (&"py:2".into(), &"error".into()));
        assert_eq!(evals[0]["code"], "x = 1");
        assert_eq!(evals[0]["by"], "cli");
        assert!(evals[0]["duration_ms"].is_u64(), "{listed:#}");
    };
    check();
    let last = env.json(["evals", "-n", "py", "--limit", "1"]);
    assert_eq!(last["data"]["evals"][0]["eval_id"], "py:2");
    env.run(["stop", "-n", "py"]);
    check();
}

#[test]
fn u5_doctor_finds_nothing_wrong_here_and_leaves_nothing() {
    let env = TestEnv::new(STEAD);
    let ran = env.run(["doctor"]);
    let reply = ran.json();
    assert_eq!(ran.code, Some(0), "{reply:#}");
    let checks = reply["data"]["checks"].as_array().unwrap();
    assert!(checks.len() >= 5 && checks.iter().all(|check| check["ok"] == true), "{reply:#}");
    assert_eq!(env.json(["ls", "--all"])["data"]["sessions"], serde_json::json!([]));
    assert!(env.processes().is_empty());

    let mut broken = env.command(["doctor"]);
    broken.env("STEAD_RUNTIME_DIR", "/proc/nope").env("PATH", "/nonexistent");
    let output = broken.output().unwrap();
    let reply: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((output.status.code(), &reply["ok"]), (Some(2), &false.into()), "{reply:#}");
    for check in reply["data"]["checks"].as_array().unwrap() {
        assert!(check["ok"] == true || check["fix"].is_string(), "{check:#}");
    }
}

#[test]
fn e6_interrupts_work_whatever_signals_the_first_client_ignored() {
    let env = TestEnv::new(STEAD);
    let code = "import signal; signal.pthread_sigmask(0, [])";
    let mut command = env.after("trap '' INT HUP TERM CHLD", &["eval", "-n", "py", code]);
    let reply = Ran::from(command.output().unwrap()).json();
    assert_eq!(reply["data"]["value"], "set()", "no signal is blocked: {reply:#}");
    assert_eq!(env.value("signal.getsignal(signal.SIGTERM) == signal.SIG_DFL"), "True");
    let stopped =
        env.run(["eval", "-n", "py", "--hard-timeout", "100ms", "while True: pass"]).json();
    assert_eq!(stopped["data"]["outcome"], "interrupted", "{stopped:#}");
}

#[test]
fn e8_input_that_nobody_waits_for_is_refused() {
    let env = TestEnv::new(STEAD);
    env.value("1");
    let nobody = refused(&env.run(["input", "-n", "py", "x"]), "input", "bad_request");
    assert!(nobody["error"]["message"].as_str().unwrap().contains("nothing waits"), "{nobody:#}");
    let none = refused(&env.run(["input", "-n", "py"]), "input", "bad_request");
    assert!(none["error"]["message"].as_str().unwrap().contains("--eof"), "{none:#}");
    let waiting = env.json(["eval", "-n", "py", "a = input('a? '); b = input('b? '); a + b"]);
    assert_eq!(
        (&waiting["status"], &waiting["data"]["prompt"]),
        (&"waiting_input".into(), &"a? ".into())
    );
    assert_eq!(env.json(["output", "py:2"])["status"], "waiting_input");
    let other = refused(&env.run(["input", "py:1", "x"]), "input", "bad_request");
    assert!(other["error"]["message"].as_str().unwrap().contains("`py:1`"), "{other:#}");
    let second = env.json(["input", "py:2", "x"]);
    assert_eq!(
        (&second["status"], &second["data"]["prompt"]),
        (&"waiting_input".into(), &"b? ".into())
    );
    let end = env.json(["input", "-n", "py", "--eof"]);
    assert_eq!(end["data"]["error"]["name"], "EOFError", "{end:#}");
}

#[test]
fn s11_who_has_no_interpreter_is_told_to_install_or_name_one() {
    let env = TestEnv::new(STEAD);
    let mut command = env.command(["eval", "-n", "py", "1"]);
    let ran = Ran::from(command.env("PATH", "/nonexistent").output().unwrap());
    let error = &ran.json()["error"];
    assert_eq!(error["code"], "launch_failed", "{error:#}");
    assert_eq!(
        error["hint"],
        "install `python3`, or name one: `stead launch python -n py --interpreter PATH`"
    );
}
