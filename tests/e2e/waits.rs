//! E-17: `stead wait` wakes whoever waits, and says why.

use std::process::Child;

use rustix::process::Signal;
use serde_json::Value;
use stead_testkit::{Ran, Terminal, TestEnv, wait_for};

use crate::STEAD;
use crate::processes::{kill, signal};
use crate::talk::{answer, submit, touch, until};

/// Code that writes `up`, waits for the file `go` and then runs `then`.
fn gated(then: &str) -> String {
    format!("print('up', flush=True)\n{}\n{then}", until("go"))
}

/// An environment whose session `py` runs `py:2`, which has said that it is up.
fn running(then: &str) -> TestEnv {
    let env = TestEnv::new(STEAD);
    env.value("1");
    assert_eq!(submit(&env, &gated(then)), "py:2");
    env.json(["wait", "py:2", "--match", "^up"]);
    env
}

/// Starts a `wait` that answers in text and returns when it listens to its host.
fn waiting(env: &TestEnv, arguments: &[&str]) -> Child {
    let before = env.status()["clients"].as_u64().unwrap();
    let mut all = vec!["wait", "--text"];
    all.extend(arguments);
    let child = env.spawn(all);
    wait_for("the wait to listen", || env.status()["clients"].as_u64() > Some(before));
    child
}

/// What a command wrote, and its exit code.
fn said(child: Child) -> (String, i32) {
    let ran = Ran::from(child.wait_with_output().expect("the wait ends"));
    assert_eq!(ran.stderr, "", "{ran:?}");
    (ran.stdout.trim_end().to_owned(), ran.code.expect("no signal"))
}

fn now(env: &TestEnv, arguments: &[&str]) -> (String, i32) {
    let mut all = vec!["wait", "--text"];
    all.extend(arguments);
    said(env.spawn(all))
}

#[track_caller]
fn assert_said((text, code): (String, i32), pattern: &str, expected: i32) {
    let pattern = format!("^(?s:{pattern})$");
    assert!(regex::Regex::new(&pattern).unwrap().is_match(&text), "`{text}` is not `{pattern}`");
    assert_eq!(code, expected, "{text}");
}

const TIME: &str = r"[0-9.]+ (ms|s)";

#[test]
fn e17_the_end_wakes_with_its_outcome() {
    let env = running("1/0");
    let wait = waiting(&env, &["py:2"]);
    touch(&env, "go");
    assert_said(
        said(wait),
        &format!("py:2 error in {TIME}: ZeroDivisionError: division by zero"),
        1,
    );
    // An eval that is over answers at once, in all ways to name it.
    for id in ["py:2", "py", "python"] {
        let reply = env.json(["wait", id]);
        assert_eq!((&reply["ok"], &reply["status"]), (&false.into(), &"error".into()), "{reply:#}");
        assert_eq!(reply["error"]["code"], "eval_error", "{reply:#}");
        assert_eq!(reply["data"]["condition"], "ended", "{reply:#}");
        assert_eq!(reply["data"]["eval_id"], "py:2", "{reply:#}");
    }
    assert_said(now(&env, &["py:1"]), &format!("py:1 complete in {TIME}"), 0);
    env.json(["stop", "-n", "py"]);
    assert_said(now(&env, &["py:1"]), &format!("py:1 complete in {TIME}"), 0);
}

#[test]
fn e17_a_wait_without_conditions_does_not_sleep_before_a_prompt() {
    let env = running("input('Name? ')");
    let wait = waiting(&env, &["py:2"]);
    touch(&env, "go");
    assert_said(said(wait), r"py:2 waits for input: Name\?", 0);
    let reply = env.json(["wait", "py", "--input"]);
    assert_eq!(reply["status"], "waiting_input", "{reply:#}");
    assert_eq!(reply["data"]["condition"], "input", "{reply:#}");
    assert_eq!(reply["data"]["prompt"], "Name? ", "{reply:#}");
    // Conditions that are named are the only ones: somebody else may answer.
    let wait = waiting(&env, &["py:2", "--match", "thanks"]);
    answer(&env, "x");
    assert_said(said(wait), &format!("py:2 complete in {TIME}, without a matching line"), 1);
    assert_said(
        now(&env, &["py:2", "--input"]),
        &format!("py:2 complete in {TIME}, without waiting for input"),
        1,
    );
}

