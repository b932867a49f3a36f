//! Checkpoints and rollbacks (SPEC ST-3), with a bridge that does nothing else.

use std::fs;

use serde_json::{Value, json};
use stead_testkit::TestEnv;

use crate::STEAD;

const BRIDGE: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/crates/interpreter/tests/near/copying_bridge.py");

fn session() -> TestEnv {
    let env = TestEnv::new(STEAD);
    let launched = env.json(["launch", "own", "-n", "c", "--bridge", BRIDGE]);
    assert_eq!(launched["status"], "complete", "{launched:#}");
    env
}

#[track_caller]
fn eval(env: &TestEnv, code: &str) -> Value {
    let reply = env.json(["eval", "-n", "c", "--", code]);
    assert_eq!(reply["status"], "complete", "{code}: {reply:#}");
    reply
}

/// The word that the bridge keeps.
#[track_caller]
fn word(env: &TestEnv) -> String {
    let said = eval(env, "say");
    let text = said["data"]["chunks"][0]["content"].as_str().unwrap_or_default().to_owned();
    text.split(' ').next().unwrap_or_default().to_owned()
}

#[track_caller]
fn checkpoint(env: &TestEnv, label: &str) -> Value {
    let made = env.json(["checkpoint", "-n", "c", "--", label]);
    assert_eq!(made["status"], "complete", "{made:#}");
    assert_eq!(made["data"]["label"], label, "{made:#}");
    made
}

#[test]
fn st3_a_session_goes_back_to_any_checkpoint_as_often_as_wanted() {
    let env = session();
    eval(&env, "word=one");
    checkpoint(&env, "first");
    eval(&env, "word=two");
    checkpoint(&env, "second");
    eval(&env, "word=three");
    let before = env.json(["status", "-n", "c"]);
    for (label, expected) in [("first", "one"), ("second", "two"), ("first", "one")] {
        let back = env.json(["rollback", "-n", "c", label]);
        assert_eq!((&back["status"], &back["data"]["label"]), (&json!("complete"), &json!(label)));
        assert_eq!(word(&env), expected);
    }
    // Without a label, to the last that was made.
    let back = env.json(["rollback", "-n", "c"]);
    assert_eq!(back["data"]["label"], "second");
    assert_eq!(word(&env), "two");
    let after = env.json(["status", "-n", "c"]);
    assert_eq!(before["data"]["generation"], after["data"]["generation"]);
    assert_ne!(before["data"]["pid"], after["data"]["pid"]);
    assert_eq!(after["data"]["processes"], 1, "{after:#}");
}

