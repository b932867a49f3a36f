//! An eval as a reply: JSON in the shape of SPEC C-4, or text.

use serde::Serialize;
use serde_json::{Map, Value};
use stead_client::{
    EvalView, LeftOut, Page, PageItem, cut_middle, report_fields, report_length, size_text,
};
use stead_protocol::{By, Changed, DisplayInfo, ErrorInfo};

use crate::records::special;
use crate::verdict::unsettled;

/// Most characters in a reply unless the user says otherwise (SPEC O-5).
pub(crate) const DEFAULT_MAX_CHARS: usize = 32_000;

/// How many characters a reply may have beside its output: names, notes, the line that says what is left out.
pub(crate) const AROUND: usize = 1_000;
/// How many characters JSON adds around the text of a chunk: `{"type":"out","content":""},`.
const AROUND_CHUNK: usize = 30;

fn chars(text: &str) -> usize {
    text.chars().count()
}

/// How much of the output a reply shows, and how.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct ShowBounds {
    /// Show at most this many characters of output; 32000 unless given
    #[arg(long, value_name = "N", value_parser = above_zero, default_value_t = DEFAULT_MAX_CHARS,
        hide_default_value = true)]
    pub(crate) max_chars: usize,
    /// Show all output, however long
    #[arg(long, conflicts_with = "max_chars")]
    pub(crate) full: bool,
    /// Write the bytes as they are, as text and in full
    #[arg(long)]
    pub(crate) raw: bool,
}

pub(crate) fn above_zero(given: &str) -> Result<usize, String> {
    match given.parse() {
        Ok(0) => Err("it must be above 0".to_owned()),
        Ok(number) => Ok(number),
        Err(error) => Err(error.to_string()),
    }
}

impl ShowBounds {
    /// How many characters, at most.
    pub(crate) fn chars(&self) -> usize {
        if self.full || self.raw { usize::MAX } else { self.max_chars }
    }
}

/// An eval that waits for input, while the eval that the reply is about is queued behind it.
#[derive(Debug, Serialize)]
struct AskingData<'a> {
    eval_id: String,
    prompt: &'a str,
}

/// The data of an eval's reply; the fields stand in the order of SPEC C-4.
#[derive(Debug, Serialize)]
pub(crate) struct EvalData<'a> {
    session: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    eval_id: Option<String>,
    value: Option<String>,
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    type_name: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    chunks: Option<Vec<ChunkData>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<ErrorData<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    prompt: Option<&'a str>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    listens: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    editor: Option<&'a str>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    secret: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    exit_code: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    duration_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    changed: Option<&'a Changed>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ns: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    truncated: Option<Truncated>,
    #[serde(skip_serializing_if = "Option::is_none")]
    generation: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    notice: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    by: Option<&'a By>,
    #[serde(skip_serializing_if = "Option::is_none")]
    interrupted_by: Option<&'a By>,
    #[serde(skip_serializing_if = "Option::is_none")]
    restored: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_offset: Option<u64>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    paused: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    behind: Option<String>,
    /// The running eval, if it waits for input: this one does not get its turn before that input comes.
    #[serde(skip_serializing_if = "Option::is_none")]
    asks: Option<AskingData<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    lost_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    outcome: Option<&'static str>,
    /// What came of work that is not code, field by field.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    report: Option<Map<String, Value>>,
}

/// One piece of output.
#[derive(Debug, Serialize)]
pub(crate) struct ChunkData {
    #[serde(rename = "type")]
    pub(crate) kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) mime: Option<String>,
    /// Absent where the same object says it elsewhere: a value in `data.value`, an error in `data.error`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) content: Option<String>,
    /// The size of the file whose path the content is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) bytes: Option<u64>,
    /// The id of a display that later displays may update.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) id: Option<String>,
    /// It takes the place of the last display with this id.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) update: bool,
    /// In a stream, for text: it takes the place of this many lines at the end of what came of its stream; a
    /// line without an end counts.
    #[serde(skip_serializing_if = "is_zero")]
    pub(crate) replaces: usize,
    /// In a stream: it tells how lines look that are being redrawn, until the next chunk of that stream.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) redraw: bool,
    /// The stream whose lines are being redrawn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) stream: Option<&'static str>,
    /// The eval, where a stream has several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) eval_id: Option<String>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde gives a reference")]
fn is_zero(number: &usize) -> bool {
    *number == 0
}

