//! Which Python a session gets (SPEC S-11).

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use stead_config::VersionManagers;
use stead_protocol::FoundInterpreter;

use super::asked::{ProgramQuestion, Programs};
use crate::find::{FindError, NAMED, Search, is_executable, poetry, users_text};

/// Finds the Python for a session: the one named, `VIRTUAL_ENV`, the nearest `.venv`, the project's uv, poetry or
/// conda environment, then `python3` on the PATH. One that is there and does not start is named and passed over.
pub(super) fn find(
    managers: &VersionManagers,
    search: &Search<'_>,
) -> Result<FoundInterpreter, FindError> {
    if let Some(named) = search.named {
        return search.resolved(python_named(named, search)?, NAMED.to_owned(), managers);
    }
    let mut passed_over = Vec::new();
    // The sources are asked one after the other, because asking poetry takes a second.
    for source in [virtual_env, dot_venvs, uv, poetry, conda, path_pythons] {
        if let Some(found) = first_that_starts(source(search), managers, search, &mut passed_over) {
            return Ok(found);
        }
    }
    let looked = "`VIRTUAL_ENV`, `.venv`, uv, poetry, conda and `PATH`".to_owned();
    Err(match passed_over.is_empty() {
        true => FindError::None { program: "python3", looked },
        false => FindError::NoneStarts { program: "python3", passed_over: passed_over.join("; ") },
    })
}

pub(super) type Candidate = (PathBuf, String);

/// The first candidate that starts; the candidates before it are named in `passed_over`.
pub(super) fn first_that_starts(
    candidates: Vec<Candidate>,
    managers: &VersionManagers,
    search: &Search<'_>,
    passed_over: &mut Vec<String>,
) -> Option<FoundInterpreter> {
    for (path, why) in candidates {
        let usable = check(&path).and_then(|()| {
            let found = search
                .resolved(path.clone(), why.clone(), managers)
                .map_err(|error| error.why())?;
            let program = Path::new(&found.path);
            match (search.proven)(program) {
                true => Ok(()),
                false => starts(program, search.env, search.programs),
            }
            .map(|()| found)
        });
        match usable {
            Ok(found) => {
                let passed_over = std::mem::take(passed_over);
                return Some(FoundInterpreter { passed_over, ..found });
            }
            Err(wrong) => {
                passed_over.push(format!("`{}` ({why}) does not start: {wrong}", path.display()));
            }
        }
    }
    None
}

/// Why a candidate cannot be used, as far as that is known without starting it.
fn check(path: &Path) -> Result<(), String> {
    match path.metadata() {
        Err(_) if path.is_symlink() => Err("it is a link that leads nowhere".to_owned()),
        Err(error) => Err(error.to_string()),
        Ok(_) if !is_executable(path) => Err("it is not an executable file".to_owned()),
        Ok(_) => Ok(()),
    }
}

/// The Python of an environment, if it has one, whether that works or not.
pub(super) fn python_in(environment: &Path) -> Option<PathBuf> {
    let python = environment.join("bin/python");
    python.symlink_metadata().is_ok().then_some(python)
}

/// Starts a Python that does nothing, in this environment.
fn starts(
    program: &Path,
    env: &[(OsString, OsString)],
    programs: &dyn Programs,
) -> Result<(), String> {
    let question = ProgramQuestion::new(program, &["-S", "-c", ""]).with_env(env);
    let said = programs.ask(&question).map_err(|why| why.to_string())?;
    if said.status.success() {
        return Ok(());
    }
    let last = said.err.lines().map(str::trim).rfind(|line| !line.is_empty());
    Err(last.map_or_else(|| said.status.to_string(), str::to_owned))
}

/// The Python that the user named; a directory is taken for an environment.
fn python_named(named: &str, search: &Search<'_>) -> Result<PathBuf, FindError> {
    let path = search.cwd.join(named);
    let is_program = || !named.contains('/') && search.on_path(named).is_some();
    if !path.is_dir() || is_program() {
        return search.named_path(named);
    }
    let why = "it is a directory without `bin/python`".to_owned();
    let inside = path.join("bin/python");
    is_executable(&inside).then_some(inside).ok_or(FindError::Named { path: named.into(), why })
}

fn virtual_env(search: &Search<'_>) -> Vec<Candidate> {
    let found = search
        .var("VIRTUAL_ENV")
        .map(PathBuf::from)
        .and_then(|venv| Some((python_in(&venv)?, format!("`VIRTUAL_ENV` is {}", venv.display()))));
    found.into_iter().collect()
}

fn dot_venvs(search: &Search<'_>) -> Vec<Candidate> {
    let in_dir = |dir: &Path| {
        Some((python_in(&dir.join(".venv"))?, format!("`.venv` in {}", dir.display())))
    };
    search.upward().filter_map(in_dir).collect()
}

