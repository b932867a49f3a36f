//! `sessions`

use std::fmt::Write;
use std::time::{SystemTime, UNIX_EPOCH};

use serde::Deserialize;
use serde_json::json;
use stead_client::{Client, ClientError, EvalSummary, Listed, Workspace, counted, unrecorded};
use stead_protocol::{Activity, EvalId, EvalSeq, Status};

use super::arguments::{Count, read};
use super::{Tool, ToolSpec, object};
use crate::answer::Answer;
use crate::line::CallWatch;
use crate::server::Server;
use crate::text::{Aside, one_line, quoted, seconds};

/// How much of an eval's code tells which one it was.
const CODE_CHARS: usize = 60;
/// How many bytes of descriptions an answer has; what is around them is short.
const ROOM: usize = 7_500;
/// The sort key of all live sessions, so that they keep the order of their names.
const LIVE: std::cmp::Reverse<u64> = std::cmp::Reverse(0);
/// How much of a last line is shown.
const LINE_CHARS: usize = 120;

pub(super) fn spec() -> ToolSpec {
    ToolSpec {
        name: "sessions",
        title: "List sessions",
        description: "All sessions: what each is running, since when, its last line of output. The one call after a lost context.",
        schema: object(
            json!({
                "all": {"type": "boolean", "description": "Of all workspaces"},
                "offset": {"type": "integer", "description": "Skip so many"}
            }),
            &[],
        ),
        read_only: true,
        destructive: false,
        idempotent: true,
        open_world: false,
        read: read::<SessionsTool>,
    }
}

/// Arguments of `sessions`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SessionsTool {
    all: Option<bool>,
    offset: Option<Count>,
}

impl Tool for SessionsTool {
    fn run(
        self: Box<Self>,
        server: &Server,
        _watch: &mut CallWatch,
    ) -> Result<Answer, ClientError> {
        let all = self.all.unwrap_or(false);
        let listing = server.client.list(all)?;
        let listed = listing.sessions;
        let unread: Vec<String> =
            listing.unreadable.iter().map(|why| one_line(&why.message())).collect();
        let place = server.client.workspace.path().display().to_string();
        let place = if all { "all workspaces".to_owned() } else { one_line(&place) };
        if listed.is_empty() && !unread.is_empty() {
            let text = format!("[sessions: none could be read in {place}; {}]", unread.join("; "));
            return Ok(Answer::text(text));
        }
        if listed.is_empty() {
            return Ok(Answer::text(format!("[sessions: none in {place}; eval starts one]")));
        }
        let mut listed = listed;
        listed.sort_by_key(|session| {
            let ended = matches!(session.status.activity, Activity::Ended { .. });
            (ended, if ended { std::cmp::Reverse(session.status.last_used_ms) } else { LIVE })
        });
        let all_count = listed.len();
        let skipped = self.offset.map_or(0, |offset| offset.0 as usize).min(all_count);
        let mut text = String::new();
        let mut shown = 0;
        for session in &listed[skipped..] {
            let before = text.len();
            describe(&mut text, &server.client, session, all);
            if text.len() > ROOM && shown > 0 {
                text.truncate(before);
                break;
            }
            shown += 1;
        }
        let _ = write!(text, "[sessions: {all_count} in {place}");
        let next = skipped + shown;
        if skipped > 0 || next < all_count {
            let _ = write!(text, ", {shown} shown");
        }
        if next < all_count {
            let all = if all { "\"all\":true," } else { "" };
            let _ = write!(
                text,
                ", {} left out, running ones and newest first; more: sessions {{{all}\"offset\":{next}}}",
                all_count - next
            );
        }
        if let [first, more @ ..] = unread.as_slice() {
            let more =
                if more.is_empty() { String::new() } else { format!(" and {} more", more.len()) };
            let _ = write!(text, "; not readable: {first}{more}");
        }
        text.push(']');
        Ok(Answer::text(text))
    }
}

