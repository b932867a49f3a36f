//! Which Python a session gets (SPEC S-11).

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use stead_protocol::FoundInterpreter;

use crate::find::{Env, FindError, is_executable, named_path, on_path, resolved, upward};

/// What makes a Python behind a shim tell where it is.
const TELL: &[&str] = &["-c", "import sys; print(sys.executable)"];

/// Finds the Python for a session that starts in `cwd`: the one named, `VIRTUAL_ENV`, the nearest
/// `.venv`, the project's uv, poetry or conda environment, then `python3` on the PATH.
pub fn find(
    named: Option<&str>,
    cwd: &Path,
    env: Env<'_>,
    cache_dir: &Path,
) -> Result<FoundInterpreter, FindError> {
    if let Some(named) = named {
        let path = python_named(named, cwd, env)?;
        return resolved(path, "named by `--python`".to_owned(), TELL, cwd, env, cache_dir);
    }
    let found = virtual_env(env)
        .or_else(|| dot_venv(cwd, env))
        .or_else(|| uv(cwd, env))
        .or_else(|| poetry(cwd, env))
        .or_else(|| conda(cwd, env))
        .or_else(|| path_python(env));
    match found {
        Some((path, why)) => resolved(path, why, TELL, cwd, env, cache_dir),
        None => Err(FindError::None {
            program: "python3",
            looked: "`VIRTUAL_ENV`, `.venv`, uv, poetry, conda and `PATH`".to_owned(),
        }),
    }
}

type Candidate = (PathBuf, String);

/// A directory is taken for an environment.
fn python_named(named: &str, cwd: &Path, env: Env<'_>) -> Result<PathBuf, FindError> {
    let path = cwd.join(named);
    if !named.contains('/') || !path.is_dir() {
        return named_path(named, cwd, env);
    }
    let why = "it is a directory without `bin/python`".to_owned();
    let inside = path.join("bin/python");
    is_executable(&inside).then_some(inside).ok_or(FindError::Named { path: named.into(), why })
}

fn virtual_env(env: Env<'_>) -> Option<Candidate> {
    let venv = PathBuf::from(env("VIRTUAL_ENV")?);
    let python = venv.join("bin/python");
    is_executable(&python).then(|| (python, format!("`VIRTUAL_ENV` is {}", venv.display())))
}

fn dot_venv(cwd: &Path, env: Env<'_>) -> Option<Candidate> {
    let dir = upward(cwd, env).find(|dir| is_executable(&dir.join(".venv/bin/python")))?;
    Some((dir.join(".venv/bin/python"), format!("`.venv` in {}", dir.display())))
}

/// Without a `.venv` a uv project can only have its environment where the variable says.
fn uv(cwd: &Path, env: Env<'_>) -> Option<Candidate> {
    let project = upward(cwd, env).find(|dir| dir.join("uv.lock").is_file())?;
    let python = project.join(env("UV_PROJECT_ENVIRONMENT")?).join("bin/python");
    is_executable(&python).then(|| (python, format!("uv environment of {}", project.display())))
}

fn poetry(cwd: &Path, env: Env<'_>) -> Option<Candidate> {
    let uses_poetry = |dir: &&Path| {
        dir.join("poetry.lock").is_file()
            || fs::read_to_string(dir.join("pyproject.toml"))
                .is_ok_and(|text| text.contains("[tool.poetry") || text.contains("poetry.core"))
    };
    let project = upward(cwd, env).find(uses_poetry)?;
    let output = Command::new(on_path("poetry", env)?)
        .args(["env", "info", "--executable"])
        .current_dir(project)
        .stdin(Stdio::null())
        .output()
        .ok()?;
    let python = PathBuf::from(String::from_utf8(output.stdout).ok()?.trim());
    (output.status.success() && is_executable(&python))
        .then(|| (python, format!("poetry environment of {}", project.display())))
}

fn conda(cwd: &Path, env: Env<'_>) -> Option<Candidate> {
    let named = upward(cwd, env).find_map(|dir| {
        ["environment.yml", "environment.yaml"].iter().find_map(|file| {
            let text = fs::read_to_string(dir.join(file)).ok()?;
            let name = text.lines().find_map(|line| line.strip_prefix("name:"))?;
            Some((name.trim().trim_matches(['"', '\'']).to_owned(), dir.join(file)))
        })
    });
    if let Some((name, file)) = named {
        let python = conda_roots(env)
            .into_iter()
            .map(|root| root.join("envs").join(&name).join("bin/python"))
            .find(|python| is_executable(python));
        if let Some(python) = python {
            return Some((python, format!("conda environment `{name}` of {}", file.display())));
        }
    }
    let prefix = PathBuf::from(env("CONDA_PREFIX")?);
    let python = prefix.join("bin/python");
    is_executable(&python).then(|| (python, format!("`CONDA_PREFIX` is {}", prefix.display())))
}

