//! K-3 with Clojure's own nREPL server, Debian's, started plainly and by Leiningen: what only the real one shows.

use serde_json::{Value, json};
use stead_testkit::{NreplElsewhere, TestEnv, chunks, clojure, wait_for};

use crate::STEAD;

fn env() -> TestEnv {
    let env = TestEnv::new(STEAD);
    let launched = env.json(["launch", "nrepl", "-n", "c", "--cmd", &clojure()]);
    assert_eq!(launched["data"]["state"], "idle", "{launched:#}");
    let version = launched["data"]["version"].as_str().unwrap();
    assert!(version.starts_with("Clojure 1.") && version.contains("nREPL 1."), "{version}");
    env
}

fn eval(env: &TestEnv, code: &str) -> Value {
    env.json(["eval", "-n", "c", "--timeout", "60s", "--", code])
}

/// Runs code without waiting for its end, but until it has written something.
fn begin(env: &TestEnv, code: &str) -> String {
    let id = env.json(["eval", "-n", "c", "--bg", "--", code])["data"]["eval_id"].take();
    let id = id.as_str().unwrap().to_owned();
    wait_for("it runs", || env.run(["output", &id]).stdout.contains("up"));
    id
}

#[test]
fn k3_evals_are_as_in_clojure() {
    let env = env();
    let forms = eval(&env, "(println \"hi\") (def x 3) (* x 2)");
    assert_eq!(
        chunks(&forms)[..3],
        [("out", "hi\n"), ("value", "nil"), ("value", "#'user/x")],
        "{forms:#}"
    );
    assert_eq!(forms["data"]["value"], "6");
    // Questions leave the last values alone.
    assert_eq!(env.json(["inspect", "-n", "c", "x"])["data"]["value"], "3");
    assert_eq!(eval(&env, "[*1 *2]")["data"]["value"], "[6 #'user/x]");
    assert_eq!(eval(&env, "(ns app.core) (def y 1)")["data"]["ns"], "app.core");
    assert_eq!(eval(&env, "(str *ns*)")["data"]["value"], "\"app.core\"");
    let both = eval(&env, "(binding [*out* *err*] (println \"e\")) (println \"o\") 7");
    let written: Vec<_> = chunks(&both).into_iter().filter(|(kind, _)| *kind != "value").collect();
    assert_eq!(written, [("err", "e\n"), ("out", "o\n")], "{both:#}");
    let endless = eval(&env, "(range)")["data"]["value"].take();
    assert!(endless.as_str().unwrap().ends_with('…'), "{endless}");
    let own = eval(&env, "(.println System/out \"own\") 1");
    assert!(chunks(&own).contains(&("out", "own\n")), "{own:#}");
    // What a thread of an earlier eval prints is that one's, and background.
    eval(&env, "(def go (promise)) (future @go (println \"late\"))");
    wait_for("it comes", || {
        chunks(&eval(&env, "(deliver go 1)")).contains(&("background", "late\n"))
    });
    assert_eq!(env.json(["inspect", "-n", "c", "map"])["data"]["type"], "function");
    let names = env.json(["inspect", "-n", "c", "--what", "complete", "(map-in"]);
    assert_eq!(names["data"]["names"], json!(["(map-indexed"]), "{names:#}");
}

#[test]
fn k3_exceptions_have_their_causes_and_the_users_frames() {
    let env = env();
    eval(&env, "(defn half! [n] (/ n 0))");
    let code = "(throw (ex-info \"outer\" {:a 1} (try (half! 1) (catch Exception e e))))";
    let failed = eval(&env, code)["data"]["error"].take();
    assert_eq!(failed["name"], "ArithmeticException", "{failed:#}");
    let trace = failed["traceback"].as_str().unwrap();
    assert!(trace.starts_with("clojure.lang.ExceptionInfo: outer {:a 1}\nCaused by: "), "{trace}");
    assert!(trace.contains("at user/half! (REPL:1)"), "{trace}");
    assert!(trace.contains("frames of Clojure and Java left out"), "{trace}");
    assert!(!trace.contains("nrepl"), "{trace}");
    assert_eq!(eval(&env, "(.getMessage *e)")["data"]["value"], "\"outer\"");
    let unknown = eval(&env, "(foo)")["data"]["error"].take();
    assert!(unknown["message"].as_str().unwrap().contains("Unable to resolve symbol: foo"));
    assert_eq!(eval(&env, "(+ 1")["data"]["error"]["incomplete"], true);
    // The server goes on after an error, and that is said.
    let on = eval(&env, "(/ 1 0) (println \"later\") :ok");
    assert_eq!(
        (&on["status"], &on["data"]["error"]["message"]),
        (&json!("error"), &json!("Divide by zero"))
    );
    assert!(on["data"]["notice"].as_str().unwrap().contains("ran, too"), "{on:#}");
    assert!(chunks(&on).contains(&("out", "later\n")), "{on:#}");
}

