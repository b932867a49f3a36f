//! Live output: text is handed out as soon as it can no longer be redrawn.

use std::fmt;

use crate::Lane;
use crate::input::LaneInput;
use crate::row::{Body, Row, Sent};

/// Turns output into text as it comes.
///
/// Appended text is handed out at once. A row that is being redrawn is held back until its line
/// ends, and what is redrawn after that until something new follows it.
pub struct LiveScreen {
    lanes: [Option<Box<LaneInput>>; 4],
}

impl fmt::Debug for LiveScreen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stream").finish_non_exhaustive()
    }
}

impl Default for LiveScreen {
    fn default() -> Self {
        LiveScreen::new()
    }
}

impl LiveScreen {
    /// A stream of which nothing has been read.
    pub fn new() -> Self {
        LiveScreen { lanes: [const { None }; 4] }
    }

    /// Reads the next bytes of a lane; returns the text that can be shown now.
    pub fn write(&mut self, lane: Lane, bytes: &[u8]) -> String {
        let input = self.lanes[lane as usize].get_or_insert_with(|| Box::new(LaneInput::new()));
        let mut out = String::new();
        for step in bytes.chunks(64 << 10) {
            // Offsets mean nothing here, and the order of rows is that of the calls.
            input.write(0, false, step);
            hand_out(input, &mut out);
        }
        out
    }

    /// The held back text that is complete enough to be shown before something else.
    pub fn pause(&mut self) -> Vec<(Lane, String)> {
        self.each(|input, out| {
            input.give_up_held();
            hand_out(input, out);
            for row in &mut input.rows.window {
                send_held(row, out);
            }
        })
    }

    /// Everything that is left.
    pub fn finish(mut self) -> Vec<(Lane, String)> {
        self.each(|input, out| {
            input.finish();
            for row in &mut input.rows.settled {
                send_held(row, out);
            }
        })
    }

    fn each(&mut self, mut give: impl FnMut(&mut LaneInput, &mut String)) -> Vec<(Lane, String)> {
        let mut all = Vec::new();
        for (lane, input) in Lane::ALL.into_iter().zip(&mut self.lanes) {
            let Some(input) = input else { continue };
            let mut out = String::new();
            give(input, &mut out);
            if !out.is_empty() {
                all.push((lane, out));
            }
        }
        all
    }
}

fn hand_out(input: &mut LaneInput, out: &mut String) {
    let mut settled = std::mem::take(&mut input.rows.settled);
    for row in &mut settled {
        send_held(row, out);
    }
    let cursor = input.rows.cursor();
    let ready = |index: usize, row: &Row| match (row.sent, &row.body) {
        (Sent::Line, _) => false,
        // A line end was written and the cursor is past it.
        _ if row.ended && index < cursor => true,
        (Sent::Part(sent), Body::Text(text)) => !row.bar && !row.redrawn && text.len() > sent,
        (Sent::Part(_), Body::Cells(_)) => false,
    };
    let window = &mut input.rows.window;
    let Some(last) = (0..window.len()).rev().find(|at| ready(*at, &window[*at])) else { return };
    for (index, row) in window.iter_mut().enumerate().take(last + 1) {
        // New text stands below these rows, so they are handed out now.
        if index < last || row.ended && index < cursor {
            send_held(row, out);
        } else if let (Sent::Part(sent), Body::Text(text)) = (row.sent, &row.body) {
            out.push_str(&text[sent..]);
            row.sent = Sent::Part(text.len());
            row.forget_sent();
        }
    }
}

/// Hands out a row as it stands, unless it was handed out already.
fn send_held(row: &mut Row, out: &mut String) {
    let redrawn = std::mem::take(&mut row.redrawn);
    let length = match (row.sent, &row.body) {
        (Sent::Line, _) if !redrawn => return,
        (Sent::Part(sent), Body::Text(text)) if !redrawn => {
            out.push_str(&text[sent..]);
            text.len()
        }
        (Sent::Part(sent @ 1..), Body::Cells(_)) if !redrawn => sent,
        (sent, body) => {
            let text = match body {
                Body::Text(text) => text.clone(),
                Body::Cells(cells) => cells.render(),
            };
            if text.is_empty() && (sent == Sent::Line || !row.ended) {
                return;
            }
            // A part of the row was handed out and cannot be taken back.
            if matches!(sent, Sent::Part(1..)) && !text.is_empty() {
                out.push('\n');
            }
            out.push_str(&text);
            text.len()
        }
    };
    row.sent = Sent::Part(length);
    if row.ended {
        row.sent = Sent::Line;
        out.push('\n');
    }
}
