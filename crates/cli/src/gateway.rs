//! What it takes to be let in by a Jupyter server or gateway, as options of `launch` and `start`.

use std::path::PathBuf;

use stead_client::{AskedGateway, GatewayChoice};
use stead_protocol::{GatewayTarget, KernelChoice, TokenSource};

use crate::context::Context;
use crate::print::{Failure, bad_request};

/// Where the token and the certificates are. The token itself is no option, because command lines are seen by all.
#[derive(Debug, clap::Args)]
pub(crate) struct GatewayArgs {
    /// Environment variable with the gateway's token; else what your configuration says, else STEAD_GATEWAY_TOKEN
    #[arg(long, value_name = "VARIABLE", conflicts_with = "token_file")]
    token_env: Option<String>,
    /// File with the gateway's token
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// File with the certificates to trust in place of the system's; else STEAD_GATEWAY_CA
    #[arg(long, value_name = "FILE")]
    ca_file: Option<PathBuf>,
}

impl GatewayArgs {
    /// The kernel of a server, as settings have it.
    pub(crate) fn kernel(
        self,
        context: &Context,
        server: String,
        wanted: GatewayTarget,
    ) -> Result<KernelChoice, Failure> {
        let whole = |path: PathBuf| {
            let path = context.path(&path);
            if let Err(error) = std::fs::metadata(&path) {
                let path = path.display();
                return Err(bad_request(format!("could not read `{path}`: {error}")));
            }
            match path.to_str() {
                Some(text) => Ok(text.to_owned()),
                None => Err(bad_request(format!("the path {path:?} is not UTF-8"))),
            }
        };
        let token = match (self.token_env, self.token_file) {
            (Some(name), _) => Some(TokenSource::Variable { name }),
            (None, Some(path)) => Some(TokenSource::File { path: whole(path)? }),
            (None, None) => None,
        };
        let ca_file = self.ca_file.map(whole).transpose()?;
        let asked = AskedGateway { server, wanted, token, ca_file };
        Ok(context.client.gateway_kernel(asked, GatewayChoice::Any)?)
    }
}
