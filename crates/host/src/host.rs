//! The loop: waits, turns what happened into inputs of the state, and carries out its actions.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::Mode;
use stead_interpreter::{Bridge, Feed, Prepared, Source, prepare};
use stead_launch::tree;
use stead_protocol::bridge::Stream;
use stead_protocol::client::{Event, FromHost, Place};
use stead_protocol::{Capabilities, EndReason, EvalId, EvalSeq, HostSpec, Keeps, Meta, Refusal};

use crate::background_input::BackgroundInput;
use crate::clients::connection::Connection;
use crate::clients::listener::Listener;
use crate::clock::{Clock, wall_ms};
use crate::disk;
use crate::displays::Displays;
use crate::ending;
use crate::guard::{Duty, Guard};
use crate::ledger::{Closing, Found, Ledger};
use crate::nudge::Nudges;
use crate::pace::Pace;
use crate::probe::Probe;
use crate::requests::Question;
use crate::state::{Input, Phase, State};
use crate::with_causes;

/// What messages of all clients that have not ended may have together.
const MOST_INCOMING: usize = stead_protocol::MAX_LINE + (8 << 20);
/// A message that is shorter than this is no reason to look at all of them.
const FEW_BYTES: usize = 1 << 20;

/// How long no connection is taken after one could not be.
const DEAF_TIME: Duration = Duration::from_millis(50);
/// Most descriptors that are waited on beside connections: signals, the guard, the listener and five
/// of a bridge.
const OWN_DESCRIPTORS: usize = 8;
/// Number of the first connection.
const FIRST_CONNECTION: u64 = 1;
/// How long after its start a host counts on the client that started it.
const FIRST_CLIENT: Duration = Duration::from_secs(10);

/// One session and everything that belongs to it.
pub(crate) struct Host {
    /// Our own process.
    pub(crate) pid: u32,
    pub(crate) spec: HostSpec,
    pub(crate) meta: Meta,
    pub(crate) state: State,
    pub(crate) clock: Clock,
    pub(crate) ledger: Ledger,
    pub(crate) displays: Displays,
    pub(crate) bridge: Option<Bridge>,
    pub(crate) connections: BTreeMap<u64, Connection>,
    pub(crate) codes: HashMap<EvalSeq, String>,
    /// Where those of them run that are shell commands.
    pub(crate) places: HashMap<EvalSeq, Place>,
    /// The tokens of the last submissions, with the evals they became.
    pub(crate) tokens: VecDeque<(u64, EvalSeq)>,
    pub(crate) facts: Facts,
    /// State that was lost before this host began, until someone is told.
    pub(crate) loss: Option<EndReason>,
    pub(crate) background_input: Option<BackgroundInput>,
    pub(crate) probe: Probe,
    pub(crate) pace: Pace,
    pub(crate) told: Told,
    pub(crate) nudges: Nudges,
    /// The last editor whose file the host had to show.
    pub(crate) shown_editor: Option<u32>,
    /// How many children of the running eval were killed.
    pub(crate) killed_children: usize,
    pub(crate) question: Option<Question>,
    pub(crate) questions: u64,
    pub(crate) listener: Option<Listener>,
    /// No connection could be taken: try again then.
    pub(crate) deaf_until: Option<Instant>,
    pub(crate) signals: OwnedFd,
    /// What is to be done when this process is gone.
    pub(crate) duty: Duty,
    pub(crate) guard: Guard,
    /// Processes that did not die when the interpreter had ended.
    pub(crate) left: Vec<u32>,
    /// The mask of the client that started us: what user code makes is the user's affair.
    pub(crate) umask: Mode,
    pub(crate) next_connection: u64,
    pub(crate) began: Instant,
    /// Said once, with the first eval of a fresh interpreter.
    pub(crate) fresh_notice: Option<String>,
    /// What the interpreter printed before its hello.
    pub(crate) complaint: Vec<u8>,
    /// How far watchers were told that the spool reaches.
    pub(crate) told_end: u64,
    pub(crate) leaving: bool,
    /// It leaves as soon as all it knows is recorded, at the latest then.
    pub(crate) leave_by: Option<Instant>,
    /// The next eval could not be recorded as started: try again then.
    pub(crate) blocked: Option<Instant>,
    /// Why the init code could not be recorded, so that the interpreter is no use.
    pub(crate) init_refused: Option<String>,
    /// The session's end could not be written to its `meta.json`.
    pub(crate) unsaved_meta: bool,
    /// What the bridge said at the running eval's end.
    pub(crate) closing: Closing,
    /// Whether someone was told of the interpreter's end: with an eval that it ended, or when it
    /// had begun.
    pub(crate) reported_end: bool,
    /// User code replaced the interpreter by another program.
    pub(crate) replaced: bool,
    pub(crate) compiled: Compiled,
}

