//! An eval as a reply: JSON in the shape of SPEC C-4, or text.

use std::io::IsTerminal;

use serde::Serialize;
use serde_json::Value;
use stead_client::{EvalStatus, EvalView, LeftOut};
use stead_protocol::{
    Changed, Chunk, ChunkKind, EndReason, ErrorCode, ErrorInfo, Outcome, ValueInfo, WireError,
};

use crate::{exit, print, text};

/// Most characters in a reply unless the user says otherwise (SPEC O-5).
pub(crate) const DEFAULT_MAX_CHARS: usize = 32_000;

/// How much of the output a reply shows, and how.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Bounds {
    /// Show at most this many characters of output
    #[arg(long, value_name = "N", default_value_t = DEFAULT_MAX_CHARS, hide_default_value = true)]
    pub(crate) max_chars: usize,
    /// Show all output, however long
    #[arg(long, conflicts_with = "max_chars")]
    pub(crate) full: bool,
    /// Write the bytes as they are, as text and in full
    #[arg(long)]
    pub(crate) raw: bool,
}

impl Bounds {
    /// How many characters, at most.
    pub(crate) fn chars(&self) -> usize {
        if self.full || self.raw { usize::MAX } else { self.max_chars }
    }

    /// How many bytes can matter for that many characters.
    pub(crate) fn bytes(&self) -> usize {
        self.chars().saturating_mul(4).saturating_add(8 << 10)
    }
}

/// The data of an eval's reply; the fields stand in the order of SPEC C-4.
#[derive(Debug, Serialize)]
pub(crate) struct EvalData<'a> {
    session: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    eval_id: Option<String>,
    value: Option<&'a str>,
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    type_name: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    chunks: Option<Vec<ChunkData>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<ErrorData<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    prompt: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    exit_code: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    duration_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    changed: Option<&'a Changed>,
    #[serde(skip_serializing_if = "Option::is_none")]
    truncated: Option<Truncated>,
    #[serde(skip_serializing_if = "Option::is_none")]
    generation: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    notice: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    behind: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    lost_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    outcome: Option<&'static str>,
}

/// One piece of output.
#[derive(Debug, Serialize)]
pub(crate) struct ChunkData {
    #[serde(rename = "type")]
    pub(crate) kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) mime: Option<String>,
    pub(crate) content: String,
}

#[derive(Debug, Serialize)]
struct ErrorData<'a> {
    name: &'a str,
    message: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    traceback: Option<String>,
}

#[derive(Debug, Serialize)]
struct Truncated {
    shown_bytes: u64,
    total_bytes: u64,
}

impl<'a> EvalData<'a> {
    pub(crate) fn new(view: &'a EvalView, max_chars: usize) -> Self {
        let id = view.id().map(|id| id.to_string());
        let content = &view.content;
        let truncated = content.left_out.is_some().then(|| Truncated {
            shown_bytes: content.shown_bytes(),
            total_bytes: content.total_bytes,
        });
        let mut chunks: Vec<ChunkData> =
            content.head.iter().map(|chunk| chunk_data(chunk, max_chars)).collect();
        if let Some(gap) = &content.left_out {
            chunks.push(ChunkData {
                kind: "status",
                mime: None,
                content: marker(gap, id.as_deref()),
            });
        }
        chunks.extend(content.tail.iter().map(|chunk| chunk_data(chunk, max_chars)));
        let error = view.error.as_ref().map(|error| ErrorData {
            name: &error.name,
            message: &error.message,
            traceback: error.traceback.as_deref().map(|trace| text::cut(trace, max_chars)),
        });
        EvalData {
            session: view.session.as_str(),
            eval_id: id,
            value: view.value.as_ref().map(|value| value.text.as_str()),
            type_name: view.value.as_ref().map(|value| value.type_name.as_str()),
            chunks: Some(chunks),
            error,
            prompt: view.prompt.as_deref(),
            exit_code: view.exit_code,
            duration_ms: view.duration_ms,
            changed: view.changed.as_ref(),
            truncated,
            generation: view.generation.map(|generation| generation.0),
            notice: (!view.notices.is_empty()).then(|| view.notices.join("; ")),
            behind: view.behind.map(|seq| format!("{}:{}", view.session, seq.0)),
            lost_bytes: Some(view.lost_bytes).filter(|lost| *lost > 0),
            outcome: special_outcome(view),
        }
    }

    /// The same without the chunks, which were written before.
    pub(crate) fn without_chunks(self) -> Self {
        EvalData { chunks: None, truncated: None, ..self }
    }
}

/// Outcomes that the status alone does not tell.
fn special_outcome(view: &EvalView) -> Option<&'static str> {
    match view.outcome.as_ref()? {
        Outcome::HostDied => Some("host_died"),
        Outcome::NotRun { .. } => Some("not_run"),
        Outcome::Timeout { killed: true } => Some("killed"),
        Outcome::Timeout { killed: false } => Some("interrupted"),
        _ => None,
    }
}

