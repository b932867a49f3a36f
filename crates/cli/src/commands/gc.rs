//! `stead gc`

use serde::Serialize;
use stead_client::counted;

use crate::context::Context;
use crate::print::{self, CliReply, CommandResult, Mode};
use crate::text::bytes;
use crate::{exit, print::Failure};
use stead_protocol::ErrorCode;

/// Remove ended sessions that are too old or too many
///
/// Of each workspace the newest 64 ended sessions stay, for 14 days; of one-off runs and shell
/// sessions the newest 16, for a day. Hosts do the same for their workspace when they end. A session
/// with a live host is never removed. STEAD_KEEP_AGE, STEAD_KEEP_COUNT, STEAD_KEEP_RUNS_AGE and
/// STEAD_KEEP_RUNS_COUNT set other bounds.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  stead gc
  stead gc --dry-run                     only say what would go
  STEAD_KEEP_AGE=2d stead gc             what was not used for two days")]
pub(crate) struct GcArgs {
    /// Remove nothing, only say what would go
    #[arg(long)]
    dry_run: bool,
}

#[derive(Debug, Serialize)]
struct GcData {
    removed: Vec<CollectedData>,
    bytes: u64,
    files: u64,
    workspaces: u64,
    dry_run: bool,
}

#[derive(Debug, Serialize)]
struct CollectedData {
    session: String,
    directory: String,
    bytes: u64,
    files: u64,
}

impl GcArgs {
    pub(crate) fn run(self, context: &Context) -> CommandResult {
        let garbage = context.client.collect_garbage(self.dry_run)?;
        let removed: Vec<CollectedData> = garbage
            .removed
            .iter()
            .map(|(workspace, removed)| CollectedData {
                session: removed.name.clone(),
                directory: workspace.join(&removed.name).display().to_string(),
                bytes: removed.used.bytes,
                files: removed.used.files,
            })
            .collect();
        let data = GcData {
            bytes: removed.iter().map(|removed| removed.bytes).sum(),
            files: removed.iter().map(|removed| removed.files).sum(),
            workspaces: garbage.workspaces,
            dry_run: self.dry_run,
            removed,
        };
        let error = garbage.failed.first().map(|(path, why)| {
            let message = format!("could not remove `{}`: {why}", path.display());
            let more = match garbage.failed.len() - 1 {
                0 => String::new(),
                more => format!(", and {more} more"),
            };
            Failure::new(ErrorCode::ConnectionFailed, message + &more)
        });
        match (context.mode, error) {
            (Mode::Json, error) => {
                let status = if error.is_none() { "complete" } else { "error" };
                let reply = CliReply::verdict(context.command, status, error.as_ref(), data);
                print::json(&reply);
                Ok(if error.is_none() { exit::SUCCESS } else { exit::REQUEST_FAILED })
            }
            (Mode::Text, error) => {
                let word = if self.dry_run { "would go" } else { "removed" };
                for removed in &data.removed {
                    let line = format!(
                        "{word}: `{}` in {}, {}\n",
                        removed.session,
                        removed.directory,
                        bytes(removed.bytes)
                    );
                    print::out(line.as_bytes());
                }
                let count = counted(data.removed.len() as u64, "session", "sessions");
                print::out(format!("{word}: {count}, {}\n", bytes(data.bytes)).as_bytes());
                match error {
                    None => Ok(exit::SUCCESS),
                    Some(error) => Err(error),
                }
            }
        }
    }
}
