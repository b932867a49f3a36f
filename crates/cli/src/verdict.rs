//! Whether a command that waited for an eval succeeded, and what is said below its output.

use stead_client::{EvalStatus, EvalView, unrecorded_text};
use stead_protocol::client::AsksAhead;
use stead_protocol::{ByWhom, EndReason, ErrorCode, EvalId, Outcome, TimeoutStep};

use crate::print::Failure;
use crate::reply::summary;
use crate::text::first_line;
use crate::{exit, habits, hints};

/// Whether a command that waited for this eval succeeded.
#[derive(Debug)]
pub(crate) struct Verdict {
    pub(crate) exit: u8,
    pub(crate) error: Option<Failure>,
}

/// Judges an eval by where it stands (SPEC C-6).
pub(crate) fn verdict(view: &EvalView) -> Verdict {
    let failed =
        |exit, code, message: String| Verdict { exit, error: Some(Failure::new(code, message)) };
    let name = &view.session;
    let Some(outcome) = &view.outcome else {
        let exit = if view.left { exit::LEFT } else { exit::SUCCESS };
        return Verdict { exit, error: None };
    };
    match outcome {
        Outcome::Complete | Outcome::Ended { reason: EndReason::Exit { code: 0 } } => {
            Verdict { exit: exit::SUCCESS, error: None }
        }
        Outcome::Error => {
            let message = match (view.error(), view.exit_code) {
                (Some(error), _) => summary(error),
                (None, Some(code)) => format!("the code exited with code {code}"),
                (None, None) => "the code failed".to_owned(),
            };
            // One line is enough here: the whole message stands in `data.error`.
            let error = Failure::new(ErrorCode::EvalError, first_line(&message, 200));
            let error = Failure { hint: habits::hint(view), ..error };
            Verdict { exit: exit::CODE_FAILED, error: Some(error) }
        }
        Outcome::Interrupted => failed(
            exit::CODE_FAILED,
            ErrorCode::Interrupted,
            format!(
                "the eval was interrupted{}; the session's state is kept",
                ByWhom(view.interrupted_by.as_ref())
            ),
        ),
        Outcome::Timeout { step } => {
            let message = match step {
                TimeoutStep::Interrupted => {
                    "the hard timeout passed and the eval was interrupted; the session's state is kept"
                        .to_owned()
                }
                TimeoutStep::ChildrenKilled => {
                    "the hard timeout passed and the processes that the eval had started were killed; \
                     the session's state is kept"
                        .to_owned()
                }
                TimeoutStep::Disconnected => {
                    "the hard timeout passed and the code would not stop, so the connection to what runs it was given \
                     up; the code may go on there"
                        .to_owned()
                }
                TimeoutStep::InterpreterKilled if view.restored.is_some() => {
                    EndReason::HardTimeout.to_string()
                }
                TimeoutStep::InterpreterKilled => {
                    format!("{}; the session's state is lost", EndReason::HardTimeout)
                }
            };
            failed(exit::HARD_TIMEOUT, ErrorCode::Timeout, message)
        }
        Outcome::Ended { reason: EndReason::LaunchFailed { message, trouble, .. } }
        | Outcome::NotRun { reason: EndReason::LaunchFailed { message, trouble, .. } } => {
            let message = format!("could not start session `{name}`: {message}");
            let error = Failure::new(ErrorCode::LaunchFailed, message);
            let hint = hints::after_start(name, trouble.as_deref());
            Verdict { exit: exit::REQUEST_FAILED, error: Some(error.with_hint(hint)) }
        }
        Outcome::Ended { reason: reason @ EndReason::RolledBack { .. } } => failed(
            exit::CODE_FAILED,
            ErrorCode::SessionEnded,
            format!("the eval was ended: {reason}; the session goes on with its earlier state"),
        ),
        Outcome::NotRun { reason: reason @ EndReason::RolledBack { .. } } => failed(
            exit::REQUEST_FAILED,
            ErrorCode::SessionLost,
            format!("the eval did not run: {reason}; the session goes on with its earlier state"),
        ),
        Outcome::Ended { reason } if view.restored.is_some() => failed(
            exit::CODE_FAILED,
            ErrorCode::SessionEnded,
            format!("{reason}; the session goes on"),
        ),
        Outcome::Ended { reason } => failed(
            exit::CODE_FAILED,
            ErrorCode::SessionEnded,
            format!("session `{name}` ended: {reason}"),
        ),
        Outcome::NotRun { reason } if view.restored.is_some() => failed(
            exit::REQUEST_FAILED,
            ErrorCode::SessionLost,
            format!("the eval did not run: {reason}; the session goes on"),
        ),
        Outcome::NotRun { reason } => failed(
            exit::REQUEST_FAILED,
            ErrorCode::SessionLost,
            format!("the eval did not run: {reason}"),
        ),
        Outcome::Unknown => failed(
            exit::CODE_FAILED,
            ErrorCode::Unknown,
            "the eval ended in a way that a newer stead has recorded and this one does not know"
                .to_owned(),
        ),
        Outcome::HostDied => failed(
            exit::CODE_FAILED,
            ErrorCode::SessionEnded,
            format!("session `{name}` ended: {}", EndReason::HostDied),
        ),
    }
}

