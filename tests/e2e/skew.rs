//! Two versions of the binary at once: a host of one and clients of the other. `STEAD_OLD_BINARY` names the older one;
//! `./test --all` builds it from the commit that `tests/harness/old.py` names.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};
use stead_testkit::{Ran, TestEnv, is_alive, mcp_call, wait_for};

use crate::STEAD;

/// One version has started the session, the other visits it.
struct Skew {
    env: TestEnv,
    owner: PathBuf,
    visitor: PathBuf,
    name: &'static str,
}

/// What the same few lines look like in each language.
struct Words {
    name: &'static str,
    set: &'static str,
    tell: &'static str,
    fail: &'static str,
    ask: &'static str,
    spin: &'static str,
}

const WORDS: [Words; 3] = [
    Words {
        name: "py",
        set: "x = 41",
        tell: "print(x)",
        fail: "1 / 0",
        ask: "y = input('name? ')",
        spin: "print('up', flush=True)\nwhile True: pass",
    },
    Words {
        name: "sh",
        set: "x=41",
        tell: "echo $x",
        fail: "false",
        ask: "printf 'name? '; read -r y",
        spin: "echo up; while :; do :; done",
    },
    Words {
        name: "js",
        set: "var x = 41",
        tell: "console.log(x)",
        fail: "null.x",
        ask: "var y = await require('readline/promises').createInterface({ input: process.stdin, output: process.stdout }).question('name? ')",
        spin: "console.log('up'); while (true) {}",
    },
];

/// The older binary, named from outside.
fn old() -> PathBuf {
    let old = std::env::var_os("STEAD_OLD_BINARY");
    let old = PathBuf::from(old.expect("STEAD_OLD_BINARY names a binary of an older version"));
    assert!(old.is_file(), "STEAD_OLD_BINARY is no file: {}", old.display());
    old
}

impl Skew {
    fn command(&self, program: &Path, arguments: &[&str]) -> Command {
        let mut command = self.env.other(program.to_str().expect("a path is text"));
        command.args(arguments);
        command
    }

    #[track_caller]
    fn json(&self, program: &Path, arguments: &[&str]) -> Value {
        Ran::from(self.command(program, arguments).output().expect("the binary runs")).json()
    }

    /// A command of the one that started the session.
    #[track_caller]
    fn owner(&self, arguments: &[&str]) -> Value {
        self.json(&self.owner, &[&[arguments[0], "-n", self.name], &arguments[1..]].concat())
    }

    /// A command of the other one. It works, or names both versions; it never hangs and never ends the session.
    #[track_caller]
    fn visit(&self, arguments: &[&str]) -> Value {
        let all = [&[arguments[0], "-n", self.name], &arguments[1..]].concat();
        self.json(&self.visitor, &all)
    }
}

fn in_order(reply: &Value) -> &Value {
    assert!(reply["error"]["code"] != "connection_failed", "{reply:#}");
    reply
}

fn out(reply: &Value) -> String {
    let chunks = reply["data"]["chunks"].as_array().cloned().unwrap_or_default();
    let out = chunks.iter().filter(|chunk| chunk["type"] == "out");
    out.filter_map(|chunk| chunk["content"].as_str()).collect()
}

fn get_along(owner: &Path, visitor: &Path) {
    for words in WORDS {
        let env = TestEnv::with_node(STEAD, &stead_testkit::node());
        let skew =
            Skew { env, owner: owner.to_owned(), visitor: visitor.to_owned(), name: words.name };
        gets_along(&skew, &words);
    }
}

