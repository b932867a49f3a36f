//! E-3, E-6: what is done to children that an interrupt does not end, and what is said of those that
//! it does.

use serde_json::Value;
use stead_testkit::{TestEnv, is_alive, node, wait_for, wait_for_some};

use crate::STEAD;
use crate::talk::{expect, id, outcome, until, wait_for_file, wrote};

/// A shell command that an interrupt does not end. It says its process id in the file `pid`.
const DEAF: &str = "bash -c 'trap \"\" INT; echo $$ > pid.new; mv pid.new pid; exec sleep 600'";
/// The same in a shell's own subshell.
const DEAF_SUBSHELL: &str =
    "(trap '' INT; echo $BASHPID > pid.new; mv pid.new pid; exec sleep 600)";

/// An environment with every language, and a Bash session that has something to lose.
fn environment() -> TestEnv {
    let env = TestEnv::with_node(STEAD, &node());
    std::fs::create_dir(env.workspace().join("sub")).unwrap();
    expect(&env.json(["eval", "-n", "sh", "--", "kept=41; cd sub"]), "complete");
    env
}

#[track_caller]
fn expect_kept(env: &TestEnv) {
    let reply = env.json(["eval", "-n", "sh", "--", "echo $kept ${PWD##*/}"]);
    expect(&reply, "complete");
    assert_eq!(wrote(&reply, "out"), "41 sub\n", "{reply:#}");
}

/// The process id that the code wrote, which is taken away.
fn pid(env: &TestEnv) -> u32 {
    let files = ["pid", "sub/pid"].map(|name| env.workspace().join(name));
    wait_for_some("a process id", || {
        let file = files.iter().find(|file| file.exists())?;
        let pid = std::fs::read_to_string(file).ok()?.trim().parse().ok()?;
        std::fs::remove_file(file).ok()?;
        Some(pid)
    })
}

fn begin(env: &TestEnv, session: &str, code: &str) -> String {
    match session {
        "shell" => id(&env.json(["shell", "--bg", "--", code])),
        _ => id(&env.json(["eval", "-n", session, "--bg", "--", code])),
    }
}

#[track_caller]
fn interrupt(env: &TestEnv, id: &str) -> Value {
    env.json(["interrupt", id])["data"].clone()
}

/// Code whose child ignores the first interrupt and is gone after the second.
#[track_caller]
fn takes_two(env: &TestEnv, session: &str, code: &str) -> Value {
    let id = begin(env, session, code);
    let child = pid(env);
    let first = interrupt(env, &id);
    assert_eq!((&first["effect"], &first["killed"]), (&"still_running".into(), &Value::Null));
    assert!(is_alive(child), "{code}");
    let second = interrupt(env, &id);
    assert_eq!(second["effect"], "interrupted", "{code}: {second:#}");
    assert!(second["killed"].as_u64().unwrap() >= 1, "{code}: {second:#}");
    wait_for("the child's end", || !is_alive(child));
    let reply = outcome(env, &id);
    expect(&reply, "interrupted");
    let notice = reply["data"]["notice"].as_str().unwrap_or_default();
    assert!(notice.contains("did not stop"), "{reply:#}");
    reply
}

#[test]
fn e6_a_second_interrupt_kills_what_a_bash_eval_started_and_keeps_the_shell() {
    let env = environment();
    let reply = takes_two(&env, "sh", &format!("kept=41; {DEAF_SUBSHELL}; echo on"));
    assert_eq!(wrote(&reply, "out"), "", "{reply:#}");
    expect_kept(&env);
    takes_two(&env, "sh", &format!("f() {{ {DEAF} | cat; }}; f"));
    takes_two(&env, "sh", &format!("x=$({DEAF})"));
    expect_kept(&env);
}

#[test]
fn e6_what_a_shell_goes_on_to_start_does_not_escape_a_second_interrupt() {
    let env = environment();
    takes_two(&env, "sh", &format!("while true; do {DEAF_SUBSHELL}; done"));
    takes_two(&env, "sh", &format!("until {DEAF}; do :; done"));
    assert!(!env.workspace().join("sub/pid").exists() || !is_alive(pid(&env)));
    expect_kept(&env);
    takes_two(&env, "shell", &format!("while true; do {DEAF}; done"));
}

#[test]
fn e6_a_second_interrupt_of_a_shell_command_kills_it() {
    let env = environment();
    takes_two(&env, "shell", DEAF);
    takes_two(&env, "shell", &format!("trap '' INT; {DEAF_SUBSHELL}; echo on"));
    expect(&env.json(["shell", "true"]), "complete");
}

