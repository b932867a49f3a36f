//! An eval's output as text.

use std::io::IsTerminal;

use stead_protocol::ChunkKind;

use crate::reply::{display_line, error_text, value_text};
use crate::{print, text};

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
