//! What to do next after an error, in the words of the tools: models have calls and no command line.
//!
//! Errors of the libraries name no tool. Every variant is matched here, so that a new one forces a decision.

use stead_client::{
    ClientError, ConnectionTrouble, Fate, RequestError, SavedTrouble, StdlibError, TrustStanding,
    is_stopped,
};
use stead_protocol::{Doing, ErrorCode, Obstacle, Refusal, SessionName, StartTrouble, WireError};

/// How many sessions a hint names.
const NAMES_SHOWN: usize = 20;

/// The next call after an error, where there is one.
pub(crate) fn next_call(error: &ClientError) -> Option<String> {
    Some(match error {
        ClientError::Refused { error, .. } => return after_refused(error),
        ClientError::FrontEnd(error) => return error.hint.clone(),
        ClientError::Request(error) => return after_request(error),
        ClientError::NotLoaded { error, .. } => return next_call(error),
        ClientError::NotFound { name, around: Some(around), .. }
        | ClientError::NoLanguage { name, around: Some(around), .. } => {
            format!("`{name}` is a session of the workspace around this one, {around}")
        }
        ClientError::NotFound { existing, .. } | ClientError::WhichSession { existing, .. } => {
            match existing.as_slice() {
                [] => "there are no sessions here; eval with a language starts one".to_owned(),
                some => {
                    let names = joined(some);
                    format!("sessions here: {names}; eval with a language starts a new one")
                }
            }
        }
        ClientError::NoLanguage { name, existing, configured, .. } => {
            let start = format!("to start `{name}`, give eval a `language`");
            match (existing.as_slice(), configured.as_slice()) {
                ([], []) => start,
                (some, []) => format!("sessions here: {}; {start}", joined(some)),
                ([], some) => format!("sessions of the configuration: {}; {start}", joined(some)),
                (some, more) => format!(
                    "sessions here: {}; of the configuration: {}; {start}",
                    joined(some),
                    joined(more)
                ),
            }
        }
        // Only a person may allow what came with a project.
        ClientError::NotAllowed { unallowed, .. } if unallowed.standing == TrustStanding::Gone => {
            "stop it with control, and ask the user to look at it and to run `stead allow` there"
                .to_owned()
        }
        ClientError::NotAllowed { .. } => {
            "ask the user to look at it and to run `stead allow` there; then call again".to_owned()
        }
        ClientError::Exists { .. } => "use it with eval, or stop it first with control".to_owned(),
        ClientError::Ended { .. } => STARTS_FRESH.to_owned(),
        ClientError::Lost { .. } => {
            "run what set the state up again; the next eval starts fresh".to_owned()
        }
        ClientError::NoEval { known, .. } | ClientError::EvalGone { known, .. } => known.clone(),
        ClientError::InUse { .. } => "stop it first with control".to_owned(),
        ClientError::NotStarted { trouble, .. } => after_start(trouble.as_deref()),
        ClientError::Connection { trouble, fate } => return after_connection(trouble, *fate),
        ClientError::Silent { pid: Some(pid), .. } if is_stopped(*pid) => {
            format!("it was stopped by a signal: `kill -CONT {pid}` in shell lets it go on")
        }
        ClientError::Silent { .. } => "the machine may be overloaded: call again".to_owned(),
        ClientError::HungUp { .. } => SEE_SESSIONS.to_owned(),
        ClientError::Left { .. } => "kill them with shell, then stop it with control".to_owned(),
        ClientError::Launch { .. } | ClientError::File { .. } | ClientError::Spool { .. } => {
            return None;
        }
    })
}

/// What to do about an interpreter that could not be started.
pub(crate) fn after_start(trouble: Option<&StartTrouble>) -> String {
    match trouble {
        Some(StartTrouble::Missing { program, .. }) => {
            format!("install `{program}`, then call again")
        }
        Some(StartTrouble::NoneStarts { program, .. }) => {
            format!("install a `{program}` that starts, then call again")
        }
        Some(StartTrouble::NotRunnable { path, .. }) => {
            format!("make `{path}` one that can be run, then call again")
        }
        Some(StartTrouble::NoEnvironment { make, .. }) => format!("{make}, then call again"),
        Some(StartTrouble::NoKernel { known, .. }) => match known.first() {
            Some(first) => format!("open with a `kernel` that there is, as `{first}`"),
            None => "install one: `pip install ipykernel` in the project's environment".to_owned(),
        },
        Some(StartTrouble::Elsewhere { obstacle, .. }) => match obstacle {
            // Addresses, tokens and certificates are the user's to give.
            Obstacle::NotReached | Obstacle::OtherKind | Obstacle::LeadsElsewhere => {
                "ask the user to start it or to mend its address, then call again"
            }
            Obstacle::Token => "ask the user to set the token of that server, then call again",
            Obstacle::Untrusted => "ask the user to set `ca_file` for that server, then call again",
            Obstacle::NoSuchKernel => "open with a `kernel` that it has",
            Obstacle::NoSuchId | Obstacle::File => "open another; that kernel is not there",
            Obstacle::Died | Obstacle::Program | Obstacle::Other => {
                "mend what the message names, then call again"
            }
        }
        .to_owned(),
        Some(StartTrouble::Removed) => "call again".to_owned(),
        // Only a person may allow what came with a project.
        Some(StartTrouble::NotAllowed { dir }) => {
            format!("ask the user to look at `{dir}` and to allow it, then call again")
        }
        Some(StartTrouble::Unknown) | None => {
            "mend what the message names, then call again; open starts it with other settings"
                .to_owned()
        }
    }
}

