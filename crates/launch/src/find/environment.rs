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
mod tests {
    use std::fs;

    use super::*;
    use crate::Patient;
    use crate::find::executable;

    fn env(pairs: &[(&str, &str)]) -> Vec<(OsString, OsString)> {
        pairs.iter().map(|(name, value)| (name.into(), value.into())).collect()
    }

    fn text(env: &[(OsString, OsString)], name: &str) -> Option<String> {
        variable(env, name).map(|value| value.to_str().unwrap().to_owned())
    }

    fn venv(at: &Path) -> PathBuf {
        executable(&at.join("bin/python"), "\x7fELF");
        fs::write(at.join("pyvenv.cfg"), "home = /usr/bin\n").unwrap();
        at.join("bin/python")
    }

    #[test]
    fn s11_an_environment_is_in_force_as_if_activated() {
        let dir = tempfile::tempdir().unwrap();
        let prefix = dir.path().join(".venv");
        let python = venv(&prefix);
        let mut vars =
            env(&[("PATH", "/usr/bin:/bin"), ("PYTHONHOME", "/x"), ("VIRTUAL_ENV", "/old")]);
        let found = Environment::of(&python, &vars).unwrap();
        found.activate(&mut vars);
        let path = format!("{}/bin:/usr/bin:/bin", prefix.display());
        assert_eq!(text(&vars, "PATH"), Some(path.clone()));
        assert_eq!(text(&vars, "VIRTUAL_ENV").as_deref(), prefix.to_str());
        assert_eq!(text(&vars, "PYTHONHOME"), None);
        found.activate(&mut vars);
        assert_eq!(text(&vars, "PATH"), Some(path));
        let mut none = env(&[]);
        found.activate(&mut none);
        assert_eq!(text(&none, "PATH").unwrap(), format!("{}/bin:{USUAL_PATH}", prefix.display()));
    }

    #[test]
    fn s11_one_that_the_user_activated_keeps_its_place() {
        let dir = tempfile::tempdir().unwrap();
        let active = dir.path().join("active");
        let python = venv(&active);
        let own = active.display().to_string();
        let path = format!("/mine:{own}/bin:/usr/bin");
        let mut vars = env(&[("PATH", &path), ("VIRTUAL_ENV", &own)]);
        let found = Environment::of(&python, &vars).unwrap();
        found.activate(&mut vars);
        assert_eq!(text(&vars, "PATH"), Some(path));
        let mut vars = env(&[("PATH", "/usr/bin"), ("VIRTUAL_ENV", &own)]);
        found.activate(&mut vars);
        assert_eq!(text(&vars, "PATH"), Some(format!("{own}/bin:/usr/bin")));
    }

    #[test]
    fn s11_conda_has_a_variable_of_its_own_and_a_plain_python_none() {
        let dir = tempfile::tempdir().unwrap();
        let prefix = dir.path().join("envs/data");
        executable(&prefix.join("bin/python"), "\x7fELF");
        let python = prefix.join("bin/python");
        assert_eq!(Environment::of(&python, &[]), None);
        fs::create_dir(prefix.join("conda-meta")).unwrap();
        let mut vars = env(&[("PATH", "/bin"), ("VIRTUAL_ENV", "/old")]);
        let roundabout = dir.path().join("envs/../envs/data/bin/python");
        let found = Environment::of(&roundabout, &vars).unwrap();
        found.activate(&mut vars);
        let real = prefix.canonicalize().unwrap();
        assert_eq!(text(&vars, "CONDA_PREFIX").as_deref(), real.to_str());
        assert_eq!(text(&vars, "CONDA_DEFAULT_ENV").as_deref(), Some("data"));
        assert_eq!(text(&vars, "VIRTUAL_ENV"), None);
    }

    #[test]
    fn s11_the_environment_of_a_project_is_found_without_starting_its_python() {
        let dir = tempfile::tempdir().unwrap();
        let at = |path: &str| dir.path().join(path);
        let cwd = at("ws/deep");
        fs::create_dir_all(&cwd).unwrap();
        let home = at("home").display().to_string();
        let of = |vars: &[(OsString, OsString)]| {
            let search = Search {
                named: None,
                cwd: &cwd,
                env: vars,
                cache_dir: dir.path(),
                proven: &|_| false,
                programs: &Patient,
            };
            Environment::of_project(&search).map(|found| found.prefix)
        };
        let vars = env(&[("HOME", &home)]);
        assert_eq!(of(&vars), None);
        fs::create_dir_all(at("ws/deep/.venv/bin")).unwrap();
        std::os::unix::fs::symlink("/nonexistent", at("ws/deep/.venv/bin/python")).unwrap();
        assert_eq!(of(&vars), None);
        venv(&at("ws/.venv"));
        assert_eq!(of(&vars), Some(at("ws/.venv")));
        venv(&at("active"));
        let active = at("active").display().to_string();
        assert_eq!(of(&env(&[("HOME", &home), ("VIRTUAL_ENV", &active)])), Some(at("active")));
    }

    #[test]
    fn s11_poetry_is_asked_once_until_something_changes() {
        let dir = tempfile::tempdir().unwrap();
        let at = |path: &str| dir.path().join(path);
        venv(&at("elsewhere"));
        let poetry = format!(
            "#!/bin/sh\necho x >> {0}/asked\necho {0}/elsewhere/bin/python\n",
            dir.path().display()
        );
        executable(&at("bin/poetry"), &poetry);
        fs::create_dir(at("ws")).unwrap();
        fs::create_dir(at("cache")).unwrap();
        fs::write(at("ws/pyproject.toml"), "[tool.poetry]\nname = \"x\"\n").unwrap();
        let vars =
            env(&[("PATH", at("bin").to_str().unwrap()), ("HOME", at("home").to_str().unwrap())]);
        let (cwd, cache) = (at("ws"), at("cache"));
        let of = || {
            let search = Search {
                named: None,
                cwd: &cwd,
                env: &vars,
                cache_dir: &cache,
                proven: &|_| false,
                programs: &Patient,
            };
            Environment::of_project(&search).map(|found| found.prefix)
        };
        let asked = || fs::read_to_string(at("asked")).unwrap().lines().count();
        assert_eq!(of(), Some(at("elsewhere")));
        assert_eq!((of(), asked()), (Some(at("elsewhere")), 1));
        fs::write(at("ws/poetry.lock"), "").unwrap();
        assert_eq!((of(), asked()), (Some(at("elsewhere")), 2));
        fs::remove_file(at("elsewhere/bin/python")).unwrap();
        assert_eq!((of(), asked()), (None, 3));
        // That there is no environment is an answer, and is kept; that poetry failed is not.
        venv(&at("elsewhere"));
        for (way, asked_again) in [
            ("echo 'no connection' >&2; exit 1", true),
            ("kill -9 $$", true),
            ("exit 127", true),
            ("exit 1", false),
        ] {
            executable(
                &at("bin/poetry"),
                &format!("#!/bin/sh\necho x >> {}/asked\n{way}\n", dir.path().display()),
            );
            fs::remove_dir_all(at("cache")).unwrap();
            fs::create_dir(at("cache")).unwrap();
            let before = asked();
            assert_eq!((of(), of()), (None, None), "{way}");
            assert_eq!(asked() - before, if asked_again { 2 } else { 1 }, "{way}");
        }
    }
}
