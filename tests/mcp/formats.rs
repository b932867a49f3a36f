//! M-3: what a model reads, word for word where it can be known.

use serde_json::json;
use stead_testkit::wait_for;

use crate::rig::{SETTLE, served};

/// Code and the whole reply, one after the other in one session.
#[track_caller]
fn table(server: &mut crate::rig::Server, rows: &[(&str, &str)]) {
    for (code, reply) in rows {
        let got = server.eval(code);
        assert_eq!(got.text, *reply, "{code}");
        assert!(!got.failed, "{code}: code that fails is no failed call");
        assert_eq!(got.closing(), *got.ours().last().expect("a closing line"), "{code}");
    }
}

#[test]
fn m3_values_names_errors_and_exits() {
    let (_env, mut server) = served();
    table(
        &mut server,
        &[
            ("1 + 1", "2\n[py:1]"),
            ("x = 5", "[py:2 +x int]"),
            ("x = 6; y = [1, 2]", "[py:3 +y list(2) ~x int]"),
            ("del x", "[py:4 -x]"),
            ("", "[py:5]"),
            ("# nothing", "[py:6]"),
            ("None", "[py:7]"),
            ("print('a', end='')", "a\n[py:8]"),
            ("print('a\\n\\nb')\n'v'", "a\n\nb\n'v'\n[py:9]"),
            (
                "1 / 0",
                "Traceback (most recent call last):\n  File \"<py:10>\", line 1, in <module>\n    1 / 0\n    ~~^~~\n\
                 ZeroDivisionError: division by zero\n[py:10 error]",
            ),
            (
                SETTLE,
                "[py:11 +fcntl module +struct module +sys module +termios module +time module +settle function]",
            ),
            ("sys.exit()", "[py:12 exit code 0]"),
            ("sys.exit(0)", "[py:13 exit code 0]"),
            ("sys.exit(3)", "SystemExit: 3\n[py:14 exit code 3]"),
            ("sys.exit('bad luck')", "SystemExit: bad luck\n[py:15 exit code 1]"),
            (
                "print('out'); settle()\nprint('err', file=sys.stderr)\n5",
                "out\n[stderr]\nerr\n[value]\n5\n[py:16]",
            ),
            (
                "print('e', file=sys.stderr); settle()\nprint('o'); settle()\nprint('e', file=sys.stderr)",
                "[stderr]\ne\n[stdout]\no\n[stderr]\ne\n[py:17]",
            ),
            ("print('e', end='', file=sys.stderr)\ny", "[stderr]\ne\n[value]\n[1, 2]\n[py:18]"),
        ],
    );
    let reply = server.eval("import os as _\nglobals().update({f'n{i:02}': i for i in range(40)})");
    assert!(reply.closing().contains(" +n00 int +n01 int"), "{}", reply.text);
    assert!(reply.closing().contains(" more]"), "{}", reply.text);
    assert!(reply.closing().len() < 300, "{}", reply.text);
}

