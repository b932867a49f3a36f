//! K-1, K-2, K-3: what only an adapter can know or do, with a toy that stands for a server elsewhere.

use std::fs::{File, OpenOptions};
use std::io::Write;

use serde_json::Value;
use stead_testkit::{TestEnv, state_of, wait_for};

use crate::STEAD;
use crate::processes::reply;

const TOY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/e2e/toy_adapter.pl");

/// A session of the toy adapter, and what happens to its server.
struct Toy {
    env: TestEnv,
    events: File,
}

impl Toy {
    fn launch(can: &str, more: &[&str]) -> Toy {
        let env = TestEnv::new(STEAD);
        let pipe = env.root().join("events");
        let made = env.other("mkfifo").arg(&pipe).status().unwrap();
        assert!(made.success());
        let events = OpenOptions::new().read(true).write(true).open(&pipe).unwrap();
        let (can, pipe) =
            (format!("ADAPTER_CAN={can}"), format!("ADAPTER_EVENTS={}", pipe.display()));
        let mut words = vec!["launch", "toy", "-n", "toy", "--bridge", TOY];
        for variable in [can.as_str(), &pipe].iter().chain(more) {
            words.extend(["--env", variable]);
        }
        let launched = env.json(words);
        assert_eq!(launched["ok"], true, "{launched:#}");
        Toy { env, events }
    }

    fn eval(&self, code: &str) -> Value {
        self.env.json(["eval", "-n", "toy", "--timeout", "60s", "--", code])
    }

    /// Begins an eval; its id.
    fn begin(&self, code: &str) -> String {
        let begun = self.env.json(["eval", "-n", "toy", "--bg", "--", code]);
        begun["data"]["eval_id"].as_str().unwrap_or_else(|| panic!("{begun:#}")).to_owned()
    }

    fn finish(&self, id: &str) -> Value {
        self.env.json(["output", id, "--wait", "60s"])
    }

    fn status(&self) -> Value {
        self.env.json(["status", "-n", "toy"])["data"].take()
    }

    fn happens(&mut self, event: &str) {
        writeln!(self.events, "{event}").unwrap();
    }

    fn wait_for_state(&self, state: &str) {
        wait_for(state, || self.status()["state"] == state);
    }

    /// The adapter's own process.
    fn state_of_adapter(&self) -> Option<char> {
        state_of(self.status()["pid"].as_u64().unwrap() as u32)
    }
}

#[test]
fn k1_a_bridges_own_word_says_that_code_elsewhere_waits() {
    let toy = Toy::launch("own_waits interrupts", &[]);
    let asked = toy.eval("ask your name?");
    assert_eq!(asked["status"], "waiting_input", "{asked:#}");
    assert_eq!(asked["data"]["prompt"], "your name?", "{asked:#}");
    assert_eq!(toy.status()["state"], "waiting_input");
    let answered = toy.env.json(["input", "-n", "toy", "you"]);
    assert_eq!(answered["data"]["value"], "got you", "{answered:#}");
    let asked = toy.eval("secret password:");
    assert_eq!(asked["status"], "waiting_input", "{asked:#}");
    assert_eq!(asked["data"]["prompt"], "password:", "{asked:#}");
    assert_eq!(asked["data"]["secret"], true, "{asked:#}");
    assert_eq!(toy.env.json(["output", "toy"])["data"]["secret"], true, "also later");
    assert_eq!(toy.env.json(["wait", "toy"])["data"]["secret"], true, "and to who waits");
    let answered = toy.env.json(["input", "-n", "toy", "hush"]);
    assert_eq!(answered["data"]["value"], "got hush", "{answered:#}");
}

#[test]
fn k1_a_bridges_own_word_says_that_code_elsewhere_waits_no_more() {
    let mut toy = Toy::launch("own_waits interrupts", &[]);
    let asked = toy.eval("ask first?");
    assert_eq!(asked["status"], "waiting_input", "{asked:#}");
    let id = asked["data"]["eval_id"].as_str().unwrap().to_owned();
    toy.happens("answered");
    toy.wait_for_state("running");
    toy.happens("asks second?");
    toy.wait_for_state("waiting_input");
    toy.happens("answered");
    toy.wait_for_state("running");
    toy.happens("ends");
    let over = toy.finish(&id);
    assert_eq!(over["data"]["value"], "ended elsewhere", "{over:#}");
    assert_eq!(toy.eval("echo on")["data"]["value"], "on");
}

#[test]
fn k1_an_interrupt_is_carried_out_by_the_bridge() {
    let toy = Toy::launch("own_waits interrupts", &[]);
    for code in ["loop", "ask really?"] {
        let id = toy.begin(code);
        let interrupted = toy.env.json(["interrupt", &id]);
        assert_eq!(interrupted["ok"], true, "{code}: {interrupted:#}");
        assert_eq!(toy.finish(&id)["status"], "interrupted", "{code}");
        assert_eq!(toy.eval("echo on")["data"]["value"], "on");
    }
}

#[test]
fn k3_an_interrupt_that_is_not_possible_elsewhere_is_said_to_be_so() {
    let mut toy = Toy::launch("interrupts", &[]);
    let id = toy.begin("deaf");
    let interrupted = toy.env.json(["interrupt", &id]);
    assert_eq!(interrupted["data"]["effect"], "still_running", "{interrupted:#}");
    toy.happens("ends");
    let over = toy.finish(&id);
    assert_eq!(over["data"]["value"], "ended elsewhere", "{over:#}");
    let notice = over["data"]["notice"].as_str().unwrap_or_else(|| panic!("{over:#}"));
    assert!(notice.contains("this server knows no interrupt"), "{over:#}");
}

