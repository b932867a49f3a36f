//! An interpreter with our bridge inside, and all that we hold of it.

use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Instant;

use rustix::event::PollFlags;
use rustix::process::Signal;
use stead_config::Control;
use stead_launch::family::Family;
use stead_launch::stdin_wait::PipeId;
use stead_launch::{Child, SpawnError, tree};
use stead_protocol::bridge::Stream;
use stead_protocol::{Capabilities, Capability, Lines, Usage};

use super::Source;
use super::arrivals::Arrivals;
use super::background::BackgroundInput;
use super::channel::Channel;
use super::compiled::Compiled;
use super::complaint;
use super::copies::FrozenCopies;
use super::drain::READ;
use super::elders::Elders;
use super::input::StdinPipe;
use super::interrupt::Aim;
use super::limit::HardLimit;
use super::nudge::Nudges;
use super::pace::Pace;
use super::run::Run;
use super::waking::{Succession, Waking};
use crate::prepare::{Feed, Prepared};

/// A running interpreter.
pub(super) struct Interpreter {
    pub(super) child: Child,
    /// All processes of the session but copies.
    pub(super) family: Family,
    /// What its control channel is, for the copy that takes its place.
    pub(super) control_kind: Control,
    pub(super) copies: FrozenCopies,
    pub(super) succession: Succession,
    /// The identity of its stdin pipe, by which readers in other processes are found.
    pub(super) pipe: PipeId,
    pub(super) lines: Lines,
    pub(super) outgoing: VecDeque<u8>,
    pub(super) control: Channel,
    pub(super) stdout: Channel,
    pub(super) stderr: Channel,
    pub(super) arrivals: Arrivals,
    pub(super) pace: Pace,
    pub(super) stdin: StdinPipe,
    pub(super) elders: Elders,
    pub(super) aim: Aim,
    pub(super) nudges: Nudges,
    pub(super) bridge: BridgeFacts,
    /// The eval that runs; none while the bridge answers a question.
    pub(super) run: Option<Run>,
    /// The hard timeout of what runs.
    pub(super) limit: HardLimit,
    /// The number of the clearing that the limit is for, if it is not for an eval.
    pub(super) clears: Option<u64>,
    pub(super) background: Option<BackgroundInput>,
    /// The last editor whose file we had to show.
    pub(super) shown_editor: Option<u32>,
    pub(super) compiled: Compiled,
    /// Processes that lived when the bridge said hello, where they are part of the interpreter and not of user code.
    pub(super) own: Vec<u32>,
    /// Memory and processor time of processes elsewhere, which only the bridge knows of.
    pub(super) elsewhere: Usage,
    /// The bridge's answer to `pause` or `resume`, until it is told.
    pub(super) pause_answer: Option<PauseAnswer>,
    /// User code replaced the interpreter by another program.
    pub(super) replaced: bool,
    /// Whether the bridge runs inside the interpreter, so that the process that it names is the one that runs code.
    pub(super) is_fed: bool,
    /// The process that runs code, where a program that was to start it stays as its parent.
    pub(super) wrapped: Option<u32>,
    pub(super) buffer: Box<[u8; READ]>,
}

/// Whether the code is paused now, or why the bridge could not do it.
pub(super) type PauseAnswer = Result<bool, String>;

/// What the bridge said of itself.
#[derive(Debug, Default)]
pub(super) enum BridgeFacts {
    /// The bridge has said nothing, and the interpreter has printed nothing.
    #[default]
    Unknown,
    /// The bridge has said nothing; this is what the interpreter printed.
    Complained(Vec<u8>),
    Ready {
        can: Capabilities,
        /// The id of the interpreter's main thread, as the bridge named it.
        main_tid: u32,
    },
    /// The interpreter is a copy that was told to wake and has not said yet that it is awake.
    Wakes(Box<Waking>),
}

impl Interpreter {
    /// Starts the interpreter and feeds it its bridge, if it is not one itself.
    pub(super) fn start(prepared: &Prepared, family: Family) -> Result<Interpreter, SpawnError> {
        let Prepared { command, feed, .. } = prepared;
        let child = stead_launch::spawn(command)?;
        let mut copies = FrozenCopies::default();
        copies.watch(child.ends.nest.as_ref());
        let compiled = Compiled::of(feed);
        let mut interpreter = Interpreter::new(child, family, command.control, compiled, copies)
            .map_err(|source| SpawnError::Start { program: command.program.clone(), source })?;
        let (form, bytes) = match feed {
            Feed::Nothing => return Ok(interpreter),
            Feed::Script(source) | Feed::Source(source, _) => ("source", source.as_bytes()),
            Feed::Code(code, _) => ("code", code.as_slice()),
        };
        interpreter.is_fed = true;
        interpreter.send(format!("{form} {}\n", bytes.len()).as_bytes());
        interpreter.send(bytes);
        Ok(interpreter)
    }

