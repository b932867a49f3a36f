//! Answering with an eval, for all commands that wait for one.

use serde::Serialize;
use stead_client::{ClientError, EvalView};
use stead_protocol::WireError;

use crate::context::Context;
use crate::print::{self, Mode, Outcome, Reply};
use crate::reply::{Bounds, EvalData, marker};
use crate::text_writer::TextWriter;
use crate::verdict::{notices, verdict};
use crate::watch::Watch;

/// Whether the outcome of the eval is that of the command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Judge {
    /// A failed eval is a failed command.
    Eval,
    /// The command was to read, and it did.
    Reading,
}

/// The last line of a stream (SPEC C-7).
#[derive(Debug, Serialize)]
struct Done<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    ok: bool,
    status: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a WireError>,
    data: EvalData<'a>,
}

/// Writes the reply to a command that waited for an eval; returns the exit code.
pub(crate) fn eval(
    context: &Context,
    result: Result<EvalView, ClientError>,
    watch: Watch,
    bounds: &Bounds,
    judge: Judge,
) -> Outcome {
    match result {
        Ok(view) => Ok(show(context, view, watch, bounds, judge)),
        Err(error) => {
            watch.finish();
            Err(error.into())
        }
    }
}

fn show(context: &Context, mut view: EvalView, watch: Watch, bounds: &Bounds, judge: Judge) -> u8 {
    let max = bounds.chars();
    view.content = std::mem::take(&mut view.content).bound(max);
    let mut verdict = verdict(&view);
    if judge == Judge::Reading {
        verdict.error = None;
        verdict.exit = crate::exit::SUCCESS;
    }
    let streamed = watch.streamed();
    let writer = watch.finish();
    let status = view.status.as_str();
    let error = verdict.error.as_ref();
    match context.mode {
        Mode::Json if streamed => {
            let data = EvalData::new(&view, max).without_chunks();
            print::json(&Done { kind: "done", ok: error.is_none(), status, error, data });
        }
        Mode::Json => {
            let data = EvalData::new(&view, max);
            print::json(&Reply::verdict(context.command, status, error, data));
        }
        Mode::Text => {
            let mut writer = writer.unwrap_or_else(|| TextWriter::new(bounds.raw));
            if !streamed {
                for chunk in &view.content.head {
                    writer.chunk(chunk.kind, &chunk.bytes);
                }
                if let Some(gap) = &view.content.left_out {
                    let id = view.id().map(|id| id.to_string());
                    writer.note(marker(gap, id.as_deref()).trim_end());
                }
                for chunk in &view.content.tail {
                    writer.chunk(chunk.kind, &chunk.bytes);
                }
            }
            let mut notes = notices(&view);
            if judge == Judge::Reading
                && !bounds.raw
                && notes.is_empty()
                && view.content.chunks().next().is_none()
                && let Some(id) = view.id()
            {
                notes.push(format!("{id} wrote nothing"));
            }
            writer.end_line();
            for note in notes {
                writer.note(&note);
            }
        }
    }
    verdict.exit
}

/// The mode in which a command answers: bytes as they are cannot be JSON.
pub(crate) fn mode(mode: Mode, bounds: &Bounds) -> Mode {
    if bounds.raw { Mode::Text } else { mode }
}