#[test]
fn e17_a_program_that_may_wait_for_input_wakes_too_however_late_the_wait_begins() {
    let env = TestEnv::new(STEAD);
    env.value("import select, sys");
    let code =
        "print('> ', end='', flush=True)\nselect.select([0], [], [], 1000)\nsys.stdin.readline()";
    submit(&env, code);
    let may = "py:2 listens to stdin and may wait for input";
    assert_said(now(&env, &["py:2"]), may, 0);
    assert_said(now(&env, &["py:2", "--input"]), may, 0);
    answer(&env, "x");
    assert_said(now(&env, &["py:2"]), &format!("py:2 complete in {TIME}"), 0);
}

#[test]
fn e17_a_matching_line_wakes_also_one_that_was_there_before() {
    let code = "import sys\nfor n in range(5): print(f'\\x1b[32mEpoch {n} done\\x1b[0m', flush=True)\n\
                print('warning: 7', file=sys.stderr, flush=True)\n";
    let env = running(&format!("{code}{}\nprint('end')", until("more")));
    let wait = waiting(&env, &["py:2", "--match", "^Epoch 3 done$"]);
    touch(&env, "go");
    assert_said(said(wait), "py:2 wrote line 5: Epoch 3 done", 0);
    assert_said(now(&env, &["py", "--match", "^Epoch 2"]), "py:2 wrote line 4: Epoch 2 done", 0);
    let reply = env.json(["wait", "py:2", "--match", r"warning: \d"]);
    assert_eq!(reply["data"]["condition"], "match", "{reply:#}");
    assert_eq!(reply["data"]["line"], 7, "{reply:#}");
    assert_eq!(reply["data"]["content"], "warning: 7", "{reply:#}");
    touch(&env, "more");
    assert_said(
        now(&env, &["py:2", "--match", "Epoch 9"]),
        &format!("py:2 complete in {TIME}, without a matching line"),
        1,
    );
    assert_said(
        now(&env, &["py:2", "--match", "end"]),
        &format!(r"py:2 wrote line 8: end \[complete in {TIME}\]"),
        0,
    );
}

#[test]
fn e17_a_progress_bar_is_matched_in_its_last_state() {
    let code = "import sys\nfor n in (25, 50, 100):\n    sys.stderr.write(f'\\rfold {n}%'); sys.stderr.flush()\n\
                sys.stderr.write('\\n')\nprint('after')";
    let env = running(code);
    let wait = waiting(&env, &["py:2", "--match", "fold (25|50)%|after"]);
    touch(&env, "go");
    let (text, _) = said(wait);
    assert!(text.starts_with("py:2 wrote line 3: after"), "{text}");
    let (text, code) = now(&env, &["py:2", "--match", "100%"]);
    assert!(text.starts_with("py:2 wrote line 2: fold 100%") && code == 0, "{text}");
}

#[test]
fn e17_silence_wakes_and_counts_from_the_last_output() {
    let env = running("print('more')");
    let (text, code) = now(&env, &["py:2", "--idle", "300ms"]);
    assert_eq!(code, 0, "{text}");
    assert!(text.starts_with("py:2 silent for ") && text.ends_with(", last line: up"), "{text}");
    let reply = env.json(["wait", "py:2", "--idle", "100ms"]);
    assert_eq!(reply["data"]["condition"], "idle", "{reply:#}");
    // It had been silent for longer before this wait began.
    assert!(reply["data"]["silent_ms"].as_u64().unwrap() >= 300, "{reply:#}");
    assert_eq!(reply["data"]["last_line"], "up", "{reply:#}");
    let wait = waiting(&env, &["py:2", "--idle", "10m"]);
    touch(&env, "go");
    // What has ended is as silent as can be.
    assert_said(said(wait), &format!("py:2 complete in {TIME}"), 0);
}

