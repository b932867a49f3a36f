//! A session's status as a reply (SPEC S-10).

use std::time::Duration;

use anstyle::Style;
use serde::Serialize;
use stead_client::{counted, unrecorded};
use stead_protocol::{Activity, By, ByWhom, Status};
use stead_screen::{plain, visible};

use crate::paint::{CARE, FAINT, GOOD, MARK, Paint};
use crate::{text, time};

/// The data of a session in `status`, `ls` and `launch`.
#[derive(Debug, Serialize)]
pub(crate) struct StatusData<'a> {
    name: &'a str,
    state: &'static str,
    generation: u32,
    language: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pid: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    host_pid: Option<u32>,
    workspace: &'a str,
    cwd: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    created_ms: Option<u64>,
    started_ms: u64,
    last_used_ms: u64,
    evals: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    running: Option<Running<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    queued: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    #[serde(skip_serializing_if = "is_false")]
    paused: bool,
    #[serde(skip_serializing_if = "is_false")]
    background_waiting: bool,
    memory_bytes: u64,
    cpu_ms: u64,
    processes: u32,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    background: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    variables: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stdlib: Option<StdlibData>,
    #[serde(skip_serializing_if = "Option::is_none")]
    undo: Option<UndoData>,
    #[serde(skip_serializing_if = "Option::is_none")]
    runs_at: Option<&'a str>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    cannot: &'a [String],
    sandbox: &'a str,
    interpreter: &'a str,
    why: &'a str,
    idle_timeout_ms: u64,
    clients: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    unrecorded: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) notice: Option<&'a str>,
}

/// How far evals can be undone.
#[derive(Debug, Serialize)]
struct UndoData {
    /// The evals that can be undone, the oldest first.
    evals: Vec<String>,
    /// Whether there is a copy of the state as it is now.
    kept: bool,
    copies: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    off: Option<String>,
}

/// What became of the user's standard library.
#[derive(Debug, Serialize)]
struct StdlibData {
    #[serde(skip_serializing_if = "Option::is_none")]
    eval_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    names: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

#[derive(Debug, Serialize)]
struct Running<'a> {
    eval_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    by: Option<&'a By>,
    elapsed_ms: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_line: Option<String>,
    #[serde(skip_serializing_if = "is_false")]
    listens: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    prompt: Option<String>,
}

fn is_false(flag: &bool) -> bool {
    !flag
}

impl<'a> StatusData<'a> {
    pub(crate) fn new(status: &'a Status) -> Self {
        let id = |seq: u64| format!("{}:{seq}", status.name);
        let running = match &status.activity {
            Activity::Running { eval, elapsed_ms, last_line, listens } => Some(Running {
                eval_id: id(eval.0),
                by: status.by.as_ref(),
                elapsed_ms: *elapsed_ms,
                last_line: Some(text::last_line(last_line)),
                listens: *listens,
                prompt: None,
            }),
            Activity::WaitingInput { eval, elapsed_ms, prompt } => Some(Running {
                eval_id: id(eval.0),
                by: status.by.as_ref(),
                elapsed_ms: *elapsed_ms,
                last_line: None,
                listens: false,
                prompt: Some(plain(prompt)),
            }),
            _ => None,
        };
        let reason = match &status.activity {
            Activity::Ended { reason } => Some(reason.to_string()),
            _ => None,
        };
        StatusData {
            name: status.name.as_str(),
            state: state(&status.activity),
            generation: status.generation.0,
            language: &status.language,
            version: status.version.as_deref(),
            pid: status.pid,
            host_pid: status.host_pid,
            workspace: &status.workspace,
            cwd: &status.cwd,
            created_ms: status.created_ms,
            started_ms: status.started_ms,
            last_used_ms: status.last_used_ms,
            evals: status.evals,
            running,
            queued: status.queued.iter().map(|seq| id(seq.0)).collect(),
            reason,
            paused: status.paused,
            background_waiting: status.background_waiting,
            memory_bytes: status.usage.memory_bytes,
            cpu_ms: status.usage.cpu_ms,
            processes: status.usage.processes,
            background: &status.background,
            variables: status.variables,
            stdlib: status.stdlib.as_ref().map(|stdlib| StdlibData {
                eval_id: stdlib.eval.map(|eval| id(eval.0)),
                names: stdlib.names,
                error: stdlib.error.as_deref().map(plain),
            }),
            undo: status.undo.as_ref().map(|undo| UndoData {
                evals: undo.evals.iter().map(|eval| id(eval.0)).collect(),
                kept: undo.kept,
                copies: undo.copies,
                bytes: undo.bytes,
                off: undo.off.as_deref().map(plain),
            }),
            runs_at: status.runs_at.as_deref(),
            cannot: &status.cannot,
            sandbox: &status.sandbox,
            interpreter: &status.interpreter,
            why: &status.why,
            idle_timeout_ms: status.idle_timeout_ms,
            clients: status.clients,
            unrecorded: unrecorded(status),
            notice: None,
        }
    }
}

/// The word for what a session is doing.
pub(crate) fn state(activity: &Activity) -> &'static str {
    match activity {
        Activity::Starting => "starting",
        Activity::Idle => "idle",
        Activity::Running { .. } => "running",
        Activity::WaitingInput { .. } => "waiting_input",
        Activity::Querying => "querying",
        Activity::Ending => "ending",
        Activity::Ended { .. } => "ended",
        Activity::Unknown => "not_answering",
    }
}

