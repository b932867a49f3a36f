//! What to do next after an error, in the words of the command line.
//!
//! Errors of the libraries name no command. Every variant is matched here, so that a new one forces a decision.

use stead_client::{
    ClientError, ConnectionTrouble, Fate, RequestError, SavedTrouble, StdlibError, TargetTrouble,
    TrustStanding, is_stopped,
};
use stead_protocol::{
    Doing, EvalId, EvalSeq, GatewayUrlError, Obstacle, Refusal, SessionName, StartTrouble,
    WireError,
};

/// The next step after an error, where there is one.
pub(crate) fn next_step(error: &ClientError) -> Option<String> {
    Some(match error {
        ClientError::Refused { name, error } => return after_refused(name, error),
        ClientError::FrontEnd(error) => return error.hint.clone(),
        ClientError::Request(error) => return after_request(error),
        ClientError::NotLoaded { error, .. } => return next_step(error),
        ClientError::NotFound { name, around: Some(around), .. }
        | ClientError::NoLanguage { name, around: Some(around), .. } => format!(
            "`{name}` is a session of `{around}`, which this workspace lies in: add `--workspace {around}`"
        ),
        ClientError::WhichSession { around: Some(around), .. } => format!(
            "there are sessions in `{around}`, which this workspace lies in: add `--workspace {around}`"
        ),
        ClientError::NotFound { existing, .. } if existing.is_empty() => {
            "there are no sessions here; start one: `stead launch python -n py`".to_owned()
        }
        ClientError::NotFound { existing, .. } => format!("sessions here: {}", joined(existing)),
        ClientError::NoLanguage { name, existing, configured, .. } => {
            let mut said = Vec::new();
            if !existing.is_empty() {
                said.push(format!("sessions here: {}", joined(existing)));
            }
            if !configured.is_empty() {
                said.push(format!("sessions of the configuration: {}", joined(configured)));
            }
            said.push(format!("to start `{name}`, say in which language: `-l python`"));
            said.join("; ")
        }
        ClientError::NotAllowed { name, unallowed } => {
            let workspace = unallowed.dir.parent().unwrap_or(&unallowed.dir);
            let allow = format!(
                "look at what it sets up with `stead allow --show`, then `stead allow` (in `{}`)",
                workspace.display()
            );
            match unallowed.standing {
                TrustStanding::Gone => format!(
                    "`stead stop {name}`, and the next eval starts it with what is there now; {allow}"
                ),
                _ => allow,
            }
        }
        ClientError::WhichSession { existing, .. } if existing.is_empty() => {
            "name a language to start with: `stead eval -n py '1+1'`".to_owned()
        }
        ClientError::WhichSession { existing, .. } => {
            format!("name one with `-n`: {}", joined(existing))
        }
        ClientError::Exists { name } => {
            format!("use it: `stead eval -n {name} …`, or end it first: `stead stop -n {name}`")
        }
        ClientError::Ended { name, .. } => starts_fresh(name),
        ClientError::Lost { .. } => {
            "run what set the state up again; the next eval starts fresh".to_owned()
        }
        ClientError::NoEval { known, .. } | ClientError::EvalGone { known, .. } => known.clone(),
        ClientError::InUse { name } => format!("stop it first: `stead stop -n {name}`"),
        ClientError::Launch { name, .. } => look_into(name),
        ClientError::NotStarted { name, trouble, .. } => after_start(name, trouble.as_deref()),
        ClientError::Connection { trouble, fate } => return after_connection(trouble, *fate),
        ClientError::Silent { name, pid, .. } => match pid {
            Some(pid) if is_stopped(*pid) => {
                format!("it was stopped by a signal: `kill -CONT {pid}` lets it go on")
            }
            Some(pid) => format!(
                "the machine may be overloaded: try again; see `stead logs -n {name}`, or `kill {pid}`"
            ),
            None => format!("try again; see `stead logs -n {name}`"),
        },
        ClientError::HungUp { name, .. } => {
            format!("it was killed or has ended: see `stead status -n {name}`")
        }
        ClientError::Left { name, .. } => {
            format!("end them yourself, then `stead stop -n {name}` again")
        }
        ClientError::File { .. } => "see `stead doctor`".to_owned(),
        ClientError::Spool { .. } => return None,
    })
}

