//! `control`, `open`, `inspect` and `sessions`.

use serde_json::{Value, json};
use stead_testkit::{TestEnv, wait_for};

use crate::STEAD;
use crate::rig::{Server, served};

#[track_caller]
fn control(server: &mut Server, target: &str, action: &str) -> crate::reply::Reply {
    server.call("control", json!({"target": target, "action": action}))
}

/// Starts code in the background and waits until it runs.
#[track_caller]
fn begin(env: &TestEnv, server: &mut Server, code: &str) -> String {
    let mark = env.root().join(format!("mark-{}", server.new_id()));
    let code = format!("open({mark:?}, 'w').close()\n{code}");
    let id = server.call("eval", json!({"code": code, "background": true})).id();
    wait_for("the eval to run", || mark.exists());
    id
}

#[test]
fn e6_interrupts_say_what_they_did() {
    let (env, mut server) = served();
    let reply = control(&mut server, "py", "interrupt");
    assert!(reply.failed && reply.text.starts_with("[session_not_found: "), "{}", reply.text);
    server.eval("x = 1");
    control(&mut server, "py", "interrupt").expect("[py: not running, nothing was interrupted]");
    control(&mut server, "py:1", "interrupt").expect("[py:1 not running, nothing was interrupted]");
    let id = begin(&env, &mut server, "while True: pass");
    let queued = server.call("eval", json!({"code": "y = 1", "background": true})).id();
    control(&mut server, &queued, "interrupt")
        .expect("[py:3 taken out of the queue, it did not run]");
    control(&mut server, "py:1", "interrupt").expect("[py:1 not running, nothing was interrupted]");
    control(&mut server, &id, "interrupt").expect("[py:2 interrupted, state kept]");
    let reply = server.call("output", json!({"id": queued}));
    assert!(!reply.failed && reply.closing().starts_with("[py:3 "), "{}", reply.text);
    server.eval("x, 'y' in globals()").contains("(1, False)\n[py:4]");
    let reply = control(&mut server, "py:77", "interrupt");
    assert!(reply.failed && reply.text.starts_with("[eval_not_found: "), "{}", reply.text);
    assert!(reply.text.contains("`py:1` to `py:4`"), "{}", reply.text);
}

#[test]
fn e10_a_pause_or_resume_that_changes_nothing_says_so() {
    let (_env, mut server) = served();
    server.eval("x = 1");
    control(&mut server, "py", "resume").expect("[py: was not paused]");
    control(&mut server, "py", "pause").expect("[py: paused; resume lets it go on]");
    control(&mut server, "py", "pause").expect("[py: was paused already; resume lets it go on]");
    control(&mut server, "py", "resume").expect("[py: resumed]");
    control(&mut server, "py", "resume").expect("[py: was not paused]");
    server.eval("x").contains("1\n[py:2]");
}

#[test]
fn e6_a_loop_that_ignores_interrupts_can_be_killed() {
    let (env, mut server) = served();
    server.eval("x = 1");
    // A loop in C: it never looks whether somebody interrupts.
    let mark = env.root().join("in-c");
    let code = format!(
        "import os\nfrom collections import deque\nfrom itertools import chain, repeat\n\
         deque(chain(map(os.mkdir, [{mark:?}]), repeat(0)), maxlen=0)"
    );
    let id = server.call("eval", json!({"code": code, "background": true})).id();
    wait_for("the loop to run", || mark.exists());
    let reply = control(&mut server, &id, "interrupt");
    reply.expect(
        "[py:2 interrupted but still running; interrupt again kills the processes it has started and keeps state, \
         kill ends it and loses state]",
    );
    let reply = control(&mut server, &id, "interrupt");
    reply.expect("[py:2 interrupted but still running; kill ends it and loses state]");
    let listed = server.call("sessions", json!({}));
    assert!(listed.text.contains("running py:2 "), "{}", listed.text);
    control(&mut server, &id, "kill")
        .expect("[py: killed; state lost, the next eval starts fresh]");
    let reply = server.call("output", json!({"id": id, "wait_ms": 50000}));
    assert!(
        reply.closing().starts_with("[py:2") && reply.closing().contains("session ended"),
        "{}",
        reply.text
    );
    let reply = server.eval("'x' in globals()");
    assert!(
        reply.text.starts_with("False\n[note: ") && reply.closing() == "[py:3 g2]",
        "{}",
        reply.text
    );
}