/// What to do about a request that a host refused.
fn after_refused(error: &WireError) -> Option<String> {
    Some(match error.refusal.as_deref() {
        // The hint of an older host names a command, which a model has not, so the error code decides.
        None | Some(Refusal::Unknown) => return after_code(error.code),
        Some(
            Refusal::UnknownRequest { .. }
            | Refusal::OtherVersion { .. }
            | Refusal::NewerFiles { .. },
        ) => OTHER_VERSION.to_owned(),
        Some(Refusal::MessageTooLong { .. } | Refusal::CodeTooLong { .. }) => {
            "put data into a file and read it from the code".to_owned()
        }
        Some(Refusal::MessagesTooLong { .. }) => "call again".to_owned(),
        Some(Refusal::QueueFull { .. } | Refusal::QueuedCodeFull { .. }) => {
            "wait for some of them with output and wait_ms".to_owned()
        }
        Some(Refusal::SentBefore { .. }) => {
            "to run it again, send it with another `key`".to_owned()
        }
        Some(Refusal::StateLost { .. }) => {
            "a fresh interpreter is ready; send the code again, after what it needs".to_owned()
        }
        Some(Refusal::StateSetBack { .. }) => {
            "run what is missing again, then send the code again: it runs on that state".to_owned()
        }
        Some(Refusal::WaitsForInput { .. }) => ANSWER_IT.to_owned(),
        Some(Refusal::Busy { .. } | Refusal::NamesBusy { doing: Doing::Running { .. } }) => {
            WAIT_FOR_IT.to_owned()
        }
        Some(Refusal::NamesBusy { doing: Doing::Paused }) => {
            "let it go on: control {\"action\":\"resume\"}".to_owned()
        }
        Some(Refusal::NamesBusy { .. }) => "call again".to_owned(),
        Some(Refusal::NamesSlow) => "look at one name with inspect".to_owned(),
        Some(Refusal::Ending | Refusal::Ended { .. } | Refusal::NoInterpreter) => {
            STARTS_FRESH.to_owned()
        }
        Some(Refusal::NoEval { .. } | Refusal::EvalGone { .. }) => SEE_SESSIONS.to_owned(),
        Some(Refusal::NotRunning { .. }) => {
            "target the session, without a number, to answer a background reader".to_owned()
        }
        Some(Refusal::NotStarted { trouble, .. }) => after_start(trouble.as_deref()),
        Some(Refusal::OtherHost) => "use another session, or stop this one with control".to_owned(),
        Some(Refusal::NoCheckpoint { labels, .. }) => match labels.as_slice() {
            [] => "state with checkpoint makes one".to_owned(),
            _ => "state with list shows those that there are".to_owned(),
        },
        Some(Refusal::NotUndone { trouble }) => match trouble.can() {
            [] => "state with checkpoint keeps a state to go back to".to_owned(),
            [.., last] => format!(
                "state with undo and the id of eval {0} goes back to before it, and undoes all that came after it",
                last.0
            ),
        },
        Some(Refusal::TooManyCheckpoints { .. }) => {
            "state with drop drops one; a label that is used again takes the place of the earlier one"
                .to_owned()
        }
        Some(Refusal::NotPossible { what, .. })
            if matches!(what.as_str(), "checkpoint" | "rollback" | "undo") =>
        {
            "state with save keeps names and values in a file".to_owned()
        }
        Some(
            Refusal::NotARequest { .. }
            | Refusal::NotGreeted
            | Refusal::NotRecorded { .. }
            | Refusal::NothingReads
            | Refusal::InputNotWritten { .. }
            | Refusal::NotPossible { .. }
            | Refusal::NoAnswer { .. },
        ) => return None,
    })
}