/// What to do about an interpreter that could not be started.
pub(crate) fn after_start(name: &SessionName, trouble: Option<&StartTrouble>) -> String {
    let naming = |language: &str| match stead_config::language(language) {
        Some(language) if language.offered => {
            let language = language.name;
            format!(", or name one: `stead launch {language} -n {name} --interpreter PATH`")
        }
        _ => String::new(),
    };
    match trouble {
        Some(StartTrouble::Missing { language, program }) => {
            format!("install `{program}`{}", naming(language))
        }
        Some(StartTrouble::NoneStarts { language, program }) => {
            format!("install a `{program}` that starts{}", naming(language))
        }
        Some(StartTrouble::NotRunnable { language, path }) => {
            format!("make `{path}` one that can be run{}", naming(language))
        }
        Some(StartTrouble::NoEnvironment { make, .. }) => make.clone(),
        Some(StartTrouble::NoKernel { known, .. }) => match known.first() {
            Some(first) => {
                format!("name one that there is: `stead launch jupyter --kernel {first}`")
            }
            None => "install one: `pip install ipykernel` in the project's environment".to_owned(),
        },
        Some(StartTrouble::Elsewhere { engine, obstacle }) => elsewhere(name, engine, *obstacle),
        Some(StartTrouble::Removed) => "try again".to_owned(),
        Some(StartTrouble::NotAllowed { dir }) => format!(
            "look at what `{dir}` sets up with `stead allow --show`, then `stead allow`; or `stead stop {name}`"
        ),
        Some(StartTrouble::Unknown) | None => look_into(name),
    }
}

/// What to do about a server or a kernel that cannot be used.
fn elsewhere(name: &SessionName, engine: &str, obstacle: Obstacle) -> String {
    let how = match engine {
        "gateway" => format!("`stead launch gateway --url URL -n {name}`"),
        "nrepl" => format!("`stead start nrepl HOST:PORT -n {name}`"),
        _ => format!("`stead start jupyter --connection-file FILE -n {name}`"),
    };
    match obstacle {
        Obstacle::NotReached => format!("start it, or say where it listens: {how}"),
        Obstacle::OtherKind => format!("give the address of one: {how}"),
        Obstacle::Token => {
            "give the token of that server: `--token-file FILE` or `--token-env VARIABLE`".to_owned()
        }
        Obstacle::Untrusted => {
            "name a file of certificates to trust: `--ca-file FILE`; plain HTTP begins with `http://`"
                .to_owned()
        }
        Obstacle::LeadsElsewhere => format!("give that address itself, if it is yours: {how}"),
        Obstacle::NoSuchKernel => "name one that it has: `--kernel NAME`".to_owned(),
        Obstacle::NoSuchId => {
            "give the id of one that runs there: `--attach ID`; `--kernel NAME` starts a new one"
                .to_owned()
        }
        Obstacle::File => format!("name the file of a kernel that runs: {how}"),
        Obstacle::Died if engine == "nrepl" => format!(
            "try the command by itself; {{port}} in it is where the port goes: `stead launch nrepl --cmd 'COMMAND {{port}}' -n {name}`"
        ),
        Obstacle::Died => "mend what it says, or take another: `stead toolchains`".to_owned(),
        Obstacle::Program => "install it, or name another: `stead toolchains`".to_owned(),
        Obstacle::Other => look_into(name),
    }
}

