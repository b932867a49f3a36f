//! S-9: host, guard or both are killed, in either order, with up to two seconds between. Each round
//! leaves daemons with an empty environment, which nothing but their mark ties to the session.

use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use stead_testkit::{TestEnv, guard_of, is_alive, pause, wait_for, wait_for_some};

use crate::STEAD;
use crate::rig::{Random, number};

/// Starts three daemons, each in its own way, that write their process ids to files in `pids`.
const DAEMONS: &str = r#"
import os, subprocess
os.makedirs('pids', exist_ok=True)
be = "echo $$ > pids/$$.new; mv pids/$$.new pids/$$.pid; exec /bin/sleep 1000"
quiet = dict(stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
subprocess.run(['/usr/bin/setsid', '-f', '/bin/sh', '-c', be], env={}, **quiet)
subprocess.run(['/bin/sh', '-c', '(/usr/bin/setsid /usr/bin/env -i /bin/sh -c "$0" &) &', be], **quiet)
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.closerange(0, 1024)
        os.execve('/bin/sh', ['sh', '-c', be], {})
    os._exit(0)
os.wait()
"#;
const EACH: usize = 3;

#[derive(Debug, Clone, Copy)]
enum Death {
    Guard,
    Host,
    GuardThenHost,
    HostThenGuard,
}

/// A process that will be killed later; its number may be another's by then.
struct Victim(OwnedFd);

impl Victim {
    fn new(pid: u32) -> Victim {
        let pid = Pid::from_raw(pid as i32).unwrap();
        Victim(pidfd_open(pid, PidfdFlags::empty()).unwrap())
    }

    fn kill(&self) {
        // It may have done its duty and left.
        let _ = pidfd_send_signal(&self.0, Signal::KILL);
    }
}

/// Process ids of the daemons that this round started.
fn daemons(env: &TestEnv) -> Vec<u32> {
    let dir = env.workspace().join("pids");
    let _ = std::fs::remove_dir_all(&dir);
    env.value(DAEMONS);
    wait_for_some("the daemons", || {
        let files = std::fs::read_dir(&dir).ok()?.flatten().map(|file| file.path());
        let files = files.filter(|path| path.extension().is_some_and(|end| end == "pid"));
        let pids = files.map(|path| std::fs::read_to_string(path).unwrap().trim().parse().unwrap());
        Some(pids.collect::<Vec<u32>>()).filter(|pids| pids.len() == EACH)
    })
}

#[test]
fn s9_nothing_is_left_whoever_is_killed_and_when() {
    let rounds = number("STEAD_DEATHS", 12);
    let mut random = Random::new();
    let env = TestEnv::new(STEAD);
    let mut slowest = Duration::ZERO;
    for round in 0..rounds {
        if env.eval("1")["error"]["code"] == "session_lost" {
            env.value("1");
        }
        env.value("import random; x = random.random()");
        let state = env.value("x");
        let daemons = daemons(&env);
        let host = env.host_pid();
        let guard = wait_for_some("a guard", || guard_of(host));
        let (the_host, the_guard) = (Victim::new(host), Victim::new(guard));
        let death = match random.below(4) {
            0 => Death::Guard,
            1 => Death::Host,
            2 => Death::GuardThenHost,
            _ => Death::HostThenGuard,
        };
        // Often at once, and else at any time up to two seconds later.
        let gap = if random.below(3) == 0 { 0 } else { random.below(2000) };
        let between = || pause(Duration::from_millis(gap));
        let left = || daemons.iter().filter(|pid| is_alive(**pid)).count();
        let what = format!("round {round}: {death:?}, {gap} ms between");
        match death {
            Death::Guard => {
                the_guard.kill();
                let next = || guard_of(host).filter(|next| *next != guard);
                wait_for_some("another guard", next);
                assert_eq!((env.value("x"), env.host_pid()), (state, host), "{what}");
                assert_eq!(left(), EACH, "{what}");
                continue;
            }
            Death::Host => {
                the_host.kill();
                let killed = Instant::now();
                wait_for("the daemons to be gone", || left() == 0);
                slowest = slowest.max(killed.elapsed());
                continue;
            }
            Death::GuardThenHost => {
                the_guard.kill();
                between();
                the_host.kill();
            }
            Death::HostThenGuard => {
                the_host.kill();
                between();
                the_guard.kill();
            }
        }
        env.run(["ls"]);
        assert_eq!(left(), 0, "{what}");
    }
    println!("{rounds} rounds; after the death of a host alone all was gone within {slowest:?}");
}
