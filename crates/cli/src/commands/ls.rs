//! `stead ls`

use std::env;
use std::path::Path;

use serde::Serialize;
use stead_client::ClientError;

use crate::context::Context;
use crate::paint::{HEAD, PLAIN, Paint};
use crate::print::CommandResult;
use crate::status::{StatusData, activity_line, state_style};
use crate::table::painted;
use crate::time;

/// List sessions and what each is doing
///
/// Ended sessions are listed too, until they are stopped.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  stead ls
  stead ls --all          of all workspaces")]
pub(crate) struct LsArgs {
    /// List the sessions of all workspaces
    #[arg(short, long)]
    all: bool,
}

#[derive(Debug, Serialize)]
struct LsData<'a> {
    sessions: Vec<StatusData<'a>>,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    unreadable: &'a [String],
}

impl LsArgs {
    /// The sessions of all workspaces are the same everywhere.
    pub(super) fn needs_workspace(&self) -> bool {
        !self.all
    }

    pub(crate) fn run(self, context: &Context) -> CommandResult {
        let listing = context.client.list(self.all)?;
        let listed = &listing.sessions;
        let unreadable: Vec<String> = listing.unreadable.iter().map(ClientError::message).collect();
        let notes: String = unreadable.iter().map(|note| format!("[{note}]\n")).collect();
        let sessions = listed.iter().map(|one| StatusData::new(&one.status)).collect();
        context.answer("complete", LsData { sessions, unreadable: &unreadable }, || {
            if listed.is_empty() && !notes.is_empty() {
                return notes;
            }
            if listed.is_empty() {
                return "no sessions; start one: stead eval -n py '1+1'\n".to_owned();
            }
            let mut heads = vec!["NAME", "LANGUAGE", "EVALS", "LAST USED", "DOING"];
            if self.all {
                heads.insert(0, "WORKSPACE");
            }
            let rows: Vec<Vec<String>> = listed
                .iter()
                .map(|one| {
                    let status = &one.status;
                    let mut row = vec![
                        status.name.to_string(),
                        match &status.runs_at {
                            Some(place) => format!("{} at {place}", status.language),
                            None => status.language.clone(),
                        },
                        status.evals.to_string(),
                        time::ago(status.last_used_ms),
                        activity_line(status),
                    ];
                    if self.all {
                        row.insert(0, from_home(&status.workspace));
                    }
                    row
                })
                .collect();
            let (name, doing) = (usize::from(self.all), heads.len() - 1);
            let style = |row: usize, column: usize| match column {
                _ if column == name => HEAD,
                _ if column == doing => state_style(&listed[row].status),
                _ => PLAIN,
            };
            painted(&heads, &rows, Paint::stdout(), style) + &notes
        })
    }
}

fn from_home(path: &str) -> String {
    let home = env::var_os("HOME");
    match home.and_then(|home| Path::new(path).strip_prefix(home).ok().map(Path::to_owned)) {
        Some(rest) => Path::new("~").join(rest).display().to_string(),
        None => path.to_owned(),
    }
}
