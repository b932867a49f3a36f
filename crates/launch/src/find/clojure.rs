//! Clojure's tools, each of which can start an nREPL server (SPEC CF-3).

use std::path::{Path, PathBuf};

use stead_protocol::{EnvironmentSource, FoundInterpreter};

use super::shims::is_script;
use super::{FindError, Search, users_text};

/// The nREPL that the Clojure CLI is told to take where the project names none.
const NREPL_DEPS: &str = "{:deps {nrepl/nrepl {:mvn/version \"1.3.1\"}}}";

/// The program of a toolchain, and the words that start an nREPL server with it. `{port}` in them is to be filled in.
pub fn find(
    source: &EnvironmentSource,
    search: &Search<'_>,
) -> Result<(FoundInterpreter, Vec<String>), FindError> {
    let (program, why, rest) = match source {
        EnvironmentSource::Deps => {
            let program = clojure_cli(search)?;
            let (rest, why) = with_deps(search);
            (program, why, rest)
        }
        EnvironmentSource::Lein => {
            let make = "install Leiningen (https://leiningen.org)";
            let rest = ["repl", ":headless", ":host", "127.0.0.1", ":port", "{port}"];
            (on_path("lein", make, search)?, "the Leiningen on the PATH", words(&rest))
        }
        EnvironmentSource::Babashka => {
            let make = "install Babashka (https://babashka.org)";
            let rest = ["--nrepl-server", "{port}"];
            (on_path("bb", make, search)?, "the Babashka on the PATH", words(&rest))
        }
        EnvironmentSource::Venv
        | EnvironmentSource::Uv
        | EnvironmentSource::Poetry
        | EnvironmentSource::Conda
        | EnvironmentSource::Unknown(_) => {
            return missing(
                "that is no environment of Clojure".to_owned(),
                "name another toolchain",
            );
        }
    };
    let program = program.to_string_lossy().into_owned();
    let all = std::iter::once(escaped(&program)).chain(rest).collect();
    Ok((FoundInterpreter::new(program, why.to_owned()), all))
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

/// A word with nothing to fill in.
fn escaped(word: &str) -> String {
    word.replace('{', "{{").replace('}', "}}")
}

fn missing<T>(missing: String, make: &str) -> Result<T, FindError> {
    Err(FindError::NoEnvironment { missing, make: make.to_owned() })
}

fn on_path(program: &str, make: &str, search: &Search<'_>) -> Result<PathBuf, FindError> {
    match search.on_path(program) {
        Some(path) => Ok(path),
        None => missing(format!("there is no `{program}` on the PATH"), make),
    }
}

/// The Clojure CLI. `clj` is the same with a line editor around it, and is taken where there is nothing else. Debian's `clojure`
/// is another program, which knows no `deps.edn`.
fn clojure_cli(search: &Search<'_>) -> Result<PathBuf, FindError> {
    let make = "install the Clojure CLI (https://clojure.org/guides/install_clojure)";
    let all = ["clojure", "clj"].into_iter().flat_map(|name| search.all_on_path(name));
    let (fitting, others): (Vec<_>, Vec<_>) = all.partition(|path| knows_deps(path));
    match (fitting.into_iter().next(), others.first()) {
        (Some(path), _) => Ok(path),
        (None, Some(other)) => missing(
            format!("`{}` is not the Clojure CLI: it knows no `deps.edn`", other.display()),
            make,
        ),
        (None, None) => missing("there is no `clojure` on the PATH".to_owned(), make),
    }
}

/// Whether a program is the Clojure CLI: its script speaks of `deps.edn`, or hands over to the one that does.
fn knows_deps(path: &Path) -> bool {
    let text = || users_text(path).unwrap_or_default();
    !is_script(path) || ["deps", "clojure \"$@\""].iter().any(|part| text().contains(part))
}

/// How the Clojure CLI is told to start a server. An alias `:nrepl` knows which nREPL the project wants; where there is none,
/// one is added to what the project has.
fn with_deps(search: &Search<'_>) -> (Vec<String>, &'static str) {
    let home = search.var("HOME").map(|home| PathBuf::from(home).join(".clojure"));
    let users = search.var("CLJ_CONFIG").map(PathBuf::from).or(home);
    let files = [Some(search.cwd.join("deps.edn")), users.map(|dir| dir.join("deps.edn"))];
    let texts: Vec<String> = files.iter().flatten().filter_map(|file| users_text(file)).collect();
    let alias = texts.iter().find_map(|text| alias(text, ":nrepl"));
    let main = ["-m", "nrepl.cmdline", "--port", "{port}"];
    match alias {
        Some(alias) if alias.contains(":main-opts") => (
            words(&["-M:nrepl", "--port", "{port}"]),
            "the Clojure CLI on the PATH, with the alias `:nrepl`",
        ),
        Some(_) => {
            let rest = std::iter::once("-M:nrepl").chain(main).map(str::to_owned).collect();
            (rest, "the Clojure CLI on the PATH, with the alias `:nrepl`")
        }
        None => {
            let deps = escaped(NREPL_DEPS);
            let rest = ["-Sdeps", &deps, "-M"].into_iter().chain(main);
            (rest.map(str::to_owned).collect(), "the Clojure CLI on the PATH, with nREPL added")
        }
    }
}

/// The map behind a key in a file of EDN, as it is written.
fn alias<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    text.match_indices(key).find_map(|(at, _)| {
        let rest = &text[at + key.len()..];
        let map = rest.trim_start_matches(|c: char| c.is_whitespace() || c == ',');
        // If no map follows, the text is only the beginning of a longer key.
        let is_key = map.starts_with('{');
        let mut depth = 0;
        let end = map.char_indices().find_map(|(at, c)| {
            match c {
                '{' => depth += 1,
                '}' => depth -= 1,
                _ => {}
            }
            (depth == 0).then_some(at + 1)
        });
        is_key.then(|| &map[..end.unwrap_or(map.len())])
    })
}

#[cfg(test)]
#[path = "clojure_tests.rs"]
mod tests;
