//! Kernels of a Jupyter Server, Kernel Gateway or Enterprise Gateway (SPEC K-2): which one, where, and where the token is.

use std::fmt;

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Files in a session's directory whose names begin and end so tell of a kernel each which was started for the session and has to
/// be deleted.
pub const LEFT_KERNEL: (&str, &str) = ("gateway-", ".json");

/// Whether a file of a session's directory, by its name, tells of such a kernel.
pub fn tells_of_left_kernel(name: &str) -> bool {
    name.starts_with(LEFT_KERNEL.0) && name.ends_with(LEFT_KERNEL.1)
}

/// A kernel that a server elsewhere has. No secret is in here: settings are shown, kept and handed on in arguments.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GatewayKernel {
    /// The server's address, as `GatewayUrl` writes it.
    pub url: String,
    /// Which of its kernels.
    pub wanted: GatewayTarget,
    /// Where the token is; without it the usual variables of the environment are looked at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<TokenSource>,
    /// A file with the certificates that are trusted in place of the system's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ca_file: Option<String>,
    /// What the user's configuration calls the server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gateway: Option<String>,
}

/// Which kernel of a server a session has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum GatewayTarget {
    /// A new one, which is deleted at the end.
    Started {
        /// The name of its description; without it the server's default.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        kernel: Option<String>,
    },
    /// One that runs already, which is left alone at the end.
    Attached {
        /// Its id.
        id: String,
    },
    /// Something that a newer version knows.
    #[serde(other)]
    Unknown,
}

/// Where the token of a server is. It is read by the adapter alone, when it starts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "from", rename_all = "snake_case")]
pub enum TokenSource {
    /// In a variable of the environment.
    Variable {
        /// Its name.
        name: String,
    },
    /// In a file.
    File {
        /// Its path.
        path: String,
    },
    /// In the user's configuration file, with what it says of a gateway.
    Config {
        /// The configuration file.
        path: String,
        /// The gateway's name there.
        gateway: String,
    },
    /// Somewhere that a newer version knows.
    #[serde(other)]
    Unknown,
}

/// The address of a server, taken apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GatewayUrl {
    /// Whether it is spoken to by TLS.
    pub secure: bool,
    /// Its name or address; an IPv6 address without brackets.
    pub host: String,
    /// Its port.
    pub port: u16,
    /// The path that everything begins with; it ends with a slash.
    pub base: String,
}

/// Why a text is no address of a server. The text itself may hold a secret and is not repeated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum GatewayUrlError {
    /// It does not begin as such addresses do.
    #[error("the address of a gateway begins with `http://` or `https://`")]
    Scheme,
    /// It has a token or a password in it.
    #[error("the address has a secret in it, which command lines and settings would show")]
    Secret,
    /// It has a query or a fragment.
    #[error("the address of a gateway ends with its path: no `?` and no `#`")]
    Query,
    /// It names no host.
    #[error("the address names no host")]
    Host,
    /// Its port is none.
    #[error("the port in the address is no number from 1 to 65535")]
    Port,
    /// It has characters that no address has.
    #[error("the address has spaces or characters that addresses do not have")]
    Character,
}

/// Pages of Jupyter's own front ends: addresses that are copied from a browser end with one of them.
const PAGES: [&str; 3] = ["lab", "tree", "notebooks"];

impl GatewayUrl {
    /// Takes an address apart.
    pub fn parse(text: &str) -> Result<GatewayUrl, GatewayUrlError> {
        let (scheme, rest) = text.split_once("://").ok_or(GatewayUrlError::Scheme)?;
        let secure = match scheme.to_ascii_lowercase().as_str() {
            "http" => false,
            "https" => true,
            _ => return Err(GatewayUrlError::Scheme),
        };
        let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        let (authority, path) = rest.split_at(end);
        if authority.contains('@') || path.contains("token=") {
            return Err(GatewayUrlError::Secret);
        }
        if path.contains(['?', '#']) {
            return Err(GatewayUrlError::Query);
        }
        if !rest.bytes().all(|byte| byte.is_ascii_graphic() && !br#""<>\^`{|}"#.contains(&byte)) {
            return Err(GatewayUrlError::Character);
        }
        let (host, port) = match authority.strip_prefix('[') {
            Some(inner) => {
                let (host, port) = inner.split_once(']').ok_or(GatewayUrlError::Host)?;
                (host, port.strip_prefix(':'))
            }
            None => match authority.split_once(':') {
                Some((host, port)) => (host, Some(port)),
                None => (authority, None),
            },
        };
        if host.is_empty() {
            return Err(GatewayUrlError::Host);
        }
        let port = match port {
            None => {
                if secure {
                    443
                } else {
                    80
                }
            }
            Some(port) => match port.parse() {
                Ok(0) | Err(_) => return Err(GatewayUrlError::Port),
                Ok(port) => port,
            },
        };
        let mut segments: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
        if let Some(page) = segments.iter().position(|part| PAGES.contains(part)) {
            segments.truncate(page);
        }
        let mut base = "/".to_owned();
        for segment in segments {
            base += segment;
            base.push('/');
        }
        Ok(GatewayUrl { secure, host: host.to_ascii_lowercase(), port, base })
    }