/// What to do about a request that a host refused. Hosts of older versions say it themselves.
fn after_refused(name: &SessionName, error: &WireError) -> Option<String> {
    let id = |eval: &EvalSeq| EvalId { session: name.clone(), seq: *eval };
    Some(match error.refusal.as_deref() {
        None | Some(Refusal::Unknown) => return error.hint.clone(),
        Some(Refusal::UnknownRequest { .. }) => format!(
            "the session was started by an older stead: `stead stop -n {name}`, and the next eval starts it anew"
        ),
        Some(Refusal::OtherVersion { .. } | Refusal::NewerFiles { .. }) => OTHER_VERSION.to_owned(),
        Some(Refusal::MessageTooLong { .. } | Refusal::CodeTooLong { .. }) => {
            "put data into a file and read it from the code".to_owned()
        }
        Some(Refusal::MessagesTooLong { .. }) => "try again".to_owned(),
        Some(Refusal::QueueFull { .. } | Refusal::QueuedCodeFull { .. }) => {
            format!("wait for some of them: `stead evals -n {name}` lists them")
        }
        Some(Refusal::SentBefore { .. }) => {
            "to run it again, send it with another `--key`".to_owned()
        }
        Some(Refusal::NotRecorded { .. }) => {
            "`stead doctor` says what sessions take, `stead gc` gives disk back".to_owned()
        }
        Some(Refusal::StateLost { .. }) => {
            "a fresh interpreter is ready; send the code again, after what it needs".to_owned()
        }
        Some(Refusal::StateSetBack { .. }) => {
            "run what is missing again, then send the code again: it runs on that state".to_owned()
        }
        Some(Refusal::WaitsForInput { eval, .. }) => format!(
            "answer it with `stead input {0} TEXT`, or stop it with `stead interrupt {0}`",
            id(eval)
        ),
        Some(Refusal::Busy { eval }) => format!(
            "wait for it with `stead output {} --wait 30s`, or leave out `--no-queue`",
            id(eval)
        ),
        Some(Refusal::NamesBusy { doing: Doing::Running { eval } }) => format!(
            "wait for it with `stead output {0} --wait 30s`, or stop it with `stead interrupt {0}`",
            id(eval)
        ),
        Some(Refusal::NamesBusy { doing: Doing::Paused }) => {
            format!("let it go on: `stead resume -n {name}`")
        }
        Some(Refusal::NamesBusy { .. }) => "try again".to_owned(),
        Some(Refusal::NamesSlow) => {
            format!("look at one name: `stead inspect -n {name} EXPRESSION`")
        }
        Some(Refusal::Ending) => "run it again to start the session fresh".to_owned(),
        Some(Refusal::Ended { .. } | Refusal::NoInterpreter) => starts_fresh(name),
        Some(Refusal::NoEval { .. } | Refusal::EvalGone { .. }) => {
            format!("see `stead evals -n {name}`")
        }
        Some(Refusal::NotRunning { .. }) => {
            format!("`stead input -n {name} TEXT`, without a number, answers a background reader")
        }
        Some(Refusal::NotStarted { trouble, .. }) => after_start(name, trouble.as_deref()),
        Some(Refusal::OtherHost) => {
            format!("`stead logs -n {name}` may say why; kill the process that holds `host.lock`")
        }
        Some(Refusal::NoCheckpoint { labels, .. }) if labels.is_empty() => {
            format!("`stead checkpoint -n {name}` makes one")
        }
        Some(Refusal::NoCheckpoint { .. }) => {
            format!("`stead checkpoint -n {name} --list` shows those that there are")
        }
        Some(Refusal::NotUndone { trouble }) => match trouble.can() {
            [] => format!("`stead checkpoint -n {name}` keeps a state to go back to"),
            [.., last] => format!(
                "`stead undo {0}` goes back to before {0}, and undoes all that came after it",
                id(last)
            ),
        },
        Some(Refusal::TooManyCheckpoints { .. }) => {
            format!("drop one with `stead checkpoint -n {name} --drop LABEL`")
        }
        Some(Refusal::NotPossible { what, .. })
            if matches!(what.as_str(), "checkpoint" | "rollback" | "undo") =>
        {
            format!("`stead save -n {name} FILE` keeps names and values in a file")
        }
        Some(
            Refusal::NotARequest { .. }
            | Refusal::NotGreeted
            | Refusal::NothingReads
            | Refusal::InputNotWritten { .. }
            | Refusal::NotPossible { .. }
            | Refusal::NoAnswer { .. },
        ) => return None,
    })
}

