//! The code of an eval, who sent it, when, how it ended and what it changed (SPEC E-16).

use std::fmt::Write;

use stead_client::{Content, EvalRecord, EvalStatus, LeftOut, Page, PageItem, counted, utc};
use stead_protocol::{Chunk, ChunkKind, EvalId};

use super::reply;
use crate::answer::Answer;
use crate::standing::standing_of;
use crate::text::{self, Detail};

/// The code from `offset` on, as much as fits, and the line that says all else.
pub(super) fn code(id: &EvalId, record: &EvalRecord, offset: u64, max_chars: usize) -> Answer {
    let code = &record.entry.code;
    // An offset within a character is moved to its end.
    let mut from = usize::try_from(offset).unwrap_or(usize::MAX).min(code.len());
    while !code.is_char_boundary(from) {
        from += 1;
    }
    let bytes = code.as_bytes()[from..].to_vec();
    let content = Content {
        head: vec![Chunk { kind: ChunkKind::Out, bytes }],
        offset: from as u64,
        total_bytes: code.len() as u64,
        ..Content::default()
    };
    reply::fitted(&content, max_chars, |page, detail| Answer::text(shown(id, record, page, detail)))
}

fn shown(id: &EvalId, record: &EvalRecord, page: &Page, detail: Detail) -> String {
    let mut said = String::new();
    for item in &page.items {
        match item {
            PageItem::Text { text, .. } => text::guard(&mut said, text),
            PageItem::Gap(gap) => text::own_line(&mut said, &format!("[{}]", gap_text(id, gap))),
            // There is nothing but text in code.
            PageItem::Value(_)
            | PageItem::Error(_)
            | PageItem::Display(_)
            | PageItem::Status(_)
            | PageItem::Report(_) => {}
        }
    }
    if !record.entry.kind.is_code() {
        let kind = record.entry.kind.as_str();
        text::own_line(&mut said, &format!("[note: no code, but the work `{kind}`]"));
    }
    text::own_line(&mut said, &closing(id, record, detail));
    said.truncate(said.trim_end().len());
    said
}

fn closing(id: &EvalId, record: &EvalRecord, detail: Detail) -> String {
    let EvalRecord { entry, view, undone } = record;
    let mut said = format!("[{id}");
    if let Some((generation, ..)) = entry.started.filter(|(generation, ..)| generation.0 > 1) {
        let _ = write!(said, " g{}", generation.0);
    }
    let by = text::one_line(&entry.by.to_string());
    if !by.is_empty() {
        let _ = write!(said, " by {}", text::cut(&by, detail.quoted));
    }
    let _ = write!(said, ", {}", utc(entry.accepted_at_ms));
    match view.duration_ms {
        Some(took) => drop(write!(said, ", ran {},", text::seconds(took))),
        None => said.push(','),
    }
    match view.status {
        EvalStatus::Complete => said.push_str(" complete"),
        _ => standing_of(&mut said, view, id, detail),
    }
    if *undone {
        said.push_str(", undone");
    }
    if let Some(error) = view.error() {
        let message = format!("{}: {}", error.name, error.message);
        let _ = write!(said, " {}", text::cut(&text::one_line(&message), detail.quoted));
    }
    if let Some(changed) = &view.changed {
        text::changes(&mut said, changed, detail);
    }
    said.push(']');
    said
}

/// What is missing and the call that reads it.
fn gap_text(id: &EvalId, gap: &LeftOut) -> String {
    let lines = gap.lines.filter(|lines| *lines > 0);
    let lines = lines.map(|lines| format!("{}, ", counted(lines, "line", "lines")));
    format!(
        "… {}{} bytes left out; read on: output {{\"id\":\"{id}\",\"code\":true,\"offset\":{}}}",
        lines.unwrap_or_default(),
        gap.bytes,
        gap.offset
    )
}
