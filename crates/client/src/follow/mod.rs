//! Following sessions: every eval that anyone runs in them, over restarts, as one stream of events.
//!
//! One thread follows one host, because a host that does not answer must not hold up the others. A further thread
//! hears of new hosts. All of them end when nobody follows any longer: they see the other end of a socket close.

mod finder;
mod session;

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, sync_channel};
use std::time::Instant;

use rustix::event::{EventfdFlags, eventfd};
use stead_protocol::{
    By, ChunkKind, EndReason, EvalSeq, Generation, Offset, SessionName, WorkKind,
};

use crate::{Client, ClientError, EvalView, timer};

/// How many events may wait for the reader. Beyond that the threads wait too, and hosts tell less.
const WAITING_EVENTS: usize = 256;
/// After so many events the descriptor that wakes the reader is looked at, even if more are there.
const LOOK_EVERY: usize = 32;

/// Which sessions to follow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Followed {
    /// This one.
    Session(SessionName),
    /// All of the workspace.
    Workspace,
    /// All of the user.
    All,
}

/// Something happened in a session.
#[derive(Debug)]
pub struct SessionEvent {
    /// The session's workspace.
    pub workspace: Arc<str>,
    /// Its name.
    pub session: SessionName,
    /// What happened.
    pub change: SessionChange,
}

/// What happened.
#[derive(Debug)]
pub enum SessionChange {
    /// It has a host; what follows is told by that host.
    Lives {
        /// The interpreter's generation.
        generation: Generation,
        /// The last eval that is over.
        last: Option<Box<PastEval>>,
    },
    /// Its host does not answer, for this reason; it is tried again.
    Silent(String),
    /// It has no interpreter.
    Ended {
        /// How the last one ended.
        reason: EndReason,
        /// The last eval that is over.
        last: Option<Box<PastEval>>,
    },
    /// It was stopped or removed.
    Gone,
    /// All its processes were stopped where they are, or go on.
    Paused(bool),
    /// Somebody sent an eval.
    Accepted {
        /// Which.
        eval: EvalSeq,
        /// Who.
        by: By,
        /// What kind of work it is.
        work: WorkKind,
        /// Its code.
        code: String,
    },
    /// The eval waits for its turn.
    Queued {
        /// Which.
        eval: EvalSeq,
        /// Behind that one.
        behind: Option<EvalSeq>,
    },
    /// The eval runs, or goes on after it waited for input.
    Started {
        /// Which.
        eval: EvalSeq,
        /// In this interpreter.
        generation: Option<Generation>,
        /// Since when, in milliseconds since 1970.
        since_ms: u64,
        /// Where its output begins.
        start: Offset,
    },
    /// The eval waits for input.
    Waiting {
        /// Which.
        eval: EvalSeq,
        /// What it asked.
        prompt: String,
    },
    /// Output; told only if it was asked for.
    Output {
        /// What it is.
        kind: ChunkKind,
        /// As it was written.
        bytes: Vec<u8>,
    },
    /// The eval is over.
    Finished(Box<PastEval>),
    /// The eval is over and the disk refuses its record (SPEC E-11).
    Unrecorded {
        /// Which.
        eval: EvalSeq,
        /// What the disk said.
        why: String,
    },
}

/// An eval that is over.
#[derive(Debug)]
pub struct PastEval {
    /// Who sent it.
    pub by: By,
    /// Its code.
    pub code: String,
    /// What kind of work it was.
    pub work: WorkKind,
    /// When it ended, in milliseconds since 1970.
    pub at_ms: u64,
    /// How it ended, with its value or error.
    pub view: EvalView,
    /// The last line of its output.
    pub last_line: String,
}

/// How a wait for the next event ended.
#[derive(Debug)]
pub enum FollowWait {
    /// Something happened.
    Event(SessionEvent),
    /// The deadline passed.
    Deadline,
    /// The descriptor that was to wake the wait is readable.
    Woken,
}

/// Sessions that are followed.
#[derive(Debug)]
pub struct Following {
    events: Receiver<SessionEvent>,
    bell: Arc<OwnedFd>,
    unlooked: usize,
    /// The threads see its other end close when this is dropped.
    _open: UnixStream,
}

/// Where the threads put what happened.
#[derive(Debug, Clone)]
struct Teller {
    events: SyncSender<SessionEvent>,
    bell: Arc<OwnedFd>,
}

impl Client {
    /// Follows sessions from now on: first what runs and waits in them, then all that happens. `output` says
    /// whether what they write is told too.
    pub fn follow(&self, followed: Followed, output: bool) -> Result<Following, ClientError> {
        let bell = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)
            .map_err(|error| ClientError::file("make", "an event descriptor")(error.into()))?;
        let bell = Arc::new(bell);
        let (send, events) = sync_channel(WAITING_EVENTS);
        let teller = Teller { events: send, bell: bell.clone() };
        let (open, closes) = UnixStream::pair().map_err(ClientError::file("make", "a socket"))?;
        finder::start(self, followed, output, teller, closes)?;
        Ok(Following { events, bell, unlooked: 0, _open: open })
    }
}

impl Following {
    /// Waits for the next event until `deadline`, or until `wake` is readable.
    pub fn next(
        &mut self,
        deadline: Option<Instant>,
        wake: Option<BorrowedFd<'_>>,
    ) -> Result<FollowWait, ClientError> {
        let broken =
            |error: rustix::io::Errno| ClientError::file("wait for", "events")(error.into());
        loop {
            self.unlooked += 1;
            if self.unlooked < LOOK_EVERY {
                match self.events.try_recv() {
                    Ok(event) => return Ok(FollowWait::Event(event)),
                    // `Disconnected` does not happen: the threads keep a sender while this `Following` lives.
                    Err(TryRecvError::Empty | TryRecvError::Disconnected) => {}
                }
            }
            let until = if self.unlooked < LOOK_EVERY { deadline } else { Some(Instant::now()) };
            let looked = std::mem::take(&mut self.unlooked) >= LOOK_EVERY;
            let [rung, woken] =
                timer::wait_readable([Some(self.bell.as_fd()), wake], until).map_err(broken)?;
            if woken {
                return Ok(FollowWait::Woken);
            }
            if rung {
                let _ = rustix::io::read(&*self.bell, &mut [0; 8]);
            } else if !looked {
                return Ok(FollowWait::Deadline);
            }
        }
    }
}

impl Teller {
    /// Tells; false once nobody listens.
    fn tell(&self, event: SessionEvent) -> bool {
        let told = self.events.send(event).is_ok();
        let _ = rustix::io::write(&*self.bell, &1u64.to_ne_bytes());
        told
    }
}
