//! What tests of death need: finding, stopping and killing processes, and reading the record.

use std::collections::BTreeMap;
use std::process::Child;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use stead_testkit::{TestEnv, pause, state_of, wait_for_some};

/// What the specification promises, and what a machine under full load is given.
const PROMISED: Duration = Duration::from_secs(1);
const ALLOWED: Duration = Duration::from_secs(30);

/// Starts what daemons start: a child in a session of its own without a living parent, and an
/// ordinary background process. `up` is there when both are.
pub(crate) const DAEMONS: &str = "
import os, subprocess
subprocess.Popen(['sleep', '1000'])
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        for fd in range(256):
            try: os.close(fd)
            except OSError: pass
        os.execvp('sleep', ['sleep', '1001'])
    os._exit(0)
os.wait()
open('up', 'w').close()
";

pub(crate) fn signal(pid: u32, signal: Signal) {
    let pid = Pid::from_raw(pid as i32).expect("a pid is not zero");
    kill_process(pid, signal).expect("the process is there");
}

pub(crate) fn kill(pid: u32) {
    signal(pid, Signal::KILL);
}

/// Waits until a process of the environment has stopped itself at its pause point.
pub(crate) fn stopped(env: &TestEnv) -> u32 {
    let is_stopped = |pid: &u32| state_of(*pid) == Some('T');
    wait_for_some("a process to pause", || env.processes().into_iter().find(is_stopped))
}

/// The children of a process.
pub(crate) fn children(pid: u32) -> Vec<u32> {
    let list = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"));
    let list = list.unwrap_or_default();
    list.split_whitespace().map(|pid| pid.parse().expect("a number")).collect()
}

/// The reply of a command that was started before.
#[track_caller]
pub(crate) fn reply(client: Child) -> Value {
    let output = client.wait_with_output().expect("the client ends");
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error} in {output:?}"))
}

/// Fails if any process of the environment outlives the promise by far; says if it did at all.
#[track_caller]
pub(crate) fn all_gone(env: &TestEnv) {
    gone_but(env, &[]);
}

/// The same, with processes that may stay.
#[track_caller]
pub(crate) fn gone_but(env: &TestEnv, stay: &[u32]) {
    let begin = Instant::now();
    loop {
        let mut left = env.processes();
        left.retain(|pid| !stay.contains(pid));
        let took = begin.elapsed();
        if left.is_empty() {
            if took > PROMISED {
                eprintln!("the processes were gone only after {took:?}");
            }
            return;
        }
        assert!(took < ALLOWED, "processes are left: {:?}", describe(&left));
        pause(Duration::from_millis(2));
    }
}

fn describe(pids: &[u32]) -> Vec<String> {
    let show = |pid: &u32| {
        let command = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        format!("{pid} {:?} {}", state_of(*pid), String::from_utf8_lossy(&command))
    };
    pids.iter().map(show).collect()
}

/// Sockets in the runtime directory, or notes of hosts if there are more.
pub(crate) fn sockets(env: &TestEnv) -> usize {
    let files = || std::fs::read_dir(env.runtime_dir()).into_iter().flatten().flatten();
    let notes = files().filter(|file| file.path().extension().is_some_and(|end| end == "mark"));
    let notes = notes.count();
    notes.max(files().count() - notes)
}

/// How often code that appends to the file `ran` has run.
pub(crate) fn runs(env: &TestEnv) -> usize {
    let ran = std::fs::read_to_string(env.workspace().join("ran"));
    ran.unwrap_or_default().lines().count()
}

/// The records of session `py`.
pub(crate) fn history(env: &TestEnv) -> Vec<Value> {
    let text = std::fs::read_to_string(env.session_dir("py").join("history.jsonl"));
    let text = text.expect("there is a history");
    text.lines().map(|line| serde_json::from_str(line).expect("a whole record")).collect()
}

/// Fails unless every eval that was taken in has exactly one outcome and started at most once.
#[track_caller]
pub(crate) fn one_outcome_each(env: &TestEnv) {
    let mut counts: BTreeMap<u64, [u32; 3]> = BTreeMap::new();
    for record in history(env) {
        let Some(eval) = record["eval"].as_u64() else { continue };
        let counts = counts.entry(eval).or_default();
        let kind = record.to_string();
        if record.get("code").is_some() {
            counts[0] += 1;
        } else if record.get("finished").is_some() {
            counts[2] += 1;
        } else {
            assert!(record.get("start").is_some(), "an unknown record: {kind}");
            counts[1] += 1;
        }
    }
    for (eval, [accepted, started, finished]) in counts {
        assert!(
            accepted == 1 && started <= 1 && finished == 1,
            "eval {eval} in {:#?}",
            history(env)
        );
    }
}

/// Runs code until it is no longer told once that the state is gone, then checks the value.
#[track_caller]
pub(crate) fn works_again(env: &TestEnv) {
    let first = env.eval("6 * 7");
    if first["error"]["code"] == "session_lost" {
        assert_eq!(env.value("6 * 7"), "42");
    } else {
        assert_eq!(first["data"]["value"], "42", "{first:#}");
    }
}