fn after_request(error: &RequestError) -> Option<String> {
    Some(match error {
        RequestError::Name(error) => error.expected().to_owned(),
        RequestError::NoSuchLanguage { .. } => {
            format!("languages: {}, or the name of a Jupyter kernel", stead_config::listing())
        }
        RequestError::NoSuchToolchain { given, is_session: true, .. } => {
            format!("`{given}` is a session of the configuration: `stead launch -n {given}`")
        }
        RequestError::NoSuchToolchain { given, known, .. } => no_such_toolchain(given, known),
        RequestError::Config { problem, more } => {
            let fix = problem.fix.clone().unwrap_or_else(|| "mend the file".to_owned());
            match more {
                0 => fix,
                _ => format!("{fix}; `stead config --check` tells all"),
            }
        }
        RequestError::Command { error } => error.fix(),
        RequestError::OtherLanguage { .. } => "use another name for the other language".to_owned(),
        RequestError::OtherConfigured { .. } => {
            "use another name for the other language, or change that line".to_owned()
        }
        RequestError::NameOfOther { free, .. } => {
            let such = free.as_ref().map(|free| format!(", such as `-n {free}`"));
            format!("give another name{}; without `-n` it gets one", such.unwrap_or_default())
        }
        RequestError::NoKernels { .. } => "leave the language out, or say `jupyter`".to_owned(),
        RequestError::NoServers { .. } => "leave the language out, or say `nrepl`".to_owned(),
        RequestError::NoServer => {
            "name a toolchain (`stead launch clojure.bb`), give a command (`--cmd 'bb \
             --nrepl-server {port}'`), or reach one that runs (`stead start nrepl HOST:PORT`)"
                .to_owned()
        }
        RequestError::GatewayUrl { error: GatewayUrlError::Secret } => {
            "leave it out of the address: the token goes into STEAD_GATEWAY_TOKEN, a file (`--token-file`) or \
             `[gateways.NAME]` of your configuration"
                .to_owned()
        }
        RequestError::GatewayUrl { .. } => "an address is such as http://localhost:8888/".to_owned(),
        RequestError::GatewayMissing => "`stead launch gateway --url URL --kernel NAME`".to_owned(),
        RequestError::NoGateway { known, .. } | RequestError::UnknownGateway { known } => {
            let there = match known.as_slice() {
                [] => "your configuration has none".to_owned(),
                known => format!("your configuration has: {}", known.join(", ")),
            };
            format!("give an address such as http://localhost:8888/, or a name of `[gateways.NAME]`; {there}")
        }
        RequestError::Pattern { .. } => {
            r"escape what is meant literally: `\(`, `\[`, `\.`".to_owned()
        }
        RequestError::NoStateDir => {
            "set HOME, or STEAD_STATE_DIR to a directory of your own".to_owned()
        }
        RequestError::RelativeDir { variable, .. } => {
            format!("give {variable} a path that begins with `/`")
        }
        RequestError::SavedFile { trouble: SavedTrouble::Newer { .. }, .. } => {
            "load it with the stead that saved it, or a newer one".to_owned()
        }
        RequestError::SavedFile { .. } => "`stead save -n NAME FILE` writes such files".to_owned(),
        RequestError::SaveTarget { trouble: TargetTrouble::OtherFile, .. } => {
            "name another file, or lose what is in this one: `--force`".to_owned()
        }
        RequestError::SaveTarget { trouble: TargetTrouble::NotAFile(_), .. } => {
            "name a file".to_owned()
        }
        RequestError::SavedLanguage { .. } => {
            "without `--into` a session in the right language is opened for it".to_owned()
        }
        RequestError::Stdlib(error) => return after_stdlib(error),
        RequestError::Directory { .. } => {
            "make it, or name another: `stead launch -n NAME --cwd DIR`".to_owned()
        }
        RequestError::Workspace { .. } => OTHER_DIRECTORY.to_owned(),
        RequestError::NotUtf8 { .. } => "rename it, or give another path".to_owned(),
        RequestError::OtherWorkspace { .. }
        | RequestError::Retention { .. }
        | RequestError::Words { .. }
        | RequestError::NoShellFree => return None,
    })
}