/// What the bridge has said about the running eval's input.
#[derive(Debug, Default)]
pub(crate) struct Told {
    /// That it waits.
    pub(crate) waits: bool,
    /// That no timer of the user's is set.
    pub(crate) no_timers: bool,
    /// That it waits until this thread, which an earlier eval left behind, has read.
    pub(crate) behind: Option<u32>,
}

/// What the interpreter told about itself.
#[derive(Debug, Default)]
pub(crate) struct Facts {
    pub(crate) version: Option<String>,
    pub(crate) variables: Option<u64>,
    /// Its main thread, as it knows itself.
    pub(crate) main_tid: u32,
    pub(crate) can: Capabilities,
    pub(crate) started_ms: u64,
    pub(crate) last_used_ms: u64,
}

impl Host {
    pub(crate) fn new(
        spec: &HostSpec,
        ledger: Ledger,
        found: Found,
        listener: Listener,
        duty: Duty,
        guard: Guard,
        umask: Mode,
    ) -> Host {
        let clock = Clock::new();
        let state = {
            let settings = &spec.meta.settings;
            State::new(clock.now(), settings.policy.idle_timeout_ms, settings.policy.once)
        };
        let fresh_notice = match (&found.loss, found.last_end) {
            // There was no state that could be gone.
            _ if spec.meta.settings.engine.keeps == Keeps::Nothing => None,
            (None, Some(reason)) if !matches!(reason, EndReason::Stopped) => {
                Some(format!("the session was started fresh, its earlier state is gone: {reason}"))
            }
            _ => None,
        };
        Host {
            pid: std::process::id(),
            spec: spec.clone(),
            meta: Meta { stopped: false, ..spec.meta.clone() },
            state,
            clock,
            ledger,
            displays: Displays::new(&spec.dir),
            bridge: None,
            connections: BTreeMap::new(),
            codes: HashMap::new(),
            places: HashMap::new(),
            tokens: VecDeque::new(),
            facts: Facts::default(),
            loss: found.loss,
            background_input: None,
            probe: Probe::new(),
            pace: Pace::default(),
            told: Told::default(),
            nudges: Nudges::default(),
            shown_editor: None,
            killed_children: 0,
            question: None,
            questions: 0,
            listener: Some(listener),
            deaf_until: None,
            signals: ending::signals(),
            duty,
            guard,
            left: Vec::new(),
            umask,
            next_connection: FIRST_CONNECTION,
            began: Instant::now(),
            fresh_notice,
            complaint: Vec::new(),
            told_end: 0,
            leaving: false,
            leave_by: None,
            blocked: None,
            init_refused: None,
            unsaved_meta: false,
            closing: Closing::default(),
            reported_end: false,
            replaced: false,
            compiled: Compiled::None,
        }
    }

    /// Starts the next interpreter; its hello comes later.
    pub(crate) fn start_interpreter(&mut self) -> Result<(), EndReason> {
        let failed = |error: &dyn std::error::Error, trouble| EndReason::LaunchFailed {
            message: with_causes(error),
            trouble,
        };
        let cache = self.spec.dir.ancestors().nth(3).unwrap_or(&self.spec.dir).to_owned();
        let Prepared { found, command, feed } =
            prepare(&self.meta.settings, &self.meta.name, &self.duty.tag, &cache).map_err(
                |error| {
                    failed(&error, error.trouble(&self.meta.settings.engine.language).map(Box::new))
                },
            )?;
        self.ledger.open_generation().map_err(|error| failed(&error, None))?;
        let own = rustix::process::umask(self.umask);
        let bridge = Bridge::start(&command, &feed);
        rustix::process::umask(own);
        let bridge = bridge.map_err(|error| {
            let reason = failed(&error, None);
            self.ledger.end_generation(reason.clone(), true);
            reason
        })?;
        if let Some(passed_over) = found.notice() {
            let fresh = self.fresh_notice.take().map(|notice| format!("{notice}; "));
            self.fresh_notice = Some(fresh.unwrap_or_default() + &passed_over);
        }
        self.meta.found = Some(found);
        self.bridge = Some(bridge);
        self.compiled = match feed {
            Feed::Nothing | Feed::Script(_) => Compiled::None,
            Feed::Source(_, file) => Compiled::Wanted(file),
            Feed::Code(_, file) => Compiled::Used(file),
        };
        self.complaint.clear();
        self.replaced = false;
        self.reported_end = false;
        let now = wall_ms();
        self.facts = Facts { started_ms: now, last_used_ms: now, ..Facts::default() };
        Ok(())
    }

    /// Runs until the session has ended and everyone was told.
    pub(crate) fn run(&mut self) {
        while !self.leaving {
            self.turn();
        }
        self.say_goodbye();
        disk::give_back(&self.spec.dir);
    }

