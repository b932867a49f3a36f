//! `stead save` and `stead load`: what is written and where, what comes back and where, and what is refused (SPEC ST-2).

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::PathBuf;

use rustix::fs::{CWD, FileType, Mode, mknodat};
use serde_json::{Value, json};
use stead_client::{Manifest, RequestError, SavedTrouble};
use stead_testkit::TestEnv;

use crate::STEAD;

/// A session `py` with a few names, saved as `a.stead`.
fn saved() -> (TestEnv, PathBuf) {
    let env = TestEnv::new(STEAD);
    env.value("x = 41; both = [x]; same = both\ndef f(y): return x + y");
    let reply = env.json(["save", "-n", "py", "a.stead"]);
    assert_eq!(
        (&reply["status"], &reply["data"]["count"]),
        (&"complete".into(), &4.into()),
        "{reply:#}"
    );
    let path = env.workspace().join("a.stead");
    (env, path)
}

fn sessions(env: &TestEnv) -> Vec<Value> {
    let listed = env.json(["ls"])["data"]["sessions"].as_array().unwrap().clone();
    listed.into_iter().map(|session| session["name"].clone()).collect()
}

#[test]
fn st2_what_was_saved_comes_back_in_a_session_of_its_own() {
    let (env, path) = saved();
    assert_eq!(path.metadata().unwrap().mode() & 0o777, 0o600);
    let loaded = env.json(["load", "a.stead"]);
    assert_eq!(
        (&loaded["status"], &loaded["data"]["session"]),
        (&"complete".into(), &"py-2".into()),
        "{loaded:#}"
    );
    assert_eq!(loaded["data"]["count"], 4, "{loaded:#}");
    assert_eq!(loaded["data"]["failed"], json!([]));
    let value = |name: &str| {
        env.json(["eval", "-n", name, "f(1), both is same, both"])["data"]["value"].clone()
    };
    assert_eq!(value("py-2"), "(42, True, [41])");
    // The names of the first session are its own, and its file outlives it.
    env.json(["stop", "py"]);
    let named = env.json(["load", "a.stead", "-n", "again"]);
    assert_eq!(named["data"]["session"], "again", "{named:#}");
    assert_eq!(value("again"), "(42, True, [41])");
    let taken = env.json(["load", "a.stead", "-n", "again"]);
    assert_eq!(taken["error"]["code"], "session_exists", "{taken:#}");
    assert!(taken["error"]["hint"].as_str().unwrap().contains("--into again"), "{taken:#}");
}

#[test]
fn st2_names_come_over_those_of_a_live_session() {
    let (env, _) = saved();
    env.value("x = 'other'; mine = 1; del same");
    let loaded = env.json(["load", "a.stead", "--into", "py"]);
    assert_eq!(loaded["status"], "complete", "{loaded:#}");
    assert_eq!(env.value("x, mine, same is both"), "(41, 1, True)");
    let changed = &loaded["data"]["changed"];
    assert!(
        changed["rebound"].as_array().unwrap().iter().any(|change| change["name"] == "x"),
        "{loaded:#}"
    );
    // `vars` of this session, and its number of evals, count names and code alone.
    assert_eq!(env.status()["evals"], 3);
}