#[test]
fn k1_pause_and_resume_are_carried_out_by_the_bridge() {
    let toy = Toy::launch("interrupts pauses", &[]);
    let id = toy.begin("loop");
    let paused = toy.env.json(["pause", "-n", "toy"]);
    assert_eq!(paused["ok"], true, "{paused:#}");
    assert_eq!(toy.status()["paused"], true);
    assert_ne!(toy.state_of_adapter(), Some('T'), "its own process was stopped");
    let resumed = toy.env.json(["resume", "-n", "toy"]);
    assert_eq!(resumed["ok"], true, "{resumed:#}");
    assert_ne!(toy.status()["paused"], true);
    toy.env.json(["interrupt", &id]);
    assert_eq!(toy.finish(&id)["status"], "interrupted");
    assert_eq!(toy.eval("paused")["data"]["value"], "no");
}

#[test]
fn k1_a_pause_that_the_bridge_refuses_is_an_error_and_no_pause() {
    let toy = Toy::launch("interrupts pauses", &["ADAPTER_STUBBORN=1"]);
    let id = toy.begin("loop");
    let paused = toy.env.json(["pause", "-n", "toy"]);
    assert_eq!(paused["ok"], false, "{paused:#}");
    assert!(paused.to_string().contains("this server does not stop"), "{paused:#}");
    assert_ne!(toy.status()["paused"], true);
    toy.env.json(["interrupt", &id]);
    assert_eq!(toy.finish(&id)["status"], "interrupted");
}

#[test]
fn e10_an_interrupt_wakes_what_the_bridge_has_paused() {
    let toy = Toy::launch("interrupts pauses", &[]);
    let id = toy.begin("loop");
    assert_eq!(toy.env.json(["pause", "-n", "toy"])["ok"], true);
    toy.env.json(["interrupt", &id]);
    assert_eq!(toy.finish(&id)["status"], "interrupted");
    assert_eq!(toy.eval("paused")["data"]["value"], "no");
    assert_ne!(toy.status()["paused"], true);
}

#[test]
fn e10_a_bridge_that_ends_instead_of_pausing_leaves_nobody_waiting() {
    let toy = Toy::launch("interrupts pauses", &["ADAPTER_DIES=1"]);
    let id = toy.begin("loop");
    let paused = toy.env.json(["pause", "-n", "toy"]);
    assert_eq!(paused["ok"], false, "{paused:#}");
    assert_eq!(toy.finish(&id)["status"], "ended");
}

#[test]
fn e10_a_pause_that_is_never_answered_ends_with_the_interpreter() {
    let toy = Toy::launch("interrupts pauses", &["ADAPTER_SILENT=1"]);
    let pause = toy.env.spawn(["pause", "-n", "toy", "--json"]);
    let asked = toy.env.workspace().join("asked");
    wait_for("the adapter to be asked", || asked.exists());
    assert_ne!(toy.status()["paused"], true);
    assert_eq!(toy.env.json(["restart", "-n", "toy"])["ok"], true);
    let paused = reply(pause);
    assert_eq!(paused["ok"], false, "{paused:#}");
    assert!(paused.to_string().contains("has ended"), "{paused:#}");
    assert_eq!(toy.eval("echo on")["data"]["value"], "on");
}

#[test]
fn k2_figures_of_processes_elsewhere_are_counted() {
    let toy = Toy::launch("figures", &[]);
    wait_for("figures from elsewhere", || toy.status()["memory_bytes"].as_u64() >= Some(1 << 50));
    let status = toy.status();
    assert!(status["processes"].as_u64() >= Some(8), "{status:#}");
    assert!(status["cpu_ms"].as_u64() >= Some(12_345_678), "{status:#}");
}

#[test]
fn k2_a_connection_that_was_lost_and_found_is_said_with_the_result() {
    let toy = Toy::launch("", &[]);
    let cut = toy.eval("cut 7");
    assert_eq!(cut["status"], "complete", "{cut:#}");
    assert_eq!(cut["data"]["value"], "7", "{cut:#}");
    let said = cut.to_string();
    for part in ["the server hung up", "it answers again", "may be missing"] {
        assert!(said.contains(part), "{part}: {cut:#}");
    }
    let later = toy.eval("echo on").to_string();
    assert!(!later.contains("hung up"), "{later}");
}

#[test]
fn k2_an_end_that_nobody_asked_for_has_its_reason() {
    let toy = Toy::launch("", &[]);
    let gone = toy.eval("gone");
    assert_eq!(gone["status"], "ended", "{gone:#}");
    assert!(gone.to_string().contains("the kernel was removed from its server"), "{gone:#}");
}

#[test]
fn k1_what_earlier_evals_write_elsewhere_is_background() {
    let toy = Toy::launch("", &[]);
    assert_eq!(toy.eval("later and later")["status"], "complete");
    let next = toy.eval("echo on");
    let chunks = next["data"]["chunks"].as_array().unwrap();
    let late = chunks.iter().find(|chunk| chunk["type"] == "background").unwrap();
    assert_eq!(late["content"], "and later\n", "{next:#}");
}

#[test]
fn o9_a_display_that_updates_an_earlier_one_says_so() {
    let toy = Toy::launch("", &[]);
    let shown = toy.eval("show 1 of 2");
    let chunk = &shown["data"]["chunks"][0];
    assert_eq!((&chunk["content"], &chunk["id"]), (&"1 of 2".into(), &"bar".into()), "{shown:#}");
    assert!(chunk["update"].is_null(), "{shown:#}");
    let redrawn = toy.eval("redraw 2 of 2");
    let chunk = &redrawn["data"]["chunks"][0];
    assert_eq!((&chunk["content"], &chunk["id"]), (&"2 of 2".into(), &"bar".into()), "{redrawn:#}");
    assert_eq!(chunk["update"], true, "{redrawn:#}");
}
