//! `state`: names kept in files, checkpoints of live sessions, going back and undo (SPEC ST-2, ST-3, ST-5).

mod text;

use std::time::Duration;

use serde::Deserialize;
use serde_json::json;
use stead_client::{ClientError, EvalOptions, EvalStatus, EvalView, Manifest, SaveOptions};
use stead_protocol::{ErrorCode, EvalSeq, SessionName, WireError};

use super::arguments::read;
use super::{Tool, ToolSpec, bad_request, object, reply};
use crate::answer::Answer;
use crate::line::CallWatch;
use crate::server::Server;
use crate::text::Frame;

/// How long the work is waited for; it goes on after that.
const PATIENCE: Duration = Duration::from_secs(30);

pub(super) fn spec() -> ToolSpec {
    ToolSpec {
        name: "state",
        title: "Keep state",
        description: "save names to a file; load brings them back, into a session or a new one. checkpoint copies the process \
            in milliseconds, rollback goes back, even from code that hangs; undo goes back to before an eval (id, or the last code), \
            nothing prepared; files on disk stay. list: checkpoints, or a file's names.",
        schema: object(
            json!({
                "action": {"type": "string", "enum": OFFERED},
                "session": {"type": "string"},
                "path": {"type": "string"},
                "names": {"type": "array", "items": {"type": "string"}},
                "into": {"type": "string"},
                "new_session": {"type": "string"},
                "label": {"type": "string"},
                "id": {"type": "string"}
            }),
            &["action"],
        ),
        read_only: false,
        destructive: true,
        idempotent: false,
        open_world: true,
        read: read::<StateTool>,
    }
}

/// The actions that clients are told of.
const OFFERED: [&str; 7] = ["save", "load", "checkpoint", "rollback", "undo", "drop", "list"];

/// Arguments of `state`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct StateTool {
    action: StateAction,
    session: Option<String>,
    path: Option<String>,
    names: Option<Vec<String>>,
    into: Option<String>,
    new_session: Option<String>,
    label: Option<String>,
    id: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum StateAction {
    Save,
    Load,
    Checkpoint,
    Rollback,
    Drop,
    List,
    Undo,
}

impl StateAction {
    fn as_str(self) -> &'static str {
        match self {
            StateAction::Save => "save",
            StateAction::Load => "load",
            StateAction::Checkpoint => "checkpoint",
            StateAction::Rollback => "rollback",
            StateAction::Drop => "drop",
            StateAction::List => "list",
            StateAction::Undo => "undo",
        }
    }

    /// The arguments that mean something to it, besides the session.
    fn takes(self) -> &'static [&'static str] {
        match self {
            StateAction::Save => &["path", "names"],
            StateAction::Load => &["path", "into", "new_session"],
            StateAction::Checkpoint | StateAction::Rollback | StateAction::Drop => &["label"],
            StateAction::List => &["path"],
            StateAction::Undo => &["id"],
        }
    }
}

impl Tool for StateTool {
    fn session(&self) -> Option<SessionName> {
        let loads = self.action == StateAction::Load;
        let target = filled(&self.into).or_else(|| filled(&self.new_session)).filter(|_| loads);
        let of_id = || filled(&self.id).and_then(|id| id.split(':').next());
        target.or_else(|| filled(&self.session)).or_else(of_id)?.parse().ok()
    }

    fn waits(&self) -> bool {
        // A rollback or an undo waits for nothing: it ends what runs.
        matches!(self.action, StateAction::Save | StateAction::Load | StateAction::Checkpoint)
    }

    fn is_ordered(&self) -> bool {
        self.waits() || matches!(self.action, StateAction::Rollback | StateAction::Undo)
    }

