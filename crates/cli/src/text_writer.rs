//! An eval's output as text.

use std::borrow::Cow;
use std::io::IsTerminal;
use std::time::{Duration, Instant};

use stead_client::{Live, LiveItem, Page, PageItem};
use stead_protocol::ChunkKind;
use stead_protocol::bridge::Stream;
use stead_screen::plain;

use crate::paint::{FAINT, Paint};
use crate::print;
use crate::redraw::{Redraw, Strip, TerminalSize};
use crate::reply::{display_line, marker};

/// How often bars are drawn at most.
pub(crate) const DRAW_EVERY: Duration = Duration::from_millis(100);

/// What stands before each line of output that no running eval wrote (SPEC O-1).
const BACKGROUND: &str = "[background] ";

/// Writes an eval's output as text: its stdout to stdout, its stderr to stderr.
#[derive(Debug)]
pub(crate) struct TextWriter {
    terminal: Streams,
    /// Cleans the output; without it bytes are written as they are.
    live: Option<Live>,
    redraw: Redraw,
    /// Streams whose last line has no end.
    in_line: Streams,
    /// Background streams whose last line has no end.
    background_in_line: Streams,
    /// Set if bars may have changed since they were drawn.
    stale: bool,
    drawn: Option<Instant>,
}

/// Something about each of the two streams.
#[derive(Debug, Clone, Copy, Default)]
struct Streams {
    out: bool,
    err: bool,
}

impl Streams {
    fn of(&mut self, kind: ChunkKind) -> &mut bool {
        match kind.stream() {
            Some(Stream::Err) => &mut self.err,
            Some(Stream::Out) | None => &mut self.out,
        }
    }
}

impl TextWriter {
    pub(crate) fn new(raw: bool) -> Self {
        let live = (!raw).then(Live::new);
        let out = std::io::stdout().is_terminal();
        TextWriter {
            terminal: Streams { out, err: std::io::stderr().is_terminal() },
            live,
            redraw: Redraw::default(),
            in_line: Streams::default(),
            background_in_line: Streams::default(),
            stale: false,
            drawn: None,
        }
    }

    /// The next chunk as it comes from the spool.
    pub(crate) fn chunk(&mut self, kind: ChunkKind, bytes: &[u8]) {
        if let Some(live) = &mut self.live {
            let items = live.chunk(kind, bytes);
            self.stale = true;
            return items.iter().for_each(|item| self.live_item(item));
        }
        match kind {
            ChunkKind::Out | ChunkKind::BackgroundOut => self.raw(kind, bytes),
            ChunkKind::Err | ChunkKind::BackgroundErr => print::err(bytes),
            ChunkKind::Status => self.note(&String::from_utf8_lossy(bytes)),
            ChunkKind::Report => {
                let items = Live::new().chunk(kind, bytes);
                items.iter().for_each(|item| self.live_item(item));
            }
            ChunkKind::Value => match serde_json::from_slice(bytes) {
                Ok(value) => self.item(&PageItem::Value(value)),
                Err(_) => self.raw(kind, bytes),
            },
            ChunkKind::Error => match serde_json::from_slice(bytes) {
                Ok(error) => self.item(&PageItem::Error(error)),
                Err(_) => print::err(bytes),
            },
            ChunkKind::Display => match serde_json::from_slice(bytes) {
                Ok(display) => self.item(&PageItem::Display(display)),
                Err(_) => self.raw(kind, bytes),
            },
        }
    }

    /// Draws the bars if they have changed and it is time; when to be called again if it is not.
    pub(crate) fn draw(&mut self) -> Option<Instant> {
        let live = self.live.as_ref().filter(|_| self.stale)?;
        let next = self.drawn.map(|at| at + DRAW_EVERY);
        if next.is_some_and(|next| next > Instant::now()) {
            return next;
        }
        self.stale = false;
        let size = self.size()?;
        let open = live.open();
        let mut bars = Vec::new();
        for item in &open {
            let PageItem::Text { kind, text } = &item.item else { continue };
            if *self.terminal.of(*kind) {
                let text = label(*kind, false, text);
                bars.push((*kind, item.replaces, text));
            }
        }
        if bars.is_empty() && !self.redraw.has_bars() {
            return None;
        }
        let strips: Vec<Strip<'_>> = bars
            .iter()
            .map(|(kind, replaces, text)| Strip { kind: *kind, replaces: *replaces, text })
            .collect();
        let bytes = self.redraw.bars(&strips, size);
        self.to_terminal(&bytes);
        self.drawn = Some(Instant::now());
        None
    }

    /// The next item in the form in which it is shown.
    pub(crate) fn item(&mut self, item: &PageItem) {
        match item {
            PageItem::Text { kind, text } => self.text(*kind, 0, text),
            PageItem::Value(value) => self.out_line(&value.text),
            PageItem::Display(display) => self.out_line(&display_line(display)),
            PageItem::Error(error) => {
                self.end_line();
                print::err(Paint::stderr().error(error).as_bytes());
            }
            PageItem::Status(note) => self.note(note),
            PageItem::Report(text) => self.out_line(text),
            PageItem::Gap(_) => {}
        }
    }

    fn live_item(&mut self, item: &LiveItem) {
        match &item.item {
            PageItem::Text { kind, text } => self.text(*kind, item.replaces, text),
            other => self.item(other),
        }
    }

