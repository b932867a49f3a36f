//! `stead start`

use std::path::PathBuf;

use stead_client::LaunchOptions;
use stead_protocol::{GatewayTarget, KernelChoice};

use super::launch;
use crate::context::Context;
use crate::gateway::GatewayArgs;
use crate::print::{CommandResult, Failure, bad_request};
use crate::time::Time;

/// Start a session with what already runs
///
/// The session speaks to a Jupyter kernel that somebody else has started, by its connection file; to one of a Jupyter Server
/// or gateway, by the server's address and the kernel's id; or to an nREPL server, by its address. What runs there keeps its
/// state, others may use it at the same time, and `stop` only leaves it.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  stead start jupyter --connection-file ~/.local/share/jupyter/runtime/kernel-4711.json -n nb
  stead start gateway http://localhost:8888 --attach 0b9cf6b4-6b6d-4d51-b02f-8c2ad4c6d2f1 -n far
  stead start nrepl localhost:7888 -n dev
  stead start nrepl 7888                  a port of this machine
  stead stop nb                           leaves the kernel or the server alone")]
pub(crate) struct StartArgs {
    /// What runs: jupyter, gateway or nrepl
    #[arg(value_name = "KIND", value_parser = ["jupyter", "gateway", "nrepl"])]
    kind: String,
    /// Address of the gateway, or its name in your configuration; HOST:PORT of the nREPL server, where a port alone is one of
    /// this machine
    #[arg(value_name = "ADDRESS")]
    address: Option<String>,
    /// File that says how the Jupyter kernel is reached
    #[arg(long, value_name = "FILE", conflicts_with = "address")]
    connection_file: Option<PathBuf>,
    /// Id of the gateway's kernel
    #[arg(long, value_name = "ID", requires = "address")]
    attach: Option<String>,
    #[command(flatten)]
    access: GatewayArgs,
    /// Name of the session; else the next free one
    #[arg(short, long, value_name = "NAME")]
    name: Option<String>,
    /// Code to run at every start of the session
    #[arg(long, value_name = "CODE")]
    init: Option<String>,
    /// End the session after this time without use; 0 means never
    #[arg(long, value_name = "TIME", default_value = "12h")]
    idle_timeout: Time,
}

impl StartArgs {
    pub(crate) fn run(self, context: &Context) -> CommandResult {
        let told = (self.kind.as_str(), self.connection_file, self.address, self.attach);
        let (kernel, server) = match told {
            ("jupyter", Some(file), None, None) => (Some(connection_file(context, &file)?), None),
            ("jupyter", ..) => {
                let hint = "stead start jupyter --connection-file FILE";
                return Err(bad_request("a Jupyter kernel is reached by its connection file")
                    .with_hint(hint.to_owned()));
            }
            ("gateway", None, Some(server), Some(id)) => {
                let wanted = GatewayTarget::Attached { id };
                (Some(self.access.kernel(context, server, wanted)?), None)
            }
            ("gateway", ..) => {
                let hint = "stead start gateway URL --attach ID; `stead launch gateway --url URL` starts a kernel";
                return Err(bad_request(
                    "a gateway's kernel is reached by its address and the kernel's id",
                )
                .with_hint(hint.to_owned()));
            }
            (_, None, Some(address), None) => (None, Some(server(&address)?)),
            _ => {
                return Err(bad_request("an nREPL server is reached by its address")
                    .with_hint("stead start nrepl HOST:PORT".to_owned()));
            }
        };
        let given = self.name.as_deref().map(|name| context.session_named(name)).transpose()?;
        let name = context.session_named(&self.kind)?;
        let options = LaunchOptions {
            kernel,
            server,
            init: self.init,
            no_stdlib: true,
            idle_timeout_ms: Some(self.idle_timeout.millis()),
            ..context.launch(Some(self.kind))
        };
        let launched = match &given {
            Some(name) => context.client.launch(name, &options),
            None => context.client.launch_free(&name, &options),
        };
        launch::answer(context, launched?)
    }
}

fn connection_file(context: &Context, file: &std::path::Path) -> Result<KernelChoice, Failure> {
    let path = context.path(file);
    if let Err(error) = std::fs::metadata(&path) {
        let said = error.to_string();
        let said = said.split(" (os error").next().unwrap_or_default();
        let message = format!("could not read the connection file `{}`: {said}", path.display());
        let hint = "kernels write theirs into the directory that `jupyter --runtime-dir` names";
        return Err(bad_request(message).with_hint(hint));
    }
    match path.to_str() {
        Some(path) => Ok(KernelChoice::ConnectionFile { path: path.to_owned() }),
        None => Err(bad_request(format!("the path {path:?} is not UTF-8"))),
    }
}

fn server(address: &str) -> Result<String, Failure> {
    stead_config::server_address(address).ok_or_else(|| {
        let shown: String = address.chars().take(200).collect();
        bad_request(format!("`{}` is not an address", shown.escape_debug()))
            .with_hint("HOST:PORT, such as localhost:7888 or [::1]:7888, or a port".to_owned())
    })
}
