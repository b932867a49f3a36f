//! Which interpreter a session runs: one file for each language, and what they share.

pub mod bash;
pub mod node;
pub mod python;
pub mod shell;
mod shims;

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use stead_protocol::FoundInterpreter;
use thiserror::Error;

pub(crate) use shims::{is_script, through_shim};

/// How a variable of the environment is looked up; a parameter so that tests need no real one.
pub type Env<'a> = &'a dyn Fn(&str) -> Option<OsString>;

/// More than any file has that says what a project needs.
const MOST_PROJECT_FILE: u64 = 4 << 20;

/// Why no interpreter was found.
#[derive(Debug, Error)]
pub enum FindError {
    /// The one that was named cannot be run.
    #[error("`{}` cannot be run: {why}", path.display())]
    Named {
        /// The path or name as given.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// None anywhere.
    #[error("no `{program}` was found (looked at {looked})")]
    None {
        /// The program's name.
        program: &'static str,
        /// Where was looked, in order.
        looked: String,
    },
    /// There are some, and none starts.
    #[error("no `{program}` starts: {passed_over}")]
    NoneStarts {
        /// The program's name.
        program: &'static str,
        /// Which were tried, and what is wrong with each.
        passed_over: String,
    },
    /// A shim was found that does not lead to an interpreter.
    #[error("`{}` is a launcher script and did not name an interpreter: {why}", path.display())]
    Shim {
        /// The shim.
        path: PathBuf,
        /// What it said.
        why: String,
    },
}

impl FindError {
    /// What is wrong, without what it is wrong with.
    pub(crate) fn why(self) -> String {
        match self {
            FindError::Named { why, .. } | FindError::Shim { why, .. } => why,
            other => other.to_string(),
        }
    }

    /// The next step.
    pub fn hint(&self) -> &'static str {
        match self {
            FindError::Named { .. } | FindError::Shim { .. } => {
                "name another interpreter with `--python`, `--bash` or `--node` and its path"
            }
            FindError::None { program: "bash", .. } => "install it, or name one with `--bash PATH`",
            FindError::None { program: "node", .. } => "install it, or name one with `--node PATH`",
            FindError::None { .. } | FindError::NoneStarts { .. } => {
                "install it, or name one with `--python PATH`"
            }
        }
    }
}

/// Whether this is a file that can be executed.
pub(crate) fn is_executable(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}

/// The first executable of this name on the PATH.
pub(crate) fn on_path(program: &str, env: Env<'_>) -> Option<PathBuf> {
    all_on_path(program, env).into_iter().next()
}

/// All executables of this name on the PATH, in its order.
pub(crate) fn all_on_path(program: &str, env: Env<'_>) -> Vec<PathBuf> {
    let path = env("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .filter(|dir| dir.is_absolute())
        .map(|dir| dir.join(program))
        .filter(|candidate| is_executable(candidate))
        .collect()
}

/// The executable that was named: a path, or a name on the PATH.
pub(crate) fn named_path(named: &str, cwd: &Path, env: Env<'_>) -> Result<PathBuf, FindError> {
    let error = |why: String| FindError::Named { path: named.into(), why };
    if !named.contains('/') {
        return on_path(named, env).ok_or_else(|| error("not found on `PATH`".to_owned()));
    }
    let path = cwd.join(named);
    match fs::metadata(&path) {
        Err(cause) => Err(error(cause.to_string())),
        Ok(_) if !is_executable(&path) => Err(error("it is not an executable file".to_owned())),
        Ok(_) => Ok(path),
    }
}

/// The interpreter at `path`, or the real one behind it if that is a shim, which tells it when it is
/// run with `arguments`.
pub(crate) fn resolved(
    path: PathBuf,
    why: String,
    arguments: &[&str],
    cwd: &Path,
    env: Env<'_>,
    cache_dir: &Path,
) -> Result<FoundInterpreter, FindError> {
    let (path, why) = if is_script(&path) {
        let real = through_shim(&path, arguments, cwd, env, cache_dir)?;
        (real, format!("{why}, through the shim {}", path.display()))
    } else {
        (path, why)
    };
    Ok(FoundInterpreter::new(path.to_string_lossy().into_owned(), why))
}

/// The directory and its ancestors, up to home or root.
pub(crate) fn upward<'a>(from: &'a Path, env: Env<'_>) -> impl Iterator<Item = &'a Path> + use<'a> {
    let home = env("HOME").map(PathBuf::from);
    let mut past_home = false;
    from.ancestors().take_while(move |dir| {
        let within = !past_home;
        past_home |= home.as_deref() == Some(dir);
        within
    })
}

/// A file of the user's project, if it can be read and is of any usual size.
pub(crate) fn users_text(path: &Path) -> Option<String> {
    stead_files::read_users_text(path, MOST_PROJECT_FILE).ok()
}