#[test]
fn e17_a_queued_eval_is_waited_for_and_its_silence_begins_when_it_runs() {
    let env = running("");
    submit(&env, "7");
    let (text, code) = now(&env, &["py:3", "--idle", "1ms", "--timeout", "300ms"]);
    assert_eq!((text.as_str(), code), ("py:3 is still queued after 300 ms", 3));
    let reply = env.json(["wait", "py:3", "--timeout", "0"]);
    assert_eq!(reply["status"], "queued", "{reply:#}");
    assert_eq!(reply["error"]["code"], "timeout", "{reply:#}");
    assert_eq!(reply["data"]["behind"], "py:2", "{reply:#}");
    // The session is what runs in it.
    assert_said(
        now(&env, &["py", "--timeout", "0"]),
        "py:2 still runs after 0 ms, last line: up",
        3,
    );
    let wait = waiting(&env, &["py:3"]);
    touch(&env, "go");
    assert_said(said(wait), &format!("py:3 complete in {TIME}"), 0);
}

/// A second session whose first eval waits for the file `go-sh`.
fn shell_beside(env: &TestEnv) {
    let code = "echo up; until [ -e go-sh ]; do :; done; echo found";
    env.json(["eval", "-n", "sh", "--bg", "--", code]);
}

#[test]
fn e17_any_wakes_with_the_first_and_all_with_the_last() {
    let env = running("print('found')");
    shell_beside(&env);
    let any = waiting(&env, &["py:2", "sh:1"]);
    let named = waiting(&env, &["py:2", "sh:1", "--any", "--match", "found"]);
    let all = waiting(&env, &["py:2", "sh:1", "py:1", "--all"]);
    let every = waiting(&env, &["py:2", "sh:1", "--all", "--match", "found|nothing"]);
    let idle = now(&env, &["py:2", "sh:1", "--all", "--idle", "50ms"]);
    assert_eq!(idle.1, 0, "{idle:?}");
    assert_eq!(idle.0.lines().count(), 2, "{idle:?}");
    touch(&env, "go-sh");
    assert_said(said(any), &format!("sh:1 complete in {TIME}"), 0);
    assert_said(said(named), "sh:1 wrote line 2: found.*", 0);
    touch(&env, "go");
    let lines =
        format!("py:1 complete in {TIME}\nsh:1 complete in {TIME}\npy:2 complete in {TIME}");
    assert_said(said(all), &lines, 0);
    assert_said(said(every), "sh:1 wrote line 2: found.*\npy:2 wrote line 2: found.*", 0);
    let reply = env.json(["wait", "py:2", "sh:1", "--all"]);
    assert_eq!(reply["data"]["evals"].as_array().unwrap().len(), 2, "{reply:#}");
    assert_eq!(reply["data"]["evals"][0]["status"], "complete", "{reply:#}");
}

#[test]
fn e17_any_goes_on_past_an_eval_that_ended_well_without_a_match_and_not_past_one_that_failed() {
    let env = running("print('found')");
    env.json(["eval", "-n", "sh", "--", "echo nothing"]);
    let wait = waiting(&env, &["sh:1", "py:2", "--match", "found"]);
    touch(&env, "go");
    assert_said(said(wait), "py:2 wrote line 2: found.*", 0);
    env.json(["eval", "-n", "sh", "--", "false"]);
    std::fs::remove_file(env.workspace().join("go")).unwrap();
    submit(&env, &gated(""));
    assert_said(now(&env, &["py:3", "sh:2", "--match", "found"]), "sh:2 error in .*", 1);
    let wait = waiting(&env, &["sh:1", "py:3", "--match", "found"]);
    touch(&env, "go");
    assert_said(said(wait), "py:3 complete in .*, without a matching line", 1);
}

#[test]
fn e17_a_killed_host_wakes_every_kind_of_wait() {
    let env = running("");
    submit(&env, "7");
    shell_beside(&env);
    let kinds: [&[&str]; 6] = [
        &["py:2"],
        &["py:2", "--match", "never"],
        &["py:2", "--input"],
        &["py:2", "--idle", "10m"],
        &["py:2", "sh:1", "--any", "--match", "never"],
        &["py:3"],
    ];
    let waits = kinds.map(|kind| waiting(&env, kind));
    let all = waiting(&env, &["py:2", "sh:1", "--all"]);
    kill(env.host_pid());
    for wait in waits {
        let (text, code) = said(wait);
        assert!(text.contains(" host_died: ") && code == 1, "{text}: {code}");
    }
    // The disk tells it again, before the session has a new host and after.
    assert_said(now(&env, &["py"]), "py:2 host_died: .*", 1);
    let reply = env.json(["wait", "py:2"]);
    assert_eq!(reply["status"], "ended", "{reply:#}");
    assert_eq!(reply["data"]["outcome"], "host_died", "{reply:#}");
    touch(&env, "go-sh");
    assert_said(said(all), "py:2 host_died: .*\nsh:1 complete in .*", 1);
    env.eval("1");
    assert_said(now(&env, &["py:3"]), "py:3 host_died: .*", 1);
}

