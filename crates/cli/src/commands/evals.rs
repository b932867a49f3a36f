//! `stead evals`

use crate::context::{Context, NamedArg};
use crate::print::CommandResult;
use crate::record_bounds::{self, ListBounds};
use crate::records::{self, RecordData, RecordsData};
use crate::table::text_table;
use crate::{text, time};

/// List a session's evals, running and finished
///
/// In JSON the list is bounded: long code is cut in the middle, and has `code_bytes` then, the length of the whole. Where even
/// that is too much, the oldest evals are left out, and `left_out` says how many. `stead history ID` gives the whole code of one.
///
/// Works after the session ended or was stopped, too. A session's history may take 64 MiB, or what
/// STEAD_KEEP_HISTORY sets when the session starts; then the oldest ended evals go, and it is said
/// how many are gone.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  stead evals py
  stead evals py --limit 100
  stead evals py --json --full")]
pub(crate) struct EvalsArgs {
    #[command(flatten)]
    session: NamedArg,
    /// List the last N
    #[arg(long, value_name = "N", default_value_t = 20)]
    limit: u64,
    #[command(flatten)]
    bounds: ListBounds,
}

impl EvalsArgs {
    pub(crate) fn run(self, context: &Context) -> CommandResult {
        let name = context.named(&self.session)?;
        let listed = context.client.evals(&name, self.limit)?;
        let mut evals: Vec<RecordData<'_>> = listed
            .evals
            .iter()
            .map(|eval| RecordData { changed: None, ..RecordData::of_list(eval) })
            .collect();
        let row = |eval: &RecordData<'_>| {
            vec![
                eval.eval_id.clone(),
                eval.word().to_owned(),
                eval.took(),
                time::ago(eval.accepted_ms),
                text::first_line(&eval.by, 30),
                eval.first_line(60),
            ]
        };
        let rows: Vec<Vec<String>> = evals.iter().map(row).collect();
        let notice = records::notice(&listed);
        let note = notice.as_ref().map(|notice| format!("[{notice}]\n")).unwrap_or_default();
        let gone = listed.gone.map(|gone| gone.evals);
        let left_out = self.bounds.apply(&mut evals);
        let all = format!("stead evals {name} --limit {}", self.limit);
        let notice = records::joined(record_bounds::left_out(left_out, &all), notice);
        let data = RecordsData::new(&name, evals, left_out, gone, notice);
        if rows.is_empty() {
            return context.answer("complete", data, || format!("`{name}` has had no evals\n"));
        }
        context.answer("complete", data, || {
            text_table(
                &["ID", "STATUS", "TOOK", "SENT", "BY", "CODE"],
                &rows,
                &["BY", "TOOK", "SENT"],
            ) + &note
        })
    }
}