#[test]
fn e6_a_second_interrupt_kills_children_of_python_and_keeps_its_names() {
    let env = TestEnv::new(STEAD);
    env.eval("kept = 41");
    takes_two(&env, "py", &format!("import os\nos.system({DEAF:?})"));
    let waits = format!(
        "import subprocess
child = subprocess.Popen(['bash', '-c', {DEAF:?}])
while True:
    try:
        print('up', flush=True)
        code = child.wait()
        break
    except KeyboardInterrupt: pass
raise SystemExit(code)"
    );
    let id = begin(&env, "py", &waits);
    pid(&env);
    // The child may be there before the call that starts it is over, where nothing catches an interrupt.
    env.json(["wait", &id, "--match", "^up"]);
    assert_eq!(interrupt(&env, &id)["effect"], "still_running");
    assert_eq!(interrupt(&env, &id)["killed"], 1);
    // Where the interrupt comes between the call that fetches how the child ended and its note of it, Python's own
    // `wait` knows no better than 0 the next time.
    let ended = env.value("kept, code");
    assert!(["(41, -9)", "(41, 0)"].contains(&ended.as_str()), "{ended}");
}

#[test]
fn e6_a_second_interrupt_kills_children_of_node_and_keeps_its_names() {
    let env = environment();
    expect(&env.json(["eval", "-n", "js", "--", "var kept = 41"]), "complete");
    let code = format!("require('child_process').execFileSync('bash', ['-c', {DEAF:?}])");
    takes_two(&env, "js", &code);
    let reply = env.json(["eval", "-n", "js", "--", "kept"]);
    assert_eq!(reply["data"]["value"], "41", "{reply:#}");
}

#[test]
fn e6_a_second_interrupt_spares_background_processes_of_earlier_evals() {
    let env = environment();
    expect(&env.json(["eval", "-n", "sh", "--", "sleep 600 & echo $! > ../elder"]), "complete");
    let elder = std::fs::read_to_string(env.workspace().join("elder")).unwrap();
    let elder: u32 = elder.trim().parse().unwrap();
    takes_two(&env, "sh", DEAF);
    assert!(is_alive(elder));
    expect_kept(&env);
}

#[test]
fn e6_a_second_interrupt_of_code_without_children_says_that_it_still_runs() {
    let env = TestEnv::new(STEAD);
    let code = format!(
        "import time
while True:
    try:
        open('up', 'w').close()
        {}
        break
    except KeyboardInterrupt: pass",
        until("go")
    );
    let id = begin(&env, "py", &code);
    wait_for_file(&env, "up");
    assert_eq!(interrupt(&env, &id)["effect"], "still_running");
    let second = interrupt(&env, &id);
    assert_eq!((&second["effect"], &second["killed"]), (&"still_running".into(), &0.into()));
    crate::talk::touch(&env, "go");
    expect(&outcome(&env, &id), "complete");
}

#[test]
fn e3_a_hard_timeout_kills_children_before_the_interpreter() {
    let env = environment();
    let arguments = ["eval", "-n", "sh", "--hard-timeout", "1s", "--timeout", "60s", "--"];
    let ran = env.run(arguments.into_iter().chain([DEAF]));
    assert_eq!(ran.code, Some(3), "{ran:?}");
    let reply = ran.json();
    expect(&reply, "timeout");
    assert_eq!(reply["data"]["outcome"], "children_killed", "{reply:#}");
    let said = reply["error"]["message"].as_str().unwrap_or_default();
    assert!(said.contains("were killed") && said.contains("kept"), "{reply:#}");
    assert!(!is_alive(pid(&env)));
    expect_kept(&env);
    // The same from the record.
    let reply = env.json(["output", reply["data"]["eval_id"].as_str().unwrap()]);
    assert_eq!(reply["data"]["outcome"], "children_killed", "{reply:#}");
}

#[test]
fn e6_a_program_that_ends_itself_on_the_interrupt_was_interrupted() {
    let env = environment();
    let server = "python3 -c 'import http.server as h, pathlib, sys
class S(h.ThreadingHTTPServer):
    def service_actions(self): pathlib.Path(sys.argv[1]).touch()
h.test(h.SimpleHTTPRequestHandler, S, port=0)' $UP";
    for session in ["shell", "sh"] {
        let up = env.workspace().join(format!("up-{session}"));
        let id = begin(&env, session, &format!("UP={}\n{server}", up.display()));
        wait_for("the server", || up.exists());
        assert_eq!(interrupt(&env, &id)["effect"], "interrupted", "{session}");
        let reply = outcome(&env, &id);
        expect(&reply, "interrupted");
        let said = wrote(&reply, "out");
        assert!(said.contains("Keyboard interrupt received"), "{session}: {reply:#}");
    }
    expect_kept(&env);
}

#[test]
fn e6_a_command_that_ignores_the_interrupt_comes_to_its_own_end() {
    let env = environment();
    let deaf = format!("(trap '' INT; {DEAF}) & child=$!; trap '' INT; wait; echo own");
    let id = begin(&env, "shell", &deaf);
    let child = pid(&env);
    assert_eq!(interrupt(&env, &id)["effect"], "still_running");
    rustix::process::kill_process(
        rustix::process::Pid::from_raw(child as i32).unwrap(),
        rustix::process::Signal::TERM,
    )
    .unwrap();
    let reply = outcome(&env, &id);
    expect(&reply, "complete");
    assert_eq!(wrote(&reply, "out"), "own\n", "{reply:#}");
}