#[test]
fn e17_a_restart_and_a_stop_wake() {
    let env = running("");
    let waits = [
        waiting(&env, &["py:2"]),
        waiting(&env, &["py", "--match", "never"]),
        waiting(&env, &["py:2", "--all", "--idle", "10m"]),
    ];
    env.json(["restart", "-n", "py"]);
    for wait in waits {
        let (text, code) = said(wait);
        assert!(text.contains("py:2 ended in ") && text.contains("was restarted"), "{text}");
        assert_eq!(code, 1, "{text}");
    }
    submit(&env, &gated(""));
    let wait = waiting(&env, &["py"]);
    env.json(["stop", "-n", "py"]);
    assert_said(said(wait), "py:3 ended in .*the session was stopped by cli", 1);
    assert_said(now(&env, &["py"]), "py:3 ended in .*the session was stopped by cli", 1);
}

#[test]
fn e17_an_interrupt_wakes_and_ctrl_c_only_leaves() {
    let env = running("");
    let left = waiting(&env, &["py:2"]);
    signal(left.id(), Signal::INT);
    let left = left.wait_with_output().unwrap();
    assert!(!left.status.success() && left.stdout.is_empty(), "{left:?}");
    assert_said(now(&env, &["py:2", "--timeout", "0"]), "py:2 still runs after 0 ms.*", 3);
    let wait = waiting(&env, &["py:2"]);
    env.json(["interrupt", "py:2"]);
    assert_said(said(wait), "py:2 interrupted by cli in .*", 1);
}

#[test]
fn e17_a_stopped_host_is_said_to_be_silent_and_waited_for() {
    let env = running("");
    let host = env.host_pid();
    let before = waiting(&env, &["py:2"]);
    signal(host, Signal::STOP);
    let after = env.spawn(["wait", "--text", "py:2"]);
    let (text, code) = now(&env, &["py:2", "--timeout", "10ms"]);
    assert_eq!(code, 3, "{text}");
    assert!(text.contains("still runs") && text.contains("does not answer"), "{text}");
    let (text, code) = now(&env, &["py:2", "--idle", "10ms"]);
    assert_eq!(code, 0, "{text}");
    assert!(text.contains("silent for") && text.contains("does not answer"), "{text}");
    // What is over needs nobody's word.
    assert_said(now(&env, &["py:1"]), &format!("py:1 complete in {TIME}"), 0);
    signal(host, Signal::CONT);
    touch(&env, "go");
    for wait in [before, after] {
        assert_said(said(wait), &format!("py:2 complete in {TIME}"), 0);
    }
}

#[test]
fn e17_a_host_that_stops_while_it_is_listened_to_is_said_to_be_silent_until_it_goes_on() {
    let env = running("");
    let host = env.host_pid();
    let mut shown = Terminal::run(env.command(["wait", "py:2"]));
    shown.wait_for("waits for py:2: up");
    // Long enough that the host stands still before they are over, also on a loaded machine.
    let late = waiting(&env, &["py:2", "--timeout", "6s"]);
    let silent = waiting(&env, &["py:2", "--idle", "6s"]);
    signal(host, Signal::STOP);
    shown.wait_for("waits for py:2: its host does not answer");
    for (wait, expected) in [(late, 3), (silent, 0)] {
        let (text, code) = said(wait);
        assert!(text.contains("does not answer") && code == expected, "{text}");
    }
    signal(host, Signal::CONT);
    let again = |shown: &str| {
        let (_, after) = shown.rsplit_once("its host does not answer").unwrap();
        after.contains("waits for py:2: up")
    };
    shown.wait_until("the last line again", again);
    touch(&env, "go");
    let (exit, shown) = shown.finish();
    assert_eq!(exit, Some(0), "{shown:?}");
}

