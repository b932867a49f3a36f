//! How a call on a thread stays in touch: what its client wants of it, and what its client is told.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::{Duration, Instant};

use rustix::event::{EventfdFlags, eventfd};
use stead_client::{WaitAction, Watcher};
use stead_protocol::{ChunkKind, EvalId};

use super::turns::Turn;

/// How often a client is told how far its call has come.
const TELL_EVERY: Duration = Duration::from_millis(500);
/// How often it is told although nothing was written, so that it knows the call lives.
const HEARTBEAT: Duration = Duration::from_secs(5);
/// How much of the last line is kept.
const LAST_LINE: usize = 4 << 10;

/// What a client wants of a call that is under way; later ones outrank earlier ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Wish {
    /// Stop what the call began (SPEC M-5).
    Cancel,
    /// Stop waiting; what the call began goes on.
    Leave,
}

/// Where a call that blocks hears its client's wishes.
#[derive(Debug, Clone)]
pub(super) struct Wishes(Arc<WishCell>);

#[derive(Debug)]
struct WishCell {
    wake: OwnedFd,
    wish: AtomicU8,
}

impl Wishes {
    /// Nothing is wished yet.
    pub(super) fn new() -> std::io::Result<Self> {
        let wake = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        Ok(Wishes(Arc::new(WishCell { wake, wish: AtomicU8::new(0) })))
    }

    /// Tells the thread a wish.
    pub(super) fn say(&self, wish: Wish) {
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
pub(super) type TellProgress = Box<dyn FnMut(String) + Send>;

/// Watches what one call waits for.
pub(crate) struct CallWatch {
    /// Nothing, if there will be no wait.
    wishes: Option<Wishes>,
    /// Nothing, if the client does not want to hear of progress.
    tell: Option<TellProgress>,
    /// Passed on once a host has taken the eval.
    turn: Option<Turn>,
    /// Whether a cancelled call takes its eval with it.
    owns_eval: bool,
    told_to_stop: bool,
    began: Instant,
    told: Instant,
    news: bool,
    last_line: Vec<u8>,
}

impl CallWatch {
    pub(super) fn new(wishes: Wishes, tell: Option<TellProgress>, turn: Turn) -> Self {
        CallWatch { wishes: Some(wishes), tell, turn: Some(turn), ..CallWatch::no_wait() }
    }

    /// For a call that will not wait.
    pub(super) fn no_wait() -> Self {
        let began = Instant::now();
        CallWatch {
            wishes: None,
            tell: None,
            turn: None,
            owns_eval: false,
            told_to_stop: false,
            began,
            told: began,
            news: false,
            last_line: Vec::new(),
        }
    }

    /// Watches the eval that this call began: to cancel the call is to interrupt the eval.
    pub(crate) fn own(&mut self) -> &mut Self {
        self.owns_eval = true;
        self
    }

    /// Watches an eval that others began.
    pub(crate) fn looking_on(&mut self) -> &mut Self {
        self.owns_eval = false;
        self
    }

    /// Whether the client has cancelled the call, so that nobody will read its answer.
    pub(crate) fn is_cancelled(&self) -> bool {
        let hears =
            |wishes: &Wishes| wishes.0.wish.load(Ordering::Acquire) == 1 + Wish::Cancel as u8;
        self.told_to_stop || self.wishes.as_ref().is_some_and(hears)
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

impl Watcher for CallWatch {
    fn wants_output(&self) -> bool {
        self.tell.is_some()
    }

    fn accepted(&mut self, _id: &EvalId) {
        self.began = Instant::now();
        if let Some(turn) = &mut self.turn {
            turn.pass_on();
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
        self.wishes.as_ref().map(|wishes| wishes.0.wake.as_fd())
    }

    fn woken(&mut self) -> WaitAction {
        match self.wishes.as_ref().and_then(Wishes::hear) {
            None => WaitAction::GoOn,
            Some(Wish::Leave) => WaitAction::Leave,
            Some(Wish::Cancel) if !self.owns_eval => WaitAction::Leave,
            Some(Wish::Cancel) if self.told_to_stop => WaitAction::GoOn,
            Some(Wish::Cancel) => {
                self.told_to_stop = true;
                WaitAction::Interrupt
            }
        }
    }

    fn tick(&mut self) -> Option<Instant> {
        self.tell.as_ref()?;
        if Instant::now() >= self.next_telling() {
            let message = self.message();
            if let Some(tell) = &mut self.tell {
                tell(message);
            }
            self.told = Instant::now();
            self.news = false;
        }
        Some(self.next_telling())
    }
}
