//! An eval as the shortest text that leaves no question open (SPEC M-3).
//!
//! Lines of ours begin with `[stdout]`, `[stderr]`, `[value]`, `[…`, `[WORD: ` or `[ID`, where an id is `py:7` or `py:~00000000c0ffee`. A line
//! of user code that begins like one of them gets a backslash in front, so that none can be forged.

use std::borrow::Cow;
use std::fmt::Write;
use std::ops::Range;

use stead_client::{EvalView, LeftOut, Page, PageItem, counted, language};
use stead_protocol::bridge::Stream;
use stead_protocol::{By, Change, Changed, ChunkKind, DisplayInfo, ErrorInfo, is_markup};

use crate::habits;
use crate::standing::{Id, standing};

/// How much of a text in quotes is shown.
const QUOTED_CHARS: usize = 200;
/// How much of a note is shown.
pub(crate) const NOTE_CHARS: usize = 800;
/// How much of a name or a type is shown.
const WORD_CHARS: usize = 80;
/// Evals that ran at least this long tell how long.
const LONG_MS: u64 = 1000;

/// Room that most replies find enough.
const USUAL_BYTES: usize = 256;

/// How a picture is announced: where it lies, and whether it is in the reply.
pub(crate) type Announce<'a> = dyn FnMut(&DisplayInfo) -> String + 'a;

/// What a reply says beside the eval itself.
#[derive(Debug, Default)]
pub(crate) struct Aside<'a> {
    /// Who this server's evals are by: evals of others are marked with their sender.
    pub(crate) own: Option<&'a By>,
    /// What others did before the eval.
    pub(crate) meanwhile: &'a str,
    /// The words around the eval.
    pub(crate) frame: Frame<'a>,
}

/// Words of a tool around the reply about an eval.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Frame<'a> {
    /// Lines before everything else, with their ends.
    pub(crate) before: &'a str,
    /// The next call, in the last line.
    pub(crate) next: Option<&'a str>,
}

/// How much a reply says beside the output; all numbers are of characters unless they say otherwise. The id, where the eval
/// stands and the call that reads on are in every reply.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Detail {
    /// Of a note or a hint.
    note: usize,
    /// How many notes.
    notes: usize,
    /// Of why something happened.
    pub(crate) reason: usize,
    /// How many changed names.
    changes: usize,
    /// Of how one of them differs.
    difference: usize,
    /// Of a name or a type.
    word: usize,
    /// Of a prompt, a path, or the name of a sender.
    pub(crate) quoted: usize,
}

impl Detail {
    /// All that is worth saying.
    pub(crate) const FULL: Detail = Detail {
        note: NOTE_CHARS,
        notes: usize::MAX,
        reason: 2_000,
        changes: 12,
        difference: 200,
        word: WORD_CHARS,
        quoted: QUOTED_CHARS,
    };
    /// From all to the least: a call that wants few characters gets the first that fits.
    pub(crate) const LEVELS: [Detail; 3] = [
        Detail::FULL,
        Detail {
            note: 200,
            notes: 3,
            reason: 200,
            changes: 4,
            difference: 40,
            word: 40,
            quoted: 60,
        },
        Detail { note: 60, notes: 1, reason: 60, changes: 0, difference: 0, word: 20, quoted: 20 },
    ];
}

impl Aside<'_> {
    /// The words ` by cli` for another than this server; servers of the same name are told apart.
    pub(crate) fn by(&self, by: Option<&By>) -> String {
        match by {
            Some(by) if self.own != Some(by) && !by.name().is_empty() && *by != By::init() => {
                let twin = self.own.is_some_and(|own| own.name() == by.name());
                let name = if twin { by.to_string() } else { by.name().to_owned() };
                format!(" by {}", one_line(&name))
            }
            Some(_) | None => String::new(),
        }
    }
}

/// The whole reply about an eval.
pub(crate) fn eval(
    view: &EvalView,
    page: &Page,
    aside: &Aside<'_>,
    detail: Detail,
    announce: &mut Announce<'_>,
) -> String {
    let mut text = String::with_capacity(USUAL_BYTES);
    text.push_str(aside.frame.before);
    body(&mut text, view, page, announce);
    for notice in view.notices.iter().take(detail.notes) {
        let _ = writeln!(text, "[note: {}]", cut(&one_line(notice), detail.note));
    }
    let more = view.notices.len().saturating_sub(detail.notes);
    if more > 0 {
        let _ = writeln!(text, "[note: {} left out]", counted(more as u64, "note", "notes"));
    }
    if let Some(hint) = habits::hint(view) {
        let _ = writeln!(text, "[hint: {}]", cut(&one_line(&hint), detail.note));
    }
    text.push('[');
    closing(&mut text, view, page, aside, detail);
    text.push(']');
    text
}

