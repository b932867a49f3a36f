//! ST-2 in Python kernels: `save` and `load` are those of a session of our own, and the files are the same.

use std::os::unix::fs::MetadataExt;

use serde_json::{Value, json};
use stead_testkit::{TestEnv, wait_for};

use crate::jupyter::{Elsewhere, env, eval};

/// Cells with definitions that only their source brings back, state beside it, and an expression.
const CELLS: [&str; 4] = [
    "import math as m, functools\nshared = [1, 2]\nboth = {'s': shared}",
    "class Point:\n    made = 0\n    def __init__(self, x, y=[]): self.x, self.y = x, y\n    def __eq__(self, other): return self.x == other.x\nPoint.made = 7\np = Point(shared)",
    "@functools.lru_cache\ndef area(r): return m.floor(m.pi * r * r)\ndef around(p): return area(2) + len(p.x)\nlater = lambda: both",
    "around(p)",
];
/// Holds where all of it has come back.
const CHECK: &str = "(around(p), p.x is shared is both['s'], later() is both, p == Point(shared), Point.made, m.__name__)";
const CHECKED: &str = "(14, True, True, True, 7, 'math')";

fn ok(reply: Value) -> Value {
    assert_eq!((&reply["ok"], &reply["status"]), (&json!(true), &json!("complete")), "{reply:#}");
    reply["data"].clone()
}

fn value(env: &TestEnv, session: &str, code: &str) -> Value {
    ok(env.json(["eval", "-n", session, "--timeout", "60s", "--", code]))["value"].clone()
}

fn names(list: &Value) -> Vec<&str> {
    let mut names: Vec<_> = list.as_array().unwrap().iter().filter_map(Value::as_str).collect();
    names.sort_unstable();
    names
}

/// A kernel `ipython` in which the cells have run.
fn kernel() -> TestEnv {
    let env = env();
    for code in CELLS {
        ok(eval(&env, "ipython", code));
    }
    env
}

const SAVED: [&str; 9] =
    ["Point", "area", "around", "both", "functools", "later", "m", "p", "shared"];

#[test]
fn st2_a_kernels_file_loads_in_a_session_of_our_own_and_the_other_way_round() {
    let env = kernel();
    let own = "import sys\nsorted(n for n in globals() if n[0] != '_'), [n for n in sys.modules if 'stead' in n], sys.path";
    let before = value(&env, "ipython", own);
    let saved = ok(env.json(["save", "-n", "ipython", "new/a.stead"]));
    // Neither what IPython has nor the value of an expression is the user's.
    let mut expected = SAVED.to_vec();
    expected.push("sys");
    assert_eq!((names(&saved["saved"]), &saved["failed"]), (expected, &json!([])), "{saved:#}");
    let path = env.workspace().join("new/a.stead");
    assert_eq!(path.metadata().unwrap().mode() & 0o777, 0o600);
    assert_eq!(value(&env, "ipython", own), before);
    let listed = env.json(["load", "--list", "new/a.stead"])["data"].take();
    assert_eq!((&listed["language"], &listed["session"]), (&json!("python"), &json!("ipython")));

    let loaded = ok(env.json(["load", "new/a.stead"]));
    assert_eq!((&loaded["session"], &loaded["failed"]), (&json!("py"), &json!([])), "{loaded:#}");
    assert_eq!(value(&env, "py", CHECK), CHECKED);
    ok(env.json(["save", "-n", "py", "b.stead"]));
    ok(env.json(["clear", "-n", "ipython"]));
    let back = ok(env.json(["load", "b.stead", "--into", "ipython"]));
    assert_eq!((&back["count"], &back["failed"]), (&json!(10), &json!([])), "{back:#}");
    assert_eq!(back["changed"]["added"].as_array().unwrap().len(), 10, "{back:#}");
    assert_eq!(value(&env, "ipython", CHECK), CHECKED);
    // What was loaded is saved again, with its source.
    ok(env.json(["save", "-n", "ipython", "c.stead", "p", "around"]));
    ok(env.json(["load", "c.stead", "-n", "again"]));
    let check = "(around(p), Point.made, 'later' in globals())";
    assert_eq!(value(&env, "again", check), "(14, 7, False)");
    let record = env.json(["history", "-n", "ipython"]).to_string();
    assert!(record.contains("c.stead p around"), "{record}");
}

