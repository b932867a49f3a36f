//! The pages about configuration are true: their tables are made of the keys, and their examples are right.

use std::fs;
use std::path::{Path, PathBuf};

use crate::{Configuration, FileOwner, KEYS, KeyKind, Section, read_config};

fn page(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(name)
}

fn takes(kind: KeyKind) -> String {
    match kind {
        KeyKind::Name => "a name".to_owned(),
        KeyKind::Path => "a path".to_owned(),
        KeyKind::Address => "an address".to_owned(),
        KeyKind::Code => "code".to_owned(),
        KeyKind::Text => "a text".to_owned(),
        KeyKind::Flag => "`true` or `false`".to_owned(),
        KeyKind::Time => "a time".to_owned(),
        KeyKind::Size => "a size".to_owned(),
        KeyKind::Command => "a command".to_owned(),
        KeyKind::Variables => "a table of texts".to_owned(),
        KeyKind::Word(words) => {
            words.iter().map(|word| format!("`\"{word}\"`")).collect::<Vec<_>>().join(", ")
        }
    }
}

fn table() -> String {
    let mut text = "| key | where | takes | what it is for |\n|---|---|---|---|\n".to_owned();
    for spec in KEYS {
        let places: Vec<&str> = spec
            .sections
            .iter()
            .map(|section| match section {
                Section::Top => "top",
                Section::Session => "session",
                Section::Toolchain => "toolchain",
                Section::Gateway => "gateway",
            })
            .collect();
        let whose = if spec.users_only { "; only in your own file" } else { "" };
        text += &format!(
            "| `{}` | {} | {}, such as `{}` | {}{whose} |\n",
            spec.name,
            places.join(", "),
            takes(spec.kind),
            spec.example,
            spec.what
        );
    }
    text
}

#[test]
fn cf1_the_page_has_every_key() {
    let path = page("config.md");
    let text = fs::read_to_string(&path).unwrap();
    let (before, rest) = text.split_once("<!-- keys:").unwrap();
    let (mark, rest) = rest.split_once("-->\n").unwrap();
    let (_, after) = rest.split_once("<!-- end -->").unwrap();
    let right = format!("{before}<!-- keys:{mark}-->\n{}<!-- end -->{after}", table());
    if std::env::var_os("STEAD_BLESS").is_some() {
        fs::write(&path, &right).unwrap();
    }
    assert!(
        fs::read_to_string(&path).unwrap() == right,
        "docs/config.md does not have the keys as they are; renew it with\n    \
         STEAD_BLESS=1 cargo test -p stead-config the_page"
    );
}

#[test]
fn cf1_every_example_of_the_pages_and_of_the_keys_is_right() {
    let mut tried = 0;
    for name in ["config.md", "toolchains.md"] {
        let text = fs::read_to_string(page(name)).unwrap();
        for block in text.split("```toml\n").skip(1) {
            let toml = block.split("```").next().unwrap();
            let file = read_config(toml, Path::new(name), FileOwner::Workspace);
            let file = file.unwrap_or_else(|problems| panic!("{toml}: {problems:?}"));
            assert_eq!(Configuration { user: None, workspace: Some(file) }.problems(), []);
            tried += 1;
        }
    }
    assert!(tried >= 2);
    for spec in KEYS {
        for section in spec.sections {
            let head = match section {
                Section::Top => "",
                Section::Session => "[sessions.x]\n",
                Section::Toolchain => "[toolchains.python]\n",
                Section::Gateway if spec.name == "url" => "[gateways.x]\n",
                Section::Gateway => "[gateways.x]\nurl = \"http://h/\"\n",
            };
            let text = format!("{head}{} = {}\n", spec.name, spec.example);
            let read = read_config(&text, Path::new("x"), FileOwner::User);
            assert!(read.is_ok(), "{text}: {read:?}");
        }
    }
}
