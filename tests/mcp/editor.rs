//! E-19: editors over MCP.

use serde_json::json;
use stead_testkit::git_repository;

use crate::rig::served;

#[test]
fn e19_a_commit_and_a_rebase_are_edited_by_input() {
    let (env, mut server) = served();
    let git = git_repository(&env, 3);
    let eval = |code: &str| json!({"session": "sh", "code": code});
    server.call("eval", eval("kept=41; mkdir sub; cd sub"));
    let reply = server.call("eval", eval("git commit --amend --allow-empty"));
    let closing = reply.closing().to_owned();
    assert!(
        closing.starts_with("[sh:2 waits in an editor for the new text of \""),
        "{}",
        reply.text
    );
    assert!(closing.contains("COMMIT_EDITMSG") && closing.contains("\"eof\":true"), "{closing}");
    assert!(reply.text.contains("\nc3\n"), "{}", reply.text);
    // A line end is added, and all lines of the text are the file's.
    let text = "amended\n\nwith a body";
    let reply = server.call("input", json!({"target": "sh:2", "text": text}));
    assert!(!reply.failed && reply.text.contains("amended"), "{}", reply.text);
    assert_eq!(git(&["log", "-1", "--format=%B"]), "amended\n\nwith a body");
    let reply = server.call("eval", eval("git rebase -i HEAD~2"));
    assert!(reply.text.contains("git-rebase-todo"), "{}", reply.text);
    let todo = git(&["log", "--reverse", "-2", "--format=reword %h %s"]);
    let reply = server.call("input", json!({"target": "sh:3", "text": todo}));
    assert!(reply.text.contains("\nc2\n") && reply.closing().contains("editor"), "{}", reply.text);
    let reply = server.call("input", json!({"target": "sh", "text": "second"}));
    assert!(reply.text.contains("\namended\n"), "{}", reply.text);
    let reply = server.call("input", json!({"target": "sh", "eof": true}));
    assert!(reply.text.contains("Successfully rebased"), "{}", reply.text);
    assert_eq!(git(&["log", "-3", "--format=%s"]), "amended\nsecond\nc1");
    // Given up.
    server.call("eval", eval("git commit --amend --allow-empty"));
    let reply = server.call("control", json!({"target": "sh:4", "action": "interrupt"}));
    reply.expect("[sh:4 interrupted, state kept]");
    server.call("eval", eval("echo $kept ${PWD##*/}")).contains("41 sub\n");
}