/// One chunk as text.
pub(crate) fn chunk_data(chunk: &Chunk, max_chars: usize) -> ChunkData {
    let (mime, content) = match chunk.kind {
        ChunkKind::Value => (None, value_text(&chunk.bytes)),
        ChunkKind::Error => (None, error_text(&chunk.bytes)),
        ChunkKind::Display => display(&chunk.bytes),
        ChunkKind::Out
        | ChunkKind::Err
        | ChunkKind::Status
        | ChunkKind::BackgroundOut
        | ChunkKind::BackgroundErr => (None, text::decode(&chunk.bytes)),
    };
    let content = match chunk.kind {
        ChunkKind::Value | ChunkKind::Error => text::cut(&content, max_chars),
        _ => content,
    };
    ChunkData { kind: kind_name(chunk.kind), mime, content }
}

fn kind_name(kind: ChunkKind) -> &'static str {
    match kind {
        ChunkKind::Out => "out",
        ChunkKind::Err => "err",
        ChunkKind::Value => "value",
        ChunkKind::Error => "error",
        ChunkKind::Display => "display",
        ChunkKind::Status => "status",
        ChunkKind::BackgroundOut | ChunkKind::BackgroundErr => "background",
    }
}

pub(crate) fn value_text(bytes: &[u8]) -> String {
    match serde_json::from_slice::<ValueInfo>(bytes) {
        Ok(value) => value.text,
        Err(_) => text::decode(bytes),
    }
}

pub(crate) fn error_text(bytes: &[u8]) -> String {
    match serde_json::from_slice::<ErrorInfo>(bytes) {
        Ok(ErrorInfo { traceback: Some(traceback), .. }) => traceback,
        Ok(error) => summary(&error),
        Err(_) => text::decode(bytes),
    }
}

fn display(bytes: &[u8]) -> (Option<String>, String) {
    let Ok(Value::Object(fields)) = serde_json::from_slice::<Value>(bytes) else {
        return (None, text::decode(bytes));
    };
    let field = |name: &str| fields.get(name).and_then(Value::as_str).map(str::to_owned);
    (field("mime"), field("path").or_else(|| field("data")).unwrap_or_default())
}

/// What a display shows on a terminal.
pub(crate) fn display_line(bytes: &[u8]) -> String {
    let (mime, content) = display(bytes);
    let mime = mime.unwrap_or_default();
    if mime.starts_with("text/") { content } else { format!("[{mime}]") }
}

fn summary(error: &ErrorInfo) -> String {
    if error.message.is_empty() {
        error.name.clone()
    } else {
        format!("{}: {}", error.name, error.message)
    }
}

/// The line that stands where output is left out.
pub(crate) fn marker(gap: &LeftOut, id: Option<&str>) -> String {
    let lines = match gap.lines {
        Some(0) | None => String::new(),
        Some(1) => "1 line, ".to_owned(),
        Some(lines) => format!("{lines} lines, "),
    };
    let how = id
        .map(|id| format!("; read them: stead output {id} --offset {}", gap.offset))
        .unwrap_or_default();
    format!("[… {lines}{} bytes left out{how} …]\n", gap.bytes)
}

/// Whether a command that waited for this eval succeeded.
#[derive(Debug)]
pub(crate) struct Verdict {
    pub(crate) exit: u8,
    pub(crate) error: Option<WireError>,
}

/// Judges an eval by where it stands (SPEC C-6).
pub(crate) fn verdict(view: &EvalView) -> Verdict {
    let failed =
        |exit, code, message: String| Verdict { exit, error: Some(WireError::new(code, message)) };
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
            let message = match (&view.error, view.exit_code) {
                (Some(error), _) => summary(error),
                (None, Some(code)) => format!("the code exited with code {code}"),
                (None, None) => "the code failed".to_owned(),
            };
            failed(exit::CODE_FAILED, ErrorCode::EvalError, text::cut(&message, 2000))
        }
        Outcome::Interrupted => failed(
            exit::CODE_FAILED,
            ErrorCode::Interrupted,
            "the eval was interrupted; the session's state is kept".to_owned(),
        ),
        Outcome::Timeout { killed: false } => failed(
            exit::HARD_TIMEOUT,
            ErrorCode::Timeout,
            "the hard timeout passed and the eval was interrupted; the session's state is kept"
                .to_owned(),
        ),
        Outcome::Timeout { killed: true } => failed(
            exit::HARD_TIMEOUT,
            ErrorCode::Timeout,
            format!("{}; the session's state is lost", EndReason::HardTimeout),
        ),
        Outcome::Ended { reason: EndReason::LaunchFailed { message } }
        | Outcome::NotRun { reason: EndReason::LaunchFailed { message } } => {
            let mut verdict = failed(
                exit::REQUEST_FAILED,
                ErrorCode::LaunchFailed,
                format!("could not start session `{name}`: {message}"),
            );
            verdict.error = verdict
                .error
                .map(|e| e.with_hint(format!("see `stead logs -n {name}` and `stead doctor`")));
            verdict
        }
        Outcome::Ended { reason } => failed(
            exit::CODE_FAILED,
            ErrorCode::SessionEnded,
            format!("session `{name}` ended: {reason}"),
        ),
        Outcome::NotRun { reason } => failed(
            exit::REQUEST_FAILED,
            ErrorCode::SessionLost,
            format!("the eval did not run: {reason}"),
        ),
        Outcome::HostDied => failed(
            exit::CODE_FAILED,
            ErrorCode::SessionEnded,
            format!("session `{name}` ended while the eval ran: {}", EndReason::HostDied),
        ),
    }
}

