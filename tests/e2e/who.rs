//! Sessions of one's own, and who did what in those of all (SPEC S-13, E-16, E-6).

use std::collections::BTreeSet;

use stead_testkit::TestEnv;

use crate::STEAD;

#[test]
fn s13_who_names_no_session_gets_the_next_free_one() {
    let env = TestEnv::new(STEAD);
    let launch = |words: &[&str]| {
        let reply = env.json(["launch"].iter().chain(words));
        reply["data"]["name"].as_str().unwrap_or_else(|| panic!("{reply:#}")).to_owned()
    };
    assert_eq!(launch(&[]), "py");
    assert_eq!(launch(&["python"]), "py-2");
    assert_eq!(launch(&["py"]), "py-3");
    assert_eq!(launch(&["bash"]), "sh");
    assert_eq!(launch(&["sh"]), "sh-2");
    // A name that was given back is used again; one whose session ended by itself is still somebody's.
    env.run(["stop", "-n", "py-2"]);
    env.json(["eval", "-n", "py-3", "x = 1\nexit()"]);
    assert_eq!(launch(&[]), "py-2");
    assert_eq!(launch(&[]), "py-4");
    assert_eq!(env.json(["eval", "-n", "py-2", "41 + 1"])["data"]["value"], "42");
    // A session that is asked for by name is refused if it lives, and started anew if it has ended.
    assert_eq!(env.json(["launch", "-n", "py"])["error"]["code"], "session_exists");
    assert_eq!(launch(&["-n", "py-3", "python"]), "py-3");
    for name in ["py", "py-2", "py-3", "py-4", "sh", "sh-2"] {
        assert_eq!(env.run(["stop", "-n", name]).code, Some(0));
    }
}

/// Real processes, started together.
#[test]
fn s13_those_that_ask_at_the_same_moment_get_different_names() {
    const ASKERS: usize = 6;
    let env = TestEnv::new(STEAD);
    let askers: Vec<_> = (0..ASKERS).map(|_| env.spawn(["launch", "bash", "--json"])).collect();
    let names: BTreeSet<String> = askers
        .into_iter()
        .map(|asker| {
            let output = asker.wait_with_output().expect("a launch that ends");
            let reply: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
            reply["data"]["name"].as_str().unwrap_or_else(|| panic!("{reply:#}")).to_owned()
        })
        .collect();
    assert_eq!(names.len(), ASKERS, "{names:?}");
    for number in 2..=ASKERS {
        assert!(names.contains(&format!("sh-{number}")), "{names:?}");
    }
    for name in &names {
        assert_eq!(env.run(["stop", "-n", name]).code, Some(0));
    }
}

#[test]
fn e16_who_sent_an_eval_is_told_by_every_command_that_shows_it() {
    let env = TestEnv::new(STEAD);
    let first = env.json(["eval", "-n", "py", "1"]);
    assert_eq!(first["data"]["by"], "cli", "{first:#}");
    let robot = |words: &[&str]| {
        let output = env.command(words).env("STEAD_BY", "robot#7").output().expect("a command");
        serde_json::from_slice::<serde_json::Value>(&output.stdout).expect("JSON")
    };
    let second = robot(&["eval", "-n", "py", "--bg", "input('go? ')"]);
    assert_eq!(second["data"]["by"], "robot#7", "{second:#}");
    let shown = env.json(["output", "py:2", "--wait", "30s"]);
    assert_eq!(
        (&shown["status"], &shown["data"]["by"]),
        (&"waiting_input".into(), &"robot#7".into())
    );
    let status = env.json(["status", "-n", "py"]);
    assert_eq!(status["data"]["running"]["by"], "robot#7", "{status:#}");
    let text = env.run(["status", "-n", "py", "--text"]).stdout;
    assert!(text.contains("py:2 by robot#7 waits for input"), "{text}");
    // Another may answer; the eval is still the robot's.
    let answered = env.json(["input", "-n", "py", "yes"]);
    assert_eq!(answered["data"]["by"], "robot#7", "{answered:#}");
    let listed = env.json(["evals", "-n", "py"]);
    assert_eq!(listed["data"]["evals"][0]["by"], "cli", "{listed:#}");
    assert_eq!(listed["data"]["evals"][1]["by"], "robot#7", "{listed:#}");
    let text = env.run(["evals", "-n", "py", "--text"]).stdout;
    assert!(text.lines().nth(2).is_some_and(|line| line.contains(" robot#7 ")), "{text}");
    // The result of a key belongs to whoever sent it first.
    robot(&["eval", "-n", "py", "--key", "k", "3"]);
    let again = env.json(["eval", "-n", "py", "--key", "k", "3"]);
    assert_eq!(again["data"]["by"], "robot#7", "{again:#}");
    env.run(["stop", "-n", "py"]);
}

#[test]
fn e6_the_result_says_who_asked_for_the_end() {
    let env = TestEnv::new(STEAD);
    let robot = |words: &[&str]| {
        let status = env.command(words).env("STEAD_BY", "robot").status().expect("a command");
        assert!(status.success(), "{words:?}");
    };
    let running = |code: &str| {
        let id = env.json(["eval", "-n", "py", "--bg", code])["data"]["eval_id"].clone();
        let id = id.as_str().expect("an id").to_owned();
        env.json(["output", &id, "--wait", "30s"]);
        id
    };
    let waits = "print('up', flush=True)\ninput()";
    let id = running(waits);
    robot(&["interrupt", &id]);
    let reply = env.json(["output", &id, "--wait", "30s"]);
    assert_eq!(reply["data"]["interrupted_by"], "robot", "{reply:#}");
    assert_eq!(
        reply["error"]["message"],
        "the eval was interrupted by robot; the session's state is kept"
    );
    for (command, said) in [
        ("restart", "the session was restarted by robot"),
        ("stop", "the session was stopped by robot"),
    ] {
        let id = running(waits);
        robot(&[command, "-n", "py"]);
        let reply = env.json(["output", &id, "--wait", "30s"]);
        let message = reply["error"]["message"].as_str().unwrap_or_default();
        assert!(message.ends_with(said), "{reply:#}");
    }
}