/// What an eval wrote and showed, in order.
fn body(text: &mut String, view: &EvalView, page: &Page, announce: &mut Announce<'_>) {
    let mut stream = TextStream::Out;
    let mut items = page.items.iter().enumerate().peekable();
    while let Some((index, item)) = items.next() {
        let mark = page.cuts.iter().find(|cut| cut.item == index).map(|cut| cut.mark.clone());
        match item {
            PageItem::Text { kind, text: written } => {
                let next = TextStream::of(*kind);
                if next != stream {
                    end_line(text);
                    text.push_str(next.mark());
                    stream = next;
                }
                // A line can be in several pieces, and only the whole line shows what it looks like.
                let mut whole = Cow::Borrowed(written.as_str());
                while let Some((_, PageItem::Text { text: more, .. })) = items.next_if(
                    |(_, item)| matches!(item, PageItem::Text { kind, .. } if TextStream::of(*kind) == stream),
                ) {
                    whole.to_mut().push_str(more);
                }
                guard(text, &whole);
            }
            PageItem::Value(value) => {
                leave(text, &mut stream);
                cut_lines(text, &value.text, mark);
            }
            PageItem::Error(error) => {
                let (before, shown) = error_text(error);
                let mark = mark.map(|mark| before + mark.start..before + mark.end);
                cut_lines(text, &shown, mark);
            }
            PageItem::Display(display) => {
                leave(text, &mut stream);
                display_text(text, display, mark, announce);
            }
            PageItem::Report(report) => {
                leave(text, &mut stream);
                cut_lines(text, report, mark);
            }
            PageItem::Status(status) => {
                end_line(text);
                let _ = writeln!(text, "[note: {}]", one_line(status));
            }
            PageItem::Gap(gap) => {
                end_line(text);
                let _ = writeln!(text, "[{}]", gap_text(gap, view));
            }
        }
    }
    end_line(text);
}

/// Ends a stream's text, so that a value is not taken for a part of it.
fn leave(text: &mut String, stream: &mut TextStream) {
    end_line(text);
    if std::mem::replace(stream, TextStream::Out) != TextStream::Out {
        text.push_str("[value]\n");
    }
}

/// The stream that text belongs to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum TextStream {
    Out,
    Err,
    Background,
}

impl TextStream {
    fn of(kind: ChunkKind) -> TextStream {
        match kind.stream() {
            _ if kind.is_background() => TextStream::Background,
            Some(Stream::Err) => TextStream::Err,
            Some(Stream::Out) | None => TextStream::Out,
        }
    }

    fn mark(self) -> &'static str {
        match self {
            TextStream::Out => "[stdout]\n",
            TextStream::Err => "[stderr]\n",
            TextStream::Background => "[background: output of earlier evals]\n",
        }
    }
}

/// An error as it is shown, and where its traceback or its message begins in that.
fn error_text(error: &ErrorInfo) -> (usize, Cow<'_, str>) {
    match (&error.traceback, error.message.as_str()) {
        (Some(traceback), _) => (0, traceback.into()),
        (None, "") => (0, error.name.as_str().into()),
        (None, message) => {
            let before = format!("{}: ", error.name);
            (before.len(), (before + message).into())
        }
    }
}

fn display_text(
    text: &mut String,
    display: &DisplayInfo,
    mark: Option<Range<usize>>,
    announce: &mut Announce<'_>,
) {
    let word = match display.mime.split(';').next().unwrap_or_default().trim() {
        "text/html" | "application/xhtml+xml" => "html",
        kind if kind.starts_with("image/") => "image",
        _ => "file",
    };
    match &display.data {
        Some(data) if !is_markup(&display.mime) => {
            cut_lines(text, data, mark);
        }
        _ => {
            let _ = writeln!(text, "[{word}: {}]", announce(display));
        }
    }
}

/// What is missing and the call that reads it (SPEC O-5).
fn gap_text(gap: &LeftOut, view: &EvalView) -> String {
    let lines = gap.lines.filter(|lines| *lines > 0);
    let lines =
        lines.map(|lines| format!("{}, ", counted(lines, "line", "lines"))).unwrap_or_default();
    let how = view
        .id()
        .map(|id| format!("; read on: output {{\"id\":\"{id}\",\"offset\":{}}}", gap.offset));
    format!("… {lines}{} bytes left out{}", gap.bytes, how.unwrap_or_default())
}

