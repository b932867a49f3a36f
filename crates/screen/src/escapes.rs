//! Escape sequences: where they end, and what they do to the rows.

use vte::{Params, Perform};

use crate::rows::Rows;

const ESCAPE: u8 = 0x1b;
const CANCEL: u8 = 0x18;
const SUBSTITUTE: u8 = 0x1a;
const BELL: u8 = 0x07;

/// Reads escape sequences, also those that come in pieces.
///
/// The `vte` parser knows what a sequence means, but does not tell whether it is inside one, and it drops
/// bytes of text that are not UTF-8. So it is given sequences only.
#[derive(Default)]
pub(crate) struct Escapes {
    parser: vte::Parser,
    state: EscapeState,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum EscapeState {
    #[default]
    Outside,
    Escape,
    /// Behind an escape and a space or one of `!"#$%&'()*+,-./`.
    Intermediate,
    Csi,
    /// A command for the operating system: titles, links.
    Osc,
    /// Text for a device or an application.
    String,
}

impl Escapes {
    pub(crate) fn is_inside(&self) -> bool {
        self.state != EscapeState::Outside
    }

    /// Reads to the end of the sequence that stands here; returns how many bytes that are.
    pub(crate) fn read(&mut self, bytes: &[u8], rows: &mut Rows) -> usize {
        let mut read = 0;
        while read < bytes.len() {
            read += match self.state {
                EscapeState::Osc | EscapeState::String => self.skip_string(&bytes[read..]),
                _ => self.read_command(&bytes[read..], rows),
            };
            if !self.is_inside() {
                break;
            }
        }
        read
    }

    fn read_command(&mut self, bytes: &[u8], rows: &mut Rows) -> usize {
        let mut length = 0;
        for byte in bytes {
            if *byte >= 0x80 {
                // No sequence contains this byte, but the text behind a broken sequence may. Control
                // characters before the byte still take effect, in whatever pieces they come.
                self.parser.advance(&mut RowCommands(rows), &bytes[..length]);
                *self = Escapes::default();
                return length;
            }
            length += 1;
            self.state = self.state.after(*byte);
            if matches!(self.state, EscapeState::Outside | EscapeState::Osc | EscapeState::String) {
                break;
            }
        }
        self.parser.advance(&mut RowCommands(rows), &bytes[..length]);
        if matches!(self.state, EscapeState::Osc | EscapeState::String) {
            self.parser = vte::Parser::default();
        }
        length
    }

    /// Passes over a string that is not meant to be shown.
    fn skip_string(&mut self, bytes: &[u8]) -> usize {
        let osc = self.state == EscapeState::Osc;
        let ends = |byte: &u8| match *byte {
            ESCAPE | CANCEL | SUBSTITUTE => true,
            // A string that was never closed must not swallow the lines that follow.
            BELL | b'\n' => osc,
            _ => false,
        };
        let Some(end) = bytes.iter().position(ends) else { return bytes.len() };
        self.state = EscapeState::Outside;
        match bytes[end] {
            // The string is over, so this byte is read like any byte outside a string.
            ESCAPE | b'\n' => end,
            _ => end + 1,
        }
    }
}

impl EscapeState {
    /// The state after a byte outside of strings.
    fn after(self, byte: u8) -> EscapeState {
        match (self, byte) {
            (_, ESCAPE) => EscapeState::Escape,
            (_, CANCEL | SUBSTITUTE) => EscapeState::Outside,
            (state, 0x00..=0x1f | 0x7f..) => state,
            (EscapeState::Escape, b'[') => EscapeState::Csi,
            (EscapeState::Escape, b']') => EscapeState::Osc,
            (EscapeState::Escape, b'P' | b'X' | b'^' | b'_') => EscapeState::String,
            (EscapeState::Escape | EscapeState::Intermediate, 0x20..=0x2f) => {
                EscapeState::Intermediate
            }
            (EscapeState::Csi, 0x20..=0x3f) => EscapeState::Csi,
            _ => EscapeState::Outside,
        }
    }
}

/// What sequences do to the rows.
struct RowCommands<'a>(&'a mut Rows);

impl Perform for RowCommands<'_> {
    /// A control character inside a sequence.
    fn execute(&mut self, byte: u8) {
        if !matches!(byte, CANCEL | SUBSTITUTE) {
            crate::input::control(self.0, byte);
        }
    }

    fn esc_dispatch(&mut self, intermediates: &[u8], _ignore: bool, byte: u8) {
        if !intermediates.is_empty() {
            return;
        }
        match byte {
            b'7' => self.0.save(),
            b'8' => self.0.restore(),
            b'D' => self.0.down(1),
            b'E' => self.0.line_feed(),
            b'M' => self.0.up(1),
            b'c' => self.0.clear(),
            _ => {}
        }
    }

    fn csi_dispatch(&mut self, params: &Params, intermediates: &[u8], ignore: bool, action: char) {
        if ignore {
            return;
        }
        let mut given = params.iter().map(|param| usize::from(param.first().copied().unwrap_or(0)));
        if intermediates == b"?" {
            let alternate = given.any(|mode| matches!(mode, 47 | 1047 | 1049));
            match action {
                'h' if alternate => self.0.clear(),
                'l' if alternate => self.0.leave_frame(),
                _ => {}
            }
            return;
        }
        if !intermediates.is_empty() {
            return;
        }
        let first = given.next().unwrap_or(0);
        let second = given.next().unwrap_or(0);
        let count = first.max(1);
        let rows = &mut *self.0;
        match action {
            'A' | 'k' => rows.up(count),
            'B' | 'e' => rows.down(count),
            'C' | 'a' => rows.forward(count),
            'D' | 'j' => rows.back(count),
            'E' => {
                rows.down(count);
                rows.go_to_column(0);
            }
            'F' => {
                rows.up(count);
                rows.go_to_column(0);
            }
            'G' | '`' => rows.go_to_column(count - 1),
            'H' | 'f' => {
                rows.go_to_row(count - 1);
                rows.go_to_column(second.max(1) - 1);
            }
            'd' => rows.go_to_row(count - 1),
            'J' => match first {
                0 => rows.erase_below(),
                1 => rows.erase_above(),
                _ => rows.clear(),
            },
            'K' => match first {
                0 => rows.erase_right(),
                1 => rows.erase_left(),
                _ => rows.erase_row(),
            },
            'L' => rows.insert_rows(count),
            'M' => rows.delete_rows(count),
            'P' => rows.delete(count),
            'X' => rows.erase(count),
            '@' => rows.insert(count),
            's' => rows.save(),
            'u' => rows.restore(),
            _ => {}
        }
    }
}
