//! Work that is not code: its id, queue, record, timeouts and interrupt, with a bridge that does as the tests want.

use serde_json::Value;
use stead_testkit::TestEnv;

use crate::STEAD;

const SAVING: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/e2e/saving_bridge.pl");

/// A session `toy` whose names have these values.
fn toy(names: &[(&str, &str)]) -> TestEnv {
    let env = TestEnv::new(STEAD);
    let launched = env.json(["launch", "perl", "-n", "toy", "--bridge", SAVING]);
    assert_eq!(launched["status"], "complete", "{launched:#}");
    let set: Vec<String> =
        names.iter().map(|(name, value)| format!("$v{{{name}}} = '{value}';")).collect();
    eval(&env, &format!("{} undef", set.join(" ")));
    env
}

#[track_caller]
fn eval(env: &TestEnv, code: &str) -> Value {
    env.json(["eval", "-n", "toy", "--", code])
}

#[test]
fn st2_a_save_answers_with_its_report_and_stands_in_the_record() {
    let env = toy(&[("x", "41"), ("sock", "no")]);
    let saved = env.json(["save", "-n", "toy", "deep/down/a.stead"]);
    assert_eq!(saved["status"], "complete", "{saved:#}");
    let (data, path) = (&saved["data"], env.workspace().join("deep/down/a.stead"));
    assert_eq!(data["path"], path.to_str().unwrap());
    assert_eq!(data["bytes"], path.metadata().unwrap().len());
    assert_eq!((&data["saved"][0], &data["count"]), (&"x".into(), &1.into()), "{saved:#}");
    assert_eq!(data["failed"][0]["why"], "it says no");
    assert_eq!((&data["eval_id"], &data["session"]), (&"toy:2".into(), &"toy".into()));
    assert!(data["chunks"].as_array().unwrap().is_empty(), "{saved:#}");

    let line = format!("save {}", path.display());
    let listed = env.json(["evals", "toy"]);
    let last = &listed["data"]["evals"][1];
    assert_eq!((&last["kind"], &last["code"]), (&"save".into(), &line.as_str().into()));
    let history = env.json(["history", "toy:2"]);
    assert_eq!(history["data"]["report"]["count"], 1, "{history:#}");
    let again = env.json(["output", "toy:2"]);
    assert_eq!(again["data"]["saved"][0], "x", "{again:#}");
    for shown in [
        env.run(["output", "toy:2", "--text"]),
        env.run(["save", "-n", "toy", "deep/down/a.stead", "--text"]),
        env.run(["history", "toy:2", "--text"]),
    ] {
        let said = format!("saved 1 name to {} (", path.display());
        assert!(shown.stdout.contains(&said), "{shown:?}");
        assert!(shown.stdout.contains("): x\n"), "{shown:?}");
        assert!(shown.stdout.contains("not saved: sock (no): it says no\n"), "{shown:?}");
    }
    let table = env.run(["history", "-n", "toy", "--text"]).stdout;
    assert!(table.contains("[save /"), "{table}");
    // Work is no code: neither what `output toy` means nor the number of evals.
    assert_eq!(env.json(["output", "toy"])["data"]["eval_id"], "toy:1");
    assert_eq!(env.json(["status", "toy"])["data"]["evals"], 1);
}

#[test]
fn st2_names_that_are_given_are_saved_and_no_others() {
    let env = toy(&[("a", "1"), ("b", "2"), ("c", "3")]);
    let saved = env.json(["save", "-n", "toy", "some.stead", "c", "a", "nowhere"]);
    assert_eq!(saved["data"]["saved"], serde_json::json!(["c", "a"]), "{saved:#}");
    assert_eq!(saved["data"]["failed"][0]["why"], "there is no such name");
    let none = env.json(["save", "-n", "toy", "none.stead", "nowhere"]);
    assert_eq!((&none["ok"], &none["status"]), (&false.into(), &"error".into()), "{none:#}");
    assert_eq!(none["data"]["error"]["name"], "SaveError");
    assert!(!env.workspace().join("none.stead").exists());
}

#[test]
fn st2_a_load_reports_what_came_back() {
    let env = toy(&[("x", "41")]);
    env.json(["save", "-n", "toy", "a.stead"]);
    eval(&env, "%v = (); undef");
    let loaded = env.json(["load", "a.stead", "--into", "toy"]);
    assert_eq!(loaded["status"], "complete", "{loaded:#}");
    assert_eq!(loaded["data"]["loaded"][0], "x");
    assert_eq!(loaded["data"]["warnings"][0], "saved by another perl");
    assert_eq!(eval(&env, "$v{x} + 1")["data"]["value"], "42");
    let streamed = env.run(["load", "a.stead", "--into", "toy", "--stream", "--json"]);
    let last: Value = serde_json::from_str(streamed.stdout.lines().last().unwrap()).unwrap();
    assert_eq!(
        (&last["type"], &last["data"]["count"]),
        (&"done".into(), &1.into()),
        "{streamed:?}"
    );
    assert_eq!(streamed.stdout.lines().count(), 1, "{streamed:?}");
}

