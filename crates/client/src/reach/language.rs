//! The languages that sessions can be started in by name (SPEC S-5).

use stead_config::Language;
use stead_protocol::{EvalId, SessionName};

use super::kernel;
use crate::{Client, ClientError, RequestError};

/// The language that `text` names; an error if there is none.
pub fn language(text: &str) -> Result<&'static Language, ClientError> {
    let unknown = || RequestError::NoSuchLanguage { given: text.to_owned() };
    stead_config::language(text).ok_or_else(|| unknown().into())
}

/// The language that a session of this name is in when nothing else is said.
pub fn implied(name: &SessionName) -> Option<&'static Language> {
    stead_config::language(name.as_str())
}

/// The name of a session that is named after its language or toolchain: `py` for `python`.
pub fn session_name(text: &str) -> Result<SessionName, ClientError> {
    if let Some(language) = stead_config::language(text) {
        return Ok(language.alias.parse()?);
    }
    // Not every name of a Jupyter kernel can be that of a session.
    let kernel = || {
        let spec = kernel::named(text, &std::env::current_dir().ok()?)?;
        kernel::session_name(&spec.name)
    };
    // Whether there is such a toolchain or kernel is seen when the session is started.
    let name = text.parse().ok().or_else(kernel);
    name.ok_or_else(|| RequestError::NoSuchLanguage { given: text.to_owned() }.into())
}

/// The other name of the session that is named after a language: `python` for `py`, and back.
fn other_name(name: &SessionName) -> Option<(SessionName, SessionName)> {
    let language = implied(name).filter(|language| language.name != language.alias)?;
    let other = if language.name == name.as_str() { language.alias } else { language.name };
    Some((other.parse().ok()?, language.alias.parse().ok()?))
}

/// The one name of a session that is named after its language: `py` for both `py` and `python`.
pub fn canonical(name: SessionName) -> SessionName {
    other_name(&name).map_or(name, |(_, alias)| alias)
}

impl Client {
    /// The session that is meant. A language and its alias name one session, which is called by the alias
    /// unless there is one under the other name already (SPEC S-5).
    pub fn resolve(&self, name: SessionName) -> SessionName {
        let exists = |name: &SessionName| self.dir(name).meta().symlink_metadata().is_ok();
        match other_name(&name) {
            Some(_) if self.keeps(&name) || exists(&name) => name,
            Some((other, _)) if exists(&other) => other,
            Some((_, alias)) => alias,
            None => name,
        }
    }

    /// Like `resolve`, for the session of an eval.
    pub fn resolve_eval(&self, id: EvalId) -> EvalId {
        EvalId { session: self.resolve(id.session), ..id }
    }

    /// The session of this name as a user gave it.
    pub fn session(&self, given: &str) -> Result<SessionName, ClientError> {
        Ok(self.resolve(given.parse()?))
    }

    /// The session and, if `given` is the id of an eval, the eval.
    pub fn target(&self, given: &str) -> Result<(SessionName, Option<EvalId>), ClientError> {
        if given.contains(':') {
            let id = self.eval_id(given)?;
            return Ok((id.session.clone(), Some(id)));
        }
        Ok((self.session(given)?, None))
    }

    /// Whether there is a connection to this session: then it exists, and the disk need not be asked.
    fn keeps(&self, name: &SessionName) -> bool {
        self.kept.as_ref().is_some_and(|kept| kept.has(&self.workspace, name))
    }
}

pub use stead_config::is_shell;

#[cfg(test)]
mod tests {
    use stead_protocol::ErrorCode;

    use super::*;

    #[test]
    fn s5_languages_go_by_name_and_alias() {
        assert_eq!(language("py").unwrap().name, "python");
        assert_eq!(language("js").unwrap().name, "node");
        assert_eq!(session_name("python").unwrap().as_str(), "py");
        assert_eq!(session_name("sh").unwrap().as_str(), "sh");
        let unknown = language("cobol").unwrap_err();
        assert_eq!(unknown.code(), ErrorCode::BadRequest);
        assert!(implied(&"data".parse().unwrap()).is_none());
    }
}
