//! The facts of one look at the session's processes, as plain data: tests make it up, `collect` reads it.

use std::collections::{BTreeMap, HashMap};

/// The processes of a session, and which of them hold the ends of what connects them.
#[derive(Debug, Default)]
pub(super) struct Scene {
    /// The root of the family: it only gives input and takes output, so it wakes nobody by itself.
    pub(super) root: Option<u32>,
    pub(super) interpreter: u32,
    /// No timer of the user's is set in the interpreter's event loop, as its bridge knows. Timers that are
    /// seen there are the language's own.
    pub(super) no_timers: bool,
    pub(super) processes: BTreeMap<u32, SeenProcess>,
    pub(super) holders: HashMap<End, Vec<u32>>,
}

#[derive(Debug, Default)]
pub(super) struct SeenProcess {
    pub(super) parent: u32,
    /// When it began, in clock ticks.
    pub(super) start_ticks: u64,
    /// Whether the process has a handler for SIGCHLD, which programs turn into a byte on a pipe of their own.
    pub(super) catches_sigchld: bool,
    pub(super) threads: Vec<Thread>,
}

#[derive(Debug)]
pub(super) struct Thread {
    pub(super) tid: u32,
    /// An earlier eval left this thread behind.
    pub(super) elder: bool,
    pub(super) doing: ThreadDoing,
}

/// What a thread is doing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ThreadDoing {
    /// It runs, sleeps for a time, or is in a call that tells nothing.
    Works,
    /// Stopped or dead: it does nothing, whatever call it shows.
    Still,
    /// Waits for another thread.
    Locked { timed: bool },
    /// Waits for this child, or for any.
    Children(Option<u32>),
    /// Waits for a signal, such as the one that says that a child has ended.
    Signals,
    /// Waits for descriptors.
    Files { call: FileCall, files: Vec<WaitSource> },
}

/// The kind of call that waits for descriptors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FileCall {
    /// It reads one.
    Read,
    /// It is told which of them is ready.
    Poll { limited: bool },
}

/// The source of what a descriptor waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WaitSource {
    /// The session's input.
    Stdin,
    /// The processes that hold the other end.
    Holders(End),
    /// The end of this process.
    Process(u32),
    /// The children of the process that waits.
    Children,
    /// A program that is not of this session, which may itself wait for what is typed here.
    Remote,
    /// Clients, files, timers: something may happen at any time.
    Outside,
}

/// The end of something that other processes may hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum End {
    /// By inode.
    PipeWriter(u64),
    PipeReader(u64),
    Socket(u64),
    /// By the kernel's number for it.
    Event(u64),
    /// Both sides of a pseudo-terminal, by its number.
    Terminal(u32),
    Master(u32),
}
