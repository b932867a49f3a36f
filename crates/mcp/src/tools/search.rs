//! What a search found, as text: like `grep -n`, with the call that reads on.

use std::fmt::Write;

use stead_client::{Found, Hit, LastLines, Target};
use stead_protocol::{ChunkKind, SessionName};

use crate::text::guard;

/// Matches with the lines around them, then how many there are.
pub(super) fn found(target: &Target, found: &Found) -> String {
    let mut text = hits(&found.hits, matches!(target, Target::Session(_)));
    let what = match target {
        Target::Eval(id) => id.to_string(),
        Target::Session(name) => name.to_string(),
    };
    let plural = if found.matches == 1 { "match" } else { "matches" };
    let _ = write!(text, "[{what} {} {plural} in {} lines", found.matches, found.lines);
    if found.more > 0 {
        let _ = write!(text, ", {} not shown", found.more);
    }
    if let Some(first) = found.hits.iter().find(|hit| hit.matched) {
        let (id, offset) = (&first.id, first.offset);
        let _ = write!(
            text,
            "; read around the first: output {{\"id\":\"{id}\",\"offset\":{offset},\"limit\":4000}}"
        );
    }
    text.push(']');
    text
}

/// The last lines of a session.
pub(super) fn lines(name: &SessionName, last: &LastLines) -> String {
    let mut text = hits(&last.lines, true);
    let fewer = if last.cut { ", as many as fit" } else { "" };
    let _ = write!(text, "[{name} last {} lines{fewer}]", last.lines.len());
    text
}

fn hits(hits: &[Hit], with_id: bool) -> String {
    let mut text = String::new();
    let mut before: Option<&Hit> = None;
    for hit in hits {
        let follows = before.is_none_or(|last| last.id == hit.id && last.line + 1 == hit.line);
        if !follows {
            text.push_str("--\n");
        }
        let id = if with_id { format!("{}:", hit.id) } else { String::new() };
        let mark = if hit.matched { ':' } else { '-' };
        let stream = if hit.kind == ChunkKind::Err { "stderr" } else { "" };
        guard(&mut text, &format!("{id}{}{stream}{mark}{}\n", hit.line, hit.text));
        before = Some(hit);
    }
    text
}
