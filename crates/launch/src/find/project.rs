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
#[path = "project_tests.rs"]
mod tests;
