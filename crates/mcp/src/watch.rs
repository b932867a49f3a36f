//! A call that waits for an eval: what its client wants meanwhile, and what it is told.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::{Duration, Instant};

use rustix::event::{EventfdFlags, eventfd};
use stead_client::{Action, Watcher};
use stead_protocol::{ChunkKind, EvalId};

use crate::server::Ties;

/// How often a client is told how far its call has come.
const TELL_EVERY: Duration = Duration::from_millis(500);
/// How often it is told although nothing was written, so that it knows the call lives.
const HEARTBEAT: Duration = Duration::from_secs(5);
/// How much of the last line is kept.
const LAST_LINE: usize = 4 << 10;

/// What a client wants of a call that is under way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wish {
    /// Stop what the call began (SPEC M-5).
    Cancel,
    /// Stop waiting; what the call began goes on.
    Leave,
}

/// The line over which a call hears its client's wishes while it blocks.
#[derive(Debug, Clone)]
pub struct Line(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    wake: OwnedFd,
    wish: AtomicU8,
}

impl Line {
    /// A line on which nothing was said yet.
    pub fn new() -> std::io::Result<Self> {
        let wake = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        Ok(Line(Arc::new(Inner { wake, wish: AtomicU8::new(0) })))
    }

    /// Says what is wanted; leaving outranks cancelling.
    pub fn say(&self, wish: Wish) {
        self.0.wish.fetch_max(1 + wish as u8, Ordering::AcqRel);
        let _ = rustix::io::write(&self.0.wake, &1_u64.to_ne_bytes());
    }

    fn hear(&self) -> Option<Wish> {
        let _ = rustix::io::read(&self.0.wake, &mut [0; 8]);
        match self.0.wish.load(Ordering::Acquire) {
            0 => None,
            1 => Some(Wish::Cancel),
            _ => Some(Wish::Leave),
        }
    }
}

/// Where a call tells how far it has come.
pub type Tell = Box<dyn FnMut(String) + Send>;

/// Watches one eval for one call.
pub(crate) struct Watch<'a> {
    ties: &'a mut Ties,
    /// Whether a cancelled call takes its eval with it.
    owns_eval: bool,
    told_to_stop: bool,
    began: Instant,
    told: Instant,
    news: bool,
    last_line: Vec<u8>,
}

impl<'a> Watch<'a> {
    pub(crate) fn new(ties: &'a mut Ties, owns_eval: bool) -> Self {
        let began = Instant::now();
        let last_line = Vec::new();
        Watch { ties, owns_eval, told_to_stop: false, began, told: began, news: false, last_line }
    }

    fn next_telling(&self) -> Instant {
        self.told + if self.news { TELL_EVERY } else { HEARTBEAT }
    }

    fn message(&self) -> String {
        let last = stead_screen::plain(&self.last_line);
        let last = last.lines().rev().map(str::trim).find(|line| !line.is_empty());
        match last {
            Some(line) => line.chars().take(200).collect(),
            None => format!("running for {} s", self.began.elapsed().as_secs()),
        }
    }
}

impl Watcher for Watch<'_> {
    fn wants_output(&self) -> bool {
        self.ties.tell.is_some()
    }

    fn accepted(&mut self, _id: &EvalId) {
        self.began = Instant::now();
        if let Some(accepted) = self.ties.accepted.take() {
            accepted();
        }
    }

    fn chunk(&mut self, kind: ChunkKind, bytes: &[u8]) {
        if !kind.is_own_output() {
            return;
        }
        self.news = true;
        let bytes = &bytes[bytes.len().saturating_sub(LAST_LINE)..];
        self.last_line.extend_from_slice(bytes);
        let over = self.last_line.len().saturating_sub(LAST_LINE);
        self.last_line.drain(..over);
    }

    fn wake(&self) -> Option<BorrowedFd<'_>> {
        self.ties.line.as_ref().map(|line| line.0.wake.as_fd())
    }

    fn woken(&mut self) -> Action {
        match self.ties.line.as_ref().and_then(Line::hear) {
            None => Action::GoOn,
            Some(Wish::Leave) => Action::Leave,
            Some(Wish::Cancel) if !self.owns_eval => Action::Leave,
            Some(Wish::Cancel) if self.told_to_stop => Action::GoOn,
            Some(Wish::Cancel) => {
                self.told_to_stop = true;
                Action::Interrupt
            }
        }
    }

    fn tick(&mut self) -> Option<Instant> {
        self.ties.tell.as_ref()?;
        if Instant::now() >= self.next_telling() {
            let message = self.message();
            if let Some(tell) = &mut self.ties.tell {
                tell(message);
            }
            self.told = Instant::now();
            self.news = false;
        }
        Some(self.next_telling())
    }
}