/// What to do about an error of which only the code is known.
fn after_code(code: ErrorCode) -> Option<String> {
    Some(match code {
        ErrorCode::WaitingInput => ANSWER_IT.to_owned(),
        ErrorCode::SessionBusy => WAIT_FOR_IT.to_owned(),
        ErrorCode::SessionEnded => STARTS_FRESH.to_owned(),
        ErrorCode::SessionLost => {
            "run what set the state up again; the next eval starts fresh".to_owned()
        }
        ErrorCode::ConnectionFailed | ErrorCode::EvalNotFound => SEE_SESSIONS.to_owned(),
        ErrorCode::LaunchFailed => after_start(None),
        ErrorCode::EvalError
        | ErrorCode::Interrupted
        | ErrorCode::Timeout
        | ErrorCode::SessionNotFound
        | ErrorCode::SessionExists
        | ErrorCode::SandboxUnavailable
        | ErrorCode::LimitExceeded
        | ErrorCode::Unsupported
        | ErrorCode::BadRequest
        | ErrorCode::Unknown => return None,
    })
}

fn after_request(error: &RequestError) -> Option<String> {
    Some(match error {
        RequestError::Name(error) => error.expected().to_owned(),
        RequestError::NoSuchLanguage { .. } => {
            format!("languages: {}", stead_config::listing())
        }
        RequestError::NoSuchToolchain { given, is_session: true, .. } => {
            format!("`{given}` is a session of the configuration: give it as name or session")
        }
        RequestError::NoSuchToolchain { given, known, .. } => {
            let near = stead_config::meant(given, known);
            let near = near.map(|near| format!("did you mean `{near}`? ")).unwrap_or_default();
            let names: Vec<&str> = known.iter().map(String::as_str).take(NAMES_SHOWN).collect();
            format!("{near}there are: {}", names.join(", "))
        }
        RequestError::Config { problem, .. } => return problem.fix.clone(),
        RequestError::Command { error } => error.fix(),
        RequestError::OtherLanguage { .. } => "use another name for the other language".to_owned(),
        RequestError::OtherConfigured { .. } => {
            "use another name for the other language, or ask the user to change that line"
                .to_owned()
        }
        RequestError::NameOfOther { free, .. } => {
            let such = free.as_ref().map(|free| format!(", such as `{free}`"));
            format!("give another name{}; without a name it gets one", such.unwrap_or_default())
        }
        RequestError::NoKernels { .. } => "leave `language` out".to_owned(),
        RequestError::NoServers { .. } => "leave `language` out".to_owned(),
        RequestError::NoServer => {
            "name a toolchain as `language`: clojure.deps, clojure.lein or clojure.bb".to_owned()
        }
        RequestError::GatewayUrl { .. }
        | RequestError::GatewayMissing
        | RequestError::NoGateway { .. }
        | RequestError::UnknownGateway { .. } => {
            let known = match error {
                RequestError::NoGateway { known, .. } | RequestError::UnknownGateway { known } => {
                    known.as_slice()
                }
                _ => &[],
            };
            match known {
                [] => "the user names gateways in the user's own configuration: `[gateways.NAME]` with `url`"
                    .to_owned(),
                known => format!("`url` takes the name of one: {}", known.join(", ")),
            }
        }
        RequestError::Pattern { .. } => {
            r"escape what is meant literally: `\(`, `\[`, `\.`".to_owned()
        }
        RequestError::Stdlib(StdlibError::Missing { known, path, nameless, .. })
            if !known.is_empty() || *nameless =>
        {
            let shown: Vec<&str> = known.iter().take(20).map(String::as_str).collect();
            let known = (!known.is_empty()).then(|| format!("it defines: {}", shown.join(", ")));
            let nameless =
                nameless.then(|| format!("to remove what has no name, edit {}", path.display()));
            known.into_iter().chain(nameless).collect::<Vec<_>>().join("; ")
        }
        RequestError::Stdlib(
            StdlibError::Broken { path, .. } | StdlibError::Shared { path, .. },
        ) => {
            format!("edit {}", path.display())
        }
        RequestError::SavedFile { trouble: SavedTrouble::Newer { .. }, .. } => {
            "only the version that saved it, or a newer one, can load it".to_owned()
        }
        RequestError::SavedFile { trouble: SavedTrouble::NotSaved, .. } => {
            "only what state with save has written can be loaded".to_owned()
        }
        RequestError::SaveTarget { .. } => "name another file".to_owned(),
        RequestError::SavedLanguage { .. } => {
            "with `new_session`, or no session at all, one in its language is opened".to_owned()
        }
        RequestError::Directory { .. } => "make it, or give `open` another `cwd`".to_owned(),
        RequestError::Workspace { .. } => {
            "give `open` another directory as `workspace`, with its whole path".to_owned()
        }
        RequestError::NotUtf8 { .. } => "rename it, or give another path".to_owned(),
        RequestError::NoStateDir
        | RequestError::Stdlib(_)
        | RequestError::RelativeDir { .. }
        | RequestError::OtherWorkspace { .. }
        | RequestError::Retention { .. }
        | RequestError::SavedFile { .. }
        | RequestError::Words { .. }
        | RequestError::NoShellFree => return None,
    })
}

