//! `control`

use serde::Deserialize;
use serde_json::json;
use stead_client::{
    ClientError, EvalStatus, EvalView, KillEffect, Launched, PauseEffect, RUN_PREFIX, Stopped,
    counted,
};
use stead_protocol::client::InterruptEffect;
use stead_protocol::{EvalId, SessionName};

use super::arguments::read;
use super::sessions::ago;
use super::{Tool, ToolSpec, bad_request, object, reply};
use crate::answer::Answer;
use crate::line::CallWatch;
use crate::server::{Server, session_of};
use crate::text::one_line;

pub(super) fn spec() -> ToolSpec {
    ToolSpec {
        name: "control",
        title: "Control a session",
        description: "interrupt stops the running eval and keeps state, a second one also kills what it started; kill ends \
            an interpreter that will not stop; restart and clear lose variables; stop removes the session. Output stays readable.",
        schema: object(
            json!({
                "target": {"type": "string", "description": "Session, or eval id for interrupt"},
                "action": {"type": "string", "enum": ["interrupt", "pause", "resume", "kill", "restart", "clear", "stop"]}
            }),
            &["target", "action"],
        ),
        read_only: false,
        destructive: true,
        idempotent: true,
        open_world: false,
        read: read::<ControlTool>,
    }
}

/// Arguments of `control`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ControlTool {
    target: String,
    action: ControlAction,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum ControlAction {
    Interrupt,
    Pause,
    Resume,
    Kill,
    Restart,
    Clear,
    Stop,
}

impl Tool for ControlTool {
    fn session(&self) -> Option<SessionName> {
        session_of(&self.target)
    }

    fn run(
        self: Box<Self>,
        server: &Server,
        _watch: &mut CallWatch,
    ) -> Result<Answer, ClientError> {
        let (name, id) = server.client.target(&self.target)?;
        let client = &server.client;
        if self.action == ControlAction::Interrupt {
            return interrupt(server, &name, id);
        }
        if let Some(id) = &id {
            // The action is for the whole session, so the id has to be that of the eval that runs now.
            let status = client.status(&name)?;
            if status.activity.eval() != Some(id.seq) {
                let error =
                    bad_request(format!("`{id}` does not run; name the session `{name}` instead"));
                return Err(error.into());
            }
        }
        let said = match self.action {
            ControlAction::Interrupt => String::new(),
            ControlAction::Pause => match client.pause(&name)? {
                PauseEffect::Changed => "paused; resume lets it go on",
                PauseEffect::WasSo => "was paused already; resume lets it go on",
            }
            .to_owned(),
            ControlAction::Resume => match client.resume(&name)? {
                PauseEffect::Changed => "resumed",
                PauseEffect::WasSo => "was not paused",
            }
            .to_owned(),
            ControlAction::Kill => match client.kill(&name)? {
                KillEffect::Killed if name.as_str().starts_with(RUN_PREFIX) => "killed",
                KillEffect::Killed => "killed; state lost, the next eval starts fresh",
                KillEffect::HadEnded => "has ended already",
            }
            .to_owned(),
            ControlAction::Restart => {
                let Launched { status, init, .. } = client.restart(&name, None)?;
                let said = format!("restarted; state lost, generation {}", status.generation.0);
                // Init code that has simply run needs no word.
                if let Some(init) = init.filter(|init| init.status != EvalStatus::Complete) {
                    let init = reply::eval(server, &init, reply::max_chars(None));
                    let text = format!("{}\n[{name}: {said}]", init.text);
                    return Ok(Answer { text, ..init });
                }
                said
            }
            ControlAction::Clear => cleared(&client.clear(&name)?),
            ControlAction::Stop => stopped(&client.stop(&name)?),
        };
        Ok(Answer::text(format!("[{name}: {said}]")))
    }
}

/// What the session was at the last (SPEC S-7).
fn stopped(stopped: &Stopped) -> String {
    let status = &stopped.status;
    let mut facts = vec![counted(status.evals, "eval", "evals")];
    facts.extend(status.variables.map(|count| counted(count, "name", "names")));
    facts.extend(status.created_ms.map(|at| format!("created {}", ago(at))));
    facts.extend(stopped.cut_off());
    format!("stopped; {}; its output stays readable", facts.join(", "))
}

/// How emptying the namespace, which is work of its own, has gone so far.
fn cleared(view: &EvalView) -> String {
    match (view.status, view.id_text()) {
        (EvalStatus::Complete, _) | (_, None) => {
            let goes_on = view.notices.iter().map(|notice| format!("; {}", one_line(notice)));
            let goes_on: String = goes_on.collect();
            format!("cleared; all names are gone, the process lives on{goes_on}")
        }
        (EvalStatus::Error, Some(id)) => {
            let why = view.error().map(|error| format!(": {}", error.message));
            format!("not cleared, {id} failed{}", why.unwrap_or_default())
        }
        (status, Some(id)) => format!("not cleared yet, {id} is {}", status.as_str()),
    }
}

fn interrupt(
    server: &Server,
    name: &SessionName,
    id: Option<EvalId>,
) -> Result<Answer, ClientError> {
    let done = server.client.interrupt(name, id.as_ref().map(|id| id.seq))?;
    let hit = done.eval.map(|seq| EvalId { session: name.clone(), seq }).or(id);
    let what = hit.map_or_else(|| format!("{name}:"), |id| id.to_string());
    let said = match done.effect {
        InterruptEffect::Interrupted => "interrupted, state kept",
        InterruptEffect::Finished => "has ended; output says how",
        InterruptEffect::NothingRunning => "not running, nothing was interrupted",
        InterruptEffect::StillRunning if done.killed.is_none() => {
            "interrupted but still running; interrupt again kills the processes it has started and keeps state, \
             kill ends it and loses state"
        }
        InterruptEffect::StillRunning => {
            "interrupted but still running; kill ends it and loses state"
        }
        InterruptEffect::Unknown => {
            "interrupted by a newer stead, which says what this one does not know"
        }
        InterruptEffect::Dequeued => "taken out of the queue, it did not run",
    };
    let killed = match done.killed {
        None | Some(0) => String::new(),
        Some(count) => format!("; {} killed", counted(count, "process", "processes")),
    };
    Ok(Answer::text(format!("[{what} {said}{killed}]")))
}
