//! One of every error that front ends word a hint for, so that their tests leave none out.

use std::path::PathBuf;
use std::time::Duration;

use stead_client::{
    ClientError, ConnectionTrouble, Fate, RequestError, SavedTrouble, StdlibError, TargetTrouble,
    TrustStanding, Unallowed,
};
use stead_config::{ConfigProblem, TemplateError};
use stead_protocol::{
    Doing, EndReason, EvalId, EvalSeq, GatewayUrlError, NameError, Obstacle, Refusal, SessionName,
    Speaker, StartTrouble, Token, UndoTrouble, WireError,
};

/// Calls the macro with all variants, and makes a new variant an error where it is not listed.
macro_rules! all {
    ($enum:ident: $($variant:ident $fields:tt),+ $(,)?) => {{
        #[allow(dead_code)]
        fn complete(value: &$enum) {
            match value { $($enum::$variant { .. } => {})+ }
        }
        vec![$($enum::$variant $fields),+]
    }};
}

fn name() -> SessionName {
    "data".parse().expect("a session name")
}

/// Every refusal of a host.
pub fn refusals() -> Vec<Refusal> {
    let eval = EvalSeq(7);
    let why = || "no space left on device".to_owned();
    let mut all = all!(Refusal:
        NotARequest { problem: why() },
        NotGreeted {},
        UnknownRequest { what: "request".to_owned(), host: Speaker::this() },
        OtherVersion { host: Speaker::this(), client: Speaker::this() },
        NewerFiles { files: 9, reads: 1, client: Speaker::this() },
        MessageTooLong { most: 10 },
        MessagesTooLong { most: 10 },
        CodeTooLong { bytes: 11, most: 10 },
        QueueFull { evals: 1000 },
        QueuedCodeFull { bytes: 10 },
        SentBefore { eval },
        NotRecorded { why: why() },
        StateLost { reason: EndReason::HostDied },
        StateSetBack { after: Some(EvalSeq(1)), undone: vec![EvalSeq(2)] },
        WaitsForInput { eval, prompt: "Name? ".to_owned() },
        Busy { eval },
        NamesBusy { doing: Doing::Starting },
        NamesSlow {},
        Ending {},
        Ended { reason: EndReason::Stopped { by: None } },
        NoEval { eval },
        EvalGone { eval },
        NotRunning { eval },
        NoInterpreter {},
        NothingReads {},
        InputNotWritten { why: why() },
        NotPossible { what: "clear".to_owned(), language: "shell".to_owned() },
        NoCheckpoint { label: Some("a".to_owned()), labels: vec!["b".to_owned()] },
        NotUndone { trouble: UndoTrouble::Nothing },
        TooManyCheckpoints { most: 100 },
        NoAnswer { problem: "no name `x`".to_owned() },
        NotStarted { message: "it did not".to_owned(), trouble: None },
        OtherHost {},
        Unknown {},
    );
    all.extend(
        all!(Doing: Starting {}, Running { eval }, Answering {}, Ending {}, Paused {}, Unknown {})
            .into_iter()
            .map(|doing| Refusal::NamesBusy { doing }),
    );
    all.extend(troubles().into_iter().map(|trouble| {
        let message = "no interpreter".to_owned();
        Refusal::NotStarted { message, trouble: Some(Box::new(trouble)) }
    }));
    all
}

/// Everything that keeps an interpreter from starting.
pub fn troubles() -> Vec<StartTrouble> {
    let (language, program) = (|| "python".to_owned(), || "python3".to_owned());
    all!(StartTrouble:
        Missing { language: language(), program: program() },
        NoneStarts { language: language(), program: program() },
        NotRunnable { language: language(), path: "/bin/none".to_owned() },
        NoEnvironment { language: language(), make: "make it: `uv sync`".to_owned() },
        NoKernel { name: "none".to_owned(), known: vec!["ir".to_owned()] },
        Elsewhere { engine: "nrepl".to_owned(), obstacle: Obstacle::NotReached },
        Removed {},
        NotAllowed { dir: "/w/.stead".to_owned() },
        Unknown {},
    )
}

fn problem_of_a_file() -> ConfigProblem {
    ConfigProblem {
        path: "/w/.stead/config.toml".into(),
        line: Some(3),
        key: Some("sessions.ml.cdw".to_owned()),
        problem: "there is no such key".to_owned(),
        fix: Some("did you mean `cwd`?".to_owned()),
    }
}

fn unallowed() -> Box<Unallowed> {
    let effects = vec!["session `ml`: runs `x = 1`".to_owned()];
    Box::new(Unallowed { dir: "/w/.stead".into(), standing: TrustStanding::New, effects })
}

