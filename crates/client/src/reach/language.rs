//! The languages that sessions can be started in by name (SPEC S-5).

use stead_protocol::{ErrorCode, EvalId, Keeps, SessionName, WireError};

use crate::{Client, ClientError};

/// The language of sessions that run shell commands, each in a fresh shell.
pub const SHELL: &str = "shell";

/// A language, its other name, and whether this version can start it.
struct Language {
    name: &'static str,
    alias: &'static str,
    works: bool,
}

const LANGUAGES: [Language; 5] = [
    Language { name: "python", alias: "py", works: true },
    Language { name: "bash", alias: "sh", works: true },
    Language { name: "node", alias: "js", works: true },
    Language { name: "r", alias: "r", works: false },
    Language { name: SHELL, alias: SHELL, works: true },
];

/// The language that `text` names, in full; an error if there is none or not yet.
pub fn language(text: &str) -> Result<&'static str, ClientError> {
    match find(text) {
        Some(language) if language.works => Ok(language.name),
        Some(language) => Err(WireError::new(
            ErrorCode::Unsupported,
            format!("sessions in `{}` are not in this version", language.name),
        )
        .with_hint("this version can start: python, bash, node")
        .into()),
        None => Err(WireError::new(
            ErrorCode::BadRequest,
            format!("no language `{}`", text.escape_debug()),
        )
        .with_hint("languages: python (py), bash (sh), node (js)")
        .into()),
    }
}

/// The language that a session of this name is in when nothing else is said.
pub fn implied(name: &SessionName) -> Option<Result<&'static str, ClientError>> {
    find(name.as_str()).map(|found| language(found.name))
}

/// What an eval in this language leaves for the next; one with a bridge of its own keeps its state.
pub(crate) fn keeps(name: &str) -> Keeps {
    if name == SHELL { Keeps::Nothing } else { Keeps::State }
}

/// The name of a session that is named after its language: `py` for `python`.
pub fn session_name(text: &str) -> Result<SessionName, ClientError> {
    let full = language(text)?;
    let alias = find(full).map_or(full, |found| found.alias);
    Ok(alias.parse()?)
}

/// The other name of the session that is named after a language: `python` for `py`, and back.
fn other_name(name: &SessionName) -> Option<(SessionName, SessionName)> {
    let language = find(name.as_str()).filter(|language| language.name != language.alias)?;
    let other = if language.name == name.as_str() { language.alias } else { language.name };
    Some((other.parse().ok()?, language.alias.parse().ok()?))
}

/// The name that a session has for whoever knows only its language: calls by either go one way.
pub fn canonical(name: SessionName) -> SessionName {
    other_name(&name).map_or(name, |(_, alias)| alias)
}

impl Client {
    /// The session that is meant: a language and its alias name one session, which is called by the
    /// alias unless there is one of the other name already (SPEC S-5).
    pub fn resolve(&self, name: SessionName) -> SessionName {
        let exists = |name: &SessionName| self.dir(name).meta().symlink_metadata().is_ok();
        match other_name(&name) {
            Some(_) if self.keeps(&name) || exists(&name) => name,
            Some((other, _)) if exists(&other) => other,
            Some((_, alias)) => alias,
            None => name,
        }
    }

    /// The same for the session of an eval.
    pub fn resolve_eval(&self, id: EvalId) -> EvalId {
        EvalId { session: self.resolve(id.session), ..id }
    }

    /// Whether there is a connection to this session: then it exists, and nothing on disk need be looked at.
    fn keeps(&self, name: &SessionName) -> bool {
        self.kept.as_ref().is_some_and(|kept| kept.has(&self.workspace, name))
    }
}

/// Whether a session of this name runs shell commands.
pub fn is_shell(name: &SessionName) -> bool {
    let rest = name.as_str().strip_prefix(SHELL).map(|rest| rest.strip_prefix('-').unwrap_or(rest));
    rest.is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_digit()))
}

fn find(text: &str) -> Option<&'static Language> {
    LANGUAGES.iter().find(|language| language.name == text || language.alias == text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s5_languages_go_by_name_and_alias() {
        assert_eq!(language("py").unwrap(), "python");
        assert_eq!(language("python").unwrap(), "python");
        assert_eq!(language("js").unwrap(), "node");
        assert_eq!(language("sh").unwrap(), "bash");
        assert_eq!(language("r").unwrap_err().code(), ErrorCode::Unsupported);
        assert_eq!(language("cobol").unwrap_err().code(), ErrorCode::BadRequest);
        assert_eq!(session_name("python").unwrap().as_str(), "py");
        assert_eq!(session_name("bash").unwrap().as_str(), "sh");
        assert!(implied(&"data".parse().unwrap()).is_none());
    }
}
