//! `stead checkpoint`

use serde::Serialize;
use stead_protocol::{CheckpointInfo, EvalId, EvalSeq, SessionName};

use crate::context::{Context, SessionArg};
use crate::print::CommandResult;
use crate::table::table;
use crate::time::{self, Time};
use crate::waiting::Waiting;

/// Keep a copy of a session's whole state, to go back to with `stead rollback`
///
/// The interpreter is copied with all that it has loaded, in milliseconds; memory is shared until one of both changes it.
/// A label that is used again takes the place of the earlier checkpoint. Files, databases, the network and processes
/// that the session has started are not part of the state, threads neither: what a copy does not have is said. A
/// checkpoint lives as long as the interpreter. It waits for its turn like an eval and has an id.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  stead checkpoint -n py                   called `checkpoint`
  stead checkpoint -n py before-merge
  stead rollback -n py before-merge        as often as wanted
  stead checkpoint -n py --list
  stead checkpoint -n py --drop before-merge

Python, and Bash by its text. Elsewhere `stead save` keeps names and values in a file.
Exit code: 0 made, 1 it was refused or failed, 2 the request could not be carried out, 3 hard timeout.")]
pub(crate) struct CheckpointArgs {
    /// What it is called
    #[arg(value_name = "LABEL")]
    label: Option<String>,
    #[command(flatten)]
    session: SessionArg,
    /// List the checkpoints that there are
    #[arg(long, conflicts_with_all = ["label", "drop"])]
    list: bool,
    /// Drop a checkpoint and give back its memory
    #[arg(long, value_name = "LABEL", conflicts_with = "label")]
    drop: Option<String>,
    /// How long to wait for it; it goes on after that
    #[arg(short, long, value_name = "TIME", default_value = "30s")]
    timeout: Time,
    #[command(flatten)]
    waiting: Waiting,
}

#[derive(Debug, Serialize)]
struct CheckpointListData<'a> {
    session: &'a str,
    checkpoints: Vec<CheckpointData<'a>>,
}

#[derive(Debug, Serialize)]
struct CheckpointData<'a> {
    label: &'a str,
    /// The work that made it.
    eval_id: String,
    made_ms: u64,
    /// The last code whose effect it has.
    #[serde(skip_serializing_if = "Option::is_none")]
    after: Option<String>,
}

#[derive(Debug, Serialize)]
struct DropData<'a> {
    session: &'a str,
    dropped: &'a str,
}

impl CheckpointArgs {
    pub(crate) fn run(self, context: &Context) -> CommandResult {
        let name = context.session(&self.session)?;
        if self.list {
            return list(context, &name);
        }
        if let Some(label) = &self.drop {
            context.client.drop_checkpoint(&name, label)?;
            let data = DropData { session: name.as_str(), dropped: label };
            return context.answer("complete", data, || format!("dropped checkpoint `{label}`\n"));
        }
        let label = self.label;
        self.waiting.run(context, String::new(), &self.timeout, |options, watch| {
            context.client.checkpoint(&name, label, &options, watch)
        })
    }
}

fn list(context: &Context, name: &SessionName) -> CommandResult {
    let found = context.client.checkpoints(name)?;
    let id = |seq: EvalSeq| EvalId { session: name.clone(), seq }.to_string();
    let data = |info: &'_ CheckpointInfo| -> (String, Option<String>) {
        (id(info.eval), info.after.map(id))
    };
    let checkpoints: Vec<CheckpointData<'_>> = found
        .iter()
        .map(|info| {
            let (eval_id, after) = data(info);
            CheckpointData { label: &info.label, eval_id, made_ms: info.made_ms, after }
        })
        .collect();
    let rows: Vec<Vec<String>> = checkpoints
        .iter()
        .map(|info| {
            let after = info.after.clone().unwrap_or_default();
            vec![info.label.to_owned(), time::ago(info.made_ms), after, info.eval_id.clone()]
        })
        .collect();
    let data = CheckpointListData { session: name.as_str(), checkpoints };
    context.answer("complete", data, || match rows.is_empty() {
        true => format!("`{name}` has no checkpoints\n"),
        false => table(&["LABEL", "MADE", "AFTER", "ID"], &rows),
    })
}