fn requests() -> Vec<RequestError> {
    let path = || PathBuf::from("/nowhere");
    let problem = || "it is not a directory".to_owned();
    let mut all = all!(RequestError:
        Name { 0: NameError::Session { given: "É".to_owned() } },
        NoSuchLanguage { given: "cobol".to_owned() },
        NoSuchToolchain {
            is_session: false,
            given: "cobol".to_owned(),
            known: vec!["python.venv".to_owned()],
        },
        Config { problem: Box::new(problem_of_a_file()), more: 1 },
        Command { error: TemplateError::Empty },
        OtherLanguage { name: name(), has: "node".to_owned(), wanted: "python".to_owned() },
        OtherConfigured {
            name: name(),
            has: "node".to_owned(),
            wanted: "python".to_owned(),
            at: "/home/me/.config/stead/config.toml:2".to_owned(),
        },
        NameOfOther {
            name: name(),
            language: "python".to_owned(),
            wanted: "node".to_owned(),
            free: None,
        },
        NoKernels { language: "node".to_owned() },
        NoServers { language: "node".to_owned() },
        NoServer {},
        GatewayUrl { error: GatewayUrlError::Secret },
        NoGateway { given: "big".to_owned(), known: vec!["small".to_owned()] },
        GatewayMissing {},
        UnknownGateway { known: vec!["small".to_owned()] },
        Pattern { problem: "unclosed group".to_owned() },
        Directory { path: "/nowhere".to_owned(), problem: problem() },
        Workspace { path: path(), problem: problem() },
        OtherWorkspace { path: path(), theirs: "/a".to_owned(), ours: "/b".to_owned() },
        NotUtf8 { path: path() },
        NoStateDir {},
        RelativeDir { variable: "HOME", path: "here".into() },
        Retention { problem: "STEAD_KEEP_AGE is `x`".to_owned() },
        NoShellFree {},
        SavedFile { path: path(), trouble: SavedTrouble::CutOff },
        SaveTarget { path: path(), trouble: TargetTrouble::OtherFile },
        SavedLanguage {
            path: path(),
            saved: "python".to_owned(),
            name: name(),
            has: "bash".to_owned(),
        },
        Words { problem: problem() },
        Stdlib { 0: StdlibError::Empty },
    );
    all.extend(stdlibs().into_iter().map(RequestError::Stdlib));
    all.push(RequestError::Name(NameError::Eval { given: "py".to_owned() }));
    all
}

fn stdlibs() -> Vec<StdlibError> {
    let path = || PathBuf::from("/nowhere/python.py");
    let problem = || "line 3: invalid syntax".to_owned();
    all!(StdlibError:
        NotKept { language: "shell" },
        NoConfigDir {},
        Code { problem: problem() },
        Empty {},
        Line { line: 3 },
        TooLong { bytes: 5, most: 4 },
        Broken { path: path(), problem: problem() },
        Missing { name: "f".to_owned(), path: path(), known: vec!["g".to_owned()], nameless: true },
        Shared { name: "f".to_owned(), others: vec!["g".to_owned()], path: path() },
    )
}

fn connections() -> Vec<ConnectionTrouble> {
    let waited = Duration::from_secs(3);
    let problem = || "its mode is 0777".to_owned();
    all!(ConnectionTrouble:
        StartedByAnother { name: name(), waited, lock: "/state/start.lock".into() },
        SlowStart { name: name(), waited },
        Broken { name: name(), error: std::io::Error::other("reset") },
        Garbled { name: name(), problem: problem() },
        OtherVersion { name: name(), host: Speaker::this() },
        OtherUser { name: name() },
        HungUpUnanswered { name: name() },
        HungUpAlive { eval: EvalId { session: name(), seq: EvalSeq(7) } },
        KernelLeft { name: name(), said: "the kernel `k` is left at its server".to_owned() },
        RuntimeDir { path: "/run/stead".into(), problem: problem() },
    )
}

