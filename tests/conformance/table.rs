//! The list as a table for readers: docs/conformance.md, which the test keeps true.

use std::fmt::Write as _;
use std::path::Path;

use crate::COLUMNS;
use crate::column::Column;
use crate::list::behaviours;

const BEGIN: &str = "# What every language does

By this list a language is judged (`tests/conformance`). \"yes\" is tested; a language that cannot do something says why below. To
write this page anew after the list has changed: `just bless`.
";

fn table() -> String {
    let mut page = BEGIN.to_owned();
    let languages = COLUMNS.map(|column| column.language);
    let _ = write!(
        page,
        "\n| behaviour | {} |\n|---|{}\n",
        languages.join(" | "),
        "---|".repeat(COLUMNS.len())
    );
    for (name, _) in behaviours() {
        let words =
            COLUMNS.map(|column| if column.cannot(name).is_some() { "**no**" } else { "yes" });
        let _ = writeln!(page, "| {name} | {} |", words.join(" | "));
    }
    let count = |column: &Column| {
        let yes = behaviours().iter().filter(|(name, _)| column.cannot(name).is_none()).count();
        format!("{yes} yes, {} no", behaviours().len() - yes)
    };
    let _ = writeln!(page, "| **in all** | {} |", COLUMNS.map(count).join(" | "));
    page += "\n## What a language cannot do\n\n| language | why | behaviours |\n|---|---|---|\n";
    for column in COLUMNS {
        for (why, lacks) in column.cannot {
            let _ = writeln!(page, "| {} | {why} | {} |", column.language, lacks.join("; "));
        }
    }
    page +=
        "\n## What a language promises beyond the list\n\n| language | behaviour |\n|---|---|\n";
    for column in COLUMNS {
        for (name, _) in column.own {
            let _ = writeln!(page, "| {} | {name} |", column.language);
        }
    }
    page
}

#[test]
fn the_page_about_languages_is_true() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/conformance.md");
    if std::env::var_os("STEAD_BLESS").is_some() {
        std::fs::write(&path, table()).unwrap();
    }
    let page = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(page == table(), "docs/conformance.md is not the list's; `just bless` writes it anew");
}

#[test]
fn every_language_that_is_offered_has_a_column() {
    let offered: Vec<_> = stead_config::offered().map(|it| (it.name, it.alias)).collect();
    let own = COLUMNS.into_iter().filter(|column| column.kernel.is_empty());
    let own: Vec<_> = own.map(|column| (column.language, column.session)).collect();
    assert_eq!(own, offered);
}

#[test]
fn what_a_language_cannot_do_is_on_the_list() {
    let list = behaviours();
    let mut names: Vec<_> = list.iter().map(|(name, _)| *name).collect();
    assert!(names.len() >= 60, "{}", names.len());
    for column in COLUMNS {
        let lacks: Vec<_> = column.cannot.iter().flat_map(|(_, lacks)| *lacks).collect();
        for (at, name) in lacks.iter().enumerate() {
            assert!(names.contains(name), "{}: no behaviour `{name}`", column.language);
            assert!(!lacks[..at].contains(name), "{}: `{name}` twice", column.language);
        }
        assert!(column.cannot.iter().all(|(why, _)| !why.is_empty()), "{}", column.language);
    }
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), list.len(), "a behaviour has a name of its own");
}