/// What to say of an eval that has no outcome because of stead: the disk refuses it, or the host is silent.
pub(crate) fn unsettled(view: &EvalView) -> Option<String> {
    if let (Some(why), Some(id)) = (&view.unrecorded, view.id()) {
        return Some(format!("`{id}` {}", unrecorded_text(why)));
    }
    let (sent, id) = (view.unanswered.as_ref()?, view.id_text()?);
    let pid = sent.pid.map(|pid| format!(" (pid {pid})")).unwrap_or_default();
    Some(format!(
        "the host of session `{}`{pid} has not answered; the code was sent and may still run: `stead output {id}` \
         tells what became of it; to send it again without running it twice, give `--key '{}'`",
        view.session,
        sent.key()
    ))
}

/// What tells an agent how it is woken when an eval ends (SPEC E-17).
pub(crate) fn wait_for(id: &EvalId) -> String {
    format!("wait for it: `stead wait {id}`")
}

/// What is said of an eval that is queued behind one that waits for input.
fn asked_ahead(id: &EvalId, asks: &AsksAhead) -> String {
    let ahead = EvalId { session: id.session.clone(), seq: asks.eval };
    let prompt = asks.prompt.trim();
    let prompt = if prompt.is_empty() { String::new() } else { format!(": {prompt}") };
    format!(
        "{id} is queued, and {ahead} before it waits for input{prompt}; \
         answer: `stead input {ahead} TEXT`, or stop that one: `stead interrupt {ahead}`"
    )
}