/// The last line of a reply, without its brackets.
fn closing(text: &mut String, view: &EvalView, page: &Page, aside: &Aside<'_>, detail: Detail) {
    if let (Some(sent), Some(id)) = (&view.unanswered, view.id_text()) {
        let pid = sent.pid.map(|pid| format!(" (pid {pid})")).unwrap_or_default();
        let _ = write!(
            text,
            "{id} sent, but the session's host{pid} has not answered: the code may still run; what became of it: \
             output {{\"id\":\"{id}\"}}; to send it again without running it twice, give eval \"key\":{}",
            quoted(&sent.key())
        );
        return;
    }
    let Some(seq) = view.eval else {
        // The input was read by a thread of an earlier eval.
        let _ = write!(text, "{}: input was read in the background", view.session);
        return;
    };
    let id = Id(&view.session, seq);
    let _ = write!(text, "{id}");
    if let Some(generation) = view.generation.filter(|generation| generation.0 > 1) {
        let _ = write!(text, " g{}", generation.0);
    }
    // The time of a shell command is always told: callers want it as well as the exit code.
    let tells_time = |took: &u64| *took >= LONG_MS || language::is_shell(&view.session);
    if let Some(took) = view.duration_ms.filter(tells_time) {
        let _ = write!(text, " {}", seconds(took));
    }
    let _ = standing(text, view, &id, detail);
    if let Some(changed) = &view.changed {
        changes(text, changed, detail);
    }
    // Code begins in the namespace `user`, so only another namespace is news.
    if let Some(ns) = view.ns.as_deref().filter(|ns| *ns != "user") {
        let _ = write!(text, " ns {}", word_of(ns, detail.word));
    }
    let by = cut(&aside.by(view.by.as_ref()), detail.quoted);
    if !by.is_empty() {
        let _ = write!(text, ";{by}");
    }
    let by = cut(&aside.by(view.interrupted_by.as_ref()), detail.quoted);
    if !by.is_empty() {
        let _ = write!(text, "; interrupted{by}");
    }
    text.push_str(&cut(aside.meanwhile, detail.reason));
    if let Some(offset) = page.next_offset {
        let _ = write!(text, "; more: output {{\"id\":\"{id}\",\"offset\":{offset}}}");
    }
    if let Some(next) = aside.frame.next {
        let _ = write!(text, "; {next}");
    }
}

/// `+df DataFrame(1000×5) ~x int -y`: new, rebound and gone (SPEC E-13).
pub(crate) fn changes(text: &mut String, changed: &Changed, detail: Detail) {
    let bound = |sign: char| move |change: &Change| format!(" {sign}{}", named(change, detail));
    let added = changed.added.iter().map(bound('+'));
    let rebound = changed.rebound.iter().map(bound('~'));
    let gone = changed.removed.iter().map(|name| format!(" -{}", word_of(name, detail.word)));
    text.extend(added.chain(rebound).chain(gone).take(detail.changes));
    let all = changed.added.len() + changed.rebound.len() + changed.removed.len();
    let more = changed.more as usize + all.saturating_sub(detail.changes);
    let _ = match (more, detail.changes) {
        (0, _) => Ok(()),
        (more, 0) => write!(text, " {} changed", counted(more as u64, "name", "names")),
        (more, _) => write!(text, " and {more} more"),
    };
}

fn named(change: &Change, detail: Detail) -> String {
    let word = |text: &str| word_of(text, detail.word);
    let about = match (&change.change, &change.size) {
        (Some(change), _) => format!("({})", difference(change, detail.difference)),
        (None, Some(size)) => format!("({})", word(size)),
        (None, None) => String::new(),
    };
    format!("{} {}{about}", word(&change.name), word(&change.type_name))
}

/// How a frame differs, which has labels of the user's in it: as it is if it could not be taken for anything else.
fn difference(text: &str, max: usize) -> String {
    let plain = |c: char| c.is_alphanumeric() || "_.×→+-:,…\"'() ".contains(c);
    if text.chars().count() <= max && text.chars().all(plain) {
        return text.to_owned();
    }
    quoted(&cut(text, max))
}

/// A name as it is if it is one, else quoted: user code chooses it.
pub(crate) fn word(text: &str) -> String {
    word_of(text, WORD_CHARS)
}

/// The same with at most so many characters of it.
fn word_of(text: &str, max: usize) -> String {
    let plain = |c: char| c.is_alphanumeric() || "_.×".contains(c);
    if !text.is_empty() && text.chars().count() <= max && text.chars().all(plain) {
        return text.to_owned();
    }
    quoted(&cut(text, max))
}

/// In quotes, on one line, harmless.
pub(crate) fn quoted(text: &str) -> String {
    quoted_of(text, QUOTED_CHARS)
}

/// The same with at most so many characters of it.
pub(crate) fn quoted_of(text: &str, max: usize) -> String {
    let text = stead_screen::plain(cut(text, max).as_bytes());
    serde_json::to_string(&text).unwrap_or_default()
}

/// On one line, harmless.
pub(crate) fn one_line(text: &str) -> String {
    stead_screen::plain(text.as_bytes()).replace('\n', " ")
}

