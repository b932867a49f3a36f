//! E-11, H-2: every change that a host makes on disk, refused. No outcome is told that is not
//! recorded, all readers agree, and when the disk takes writes again everything is consistent.
//!
//! Each test tries a few places, spread over the session's life; `STEAD_REFUSE_ALL=1` tries every one.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};
use stead_testkit::{Hook, TestEnv, wait_for};

use crate::STEAD;
use crate::processes::{all_gone, history, kill};
use crate::wire::Raw;

const ENOSPC: i32 = 28;
const EIO: i32 = 5;

/// The words for an eval that has no outcome yet; `eval` and `output` have one each.
const OPEN: [&str; 4] = ["partial", "running", "queued", "waiting_input"];

struct Disk {
    env: TestEnv,
    full: PathBuf,
    note: PathBuf,
}

impl Disk {
    /// A session whose host is refused its `first` change on disk and all later ones, until `make_room`.
    fn refusing(first: u64, errno: i32) -> (Disk, Value) {
        let env = TestEnv::new(STEAD);
        let (full, note) = (env.root().join("full"), env.root().join("note"));
        fs::write(&full, "").unwrap();
        let disk = Disk { env, full, note };
        let refuse = format!("{first}:{errno}:{}", disk.full.display());
        let mut command = disk.env.command(["launch", "python", "-n", "py", "--init", "z = 1"]);
        Hook::Refuse.set(&mut command, refuse);
        Hook::Refused.set(&mut command, &disk.note);
        // A launch waits for its init code, which may be the one that cannot be recorded.
        command.stdout(std::process::Stdio::piped());
        let child = command.spawn().unwrap();
        let launched = crate::processes::reply(child);
        (disk, launched)
    }

    fn make_room(&self) {
        fs::remove_file(&self.full).unwrap();
    }

    fn was_refused(&self) -> bool {
        self.note.exists()
    }
}

/// The outcome of an eval on disk.
fn recorded(env: &TestEnv, eval: u64) -> Option<String> {
    let path = env.session_dir("py").join("history.jsonl");
    let text = fs::read_to_string(path).unwrap_or_default();
    let of = |line: &str| serde_json::from_str::<Value>(line).ok();
    text.lines().filter_map(of).find_map(|record| {
        let ours = record["t"] == "finished" && record["eval"] == eval;
        ours.then(|| record["finished"]["outcome"]["kind"].as_str().unwrap_or_default().to_owned())
    })
}

fn status_in_list(env: &TestEnv, id: &str) -> Option<String> {
    let listed = env.json(["evals", "-n", "py"]);
    let evals = listed["data"]["evals"].as_array()?.clone();
    let own = evals.into_iter().find(|eval| eval["eval_id"] == id)?;
    Some(own["status"].as_str()?.to_owned())
}

/// Fails unless what a reply says of its eval is on disk, and all readers say the same.
fn is_true(env: &TestEnv, reply: &Value, when: &str) {
    let Some(id) = reply["data"]["eval_id"].as_str() else { return };
    let eval: u64 = id.rsplit_once(':').unwrap().1.parse().unwrap();
    let status = reply["status"].as_str().unwrap();
    let read = env.json(["output", id]);
    let listed = status_in_list(env, id).unwrap_or_default();
    let open = |status: &str| OPEN.contains(&status);
    if open(status) {
        let notice = reply["data"]["notice"].as_str().unwrap_or_default();
        assert!(notice.contains("could not be recorded"), "{when}: {reply:#}");
        if recorded(env, eval).is_none() {
            assert!(open(read["status"].as_str().unwrap()), "{when}: {read:#}");
            assert!(open(&listed), "{when}: {listed}");
        }
    } else {
        assert!(recorded(env, eval).is_some(), "{when}: told and not recorded: {reply:#}");
        assert_eq!(read["status"], status, "{when}: {read:#}");
        assert_eq!(listed, status, "{when}");
    }
}

/// Runs a session's life with a disk that is full from its `first` change on. Whether anything was refused.
fn life(first: u64, errno: i32, killed: bool) -> bool {
    let when = format!("change {first}, errno {errno}, killed {killed}");
    let (disk, launched) = Disk::refusing(first, errno);
    let env = &disk.env;
    if launched["ok"] != true {
        assert!(disk.was_refused(), "{when}: {launched:#}");
        return after_a_failed_start(&disk, &when);
    }
    let codes = ["print('some words'); 1", "x = 41", "print('more words'); x + 1", "1 / 0"];
    let mut replies = Vec::new();
    for (n, code) in codes.iter().enumerate() {
        let key = format!("key-{n}");
        let code = format!("open('ran', 'a').write('{n}\\n')\n{code}");
        let reply = env.json(["eval", "-n", "py", "--key", &key, "--", &code]);
        is_true(env, &reply, &when);
        replies.push(reply);
    }
    let refused = disk.was_refused();
    if killed {
        kill(env.host_pid());
        all_gone(env);
        for reply in &replies {
            let Some(id) = reply["data"]["eval_id"].as_str() else { continue };
            let after = env.json(["output", id]);
            match reply["status"].as_str().unwrap() {
                status if OPEN.contains(&status) => {
                    assert_eq!(after["data"]["outcome"], "host_died", "{when}: {after:#}");
                    assert_eq!(status_in_list(env, id).as_deref(), Some("ended"), "{when}");
                }
                status => assert_eq!(after["status"], status, "{when}: {after:#}"),
            }
        }
    }
    disk.make_room();
    if !killed {
        for reply in &replies {
            let Some(id) = reply["data"]["eval_id"].as_str() else { continue };
            let after = env.json(["output", id, "--wait", "60s"]);
            is_true(env, &after, &when);
            let status = after["status"].as_str().unwrap();
            assert!(!OPEN.contains(&status), "{when}: {after:#}");
        }
    }
    works(env, &when);
    let ran = fs::read_to_string(env.workspace().join("ran")).unwrap_or_default();
    for (n, reply) in replies.iter().enumerate() {
        let count = ran.lines().filter(|line| *line == n.to_string()).count();
        // What was refused says that it did not run.
        let taken = reply["data"]["eval_id"].is_string();
        assert_eq!(count, usize::from(taken), "{when}: {reply:#}");
        if !taken {
            assert!(reply.to_string().contains("not run"), "{when}: {reply:#}");
        }
    }
    refused
}

