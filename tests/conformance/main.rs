//! One list of behaviours, run on every language and interpreter that is found. A language joins
//! by filling its column; what it cannot do says why.

mod check;
mod list;
mod run;

use stead_testkit::{TestEnv, pythons};

use crate::list::{Behaviour, COLUMNS, Language, list};
use crate::run::Runner;

/// The binary under test.
const STEAD: &str = env!("CARGO_BIN_EXE_stead");

#[test]
fn every_language_behaves_as_the_list_says() {
    let behaviours = list();
    let mut failures = Vec::new();
    let mut rows: Vec<String> = behaviours.iter().map(|b| format!("{:56}", b.name())).collect();
    let mut head = format!("{:56}", "");
    for (label, language, env) in interpreters() {
        head += &format!(" {label:>8}");
        let mut runner = Runner::new(&env, language);
        for (behaviour, row) in behaviours.iter().zip(&mut rows) {
            let (mark, failure) = result(&mut runner, behaviour, language);
            *row += &format!(" {mark:>8}");
            failures.extend(failure.map(|why| format!("{label}: {}: {why}", behaviour.name())));
        }
    }
    println!("{head}\n{}", rows.join("\n"));
    for language in COLUMNS {
        for behaviour in &behaviours {
            if let Err(why) = behaviour.steps(language) {
                println!("{language:?} cannot: {}: {why}", behaviour.name());
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
}

fn result(
    runner: &mut Runner<'_>,
    behaviour: &Behaviour,
    language: Language,
) -> (&'static str, Option<String>) {
    match behaviour.steps(language) {
        Err(_) => ("-", None),
        Ok(steps) => match runner.run(steps) {
            Ok(()) => ("ok", None),
            Err(why) => ("FAILED", Some(why)),
        },
    }
}

/// Every interpreter to run the list on, each in an environment of its own.
fn interpreters() -> impl Iterator<Item = (String, Language, TestEnv)> {
    pythons().iter().map(|python| {
        let label = python.iter().rev().nth(2).unwrap_or_default().to_string_lossy();
        let label = label.rsplit_once('.').map_or("python", |(minor, _)| minor).to_owned();
        (label, Language::Python, TestEnv::with_python(STEAD, python))
    })
}