/// Without a `.venv`, a uv project can have its environment only where `UV_PROJECT_ENVIRONMENT` says.
fn uv(search: &Search<'_>) -> Vec<Candidate> {
    let Some(project) = search.upward().find(|dir| dir.join("uv.lock").is_file()) else {
        return Vec::new();
    };
    let python = search.var("UV_PROJECT_ENVIRONMENT").and_then(|dir| python_in(&project.join(dir)));
    python
        .map(|python| (python, format!("uv environment of {}", project.display())))
        .into_iter()
        .collect()
}

fn poetry(search: &Search<'_>) -> Vec<Candidate> {
    poetry::python(search).into_iter().collect()
}

/// The Python of the project's environment, whether that is active or only lies there. Whether it starts is not
/// tried.
pub(super) fn of_project(search: &Search<'_>) -> Option<PathBuf> {
    [virtual_env, dot_venvs, uv, poetry, conda]
        .into_iter()
        .flat_map(|source| source(search))
        .map(|(path, _)| path)
        .find(|path| check(path).is_ok())
}

pub(super) fn conda(search: &Search<'_>) -> Vec<Candidate> {
    let mut found = Vec::new();
    let named = search.upward().find_map(|dir| {
        ["environment.yml", "environment.yaml"].iter().find_map(|file| {
            let text = users_text(&dir.join(file))?;
            let name = text.lines().find_map(|line| line.strip_prefix("name:"))?;
            Some((name.trim().trim_matches(['"', '\'']).to_owned(), dir.join(file)))
        })
    });
    if let Some((name, file)) = named {
        let python = conda_roots(search)
            .into_iter()
            .find_map(|root| python_in(&root.join("envs").join(&name)))
            .or_else(|| listed_by_conda(search, &name));
        if let Some(python) = python {
            found.push((python, format!("conda environment `{name}` of {}", file.display())));
        }
    }
    if let Some(prefix) = search.var("CONDA_PREFIX").map(PathBuf::from)
        && let Some(python) = python_in(&prefix)
    {
        found.push((python, format!("`CONDA_PREFIX` is {}", prefix.display())));
    }
    found
}

/// Conda lists all environments that it has made, wherever they are.
fn listed_by_conda(search: &Search<'_>, name: &str) -> Option<PathBuf> {
    let list = users_text(&PathBuf::from(search.var("HOME")?).join(".conda/environments.txt"))?;
    list.lines()
        .map(|line| Path::new(line.trim()))
        .filter(|prefix| prefix.is_absolute() && prefix.ends_with(name))
        .find_map(python_in)
}

fn conda_roots(search: &Search<'_>) -> Vec<PathBuf> {
    let mut roots: Vec<PathBuf> = Vec::new();
    roots.extend(search.var("MAMBA_ROOT_PREFIX").map(PathBuf::from));
    // CONDA_EXE is ROOT/bin/conda.
    let exe = search.var("CONDA_EXE").map(PathBuf::from);
    roots.extend(exe.as_deref().and_then(Path::parent).and_then(Path::parent).map(Path::to_owned));
    if let Some(home) = search.var("HOME").map(PathBuf::from) {
        for dir in [".conda", "miniconda3", "anaconda3", "miniforge3", "mambaforge", "micromamba"] {
            roots.push(home.join(dir));
        }
    }
    roots
}

