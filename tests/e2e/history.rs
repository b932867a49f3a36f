//! E-16: the whole code of every kept eval can be read back, with who ran it, when, how it ended and what it changed.

use serde_json::Value;
use stead_testkit::{TestEnv, wait_for};

use crate::STEAD;
use crate::processes::kill;
use crate::talk::{submit, until, wait_for_file};

fn history(env: &TestEnv, arguments: &[&str]) -> Value {
    let mut all = vec!["history"];
    all.extend(arguments);
    env.json(all)
}

fn evals(reply: &Value) -> Vec<Value> {
    reply["data"]["evals"].as_array().cloned().unwrap_or_else(|| panic!("{reply:#}"))
}

/// A session with a past of two generations: `py:1` to `py:5`.
fn with_past() -> TestEnv {
    let env = TestEnv::new(STEAD);
    let code = "def area(r):\n    # ünïcode\n    return 3 * r\n\nx = [area(1)]";
    assert_eq!(env.eval(code)["status"], "complete");
    let mut named = env.command(["eval", "-n", "py", "--key", "k-7", "--", "del x\n1/0"]);
    named.env("STEAD_BY", "ada");
    assert!(named.output().is_ok());
    env.json(["clear", "-n", "py"]);
    submit(&env, &format!("open('up', 'w').close()\n{}", until("never")));
    wait_for_file(&env, "up");
    env.json(["restart", "-n", "py"]);
    env.value("41 + 1");
    env
}

#[track_caller]
fn past_is_whole(env: &TestEnv) {
    let reply = history(env, &["-n", "py"]);
    assert_eq!(reply["data"]["session"], "py", "{reply:#}");
    let all = evals(&reply);
    let field = |name: &str| all.iter().map(|eval| eval[name].clone()).collect::<Vec<_>>();
    assert_eq!(field("eval_id"), ["py:1", "py:2", "py:3", "py:4", "py:5"], "{reply:#}");
    assert_eq!(
        field("status"),
        ["complete", "error", "complete", "ended", "complete"],
        "{reply:#}"
    );
    assert_eq!(field("by"), ["cli", "ada", "cli", "cli", "cli"], "{reply:#}");
    assert_eq!(field("generation"), [1, 1, 1, 1, 2], "{reply:#}");
    assert_eq!(all[0]["code"], "def area(r):\n    # ünïcode\n    return 3 * r\n\nx = [area(1)]");
    assert_eq!(all[0]["changed"]["added"][1]["name"], "x", "{reply:#}");
    assert_eq!(all[2]["kind"], "clear", "{reply:#}");
    for eval in &all {
        let at = |name: &str| eval[name].as_u64().unwrap_or_else(|| panic!("{name}: {eval:#}"));
        assert!(at("accepted_ms") <= at("started_ms"), "{eval:#}");
        assert!(at("started_ms") <= at("finished_ms"), "{eval:#}");
    }
    let one = history(env, &["py:2"]);
    assert_eq!(one["ok"], true, "{one:#}");
    assert_eq!(one["status"], "error", "{one:#}");
    assert_eq!(one["data"]["code"], "del x\n1/0", "{one:#}");
    assert_eq!(one["data"]["by"], "ada", "{one:#}");
    assert_eq!(one["data"]["key"], "k-7", "{one:#}");
    assert_eq!(one["data"]["error"]["name"], "ZeroDivisionError", "{one:#}");
    assert_eq!(one["data"]["changed"]["removed"][0], "x", "{one:#}");
    assert_eq!(history(env, &["-n", "py", "2"])["data"], one["data"]);
    let text = env.run(["history", "py:2", "--text"]).stdout;
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[0].starts_with("py:2 error in "), "{text}");
    assert!(lines[0].ends_with(": ZeroDivisionError: division by zero"), "{text}");
    assert!(lines[1].starts_with("by ada, 20") && lines[1].contains(" UTC ("), "{text}");
    assert!(lines[1].ends_with(", generation 1"), "{text}");
    assert_eq!(lines[2..], ["changed -x", "key k-7", "", "del x", "1/0"], "{text}");
    assert_eq!(env.run(["history", "py:2", "--raw"]).stdout, "del x\n1/0");
}

