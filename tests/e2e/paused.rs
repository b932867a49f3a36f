//! E-10, S-7: what is asked of a session that is paused, or that a signal has stopped, is done or refused, and never waits
//! for time that does not pass.

use serde_json::json;
use stead_testkit::{TestEnv, state_of, wait_for};

use crate::STEAD;
use crate::processes::reply;
use crate::talk::{expect, expect_clean, interrupt, outcome, submit, touch, until, wait_for_file};
use crate::wire::Raw;

/// A session that is paused while it is idle; its exit handler leaves a file.
fn paused() -> TestEnv {
    let env = TestEnv::new(STEAD);
    env.value("__import__('atexit').register(lambda: open('left', 'w').close()) and 1");
    assert_eq!(env.json(["pause", "-n", "py"])["ok"], true);
    env
}

#[test]
fn s7_a_paused_session_is_stopped_in_good_order() {
    let env = paused();
    let stopped = env.json(["stop", "py"]);
    assert_eq!(stopped["ok"], true, "{stopped:#}");
    assert!(env.workspace().join("left").exists(), "its exit handler did not run");
    assert_eq!(env.json(["ls"])["data"]["sessions"].as_array().map(Vec::len), Some(0));
}

#[test]
fn s7_a_paused_session_is_restarted_and_no_longer_paused() {
    let env = paused();
    let restarted = env.json(["restart", "py"]);
    assert_eq!(restarted["ok"], true, "{restarted:#}");
    assert_ne!(env.status()["paused"], true);
    expect_clean(&env);
}

#[test]
fn s7_a_paused_session_is_not_paused_while_it_ends() {
    let env = TestEnv::new(STEAD);
    let code = format!(
        "import atexit; atexit.register(lambda: (open('ends', 'w').close(), {}))",
        until("go")
    );
    env.eval(&code);
    let stop = env.spawn(["stop", "py", "--json"]);
    wait_for_file(&env, "ends");
    let pause = env.json(["pause", "-n", "py"]);
    touch(&env, "go");
    assert_eq!(pause["ok"], false, "{pause:#}");
    let stopped = reply(stop);
    assert_eq!(stopped["ok"], true, "{stopped:#}");
}

#[test]
fn e10_a_question_to_a_paused_session_is_refused_and_says_why() {
    let env = paused();
    let refused = env.json(["inspect", "-n", "py", "x"]);
    assert_eq!(refused["ok"], false, "{refused:#}");
    let error = refused["error"].to_string();
    assert!(error.contains("the session is paused"), "{error}");
    assert!(error.contains("stead resume -n py"), "{error}");
    // Names are known from the record, too.
    let known = env.json(["vars", "-n", "py"]);
    let notice = known["data"]["notice"].as_str().unwrap_or_else(|| panic!("{known:#}"));
    assert!(notice.contains("the session is paused"), "{notice}");
    env.json(["resume", "-n", "py"]);
    assert_eq!(env.json(["vars", "-n", "py"])["ok"], true);
    expect_clean(&env);
}

#[test]
fn e6_an_interrupt_that_has_no_effect_yet_is_answered_when_the_session_is_paused() {
    let env = TestEnv::new(STEAD);
    let code = format!(
        "open('up', 'w').close()
while True:
    try: {}
    except KeyboardInterrupt: open('caught', 'w').close()
    else: break",
        until("go")
    );
    let id = submit(&env, &code);
    wait_for_file(&env, "up");
    let asked = env.spawn(["interrupt", &id, "--json"]);
    wait_for_file(&env, "caught");
    assert_eq!(env.json(["pause", "-n", "py"])["ok"], true);
    let answer = reply(asked);
    assert_eq!(answer["data"]["effect"], "still_running", "{answer:#}");
    touch(&env, "go");
    env.json(["resume", "-n", "py"]);
    expect(&outcome(&env, &id), "complete");
}

#[test]
fn e10_an_interpreter_that_has_stopped_itself_is_let_go_on_by_an_interrupt() {
    let env = TestEnv::new(STEAD);
    let id = stopped_by_itself(&env);
    assert_eq!(interrupt(&env), "interrupted");
    expect(&outcome(&env, &id), "interrupted");
    expect_clean(&env);
}

#[test]
fn e10_resume_says_that_it_has_let_go_on_what_had_stopped_itself() {
    let env = TestEnv::new(STEAD);
    let id = stopped_by_itself(&env);
    assert_eq!(env.status()["paused"], true);
    touch(&env, "go");
    let resumed = env.json(["resume", "-n", "py"]);
    assert_eq!(resumed["ok"], true, "{resumed:#}");
    assert!(resumed["data"].get("already").is_none(), "{resumed:#}");
    expect(&outcome(&env, &id), "complete");
    assert_ne!(env.status()["paused"], true);
}

/// An eval that stops its own interpreter, and would then wait for `go`.
fn stopped_by_itself(env: &TestEnv) -> String {
    let code = format!(
        "open('up', 'w').close()\nimport os, signal\nos.kill(os.getpid(), signal.SIGSTOP)\n{}",
        until("go")
    );
    let id = submit(env, &code);
    wait_for_file(env, "up");
    let interpreter = env.interpreter_pid();
    wait_for("the interpreter to be stopped", || state_of(interpreter) == Some('T'));
    id
}

#[test]
fn s7_a_kill_while_the_session_restarts_says_what_it_did() {
    let env = TestEnv::new(STEAD);
    let code =
        "import atexit, time; atexit.register(lambda: (open('ends', 'w').close(), time.sleep(60)))";
    env.eval(code);
    let restart = env.spawn(["restart", "py", "--json"]);
    wait_for_file(&env, "ends");
    let killed = env.json(["kill", "py"]);
    assert_eq!(killed["ok"], true, "{killed:#}");
    let restarted = reply(restart);
    assert_eq!(restarted["ok"], true, "{restarted:#}");
}

#[test]
fn e17_a_follower_is_told_that_a_pause_ended_with_its_interpreter() {
    let env = TestEnv::new(STEAD);
    env.value("1");
    let mut follower = Raw::greeted(&env, "viewer");
    follower.ask(json!({"op": "follow"}));
    for (verb, paused) in [("pause", true), ("restart", false)] {
        assert_eq!(env.json([verb, "-n", "py"])["ok"], true);
        while follower.event() != json!({"kind": "paused", "paused": paused}) {}
    }
}
