//! The environment that poetry made for a project, which only poetry knows the place of.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::asked::ProgramQuestion;
use super::python::Candidate;
use super::shims::Answers;
use super::{Search, is_executable, users_text};

/// The Python of the project's environment. Asking poetry takes a second, so its answer is kept.
pub(super) fn python(search: &Search<'_>) -> Option<Candidate> {
    let project = project(search)?;
    let program = search.on_path("poetry")?;
    let key = key(search, project, &program);
    let mut answers = Answers::open(search);
    let python = match answers.get(&key) {
        Some(none) if none.as_os_str().is_empty() => return None,
        Some(path) if is_executable(path) => path.to_owned(),
        _ => match ask(search, project, &program) {
            PoetryAnswer::At(python) => {
                answers.put(key, python.clone());
                python
            }
            PoetryAnswer::Nowhere => {
                answers.put(key, PathBuf::new());
                return None;
            }
            // A failure is not kept, because poetry may know more the next time.
            PoetryAnswer::Failed => return None,
        },
    };
    python
        .symlink_metadata()
        .is_ok()
        .then(|| (python, format!("poetry environment of {}", project.display())))
}

/// The project that a session is in, if poetry looks after it.
pub(super) fn project<'a>(search: &'a Search<'_>) -> Option<&'a Path> {
    let uses_poetry = |dir: &&Path| {
        dir.join("poetry.lock").is_file()
            || users_text(&dir.join("pyproject.toml"))
                .is_some_and(|text| text.contains("[tool.poetry") || text.contains("poetry.core"))
    };
    search.upward().find(uses_poetry)
}

/// The option that keeps poetry from running plugins.
const NO_PLUGINS: &str = "--no-plugins";

/// What poetry says of a project's environment.
#[derive(Debug, PartialEq, Eq)]
enum PoetryAnswer {
    /// Its Python.
    At(PathBuf),
    /// There is none.
    Nowhere,
    /// Poetry itself failed, or took too long.
    Failed,
}

fn ask(search: &Search<'_>, project: &Path, program: &Path) -> PoetryAnswer {
    let asked = |options: &[&str]| {
        let arguments = [options, &["env", "info", "--executable"]].concat();
        let question = ProgramQuestion::new(program, &arguments);
        search.programs.ask(&question.with_env(search.env).in_dir(project))
    };
    // Poetry runs plugins that lie in the project, and a mere search for an environment does not mean that
    // the user has allowed them.
    let said = match asked(&[NO_PLUGINS]) {
        // A poetry that does not know the option has no plugins.
        Ok(said) if !said.status.success() && said.err.contains(NO_PLUGINS) => asked(&[]),
        said => said,
    };
    let Ok(said) = said else { return PoetryAnswer::Failed };
    let python = PathBuf::from(said.out.trim());
    match said.status.code() {
        Some(0) if python.is_absolute() => PoetryAnswer::At(python),
        // Where there is no environment poetry says nothing at all; with any other trouble it complains.
        Some(1) if said.out.trim().is_empty() && said.err.trim().is_empty() => {
            PoetryAnswer::Nowhere
        }
        _ => PoetryAnswer::Failed,
    }
}

/// All that poetry's answer depends on: the project's files, and the directory in which it makes environments and
/// notes which of them is in use.
fn key(search: &Search<'_>, project: &Path, program: &Path) -> String {
    let changed = |path: PathBuf| {
        fs::metadata(path).map(|meta| (meta.mtime(), meta.mtime_nsec())).unwrap_or_default()
    };
    let var = |name: &str| search.var(name).map(PathBuf::from);
    let cache = var("POETRY_CACHE_DIR")
        .or_else(|| var("XDG_CACHE_HOME").map(|cache| cache.join("pypoetry")))
        .or_else(|| var("HOME").map(|home| home.join(".cache/pypoetry")))
        .unwrap_or_default();
    let made = var("POETRY_VIRTUALENVS_PATH").unwrap_or_else(|| cache.join("virtualenvs"));
    let times = [
        project.join("pyproject.toml"),
        project.join("poetry.lock"),
        project.join("poetry.toml"),
        made.join("envs.toml"),
        made,
    ]
    .map(changed);
    format!("poetry {} {} {times:?}", program.display(), project.display())
}