#[test]
fn e16_what_ran_is_read_back_over_generations_and_after_the_end() {
    let env = with_past();
    past_is_whole(&env);
    env.json(["stop", "-n", "py"]);
    past_is_whole(&env);
}

#[test]
fn e16_the_list_is_for_people_and_has_the_newest_last() {
    let env = with_past();
    let text = env.run(["history", "py", "--limit", "4", "--text"]).stdout;
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 5, "{text}");
    let heads = ["ID", "BY", "SENT", "GEN", "ENDED", "TOOK", "CHANGED", "CODE"];
    assert_eq!(lines[0].split_whitespace().collect::<Vec<_>>(), heads, "{text}");
    assert!(lines[1].starts_with("py:2  ada") && lines[1].ends_with("-x       del x…"), "{text}");
    assert!(lines[2].ends_with("[clear]"), "{text}");
    assert!(lines[4].starts_with("py:5  cli") && lines[4].ends_with("41 + 1"), "{text}");
}

#[test]
fn e16_evals_of_a_killed_host_and_ones_that_run_are_told_as_they_stand() {
    let env = TestEnv::new(STEAD);
    env.value("1");
    submit(&env, &format!("open('up', 'w').close()\n{}", until("never")));
    submit(&env, "2");
    wait_for_file(&env, "up");
    let all = evals(&history(&env, &["py"]));
    assert_eq!((&all[1]["status"], &all[2]["status"]), (&"running".into(), &"queued".into()));
    assert_eq!(history(&env, &["py:3"])["status"], "queued");
    let text = env.run(["history", "py:2", "--text"]).stdout;
    assert!(text.starts_with("py:2 running\nby cli, "), "{text}");
    kill(env.host_pid());
    wait_for("the host to be gone", || env.status()["state"] == "ended");
    let one = history(&env, &["py:2"]);
    assert_eq!((&one["status"], &one["data"]["outcome"]), (&"ended".into(), &"host_died".into()));
    let all = evals(&history(&env, &["py"]));
    assert_eq!(all[1]["outcome"], "host_died", "{all:#?}");
    assert!(env.run(["history", "py:2", "--text"]).stdout.starts_with("py:2 host_died: "));
}

#[test]
fn e16_shell_commands_and_runs_have_a_history_too() {
    let env = TestEnv::new(STEAD);
    env.json(["shell", "echo hi\nexit 3"]);
    let one = history(&env, &["shell:1"]);
    assert_eq!(one["data"]["code"], "echo hi\nexit 3", "{one:#}");
    assert_eq!(one["data"]["exit_code"], 3, "{one:#}");
    let run = env.json(["run", "python", "a = 1\nprint(a)"]);
    let id = run["data"]["eval_id"].as_str().unwrap_or_else(|| panic!("{run:#}"));
    assert_eq!(history(&env, &[id])["data"]["code"], "a = 1\nprint(a)");
}

#[test]
fn e16_evals_has_the_whole_code_in_json_where_there_is_room() {
    let env = TestEnv::new(STEAD);
    let code = format!("x = 1\n{}", "# a long comment\n".repeat(1000));
    let code = code.trim_end();
    env.eval(code);
    let reply = env.json(["evals", "-n", "py"]);
    assert_eq!(reply["data"]["evals"][0]["code"], code);
    assert_eq!(env.run(["history", "py:1", "--raw"]).stdout, code);
}

#[test]
fn o5_a_list_of_evals_is_bounded_and_says_how_long_cut_code_is() {
    let env = TestEnv::new(STEAD);
    let code = format!("x = 1\n{}", "# a long comment\n".repeat(180_000));
    env.run_with(["eval", "-n", "py", "-"], code.as_bytes());
    env.eval("x + 1");
    let listed = env.run(["evals", "py"]);
    assert!(listed.stdout.chars().count() < 36_000, "{} bytes", listed.stdout.len());
    let all = evals(&listed.json());
    assert_eq!(all[0]["code_bytes"], code.len());
    assert!(all[0]["code"].as_str().unwrap().starts_with("x = 1\n# a long"), "{}", all[0]);
    assert_eq!(all[1]["code"], "x + 1");
    assert!(all[1].get("code_bytes").is_none(), "{}", all[1]);
    assert!(env.run(["evals", "py", "--max-chars", "1000"]).stdout.len() < 2_000);
    assert_eq!(evals(&env.json(["evals", "py", "--full"]))[0]["code"], code);
    assert_eq!(env.run(["history", "py:1", "--raw"]).stdout, code);
}

