//! What sessions can be made of, as data: the table of languages, the toolchains, and what configuration files say. No IO here.
//!
//! Nothing that runs sessions knows a language by its name. Beside this table only what gives advice does (`client/hint/`,
//! the hints of the front ends), and the options of adapters that have some of their own (`--kernel`, `--url`). To add a
//! language is to add its bridge, an entry in `languages.rs` and a column in `tests/conformance`. A toolchain is a line in
//! `toolchains.rs`, a key of configuration files one in `keys.rs`.

mod address;
mod file;
#[cfg(test)]
mod file_tests;
mod file_values;
mod keys;
mod language;
mod languages;
#[cfg(test)]
mod page_tests;
mod plan;
mod plan_checks;
#[cfg(test)]
mod plan_tests;
mod problem;
mod schema;
mod session_plan;
mod syntax;
mod template;
mod toolchains;
mod value;

use stead_protocol::SessionName;

pub use address::server_address;
pub use file::{
    ConfigFile, ConfigTable, MOST_CONFIG, NamedTable, UnreadPart, read_config, read_partly,
    word_at_top,
};
pub use keys::{ConfigKey, KEYS, KeyKind, KeySpec, LOG_WORDS, Section, nearest};
pub use language::{
    Control, CopyMethod, Fed, Finder, FirstSteps, Language, OnPath, Start, VersionManagers,
};
pub use languages::{GATEWAY, JUPYTER, LANGUAGES, NREPL, SHELL};
pub use plan::{AskedStart, Configuration, PlanError};
pub use problem::ConfigProblem;
pub use schema::schema;
pub use session_plan::{PlannedEngine, SessionPlan};
pub use stead_bridges::TextId;
pub use template::{CommandTemplate, Placeholder, TemplateError};
pub use toolchains::{BuiltInToolchain, built_in, built_in_special, built_in_specials};
pub use value::{ConfigValue, FileOwner, Sourced, ValueOrigin, size, time};

/// How the sessions of one-off runs are called.
pub const RUN_PREFIX: &str = "run-";

/// Whether sessions of this name are made by stead itself, for shell commands and one-off runs.
pub fn is_reserved(name: &SessionName) -> bool {
    name.as_str().starts_with(RUN_PREFIX) || is_shell(name)
}

/// Whether a session of this name runs shell commands.
pub fn is_shell(name: &SessionName) -> bool {
    let rest =
        name.as_str().strip_prefix(SHELL.name).map(|rest| rest.strip_prefix('-').unwrap_or(rest));
    rest.is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_digit()))
}

/// The language of an eval that names neither a session nor a language (SPEC M-2).
pub fn default_language() -> &'static Language {
    &LANGUAGES[0]
}

/// The language of this name or alias.
pub fn language(text: &str) -> Option<&'static Language> {
    LANGUAGES.iter().find(|language| language.name == text || language.alias == text)
}

/// The one of the `known` languages and toolchains that somebody may mean who gives a word that is none of them.
pub fn meant<'a>(given: &str, known: &'a [String]) -> Option<&'a str> {
    let called = LANGUAGES.iter().find(|language| language.also_called.contains(&given));
    let called = called.and_then(|language| known.iter().find(|name| *name == language.name));
    match called {
        Some(name) => Some(name),
        None => nearest(given, known.iter().map(String::as_str)),
    }
}

/// The languages that are offered to people and models, in the order in which they are told.
pub fn offered() -> impl Iterator<Item = &'static Language> {
    LANGUAGES.iter().filter(|language| language.offered)
}

/// All that are offered, for a sentence: `python (py), bash (sh)`.
pub fn listing() -> String {
    let named = |language: &Language| match language.name == language.alias {
        true => language.name.to_owned(),
        false => format!("{} ({})", language.name, language.alias),
    };
    offered().map(named).collect::<Vec<_>>().join(", ")
}

/// The names of the sessions that are called after a language, for a sentence: `py, sh or js`.
pub fn session_names() -> String {
    let names: Vec<_> = offered().map(|language| language.alias).collect();
    match names.split_last() {
        Some((last, [])) => (*last).to_owned(),
        Some((last, others)) => format!("{} or {last}", others.join(", ")),
        None => String::new(),
    }
}

#[cfg(test)]
#[path = "lib_tests.rs"]
mod tests;
