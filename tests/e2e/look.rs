//! Commands that only look: bars move, Ctrl-C leaves, and nobody's eval is harmed (SPEC C-9, E-5).

use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use stead_testkit::{Ran, ReadLines, Terminal, TestEnv, wait_for};

use crate::STEAD;
use crate::figures::venv;
use crate::gate::Gate;
use crate::tmux::Tmux;

/// Python that draws a bar as tqdm does, and waits at the gate before each state but the first.
fn bar(gate: &Gate, end: &str) -> String {
    format!(
        "import sys\nfor n in (0, 25, 50, 75, 100):\n  if n: {}\n  _ = sys.stderr.write(f'\\r{{n:3}}%|{{\"#\" * (n // 25):<4}}|')\n  _ = sys.stderr.flush()\n_ = sys.stderr.write({end:?})",
        gate.code()
    )
}

fn background(env: &TestEnv, code: &str) -> String {
    let reply = env.json(["eval", "-n", "py", "--bg", "--", code]);
    reply["data"]["eval_id"].as_str().expect("an id").to_owned()
}

fn signal(child: &Child, signal: Signal) {
    let pid = Pid::from_raw(child.id() as i32).expect("a pid is not zero");
    kill_process(pid, signal).expect("the command lives");
}

fn piped(mut command: Command) -> (Child, ReadLines) {
    let mut child = command.stdout(Stdio::piped()).spawn().expect("the command starts");
    let lines = ReadLines::of(child.stdout.take().expect("a pipe"));
    (child, lines)
}

#[test]
fn c9_whatever_ends_a_look_ends_no_eval() {
    let env = TestEnv::new(STEAD);
    let gate = Gate::new(&env, "gate");
    let id = background(&env, &format!("print('up', flush=True)\n{}\nprint('end')", gate.code()));
    // Ctrl-C, once and again at once, at the terminal of a follower that did not start the eval.
    for arguments in [
        vec!["output", &id, "--follow"],
        vec!["output", &id, "--follow", "--json"],
        vec!["output", &id, "--follow", "--raw"],
        vec!["output", &id, "--wait", "1h"],
    ] {
        let mut terminal = Terminal::run(env.command(&arguments));
        terminal.wait_for("up");
        terminal.type_keys("\x03\x03");
        let (exit, shown) = terminal.finish();
        assert_eq!(exit, Some(130), "{arguments:?}: {shown}");
        assert!(!shown.contains("interrupt;"), "{shown}");
        assert_eq!(env.status()["state"], "running", "{arguments:?}");
    }
    // Signals, a terminal that is closed, a reader that goes.
    for deadly in [Signal::INT, Signal::TERM, Signal::HUP] {
        let (mut child, lines) = piped(env.command(["output", &id, "--follow"]));
        assert!(lines.next_line().is_some_and(|line| line.contains("up")));
        signal(&child, deadly);
        assert!(!child.wait().unwrap().success());
    }
    let mut terminal = Terminal::run(env.command(["output", &id, "--follow"]));
    terminal.wait_for("up");
    drop(terminal);
    let head = format!("stead output {id} --follow | head -n 1");
    let Ran { stdout, .. } = env.in_shell(&head);
    assert!(stdout.contains("up"), "{stdout}");
    assert_eq!(env.status()["state"], "running");
    gate.open();
    let end = env.json(["output", &id, "--wait", "60s"]);
    assert_eq!(end["status"], "complete", "{end:#}");
}

#[test]
fn e5_the_states_of_a_bar_come_as_chunks_that_replace_each_other() {
    let env = TestEnv::new(STEAD);
    let gate = Gate::new(&env, "gate");
    env.value("1");
    let (mut child, lines) =
        piped(env.command(["eval", "-n", "py", "--stream", "--", &bar(&gate, "\n")]));
    let next =
        || -> Value { serde_json::from_str(&lines.next_line().expect("a line")).expect("JSON") };
    for state in ["  0%|    |", " 25%|#   |", " 50%|##  |", " 75%|### |"] {
        let chunk = next();
        assert_eq!(
            chunk,
            serde_json::json!({"type": "status", "content": state, "redraw": true, "stream": "err"})
        );
        gate.open();
    }
    // The last state comes as text, once, perhaps after a chunk that showed it.
    let mut chunk = next();
    if chunk["redraw"] == true {
        chunk = next();
    }
    assert_eq!(chunk, serde_json::json!({"type": "err", "content": "100%|####|\n"}));
    assert_eq!(next()["type"], "done");
    assert!(child.wait().unwrap().success());
    assert_eq!(env.json(["output", "py:2"])["data"]["chunks"][0]["content"], "100%|####|\n");
}

