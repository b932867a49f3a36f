//! JS-3, E-6: interrupts at any moment stop Node where it stands and hit nothing else.

use stead_testkit::nodes;

use crate::interrupts::{Ends, storm};
use crate::rig::{Rig, number};

const SCRIPTS: [(&str, Ends); 14] = [
    ("var y = 6 * 7\ny", Ends::Value("42")),
    ("let sum = 0; for (let n = 0; n < 20000; n++) sum += n\nsum", Ends::Value("199990000")),
    ("for (let n = 0; n < 100; n++) console.log('some words')", Ends::Value("")),
    ("JSON.parse(JSON.stringify(Array(300).fill(299)))[7]", Ends::Value("299")),
    ("await new Promise(done => setTimeout(done, 1)); 7", Ends::Value("7")),
    ("null.x", Ends::Error("TypeError")),
    ("while (true) {}", Ends::Never),
    ("for (;;) console.log('x'.repeat(50))", Ends::Never),
    ("for (;;) { console.log('a'); console.error('b') }", Ends::Never),
    ("require('fs').readFileSync(0)", Ends::Never),
    ("process.stdin.on('data', () => {}); await new Promise(() => {})", Ends::Never),
    ("await new Promise(done => setTimeout(done, 600_000))", Ends::Never),
    ("for (;;) await new Promise(done => setTimeout(done, 1))", Ends::Never),
    ("await null; for (;;) {}", Ends::Never),
];

#[test]
fn js3_interrupts_at_random_moments_kill_nothing_and_hit_no_wrong_eval() {
    let count = number("STEAD_NODE_INTERRUPTS", 150);
    for node in nodes() {
        let began = std::time::Instant::now();
        let seen = storm(&Rig::with_node(node), &SCRIPTS, count);
        eprintln!("{}: {count} in {:.1?}: {seen:?}", node.display(), began.elapsed());
    }
}