#[derive(Debug, Serialize)]
struct ErrorData<'a> {
    name: &'a str,
    message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    traceback: Option<String>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    incomplete: bool,
    /// The next step (SPEC E-18), where the reply has no error of its own that says it.
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
}

#[derive(Debug, Serialize)]
struct Truncated {
    shown_bytes: u64,
    total_bytes: u64,
}

impl<'a> EvalData<'a> {
    /// The reply for `view`, of whose output `page` is to be shown.
    pub(crate) fn new(view: &'a EvalView, page: &Page, max_chars: usize) -> Self {
        let id = view.id_text();
        let (shown_bytes, total_bytes) = (page.shown_bytes, page.total_bytes);
        let truncated = page.is_cut().then_some(Truncated { shown_bytes, total_bytes });
        let chunks = chunks(view, page, id.as_deref());
        let error = view.error().map(|error| ErrorData {
            name: &error.name,
            message: cut_middle(&error.message, max_chars),
            traceback: error.traceback.as_deref().map(|trace| cut_middle(trace, max_chars)),
            incomplete: error.incomplete,
            hint: None,
        });
        let data = EvalData {
            session: view.session.as_str(),
            eval_id: id,
            value: view.value().map(|value| cut_middle(&value.text, max_chars)),
            type_name: view.value().map(|value| value.type_name.as_str()),
            chunks: Some(chunks),
            error,
            prompt: view.prompt.as_deref(),
            editor: view.editor.as_deref(),
            secret: view.secret,
            listens: view.listens,
            exit_code: view.exit_code,
            duration_ms: view.duration_ms,
            changed: view.changed.as_ref(),
            ns: view.ns.as_deref(),
            truncated,
            generation: view.generation.map(|generation| generation.0),
            notice: notice(view),
            by: view.by.as_ref(),
            interrupted_by: view.interrupted_by.as_ref(),
            restored: view.restored.map(|seq| format!("{}:{}", view.session, seq.0)),
            next_offset: page.next_offset,
            paused: view.paused,
            behind: view.behind.map(|seq| format!("{}:{}", view.session, seq.0)),
            asks: view.asks.as_ref().map(|asks| AskingData {
                eval_id: format!("{}:{}", view.session, asks.eval.0),
                prompt: &asks.prompt,
            }),
            lost_bytes: Some(view.lost_bytes).filter(|lost| *lost > 0),
            outcome: special_outcome(view),
            report: None,
        };
        let report = view.report().map(|report| data.free_of_own(report_fields(report, max_chars)));
        EvalData { report, ..data }
    }

    /// The fields of a report, without those that have the name of a field of the reply.
    fn free_of_own(&self, mut fields: Map<String, Value>) -> Map<String, Value> {
        let own = serde_json::to_value(self).unwrap_or_default();
        fields.retain(|name, _| own.get(name).is_none());
        fields
    }

    /// How many characters of text it has, with those that JSON adds around each chunk.
    pub(crate) fn length(&self) -> usize {
        let error = self.error.as_ref().map_or(0, |error| {
            let texts = [error.traceback.as_deref(), error.hint.as_deref()];
            let texts = texts.into_iter().flatten().map(chars).sum::<usize>();
            chars(error.name) + chars(&error.message) + texts
        });
        let changed = self.changed.map_or(0, |changed| {
            let bound = changed.added.iter().chain(&changed.rebound);
            let bound = bound.map(|change| {
                let texts = [&change.size, &change.change].into_iter().flatten();
                let size: usize = texts.map(|text| chars(text)).sum();
                chars(&change.name) + chars(&change.type_name) + size + AROUND_CHUNK
            });
            bound.sum::<usize>() + changed.removed.iter().map(|name| chars(name) + 4).sum::<usize>()
        });
        let chunks = self.chunks.iter().flatten();
        let content = |chunk: &ChunkData| chunk.content.as_deref().map_or(0, chars);
        let chunks: usize = chunks.map(|chunk| content(chunk) + AROUND_CHUNK).sum();
        let report = self.report.iter().flat_map(|fields| fields.values());
        let report: usize = report.map(report_length).sum();
        let texts = [self.value.as_deref(), self.prompt, self.notice.as_deref()];
        report + chunks + error + changed + texts.into_iter().flatten().map(chars).sum::<usize>()
    }

