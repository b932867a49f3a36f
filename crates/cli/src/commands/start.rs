//! `stead start`

use std::path::PathBuf;

use stead_client::LaunchOptions;
use stead_protocol::KernelChoice;

use super::launch;
use crate::context::Context;
use crate::print::{CommandResult, bad_request};
use crate::time::Time;

/// Start a session with what already runs
///
/// The session speaks to a Jupyter kernel that somebody else has started, by its connection file. The kernel keeps its
/// state, others may use it at the same time, and `stop` only leaves it.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  stead start jupyter --connection-file ~/.local/share/jupyter/runtime/kernel-4711.json -n nb
  stead stop nb           leaves the kernel alone")]
pub(crate) struct StartArgs {
    /// What runs: jupyter
    #[arg(value_name = "KIND", value_parser = ["jupyter"])]
    kind: String,
    /// File that says how the kernel is reached
    #[arg(long, value_name = "FILE")]
    connection_file: PathBuf,
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
        let path = context.path(&self.connection_file);
        if let Err(error) = std::fs::metadata(&path) {
            let path = path.display();
            return Err(bad_request(format!(
                "could not read the connection file `{path}`: {error}"
            )));
        }
        let Some(path) = path.to_str().map(str::to_owned) else {
            return Err(bad_request(format!("the path {path:?} is not UTF-8")));
        };
        let given = self.name.as_deref().map(|name| context.session_named(name)).transpose()?;
        let name = context.session_named(&self.kind)?;
        let options = LaunchOptions {
            kernel: Some(KernelChoice::ConnectionFile { path }),
            init: self.init,
            no_stdlib: true,
            idle_timeout_ms: Some(self.idle_timeout.0.as_millis() as u64),
            ..context.launch(Some(self.kind))
        };
        let launched = match &given {
            Some(name) => context.client.launch(name, &options),
            None => context.client.launch_free(&name, &options),
        };
        launch::answer(context, launched?)
    }
}