fn after_a_failed_start(disk: &Disk, when: &str) -> bool {
    let env = &disk.env;
    disk.make_room();
    all_gone(env);
    works(env, when);
    true
}

/// Runs code; of a session that was lost that is said once.
fn works(env: &TestEnv, when: &str) {
    let mut reply = env.json(["eval", "-n", "py", "--", "6 * 7"]);
    // The one refusal of a host may hit this eval, and then its end.
    for _ in 0..2 {
        let lost = reply["error"]["code"] == "session_lost";
        // What could not be kept of its output is counted.
        let cut = reply["data"]["lost_bytes"].is_u64();
        if lost || cut || reply.to_string().contains("so it was not run") {
            reply = env.json(["eval", "-n", "py", "--", "6 * 7"]);
        }
    }
    assert_eq!(reply["data"]["value"], "42", "{when}: {reply:#}");
    for record in history(env) {
        assert!(record["t"].is_string(), "{when}: {record:#}");
    }
    env.json(["stop", "-n", "py"]);
    all_gone(env);
    crate::processes::one_outcome_each(env);
}

/// Tries places until one is past the end of the life.
fn sweep(errno: i32, killed: bool) {
    let all = std::env::var_os("STEAD_REFUSE_ALL").is_some();
    let mut first = 1;
    let mut tried = 0;
    while life(first, errno, killed) {
        tried += 1;
        first += if all { 1 } else { 7 };
    }
    eprintln!("{tried} places up to {first} tried");
    assert!(tried > 4, "only {tried} places were found");
}

#[test]
fn e11_h2_a_disk_that_is_full_from_any_change_on_makes_nobody_lie() {
    sweep(ENOSPC, false);
}

#[test]
fn e11_h1_a_host_killed_on_a_full_disk_was_not_believed_too_early() {
    sweep(ENOSPC, true);
}

#[test]
fn e11_h2_a_disk_that_fails_from_any_change_on_makes_nobody_lie() {
    sweep(EIO, false);
}

#[test]
fn e11_a_change_that_is_refused_once_is_made_up_for() {
    let all = std::env::var_os("STEAD_REFUSE_ALL").is_some();
    let mut first = 1;
    loop {
        let env = TestEnv::new(STEAD);
        let note = env.root().join("note");
        let eval = |code: &str| {
            let mut command = env.command(["eval", "-n", "py", "--", code]);
            Hook::Refuse.set(&mut command, format!("{first}:{ENOSPC}"));
            Hook::Refused.set(&mut command, &note);
            command.output().unwrap()
        };
        for code in ["print('words')", "x = 41", "x + 1"] {
            let reply: Value = serde_json::from_slice(&eval(code).stdout).unwrap();
            is_true(&env, &reply, &format!("change {first}"));
        }
        works(&env, &format!("change {first}"));
        if !note.exists() {
            break;
        }
        first += if all { 1 } else { 3 };
    }
    wait_for("at least one refusal", || first > 1);
}

#[test]
fn e11_an_end_that_the_disk_refuses_is_not_tried_again_with_each_request() {
    let env = TestEnv::new(STEAD);
    let (full, note) = (env.root().join("full"), env.root().join("note"));
    let mut command = env.command(["eval", "-n", "py", "--", "1"]);
    Hook::Refuse.set(&mut command, format!("1:{ENOSPC}:{}", full.display()));
    Hook::Refused.set(&mut command, &note);
    assert!(command.output().unwrap().status.success());
    let mut client = Raw::greeted(&env, "cli");
    fs::write(&full, "").unwrap();
    client.ask(json!({"op": "stop"}));
    let refused = || fs::read_to_string(&note).unwrap().parse::<u64>().unwrap();
    // The host stays for its last tries, and each request is a turn of its loop.
    let before = refused();
    for _ in 0..1000 {
        client.ask(json!({"op": "status"}));
    }
    let tries = refused() - before;
    assert!(tries < 250, "{tries}");
    fs::remove_file(&full).unwrap();
    all_gone(&env);
    let meta = fs::read_to_string(env.session_dir("py").join("meta.json")).unwrap();
    assert_eq!(serde_json::from_str::<Value>(&meta).unwrap()["stopped"], true, "{meta}");
}
