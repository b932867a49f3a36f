//! What happens in sessions, a line for each event: JSON for programs, text for people (SPEC E-17, C-9).

use std::collections::BTreeMap;
use std::os::fd::AsFd;

use serde::Serialize;
use stead_client::{
    FollowWait, Followed, Page, PastEval, SessionChange, SessionEvent, unrecorded_text,
};
use stead_protocol::{By, EvalSeq, SessionName, WorkKind};

use crate::context::Context;
use crate::json_stream::JsonStream;
use crate::print::{self, CommandResult, Mode};
use crate::records::about;
use crate::reply::{DEFAULT_MAX_CHARS, EvalData};
use crate::signals::{Exits, Leave};
use crate::text_writer::TextWriter;
use crate::verdict::verdict;
use crate::{exit, habits, text, time};

/// How many characters of an eval's code are shown.
const CODE: usize = 120;

/// Writes what happens in sessions until Ctrl-C; with `output`, what they write too.
pub(crate) fn lines(
    context: &Context,
    followed: Followed,
    output: bool,
    raw: bool,
) -> CommandResult {
    let mode = if raw { Mode::Text } else { context.mode };
    // Ctrl-C is taken over only on a terminal, which has to be put in order before leaving. Threads that are
    // started after this do not take the signal.
    let mut exits = Exits::new(std::io::IsTerminal::is_terminal(&std::io::stderr()));
    let mut following = context.client.follow(followed.clone(), output)?;
    let mut writer = FollowLines {
        mode,
        raw,
        here: context.client.workspace.as_str().to_owned(),
        text: TextWriter::new(raw),
        json: BTreeMap::new(),
        evals: BTreeMap::new(),
        running: BTreeMap::new(),
    };
    loop {
        let tick = writer.draw();
        match following.next(tick, exits.as_ref().map(AsFd::as_fd))? {
            FollowWait::Event(event) => {
                writer.event(&event);
                if let (SessionChange::Gone, Followed::Session(_)) = (&event.change, &followed) {
                    writer.finish();
                    return Ok(exit::SUCCESS);
                }
            }
            FollowWait::Deadline => {}
            FollowWait::Woken => match exits.as_mut().and_then(Exits::take) {
                Some(Leave::CtrlC) => {
                    writer.finish();
                    return Ok(exit::SUCCESS);
                }
                Some(Leave::Unread) => return Ok(exit::SUCCESS),
                None => {}
            },
        }
    }
}

/// A session by its workspace and name.
pub(crate) type SessionKey = (String, SessionName);

/// Writes events as lines.
struct FollowLines {
    mode: Mode,
    raw: bool,
    /// The workspace that needs no mention.
    here: String,
    text: TextWriter,
    json: BTreeMap<SessionKey, JsonStream>,
    /// Who sent which evals, and what they are, until they are over.
    evals: BTreeMap<(SessionKey, EvalSeq), SentCode>,
    /// The eval that runs in each session.
    running: BTreeMap<SessionKey, EvalSeq>,
}

struct SentCode {
    by: By,
    code: String,
}

/// An event as a line of JSON.
#[derive(Debug, Default, Serialize)]
struct EventLine<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    workspace: Option<&'a str>,
    session: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    eval_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    by: Option<&'a By>,
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    work: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    behind: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    prompt: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    since_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    generation: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ok: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_line: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    data: Option<EvalData<'a>>,
}

impl FollowLines {
    /// Shows how bars look now; when to be called again.
    fn draw(&mut self) -> Option<std::time::Instant> {
        match self.mode {
            Mode::Text => self.text.draw(),
            Mode::Json => self.json.values_mut().filter_map(JsonStream::draw).min(),
        }
    }

    fn finish(&mut self) {
        self.text.finish();
        self.json.values_mut().for_each(JsonStream::finish);
    }

