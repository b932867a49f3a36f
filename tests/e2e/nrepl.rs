//! K-3, K-4: nREPL servers, with nbb (Clojure on Node) and with a toy that does what real ones will not do on demand.

use std::path::Path;

use serde_json::{Value, json};
use stead_testkit::{
    NreplElsewhere, TestEnv, chunks, is_alive, mcp_call, nbb, wait_for, wait_for_some,
};

use crate::STEAD;

const TOY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/e2e/toy_nrepl.py");

fn toy(env: &TestEnv, mode: &str) -> String {
    format!("'{}' {TOY} {{port}} {mode}", env.python().display())
}

fn launch(env: &TestEnv, name: &str, command: &str) -> Value {
    env.json(["launch", "nrepl", "-n", name, "--cmd", command])
}

/// An environment with a session `t` in the toy's server.
fn with_toy() -> TestEnv {
    let env = TestEnv::new(STEAD);
    let launched = launch(&env, "t", &toy(&env, ""));
    assert_eq!(launched["data"]["state"], "idle", "{launched:#}");
    env
}

fn eval(env: &TestEnv, name: &str, code: &str) -> Value {
    env.json(["eval", "-n", name, "--timeout", "60s", "--", code])
}

fn start(env: &TestEnv, address: &str, name: &str) -> Value {
    env.json(["start", "nrepl", address, "-n", name])
}

#[track_caller]
fn message(reply: &Value) -> &str {
    reply["error"]["message"].as_str().unwrap_or_else(|| panic!("no error: {reply:#}"))
}

fn kill(env: &TestEnv, pid: u64) {
    assert!(env.other("kill").args(["-9", &pid.to_string()]).status().unwrap().success());
}

#[test]
fn k3_nbb_runs_forms_and_tells_values_output_errors_and_the_namespace() {
    let env = TestEnv::new(STEAD);
    let launched = launch(&env, "n", &nbb());
    assert_eq!(launched["data"]["state"], "idle", "{launched:#}");
    let cannot = launched["data"]["cannot"].to_string();
    assert!(cannot.contains("interrupt: this server knows no such request"), "{launched:#}");
    let forms = eval(&env, "n", "(println \"hi\") (def x 20) (+ x 22)");
    assert_eq!(
        chunks(&forms)[..3],
        [("out", "hi\n"), ("value", "nil"), ("value", "#'user/x")],
        "{forms:#}"
    );
    assert_eq!(
        (&forms["data"]["value"], &forms["data"]["ns"]),
        (&json!("42"), &json!("user")),
        "{forms:#}"
    );
    assert_eq!(eval(&env, "n", "(ns app.core) (def y 1)")["data"]["ns"], "app.core");
    assert_eq!(eval(&env, "n", "; a remark")["data"]["ns"], "app.core");
    let failed = eval(&env, "n", "(throw (ex-info \"boom\" {:a 1}))");
    assert_eq!(failed["data"]["error"]["message"], "boom", "{failed:#}");
    let traceback = failed["data"]["error"]["traceback"].as_str().unwrap();
    assert!(traceback.contains("Caused by: boom {:a 1}"), "{traceback}");
    // What JavaScript threw is printed otherwise.
    let failed = eval(&env, "n", "(throw (ex-info \"outer\" {:a 1} (js/TypeError. \"inner\")))");
    let error = &failed["data"]["error"];
    assert_eq!((&error["name"], &error["message"]), (&json!("TypeError"), &json!("inner")));
    let traceback = error["traceback"].as_str().unwrap();
    let causes = "Caused by: outer {:a 1}\nCaused by: TypeError: inner\n";
    assert!(traceback.ends_with(causes), "{traceback}");
    assert_eq!(eval(&env, "n", "(+ 1")["data"]["error"]["incomplete"], true);
    // Nothing stops a loop there but the end of the server.
    let stuck = env.json(["eval", "-n", "n", "--hard-timeout", "100", "--", "(loop [] (recur))"]);
    assert_eq!(stuck["status"], "timeout", "{stuck:#}");
    assert!(stuck["data"]["notice"].as_str().unwrap().contains("knows no interrupt"), "{stuck:#}");
    assert_eq!(eval(&env, "n", "(str 1)")["data"]["value"], "\"1\"");
    let names = env.json(["inspect", "-n", "n", "--what", "complete", "(map-in"]);
    assert_eq!(names["data"]["names"], json!(["(map-indexed"]), "{names:#}");
    let inspected = env.json(["inspect", "-n", "n", "map"]);
    assert!(inspected["data"]["doc"].as_str().unwrap().contains("lazy sequence"), "{inspected:#}");
    assert_eq!(env.json(["stop", "n"])["ok"], true);
}

