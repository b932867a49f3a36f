//! JS: sessions in Node, through the whole of stead.

use std::fs;

use serde_json::Value;
use stead_testkit::{TestEnv, is_reading, node, wait_for, wait_for_some};

use crate::STEAD;

fn env() -> TestEnv {
    TestEnv::with_node(STEAD, &node())
}

#[track_caller]
fn eval(env: &TestEnv, code: &str) -> Value {
    env.json(["eval", "-n", "js", "--timeout", "60s", "--", code])
}

#[track_caller]
fn value(env: &TestEnv, code: &str) -> String {
    let reply = eval(env, code);
    assert_eq!(reply["status"], "complete", "{code}: {reply:#}");
    reply["data"]["value"].as_str().unwrap_or_default().to_owned()
}

/// Starts code and waits until it has written `up`.
#[track_caller]
fn submit(env: &TestEnv, options: &[&str], code: &str) -> String {
    let arguments = [&["eval", "-n", "js", "--bg"], options, &["--", code]].concat();
    let id = env.json(arguments)["data"]["eval_id"].as_str().unwrap().to_owned();
    wait_for_some("up", || env.run(["output", &id]).stdout.contains("up").then_some(()));
    id
}

#[test]
fn s5_a_node_session_starts_by_its_name_and_alias() {
    let env = env();
    assert_eq!(value(&env, "const x = 41; x + 1"), "42");
    let reply = env.json(["eval", "-n", "node", "1 + 1"]);
    assert_eq!(reply["data"]["value"], "2", "{reply:#}");
    let reply = env.json(["eval", "-n", "web", "-l", "js", "1 + 2"]);
    assert_eq!(reply["data"]["value"], "3", "{reply:#}");
}

#[test]
fn s10_status_says_which_node_and_why() {
    let env = env();
    let real = fs::canonicalize(node()).unwrap();
    let reply = env.json(["launch", "node", "-n", "n1"]);
    assert_eq!(reply["data"]["interpreter"], real.to_str().unwrap(), "{reply:#}");
    assert!(reply.to_string().contains("`node` on `PATH`"), "{reply:#}");
    let reply = env.json(["launch", "node", "-n", "n2", "--node", real.to_str().unwrap()]);
    assert!(reply.to_string().contains("named by the user"), "{reply:#}");
    let reply = env.json(["launch", "node", "-n", "n3", "--node", "./none"]);
    assert_eq!(reply["error"]["code"], "launch_failed", "{reply:#}");
}

#[test]
fn js_an_old_node_is_refused_with_its_version() {
    let env = env();
    // What the boot script sees of an old one: its version.
    let old = env.root().join("old.js");
    fs::write(&old, "Object.defineProperty(process.versions, 'node', { value: '16.20.0' })")
        .unwrap();
    let reply = env
        .command(["launch", "node", "-n", "n1"])
        .env("NODE_OPTIONS", format!("--require {}", old.display()))
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&reply.stdout).into_owned();
    assert!(text.contains("launch_failed") && text.contains("Node 18 or newer"), "{text}");
}

#[test]
fn js_launch_settings_reach_node() {
    let env = env();
    let project = env.workspace().join("project");
    fs::create_dir_all(project.join("node_modules/dep")).unwrap();
    fs::write(project.join("node_modules/dep/index.js"), "exports.name = 'dep'").unwrap();
    fs::write(project.join("local.mjs"), "export const here = 'local'").unwrap();
    env.json([
        "launch",
        "node",
        "-n",
        "js",
        "--cwd",
        "project",
        "--env",
        "A=b",
        "--init",
        "var made = 1",
    ]);
    assert_eq!(value(&env, "[made, process.env.A, require('dep').name]"), "[ 1, 'b', 'dep' ]");
    assert_eq!(value(&env, "import { here } from './local.mjs'; here"), "'local'");
    assert_eq!(value(&env, "process.env.STEAD_BRIDGE_FD"), "");
}

#[test]
fn js3_status_and_stop_are_answered_whatever_node_does() {
    let env = env();
    // A read of a pipe that nobody writes to is left by no interrupt.
    let fifo = env.root().join("fifo");
    std::process::Command::new("mkfifo").arg(&fifo).status().unwrap();
    let code = format!(
        "const end = fs.openSync('{}', 'r+'); console.log('up'); fs.readSync(end, Buffer.alloc(1))",
        fifo.display()
    );
    let id = submit(&env, &[], &code);
    let status = env.json(["status", "-n", "js"]);
    assert_eq!(status["data"]["state"], "running");
    let pid = status["data"]["pid"].as_u64().unwrap() as u32;
    wait_for("Node to read", || is_reading(pid));
    let reply = env.json(["interrupt", &id]);
    assert_eq!(reply["data"]["effect"], "still_running", "{reply:#}");
    assert_eq!(env.json(["stop", "-n", "js"])["ok"], true);
}