    /// The same reply with the hint for the code's error, for a reply that is not itself an error.
    pub(crate) fn with_hint(mut self, hint: Option<String>) -> Self {
        if let Some(error) = &mut self.error {
            error.hint = hint;
        }
        self
    }

    /// The same reply where no output is shown.
    pub(crate) fn without_chunks(self) -> Self {
        EvalData { chunks: None, truncated: None, ..self }
    }

    /// The same reply as the end of a stream: without its chunks, the traceback among them, which came before.
    pub(crate) fn after_stream(self) -> Self {
        let error = self.error.map(|error| ErrorData { traceback: None, ..error });
        EvalData { chunks: None, truncated: None, error, ..self }
    }
}

fn notice(view: &EvalView) -> Option<String> {
    let notices: Vec<String> = view.notices.iter().cloned().chain(unsettled(view)).collect();
    (!notices.is_empty()).then(|| notices.join("; "))
}

/// The word for an outcome that the status alone does not tell.
pub(crate) fn special_outcome(view: &EvalView) -> Option<&'static str> {
    view.outcome.as_ref().and_then(special)
}

/// The chunks of a page. Those of the eval's value and error only mark the place, because `value` and `error` say
/// what they are (SPEC C-4).
fn chunks(view: &EvalView, page: &Page, id: Option<&str>) -> Vec<ChunkData> {
    let last = |is: fn(&PageItem) -> bool| page.items.iter().rposition(is);
    let value = last(|item| matches!(item, PageItem::Value(_))).filter(|_| view.value().is_some());
    let error = last(|item| matches!(item, PageItem::Error(_))).filter(|_| view.error().is_some());
    // A report gets no chunk, because its fields are among the fields of the reply.
    let items = page.items.iter().enumerate();
    let items = items.filter(|(_, item)| !matches!(item, PageItem::Report(_)));
    let chunk = |(at, item)| match Some(at) == value || Some(at) == error {
        true => place_mark(item),
        false => chunk_data(item, id),
    };
    items.map(chunk).collect()
}

/// Says only that the item stands here.
fn place_mark(item: &PageItem) -> ChunkData {
    ChunkData { content: None, ..chunk_data(item, None) }
}

/// One item as JSON data; `id` is the eval's.
pub(crate) fn chunk_data(item: &PageItem, id: Option<&str>) -> ChunkData {
    let (kind, mime, content) = match item {
        PageItem::Text { kind, text } => (kind.word(), None, text.clone()),
        PageItem::Value(value) => ("value", None, value.text.clone()),
        PageItem::Error(error) => ("error", None, error_text(error)),
        PageItem::Display(display) => {
            let content = display.file.as_ref().or(display.data.as_ref()).cloned();
            let missing = || format!("[{}]", display.note.as_deref().unwrap_or_default());
            ("display", Some(display.mime.clone()), content.unwrap_or_else(missing))
        }
        PageItem::Status(text) | PageItem::Report(text) => ("status", None, text.clone()),
        PageItem::Gap(gap) => ("status", None, marker(gap, id)),
    };
    let (bytes, id, update) = match item {
        PageItem::Display(display) => {
            (Some(display.bytes).filter(|bytes| *bytes > 0), display.id.clone(), display.update)
        }
        _ => (None, None, false),
    };
    ChunkData {
        kind,
        mime,
        content: Some(content),
        bytes,
        id,
        update,
        replaces: 0,
        redraw: false,
        stream: None,
        eval_id: None,
    }
}

pub(crate) fn error_text(error: &ErrorInfo) -> String {
    error.traceback.clone().unwrap_or_else(|| summary(error))
}

/// What a display shows on a terminal: text as it is, `[image/png 640×480: /path]` for a file.
pub(crate) fn display_line(display: &DisplayInfo) -> String {
    let DisplayInfo { mime, data, file, pixels, bytes, note, .. } = display;
    match data {
        Some(data) if mime.starts_with("text/") || mime == "application/json" => {
            return data.clone();
        }
        _ => {}
    }
    let size = match pixels {
        Some((width, height)) => format!(" {width}×{height}"),
        None if *bytes > 0 => format!(" {}", size_text(*bytes)),
        None => String::new(),
    };
    let note = note.as_ref().map(|note| format!(", {note}")).unwrap_or_default();
    let file = file.as_ref().map(|file| format!(": {file}")).unwrap_or_default();
    format!("[{mime}{size}{note}{file}]")
}

