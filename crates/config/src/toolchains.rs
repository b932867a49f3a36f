//! The toolchains that are built in, as data. Each language is one of its own name as well.

use stead_protocol::EnvironmentSource;

use crate::language::Language;

/// A toolchain that needs no configuration.
#[derive(Debug)]
pub struct BuiltInToolchain {
    /// Its name.
    pub name: &'static str,
    /// The language that it starts. One that is not in the table of languages is not offered.
    pub engine: &'static str,
    /// Which environment of the project its interpreter is taken from; where this is none, as sessions in that
    /// language find theirs.
    pub environment: Option<EnvironmentSource>,
    /// What it starts, in a few words.
    pub what: &'static str,
    /// How to make what it starts, where that is missing.
    pub make: &'static str,
}

/// All that are more than a language.
const BUILT_IN: &[BuiltInToolchain] = &[
    BuiltInToolchain {
        name: "python.venv",
        engine: "python",
        environment: Some(EnvironmentSource::Venv),
        what: "the nearest `.venv`, or `venv`",
        make: "python3 -m venv .venv",
    },
    BuiltInToolchain {
        name: "python.uv",
        engine: "python",
        environment: Some(EnvironmentSource::Uv),
        what: "the environment of the uv project",
        make: "uv sync",
    },
    BuiltInToolchain {
        name: "python.poetry",
        engine: "python",
        environment: Some(EnvironmentSource::Poetry),
        what: "the environment of the poetry project",
        make: "poetry install",
    },
    BuiltInToolchain {
        name: "python.conda",
        engine: "python",
        environment: Some(EnvironmentSource::Conda),
        what: "the conda environment that `environment.yml` names, else the active one",
        make: "conda env create",
    },
    BuiltInToolchain {
        name: "clojure.deps",
        engine: "nrepl",
        environment: Some(EnvironmentSource::Deps),
        what: "an nREPL server by the Clojure CLI, with the alias `:nrepl` of `deps.edn` where there is one",
        make: "install the Clojure CLI",
    },
    BuiltInToolchain {
        name: "clojure.lein",
        engine: "nrepl",
        environment: Some(EnvironmentSource::Lein),
        what: "an nREPL server by Leiningen",
        make: "install Leiningen",
    },
    BuiltInToolchain {
        name: "clojure.bb",
        engine: "nrepl",
        environment: Some(EnvironmentSource::Babashka),
        what: "an nREPL server in Babashka",
        make: "install Babashka",
    },
    BuiltInToolchain {
        name: "python.venv.jupyter",
        engine: "jupyter",
        environment: Some(EnvironmentSource::Venv),
        what: "the ipykernel of the nearest `.venv`, or `venv`",
        make: ".venv/bin/python -m pip install ipykernel",
    },
    BuiltInToolchain {
        name: "python.poetry.jupyter",
        engine: "jupyter",
        environment: Some(EnvironmentSource::Poetry),
        what: "the ipykernel of the poetry project's environment",
        make: "poetry add -G dev ipykernel",
    },
];

impl BuiltInToolchain {
    /// The language that it starts.
    pub fn language(&self) -> Option<&'static Language> {
        crate::language(self.engine)
    }
}

/// The built-in toolchain of this name, apart from languages.
pub fn built_in_special(name: &str) -> Option<&'static BuiltInToolchain> {
    built_in_specials().find(|one| one.name == name)
}

/// All built-in toolchains that are more than a language and whose language there is.
pub fn built_in_specials() -> impl Iterator<Item = &'static BuiltInToolchain> {
    BUILT_IN.iter().filter(|one| one.language().is_some())
}

/// The language that a built-in toolchain of this name starts, and which environment it is taken from. Languages count,
/// by their names and aliases.
pub fn built_in(name: &str) -> Option<(&'static Language, Option<EnvironmentSource>)> {
    match built_in_special(name) {
        Some(one) => Some((one.language()?, one.environment.clone())),
        None => crate::language(name).filter(|it| it.takes_code()).map(|it| (it, None)),
    }
}

#[cfg(test)]
mod tests {
    use stead_protocol::SessionName;

    use super::*;

    #[test]
    fn cf3_the_toolchains_of_the_spec_are_there_and_can_name_sessions() {
        let python = ["python", "python.venv", "python.poetry", "python.uv", "python.conda"];
        let clojure = ["clojure.deps", "clojure.lein", "clojure.bb"];
        for name in python.into_iter().chain(clojure).chain([
            "bash",
            "node",
            "jupyter",
            "python.venv.jupyter",
            "python.poetry.jupyter",
        ]) {
            assert!(built_in(name).is_some(), "{name}");
            assert!(name.parse::<SessionName>().is_ok());
        }
        assert_eq!(built_in("py").unwrap().0.name, "python");
        assert!(built_in("shell").is_none() && built_in("cobol").is_none());
    }
}