#[test]
fn k3_a_server_is_interrupted_asked_and_given_input() {
    let env = with_toy();
    let values = eval(&env, "t", "value 1;2;3");
    assert_eq!(chunks(&values)[..2], [("value", "1"), ("value", "2")], "{values:#}");
    assert_eq!((&values["data"]["value"], &values["data"]["ns"]), (&json!("3"), &json!("toy")));
    assert_eq!(chunks(&eval(&env, "t", "say a")), [("out", "a\n"), ("err", "ea\n")]);
    let failed = eval(&env, "t", "fail ToyException");
    assert_eq!(failed["data"]["error"]["name"], "ToyException", "{failed:#}");
    let refused = eval(&env, "t", "refuse");
    assert!(message(&refused).contains("namespace-not-found"), "{refused:#}");
    let id = env.json(["eval", "-n", "t", "--bg", "sleep"])["data"]["eval_id"].take();
    let id = id.as_str().unwrap();
    wait_for("it runs", || env.run(["output", id]).stdout.contains("up"));
    assert_eq!(env.json(["interrupt", id])["data"]["effect"], "interrupted");
    assert_eq!(env.json(["output", id, "--wait", "10s"])["status"], "interrupted");
    let over = env.json(["eval", "-n", "t", "--hard-timeout", "100", "sleep"]);
    assert_eq!(over["status"], "timeout", "{over:#}");
    assert!(message(&over).contains("state is kept"), "{over:#}");
    // It says twice that it waits; it is answered once.
    let asked = eval(&env, "t", "read");
    let expected = (&json!("waiting_input"), &json!("who? "));
    assert_eq!((&asked["status"], &asked["data"]["prompt"]), expected, "{asked:#}");
    assert!(message(&eval(&env, "t", "value 1")).contains("waits for input"));
    assert_eq!(env.json(["input", "-n", "t", "me"])["data"]["value"], r"'me\n'");
    assert_eq!(eval(&env, "t", "read")["status"], "waiting_input");
    assert_eq!(env.json(["interrupt", "t"])["data"]["effect"], "interrupted");
    // This server's version is not known to take an end of the input, so it gets an empty line.
    assert_eq!(eval(&env, "t", "read")["status"], "waiting_input");
    assert_eq!(env.json(["input", "-n", "t", "--eof"])["data"]["value"], r"'\n'");
    let names = env.json(["inspect", "-n", "t", "--what", "complete", "alp"]);
    assert_eq!(names["data"]["names"], json!(["alpha", "alphabet"]), "{names:#}");
    let inspected = env.json(["inspect", "-n", "t", "alpha"])["data"].take();
    assert_eq!(inspected["signature"], "toy/alpha [x]", "{inspected:#}");
    assert!(message(&env.json(["inspect", "-n", "t", "omega"])).contains("knows nothing"));
    // What comes after the end is background.
    assert_eq!(eval(&env, "t", "late words")["status"], "complete");
    wait_for("it comes", || {
        chunks(&eval(&env, "t", "value 1")).contains(&("background", "words\n"))
    });
}

