//! What tests say to a session and how they read its replies.

use regex::Regex;
use serde_json::Value;
pub(crate) use stead_testkit::chunks;
use stead_testkit::{TestEnv, wait_for};

/// All that the reply holds of one kind.
pub(crate) fn wrote(reply: &Value, kind: &str) -> String {
    chunks(reply).into_iter().filter(|(k, _)| *k == kind).map(|(_, content)| content).collect()
}

/// The eval's id.
#[track_caller]
pub(crate) fn id(reply: &Value) -> String {
    let id = reply["data"]["eval_id"].as_str();
    id.unwrap_or_else(|| panic!("no eval id: {reply:#}")).to_owned()
}

/// The reply must have this status.
#[track_caller]
pub(crate) fn expect(reply: &Value, status: &str) {
    assert_eq!(reply["status"], status, "{reply:#}");
}

/// The reply must say that the eval waits for input, with this prompt.
#[track_caller]
pub(crate) fn expect_wait(reply: &Value, prompt: &str) {
    expect(reply, "waiting_input");
    assert_eq!(reply["ok"], true, "{reply:#}");
    assert_eq!(reply["data"]["prompt"], prompt, "{reply:#}");
}

/// Runs code that must wait for input with this prompt.
#[track_caller]
pub(crate) fn ask(env: &TestEnv, code: &str, prompt: &str) -> Value {
    let reply = env.eval(code);
    expect_wait(&reply, prompt);
    reply
}

/// Sends a line of input.
#[track_caller]
pub(crate) fn answer(env: &TestEnv, text: &str) -> Value {
    env.json(["input", "-n", "py", "--", text])
}

/// Ends the input.
#[track_caller]
pub(crate) fn end_input(env: &TestEnv) -> Value {
    env.json(["input", "-n", "py", "--eof"])
}

/// Starts code and goes on; its id.
#[track_caller]
pub(crate) fn submit(env: &TestEnv, code: &str) -> String {
    id(&env.json(["eval", "-n", "py", "--bg", "--", code]))
}

/// Waits for an eval's end, or for it to wait for input.
#[track_caller]
pub(crate) fn outcome(env: &TestEnv, id: &str) -> Value {
    env.json(["output", id, "--wait", "60s"])
}

/// Interrupts what runs and says what that did.
#[track_caller]
pub(crate) fn interrupt(env: &TestEnv) -> String {
    let reply = env.json(["interrupt", "-n", "py"]);
    reply["data"]["effect"].as_str().unwrap_or_else(|| panic!("{reply:#}")).to_owned()
}

/// Waits until code under test has made this file in the workspace.
pub(crate) fn wait_for_file(env: &TestEnv, name: &str) {
    let path = env.workspace().join(name);
    wait_for(&format!("`{name}`"), || path.exists());
}

/// Makes the file that code under test waits for.
pub(crate) fn touch(env: &TestEnv, name: &str) {
    std::fs::write(env.workspace().join(name), "").expect("the workspace can be written");
}

/// Python that waits for a file of the workspace.
pub(crate) fn until(name: &str) -> String {
    format!(
        "(lambda o, t: [t.sleep(.005) for _ in iter(lambda: o.path.exists({name:?}), True)])(__import__('os'), __import__('time'))"
    )
}

/// The session must be as good as new: the next eval runs and has nothing odd in its reply.
#[track_caller]
pub(crate) fn expect_clean(env: &TestEnv) {
    let reply = env.eval("1 + 1");
    expect(&reply, "complete");
    assert_eq!(reply["data"]["value"], "2", "{reply:#}");
    assert_eq!(chunks(&reply), [("value", "2")], "{reply:#}");
    assert!(reply["data"]["notice"].is_null(), "{reply:#}");
}

/// What was shown, without the spinner that a slow machine brings and that leaves no trace, and without what erases
/// lines that are redrawn.
pub(crate) fn without_spinner(shown: &str) -> String {
    let spinner = Regex::new("\r[\u{2800}-\u{28ff}][^\r\n]*?\x1b\\[K").expect("a pattern");
    spinner.replace_all(shown, "").replace("\r\x1b[K", "").replace("\r\x1b[J", "")
}
