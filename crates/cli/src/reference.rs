//! docs/cli.md, written from the help texts.

use clap::CommandFactory;

use crate::Cli;

/// Columns of a help text; the width of the terminal must not matter.
const WIDTH: usize = 100;

/// All help texts as one page of Markdown.
fn page() -> String {
    let mut cli = Cli::command().term_width(WIDTH);
    cli.build();
    let mut page = String::from(
        "# The command line\n\nWritten from the help texts: `STEAD_BLESS=1 cargo test -p stead-cli \
         reference`.\n",
    );
    let mut section = |title: &str, help: String| {
        let help: Vec<&str> = help.lines().map(str::trim_end).collect();
        page.push_str(&format!("\n## {title}\n\n```text\n{}\n```\n", help.join("\n").trim_end()));
    };
    section("stead", cli.clone().render_long_help().to_string());
    for command in cli.get_subcommands().filter(|command| command.get_name() != "help") {
        let help = command.clone().term_width(WIDTH).render_long_help().to_string();
        section(&format!("stead {}", command.get_name()), help);
    }
    page
}

#[test]
fn c10_the_reference_matches_the_help_texts() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/cli.md");
    let page = page();
    if std::env::var_os("STEAD_BLESS").is_some() {
        std::fs::write(path, &page).expect("docs/cli.md is written");
        return;
    }
    let kept = std::fs::read_to_string(path).unwrap_or_default();
    let differ = kept.lines().zip(page.lines()).position(|(kept, now)| kept != now);
    assert!(
        kept == page,
        "docs/cli.md is not what the help texts say (first at line {}); renew it with\n    \
         STEAD_BLESS=1 cargo test -p stead-cli reference",
        differ.unwrap_or(kept.lines().count().min(page.lines().count())) + 1
    );
}