/// The sockets of all sessions.
fn sockets(env: &TestEnv) -> Vec<std::path::PathBuf> {
    let entries = std::fs::read_dir(env.runtime_dir()).unwrap().flatten();
    entries
        .map(|entry| entry.path())
        .filter(|path| path.extension() == Some("sock".as_ref()))
        .collect()
}

#[test]
fn e17_a_session_that_cannot_be_heard_ends_no_wait_for_another() {
    let env = running("print('found')");
    let known = sockets(&env);
    shell_beside(&env);
    let socket = sockets(&env).into_iter().find(|path| !known.contains(path)).unwrap();
    let shell = env.json(["status", "-n", "sh"])["data"]["host_pid"].as_u64().unwrap();
    kill(shell as u32);
    wait_for("the guard to leave", || !socket.exists());
    // Something that is no host listens in its place.
    let listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    std::thread::spawn(move || {
        use std::io::Write;
        for mut stream in listener.incoming().flatten() {
            let _ = stream.write_all(b"no host\n");
            // It stays open, or it would count as a host that leaves.
            std::mem::forget(stream);
        }
    });
    let all = waiting(&env, &["py:2", "sh:1", "--all"]);
    let any = waiting(&env, &["sh:1", "py:2", "--match", "found"]);
    let alone = env.run(["wait", "sh:1"]);
    assert_eq!(alone.json()["error"]["code"], "connection_failed", "{alone:?}");
    touch(&env, "go");
    let unheard = "sh:1 can no longer be waited for: .*";
    assert_said(said(all), &format!("{unheard}\npy:2 complete in {TIME}"), 2);
    assert_said(said(any), r"py:2 wrote line 2: found.* \[.*`sh`.*\]", 0);
}

#[test]
fn e17_a_number_with_a_name_is_an_eval_of_that_session() {
    let env = TestEnv::new(STEAD);
    env.value("1");
    env.value("2");
    assert_said(now(&env, &["-n", "py", "1"]), &format!("py:1 complete in {TIME}"), 0);
    let both = format!("py:1 complete in {TIME}\npy:2 complete in {TIME}");
    assert_said(now(&env, &["-n", "py", "1", "2", "--all"]), &both, 0);
    // Without a name it is the name of a session.
    let ran = env.run(["wait", "1"]);
    assert_eq!(ran.json()["error"]["code"], "session_not_found", "{ran:?}");
}

#[test]
fn e17_a_session_stands_for_what_runs_however_much_is_queued_behind_it() {
    let env = running("");
    for _ in 0..20 {
        submit(&env, "0");
    }
    env.json(["interrupt", "py:3"]);
    let (text, code) = now(&env, &["py", "--timeout", "0"]);
    assert!(text.starts_with("py:2 still runs") && code == 3, "{text}");
    touch(&env, "go");
    assert_said(now(&env, &["py:22"]), &format!("py:22 complete in {TIME}"), 0);
    env.json(["clear", "-n", "py"]);
    assert_said(now(&env, &["py"]), &format!("py:22 complete in {TIME}"), 0);
}

#[test]
fn e17_the_id_of_code_whose_host_has_not_answered_can_be_waited_for() {
    let env = running("");
    let reply: Value = {
        let host = env.host_pid();
        let spawned = env.client();
        let name = "py".parse().unwrap();
        // A connection that greets while the host still answers, and sends when it no longer does.
        let kept = stead_client::KeptConnections::default();
        let client = stead_client::Client { kept: Some(std::sync::Arc::new(kept)), ..spawned };
        let options = stead_client::EvalOptions {
            code: "1".to_owned(),
            key: None,
            soft_timeout: std::time::Duration::ZERO,
            hard_timeout: None,
            no_queue: false,
            background: true,
            max_chars: 0,
        };
        let launch = stead_client::LaunchOptions::default();
        client.eval(&name, &launch, &options, &mut stead_client::Quiet).unwrap();
        signal(host, Signal::STOP);
        let options = stead_client::EvalOptions {
            code: "'sent'".to_owned(),
            soft_timeout: std::time::Duration::from_millis(100),
            background: false,
            ..options
        };
        let view = client.eval(&name, &launch, &options, &mut stead_client::Quiet).unwrap();
        let token = view.id_text().unwrap();
        assert!(token.starts_with("py:~"), "{token}");
        let (text, code) = now(&env, &[&token, "--timeout", "10ms"]);
        assert_eq!(code, 3, "{text}");
        assert!(text.starts_with(&token) && text.contains("does not answer"), "{text}");
        let wait = env.spawn(["wait", &token]);
        signal(host, Signal::CONT);
        touch(&env, "go");
        crate::processes::reply(wait)
    };
    assert_eq!(reply["status"], "complete", "{reply:#}");
    assert_eq!(reply["data"]["eval_id"], "py:4", "{reply:#}");
}

