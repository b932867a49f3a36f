//! One list of behaviours, run on every language and interpreter that is found. A language joins
//! by filling its column; what it cannot do says why.

mod bash;
mod check;
mod list;
mod node;
mod python;
mod run;

use stead_testkit::{TestEnv, nodes, pythons};

use crate::list::{BEHAVIOURS, COLUMNS, Column, Language};
use crate::run::Runner;

/// The binary under test.
const STEAD: &str = env!("CARGO_BIN_EXE_stead");

#[test]
fn every_language_behaves_as_the_list_says() {
    let mut failures = Vec::new();
    let mut rows: Vec<String> = BEHAVIOURS.iter().map(|name| format!("{name:56}")).collect();
    let mut head = format!("{:56}", "");
    for (label, language, env) in interpreters() {
        head += &format!(" {label:>8}");
        let mut runner = Runner::new(&env, language);
        for (behaviour, row) in BEHAVIOURS.iter().zip(&mut rows) {
            let (mark, failure) = result(&mut runner, behaviour, language);
            *row += &format!(" {mark:>8}");
            failures.extend(failure.map(|why| format!("{label}: {behaviour}: {why}")));
        }
    }
    println!("{head}\n{}", rows.join("\n"));
    for language in COLUMNS {
        for behaviour in BEHAVIOURS {
            if let Some(Column::Unsupported(why)) = language.column(behaviour) {
                println!("{language:?} cannot: {behaviour}: {why}");
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
}

fn result(
    runner: &mut Runner<'_>,
    behaviour: &str,
    language: Language,
) -> (&'static str, Option<String>) {
    match language.column(behaviour) {
        None => ("MISSING", Some("the language says nothing about it".to_owned())),
        Some(Column::Unsupported(_)) => ("-", None),
        Some(Column::Does(steps)) => match runner.run(steps) {
            Ok(()) => ("ok", None),
            Err(why) => ("FAILED", Some(why)),
        },
    }
}

/// Every interpreter to run the list on, each in an environment of its own.
fn interpreters() -> impl Iterator<Item = (String, Language, TestEnv)> {
    let pythons = pythons().iter().map(|python| {
        let label = python.iter().rev().nth(2).unwrap_or_default().to_string_lossy();
        let label = label.rsplit_once('.').map_or("python", |(minor, _)| minor).to_owned();
        (label, Language::Python, TestEnv::with_python(STEAD, python))
    });
    // Lazily, as above: an environment lives only while its column is run.
    let bash = std::iter::once_with(|| ("bash".to_owned(), Language::Bash, TestEnv::new(STEAD)));
    let nodes = nodes().iter().enumerate().map(|(n, node)| {
        (format!("node {}", n + 1), Language::Node, TestEnv::with_node(STEAD, node))
    });
    pythons.chain(bash).chain(nodes)
}