#[test]
fn m3_partial_queued_waiting_and_background() {
    let (env, mut server) = served();
    // The time that a start takes is not part of what the first call waits.
    env.json(["launch", "py"]);
    let gate = env.root().join("gate");
    let code = format!(
        "import os, time\nprint('go', flush=True)\nwhile not os.path.exists({gate:?}): time.sleep(0.005)\n'done'"
    );
    let first = server.call("eval", json!({"code": code, "timeout_ms": 1500}));
    first.expect("go\n[py:1 still running; read on: output {\"id\":\"py:1\",\"wait_ms\":30000}]");
    let second = server.call("eval", json!({"code": "'two'", "timeout_ms": 0}));
    second.expect("[py:2 queued behind py:1; result: output {\"id\":\"py:2\",\"wait_ms\":30000}; be woken: stead wait py:2]");
    let third = server.call("eval", json!({"code": "'three'", "background": true}));
    third.expect("[py:3 queued behind py:2; result: output {\"id\":\"py:3\",\"wait_ms\":30000}; be woken: stead wait py:3]");
    std::fs::write(&gate, "").expect("the gate opens");
    let done = server.call("output", json!({"id": "py:1", "wait_ms": 30000}));
    assert!(done.text.starts_with("'done'\n[py:1 "), "{}", done.text);
    assert!(done.closing().ends_with("+os module +time module]"), "{}", done.text);
    server.call("output", json!({"id": "py:3", "wait_ms": 30000})).expect("'three'\n[py:3]");
    server.call("output", json!({"id": "py:2"})).expect("'two'\n[py:2]");

    let asks = server.eval("print('hello')\nname = input('name? ')");
    asks.expect(
        "hello\nname? \n[py:4 waits for input, prompt \"name?\"; answer: input {\"target\":\"py:4\",\"text\":\"…\"}]",
    );
    let refused = server.eval("1");
    assert!(refused.failed);
    assert_eq!(
        refused.text,
        "[waiting_input: `py:4` waits for input (\"name? \"), so code cannot run now]\n\
         hint: answer it with input, or interrupt it with control"
    );
    server.call("input", json!({"target": "py:4", "text": "bob"})).expect("[py:4 +name str(3)]");
    server
        .eval("import sys; sys.stdin.readline()")
        .expect("[py:5 waits for input; answer: input {\"target\":\"py:5\",\"text\":\"…\"}]");
    server.call("input", json!({"target": "py", "eof": true})).expect("''\n[py:5 +sys module]");
    let refused = server.call("input", json!({"target": "py", "text": "x"}));
    assert!(refused.failed, "{}", refused.text);
    let refused = server.call("input", json!({"target": "py"}));
    assert!(refused.failed && refused.text.contains("`text` or `eof`"), "{}", refused.text);
    server.eval("name").expect("'bob'\n[py:6]");
}

#[test]
fn m3_hard_timeouts_say_which_of_the_two() {
    let (env, mut server) = served();
    // A copy for undo, which a busy machine has time to make between two calls, would go on in place of what is killed.
    env.json(["launch", "py", "--no-undo"]);
    server.eval("kept = 1");
    let code = "import time\ntime.sleep(60)";
    let reply = server.call("eval", json!({"code": code, "hard_timeout_ms": 1000}));
    let closing = reply.closing();
    assert!(closing.starts_with("[py:2 "), "{closing}");
    assert!(
        closing.ends_with(" s hard timeout, interrupted, state kept +time module]"),
        "{closing}"
    );
    reply.contains("KeyboardInterrupt\n");
    server.eval("kept").expect("1\n[py:3]");
    let code = "import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\nwhile True: pass";
    let reply = server.call("eval", json!({"code": code, "hard_timeout_ms": 1000}));
    assert!(
        reply.closing().ends_with(
            " s hard timeout, would not stop and was killed: state lost, the next eval starts fresh]"
        ),
        "{}",
        reply.text
    );
    server.eval("'new'").expect(
        "'new'\n[note: the session was started fresh, its earlier state is gone: the hard timeout passed and the code \
         would not stop, so the interpreter was killed]\n[py:5 g2]",
    );
}