fn conda_roots(env: Env<'_>) -> Vec<PathBuf> {
    let mut roots: Vec<PathBuf> = Vec::new();
    roots.extend(env("MAMBA_ROOT_PREFIX").map(PathBuf::from));
    // CONDA_EXE is ROOT/bin/conda.
    let exe = env("CONDA_EXE").map(PathBuf::from);
    roots.extend(exe.as_deref().and_then(Path::parent).and_then(Path::parent).map(Path::to_owned));
    if let Some(home) = env("HOME").map(PathBuf::from) {
        for dir in [".conda", "miniconda3", "anaconda3", "miniforge3", "mambaforge", "micromamba"] {
            roots.push(home.join(dir));
        }
    }
    roots
}

fn path_python(env: Env<'_>) -> Option<Candidate> {
    let python = on_path("python3", env).or_else(|| on_path("python", env))?;
    let why = format!("`{}` on `PATH`", python.file_name()?.to_string_lossy());
    Some((python, why))
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn executable(path: &Path, text: &str) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn env<'a>(pairs: &'a [(&'a str, &'a Path)]) -> impl Fn(&str) -> Option<OsString> + 'a {
        move |name| pairs.iter().find(|(key, _)| *key == name).map(|(_, value)| value.into())
    }

    #[test]
    fn s11_the_order_is_named_virtual_env_dot_venv_path() {
        let dir = tempfile::tempdir().unwrap();
        let at = |path: &str| dir.path().join(path);
        for python in ["active/bin/python", "ws/.venv/bin/python", "bin/python3", "mine"] {
            executable(&at(python), "\x7fELF");
        }
        let cwd = at("ws/deep/er");
        fs::create_dir_all(&cwd).unwrap();
        let (home, path, active) = (at("home"), at("bin"), at("active"));
        let all = [("HOME", &*home), ("PATH", &*path), ("VIRTUAL_ENV", &*active)];
        let find = |named: Option<&str>, env: Env<'_>, cwd: &Path| {
            find(named, cwd, env, dir.path()).map(|found| found.path)
        };
        let mine = at("mine").display().to_string();
        assert_eq!(find(Some(&mine), &env(&all), &cwd).unwrap(), mine);
        let got = find(None, &env(&all), &cwd).unwrap();
        assert_eq!(got, at("active/bin/python").display().to_string());
        let got = find(None, &env(&all[..2]), &cwd).unwrap();
        assert_eq!(got, at("ws/.venv/bin/python").display().to_string());
        let got = find(None, &env(&all[..2]), dir.path()).unwrap();
        assert_eq!(got, at("bin/python3").display().to_string());
        assert!(matches!(find(None, &env(&[]), dir.path()), Err(FindError::None { .. })));
        assert!(matches!(find(Some("./no"), &env(&all), &cwd), Err(FindError::Named { .. })));
    }

    #[test]
    fn s11_the_search_for_dot_venv_stops_at_home() {
        let dir = tempfile::tempdir().unwrap();
        executable(&dir.path().join(".venv/bin/python"), "\x7fELF");
        let home = dir.path().join("home");
        let cwd = home.join("project");
        fs::create_dir_all(&cwd).unwrap();
        assert!(find(None, &cwd, &env(&[("HOME", &home)]), dir.path()).is_err());
        executable(&home.join(".venv/bin/python"), "\x7fELF");
        assert!(find(None, &cwd, &env(&[("HOME", &home)]), dir.path()).is_ok());
    }

    #[test]
    fn s11_a_shim_is_resolved_once_and_again_when_its_version_file_changes() {
        let dir = tempfile::tempdir().unwrap();
        let (bin, real) = (dir.path().join("bin"), dir.path().join("real"));
        executable(&real, "\x7fELF");
        let shim = format!("#!/bin/sh\necho x >> {0}/asked\necho {0}/real\n", dir.path().display());
        executable(&bin.join("python3"), &shim);
        let lookup = [("PATH", &*bin)];
        let ask = || find(None, dir.path(), &env(&lookup), dir.path()).unwrap();
        let asked = || fs::read_to_string(dir.path().join("asked")).unwrap().lines().count();
        assert_eq!(ask().path, real.display().to_string());
        assert!(ask().why.contains("shim"));
        assert_eq!(asked(), 1);
        fs::write(dir.path().join(".python-version"), "3.9").unwrap();
        ask();
        assert_eq!(asked(), 2);
    }
}
