//! What is said of a program that waits, or may: its prompt, its word in replies, who reads first.

use serde_json::Value;
use stead_testkit::{TestEnv, wait_for};

use crate::judge::place;

#[track_caller]
fn eval(env: &TestEnv, session: &str, code: &str) -> Value {
    env.json(["eval", "-n", session, "--timeout", "300s", "--", code])
}

#[test]
fn e8_a_quoted_prompt_is_clean_and_short() {
    let env = place();
    let code = r"import sys
sys.stdout.write('\x1b[2J\x1b[1;1H' + 'x' * 50 + '\x1b[12;1H~\x1b[13;1H\x1b[1mSave\x1b[0m it? '); input()";
    let reply = eval(&env, "py", code);
    assert_eq!(reply["status"], "waiting_input", "{reply:#}");
    assert_eq!(reply["data"]["prompt"].as_str().map(str::trim_end), Some("Save it?"), "{reply:#}");
    let refused = env.json(["eval", "-n", "py", "--", "1"]);
    let message = refused["error"]["message"].as_str().unwrap();
    assert!(message.contains("(\"Save it?") && !message.contains('~'), "{message}");
    let status = env.json(["status", "-n", "py"]);
    let prompt = status["data"]["running"]["prompt"].as_str().unwrap();
    assert_eq!(prompt.trim_end(), "Save it?");
    env.json(["input", "-n", "py", "--", "y"]);
    eval(&env, "py", "input('?' * 900)");
    let refused = env.json(["eval", "-n", "py", "--", "1"]);
    let message = refused["error"]["message"].as_str().unwrap();
    assert!(message.chars().count() < 300, "{message}");
}

#[test]
fn e8_input_behind_a_thread_that_waits_in_input_is_said_to_wait() {
    let env = place();
    let code = "import threading
got = []
t = threading.Thread(target=lambda: got.append(input('first: '))); t.start()";
    assert_eq!(eval(&env, "py", code)["status"], "complete");
    wait_for("the thread's wait", || {
        env.json(["status", "-n", "py"])["data"]["background_waiting"] == true
    });
    let reply = eval(&env, "py", "got.append(input('second: '))");
    assert_eq!(reply["status"], "waiting_input", "{reply:#}");
    let refused = env.json(["eval", "-n", "py", "--", "1"]);
    assert_eq!(refused["error"]["code"], "waiting_input", "{refused:#}");
    // Who asked first is answered first.
    let reply = env.json(["input", "-n", "py", "--", "one"]);
    assert_eq!(reply["status"], "waiting_input", "{reply:#}");
    let reply = env.json(["input", "-n", "py", "--", "two"]);
    assert_eq!(reply["status"], "complete", "{reply:#}");
    let reply = eval(&env, "py", "t.join(); got");
    assert_eq!(reply["data"]["value"], "['one', 'two']", "{reply:#}");
}

#[test]
fn e6_an_interrupt_ends_the_wait_behind_another_thread() {
    let env = place();
    let code = "import threading; t = threading.Thread(target=input, daemon=True); t.start()";
    assert_eq!(eval(&env, "py", code)["status"], "complete");
    wait_for("the thread's wait", || {
        env.json(["status", "-n", "py"])["data"]["background_waiting"] == true
    });
    assert_eq!(eval(&env, "py", "input()")["status"], "waiting_input");
    let reply = env.json(["interrupt", "-n", "py"]);
    assert_eq!(reply["data"]["effect"], "interrupted", "{reply:#}");
    assert_eq!(eval(&env, "py", "1 + 1")["data"]["value"], "2");
}

#[test]
fn e8_a_program_that_may_wait_says_so_and_takes_input() {
    let env = place();
    let code = "read -t 600 x; echo got $x";
    let reply = eval(&env, "sh", code);
    assert_eq!((&reply["status"], &reply["data"]["listens"]), (&"partial".into(), &true.into()));
    let id = reply["data"]["eval_id"].as_str().unwrap();
    let status = env.json(["status", "-n", "sh"]);
    assert_eq!(status["data"]["running"]["listens"], true, "{status:#}");
    let text = env.run(["output", "--text", id]);
    assert!(text.stderr.contains("listens to stdin"), "{text:?}");
    let next = env.json(["eval", "-n", "sh", "--bg", "--", "echo next"]);
    assert_eq!(next["status"], "queued", "{next:#}");
    let reply = env.json(["input", id, "--timeout", "300s", "line"]);
    assert_eq!(reply["status"], "complete", "{reply:#}");
    assert!(reply.to_string().contains("got line"), "{reply:#}");
    let next = next["data"]["eval_id"].as_str().unwrap();
    assert_eq!(env.json(["output", next, "--wait", "300s"])["status"], "complete");
}

#[test]
fn e8_a_call_that_waits_on_is_not_sent_back_again() {
    let env = place();
    let reply = eval(&env, "sh", "read -t 15 x; echo over");
    assert_eq!((&reply["status"], &reply["data"]["listens"]), (&"partial".into(), &true.into()));
    let id = reply["data"]["eval_id"].as_str().unwrap();
    let reply = env.json(["output", id, "--wait", "300s"]);
    assert_eq!(reply["status"], "complete", "{reply:#}");
}

#[test]
fn e8_timers_of_earlier_evals_do_not_keep_a_question_from_waiting() {
    let env = place();
    let left = "setInterval(() => {}, 200); setTimeout(() => {}, 600000); 1";
    assert_eq!(eval(&env, "js", left)["status"], "complete");
    let ask = "await new Promise((r) => process.stdin.once('data', r)); 2";
    assert_eq!(eval(&env, "js", ask)["status"], "waiting_input");
}
