//! One list of behaviours, run on every language; each interpreter is a test of its own. A language
//! joins by filling its column; what it cannot do says why.
//!
//! `cargo test` runs `python`, `node` and `bash`, with the newest of each. The tests of a certain
//! version are marked `ignore`, because no machine has all of them: `./test` runs those of its tier.

mod bash;
mod check;
mod list;
mod node;
mod python;
mod run;

use stead_testkit::{TestEnv, node_of, python_of};

use crate::list::{BEHAVIOURS, Column, Language};
use crate::run::Runner;

/// The binary under test.
const STEAD: &str = env!("CARGO_BIN_EXE_stead");

#[test]
fn python() {
    behaves_as_the_list_says(Language::Python, &TestEnv::new(STEAD));
}

#[test]
fn bash() {
    behaves_as_the_list_says(Language::Bash, &TestEnv::new(STEAD));
}

#[test]
fn node() {
    behaves_as_the_list_says(Language::Node, &TestEnv::with_node(STEAD, &stead_testkit::node()));
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
    let env = TestEnv::with_python(STEAD, &python_of(minor));
    behaves_as_the_list_says(Language::Python, &env);
}

fn node_major(major: u32) {
    behaves_as_the_list_says(Language::Node, &TestEnv::with_node(STEAD, &node_of(major)));
}

fn behaves_as_the_list_says(language: Language, env: &TestEnv) {
    let mut runner = Runner::new(env, language);
    let mut failures = Vec::new();
    for behaviour in BEHAVIOURS {
        let (mark, failure) = result(&mut runner, behaviour, language);
        println!("{behaviour:56} {mark}");
        failures.extend(failure.map(|why| format!("{behaviour}: {why}")));
    }
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
}

fn result(
    runner: &mut Runner<'_>,
    behaviour: &str,
    language: Language,
) -> (String, Option<String>) {
    match language.column(behaviour) {
        None => ("MISSING".to_owned(), Some("the language says nothing about it".to_owned())),
        Some(Column::Unsupported(why)) => (format!("cannot: {why}"), None),
        Some(Column::Does(steps)) => match runner.run(steps) {
            Ok(()) => ("ok".to_owned(), None),
            Err(why) => ("FAILED".to_owned(), Some(why)),
        },
    }
}