    fn event(&mut self, event: &SessionEvent) {
        let key: SessionKey = (event.workspace.to_string(), event.session.clone());
        match &event.change {
            SessionChange::Output { kind, bytes } => {
                return match self.mode {
                    Mode::Text if self.raw && !kind.is_own_output() => {}
                    Mode::Text => self.text.chunk(*kind, bytes),
                    Mode::Json => {
                        let running = self.running.get(&key).map(|eval| id(&key.1, *eval));
                        let stream = self.json.entry(key).or_default();
                        stream.name(running);
                        stream.chunk(*kind, bytes);
                    }
                };
            }
            SessionChange::Accepted { eval, by, work, code } => {
                let sent = SentCode { by: by.clone(), code: about(*work, code) };
                self.evals.insert((key.clone(), *eval), sent);
            }
            SessionChange::Started { eval, .. } => {
                self.running.insert(key.clone(), *eval);
            }
            _ => {}
        }
        match self.mode {
            Mode::Text => self.text_line(&key, &event.change),
            Mode::Json => self.json_line(&key, &event.change),
        }
        let over = match &event.change {
            SessionChange::Finished(past) => past.view.eval,
            SessionChange::Unrecorded { eval, .. } => Some(*eval),
            SessionChange::Ended { .. } | SessionChange::Gone => {
                self.running.remove(&key);
                self.evals.retain(|(session, _), _| *session != key);
                None
            }
            _ => None,
        };
        if let Some(eval) = over {
            // An eval that waited for its turn can end while another one runs.
            if self.running.get(&key) == Some(&eval) {
                self.running.remove(&key);
            }
            self.evals.remove(&(key, eval));
        }
    }

    fn text_line(&mut self, key: &SessionKey, change: &SessionChange) {
        if ends_output(change) {
            // The last output of an eval is written before the line that tells its end.
            self.text.finish();
        }
        if self.raw {
            return;
        }
        let place = if key.0 == self.here { String::new() } else { format!("{} ", key.0) };
        if let Some(line) = self.describe(key, change) {
            self.text.interject(&format!("[{place}{line}]\n"));
        }
        if let SessionChange::Finished(past) = change
            && let Some(hint) = habits::hint(&past.view)
        {
            self.text.interject(&format!("[{place}hint: {hint}]\n"));
        }
    }

    fn describe(&self, key: &SessionKey, change: &SessionChange) -> Option<String> {
        let name = &key.1;
        let sent = |eval: EvalSeq| self.evals.get(&(key.clone(), eval));
        let by = |eval| sent(eval).map(|sent| format!(" {}", sent.by)).unwrap_or_default();
        Some(match change {
            SessionChange::Lives { generation, .. } => {
                format!("{name}: lives, generation {}", generation.0)
            }
            SessionChange::Silent(why) => format!("{name}: {why}"),
            SessionChange::Ended { reason, .. } => format!("{name}: ended: {reason}"),
            SessionChange::Gone => format!("{name}: stopped"),
            SessionChange::Paused(true) => format!("{name}: paused"),
            SessionChange::Paused(false) => format!("{name}: goes on"),
            // An accepted eval has no line: its start or its place in the queue is told next.
            SessionChange::Accepted { .. } | SessionChange::Output { .. } => return None,
            SessionChange::Queued { eval, behind } => {
                let behind = behind.map(|behind| format!(" behind {}", id(name, behind)));
                format!("{}{} queued{}", id(name, *eval), by(*eval), behind.unwrap_or_default())
            }
            SessionChange::Started { eval, .. } => {
                let code = sent(*eval).map(|sent| text::first_line(&sent.code, CODE));
                format!("{}{}: {}", id(name, *eval), by(*eval), code.unwrap_or_default())
            }
            SessionChange::Waiting { eval, prompt } => format!(
                "{} waits for input{}; answer: `stead input {} TEXT`",
                id(name, *eval),
                prompt_text(prompt),
                id(name, *eval)
            ),
            SessionChange::Unrecorded { eval, why } => {
                format!("{} {}", id(name, *eval), unrecorded_text(why))
            }
            SessionChange::Finished(past) => {
                format!("{} {}", past.view.id_text()?, outcome(past))
            }
        })
    }