fn after_connection(trouble: &ConnectionTrouble, fate: Option<Fate>) -> Option<String> {
    if let (Some(Fate::CodeSent { token }), Some(name)) = (fate, trouble.session()) {
        return Some(format!("what became of it: output {{\"id\":\"{name}:{token}\"}}"));
    }
    Some(match trouble {
        ConnectionTrouble::StartedByAnother { .. }
        | ConnectionTrouble::SlowStart { .. }
        | ConnectionTrouble::Broken { .. }
        | ConnectionTrouble::Garbled { .. }
        | ConnectionTrouble::HungUpUnanswered { .. } => SEE_SESSIONS.to_owned(),
        ConnectionTrouble::OtherVersion { .. } => OTHER_VERSION.to_owned(),
        ConnectionTrouble::KernelLeft { .. } => {
            "control with stop tries again; or the kernel is deleted at its server".to_owned()
        }
        ConnectionTrouble::HungUpAlive { eval } => {
            format!("read on: output {{\"id\":\"{eval}\"}}")
        }
        ConnectionTrouble::OtherUser { .. } | ConnectionTrouble::RuntimeDir { .. } => return None,
    })
}

const ANSWER_IT: &str = "answer it with input, or interrupt it with control";
const WAIT_FOR_IT: &str = "wait for it with output and wait_ms, or interrupt it with control";
const STARTS_FRESH: &str = "the next eval starts it fresh";
const SEE_SESSIONS: &str = "call sessions to see how it stands";
const OTHER_VERSION: &str =
    "it was started by another version: that one has to stop it; a session of another name works";

pub(crate) fn joined(names: &[SessionName]) -> String {
    let shown: Vec<_> = names.iter().take(NAMES_SHOWN).map(SessionName::as_str).collect();
    let more = names.len() - shown.len();
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    shown.join(", ") + &more
}

#[cfg(test)]
mod tests {
    use stead_testkit::errors::{client_errors, refusals, troubles};

    use super::*;

    #[test]
    fn m8_models_are_never_told_to_run_a_command_of_ours() {
        for error in client_errors() {
            let Some(hint) = next_call(&error) else { continue };
            if matches!(error, ClientError::NotAllowed { .. }) {
                // The one thing that a model must not do for the user.
                assert!(hint.contains("ask the user") && hint.contains("`stead allow`"), "{hint}");
                continue;
            }
            assert!(!hint.contains("stead ") && !hint.contains(" --"), "{error:?}: {hint}");
            assert!(hint.chars().count() < 120 && !hint.ends_with('.'), "{error:?}: {hint}");
        }
    }

    #[test]
    fn m8_who_can_go_on_is_told_which_call() {
        let name: SessionName = "data".parse().unwrap();
        let after = |refusal| after_refused(&WireError::refused(refusal, &name));
        let eval = stead_protocol::EvalSeq(7);
        let prompt = String::new();
        for (refusal, call) in [
            (Refusal::WaitsForInput { eval, prompt }, "input"),
            (Refusal::Busy { eval }, "output and wait_ms"),
            (Refusal::NamesBusy { doing: Doing::Running { eval } }, "interrupt it with control"),
            (Refusal::NoEval { eval }, "sessions"),
        ] {
            let hint = after(refusal).unwrap();
            assert!(hint.contains(call), "{hint}");
        }
        assert!(refusals().into_iter().filter_map(after).count() > 20);
    }

    #[test]
    fn s11_a_missing_interpreter_can_be_installed() {
        for trouble in troubles() {
            let hint = after_start(Some(&trouble));
            let installs =
                matches!(trouble, StartTrouble::Missing { .. } | StartTrouble::NoneStarts { .. });
            assert_eq!(hint.contains("install"), installs, "{hint}");
        }
    }

    #[test]
    fn the_hint_of_an_older_host_is_a_command_and_not_shown() {
        let name: SessionName = "data".parse().unwrap();
        let eval = stead_protocol::EvalSeq(7);
        let error = WireError::refused(Refusal::Busy { eval }, &name).with_hint("`stead output`");
        let error = WireError { refusal: None, ..error };
        assert_eq!(after_refused(&error).as_deref(), Some(WAIT_FOR_IT));
    }
}
