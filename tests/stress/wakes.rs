//! E-17: how soon `stead wait` wakes. Prints the median and the worst of many rounds for each condition, as a process
//! of its own is seen to exit; 100 ms is the bar. `STEAD_WAKES` says how many rounds.

use std::fs::File;
use std::io::Write;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use rustix::time::{ClockId, clock_gettime};
use stead_testkit::{TestEnv, wait_for};

use crate::STEAD;
use crate::rig::number;

/// How long an eval has to be silent in the rounds about silence.
const IDLE: Duration = Duration::from_millis(100);

/// Nanoseconds of the clock that Python calls `time.monotonic_ns`.
fn clock() -> i64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec * 1_000_000_000 + now.tv_nsec
}

/// A condition, and code that brings it about; `t()` writes down when.
struct Round {
    what: &'static str,
    arguments: &'static [&'static str],
    code: &'static str,
    /// Whether the host is killed in place of the code going on.
    kill: bool,
    /// How long after that moment the wait may end at the earliest.
    after: Duration,
}

const ROUNDS: [Round; 6] = [
    round("end", &[], "t()"),
    round("end of a queued eval", &["--all"], "t()"),
    round("input", &["--input"], "t(); input('? ')"),
    round("match", &["--match", "^ready \\d$"], "t(); print('ready 1', flush=True); hold()"),
    Round {
        after: IDLE,
        ..round("idle", &["--idle", "100ms"], "t(); print('x', flush=True); hold()")
    },
    Round { kill: true, ..round("host killed", &[], "hold()") },
];

const fn round(
    what: &'static str,
    arguments: &'static [&'static str],
    code: &'static str,
) -> Round {
    Round { what, arguments, code, kill: false, after: Duration::ZERO }
}

/// `t` writes into memory that it shares with a file: a disk that is busy must not count.
const SETUP: &str = "
import mmap, os, time
fd = os.open('t', os.O_RDWR | os.O_CREAT)
os.ftruncate(fd, 20)
stamp = mmap.mmap(fd, 20)
def t(): stamp[:] = b'%020d' % time.monotonic_ns()
def go():
    with open('go') as pipe: pipe.read()
def chat():
    pipe = os.open('go', os.O_RDONLY | os.O_NONBLOCK)
    os.set_blocking(pipe, False)
    while True:
        print('.', flush=True)
        try:
            if os.read(pipe, 1): break
        except BlockingIOError: pass
        time.sleep(0.005)
    os.close(pipe)
def hold(): time.sleep(1000)
";

#[test]
fn e17_how_soon_a_wait_wakes() {
    let rounds = number("STEAD_WAKES", 10);
    let env = TestEnv::new(STEAD);
    let gate = env.workspace().join("go");
    rustix::fs::mkfifoat(rustix::fs::CWD, &gate, rustix::fs::Mode::RWXU).expect("a pipe");
    for round in &ROUNDS {
        let mut took: Vec<Duration> = (0..rounds).map(|_| one(&env, round)).collect();
        took.sort();
        let ms = |time: Duration| time.as_secs_f64() * 1e3;
        let (middle, worst) = (took[took.len() / 2], took[took.len() - 1]);
        eprintln!(
            "wakes {} rounds: {:<22} p50 {:6.1} ms, worst {:6.1} ms",
            took.len(),
            round.what,
            ms(middle),
            ms(worst)
        );
    }
}

/// One round: how long after the event the command had exited.
fn one(env: &TestEnv, round: &Round) -> Duration {
    env.value(SETUP);
    // An eval that is to fall silent must not be so before.
    let gate = if round.after.is_zero() { "go()" } else { "chat()" };
    let code = format!("{gate}\n{}", round.code);
    let reply = env.json(["eval", "-n", "py", "--bg", "--", &code]);
    let mut id = reply["data"]["eval_id"].as_str().expect("an id").to_owned();
    if round.arguments.contains(&"--all") {
        let reply = env.json(["eval", "-n", "py", "--bg", "--", "t()"]);
        id = reply["data"]["eval_id"].as_str().expect("an id").to_owned();
    }
    let clients = || env.status()["clients"].as_u64().unwrap_or_default();
    let before = clients();
    let wait = env.spawn([&["wait", &id], round.arguments].concat());
    wait_for("the wait to listen", || clients() > before);
    let host = env.host_pid();
    // Opening the pipe waits for its reader.
    let mut pipe = File::create(env.workspace().join("go")).expect("the pipe");
    let began = clock();
    if round.kill {
        kill_process(Pid::from_raw(host.cast_signed()).expect("a pid"), Signal::KILL)
            .expect("a host");
    }
    let _ = pipe.write_all(b"x");
    drop(pipe);
    let output = wait.wait_with_output().expect("the wait ends");
    let ended = clock();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(said.contains("host_died"), round.kill, "{}: {said}", round.what);
    let at = match round.kill {
        true => began,
        false => {
            let stamp = std::fs::read_to_string(env.workspace().join("t")).expect("a stamp");
            stamp.trim().parse().expect("a number")
        }
    };
    if !round.kill {
        env.json(["interrupt", "-n", "py"]);
    }
    Duration::from_nanos(u64::try_from(ended - at).unwrap_or(0)).saturating_sub(round.after)
}
