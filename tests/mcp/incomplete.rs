//! E-20: what a model reads after it has sent half a code.

use serde_json::json;

use crate::rig::served;

#[test]
fn e20_incomplete_code_is_said_to_be_incomplete() {
    let (_env, mut server) = served();
    for (language, open, wrong) in [
        ("python", "x = [1,", "x = = 1"),
        ("bash", "x=1\ncat <<E\na", "fi"),
        ("node", "f(`a", "x = = 1"),
    ] {
        let reply = server.call("eval", json!({"code": open, "language": language}));
        assert!(!reply.failed, "{reply:?}");
        let closing = reply.closing();
        assert!(
            closing.ends_with(":1 error: the code is incomplete, none of it has run]"),
            "{closing}"
        );
        reply.contains("SyntaxError");
        let reply = server.call("eval", json!({"code": wrong, "language": language}));
        assert!(!reply.text.contains("incomplete"), "{reply:?}");
    }
}
