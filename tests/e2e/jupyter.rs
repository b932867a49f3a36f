//! K-1, K-4: Jupyter kernels, with ipykernel and with a toy that does what real ones will not do on demand.

use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};
use stead_testkit::{
    TestEnv, chunks, ipykernel, is_alive, kernel_python, mcp_call, wait_for, wait_for_some,
};

use crate::STEAD;

const TOY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/e2e/toy_kernel.py");

fn toy() -> Value {
    json!({"argv": [kernel_python(), TOY, "{connection_file}"], "language": "toy"})
}

/// An environment with both kernels.
pub(crate) fn env() -> TestEnv {
    let env = TestEnv::new(STEAD);
    env.install_kernel("ipython", &ipykernel());
    env.install_kernel("toy", &toy());
    env
}

pub(crate) fn eval(env: &TestEnv, kernel: &str, code: &str) -> Value {
    env.json(["eval", "-l", kernel, "--timeout", "60s", "--", code])
}

#[track_caller]
fn message(reply: &Value) -> &str {
    reply["error"]["message"].as_str().unwrap_or_else(|| panic!("no error: {reply:#}"))
}

/// A kernel that somebody else has started.
pub(crate) struct Elsewhere {
    child: Child,
    file: PathBuf,
}

impl Elsewhere {
    fn start(env: &TestEnv, command: &[&str], mode: &str) -> Elsewhere {
        let file = env.root().join(format!("kernel-{mode}.json"));
        let ports: Vec<u16> = (0..5)
            .map(|_| std::net::TcpListener::bind("127.0.0.1:0").unwrap())
            .collect::<Vec<_>>()
            .iter()
            .map(|held| held.local_addr().unwrap().port())
            .collect();
        let content = json!({"transport": "tcp", "ip": "127.0.0.1", "key": "secret", "signature_scheme": "hmac-sha256",
            "shell_port": ports[0], "control_port": ports[1], "iopub_port": ports[2], "stdin_port": ports[3],
            "hb_port": ports[4]});
        std::fs::write(&file, content.to_string()).unwrap();
        let child = Command::new(kernel_python())
            .args(command)
            .arg(&file)
            .env("TOY_KERNEL", mode)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let listens = |port: &u16| std::net::TcpStream::connect(("127.0.0.1", *port)).is_ok();
        wait_for("the kernel listens", || ports.iter().all(listens));
        Elsewhere { child, file }
    }

    pub(crate) fn ipykernel(env: &TestEnv) -> Elsewhere {
        Elsewhere::start(env, &["-m", "ipykernel_launcher", "-f"], "")
    }

    pub(crate) fn path(&self) -> &str {
        self.file.to_str().unwrap()
    }
}