/// What there is in place of a toolchain that there is not.
fn no_such_toolchain(given: &str, known: &[String]) -> String {
    let near = stead_config::meant(given, known);
    let near = near.map(|near| format!("did you mean `{near}`? ")).unwrap_or_default();
    let is_offered = |name: &str| stead_config::offered().any(|language| language.name == name);
    let others: Vec<&str> =
        known.iter().map(String::as_str).filter(|name| !is_offered(name)).collect();
    let (languages, others) = (stead_config::listing(), others.join(", "));
    format!("{near}languages: {languages}; toolchains: {others}; or the name of a Jupyter kernel")
}

/// How to get what keeps a toolchain from starting.
pub(crate) fn to_install(trouble: &StartTrouble) -> Option<String> {
    Some(match trouble {
        StartTrouble::Missing { program, .. } => format!("install `{program}`"),
        StartTrouble::NoneStarts { program, .. } => format!("install a `{program}` that starts"),
        StartTrouble::NotRunnable { path, .. } => {
            format!("install `{path}`, or name another program in its definition")
        }
        StartTrouble::NoEnvironment { make, .. } => make.clone(),
        StartTrouble::NoKernel { .. } => {
            "install one: `pip install ipykernel` in the project's environment".to_owned()
        }
        StartTrouble::Elsewhere { .. }
        | StartTrouble::Removed
        | StartTrouble::NotAllowed { .. }
        | StartTrouble::Unknown => {
            return None;
        }
    })
}

fn after_stdlib(error: &StdlibError) -> Option<String> {
    Some(match error {
        StdlibError::Broken { path, .. } => {
            format!("mend it in `{}`; until then sessions start without it", path.display())
        }
        StdlibError::Shared { path, .. } => format!("edit `{}`", path.display()),
        StdlibError::Missing { known, path, nameless: true, .. } => {
            let known = match known.as_slice() {
                [] => String::new(),
                known => format!("{}; ", it_defines(known)),
            };
            format!("{known}to remove what has no name, edit `{}`", path.display())
        }
        StdlibError::Missing { known, .. } if known.is_empty() => {
            "add something: `stead stdlib add CODE`".to_owned()
        }
        StdlibError::Missing { known, .. } => it_defines(known),
        StdlibError::NoConfigDir => "set HOME".to_owned(),
        StdlibError::TooLong { .. } => "put most of it into a module and import that".to_owned(),
        StdlibError::NotKept { .. } => format!("languages: {}", stead_config::listing()),
        StdlibError::Code { .. } | StdlibError::Empty | StdlibError::Line { .. } => return None,
    })
}

fn it_defines(known: &[String]) -> String {
    let shown: Vec<&str> = known.iter().take(20).map(String::as_str).collect();
    let more = if known.len() > shown.len() { ", …" } else { "" };
    format!("it defines: {}{more}", shown.join(", "))
}

