//! Live output: text is handed out as it comes, and taken back if it is redrawn after that.

use std::fmt;

use crate::Lane;
use crate::input::LaneInput;
use crate::row::{Body, Row, Sent};

/// Turns output into text as it comes.
///
/// Appended text is handed out at once. A row that is being redrawn is held back until its line ends, and what
/// is redrawn after that until something new follows it; `open` tells how such rows look meanwhile. All that was
/// handed out, put together without the lines that each piece `replaces`, is the text that `Screen` makes of the
/// same bytes.
pub struct LiveScreen {
    lanes: [Option<Box<LiveLane>>; 4],
}

/// Text of one stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LiveText {
    /// The stream.
    pub lane: Lane,
    /// How many lines at the end of all that was handed out for this stream the text takes the place of; a
    /// line without an end counts. Nearly always none.
    pub replaces: usize,
    /// The text.
    pub text: String,
}

/// A lane that was written to.
struct LiveLane {
    input: LaneInput,
    /// What was handed out of the rows that can still be redrawn.
    given: String,
}

impl fmt::Debug for LiveScreen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LiveScreen").finish_non_exhaustive()
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
    pub fn write(&mut self, lane: Lane, bytes: &[u8]) -> Option<LiveText> {
        let live = self.lanes[lane as usize].get_or_insert_with(|| {
            Box::new(LiveLane { input: LaneInput::new(), given: String::new() })
        });
        let mut all = Handed::default();
        for step in bytes.chunks(64 << 10) {
            // Offsets mean nothing here, and the order of rows is that of the calls.
            live.input.write(0, false, step);
            all.add(live.hand_out(Upto::Ready));
        }
        all.of(lane)
    }

    /// How the rows look that are held back because they are being redrawn, one text for each lane that has any.
    pub fn open(&self) -> Vec<LiveText> {
        let lanes = Lane::ALL.into_iter().zip(&self.lanes);
        lanes.filter_map(|(lane, live)| live.as_ref()?.open().of(lane)).collect()
    }

    /// The held back text that is complete enough to be shown before something else.
    pub fn pause(&mut self) -> Vec<LiveText> {
        self.each(|live| {
            live.input.give_up_held();
            live.hand_out(Upto::End)
        })
    }

    /// Everything that is left.
    pub fn finish(mut self) -> Vec<LiveText> {
        self.each(|live| {
            live.input.finish();
            live.hand_out(Upto::End)
        })
    }

    fn each(&mut self, mut give: impl FnMut(&mut LiveLane) -> Handed) -> Vec<LiveText> {
        let lanes = Lane::ALL.into_iter().zip(&mut self.lanes);
        lanes.filter_map(|(lane, live)| give(live.as_mut()?).of(lane)).collect()
    }
}

/// How far rows are handed out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Upto {
    /// To the last row that is not being redrawn.
    Ready,
    /// All of them.
    End,
}

/// What is handed out: so many lines less, then this text.
#[derive(Debug, Default)]
struct Handed {
    replaces: usize,
    text: String,
}

impl Handed {
    /// Adds what is handed out next.
    fn add(&mut self, next: Handed) {
        for _ in 0..next.replaces {
            if self.text.is_empty() {
                self.replaces += 1;
            } else {
                let whole = self.text.strip_suffix('\n').unwrap_or(&self.text);
                let end = whole.rfind('\n').map_or(0, |end| end + 1);
                self.text.truncate(end);
            }
        }
        self.text.push_str(&next.text);
    }

    fn of(self, lane: Lane) -> Option<LiveText> {
        let Handed { replaces, text } = self;
        (replaces > 0 || !text.is_empty()).then_some(LiveText { lane, replaces, text })
    }
}

