//! Undo (SPEC ST-5): any eval can be taken back without preparation, and a crash or a kill loses nothing.

use serde_json::{Value, json};
use stead_testkit::{TestEnv, is_alive, wait_for, wait_for_some};

use crate::STEAD;

/// Waits until the session has copied itself as it is now, or says why it does not.
#[track_caller]
fn settled(env: &TestEnv, name: &str) -> Value {
    wait_for_some("a copy of the session as it is", || {
        let undo = env.json(["status", "-n", name])["data"]["undo"].clone();
        (undo["kept"] == true || !undo["off"].is_null()).then_some(undo)
    })
}

#[track_caller]
fn eval(env: &TestEnv, name: &str, code: &str) -> Value {
    let reply = env.json(["eval", "-n", name, "--", code]);
    assert_eq!(reply["status"], "complete", "{code}: {reply:#}");
    settled(env, name);
    reply
}

#[track_caller]
fn value(env: &TestEnv, code: &str) -> String {
    let reply = env.json(["eval", "-n", "py", "--", code]);
    reply["data"]["value"].as_str().unwrap_or_else(|| panic!("{code}: {reply:#}")).to_owned()
}

#[track_caller]
fn undo(env: &TestEnv, arguments: &[&str]) -> Value {
    let all: Vec<&str> = ["undo"].iter().chain(arguments).copied().collect();
    let reply = env.json(&all);
    assert_eq!(reply["status"], "complete", "{reply:#}");
    reply
}