/// `put_together` of the documented shape: `redraw` is passed over, `replaces` takes lines back.
#[test]
fn e5_a_stream_put_together_is_what_is_read_later() {
    let env = TestEnv::new(STEAD);
    let code = r#"
import sys
w = sys.stdout.write
for n in range(3): _ = w(f"{n}%"); sys.stdout.flush(); _ = w("\r"); sys.stdout.flush()
_ = w("done\n")
_ = w("a 0\nb 0\n"); sys.stdout.flush()
for n in range(1, 5): _ = w(f"\x1b[2A\x1b[2Ka {n}\n\x1b[2Kb {n}\n"); sys.stdout.flush()
_ = w("Loading /"); sys.stdout.flush()
for c in "-\\|": _ = w("\b" + c); sys.stdout.flush()
_ = w("\rready    \n")
"#;
    let Ran { stdout, .. } = env.run(["eval", "-n", "py", "--stream", "--", code]);
    let mut text = String::new();
    for line in stdout.lines() {
        let chunk: Value = serde_json::from_str(line).unwrap();
        if chunk["type"] != "out" {
            continue;
        }
        for _ in 0..chunk["replaces"].as_u64().unwrap_or(0) {
            let whole = text.strip_suffix('\n').unwrap_or(&text);
            let end = whole.rfind('\n').map_or(0, |end| end + 1);
            text.truncate(end);
        }
        text.push_str(chunk["content"].as_str().unwrap());
    }
    let later = env.json(["output", "py:1"]);
    assert_eq!(text, later["data"]["chunks"][0]["content"].as_str().unwrap());
    assert_eq!(text, "done\na 4\nb 4\nready\n");
}

/// The screen of a person who follows a loop with tqdm that somebody else runs.
#[test]
fn c9_a_real_bar_moves_in_place_and_ctrl_c_leaves_the_loop_running() {
    let env = TestEnv::new(STEAD);
    let python: PathBuf = venv();
    env.json(["launch", "python", "-n", "py", "--python", python.to_str().unwrap()]);
    let gate = Gate::new(&env, "gate");
    let code = format!(
        "from tqdm import tqdm\nprint('begin')\nfor n in tqdm(range(4), mininterval=0, ncols=40, bar_format='{{l_bar}}{{bar}}|{{n}}/4'):\n  {}\n  if n == 1: print('half')",
        gate.code()
    );
    let id = background(&env, &code);
    let tmux = Tmux::new(&env, "tqdm");
    tmux.type_line(&format!("stead output {id} --follow; echo left with $?"));
    let screen = tmux.wait("the first state", |screen| screen.contains("  0%|"));
    assert_eq!(screen, "begin\n  0%|                               |0/4");
    gate.open();
    let screen = tmux.wait("the second state", |screen| screen.contains(" 25%|"));
    assert_eq!(screen, "begin\n 25%|███████▊                       |1/4");
    gate.open();
    let screen = tmux.wait("the third state", |screen| screen.contains(" 50%|"));
    // What the loop prints stands above the bar.
    assert_eq!(screen, "begin\nhalf\n 50%|███████████████▌               |2/4");
    tmux.keys(&["C-c"]);
    let screen = tmux.wait("the end of the look", |screen| {
        screen.contains("left with") && screen.ends_with('$')
    });
    assert_eq!(
        screen.lines().skip(3).collect::<Vec<_>>().join(""),
        format!(
            "[{id} is running; read on: `stead output {id} --follow`, stop it: `stead interrupt {id}`]left with 130$"
        )
    );
    assert_eq!(env.status()["state"], "running");
    gate.open();
    wait_for("the fourth state", || env.run(["output", &id]).stdout.contains(" 75%|"));
    gate.open();
    let end = env.json(["output", &id, "--wait", "60s"]);
    assert_eq!(end["status"], "complete", "{end:#}");
    wait_for("the session to rest", || env.status()["state"] == "idle");
}
