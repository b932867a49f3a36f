//! What the command line does while an eval runs: stream, spin, obey Ctrl-C (SPEC C-7, C-9).

use std::io::IsTerminal;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

use stead_client::{Live, PageItem, WaitAction, Watcher};
use stead_protocol::{ChunkKind, EvalId};

use crate::print::{self, Mode};
use crate::reply::chunk_data;
use crate::signals::CtrlC;
use crate::text_writer::TextWriter;
use crate::{text, time};

/// Quiet time before the spinner shows.
const SPIN_AFTER: Duration = Duration::from_millis(300);
const SPIN_EVERY: Duration = Duration::from_millis(100);
const FRAMES: [char; 10] = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];

/// Watches one eval for the command line.
#[derive(Debug)]
pub(crate) struct EvalWatcher {
    show: Show,
    ctrl_c: Option<CtrlC>,
    pressed: bool,
}

#[derive(Debug)]
enum Show {
    Nothing,
    /// Chunks as lines of JSON.
    Json(Live),
    /// Chunks as text.
    Text(TextWriter),
    /// A spinner with the last line.
    Spinner {
        began: Instant,
        frame: usize,
        drawn: Option<Instant>,
        last_line: Vec<u8>,
    },
}

impl EvalWatcher {
    /// A watch that streams, or shows a spinner if standard error is a terminal.
    pub(crate) fn new(mode: Mode, stream: bool, raw: bool) -> Self {
        let terminal = std::io::stderr().is_terminal();
        let show = match (stream, mode) {
            (true, Mode::Json) => Show::Json(Live::new()),
            (true, Mode::Text) => Show::Text(TextWriter::new(raw)),
            (false, Mode::Text) if terminal => Show::Spinner {
                began: Instant::now(),
                frame: 0,
                drawn: None,
                last_line: Vec::new(),
            },
            (false, _) => Show::Nothing,
        };
        let ctrl_c = if terminal { CtrlC::new() } else { None };
        EvalWatcher { show, ctrl_c, pressed: false }
    }

    /// Whether output was written as it came.
    pub(crate) fn streamed(&self) -> bool {
        matches!(self.show, Show::Json(_) | Show::Text(_))
    }

    /// Ends the watch; nothing of it stays on the terminal.
    pub(crate) fn finish(self) -> Option<TextWriter> {
        match self.show {
            Show::Spinner { drawn: Some(_), .. } => {
                print::err(b"\r\x1b[K");
                None
            }
            Show::Text(writer) => Some(writer),
            Show::Json(mut live) => {
                write(&live.finish());
                None
            }
            Show::Spinner { .. } | Show::Nothing => None,
        }
    }
}

fn write(items: &[PageItem]) {
    for item in items {
        print::json(&chunk_data(item, None));
    }
}

impl Watcher for EvalWatcher {
    fn wants_output(&self) -> bool {
        !matches!(self.show, Show::Nothing)
    }

    fn accepted(&mut self, _id: &EvalId) {
        if let Show::Spinner { began, .. } = &mut self.show {
            *began = Instant::now();
        }
    }

    fn chunk(&mut self, kind: ChunkKind, bytes: &[u8]) {
        match &mut self.show {
            Show::Nothing => {}
            Show::Text(writer) => writer.chunk(kind, bytes),
            Show::Json(live) => write(&live.chunk(kind, bytes)),
            Show::Spinner { last_line, .. } => {
                if !kind.is_own_output() {
                    return;
                }
                let trimmed = bytes.trim_ascii_end();
                if let Some(line) = trimmed.rsplit(|b| matches!(b, b'\n' | b'\r')).next()
                    && !line.is_empty()
                {
                    *last_line = line[..line.len().min(400)].to_vec();
                }
            }
        }
    }

    fn wake(&self) -> Option<BorrowedFd<'_>> {
        self.ctrl_c.as_ref().map(AsFd::as_fd)
    }

    fn woken(&mut self) -> WaitAction {
        if !self.ctrl_c.as_mut().is_some_and(CtrlC::take) {
            return WaitAction::GoOn;
        }
        if self.pressed {
            return WaitAction::Leave;
        }
        self.pressed = true;
        if let Show::Spinner { drawn: Some(_), .. } = self.show {
            print::err(b"\r\x1b[K");
        }
        print::err(b"[interrupting; Ctrl-C again leaves it running]\n");
        WaitAction::Interrupt
    }

    fn tick(&mut self) -> Option<Instant> {
        let Show::Spinner { began, frame, drawn, last_line } = &mut self.show else { return None };
        let elapsed = began.elapsed();
        if elapsed < SPIN_AFTER {
            return Some(*began + SPIN_AFTER);
        }
        // This is called for each piece of output, perhaps thousands of times a second.
        if let Some(next) = drawn.map(|at| at + SPIN_EVERY)
            && next > Instant::now()
        {
            return Some(next);
        }
        let columns = rustix::termios::tcgetwinsize(std::io::stderr())
            .map_or(80, |size| usize::from(size.ws_col).max(20));
        let line = format!(
            "{} {} {}",
            FRAMES[*frame % FRAMES.len()],
            time::short(elapsed),
            text::last_line(last_line)
        );
        let line: String = line.chars().take(columns - 1).collect();
        print::err(format!("\r{line}\x1b[K").as_bytes());
        *frame += 1;
        *drawn = Some(Instant::now());
        Some(Instant::now() + SPIN_EVERY)
    }
}
