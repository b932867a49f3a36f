//! Which kernel of which server a session is to have (SPEC K-2): addresses and names of the user's configuration become
//! settings, which say where the token is and never what it is.

use std::path::{Path, PathBuf};

use stead_config::{ConfigKey, ConfigTable};
use stead_protocol::{GatewayKernel, GatewayTarget, GatewayUrl, KernelChoice, TokenSource};

use super::{first_problem, read_users};
use crate::{Client, ClientError, RequestError};

/// A kernel of a server that is asked for.
#[derive(Debug, Clone)]
pub struct AskedGateway {
    /// The server's address, or what the user's configuration calls it.
    pub server: String,
    /// Which of the server's kernels; for a new one without a name the configuration may name one.
    pub wanted: GatewayTarget,
    /// Where the token is, if not where the configuration says.
    pub token: Option<TokenSource>,
    /// The certificates to trust, if not those that the configuration says.
    pub ca_file: Option<String>,
}

/// Which servers may be named.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GatewayChoice {
    /// Any: a person names it.
    Any,
    /// Those of the user's configuration: a model must not send code and tokens to where it likes (SPEC X-6).
    Configured,
}

impl Client {
    /// The kernel that is asked for, as settings have it.
    pub fn gateway_kernel(
        &self,
        asked: AskedGateway,
        choice: GatewayChoice,
    ) -> Result<KernelChoice, ClientError> {
        let (path, mut read) = read_users();
        if let Some(error) = first_problem(std::mem::take(&mut read.problems)) {
            return Err(error);
        }
        let file = read.file;
        let known = || -> Vec<String> {
            file.iter().flat_map(|file| file.gateways.keys().cloned()).collect()
        };
        let url_of = |table: &ConfigTable| {
            let (url, _) = table.text(ConfigKey::Url)?;
            GatewayUrl::parse(url).ok()
        };
        let (url, named) = match asked.server.contains("://") {
            true => {
                let url = GatewayUrl::parse(&asked.server)
                    .map_err(|error| RequestError::GatewayUrl { error })?;
                let gateways = file.iter().flat_map(|file| &file.gateways);
                let named = gateways
                    .map(|(name, table)| (name, &table.table))
                    .find(|(_, table)| url_of(table).as_ref() == Some(&url));
                (url, named)
            }
            false => {
                let found =
                    file.as_ref().and_then(|file| file.gateways.get_key_value(&asked.server));
                let found = found.and_then(|(name, table)| {
                    Some((url_of(&table.table)?, Some((name, &table.table))))
                });
                found.ok_or_else(|| RequestError::NoGateway {
                    given: asked.server.clone(),
                    known: known(),
                })?
            }
        };
        if named.is_none() && choice == GatewayChoice::Configured {
            return Err(RequestError::UnknownGateway { known: known() }.into());
        }
        let table = named.map(|(_, table)| table);
        let text = |key| Some(table?.text(key)?.0.to_owned());
        let home_path = |key| text(key).map(|path| home(&path).display().to_string());
        let gateway = named.map(|(name, _)| name.clone());
        let token = asked.token.or_else(|| {
            let variable = text(ConfigKey::TokenEnv).map(|name| TokenSource::Variable { name });
            let token_file =
                || home_path(ConfigKey::TokenFile).map(|path| TokenSource::File { path });
            variable.or_else(token_file).or_else(|| {
                text(ConfigKey::Token)?;
                let path = path.as_ref()?.to_str()?.to_owned();
                Some(TokenSource::Config { path, gateway: gateway.clone()? })
            })
        });
        let wanted = match asked.wanted {
            GatewayTarget::Started { kernel: None } => {
                GatewayTarget::Started { kernel: text(ConfigKey::Kernel) }
            }
            wanted => wanted,
        };
        let ca_file = asked.ca_file.or_else(|| home_path(ConfigKey::CaFile));
        let url = url.to_string();
        Ok(KernelChoice::Gateway(GatewayKernel { url, wanted, token, ca_file, gateway }))
    }
}

/// A path from the user's configuration: `~/` is the home directory, and relative paths begin there too.
fn home(text: &str) -> PathBuf {
    let home = std::env::var_os("HOME").map(PathBuf::from).unwrap_or_default();
    home.join(Path::new(text.strip_prefix("~/").unwrap_or(text)))
}