/// The main thread is told to stop before its command is interrupted: the other way round the next command would begin.
#[test]
fn e6_one_interrupt_ends_a_loop_of_commands() {
    let env = env();
    let run =
        "require('child_process').execSync('echo up >&2; exec sleep 1000', { stdio: 'inherit' })";
    let id = submit(&env, &[], &format!("for (;;) {{ try {{ {run} }} catch {{}} }}"));
    env.json(["interrupt", &id]);
    let ended = env.json(["wait", &id, "--timeout", "60s"]);
    assert_eq!(ended["status"], "interrupted", "{ended:#}");
    // What only awaits a command is over at once, and the command is interrupted all the same.
    let run = "await require('util').promisify(require('child_process').exec)('trap \"echo got > got; exit\" INT; echo up > up; while :; do :; done')";
    let id = env.json(["eval", "-n", "js", "--bg", "--", run])["data"]["eval_id"]
        .as_str()
        .unwrap()
        .to_owned();
    wait_for("the command runs", || env.workspace().join("up").exists());
    env.json(["interrupt", &id]);
    wait_for("it was interrupted", || env.workspace().join("got").exists());
    assert_eq!(value(&env, "6 * 7"), "42");
}

#[test]
fn e3_a_hard_timeout_interrupts_or_kills() {
    let env = env();
    value(&env, "var kept = 1");
    let reply = env.json(["eval", "-n", "js", "--hard-timeout", "300", "--", "for (;;) {}"]);
    assert_eq!(reply["status"], "timeout", "{reply:#}");
    assert_eq!(value(&env, "kept"), "1");
}

#[test]
fn e9_a_background_reader_is_answered_between_evals() {
    let env = env();
    value(&env, "process.stdin.once('data', data => console.log('got', String(data).trim())); 0");
    let reply = wait_for_some("a reader", || {
        let reply = env.json(["input", "-n", "js", "word"]);
        (reply["ok"] == true).then_some(reply)
    });
    assert!(reply.to_string().contains("got word"), "{reply:#}");
    assert_eq!(value(&env, "1"), "1");
}

/// Waits until Node has been idle for longer than it takes to begin to read again.
fn rest(env: &TestEnv) {
    let mark = env.workspace().join("rested");
    value(env, "setTimeout(() => require('fs').writeFileSync('rested', ''), 50); 0");
    wait_for("a rest", || mark.exists());
    fs::remove_file(mark).unwrap();
}

#[test]
fn e8_input_is_refused_once_a_reader_has_had_enough() {
    let env = env();
    let closed = "var rl = require('readline/promises').createInterface({ input: process.stdin })
var said = await rl.question(''); rl.close(); said";
    let heard_once = "await new Promise(done => process.stdin.once('data', done)) + ''";
    let paused = "await new Promise(done => process.stdin.on('data', data => { process.stdin.pause(); done(data + '') }))";
    let left = "for await (const data of process.stdin) { console.log(data + ''); break }";
    for code in [closed, heard_once, paused, left] {
        assert_eq!(eval(&env, code)["status"], "waiting_input", "{code}");
        let reply = env.json(["input", "-n", "js", "word"]);
        assert_eq!(reply["status"], "complete", "{code}: {reply:#}");
        assert!(reply.to_string().contains("word"), "{code}: {reply:#}");
        rest(&env);
        let status = env.json(["status", "-n", "js"]);
        assert_ne!(status["data"]["background_waiting"], true, "{code}: {status:#}");
        let refused = env.json(["input", "-n", "js", "for nobody"]);
        assert_eq!(refused["error"]["code"], "bad_request", "{code}: {refused:#}");
    }
}

#[test]
fn e9_a_background_reader_can_pause_and_resume() {
    let env = env();
    let code = "process.stdin.on('data', data => { console.log('got', String(data).trim()); process.stdin.pause() })
var kept = process.stdin; 0";
    value(&env, code);
    for word in ["one", "two"] {
        let reply = wait_for_some("a reader", || {
            let reply = env.json(["input", "-n", "js", word]);
            (reply["ok"] == true).then_some(reply)
        });
        assert!(reply.to_string().contains(&format!("got {word}")), "{reply:#}");
        rest(&env);
        let refused = env.json(["input", "-n", "js", "for nobody"]);
        assert_eq!(refused["error"]["code"], "bad_request", "{refused:#}");
        value(&env, "kept.resume(); 0");
    }
}

#[test]
fn x5_children_do_not_get_the_control_channel() {
    let env = env();
    env.json(["launch", "node", "-n", "js"]);
    env.json(["restart", "-n", "js"]);
    let code = "require('child_process').execSync('ls /proc/self/fd', { stdio: ['ignore', 'pipe', 'inherit'] }).toString().trim().split('\\n').join(' ')";
    assert_eq!(value(&env, code), "'0 1 2 3'", "3 is the listed directory itself");
}

#[test]
fn s9_nothing_is_left_of_children() {
    let env = env();
    value(
        &env,
        "require('child_process').spawn('sleep', ['1000'], { detached: true, stdio: 'ignore' }).unref(); 0",
    );
    // Dropping the environment fails the test if a process is left.
    assert_eq!(env.json(["stop", "-n", "js"])["ok"], true);
}
