//! `stead stop`

use std::time::Duration;

use serde::Serialize;
use stead_client::{Stopped, counted};

use crate::context::{Context, NamedArg};
use crate::print::CommandResult;
use crate::status::StatusData;
use crate::time;

/// End a session and remove it from the list
///
/// Ends the interpreter and every process it started, and answers with what the session was at the
/// last. What its evals wrote stays readable with `output` and `evals`.
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
enum StopData<'a> {
    One(Box<LastStatus<'a>>),
    All { sessions: Vec<LastStatus<'a>> },
}

/// What a session was at the last.
#[derive(Debug, Serialize)]
struct LastStatus<'a> {
    session: &'a str,
    #[serde(flatten)]
    status: StatusData<'a>,
}

impl<'a> LastStatus<'a> {
    fn new(stopped: &'a Stopped, notice: Option<&'a str>) -> Self {
        let mut status = StatusData::new(&stopped.status);
        status.notice = notice;
        LastStatus { session: stopped.status.name.as_str(), status }
    }
}

impl StopArgs {
    pub(crate) fn run(self, context: &Context) -> CommandResult {
        let names =
            if self.all { context.client.names()? } else { vec![context.named(&self.session)?] };
        let stopped: Vec<Stopped> =
            names.iter().map(|name| context.client.stop(name)).collect::<Result<_, _>>()?;
        let notices: Vec<Option<String>> = stopped.iter().map(Stopped::cut_off).collect();
        let last = stopped.iter().zip(&notices);
        let mut last: Vec<LastStatus<'_>> =
            last.map(|(stopped, notice)| LastStatus::new(stopped, notice.as_deref())).collect();
        let data = match last.len() {
            1 if !self.all => StopData::One(Box::new(last.remove(0))),
            _ => StopData::All { sessions: last },
        };
        context.answer("complete", data, || stopped.iter().map(line).collect())
    }
}

/// `stopped `py`: 4 evals, 3 names, used 12m05s ago, created 2h10m ago`
fn line(stopped: &Stopped) -> String {
    let status = &stopped.status;
    let mut facts = vec![counted(status.evals, "eval", "evals")];
    facts.extend(status.variables.map(|count| counted(count, "name", "names")));
    if status.usage.cpu_ms > 0 {
        facts.push(format!("{} of CPU", time::short(Duration::from_millis(status.usage.cpu_ms))));
    }
    facts.push(format!("last used {}", time::ago(status.last_used_ms)));
    facts.extend(status.created_ms.map(|at| format!("created {}", time::ago(at))));
    facts.extend(stopped.cut_off());
    format!("stopped `{}`: {}\n", status.name, facts.join(", "))
}