/// The notices below an eval's output.
pub(crate) fn notices(view: &EvalView) -> Vec<String> {
    let mut notes = Vec::new();
    let name = &view.session;
    if let Some(id) = view.id() {
        match view.status {
            EvalStatus::Partial | EvalStatus::Running if view.unrecorded.is_some() => {}
            EvalStatus::Partial | EvalStatus::Running if view.paused => notes.push(format!(
                "{id} does not run now, because session `{name}` is paused; let it go on: `stead resume -n {name}`"
            )),
            EvalStatus::Partial | EvalStatus::Running if view.listens => notes.push(format!(
                "{id} is running and listens to stdin: it may wait for input; answer: `stead input {id} TEXT`, read on: `stead output {id} --follow`, stop it: `stead interrupt {id}`"
            )),
            EvalStatus::Running => notes.push(format!(
                "{id} is running; {}, read on: `stead output {id} --follow`, stop it: `stead interrupt {id}`",
                wait_for(&id)
            )),
            EvalStatus::Partial => notes.push(format!(
                "{id} is running; read on: `stead output {id} --follow`, stop it: `stead interrupt {id}`"
            )),
            EvalStatus::Queued => {
                let behind = view.behind.map(|seq| format!(" behind {name}:{}", seq.0));
                let behind = behind.unwrap_or_default();
                match &view.asks {
                    Some(asks) => notes.push(asked_ahead(&id, asks)),
                    None => notes.push(format!("{id} is queued{behind}; {}", wait_for(&id))),
                }
                if view.paused {
                    notes.push(format!("session `{name}` is paused; let it go on: `stead resume -n {name}`"));
                }
            }
            EvalStatus::WaitingInput => notes.push(match &view.editor {
                Some(file) => format!(
                    "{id} waits in an editor for the new text of {file}; give all of it: `stead input -n {name} TEXT`, \
                     leave it as it is: `stead input -n {name} --eof`, give up: `stead interrupt {id}`"
                ),
                None => format!("{id} waits for input; answer: `stead input -n {name} TEXT`"),
            }),
            EvalStatus::Complete
            | EvalStatus::Error
            | EvalStatus::Interrupted
            | EvalStatus::Timeout
            | EvalStatus::Ended => {}
        }
    }
    notes.extend(view.notices.iter().cloned());
    notes.extend(unsettled(view));
    if view.error().is_some_and(|error| error.incomplete) {
        notes.push("the code is incomplete; none of it has run".to_owned());
    }
    // The traceback has already said what the error is.
    if let Some(error) = verdict(view).error
        && (error.code != ErrorCode::EvalError || view.error().is_none())
    {
        notes.push(error.message);
    }
    notes.extend(habits::hint(view).map(|hint| format!("hint: {hint}")));
    if view.status == EvalStatus::Ended && view.error().is_none() && verdict(view).error.is_none() {
        notes.push(format!("session `{name}` has ended"));
    }
    notes
}

#[cfg(test)]
mod tests {
    use stead_protocol::EvalSeq;

    use super::*;

    #[test]
    fn c6_the_exit_code_tells_who_failed() {
        let name = "py".parse().unwrap();
        let exit_with = |code| Outcome::Ended { reason: EndReason::Exit { code } };
        let not_run = |reason| Outcome::NotRun { reason };
        let timeout = |step| Outcome::Timeout { step };
        let no_python = || EndReason::launch_failed("no python".to_owned(), None);
        for (outcome, exit, code) in [
            (Outcome::Complete, 0, None),
            (Outcome::Error, 1, Some(ErrorCode::EvalError)),
            (Outcome::Interrupted, 1, Some(ErrorCode::Interrupted)),
            (timeout(TimeoutStep::Interrupted), 3, Some(ErrorCode::Timeout)),
            (timeout(TimeoutStep::ChildrenKilled), 3, Some(ErrorCode::Timeout)),
            (timeout(TimeoutStep::InterpreterKilled), 3, Some(ErrorCode::Timeout)),
            (exit_with(0), 0, None),
            (exit_with(4), 1, Some(ErrorCode::SessionEnded)),
            (not_run(EndReason::Stopped { by: None }), 2, Some(ErrorCode::SessionLost)),
            (not_run(no_python()), 2, Some(ErrorCode::LaunchFailed)),
            (Outcome::HostDied, 1, Some(ErrorCode::SessionEnded)),
        ] {
            let mut view = EvalView::new(&name, Some(EvalSeq(1)), EvalStatus::of(&outcome));
            view.outcome = Some(outcome.clone());
            let verdict = verdict(&view);
            assert_eq!(verdict.exit, exit, "{outcome:?}");
            assert_eq!(verdict.error.map(|error| error.code), code, "{outcome:?}");
        }
    }

    #[test]
    fn c6_what_still_runs_is_a_success() {
        let name = "py".parse().unwrap();
        for status in
            [EvalStatus::Partial, EvalStatus::Queued, EvalStatus::Running, EvalStatus::WaitingInput]
        {
            let verdict = verdict(&EvalView::new(&name, Some(EvalSeq(1)), status));
            assert!(verdict.exit == 0 && verdict.error.is_none());
        }
    }
}