#[test]
fn st5_evals_whose_effect_is_gone_are_marked_and_stay_readable() {
    let env = session();
    eval(&env, "word=one");
    checkpoint(&env, "a");
    eval(&env, "word=two");
    eval(&env, "say");
    checkpoint(&env, "b");
    let back = env.json(["rollback", "-n", "c", "a"]);
    assert_eq!(back["data"]["undone"], json!(["c:3", "c:4"]), "{back:#}");
    let undone = |env: &TestEnv| -> Vec<String> {
        let evals = env.json(["history", "-n", "c"])["data"]["evals"].clone();
        let marked = evals.as_array().unwrap().iter().filter(|eval| eval["undone"] == true);
        marked.map(|eval| eval["eval_id"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(undone(&env), ["c:3", "c:4"]);
    let one = env.json(["history", "c:4"]);
    assert_eq!((&one["status"], &one["data"]["undone"]), (&json!("complete"), &json!(true)));
    let text = env.run(["output", "c:4", "--text"]).stdout;
    assert!(text.starts_with("two "), "{text}");
    let table = env.run(["evals", "c", "--text"]).stdout;
    let row = table.lines().find(|line| line.starts_with("c:3")).unwrap_or_default().to_owned();
    assert!(row.contains("undone"), "{table}");
    // Their state comes back, so they are not undone any more.
    let back = env.json(["rollback", "-n", "c", "b"]);
    assert_eq!(back["data"]["back"], json!(["c:3", "c:4"]), "{back:#}");
    assert!(undone(&env).is_empty());
}

#[test]
fn st5_a_rollback_ends_code_that_ignores_interrupts_and_what_waited_does_not_run() {
    let env = session();
    eval(&env, "word=one");
    checkpoint(&env, "a");
    let looping = env.json(["eval", "-n", "c", "--bg", "--", "loop"]);
    let id = looping["data"]["eval_id"].as_str().unwrap();
    let up = env.json(["wait", id, "--match", "up"]);
    assert_eq!(up["ok"], true, "{up:#}");
    let queued = env.json(["eval", "-n", "c", "--bg", "--", "word=queued"]);
    let back = env.json(["rollback", "-n", "c"]);
    assert_eq!(back["status"], "complete", "{back:#}");
    let over = env.json(["output", id]);
    assert_eq!(over["status"], "ended", "{over:#}");
    let said = env.run(["history", id, "--text"]).stdout;
    assert!(said.contains("the session was rolled back by cli"), "{said}");
    let queued = env.json(["output", queued["data"]["eval_id"].as_str().unwrap()]);
    assert_eq!(queued["status"], "ended", "{queued:#}");
    assert_eq!(word(&env), "one");
}

#[test]
fn st3_labels_are_listed_dropped_and_used_again() {
    let env = session();
    let odd = ["a b", "é🦀", "--list", "'\"$(x)", "py:7", "../x", "checkpoint"];
    for label in odd {
        checkpoint(&env, label);
    }
    let unnamed = env.json(["checkpoint", "-n", "c"]);
    assert_eq!(unnamed["data"]["label"], "checkpoint", "{unnamed:#}");
    let list = env.json(["checkpoint", "-n", "c", "--list"]);
    let labels: Vec<&str> = list["data"]["checkpoints"]
        .as_array()
        .unwrap()
        .iter()
        .map(|found| found["label"].as_str().unwrap())
        .collect();
    assert_eq!(labels, odd, "{list:#}");
    for label in odd {
        let drop = format!("--drop={label}");
        assert_eq!(env.json(["checkpoint", "-n", "c", &drop])["ok"], true, "{label}");
        let gone = env.json(["checkpoint", "-n", "c", &drop]);
        assert_eq!(gone["error"]["code"], "bad_request", "{gone:#}");
        let gone = env.json(["rollback", "-n", "c", "--", label]);
        assert_eq!(gone["error"]["code"], "bad_request", "{gone:#}");
        assert!(gone["error"]["message"].as_str().unwrap().contains(label), "{gone:#}");
    }
    for wrong in ["", " ", " a", "a\nb", "\u{1b}[1m", &"x".repeat(101)] {
        for command in ["checkpoint", "rollback"] {
            let refused = env.json([command, "-n", "c", "--", wrong]);
            assert_eq!(refused["error"]["code"], "bad_request", "{wrong:?}: {refused:#}");
        }
    }
    let none = env.json(["rollback", "-n", "c"]);
    assert_eq!(none["error"]["message"], "there is no checkpoint", "{none:#}");
    assert_eq!(env.json(["status", "-n", "c"])["data"]["processes"], 1);
}

#[test]
fn st3_what_cannot_be_copied_says_why_and_goes_on() {
    let env = session();
    eval(&env, "word=one");
    let refused = env.json(["checkpoint", "-n", "c", "refused"]);
    assert_eq!(refused["status"], "error", "{refused:#}");
    assert_eq!(refused["data"]["error"]["message"], "there is a pool of threads");
    assert_eq!(word(&env), "one");
    let env = TestEnv::new(STEAD);
    env.json(["launch", "node", "-n", "js"]);
    let refused = env.json(["checkpoint", "-n", "js"]);
    assert_eq!(refused["error"]["code"], "unsupported", "{refused:#}");
    assert!(refused["error"]["hint"].as_str().unwrap().contains("stead save"), "{refused:#}");
}

#[test]
fn st3_a_copy_that_does_not_wake_ends_the_session_and_says_why() {
    let env = session();
    eval(&env, "word=one");
    checkpoint(&env, "mortal");
    let back = env.json(["rollback", "-n", "c"]);
    assert_eq!(back["status"], "ended", "{back:#}");
    let message = back["error"]["message"].as_str().unwrap();
    assert!(message.contains("could not be rolled back"), "{back:#}");
}

#[test]
fn st3_checkpoints_go_with_their_interpreter() {
    let env = session();
    checkpoint(&env, "a");
    env.json(["restart", "-n", "c"]);
    let none = env.json(["rollback", "-n", "c", "a"]);
    assert_eq!(none["error"]["message"], "there is no checkpoint `a`", "{none:#}");
    checkpoint(&env, "a");
    // The environment fails the test if a process is left.
    assert_eq!(env.json(["stop", "-n", "c"])["ok"], true);
}

#[test]
fn st3_python_goes_back_with_all_that_it_has() {
    let env = TestEnv::new(STEAD);
    let run = |code: &str| env.json(["eval", "-n", "py", "--", code]);
    let value = |code: &str| run(code)["data"]["value"].as_str().unwrap_or_default().to_owned();
    run("import os, random; x = [1]; y = x; random.seed(7)");
    let made = env.json(["checkpoint", "-n", "py", "a"]);
    assert_eq!(made["status"], "complete", "{made:#}");
    let drawn = value("random.random()");
    run("x.append(2); del y; os.chdir('/'); z = 1");
    for _ in 0..3 {
        let back = env.json(["rollback", "-n", "py", "a"]);
        assert_eq!(back["status"], "complete", "{back:#}");
        assert_eq!(
            value("x, x is y, 'z' in dir(), os.getcwd() != '/'"),
            "([1], True, False, True)"
        );
        assert_eq!(value("random.random()"), drawn);
        assert_eq!(value("os.getppid() == int(open('/proc/self/stat').read().split()[3])"), "True");
        run("x.clear()");
    }
    // A loop in C that takes no interrupt.
    let looping = env.json(["eval", "-n", "py", "--bg", "--", "sum(range(10**15))"]);
    let back = env.json(["rollback", "-n", "py"]);
    assert_eq!(back["status"], "complete", "{back:#}");
    let over = env.json(["output", looping["data"]["eval_id"].as_str().unwrap()]);
    assert_eq!(over["status"], "ended", "{over:#}");
    assert_eq!(value("x"), "[1]");
    assert_eq!(env.json(["status", "-n", "py"])["data"]["processes"], 1);
}

#[test]
fn st3_bash_goes_back_by_its_text() {
    let env = TestEnv::new(STEAD);
    env.json(["launch", "bash", "-n", "sh"]);
    let run = |code: &str| env.json(["eval", "-n", "sh", "--", code]);
    let said = |code: &str| {
        run(code)["data"]["chunks"][0]["content"].as_str().unwrap_or_default().to_owned()
    };
    run(
        "x=1; declare -A map=([k]='a b'); f() { echo \"f $1\"; }; readonly fixed=7; set -o noglob; cd /",
    );
    let made = env.json(["checkpoint", "-n", "sh", "a"]);
    assert_eq!((&made["status"], &made["data"]["label"]), (&json!("complete"), &json!("a")));
    run("x=2; unset map; unset -f f; set +o noglob; cd /tmp; y=3");
    let generation = env.json(["status", "-n", "sh"])["data"]["generation"].clone();
    for _ in 0..2 {
        let back = env.json(["rollback", "-n", "sh", "a"]);
        assert_eq!(
            (&back["status"], &back["data"]["label"]),
            (&json!("complete"), &json!("a")),
            "{back:#}"
        );
        assert_eq!(
            said("echo $x ${map[k]} $(f 1) $fixed $PWD ${y-none} *"),
            "1 a b f 1 7 / none *\n"
        );
        run("x=9");
    }
    // Also from a loop, and from one that ignores interrupts.
    let looping = env.json(["eval", "-n", "sh", "--bg", "--", "trap '' INT; while :; do :; done"]);
    assert_eq!(env.json(["rollback", "-n", "sh"])["status"], "complete");
    let over = env.json(["output", looping["data"]["eval_id"].as_str().unwrap()]);
    assert_eq!(over["status"], "ended", "{over:#}");
    assert_eq!(said("echo $x"), "1\n");
    assert_eq!(env.json(["status", "-n", "sh"])["data"]["generation"], generation);
    assert_eq!(env.json(["checkpoint", "-n", "sh", "--drop", "a"])["ok"], true);
    let none = env.json(["rollback", "-n", "sh", "a"]);
    assert_eq!(none["error"]["code"], "bad_request", "{none:#}");
}

#[test]
fn st3_names_of_the_standard_library_are_still_its_own_after_bash_went_back() {
    let env = TestEnv::new(STEAD);
    let library = "lib() { echo lib; }; LIBVAR=1".as_bytes();
    assert_eq!(env.run_with(["stdlib", "add", "-l", "bash", "-"], library).code, Some(0));
    env.json(["eval", "-l", "bash", "-n", "sh", "--", "mine=1"]);
    env.json(["checkpoint", "-n", "sh", "a"]);
    env.json(["eval", "-n", "sh", "--", "mine=2; other=3"]);
    assert_eq!(env.json(["rollback", "-n", "sh", "a"])["status"], "complete");
    let vars = env.json(["vars", "-n", "sh"]);
    let names = vars["data"]["vars"].as_array().unwrap();
    let names: Vec<&Value> = names.iter().map(|one| &one["name"]).collect();
    assert_eq!(names, ["mine"], "{vars:#}");
    let ran = env.json(["eval", "-n", "sh", "--", "lib; echo $LIBVAR"]);
    assert_eq!(ran["data"]["chunks"][0]["content"], "lib\n1\n", "{ran:#}");
}

#[test]
fn st3_texts_of_checkpoints_are_bounded_and_a_disk_that_takes_no_more_is_told() {
    let env = TestEnv::new(STEAD);
    // Copies for undo lie in the same place.
    env.json(["launch", "bash", "-n", "sh", "--no-undo"]);
    env.json(["eval", "-n", "sh", "--", "x=1"]);
    env.json(["checkpoint", "-n", "sh", "a"]);
    let dir = env.session_dir("sh");
    let texts = dir.join("checkpoints");
    let large = texts.join("0.stead");
    fs::File::create(&large).unwrap().set_len(1 << 30).unwrap();
    let full = env.json(["checkpoint", "-n", "sh", "b"]);
    let message = full["data"]["error"]["message"].as_str().unwrap_or_default();
    assert!(message.contains("would take more than 1 GiB"), "{full:#}");
    assert_eq!(fs::read_dir(&texts).unwrap().count(), 2, "the text that was too much is gone");
    fs::remove_file(large).unwrap();
    // What cannot be written there cannot be written on a full disk either.
    fs::create_dir(dir.join("undone.new")).unwrap();
    env.json(["eval", "-n", "sh", "--", "x=2"]);
    let back = env.json(["rollback", "-n", "sh", "a"]);
    assert_eq!(back["status"], "complete", "{back:#}");
    assert!(back.to_string().contains("which evals were undone could not be recorded"), "{back:#}");
    let ran = env.json(["eval", "-n", "sh", "--", "echo $x"]);
    assert_eq!(ran["data"]["chunks"][0]["content"], "1\n", "{ran:#}");
}