#[test]
fn k3_a_server_that_breaks_off_is_told_at_once_and_starts_fresh() {
    let env = with_toy();
    let died = eval(&env, "t", "die 7");
    let expected = (&json!("ended"), &json!(7));
    assert_eq!((&died["status"], &died["data"]["exit_code"]), expected, "{died:#}");
    for (code, why) in [
        ("close", "the server closed the connection"),
        ("garbage", "what is no message: `what is this?`"),
        ("open", "larger than 97 MiB"),
        ("closed", "the server has closed the session"),
    ] {
        assert_eq!(eval(&env, "t", "value 1")["data"]["value"], "1", "before {code}");
        let ended = eval(&env, "t", code);
        assert_eq!(ended["status"], "ended", "{code}: {ended:#}");
        assert!(message(&ended).contains(why), "{code}: {ended:#}");
    }
    let big = eval(&env, "t", "big 67108864");
    assert_eq!(big["status"], "complete", "{}", message(&big));
    let id = big["data"]["eval_id"].as_str().unwrap();
    assert_eq!(env.run(["output", id, "--raw"]).stdout.len(), 64 << 20);
    // Killed while nothing runs: the next eval does not run, and says so.
    let status = env.json(["status", "-n", "t"])["data"].take();
    let server = children(status["pid"].as_u64().unwrap());
    assert_eq!(server.len(), 1, "{status:#}");
    kill(&env, server[0].into());
    wait_for("the end is seen", || env.json(["status", "-n", "t"])["data"]["state"] == "ended");
    let lost = eval(&env, "t", "value 1");
    assert_eq!(lost["error"]["code"], "session_lost", "{lost:#}");
    assert_eq!(eval(&env, "t", "value 1")["data"]["value"], "1");
}

fn children(pid: u64) -> Vec<u32> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap();
    text.split_whitespace().map(|word| word.parse().unwrap()).collect()
}

#[test]
fn k4_what_ends_with_the_session_of_a_server_that_runs_on_is_told_without_contradiction() {
    let env = TestEnv::new(STEAD);
    let server = NreplElsewhere::start(&env, &toy(&env, ""));
    assert_eq!(start(&env, &server.address(), "a")["ok"], true);
    for code in ["close", "closed"] {
        let ended = eval(&env, "a", code);
        let fresh = eval(&env, "a", "value 1");
        assert_eq!(fresh["data"]["value"], "1", "{code}: {fresh:#}");
        for said in [message(&ended), fresh["data"]["notice"].as_str().unwrap()] {
            assert!(said.contains("gone with it are `*1`"), "{code}: {said}");
            assert!(said.contains("belongs to the server") && !said.contains("still there"));
        }
    }
}

#[test]
fn k3_a_server_that_does_not_start_says_why() {
    let env = TestEnv::new(STEAD);
    let died = launch(&env, "t", &toy(&env, "dies"));
    assert!(message(&died).contains("ended with exit code 1 before it answered"), "{died:#}");
    assert!(message(&died).contains("no luck today"), "{died:#}");
    let refused = launch(&env, "t", &toy(&env, "no-clone"));
    assert!(message(&refused).contains("gives no session"), "{refused:#}");
    let http = launch(&env, "t", &toy(&env, "http"));
    assert!(message(&http).contains("is no nREPL server"), "{http:#}");
    let missing = launch(&env, "t", "no-such-program {port}");
    assert!(message(&missing).contains("not found on `PATH`"), "{missing:#}");
    let nothing = env.json(["launch", "nrepl", "-n", "t"]);
    assert!(message(&nothing).contains("nothing says which nREPL server"), "{nothing:#}");
    assert!(nothing["error"]["hint"].as_str().unwrap().contains("stead start nrepl"));
    // One that knows nothing but to run code says what it cannot, and one that says nothing is found by its port.
    for mode in ["plain", "silent"] {
        let launched = launch(&env, mode, &toy(&env, mode));
        assert_eq!(launched["ok"], true, "{launched:#}");
        assert_eq!(eval(&env, mode, "value 5")["data"]["value"], "5");
    }
    let cannot = env.json(["status", "-n", "plain"])["data"]["cannot"].to_string();
    for part in ["interrupt:", "give input", "tell about a name", "complete names"] {
        assert!(cannot.contains(part), "{part}: {cannot}");
    }
    assert!(message(&env.json(["inspect", "-n", "plain", "x"])).contains("not"), "{cannot}");
    // Without a port to fill in, the server's own word for it counts, on its output or in a file.
    for mode in ["says", "file"] {
        let command = format!("'{}' {TOY} 0 {mode}", env.python().display());
        let launched = launch(&env, mode, &command);
        assert_eq!(launched["ok"], true, "{launched:#}");
        assert_eq!(eval(&env, mode, "value 6")["data"]["value"], "6");
        assert_eq!(env.json(["status", "-n", mode])["data"]["background"], Value::Null);
    }
}

