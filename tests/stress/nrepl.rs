//! K-3, E-6: interrupts of nREPL evals at any moment hit the eval they are aimed at and nothing else.

use std::time::{Duration, Instant};

use stead_protocol::Outcome;
use stead_protocol::client::WatchFor;
use stead_testkit::{TestEnv, clojure, pause};

use crate::STEAD;
use crate::interrupts::{Ends, check, interrupt};
use crate::rig::{Random, Rig, number, submit, value_of, wait_finished};

const TOY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/e2e/toy_nrepl.py");

/// Loops go on for seconds in the server after they were interrupted, so there are few of them.
const CLOJURE: [(&str, Ends); 12] = [
    ("(* 6 7)", Ends::Value("42")),
    ("(reduce + (range 20000))", Ends::Value("199990000")),
    ("(dotimes [_ 100] (println \"some words\"))", Ends::Value("nil")),
    ("(do (Thread/sleep 2) 7)", Ends::Value("7")),
    ("(/ 1 0)", Ends::Error("ArithmeticException")),
    ("(Thread/sleep 600000)", Ends::Never),
    ("@(promise)", Ends::Never),
    ("(read-line)", Ends::Never),
    ("(do (print \"some words\") (flush) (Thread/sleep 600000))", Ends::Never),
    ("(loop [] (println \"some words\") (Thread/sleep 1) (recur))", Ends::Never),
    ("(loop [] (Thread/sleep 1) (recur))", Ends::Never),
    ("(loop [n 0] (if (Thread/interrupted) n (recur (inc n))))", Ends::Never),
];

const TOYS: [(&str, Ends); 5] = [
    ("value 42", Ends::Value("42")),
    ("say words", Ends::Value("")),
    ("fail Toy", Ends::Error("Toy")),
    ("sleep", Ends::Never),
    ("read", Ends::Never),
];

#[test]
fn clojure_interrupts_at_random_moments_hit_no_wrong_eval() {
    let count = number("STEAD_NREPL_INTERRUPTS", 50);
    storm(&clojure(), &CLOJURE, ["(def x 41) x", "(inc x)"], ["41", "42"], count);
}

#[test]
fn toy_interrupts_at_random_moments_hit_no_wrong_eval() {
    let python = stead_testkit::python();
    let command = format!("'{}' {TOY} {{port}}", python.display());
    storm(&command, &TOYS, ["value 41", "value 42"], ["41", "42"], 60);
}

fn storm(
    command: &str,
    scripts: &[(&'static str, Ends)],
    codes: [&str; 2],
    values: [&str; 2],
    count: u64,
) {
    let env = TestEnv::new(STEAD);
    let launched = env.json(["launch", "nrepl", "-n", "n", "--cmd", command]);
    assert_eq!(launched["ok"], true, "{launched:#}");
    let client = env.client();
    let rig = Rig { env, client, name: "n".parse().unwrap() };
    assert_eq!(rig.value(codes[0]), values[0]);
    let (pid, began) = (rig.pid(), Instant::now());
    let mut connection = rig.connect();
    let mut random = Random::new();
    let mut seen = std::collections::BTreeMap::<&str, u64>::new();
    for n in 0..count {
        let (code, ends) = scripts[random.below(scripts.len() as u64) as usize];
        let seq = submit(&mut connection, code, WatchFor::State);
        match random.below(4) {
            0 => {}
            1 => pause(Duration::from_micros(random.below(20_000))),
            _ => pause(Duration::from_micros(random.below(3_000))),
        }
        let (effect, finished) = interrupt(&mut connection, seq, code);
        let about = format!("interrupt {n}, {code:?}: {effect:?}, {:?}", finished.outcome);
        *seen.entry(check(&rig, seq, ends, &finished, effect, &about)).or_default() += 1;
        let next = submit(&mut connection, codes[1], WatchFor::State);
        let after = wait_finished(&mut connection, next);
        assert_eq!(after.outcome, Outcome::Complete, "after {about}");
        assert_eq!(value_of(&rig.view(next)), values[1], "after {about}");
    }
    assert_eq!(rig.pid(), pid, "the session is the same all along");
    eprintln!("{count} in {:.1?}: {seen:?}", began.elapsed());
}