#[test]
fn e6_there_is_nothing_to_kill_in_a_session_that_has_ended() {
    let (_env, mut server) = served();
    server.eval("exit()");
    control(&mut server, "py", "kill").expect("[py: has ended already]");
    server.eval("1");
    control(&mut server, "py", "kill")
        .expect("[py: killed; state lost, the next eval starts fresh]");
    control(&mut server, "py", "kill").expect("[py: has ended already]");
}

#[test]
fn e10_a_paused_session_waits_and_goes_on() {
    let (env, mut server) = served();
    let count = env.root().join("count");
    let code = format!(
        "import time\nwhile True:\n    open({count:?}, 'a').write('x')\n    time.sleep(0.001)"
    );
    let id = begin(&env, &mut server, &code);
    wait_for("it to count", || std::fs::metadata(&count).is_ok_and(|file| file.len() > 3));
    control(&mut server, &id, "pause").expect("[py: paused; resume lets it go on]");
    let stood = std::fs::metadata(&count).expect("the file").len();
    server.call("sessions", json!({})).contains(", paused");
    assert_eq!(std::fs::metadata(&count).expect("the file").len(), stood);
    control(&mut server, &id, "resume").expect("[py: resumed]");
    wait_for("it to go on", || std::fs::metadata(&count).is_ok_and(|file| file.len() > stood));
    control(&mut server, "py", "interrupt").expect("[py:1 interrupted, state kept]");
}

#[test]
fn e10_code_that_is_sent_to_a_paused_session_says_why_it_does_not_run() {
    let (_env, mut server) = served();
    server.eval("1");
    control(&mut server, "py", "pause");
    let reply = server.call("eval", json!({"code": "2", "timeout_ms": 100}));
    reply.contains("does not go on: the session is paused");
    reply.contains("resume");
    control(&mut server, "py", "resume");
    server.call("output", json!({"id": "py:2", "wait_ms": 10000})).contains("2\n[");
}

#[test]
fn s7_restart_clear_stop_and_outdated_ids() {
    let (env, mut server) = served();
    server.eval("x = 1\nimport os\npid = os.getpid()");
    control(&mut server, "py", "clear")
        .expect("[py: cleared; all names are gone, the process lives on]");
    // Emptying the namespace is work and has a number of its own.
    server.eval("'x' in globals()").expect("False\n[py:3]");
    control(&mut server, "py", "restart").expect("[py: restarted; state lost, generation 2]");
    server.eval("1").expect("1\n[py:4 g2]");
    // What is aimed at an eval that has ended must not hit the session.
    for action in ["pause", "resume", "kill", "restart", "clear", "stop"] {
        let reply = control(&mut server, "py:4", action);
        assert!(reply.failed, "{}", reply.text);
        assert_eq!(
            reply.text, "[bad_request: `py:4` does not run; name the session `py` instead]",
            "{action}"
        );
    }
    let stopped = control(&mut server, "py", "stop");
    let (begins, ends) =
        ("[py: stopped; 3 evals, 0 names, created ", "; its output stays readable]");
    assert!(stopped.text.starts_with(begins) && stopped.text.ends_with(ends), "{}", stopped.text);
    server.call("output", json!({"id": "py:4", "offset": 0})).contains("[py:4 g2");
    assert!(server.call("sessions", json!({})).text.starts_with("[sessions: none in "));
    for action in ["interrupt", "pause", "resume", "kill", "restart", "clear", "stop"] {
        let reply = control(&mut server, "py", action);
        assert!(
            reply.failed && reply.text.starts_with("[session_not_found: "),
            "{action}: {}",
            reply.text
        );
    }
    wait_for("its processes to be gone", || env.processes() == [server.pid()]);
}

