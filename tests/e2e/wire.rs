//! The client wire as other versions speak it, over a raw socket: kinds that are not known, versions, work, followers.

use std::collections::VecDeque;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use serde_json::{Value, json};
use stead_testkit::{Ran, TestEnv};

use crate::STEAD;
use crate::talk::{expect, outcome, submit, touch, wait_for_file};

const TOY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/e2e/toy_bridge.pl");

/// A client that says exactly what it is told to.
pub(crate) struct Raw {
    stream: BufReader<UnixStream>,
    id: u64,
    events: VecDeque<Value>,
}

impl Raw {
    pub(crate) fn dial(env: &TestEnv) -> Raw {
        let mut found = fs::read_dir(env.runtime_dir()).unwrap().map(|entry| entry.unwrap().path());
        let is_socket = |path: &PathBuf| path.extension().is_some_and(|e| e == "sock");
        let stream = UnixStream::connect(found.find(is_socket).expect("a socket")).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        Raw { stream: BufReader::new(stream), id: 0, events: VecDeque::new() }
    }

    /// One that has said hello as a client of this version.
    pub(crate) fn greeted(env: &TestEnv, client: &str) -> Raw {
        let mut raw = Raw::dial(env);
        let versions = json!({"oldest": 1, "newest": 2});
        let hello = json!({"op": "hello", "protocol": 1, "versions": versions, "client": client});
        let answer = raw.ask(hello);
        assert_eq!(answer["reply"]["reply"]["protocol"], 2, "{answer}");
        raw
    }

    fn send(&mut self, request: Value) -> u64 {
        self.id += 1;
        let line = json!({"id": self.id, "request": request});
        writeln!(self.stream.get_mut(), "{line}").unwrap();
        self.id
    }

    fn read(&mut self) -> Value {
        let mut line = String::new();
        self.stream.read_line(&mut line).expect("the host says something");
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{line:?}: {error}"))
    }

    /// Sends a request and waits for its answer; events in between are kept.
    #[track_caller]
    pub(crate) fn ask(&mut self, request: Value) -> Value {
        let id = self.send(request);
        loop {
            let said = self.read();
            if said.get("event").is_some() {
                self.events.push_back(said["event"].clone());
                continue;
            }
            let of = said["reply"]["id"].as_u64().or(said["error"]["id"].as_u64());
            assert_eq!(of, Some(id), "{said}");
            return said;
        }
    }

    pub(crate) fn event(&mut self) -> Value {
        match self.events.pop_front() {
            Some(event) => event,
            None => self.read()["event"].clone(),
        }
    }

    /// The events up to and with the end of an eval.
    fn until_finished(&mut self, eval: u64) -> Vec<Value> {
        let mut all = Vec::new();
        loop {
            let event = self.event();
            let over = event["kind"] == "finished" && event["eval"] == eval;
            all.push(event);
            if over {
                return all;
            }
        }
    }
}

/// Kinds and evals of events, growth aside.
fn short(events: &[Value]) -> Vec<(String, u64)> {
    let known = events.iter().filter(|event| event["kind"] != "output");
    known
        .map(|event| (event["kind"].as_str().unwrap().to_owned(), event["eval"].as_u64().unwrap()))
        .collect()
}

fn named(kinds: &[(&str, u64)]) -> Vec<(String, u64)> {
    kinds.iter().map(|(kind, eval)| ((*kind).to_owned(), *eval)).collect()
}

#[test]
fn h2_what_a_newer_client_sends_is_answered_and_the_connection_lives_on() {
    let env = TestEnv::new(STEAD);
    env.value("x = 41");
    let host = env.host_pid();
    let mut raw = Raw::greeted(&env, "newer");
    for (request, code) in [
        (json!({"op": "teleport", "to": "mars"}), "unsupported"),
        (json!({"op": "query", "what": "dreams", "of": "x"}), "unsupported"),
        (json!({"op": "submit", "work": {"kind": "dance", "name": "a"}}), "unsupported"),
        (json!({"op": "submit"}), "bad_request"),
        // Answered by its id also where a field is of the wrong type.
        (json!({"op": "submit", "code": 7}), "bad_request"),
        (json!({"op": "watch", "eval": "first"}), "bad_request"),
    ] {
        let said = raw.ask(request.clone());
        assert_eq!(said["error"]["error"]["code"], code, "{request}: {said}");
    }
    // A word that is not known in a message that is costs nothing else of it.
    let said = raw.ask(json!({
        "op": "submit", "work": {"kind": "code", "code": "x + 1", "colour": "red"}, "watch": "smell", "new": [1]
    }));
    assert_eq!(said["reply"]["reply"]["eval"], 2, "{said}");
    let last = raw.until_finished(2).pop().unwrap();
    assert_eq!(last["finished"]["outcome"]["kind"], "complete", "{last}");
    assert_eq!(
        raw.ask(json!({"op": "interrupt", "by": "newer"}))["reply"]["reply"]["effect"],
        "nothing_running"
    );
    assert_eq!(env.value("x + 1"), "42");
    assert_eq!(env.host_pid(), host);
}