#[test]
fn e6_a_save_is_interrupted_and_leaves_the_earlier_file() {
    let env = toy(&[("x", "1")]);
    env.json(["save", "-n", "toy", "a.stead"]);
    let before = std::fs::read(env.workspace().join("a.stead")).unwrap();
    eval(&env, "$v{y} = 'slow'; undef");
    let begun = env.json(["save", "-n", "toy", "a.stead", "--bg"]);
    let id = begun["data"]["eval_id"].as_str().unwrap();
    let queued = env.json(["eval", "-n", "toy", "--bg", "7"]);
    assert_eq!(queued["data"]["behind"], id, "{queued:#}");
    let woken = env.json(["wait", id, "--match", "saving slowly", "--timeout", "60s"]);
    assert_eq!(woken["ok"], true, "{woken:#}");
    let stopped = env.json(["interrupt", id]);
    assert_eq!(stopped["ok"], true, "{stopped:#}");
    let over = env.json(["output", id, "--wait", "60s"]);
    assert_eq!(over["status"], "interrupted", "{over:#}");
    assert_eq!(std::fs::read(env.workspace().join("a.stead")).unwrap(), before);
    assert_eq!(env.json(["output", "toy:5", "--wait", "60s"])["data"]["value"], "7");
}

#[test]
fn e3_a_hard_timeout_ends_a_save_and_the_state_is_kept() {
    let env = toy(&[("y", "slow")]);
    let over = env.json(["save", "-n", "toy", "a.stead", "--hard-timeout", "100ms"]);
    assert_eq!(over["status"], "timeout", "{over:#}");
    assert_eq!(eval(&env, "$v{y}")["data"]["value"], "slow");
}

#[test]
fn e2_a_save_goes_on_after_its_soft_timeout_and_waits_in_the_queue() {
    let env = toy(&[("x", "1")]);
    let runs = env.json(["eval", "-n", "toy", "--bg", "<STDIN>; undef"]);
    let queued = env.json(["save", "-n", "toy", "a.stead", "--timeout", "0"]);
    // The eval may be found waiting for its input before the save comes.
    if queued["ok"] == true {
        assert_eq!(queued["status"], "queued", "{queued:#}");
        assert_eq!(queued["data"]["behind"], runs["data"]["eval_id"]);
        env.json(["wait", "toy:2", "--input", "--timeout", "60s"]);
        env.json(["input", "-n", "toy", "go on"]);
        let over = env.json(["output", "toy:3", "--wait", "60s"]);
        assert_eq!(over["data"]["count"], 1, "{over:#}");
    } else {
        assert_eq!(queued["error"]["code"], "waiting_input", "{queued:#}");
    }
}

#[test]
fn e8_code_that_a_save_calls_may_ask_for_input() {
    let env = toy(&[("x", "ask")]);
    let asks = env.json(["save", "-n", "toy", "a.stead"]);
    assert_eq!(
        (&asks["status"], &asks["data"]["prompt"]),
        (&"waiting_input".into(), &"which? ".into())
    );
    let over = env.json(["input", "-n", "toy", "this one"]);
    assert_eq!(
        (&over["status"], &over["data"]["count"]),
        (&"complete".into(), &1.into()),
        "{over:#}"
    );
    let listed = env.json(["load", "--list", "a.stead"]);
    assert_eq!(listed["data"]["names"][0]["value"], "this one", "{listed:#}");
}

#[test]
fn st2_what_is_listed_needs_no_session() {
    let env = toy(&[("x", "41")]);
    env.json(["save", "-n", "toy", "a.stead"]);
    env.json(["stop", "toy"]);
    let listed = env.json(["load", "--list", "a.stead"]);
    assert_eq!(
        (&listed["data"]["language"], &listed["data"]["count"]),
        (&"perl".into(), &1.into())
    );
    let text = env.run(["load", "--list", "a.stead", "--text"]).stdout;
    assert!(text.contains("in perl") && text.contains("x     scalar"), "{text}");
    // No session of a language that only a bridge of the user's speaks can be opened for it.
    let refused = env.json(["load", "a.stead"]);
    assert_eq!(refused["error"]["code"], "bad_request", "{refused:#}");
    assert_eq!(env.json(["ls"])["data"]["sessions"], serde_json::json!([]));
}

#[test]
fn st2_a_language_that_cannot_save_says_so() {
    let env = TestEnv::new(STEAD);
    let toy = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/e2e/toy_bridge.pl");
    env.json(["launch", "perl", "-n", "toy", "--bridge", toy]);
    let refused = env.json(["save", "-n", "toy", "a.stead"]);
    assert_eq!(refused["error"]["code"], "unsupported", "{refused:#}");
    assert!(refused["error"]["message"].as_str().unwrap().contains("`save` is not possible"));
    assert!(!env.workspace().join("a.stead").exists());
}