/// Every error of the client, every refusal among them.
pub fn client_errors() -> Vec<ClientError> {
    let existing = || vec![name()];
    let workspace = || "/work".to_owned();
    let text = || "it died".to_owned();
    let old = WireError { hint: Some("run `stead logs`".to_owned()), ..Refusal::OtherHost.into() };
    let old = WireError { refusal: None, ..old };
    let mut all = all!(ClientError:
        Refused { name: name(), error: Box::new(old) },
        Request { 0: RequestError::NoStateDir },
        FrontEnd { 0: Box::new(Refusal::NotGreeted.into()) },
        NotFound { name: name(), workspace: workspace(), existing: existing(), around: None },
        NoLanguage {
            name: name(),
            configured: existing(),
            workspace: workspace(),
            existing: existing(),
            around: None
        },
        NotAllowed { name: name(), unallowed: unallowed() },
        WhichSession { existing: existing(), around: None },
        Exists { name: name() },
        Ended { name: name(), reason: text() },
        Lost { name: name(), reason: text() },
        NotLoaded { error: Box::new(ClientError::Exists { name: name() }), closed: text() },
        InUse { name: name() },
        NoEval { id: "data:9".to_owned(), known: "there is only `data:1`".to_owned() },
        EvalGone { id: "data:1".to_owned(), known: text(), quota: 64 << 20 },
        Launch { name: name(), message: text() },
        NotStarted { name: name(), message: text(), trouble: None },
        Connection { trouble: Box::new(ConnectionTrouble::OtherUser { name: name() }), fate: None },
        Silent { name: name(), pid: Some(1), fate: Some(Fate::CodeNotSent) },
        HungUp { name: name(), unread: true },
        Left { name: name(), processes: vec!["7 sleep".to_owned()] },
        File { action: "open", path: "/f".into(), source: std::io::Error::other("no") },
        Spool { name: name(), source: Box::new(std::io::Error::other("no")) },
    );
    all.extend(refusals().into_iter().map(|refusal| {
        let error = Box::new(WireError::refused(refusal, &name()));
        ClientError::Refused { name: name(), error }
    }));
    all.extend(requests().into_iter().map(ClientError::from));
    all.extend(connections().into_iter().map(ClientError::from));
    all.extend(troubles().into_iter().map(|trouble| {
        let trouble = Some(Box::new(trouble));
        ClientError::NotStarted { name: name(), message: text(), trouble }
    }));
    for fate in [Fate::CodeNotSent, Fate::CodeSent { token: Token(9) }, Fate::InputSent] {
        let trouble = Box::new(ConnectionTrouble::HungUpUnanswered { name: name() });
        all.push(ClientError::Connection { trouble, fate: Some(fate) });
        all.push(ClientError::Silent { name: name(), pid: None, fate: Some(fate) });
    }
    all.push(ClientError::NotFound {
        name: name(),
        workspace: workspace(),
        existing: vec![],
        around: Some("/home/me/project".to_owned()),
    });
    all.push(ClientError::NoLanguage {
        name: name(),
        configured: vec![],
        workspace: workspace(),
        existing: vec![],
        around: Some("/home/me/project".to_owned()),
    });
    all.push(ClientError::WhichSession {
        existing: vec![],
        around: Some("/home/me/project".to_owned()),
    });
    all
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    /// Whether a text has words of a front end: a command, or an option.
    fn of_a_front_end(text: &str) -> bool {
        let command = text.match_indices("stead ").any(|(at, word)| {
            text[at + word.len()..].starts_with(|c: char| c.is_ascii_lowercase())
                && text[..at].ends_with('`')
        });
        let option = text.match_indices("--").any(|(at, dashes)| {
            text[at + dashes.len()..].starts_with(|c: char| c.is_ascii_lowercase())
                && text[..at].ends_with([' ', '`'])
        });
        command || option
    }

    #[test]
    fn errors_of_libraries_name_no_command_and_no_option() {
        for error in client_errors() {
            let text = error.message();
            assert!(!text.is_empty() && !of_a_front_end(&text), "{error:?}: {text}");
        }
    }

    #[test]
    fn what_a_host_sends_carries_no_hint_and_is_read_back() {
        for refusal in refusals() {
            let sent = WireError::refused(refusal.clone(), &name());
            let text = serde_json::to_string(&sent).expect("an error can be written");
            assert!(!text.contains("\"hint\""), "{text}");
            let read: WireError = serde_json::from_str(&text).expect("and read");
            assert_eq!(read, sent);
        }
    }

    #[test]
    fn a_refusal_that_nobody_knows_is_told_by_its_message() {
        for refusal in [
            r#"{"kind":"later","eval":{}}"#,
            r#"{"kind":"busy","eval":"x"}"#,
            r#"{"kind":"not_started","message":"m","trouble":7}"#,
            "[]",
            "7",
            "null",
        ] {
            let sent = format!(r#"{{"code":"later","message":"m","refusal":{refusal}}}"#);
            let read: WireError = serde_json::from_str(&sent).expect("an error is read");
            assert_eq!(read.message, "m", "{refusal}");
        }
        let old = r#"{"code":"session_busy","message":"m","hint":"h"}"#;
        let read: WireError = serde_json::from_str(old).expect("an error is read");
        assert_eq!((read.hint.as_deref(), read.refusal), (Some("h"), None));
    }

    /// The texts between quotes in a line of Rust that is not a comment.
    fn literals(line: &str) -> Vec<&str> {
        let code = line.trim_start();
        if code.starts_with("//") {
            return vec![];
        }
        code.split('"').skip(1).step_by(2).collect()
    }

    fn sources(dir: &Path, found: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(dir).expect("a directory").flatten() {
            let path = entry.path();
            match path.is_dir() {
                true => sources(&path, found),
                false => found.extend(path.extension().is_some_and(|e| e == "rs").then_some(path)),
            }
        }
    }

    #[test]
    fn no_text_of_a_library_names_a_command_or_an_option() {
        let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let mut found = Vec::new();
        sources(&crates, &mut found);
        // Front ends, what only tests use, and the editor, which people read in a session.
        let front = ["cli", "mcp", "serve", "editor", "testkit"].map(|name| crates.join(name));
        let is_test = |path: &Path| path.to_string_lossy().ends_with("_tests.rs");
        found.retain(|path| !is_test(path) && !front.iter().any(|front| path.starts_with(front)));
        assert!(found.len() > 100, "{}", found.len());
        for path in found {
            let text = std::fs::read_to_string(&path).expect("a source file");
            for (at, line) in text.lines().enumerate() {
                // Arguments of programs that a test or a spawn runs begin a literal.
                let wrong = literals(line).into_iter().find(|text| of_a_front_end(text));
                assert!(wrong.is_none(), "{}:{}: {line}", path.display(), at + 1);
            }
        }
    }
}