/// What a stop takes with it is named.
#[test]
fn s7_a_stop_tells_what_was_running_and_what_did_not_run() {
    let (env, mut server) = served();
    server.eval("x = y = 1");
    begin(&env, &mut server, "while True: pass");
    server.call("eval", json!({"code": "z = 1", "background": true}));
    let stopped = control(&mut server, "py", "stop");
    stopped.contains("[py: stopped; 3 evals, ");
    stopped.contains(", `py:2` was running and has ended, `py:3` did not run; its output ");
    assert!(!stopped.text.contains('\n'), "{}", stopped.text);
}

#[test]
fn s10_open_takes_settings_and_tells_what_it_opened() {
    let (env, mut server) = served();
    let sub = env.workspace().join("sub");
    std::fs::create_dir(&sub).expect("a directory");
    let reply = server.call(
        "open",
        json!({"language": "py", "name": "w", "cwd": "sub", "env": {"ROUGH": "1 2"}, "init": "print('hi')\nz = 9"}),
    );
    assert!(!reply.failed);
    assert!(reply.text.starts_with("hi\n[w:1 +z int]\n[w: open, python 3."), "{}", reply.text);
    assert!(reply.closing().ends_with(&format!(", in {}]", sub.display())), "{}", reply.text);
    let code = "import os\n(z, os.environ['ROUGH'], os.path.basename(os.getcwd()))";
    server.call("eval", json!({"code": code, "session": "w"})).contains("(9, '1 2', 'sub')\n[w:2");
    let again = server.call("open", json!({"language": "python", "name": "w"}));
    assert!(again.failed);
    assert_eq!(
        again.text,
        "[session_exists: session `w` exists already]\nhint: use it with eval, or stop it first with control"
    );
    // The code runs at every start.
    control(&mut server, "w", "restart").contains("generation 2");
    server.call("eval", json!({"code": "z", "session": "w"})).contains("9\n[w:4 g2]");
    // Code that fails is told, and the session is there.
    let reply = server.call("open", json!({"language": "python", "name": "bad", "init": "1 / 0"}));
    assert!(!reply.failed, "{}", reply.text);
    reply.contains("ZeroDivisionError: division by zero\n[bad:1 error]\n[bad: open, python ");
    server.call("eval", json!({"code": "5", "session": "bad"})).contains("5\n[bad:2]");
    for (arguments, code) in [
        (json!({"language": "cobol"}), "bad_request"),
        (json!({"language": "python", "name": "../x"}), "bad_request"),
        (json!({"language": "python", "name": "n", "cwd": "/nowhere/at/all"}), "bad_request"),
        (json!({"language": "python", "name": "n", "cwd": "f"}), "bad_request"),
        (json!({"language": "python", "name": "n", "env": {"A=B": "x"}}), "bad_request"),
        (json!({"language": "python", "name": "n", "env": {"": "x"}}), "bad_request"),
        (json!({"language": "python", "name": "n", "env": {"A": "x\u{0}y"}}), "bad_request"),
    ] {
        std::fs::write(env.workspace().join("f"), "").expect("a file");
        let reply = server.call("open", arguments.clone());
        assert!(reply.failed, "{arguments}: {}", reply.text);
        assert!(reply.text.starts_with(&format!("[{code}: ")), "{arguments}: {}", reply.text);
    }
    assert!(!server.call("sessions", json!({})).text.contains("\nn ("));
}