impl LiveLane {
    fn hand_out(&mut self, upto: Upto) -> Handed {
        let settled = std::mem::take(&mut self.input.rows.settled);
        let cursor = self.input.rows.cursor();
        let Some(count) = self.reach(upto).or((!settled.is_empty()).then_some(0)) else {
            return Handed::default();
        };
        let window = &self.input.rows.window;
        let last = count.checked_sub(1);
        let ends = |at: usize| upto == Upto::End || Some(at) != last || at < cursor;
        let window = window.iter().take(count).enumerate().map(|(at, row)| (row, ends(at)));
        let rows: Vec<(&Row, bool)> = settled.iter().map(|row| (row, true)).chain(window).collect();
        // Of a row that is too long to be redrawn the text is not kept, so nothing before it can be said again.
        let from = rows.iter().rposition(|(row, _)| row.is_cut()).unwrap_or(0);
        let (mut text, mut kept) = (String::new(), None);
        for (at, (row, ends)) in rows.into_iter().enumerate().skip(from) {
            if at >= settled.len() {
                kept = kept.or(Some(text.len()));
            }
            draw(row, ends, &mut text);
        }
        let kept = kept.unwrap_or(text.len());
        let handed = changes(&self.given, &text, true);
        self.given = text.split_off(kept);
        for (at, row) in self.input.rows.window.iter_mut().take(count).enumerate() {
            let ends = upto == Upto::End || Some(at) != last || at < cursor;
            row.redrawn = false;
            row.sent = match &row.body {
                _ if row.ended && ends => Sent::Line,
                Body::Text(text) => Sent::Part(text.len()),
                Body::Cells(cells) => Sent::Part(cells.len()),
            };
            if row.forget_sent() {
                self.given.clear();
            }
        }
        handed
    }

    /// How many rows of the window are handed out; `None` if there is nothing new to hand out.
    fn reach(&self, upto: Upto) -> Option<usize> {
        let rows = &self.input.rows;
        if upto == Upto::End {
            return Some(rows.window.len());
        }
        let cursor = rows.cursor();
        let ready = |at: usize, row: &Row| match (row.sent, &row.body) {
            (Sent::Line, _) => false,
            // A line end was written and the cursor is past it.
            _ if row.ended && at < cursor => true,
            // The cursor went back to the start of the row, most likely to write it anew.
            (Sent::Part(0), _) if at == cursor && rows.is_returned() => false,
            (Sent::Part(sent), Body::Text(text)) => !row.bar && !row.redrawn && text.len() > sent,
            (Sent::Part(_), Body::Cells(_)) => false,
        };
        let window = rows.window.iter().enumerate();
        let last = window.clone().rev().find(|(at, row)| ready(*at, row))?.0;
        // What was handed out before is not left out now, even if it stands below the new text.
        let before = window.rev().find(|(_, row)| row.sent != Sent::Part(0));
        Some(before.map_or(last, |(at, _)| at.max(last)) + 1)
    }

    /// What `hand_out` would give if nothing was held back, in whole lines.
    fn open(&self) -> Handed {
        let window = &self.input.rows.window;
        let from = window.iter().rposition(Row::is_cut).unwrap_or(0);
        let mut text = String::new();
        for row in window.iter().skip(from) {
            draw(row, true, &mut text);
        }
        changes(&self.given, &text, false)
    }
}

/// Adds a row as it stands, with its line end if it has one.
fn draw(row: &Row, ends: bool, out: &mut String) {
    match &row.body {
        Body::Text(text) => out.push_str(text),
        Body::Cells(cells) => out.push_str(&cells.render()),
    }
    if row.ended && ends {
        out.push('\n');
    }
}

/// What turns `old` into `new`: so many lines less and then this text. `parts` says that an unfinished line may
/// be gone on with.
fn changes(old: &str, new: &str, parts: bool) -> Handed {
    if old == new {
        return Handed::default();
    }
    if parts && let Some(more) = new.strip_prefix(old) {
        return Handed { replaces: 0, text: more.to_owned() };
    }
    let same = old.bytes().zip(new.bytes()).take_while(|(old, new)| old == new).count();
    let from =
        old.as_bytes()[..same].iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    let gone = &old[from..];
    let open = !gone.is_empty() && !gone.ends_with('\n');
    let replaces = gone.matches('\n').count() + usize::from(open);
    Handed { replaces, text: new[from..].to_owned() }
}