    /// All of a page, with a mark where output is left out.
    pub(crate) fn page(&mut self, page: &Page, id: Option<&str>) {
        for item in &page.items {
            match item {
                PageItem::Gap(gap) => self.note(&marker(gap, id)),
                item => self.item(item),
            }
        }
    }

    /// A line that does not belong to the output and comes in the middle of it; bars stay below it.
    pub(crate) fn interject(&mut self, line: &str) {
        self.out_line(line);
        (self.stale, self.drawn) = (true, None);
    }

    /// Writes text that was held back, and leaves the cursor behind it.
    pub(crate) fn settle(&mut self) {
        let items = self.live.as_mut().map(Live::finish).unwrap_or_default();
        items.iter().for_each(|item| self.live_item(item));
        // The person who answers the question ends the line, so no line counts as open.
        (self.redraw, self.in_line, self.stale) = (Redraw::default(), Streams::default(), false);
    }

    /// A notice of stead's own, which is not output of the eval.
    pub(crate) fn note(&mut self, note: &str) {
        self.end_line();
        let note = plain(note.trim_end());
        let note = note.strip_prefix('[').and_then(|n| n.strip_suffix(']')).unwrap_or(&note);
        let note = Paint::stderr().paint(FAINT, &format!("[{note}]"));
        print::err(format!("{note}\n").as_bytes());
    }

    /// Writes text that was held back, and ends a line that was begun on the terminal.
    pub(crate) fn finish(&mut self) {
        let items = self.live.as_mut().map(Live::finish).unwrap_or_default();
        items.iter().for_each(|item| self.live_item(item));
        self.end_line();
    }

    /// Erases bars, and ends a line that was begun on the terminal.
    fn end_line(&mut self) {
        let end = self.redraw.end_line();
        self.to_terminal(&end);
        if self.in_line.out && self.terminal.out && self.live.is_some() && end.is_empty() {
            print::out(b"\n");
        }
        self.in_line = Streams::default();
    }

    fn out_line(&mut self, line: &str) {
        let end = self.redraw.end_line();
        self.to_terminal(&end);
        if self.in_line.out && !(self.terminal.out && end.ends_with('\n')) {
            print::out(b"\n");
        }
        self.in_line.out = false;
        print::out(line.as_bytes());
        if !line.ends_with('\n') {
            print::out(b"\n");
        }
    }

    /// Writes text of a stream, on a terminal in place of the stream's last `replaces` lines.
    fn text(&mut self, kind: ChunkKind, replaces: usize, text: &str) {
        let labelled = label(kind, *self.background_in_line.of(kind) && replaces == 0, text);
        if kind.is_background() && !text.is_empty() {
            *self.background_in_line.of(kind) = !text.ends_with('\n');
        }
        let was_in_line = *self.in_line.of(kind);
        let size = self.size().filter(|_| *self.terminal.of(kind) && self.live.is_some());
        if size.is_some() {
            // `Redraw` itself ends an open line of another stream.
            self.in_line = Streams::default();
        }
        if !text.is_empty() {
            *self.in_line.of(kind) = !text.ends_with('\n');
        }
        let bytes: Cow<'_, str> = match size {
            Some(size) => {
                Cow::Owned(self.redraw.text(&Strip { kind, replaces, text: &labelled }, size))
            }
            // Text in a pipe or a file cannot be taken back, so the new text gets a line of its own.
            None if replaces > 0 && was_in_line => Cow::Owned(format!("\n{labelled}")),
            None => labelled,
        };
        match kind.stream() {
            Some(Stream::Err) => print::err(bytes.as_bytes()),
            Some(Stream::Out) | None => print::out(bytes.as_bytes()),
        }
    }

    fn raw(&mut self, kind: ChunkKind, bytes: &[u8]) {
        let Some(last) = bytes.last() else { return };
        *self.in_line.of(kind) = *last != b'\n';
        print::out(bytes);
    }

    fn to_terminal(&self, bytes: &str) {
        match self.terminal.err {
            true => print::err(bytes.as_bytes()),
            false if self.terminal.out => print::out(bytes.as_bytes()),
            false => {}
        }
    }

    /// The terminal's size, if there is one that can move its cursor.
    fn size(&self) -> Option<TerminalSize> {
        match (self.terminal.err, self.terminal.out) {
            _ if !print::moves_the_cursor() => None,
            (true, _) => TerminalSize::of(std::io::stderr()),
            (false, true) => TerminalSize::of(std::io::stdout()),
            (false, false) => None,
        }
    }
}

/// Labels each line of background output; `goes_on` says that the first line began before and has its label.
fn label(kind: ChunkKind, goes_on: bool, text: &str) -> Cow<'_, str> {
    if !kind.is_background() {
        return Cow::Borrowed(text);
    }
    let mut labelled = String::with_capacity(text.len() + BACKGROUND.len());
    for (at, line) in text.split_inclusive('\n').enumerate() {
        if at > 0 || !goes_on {
            labelled.push_str(BACKGROUND);
        }
        labelled.push_str(line);
    }
    Cow::Owned(labelled)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn c9_each_line_of_the_background_is_labelled_once() {
        let background = ChunkKind::BackgroundOut;
        assert_eq!(label(ChunkKind::Out, false, "a\nb\n"), "a\nb\n");
        assert_eq!(label(background, false, "a\nb\n"), "[background] a\n[background] b\n");
        // A line that goes on has its label already.
        assert_eq!(label(background, true, "rest\nnext"), "rest\n[background] next");
        assert_eq!(label(ChunkKind::BackgroundErr, false, ""), "");
    }
}