/// How a session's state is shown in a list.
pub(crate) fn state_style(status: &Status) -> Style {
    match &status.activity {
        Activity::Running { .. } => GOOD,
        Activity::WaitingInput { .. } => CARE,
        Activity::Ended { .. } | Activity::Unknown => MARK,
        Activity::Starting | Activity::Idle | Activity::Querying | Activity::Ending => FAINT,
    }
}

/// What a session is doing, in a few words.
pub(crate) fn activity_line(status: &Status) -> String {
    let mut line = match &status.activity {
        Activity::Running { eval, elapsed_ms, last_line, listens } => {
            let elapsed = time::short(Duration::from_millis(*elapsed_ms));
            let last_line = text::last_line(last_line);
            let listens = if *listens { ", listens to stdin" } else { "" };
            let by = ByWhom(status.by.as_ref());
            format!("running {}:{}{by} for {elapsed}{listens} {last_line}", status.name, eval.0)
        }
        Activity::WaitingInput { eval, prompt, .. } => {
            let by = ByWhom(status.by.as_ref());
            format!("{}:{}{by} waits for input {}", status.name, eval.0, plain(prompt))
        }
        Activity::Ended { reason } => format!("ended: {reason}"),
        other => state(other).replace('_', " "),
    };
    if let [first, more @ ..] = status.background.as_slice() {
        let more =
            if more.is_empty() { String::new() } else { format!(" and {} more", more.len()) };
        line.push_str(&format!("; in the background: {}{more}", plain(first.as_bytes())));
    }
    if status.paused {
        line.push_str(" (paused)");
    }
    text::first_line(line.trim_end(), 100)
}

/// What is wrong with the standard library that the session was to begin with.
pub(crate) fn stdlib_trouble(status: &Status) -> Option<String> {
    let trouble = status.stdlib.as_ref()?.trouble()?;
    Some(format!("the standard library is {}", plain(trouble)))
}

fn stdlib_line(status: &Status) -> String {
    let Some(stdlib) = &status.stdlib else { return String::new() };
    let by = stdlib.eval.map(|eval| format!(" ({}:{})", status.name, eval.0)).unwrap_or_default();
    match (stdlib.trouble(), stdlib.names) {
        (Some(trouble), _) => format!("{}{by}", plain(trouble)),
        (None, Some(names)) => counted(names, "name", "names"),
        (None, None) => "loaded".to_owned(),
    }
}

fn undo_line(status: &Status) -> String {
    let Some(undo) = &status.undo else { return String::new() };
    let off = undo.off.as_deref().map(plain);
    if let (Some(off), 0) = (&off, undo.copies) {
        return format!("off: {off}");
    }
    let reach = match undo.evals.as_slice() {
        [] => "nothing to undo".to_owned(),
        [first, ..] => format!("back to before {}:{}", status.name, first.0),
    };
    let bytes = undo.bytes.map(|bytes| format!(", {:.1} MB", bytes as f64 / 1e6));
    let copies = match undo.copies {
        0 => String::new(),
        some => format!(" ({}{})", counted(some, "copy", "copies"), bytes.unwrap_or_default()),
    };
    let off = off.map(|off| format!("; the last state was not kept: {off}")).unwrap_or_default();
    format!("{reach}{copies}{off}")
}

/// Everything about a session, a line each.
pub(crate) fn full_text(status: &Status) -> String {
    let mut text = String::new();
    let paint = Paint::stdout();
    let mut line = |label: &str, value: String| {
        if !value.is_empty() {
            let label = paint.paint(FAINT, &format!("{label:<12}"));
            text.push_str(&format!("{label} {value}\n"));
        }
    };
    let version = status.version.as_deref().unwrap_or_default();
    line("session", status.name.to_string());
    line("state", paint.paint(state_style(status), &activity_line(status)));
    let language = format!("{} {version}", status.language);
    line("language", visible(language.trim_end()).into_owned());
    line("runs at", status.runs_at.as_deref().map(visible).unwrap_or_default().into_owned());
    line("interpreter", visible(&status.interpreter).into_owned());
    line("chosen", visible(&status.why).into_owned());
    line("workspace", visible(&status.workspace).into_owned());
    line("cwd", visible(&status.cwd).into_owned());
    line("generation", status.generation.0.to_string());
    line("pid", status.pid.map(|pid| pid.to_string()).unwrap_or_default());
    line("created", status.created_ms.map(time::ago).unwrap_or_default());
    line("started", time::ago(status.started_ms));
    line("last used", time::ago(status.last_used_ms));
    line("evals", status.evals.to_string());
    line("variables", status.variables.map(|n| n.to_string()).unwrap_or_default());
    line("stdlib", stdlib_line(status));
    line("undo", undo_line(status));
    if status.usage.processes > 0 {
        line("memory", format!("{:.1} MB", status.usage.memory_bytes as f64 / 1e6));
        line("cpu", time::short(Duration::from_millis(status.usage.cpu_ms)));
        line("processes", status.usage.processes.to_string());
    }
    line("cannot", status.cannot.join("; "));
    line("sandbox", status.sandbox.clone());
    text
}
