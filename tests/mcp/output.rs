//! `output`: what is new, parts, searches, and what contradicts itself.

use serde_json::{Value, json};
use stead_testkit::wait_for;

use crate::rig::{SETTLE, Server, served};

#[test]
fn e4_two_reads_of_a_running_eval_join_to_the_whole() {
    let (env, mut server) = served();
    let path = |name: &str| env.root().join(name);
    let code = format!(
        "import os, time\ndef gate(n):\n    open({:?} + str(n), 'w').close()\n    \
         while not os.path.exists({:?} + str(n)): time.sleep(0.005)\n\
         for n in range(3):\n    print('part', n, flush=True)\n    gate(n)\n'value'",
        path("at"),
        path("go"),
    );
    let id = server.call("eval", json!({"code": code, "background": true})).id();
    assert_eq!(id, "py:1");
    let mut pieces = Vec::new();
    for n in 0..3 {
        wait_for("the part", || path(&format!("at{n}")).exists());
        let reply = server.call("output", json!({"id": id}));
        assert!(reply.closing().starts_with("[py:1 still running"), "{}", reply.text);
        pieces.push(reply.body().to_owned());
        let again = server.call("output", json!({"id": id}));
        assert!(again.text.starts_with("[note: nothing new;"), "{}", again.text);
        std::fs::write(path(&format!("go{n}")), "").expect("the gate opens");
    }
    let last = server.call("output", json!({"id": id, "wait_ms": 50000}));
    pieces.push(last.body().to_owned());
    assert_eq!(pieces.concat(), "part 0\npart 1\npart 2\n'value'\n");
    assert!(
        last.closing().starts_with("[py:1") && !last.closing().contains("running"),
        "{}",
        last.text
    );
    for _ in 0..2 {
        let reply = server.call("output", json!({"id": id}));
        assert!(
            reply.text.starts_with(
                "[note: nothing new; from the start: output {\"id\":\"py:1\",\"offset\":0}]\n[py:1"
            ),
            "{}",
            reply.text
        );
    }
    // The call that it names gives everything, and reads of parts move nothing.
    let all = server.call("output", json!({"id": id, "offset": 0}));
    assert!(all.text.starts_with("part 0\npart 1\npart 2\n"), "{}", all.text);
    // Another server has read nothing yet.
    let mut other = Server::start(&env);
    let reply = other.call("output", json!({"id": id}));
    assert_eq!(reply.body(), "part 0\npart 1\npart 2\n'value'\n");
    other.call("output", json!({"id": id})).contains("nothing new");
}

#[test]
fn o6_a_search_finds_what_is_in_a_traceback_and_in_a_value() {
    let (_env, mut server) = served();
    server.eval("print('hay')\n{}['nail']");
    server.eval("print('hay')\n['nail']");
    let found = server.call("output", json!({"id": "py:1", "grep": "nail", "context": 0}));
    found.contains("error:KeyError: 'nail'\n");
    found.contains("[py:1 2 matches in ");
    found.contains("; all of it: output {\"id\":\"py:1\",\"offset\":0}]");
    let found = server.call("output", json!({"id": "py:2", "grep": "nail", "context": 1}));
    found.contains("1-hay\n1value:['nail']\n[py:2 1 match in 2 lines;");
    let last = server.call("output", json!({"id": "py:2", "tail": 1}));
    assert_eq!(last.body(), "hay\n['nail']\n");
    let last = server.call("output", json!({"session": "py", "tail": 1}));
    last.contains("py:2:1value:['nail']\n[py: last 1 line]");
}

#[test]
fn e4_reading_a_part_is_not_reading_all() {
    let (env, mut server) = served();
    server.eval("print('one\\ntwo\\nthree')\n'v'");
    let mut other = Server::start(&env);
    for arguments in [
        json!({"id": "py:1", "tail": 1}),
        json!({"id": "py:1", "offset": 0, "limit": 3}),
        json!({"id": "py:1", "grep": "two"}),
    ] {
        assert!(!other.call("output", arguments).failed);
    }
    assert_eq!(other.call("output", json!({"id": "py:1"})).body(), "one\ntwo\nthree\n'v'\n");
}