    /// Host and port, as they stand in an address.
    pub fn authority(&self) -> String {
        let host = match self.host.contains(':') {
            true => format!("[{}]", self.host),
            false => self.host.clone(),
        };
        match (self.secure, self.port) {
            (true, 443) | (false, 80) => host,
            (_, port) => format!("{host}:{port}"),
        }
    }
}

impl fmt::Display for GatewayUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.secure { "https" } else { "http" };
        write!(f, "{scheme}://{}{}", self.authority(), self.base)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn k2_an_address_is_taken_apart_and_written_in_one_form() {
        for (given, written) in [
            ("http://localhost:8888", "http://localhost:8888/"),
            ("HTTPS://Hub.Example:443/user/me", "https://hub.example/user/me/"),
            ("http://[::1]:8888/", "http://[::1]:8888/"),
            ("http://h:80//a//b/", "http://h/a/b/"),
            ("http://h:8888/lab/tree/x.ipynb", "http://h:8888/"),
            ("https://hub/user/me/lab", "https://hub/user/me/"),
        ] {
            assert_eq!(GatewayUrl::parse(given).unwrap().to_string(), written, "{given}");
        }
        let parsed = GatewayUrl::parse("http://[::1]:8888/").unwrap();
        assert_eq!((parsed.host.as_str(), parsed.port, parsed.secure), ("::1", 8888, false));
    }

    #[test]
    fn k2_what_is_no_address_or_has_a_secret_in_it_is_refused_without_repeating_it() {
        for (given, error) in [
            ("localhost:8888", GatewayUrlError::Scheme),
            ("ftp://h/", GatewayUrlError::Scheme),
            ("http://me:hunter2@h/", GatewayUrlError::Secret),
            ("http://h:8888/?token=hunter2", GatewayUrlError::Secret),
            ("http://h:8888/lab?token=hunter2", GatewayUrlError::Secret),
            ("http://h/?a=hunter2", GatewayUrlError::Query),
            ("http:///x", GatewayUrlError::Host),
            ("http://h:0/", GatewayUrlError::Port),
            ("http://h:hunter2/", GatewayUrlError::Port),
            ("http://h/a b", GatewayUrlError::Character),
            ("http://h/\r\nX: y", GatewayUrlError::Character),
        ] {
            assert_eq!(GatewayUrl::parse(given), Err(error), "{given}");
            assert!(!error.to_string().contains("hunter2"));
        }
    }

    #[test]
    fn k2_which_kernel_is_meant_is_kept_and_what_is_newer_is_read() {
        let kernel = GatewayKernel {
            url: "http://h/".to_owned(),
            wanted: GatewayTarget::Attached { id: "1-2".to_owned() },
            token: Some(TokenSource::Variable { name: "T".to_owned() }),
            ca_file: None,
            gateway: None,
        };
        let written = serde_json::to_value(&kernel).unwrap();
        assert_eq!(
            written,
            serde_json::json!({"url": "http://h/", "wanted": {"is": "attached", "id": "1-2"},
                "token": {"from": "variable", "name": "T"}})
        );
        assert_eq!(serde_json::from_value::<GatewayKernel>(written.clone()).unwrap(), kernel);
        let mut newer = written;
        newer["wanted"] = serde_json::json!({"is": "pooled"});
        newer["token"] = serde_json::json!({"from": "vault"});
        let read: GatewayKernel = serde_json::from_value(newer).unwrap();
        assert_eq!(read.wanted, GatewayTarget::Unknown);
        assert_eq!(read.token, Some(TokenSource::Unknown));
    }
}
