//! The loop: waits, turns what happened into inputs of the state, and carries out its actions.

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::Mode;
use rustix::process::{Pid, WaitOptions, WaitStatus, waitpid};
use stead_backend::{Bridge, Broken, Feed, Prepared, Source, prepare};
use stead_launch::tree;
use stead_protocol::bridge::{BridgeEvent, Command, Stream};
use stead_protocol::client::{Event, FromHost, Reply};
use stead_protocol::{
    ChunkKind, EndReason, ErrorCode, ErrorInfo, EvalId, EvalSeq, HostSpec, Meta, Outcome,
    ValueInfo, WireError,
};
use stead_spool::SessionDir;

use crate::background_input::BackgroundInput;
use crate::clock::{Clock, wall_ms};
use crate::connection::Connection;
use crate::ledger::{Closing, Found, Ledger};
use crate::listener::Listener;
use crate::nudge::Nudges;
use crate::pause;
use crate::probe::Probe;
use crate::requests::Question;
use crate::state::{Action, Answer, Eval, Input, State, Ticket};
use crate::with_causes;

/// How long the end of an interpreter waits for everything it started to be gone.
const SWEEP_PATIENCE: Duration = Duration::from_secs(5);
/// How long no connection is taken after one could not be.
const DEAF_TIME: Duration = Duration::from_millis(50);
/// Number of the first connection.
const FIRST_CONNECTION: u64 = 1;
/// The signal by which a client says that it cannot find our socket.
const CALL: i32 = libc::SIGUSR1;
/// How long after its start a host counts on the client that started it.
const FIRST_CLIENT: Duration = Duration::from_secs(10);
/// How much of what an interpreter says before its hello is kept for the error message.
const START_COMPLAINT: usize = 2_000;

/// One session and everything that belongs to it.
pub(crate) struct Host {
    pub(crate) spec: HostSpec,
    pub(crate) meta: Meta,
    pub(crate) state: State,
    pub(crate) clock: Clock,
    pub(crate) ledger: Ledger,
    pub(crate) bridge: Option<Bridge>,
    pub(crate) connections: BTreeMap<u64, Connection>,
    pub(crate) codes: HashMap<EvalSeq, String>,
    pub(crate) facts: Facts,
    /// State that was lost before this host began, until someone is told.
    pub(crate) loss: Option<EndReason>,
    pub(crate) background_input: Option<BackgroundInput>,
    pub(crate) probe: Probe,
    nudges: Nudges,
    pub(crate) question: Option<Question>,
    pub(crate) questions: u64,
    listener: Option<Listener>,
    /// No connection could be taken: try again then.
    deaf_until: Option<Instant>,
    signals: OwnedFd,
    tag: String,
    /// The mask of the client that started us: what user code makes is the user's affair.
    umask: Mode,
    next_connection: u64,
    began: Instant,
    /// Said once, with the first eval of a fresh interpreter.
    fresh_notice: Option<String>,
    /// What the interpreter printed before its hello.
    complaint: Vec<u8>,
    /// How far watchers were told that the spool reaches.
    told_end: u64,
    leaving: bool,
    /// What the bridge said at the running eval's end.
    closing: Closing,
    /// Whether someone was told of the interpreter's end: with an eval that it ended, or when it
    /// had begun.
    pub(crate) reported_end: bool,
    /// User code replaced the interpreter by another program.
    replaced: bool,
    pub(crate) compiled: Compiled,
    /// Held for as long as this process lives.
    _lock: File,
}

/// What the interpreter told about itself.
#[derive(Debug, Default)]
pub(crate) struct Facts {
    pub(crate) version: Option<String>,
    pub(crate) variables: Option<u64>,
    /// Its main thread, as it knows itself.
    pub(crate) main_tid: u32,
    pub(crate) can: Vec<String>,
    pub(crate) started_ms: u64,
    pub(crate) last_used_ms: u64,
}

