//! `stead history`

use serde::Serialize;
use stead_client::{EvalRecord, report_text, utc};
use stead_protocol::{EvalId, EvalSeq, SessionName};
use stead_screen::plain;

use crate::context::{Context, SessionArg};
use crate::paint::Paint;
use crate::print::{self, CliReply, CommandResult, Failure, Mode};
use crate::record_bounds::{self, ListBounds};
use crate::records::{self, RecordData, RecordsData, about};
use crate::reply::summary;
use crate::table::text_table;
use crate::{changed, exit, text, time, woken};

/// Read back what ran in a session: the code, who ran it, when, how it ended and what it changed
///
/// Without an eval's id it lists a session's evals, the newest last. With one it shows the whole code with all of
/// that. In JSON the list is bounded as that of `stead evals` is: long code is cut in the middle, and has `code_bytes` then;
/// where even that is too much, the oldest evals are left out, and `left_out` says how many. The code of one is whole unless
/// `--max-chars` is given. It works after the session ended or was stopped, and over all its
/// generations. A session's history may take 64 MiB, or what STEAD_KEEP_HISTORY sets when the session starts; then the
/// oldest ended evals go, and it is said how many are gone.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  stead history -n py
  stead history -n py --limit 100
  stead history -n py --json --full
  stead history py:24
  stead history py:24 --raw > again.py")]
pub(crate) struct HistoryArgs {
    /// An eval, or a session
    #[arg(value_name = "ID")]
    id: Option<String>,
    #[command(flatten)]
    session: SessionArg,
    /// List the last N
    #[arg(long, value_name = "N", default_value_t = 20)]
    limit: u64,
    /// Write nothing but the code, as it was sent
    #[arg(long)]
    raw: bool,
    #[command(flatten)]
    bounds: ListBounds,
}

#[derive(Debug, Serialize)]
struct One<'a> {
    session: &'a str,
    #[serde(flatten)]
    record: RecordData<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<ErrorLine<'a>>,
    /// What came of work that is not code.
    #[serde(skip_serializing_if = "Option::is_none")]
    report: Option<&'a serde_json::Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    notice: Option<String>,
}

/// What failed; the traceback is in the eval's output.
#[derive(Debug, Serialize)]
struct ErrorLine<'a> {
    name: &'a str,
    message: &'a str,
}

/// What a command is about.
enum Subject {
    Eval(EvalId),
    Session(SessionName),
}

impl HistoryArgs {
    pub(crate) fn run(self, context: &Context) -> CommandResult {
        match self.subject(context)? {
            Subject::Eval(id) => one(context, &id, self.raw, &self.bounds),
            Subject::Session(name) if self.raw => match context.client.last_code(&name)? {
                Some(last) => one(context, &last.id, true, &self.bounds),
                None => list(context, &name, self.limit, &self.bounds),
            },
            Subject::Session(name) => list(context, &name, self.limit, &self.bounds),
        }
    }

    fn subject(&self, context: &Context) -> Result<Subject, Failure> {
        match (&self.id, &self.session.name) {
            (None, _) => Ok(Subject::Session(context.session(&self.session)?)),
            // `-n py 24` is `py:24`.
            (Some(id), Some(name)) if !id.contains(':') && id.parse::<u64>().is_ok() => {
                let session = context.session_named(name)?;
                let seq = EvalSeq(id.parse().unwrap_or_default());
                Ok(Subject::Eval(EvalId { session, seq }))
            }
            (Some(id), _) => Ok(match context.client.target(id)? {
                (_, Some(id)) => Subject::Eval(id),
                (name, None) => Subject::Session(name),
            }),
        }
    }
}

