//! SH-4, E-6: interrupts at any moment end the eval they are aimed at; the shell and its background
//! jobs live on.

use std::collections::BTreeMap;
use std::time::Duration;

use stead_client::EvalView;
use stead_protocol::client::{InterruptEffect, WatchFor};
use stead_protocol::{ChunkKind, Outcome};
use stead_testkit::pause;

use crate::interrupts::interrupt;
use crate::rig::{Random, Rig, number, submit, wait_finished};

/// How code may end that is interrupted at some moment.
#[derive(Debug, Clone, Copy)]
enum Ends {
    /// By itself with this output, if the interrupt comes too late.
    Out(&'static str),
    /// By itself with this status.
    Code(i32),
    /// Never.
    Never,
}

const SCRIPTS: [(&str, Ends); 17] = [
    ("echo $((6 * 7))", Ends::Out("42\n")),
    ("for ((i = 0; i < 300; i++)); do :; done; echo $i", Ends::Out("300\n")),
    ("v=$(echo inner); echo $v", Ends::Out("inner\n")),
    ("echo a | cat | cat", Ends::Out("a\n")),
    ("(exit 3)", Ends::Code(3)),
    ("f() { exit 5; }; f", Ends::Code(5)),
    ("set -e; false; echo never", Ends::Code(1)),
    ("set -u\n: $nothing_of_this_name\necho never", Ends::Code(1)),
    ("cat <<< text", Ends::Out("text\n")),
    ("for i in 1 2; do break; done; echo $i", Ends::Out("1\n")),
    ("while :; do :; done", Ends::Never),
    ("while :; do echo some words; done", Ends::Never),
    ("while :; do /bin/true; done", Ends::Never),
    ("sleep 600", Ends::Never),
    ("sleep 600 | cat", Ends::Never),
    ("read -r line", Ends::Never),
    ("v=$(sleep 600)", Ends::Never),
];

#[test]
fn sh4_interrupts_at_random_moments_kill_nothing_and_hit_no_wrong_eval() {
    let count = number("STEAD_BASH_INTERRUPTS", 300);
    let began = std::time::Instant::now();
    let seen = storm(&Rig::bash(), count);
    eprintln!("bash: {count} in {:.1?}: {seen:?}", began.elapsed());
}

/// Runs and interrupts evals; counts how they ended.
fn storm(rig: &Rig, count: u64) -> BTreeMap<&'static str, u64> {
    let first = rig.eval("x=41; sleep 100000 & job=$!");
    assert_eq!(first.outcome, Some(Outcome::Complete));
    let pid = rig.pid();
    let mut connection = rig.connect();
    let mut random = Random::new();
    let mut seen = BTreeMap::new();
    for n in 0..count {
        let (code, ends) = SCRIPTS[random.below(SCRIPTS.len() as u64) as usize];
        let seq = submit(&mut connection, code, WatchFor::State);
        match random.below(8) {
            0 => {}
            1 => pause(Duration::from_micros(random.below(20_000))),
            _ => pause(Duration::from_micros(random.below(3_000))),
        }
        let (effect, finished) = interrupt(&mut connection, seq, code);
        let about = format!("interrupt {n}, {code:?}: {effect:?}, {:?}", finished.outcome);
        let view = rig.view(seq);
        let how = match (&finished.outcome, ends) {
            (Outcome::Interrupted, _) => {
                assert_eq!(effect, InterruptEffect::Interrupted, "{about}");
                "interrupted"
            }
            (Outcome::Complete, Ends::Out(text)) => {
                assert_eq!(stream(&view, ChunkKind::Out), text, "{about}");
                "complete"
            }
            (Outcome::Error, Ends::Code(code)) => {
                assert_eq!(finished.exit_code, Some(code), "{about}");
                "error"
            }
            _ => panic!("{about}: {:?} {:?}", view.error(), stream(&view, ChunkKind::Err)),
        };
        let errors = stream(&view, ChunkKind::Err);
        let own = code.contains("nothing_of") && errors.ends_with(": unbound variable\n");
        assert!(errors.is_empty() || own, "{about}: {errors:?}");
        *seen.entry(how).or_default() += 1;
        let next = "set +eu; echo $((x + 1)); kill -0 $job";
        let next = submit(&mut connection, next, WatchFor::State);
        let after = wait_finished(&mut connection, next);
        let view = rig.view(next);
        assert_eq!(after.outcome, Outcome::Complete, "after {about}: {:?}", view.error());
        assert_eq!(stream(&view, ChunkKind::Out), "42\n", "after {about}");
    }
    assert_eq!(rig.pid(), pid, "the session is the same all along");
    seen
}

fn stream(view: &EvalView, kind: ChunkKind) -> String {
    let of_kind = view.content.chunks().filter(|chunk| chunk.kind == kind);
    of_kind.map(|chunk| String::from_utf8_lossy(&chunk.bytes)).collect()
}
