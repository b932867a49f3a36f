//! `stead rm`

use serde::Serialize;

use crate::context::Context;
use crate::print::CommandResult;
use crate::text::bytes;

/// Remove an ended session with all it wrote
///
/// Output, history and figures go from the disk. A session with a live host is not removed: stop it
/// first.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  stead rm old
  stead stop -n py && stead rm py")]
pub(crate) struct RmArgs {
    /// The sessions to remove
    #[arg(value_name = "NAME", required = true)]
    names: Vec<String>,
}

#[derive(Debug, Serialize)]
struct RmData {
    removed: Vec<RemovedSessionData>,
    bytes: u64,
    files: u64,
}

#[derive(Debug, Serialize)]
struct RemovedSessionData {
    session: String,
    bytes: u64,
    files: u64,
}

impl RmArgs {
    pub(crate) fn run(self, context: &Context) -> CommandResult {
        let mut data = RmData { removed: Vec::new(), bytes: 0, files: 0 };
        let mut text = String::new();
        let names = self.names.iter().map(|name| context.session_named(name));
        for name in names.collect::<Result<Vec<_>, _>>()? {
            let removed = context.client.remove(&name)?;
            let used = removed.used;
            text += &format!("removed `{name}`, {}\n", bytes(used.bytes));
            data.bytes += used.bytes;
            data.files += used.files;
            let session = name.to_string();
            data.removed.push(RemovedSessionData { session, bytes: used.bytes, files: used.files });
        }
        context.answer("complete", data, || text)
    }
}
