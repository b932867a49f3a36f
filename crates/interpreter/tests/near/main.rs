//! The lower half driven through a socketpair, without a host (`examples/outpost.rs`): what an outpost at the far side of a
//! connection does.

mod copies;
mod outpost;

use std::os::unix::fs::PermissionsExt;

use outpost::{Outpost, lives, output};
use serde_json::json;
use stead_launch::tree;

#[test]
fn e1_all_that_code_wrote_is_told_before_its_end() {
    for language in ["bash", "python"] {
        let mut outpost = Outpost::ready(language);
        let code = match language {
            "bash" => "seq 100000; echo last",
            _ => "import subprocess; _ = subprocess.run(['sh', '-c', 'seq 100000; echo last'])",
        };
        for number in 1..=3 {
            outpost.run(number, code);
            let told = outpost.until("done");
            let text = output(&told);
            assert!(text.ends_with("100000\nlast\n"), "{language}");
            assert_eq!(text.len(), 588_895 + 5, "{language}");
            assert_eq!(told.last().unwrap()["eval"], format!("far:{number}"));
        }
        outpost.order(json!({"order": "exit"}));
        let exited = outpost.wait("exited");
        assert_eq!((&exited["code"], &exited["left"]), (&json!(0), &json!([])), "{language}");
    }
}

#[test]
fn e8_a_wait_for_input_is_told_and_ends_with_the_input() {
    let mut outpost = Outpost::ready("bash");
    outpost.run(1, "read -p 'name? ' name; echo \"hello $name\"");
    let told = outpost.until("waits");
    assert_eq!(output(&told), "name? ");
    outpost.order(json!({"order": "input", "seq": 7, "eval": "far:2", "text": "x", "eof": false}));
    let refused = outpost.wait("input_refused");
    assert_eq!((&refused["seq"], &refused["why"]["why"]), (&json!(7), &json!("not_running")));
    outpost
        .order(json!({"order": "input", "seq": 8, "eval": "far:1", "text": "you\n", "eof": false}));
    assert_eq!(outpost.wait("input_given")["seq"], 8);
    assert_eq!(output(&outpost.until("done")), "hello you\n");
}

#[test]
fn e8_what_a_shell_reads_without_showing_it_is_told_as_a_secret() {
    let mut outpost = Outpost::ready("bash");
    let answer = |seq: u64, eval: &str, text: &str| json!({"order": "input", "seq": seq, "eval": eval, "text": text, "eof": false});
    outpost.run(1, "read -r -sp 'token: ' token; read -p 'name: ' name; echo \"$name $token\"");
    assert_eq!(outpost.wait("waits")["secret"], true);
    outpost.order(answer(1, "far:1", "hidden\n"));
    assert_ne!(outpost.wait("waits")["secret"], true);
    outpost.order(answer(2, "far:1", "you\n"));
    assert!(output(&outpost.until("done")).ends_with("you hidden\n"));
    // One whose time was over says nothing about what is asked after it.
    outpost.run(2, "read -t 0.01 -s token; read name; echo \"$name\"");
    assert_ne!(outpost.wait("waits")["secret"], true);
    outpost.order(answer(3, "far:2", "me\n"));
    assert_eq!(output(&outpost.until("done")), "me\n");
}

#[test]
fn e6_interrupts_and_hard_timeouts_spare_what_was_there_before() {
    let mut outpost = Outpost::ready("bash");
    outpost.run(1, "sleep 1000 & echo $!");
    let older: u64 = output(&outpost.until("done")).trim().parse().unwrap();
    outpost.run(2, "echo up; sleep 1000");
    outpost.until("output");
    outpost.order(json!({"order": "interrupt"}));
    assert_eq!(outpost.wait("done")["status"], "interrupted");
    outpost.order(json!({"order": "run", "eval": "far:3", "code": "sleep 1000", "limit_ms": 20}));
    assert_eq!(outpost.wait("overdue")["step"]["killed"], false);
    assert_eq!(outpost.wait("done")["status"], "interrupted");
    assert!(lives(older));
    outpost.order(json!({"order": "kill"}));
    // That it has ended is told before the sweep, which may take a while.
    outpost.until("leaving");
    assert_eq!(outpost.wait("exited")["signal"], 9);
    assert!(!lives(older), "what was left is swept before the end is told");
}