    /// An interpreter whose process runs and of which nothing is known yet.
    pub(super) fn new(
        child: Child,
        family: Family,
        control_kind: Control,
        compiled: Compiled,
        copies: FrozenCopies,
    ) -> io::Result<Interpreter> {
        Ok(Interpreter {
            family,
            control_kind,
            copies,
            succession: Succession::default(),
            pipe: PipeId::of(&child.ends.stdin_read)?,
            lines: Lines::default(),
            outgoing: VecDeque::new(),
            control: Channel::Open,
            stdout: Channel::Open,
            stderr: Channel::Open,
            arrivals: Arrivals::watch(&child.ends.stdout, &child.ends.stderr),
            pace: Pace::default(),
            stdin: StdinPipe::Untouched,
            elders: Elders::default(),
            aim: Aim::default(),
            nudges: Nudges::default(),
            bridge: BridgeFacts::Unknown,
            run: None,
            limit: HardLimit::Off,
            clears: None,
            background: None,
            shown_editor: None,
            compiled,
            own: Vec::new(),
            elsewhere: Usage::default(),
            pause_answer: None,
            replaced: false,
            is_fed: false,
            wrapped: None,
            buffer: Box::new([0; READ]),
            child,
        })
    }

    /// The started process.
    pub(super) fn pid(&self) -> u32 {
        self.child.pid
    }

    /// The process that runs code: the started process, unless that is a wrapper such as `uv run`, which
    /// stays as the interpreter's parent.
    pub(super) fn core(&self) -> u32 {
        self.wrapped.unwrap_or(self.child.pid)
    }

    /// Processes that only stand between the host and the process that runs code.
    pub(super) fn wrappers(&self) -> Vec<u32> {
        let Some(core) = self.wrapped else { return Vec::new() };
        let mut wrappers: Vec<u32> =
            tree::ancestors(core).take_while(|&pid| pid != self.child.pid).collect();
        wrappers.push(self.child.pid);
        wrappers
    }

    /// Takes note of the process that the bridge runs in.
    pub(super) fn note_core(&mut self, pid: u32) {
        let descends = tree::ancestors(pid).any(|pid| pid == self.child.pid);
        if self.is_fed && pid != self.child.pid && descends {
            self.wrapped = Some(pid);
            // The processes listed so far were those of the wrapper and not of the interpreter.
            self.elders = Elders::default();
        }
    }

    /// Descriptors to wait on, except those that would be ready for ever.
    pub(super) fn interests(&self) -> impl Iterator<Item = (Source, BorrowedFd<'_>, PollFlags)> {
        let resting = self.pace.resting(Instant::now());
        let open = |channel, flags| match channel {
            Channel::Open => flags,
            Channel::Closed => PollFlags::empty(),
        };
        let commands = match self.outgoing.is_empty() {
            true => PollFlags::empty(),
            false => open(self.control, PollFlags::OUT),
        };
        let pipe = |stream, channel| match resting == Some(stream) {
            true => PollFlags::empty(),
            false => open(channel, PollFlags::IN),
        };
        let stdin = if self.stdin.has_pending() { PollFlags::OUT } else { PollFlags::empty() };
        let (out, err) = (Stream::Out, Stream::Err);
        let copies = self.copies.ready().map(|fd| (Source::Copies, fd, PollFlags::IN));
        [
            (Source::Control, self.child.ends.control.as_fd(), open(self.control, PollFlags::IN)),
            (Source::Control, self.child.ends.commands.as_fd(), commands),
            (Source::Stream(out), self.child.ends.stdout.as_fd(), pipe(out, self.stdout)),
            (Source::Stream(err), self.child.ends.stderr.as_fd(), pipe(err, self.stderr)),
            (Source::Stdin, self.child.ends.stdin.as_fd(), stdin),
        ]
        .into_iter()
        .filter(|(_, _, flags)| !flags.is_empty())
        .chain(copies)
    }

    /// When something has to be done even if no descriptor is ready. If `paused`, the session's clock stands
    /// still.
    pub(super) fn next(&self, paused: bool) -> Option<Instant> {
        let looks = !paused && !self.can(Capability::OwnWaits);
        let probe = self.run.as_ref().filter(|_| looks).map(|run| run.probe.next());
        let input = self.background.as_ref().map(BackgroundInput::next);
        [probe, input, self.aim.next(), self.nudges.next()].into_iter().flatten().min()
    }

    /// When output is read again that gathers in a pipe meanwhile.
    pub(super) fn next_read(&self) -> Option<Instant> {
        self.pace.until().filter(|until| *until > Instant::now())
    }

    pub(super) fn can(&self, what: Capability) -> bool {
        match &self.bridge {
            BridgeFacts::Ready { can, .. } => can.has(&what),
            BridgeFacts::Wakes(waking) => waking.can.has(&what),
            BridgeFacts::Unknown | BridgeFacts::Complained(_) => false,
        }
    }

    pub(super) fn main_tid(&self) -> Option<u32> {
        match self.bridge {
            BridgeFacts::Ready { main_tid, .. } => Some(main_tid),
            BridgeFacts::Unknown | BridgeFacts::Complained(_) | BridgeFacts::Wakes(_) => None,
        }
    }

    /// Whether its bridge takes commands.
    pub(super) fn is_ready(&self) -> bool {
        matches!(self.bridge, BridgeFacts::Ready { .. })
    }

    /// Whether its bridge has closed the control channel.
    pub(super) fn is_closed(&self) -> bool {
        self.control == Channel::Closed
    }

    /// What it printed before it was ready, as far as that helps.
    pub(super) fn complaint(&self) -> String {
        match &self.bridge {
            BridgeFacts::Complained(said) => complaint::told(said),
            BridgeFacts::Unknown | BridgeFacts::Ready { .. } | BridgeFacts::Wakes(_) => {
                String::new()
            }
        }
    }

    pub(super) fn kill(&mut self) {
        tree::signal(self.child.pid, Signal::KILL);
    }
}
