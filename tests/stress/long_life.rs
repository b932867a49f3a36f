//! P-6: an old session costs no more than a young one, in time and in memory.

use std::time::{Duration, Instant};

use stead_protocol::Outcome;
use stead_protocol::client::WatchFor;

use crate::rig::{Rig, memory_kb, number, submit, wait_finished};

#[test]
fn p6_20000_evals_leave_host_and_interpreter_small() {
    let rig = Rig::new();
    let evals = number("STEAD_LONG_LIFE", 20_000);
    let (host, interpreter) = (rig.env.host_pid(), rig.env.interpreter_pid());
    let mut connection = rig.connect();
    let mut marks = Vec::new();
    let mut fastest = Duration::MAX;
    for n in 1..=evals {
        let began = Instant::now();
        let seq =
            submit(&mut connection, &format!("n = {n}\nprint('eval', n)\nn"), WatchFor::State);
        assert_eq!(wait_finished(&mut connection, seq).outcome, Outcome::Complete);
        // The fastest of many: what else the machine does at the time slows them down by any factor.
        fastest = fastest.min(began.elapsed());
        if n % (evals / 10) == 0 {
            marks.push((n, memory_kb(host, "VmRSS"), memory_kb(interpreter, "VmRSS"), fastest));
            fastest = Duration::MAX;
        }
    }
    for (n, host, interpreter, fastest) in &marks {
        eprintln!("{n} evals: host {host} kB, interpreter {interpreter} kB, at best {fastest:.1?}");
    }
    let (first, last) = (marks[0], marks[9]);
    assert!(last.1.saturating_sub(first.1) < 2 << 10, "the host grew");
    // The bridge keeps the last 10,000 sources for tracebacks, and no more.
    assert!(last.2.saturating_sub(first.2) < 16 << 10, "the interpreter grew");
    assert!(last.2.saturating_sub(marks[5].2) < 2 << 10, "the interpreter still grows");
    assert!(last.3 < first.3 * 3 + Duration::from_millis(1), "evals have become slower");
}