#[test]
fn s6_every_end_is_told_and_the_next_eval_says_it_is_fresh() {
    let (env, mut server) = served();
    // A copy for undo would go on in place of what is killed.
    env.json(["launch", "py", "--no-undo"]);
    let fresh = "[note: the session was started fresh, its earlier state is gone:";
    table(
        &mut server,
        &[
            ("x = 1", "[py:1 +x int]"),
            (
                "exit()",
                "[py:2 session ended: the interpreter exited with code 0; the next eval starts fresh]",
            ),
            ("2", &format!("2\n{fresh} the interpreter exited with code 0]\n[py:3 g2]")),
            (
                "import os; os._exit(7)",
                "[py:4 g2 session ended: the interpreter exited with code 7; the next eval starts fresh]",
            ),
            (
                "x",
                &format!(
                    "Traceback (most recent call last):\n  File \"<py:5>\", line 1, in <module>\n    x\n\
                     NameError: name 'x' is not defined\n{fresh} the interpreter exited with code 7]\n\
                     [hint: `x` was known before the session was started afresh (the interpreter exited with code 0); \
                     it came from py:1: run the code that makes it again]\n[py:5 g3 error]"
                ),
            ),
            (
                "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)",
                "[py:6 g3 session ended: the interpreter was ended by signal 11 (SIGSEGV); the next eval starts fresh]",
            ),
            (
                "4",
                &format!("4\n{fresh} the interpreter was ended by signal 11 (SIGSEGV)]\n[py:7 g4]"),
            ),
        ],
    );
    // The host itself is killed while an eval runs.
    let id = server
        .send("eval", json!({"code": "print('on', flush=True)\nimport time\ntime.sleep(60)"}));
    wait_for("the eval to run", || env.status()["state"] == "running");
    kill(env.host_pid());
    let reply = server.reply(id);
    assert_eq!(
        reply.closing(),
        "[py:8 g4 session ended: its host process was killed; the next eval starts fresh]"
    );
    server.eval("5").expect(
        "5\n[note: started fresh, earlier state is gone: the session's host process was killed]\n[py:9 g5]",
    );
    // The interpreter dies while nobody looks: the next code does not run.
    kill(env.interpreter_pid());
    wait_for("the session to end", || env.status()["state"] == "ended");
    let lost = server.eval("print('ran')");
    assert!(lost.failed);
    assert_eq!(
        lost.text,
        "[session_lost: the state of session `py` is lost: the interpreter was ended by signal 9 (SIGKILL); this code \
         did not run]\nhint: run what set the state up again; the next eval starts fresh"
    );
    server.eval("6").expect("6\n[py:10 g6]");
}

fn kill(pid: u32) {
    let pid = rustix::process::Pid::from_raw(pid as i32).expect("a pid");
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).expect("it lives");
}

#[test]
fn e11_a_key_is_refused_where_nothing_remembers_it() {
    let (env, mut server) = served();
    let code = "open('ran', 'a').write('x')";
    let fresh = json!({"code": code, "fresh": true, "key": "k"});
    for _ in 0..2 {
        let reply = server.call("eval", fresh.clone());
        assert!(reply.failed, "{}", reply.text);
        assert_eq!(reply.text, "[bad_request: `fresh` and `key` cannot be combined]");
    }
    assert!(!env.workspace().join("ran").exists());
    server.call("eval", json!({"code": "1", "fresh": false, "key": "k"})).expect("1\n[py:1]");
}

#[test]
fn m3_keys_and_background_output() {
    let (env, mut server) = served();
    server.call("eval", json!({"code": "n = 1; n", "key": "k"})).expect("1\n[py:1 +n int]");
    server.call("eval", json!({"code": "n = 2; n", "key": "k"})).expect(
        "1\n[note: this key was used before: the first eval's result, nothing ran]\n[py:1 +n int]",
    );
    server.eval("n").expect("1\n[py:2]");
    let (gate, mark) = (env.root().join("gate"), env.root().join("mark"));
    let code = format!(
        "import os, threading, time\ndef late():\n    while not os.path.exists({gate:?}): time.sleep(0.005)\n    \
         print('[py:9] late')\n    open({mark:?}, 'w').close()\nthreading.Thread(target=late).start()"
    );
    server.eval(&code);
    std::fs::write(&gate, "").expect("the gate opens");
    wait_for("the thread", || mark.exists());
    server
        .eval("10")
        .expect("[background: output of earlier evals]\n\\[py:9] late\n[value]\n10\n[py:4]");
    server.eval("11").expect("11\n[py:5]");
}