#[test]
fn e6_loops_sleeps_printing_loops_and_reads_are_interrupted() {
    let env = env();
    eval(&env, "(def x 41)");
    for code in [
        "(println \"up\") (loop [] (recur))",
        "(println \"up\") (Thread/sleep 600000)",
        "(loop [] (println \"up\") (Thread/sleep 1) (recur))",
        "(println \"up\") @(promise)",
        "(println \"up\") (read-line)",
    ] {
        let id = begin(&env, code);
        let stopped = env.json(["interrupt", &id]);
        assert_eq!(stopped["data"]["effect"], "interrupted", "{code}: {stopped:#}");
        assert_eq!(env.json(["output", &id, "--wait", "10s"])["status"], "interrupted", "{code}");
        assert_eq!(eval(&env, "(inc x)")["data"]["value"], "42", "after {code}");
    }
    let over = env.json(["eval", "-n", "c", "--hard-timeout", "200", "--", "(loop [] (recur))"]);
    assert_eq!(over["status"], "timeout", "{over:#}");
    assert_eq!(eval(&env, "(inc x)")["data"]["value"], "42");
}

#[test]
fn e8_code_that_reads_is_answered() {
    let env = env();
    let asked = eval(&env, "(print \"name? \") (flush) [(read-line) (read-line)]");
    let expected = (&json!("waiting_input"), &json!("name? "));
    assert_eq!((&asked["status"], &asked["data"]["prompt"]), expected, "{asked:#}");
    assert_eq!(env.json(["input", "-n", "c", "bob"])["status"], "waiting_input");
    assert_eq!(env.json(["input", "-n", "c", "al"])["data"]["value"], "[\"bob\" \"al\"]");
    assert_eq!(eval(&env, "(read-line)")["status"], "waiting_input");
    assert_eq!(env.json(["input", "-n", "c", "--eof"])["data"]["value"], "nil");
}

#[test]
fn e9_what_is_left_of_a_line_is_dropped() {
    let env = env();
    let long = format!("7 {}", "8 ".repeat(10_000));
    for (code, line, value) in [
        ("(read)", "1 2 3", "1"),
        ("(.read *in*)", "qwerty", "113"),
        ("(char (.read *in*))", "a\r", "\\a"),
        ("(do (.read *in*) (.unread *in* 65) 1)", "xyz", "1"),
        // More than the reader takes at once.
        ("(read)", long.trim_end(), "7"),
        ("(do (read) (throw (ex-info \"no\" {})))", "1 2", ""),
    ] {
        assert_eq!(eval(&env, code)["status"], "waiting_input", "{code}");
        let given = env.json(["input", "-n", "c", "--", line]);
        assert_eq!(given["data"]["value"].as_str().unwrap_or_default(), value, "{given:#}");
        assert_eq!(given["data"]["notice"], Value::Null, "{given:#}");
        let asks = eval(&env, "(read-line)");
        assert_eq!(asks["status"], "waiting_input", "after {code}: {asks:#}");
        assert_eq!(env.json(["input", "-n", "c", "new"])["data"]["value"], "\"new\"", "{code}");
    }
    // The last values are those of the user's code.
    assert_eq!(eval(&env, "5")["data"]["value"], "5");
    eval(&env, "(read)");
    assert_eq!(env.json(["input", "-n", "c", "6 7"])["data"]["value"], "6");
    assert_eq!(eval(&env, "[*1 *2]")["data"]["value"], "[6 5]");
    // A thread that goes on reading, which holds the reader, does not hold up the end.
    let code = "(let [line (read-line)] (future (read-line)) (Thread/sleep 300) line)";
    let id = eval(&env, code)["data"]["eval_id"].as_str().unwrap().to_owned();
    env.json(["input", "-n", "c", "a"]);
    wait_for("it has ended", || env.json(["output", &id])["status"] == "complete");
    let ended = env.json(["output", &id]);
    assert_eq!(ended["data"]["value"], "\"a\"", "{ended:#}");
    assert_eq!(ended["data"]["notice"], Value::Null, "{ended:#}");
}