pub(crate) fn summary(error: &ErrorInfo) -> String {
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

#[cfg(test)]
mod tests {
    use stead_client::{Content, EvalStatus};
    use stead_protocol::{Chunk, ChunkKind, EvalSeq, Finished, Generation, Offset, Outcome};

    use super::*;

    fn chunk(kind: ChunkKind, bytes: &[u8]) -> Chunk {
        Chunk { kind, bytes: bytes.to_vec() }
    }

    fn finished(outcome: Outcome) -> Finished {
        Finished {
            outcome,
            generation: Generation(1),
            start: Offset(0),
            end: Offset(9),
            duration_ms: 5,
            exit_code: None,
            changed: None,
            ns: None,
            lost_bytes: 0,
            not_kept: None,
            notice: None,
            interrupted_by: None,
            restored: None,
        }
    }

    fn json(view: &EvalView) -> String {
        let page = Page::new(&view.content, 100);
        serde_json::to_string(&EvalData::new(view, &page, 100)).unwrap()
    }

    #[test]
    fn c4_a_value_comes_with_its_type_and_its_chunk() {
        let head = vec![
            chunk(ChunkKind::BackgroundErr, b"late"),
            chunk(ChunkKind::Out, b"hi\xff\n"),
            chunk(ChunkKind::Value, br#"{"text":"42","type":"int"}"#),
        ];
        let content = Content { head, total_bytes: 4, ..Content::default() };
        let name = "py".parse().unwrap();
        let view = EvalView::finished(&name, EvalSeq(7), finished(Outcome::Complete), content);
        assert_eq!(
            json(&view),
            concat!(
                r#"{"session":"py","eval_id":"py:7","value":"42","type":"int","chunks":["#,
                r#"{"type":"background","content":"late"},{"type":"out","content":"hi\\xff\n"},"#,
                r#"{"type":"value"}],"duration_ms":5,"generation":1}"#
            )
        );
    }

    #[test]
    fn c4_an_error_is_told_once_and_its_chunk_marks_the_place() {
        let error = br#"{"name":"E","message":"no","traceback":"Traceback\nE: no"}"#;
        let head = vec![
            chunk(ChunkKind::Out, b"a\n"),
            chunk(ChunkKind::Error, error),
            chunk(ChunkKind::BackgroundOut, b"late"),
        ];
        let content = Content { head, total_bytes: 2, ..Content::default() };
        let name = "py".parse().unwrap();
        let view = EvalView::finished(&name, EvalSeq(7), finished(Outcome::Error), content);
        assert_eq!(
            json(&view),
            concat!(
                r#"{"session":"py","eval_id":"py:7","value":null,"chunks":["#,
                r#"{"type":"out","content":"a\n"},{"type":"error"},"#,
                r#"{"type":"background","content":"late"}],"#,
                r#""error":{"name":"E","message":"no","traceback":"Traceback\nE: no"},"#,
                r#""duration_ms":5,"generation":1}"#
            )
        );
    }

    #[test]
    fn c4_what_there_is_nothing_to_say_about_is_absent_but_the_value() {
        let name = "py".parse().unwrap();
        let view = EvalView::new(&name, Some(EvalSeq(8)), EvalStatus::Running);
        assert_eq!(json(&view), r#"{"session":"py","eval_id":"py:8","value":null,"chunks":[]}"#);
    }

    #[test]
    fn o5_the_marker_stands_in_the_gap_and_names_the_command() {
        let content = Content {
            head: vec![chunk(ChunkKind::Out, b"a\n")],
            left_out: Some(LeftOut { bytes: 96, lines: Some(48), offset: 2 }),
            tail: vec![chunk(ChunkKind::Out, b"z\n")],
            offset: 0,
            total_bytes: 100,
        };
        let name = "py".parse().unwrap();
        let view = EvalView::finished(&name, EvalSeq(7), finished(Outcome::Complete), content);
        let page = Page::new(&view.content, 100);
        let data = serde_json::to_value(EvalData::new(&view, &page, 100)).unwrap();
        assert_eq!(
            data["chunks"][1]["content"],
            "[… 48 lines, 96 bytes left out; read them: stead output py:7 --offset 2 …]\n"
        );
        assert_eq!(data["truncated"]["shown_bytes"], 4);
        assert_eq!(data["truncated"]["total_bytes"], 100);
    }
}