fn list(context: &Context, name: &SessionName, limit: u64, bounds: &ListBounds) -> CommandResult {
    let listed = context.client.evals(name, limit)?;
    let mut evals: Vec<RecordData<'_>> = listed.evals.iter().map(RecordData::of_list).collect();
    let notice = records::notice(&listed);
    let row = |eval: &RecordData<'_>| {
        let changed = eval.changed.map(|changed| changed::line(changed, Paint::none()));
        let changed = changed.unwrap_or_default();
        vec![
            eval.eval_id.clone(),
            text::first_line(&eval.by, 30),
            time::ago(eval.accepted_ms),
            eval.generation.map(|number| number.to_string()).unwrap_or_default(),
            eval.word().to_owned(),
            eval.took(),
            text::first_line(changed.trim_matches(['[', ']']), 30),
            eval.first_line(60),
        ]
    };
    let rows: Vec<Vec<String>> = evals.iter().map(row).collect();
    let note = notice.as_ref().map(|notice| format!("[{notice}]\n")).unwrap_or_default();
    let gone = listed.gone.map(|gone| gone.evals);
    let left_out = bounds.apply(&mut evals);
    let all = format!("stead history {name} --limit {limit}");
    let notice = records::joined(record_bounds::left_out(left_out, &all), notice);
    let data = RecordsData::new(name, evals, left_out, gone, notice);
    if rows.is_empty() {
        return context.answer("complete", data, || format!("`{name}` has had no evals\n{note}"));
    }
    context.answer("complete", data, || {
        text_table(
            &["ID", "BY", "SENT", "GEN", "ENDED", "TOOK", "CHANGED", "CODE"],
            &rows,
            &["CHANGED", "GEN", "BY", "TOOK"],
        ) + &note
    })
}

fn one(context: &Context, id: &EvalId, raw: bool, bounds: &ListBounds) -> CommandResult {
    let record = context.client.record(id)?;
    if raw {
        // Work other than code, such as saving, has no code to print.
        let code = if record.entry.kind.is_code() { record.entry.code.as_str() } else { "" };
        print::out(code.as_bytes());
        return Ok(exit::SUCCESS);
    }
    match context.mode {
        Mode::Text => print::out(shown(id, &record).as_bytes()),
        Mode::Json => {
            let view = &record.view;
            let data = One {
                session: id.session.as_str(),
                record: bounds.apply_to_one(RecordData::of_one(id, &record)),
                error: view
                    .error()
                    .map(|error| ErrorLine { name: &error.name, message: &error.message }),
                report: view.report().map(|report| &report.data),
                notice: (!view.notices.is_empty()).then(|| view.notices.join("; ")),
            };
            print::json(&CliReply::success(context.command, view.status.as_str(), data));
        }
    }
    Ok(exit::SUCCESS)
}

/// All there is to say of one eval, then its code.
fn shown(id: &EvalId, record: &EvalRecord) -> String {
    let EvalRecord { entry, view, undone } = record;
    let stands = match (&view.outcome, view.error()) {
        (Some(_), Some(error)) => {
            let took = view.duration_ms.map(std::time::Duration::from_millis);
            let took = took.map(|took| format!(" in {}", time::spoken(took))).unwrap_or_default();
            format!("{}{took}: {}", view.status.as_str(), text::first_line(&summary(error), 200))
        }
        (Some(_), None) => woken::ended(view),
        (None, _) => view.status.as_str().replace('_', " "),
    };
    let by = match entry.by.to_string() {
        by if by.is_empty() => String::new(),
        by => format!("by {}, ", text::first_line(&by, 100)),
    };
    let when = format!("{} ({})", utc(entry.accepted_at_ms), time::ago(entry.accepted_at_ms));
    let generation = entry.started.map(|(generation, ..)| format!(", generation {}", generation.0));
    let mut said =
        format!("{id} {}\n{by}{when}{}\n", plain(stands), generation.unwrap_or_default());
    if let Some(changed) = &view.changed {
        let changed = changed::line(changed, Paint::none());
        said.push_str(&format!("changed {}\n", changed.trim_matches(['[', ']'])));
    }
    if let Some(key) = &entry.key {
        said.push_str(&format!("key {}\n", text::first_line(key, 200)));
    }
    if *undone {
        said.push_str("undone: the session went back to an earlier state\n");
    }
    for notice in &view.notices {
        said.push_str(&format!("[{notice}]\n"));
    }
    if let Some(report) = view.report() {
        said.push_str(&report_text(report));
    }
    let code = plain(about(entry.kind, &entry.code));
    let end = if code.ends_with('\n') || code.is_empty() { "" } else { "\n" };
    format!("{said}\n{code}{end}")
}