fn path_pythons(search: &Search<'_>) -> Vec<Candidate> {
    let of = |program: &'static str| {
        search
            .all_on_path(program)
            .into_iter()
            .map(move |python| (python, format!("`{program}` on `PATH`")))
    };
    of("python3").chain(of("python")).collect()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;
    use crate::Patient;
    use crate::find::executable;

    fn env(pairs: &[(&str, &Path)]) -> Vec<(OsString, OsString)> {
        pairs.iter().map(|(name, value)| (name.into(), value.into())).collect()
    }

    /// Finds an interpreter, trusting `proven` that it starts.
    fn find(
        named: Option<&str>,
        cwd: &Path,
        env: &[(OsString, OsString)],
        cache_dir: &Path,
        proven: &dyn Fn(&Path) -> bool,
    ) -> Result<FoundInterpreter, FindError> {
        let python = stead_config::language("python").unwrap();
        crate::find(python, &Search { named, cwd, env, cache_dir, proven, programs: &Patient })
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
        let find = |named: Option<&str>, env: &[(OsString, OsString)], cwd: &Path| {
            find(named, cwd, env, dir.path(), &|_| true).map(|found| found.path)
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
        let search = || find(None, &cwd, &env(&[("HOME", &home)]), dir.path(), &|_| true);
        assert!(search().is_err());
        executable(&home.join(".venv/bin/python"), "\x7fELF");
        assert!(search().is_ok());
    }

    #[test]
    fn s11_a_shim_is_resolved_once_and_again_when_its_version_file_changes() {
        let dir = tempfile::tempdir().unwrap();
        let (bin, real) = (dir.path().join("bin"), dir.path().join("real"));
        executable(&real, "\x7fELF");
        let shim = format!("#!/bin/sh\necho x >> {0}/asked\necho {0}/real\n", dir.path().display());
        executable(&bin.join("python3"), &shim);
        let lookup = [("PATH", &*bin)];
        let proven = |program: &Path| program == real;
        let ask = || find(None, dir.path(), &env(&lookup), dir.path(), &proven).unwrap();
        let asked = || fs::read_to_string(dir.path().join("asked")).unwrap().lines().count();
        assert_eq!(ask().path, real.display().to_string());
        assert!(ask().why.contains("shim"));
        assert_eq!(asked(), 1);
        fs::write(dir.path().join(".python-version"), "3.9").unwrap();
        ask();
        assert_eq!(asked(), 2);
    }

    #[test]
    fn s11_what_is_there_and_does_not_start_is_named_and_passed_over() {
        let dir = tempfile::tempdir().unwrap();
        let at = |path: &str| dir.path().join(path);
        executable(&at("ws/a/b/.venv/bin/python"), "#!/nonexistent/python\n");
        executable(&at("ws/a/.venv/bin/python"), "\x7fELF of another machine");
        executable(&at("plain/bin/python"), "\x7fELF");
        fs::set_permissions(at("plain/bin/python"), fs::Permissions::from_mode(0o644)).unwrap();
        fs::create_dir_all(at("ws/.venv/bin")).unwrap();
        std::os::unix::fs::symlink("/nonexistent/python", at("ws/.venv/bin/python")).unwrap();
        executable(&at("bin/python3"), "\x7fELF");
        executable(&at("later/python3"), "\x7fELF");
        let (home, cwd, plain) = (at("home"), at("ws/a/b"), at("plain"));
        let path = PathBuf::from(format!("{}:{}", at("bin").display(), at("later").display()));
        let lookup = [("HOME", &*home), ("PATH", &*path), ("VIRTUAL_ENV", &*plain)];
        let proven = |program: &Path| program.starts_with(at("later"));
        let found = find(None, &cwd, &env(&lookup), dir.path(), &proven).unwrap();
        assert_eq!(found.path, at("later/python3").display().to_string());
        let said = found.passed_over.join("\n");
        for (path, why) in [
            ("plain/bin/python", "not an executable"),
            ("ws/a/b/.venv/bin/python", "No such file"),
            ("ws/a/.venv/bin/python", "Exec format error"),
            ("ws/.venv/bin/python", "leads nowhere"),
            ("bin/python3", "Exec format error"),
        ] {
            let named = at(path).display().to_string();
            let line = said.lines().find(|line| line.contains(&named)).expect(&said);
            assert!(line.contains(why), "{line}");
        }
        let none = find(None, &cwd, &env(&lookup), dir.path(), &|_| false);
        assert!(none.unwrap_err().to_string().contains("later/python3"));
    }

    #[test]
    fn cf4_what_came_with_a_project_is_found_without_running_it() {
        let dir = tempfile::tempdir().unwrap();
        let at = |path: &str| dir.path().join(path);
        let script = format!("#!/bin/sh\ntouch {}\n", at("ran").display());
        executable(&at("ws/.venv/bin/python"), &script);
        let (cwd, home) = (at("ws/sub"), at("home"));
        fs::create_dir_all(&cwd).unwrap();
        let looks = |program: &Path| crate::came_with_project(program, &at("ws"), &cwd);
        let found = find(None, &cwd, &env(&[("HOME", &home)]), dir.path(), &looks).unwrap();
        assert_eq!(found.path, at("ws/.venv/bin/python").display().to_string());
        assert!(!at("ran").exists());
        // One above the workspace is no more the user's own.
        assert!(crate::came_with_project(&at(".venv/bin/python"), &at("ws"), &cwd));
        assert!(!crate::came_with_project(Path::new("/usr/bin/python3"), &at("ws"), &cwd));
    }

    #[test]
    fn s11_a_program_that_starts_is_told_from_one_that_does_not() {
        let dir = tempfile::tempdir().unwrap();
        let at = |path: &str| dir.path().join(path);
        executable(&at("good"), "#!/bin/sh\nexit 0\n");
        executable(&at("bad"), "#!/bin/sh\necho 'no libpython' >&2\nexit 127\n");
        executable(&at("shebang"), "#!/nonexistent\n");
        executable(&at("elf"), "\x7fELF");
        let starts = |name: &str| starts(&at(name), &[], &Patient);
        assert_eq!(starts("good"), Ok(()));
        assert_eq!(starts("bad"), Err("no libpython".to_owned()));
        assert!(starts("shebang").unwrap_err().contains("No such file"));
        assert!(starts("elf").is_err());
    }
}
