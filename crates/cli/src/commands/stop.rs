//! `stead stop`

use serde::Serialize;
use stead_protocol::SessionName;

use crate::context::{Context, NamedArg};
use crate::print::CommandResult;

/// End a session and remove it from the list
///
/// Ends the interpreter and every process it started. What its evals wrote stays readable with
/// `output` and `evals`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  stead stop py
  stead stop --all        all sessions of this workspace")]
pub(crate) struct StopArgs {
    #[command(flatten)]
    session: NamedArg,
    /// Stop all sessions of this workspace
    #[arg(long, conflicts_with_all = ["name", "session"])]
    all: bool,
}

#[derive(Debug, Serialize)]
#[serde(untagged)]
enum Data {
    One { session: SessionName },
    All { sessions: Vec<SessionName> },
}

impl StopArgs {
    pub(crate) fn run(self, context: &Context) -> CommandResult {
        let names =
            if self.all { context.client.names()? } else { vec![context.named(&self.session)?] };
        for name in &names {
            context.client.stop(name)?;
        }
        let text = names.iter().map(|name| format!("stopped `{name}`\n")).collect();
        let data = match <[SessionName; 1]>::try_from(names) {
            Ok([session]) if !self.all => Data::One { session },
            Ok(one) => Data::All { sessions: one.to_vec() },
            Err(sessions) => Data::All { sessions },
        };
        context.answer("complete", data, || text)
    }
}
