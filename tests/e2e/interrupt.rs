//! E-3, E-6, E-7, E-10, PY-12: stopping code, and only the code that was meant.

use std::time::Duration;

use stead_testkit::{TestEnv, is_alive, pause, state_of, wait_for, wait_for_some};

use crate::STEAD;
use crate::talk::{
    chunks, expect, expect_clean, interrupt, outcome, submit, touch, until, wait_for_file, wrote,
};

const UP: &str = "open('up', 'w').close()";

/// Starts code and returns its id once it has made the file `up`.
#[track_caller]
fn running(env: &TestEnv, code: &str) -> String {
    let _ = std::fs::remove_file(env.workspace().join("up"));
    let id = submit(env, code);
    wait_for_file(env, "up");
    id
}

/// The number that code under test has written to a file.
fn number(env: &TestEnv, name: &str) -> u32 {
    wait_for_some(name, || {
        std::fs::read_to_string(env.workspace().join(name)).ok()?.trim().parse().ok()
    })
}

/// How long a process has computed, in clock ticks.
fn computed(pid: u32) -> u64 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
    fields.skip(11).take(2).filter_map(|ticks| ticks.parse::<u64>().ok()).sum()
}

/// Code that is stopped by one interrupt, five times; its state is kept and the next eval is clean.
#[track_caller]
fn stops(setup: &str, code: &str) {
    let env = TestEnv::new(STEAD);
    env.eval(&format!("kept = 41\n{setup}"));
    for turn in 0..5 {
        let id = running(&env, &code.replace("UP", UP));
        assert_eq!(interrupt(&env), "interrupted", "{code}, {turn}");
        let reply = outcome(&env, &id);
        expect(&reply, "interrupted");
        assert_eq!(reply["data"]["error"]["name"], "KeyboardInterrupt", "{reply:#}");
        let trace = reply["data"]["error"]["traceback"].as_str().unwrap_or_default();
        assert!(!trace.contains("<stead>"), "{trace}");
        expect_clean(&env);
    }
    assert_eq!(env.value("kept + 1"), "42");
}

#[test]
fn e6_a_loop_stops() {
    stops("", "UP\nwhile True: pass");
}

#[test]
fn e6_a_sleep_stops() {
    stops("import time", "UP; time.sleep(600)");
}

#[test]
fn e6_printing_stops() {
    stops("", "UP\nwhile True: print('x' * 100)");
}

#[test]
fn e6_a_shell_command_stops() {
    let env = TestEnv::new(STEAD);
    for _ in 0..5 {
        // No word on what a shell does after its command was stopped: dash and what it is just
        // starting miss a SIGINT that comes in between, which is then told and can be repeated.
        let id = running(&env, "import os; os.system('touch up; sleep 600')");
        let mut effect = interrupt(&env);
        for _ in 0..5 {
            if effect == "still_running" {
                effect = interrupt(&env);
            }
        }
        assert_eq!(effect, "interrupted");
        outcome(&env, &id);
        expect_clean(&env);
        let _ = std::fs::remove_file(env.workspace().join("up"));
    }
}

#[test]
fn e6_a_loop_of_shell_commands_stops() {
    let env = TestEnv::new(STEAD);
    for _ in 0..5 {
        let code = "import os\nfor _ in range(1000): os.system('touch up; exec sleep 600')";
        let id = running(&env, code);
        assert_eq!(interrupt(&env), "interrupted");
        expect(&outcome(&env, &id), "interrupted");
        expect_clean(&env);
    }
}

#[test]
fn e6_a_subprocess_stops() {
    stops("import subprocess", "subprocess.run(['sh', '-c', 'touch up; exec sleep 600'])");
}

#[test]
fn e6_an_await_stops() {
    stops("import asyncio", "UP; await asyncio.sleep(600)");
}

#[test]
fn e6_asyncio_run_stops() {
    stops(
        "import asyncio",
        "async def main():\n    UP\n    await asyncio.sleep(600)\nasyncio.run(main())",
    );
}

#[test]
fn e6_a_join_stops() {
    let env = TestEnv::new(STEAD);
    for turn in 0..5 {
        let code = format!(
            "import threading\nt = threading.Thread(target=lambda: {})\nt.start()\n{UP}\nt.join()",
            until("go")
        );
        let id = running(&env, &code);
        assert_eq!(interrupt(&env), "interrupted", "{turn}");
        expect(&outcome(&env, &id), "interrupted");
        expect_clean(&env);
        touch(&env, "go");
        assert_eq!(env.value("t.join(); 1"), "1");
        std::fs::remove_file(env.workspace().join("go")).unwrap();
    }
}