#[test]
fn k3_s6_the_end_of_a_server_is_told_with_its_code_and_nothing_is_left() {
    let env = env();
    let ended = eval(&env, "(System/exit 7)");
    let expected = (&json!("ended"), &json!(7));
    assert_eq!((&ended["status"], &ended["data"]["exit_code"]), expected, "{ended:#}");
    assert_eq!(
        eval(&env, "(.start (ProcessBuilder. [\"sleep\" \"600\"])) 1")["data"]["value"],
        "1"
    );
    let id = begin(&env, "(println \"up\") (Thread/sleep 600000)");
    let adapter = env.json(["status", "-n", "c"])["data"]["pid"].as_u64().unwrap();
    let children = std::fs::read_to_string(format!("/proc/{adapter}/task/{adapter}/children"));
    let server = children.unwrap().split_whitespace().next().unwrap().to_owned();
    assert!(env.other("kill").args(["-9", &server]).status().unwrap().success());
    let killed = env.json(["output", &id, "--wait", "10s"]);
    assert_eq!(killed["status"], "ended", "{killed:#}");
    assert!(killed.to_string().contains("SIGKILL"), "{killed:#}");
    assert_eq!(eval(&env, "1")["data"]["value"], "1");
    assert_eq!(env.json(["stop", "-n", "c"])["ok"], true);
    // A server that ends as it is asked to removes its file.
    assert!(!env.workspace().join(".nrepl-port").exists());
}

#[test]
fn k4_a_running_server_outlives_its_sessions() {
    let env = TestEnv::new(STEAD);
    let server = NreplElsewhere::start(&env, &clojure());
    let start = || env.json(["start", "nrepl", &server.address(), "-n", "c"]);
    assert_eq!(start()["ok"], true);
    assert_eq!(eval(&env, "(def x 5) x")["data"]["value"], "5");
    // What runs when the session is stopped is interrupted; when the host is killed, it is not, and a new session works.
    begin(&env, "(println \"up\") (Thread/sleep 600000)");
    assert_eq!(env.json(["stop", "-n", "c"])["ok"], true);
    assert_eq!(start()["ok"], true);
    begin(&env, "(println \"up\") (Thread/sleep 600000)");
    let host = env.json(["status", "-n", "c"])["data"]["host_pid"].as_u64().unwrap();
    assert!(env.other("kill").args(["-9", &host.to_string()]).status().unwrap().success());
    assert_eq!(eval(&env, "x")["error"]["code"], "session_lost");
    assert_eq!(eval(&env, "x")["data"]["value"], "5");
    assert_eq!(eval(&env, "*1")["data"]["value"], "5");
}

#[test]
fn k3_a_file_of_this_machine_is_loaded() {
    let env = TestEnv::new(STEAD);
    // The server's own directory is another.
    let server = NreplElsewhere::start(&env, &clojure());
    let started = env.json(["start", "nrepl", &server.address(), "-n", "c"]);
    assert_eq!(started["ok"], true, "{started:#}");
    let text = "(ns app.core)\n(println \"loads\")\n(defn half! [n]\n  (/ n 0))\n:last\n";
    std::fs::write(env.workspace().join("app.clj"), text).unwrap();
    assert_eq!(eval(&env, "1")["data"]["ns"], "user");
    let loaded = eval(&env, "(load-file \"app.clj\")");
    let expected = (&json!(":last"), &json!("user"));
    assert_eq!((&loaded["data"]["value"], &loaded["data"]["ns"]), expected, "{loaded:#}");
    assert_eq!(chunks(&loaded)[0], ("out", "loads\n"));
    let failed = eval(&env, "(app.core/half! 1)")["data"]["error"]["traceback"].take();
    assert!(failed.as_str().unwrap().contains("at app.core/half! (app.clj:4)"), "{failed:#}");
    let none = eval(&env, "(load-file \"none.clj\")");
    assert_eq!(none["data"]["error"]["name"], "FileNotFoundException", "{none:#}");
}

#[test]
fn cf3_leiningen_starts_the_projects_clojure() {
    let env = TestEnv::new(STEAD);
    let project = "(defproject app \"0.1.0\" :dependencies [[org.clojure/clojure \"1.11.1\"]]
        :local-repo \"/usr/share/maven-repo\" :offline? true)";
    std::fs::write(env.workspace().join("project.clj"), project).unwrap();
    let source = env.workspace().join("src/app");
    std::fs::create_dir_all(&source).unwrap();
    std::fs::write(source.join("core.clj"), "(ns app.core)\n(defn half! [n] (/ n 0))\n").unwrap();
    let launched = env.json(["launch", "clojure.lein", "-n", "c"]);
    assert_eq!(launched["data"]["state"], "idle", "{launched:#}");
    let failed = eval(&env, "(require 'app.core) (app.core/half! 1)");
    let trace = failed["data"]["error"]["traceback"].as_str().unwrap();
    assert!(trace.contains("at app.core/half! (core.clj:2)"), "{trace}");
    assert_eq!(env.json(["stop", "-n", "c"])["ok"], true);
}
