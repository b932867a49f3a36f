//! Where the token comes from. It is read here and nowhere else, and goes into no message, log or argument.

use std::fmt;
use std::path::Path;

use stead_config::{ConfigKey, FileOwner, MOST_CONFIG, read_config};
use stead_protocol::TokenSource;
use thiserror::Error;

/// Variables that are looked at if nothing else is said; the second is that of Jupyter's own gateway client.
const USUAL: [&str; 2] = ["STEAD_GATEWAY_TOKEN", "JUPYTER_GATEWAY_AUTH_TOKEN"];
/// More bytes than any token has.
const MOST_TOKEN: u64 = 64 << 10;

/// A token, and where it was found.
#[derive(Clone)]
pub(crate) struct GatewayToken {
    pub(crate) secret: String,
    /// For errors: a variable or a file.
    pub(crate) origin: String,
}

// Written by hand, so that the secret reaches no message.
impl fmt::Debug for GatewayToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GatewayToken").field("origin", &self.origin).finish_non_exhaustive()
    }
}

/// Why there is no token where one should be.
#[derive(Debug, Error)]
pub(crate) enum TokenError {
    #[error("the token should be in the variable `{name}`, which is not set")]
    Unset { name: String },
    #[error("could not read the token from `{path}`: {source}")]
    File { path: String, source: std::io::Error },
    #[error("`{path}` does not say the token of the gateway `{gateway}` any more")]
    Config { path: String, gateway: String },
    #[error("what is in {origin} is no token: it is empty or has spaces in it")]
    NoToken { origin: String },
    #[error("the token is kept in a way that only a newer version knows")]
    Newer,
}

/// The token of a server; none if nothing says where one is.
pub(crate) fn read_token(source: Option<&TokenSource>) -> Result<Option<GatewayToken>, TokenError> {
    let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let (secret, origin) = match source {
        None => {
            let found = USUAL.iter().find_map(|name| Some((variable(name)?, *name)));
            let Some((secret, name)) = found else { return Ok(None) };
            (secret, format!("the variable `{name}`"))
        }
        Some(TokenSource::Variable { name }) => {
            let secret = variable(name).ok_or_else(|| TokenError::Unset { name: name.clone() })?;
            (secret, format!("the variable `{name}`"))
        }
        Some(TokenSource::File { path }) => {
            let secret = stead_files::read_users_text(Path::new(path), MOST_TOKEN)
                .map_err(|source| TokenError::File { path: path.clone(), source })?;
            (secret, format!("`{path}`"))
        }
        Some(TokenSource::Config { path, gateway }) => {
            let text = stead_files::read_users_text(Path::new(path), MOST_CONFIG)
                .map_err(|source| TokenError::File { path: path.clone(), source })?;
            let file = read_config(&text, Path::new(path), FileOwner::User).ok();
            let table = file.as_ref().and_then(|file| file.gateways.get(gateway));
            let token = table.and_then(|table| table.table.text(ConfigKey::Token));
            let Some((secret, _)) = token else {
                let (path, gateway) = (path.clone(), gateway.clone());
                return Err(TokenError::Config { path, gateway });
            };
            (secret.to_owned(), format!("`{path}`"))
        }
        Some(TokenSource::Unknown) => return Err(TokenError::Newer),
    };
    let secret = secret.trim().to_owned();
    // A token with other characters could not stand in a header.
    if secret.is_empty() || !secret.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(TokenError::NoToken { origin });
    }
    Ok(Some(GatewayToken { secret, origin }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn x5_a_token_is_read_from_a_file_and_is_in_no_debug_output() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("token");
        let source = |path: &Path| TokenSource::File { path: path.to_str().unwrap().to_owned() };
        std::fs::write(&path, "hunter2\n").unwrap();
        let token = read_token(Some(&source(&path))).unwrap().unwrap();
        assert_eq!(token.secret, "hunter2");
        assert!(!format!("{token:?}").contains("hunter2"));
        std::fs::write(&path, "two words\r\nX: y").unwrap();
        let error = read_token(Some(&source(&path))).unwrap_err();
        assert!(
            matches!(error, TokenError::NoToken { .. }) && !error.to_string().contains("words")
        );
        let missing = read_token(Some(&source(&dir.path().join("none")))).unwrap_err();
        assert!(missing.to_string().contains("could not read the token"));
    }

    #[test]
    fn cf1_a_token_is_read_from_the_configuration_each_time() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("config.toml");
        let path_text = path.to_str().unwrap().to_owned();
        let source = TokenSource::Config { path: path_text, gateway: "big".to_owned() };
        std::fs::write(&path, "[gateways.big]\nurl = \"http://h/\"\ntoken = \"t1\"\n").unwrap();
        assert_eq!(read_token(Some(&source)).unwrap().unwrap().secret, "t1");
        std::fs::write(&path, "[gateways.big]\nurl = \"http://h/\"\n").unwrap();
        assert!(matches!(read_token(Some(&source)), Err(TokenError::Config { .. })));
    }
}
