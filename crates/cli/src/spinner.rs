//! The line that a waiting command keeps up to date on standard error (SPEC C-9).

use std::time::{Duration, Instant};

use stead_screen::fit;

use crate::redraw::TerminalSize;
use crate::{print, time};

/// How long a wait lasts before the spinner is shown.
pub(crate) const SPIN_AFTER: Duration = Duration::from_millis(300);
pub(crate) const SPIN_EVERY: Duration = Duration::from_millis(100);
const FRAMES: [char; 10] = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];

/// A spinner, the time since it began, and what is said behind it.
#[derive(Debug)]
pub(crate) struct Spinner {
    began: Instant,
    frame: usize,
    drawn: Option<Instant>,
}

impl Spinner {
    pub(crate) fn new() -> Self {
        Spinner { began: Instant::now(), frame: 0, drawn: None }
    }

    /// The time counts from now.
    pub(crate) fn restart(&mut self) {
        self.began = Instant::now();
    }

    /// Draws the line if it is time to; when to come again.
    pub(crate) fn draw(&mut self, said: impl FnOnce() -> String) -> Instant {
        let elapsed = self.began.elapsed();
        if elapsed < SPIN_AFTER {
            return self.began + SPIN_AFTER;
        }
        // `draw` is called for each piece of output, perhaps thousands of times a second.
        if let Some(next) = self.drawn.map(|at| at + SPIN_EVERY)
            && next > Instant::now()
        {
            return next;
        }
        let size = TerminalSize::of(std::io::stderr()).unwrap_or(TerminalSize::USUAL);
        let frame = FRAMES[self.frame % FRAMES.len()];
        let line = format!("{frame} {} {}", time::short(elapsed), said());
        print::err(format!("\r{}\x1b[K", fit(&line, size.columns.max(20) - 1)).as_bytes());
        self.frame += 1;
        let now = Instant::now();
        self.drawn = Some(now);
        now + SPIN_EVERY
    }

    /// Takes the line away, if there is one.
    pub(crate) fn clear(&mut self) {
        if self.drawn.take().is_some() {
            print::err(b"\r\x1b[K");
        }
    }
}