/// The evals that are marked.
fn undone(env: &TestEnv, name: &str) -> Vec<String> {
    let evals = env.json(["history", "-n", name])["data"]["evals"].clone();
    let marked = evals.as_array().unwrap().iter().filter(|eval| eval["undone"] == true);
    marked.map(|eval| eval["eval_id"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn st5_what_an_eval_deleted_rebound_or_changed_is_there_again() {
    let env = TestEnv::new(STEAD);
    eval(&env, "py", "data = {n: [n] for n in range(1000)}\nclass P: pass\np = P(); p.x = 1");
    for (harm, look, expected) in [
        ("del data", "len(data)", "1000"),
        ("data = data and {}", "len(data)", "1000"),
        ("data[7].append(8); data.pop(9)", "data[7], 9 in data", "([7], True)"),
        ("p.x = 2; P.y = 3", "p.x, hasattr(P, 'y')", "(1, False)"),
        ("import sys; sys.modules.clear()", "len(data)", "1000"),
        ("1/0", "len(data)", "1000"),
    ] {
        let reply = env.json(["eval", "-n", "py", "--", harm]);
        let id = reply["data"]["eval_id"].as_str().unwrap().to_owned();
        let back = undo(&env, &["-n", "py"]);
        assert_eq!(back["data"]["eval"], id.as_str(), "{back:#}");
        assert_eq!(value(&env, look), expected, "{harm}");
        assert!(undone(&env, "py").contains(&id));
        settled(&env, "py");
    }
    // The same interpreter for everyone, and nothing but it.
    let status = env.status();
    assert_eq!((&status["generation"], &status["processes"]), (&json!(1), &json!(1)));
}

#[test]
fn st5_evals_are_undone_one_after_the_other_or_several_at_once() {
    let env = TestEnv::new(STEAD);
    for n in 1..=5 {
        eval(&env, "py", &format!("x = {n}"));
    }
    let status = settled(&env, "py");
    assert_eq!(status["evals"], json!(["py:2", "py:3", "py:4", "py:5"]), "{status:#}");
    undo(&env, &["-n", "py"]);
    assert_eq!(undo(&env, &["-n", "py"])["data"]["undone"], json!(["py:4"]));
    assert_eq!(value(&env, "x"), "3");
    settled(&env, "py");
    let back = undo(&env, &["py:2"]);
    assert_eq!(back["data"]["undone"], json!(["py:2", "py:3", "py:8"]), "{back:#}");
    assert_eq!(value(&env, "x"), "1");
    assert_eq!(undone(&env, "py"), ["py:2", "py:3", "py:4", "py:5", "py:8"]);
    let text = env.run(["undo", "py:5", "--text"]);
    assert!(text.stderr.contains("`py:5` is undone already"), "{}", text.stderr);
    let text = env.run(["undo", "py:1", "--text"]);
    assert!(text.stderr.contains("`py:1` cannot be undone"), "{}", text.stderr);
    let odd = env.json(["undo", "-n", "py", "99"]);
    assert_eq!(odd["error"]["code"], "eval_not_found", "{odd:#}");
}

#[test]
fn st5_between_evals_in_quick_succession_there_is_no_copy_and_none_is_made_up() {
    let env = TestEnv::new(STEAD);
    eval(&env, "py", "import os\nx = 1");
    // The second waits for its turn, so that there is no idle moment between them.
    let code = "while not os.path.exists('go'): pass\nx = 2";
    let first = env.json(["eval", "-n", "py", "--bg", "--", code]);
    assert_eq!(first["data"]["eval_id"], "py:2", "{first:#}");
    env.json(["eval", "-n", "py", "--bg", "--", "x = 3"]);
    std::fs::write(env.workspace().join("go"), "").unwrap();
    env.json(["wait", "py:3"]);
    let undo = settled(&env, "py");
    assert_eq!(undo["evals"], json!(["py:2"]), "{undo:#}");
    let reply = env.json(["undo", "-n", "py"]);
    assert_eq!(reply["ok"], false, "{reply:#}");
    let said = reply["error"]["message"].as_str().unwrap();
    assert!(said.contains("`py:3` cannot be undone"), "{reply:#}");
    assert!(reply["error"]["hint"].as_str().unwrap().contains("stead undo py:2"), "{reply:#}");
    let back = env.json(["undo", "py:2"]);
    assert_eq!(back["data"]["undone"], json!(["py:2", "py:3"]), "{back:#}");
    assert_eq!(value(&env, "x"), "1");
}

#[test]
fn st5_code_of_which_nothing_ran_is_not_what_is_undone() {
    let env = TestEnv::new(STEAD);
    for (name, first, second, wrong) in [
        ("py", "data = [1]", "data.append(2)", &["data.append(", "1 +* 2", "data.clear()\nif"][..]),
        ("sh", "data=1", "data=2", &["data=3; if true; then", "cat <<X"][..]),
    ] {
        eval(&env, name, first);
        let eval_id = eval(&env, name, second)["data"]["eval_id"].clone();
        for code in wrong {
            let reply = env.json(["eval", "-n", name, "--", code]);
            assert_eq!(reply["data"]["error"]["name"], "SyntaxError", "{reply:#}");
        }
        let last = env.json(["eval", "-n", name, "--", wrong[0]])["data"]["eval_id"].clone();
        let refused = env.json(["undo", last.as_str().unwrap()]);
        let message = refused["error"]["message"].as_str().unwrap_or_default();
        assert!(message.contains("has left nothing"), "{refused:#}");
        let back = undo(&env, &["-n", name]);
        assert_eq!(back["data"]["undone"], json!([eval_id]), "{back:#}");
    }
    assert_eq!(value(&env, "data"), "[1]");
    assert_eq!(env.run(["eval", "-n", "sh", "--text", "echo $data"]).stdout, "1\n");
}

#[test]
fn st5_undo_ends_code_that_runs_even_if_it_ignores_interrupts() {
    let env = TestEnv::new(STEAD);
    eval(&env, "py", "x = 1");
    let code = "x = 2\nprint('up', flush=True)\nwhile True:\n    try:\n        while True: pass\n    except KeyboardInterrupt: pass";
    let looping = env.json(["eval", "-n", "py", "--bg", "--", code]);
    let id = looping["data"]["eval_id"].as_str().unwrap();
    env.json(["wait", id, "--match", "up"]);
    let queued = env.json(["eval", "-n", "py", "--bg", "--", "x = 3"]);
    let back = undo(&env, &["-n", "py"]);
    assert_eq!(back["data"]["eval"], id, "{back:#}");
    assert_eq!(back["data"]["undone"], json!([id]), "{back:#}");
    assert_eq!(undone(&env, "py"), [id]);
    assert_eq!(env.json(["output", id])["status"], "ended");
    let queued = env.json(["output", queued["data"]["eval_id"].as_str().unwrap()]);
    assert_eq!(queued["status"], "ended", "{queued:#}");
    assert_eq!(value(&env, "x"), "1");
}

#[test]
fn st5_after_a_crash_the_session_goes_on_where_it_was() {
    let env = TestEnv::new(STEAD);
    eval(&env, "py", "x = [1, 2]");
    for (number, crash) in [
        "import ctypes; ctypes.string_at(0)",
        "import os; os.kill(os.getpid(), 9)",
        "import os; os.abort()",
    ]
    .iter()
    .enumerate()
    {
        let reply = env.json(["eval", "-n", "py", "--", crash]);
        assert_eq!(reply["status"], "ended", "{reply:#}");
        let data = &reply["data"];
        assert_eq!(data["restored"], format!("py:{}", 1 + 2 * number), "{reply:#}");
        let before = format!("restored to before {}", data["eval_id"].as_str().unwrap());
        assert_eq!(data["notice"], before, "{reply:#}");
        eval(&env, "py", "x");
        let status = env.status();
        assert_eq!(status["generation"], 2 + number, "{status:#}");
    }
    let text = env.run(["eval", "-n", "py", "--text", "import os; os.abort()"]).stderr;
    assert!(
        text.contains("the interpreter was ended by signal 6 (SIGABRT); the session goes on"),
        "{text}"
    );
    assert_eq!(value(&env, "x"), "[1, 2]");
}

#[test]
fn st5_a_hard_timeout_that_kills_restores_and_queued_evals_do_not_run() {
    let env = TestEnv::new(STEAD);
    eval(&env, "py", "x = 1");
    // Blocks all signals in the main thread, so that no interrupt is ever seen.
    let code = "import signal\nx = 2\nsignal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))\nprint('up', flush=True)\nwhile True: pass";
    let stuck = env.json(["eval", "-n", "py", "--bg", "--hard-timeout", "1s", "--", code]);
    let id = stuck["data"]["eval_id"].as_str().unwrap();
    env.json(["wait", id, "--match", "up"]);
    let queued = env.json(["eval", "-n", "py", "--bg", "--", "x = 3"]);
    env.json(["wait", id]);
    let over = env.json(["output", id]);
    assert_eq!(
        (&over["status"], &over["data"]["restored"]),
        (&json!("timeout"), &json!("py:1")),
        "{over:#}"
    );
    let queued = env.json(["output", queued["data"]["eval_id"].as_str().unwrap()]);
    assert_eq!(queued["status"], "ended", "{queued:#}");
    assert_eq!(value(&env, "x"), "1");
}

#[test]
fn st5_an_end_that_somebody_wanted_is_not_undone() {
    let env = TestEnv::new(STEAD);
    for end in ["exit()", "import os; os._exit(3)"] {
        eval(&env, "py", "x = 1");
        let reply = env.json(["eval", "-n", "py", "--", end]);
        assert_eq!((&reply["status"], &reply["data"]["restored"]), (&json!("ended"), &Value::Null));
        let reply = env.json(["eval", "-n", "py", "--", "x"]);
        assert_eq!(reply["status"], "error", "{reply:#}");
    }
    for command in ["kill", "restart", "stop"] {
        eval(&env, "py", "x = 1");
        let copies = env.processes();
        assert_eq!(env.json([command, "-n", "py"])["ok"], true);
        let reply = env.json(["eval", "-n", "py", "--", "'x' in dir()"]);
        assert_ne!(reply["data"]["value"], "True", "{command}: {reply:#}");
        env.json(["stop", "-n", "py"]);
        assert!(!copies.into_iter().any(is_alive), "{command}");
    }
}

#[test]
fn st5_a_session_that_dies_while_idle_goes_on_and_says_so_once() {
    let env = TestEnv::new(STEAD);
    eval(&env, "py", "x = 1");
    let pid = env.interpreter_pid();
    kill(pid);
    wait_for("the next interpreter", || env.status()["generation"] == 2);
    let reply = env.json(["eval", "-n", "py", "--", "x"]);
    assert_eq!(reply["data"]["value"], "1", "{reply:#}");
    let notice = reply["data"]["notice"].as_str().unwrap_or_default().to_owned();
    assert!(notice.contains("restored to the state after py:1"), "{reply:#}");
    assert_eq!(env.json(["eval", "-n", "py", "--", "x"])["data"]["notice"], Value::Null);
}

#[test]
fn st5_s6_code_does_not_run_on_a_state_that_is_older_than_its_sender_knows() {
    let env = TestEnv::new(STEAD);
    eval(&env, "py", "x = 1");
    // Beside a thread no copies are taken.
    eval(
        &env,
        "py",
        "import threading\nthreading.Thread(target=threading.Event().wait, daemon=True).start(); x = 2",
    );
    eval(&env, "py", "x = 3");
    kill(env.interpreter_pid());
    wait_for("the next interpreter", || env.status()["generation"] == 2);
    let reply = env.json(["eval", "-n", "py", "--", "open('ran', 'w')"]);
    assert_eq!(reply["error"]["code"], "session_lost", "{reply:#}");
    let message = reply["error"]["message"].as_str().unwrap();
    assert!(message.contains("went back to the state after `py:1`"), "{message}");
    assert!(message.contains("`py:2`, `py:3`"), "{message}");
    assert!(!env.workspace().join("ran").exists());
    assert_eq!(value(&env, "x"), "1");
    assert_eq!(undone(&env, "py"), ["py:2", "py:3"]);
    let unknown = env.json(["undo", "-n", "py", "py:999"]);
    assert_eq!(unknown["error"]["code"], "eval_not_found", "{unknown:#}");
}

/// Nobody watches the eval that ends the interpreter, so the one behind it is the first to be told.
#[test]
fn st5_s6_an_eval_that_did_not_run_says_that_the_session_went_back() {
    let env = TestEnv::new(STEAD);
    for (name, first, second, ends) in [
        (
            "py",
            "x = 1",
            // Beside a thread no copies are taken.
            "import threading\nthreading.Thread(target=threading.Event().wait, daemon=True).start(); x = 2",
            "import os, time\nwhile not os.path.exists('go'): time.sleep(0.01)\nos.kill(os.getpid(), 9)",
        ),
        (
            "sh",
            "x=1",
            "trap : EXIT; sleep 1000 & x=2",
            "while [ ! -e go ]; do sleep 0.01; done; kill -9 $$",
        ),
    ] {
        let _ = std::fs::remove_file(env.workspace().join("go"));
        eval(&env, name, first);
        env.json(["eval", "-n", name, "--", second]);
        env.json(["eval", "-n", name, "--bg", "--", ends]);
        let behind = env.spawn(["eval", "-n", name, "--", "touch ran"]);
        wait_for("an eval in the queue", || {
            let evals = env.json(["evals", "-n", name])["data"]["evals"].clone();
            evals.as_array().unwrap().iter().any(|eval| eval["status"] == "queued")
        });
        std::fs::write(env.workspace().join("go"), "").unwrap();
        let output = behind.wait_with_output().unwrap();
        let reply: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(reply["error"]["code"], "session_lost", "{reply:#}");
        let message = reply["error"]["message"].as_str().unwrap_or_default();
        assert!(message.ends_with("the session goes on"), "{reply:#}");
        let notice = reply["data"]["notice"].as_str().unwrap_or_default();
        assert!(notice.contains("went back to the state after "), "{reply:#}");
        assert!(notice.contains(&format!("now: {name}:2")), "{reply:#}");
        assert!(reply["data"]["restored"].is_string(), "{reply:#}");
    }
}

fn kill(pid: u32) {
    let done = std::process::Command::new("kill").args(["-9", &pid.to_string()]).status();
    assert!(done.is_ok_and(|status| status.success()));
}

#[test]
fn st5_without_undo_nothing_is_copied_and_a_crash_loses_the_state() {
    let env = TestEnv::new(STEAD);
    env.json(["launch", "py", "--no-undo"]);
    let undo = eval_and_status(&env, "x = 1");
    assert_eq!(undo["copies"], 0, "{undo:#}");
    assert_eq!(undo["off"], "the session was started without undo", "{undo:#}");
    let reply = env.json(["undo", "-n", "py"]);
    assert!(reply["error"]["message"].as_str().unwrap().contains("without undo"), "{reply:#}");
    let reply = env.json(["eval", "-n", "py", "--", "import os; os.abort()"]);
    assert_eq!(reply["data"]["restored"], Value::Null, "{reply:#}");
    let reply = env.json(["eval", "-n", "py", "--", "x"]);
    assert_eq!(reply["status"], "error", "{reply:#}");
}

fn eval_and_status(env: &TestEnv, code: &str) -> Value {
    eval(env, "py", code);
    env.status()["undo"].clone()
}

#[test]
fn st5_where_a_copy_would_hang_undo_is_off_and_says_why() {
    let env = TestEnv::new(STEAD);
    eval(&env, "py", "x = 1");
    let code = "import threading\nstop = threading.Event()\nt = threading.Thread(target=stop.wait, name='mine'); t.start()";
    eval(&env, "py", code);
    let undo = settled(&env, "py");
    assert!(undo["off"].as_str().unwrap_or_default().contains("mine"), "{undo:#}");
    // What was before it can still be gone back to.
    eval(&env, "py", "x = 2");
    let reply = env.json(["undo", "-n", "py"]);
    assert!(reply["error"]["message"].as_str().unwrap().contains("mine"), "{reply:#}");
    assert!(reply["error"]["hint"].as_str().unwrap().contains("stead undo py:2"), "{reply:#}");
    let status = env.run(["status", "-n", "py", "--text"]).stdout;
    assert!(status.contains("the last state was not kept"), "{status}");
    env.json(["eval", "-n", "py", "--", "stop.set(); t.join()"]);
    wait_for("a copy without the thread", || env.status()["undo"]["kept"] == true);
    assert_eq!(env.status()["undo"]["off"], Value::Null);
}

#[test]
fn st5_bash_goes_back_by_its_text() {
    let env = TestEnv::new(STEAD);
    eval(&env, "sh", "x=1; f() { echo \"f $x\"; }; alias ll='ls -l'; false || true");
    eval(&env, "sh", "unset -f f; x=2; cd /; set -u");
    let back = env.json(["undo", "-n", "sh"]);
    assert_eq!(back["data"]["eval"], "sh:2", "{back:#}");
    let look =
        |env: &TestEnv| env.run(["eval", "-n", "sh", "--text", "f; echo $x $-; alias ll"]).stdout;
    let said = look(&env);
    assert!(said.starts_with("f 1\n1 ") && said.contains("ls -l"), "{said}");
    settled(&env, "sh");
    let reply = env.json(["eval", "-n", "sh", "--", "kill -9 $$"]);
    assert_eq!(
        (&reply["status"], &reply["data"]["restored"]),
        (&json!("ended"), &json!("sh:4")),
        "{reply:#}"
    );
    assert!(look(&env).starts_with("f 1\n1 "));
    assert_eq!(env.json(["status", "-n", "sh"])["data"]["generation"], 2);
    // A text that is restored is as good as any: it can be undone and crash again.
    settled(&env, "sh");
    eval(&env, "sh", "x=5");
    env.json(["undo", "-n", "sh"]);
    assert!(look(&env).starts_with("f 1\n1 "));
    assert_eq!(env.json(["stop", "-n", "sh"])["ok"], true);
    assert!(!env.session_dir("sh").join("checkpoints").exists());
}

#[test]
fn st5_st3_bash_goes_back_beside_background_jobs_and_says_what_that_ends() {
    let env = TestEnv::new(STEAD);
    eval(&env, "sh", "x=1");
    eval(&env, "sh", "sleep 1000 & exec 7</dev/null; x=2");
    eval(&env, "sh", "x=3");
    let reply = undo(&env, &["-n", "sh"]);
    let lost = reply["data"]["lost"].to_string();
    assert!(lost.contains("(sleep)") && lost.contains("descriptors 7"), "{reply:#}");
    let reply = env.json(["eval", "-n", "sh", "--", "echo $x"]);
    assert_eq!(reply["data"]["chunks"][0]["content"], "2\n", "{reply:#}");
}

/// They hold all variables, also what was typed as a secret.
#[test]
fn st5_texts_of_a_shell_go_with_a_host_that_is_killed() {
    let env = TestEnv::new(STEAD);
    eval(&env, "sh", "token=secret");
    settled(&env, "sh");
    let texts = env.session_dir("sh").join("checkpoints");
    assert!(texts.exists());
    let status = env.json(["status", "-n", "sh"]);
    kill(status["data"]["host_pid"].as_u64().unwrap() as u32);
    wait_for("the texts to be gone", || !texts.exists());
}

#[test]
fn st5_languages_that_cannot_say_so() {
    let env = TestEnv::with_node(STEAD, &stead_testkit::node());
    env.json(["eval", "-n", "js", "--", "let a = 1"]);
    let reply = env.json(["undo", "-n", "js"]);
    assert_eq!(reply["error"]["code"], "unsupported", "{reply:#}");
    assert_eq!(env.json(["status", "-n", "js"])["data"]["undo"], Value::Null);
}

#[test]
fn st5_code_that_comes_while_bash_is_copied_runs_behind_it() {
    let env = TestEnv::new(STEAD);
    let names = "for n in {1..600}; do printf -v \"name_$n\" '%050d' \"$n\"; done";
    assert_eq!(env.json(["eval", "-n", "sh", "--", names])["status"], "complete");
    // Each comes at another moment of the copy, which begins 50 ms after the last.
    for step in 0..24 {
        stead_testkit::pause(std::time::Duration::from_millis(40 + 5 * step));
        let reply = env.json(["eval", "-n", "sh", "--timeout", "60s", "--", "echo on; read line"]);
        assert_eq!(reply["status"], "waiting_input", "{step}: {reply:#}");
        let interrupted = env.json(["interrupt", "-n", "sh"]);
        assert_eq!(interrupted["data"]["effect"], "interrupted", "{step}: {interrupted:#}");
    }
}

#[test]
fn st5_a_shell_with_much_state_is_not_copied_and_does_not_wait() {
    let env = TestEnv::new(STEAD);
    env.json(["eval", "-n", "sh", "--", "printf -v big '%*s' 8000000 x"]);
    wait_for("the reason", || {
        let off = env.json(["status", "-n", "sh"])["data"]["undo"]["off"].clone();
        off.as_str().is_some_and(|off| off.contains("the shell has grown by"))
    });
    let reply = env.json(["undo", "-n", "sh"]);
    assert_eq!(reply["ok"], false, "{reply:#}");
    let reply = env.json(["eval", "-n", "sh", "--timeout", "60s", "--", "unset big; echo on"]);
    assert_eq!(reply["status"], "complete", "{reply:#}");
}

#[test]
fn st3_a_checkpoint_at_any_moment_of_a_copy_for_undo_leaves_no_process_behind() {
    let env = TestEnv::new(STEAD);
    for step in 0..20 {
        let reply = env.json(["eval", "-n", "py", "--", &format!("x = {step}")]);
        assert_eq!(reply["status"], "complete", "{reply:#}");
        stead_testkit::pause(std::time::Duration::from_millis(30 + 2 * step));
        let made = env.json(["checkpoint", "-n", "py"]);
        assert_eq!(made["status"], "complete", "{made:#}");
    }
    env.json(["eval", "-n", "py", "--", "x = None"]);
    settled(&env, "py");
    let pid = env.interpreter_pid();
    wait_for("as many processes as copies are told of", || {
        env.json(["eval", "-n", "py", "--", "1"]);
        let kept = settled(&env, "py")["copies"].as_u64().unwrap();
        let children = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"));
        // And the one that has the label.
        children.unwrap().split_whitespace().count() as u64 == kept + 1
    });
    env.json(["rollback", "-n", "py"]);
    assert_eq!(value(&env, "x"), "19");
}

#[test]
fn e3_a_hard_timeout_behind_a_copy_ends_with_its_eval() {
    let env = TestEnv::new(STEAD);
    eval(&env, "py", "x = 1");
    // Each is sent at another moment of the copy, and has long ended when its time would pass.
    for step in 0..20 {
        env.json(["eval", "-n", "py", "--", &format!("x = {step}")]);
        stead_testkit::pause(std::time::Duration::from_millis(44 + step));
        let reply = env.json(["eval", "-n", "py", "--hard-timeout", "300ms", "--", "x"]);
        assert_eq!(reply["status"], "complete", "{step}: {reply:#}");
    }
    // A time that went on would interrupt, then kill, within this.
    stead_testkit::pause(std::time::Duration::from_secs(5));
    let status = env.status();
    assert_eq!((&status["generation"], &status["state"]), (&json!(1), &json!("idle")));
    assert_eq!(value(&env, "x"), "19");
}

#[test]
fn e6_an_interrupt_of_code_behind_a_copy_hits_the_code() {
    let env = TestEnv::new(STEAD);
    for (name, change, code) in
        [("py", "x = 1", "while True: pass"), ("sh", "x=1", "while :; do :; done")]
    {
        for step in 0..12 {
            env.json(["eval", "-n", name, "--", change]);
            stead_testkit::pause(std::time::Duration::from_millis(46 + step));
            let sent = env.json(["eval", "-n", name, "--bg", "--", code]);
            let id = sent["data"]["eval_id"].as_str().unwrap();
            let interrupted = env.json(["interrupt", id]);
            assert_eq!(
                interrupted["data"]["effect"], "interrupted",
                "{name} {step}: {interrupted:#}"
            );
        }
    }
}