impl Host {
    pub(crate) fn new(
        spec: &HostSpec,
        ledger: Ledger,
        found: Found,
        listener: Listener,
        lock: File,
        tag: String,
        umask: Mode,
    ) -> Host {
        let clock = Clock::new();
        let state = State::new(clock.now(), spec.meta.settings.idle_timeout_ms);
        let fresh_notice = match (&found.loss, found.last_end) {
            (None, Some(reason)) if !matches!(reason, EndReason::Stopped) => {
                Some(format!("the session was started fresh, its earlier state is gone: {reason}"))
            }
            _ => None,
        };
        Host {
            spec: spec.clone(),
            meta: Meta { stopped: false, ..spec.meta.clone() },
            state,
            clock,
            ledger,
            bridge: None,
            connections: BTreeMap::new(),
            codes: HashMap::new(),
            facts: Facts::default(),
            loss: found.loss,
            background_input: None,
            probe: Probe::new(),
            nudges: Nudges::default(),
            question: None,
            questions: 0,
            listener: Some(listener),
            deaf_until: None,
            signals: signals(),
            tag,
            umask,
            next_connection: FIRST_CONNECTION,
            began: Instant::now(),
            fresh_notice,
            complaint: Vec::new(),
            told_end: 0,
            leaving: false,
            closing: Closing::default(),
            reported_end: false,
            replaced: false,
            compiled: Compiled::None,
            _lock: lock,
        }
    }