#[test]
fn k4_a_server_that_ran_before_is_left_alone() {
    let env = TestEnv::new(STEAD);
    let mut server = NreplElsewhere::start(&env, &nbb());
    let address = server.address();
    let started = start(&env, &address, "a");
    assert_eq!(started["ok"], true, "{started:#}");
    let why = started["data"]["why"].as_str().unwrap();
    assert!(why.contains("runs elsewhere") && why.contains("left alone"), "{started:#}");
    assert_eq!(eval(&env, "a", "(def x 41) x")["data"]["value"], "41");
    // A port alone is one of this machine; another session shares the server.
    assert_eq!(start(&env, &server.port.to_string(), "b")["ok"], true);
    assert_eq!(eval(&env, "b", "(inc x)")["data"]["value"], "42");
    assert!(message(&env.json(["pause", "-n", "a"])).contains("runs elsewhere"));
    // Neither a stop nor a killed host or adapter costs the server anything.
    assert_eq!(env.json(["stop", "-n", "a"])["ok"], true);
    let status = env.json(["status", "-n", "b"])["data"].take();
    let [host, adapter] = ["host_pid", "pid"].map(|key| status[key].as_u64().unwrap());
    kill(&env, host);
    wait_for("the adapter is gone", || !is_alive(adapter as u32));
    assert_eq!(eval(&env, "b", "x")["error"]["code"], "session_lost");
    assert_eq!(eval(&env, "b", "x")["data"]["value"], "41");
    let status = env.json(["status", "-n", "b"]);
    kill(&env, status["data"]["pid"].as_u64().unwrap_or_else(|| panic!("{status:#}")));
    wait_for("the end is seen", || env.json(["status", "-n", "b"])["data"]["state"] == "ended");
    assert_eq!(start(&env, &address, "c")["ok"], true);
    assert_eq!(eval(&env, "c", "x")["data"]["value"], "41");
    assert!(server.child.try_wait().unwrap().is_none());
    // It ends, and that is told: why the session is lost, and what a new one would find.
    server.child.kill().unwrap();
    server.child.wait().unwrap();
    let ended =
        || Some(env.json(["status", "-n", "c"])).filter(|it| it["data"]["state"] == "ended");
    let lost = wait_for_some("the end is seen", ended);
    let reason = lost["data"]["reason"].as_str().unwrap();
    assert!(reason.contains("the server closed the connection"), "{lost:#}");
    assert!(reason.contains("`*1`"), "{lost:#}");
    // The next eval does not run and says why, however soon the new start fails; the one after that says that it fails.
    let told = eval(&env, "c", "x");
    assert_eq!(told["error"]["code"], "session_lost", "{told:#}");
    assert!(message(&told).contains("the server closed the connection"), "{told:#}");
    for _ in 0..2 {
        let failed = eval(&env, "c", "x");
        assert_eq!(failed["error"]["code"], "launch_failed", "{failed:#}");
        assert!(message(&failed).contains("nothing listens there"), "{failed:#}");
        assert!(!failed.to_string().contains("interpreter"), "{failed:#}");
    }
    let gone = start(&env, &address, "d");
    assert!(message(&gone).contains("no nREPL server can be reached at localhost:"), "{gone:#}");
}