fn after_connection(trouble: &ConnectionTrouble, fate: Option<Fate>) -> Option<String> {
    if let (Some(Fate::CodeSent { token }), Some(name)) = (fate, trouble.session()) {
        return Some(format!("`stead output {name}:{token}` tells what became of it"));
    }
    Some(match trouble {
        ConnectionTrouble::StartedByAnother { lock, .. } => {
            format!("it holds `{}`", lock.display())
        }
        ConnectionTrouble::SlowStart { name, .. } | ConnectionTrouble::Garbled { name, .. } => {
            format!("see `stead logs -n {name}`")
        }
        ConnectionTrouble::Broken { .. } | ConnectionTrouble::HungUpUnanswered { .. } => {
            "try again".to_owned()
        }
        ConnectionTrouble::OtherVersion { .. } => {
            "stop the session with the version that started it, then start it again".to_owned()
        }
        ConnectionTrouble::KernelLeft { name, .. } => {
            format!("`stead stop {name}` tries again; or delete the kernel at its server")
        }
        ConnectionTrouble::HungUpAlive { eval } => format!("read on with `stead output {eval}`"),
        ConnectionTrouble::RuntimeDir { path, .. } => format!(
            "make it a directory of your own with mode 0700 (`chmod 700 {}`), or set STEAD_RUNTIME_DIR",
            path.display()
        ),
        ConnectionTrouble::OtherUser { .. } => return None,
    })
}

/// The next step where there is no workspace.
pub(crate) const OTHER_DIRECTORY: &str =
    "`cd` to a directory that can be used, or name one: `--workspace DIR`";

const OTHER_VERSION: &str = "use the stead that started the session, or stop it with that one";

fn starts_fresh(name: &SessionName) -> String {
    format!("the next `stead eval -n {name} …` starts it fresh")
}

fn look_into(name: &SessionName) -> String {
    format!("see `stead logs -n {name}` and `stead doctor`")
}

fn joined(names: &[SessionName]) -> String {
    names.iter().map(SessionName::as_str).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use stead_testkit::errors::{client_errors, refusals};

    use super::*;

    fn name() -> SessionName {
        "data".parse().unwrap()
    }

    fn after(refusal: Refusal) -> Option<String> {
        after_refused(&name(), &WireError::refused(refusal, &name()))
    }

    #[test]
    fn hints_name_commands_and_never_a_tool() {
        for error in client_errors() {
            let Some(hint) = next_step(&error) else { continue };
            for tool in ["output {", "input {", "call sessions", "wait_ms", "with control"] {
                assert!(!hint.contains(tool), "{error:?}: {hint}");
            }
            assert!(!hint.is_empty() && !hint.ends_with('.'), "{error:?}: {hint}");
        }
    }

    #[test]
    fn c5_who_can_go_on_is_told_how() {
        let eval = EvalSeq(7);
        let prompt = String::new();
        for (refusal, command) in [
            (Refusal::WaitsForInput { eval, prompt }, "stead input data:7 TEXT"),
            (Refusal::Busy { eval }, "stead output data:7 --wait 30s"),
            (Refusal::NamesBusy { doing: Doing::Running { eval } }, "stead interrupt data:7"),
            (Refusal::NotRunning { eval }, "stead input -n data TEXT"),
            (Refusal::OtherHost, "stead logs -n data"),
        ] {
            let hint = after(refusal).unwrap();
            assert!(hint.contains(command), "{hint}");
        }
        assert!(refusals().into_iter().filter_map(after).count() > 20);
    }

    #[test]
    fn s11_a_missing_interpreter_can_be_installed_or_named() {
        let trouble = |language: &str| StartTrouble::Missing {
            language: language.to_owned(),
            program: "node".to_owned(),
        };
        let hint = after_start(&name(), Some(&trouble("node")));
        assert_eq!(
            hint,
            "install `node`, or name one: `stead launch node -n data --interpreter PATH`"
        );
        assert_eq!(after_start(&name(), Some(&trouble("shell"))), "install `node`");
    }

    #[test]
    fn the_hint_of_an_older_host_is_shown() {
        let error = WireError { refusal: None, ..Refusal::OtherHost.into() }.with_hint("look");
        assert_eq!(after_refused(&name(), &error).as_deref(), Some("look"));
    }
}
