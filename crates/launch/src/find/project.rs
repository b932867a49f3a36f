//! The Python of one kind of environment only, for toolchains that name it (SPEC CF-3): what there is, or what is missing
//! and how to make it.

use std::path::{Path, PathBuf};

use stead_config::VersionManagers;
use stead_protocol::{EnvironmentSource, FoundInterpreter};

use super::python::{self, Candidate};
use super::{FindError, Search, poetry, users_text};

/// Finds the Python of an environment of this kind.
pub(super) fn find(
    source: &EnvironmentSource,
    managers: &VersionManagers,
    search: &Search<'_>,
) -> Result<FoundInterpreter, FindError> {
    let candidates = match source {
        EnvironmentSource::Venv => venv(search),
        EnvironmentSource::Uv => uv(search),
        EnvironmentSource::Poetry => poetry(search),
        EnvironmentSource::Conda => conda(search),
        EnvironmentSource::Deps | EnvironmentSource::Lein | EnvironmentSource::Babashka => {
            missing("that is no environment of Python".to_owned(), "name another toolchain")
        }
        EnvironmentSource::Unknown(written) => {
            let name = written.as_str().map_or_else(|| written.to_string(), str::to_owned);
            missing(
                format!("this version knows no environments of the kind `{name}`"),
                "use the stead that started the session",
            )
        }
    }?;
    let mut passed_over = Vec::new();
    python::first_that_starts(candidates, managers, search, &mut passed_over).ok_or_else(|| {
        let passed_over = passed_over.join("; ");
        FindError::NoneStarts { program: "python", passed_over }
    })
}

fn missing<T>(missing: String, make: &str) -> Result<T, FindError> {
    Err(FindError::NoEnvironment { missing, make: make.to_owned() })
}

fn venv(search: &Search<'_>) -> Result<Vec<Candidate>, FindError> {
    let in_dir = |dir: &Path| {
        let python = |name: &str| python::python_in(&dir.join(name));
        let plain = || python("venv").filter(|_| dir.join("venv/pyvenv.cfg").is_file());
        let (name, python) =
            python(".venv").map(|it| (".venv", it)).or_else(|| Some(("venv", plain()?)))?;
        Some((python, format!("`{name}` in {}", dir.display())))
    };
    let found: Vec<Candidate> = search.upward().filter_map(in_dir).collect();
    match found.is_empty() {
        true => missing(
            format!("there is no `.venv` in `{}` or above", search.cwd.display()),
            "make one: `python3 -m venv .venv`",
        ),
        false => Ok(found),
    }
}

fn uv(search: &Search<'_>) -> Result<Vec<Candidate>, FindError> {
    let has = |file: &'static str| move |dir: &&Path| dir.join(file).is_file();
    let project = search
        .upward()
        .find(has("uv.lock"))
        .or_else(|| search.upward().find(has("pyproject.toml")));
    let Some(project) = project else {
        let what = format!(
            "there is no `uv.lock` or `pyproject.toml` in `{}` or above",
            search.cwd.display()
        );
        return missing(what, "make a project: `uv init`, then `uv sync`");
    };
    let place = search.var("UV_PROJECT_ENVIRONMENT").filter(|dir| !dir.is_empty());
    let place = project.join(place.map_or_else(|| PathBuf::from(".venv"), PathBuf::from));
    match python::python_in(&place) {
        Some(python) => Ok(vec![(python, format!("uv environment of {}", project.display()))]),
        None => {
            let make = match search.on_path("uv") {
                Some(_) => format!("make it: `uv sync` in {}", project.display()),
                None => "install uv (https://docs.astral.sh/uv), then `uv sync`".to_owned(),
            };
            let what = "has no environment yet";
            missing(format!("the uv project `{}` {what}", project.display()), &make)
        }
    }
}

fn poetry(search: &Search<'_>) -> Result<Vec<Candidate>, FindError> {
    if let Some(found) = poetry::python(search) {
        return Ok(vec![found]);
    }
    let Some(project) = poetry::project(search) else {
        let what = format!(
            "there is no poetry project in `{}` or above (`poetry.lock`, or `pyproject.toml` with `[tool.poetry]`)",
            search.cwd.display()
        );
        return missing(what, "make one: `poetry init`, then `poetry install`");
    };
    if search.on_path("poetry").is_none() {
        let what = format!(
            "`poetry` is not on the `PATH`, and only it knows the environment of `{}`",
            project.display()
        );
        return missing(what, "install it: `pipx install poetry`");
    }
    let what = format!("the poetry project `{}` has no environment yet", project.display());
    missing(what, &format!("make it: `poetry install` in {}", project.display()))
}