    /// Starts the next interpreter; its hello comes later.
    pub(crate) fn start_interpreter(&mut self) -> Result<(), WireError> {
        let failed = |message: String| WireError::new(ErrorCode::LaunchFailed, message);
        let cache = self.spec.dir.ancestors().nth(3).unwrap_or(&self.spec.dir).to_owned();
        let Prepared { found, command, feed } =
            prepare(&self.meta.settings, &self.meta.name, &self.tag, &cache)
                .map_err(|error| failed(with_causes(&error)))?;
        self.ledger.open_generation().map_err(|error| failed(with_causes(&error)))?;
        let own = rustix::process::umask(self.umask);
        let bridge = Bridge::start(&command, &feed);
        rustix::process::umask(own);
        let bridge = bridge.map_err(|error| {
            self.ledger
                .end_generation(EndReason::LaunchFailed { message: with_causes(&error) }, true);
            failed(with_causes(&error))
        })?;
        self.meta.found = Some(found);
        self.bridge = Some(bridge);
        self.compiled = match feed {
            Feed::Nothing => Compiled::None,
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
    }

    /// Waits for something to happen and deals with all of it.
    fn turn(&mut self) {
        let ready = self.wait();
        if ready.control {
            self.read_bridge();
        }
        // After the control channel, whose events drain the pipes themselves.
        for stream in ready.streams {
            self.read_stream(stream);
        }
        if ready.stdin
            && let Some(bridge) = &mut self.bridge
        {
            bridge.flush_input();
        }
        if ready.signals {
            self.take_signals();
        }
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
        let attached = self.is_attached();
        if !self.clock.is_paused() {
            self.step(Input::Tick { attached });
        }
        self.tell_growth();
        for connection in self.connections.values_mut() {
            connection.flush();
        }
        self.connections.retain(|_, connection| !connection.is_over());
    }

    fn wait(&mut self) -> Ready {
        let timeout = self.timeout();
        self.deaf_until = self.deaf_until.filter(|until| *until > Instant::now());
        let mut fds = vec![PollFd::new(&self.signals, PollFlags::IN)];
        let mut what = vec![What::Signals];
        if let (Some(listener), None) = (&self.listener, self.deaf_until) {
            fds.push(PollFd::new(listener, PollFlags::IN));
            what.push(What::Listener);
        }
        if let Some(bridge) = &self.bridge {
            for (source, fd, flags) in bridge.interests() {
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
                What::Listener => ready.listener = true,
                What::Bridge(Source::Control) => ready.control = true,
                What::Bridge(Source::Stream(stream)) => ready.streams.push(stream),
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
        let first = self.awaits_first_client().then(|| self.began + FIRST_CLIENT);
        let others = first.into_iter().chain(self.deaf_until).chain(self.nudges.next());
        let instants = probe.into_iter().chain(input).chain(hello).chain(others).min();
        let instants = instants.map(|at| at.saturating_duration_since(now));
        // A millisecond on top: the state's clock counts whole ones.
        state.map(|left| left + Duration::from_millis(1)).into_iter().chain(instants).min()
    }

    /// Whether any client is connected, or the one that started us is on its way.
    fn is_attached(&self) -> bool {
        !self.connections.is_empty() || self.awaits_first_client()
    }

    fn awaits_first_client(&self) -> bool {
        self.next_connection == FIRST_CONNECTION && self.began.elapsed() < FIRST_CLIENT
    }

    fn read_bridge(&mut self) {
        let mut events = Vec::new();
        let Some(bridge) = &mut self.bridge else { return };
        bridge.flush();
        let read = bridge.read_control(&mut events);
        // Everything written before these events is in the pipes now, and goes before them.
        self.drain();
        for event in events {
            self.bridge_event(event);
        }
        match read {
            Ok(()) => {}
            Err(Broken::Closed) => {
                self.replaced = self.bridge.as_ref().is_some_and(Bridge::is_replaced);
                self.step(if self.replaced { Input::Leaving } else { Input::Closed });
            }
            Err(Broken::Garbage(message)) => {
                eprintln!("the bridge sent something that is not its protocol: {message}");
                self.step(Input::Broken(message));
            }
        }
    }

    pub(crate) fn drain(&mut self) {
        let (Some(bridge), ledger) = (&mut self.bridge, &mut self.ledger) else { return };
        let (starting, complaint) = (self.facts.version.is_none(), &mut self.complaint);
        let probe = &mut self.probe;
        bridge.drain(|stream, bytes| {
            ledger.output(stream, bytes);
            probe.restart();
            if starting {
                complain(complaint, bytes);
            }
        });
    }

    fn read_stream(&mut self, stream: Stream) {
        let (Some(bridge), ledger) = (&mut self.bridge, &mut self.ledger) else { return };
        let (starting, complaint) = (self.facts.version.is_none(), &mut self.complaint);
        let probe = &mut self.probe;
        bridge.read_stream(stream, |bytes| {
            ledger.output(stream, bytes);
            probe.restart();
            if starting {
                complain(complaint, bytes);
            }
        });
    }

    fn bridge_event(&mut self, event: BridgeEvent) {
        match event {
            BridgeEvent::Hello { protocol, version, can, pid, .. } => {
                if protocol != stead_protocol::bridge::VERSION {
                    let message = format!("the bridge speaks version {protocol}, the host 1");
                    return self.step(Input::Broken(message));
                }
                self.facts.version = Some(version);
                self.facts.can = can;
                self.facts.main_tid = pid;
                let init = self.accept_init();
                self.step(Input::Hello { init });
            }
            BridgeEvent::Value { text, type_name, ack } => {
                self.keep(ChunkKind::Value, &ValueInfo { text, type_name });
                self.ack(ack);
            }
            BridgeEvent::Error { name, message, traceback } => {
                self.keep(ChunkKind::Error, &ErrorInfo { name, message, traceback });
            }
            BridgeEvent::Display { mime, data, ack } => {
                self.keep(ChunkKind::Display, &serde_json::json!({"mime": mime, "data": data}));
                self.ack(ack);
            }
            BridgeEvent::Background { eval, stream, text } => {
                let eval = eval.and_then(|id| id.parse::<EvalId>().ok()).map(|id| id.seq);
                self.ledger.background(eval, stream, text.as_bytes());
            }
            // A thread that waits does not keep the eval from ending, so others than the main one
            // have to be found waiting for a while.
            BridgeEvent::StdinWait { tid, .. } if tid != self.facts.main_tid => {
                self.probe.restart();
            }
            BridgeEvent::StdinWait { eval, .. } => {
                let owner = eval.and_then(|id| id.parse::<EvalId>().ok()).map(|id| id.seq);
                let running = self.state.running().map(|run| run.eval);
                if running.is_some() && owner.is_none_or(|owner| Some(owner) == running) {
                    self.probe.announce();
                    self.look_for_readers();
                }
            }
            BridgeEvent::Done { eval, status, exit_code, changed, variables, notice } => {
                let running = self.state.running().map(|run| self.eval_id(run.eval).to_string());
                if running.as_deref() != Some(&eval) {
                    return self
                        .step(Input::Broken(format!("`done` for `{eval}`, which does not run")));
                }
                pause::point("done");
                self.facts.variables = variables.or(self.facts.variables);
                self.closing = Closing { exit_code, changed, notice };
                self.step(Input::Done(status));
            }
            BridgeEvent::Exiting { code } => {
                self.closing = Closing { exit_code: Some(code), ..Closing::default() };
                self.step(Input::Leaving);
            }
            BridgeEvent::Reply { seq, data, error } => self.query_answered(seq, data, error),
            BridgeEvent::Log { text } => eprintln!("bridge: {text}"),
            BridgeEvent::Unknown => {}
        }
    }

    fn keep(&mut self, kind: ChunkKind, payload: &impl serde::Serialize) {
        if let Ok(bytes) = serde_json::to_vec(payload) {
            self.ledger.append(kind, &bytes);
        }
    }

    fn ack(&mut self, wanted: bool) {
        if let Some(bridge) = self.bridge.as_mut().filter(|_| wanted) {
            bridge.send(&Command::Ack.encode());
        }
    }

    /// The running eval waits for input; all it wrote before is in the spool.
    pub(crate) fn waits(&mut self) {
        self.drain();
        let Some(eval) = self.state.running().map(|run| run.eval) else { return };
        let prompt = self.ledger.prompt();
        self.step(Input::Waiting(prompt.clone()));
        self.probe.restart();
        let end = self.ledger.end();
        self.tell(eval, || Event::Waiting { eval, prompt: prompt.clone(), end });
    }

    /// Looks, when it is time, whether the running eval is blocked on its input.
    fn look_for_readers(&mut self) {
        let Some(run) = self.state.running() else { return };
        if self.clock.is_paused() || Instant::now() < self.probe.next() {
            return;
        }
        let Some(bridge) = &self.bridge else { return };
        let waiting = run.waiting.is_some();
        let pid = bridge.pid();
        // A reader that was there before belongs to an earlier eval.
        let reader = bridge
            .stdin_readers(std::process::id())
            .into_iter()
            .find(|reader| reader.tid == pid || !bridge.is_elder(reader.tid));
        // Where the main thread has something to do, the eval may be about to end.
        let hurry = reader.is_none_or(|reader| {
            reader.tid == pid || tree::look(pid).is_none_or(|main| main.state != b'R')
        });
        if waiting {
            if self.probe.is_gone(reader.is_some()) {
                self.step(Input::NotWaiting);
                self.probe.restart();
            }
        } else if self.probe.found(reader, hurry) {
            self.waits();
        }
    }

    fn take_signals(&mut self) {
        let mut called = false;
        // Whole records only: 128 bytes each, the signal's number first.
        let mut buffer = [0; 1024];
        while let Ok(read) = rustix::io::read(&self.signals, &mut buffer) {
            let records = buffer[..read].chunks_exact(128);
            called |= records.into_iter().any(|record| {
                record.first_chunk().is_some_and(|number| i32::from_ne_bytes(*number) == CALL)
            });
        }
        if called
            && let Some(listener) = &mut self.listener
            && let Err(error) = listener.restore()
        {
            eprintln!("could not listen on `{}` again: {error}", self.spec.socket.display());
        }
        self.reap();
    }

    /// Wakes, when it is time, an interpreter that has not acted on an interrupt.
    fn nudge(&mut self) {
        if self.nudges.is_due()
            && let Some(bridge) = &mut self.bridge
        {
            bridge.nudge(std::process::id());
        }
    }

    /// Waits for the children that ended: orphans, and the interpreter itself.
    fn reap(&mut self) {
        while let Some(pid) = tree::ended_child() {
            let interpreter = self.bridge.as_ref().is_some_and(|bridge| bridge.pid() == pid);
            if interpreter {
                // Its last words, while it can still be seen whether it was replaced.
                self.read_bridge();
            }
            let waited = waitpid(Pid::from_raw(pid as i32), WaitOptions::NOHANG);
            let Ok(Some((_, status))) = waited else { return };
            if interpreter {
                return self.interpreter_exited(status);
            }
        }
    }

    fn interpreter_exited(&mut self, status: WaitStatus) {
        // The rest of its family, then what they had written.
        if !tree::sweep(std::process::id(), SWEEP_PATIENCE, tree::reap) {
            eprintln!("some processes of the session do not die");
        }
        self.drain();
        let replaced = self.replaced;
        self.bridge = None;
        self.background_input = None;
        self.clock.resume();
        let code = status.exit_status();
        let reason = match (code, status.terminating_signal()) {
            (Some(code), _) if replaced => EndReason::Replaced { code },
            (_, Some(signal)) if replaced => EndReason::Replaced { code: 128 + signal },
            (Some(code), _) => EndReason::Exit { code },
            (None, Some(signal)) => EndReason::Signal { signal },
            (None, None) => EndReason::Exit { code: 0 },
        };
        if let (None, Compiled::Used(file)) = (&self.facts.version, &self.compiled) {
            // Never let a bad file stand in the way twice.
            let _ = std::fs::remove_file(file);
        }
        let reason = if self.facts.version.is_none() { self.not_ready(&reason) } else { reason };
        if self.closing.exit_code.is_none() {
            self.closing.exit_code = code;
        }
        self.step(Input::Exited(reason));
    }

    /// Why an interpreter that never said hello could not be started.
    fn not_ready(&self, reason: &EndReason) -> EndReason {
        let path = self.meta.found.as_ref().map(|found| found.path.as_str()).unwrap_or_default();
        let said = String::from_utf8_lossy(&self.complaint);
        let said = said.trim();
        let colon = if said.is_empty() { "" } else { ": " };
        EndReason::LaunchFailed {
            message: format!("`{path}` was not ready ({reason}){colon}{said}"),
        }
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
        for line in lines {
            self.request(id, &line);
        }
    }

    /// Moves the state on and carries out what follows.
    pub(crate) fn step(&mut self, input: Input) {
        let actions = self.state.step(input, self.clock.now());
        for action in actions {
            self.act(action);
        }
    }

    fn act(&mut self, action: Action) {
        match action {
            Action::Run(eval) => self.begin(eval),
            Action::Interrupt => {
                pause::point("interrupting");
                if self.clock.is_paused() {
                    self.resume();
                }
                let running = self.state.running().map(|run| self.eval_id(run.eval));
                if let Some(bridge) = &mut self.bridge {
                    bridge.interrupt(std::process::id(), running.as_ref());
                    self.nudges.begin();
                }
            }
            Action::AskExit => {
                pause::point("stopping");
                if let Some(bridge) = &mut self.bridge {
                    bridge.send(&Command::Exit.encode());
                }
            }
            Action::Kill => {
                if let Some(bridge) = &self.bridge {
                    tree::signal(bridge.pid(), rustix::process::Signal::KILL);
                }
            }
            Action::Finish { eval, outcome } => self.finish(eval, outcome),
            Action::Answer { ticket, answer } => self.answer(ticket, answer),
            Action::End { reason, asked } => self.end(reason, asked),
            Action::Start => {
                pause::point("restarting");
                if let Err(error) = self.start_interpreter() {
                    eprintln!("could not start the interpreter again: {error}");
                    let message = error.message;
                    self.step(Input::Exited(EndReason::LaunchFailed { message }));
                }
            }
            Action::Leave => {
                // From here on clients find nobody and start the next host.
                self.listener = None;
                let _ = std::fs::remove_file(&self.spec.socket);
                self.leaving = true;
            }
        }
    }

    fn begin(&mut self, eval: EvalSeq) {
        let start = self.ledger.start(eval, self.clock.now());
        pause::point("started");
        self.facts.last_used_ms = wall_ms();
        self.probe = Probe::new();
        self.nudges.end();
        self.closing = Closing::default();
        let id = self.eval_id(eval);
        let code = self.codes.remove(&eval).unwrap_or_default();
        if let Some(bridge) = &mut self.bridge {
            bridge.begin_eval(std::process::id());
            bridge.send(&Command::Eval { id: &id, code: &code }.encode());
        }
        pause::point("sent");
        self.tell(eval, || Event::Started { eval, start });
    }

    fn finish(&mut self, eval: EvalSeq, outcome: Outcome) {
        let mut closing = Closing::default();
        if self.ledger.is_current(eval) {
            closing = std::mem::take(&mut self.closing);
            if let Some(notice) = self.fresh_notice.take() {
                closing.notice = Some(match closing.notice {
                    Some(other) => format!("{notice}; {other}"),
                    None => notice,
                });
            }
        }
        self.nudges.end();
        self.codes.remove(&eval);
        let finished = self.ledger.finish(eval, outcome, closing, self.clock.now());
        pause::point("finished");
        self.facts.last_used_ms = wall_ms();
        let told = self.tell(eval, || Event::Finished { eval, finished: finished.clone() });
        self.reported_end |= told && finished.outcome.tells_end();
        for connection in self.connections.values_mut() {
            connection.watches.retain(|watch| watch.eval != eval);
        }
        if let Some(bridge) = &mut self.bridge
            && let Err(error) = bridge.drop_input()
        {
            eprintln!("could not drop unread input: {error}");
        }
    }

    fn end(&mut self, reason: EndReason, asked: bool) {
        let reported = asked || self.reported_end;
        self.ledger.end_generation(reason.clone(), reported);
        pause::point("ended");
        if matches!(reason, EndReason::Stopped) {
            self.meta.stopped = true;
            if let Ok(meta) = serde_json::to_vec_pretty(&self.meta)
                && let Err(error) =
                    stead_spool::write_atomically(&SessionDir::new(&self.spec.dir).meta(), &meta)
            {
                eprintln!("{error}");
            }
        }
    }

    fn answer(&mut self, ticket: Ticket, answer: Answer) {
        let message = match answer {
            Answer::Done => FromHost::Reply { id: ticket.id, reply: Reply::Done },
            Answer::Interrupt { effect, eval } => {
                FromHost::Reply { id: ticket.id, reply: Reply::Interrupt { effect, eval } }
            }
            Answer::Error(error) => FromHost::Error { id: ticket.id, error },
        };
        self.send(ticket.connection, &message);
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
                connection.send(&FromHost::Event(event()));
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

    /// Records the code that runs at every start.
    fn accept_init(&mut self) -> Option<Eval> {
        let init = self.meta.settings.init.clone()?;
        match self.ledger.accept(&init, None, "init") {
            Ok(seq) => {
                self.codes.insert(seq, init);
                Some(Eval { seq, hard_timeout: None })
            }
            Err(error) => {
                eprintln!("the init code was not run: {error}");
                None
            }
        }
    }

    /// Everyone gets what they were sent, if they take it within a second.
    fn say_goodbye(&mut self) {
        let deadline = Instant::now() + Duration::from_secs(1);
        loop {
            for connection in self.connections.values_mut() {
                connection.flush();
            }
            self.connections.retain(|_, connection| !connection.is_flushed());
            let left = deadline.saturating_duration_since(Instant::now());
            if self.connections.is_empty() || left.is_zero() {
                return;
            }
            let mut fds: Vec<PollFd<'_>> = self
                .connections
                .values()
                .map(|connection| PollFd::from_borrowed_fd(connection.fd(), PollFlags::OUT))
                .collect();
            let timeout = Timespec { tv_sec: 0, tv_nsec: left.subsec_nanos() as _ };
            let _ = poll(&mut fds, Some(&timeout));
        }
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
    Listener,
    Bridge(Source),
    Connection(u64),
}

/// What it said.
#[derive(Default)]
struct Ready {
    control: bool,
    streams: Vec<Stream>,
    stdin: bool,
    signals: bool,
    listener: bool,
    connections: Vec<u64>,
}

fn complain(complaint: &mut Vec<u8>, bytes: &[u8]) {
    complaint.extend_from_slice(bytes);
    let over = complaint.len().saturating_sub(START_COMPLAINT);
    complaint.drain(..over);
}

/// Keeps the signals that we read from a descriptor from ending this process.
pub(crate) fn block_signals() {
    // SAFETY: the set is initialised before use.
    unsafe {
        libc::sigprocmask(libc::SIG_BLOCK, &handled(), std::ptr::null_mut());
    }
}

fn handled() -> libc::sigset_t {
    // SAFETY: the set is initialised by `sigemptyset`.
    unsafe {
        let mut set = std::mem::zeroed();
        libc::sigemptyset(&mut set);
        libc::sigaddset(&mut set, libc::SIGCHLD);
        libc::sigaddset(&mut set, CALL);
        set
    }
}

/// A descriptor that is readable whenever a child has ended or a client calls.
fn signals() -> OwnedFd {
    use std::os::fd::FromRawFd;
    block_signals();
    // SAFETY: the descriptor is ours alone.
    unsafe {
        let set = handled();
        // A file size limit shall be an error of the write and not our death.
        libc::signal(libc::SIGXFSZ, libc::SIG_IGN);
        OwnedFd::from_raw_fd(libc::signalfd(-1, &set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK))
    }
}