#[test]
fn h2_versions_are_agreed_on_or_both_named_and_nothing_is_killed() {
    let env = TestEnv::new(STEAD);
    env.value("x = 41");
    let host = env.host_pid();
    let range = |oldest: u32, newest: u32| json!({"oldest": oldest, "newest": newest});
    // Version 1 named one version and nothing else.
    for (hello, spoken) in [
        (json!({"op": "hello", "protocol": 1, "client": "first"}), 1),
        (json!({"op": "hello", "protocol": 1, "versions": range(1, 2), "client": "this"}), 2),
        (json!({"op": "hello", "protocol": 2, "versions": range(2, 9), "client": "next"}), 2),
    ] {
        let mut raw = Raw::dial(&env);
        let said = raw.ask(hello)["reply"]["reply"].clone();
        assert_eq!(said["protocol"], spoken, "{said}");
        assert_eq!(said["versions"], range(1, 2), "{said}");
        assert!(said["program"].is_string(), "{said}");
        let accepted = raw.ask(json!({"op": "submit", "code": "x", "watch": "state"}));
        assert!(accepted["reply"]["reply"]["eval"].is_u64(), "{accepted}");
    }
    let mut raw = Raw::dial(&env);
    let far = json!({"op": "hello", "protocol": 7, "versions": range(7, 9), "program": "9.9.9", "client": "far"});
    let said = raw.ask(far)["error"]["error"].clone();
    assert_eq!(said["code"], "connection_failed", "{said}");
    let message = said["message"].as_str().unwrap();
    assert!(message.contains("versions 1 to 2"), "{message}");
    assert!(message.contains("(stead 9.9.9) versions 7 to 9"), "{message}");
    // It may come down to what the host speaks.
    assert_eq!(
        raw.ask(json!({"op": "hello", "protocol": 1, "client": "far"}))["reply"]["reply"]["protocol"],
        1
    );
    assert_eq!(env.value("x + 1"), "42");
    assert_eq!(env.host_pid(), host);
}

#[test]
fn h2_what_a_newer_bridge_says_costs_nothing_else_of_its_message() {
    let env = TestEnv::new(STEAD);
    let launched = env.json(["launch", "perl", "-n", "toy", "--bridge", TOY]);
    expect(&launched, "complete");
    let eval = |code: &str| env.json(["eval", "-n", "toy", "--", code]);
    let said = eval(
        "tell_host(ev => 'sing', song => {a => [1]}); \
         tell_host(ev => 'background', stream => 'third', text => qq(late\\n), new => 1); 6 * 7",
    );
    assert_eq!(said["data"]["value"], "42", "{said:#}");
    let chunks = said["data"]["chunks"].as_array().unwrap();
    assert!(chunks.iter().any(|chunk| chunk["content"] == "late\n"), "{said:#}");
    // An end that is not known to have been a good one is none, and says so; the session lives.
    let tired = eval("$newer = 'tired'; 1");
    expect(&tired, "error");
    assert!(
        tired["data"]["notice"].as_str().is_some_and(|n| n.contains("does not know")),
        "{tired:#}"
    );
    eval("$newer = ''");
    assert_eq!(eval("6 * 7")["data"]["value"], "42");
}

