//! Where an eval stands, in the words of the last line of a reply: how it ended, what it waits for, and the call to make next.

use std::fmt::{self, Write};

use stead_client::{EvalStatus, EvalView, RUN_PREFIX, unrecorded_text};
use stead_protocol::{EndReason, EvalId, EvalSeq, Outcome, SessionName, TimeoutStep};

use crate::hints;
use crate::text::{Detail, cut, one_line, quoted_of};

/// How long a read that the text recommends waits.
const NEXT_WAIT_MS: u64 = 30_000;

/// An eval's id as it is written.
pub(crate) struct Id<'a>(pub(crate) &'a SessionName, pub(crate) EvalSeq);

impl fmt::Display for Id<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.as_str())?;
        f.write_char(':')?;
        self.1.0.fmt(f)
    }
}

/// The call that waits for what comes next.
struct ReadOn<'a>(&'a Id<'a>);

impl fmt::Display for ReadOn<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "output {{\"id\":\"{}\",\"wait_ms\":{NEXT_WAIT_MS}}}", self.0)
    }
}

/// Whether the eval is a run of its own, after which nothing is left to send code to.
fn is_run(view: &EvalView) -> bool {
    view.session.as_str().starts_with(RUN_PREFIX)
}

/// Where an eval stands, unless it simply ran to its end.
pub(crate) fn standing_of(text: &mut String, view: &EvalView, id: &EvalId, detail: Detail) {
    let _ = standing(text, view, &Id(&id.session, id.seq), detail);
}

/// Where the eval stands, unless it simply ran to its end.
pub(crate) fn standing(
    text: &mut String,
    view: &EvalView,
    id: &Id<'_>,
    detail: Detail,
) -> fmt::Result {
    let quoted = |text: &str| quoted_of(text, detail.quoted);
    let told = |reason: &str| cut(&one_line(reason), detail.reason);
    if view.error().is_some_and(|error| error.incomplete) {
        return write!(text, " error: the code is incomplete, none of it has run");
    }
    if let (EvalStatus::Complete | EvalStatus::Error, Some(code)) = (view.status, view.exit_code) {
        return write!(text, " exit code {code}");
    }
    let fixed = match view.status {
        EvalStatus::Complete => "",
        EvalStatus::Error => " error",
        EvalStatus::Interrupted => " interrupted, state kept",
        EvalStatus::Timeout => match view.outcome {
            Some(Outcome::Timeout { step: TimeoutStep::InterpreterKilled })
                if view.restored.is_some() =>
            {
                " hard timeout, would not stop and was killed; the session goes on"
            }
            Some(Outcome::Timeout { step: TimeoutStep::InterpreterKilled }) if is_run(view) => {
                " hard timeout, would not stop and was killed"
            }
            Some(Outcome::Timeout { step: TimeoutStep::InterpreterKilled }) => {
                " hard timeout, would not stop and was killed: state lost, the next eval starts fresh"
            }
            Some(Outcome::Timeout { step: TimeoutStep::Disconnected }) => {
                " hard timeout, would not stop: the connection to what runs it was given up, the code may go on there"
            }
            Some(Outcome::Timeout { step: TimeoutStep::ChildrenKilled }) => {
                " hard timeout, the processes it had started were killed, state kept"
            }
            _ => " hard timeout, interrupted, state kept",
        },
        EvalStatus::Ended => match &view.outcome {
            Some(Outcome::Ended { reason: reason @ EndReason::RolledBack { .. } }) => {
                let why = told(&reason.to_string());
                return write!(text, " ended: {why}; the session goes on with its earlier state");
            }
            Some(Outcome::NotRun { reason: reason @ EndReason::RolledBack { .. } }) => {
                let why = told(&reason.to_string());
                return write!(
                    text,
                    " did not run: {why}; the session goes on with its earlier state"
                );
            }
            Some(Outcome::Ended { reason }) if view.restored.is_some() => {
                let why = told(&reason.to_string());
                return write!(text, " {why}; the session goes on");
            }
            Some(Outcome::Ended { reason }) => {
                let why = told(&reason.to_string());
                let then = if is_run(view) { "" } else { "; the next eval starts fresh" };
                return write!(text, " session ended: {why}{then}");
            }
            Some(Outcome::NotRun { reason }) if view.restored.is_some() => {
                let why = told(&reason.to_string());
                return write!(text, " did not run: {why}; the session goes on");
            }
            Some(Outcome::NotRun { reason }) => {
                let why = told(&reason.to_string());
                write!(text, " did not run, the session had ended: {why}")?;
                if let EndReason::LaunchFailed { trouble: Some(trouble), .. } = reason {
                    write!(text, "; {}", told(&hints::after_start(Some(trouble))))?;
                }
                return Ok(());
            }
            _ if is_run(view) => " session ended: its host process was killed",
            _ => " session ended: its host process was killed; the next eval starts fresh",
        },
        EvalStatus::Partial | EvalStatus::Running if view.unrecorded.is_some() => {
            let why = unrecorded_text(view.unrecorded.as_deref().unwrap_or_default());
            return write!(text, " {}; read on: {}", told(&why), ReadOn(id));
        }
        EvalStatus::Partial | EvalStatus::Running => {
            text.push_str(if view.paused {
                " does not go on: the session is paused"
            } else {
                " still running"
            });
            if view.paused {
                let name = &view.session;
                write!(text, "; control {{\"target\":\"{name}\",\"action\":\"resume\"}}")?;
            }
            if view.listens {
                write!(
                    text,
                    ", listens to stdin and may wait for input; answer: input {{\"target\":\"{id}\",\"text\":\"…\"}}"
                )?;
            }
            write!(text, "; read on: {}", ReadOn(id))?;
            // `Running` means that the call did not wait, so the agent may want to be woken (SPEC E-17).
            if view.status == EvalStatus::Running {
                write!(text, "; be woken: stead wait {id}")?;
            }
            return Ok(());
        }
        EvalStatus::Queued => {
            text.push_str(" queued");
            if let Some(seq) = view.behind {
                write!(text, " behind {}", Id(&view.session, seq))?;
            }
            if let Some(asks) = &view.asks {
                let ahead = Id(&view.session, asks.eval);
                write!(text, "; {ahead} waits for input")?;
                if !asks.prompt.trim().is_empty() {
                    write!(text, ", prompt {}", quoted(asks.prompt.trim()))?;
                }
                return write!(
                    text,
                    "; answer: input {{\"target\":\"{ahead}\",\"text\":\"…\"}}; result: {}",
                    ReadOn(id)
                );
            }
            return write!(text, "; result: {}; be woken: stead wait {id}", ReadOn(id));
        }
        EvalStatus::WaitingInput if view.editor.is_some() => {
            let file = quoted(view.editor.as_deref().unwrap_or_default());
            return write!(
                text,
                " waits in an editor for the new text of {file}; all of it: input {{\"target\":\"{id}\",\"text\":\"…\"}}, \
                 as it is: input {{\"target\":\"{id}\",\"eof\":true}}, give up: control interrupt"
            );
        }
        EvalStatus::WaitingInput => {
            text.push_str(" waits for input");
            let prompt = view.prompt.as_deref().map(str::trim);
            if let Some(prompt) = prompt.filter(|prompt| !prompt.is_empty()) {
                write!(text, ", prompt {}", quoted(prompt))?;
            }
            return write!(text, "; answer: input {{\"target\":\"{id}\",\"text\":\"…\"}}");
        }
    };
    text.push_str(fixed);
    Ok(())
}