#[test]
fn st2_what_a_kernel_cannot_save_or_load_is_named() {
    let env = kernel();
    ok(eval(&env, "ipython", "import threading\nlock = threading.Lock()\ntaken = {'l': lock}"));
    let saved = ok(env.json(["save", "-n", "ipython", "a.stead"]));
    let failed: Vec<_> = saved["failed"].as_array().unwrap().iter().collect();
    assert_eq!(failed.len(), 2, "{saved:#}");
    assert_eq!(failed[1]["why"], "holds a lock", "{saved:#}");
    let error = |words: &[&str]| {
        let reply = env.json(words);
        let error = &reply["data"]["error"];
        let said = error["message"].as_str().or(reply["error"]["message"].as_str());
        said.unwrap_or_else(|| panic!("no error: {reply:#}")).to_owned()
    };
    let save = |name: &str| error(&["save", "-n", "ipython", "a.stead", name]);
    assert!(save("nope").contains("there is no name `nope`"));
    for name in ["In", "_", "get_ipython", "__name__"] {
        assert!(save(name).contains("none of the user's names"), "{name}: {}", save(name));
    }
    // The file is still the one from before.
    assert_eq!(ok(env.json(["load", "a.stead", "-n", "x"]))["count"], 10);
    std::fs::write(env.workspace().join("mine.txt"), "mine").unwrap();
    assert!(error(&["save", "-n", "ipython", "mine.txt"]).contains("not a file that a save"));
    ok(env.json(["save", "-n", "ipython", "mine.txt", "--force"]));
    ok(env.json(["eval", "-n", "sh", "-l", "bash", "x=1"]));
    ok(env.json(["save", "-n", "sh", "sh.stead"]));
    let other = error(&["load", "sh.stead", "--into", "ipython"]);
    assert!(other.contains("was saved by a session of bash, and this one is of python"), "{other}");
    // What cannot be done is told of each kernel.
    let cannot = |name: &str| env.json(["status", "-n", name])["data"]["cannot"].to_string();
    assert!(!cannot("ipython").contains("save"), "{}", cannot("ipython"));
    ok(eval(&env, "toy", "echo 1"));
    assert!(cannot("toy").contains("save"), "{}", cannot("toy"));
    assert_eq!(env.json(["save", "-n", "toy", "t.stead"])["error"]["code"], "unsupported");
}

/// A value that prints, and then does this when it is saved.
fn slow(code: &str) -> String {
    format!(
        "import os, time\nclass Slow:\n    def __reduce__(self):\n        print('saving slowly', flush=True)\n        {code}\nslow = Slow()"
    )
}

#[test]
fn st2_an_interrupted_save_keeps_the_earlier_file_and_the_kernel() {
    let env = kernel();
    let path = env.workspace().join("a.stead");
    ok(env.json(["save", "-n", "ipython", "a.stead"]));
    let before = std::fs::read(&path).unwrap();
    ok(eval(&env, "ipython", &slow("time.sleep(1000)")));
    let id = env.json(["save", "-n", "ipython", "a.stead", "--bg"])["data"]["eval_id"].clone();
    let id = id.as_str().unwrap();
    wait_for("the save runs", || env.run(["output", id]).stdout.contains("saving slowly"));
    let effect = env.json(["interrupt", id]);
    assert_eq!(effect["data"]["effect"], "interrupted", "{effect:#}");
    let ended = env.json(["output", id, "--wait", "60s"]);
    assert_eq!(ended["status"], "interrupted", "{ended:#}");
    assert_eq!(std::fs::read(&path).unwrap(), before);
    assert_eq!(std::fs::read_dir(env.workspace()).unwrap().count(), 1);
    assert_eq!(value(&env, "ipython", CHECK), CHECKED);
    ok(eval(&env, "ipython", "del slow"));
    ok(env.json(["save", "-n", "ipython", "a.stead"]));
}

