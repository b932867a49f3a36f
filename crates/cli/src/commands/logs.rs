//! `stead logs`

use std::io::{Read, Seek, SeekFrom};

use serde::Serialize;
use stead_screen::plain;

use crate::context::{Context, NamedArg};
use crate::print::{CommandResult, bad_request};

/// How many bytes at the end of a log are searched for its last lines.
const WINDOW: u64 = 1 << 20;

/// Show the log of a session's host
///
/// What the host has to say about itself; what code writes is in `output`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  stead logs py --tail 50")]
pub(crate) struct LogsArgs {
    #[command(flatten)]
    session: NamedArg,
    /// Show the last N lines
    #[arg(long, value_name = "N", default_value_t = 100)]
    tail: usize,
}

#[derive(Debug, Serialize)]
struct LogsData {
    session: String,
    path: String,
    lines: Vec<String>,
}

impl LogsArgs {
    pub(crate) fn run(self, context: &Context) -> CommandResult {
        let name = context.named(&self.session)?;
        let path = context.client.log(&name)?;
        let mut bytes = Vec::new();
        stead_files::open(&path)
            .and_then(|mut file| {
                let end = file.seek(SeekFrom::End(0))?;
                file.seek(SeekFrom::Start(end.saturating_sub(WINDOW)))?;
                file.take(WINDOW).read_to_end(&mut bytes)
            })
            .map_err(|error| {
                bad_request(format!("could not read `{}`: {error}", path.display()))
            })?;
        let log = plain(&bytes);
        let count = log.lines().count();
        let lines: Vec<String> =
            log.lines().skip(count.saturating_sub(self.tail)).map(str::to_owned).collect();
        let data = LogsData {
            session: name.to_string(),
            path: path.display().to_string(),
            lines: lines.clone(),
        };
        if lines.is_empty() {
            return context.answer("complete", data, || format!("`{name}` logged nothing\n"));
        }
        context.answer("complete", data, || lines.iter().map(|line| format!("{line}\n")).collect())
    }
}
