//! S: sessions start on demand, keep their state, outlive their clients, and end cleanly.

use stead_testkit::TestEnv;

use crate::STEAD;

#[test]
fn s5_an_eval_starts_the_session_and_state_lasts() {
    let env = TestEnv::new(STEAD);
    let reply = env.eval("6 * 7");
    assert_eq!(reply["ok"], true, "{reply:#}");
    assert_eq!(reply["status"], "complete");
    assert_eq!(reply["data"]["value"], "42");
    env.eval("x = 41");
    assert_eq!(env.value("x + 1"), "42");
}

#[test]
fn e10_a_pause_or_resume_that_changes_nothing_says_so() {
    let env = TestEnv::new(STEAD);
    env.eval("x = 1");
    let text = |verb: &str| env.run([verb, "-n", "py", "--text"]).stdout;
    assert_eq!(text("resume"), "`py` was not paused\n");
    assert_eq!(text("pause"), "paused `py`\n");
    assert_eq!(text("pause"), "`py` was paused already\n");
    let reply = env.json(["pause", "-n", "py"]);
    assert_eq!(
        (&reply["ok"], &reply["data"]["already"]),
        (&true.into(), &true.into()),
        "{reply:#}"
    );
    let reply = env.json(["resume", "-n", "py"]);
    assert_eq!(reply["ok"], true, "{reply:#}");
    assert!(reply["data"].get("already").is_none(), "{reply:#}");
    let reply = env.json(["resume", "-n", "py"]);
    assert_eq!(reply["data"]["already"], true, "{reply:#}");
    assert_eq!(env.value("x"), "1");
}
