//! One list of behaviours, run on every language; each interpreter is a test of its own. A language
//! joins with a `Column`; what it cannot do says why, here and in docs/conformance.md.
//!
//! `cargo test` runs `python`, `node` and `bash`, with the newest of each. The tests of a certain
//! version are marked `ignore`, because no machine has all of them: `./test` runs those of its tier.

mod bash;
mod clojure;
mod column;
mod gateway;
mod jupyter;
mod kernels;
mod list;
mod node;
mod python;
mod reply;
mod table;
mod talk;

use std::panic::{AssertUnwindSafe, catch_unwind};

use serde_json::json;
use stead_testkit::{TestEnv, ipykernel, kernel_of, kernel_python, node_of, python_of};

use crate::bash::BASH;
use crate::clojure::CLOJURE;
use crate::column::Column;
use crate::gateway::GATEWAY;
use crate::jupyter::{JUPYTER, XEUS};
use crate::kernels::R;
use crate::node::NODE;
use crate::python::PYTHON;
use crate::talk::{SessionHistory, Talk};

/// The binary under test.
const STEAD: &str = env!("CARGO_BIN_EXE_stead");

/// Every column there is.
static COLUMNS: [&Column; 8] = [&PYTHON, &BASH, &NODE, &JUPYTER, &XEUS, &R, &CLOJURE, &GATEWAY];

#[test]
fn python() {
    behaves_as_the_list_says(&PYTHON, &TestEnv::new(STEAD));
}

#[test]
fn bash() {
    behaves_as_the_list_says(&BASH, &TestEnv::new(STEAD));
}

/// A session that went back to a checkpoint is as good as any.
#[test]
fn python_after_a_rollback() {
    behaves(&PYTHON, &TestEnv::new(STEAD), SessionHistory::RolledBack);
}

#[test]
fn bash_after_a_rollback() {
    behaves(&BASH, &TestEnv::new(STEAD), SessionHistory::RolledBack);
}

#[test]
fn python_after_undo() {
    behaves(&PYTHON, &TestEnv::new(STEAD), SessionHistory::Undone);
}

#[test]
fn bash_after_undo() {
    behaves(&BASH, &TestEnv::new(STEAD), SessionHistory::Undone);
}

#[test]
fn node() {
    behaves_as_the_list_says(&NODE, &TestEnv::with_node(STEAD, &stead_testkit::node()));
}

/// One kernel, by the part of the list that is quick with a kernel; `./test --all` has the whole.
#[test]
fn jupyter() {
    let env = TestEnv::new(STEAD);
    env.install_kernel("ipykernel", &ipykernel());
    behaves_but(&JUPYTER, &env, SessionHistory::Nothing, jupyter::LONG);
}

/// Jupyter kernels, of which no machine has all: `./test --all` installs these and names their Python.
#[test]
#[ignore = "needs ipykernel 7, and is long"]
fn jupyter_ipykernel_7() {
    on_ipykernel();
}

#[test]
#[ignore = "needs ipykernel 6"]
fn jupyter_ipykernel_6() {
    on_ipykernel();
}

fn on_ipykernel() {
    let env = TestEnv::new(STEAD);
    env.install_kernel("ipykernel", &ipykernel());
    behaves_as_the_list_says(&JUPYTER, &env);
}

#[test]
#[ignore = "needs xeus-python"]
fn jupyter_xeus_python() {
    let env = TestEnv::new(STEAD);
    env.install_kernel("xpython", &kernel_of(&kernel_python(), "xpython_launcher"));
    behaves_as_the_list_says(&XEUS, &env);
}

/// Clojure behind its own nREPL server, which `./test --all` installs; the toolchain is one of the user's.
#[test]
#[ignore = "needs Debian's Clojure, and is long"]
fn clojure_nrepl() {
    let env = TestEnv::new(STEAD);
    let own = env.root().join("home/.config/stead");
    std::fs::create_dir_all(&own).unwrap();
    let command = stead_testkit::clojure();
    let table = format!("[toolchains.clojure]\nengine = \"nrepl\"\ncmd = {command:?}\n");
    std::fs::write(own.join("config.toml"), table).unwrap();
    behaves_as_the_list_says(&CLOJURE, &env);
}

/// R and its kernel are packages of Debian, whose own script for installing it needs more of Jupyter.
#[test]
#[ignore = "needs R with IRkernel"]
fn jupyter_irkernel() {
    let argv = ["R", "--slave", "-e", "IRkernel::main()", "--args", "{connection_file}"];
    on_kernel(&R, json!({"argv": argv, "language": "R"}));
}

fn on_kernel(column: &'static Column, spec: serde_json::Value) {
    let env = TestEnv::new(STEAD);
    env.install_kernel(column.kernel, &spec);
    behaves_as_the_list_says(column, &env);
}

#[test]
#[ignore = "is long"]
fn gateway() {
    let env = TestEnv::new(STEAD);
    let server = gateway::server(&env);
    behaves_as_the_list_says(&GATEWAY, &env);
    drop(server);
}

/// A test for each version of an interpreter; it fails where there is none of that version.
macro_rules! versions {
    ($check:ident: $($name:ident $version:literal,)*) => {$(
        #[test]
        #[ignore = "needs an interpreter of this version"]
        fn $name() {
            $check($version);
        }
    )*};
}

versions! { python_3:
    python_3_8 8, python_3_9 9, python_3_10 10, python_3_11 11, python_3_12 12, python_3_13 13,
    python_3_14 14, python_3_15 15,
}

versions! { node_major:
    node_18 18, node_19 19, node_20 20, node_21 21, node_22 22, node_23 23, node_24 24, node_25 25,
    node_26 26,
}

fn python_3(minor: u32) {
    behaves_as_the_list_says(&PYTHON, &TestEnv::with_python(STEAD, &python_of(minor)));
}

fn node_major(major: u32) {
    behaves_as_the_list_says(&NODE, &TestEnv::with_node(STEAD, &node_of(major)));
}

/// Runs the list, then what the language promises beyond it; `STEAD_BEHAVIOUR` chooses those whose name contains it.
fn behaves_as_the_list_says(column: &'static Column, env: &TestEnv) {
    behaves(column, env, SessionHistory::Nothing);
}

fn behaves(column: &'static Column, env: &TestEnv, history: SessionHistory) {
    behaves_but(column, env, history, &[]);
}

/// The same, without those that are named.
fn behaves_but(column: &'static Column, env: &TestEnv, history: SessionHistory, left_out: &[&str]) {
    let talk = Talk { env, column, history };
    let chosen = std::env::var("STEAD_BEHAVIOUR").unwrap_or_default();
    let mut failed = Vec::new();
    for (name, check) in list::behaviours().into_iter().chain(column.own.iter().copied()) {
        if !name.contains(&chosen) || left_out.contains(&name) {
            continue;
        }
        let began = std::time::Instant::now();
        let mark = match column.cannot(name) {
            Some(why) => format!("cannot: {why}"),
            None => match catch_unwind(AssertUnwindSafe(|| {
                talk.begin();
                check(&talk);
            })) {
                Ok(()) => "ok".to_owned(),
                Err(_) => {
                    failed.push(name);
                    env.stop_all();
                    "FAILED".to_owned()
                }
            },
        };
        println!("{name:72} {mark} ({} ms)", began.elapsed().as_millis());
    }
    assert!(failed.is_empty(), "these do not hold:\n{}", failed.join("\n"));
}