impl Drop for Elsewhere {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn k1_a_kernel_goes_by_its_name_as_a_language_does() {
    let env = env();
    assert_eq!(eval(&env, "toy", "echo 42")["data"]["value"], "42");
    let status = env.json(["status", "-n", "toy"])["data"].take();
    assert_eq!(status["language"], "toy");
    assert_eq!(status["version"], "toy 1, toy");
    assert!(status["why"].as_str().unwrap().contains("the Jupyter kernel `toy`"), "{status:#}");
    assert!(status["cannot"][0].as_str().unwrap().contains("names"), "{status:#}");
    assert!(status["background"].is_null(), "{status:#}");
    let launched = env.json(["launch", "jupyter", "--kernel", "toy", "-n", "mine"]);
    assert_eq!(launched["data"]["state"], "idle", "{launched:#}");
    // A session has one kernel.
    let other = env.json(["eval", "-n", "mine", "-l", "ipython", "1"]);
    assert!(message(&other).contains("is in toy, not ipython"), "{other:#}");
    assert!(message(&env.json(["launch", "python", "--kernel", "toy"])).contains("for Jupyter"));
    // What the process itself writes is the eval's.
    let own = eval(&env, "toy", "own words");
    assert_eq!(chunks(&own), [("out", "words\n")]);
}

#[test]
fn k1_o9_rich_values_come_as_text_files_and_updates() {
    let env = env();
    let code = "from IPython.display import HTML, JSON, SVG, Markdown, display
display(SVG('<svg xmlns=\"http://www.w3.org/2000/svg\"/>')); display(Markdown('**m**')); display(JSON({'a': 1}))
bar = display('one', display_id='bar'); bar.update('two')
HTML('<table><tr><td>cell</td></tr></table>')";
    let shown = eval(&env, "ipython", code);
    let listed = shown["data"]["chunks"].as_array().unwrap().clone();
    let mimes: Vec<_> = listed.iter().filter_map(|chunk| chunk["mime"].as_str()).collect();
    let expected = [
        "image/svg+xml",
        "text/markdown",
        "application/json",
        "text/plain",
        "text/plain",
        "text/html",
    ];
    assert_eq!(mimes, expected, "{shown:#}");
    assert!(std::fs::metadata(listed[0]["content"].as_str().unwrap()).is_ok());
    assert_eq!(listed[4]["content"], "'two'");
    assert_eq!(shown["data"]["value"], "cell");
    let id = shown["data"]["eval_id"].as_str().unwrap();
    let text = env.run(["output", id, "--text"]).stdout;
    assert!(text.contains("{\"a\":1}"), "{text}");
    // Its own question marks and magics work.
    assert!(eval(&env, "ipython", "print?").to_string().contains("Signature"));
    assert_eq!(eval(&env, "ipython", "%pwd")["data"]["type"], "str");
}

#[test]
fn k1_o1_output_that_is_no_unicode_is_shown_all_the_same() {
    let env = env();
    let code = "import os\nfor i in range(100): print('line', i)\nprint(os.fsdecode(b'na\\xffme'))\nprint('last')";
    let shown = eval(&env, "ipython", code);
    let text: String = chunks(&shown).into_iter().map(|(_, text)| text).collect();
    assert!(text.contains("line 99\nna\u{fffd}me\nlast\n"), "{shown:#}");
    let raised = eval(&env, "ipython", "raise ValueError('bad \\udcff')");
    assert_eq!(raised["data"]["error"]["name"], "ValueError", "{raised:#}");
}

#[test]
fn e8_a_kernel_asks_for_lines_and_passwords() {
    let env = env();
    let code = "import getpass\na = input('who? ')\nb = getpass.getpass('key? ')\n(a, b)";
    let asked = eval(&env, "ipython", code);
    assert_eq!(
        (&asked["status"], &asked["data"]["prompt"]),
        (&json!("waiting_input"), &json!("who? "))
    );
    let asked = env.json(["input", "-n", "ipython", "me"]);
    assert_eq!(
        (&asked["data"]["prompt"], &asked["data"]["secret"]),
        (&json!("key? "), &json!(true))
    );
    assert_eq!(env.json(["input", "-n", "ipython", "hidden"])["data"]["value"], "('me', 'hidden')");
}

/// Starts a thread that asks for a line, and ends when it waits for that.
const LEAVE_A_QUESTION: &str = "import sys, threading, time, traceback
def ask():
    global got
    got = input('later: ')
    print('got', got)
t = threading.Thread(target=ask)
t.start()
while '_input_request' not in str(traceback.extract_stack(sys._current_frames()[t.ident])):
    time.sleep(0.01)";

/// Leaves a thread behind that waits for a line; what the eval said at its end.
fn leave_a_question(env: &TestEnv) -> Value {
    let asked = eval(env, "ipython", LEAVE_A_QUESTION);
    let id = asked["data"]["eval_id"].as_str().unwrap();
    // It counts as waiting until it ends.
    wait_for_some("its end", || {
        let ended = env.json(["output", id]);
        (ended["status"] == "complete").then_some(ended)
    })
}

fn answer(env: &TestEnv, line: &str) -> Value {
    wait_for_some("a reader", || {
        let reply = env.json(["input", "-n", "ipython", line]);
        (reply["ok"] == true).then_some(reply)
    })
}

#[test]
fn e9_a_thread_of_a_kernel_that_asks_is_answered_when_its_eval_is_over() {
    let env = env();
    let ended = leave_a_question(&env);
    let notice = ended["data"]["notice"].as_str().unwrap_or_default();
    assert!(notice.contains("still waits for input (`later:`)"), "{ended:#}");
    // Other evals neither wait nor end its wait.
    assert_eq!(eval(&env, "ipython", "6 * 7")["data"]["value"], "42");
    let answered = answer(&env, "me");
    assert_eq!(answered["status"], "complete", "{answered:#}");
    assert_eq!(eval(&env, "ipython", "t.join(); got")["data"]["value"], "'me'");
    // Nothing is left that reads.
    let refused = env.json(["input", "-n", "ipython", "more"]);
    assert_eq!(refused["ok"], false, "{refused:#}");
    let asked = eval(&env, "ipython", "input('now: ')");
    assert_eq!(asked["data"]["prompt"], "now: ", "{asked:#}");
    assert_eq!(env.json(["input", "-n", "ipython", "x"])["data"]["value"], "'x'");
}

#[test]
fn e9_a_thread_of_a_kernel_can_be_answered_while_an_eval_runs() {
    let env = env();
    leave_a_question(&env);
    let running = env.json(["eval", "-l", "ipython", "--bg", "--", "t.join(); got"]);
    let id = running["data"]["eval_id"].as_str().unwrap();
    let answered = env.json(["input", "-n", "ipython", "me"]);
    assert_eq!(answered["ok"], true, "{answered:#}");
    assert_eq!(env.json(["output", id, "--wait", "60s"])["data"]["value"], "'me'");
}

#[test]
fn e9_a_thread_of_a_kernel_that_asks_while_nothing_runs_is_told_and_answered() {
    let env = env();
    let flag = env.root().join("go");
    // IPython takes its `input` away at the end of an eval, but not from code that has it already.
    let code = format!(
        "import os, threading, time
def ask(read=input):
    while not os.path.exists({:?}): time.sleep(0.01)
    print('got', read('late: '))
t = threading.Thread(target=ask)
t.start()",
        flag.to_str().unwrap()
    );
    assert_eq!(eval(&env, "ipython", &code)["status"], "complete");
    std::fs::write(&flag, "").unwrap();
    let answered = answer(&env, "me");
    let shown = chunks(&answered).into_iter().map(|(_, text)| text).collect::<String>();
    assert!(shown.contains("[a thread waits for input (`late:`)"), "{answered:#}");
    assert!(shown.contains("got me\n"), "{answered:#}");
}

#[test]
fn e9_an_interrupt_of_a_kernel_leaves_the_question_of_a_thread_and_none_of_the_code() {
    let env = env();
    let joins = format!("{LEAVE_A_QUESTION}\nt.join()");
    for (code, left) in [("input('mine: ')", false), (&joins, true)] {
        let asked = eval(&env, "ipython", code);
        assert_eq!(asked["status"], "waiting_input", "{asked:#}");
        let id = asked["data"]["eval_id"].as_str().unwrap();
        let effect = env.json(["interrupt", id]);
        assert_eq!(effect["data"]["effect"], "interrupted", "{effect:#}");
        let ended = env.json(["output", id]);
        let notice = ended["data"]["notice"].as_str().unwrap_or_default();
        assert_eq!(notice.contains("still waits for input"), left, "{ended:#}");
        if !left {
            assert_eq!(env.json(["input", "-n", "ipython", "x"])["ok"], false);
        }
    }
    answer(&env, "me");
    assert_eq!(eval(&env, "ipython", "t.join(); got")["data"]["value"], "'me'");
}

#[test]
fn k1_a_kernel_that_does_not_start_says_why() {
    let env = env();
    let start = |mode: &str| {
        let mode = format!("TOY_KERNEL={mode}");
        env.json(["launch", "jupyter", "--kernel", "toy", "-n", "t", "--env", &mode])
    };
    let died = start("dies");
    assert!(message(&died).contains("ended with exit code 1 before it answered"), "{died:#}");
    assert!(message(&died).contains("no luck today"), "{died:#}");
    // Kernels that know no sockets in directories, or whose port was taken, are started again.
    for mode in ["ports", "taken"] {
        let launched = start(mode);
        assert_eq!(launched["ok"], true, "{mode}: {launched:#}");
        env.json(["stop", "-n", "t"]);
    }
    env.install_kernel("nowhere", &json!({"argv": ["/no/such/program", "{connection_file}"]}));
    let none = env.json(["launch", "jupyter", "--kernel", "nowhere"]);
    assert!(message(&none).contains("/no/such/program"), "{none:#}");
    env.install_kernel("broken", &json!({"argv": "x"}));
    let broken = env.json(["launch", "jupyter", "--kernel", "broken"]);
    assert!(message(&broken).contains("does not describe a Jupyter kernel"), "{broken:#}");
    let missing = env.json(["launch", "jupyter", "--kernel", "missing"]);
    assert!(message(&missing).contains("there are: "), "{missing:#}");
    assert!(missing["error"]["hint"].as_str().unwrap().contains("--kernel"), "{missing:#}");
    assert!(message(&env.json(["eval", "-l", "missing", "1"])).contains("no language"));
}

#[test]
fn k1_what_is_no_message_is_passed_over_and_a_big_one_comes_whole() {
    let env = env();
    let garbage = eval(&env, "toy", "garbage now");
    assert_eq!((&garbage["status"], chunks(&garbage)), (&json!("complete"), vec![]), "{garbage:#}");
    let notice = garbage["data"]["notice"].as_str().unwrap_or_default();
    assert!(notice.contains("output may be missing: the kernel sent a message"), "{garbage:#}");
    assert_eq!(eval(&env, "toy", "echo still")["data"]["value"], "still");
    let big = eval(&env, "toy", "big 67108864");
    assert_eq!(big["status"], "complete", "{}", message(&big));
    let id = big["data"]["eval_id"].as_str().unwrap();
    assert_eq!(env.run(["output", id, "--raw"]).stdout.len(), 64 << 20);
    assert_eq!(eval(&env, "toy", "fail badly")["data"]["error"]["name"], "ToyError");
}

#[test]
fn k1_s6_the_end_of_a_kernel_is_seen_at_once_and_nothing_is_left() {
    let env = env();
    let died = eval(&env, "toy", "die 7");
    assert_eq!(
        (&died["status"], &died["data"]["exit_code"]),
        (&json!("ended"), &json!(7)),
        "{died:#}"
    );
    assert_eq!(eval(&env, "toy", "echo again")["data"]["value"], "again");
    // The host is killed, and then the adapter of its successor.
    let status = env.json(["status", "-n", "toy"])["data"].take();
    let [host, adapter] = ["host_pid", "pid"].map(|key| status[key].as_u64().unwrap() as u32);
    let kill = |pid: u32| env.other("kill").args(["-9", &pid.to_string()]).status().unwrap();
    assert!(kill(host).success());
    wait_for("the adapter is gone", || !is_alive(adapter));
    assert_eq!(eval(&env, "toy", "echo more")["error"]["code"], "session_lost");
    assert_eq!(eval(&env, "toy", "echo more")["data"]["value"], "more");
    let status = env.json(["status", "-n", "toy"])["data"].take();
    assert!(kill(status["pid"].as_u64().unwrap() as u32).success());
    env.json(["stop", "-n", "toy"]);
    let left = std::fs::read_dir(env.runtime_dir()).unwrap().flatten();
    let left =
        left.filter(|entry| entry.file_name().to_string_lossy().starts_with("stead-kernel-"));
    assert_eq!(left.count(), 0);
}

#[test]
fn k4_e3_a_hard_timeout_does_not_claim_to_have_killed_a_kernel_of_others() {
    let env = env();
    let mut kernel = Elsewhere::ipykernel(&env);
    let file = kernel.path().to_owned();
    env.json(["start", "jupyter", "--connection-file", &file, "-n", "a"]);
    let enough = env.workspace().join("enough");
    let code = format!(
        "import os, time\nx = 1\nwhile not os.path.exists('{}'):\n    try: time.sleep(0.05)\n    except KeyboardInterrupt: pass",
        enough.display()
    );
    let late = env.json(["eval", "-n", "a", "--timeout", "60s", "--hard-timeout", "1s", &code]);
    assert_eq!(
        (&late["status"], &late["data"]["outcome"]),
        (&json!("timeout"), &json!("disconnected")),
        "{late:#}"
    );
    assert!(message(&late).contains("the code may go on there"), "{late:#}");
    assert!(kernel.child.try_wait().unwrap().is_none());
    std::fs::write(enough, "").unwrap();
    let next = env.json(["eval", "-n", "a", "--timeout", "60s", "x"]);
    assert_eq!(next["data"]["value"], "1", "{next:#}");
    let notice = next["data"]["notice"].as_str().unwrap_or_default();
    assert!(notice.contains("connected anew") && !notice.contains("state is gone"), "{next:#}");
}

#[test]
fn k4_a_kernel_that_ran_before_is_left_alone() {
    let env = env();
    let mut kernel = Elsewhere::ipykernel(&env);
    let file = kernel.path().to_owned();
    let start = |name: &str| env.json(["start", "jupyter", "--connection-file", &file, "-n", name]);
    let started = start("a");
    assert_eq!(started["ok"], true, "{started:#}");
    assert!(started["data"]["why"].as_str().unwrap().contains("left alone"), "{started:#}");
    let run =
        |name: &str, code: &str| env.json(["eval", "-n", name, "--timeout", "60s", "--", code]);
    assert_eq!(run("a", "x = 41; x")["data"]["value"], "41");
    // Another session shares it.
    assert_eq!(start("b")["ok"], true);
    assert_eq!(run("b", "x + 1")["data"]["value"], "42");
    // Loops are interrupted by a message.
    let id = env.json(["eval", "-n", "a", "--bg", "print('up', flush=True)\nwhile True: pass"]);
    let id = id["data"]["eval_id"].as_str().unwrap().to_owned();
    wait_for("it runs", || env.run(["output", &id]).stdout.contains("up"));
    assert_eq!(env.json(["interrupt", &id])["data"]["effect"], "interrupted");
    assert!(message(&env.json(["pause", "-n", "a"])).contains("runs elsewhere"));
    // Neither a stop nor a killed host costs the kernel anything.
    assert_eq!(env.json(["stop", "-n", "a"])["ok"], true);
    let host = env.json(["status", "-n", "b"])["data"]["host_pid"].as_u64().unwrap();
    assert!(env.other("kill").args(["-9", &host.to_string()]).status().unwrap().success());
    assert!(kernel.child.try_wait().unwrap().is_none());
    assert_eq!(start("c")["ok"], true);
    assert_eq!(run("c", "x")["data"]["value"], "41");
    // It ends, and that is told.
    let ended = run("c", "import os; os._exit(0)");
    assert_eq!(ended["status"], "ended", "{ended:#}");
    kernel.child.wait().unwrap();
    let gone = start("d");
    assert!(message(&gone).contains("cannot be reached at 127.0.0.1:"), "{gone:#}");
}

#[test]
fn k1_a_connection_file_that_leads_nowhere_says_so() {
    let env = env();
    let start = |path: &str| env.json(["start", "jupyter", "--connection-file", path, "-n", "a"]);
    assert!(message(&start("/no/such/file.json")).contains("could not read the connection file"));
    let broken = env.root().join("broken.json");
    std::fs::write(&broken, "{\"ip\": 3").unwrap();
    let said = start(broken.to_str().unwrap());
    assert!(message(&said).contains("is not a connection file"), "{said:#}");
    // One that listens and never answers; and one that has another key.
    let mute = Elsewhere::start(&env, &[TOY], "mute");
    let said = start(mute.path());
    assert!(message(&said).contains("did not answer in 10 s: its key may be another"), "{said:#}");
}

#[test]
fn m2_open_takes_a_kernel() {
    let env = env();
    let opened = mcp_call(env.command(["mcp"]), "open", json!({"kernel": "toy", "name": "k"}));
    let text = opened["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("[k: open, toy toy 1"), "{text}");
    let none = mcp_call(env.command(["mcp"]), "open", json!({"kernel": "none"}));
    let text = none["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("there is no Jupyter kernel `none`"), "{text}");
    let inspected =
        mcp_call(env.command(["mcp"]), "eval", json!({"session": "k", "code": "echo 5"}));
    assert!(inspected["content"][0]["text"].as_str().unwrap().contains('5'));
}