#[test]
fn o6_parts_by_byte_by_line_and_by_pattern() {
    let (_env, mut server) = served();
    server.eval("for n in range(100): print('line', n)\n'v'");
    server.eval(&format!("{SETTLE}\nprint('needle', file=sys.stderr)\nsettle()\nprint('hay')"));
    let tail = server.call("output", json!({"id": "py:1", "tail": 2}));
    assert!(tail.text.starts_with("line 98\nline 99\n"), "{}", tail.text);
    let range = server.call("output", json!({"id": "py:1", "offset": 7, "limit": 7}));
    assert!(range.text.starts_with("line 1\n["), "{}", range.text);
    let beyond = server.call("output", json!({"id": "py:1", "offset": 1_000_000}));
    assert!(!beyond.failed, "{}", beyond.text);
    let found = server.call("output", json!({"id": "py:1", "grep": "^line 5$", "context": 1}));
    assert!(
        found.text.starts_with("5-line 4\n6:line 5\n7-line 6\n[py:1 1 match in 101 lines"),
        "{}",
        found.text
    );
    found.contains("read around the first: output {\"id\":\"py:1\",\"offset\":");
    let found =
        server.call("output", json!({"session": "py", "grep": "needle|line 99", "context": 0}));
    assert!(
        found.text.starts_with("py:1:100:line 99\n--\npy:2:1stderr:needle\n[py: 2 matches in "),
        "{}",
        found.text
    );
    let none = server.call("output", json!({"session": "py", "grep": "nowhere"}));
    assert!(none.text.starts_with("[py: 0 matches in "), "{}", none.text);
    let last = server.call("output", json!({"session": "py", "tail": 1}));
    assert!(last.text.starts_with("py:2:2:hay\n[py: last 1 line"), "{}", last.text);
    let wrong = server.call("output", json!({"id": "py:1", "grep": "("}));
    assert!(wrong.failed && wrong.text.starts_with("[bad_request: "), "{}", wrong.text);
    // The session's name stands for its last eval.
    let newest = server.call("output", json!({"session": "py"}));
    assert_eq!(newest.id(), "py:2");
}

#[test]
fn m8_what_contradicts_itself_or_is_not_there_is_refused() {
    let (_env, mut server) = served();
    let nobody = server.call("output", json!({"session": "py"}));
    assert!(nobody.failed && nobody.text.starts_with("[session_not_found: "), "{}", nobody.text);
    server.eval("1");
    let cases: &[(Value, &str)] = &[
        (json!({}), "`id` or `session`"),
        (json!({"id": "py:1", "session": "py"}), "`id` and `session`"),
        (json!({"id": "py:1", "tail": 1, "offset": 1}), "`tail` and `offset`"),
        (json!({"id": "py:1", "tail": 1, "limit": 1}), "`tail` and `limit`"),
        (json!({"id": "py:1", "grep": "x", "tail": 1}), "`tail` and `grep`"),
        (json!({"id": "py:1", "grep": "x", "offset": 1}), "`grep` and `offset`"),
        (json!({"id": "py:1", "context": 1}), "`context` needs `grep`"),
        (json!({"id": "py"}), "py"),
        (json!({"id": "py:x"}), "py:x"),
        (json!({"id": ""}), ""),
    ];
    for (arguments, words) in cases {
        let reply = server.call("output", arguments.clone());
        assert!(
            reply.failed && reply.text.starts_with("[bad_request: "),
            "{arguments}: {}",
            reply.text
        );
        reply.contains(words);
    }
    let reply = server.call("output", json!({"id": "py:2"}));
    assert!(reply.failed);
    assert_eq!(reply.text, "[eval_not_found: no eval `py:2`]\nhint: there is only `py:1`");
    let reply = server.call("output", json!({"id": "other:1"}));
    assert!(reply.failed && reply.text.starts_with("[session_not_found: "), "{}", reply.text);
    reply.contains("hint: sessions here: py; eval with a language starts a new one");
}

#[test]
fn m4_progress_counts_up_with_the_last_line_and_ends_with_the_answer() {
    let (env, mut server) = served();
    let gate = env.root().join("gate");
    let code = format!(
        "import os, time\nn = 0\nwhile not os.path.exists({gate:?}):\n    n += 1\n    print('step', n, flush=True)\n    \
         time.sleep(0.05)"
    );
    let call = |code: &str| json!({"name": "eval", "arguments": {"code": code, "timeout_ms": 50000}, "_meta": {"progressToken": "t\u{e9}"}});
    let id = server.request("tools/call", call(&code));
    wait_for("some progress", || server.progress().len() >= 2);
    std::fs::write(&gate, "").expect("the gate opens");
    server.reply(id);
    let seen = server.progress();
    let told = |note: &Value| note["params"]["progress"].as_f64().expect("a number");
    assert!(seen.windows(2).all(|pair| told(&pair[0]) < told(&pair[1])), "{seen:?}");
    for note in &seen {
        assert_eq!(note["params"]["progressToken"], "t\u{e9}");
        let message = note["params"]["message"].as_str().expect("a message");
        assert!(message.starts_with("step ") || message.starts_with("running for "), "{message}");
    }
    // After its answer a call says nothing more, and without a token never.
    server.eval("import time\nfor n in range(30): print(n, flush=True); time.sleep(0.02)");
    assert_eq!(server.progress().len(), seen.len());
}