/// After code that took long the bridge looks at names in subshells of its own.
#[test]
fn e6_what_a_bridge_forks_for_its_own_work_is_not_killed_as_the_evals() {
    let mut outpost = Outpost::ready("bash");
    // So many that a look at them takes a while.
    outpost.run(1, "for i in {1..2000}; do eval \"f$i() { :; }\"; done; echo $$");
    let shell = output(&outpost.until("done")).trim().parse().unwrap();
    // The second interrupt comes while the bridge looks.
    outpost.run(2, "v=1; echo up; for ((;;)); do :; done");
    outpost.until("output");
    outpost.order(json!({"order": "interrupt"}));
    while tree::children(shell).is_empty() {
        std::thread::yield_now();
    }
    outpost.order(json!({"order": "kill_children"}));
    assert_eq!(outpost.wait("killed")["children"], 0);
    let done = outpost.wait("done");
    assert_eq!(done["status"], "interrupted");
    assert_eq!(done["changed"]["added"][0]["name"], "v");
    // A subshell of the user's code is killed. It ignores the interrupt, so the shell waits for it.
    outpost.run(3, "(trap '' INT; echo up; for ((;;)); do :; done); w=1");
    outpost.until("output");
    outpost.order(json!({"order": "interrupt"}));
    outpost.order(json!({"order": "kill_children"}));
    assert_eq!(outpost.wait("killed")["children"], 1);
    assert_eq!(outpost.wait("done")["status"], "interrupted");
}

/// An end of input before the bridge knows of the interrupt would let the code go on with it.
#[test]
fn e6_a_read_is_ended_only_when_the_bridge_has_passed_the_interrupt_on() {
    let bridge = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/near/slow_bridge.py");
    let mut outpost = Outpost::bridged(bridge);
    for number in 1..=2 {
        outpost.run(number, "");
        outpost.until("waits");
        outpost.order(json!({"order": "interrupt"}));
        assert_eq!(outpost.wait("done")["status"], "interrupted");
    }
    outpost.run(3, "");
    outpost.until("waits");
    outpost.order(json!({"order": "input", "seq": 1, "eval": "far:3", "text": "x", "eof": false}));
    assert_eq!(output(&outpost.until("done")), "x");
}

#[test]
fn e10_a_paused_session_stands_still_and_shows_its_figures() {
    let mut outpost = Outpost::ready("bash");
    outpost.run(1, "sleep 1000 &");
    outpost.until("done");
    // A process that is becoming another program shows no command line for a moment.
    let figures = loop {
        outpost.order(json!({"order": "figures"}));
        let figures = outpost.wait("figures");
        assert_eq!(figures["usage"]["processes"], 2);
        if figures["background"] == json!(["sleep 1000"]) {
            break figures;
        }
    };
    assert_eq!(figures["stopped"], false);
    outpost.order(json!({"order": "pause"}));
    assert_eq!(outpost.wait("paused")["paused"], true);
    outpost.order(json!({"order": "figures"}));
    assert_eq!(outpost.wait("figures")["stopped"], true);
    // Interrupts let it go on.
    outpost.order(json!({"order": "interrupt"}));
    assert_eq!(outpost.wait("paused")["paused"], false);
}

#[test]
fn h4_orders_of_another_version_are_ignored() {
    let mut outpost = Outpost::ready("bash");
    outpost.order(json!({"order": "sing", "song": 1}));
    outpost.order(json!({"order": "run", "eval": "far:1", "code": "echo hi", "loud": true}));
    assert_eq!(output(&outpost.until("done")), "hi\n");
}

#[test]
fn an_interpreter_that_is_not_there_is_refused_and_another_can_be_prepared() {
    let mut outpost = Outpost::begin();
    let prepare = |interpreter: &str| {
        json!({"order": "prepare", "name": "far", "settings": {"language": "bash", "cwd": "/",
            "interpreter": interpreter, "idle_timeout_ms": 0, "quota_bytes": 0}})
    };
    outpost.order(json!({"order": "start"}));
    outpost.until("refused");
    outpost.order(prepare("/nowhere/bash"));
    let refused = outpost.wait("refused");
    assert!(refused["message"].as_str().unwrap().contains("/nowhere/bash"), "{refused}");
    outpost.order(prepare("bash"));
    outpost.until("prepared");
    outpost.order(json!({"order": "start"}));
    outpost.until("ready");
}

#[test]
fn an_interpreter_that_is_there_stays_when_another_is_ordered() {
    let mut outpost = Outpost::ready("bash");
    outpost.run(1, "x=41");
    outpost.until("done");
    outpost.order(json!({"order": "start"}));
    outpost.until("refused");
    let settings = json!({"language": "bash", "cwd": "/", "idle_timeout_ms": 0, "quota_bytes": 0});
    outpost.order(json!({"order": "prepare", "name": "far", "settings": settings}));
    outpost.until("refused");
    outpost.run(2, "echo $((x + 1))");
    assert_eq!(output(&outpost.until("done")), "42\n");
}