#[test]
fn clear_is_work_with_an_id_a_turn_and_a_record() {
    let env = TestEnv::new(STEAD);
    env.value("x = 41");
    let first = submit(
        &env,
        "import os, time\nwhile not os.path.exists('go'): time.sleep(0.001)\nprint(x)",
    );
    let mut raw = Raw::greeted(&env, "someone#7");
    let accepted = raw.ask(json!({"op": "submit", "work": {"kind": "clear"}, "watch": "state"}));
    assert_eq!(accepted["reply"]["reply"]["eval"], 3, "{accepted}");
    assert_eq!(accepted["reply"]["reply"]["behind"], 2, "{accepted}");
    touch(&env, "go");
    // It waits for its turn: what runs before it has its names still.
    assert_eq!(outcome(&env, &first)["status"], "complete");
    let end = raw.until_finished(3).pop().unwrap();
    assert_eq!(end["finished"]["outcome"]["kind"], "complete", "{end}");
    assert_eq!(env.eval("x")["data"]["error"]["name"], "NameError");
    let listed = env.json(["evals", "-n", "py"]);
    let evals = listed["data"]["evals"].as_array().unwrap();
    let kinds: Vec<&str> = evals.iter().map(|eval| eval["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["code", "code", "clear", "code"], "{listed:#}");
    assert_eq!(evals[2]["by"], "someone#7", "{listed:#}");
    assert_eq!(evals[2]["status"], "complete", "{listed:#}");
    // The number of evals means code only, also when the next host counts.
    let count = |env: &TestEnv| env.json(["status", "-n", "py"])["data"]["evals"].as_u64();
    assert_eq!(count(&env), Some(3));
    let cleared = env.json(["clear", "-n", "py"]);
    expect(&cleared, "complete");
    assert_eq!(cleared["data"]["eval_id"], "py:5", "{cleared:#}");
    assert_eq!(count(&env), Some(3));
    env.json(["kill", "-n", "py"]);
    assert_eq!(count(&env), Some(3));
    env.eval("1");
    env.eval("1");
    let listed = env.json(["evals", "-n", "py"]);
    assert_eq!(count(&env), Some(listed["data"]["evals"].as_array().unwrap().len() as u64 - 2));
}

#[test]
fn clear_can_be_interrupted_and_taken_out_of_the_queue() {
    let env = TestEnv::new(STEAD);
    env.eval("import time\nclass Slow:\n    def __del__(self, sleep=time.sleep):\n        open('clearing', 'w').close()\n        sleep(1000)\nx = Slow()\ny = 1");
    let mut raw = Raw::greeted(&env, "test");
    raw.ask(json!({"op": "submit", "work": {"kind": "clear"}, "watch": "state"}));
    wait_for_file(&env, "clearing");
    let status = env.json(["status", "-n", "py"]);
    assert_eq!(status["data"]["state"], "running", "{status:#}");
    raw.ask(json!({"op": "submit", "work": {"kind": "clear"}, "watch": "state"}));
    let dequeued = raw.ask(json!({"op": "interrupt", "eval": 3, "by": "me"}));
    assert_eq!(dequeued["reply"]["reply"]["effect"], "dequeued", "{dequeued}");
    let end = raw.until_finished(3).pop().unwrap();
    assert_eq!(end["finished"]["interrupted_by"], "me", "{end}");
    raw.ask(json!({"op": "interrupt"}));
    let end = raw.until_finished(2).pop().unwrap();
    let how = end["finished"]["outcome"]["kind"].as_str().unwrap();
    assert!(["interrupted", "complete"].contains(&how), "{end}");
    assert_eq!(env.value("6 * 7"), "42");
}

#[test]
fn e3_clear_has_a_hard_timeout_like_any_work() {
    let env = TestEnv::new(STEAD);
    env.eval(
        "import time\nclass Deaf:\n    def __del__(self, sleep=time.sleep):\n        while True:\n            try: sleep(1000)\n            except BaseException: pass\nx = Deaf()",
    );
    let mut raw = Raw::greeted(&env, "test");
    raw.ask(
        json!({"op": "submit", "work": {"kind": "clear"}, "watch": "state", "hard_timeout_ms": 20}),
    );
    let end = raw.until_finished(2).pop().unwrap();
    assert_eq!(end["finished"]["outcome"]["kind"], "timeout", "{end}");
    assert_eq!(end["finished"]["outcome"]["killed"], true, "{end}");
}

#[test]
fn st1_a_question_that_a_restart_cuts_off_is_answered() {
    let env = TestEnv::new(STEAD);
    env.eval("import time\nclass Slow:\n    def __repr__(self, sleep=time.sleep):\n        open('asked', 'w').close()\n        sleep(1000)\nx = Slow()");
    let mut command = env.command(["inspect", "-n", "py", "x"]);
    let asking = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    wait_for_file(&env, "asked");
    expect(&env.json(["restart", "-n", "py"]), "complete");
    let answered: Ran = asking.wait_with_output().unwrap().into();
    let reply: Value = serde_json::from_str(&answered.stdout).unwrap();
    let message = reply["error"]["message"].as_str().unwrap_or_default();
    assert!(message.contains("the interpreter has ended"), "{reply:#}");
    assert_eq!(env.value("6 * 7"), "42");
}

#[test]
fn clear_as_clients_of_version_1_ask_for_it_is_answered_when_it_is_done() {
    let env = TestEnv::new(STEAD);
    env.value("x = 41");
    let mut raw = Raw::dial(&env);
    raw.ask(json!({"op": "hello", "protocol": 1, "client": "first"}));
    assert_eq!(raw.ask(json!({"op": "clear"}))["reply"]["reply"]["kind"], "done");
    assert_eq!(env.eval("x")["data"]["error"]["name"], "NameError");
    let running =
        submit(&env, "import os, time\nwhile not os.path.exists('go'): time.sleep(0.001)");
    let busy = raw.ask(json!({"op": "clear"}));
    assert_eq!(busy["error"]["error"]["code"], "session_busy", "{busy}");
    touch(&env, "go");
    outcome(&env, &running);
    // A language that has no namespace to empty says so.
    let launched = env.json(["launch", "perl", "-n", "toy", "--bridge", TOY]);
    expect(&launched, "complete");
    let refused = env.json(["clear", "-n", "toy"]);
    assert_eq!(refused["error"]["code"], "unsupported", "{refused:#}");
}

#[test]
fn e16_followers_hear_of_every_eval_and_miss_nothing_when_they_come_back() {
    let env = TestEnv::new(STEAD);
    env.value("x = 41");
    let (mut one, mut two) = (Raw::greeted(&env, "one#a"), Raw::greeted(&env, "two#b"));
    let mut follower = Raw::greeted(&env, "viewer");
    let said = follower.ask(json!({"op": "follow", "output": true}));
    assert_eq!(said["reply"]["reply"], json!({"kind": "following", "from": 2}), "{said}");
    // Evals that both have queued, and what each of them does.
    let wait = "import os, time\nprint('begun', flush=True)\nwhile not os.path.exists('go'): time.sleep(0.001)";
    one.ask(json!({"op": "submit", "code": wait}));
    let mut events = Vec::new();
    while events.last().is_none_or(|event: &Value| event["kind"] != "output") {
        events.push(follower.event());
    }
    two.ask(json!({"op": "submit", "code": "print(x)"}));
    one.ask(json!({"op": "submit", "work": {"kind": "clear"}}));
    two.ask(json!({"op": "submit", "code": "1/0", "by": "else"}));
    touch(&env, "go");
    events.extend(follower.until_finished(5));
    let all = [
        ("accepted", 2),
        ("started", 2),
        ("accepted", 3),
        ("accepted", 4),
        ("accepted", 5),
        ("finished", 2),
        ("started", 3),
        ("finished", 3),
        ("started", 4),
        ("finished", 4),
        ("started", 5),
        ("finished", 5),
    ];
    assert_eq!(short(&events), named(&all));
    for (kind, eval, by) in [
        ("accepted", 2, "one#a"),
        ("started", 3, "two#b"),
        ("accepted", 4, "one#a"),
        ("started", 5, "else"),
    ] {
        let told =
            events.iter().find(|event| event["kind"] == kind && event["eval"] == eval).unwrap();
        assert_eq!(told["by"], by, "{told}");
    }
    let clear =
        events.iter().find(|event| event["kind"] == "accepted" && event["eval"] == 4).unwrap();
    assert_eq!(clear["work"], "clear");
    // Cut off, and back with the first eval whose end was not heard: the record tells what came in between.
    drop(follower);
    for _ in 0..100 {
        two.ask(json!({"op": "submit", "code": "1", "watch": "state", "hold": true}));
        two.events.clear();
    }
    let _ = fs::remove_file(env.workspace().join("go"));
    one.ask(json!({"op": "submit", "code": wait}));
    let mut follower = Raw::greeted(&env, "viewer");
    let said = follower.ask(json!({"op": "follow", "from": 6}));
    assert_eq!(said["reply"]["reply"]["from"], 6, "{said}");
    let events = follower.until_finished(105);
    let ends: Vec<u64> = events
        .iter()
        .filter(|event| event["kind"] == "finished")
        .map(|event| event["eval"].as_u64().unwrap())
        .collect();
    assert_eq!(ends, (6..=105).collect::<Vec<u64>>());
    // It has caught up with what runs, and goes on with that.
    touch(&env, "go");
    let events = follower.until_finished(106);
    let last = short(&events);
    assert!(last.contains(&("accepted".to_owned(), 106)), "{last:?}");
    assert_eq!(last.last(), Some(&("finished".to_owned(), 106)));
}

#[test]
fn e16_status_and_lists_say_who_sent_an_eval() {
    let env = TestEnv::new(STEAD);
    let code = "import os, time\nopen('begun', 'w').close()\nwhile not os.path.exists('go'): time.sleep(0.001)";
    let mut command = env.command(["eval", "-n", "py", "--bg", "--", code]);
    let started = command.env("STEAD_BY", "alice#42").output().unwrap();
    assert!(started.status.success(), "{started:?}");
    wait_for_file(&env, "begun");
    let mut raw = Raw::greeted(&env, "test");
    let status = raw.ask(json!({"op": "status"}))["reply"]["reply"].clone();
    assert_eq!(status["by"], "alice#42", "{status}");
    let listed = env.json(["evals", "-n", "py"]);
    assert_eq!(listed["data"]["evals"][0]["by"], "alice#42", "{listed:#}");
    touch(&env, "go");
}

/// A bridge that never stops telling, of what no host knows.
const FLOOD: &str = r#"#!/usr/bin/perl
use strict; use Fcntl;
open my $ctl, '+<&=', delete $ENV{STEAD_BRIDGE_FD} or die;
fcntl $ctl, F_SETFD, FD_CLOEXEC;
$| = 1;
syswrite $ctl, qq({"ev":"hello","protocol":1,"language":"perl","version":"1","executable":"perl","pid":$$}\n);
my $events = (qq({"ev":"of_a_newer_version","x":") . 'y' x 100 . qq("}\n)) x 3000;
while (1) { syswrite $ctl, $events or exit }
"#;

#[test]
fn h2_a_bridge_that_tells_without_end_keeps_no_client_waiting() {
    use std::os::unix::fs::PermissionsExt;
    let env = TestEnv::new(STEAD);
    let bridge = env.root().join("flood.pl");
    fs::write(&bridge, FLOOD).unwrap();
    fs::set_permissions(&bridge, fs::Permissions::from_mode(0o755)).unwrap();
    let launched = env.json(["launch", "perl", "-n", "perl", "--bridge", bridge.to_str().unwrap()]);
    assert_eq!(launched["ok"], true, "{launched:#}");
    let began = std::time::Instant::now();
    let mut client = Raw::greeted(&env, "cli");
    for _ in 0..300 {
        client.ask(json!({"op": "status"}));
    }
    // Each answer took a fifth of a second and more while all that a bridge had told was read first.
    assert!(began.elapsed() < Duration::from_secs(30), "{:?}", began.elapsed());
    assert_eq!(env.run(["kill", "perl"]).code, Some(0));
}

#[test]
fn s5_a_bridge_that_is_not_ready_and_stays_is_not_waited_for() {
    use std::os::unix::fs::PermissionsExt;
    let env = TestEnv::new(STEAD);
    let bridge = env.root().join("unready.pl");
    let said = r#"{"ev":"not_ready","message":"there is no licence"}"#;
    let text = format!(
        "#!/usr/bin/perl\nopen my $ctl, '+<&=', $ENV{{STEAD_BRIDGE_FD}};\nsyswrite $ctl, '{said}' . \"\\n\"; sleep 600;\n"
    );
    fs::write(&bridge, text).unwrap();
    fs::set_permissions(&bridge, fs::Permissions::from_mode(0o755)).unwrap();
    let began = std::time::Instant::now();
    let launched = env.json(["launch", "perl", "-n", "perl", "--bridge", bridge.to_str().unwrap()]);
    assert_eq!(launched["error"]["code"], "launch_failed", "{launched:#}");
    assert!(launched.to_string().contains("there is no licence"), "{launched:#}");
    // A start may take a minute, and did.
    assert!(began.elapsed() < Duration::from_secs(40), "{:?}", began.elapsed());
}