#[test]
fn st1_inspect_in_all_its_forms() {
    let (_env, mut server) = served();
    let reply = server.call("inspect", json!({"session": "py"}));
    assert!(reply.failed && reply.text.starts_with("[session_not_found: "), "{}", reply.text);
    server.eval("def f(a, b=2):\n    'Adds.'\n    return a + b\nword = 'hello'\nimport os");
    let all = server.call("inspect", json!({"session": "py"}));
    assert!(all.text.contains("word str(5) = 'hello'\n"), "{}", all.text);
    assert_eq!(all.closing(), "[py: 3 names]");
    server.call("inspect", json!({"session": "py", "name": "word"})).contains("'hello'\n");
    server
        .call("inspect", json!({"session": "py", "name": "word", "what": "value"}))
        .expect("'hello'\n[py: word str(5)]");
    let whole = server.call("inspect", json!({"session": "py", "name": "f"}));
    whole.contains("(a, b=2)");
    whole.contains("Adds.\n[py: f function]");
    server
        .call("inspect", json!({"session": "py", "name": "f", "what": "doc"}))
        .expect("Adds.\n[py: f function]");
    server
        .call("inspect", json!({"session": "py", "name": "f", "what": "source"}))
        .expect("def f(a, b=2):\n    'Adds.'\n    return a + b\n[py: f function]");
    server
        .call("inspect", json!({"session": "py", "name": "os.path.join", "what": "doc"}))
        .contains("[py: os.path.join ");
    server
        .call("inspect", json!({"session": "py", "name": "wor", "what": "complete"}))
        .expect("word\n[py: 1 completion of wor]");
    let reply = server.call("inspect", json!({"session": "py", "name": "nothing_such"}));
    assert!(reply.failed && reply.text.contains("nothing_such"), "{}", reply.text);
    let reply = server.call("inspect", json!({"session": "py", "what": "doc"}));
    assert!(reply.failed && reply.text.contains("`name`"), "{}", reply.text);
}

