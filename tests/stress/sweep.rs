//! E-7, S-9: `status` is answered while a session's end sweeps a crowd of processes that no mere signal ends.
//!
//! How fast is printed and not asserted (the bar is 100 ms): that depends on the machine. `STEAD_STUBBORN` makes the crowd larger.

use std::collections::HashSet;
use std::process::Child;
use std::time::{Duration, Instant};

use stead_testkit::{is_alive, tagged};

use crate::rig::{DEADLINE, Rig, number};

/// Starts processes that are in sessions of their own, fell to the host, ignore whatever can be ignored, and start
/// their one child again whenever it is killed. The value is how many there are.
const STUBBORN: &str = r#"
import os, signal
def be_stubborn(ready):
    os.setsid()
    for one in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT):
        signal.signal(one, signal.SIG_IGN)
    if os.fork():
        os._exit(0)
    os.setsid()
    told = False
    while True:
        child = os.fork()
        if child == 0:
            while True:
                signal.pause()
        if not told:
            told = os.write(ready, b'x')
        os.waitpid(child, 0)
heard, ready = os.pipe()
for _ in range(COUNT):
    if (starter := os.fork()) == 0:
        be_stubborn(ready)
    os.waitpid(starter, 0)
sum(len(os.read(heard, 1)) for _ in range(COUNT))
"#;

/// What was answered while the crowd was being swept.
#[derive(Default)]
struct Answers {
    count: u32,
    slowest: Duration,
}

fn answered_while_swept(how: &str, end: impl FnOnce(&Rig) -> Child) {
    let count = number("STEAD_STUBBORN", 300);
    let rig = Rig::new();
    let code = STUBBORN.replace("COUNT", &count.to_string());
    assert_eq!(rig.value(&code), count.to_string());
    let host = rig.env.host_pid();
    let ours: HashSet<u32> =
        [Some(host), stead_testkit::guard_of(host)].into_iter().flatten().collect();
    let crowd: Vec<u32> =
        tagged(rig.env.tag()).into_iter().filter(|pid| !ours.contains(pid)).collect();
    assert!(crowd.len() as u64 > count, "{} processes", crowd.len());

    let began = Instant::now();
    let mut ending = end(&rig);
    let mut answers = Answers::default();
    let mut slowest = Duration::ZERO;
    while crowd.iter().any(|pid| is_alive(*pid)) {
        let swept = crowd.iter().any(|pid| !is_alive(*pid));
        let asked = Instant::now();
        let status = rig.client.status(&rig.name);
        let took = asked.elapsed();
        slowest = slowest.max(took);
        let by_the_host = status.is_ok_and(|status| status.host_pid.is_some());
        if swept && by_the_host && crowd.iter().any(|pid| is_alive(*pid)) {
            answers.count += 1;
            answers.slowest = answers.slowest.max(took);
        }
        assert!(began.elapsed() < DEADLINE, "the crowd does not die");
    }
    let swept = began.elapsed();
    assert!(ending.wait().unwrap().code().is_some());
    println!(
        "{how}: {} processes gone after {swept:.0?}; {} answers meanwhile, the slowest after {:.1?}; of all {slowest:.1?} (bar: 100 ms)",
        crowd.len(),
        answers.count,
        answers.slowest,
    );
    assert!(answers.count > 0, "{how}: no status was answered while processes were swept");
}

#[test]
fn e7_status_is_answered_while_stop_sweeps_stubborn_processes() {
    answered_while_swept("stop", |rig| rig.env.spawn(["stop", "-n", "py"]));
}

#[test]
fn e7_status_is_answered_while_restart_sweeps_stubborn_processes() {
    answered_while_swept("restart", |rig| rig.env.spawn(["restart", "-n", "py"]));
}

#[test]
fn e7_status_is_answered_while_the_end_of_an_interpreter_sweeps_stubborn_processes() {
    answered_while_swept("end", |rig| {
        rig.env.spawn(["eval", "-n", "py", "--", "import os; os._exit(3)"])
    });
}
