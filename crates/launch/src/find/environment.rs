//! The Python environment of a project, in force for a session and all that it starts as if somebody had activated it
//! (SPEC S-11).

use std::ffi::{OsStr, OsString};
use std::path::{Component, Path, PathBuf};

use super::{Search, python};

/// What a `PATH` that is not set stands for.
const USUAL_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// An environment with programs of its own in `bin`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Environment {
    prefix: PathBuf,
    kind: EnvironmentKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum EnvironmentKind {
    Venv,
    Conda,
}

impl EnvironmentKind {
    /// The variable that names the environment that is active.
    fn variable(self) -> &'static str {
        match self {
            EnvironmentKind::Venv => "VIRTUAL_ENV",
            EnvironmentKind::Conda => "CONDA_PREFIX",
        }
    }
}

impl Environment {
    /// The environment that a Python belongs to, if it is in one.
    pub fn of(python: &Path, env: &[(OsString, OsString)]) -> Option<Environment> {
        let bin = python.parent().filter(|dir| dir.file_name() == Some(OsStr::new("bin")))?;
        let prefix = plain(bin.parent()?);
        let is_active = || variable(env, "VIRTUAL_ENV").is_some_and(|active| prefix == *active);
        let is_venv = prefix.join("pyvenv.cfg").is_file()
            || prefix.file_name() == Some(OsStr::new(".venv"))
            || is_active();
        let kind = match is_venv {
            true => EnvironmentKind::Venv,
            false if prefix.join("conda-meta").is_dir() => EnvironmentKind::Conda,
            false => return None,
        };
        Some(Environment { prefix, kind })
    }

    /// The environment of the project that a directory lies in. No interpreter is started to find it.
    pub fn of_project(search: &Search<'_>) -> Option<Environment> {
        let python = python::of_project(search)?;
        Environment::of(&python, search.env)
    }

    /// Its directory.
    pub(super) fn prefix(&self) -> &Path {
        &self.prefix
    }

    /// Changes variables as the environment's `activate` does.
    pub fn activate(&self, env: &mut Vec<(OsString, OsString)>) {
        let bin = self.prefix.join("bin");
        let path = variable(env, "PATH").filter(|path| !path.is_empty());
        let path = path.unwrap_or_else(|| OsStr::new(USUAL_PATH)).to_owned();
        let mut dirs = std::env::split_paths(&path);
        // If the user activated this environment, directories that were put before it on the PATH since then
        // stay before it.
        let in_force =
            variable(env, self.kind.variable()).is_some_and(|active| self.prefix == *active);
        let has_place =
            if in_force { dirs.any(|dir| dir == bin) } else { dirs.next() == Some(bin.clone()) };
        let mut set = |name: &str, value: Option<OsString>| {
            env.retain(|(known, _)| known != name);
            env.extend(value.map(|value| (name.into(), value)));
        };
        if !has_place {
            let mut first = bin.into_os_string();
            first.push(":");
            first.push(&path);
            set("PATH", Some(first));
        }
        set("PYTHONHOME", None);
        if in_force {
            return;
        }
        set(self.kind.variable(), Some(self.prefix.clone().into_os_string()));
        match self.kind {
            EnvironmentKind::Venv => set("VIRTUAL_ENV_PROMPT", None),
            EnvironmentKind::Conda => {
                // `VIRTUAL_ENV` would have precedence in tools that look at both variables.
                set("VIRTUAL_ENV", None);
                set("CONDA_DEFAULT_ENV", self.prefix.file_name().map(OsStr::to_owned));
            }
        }
    }
}

fn variable<'a>(env: &'a [(OsString, OsString)], name: &str) -> Option<&'a OsStr> {
    env.iter().rfind(|(known, _)| known == name).map(|(_, value)| value.as_os_str())
}

/// The path without `..`, which the user may have named the environment with.
fn plain(path: &Path) -> PathBuf {
    let is_plain =
        !path.components().any(|part| matches!(part, Component::ParentDir | Component::CurDir));
    match is_plain {
        true => path.to_owned(),
        false => path.canonicalize().unwrap_or_else(|_| path.to_owned()),
    }
}

#[cfg(test)]
#[path = "environment_tests.rs"]
mod tests;
