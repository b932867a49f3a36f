//! Copies of an interpreter, as the lower half deals with them, with a bridge that does nothing else.

use serde_json::{Value, json};

use crate::outpost::{Outpost, lives, output};

const BRIDGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/near/copying_bridge.py");

/// A lower half whose bridge can copy itself.
struct Nest {
    outpost: Outpost,
    evals: u64,
}

impl Nest {
    fn begin() -> Nest {
        Nest { outpost: Outpost::bridged(BRIDGE), evals: 0 }
    }

    fn send(&mut self, code: &str) {
        self.evals += 1;
        self.outpost.run(self.evals, code);
    }

    /// What the code printed.
    fn run(&mut self, code: &str) -> String {
        self.send(code);
        output(&self.outpost.until("done"))
    }

    /// Makes a copy; its number and process.
    fn copy(&mut self, how: &str) -> (u64, u64) {
        self.send(format!("copy {how}").trim());
        let told = self.outpost.until("done");
        let copied = told.iter().find(|told| told["told"] == "copied").cloned();
        let copied = copied.unwrap_or_else(|| self.outpost.wait("copied"));
        assert_eq!(copied["lost"], json!([how]));
        (copied["copy"].as_u64().unwrap(), copied["pid"].as_u64().unwrap())
    }

    /// Goes back to a copy; what was told with it.
    fn roll_back(&mut self, copy: u64) -> Value {
        self.outpost.order(json!({"order": "rollback", "copy": copy}));
        self.outpost.wait("restored")
    }

    /// The word it keeps.
    fn word(&mut self) -> String {
        self.run("say").split(' ').next().unwrap().to_owned()
    }

    fn figures(&mut self) -> Value {
        self.outpost.order(json!({"order": "figures"}));
        self.outpost.wait("figures")
    }

    fn end(&mut self) -> Value {
        self.outpost.order(json!({"order": "kill"}));
        self.outpost.wait("exited")
    }
}

/// Waits until a process is gone; that it will be is what the test shows.
fn gone(pid: u64) {
    let Some(number) = rustix::process::Pid::from_raw(pid as i32) else { return };
    let flags = rustix::process::PidfdFlags::empty();
    let Ok(process) = rustix::process::pidfd_open(number, flags) else { return };
    let mut fds = [rustix::event::PollFd::new(&process, rustix::event::PollFlags::IN)];
    let patience = rustix::event::Timespec { tv_sec: 60, tv_nsec: 0 };
    assert_eq!(rustix::event::poll(&mut fds, Some(&patience)), Ok(1), "{pid} lives on");
}

#[test]
fn st3_a_copy_is_gone_back_to_as_often_as_wanted() {
    let mut nest = Nest::begin();
    nest.run("word=one");
    let (first, _) = nest.copy("");
    nest.run("word=two");
    let (second, _) = nest.copy("");
    assert_eq!((first, second), (1, 2));
    nest.run("word=three");
    for (copy, word) in [(first, "one"), (second, "two"), (first, "one"), (first, "one")] {
        let restored = nest.roll_back(copy);
        assert_eq!((&restored["copy"], &restored["lost"]), (&json!(copy), &json!(["a"])));
        assert_eq!((&restored["exit"]["signal"], &restored["variables"]), (&json!(9), &json!(1)));
        let said = nest.run("say");
        assert_eq!(said.trim(), format!("{word} {}", restored["pid"]));
        nest.run("word=other");
    }
    // Numbers are never used again, whichever copy makes the next.
    assert_eq!(nest.copy("").0, 3);
    assert_eq!(nest.figures()["copies"]["count"], 3);
    assert_eq!(nest.end()["left"], json!([]));
}