/// Poetry is asked, and answers once there is a file `go`.
#[test]
fn e7_orders_are_carried_out_while_an_interpreter_is_looked_for() {
    let dir = tempfile::tempdir().unwrap();
    let poetry = "#!/bin/sh\ncd \"$(dirname \"$0\")\"; echo $$ >> asked\nuntil [ -e go ]; do sleep 0.01; done\n";
    std::fs::write(dir.path().join("poetry"), poetry).unwrap();
    std::fs::set_permissions(dir.path().join("poetry"), std::fs::Permissions::from_mode(0o755))
        .unwrap();
    std::fs::write(dir.path().join("pyproject.toml"), "[tool.poetry]\n").unwrap();
    let path = format!("{}:{}", dir.path().display(), std::env::var("PATH").unwrap());
    let settings = json!({"language": "bash", "cwd": dir.path(), "env": [["PATH", path]],
        "idle_timeout_ms": 0, "quota_bytes": 0});
    let prepare = json!({"order": "prepare", "name": "far", "settings": settings});
    let asked = || std::fs::read_to_string(dir.path().join("asked")).unwrap_or_default();
    let wait_for_asked = |count| {
        while asked().lines().count() < count {
            std::thread::yield_now();
        }
        asked().lines().last().unwrap().parse::<u64>().unwrap()
    };
    let mut outpost = Outpost::begin();
    outpost.order(prepare.clone());
    let first = wait_for_asked(1);
    outpost.order(json!({"order": "figures"}));
    assert_eq!(outpost.until("figures").len(), 1);
    outpost.order(json!({"order": "pause"}));
    outpost.until("not_paused");
    outpost.order(json!({"order": "start"}));
    assert_eq!(outpost.wait("refused")["message"], "no interpreter was prepared");
    // Another search takes the place of the first.
    outpost.order(prepare.clone());
    let second = wait_for_asked(2);
    while lives(first) {
        std::thread::yield_now();
    }
    outpost.order(json!({"order": "exit"}));
    let refused = outpost.wait("refused");
    assert!(refused["message"].as_str().unwrap().contains("poetry"), "{refused}");
    while lives(second) {
        std::thread::yield_now();
    }
    outpost.order(prepare);
    wait_for_asked(3);
    std::fs::write(dir.path().join("go"), "").unwrap();
    outpost.until("prepared");
    outpost.order(json!({"order": "start"}));
    outpost.until("ready");
}

#[test]
fn s9_nothing_is_left_when_the_lower_half_is_killed() {
    let mut outpost = Outpost::ready("bash");
    outpost.run(1, "(setsid sleep 1000 & echo $!); echo $BASHPID");
    let text = output(&outpost.until("done"));
    let pids: Vec<u64> = text.lines().map(|line| line.parse().unwrap()).collect();
    assert_eq!(pids.len(), 2);
    // The guard is the process that was started; the lower half is its child.
    let guard = u64::from(outpost.child.id());
    let children = std::fs::read_to_string(format!("/proc/{guard}/task/{guard}/children")).unwrap();
    let near = children.split_whitespace().next().unwrap().parse().unwrap();
    rustix::process::kill_process(
        rustix::process::Pid::from_raw(near).unwrap(),
        rustix::process::Signal::KILL,
    )
    .unwrap();
    outpost.child.wait().unwrap();
    for pid in pids {
        assert!(!lives(pid), "{text}");
    }
}

#[test]
fn e10_a_pause_between_two_interpreters_does_not_hold_the_next_one() {
    let mut outpost = Outpost::ready("bash");
    outpost.order(json!({"order": "kill"}));
    outpost.until("leaving");
    outpost.order(json!({"order": "pause"}));
    outpost.order(json!({"order": "figures"}));
    outpost.until("figures");
    if !outpost.all.iter().any(|told| told["told"] == "exited") {
        outpost.until("exited");
    }
    outpost.prepare("bash");
    outpost.order(json!({"order": "start"}));
    outpost.until("ready");
    outpost.order(json!({"order": "run", "eval": "far:1", "code": "sleep 1000", "limit_ms": 20}));
    outpost.until("overdue");
    assert_eq!(outpost.wait("done")["status"], "interrupted");
}
