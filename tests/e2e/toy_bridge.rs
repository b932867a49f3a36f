//! A bridge of one's own: any program that speaks docs/PROTOCOL.md becomes a language.

use serde_json::Value;
use stead_testkit::TestEnv;

use crate::STEAD;

const TOY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/e2e/toy_bridge.pl");
const BAD: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/e2e/bad_bridge.pl");

fn launch_toy(env: &TestEnv) {
    let launched = env.json(["launch", "perl", "-n", "toy", "--bridge", TOY]);
    assert_eq!(launched["status"], "complete", "{launched:#}");
    assert_eq!(launched["data"]["language"], "perl");
    assert_eq!(launched["data"]["interpreter"], TOY);
}

#[track_caller]
fn eval(env: &TestEnv, code: &str) -> Value {
    env.json(["eval", "-n", "toy", "--", code])
}

#[test]
fn a_toy_bridge_runs_evals_and_keeps_state() {
    let env = TestEnv::new(STEAD);
    launch_toy(&env);
    assert_eq!(eval(&env, "6 * 7")["data"]["value"], "42");
    eval(&env, "$x = 41; undef");
    assert_eq!(eval(&env, "$x + 1")["data"]["value"], "42");
    let printed = eval(&env, "print qq(to out\\n); print STDERR qq(to err\\n); undef");
    let chunks = printed["data"]["chunks"].as_array().unwrap();
    assert!(chunks.iter().any(|c| c["type"] == "out" && c["content"] == "to out\n"), "{printed:#}");
    assert!(chunks.iter().any(|c| c["type"] == "err" && c["content"] == "to err\n"), "{printed:#}");
    let died = eval(&env, "die qq(no such luck\\n)");
    assert_eq!(died["status"], "error");
    assert_eq!(died["data"]["error"]["message"], "no such luck\n");
    let child = eval(&env, "system 'echo from a child'; undef");
    assert_eq!(child["data"]["chunks"][0]["content"], "from a child\n");
    assert_eq!(eval(&env, "$x")["data"]["value"], "41");
}

#[test]
fn a_toy_bridge_is_found_waiting_for_input_by_the_host_alone() {
    let env = TestEnv::new(STEAD);
    launch_toy(&env);
    let asked = eval(&env, "print 'name? '; my $line = <STDIN>; chomp $line; qq(hello $line)");
    assert_eq!(asked["status"], "waiting_input", "{asked:#}");
    assert_eq!(asked["data"]["prompt"], "name? ");
    let answered = env.json(["input", "-n", "toy", "you"]);
    assert_eq!(answered["data"]["value"], "hello you", "{answered:#}");
}

#[test]
fn a_toy_bridge_can_be_interrupted_and_keeps_its_state() {
    let env = TestEnv::new(STEAD);
    launch_toy(&env);
    eval(&env, "$x = 41; undef");
    for code in ["1 while 1", "sleep 1000", "my $line = <STDIN>"] {
        let started = env.json(["eval", "-n", "toy", "--bg", "--", code]);
        let id = started["data"]["eval_id"].as_str().unwrap();
        let interrupted = env.json(["interrupt", id]);
        assert_eq!(interrupted["ok"], true, "{code}: {interrupted:#}");
        let over = env.json(["output", id, "--wait", "60s"]);
        assert_eq!(over["status"], "interrupted", "{code}: {over:#}");
        assert_eq!(eval(&env, "$x + 1")["data"]["value"], "42");
    }
}

#[test]
fn a_bridge_that_never_gets_ready_is_a_failed_launch_that_says_why() {
    for (bad, said) in [
        ("dies", "the licence has expired"),
        ("version", "version 7"),
        ("garbage first", "Welcome to bad 1.0!"),
    ] {
        let env = TestEnv::new(STEAD);
        let way = format!("BAD={bad}");
        let reply = env.json(["launch", "bad", "-n", "bad", "--bridge", BAD, "--env", &way]);
        assert_eq!(reply["ok"], false, "{bad}: {reply:#}");
        assert_eq!(reply["error"]["code"], "launch_failed", "{bad}: {reply:#}");
        let message = reply["error"]["message"].as_str().unwrap();
        assert!(message.contains(said), "{bad}: {message}");
        // There was no state that could be lost, so the next eval tries to start it again (SPEC S-6).
        let again = env.json(["eval", "-n", "bad", "1"]);
        assert_eq!(again["error"]["code"], "launch_failed", "{bad}: {again:#}");
        assert!(again.to_string().contains(said), "{bad}: {again:#}");
    }
    let env = TestEnv::new(STEAD);
    let reply = env.json(["launch", "bad", "-n", "bad", "--bridge", "./no-such-bridge"]);
    assert_eq!(reply["error"]["code"], "launch_failed", "{reply:#}");
    assert!(reply["error"]["message"].as_str().unwrap().contains("no-such-bridge"), "{reply:#}");
}

#[test]
fn a_bridge_that_breaks_its_protocol_ends_the_session_with_a_reason() {
    for (bad, said) in [
        ("garbage", "broke its protocol"),
        ("no event", "broke its protocol"),
        ("half a line", "exited with code 4"),
        ("wrong done", "`other:99`, which does not run"),
        ("endless line", "a line without end"),
        ("closes", "closed its control channel and lived on"),
    ] {
        let env = TestEnv::new(STEAD);
        let way = format!("BAD={bad}");
        env.json(["launch", "bad", "-n", "bad", "--bridge", BAD, "--env", &way]);
        let reply = env.json(["eval", "-n", "bad", "--timeout", "60s", "--", "1"]);
        assert_eq!(reply["status"], "ended", "{bad}: {reply:#}");
        assert!(reply.to_string().contains(said), "{bad}: {reply:#}");
    }
}

#[test]
fn e3_an_answer_that_nobody_asked_for_leaves_the_hard_timeout_alone() {
    let env = TestEnv::new(STEAD);
    env.json(["launch", "bad", "-n", "bad", "--bridge", BAD, "--env", "BAD=answers unasked"]);
    let reply = env.json(["eval", "-n", "bad", "--hard-timeout", "300ms", "--timeout", "60s", "1"]);
    // The limit's interrupt ends it, since it has no handler of its own.
    assert_eq!(reply["status"], "ended", "{reply:#}");
    assert!(reply.to_string().contains("SIGINT"), "{reply:#}");
}

#[test]
fn a_bridge_that_falls_silent_leaves_everything_else_working() {
    let env = TestEnv::new(STEAD);
    env.json(["launch", "bad", "-n", "bad", "--bridge", BAD, "--env", "BAD=silent"]);
    let reply = env.json(["eval", "-n", "bad", "--timeout", "50ms", "--", "1"]);
    assert_eq!(reply["status"], "partial", "{reply:#}");
    assert_eq!(env.json(["status", "-n", "bad"])["data"]["state"], "running");
    let id = reply["data"]["eval_id"].as_str().unwrap();
    let interrupted = env.json(["interrupt", "-n", "bad"]);
    // Without a handler of its own SIGINT ends it, which is said.
    let over = env.json(["output", id, "--wait", "60s"]);
    assert_eq!(over["status"], "ended", "{interrupted:#} {over:#}");
    assert!(over.to_string().contains("SIGINT"), "{over:#}");
}