fn conda(search: &Search<'_>) -> Result<Vec<Candidate>, FindError> {
    let found = python::conda(search);
    if !found.is_empty() {
        return Ok(found);
    }
    let names_one = search.upward().find_map(|dir| {
        ["environment.yml", "environment.yaml"]
            .iter()
            .map(|file| dir.join(file))
            .find(|file| users_text(file).is_some())
    });
    match names_one {
        Some(file) => missing(
            format!("the conda environment of `{}` is not there", file.display()),
            &format!("make it: `conda env create -f {}`", file.display()),
        ),
        None => missing(
            format!(
                "there is no `environment.yml` in `{}` or above, and no conda environment is active",
                search.cwd.display()
            ),
            "write one, or activate an environment",
        ),
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;
    use std::fs;

    use super::*;
    use crate::Patient;
    use crate::find::executable;

    struct Project {
        _dir: tempfile::TempDir,
        root: PathBuf,
    }

    impl Project {
        fn new() -> Project {
            let dir = tempfile::tempdir().unwrap();
            let root = dir.path().canonicalize().unwrap();
            for name in ["home", "bin", "ws/deep"] {
                fs::create_dir_all(root.join(name)).unwrap();
            }
            Project { _dir: dir, root }
        }

        fn write(&self, path: &str, text: &str) {
            fs::create_dir_all(self.root.join(path).parent().unwrap()).unwrap();
            fs::write(self.root.join(path), text).unwrap();
        }

        fn find(&self, source: EnvironmentSource) -> Result<FoundInterpreter, FindError> {
            let var = |name: &str, path: &str| (OsString::from(name), self.root.join(path).into());
            let env = [var("HOME", "home"), var("PATH", "bin")];
            let cwd = self.root.join("ws/deep");
            let search = Search {
                named: None,
                cwd: &cwd,
                env: &env,
                cache_dir: &self.root,
                proven: &|_| true,
                programs: &Patient,
            };
            crate::find_in(&source, stead_config::language("python").unwrap(), &search)
        }

        #[track_caller]
        fn missing(&self, source: EnvironmentSource) -> (String, String) {
            match self.find(source).unwrap_err() {
                FindError::NoEnvironment { missing, make } => (missing, make),
                other => panic!("{other}"),
            }
        }
    }

    #[test]
    fn cf3_each_kind_says_what_is_missing_and_how_to_make_it() {
        let project = Project::new();
        for (source, what, how) in [
            (EnvironmentSource::Venv, "no `.venv`", "python3 -m venv"),
            (EnvironmentSource::Uv, "no `uv.lock`", "uv init"),
            (EnvironmentSource::Poetry, "no poetry project", "poetry init"),
            (EnvironmentSource::Conda, "no `environment.yml`", "activate"),
            (EnvironmentSource::Unknown("nix".into()), "`nix`", "stead"),
        ] {
            let (missing, make) = project.missing(source);
            assert!(missing.contains(what) && make.contains(how), "{missing}: {make}");
        }
        project.write("ws/uv.lock", "");
        assert!(project.missing(EnvironmentSource::Uv).1.contains("install uv"));
        executable(&project.root.join("bin/uv"), "\x7fELF");
        assert!(project.missing(EnvironmentSource::Uv).1.contains("`uv sync`"));
        project.write("ws/poetry.lock", "");
        assert!(project.missing(EnvironmentSource::Poetry).1.contains("install poetry"));
        executable(&project.root.join("bin/poetry"), "#!/bin/sh\nexit 1\n");
        assert!(project.missing(EnvironmentSource::Poetry).1.contains("`poetry install`"));
        project.write("ws/environment.yml", "name: data\n");
        assert!(project.missing(EnvironmentSource::Conda).1.contains("conda env create"));
    }

    #[test]
    fn cf3_each_kind_finds_its_own_environment_and_no_other() {
        let project = Project::new();
        let python = |at: &str| executable(&project.root.join(at).join("bin/python"), "\x7fELF");
        let found = |source| project.find(source).map(|found| (found.path, found.why)).unwrap();
        python("ws/venv");
        project.write("ws/venv/pyvenv.cfg", "");
        assert!(found(EnvironmentSource::Venv).0.ends_with("ws/venv/bin/python"));
        python("ws/.venv");
        assert!(found(EnvironmentSource::Venv).0.ends_with("ws/.venv/bin/python"));
        project.write("ws/pyproject.toml", "[project]\nname = 'x'\n");
        let (path, why) = found(EnvironmentSource::Uv);
        assert!(path.ends_with("ws/.venv/bin/python") && why.contains("uv environment"), "{why}");
        python("cache/poetry");
        let place = project.root.join("cache/poetry/bin/python");
        let answer = format!("#!/bin/sh\necho {}\n", place.display());
        executable(&project.root.join("bin/poetry"), &answer);
        project.write("ws/poetry.lock", "");
        let (path, why) = found(EnvironmentSource::Poetry);
        assert!(path.ends_with("cache/poetry/bin/python") && why.contains("poetry"), "{path}");
        project.write("ws/environment.yml", "name: data\n");
        python("home/miniconda3/envs/data");
        let (path, why) = found(EnvironmentSource::Conda);
        assert!(path.ends_with("envs/data/bin/python") && why.contains("conda"), "{path}");
        // One that is listed elsewhere.
        fs::remove_dir_all(project.root.join("home/miniconda3")).unwrap();
        python("elsewhere/data");
        let line = format!("/gone/data\n{}\n", project.root.join("elsewhere/data").display());
        project.write("home/.conda/environments.txt", &line);
        assert!(found(EnvironmentSource::Conda).0.ends_with("elsewhere/data/bin/python"));
    }
}
