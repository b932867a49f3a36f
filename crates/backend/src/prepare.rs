//! How a session's settings become a command to start.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use stead_launch::{Command, FindError};
use stead_protocol::{FoundInterpreter, SessionName, Settings};
use thiserror::Error;

/// Why a session's interpreter cannot even be named.
#[derive(Debug, Error)]
pub enum PrepareError {
    /// None was found.
    #[error(transparent)]
    Find(#[from] FindError),
    /// There is no backend for this language.
    #[error("`{language}` is not a language this version speaks")]
    Language {
        /// The language asked for.
        language: String,
    },
}

/// A command to start, and the bridge to feed to it, if it does not bring its own.
pub type Prepared = (FoundInterpreter, Command, Option<&'static str>);

/// Finds the interpreter for these settings and says how to start it.
///
/// `tag` goes into the environment of everything the session starts, so that processes which a
/// killed host left behind can be told apart.
pub fn prepare(
    settings: &Settings,
    name: &SessionName,
    tag: &str,
    cache_dir: &Path,
) -> Result<Prepared, PrepareError> {
    let cwd = PathBuf::from(&settings.cwd);
    let mut env: Vec<(OsString, OsString)> = std::env::vars_os()
        .filter(|(name, _)| name != "STEAD_PAUSE_AT" && name != "STEAD_BRIDGE_FD")
        .collect();
    let mut set = |name: &str, value: &str| {
        env.retain(|(known, _)| known != name);
        env.push((name.into(), value.into()));
    };
    for (name, value) in &settings.env {
        set(name, value);
    }
    let (tag_name, tag_value) = tag.split_once('=').unwrap_or((tag, ""));
    set(tag_name, tag_value);
    set("STEAD_SESSION", name.as_str());
    if let Some(bridge) = &settings.bridge {
        let path = cwd.join(bridge);
        let found = FoundInterpreter {
            path: path.to_string_lossy().into_owned(),
            why: "named by `--bridge`".to_owned(),
        };
        return Ok((found, Command { program: path, arguments: vec![], env, cwd }, None));
    }
    match settings.language.as_str() {
        "python" => {
            // Figures need no display and no configuration (SPEC PY-17); a choice of the user's stays.
            if !env.iter().any(|(known, _)| known == "MPLBACKEND") {
                env.push(("MPLBACKEND".into(), "Agg".into()));
            }
            let lookup = |name: &str| {
                env.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone())
            };
            let found = stead_launch::python::find(
                settings.interpreter.as_deref(),
                &cwd,
                &lookup,
                cache_dir,
            )?;
            let command = Command {
                program: PathBuf::from(&found.path),
                arguments: vec!["-c".into(), stead_bridges::PYTHON_BOOT.trim().into()],
                env,
                cwd,
            };
            Ok((found, command, Some(stead_bridges::PYTHON)))
        }
        other => Err(PrepareError::Language { language: other.to_owned() }),
    }
}
