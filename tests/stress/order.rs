//! O-2 with every core busy: what a child wrote before it was waited for comes first, and no line is torn.
//!
//! `STEAD_ORDERS` is how often the forms of Python and Node are run, `STEAD_BASH_ORDERS` Bash's.

use std::path::Path;
use std::process::{Child, Command, Stdio};

use stead_protocol::ChunkKind;

use crate::rig::{Rig, number};

/// Loops that keep every core busy until they are dropped.
struct Busy(Vec<Child>);

impl Busy {
    fn all_cores() -> Busy {
        let cores = std::thread::available_parallelism().map_or(2, usize::from);
        let spin =
            || Command::new("sh").args(["-c", "while :; do :; done"]).stdin(Stdio::null()).spawn();
        Busy((0..cores).map(|_| spin().unwrap()).collect())
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// The output of an eval in runs of one stream.
fn runs(rig: &Rig, code: &str) -> Vec<(ChunkKind, String)> {
    let mut runs: Vec<(ChunkKind, String)> = Vec::new();
    for chunk in rig.eval(code).content.chunks() {
        let text = String::from_utf8_lossy(&chunk.bytes);
        match runs.last_mut() {
            Some((kind, run)) if *kind == chunk.kind => run.push_str(&text),
            _ => runs.push((chunk.kind, text.into_owned())),
        }
    }
    runs
}

fn kinds(runs: &[(ChunkKind, String)]) -> Vec<ChunkKind> {
    runs.iter().map(|(kind, _)| *kind).collect()
}

#[test]
fn o2_in_python_a_child_that_was_waited_for_comes_first() {
    let rig = Rig::new();
    rig.value("import subprocess");
    let _busy = Busy::all_cores();
    let times = number("STEAD_ORDERS", 60);
    for n in 0..times {
        let code = "subprocess.run('ls /nonexistent', shell=True); print('hi')";
        let runs = runs(&rig, code);
        assert_eq!(kinds(&runs), [ChunkKind::Err, ChunkKind::Out], "run {n}: {runs:?}");
    }
    eprintln!("python: {times} of {times} in order");
}

#[test]
fn o2_in_node_a_child_that_was_waited_for_comes_first() {
    let rig = Rig::with_node(Path::new("node"));
    let _busy = Busy::all_cores();
    let times = number("STEAD_ORDERS", 60);
    for n in 0..times {
        let code = "void require('child_process').spawnSync('ls', ['/nonexistent'], { stdio: 'inherit' }); console.log('hi')";
        let runs = runs(&rig, code);
        assert_eq!(kinds(&runs), [ChunkKind::Err, ChunkKind::Out], "run {n}: {runs:?}");
    }
    eprintln!("node: {times} of {times} in order");
}

#[test]
fn o2_in_bash_no_line_is_torn_and_the_rate_of_wrong_orders_is_told() {
    let rig = Rig::bash();
    let _busy = Busy::all_cores();
    let times = number("STEAD_BASH_ORDERS", 100);
    let mut wrong = 0;
    for n in 0..times {
        let runs = runs(&rig, "ls /nonexistent; echo hi");
        // Each stream's line is in one piece, whichever came first.
        assert!(runs.len() == 2, "run {n}: {runs:?}");
        assert!(runs.iter().all(|(_, text)| text.ends_with('\n')), "run {n}: {runs:?}");
        wrong += u64::from(kinds(&runs) != [ChunkKind::Err, ChunkKind::Out]);
    }
    eprintln!("bash: {wrong} of {times} in the wrong order, 0 torn");
}