#[test]
fn e6_waits_on_locks_queues_and_events_stop() {
    stops("import threading, queue", "UP; queue.Queue().get()");
    stops("import threading", "UP; threading.Event().wait()");
}

#[test]
fn e6_a_child_that_ignores_the_interrupt_does_not_hold_the_eval() {
    let env = TestEnv::new(STEAD);
    let code = "import subprocess
p = subprocess.Popen(['sh', '-c', \"trap '' INT; echo $$ > pid; echo; sleep 600 & wait\"], stdout=-1)
p.stdout.readline(); open('up', 'w').close()
p.wait()";
    let id = running(&env, code);
    let child = number(&env, "pid");
    assert_eq!(interrupt(&env), "interrupted");
    expect(&outcome(&env, &id), "interrupted");
    assert!(is_alive(child));
    expect_clean(&env);
    assert_eq!(env.value("p.kill(); p.wait()"), "-9");
}

#[test]
fn e6_code_that_swallows_the_interrupt_is_reported_as_running() {
    let env = TestEnv::new(STEAD);
    let code = "import time
n = 0
while n < 2:
    try:
        open('up', 'w').close()
        while True: time.sleep(0.01)
    except KeyboardInterrupt:
        n += 1
        print('no', n)
'gave up'";
    let id = running(&env, code);
    assert_eq!(interrupt(&env), "still_running");
    expect(&env.json(["output", &id, "--wait", "0"]), "partial");
    assert_eq!(interrupt(&env), "finished");
    let reply = outcome(&env, &id);
    expect(&reply, "complete");
    assert_eq!(chunks(&reply), [("out", "no 1\nno 2\n"), ("value", "'gave up'")], "{reply:#}");
    expect_clean(&env);
}

#[test]
fn e3_a_hard_timeout_interrupts_and_keeps_the_state() {
    let env = TestEnv::new(STEAD);
    env.eval("kept = 1");
    let arguments =
        ["eval", "-n", "py", "--hard-timeout", "1s", "--", "kept = 2\nwhile True: pass"];
    let ran = env.run(arguments);
    assert_eq!(ran.code, Some(3), "{ran:?}");
    let reply = ran.json();
    expect(&reply, "timeout");
    assert_eq!(reply["data"]["outcome"], "interrupted", "{reply:#}");
    assert_eq!(env.value("kept"), "2");
    expect_clean(&env);
}

#[test]
fn e3_code_that_catches_the_interrupt_of_its_hard_timeout_says_so() {
    let env = TestEnv::new(STEAD);
    let code = "import time
try: time.sleep(600)
except KeyboardInterrupt: print('caught')";
    let reply = env.json(["eval", "-n", "py", "--hard-timeout", "100ms", "--", code]);
    expect(&reply, "complete");
    let notice = reply["data"]["notice"].as_str().unwrap_or_default();
    assert!(notice.contains("its hard timeout had passed"), "{reply:#}");
}

#[test]
fn e3_a_hard_timeout_kills_what_will_not_stop() {
    let env = TestEnv::new(STEAD);
    // A copy for undo, which a busy machine has time to make between two commands, would go on in its place.
    env.json(["launch", "py", "--no-undo"]);
    env.eval("kept = 1");
    let code = "import time, subprocess
open('child', 'w').write(str(subprocess.Popen(['sleep', '600']).pid))
while True:
    try:
        while True: time.sleep(0.01)
    except KeyboardInterrupt:
        print('no')";
    let ran = env.run(["eval", "-n", "py", "--hard-timeout", "1s", "--", code]);
    assert_eq!(ran.code, Some(3), "{ran:?}");
    let reply = ran.json();
    expect(&reply, "timeout");
    assert_eq!(reply["data"]["outcome"], "killed", "{reply:#}");
    assert_eq!(wrote(&reply, "out"), "no\n");
    assert!(!is_alive(number(&env, "child")));
    // Its end was told, so the next eval runs, and says that it is fresh.
    let reply = env.eval("'kept' in globals()");
    expect(&reply, "complete");
    assert_eq!(reply["data"]["value"], "False");
    assert_eq!(reply["data"]["generation"], 2);
    assert!(reply["data"]["notice"].as_str().unwrap_or_default().contains("fresh"), "{reply:#}");
    expect_clean(&env);
}

#[test]
fn e3_a_hard_timeout_that_ends_in_an_uninterruptible_call_kills() {
    let env = TestEnv::new(STEAD);
    let code = "import re; re.match(r'(a+)+$', 'a' * 60 + 'b')";
    let reply = env.json(["eval", "-n", "py", "--hard-timeout", "100ms", "--timeout", "60s", code]);
    expect(&reply, "timeout");
    expect(&env.eval("1"), "complete");
}

#[test]
fn py12_a_user_handler_runs_exactly_once() {
    let env = TestEnv::new(STEAD);
    let code = "import signal, time
hits = []
old = signal.signal(signal.SIGINT, lambda *a: hits.append(1))
open('up', 'w').close()
deadline = time.monotonic() + 60
while not hits and time.monotonic() < deadline: time.sleep(0.01)
len(hits)";
    let id = running(&env, code);
    assert_eq!(interrupt(&env), "finished");
    let reply = outcome(&env, &id);
    expect(&reply, "complete");
    assert_eq!(reply["data"]["value"], "1", "{reply:#}");
    // It lasts, an idle interrupt does not reach it, and it goes when the user takes it away.
    assert_eq!(interrupt(&env), "nothing_running");
    let again = running(&env, &format!("{UP}\nwhile len(hits) < 2: time.sleep(0.01)\nlen(hits)"));
    assert_eq!(interrupt(&env), "finished");
    assert_eq!(outcome(&env, &again)["data"]["value"], "2");
    env.eval("_ = signal.signal(signal.SIGINT, old)");
    let id = running(&env, &format!("{UP}\nwhile True: pass"));
    assert_eq!(interrupt(&env), "interrupted");
    expect(&outcome(&env, &id), "interrupted");
    expect_clean(&env);
}

#[test]
fn py12_the_debuggers_handler_does_not_outlive_its_eval() {
    let env = TestEnv::new(STEAD);
    expect(&env.eval("breakpoint()\n1"), "waiting_input");
    expect(&env.json(["input", "-n", "py", "c"]), "complete");
    let id = running(&env, &format!("{UP}\nwhile True: pass"));
    assert_eq!(interrupt(&env), "interrupted");
    expect(&outcome(&env, &id), "interrupted");
    expect_clean(&env);
}

#[test]
fn py12_an_idle_interrupt_is_harmless() {
    let env = TestEnv::new(STEAD);
    expect_clean(&env);
    for _ in 0..20 {
        assert_eq!(interrupt(&env), "nothing_running");
        expect_clean(&env);
    }
}

#[test]
fn e6_an_interrupt_of_an_ended_eval_hits_nothing() {
    let env = TestEnv::new(STEAD);
    expect_clean(&env);
    let id = running(&env, &format!("{UP}; {}; 'undisturbed'", until("go")));
    let reply = env.json(["interrupt", "py:1"]);
    assert_eq!(reply["data"]["effect"], "nothing_running", "{reply:#}");
    touch(&env, "go");
    let reply = outcome(&env, &id);
    assert_eq!(reply["data"]["value"], "'undisturbed'", "{reply:#}");
}

#[test]
fn e6_an_interrupt_of_an_eval_that_never_was_is_refused() {
    let env = TestEnv::new(STEAD);
    let id = running(&env, &format!("{UP}; {}; 'undisturbed'", until("go")));
    let refused = |id: &str| {
        let (interrupt, output) = (env.run(["interrupt", id]), env.run(["output", id]));
        assert_eq!(interrupt.code, Some(2), "{interrupt:?}");
        assert_eq!(interrupt.json()["error"]["code"], "eval_not_found", "{interrupt:?}");
        assert_eq!(interrupt.json()["error"], output.json()["error"]);
    };
    refused("py:99");
    refused("py:0");
    touch(&env, "go");
    let reply = outcome(&env, &id);
    assert_eq!(reply["data"]["value"], "'undisturbed'", "{reply:#}");
    assert_eq!(env.json(["interrupt", &id])["data"]["effect"], "nothing_running");
}

#[test]
fn e6_a_background_process_of_an_earlier_eval_is_spared() {
    let env = TestEnv::new(STEAD);
    env.eval("import subprocess, os\nold = subprocess.Popen(['sleep', '600'])");
    let code = "young = subprocess.Popen(['sleep', '600'])
open('up', 'w').close()
young.wait()";
    let id = running(&env, code);
    assert_eq!(interrupt(&env), "interrupted");
    expect(&outcome(&env, &id), "interrupted");
    // Python itself may lose the code of a child that ends at the moment of the interrupt.
    assert_eq!(env.value("young.wait() in (-2, 0)"), "True");
    assert_eq!(env.value("old.poll()"), "");
    env.eval("old.kill(); old.wait()");
    expect_clean(&env);
}

/// A thread can start a process while no eval runs; it belongs to none that begins later.
#[test]
fn e6_a_process_that_came_up_between_two_evals_is_spared() {
    let env = TestEnv::new(STEAD);
    env.eval(
        "import os, subprocess, threading, time
def later():
    while not os.path.exists('go'): time.sleep(0.002)
    global old
    old = subprocess.Popen(['sleep', '600'])
    open('born', 'w').write(str(old.pid))
thread = threading.Thread(target=later)
thread.start()",
    );
    touch(&env, "go");
    let pid = number(&env, "born");
    // The kernel counts births in ticks; this one has to be over.
    let now =
        || std::fs::read_to_string("/proc/uptime").unwrap().split(' ').next().map(str::to_owned);
    let seen = now();
    wait_for("the next tick", || now() != seen);
    let id = running(&env, "open('up', 'w').close()\nwhile True: pass");
    assert_eq!(interrupt(&env), "interrupted");
    expect(&outcome(&env, &id), "interrupted");
    assert!(is_alive(pid));
    assert_eq!(env.value("old.poll()"), "");
    env.eval("old.kill(); old.wait(); thread.join()");
    expect_clean(&env);
}

#[test]
fn e7_status_and_interrupt_are_answered_while_c_code_holds_the_lock() {
    let env = TestEnv::new(STEAD);
    let code = format!("import re; {UP}; re.match(r'(a+)+$', 'a' * 60 + 'b')");
    let id = running(&env, &code);
    let status = env.status();
    assert_eq!(status["running"]["eval_id"], id.as_str(), "{status:#}");
    expect(&env.json(["output", &id, "--wait", "0"]), "partial");
    assert_eq!(env.json(["ls"])["ok"], true);
    // Python's `re` looks for signals itself from time to time.
    let effect = interrupt(&env);
    assert!(effect == "still_running" || effect == "interrupted", "{effect}");
    if effect == "still_running" {
        let reply = env.json(["restart", "-n", "py"]);
        assert_eq!(reply["ok"], true, "{reply:#}");
    }
    expect_clean(&env);
}

#[test]
fn e7_stop_ends_c_code_that_holds_the_lock() {
    let env = TestEnv::new(STEAD);
    let pid_file = "open('pid', 'w').write(str(__import__('os').getpid()))";
    let id = running(&env, &format!("{pid_file}; {UP}; sum(range(10**13))"));
    let pid = number(&env, "pid");
    let status = env.status();
    assert_eq!(status["running"]["eval_id"], id.as_str(), "{status:#}");
    // By the time it has computed for this long it is in the sum, where no interrupt gets through.
    let before = computed(pid);
    wait_for("the sum", || computed(pid) > before + 5);
    assert_eq!(interrupt(&env), "still_running");
    assert_eq!(env.json(["stop", "-n", "py"])["ok"], true);
    wait_for("the interpreter to be gone", || !is_alive(pid));
    expect(&env.json(["output", &id, "--wait", "10s"]), "ended");
}

#[test]
fn e6_a_queued_eval_can_be_taken_out() {
    let env = TestEnv::new(STEAD);
    let first = running(&env, &format!("{UP}; {}; 'first'", until("go")));
    let second = submit(&env, "open('ran', 'w').close()");
    let third = submit(&env, "'third'");
    expect(&env.json(["output", &second, "--wait", "0"]), "queued");
    let reply = env.json(["interrupt", &second]);
    assert_eq!(reply["data"]["effect"], "dequeued", "{reply:#}");
    touch(&env, "go");
    assert_eq!(outcome(&env, &first)["data"]["value"], "'first'");
    let told = outcome(&env, &second);
    expect(&told, "interrupted");
    let notice = told["data"]["notice"].as_str().unwrap_or_default();
    assert!(notice.contains("taken out of the queue and did not run"), "{told:#}");
    assert_eq!(outcome(&env, &third)["data"]["value"], "'third'");
    assert!(!env.workspace().join("ran").exists());
    expect_clean(&env);
}

#[test]
fn e6_an_interrupt_lets_the_queue_go_on() {
    let env = TestEnv::new(STEAD);
    for turn in 0..10 {
        let first = running(&env, &format!("{UP}\nwhile True: pass"));
        let second = submit(&env, &format!("{turn}"));
        assert_eq!(interrupt(&env), "interrupted");
        expect(&outcome(&env, &first), "interrupted");
        let reply = outcome(&env, &second);
        assert_eq!(chunks(&reply), [("value", turn.to_string().as_str())], "{reply:#}");
    }
}

#[test]
fn py12_interrupts_at_any_moment_hit_their_own_eval_only() {
    let env = TestEnv::new(STEAD);
    expect_clean(&env);
    let (mut hit, mut late) = (0, 0);
    for turn in 0..200_u32 {
        let id = submit(&env, &format!("for i in range({}): pass\n{turn}", turn * 37 % 4096 * 20));
        let reply = env.json(["interrupt", &id]);
        match reply["data"]["effect"].as_str().unwrap_or_default() {
            "interrupted" => hit += 1,
            "finished" | "nothing_running" => late += 1,
            other => panic!("{other}: {reply:#}"),
        }
        let reply = outcome(&env, &id);
        if reply["status"] == "complete" {
            assert_eq!(reply["data"]["value"], turn.to_string().as_str(), "{reply:#}");
        } else {
            expect(&reply, "interrupted");
        }
        let reply = env.eval("'own'");
        assert_eq!(chunks(&reply), [("value", "'own'")], "{turn}: {reply:#}");
        assert_eq!(reply["data"]["generation"], 1);
    }
    eprintln!("{hit} hit, {late} came late");
}

#[test]
fn e10_pause_stops_and_resume_continues_the_whole_tree() {
    let env = TestEnv::new(STEAD);
    let code = "import subprocess, time
child = subprocess.Popen(['sleep', '600'])
open('pid', 'w').write(str(child.pid))
open('up', 'w').close()
while not __import__('os').path.exists('go'): time.sleep(0.005)
child.kill(); child.wait()
'resumed'";
    let id = running(&env, code);
    let (child, interpreter) = (number(&env, "pid"), env.interpreter_pid());
    assert_eq!(env.json(["pause", "-n", "py"])["ok"], true);
    for pid in [child, interpreter] {
        wait_for("a stopped process", || state_of(pid) == Some('T'));
    }
    touch(&env, "go");
    expect(&env.json(["output", &id, "--wait", "100ms"]), "partial");
    assert_eq!(env.json(["resume", "-n", "py"])["ok"], true);
    let reply = outcome(&env, &id);
    assert_eq!(reply["data"]["value"], "'resumed'", "{reply:#}");
    expect_clean(&env);
}

#[test]
fn e10_code_that_is_sent_to_a_paused_session_says_why_it_does_not_run() {
    let env = TestEnv::new(STEAD);
    env.json(["eval", "-n", "py", "1"]);
    env.json(["pause", "-n", "py"]);
    let reply = env.json(["eval", "-n", "py", "--timeout", "100ms", "2"]);
    expect(&reply, "partial");
    assert_eq!(reply["data"]["paused"], true, "{reply:#}");
    env.json(["resume", "-n", "py"]);
    let reply = outcome(&env, reply["data"]["eval_id"].as_str().unwrap());
    assert_eq!(reply["data"]["value"], "2", "{reply:#}");
    assert_eq!(reply["data"].get("paused"), None, "{reply:#}");
}

#[test]
fn e10_paused_time_counts_toward_no_hard_timeout() {
    let env = TestEnv::new(STEAD);
    let code = "open('up', 'w').close()
while not __import__('os').path.exists('go'): __import__('time').sleep(0.005)
'in time'";
    // A machine that is busy must still get from `up` to `pause` within this.
    let arguments = ["eval", "-n", "py", "--bg", "--hard-timeout", "3s", "--", code];
    let reply = env.json(arguments);
    let id = reply["data"]["eval_id"].as_str().unwrap().to_owned();
    wait_for_file(&env, "up");
    assert_eq!(env.json(["pause", "-n", "py"])["ok"], true);
    // The time that passes is what is tested here.
    pause(Duration::from_millis(3_500));
    expect(&env.json(["output", &id, "--wait", "0"]), "partial");
    touch(&env, "go");
    assert_eq!(env.json(["resume", "-n", "py"])["ok"], true);
    let reply = outcome(&env, &id);
    expect(&reply, "complete");
    assert_eq!(reply["data"]["value"], "'in time'", "{reply:#}");
}

#[test]
fn e3_a_hard_timeout_of_zero_is_none() {
    let env = TestEnv::new(STEAD);
    let reply = env.json(["eval", "-n", "py", "--hard-timeout", "0", "6 * 7"]);
    assert_eq!(reply["data"]["value"], "42", "{reply:#}");
}

#[test]
fn e10_an_interrupt_wakes_what_is_paused() {
    let env = TestEnv::new(STEAD);
    let id = running(&env, &format!("{UP}\nwhile True: pass"));
    assert_eq!(env.json(["pause", "-n", "py"])["ok"], true);
    assert_eq!(interrupt(&env), "interrupted");
    expect(&outcome(&env, &id), "interrupted");
    expect_clean(&env);
}