#[test]
fn st3_what_was_started_is_gone_after_a_rollback_and_copies_are_not() {
    let mut nest = Nest::begin();
    let before: u64 = nest.run("spawn").trim().parse().unwrap();
    let (copy, pid) = nest.copy("");
    let after: u64 = nest.run("spawn").trim().parse().unwrap();
    nest.roll_back(copy);
    assert!(!lives(before) && !lives(after));
    let figures = nest.figures();
    assert_eq!((&figures["pid"], &figures["usage"]["processes"]), (&json!(pid), &json!(1)));
    assert_eq!((&figures["background"], &figures["copies"]["count"]), (&json!([]), &json!(1)));
    assert!(figures["copies"]["bytes"].as_u64().is_some(), "{figures:#}");
}

#[test]
fn s10_what_writes_a_copy_is_no_process_in_the_background() {
    let mut nest = Nest::begin();
    let save = json!({"eval": "far:0", "path": "/nowhere"});
    nest.outpost.order(json!({"order": "copy", "seq": 1, "save": save}));
    let helpers = output(&nest.outpost.until("output"));
    let helpers: Vec<u64> = helpers.split_whitespace().map(|pid| pid.parse().unwrap()).collect();
    let figures = nest.figures();
    assert!(helpers.len() == 2 && helpers.iter().all(|pid| lives(*pid)), "{helpers:?}");
    assert_eq!((&figures["background"], &figures["usage"]["processes"]), (&json!([]), &json!(1)));
    assert_eq!(nest.end()["left"], json!([]));
}

#[test]
fn st3_interrupts_and_pauses_spare_copies() {
    let mut nest = Nest::begin();
    nest.run("word=one");
    let (copy, pid) = nest.copy("");
    nest.send("loop");
    nest.outpost.until("output");
    nest.outpost.order(json!({"order": "interrupt"}));
    nest.outpost.order(json!({"order": "kill_children"}));
    assert_eq!(nest.outpost.wait("killed")["children"], 0);
    nest.outpost.order(json!({"order": "pause"}));
    nest.outpost.until("paused");
    let state = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    assert!(!state.contains(") T "), "{state}");
    // A rollback rescues from code that ignores all that, and from a pause.
    nest.roll_back(copy);
    assert_eq!(nest.word(), "one");
}

#[test]
fn st3_what_is_not_needed_any_more_is_dropped_and_cannot_be_gone_back_to() {
    let mut nest = Nest::begin();
    nest.run("word=one");
    let copies: Vec<(u64, u64)> = (0..5).map(|_| nest.copy("")).collect();
    nest.outpost.order(json!({"order": "drop", "copies": [1, 3, 9]}));
    gone(copies[0].1);
    gone(copies[2].1);
    // Ended children of the interpreter, which it has not collected, are no processes of an eval.
    let figures = nest.figures();
    assert_eq!(
        (&figures["usage"]["processes"], &figures["copies"]["count"]),
        (&json!(1), &json!(3))
    );
    for copy in [1, 3, 9, 0] {
        nest.outpost.order(json!({"order": "rollback", "copy": copy}));
        assert_eq!(nest.outpost.wait("copy_lost")["copy"], copy);
    }
    assert_eq!(nest.word(), "one", "nothing was lost by asking");
    nest.roll_back(5);
    assert_eq!(nest.word(), "one");
}

#[test]
fn st3_a_copy_that_ends_by_itself_is_noticed() {
    let mut nest = Nest::begin();
    let (copy, pid) = nest.copy("");
    let number = rustix::process::Pid::from_raw(pid as i32).unwrap();
    rustix::process::kill_process(number, rustix::process::Signal::KILL).unwrap();
    assert_eq!(nest.outpost.wait("copy_lost")["copy"], copy);
    assert_eq!(nest.figures()["copies"]["count"], 0);
}