#[test]
fn st2_a_kernel_that_dies_in_a_save_leaves_the_earlier_file() {
    let env = kernel();
    let path = env.workspace().join("a.stead");
    ok(env.json(["save", "-n", "ipython", "a.stead"]));
    let before = std::fs::read(&path).unwrap();
    ok(eval(&env, "ipython", &slow("os.kill(os.getpid(), 9)")));
    let ended = env.json(["save", "-n", "ipython", "a.stead"]);
    assert_eq!(ended["status"], "ended", "{ended:#}");
    assert_eq!(std::fs::read(&path).unwrap(), before);
    ok(eval(&env, "ipython", ""));
    ok(env.json(["load", "a.stead", "--into", "ipython"]));
    assert_eq!(value(&env, "ipython", CHECK), CHECKED);
    // What the killed save has left is removed by the next one.
    ok(env.json(["save", "-n", "ipython", "a.stead"]));
    assert_eq!(std::fs::read_dir(env.workspace()).unwrap().count(), 1);
}

#[test]
fn st2_a_kernel_of_somebody_else_saves_what_others_have_defined_there() {
    let env = env();
    let kernel = Elsewhere::ipykernel(&env);
    let start =
        |name: &str| env.json(["start", "jupyter", "--connection-file", kernel.path(), "-n", name]);
    assert_eq!(start("a")["ok"], true);
    for code in CELLS {
        value(&env, "a", code);
    }
    // A cell that failed has bound nothing below the line that it came to.
    let failed = "1 / 0\nclass Point: pass";
    assert_eq!(env.json(["eval", "-n", "a", "--", failed])["status"], "error");
    assert_eq!(start("b")["ok"], true);
    let saved = ok(env.json(["save", "-n", "b", "b.stead"]));
    assert_eq!((names(&saved["saved"]), &saved["failed"]), (SAVED.to_vec(), &json!([])));
    ok(env.json(["load", "b.stead"]));
    assert_eq!(value(&env, "py", CHECK), CHECKED);
}

#[test]
fn st2_k2_a_kernel_with_other_files_sends_and_is_sent_the_file() {
    let env = kernel();
    // As if it ran on another machine; the value takes three pieces.
    let code = "import sys; sys.modules['_stead_names'].boot_id = lambda: 'another'\nimport random; big = random.Random(1).randbytes(7_000_000)";
    ok(eval(&env, "ipython", code));
    let saved = ok(env.json(["save", "-n", "ipython", "new/a.stead"]));
    let path = env.workspace().join("new/a.stead");
    assert_eq!((&saved["path"], &saved["failed"]), (&json!(path), &json!([])), "{saved:#}");
    let found = path.metadata().unwrap();
    assert_eq!((found.mode() & 0o777, &json!(found.len())), (0o600, &saved["bytes"]));
    ok(env.json(["load", "new/a.stead"]));
    assert_eq!(value(&env, "py", CHECK), CHECKED);

    ok(env.json(["clear", "-n", "ipython"]));
    let loaded = ok(env.json(["load", "new/a.stead", "--into", "ipython"]));
    assert_eq!((&loaded["path"], &loaded["failed"]), (&json!(path), &json!([])), "{loaded:#}");
    assert_eq!(value(&env, "ipython", CHECK), CHECKED);
    let check = "big == random.Random(1).randbytes(7_000_000), sys.modules['_stead_names'].SAVING['FOLDERS']";
    assert_eq!(value(&env, "ipython", check), "(True, [])");
    // What is wrong here is told as if the kernel had found it, and what there is stays.
    let before = std::fs::read(&path).unwrap();
    std::fs::write(env.workspace().join("file"), "").unwrap();
    for (path, name, said) in
        [("file/below", "p", "could not write"), ("new/a.stead", "nowhere", "there is no name")]
    {
        let refused = env.json(["save", "-n", "ipython", path, name]);
        let error = &refused["data"]["error"];
        assert_eq!(error["name"], "SaveError", "{refused:#}");
        assert!(error["message"].as_str().unwrap().contains(said), "{refused:#}");
    }
    assert_eq!(std::fs::read(&path).unwrap(), before);
    assert_eq!(std::fs::read_dir(env.workspace().join("new")).unwrap().count(), 1);
    assert_eq!(value(&env, "ipython", "sys.modules['_stead_names'].SAVING['FOLDERS']"), "[]");
}
