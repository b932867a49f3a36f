//! Which shell runs commands.

use stead_protocol::FoundInterpreter;

use crate::find::{Env, FindError, on_path};

/// Bash if there is one, else the system's own shell.
pub fn find(env: Env<'_>) -> Result<FoundInterpreter, FindError> {
    let found = |name: &str| on_path(name, env).map(|path| (path, format!("`{name}` on `PATH`")));
    let (path, why) = found("bash")
        .or_else(|| found("sh"))
        .ok_or(FindError::None { program: "bash", looked: "`PATH`".to_owned() })?;
    Ok(FoundInterpreter::new(path.to_string_lossy().into_owned(), why))
}