/// The start that follows fails before, while or after the client hears of the loss.
#[test]
fn k3_s6_a_server_that_is_gone_is_told_of_once_however_soon_the_new_start_fails() {
    let env = TestEnv::new(STEAD);
    for round in 0..6 {
        let name = format!("s{round}");
        let mut server = NreplElsewhere::start(&env, &toy(&env, ""));
        assert_eq!(start(&env, &server.address(), &name)["ok"], true);
        server.child.kill().unwrap();
        server.child.wait().unwrap();
        wait_for("the end is seen", || {
            env.json(["status", "-n", &name])["data"]["state"] == "ended"
        });
        let codes: Vec<Value> =
            (0..3).map(|_| eval(&env, &name, "value 1")["error"]["code"].take()).collect();
        assert_eq!(codes, ["session_lost", "launch_failed", "launch_failed"], "{round}");
    }
}

#[test]
fn k4_a_stop_while_code_runs_costs_a_server_of_others_nothing() {
    let env = TestEnv::new(STEAD);
    let mut server = NreplElsewhere::start(&env, &nbb());
    let address = server.address();
    // nbb dies of an answer that nobody takes, and takes no interrupt.
    let [up, go] = ["up", "go"].map(|name| env.workspace().join(name));
    let code = format!(
        "(require '[\"fs\" :as fs]) (fs/writeFileSync {up:?} \"\") (while (not (fs/existsSync {go:?}))) (println \"through\") (def x 41) x"
    );
    assert_eq!(start(&env, &address, "a")["ok"], true);
    let sent = env.json(["eval", "-n", "a", "--bg", "--", &code]);
    assert_eq!(sent["ok"], true, "{sent:#}");
    wait_for("it runs", || up.exists());
    let mut stop = env.command(["stop", "-n", "a"]);
    let stopping = stop.stdout(std::process::Stdio::null()).spawn().unwrap();
    wait_for("it is being stopped", || {
        env.json(["status", "-n", "a"])["data"]["state"] != "running"
    });
    std::fs::write(&go, "").unwrap();
    assert!(stopping.wait_with_output().unwrap().status.success());
    assert_eq!(start(&env, &address, "b")["ok"], true);
    assert_eq!(eval(&env, "b", "x")["data"]["value"], "41");
    assert!(server.child.try_wait().unwrap().is_none());
}

#[test]
fn k3_an_address_that_leads_nowhere_says_so() {
    let env = TestEnv::new(STEAD);
    for address in ["here", "localhost:0", "localhost:99999", ":80", "a b:80"] {
        let said = start(&env, address, "a");
        assert!(message(&said).contains("is not an address"), "{said:#}");
    }
    assert!(message(&env.json(["start", "nrepl"])).contains("by its address"));
    assert!(message(&env.json(["start", "jupyter", "localhost:80"])).contains("connection file"));
    for (mode, why) in [
        ("mute", "did not answer as an nREPL server in 10 s"),
        ("http", "no message: `HTTP/1.1 400 Bad Request"),
        ("closes", "the server closed the connection"),
    ] {
        let server = NreplElsewhere::start(&env, &toy(&env, mode));
        let said = start(&env, &server.address(), "a");
        assert!(message(&said).contains(why), "{mode}: {said:#}");
    }
}

/// A program of this name that is none: it starts the toy's server, and says as the real one does where that listens.
fn stub(env: &TestEnv, name: &str, says: &str) {
    let dir = env.root().join("bin");
    std::fs::create_dir_all(&dir).unwrap();
    let python = env.python().display().to_string();
    let script = format!(
        "#!/bin/sh\n# A stub for tests: knows of deps.edn what its arguments say.\nfor port; do :; done\n\
         echo \"$*\" >\"$(dirname \"$0\")/{name}.words\"\n{says}\nexec '{python}' {TOY} \"$port\" silent\n"
    );
    write_program(&dir.join(name), &script);
}

