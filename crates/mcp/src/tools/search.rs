//! What a search found, as text: like `grep -n`, with the call that reads on.

use std::fmt::Write;

use stead_client::{Hit, LastLines, Matches, Target, counted};
use stead_protocol::{ChunkKind, SessionName};

/// Matches with the lines around them, then how many there are.
pub(super) fn found(target: &Target, found: &Matches) -> String {
    let mut text = hits(&found.hits, matches!(target, Target::Session(_)));
    let what = match target {
        Target::Eval(id) => id.to_string(),
        Target::Session(name) => format!("{name}:"),
    };
    let matches = counted(found.matches, "match", "matches");
    let _ = write!(text, "[{what} {matches} in {}", counted(found.lines, "line", "lines"));
    if found.more > 0 {
        let _ = write!(text, ", {} not shown", found.more);
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

/// The last lines of a session.
pub(super) fn lines(name: &SessionName, last: &LastLines) -> String {
    let mut text = String::new();
    for hit in &last.lines {
        line(&mut text, hit, true, ':');
    }
    let fewer = if last.cut { ", as many as fit" } else { "" };
    let lines = counted(last.lines.len() as u64, "line", "lines");
    let _ = write!(text, "[{name}: last {lines}{fewer}]");
    text
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
        _ => hit.source(),
    };
    let _ = writeln!(text, "{id}{}{source}{mark}{}", hit.line, hit.text);
}