#[test]
fn st1_inspect_counts_the_names_that_it_shows_and_says_how_to_see_others() {
    let (env, mut server) = served();
    server.eval("for n in range(2000): globals()[f'n{n:04}_' + 'x' * 50] = n");
    let names = |reply: &crate::reply::Reply| {
        reply.text.lines().filter(|line| line.starts_with('n')).count()
    };
    let reply = server.call("inspect", json!({"session": "py"}));
    let shown = names(&reply);
    assert!((50..500).contains(&shown), "{}", reply.text);
    assert!(
        reply.closing().starts_with(&format!("[py: 2001 names, {shown} shown; others: ")),
        "{}",
        reply.closing()
    );
    assert_eq!(reply.ours().len(), 1, "nothing is left out unsaid: {}", reply.text);
    let prefix = json!({"session": "py", "name": "n19", "what": "complete"});
    reply.contains(r#""what":"complete""#);
    server.call("inspect", prefix).contains("n1999_");
    let id = begin(&env, &mut server, "while True: pass");
    let reply = server.call("inspect", json!({"session": "py"}));
    let shown = names(&reply);
    let count = reply.closing().contains(&format!(" known, {shown} shown; "));
    assert!(count || !reply.closing().contains("shown"), "{}", reply.text);
    assert_eq!(reply.ours().len(), 1, "{}", reply.text);
    control(&mut server, &id, "interrupt");
}

#[test]
fn st1_inspect_of_a_busy_session_gives_what_results_told() {
    let (env, mut server) = served();
    server.eval("word = 'hello'\nn = 3\ngone = 1");
    server.eval("del gone\nn = 'four'");
    let id = begin(&env, &mut server, "later = 1\nwhile True: pass");
    let why = "the session runs `py:3`, so its names cannot be looked at now";
    server.call("inspect", json!({"session": "py"})).expect(&format!(
        "n str(4)\nword str(5)\n[py: 2 names known; {why}; this is what results of finished evals told]"
    ));
    let hint = "hint: wait for it with output and wait_ms, or interrupt it with control";
    let mut refused = |arguments: Value, more: &str| {
        let reply = server.call("inspect", arguments);
        assert!(reply.failed, "{}", reply.text);
        assert_eq!(reply.text, format!("[session_busy: {why}{more}]\n{hint}"));
    };
    let known = "; by its last result, word is str(5)";
    refused(json!({"session": "py", "name": "word"}), known);
    refused(json!({"session": "py", "name": "word.upper", "what": "doc"}), known);
    for unknown in ["later", "gone", "wor"] {
        refused(json!({"session": "py", "name": unknown}), "");
    }
    control(&mut server, &id, "interrupt");
    server
        .call("inspect", json!({"session": "py", "name": "n", "what": "value"}))
        .contains("'four'");
    env.run(["stop", "-n", "py"]);
}

#[test]
fn s10_sessions_tell_what_each_is_doing() {
    let (env, mut server) = served();
    server
        .call("sessions", json!({}))
        .expect(&format!("[sessions: none in {}; eval starts one]", env.workspace().display()));
    let open = |server: &mut Server, name: &str, code: &str, wait: Value| {
        server.call(
            "eval",
            json!({"code": code, "session": name, "language": "python", "timeout_ms": wait}),
        )
    };
    open(&mut server, "idle", "x = 1", json!(50000));
    open(&mut server, "waits", "input('who? ')", json!(50000));
    open(&mut server, "over", "exit()", json!(50000));
    let mark = env.root().join("mark");
    let code = format!(
        "print('step 7', flush=True)\nopen({mark:?}, 'w').close()\nimport time\ntime.sleep(60)"
    );
    server.call(
        "eval",
        json!({"code": code, "session": "busy", "language": "python", "background": true}),
    );
    wait_for("the eval to run", || mark.exists());
    open(&mut server, "busy", "1", json!(0));
    let text = server.call("sessions", json!({})).text;
    let line = |name: &str| {
        let found = text.lines().find(|line| line.starts_with(&format!("{name} (python")));
        found.unwrap_or_else(|| panic!("no {name} in {text}")).to_owned()
    };
    let (idle, waits, over, busy) = (line("idle"), line("waits"), line("over"), line("busy"));
    assert!(
        idle.contains(": idle, last idle:1 complete \"x = 1\", ") && idle.contains(", 1 name,"),
        "{idle}"
    );
    assert!(
        waits.contains(": waits:1 \"input('who? ')\" waits for input, prompt \"who?\", for "),
        "{waits}"
    );
    assert!(
        over.contains(": ended (the interpreter exited with code 0), last over:1 ended \"exit()\""),
        "{over}"
    );
    assert!(
        busy.contains(": running busy:1 ") && busy.contains(", last line \"step 7\""),
        "{busy}"
    );
    assert!(busy.contains(", 1 queued"), "{busy}");
    assert!(text.ends_with(&format!("\n[sessions: 4 in {}]", env.workspace().display())), "{text}");
    // Another workspace has its own, and `all` shows them together.
    let other = env.root().join("other");
    std::fs::create_dir(&other).expect("a directory");
    let mut there = Server::in_workspace(&env, &other);
    assert!(there.call("sessions", json!({})).text.starts_with("[sessions: none"));
    there.eval("2").expect("2\n[py:1]");
    let all = server.call("sessions", json!({"all": true})).text;
    assert!(
        all.contains(&format!("py (python {}", "3."))
            && all.contains(&format!(" in {}: idle", other.display())),
        "{all}"
    );
    assert!(all.ends_with("\n[sessions: 5 in all workspaces]"), "{all}");
    assert!(!server.call("sessions", json!({})).text.contains("\npy ("));
}

#[test]
fn s11_a_model_whose_interpreter_is_missing_is_told_what_to_install() {
    let env = TestEnv::new(STEAD);
    let mut command = env.command(["mcp"]);
    command.env("PATH", "/nonexistent");
    let mut server = Server::greeted(command);
    let reply = server.call("eval", json!({"code": "1", "language": "python"}));
    assert!(reply.failed && reply.text.starts_with("[launch_failed: no `python3` was found"));
    assert!(reply.text.ends_with("hint: install `python3`, then call again"), "{}", reply.text);
}

#[test]
fn e16_evals_are_recorded_with_the_clients_name_and_an_id_of_this_process() {
    let (env, mut server) = served();
    server.eval("1");
    let listed = env.json(["evals", "-n", "py"]);
    let by = listed["data"]["evals"][0]["by"].as_str().unwrap().to_owned();
    let (name, instance) = by.split_once('#').unwrap_or_else(|| panic!("{by}"));
    assert!(!name.is_empty() && name != "mcp" && instance.len() == 8, "{by}");
    server.eval("2");
    let listed = env.json(["evals", "-n", "py"]);
    assert_eq!(listed["data"]["evals"][1]["by"], by, "{listed:#}");
}