fn describe(text: &mut String, client: &Client, session: &Listed, all: bool) {
    let status = &session.status;
    let there = Client { workspace: Workspace::stored(status.workspace.clone()), ..client.clone() };
    let version = status.version.as_deref().map(|version| format!(" {}", one_line(version)));
    let _ = write!(text, "{} ({}{}", status.name, status.language, version.unwrap_or_default());
    if let Some(place) = &status.runs_at {
        let _ = write!(text, " at {}", one_line(place));
    }
    text.push(')');
    if all {
        let _ = write!(text, " in {}", one_line(&status.workspace));
    }
    text.push_str(": ");
    match &session.unheard {
        None => {}
        Some(ClientError::Silent { .. }) => text.push_str("its host does not answer"),
        Some(error) => text.push_str(&one_line(&error.message())),
    }
    text.push_str(&doing(status, &there));
    if let Some(unrecorded) = unrecorded(status) {
        let _ = write!(text, ", {}", one_line(&unrecorded));
    }
    if let [first, more @ ..] = status.background.as_slice() {
        let _ = write!(text, ", in the background {}", quoted(first));
        if !more.is_empty() {
            let _ = write!(text, " and {} more", more.len());
        }
    }
    if status.paused {
        text.push_str(", paused");
    }
    if !status.queued.is_empty() {
        let _ = write!(text, ", {} queued", status.queued.len());
    }
    if let Some(variables) = status.variables {
        let _ = write!(text, ", {}", counted(variables, "name", "names"));
    }
    if status.generation.0 > 1 {
        let _ = write!(text, ", generation {}", status.generation.0);
    }
    if !matches!(status.activity, Activity::Ended { .. }) && status.usage.memory_bytes > 0 {
        let _ = write!(text, ", {} MB", status.usage.memory_bytes / 1_000_000);
        if status.usage.processes > 1 {
            let _ = write!(text, " in {} processes", status.usage.processes);
        }
    }
    let _ = writeln!(text, ", cwd {}", one_line(&status.cwd));
}

fn doing(status: &Status, client: &Client) -> String {
    let id = |seq: EvalSeq| EvalId { session: status.name.clone(), seq };
    let code = |seq: EvalSeq| {
        let eval = last(client, status).filter(|eval| eval.entry.seq == seq);
        eval.map(|eval| format!(" {}", code(&eval))).unwrap_or_default()
    };
    // The sender of an eval is named if it is not this server (SPEC E-16).
    let aside = Aside { own: client.by.get(), ..Aside::default() };
    let by = aside.by(status.by.as_ref());
    match &status.activity {
        Activity::Starting => "starting".to_owned(),
        Activity::Idle => format!("idle{}", last_eval(status, client)),
        Activity::Running { eval, elapsed_ms, last_line, listens } => {
            let mut text =
                format!("running {}{}{by} for {}", id(*eval), code(*eval), seconds(*elapsed_ms));
            if *listens {
                text.push_str(", listens to stdin");
            }
            // A bar is redrawn in one line, of which the last state counts.
            let line = one_line(last_line);
            if !line.trim().is_empty() {
                let line: String = line.trim().chars().take(LINE_CHARS).collect();
                let _ = write!(text, ", last line {}", quoted(&line));
            }
            text
        }
        Activity::WaitingInput { eval, elapsed_ms, prompt } => {
            let mut text = format!("{}{}{by} waits for input", id(*eval), code(*eval));
            if !prompt.trim().is_empty() {
                let _ = write!(text, ", prompt {}", quoted(prompt.trim()));
            }
            let _ = write!(text, ", for {}", seconds(*elapsed_ms));
            text
        }
        Activity::Querying => "answering a question about its names".to_owned(),
        Activity::Ending => "ending".to_owned(),
        Activity::Ended { reason } => {
            let reason = one_line(&reason.to_string());
            format!("ended ({reason}){}", last_eval(status, client))
        }
        Activity::Unknown => String::new(),
    }
}

/// The eval that was accepted last.
fn last(client: &Client, status: &Status) -> Option<EvalSummary> {
    client.last_code(&status.name).ok()?
}

fn last_eval(status: &Status, client: &Client) -> String {
    let Some(eval) = last(client, status) else { return ", nothing ran yet".to_owned() };
    let ended = eval.entry.finished.as_ref().map_or(eval.entry.accepted_at_ms, |(at, _)| *at);
    format!(", last {} {} {}, {}", eval.id, eval.status.as_str(), code(&eval), ago(ended))
}

/// The first line of its code.
fn code(eval: &EvalSummary) -> String {
    let code = eval.entry.code.trim();
    let line: String = code.lines().next().unwrap_or_default().chars().take(CODE_CHARS).collect();
    let more = if line.len() < code.len() { "…" } else { "" };
    quoted(&format!("{line}{more}"))
}

/// How long ago that was.
pub(super) fn ago(at_ms: u64) -> String {
    let now =
        SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_millis() as u64);
    match now.saturating_sub(at_ms) {
        0..1000 => "just now".to_owned(),
        ms => format!("{} ago", seconds(ms / 1000 * 1000)),
    }
}
