//! `stead evals`

use std::time::Duration;

use serde::Serialize;
use stead_client::{EvalSummary, mebibytes};

use crate::context::{Context, NamedArg};
use crate::print::CommandResult;
use crate::table::table;
use crate::{text, time};

/// List a session's evals, running and finished
///
/// Works after the session ended or was stopped, too. A session's history may take 64 MiB, or what
/// STEAD_KEEP_HISTORY sets when the session starts; then the oldest ended evals go, and it is said
/// how many are gone.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  stead evals py
  stead evals py --limit 100")]
pub(crate) struct EvalsArgs {
    #[command(flatten)]
    session: NamedArg,
    /// List the last N
    #[arg(long, value_name = "N", default_value_t = 20)]
    limit: u64,
}

#[derive(Debug, Serialize)]
struct Data {
    session: String,
    evals: Vec<EvalLine>,
    /// How many older ones are gone.
    #[serde(skip_serializing_if = "Option::is_none")]
    gone: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    notice: Option<String>,
}

#[derive(Debug, Serialize)]
struct EvalLine {
    eval_id: String,
    status: &'static str,
    /// What kind of work it is.
    kind: &'static str,
    code: String,
    by: String,
    accepted_ms: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    started_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    finished_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    duration_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    generation: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    key: Option<String>,
}

impl EvalLine {
    fn new(summary: &EvalSummary) -> Self {
        let entry = &summary.entry;
        let finished = entry.finished.as_ref();
        EvalLine {
            eval_id: summary.id.to_string(),
            status: summary.status.as_str(),
            code: text::first_line(&entry.code, 200),
            kind: entry.kind.as_str(),
            by: entry.by.to_string(),
            accepted_ms: entry.accepted_at_ms,
            started_ms: entry.started.map(|(_, at, _)| at),
            finished_ms: finished.map(|(at, _)| *at),
            duration_ms: finished.map(|(_, finished)| finished.duration_ms),
            generation: entry.started.map(|(generation, ..)| generation.0),
            key: entry.key.clone(),
        }
    }
}

impl EvalsArgs {
    pub(crate) fn run(self, context: &Context) -> CommandResult {
        let name = context.named(&self.session)?;
        let listed = context.client.evals(&name, self.limit)?;
        let evals: Vec<EvalLine> = listed.evals.iter().map(EvalLine::new).collect();
        let rows: Vec<Vec<String>> = evals
            .iter()
            .map(|eval| {
                let took = eval.duration_ms.map(|ms| time::short(Duration::from_millis(ms)));
                vec![
                    eval.eval_id.clone(),
                    eval.status.to_owned(),
                    took.unwrap_or_default(),
                    time::ago(eval.accepted_ms),
                    text::first_line(&eval.by, 30),
                    match eval.kind {
                        "code" => text::first_line(&eval.code, 60),
                        other => format!("[{other}]"),
                    },
                ]
            })
            .collect();
        let gone = listed.gone.map(|gone| {
            let count = match gone.evals {
                1 => "1 older eval is".to_owned(),
                more => format!("{more} older evals are"),
            };
            format!("{count} gone: the history may take {}", mebibytes(gone.quota))
        });
        let notices: Vec<String> = gone.into_iter().chain(listed.notice).collect();
        let notice = (!notices.is_empty()).then(|| notices.join("; "));
        let note = notice.as_ref().map(|notice| format!("[{notice}]\n")).unwrap_or_default();
        let gone = listed.gone.map(|gone| gone.evals);
        let data = Data { session: name.to_string(), evals, gone, notice };
        if rows.is_empty() {
            return context.answer("complete", data, || format!("`{name}` has had no evals\n"));
        }
        context.answer("complete", data, || {
            table(&["ID", "STATUS", "TOOK", "SENT", "BY", "CODE"], &rows) + &note
        })
    }
}