    fn run(self: Box<Self>, server: &Server, watch: &mut CallWatch) -> Result<Answer, ClientError> {
        self.check()?;
        let client = &server.client;
        let view = match self.action {
            StateAction::Save => {
                let (name, path) = (self.named(server)?, server.path(self.path()?));
                let what =
                    SaveOptions { names: self.names.clone().unwrap_or_default(), force: false };
                client.save(&name, &path, &what, &options(), watch.own())?
            }
            StateAction::Load => match self.load(server, watch) {
                Ok(view) => view,
                Err(error) => return self.not_loaded(error),
            },
            StateAction::Checkpoint => {
                let (name, label) = (self.named(server)?, self.label());
                client.checkpoint(&name, label, &options(), watch.own())?
            }
            StateAction::Rollback => {
                let (name, label) = (self.named(server)?, self.label());
                client.rollback(&name, label, &options(), watch.own())?
            }
            StateAction::Drop => {
                let (name, label) = (self.named(server)?, self.label());
                let label = label.ok_or_else(|| bad_request("`label` must be given"))?;
                client.drop_checkpoint(&name, &label)?;
                let left = client.checkpoints(&name)?;
                return Ok(Answer::text(text::dropped(&name, &label, &left)));
            }
            StateAction::List => return self.list(server),
            StateAction::Undo => {
                let (name, eval) = self.undone(server)?;
                client.undo(&name, eval, &options(), watch.own())?
            }
        };
        // Nobody reads the answer to a cancelled call, so nothing in it may count as read or told.
        if watch.is_cancelled() {
            return Ok(Answer::cancelled());
        }
        Ok(self.answer(server, &view))
    }
}

impl StateTool {
    /// Refuses arguments that would mean nothing, since whoever gives them expects something else.
    fn check(&self) -> Result<(), WireError> {
        let given = [
            ("path", filled(&self.path).is_some()),
            ("names", self.names.as_ref().is_some_and(|names| !names.is_empty())),
            ("into", filled(&self.into).is_some()),
            ("new_session", filled(&self.new_session).is_some()),
            ("label", filled(&self.label).is_some()),
            ("id", filled(&self.id).is_some()),
        ];
        let (action, takes) = (self.action.as_str(), self.action.takes());
        let unused = given.iter().find(|(name, is_given)| *is_given && !takes.contains(name));
        if let (Some((name, _)), false) = (unused, takes.is_empty()) {
            let takes: Vec<String> = takes.iter().map(|name| format!("`{name}`")).collect();
            let error = bad_request(format!("`{name}` means nothing to `{action}`"));
            let hint = format!("besides `session` it takes {}", takes.join(", "));
            return Err(error.with_hint(hint));
        }
        if filled(&self.into).is_some() && filled(&self.new_session).is_some() {
            return Err(bad_request("`into` and `new_session` cannot be combined"));
        }
        Ok(())
    }

    /// The session that the call is about.
    fn named(&self, server: &Server) -> Result<SessionName, ClientError> {
        let given = filled(&self.session).ok_or_else(|| bad_request("`session` must be given"))?;
        server.client.session(given)
    }

    fn path(&self) -> Result<&str, WireError> {
        filled(&self.path).ok_or_else(|| bad_request("`path` must be given"))
    }

    fn label(&self) -> Option<String> {
        filled(&self.label).map(str::to_owned)
    }

    /// Loads into a live session, or opens one. A `session` alone is loaded into if it lives, and opened if not.
    fn load(&self, server: &Server, watch: &mut CallWatch) -> Result<EvalView, ClientError> {
        let (client, path) = (&server.client, server.path(self.path()?));
        let name =
            |given: &Option<String>| filled(given).map(|given| client.session(given)).transpose();
        let (into, new, session) =
            (name(&self.into)?, name(&self.new_session)?, name(&self.session)?);
        if let Some(into) = into {
            return client.load_into(&into, &path, &options(), watch.own());
        }
        let mut open = new.as_ref();
        if let (None, Some(session)) = (&new, &session) {
            match client.load_into(session, &path, &options(), watch.own()) {
                Err(ClientError::NotFound { .. } | ClientError::Ended { .. }) => {
                    open = Some(session);
                }
                done => return done,
            }
        }
        client.load_new(open, &path, &server.launch(None), &options(), watch.own())
    }