    /// Waits for something to happen and deals with all of it.
    fn turn(&mut self) {
        let ready = self.wait();
        if ready.control {
            self.read_bridge();
        }
        // After the control channel, whose events drain the pipes themselves.
        if ready.streams != [false, false] {
            self.read_streams(ready.streams);
        }
        if ready.stdin
            && let Some(bridge) = &mut self.bridge
        {
            bridge.flush_input();
        }
        if ready.signals {
            self.take_signals();
        }
        self.keep_guarded(ready.guard);
        if ready.listener {
            self.accept();
        }
        for id in ready.connections {
            // What comes too late finds the connection closed, and how it ended on disk.
            if !self.leaving {
                self.read_connection(id);
            }
        }
        self.ask_for_compiled();
        self.look_for_readers();
        self.nudge();
        self.continue_background_input();
        let attached = self.is_attached() || self.serves();
        if !self.clock.is_paused() {
            self.step(Input::Tick { attached });
        }
        self.catch_up();
        self.tell_growth();
        for connection in self.connections.values_mut() {
            connection.flush();
        }
        self.connections.retain(|_, connection| !connection.is_over());
        // All have their answers: what the next eval needs is done while nobody waits.
        if let (Phase::Idle { .. }, Some(bridge)) = (&self.state.phase, &mut self.bridge) {
            bridge.look_around(self.pid);
        }
        self.ledger.trim(matches!(self.state.phase, Phase::Idle { .. }));
    }

    fn wait(&mut self) -> Ready {
        let timeout = self.timeout();
        self.deaf_until = self.deaf_until.filter(|until| *until > Instant::now());
        let most = OWN_DESCRIPTORS + self.connections.len();
        let (mut fds, mut what) = (Vec::with_capacity(most), Vec::with_capacity(most));
        fds.push(PollFd::new(&self.signals, PollFlags::IN));
        what.push(What::Signals);
        if let Guard::Stands(guard) = &self.guard {
            fds.push(PollFd::new(guard, PollFlags::IN));
            what.push(What::Guard);
        }
        if let (Some(listener), None) = (&self.listener, self.deaf_until) {
            fds.push(PollFd::new(listener, PollFlags::IN));
            what.push(What::Listener);
        }
        if let Some(bridge) = &self.bridge {
            let resting = self.pace.resting(Instant::now()).map(Source::Stream);
            for (source, fd, flags) in bridge.interests() {
                if Some(source) == resting {
                    continue;
                }
                fds.push(PollFd::from_borrowed_fd(fd, flags));
                what.push(What::Bridge(source));
            }
        }
        for (id, connection) in &self.connections {
            fds.push(PollFd::from_borrowed_fd(connection.fd(), connection.interest()));
            what.push(What::Connection(*id));
        }
        let timeout = timeout.map(|left| Timespec {
            tv_sec: left.as_secs() as _,
            tv_nsec: left.subsec_nanos() as _,
        });
        let mut ready = Ready::default();
        if poll(&mut fds, timeout.as_ref()).unwrap_or(0) == 0 {
            return ready;
        }
        for (fd, what) in fds.iter().zip(what) {
            if fd.revents().is_empty() {
                continue;
            }
            match what {
                What::Signals => ready.signals = true,
                What::Guard => ready.guard = true,
                What::Listener => ready.listener = true,
                What::Bridge(Source::Control) => ready.control = true,
                What::Bridge(Source::Stream(Stream::Out)) => ready.streams[0] = true,
                What::Bridge(Source::Stream(Stream::Err)) => ready.streams[1] = true,
                What::Bridge(Source::Stdin) => ready.stdin = true,
                What::Connection(id) => ready.connections.push(id),
            }
        }
        ready
    }

    /// How long nothing has to be done if nothing happens.
    fn timeout(&self) -> Option<Duration> {
        let now = Instant::now();
        let attached = self.is_attached();
        let paused = self.clock.is_paused();
        let clock = self.clock.now();
        let state = self.state.next_deadline(attached).filter(|_| !paused);
        let state = state.map(|at| Duration::from_millis(at.saturating_sub(clock)));
        let probe = (self.state.running().is_some() && !paused).then(|| self.probe.next());
        let input = self.background_input.as_ref().map(BackgroundInput::next);
        let hello = self.connections.values().filter_map(Connection::hello_deadline).min();
        let held = self.connections.values().filter_map(Connection::held_until).min();
        let first = self.awaits_first_client().then(|| self.began + FIRST_CLIENT);
        let pace = self.pace.until().filter(|until| *until > now);
        let guard = match self.guard {
            Guard::Stands(_) => None,
            Guard::Missing(retry) => Some(retry),
        };
        let others = first
            .into_iter()
            .chain(self.next_catch_up())
            .chain(guard)
            .chain(self.deaf_until)
            .chain(self.nudges.next())
            .chain(pace);
        let instants = probe.into_iter().chain(input).chain(hello).chain(held).chain(others).min();
        let instants = instants.map(|at| at.saturating_duration_since(now));
        // A millisecond on top: the state's clock counts whole ones.
        state.map(|left| left + Duration::from_millis(1)).into_iter().chain(instants).min()
    }

