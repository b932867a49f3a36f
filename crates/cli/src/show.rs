//! Answering with an eval, for all commands that wait for one.

use std::io::IsTerminal;

use serde::Serialize;
use stead_client::{ClientError, EvalView, Page, PageItem};
use stead_screen::plain;

use crate::context::Context;
use crate::paint::Paint;
use crate::print::{self, CliReply, CommandResult, Failure, Mode};
use crate::reply::{AROUND, EvalData, ShowBounds, display_line, error_text, marker};
use crate::text_writer::TextWriter;
use crate::verdict::{notices, verdict};
use crate::watch::EvalWatcher;
use crate::{changed, habits};

/// A reply in text may have this many characters even if the user asks for fewer.
const LEAST_TEXT: usize = 500;

/// Whether a failed eval makes the command fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Judge {
    /// A failed eval makes the command fail, which was to run the eval.
    Eval,
    /// A failed eval does not matter: the command was to read output, and it did.
    Reading,
}

/// The last line of a stream (SPEC C-7).
#[derive(Debug, Serialize)]
struct StreamEnd<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    ok: bool,
    status: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a Failure>,
    data: EvalData<'a>,
}

/// Writes the reply to a command that waited for an eval; returns the exit code.
pub(crate) fn eval(
    context: &Context,
    result: Result<EvalView, ClientError>,
    watch: EvalWatcher,
    bounds: &ShowBounds,
    judge: Judge,
) -> CommandResult {
    match result {
        Ok(view) => Ok(show(context, view, watch, bounds, judge)),
        Err(error) => {
            if let Some(mut writer) = watch.finish() {
                writer.finish();
            }
            Err(error.into())
        }
    }
}

fn show(
    context: &Context,
    view: EvalView,
    watch: EvalWatcher,
    bounds: &ShowBounds,
    judge: Judge,
) -> u8 {
    let max = bounds.chars();
    // A reply that fails with its eval has the hint in its error, so only other replies need it here.
    let hint = if judge == Judge::Reading { habits::hint(&view) } else { None };
    let (page, max) = match (bounds.raw, context.mode) {
        (true, _) => (Page::default(), max),
        // Lines about files and gaps count too, unless the user wants fewer characters than those lines take.
        (false, Mode::Text) => {
            let id = view.id().map(|id| id.to_string());
            Page::fit(&view.content, max, max.max(LEAST_TEXT), |page, chars| {
                let length = text_length(&page, id.as_deref());
                ((page, chars), length)
            })
        }
        // All text in the JSON object counts, whichever field it is in (SPEC O-5).
        (false, Mode::Json) => {
            Page::fit(&view.content, max, max.saturating_add(AROUND), |page, chars| {
                let data = EvalData::new(&view, &page, chars).with_hint(hint.clone());
                let length = data.length();
                ((page, chars), length)
            })
        }
    };
    let mut verdict = verdict(&view);
    if let Some(error) = &mut verdict.error {
        error.message = plain(&error.message);
    }
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
            let data = EvalData::new(&view, &page, max).after_stream();
            print::json(&StreamEnd { kind: "done", ok: error.is_none(), status, error, data });
        }
        Mode::Json => {
            let data = EvalData::new(&view, &page, max).with_hint(hint);
            print::json(&CliReply::verdict(context.command, status, error, data));
        }
        Mode::Text => {
            let mut writer = writer.unwrap_or_else(|| TextWriter::new(bounds.raw));
            if !streamed && bounds.raw {
                view.content.chunks().for_each(|chunk| writer.chunk(chunk.kind, &chunk.bytes));
            } else if !streamed {
                let id = view.id().map(|id| id.to_string());
                writer.page(&page, id.as_deref());
            }
            let mut notes = notices(&view);
            if judge == Judge::Reading
                && !bounds.raw
                && notes.is_empty()
                && page.items.is_empty()
                && let Some(id) = view.id()
            {
                notes.push(match page.total_bytes {
                    0 => format!("{id} wrote nothing"),
                    all => format!("nothing is there: {id} wrote {all} bytes"),
                });
            }
            writer.finish();
            for note in notes {
                writer.note(&note);
            }
            if let Some(ns) = view.ns.as_deref().filter(|ns| *ns != "user") {
                writer.note(&format!("ns {ns}"));
            }
            // The changed names are written for a person at a terminal; a program finds them in the JSON.
            if let Some(changed) = &view.changed
                && judge == Judge::Eval
                && !bounds.raw
                && std::io::stderr().is_terminal()
            {
                print::err(format!("{}\n", changed::line(changed, Paint::stderr())).as_bytes());
            }
        }
    }
    verdict.exit
}

/// How many characters a page takes as text.
fn text_length(page: &Page, id: Option<&str>) -> usize {
    let chars = |text: &str| text.chars().count();
    let lengths = page.items.iter().map(|item| match item {
        PageItem::Text { text, .. } => chars(text),
        PageItem::Value(value) => chars(&value.text),
        PageItem::Error(error) => chars(&error_text(error)),
        PageItem::Display(display) => chars(&display_line(display)),
        PageItem::Status(text) | PageItem::Report(text) => chars(text),
        PageItem::Gap(gap) => chars(&marker(gap, id)),
    });
    lengths.sum()
}

/// The mode in which a command answers: raw bytes cannot be JSON.
pub(crate) fn mode(mode: Mode, bounds: &ShowBounds) -> Mode {
    if bounds.raw { Mode::Text } else { mode }
}
