//! `output`

use serde::Deserialize;
use serde_json::json;
use stead_client::{ClientError, OutputOptions, Part, SearchOptions, Target};
use stead_protocol::{EvalId, SessionName};

use super::arguments::{AboveZero, Count, read};
use super::{Tool, ToolSpec, bad_request, code, object, reply, search};
use crate::answer::Answer;
use crate::line::CallWatch;
use crate::server::{Server, patience, session_of};
use crate::text::Frame;

/// Context lines around a match unless the call says otherwise.
const DEFAULT_CONTEXT: u64 = 2;
/// Matches that a reply shows at most; the others are counted.
const MOST_MATCHES: u64 = 100;

pub(super) fn spec() -> ToolSpec {
    ToolSpec {
        name: "output",
        title: "Read output",
        description: "Read what an eval wrote, also of ended sessions. id alone: what is new since the last read, and its \
            result. wait_ms waits for its end. offset/limit: bytes; tail: lines; grep: regular expression, gives line numbers. \
            session instead of id: the running or last eval; with grep or tail all its evals.",
        schema: object(
            json!({
                "id": {"type": "string", "description": "Eval id, e.g. py:7"},
                "session": {"type": "string"},
                "wait_ms": {"type": "integer", "description": "At most 50000"},
                "offset": {"type": "integer"},
                "limit": {"type": "integer"},
                "tail": {"type": "integer"},
                "grep": {"type": "string"},
                "context": {"type": "integer", "description": "Lines around a match; default 2"},
                "code": {"type": "boolean", "description": "Its code instead, by whom, when, how it ended"},
                "max_chars": {"type": "integer"}
            }),
            &[],
        ),
        read_only: true,
        destructive: false,
        idempotent: true,
        open_world: false,
        read: read::<OutputTool>,
    }
}

/// Arguments of `output`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct OutputTool {
    id: Option<String>,
    session: Option<String>,
    wait_ms: Option<Count>,
    offset: Option<Count>,
    limit: Option<Count>,
    tail: Option<Count>,
    grep: Option<String>,
    context: Option<Count>,
    code: Option<bool>,
    max_chars: Option<AboveZero>,
}

impl Tool for OutputTool {
    fn session(&self) -> Option<SessionName> {
        session_of(self.id.as_ref().or(self.session.as_ref())?)
    }

    fn max_chars(&self) -> Option<AboveZero> {
        self.max_chars
    }

    fn waits(&self) -> bool {
        self.wait_ms.is_some()
    }

    fn run(self: Box<Self>, server: &Server, watch: &mut CallWatch) -> Result<Answer, ClientError> {
        self.check()?;
        let max_chars = reply::max_chars(self.max_chars);
        let id = self.id.as_deref().map(|id| server.client.eval_id(id)).transpose()?;
        let session =
            self.session.as_deref().map(|name| server.client.session(name)).transpose()?;
        if let Some(pattern) = &self.grep {
            let target = match (id, session) {
                (Some(id), _) => Target::Eval(id),
                (None, Some(name)) => Target::Session(name),
                (None, None) => return Err(bad_request("`id` or `session` must be given").into()),
            };
            return self.search(server, &target, pattern, max_chars);
        }
        if let (None, Some(name), Some(tail)) = (&id, &session, self.tail) {
            let lines = server.client.last_lines(name, tail.0, max_chars)?;
            return Ok(Answer::text(search::lines(name, &lines, reply::room(max_chars))));
        }
        let id = match (id, session) {
            (Some(id), _) => id,
            (None, Some(name)) => newest(server, &name)?,
            (None, None) => return Err(bad_request("`id` or `session` must be given").into()),
        };
        if self.code == Some(true) {
            let offset = self.offset.map_or(0, |offset| offset.0);
            return Ok(code::code(&id, &server.client.record(&id)?, offset, max_chars));
        }
        let part = match (self.offset, self.limit, self.tail) {
            (_, _, Some(lines)) => Part::Tail { lines: lines.0 as usize },
            (None, None, None) => Part::Since { offset: server.cursors.get(&id) },
            // Offset 0 without a limit means everything: a range of bytes has no values and errors in it.
            (Some(Count(0)), None, None) => Part::All,
            (offset, limit, None) => {
                Part::Range { offset: offset.map_or(0, |n| n.0), limit: limit.map(|n| n.0) }
            }
        };
        let wait = self.wait_ms.map(|ms| patience(Some(ms.0), 0));
        let options = OutputOptions { part, wait, max_chars };
        let view = server.client.output(&id, &options, watch.looking_on())?;
        // Nobody reads the answer to a cancelled call, so nothing in it may count as read or told.
        if watch.is_cancelled() {
            return Ok(Answer::cancelled());
        }
        let seen = matches!(part, Part::Since { offset } if offset > Default::default());
        let before = match seen && view.content.chunks().next().is_none() {
            true => format!(
                "[note: nothing new; from the start: output {{\"id\":\"{id}\",\"offset\":0}}]\n"
            ),
            false => String::new(),
        };
        let frame = Frame { before: &before, next: None };
        Ok(match part {
            Part::All | Part::Since { .. } => reply::eval_in(frame, server, &view, max_chars),
            Part::Range { .. } | Part::Tail { .. } => reply::part(server, &view, max_chars),
        })
    }
}

impl OutputTool {
    /// Arguments that contradict each other are refused rather than ignored.
    fn check(&self) -> Result<(), ClientError> {
        let given = [
            ("offset", self.offset.is_some()),
            ("limit", self.limit.is_some()),
            ("tail", self.tail.is_some()),
            ("grep", self.grep.is_some()),
        ];
        let clash = |one: &str, other: &str| {
            bad_request(format!("`{one}` and `{other}` cannot be combined"))
        };
        if self.id.is_some() && self.session.is_some() {
            return Err(clash("id", "session").into());
        }
        for exclusive in ["tail", "grep"] {
            let on = given.iter().any(|(name, on)| *name == exclusive && *on);
            if let Some((other, _)) =
                given.iter().find(|(name, there)| on && *there && *name != exclusive)
            {
                return Err(clash(exclusive, other).into());
            }
        }
        let apart = [
            ("limit", self.limit.is_some()),
            ("tail", self.tail.is_some()),
            ("grep", self.grep.is_some()),
            ("wait_ms", self.wait_ms.is_some()),
        ];
        if let (Some(true), Some((other, _))) = (self.code, apart.iter().find(|(_, on)| *on)) {
            return Err(clash("code", other).into());
        }
        if self.context.is_some() && self.grep.is_none() {
            return Err(bad_request("`context` needs `grep`").into());
        }
        Ok(())
    }

    fn search(
        &self,
        server: &Server,
        target: &Target,
        pattern: &str,
        max_chars: usize,
    ) -> Result<Answer, ClientError> {
        let options = SearchOptions {
            pattern: pattern.to_owned(),
            ignore_case: false,
            context: self.context.map_or(DEFAULT_CONTEXT, |lines| lines.0),
            max_matches: MOST_MATCHES,
            max_chars,
        };
        let found = server.client.search(target, &options)?;
        Ok(Answer::text(search::found(target, &found, reply::room(max_chars))))
    }
}

/// The running eval of a session, else its last one.
fn newest(server: &Server, name: &SessionName) -> Result<EvalId, ClientError> {
    if let Ok(status) = server.client.status(name)
        && let Some(seq) = status.activity.eval()
    {
        return Ok(EvalId { session: name.clone(), seq });
    }
    match server.client.last_code(name)? {
        Some(eval) => Ok(eval.id),
        None => Err(bad_request(format!("nothing ran in session `{name}` yet")).into()),
    }
}