    fn json_line(&mut self, key: &SessionKey, change: &SessionChange) {
        if ends_output(change)
            && let Some(stream) = self.json.get_mut(key)
        {
            stream.finish();
        }
        let name = &key.1;
        let sent = |eval: EvalSeq| self.evals.get(&(key.clone(), eval));
        let line = EventLine {
            workspace: (key.0 != self.here).then_some(key.0.as_str()),
            session: name.as_str(),
            ..EventLine::default()
        };
        let of = |eval: EvalSeq| Some(id(name, eval));
        print::json(&match change {
            SessionChange::Lives { generation, last } => EventLine {
                kind: "lives",
                generation: Some(generation.0),
                last_line: last
                    .as_ref()
                    .map(|last| last.last_line.as_str())
                    .filter(|line| !line.is_empty()),
                ..line
            },
            SessionChange::Silent(why) => {
                EventLine { kind: "silent", reason: Some(why.clone()), ..line }
            }
            SessionChange::Ended { reason, .. } => {
                EventLine { kind: "ended", reason: Some(reason.to_string()), ..line }
            }
            SessionChange::Gone => EventLine { kind: "stopped", ..line },
            SessionChange::Paused(true) => EventLine { kind: "paused", ..line },
            SessionChange::Paused(false) => EventLine { kind: "resumed", ..line },
            SessionChange::Accepted { eval, by, work, code } => EventLine {
                kind: "accepted",
                eval_id: of(*eval),
                by: Some(by),
                work: work_name(*work),
                code: Some(code),
                ..line
            },
            SessionChange::Queued { eval, behind } => EventLine {
                kind: "queued",
                eval_id: of(*eval),
                behind: behind.and_then(of),
                ..line
            },
            SessionChange::Started { eval, generation, since_ms, .. } => EventLine {
                kind: "started",
                eval_id: of(*eval),
                by: sent(*eval).map(|sent| &sent.by),
                since_ms: Some(*since_ms).filter(|since| *since > 0),
                generation: generation.map(|generation| generation.0),
                ..line
            },
            SessionChange::Waiting { eval, prompt } => EventLine {
                kind: "waiting_input",
                eval_id: of(*eval),
                prompt: Some(prompt),
                ..line
            },
            SessionChange::Unrecorded { eval, why } => EventLine {
                kind: "unrecorded",
                eval_id: of(*eval),
                reason: Some(why.clone()),
                ..line
            },
            SessionChange::Finished(past) => EventLine {
                kind: "finished",
                eval_id: past.view.id_text(),
                by: Some(&past.by),
                ok: Some(verdict(&past.view).error.is_none()),
                status: Some(past.view.status.as_str()),
                last_line: Some(past.last_line.as_str()).filter(|line| !line.is_empty()),
                data: Some(
                    EvalData::new(&past.view, &Page::default(), DEFAULT_MAX_CHARS)
                        .without_chunks()
                        .with_hint(habits::hint(&past.view)),
                ),
                ..line
            },
            SessionChange::Output { .. } => return,
        });
    }
}

/// Whether nothing of what was written before can be redrawn any more.
fn ends_output(change: &SessionChange) -> bool {
    match change {
        SessionChange::Finished(_)
        | SessionChange::Unrecorded { .. }
        | SessionChange::Ended { .. }
        | SessionChange::Gone => true,
        // An eval may go on writing after these: others may send evals meanwhile.
        SessionChange::Lives { .. }
        | SessionChange::Silent(_)
        | SessionChange::Paused(_)
        | SessionChange::Accepted { .. }
        | SessionChange::Queued { .. }
        | SessionChange::Started { .. }
        | SessionChange::Waiting { .. }
        | SessionChange::Output { .. } => false,
    }
}

/// The word for work that is not code.
fn work_name(work: WorkKind) -> Option<&'static str> {
    match work {
        WorkKind::Code => None,
        other => Some(other.as_str()),
    }
}

pub(crate) fn id(name: &SessionName, eval: EvalSeq) -> String {
    format!("{name}:{}", eval.0)
}

pub(crate) fn prompt_text(prompt: &str) -> String {
    match prompt.trim() {
        "" => String::new(),
        prompt => format!(": {}", text::last_line(prompt)),
    }
}

/// How an eval ended, in a few words: `complete in 3.2s`, `error in 0.1s: ZeroDivisionError: …`.
pub(crate) fn outcome(past: &PastEval) -> String {
    let view = &past.view;
    let took = view.duration_ms.map(std::time::Duration::from_millis);
    let took = took.map(|took| format!(" in {}", time::short(took))).unwrap_or_default();
    let by = view.interrupted_by.as_ref().map(|by| format!(" by {by}")).unwrap_or_default();
    let why = match (&view.error(), verdict(view).error) {
        (Some(error), _) => format!(": {}", text::last_line(crate::reply::summary(error))),
        (None, Some(failure)) if by.is_empty() && took.is_empty() => {
            format!(": {}", failure.message)
        }
        _ => String::new(),
    };
    format!("{}{by}{took}{why}", view.status.as_str().replace('_', " "))
}