    /// Whether any client is attached, or the one that started us is on its way. One that only keeps
    /// its connection for the next time holds nobody up.
    fn is_attached(&self) -> bool {
        self.connections.values().any(Connection::attaches)
            || self.question.is_some()
            || self.awaits_first_client()
    }

    /// Whether something runs that a command left behind in a session that keeps nothing else. It
    /// lives until the session is stopped (SPEC J-1), so the session is in use.
    fn serves(&self) -> bool {
        let due = self.state.next_deadline(false).is_some_and(|at| at <= self.clock.now());
        due && self.keeps_nothing() && tree::descendants(self.pid).len() > 1
    }

    /// Whether each eval is a command of its own.
    pub(crate) fn keeps_nothing(&self) -> bool {
        self.meta.settings.engine.keeps == Keeps::Nothing
    }

    fn awaits_first_client(&self) -> bool {
        self.next_connection == FIRST_CONNECTION && self.began.elapsed() < FIRST_CLIENT
    }

    fn accept(&mut self) {
        let Some(listener) = &self.listener else { return };
        match listener.accept().map(Connection::accept) {
            Ok(Some(connection)) => {
                self.connections.insert(self.next_connection, connection);
                self.next_connection += 1;
            }
            Ok(None) => {}
            // Out of descriptors: whoever calls stays in line until one is free.
            Err(_) => self.deaf_until = Some(Instant::now() + DEAF_TIME),
        }
    }

    fn read_connection(&mut self, id: u64) {
        let mut lines = Vec::new();
        if let Some(connection) = self.connections.get_mut(&id) {
            connection.flush();
            connection.read_lines(&mut lines);
        }
        self.bound_incoming(id);
        for line in lines {
            self.request(id, &line);
        }
    }

    /// Hangs up on a client whose message would take all messages that are on their way beyond what one
    /// of the longest may take.
    fn bound_incoming(&mut self, id: u64) {
        let held = |connection: &Connection| connection.held_bytes();
        if self.connections.get(&id).is_none_or(|connection| held(connection) < FEW_BYTES) {
            return;
        }
        let all: usize = self.connections.values().map(held).sum();
        if all > MOST_INCOMING
            && let Some(connection) = self.connections.get_mut(&id)
        {
            connection.refuse(Refusal::MessagesTooLong { most: MOST_INCOMING });
        }
    }

    pub(crate) fn send(&mut self, connection: u64, message: &FromHost) {
        if let Some(connection) = self.connections.get_mut(&connection) {
            connection.send(message);
        }
    }

    /// Sends an event to everyone who watches the eval; whether anyone did.
    pub(crate) fn tell(&mut self, eval: EvalSeq, event: impl Fn() -> Event) -> bool {
        let mut told = false;
        for connection in self.connections.values_mut() {
            if connection.watches.iter().any(|watch| watch.eval == eval) {
                connection.tell(event());
                told = true;
            }
        }
        told
    }

    /// Tells those who follow output how far the spool reaches, once a turn.
    fn tell_growth(&mut self) {
        let end = self.ledger.end();
        if end.0 == self.told_end {
            return;
        }
        self.told_end = end.0;
        let Some(eval) = self.state.running().map(|run| run.eval) else { return };
        for connection in self.connections.values_mut() {
            // One that has not taken the last message will read up to here anyway.
            let follows = connection.watches.iter().any(|watch| watch.eval == eval && watch.output);
            if follows && connection.is_flushed() {
                connection.send(&FromHost::Event(Event::Output { eval, end }));
            }
        }
    }

    pub(crate) fn eval_id(&self, seq: EvalSeq) -> EvalId {
        EvalId { session: self.meta.name.clone(), seq }
    }
}

/// What becomes of the bridge's compiled form.
#[derive(Debug)]
pub(crate) enum Compiled {
    None,
    /// The bridge was compiled from source: ask for the result when nothing else goes on.
    Wanted(PathBuf),
    /// It was asked for.
    Asked(PathBuf),
    /// It was used to start.
    Used(PathBuf),
}

/// What `poll` was asked about.
enum What {
    Signals,
    Guard,
    Listener,
    Bridge(Source),
    Connection(u64),
}

/// What it said.
#[derive(Default)]
struct Ready {
    control: bool,
    /// Stdout and stderr.
    streams: [bool; 2],
    stdin: bool,
    signals: bool,
    guard: bool,
    listener: bool,
    connections: Vec<u64>,
}
