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