fn gets_along(skew: &Skew, words: &Words) {
    let set = skew.owner(&["eval", "--", words.set]);
    assert_eq!(set["status"], "complete", "{set:#}");
    let before = skew.owner(&["status"])["data"].clone();

    let told = skew.visit(&["eval", "--", words.tell]);
    assert_eq!(out(in_order(&told)), "41\n", "{told:#}");
    let failed = skew.visit(&["eval", "--", words.fail]);
    assert_eq!(failed["error"]["code"], "eval_error", "{failed:#}");
    let asks = skew.visit(&["eval", "--", words.ask]);
    assert_eq!(asks["status"], "waiting_input", "{asks:#}");
    assert_eq!(skew.visit(&["input", "you"])["status"], "complete");

    let id = skew.visit(&["eval", "--bg", "--", words.spin])["data"]["eval_id"].clone();
    let id = id.as_str().expect("an id");
    wait_for("its output", || out(&skew.json(&skew.visitor, &["output", id])) == "up\n");
    assert_eq!(skew.visit(&["status"])["data"]["state"], "running");
    let queued = skew.visit(&["eval", "--timeout", "0", "--", words.tell]);
    assert_eq!(queued["status"], "queued", "{queued:#}");
    for verb in ["pause", "resume"] {
        assert_eq!(skew.visit(&[verb])["ok"], true, "{verb}");
    }
    let interrupted = skew.json(&skew.visitor, &["interrupt", id]);
    assert_eq!(interrupted["data"]["effect"], "interrupted", "{interrupted:#}");
    let next = queued["data"]["eval_id"].as_str().expect("an id");
    let next = skew.json(&skew.visitor, &["output", next, "--wait", "60s"]);
    assert_eq!(out(&next), "41\n", "{next:#}");

    assert_eq!(skew.visit(&["vars"])["ok"], true);
    assert!(skew.visit(&["inspect", "x"])["data"].to_string().contains("41"));
    let evals = skew.visit(&["evals"]);
    let (ours, theirs) = (&evals["data"]["evals"], &skew.owner(&["evals"])["data"]["evals"]);
    assert_eq!(ours.as_array().map(Vec::len), theirs.as_array().map(Vec::len), "{evals:#}");
    assert_eq!(ours[0]["status"], "complete", "{evals:#}");
    visits_by_mcp(skew, words);

    // Nothing was killed on the way: the same processes, the same state.
    let after = skew.owner(&["status"])["data"].clone();
    assert_eq!((&before["pid"], &before["host_pid"]), (&after["pid"], &after["host_pid"]));
    assert_eq!(out(&skew.owner(&["eval", "--", words.tell])), "41\n");

    let restarted = skew.visit(&["restart"]);
    assert_eq!(restarted["ok"], true, "{restarted:#}");
    assert_eq!(skew.owner(&["eval", "--", words.set])["status"], "complete");
    assert_eq!(skew.visit(&["stop"])["ok"], true);
    let host = before["host_pid"].as_u64().expect("a host") as u32;
    wait_for("the host's end", || !is_alive(host));

    // What one has written the other reads, and goes on with.
    let kept = skew.json(&skew.visitor, &["output", id]);
    assert_eq!(out(&kept), "up\n", "{kept:#}");
    let again = skew.visit(&["eval", "--", words.set]);
    assert_eq!(again["status"], "complete", "{again:#}");
    assert_eq!(out(&skew.owner(&["eval", "--", words.tell])), "41\n");
    assert_eq!(skew.owner(&["stop"])["ok"], true);
}

/// A server of the visiting version, with a session whose host is of the other.
fn visits_by_mcp(skew: &Skew, words: &Words) {
    let server = skew.command(&skew.visitor, &["mcp"]);
    let arguments = json!({ "code": words.tell, "session": words.name });
    let answer = mcp_call(server, "eval", arguments);
    let text = answer["content"][0]["text"].as_str().unwrap_or_default();
    assert!(text.starts_with("41\n"), "{answer:#}");
}

#[test]
#[ignore = "needs STEAD_OLD_BINARY"]
fn s3_a_host_of_an_older_version_serves_clients_of_this_one() {
    let env = TestEnv::new(STEAD);
    get_along(&old(), env.program());
}

#[test]
#[ignore = "needs STEAD_OLD_BINARY"]
fn s3_a_host_of_this_version_serves_clients_of_an_older_one() {
    let env = TestEnv::new(STEAD);
    get_along(env.program(), &old());
}

#[test]
#[ignore = "needs STEAD_OLD_BINARY"]
fn u5_doctor_names_hosts_of_another_version() {
    let env = TestEnv::new(STEAD);
    let (owner, visitor) = (old(), env.program().to_owned());
    let skew = Skew { env, owner, visitor, name: "py" };
    assert_eq!(skew.owner(&["eval", "--", "1"])["status"], "complete");
    let reply = skew.json(&skew.visitor, &["doctor"]);
    let checks = reply["data"]["checks"].as_array().expect("checks");
    let hosts = checks.iter().find(|check| check["name"] == "hosts").expect("hosts");
    assert!(hosts["message"].as_str().is_some_and(|m| m.contains("`py` of ")), "{hosts:#}");
}

#[test]
#[ignore = "needs STEAD_OLD_BINARY"]
fn st2_a_host_that_knows_no_saves_refuses_one_and_keeps_its_state() {
    let env = TestEnv::new(STEAD);
    let (owner, visitor) = (old(), env.program().to_owned());
    let skew = Skew { env, owner, visitor, name: "py" };
    skew.owner(&["eval", "--", "x = 41"]);
    let refused = skew.visit(&["save", "a.stead"]);
    assert_eq!(refused["error"]["code"], "unsupported", "{refused:#}");
    assert!(refused["error"]["hint"].as_str().unwrap().contains("older stead"), "{refused:#}");
    assert_eq!(skew.owner(&["eval", "--", "x"])["data"]["value"], "41");
}

#[test]
#[ignore = "needs STEAD_OLD_BINARY"]
fn st2_clients_that_know_no_saves_read_a_history_that_has_one() {
    let env = TestEnv::new(STEAD);
    let (owner, visitor) = (env.program().to_owned(), old());
    let skew = Skew { env, owner, visitor, name: "py" };
    skew.owner(&["eval", "--", "x = 41"]);
    assert_eq!(skew.owner(&["save", "a.stead"])["status"], "complete");
    assert_eq!(skew.visit(&["eval", "--", "x"])["data"]["value"], "41");
    let listed = skew.visit(&["evals"]);
    let kinds: Vec<&Value> =
        listed["data"]["evals"].as_array().unwrap().iter().map(|eval| &eval["code"]).collect();
    assert_eq!(kinds.len(), 3, "{listed:#}");
    let save = skew.json(&skew.visitor, &["output", "py:2"]);
    assert_eq!((&save["status"], &save["data"]["chunks"]), (&"complete".into(), &json!([])));
}
