//! Executables on the PATH, and shims that stand before the real ones.

pub mod bash;
pub mod node;
pub mod python;
pub mod shell;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::Read;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{fs, io};

use stead_protocol::FoundInterpreter;
use thiserror::Error;

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

/// Whether the file begins with `#!`: pyenv, asdf and the like put scripts before the real thing,
/// which cost hundreds of milliseconds at every start.
pub(crate) fn is_script(path: &Path) -> bool {
    let mut head = [0; 2];
    stead_files::open_users(path).and_then(|mut file| file.read_exact(&mut head)).is_ok()
        && &head == b"#!"
}

/// Where a shim leads, asked once and then remembered in `cache_dir` for as long as nothing that
/// it may depend on changes.
pub(crate) fn through_shim(
    shim: &Path,
    arguments: &[&str],
    cwd: &Path,
    env: Env<'_>,
    cache_dir: &Path,
) -> Result<PathBuf, FindError> {
    let key = shim_key(shim, cwd, env);
    let cache = cache_dir.join("interpreters.json");
    let mut known: BTreeMap<String, PathBuf> = stead_files::read(&cache, stead_files::MOST_NOTE)
        .ok()
        .and_then(|bytes| serde_json::from_slice(&bytes).ok())
        .unwrap_or_default();
    if let Some(path) = known.get(&key).filter(|path| is_executable(path)) {
        return Ok(path.clone());
    }
    let real =
        ask(shim, arguments, cwd).map_err(|why| FindError::Shim { path: shim.to_owned(), why })?;
    known.retain(|_, path| is_executable(path));
    known.insert(key, real.clone());
    // A cache that cannot be written costs time at the next start and nothing else.
    let _ = store(&cache, &known);
    Ok(real)
}

fn ask(shim: &Path, arguments: &[&str], cwd: &Path) -> Result<PathBuf, String> {
    let output = Command::new(shim)
        .args(arguments)
        .current_dir(cwd)
        .stdin(Stdio::null())
        .output()
        .map_err(|error| error.to_string())?;
    let said = String::from_utf8_lossy(&output.stdout);
    let path = PathBuf::from(said.lines().last().unwrap_or_default().trim());
    if output.status.success() && path.is_absolute() && is_executable(&path) {
        return Ok(path);
    }
    let complaint = String::from_utf8_lossy(&output.stderr);
    Err(complaint.lines().last().unwrap_or("it printed nothing").trim().to_owned())
}

fn store(cache: &Path, known: &BTreeMap<String, PathBuf>) -> io::Result<()> {
    let fresh = cache.with_extension(format!("{}.tmp", std::process::id()));
    fs::write(&fresh, serde_json::to_vec(known)?)?;
    fs::rename(&fresh, cache)
}

/// A file of the user's project, if it can be read and is of any usual size.
pub(crate) fn users_text(path: &Path) -> Option<String> {
    stead_files::read_users_text(path, MOST_PROJECT_FILE).ok()
}

/// All that a version manager may look at when it decides which version to run.
fn shim_key(shim: &Path, cwd: &Path, env: Env<'_>) -> String {
    let mtime = |path: &Path| fs::metadata(path).map(|meta| meta.mtime()).unwrap_or_default();
    let mut key = format!("{} {}", shim.display(), mtime(shim));
    for name in [
        "PYENV_VERSION",
        "ASDF_PYTHON_VERSION",
        "MISE_PYTHON_VERSION",
        "NODENV_VERSION",
        "ASDF_NODEJS_VERSION",
        "MISE_NODE_VERSION",
    ] {
        key += &format!(" {}", env(name).unwrap_or_default().to_string_lossy());
    }
    let root = env("PYENV_ROOT").map(PathBuf::from);
    let home = env("HOME").map(PathBuf::from);
    let global = root.or_else(|| home.as_ref().map(|home| home.join(".pyenv")));
    if let Some(version) = global.and_then(|root| users_text(&root.join("version"))) {
        key += &format!(" {}", version.trim());
    }
    for file in [".python-version", ".node-version", ".nvmrc", ".tool-versions", "mise.toml"] {
        let found = cwd.ancestors().find_map(|dir| users_text(&dir.join(file)));
        key += &format!(" {}", found.unwrap_or_default().trim());
    }
    key
}
