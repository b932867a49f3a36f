//! One list of behaviours, run on every language; each interpreter is a test of its own. A language
//! joins with a `Column`; what it cannot do says why, here and in docs/conformance.md.
//!
//! `cargo test` runs `python`, `node` and `bash`, with the newest of each. The tests of a certain
//! version are marked `ignore`, because no machine has all of them: `./test` runs those of its tier.

mod bash;
mod cannot;
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
use stead_testkit::{
    TestEnv, clojure, deno, ipykernel, kernel_of, kernel_python, nbb, node_of, python_of, tslab,
};

use crate::bash::BASH;
use crate::clojure::{CLOJURE, NBB};
use crate::column::Column;
use crate::gateway::GATEWAY;
use crate::jupyter::{JUPYTER, XEUS};
use crate::kernels::{BASH_KERNEL, DENO, R, TSLAB};
use crate::node::NODE;
use crate::python::PYTHON;
use crate::talk::{SessionHistory, Talk};

/// The binary under test.
const STEAD: &str = env!("CARGO_BIN_EXE_stead");

/// Every column there is.
static COLUMNS: [&Column; 12] = [
    &PYTHON,
    &BASH,
    &NODE,
    &JUPYTER,
    &XEUS,
    &R,
    &BASH_KERNEL,
    &DENO,
    &TSLAB,
    &CLOJURE,
    &NBB,
    &GATEWAY,
];

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
    on_kernel(&JUPYTER, &ipykernel());
}

#[test]
#[ignore = "needs ipykernel 6"]
fn jupyter_ipykernel_6() {
    on_kernel(&JUPYTER, &ipykernel());
}

#[test]
#[ignore = "needs xeus-python"]
fn jupyter_xeus_python() {
    on_kernel(&XEUS, &kernel_of(&kernel_python(), "xpython_launcher"));
}

/// R and its kernel are packages of Debian, whose own script for installing it needs more of Jupyter.
#[test]
#[ignore = "needs R with IRkernel"]
fn jupyter_irkernel() {
    let argv = ["R", "--slave", "-e", "IRkernel::main()", "--args", "{connection_file}"];
    on_kernel(&R, &json!({"argv": argv, "language": "R"}));
}

#[test]
#[ignore = "needs bash_kernel"]
fn jupyter_bash_kernel() {
    on_kernel(&BASH_KERNEL, &kernel_of(&kernel_python(), "bash_kernel"));
}

#[test]
#[ignore = "needs Deno"]
fn jupyter_deno() {
    on_kernel(&DENO, &deno());
}

#[test]
#[ignore = "needs tslab"]
fn jupyter_tslab() {
    on_kernel(&TSLAB, &tslab());
}

fn on_kernel(column: &'static Column, spec: &serde_json::Value) {
    let env = TestEnv::new(STEAD);
    env.install_kernel(column.kernel, spec);
    behaves_as_the_list_says(column, &env);
}

/// Clojure behind its own nREPL server, which `./test --all` installs.
#[test]
#[ignore = "needs Debian's Clojure, and is long"]
fn clojure_nrepl() {
    on_server(&CLOJURE, &clojure());
}

#[test]
#[ignore = "is long"]
fn clojure_nbb() {
    on_server(&NBB, &nbb());
}

/// The toolchain that starts the server is one of the user's.
fn on_server(column: &'static Column, command: &str) {
    let env = TestEnv::new(STEAD);
    let own = env.root().join("home/.config/stead");
    std::fs::create_dir_all(&own).unwrap();
    let table = format!("[toolchains.{}]\nengine = \"nrepl\"\ncmd = {command:?}\n", column.kernel);
    std::fs::write(own.join("config.toml"), table).unwrap();
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

/// What became of a behaviour.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Holds,
    Fails,
    Cannot(&'static str),
}

/// The same, without those that are named. `STEAD_CANNOT` tries what the language is said not to do, and finds what it can.
fn behaves_but(column: &'static Column, env: &TestEnv, history: SessionHistory, left_out: &[&str]) {
    let talk = Talk { env, column, history };
    let chosen = std::env::var("STEAD_BEHAVIOUR").unwrap_or_default();
    let doubted = std::env::var_os("STEAD_CANNOT").is_some();
    let mut verdicts = Vec::new();
    for (name, check) in list::behaviours().into_iter().chain(column.own.iter().copied()) {
        let cannot = column.cannot(name);
        if !name.contains(&chosen) || left_out.contains(&name) || (doubted && cannot.is_none()) {
            continue;
        }
        let began = std::time::Instant::now();
        let verdict = match cannot {
            Some(why) if !doubted => Verdict::Cannot(why),
            _ => holds(&talk, check),
        };
        let mark = match verdict {
            Verdict::Holds => "ok".to_owned(),
            Verdict::Fails => "FAILED".to_owned(),
            Verdict::Cannot(why) => format!("cannot: {why}"),
        };
        println!("{name:72} {mark} ({} ms)", began.elapsed().as_millis());
        verdicts.push((name, verdict));
    }
    let of = |wanted: fn(Verdict) -> bool| {
        let names = verdicts.iter().filter(|(_, verdict)| wanted(*verdict)).map(|(name, _)| *name);
        names.collect::<Vec<_>>()
    };
    let (held, failed) = (of(|it| it == Verdict::Holds), of(|it| it == Verdict::Fails));
    let cannot = verdicts.len() - held.len() - failed.len();
    println!("{}: {} yes, {cannot} cannot, {} failed", column.language, held.len(), failed.len());
    match doubted {
        true => assert!(held.is_empty(), "these hold after all:\n{}", held.join("\n")),
        false => assert!(failed.is_empty(), "these do not hold:\n{}", failed.join("\n")),
    }
}

fn holds(talk: &Talk<'_>, check: fn(&Talk<'_>)) -> Verdict {
    let checked = catch_unwind(AssertUnwindSafe(|| {
        talk.begin();
        check(talk);
    }));
    if checked.is_ok() {
        return Verdict::Holds;
    }
    talk.env.stop_all();
    Verdict::Fails
}