#[test]
fn st5_what_a_signal_ends_goes_on_from_the_copy_that_was_named() {
    let mut nest = Nest::begin();
    nest.run("word=one");
    let (copy, _) = nest.copy("");
    nest.outpost.order(json!({"order": "fallback", "copy": copy}));
    for _ in 0..2 {
        nest.run("word=two");
        nest.send("crash");
        let restored = nest.outpost.wait("restored");
        assert_eq!(restored["exit"]["signal"], 11);
        assert_eq!(nest.word(), "one");
    }
    // A hard timeout's kill is answered in the same way.
    nest.evals += 1;
    let eval = format!("far:{}", nest.evals);
    nest.outpost.order(json!({"order": "run", "eval": eval, "code": "loop", "limit_ms": 1}));
    let restored = nest.outpost.wait("restored");
    assert_eq!(restored["exit"]["signal"], 9);
    assert_eq!(nest.word(), "one");
    nest.outpost.order(json!({"order": "fallback"}));
    nest.send("crash");
    assert_eq!(nest.outpost.wait("exited")["signal"], 11);
}

#[test]
fn st5_an_exit_and_an_end_that_was_ordered_are_ends() {
    for how in ["exit", "kill", "ask"] {
        let mut nest = Nest::begin();
        let (copy, pid) = nest.copy("");
        nest.outpost.order(json!({"order": "fallback", "copy": copy}));
        match how {
            "exit" => nest.send("exit"),
            "kill" => nest.outpost.order(json!({"order": "kill"})),
            _ => nest.outpost.order(json!({"order": "exit"})),
        }
        let exited = nest.outpost.wait("exited");
        assert_eq!(exited["left"], json!([]), "{how}");
        assert!(!lives(pid), "{how}: the copy lives on");
        assert!(!nest.outpost.all.iter().any(|told| told["told"] == "restored"), "{how}");
    }
}

#[test]
fn st3_a_copy_that_does_not_wake_is_an_end_with_a_reason() {
    for (how, why) in [("mortal", "ended before it was awake"), ("deaf", "was not awake within")] {
        let mut nest = Nest::begin();
        let (other, _) = nest.copy("");
        let (copy, pid) = nest.copy(how);
        assert_ne!(other, copy);
        nest.outpost.order(json!({"order": "rollback", "copy": copy}));
        let exited = nest.outpost.wait("exited");
        let said = exited["not_restored"].as_str().unwrap_or_default();
        assert!(said.contains(why), "{how}: {exited}");
        assert_eq!((&exited["signal"], &exited["left"]), (&json!(9), &json!([])), "{how}");
        assert!(!lives(pid), "{how}");
    }
}

#[test]
fn st3_a_copy_that_can_make_no_other_is_told_to_be_used_up() {
    let mut nest = Nest::begin();
    nest.run("word=one");
    let (copy, _) = nest.copy("barren");
    nest.roll_back(copy);
    assert_eq!(nest.outpost.wait("copy_lost")["copy"], copy);
    assert_eq!(nest.word(), "one");
    assert_eq!(nest.copy("").0, copy + 1);
}

#[test]
fn s9_an_end_during_a_rollback_leaves_nothing() {
    let mut nest = Nest::begin();
    let (copy, pid) = nest.copy("deaf");
    let child: u64 = nest.run("spawn").trim().parse().unwrap();
    nest.outpost.order(json!({"order": "rollback", "copy": copy}));
    nest.outpost.order(json!({"order": "kill"}));
    let exited = nest.outpost.wait("exited");
    assert_eq!(exited["left"], json!([]));
    assert!(!lives(pid) && !lives(child));
}

#[test]
fn s9_copies_end_with_the_lower_half() {
    let mut nest = Nest::begin();
    let copies: Vec<(u64, u64)> = (0..3).map(|_| nest.copy("")).collect();
    nest.roll_back(2);
    // The guard is the process that was started; the lower half is its child.
    let guard = u64::from(nest.outpost.child.id());
    let children = std::fs::read_to_string(format!("/proc/{guard}/task/{guard}/children")).unwrap();
    let near = children.split_whitespace().next().unwrap().parse().unwrap();
    let near = rustix::process::Pid::from_raw(near).unwrap();
    rustix::process::kill_process(near, rustix::process::Signal::KILL).unwrap();
    for (_, pid) in copies {
        gone(pid);
    }
    nest.outpost.child.wait().unwrap();
}