#[test]
fn c6_what_cannot_be_waited_for_is_refused() {
    let env = TestEnv::new(STEAD);
    env.json(["launch", "python", "-n", "py"]);
    for (arguments, code) in [
        (vec!["py"], "eval_not_found"),
        (vec!["py:7"], "eval_not_found"),
        (vec!["py:~00000000c0ffee"], "eval_not_found"),
        (vec!["nobody"], "session_not_found"),
        (vec!["nobody:1"], "session_not_found"),
        (vec!["py:x"], "bad_request"),
        (vec!["py:1", "--match", "("], "bad_request"),
        (vec!["py:1", "--any", "--all"], "bad_request"),
    ] {
        let ran = env.run([vec!["wait"], arguments.clone()].concat());
        assert_eq!(ran.code, Some(2), "{arguments:?}: {ran:?}");
        assert_eq!(ran.json()["error"]["code"], code, "{arguments:?}: {ran:?}");
    }
}

#[test]
fn e17_the_reply_to_background_work_names_what_wakes() {
    let env = running("");
    let reply = env.json(["eval", "-n", "py", "--bg", "--", "7"]);
    assert_eq!(reply["data"]["notice"], "wait for it: `stead wait py:3`", "{reply:#}");
    let ran = env.run(["eval", "-n", "py", "--text", "--bg", "--", "8"]);
    assert!((ran.stdout.clone() + &ran.stderr).contains("stead wait py:4"), "{ran:?}");
    touch(&env, "go");
    assert_said(
        now(&env, &["py:3", "py:4", "--all"]),
        "py:3 complete in .*\npy:4 complete in .*",
        0,
    );
}

#[test]
fn c9_a_wait_on_a_terminal_shows_what_it_waits_for() {
    let env = TestEnv::new(STEAD);
    env.value("1");
    let then = format!("print('said', flush=True)\n{}", until("end"));
    submit(&env, &gated(&then));
    submit(&env, "6 * 7");
    let mut ahead = Terminal::run(env.command(["wait", "py:2", "--match", "never|ever"]));
    let mut behind = Terminal::run(env.command(["wait", "py:2", "py:3", "--all"]));
    let mut left = Terminal::run(env.command(["wait", "py:3"]));
    ahead.wait_for("waits for a line like `never|ever` of py:2: up");
    behind.wait_for("waits for 2 of 2 evals, py:2: up");
    left.wait_for("waits for py:3: queued behind py:2");
    env.json(["pause", "-n", "py"]);
    left.wait_for("waits for py:3: the session is paused");
    env.json(["resume", "-n", "py"]);
    // Ctrl-C leaves a clean line and stops nothing.
    left.type_keys("\x03");
    let (exit, shown) = left.finish();
    assert_eq!(exit, Some(130), "{shown:?}");
    assert!(shown.ends_with("\r\x1b[K"), "{shown:?}");
    touch(&env, "go");
    ahead.wait_for("of py:2: said");
    touch(&env, "end");
    let cleared = regex::Regex::new("\r\x1b\\[Kpy:2 [^\r\n]*\r\n").unwrap();
    for (terminal, expected) in [(ahead, 1), (behind, 0)] {
        let (exit, shown) = terminal.finish();
        assert_eq!(exit, Some(expected), "{shown:?}");
        assert!(cleared.is_match(&shown), "{shown:?}");
        assert!(shown.ends_with("\r\n"), "{shown:?}");
    }
    assert_eq!(env.value("7"), "7");
}