#[test]
fn st2_a_file_that_cannot_be_loaded_is_named_and_nothing_is_started() {
    let (env, path) = saved();
    env.json(["stop", "py"]);
    let at = |name: &str| env.workspace().join(name);
    let whole = std::fs::read(&path).unwrap();
    std::fs::create_dir(at("dir")).unwrap();
    mknodat(CWD, at("pipe"), FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
    std::fs::write(at("notes"), "dear diary").unwrap();
    std::fs::write(at("cut"), &whole[..whole.len() - 1]).unwrap();
    std::fs::write(at("empty"), "").unwrap();
    std::fs::write(at("newer"), [b"STEADSAVE7\n", &whole[11..]].concat()).unwrap();
    std::fs::write(at("longer"), [&whole[..], b"\n"].concat()).unwrap();
    symlink("a.stead", at("link")).unwrap();
    symlink("nowhere", at("dangling")).unwrap();
    for (name, said) in [
        ("none", "No such file"),
        ("dangling", "No such file"),
        ("dir", "a directory"),
        ("pipe", "a named pipe"),
        ("notes", "not a file that a save has written"),
        ("cut", "cut off"),
        ("empty", "cut off"),
        ("longer", "cut off or damaged"),
        ("newer", "format 7"),
    ] {
        for arguments in
            [vec!["load", name], vec!["load", "--list", name], vec!["load", name, "-n", "new"]]
        {
            let refused = env.json(&arguments);
            assert_eq!(refused["error"]["code"], "bad_request", "{arguments:?}: {refused:#}");
            let message = refused["error"]["message"].as_str().unwrap();
            assert!(
                message.contains(said) && message.contains(&format!("/{name}`")),
                "{arguments:?}: {message}"
            );
        }
    }
    assert_eq!(sessions(&env), [""; 0]);
    assert_eq!(env.json(["load", "--list", "link"])["data"]["count"], 4);
    let odd = env.json([OsStr::new("load"), OsStr::from_bytes(b"odd\xff")]);
    assert_eq!(odd["error"]["code"], "bad_request", "{odd:#}");
    let two_lines = env.json(["load", "two\nlines"]);
    assert!(
        two_lines["error"]["message"].as_str().unwrap().contains("line break"),
        "{two_lines:#}"
    );
}

#[test]
fn st2_a_save_that_is_cut_off_at_any_byte_is_refused() {
    let (env, path) = saved();
    let whole = std::fs::read(&path).unwrap();
    let cut = env.workspace().join("cut.stead");
    for length in 0..whole.len() {
        std::fs::write(&cut, &whole[..length]).unwrap();
        match Manifest::read(&cut) {
            Err(RequestError::SavedFile { path, trouble: SavedTrouble::CutOff }) => {
                assert_eq!(path, cut)
            }
            other => panic!("{length} of {}: {other:?}", whole.len()),
        }
    }
    assert_eq!(Manifest::read(&path).unwrap().names.len(), 4);
}

#[test]
fn st2_a_session_that_was_opened_for_a_load_that_fails_is_stopped_again() {
    let env = TestEnv::new(STEAD);
    let slow = "import time\nclass Slow:\n    def __reduce__(self): return time.sleep, (1000,)\nx, slow = 41, Slow()";
    env.value(slow);
    let reply = env.json(["save", "-n", "py", "slow.stead"]);
    assert_eq!(reply["status"], "complete", "{reply:#}");
    let failed = env.json(["load", "slow.stead", "--hard-timeout", "500ms"]);
    assert_eq!(
        (&failed["ok"], &failed["status"]),
        (&false.into(), &"timeout".into()),
        "{failed:#}"
    );
    let notice = failed["data"]["notice"].as_str().unwrap();
    assert!(notice.contains("`py-2`") && notice.contains("stopped again"), "{failed:#}");
    assert_eq!(sessions(&env), ["py"]);
    // Its record is there all the same.
    assert_eq!(env.json(["output", "py-2:1"])["status"], "timeout");
    let into = env.json(["load", "slow.stead", "--into", "py", "--hard-timeout", "500ms"]);
    assert_eq!(into["status"], "timeout", "{into:#}");
    assert_eq!(env.value("x + 1"), "42");
    // One that goes on is left alone, and can be interrupted as any work.
    let goes_on = env.json(["load", "slow.stead", "--timeout", "0"]);
    assert_eq!(goes_on["status"], "partial", "{goes_on:#}");
    let id = goes_on["data"]["eval_id"].as_str().unwrap();
    assert_eq!(env.json(["interrupt", id])["ok"], true);
    assert_eq!(env.json(["output", id, "--wait", "60s"])["status"], "interrupted");
}

#[test]
fn st2_a_file_of_another_language_is_refused_by_name() {
    let (env, _) = saved();
    env.json(["eval", "-n", "sh", "true"]);
    let refused = env.json(["load", "a.stead", "--into", "sh"]);
    assert_eq!(refused["error"]["code"], "bad_request", "{refused:#}");
    let message = refused["error"]["message"].as_str().unwrap();
    for word in ["a.stead`", "python", "`sh`", "bash"] {
        assert!(message.contains(word), "{message}");
    }
    assert_eq!(env.json(["evals", "sh"])["data"]["evals"].as_array().unwrap().len(), 1);
}

#[test]
fn st2_a_save_takes_the_place_of_no_other_file() {
    let (env, _) = saved();
    let at = |name: &str| env.workspace().join(name);
    std::fs::write(at("notes"), "dear diary").unwrap();
    std::fs::create_dir(at("dir")).unwrap();
    mknodat(CWD, at("pipe"), FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
    symlink("a.stead", at("link")).unwrap();
    for (name, said) in
        [("notes", "exists"), ("dir", "a directory"), ("pipe", "a named pipe"), ("notes/below", "")]
    {
        let refused = env.json(["save", "-n", "py", name]);
        assert_eq!(refused["ok"], false, "{name}: {refused:#}");
        let message = refused["error"]["message"].as_str().unwrap();
        assert!(message.contains(said) && message.contains(name), "{name}: {message}");
    }
    assert_eq!(std::fs::read(at("notes")).unwrap(), b"dear diary");
    let forced = env.json(["save", "-n", "py", "notes", "--force"]);
    assert_eq!(forced["status"], "complete", "{forced:#}");
    assert_eq!(env.json(["load", "--list", "notes"])["data"]["count"], 4);
    env.value("x = 42");
    env.json(["save", "-n", "py", "link", "x"]);
    assert!(at("link").is_symlink());
    assert_eq!(env.json(["load", "--list", "a.stead"])["data"]["names"][0]["value"], "42");
    for (words, said) in [(["save", "a\nb"], "line break"), (["save", "a.stead"], "")] {
        let reply = env.json(words);
        assert_eq!(reply["ok"], said.is_empty(), "{reply:#}");
    }
    let left: Vec<_> = std::fs::read_dir(env.workspace())
        .unwrap()
        .flatten()
        .map(|entry| entry.file_name())
        .collect();
    assert!(!left.iter().any(|name| name.to_string_lossy().ends_with(".tmp")), "{left:?}");
}

#[test]
fn c2_a_save_without_a_name_is_of_the_only_session_or_says_which_there_are() {
    let (env, _) = saved();
    assert_eq!(env.json(["save", "b.stead"])["data"]["session"], "py");
    env.json(["eval", "-n", "other", "-l", "python", "1"]);
    let which = env.json(["save", "b.stead"]);
    assert_eq!(which["error"]["code"], "session_not_found", "{which:#}");
    assert!(which["error"]["hint"].as_str().unwrap().contains("other, py"), "{which:#}");
    for name in ["other", "py"] {
        env.json(["stop", name]);
    }
    let none = env.json(["save", "b.stead"]);
    assert_eq!(none["error"]["code"], "session_not_found", "{none:#}");
    let ended = env.json(["save", "-n", "py", "b.stead"]);
    assert_eq!(ended["error"]["code"], "session_not_found", "{ended:#}");
}

#[test]
fn st2_a_session_whose_state_is_gone_saves_nothing_over_an_earlier_file() {
    let (env, path) = saved();
    let before = std::fs::read(&path).unwrap();
    let host = env.host_pid();
    rustix::process::kill_process(
        rustix::process::Pid::from_raw(host as i32).unwrap(),
        rustix::process::Signal::KILL,
    )
    .unwrap();
    stead_testkit::wait_for("the host to be gone", || !stead_testkit::is_alive(host));
    let refused = env.json(["save", "-n", "py", "a.stead"]);
    assert_eq!(refused["ok"], false, "{refused:#}");
    assert!(
        ["session_lost", "session_ended"].contains(&refused["error"]["code"].as_str().unwrap()),
        "{refused:#}"
    );
    assert_eq!(std::fs::read(&path).unwrap(), before);
}

#[test]
fn st2_two_saves_to_one_file_at_once_leave_one_of_them_whole() {
    let env = TestEnv::new(STEAD);
    for name in ["one", "two"] {
        let code = format!("who = {name:?}; data = who.encode() * 500_000");
        assert_eq!(env.json(["eval", "-n", name, "-l", "python", &code])["status"], "complete");
    }
    for _ in 0..5 {
        let running =
            ["one", "two", "one", "two"].map(|name| env.spawn(["save", "-n", name, "both.stead"]));
        for child in running {
            let ran = child.wait_with_output().unwrap();
            let reply: Value = serde_json::from_slice(&ran.stdout).unwrap();
            assert_eq!(reply["status"], "complete", "{reply:#}");
        }
        let loaded = env.json(["load", "both.stead", "-n", "check"]);
        assert_eq!(loaded["data"]["count"], 2, "{loaded:#}");
        let whole = env.json(["eval", "-n", "check", "data == who.encode() * 500_000"]);
        assert_eq!(whole["data"]["value"], "True", "{whole:#}");
        env.json(["stop", "check"]);
    }
    let left: Vec<_> = std::fs::read_dir(env.workspace())
        .unwrap()
        .flatten()
        .map(|entry| entry.file_name())
        .collect();
    assert_eq!(left, ["both.stead"]);
}

#[test]
fn e17_watchers_are_told_of_a_save_as_what_it_is() {
    let (env, path) = saved();
    let mut watch = env.command(["watch", "--json"]);
    let mut child = watch.stdout(std::process::Stdio::piped()).spawn().unwrap();
    let lines = stead_testkit::ReadLines::of(child.stdout.take().unwrap());
    let next = |kind: &str| loop {
        let line: Value = serde_json::from_str(&lines.next_line().unwrap()).unwrap();
        if line["type"] == kind {
            return line;
        }
    };
    next("lives");
    env.json(["save", "-n", "py", "a.stead", "x"]);
    let accepted = next("accepted");
    assert_eq!(accepted["work"], "save", "{accepted:#}");
    assert_eq!(accepted["code"], format!("save {} x", path.display()));
    let finished = next("finished");
    assert_eq!(
        (&finished["ok"], &finished["data"]["saved"]),
        (&true.into(), &json!(["x"])),
        "{finished:#}"
    );
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn c9_ctrl_c_interrupts_a_save_and_keeps_the_earlier_file() {
    let (env, path) = saved();
    let before = std::fs::read(&path).unwrap();
    env.value(
        "import time\nclass Slow:\n    def __reduce__(self):\n        print('saving slowly', flush=True)\n        time.sleep(1000)\nslow = Slow()",
    );
    let mut terminal = stead_testkit::Terminal::run(env.command(["save", "-n", "py", "a.stead"]));
    let begun = || env.status()["running"]["last_line"] == "saving slowly";
    stead_testkit::wait_for("the save to begin", begun);
    terminal.type_keys("\x03");
    let (code, shown) = terminal.finish();
    assert_eq!(code, Some(1), "{shown}");
    assert!(shown.contains("interrupted"), "{shown}");
    assert_eq!(std::fs::read(&path).unwrap(), before);
    assert_eq!(std::fs::read_dir(env.workspace()).unwrap().count(), 1);
    assert_eq!(env.value("x"), "41");
}

#[test]
fn e11_a_save_whose_session_is_stopped_has_its_outcome_and_leaves_nothing() {
    let (env, path) = saved();
    let before = std::fs::read(&path).unwrap();
    env.value(
        "import time\nclass Slow:\n    def __reduce__(self): time.sleep(1000)\nslow = Slow()",
    );
    let save = env.json(["save", "-n", "py", "a.stead", "--bg"]);
    let id = save["data"]["eval_id"].as_str().unwrap();
    let behind = env.json(["save", "-n", "py", "b.stead", "--bg"]);
    assert_eq!(behind["data"]["behind"], id, "{behind:#}");
    let dequeued = env.json(["interrupt", behind["data"]["eval_id"].as_str().unwrap()]);
    assert_eq!(dequeued["ok"], true, "{dequeued:#}");
    env.json(["stop", "py"]);
    assert_eq!(env.json(["output", id])["status"], "ended");
    assert_eq!(std::fs::read(&path).unwrap(), before);
    assert!(!env.workspace().join("b.stead").exists());
}