/// Writes an eval's output as text: each stream to its own.
#[derive(Debug)]
pub(crate) struct TextWriter {
    escape_out: bool,
    escape_err: bool,
    raw: bool,
    in_line: bool,
}

impl TextWriter {
    pub(crate) fn new(raw: bool) -> Self {
        TextWriter {
            escape_out: std::io::stdout().is_terminal(),
            escape_err: std::io::stderr().is_terminal(),
            raw,
            in_line: false,
        }
    }

    pub(crate) fn chunk(&mut self, kind: ChunkKind, bytes: &[u8]) {
        match kind {
            ChunkKind::Out | ChunkKind::BackgroundOut => self.out(bytes),
            ChunkKind::Err | ChunkKind::BackgroundErr => self.err(bytes),
            ChunkKind::Value => self.out_line(&value_text(bytes)),
            ChunkKind::Display => self.out_line(&display_line(bytes)),
            ChunkKind::Error => {
                self.end_line();
                let mut trace = error_text(bytes);
                if !trace.ends_with('\n') {
                    trace.push('\n');
                }
                self.err(trace.as_bytes());
            }
            ChunkKind::Status => self.note(text::decode(bytes).trim_end()),
        }
    }

    /// A notice of ours, which is no output.
    pub(crate) fn note(&mut self, note: &str) {
        self.end_line();
        let note = note.strip_prefix('[').and_then(|n| n.strip_suffix(']')).unwrap_or(note);
        print::err(format!("[{}]\n", text::defuse(note.as_bytes())).as_bytes());
    }

    /// Finishes a line that was begun on the terminal.
    pub(crate) fn end_line(&mut self) {
        if self.in_line && self.escape_out && !self.raw {
            print::out(b"\n");
        }
        self.in_line = false;
    }

    fn out_line(&mut self, line: &str) {
        if self.in_line {
            print::out(b"\n");
            self.in_line = false;
        }
        let mut line = line.to_owned();
        if !line.ends_with('\n') {
            line.push('\n');
        }
        self.out(line.as_bytes());
    }

    fn out(&mut self, bytes: &[u8]) {
        let Some(last) = bytes.last() else { return };
        self.in_line = *last != b'\n';
        match (self.raw, self.escape_out) {
            (true, _) | (_, false) => print::out(bytes),
            (false, true) => print::out(text::defuse(bytes).as_bytes()),
        }
    }

    fn err(&mut self, bytes: &[u8]) {
        match (self.raw, self.escape_err) {
            (true, _) | (_, false) => print::err(bytes),
            (false, true) => print::err(text::defuse(bytes).as_bytes()),
        }
    }
}

/// The notices below an eval's output.
pub(crate) fn notices(view: &EvalView) -> Vec<String> {
    let mut notes = Vec::new();
    let name = &view.session;
    if let Some(id) = view.id() {
        match view.status {
            EvalStatus::Partial | EvalStatus::Running => notes.push(format!(
                "{id} is running; read on: `stead output {id} --follow`, stop it: `stead interrupt {id}`"
            )),
            EvalStatus::Queued => {
                let behind = view.behind.map(|seq| format!(" behind {name}:{}", seq.0));
                notes.push(format!("{id} is queued{}", behind.unwrap_or_default()));
            }
            EvalStatus::WaitingInput => notes.push(format!(
                "{id} waits for input; answer: `stead input -n {name} TEXT`"
            )),
            EvalStatus::Complete
            | EvalStatus::Error
            | EvalStatus::Interrupted
            | EvalStatus::Timeout
            | EvalStatus::Ended => {}
        }
    }
    notes.extend(view.notices.iter().cloned());
    // The traceback has said what an error is.
    if let Some(error) = verdict(view).error
        && (error.code != ErrorCode::EvalError || view.error.is_none())
    {
        notes.push(error.message);
    }
    if view.status == EvalStatus::Ended && view.error.is_none() && verdict(view).error.is_none() {
        notes.push(format!("session `{name}` has ended"));
    }
    notes
}