fn write_program(path: &Path, text: &str) {
    use std::os::unix::fs::PermissionsExt;
    std::fs::write(path, text).unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn cf3_clojures_toolchains_start_by_name_with_stubs_for_clj_and_bb() {
    let env = TestEnv::new(STEAD);
    stub(&env, "bb", "echo \"Started nREPL server at 127.0.0.1:$port\"");
    stub(&env, "clojure", "");
    let listed = env.json(["toolchains"])["data"]["toolchains"].take();
    let starts = |name: &str| {
        let all = listed.as_array().unwrap();
        all.iter().find(|one| one["name"] == name).unwrap()["starts"].clone()
    };
    assert_eq!((starts("clojure.bb"), starts("clojure.deps")), (json!(true), json!(true)));
    let by_name = env.json(["eval", "-n", "clojure.bb", "value 1"]);
    assert_eq!(by_name["data"]["value"], "1", "{by_name:#}");
    let status = env.json(["status", "-n", "clojure.bb"])["data"].take();
    assert!(status["why"].as_str().unwrap().contains("Babashka on the PATH"), "{status:#}");
    let by_language = env.json(["eval", "-l", "clojure.deps", "value 2"]);
    assert_eq!(by_language["data"]["value"], "2", "{by_language:#}");
    let words =
        |name: &str| std::fs::read_to_string(env.root().join(format!("bin/{name}.words"))).unwrap();
    assert!(words("bb").starts_with("--nrepl-server "), "{}", words("bb"));
    assert!(words("clojure").starts_with("-Sdeps {:deps {nrepl/nrepl {"), "{}", words("clojure"));
    assert!(words("clojure").contains(" -M -m nrepl.cmdline --port "), "{}", words("clojure"));
    // Over MCP they are opened as any language.
    let opened =
        mcp_call(env.command(["mcp"]), "open", json!({"language": "clojure.bb", "name": "m"}));
    let text = opened["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("[m: open, nrepl toy 1.2"), "{text}");
    let ran = mcp_call(env.command(["mcp"]), "eval", json!({"session": "m", "code": "value 5"}));
    let text = ran["content"][0]["text"].as_str().unwrap();
    assert!(text.contains('5') && text.contains(" ns toy"), "{text}");
}

#[test]
fn x6_servers_elsewhere_are_named_in_the_users_own_file_only() {
    let env = TestEnv::new(STEAD);
    let server = NreplElsewhere::start(&env, &toy(&env, ""));
    let table =
        format!("[sessions.dev]\ntoolchain = \"nrepl\"\nserver = \"{}\"\n", server.address());
    let project = env.workspace().join(".stead");
    std::fs::create_dir_all(&project).unwrap();
    std::fs::write(project.join("config.toml"), &table).unwrap();
    let refused = eval(&env, "dev", "value 1");
    assert_eq!(refused["ok"], false, "{refused:#}");
    std::fs::remove_file(project.join("config.toml")).unwrap();
    let own = env.root().join("home/.config/stead");
    std::fs::create_dir_all(&own).unwrap();
    std::fs::write(own.join("config.toml"), &table).unwrap();
    let ran = mcp_call(env.command(["mcp"]), "eval", json!({"session": "dev", "code": "value 7"}));
    assert!(ran["content"][0]["text"].as_str().unwrap().contains('7'), "{ran:#}");
    let wrong = "[sessions.py]\nserver = \"localhost:80\"\n";
    std::fs::write(own.join("config.toml"), wrong).unwrap();
    let said = eval(&env, "py", "1");
    assert!(message(&said).contains("is for nREPL sessions"), "{said:#}");
}