/// A duration as a person says it.
pub(crate) fn seconds(ms: u64) -> String {
    match ms {
        0..1_000 => format!("{ms} ms"),
        1_000..60_000 => format!("{}.{} s", ms / 1000, ms % 1000 / 100),
        60_000..3_600_000 => format!("{} min {} s", ms / 60_000, ms % 60_000 / 1000),
        _ => format!("{} h {} min", ms / 3_600_000, ms % 3_600_000 / 60_000),
    }
}

/// How many characters a text has; counted only if that may be more than `room`.
pub(crate) fn length(text: &str, room: usize) -> usize {
    // No text has more characters than bytes.
    if text.len() <= room { text.len() } else { text.chars().count() }
}

/// A reply of at most `room` characters, its last line whole: whole lines from its head, and what is left out. A last line
/// of ours that is longer is shown alone: an id or a call that is cut is worth nothing.
pub(crate) fn bounded(text: String, room: usize) -> String {
    if length(&text, room) <= room {
        return text;
    }
    let last = text.rfind('\n').map_or(0, |end| end + 1);
    let marker = "[… 0000000000 characters left out]\n".len();
    let too_long = text[last..].chars().count() + marker > room;
    if too_long && text[last..].starts_with('[') && text.ends_with(']') {
        return text[last..].to_owned();
    }
    let last = if too_long { text.len() } else { last };
    let left = room.saturating_sub(text[last..].chars().count() + marker);
    let end = text.char_indices().nth(left).map_or(last, |(at, _)| at.min(last));
    let end = text[..end].rfind('\n').map_or(end, |line| line + 1);
    let mut short = text[..end].to_owned();
    end_line(&mut short);
    let _ = writeln!(short, "[… {} characters left out]", text[end..last].chars().count());
    short.push_str(&text[last..]);
    short
}

pub(crate) fn cut(text: &str, max: usize) -> String {
    match text.char_indices().nth(max) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// Text that begins on a line of its own and ends one.
pub(crate) fn own_lines(text: &mut String, written: &str) {
    end_line(text);
    guard(text, written);
    end_line(text);
}

/// The same for a text that stead may have cut: the mark of the cut is a line of ours.
fn cut_lines(text: &mut String, written: &str, mark: Option<Range<usize>>) {
    let Some(mark) = mark else { return own_lines(text, written) };
    own_lines(text, &written[..mark.start]);
    own_line(text, &written[mark.clone()]);
    own_lines(text, &written[mark.end..]);
}

/// A line of ours.
pub(crate) fn own_line(text: &mut String, line: &str) {
    end_line(text);
    text.push_str(line);
    text.push('\n');
}

fn end_line(text: &mut String) {
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
}

/// Appends what user code wrote; its lines that look like ours are marked.
pub(crate) fn guard(text: &mut String, written: &str) {
    let mut at_start = text.is_empty() || text.ends_with('\n');
    for line in written.split_inclusive('\n') {
        if at_start && looks_like_ours(line) {
            text.push('\\');
        }
        text.push_str(line);
        at_start = line.ends_with('\n');
    }
}

/// Whether a line begins like one of ours. Backslashes before the bracket are passed over, so that a
/// marked line cannot be forged either, and so are characters that nobody sees.
fn looks_like_ours(line: &str) -> bool {
    let seen = line.trim_start_matches(|c| c == '\\' || is_invisible(c));
    let Some(rest) = seen.strip_prefix('[') else { return false };
    if ["…", "stdout]", "stderr]", "value]"].iter().any(|mark| rest.starts_with(mark)) {
        return true;
    }
    // A word or a session's name, a colon; then either text or an eval's number.
    let after = rest.trim_start_matches(|c: char| c.is_ascii_alphanumeric() || "._-".contains(c));
    let Some(after) = after.strip_prefix(':').filter(|_| !rest.starts_with(':')) else {
        return false;
    };
    let end = match after.strip_prefix('~') {
        Some(token) => token.trim_start_matches(|c: char| c.is_ascii_hexdigit()),
        None => after.trim_start_matches(|c: char| c.is_ascii_digit()),
    };
    // `[12:34:56]` is not like ours: it is the time of day in a log.
    matches!(end.chars().next(), None | Some(' ' | '\n'))
        || end.len() < after.len() && end.starts_with([']', ';'])
}

/// Joiners, marks and fillers that take no room.
fn is_invisible(c: char) -> bool {
    matches!(
        c as u32,
        0xad | 0x34f
            | 0x115f..=0x1160
            | 0x180b..=0x180f
            | 0x200b..=0x200f
            | 0x2060..=0x206f
            | 0x3164
            | 0xfe00..=0xfe0f
            | 0xfeff
            | 0xffa0
            | 0x1bca0..=0x1bca3
            | 0x1d173..=0x1d17a
            | 0xe0000..=0xe0fff
    )
}

#[cfg(test)]
#[path = "text_tests.rs"]
mod tests;
