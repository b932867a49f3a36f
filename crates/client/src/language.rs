//! The languages that sessions can be started in by name (SPEC S-5).

use stead_protocol::{ErrorCode, SessionName, WireError};

use crate::ClientError;

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

/// The name of a session that is named after its language: `py` for `python`.
pub fn session_name(text: &str) -> Result<SessionName, ClientError> {
    let full = language(text)?;
    let alias = find(full).map_or(full, |found| found.alias);
    Ok(alias.parse()?)
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