    /// If the name for the new session is taken, the error gets a hint to load into that session.
    fn not_loaded(&self, error: ClientError) -> Result<Answer, ClientError> {
        match (error.code(), filled(&self.new_session)) {
            (ErrorCode::SessionExists, Some(name)) => {
                let hint = format!("load into it with \"into\":\"{name}\", or give a free name");
                let error = WireError::new(error.code(), error.message()).with_hint(hint);
                Ok(Answer::failure(&error))
            }
            _ => Err(error),
        }
    }

    fn list(&self, server: &Server) -> Result<Answer, ClientError> {
        if let Some(given) = filled(&self.path) {
            let path = server.path(given);
            let manifest = Manifest::read(&path)?;
            return Ok(Answer::text(text::saved_file(given, &path, &manifest)));
        }
        if filled(&self.session).is_none() {
            return Err(bad_request("`session` or `path` must be given").into());
        }
        let name = self.named(server)?;
        let checkpoints = server.client.checkpoints(&name)?;
        Ok(Answer::text(text::checkpoints(&name, &checkpoints)))
    }

    /// What came of the work, and the call that makes use of it.
    fn answer(&self, server: &Server, view: &EvalView) -> Answer {
        // What failed is the action of the call and not code of the caller, so the call has failed (SPEC M-3).
        let failed = match view.status {
            EvalStatus::Complete
            | EvalStatus::Partial
            | EvalStatus::Queued
            | EvalStatus::Running
            | EvalStatus::WaitingInput => None,
            EvalStatus::Error => Some(ErrorCode::EvalError),
            EvalStatus::Interrupted => Some(ErrorCode::Interrupted),
            EvalStatus::Timeout => Some(ErrorCode::Timeout),
            EvalStatus::Ended => Some(ErrorCode::SessionEnded),
        };
        let heading = failed
            .map(|code| format!("[{}: {} failed]\n", code.as_str(), self.action.as_str()))
            .unwrap_or_default();
        let next = match self.action {
            _ if view.status != EvalStatus::Complete => None,
            StateAction::Save => filled(&self.path).map(text::load_call),
            StateAction::Checkpoint => Some(text::rollback_call(view, filled(&self.label))),
            StateAction::Load
            | StateAction::Rollback
            | StateAction::Drop
            | StateAction::List
            | StateAction::Undo => None,
        };
        let frame = Frame { before: &heading, next: next.as_deref() };
        let answer = reply::own_eval_in(frame, server, view, reply::max_chars(None));
        Answer { failed: failed.is_some(), ..answer }
    }

    /// What is to be undone: `id` names an eval with its session, or by its number alone beside `session`.
    fn undone(&self, server: &Server) -> Result<(SessionName, Option<EvalSeq>), ClientError> {
        match (filled(&self.id), filled(&self.session)) {
            (None, _) => Ok((self.named(server)?, None)),
            (Some(id), Some(_)) if id.parse::<u64>().is_ok() => {
                Ok((self.named(server)?, id.parse().ok().map(EvalSeq)))
            }
            (Some(id), session) => {
                let (name, eval) = server.client.target(id)?;
                let named = session.map(|given| server.client.session(given)).transpose()?;
                if named.is_some_and(|named| named != name) {
                    let problem = format!(
                        "`{id}` is not an eval of session `{}`",
                        session.unwrap_or_default()
                    );
                    return Err(bad_request(problem).into());
                }
                Ok((name, eval.map(|eval| eval.seq)))
            }
        }
    }
}

fn options() -> EvalOptions {
    EvalOptions {
        code: String::new(),
        key: None,
        soft_timeout: PATIENCE,
        hard_timeout: None,
        no_queue: false,
        background: false,
        max_chars: reply::max_chars(None),
    }
}

/// An argument that is not empty: many clients give all arguments, with nothing in them.
fn filled(given: &Option<String>) -> Option<&str> {
    given.as_deref().filter(|given| !given.is_empty())
}
