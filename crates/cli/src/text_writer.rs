//! An eval's output as text.

use std::io::IsTerminal;

use stead_client::{Live, PageItem};
use stead_protocol::ChunkKind;
use stead_screen::plain;

use crate::paint::{FAINT, Paint};
use crate::print;
use crate::reply::display_line;

/// Writes an eval's output as text: its stdout to stdout, its stderr to stderr.
#[derive(Debug)]
pub(crate) struct TextWriter {
    terminal: bool,
    /// Cleans the output; without it bytes are written as they are.
    live: Option<Live>,
    in_line: bool,
}

impl TextWriter {
    pub(crate) fn new(raw: bool) -> Self {
        let live = (!raw).then(Live::new);
        TextWriter { terminal: std::io::stdout().is_terminal(), live, in_line: false }
    }

    /// The next chunk as it comes from the spool.
    pub(crate) fn chunk(&mut self, kind: ChunkKind, bytes: &[u8]) {
        if let Some(live) = &mut self.live {
            let items = live.chunk(kind, bytes);
            return items.iter().for_each(|item| self.item(item));
        }
        match kind {
            ChunkKind::Out | ChunkKind::BackgroundOut => self.out(bytes),
            ChunkKind::Err | ChunkKind::BackgroundErr => print::err(bytes),
            ChunkKind::Status => self.note(&String::from_utf8_lossy(bytes)),
            ChunkKind::Value => match serde_json::from_slice(bytes) {
                Ok(value) => self.item(&PageItem::Value(value)),
                Err(_) => self.out(bytes),
            },
            ChunkKind::Error => match serde_json::from_slice(bytes) {
                Ok(error) => self.item(&PageItem::Error(error)),
                Err(_) => print::err(bytes),
            },
            ChunkKind::Display => match serde_json::from_slice(bytes) {
                Ok(display) => self.item(&PageItem::Display(display)),
                Err(_) => self.out(bytes),
            },
        }
    }

    /// The next item in the form in which it is shown.
    pub(crate) fn item(&mut self, item: &PageItem) {
        match item {
            PageItem::Text { kind: ChunkKind::Err | ChunkKind::BackgroundErr, text } => {
                print::err(text.as_bytes());
            }
            PageItem::Text { text, .. } => self.out(text.as_bytes()),
            PageItem::Value(value) => self.out_line(&value.text),
            PageItem::Display(display) => self.out_line(&display_line(display)),
            PageItem::Error(error) => {
                self.end_line();
                print::err(Paint::stderr().error(error).as_bytes());
            }
            PageItem::Status(note) => self.note(note),
            PageItem::Gap(_) => {}
        }
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
        items.iter().for_each(|item| self.item(item));
        self.end_line();
    }

    fn end_line(&mut self) {
        if self.in_line && self.terminal && self.live.is_some() {
            print::out(b"\n");
        }
        self.in_line = false;
    }

    fn out_line(&mut self, line: &str) {
        if self.in_line {
            print::out(b"\n");
            self.in_line = false;
        }
        self.out(line.as_bytes());
        if !line.ends_with('\n') {
            self.out(b"\n");
        }
    }

    fn out(&mut self, bytes: &[u8]) {
        let Some(last) = bytes.last() else { return };
        self.in_line = *last != b'\n';
        print::out(bytes);
    }
}
