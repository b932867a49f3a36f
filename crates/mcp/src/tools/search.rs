//! What a search found, as text: like `grep -n`, with the call that reads on.

use std::fmt::Write;

use stead_client::{Hit, LastLines, Matches, Target, counted};
use stead_protocol::{ChunkKind, SessionName};

use crate::text;

/// Matches with the lines around them, as many as have room, then how many there are.
pub(super) fn found(target: &Target, found: &Matches, room: usize) -> String {
    let with_id = matches!(target, Target::Session(_));
    let mut count = found.hits.len();
    loop {
        let text = hits(&found.hits[..count], with_id) + &closing(target, found, count);
        let length = text::length(&text, room);
        if length <= room || count <= 1 {
            return text::bounded(text, room);
        }
        count = (count * room / length).clamp(1, count - 1);
    }
}

/// The last line, if the first `count` hits are shown.
fn closing(target: &Target, found: &Matches, count: usize) -> String {
    let what = match target {
        Target::Eval(id) => id.to_string(),
        Target::Session(name) => format!("{name}:"),
    };
    let matches = counted(found.matches, "match", "matches");
    let mut text = format!("[{what} {matches} in {}", counted(found.lines, "line", "lines"));
    let dropped = found.hits[count..].iter().filter(|hit| hit.matched).count() as u64;
    if found.more + dropped > 0 {
        let _ = write!(text, ", {} not shown", found.more + dropped);
    }
    if found.gone > 0 {
        let gone = counted(found.gone, "older eval", "older evals");
        let _ = write!(text, ", {gone} gone to make room");
    }
    if let Some(first) = found.hits.iter().find(|hit| hit.matched) {
        let (id, offset) = (&first.id, first.offset);
        let _ = match first.kind.is_own_output() {
            true => write!(
                text,
                "; read around the first: output {{\"id\":\"{id}\",\"offset\":{offset},\"limit\":4000}}"
            ),
            // Values and errors have no place among the bytes that offsets count.
            false => write!(text, "; all of it: output {{\"id\":\"{id}\",\"offset\":0}}"),
        };
    }
    text.push(']');
    text
}

/// The last lines of a session, as many as have room.
pub(super) fn lines(name: &SessionName, last: &LastLines, room: usize) -> String {
    let mut first = 0;
    loop {
        let shown = &last.lines[first..];
        let mut text = String::new();
        for hit in shown {
            line(&mut text, hit, true, ':');
        }
        let fewer = if last.cut || first > 0 { ", as many as fit" } else { "" };
        let lines = counted(shown.len() as u64, "line", "lines");
        let _ = write!(text, "[{name}: last {lines}{fewer}]");
        let length = text::length(&text, room);
        if length <= room || shown.len() <= 1 {
            return text::bounded(text, room);
        }
        first = last.lines.len() - (shown.len() * room / length).clamp(1, shown.len() - 1);
    }
}

fn hits(hits: &[Hit], with_id: bool) -> String {
    let mut text = String::new();
    let mut before: Option<&Hit> = None;
    for hit in hits {
        if before.is_some_and(|last| !hit.follows(last)) {
            text.push_str("--\n");
        }
        line(&mut text, hit, with_id, if hit.matched { ':' } else { '-' });
        before = Some(hit);
    }
    text
}

/// One line as `grep -n` shows it; it begins with a number or an id, so it cannot look like ours.
fn line(text: &mut String, hit: &Hit, with_id: bool, mark: char) {
    let id = if with_id { format!("{}:", hit.id) } else { String::new() };
    let source = match hit.kind {
        ChunkKind::Out => "",
        ChunkKind::Err => "stderr",
        _ => hit.kind.word(),
    };
    let _ = writeln!(text, "{id}{}{source}{mark}{}", hit.line, hit.text);
}