#[test]
fn o5_a_history_is_bounded_and_says_how_many_evals_are_left_out() {
    let env = TestEnv::new(STEAD);
    let code = format!("x = 1\n{}", "# a long comment\n".repeat(60_000));
    env.run_with(["eval", "-n", "py", "-"], code.as_bytes());
    for number in 1..=30 {
        env.eval(&format!("x = {number}"));
    }
    let listed = env.run(["history", "py", "--limit", "1000"]);
    assert!(listed.stdout.chars().count() < 36_000, "{} bytes", listed.stdout.len());
    let reply = listed.json();
    assert_eq!((evals(&reply).len(), &evals(&reply)[0]["code_bytes"]), (31, &code.len().into()));
    assert!(reply["data"].get("left_out").is_none(), "{:#}", reply["data"]["notice"]);
    for command in ["history", "evals"] {
        let few = env.run([command, "py", "--limit", "1000", "--max-chars", "3000"]);
        assert!(few.stdout.len() < 4_000, "{} bytes", few.stdout.len());
        let data = &few.json()["data"];
        let shown = data["evals"].as_array().unwrap();
        assert_eq!(shown.last().unwrap()["code"], "x = 30");
        let left_out = 31 - shown.len();
        assert_eq!(data["left_out"], left_out, "{data:#}");
        let said = format!(
            "{left_out} older evals are left out: `stead {command} py --limit 1000 --full` lists all"
        );
        assert_eq!(data["notice"], said);
    }
    let all = env.json(["history", "py", "--limit", "1000", "--full"]);
    assert_eq!((evals(&all).len(), &evals(&all)[0]["code"]), (31, &code.as_str().into()));
    // One is told whole, unless that is not wanted.
    assert_eq!(env.json(["history", "py:1"])["data"]["code"], code);
    let short = env.json(["history", "py:1", "--max-chars", "1000"]);
    assert_eq!(short["data"]["code_bytes"], code.len());
    assert_eq!(env.run(["history", "py:1", "--raw"]).stdout, code);
}

#[test]
fn s12_code_that_went_to_make_room_is_said_to_be_gone() {
    let env = TestEnv::new(STEAD);
    let mut launch = env.command(["launch", "python", "-n", "py"]);
    launch.env("STEAD_KEEP_HISTORY", "1000000");
    assert!(launch.output().unwrap().status.success());
    let big = format!("'''{}'''; None", "x".repeat(300_000));
    std::fs::write(env.workspace().join("big.py"), &big).unwrap();
    for _ in 0..8 {
        env.json(["eval", "-n", "py", "--file", "big.py"]);
    }
    let reply = history(&env, &["-n", "py", "--full"]);
    let gone = reply["data"]["gone"].as_u64().unwrap_or_default();
    assert!(gone > 0, "{}", reply["data"]["notice"]);
    assert!(
        reply["data"]["notice"].as_str().unwrap().contains("gone"),
        "{}",
        reply["data"]["notice"]
    );
    assert_eq!(evals(&reply).last().unwrap()["code"], big);
    let lost = env.run(["history", "py:1"]);
    assert_eq!(lost.code, Some(2), "{lost:?}");
    assert!(lost.stdout.contains("is gone"), "{lost:?}");
}

#[test]
fn o7_the_code_of_others_cannot_play_with_the_terminal() {
    let env = TestEnv::new(STEAD);
    env.eval("'\x1b[31mred\x1b[0m \u{202e}'");
    let text = env.run(["history", "py:1", "--text"]).stdout;
    assert!(!text.contains('\x1b') && !text.contains('\u{202e}'), "{text:?}");
    assert_eq!(env.run(["history", "py:1", "--raw"]).stdout, "'\x1b[31mred\x1b[0m \u{202e}'");
}
