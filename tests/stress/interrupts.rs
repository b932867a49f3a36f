//! PY-12, E-6: interrupts at any moment hit the eval they are aimed at and nothing else.

use std::collections::BTreeMap;
use std::time::Duration;

use stead_client::{Connection, Waited};
use stead_protocol::client::{Event, InterruptEffect, Reply, Request, WatchFor};
use stead_protocol::{EvalSeq, Finished, Outcome};
use stead_testkit::{pause, pythons};

use crate::rig::{Random, Rig, deadline, number, submit, value_of, wait_finished};

/// How code may end that is interrupted at some moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ends {
    /// By itself with this value, if the interrupt comes too late.
    Value(&'static str),
    /// By itself with an error.
    Error(&'static str),
    /// Never.
    Never,
}

const SCRIPTS: [(&str, Ends); 12] = [
    ("y = 6 * 7\ny", Ends::Value("42")),
    ("sum(range(20000))", Ends::Value("199990000")),
    ("for _ in range(100): print('some words')", Ends::Value("")),
    ("import json; json.loads(json.dumps(list(range(300))))[-1]", Ends::Value("299")),
    ("def f(n): return n if n < 1 else f(n - 1)\nf(300)", Ends::Value("0")),
    ("1 / 0", Ends::Error("ZeroDivisionError")),
    ("while True: pass", Ends::Never),
    ("while True: print('x' * 50)", Ends::Never),
    ("import sys\nwhile True:\n print('a')\n print('b', file=sys.stderr)", Ends::Never),
    ("input('? ')", Ends::Never),
    ("import time; time.sleep(600)", Ends::Never),
    ("import asyncio; await asyncio.sleep(600)", Ends::Never),
];

#[test]
fn py12_interrupts_at_random_moments_kill_nothing_and_hit_no_wrong_eval() {
    let count = number("STEAD_INTERRUPTS", 2_000);
    for python in pythons() {
        let began = std::time::Instant::now();
        let seen = storm(&Rig::with_python(python), &SCRIPTS, count);
        eprintln!("{}: {count} in {:.1?}: {seen:?}", python.display(), began.elapsed());
    }
}

/// Runs and interrupts evals; counts how they ended.
pub(crate) fn storm(
    rig: &Rig,
    scripts: &[(&'static str, Ends)],
    count: u64,
) -> BTreeMap<&'static str, u64> {
    assert_eq!(rig.value("x = 41\nx"), "41");
    let pid = rig.pid();
    let mut connection = rig.connect();
    let mut random = Random::new();
    let mut seen = BTreeMap::new();
    for n in 0..count {
        let (code, ends) = scripts[random.below(scripts.len() as u64) as usize];
        let seq = submit(&mut connection, code, WatchFor::State);
        // Some evals have the next one right behind them.
        let queued = (random.below(3) == 0)
            .then(|| submit_behind(&mut connection, random.next() % 1000, code))
            .flatten();
        match random.below(8) {
            0 => {}
            1 => pause(Duration::from_micros(random.below(5_000))),
            _ => pause(Duration::from_micros(random.below(500))),
        }
        let (effect, finished) = interrupt(&mut connection, seq, code);
        let about = format!("interrupt {n}, {code:?}: {effect:?}, {:?}", finished.outcome);
        *seen.entry(check(rig, seq, ends, &finished, effect, &about)).or_default() += 1;
        if let Some((next, value)) = queued {
            assert_eq!(wait_finished(&mut connection, next).outcome, Outcome::Complete, "{about}");
            assert_eq!(value_of(&rig.view(next)), value, "{about}");
        }
        let next = submit(&mut connection, "x + 1", WatchFor::State);
        let after = wait_finished(&mut connection, next);
        let view = rig.view(next);
        assert_eq!(after.outcome, Outcome::Complete, "after {about}: {:?}", view.error());
        assert_eq!(value_of(&view), "42", "after {about}");
    }
    assert_eq!(rig.pid(), pid, "the session is the same all along");
    seen
}

/// Code sent while the foreground waits for input is refused, so that there may be none.
fn submit_behind(connection: &mut Connection, n: u64, running: &str) -> Option<(EvalSeq, String)> {
    if ["input(", "stdin", "readFileSync(0)"].iter().any(|reads| running.contains(reads)) {
        return None;
    }
    Some((submit(connection, &format!("{n} + x"), WatchFor::State), (n + 41).to_string()))
}

/// Aims an interrupt at an eval; what it did, and how the eval ended.
pub(crate) fn interrupt(
    connection: &mut Connection,
    seq: EvalSeq,
    code: &str,
) -> (InterruptEffect, Finished) {
    let request = Request::Interrupt { eval: Some(seq), by: None };
    let effect = match connection.request(request, deadline()).unwrap() {
        Reply::Interrupt { effect, .. } => effect,
        other => panic!("{other:?}"),
    };
    assert_ne!(effect, InterruptEffect::StillRunning, "the interrupt of {code:?} is lost");
    loop {
        match connection.next_event(deadline(), None).unwrap() {
            Waited::Event(Event::Finished { eval, finished }) if eval == seq => {
                return (effect, finished);
            }
            Waited::Event(_) => {}
            other => panic!("eval {}: {effect:?}, then {other:?}", seq.0),
        }
    }
}

pub(crate) fn check(
    rig: &Rig,
    seq: EvalSeq,
    ends: Ends,
    finished: &Finished,
    effect: InterruptEffect,
    about: &str,
) -> &'static str {
    match (&finished.outcome, ends) {
        (Outcome::Interrupted, _) => {
            assert_eq!(effect, InterruptEffect::Interrupted, "{about}");
            "interrupted"
        }
        (Outcome::Complete, Ends::Value(value)) => {
            assert_eq!(value_of(&rig.view(seq)), value, "{about}");
            "complete"
        }
        (Outcome::Error, Ends::Error(name)) => {
            let view = rig.view(seq);
            let error = view.error().expect("an error");
            assert_eq!(error.name, name, "{about}");
            "error"
        }
        _ => panic!("{about}: {:?}", rig.view(seq).error()),
    }
}
