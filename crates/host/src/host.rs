//! The upper half: one session with its state, its records and its clients.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use stead_interpreter::{Clock, Order};
use stead_protocol::client::{Event, FromHost};
use stead_protocol::{Capabilities, EndReason, EvalId, EvalSeq, HostSpec, Keeps, Meta, Refusal};

use crate::clients::connection::Connection;
use crate::clients::listener::Listener;
use crate::displays::Displays;
use crate::ledger::{Closing, Found, Ledger};
use crate::requests::Asked;
use crate::state::{Input, Phase, State};
use crate::work::Pending;

/// What messages of all clients that have not ended may have together.
const MOST_INCOMING: usize = stead_protocol::MAX_LINE + (8 << 20);
/// A message that is shorter than this is no reason to look at all of them.
const FEW_BYTES: usize = 1 << 20;

/// How long no connection is taken after one could not be.
const DEAF_TIME: Duration = Duration::from_millis(50);
/// Number of the first connection.
const FIRST_CONNECTION: u64 = 1;
/// How long after its start a host counts on the client that started it.
pub(crate) const FIRST_CLIENT: Duration = Duration::from_secs(10);

/// One session and everything that belongs to it, but its processes.
pub(crate) struct Host {
    pub(crate) spec: HostSpec,
    pub(crate) meta: Meta,
    pub(crate) state: State,
    pub(crate) clock: Clock,
    pub(crate) ledger: Ledger,
    pub(crate) displays: Displays,
    /// What the lower half is to do next.
    pub(crate) orders: VecDeque<Order>,
    pub(crate) launch: Launch,
    pub(crate) connections: BTreeMap<u64, Connection>,
    /// Evals that wait, and the one that runs.
    pub(crate) pending: HashMap<EvalSeq, Pending>,
    /// The tokens of the last submissions, with the evals they became.
    pub(crate) tokens: VecDeque<(u64, EvalSeq)>,
    pub(crate) facts: Facts,
    /// State that was lost before this host began, until someone is told.
    pub(crate) loss: Option<EndReason>,
    pub(crate) asked: Asked,
    pub(crate) listener: Option<Listener>,
    /// No connection could be taken: try again then.
    pub(crate) deaf_until: Option<Instant>,
    pub(crate) signals: OwnedFd,
    /// Whether processes are left that did not die when the interpreter had ended.
    pub(crate) left: bool,
    pub(crate) next_connection: u64,
    pub(crate) began: Instant,
    /// Said once, with the first eval of a fresh interpreter.
    pub(crate) fresh_notice: Option<String>,
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
}

/// How far the start of an interpreter has come.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Launch {
    /// It was ordered.
    Ordered,
    /// It was found, and that it starts is recorded.
    Recorded,
    /// It could not be started.
    Refused(EndReason),
}

/// What the interpreter told about itself.
#[derive(Debug, Default)]
pub(crate) struct Facts {
    pub(crate) version: Option<String>,
    pub(crate) variables: Option<u64>,
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
        signals: OwnedFd,
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
            spec: spec.clone(),
            meta: Meta { stopped: false, ..spec.meta.clone() },
            state,
            clock,
            ledger,
            displays: Displays::new(&spec.dir),
            orders: VecDeque::new(),
            launch: Launch::Ordered,
            connections: BTreeMap::new(),
            pending: HashMap::new(),
            tokens: VecDeque::new(),
            facts: Facts::default(),
            loss: found.loss,
            asked: Asked::default(),
            listener: Some(listener),
            deaf_until: None,
            signals,
            left: false,
            next_connection: FIRST_CONNECTION,
            began: Instant::now(),
            fresh_notice,
            told_end: 0,
            leaving: false,
            leave_by: None,
            blocked: None,
            init_refused: None,
            unsaved_meta: false,
            closing: Closing::default(),
            reported_end: false,
        }
    }

    /// Orders the next interpreter.
    pub(crate) fn start_interpreter(&mut self) {
        self.launch = Launch::Ordered;
        self.orders.push_back(Order::Prepare {
            settings: Box::new(self.meta.settings.clone()),
            name: self.meta.name.clone(),
        });
    }

    /// Whether any client is attached, or the one that started us is on its way. One that only keeps
    /// its connection for the next time holds nobody up.
    pub(crate) fn is_attached(&self) -> bool {
        self.connections.values().any(Connection::attaches)
            || self.asked.question.is_some()
            || self.awaits_first_client()
    }

    /// Time has passed. Something that a command left behind in a session that keeps nothing else lives until the
    /// session is stopped (SPEC J-1), so the session is in use while there is any; the lower half knows.
    pub(crate) fn tick(&mut self) {
        let attached = self.is_attached();
        let due = self.state.next_deadline(false).is_some_and(|at| at <= self.clock.now());
        let idle = matches!(self.state.phase, Phase::Idle { .. });
        if due && idle && !attached && self.keeps_nothing() {
            if !std::mem::replace(&mut self.asked.whether_it_serves, true) {
                self.orders.push_back(Order::Figures);
            }
            return;
        }
        self.step(Input::Tick { attached });
    }

    /// Whether each eval is a command of its own.
    pub(crate) fn keeps_nothing(&self) -> bool {
        self.meta.settings.engine.keeps == Keeps::Nothing
    }

    pub(crate) fn awaits_first_client(&self) -> bool {
        self.next_connection == FIRST_CONNECTION && self.began.elapsed() < FIRST_CLIENT
    }

    pub(crate) fn accept(&mut self) {
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

    /// What a client has said.
    pub(crate) fn take_lines(&mut self, id: u64) -> Vec<Vec<u8>> {
        let mut lines = Vec::new();
        if let Some(connection) = self.connections.get_mut(&id) {
            connection.flush();
            connection.read_lines(&mut lines);
        }
        self.bound_incoming(id);
        lines
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

    /// Sends an event to everyone who watches the eval or follows the session; whether anyone watches.
    pub(crate) fn tell(&mut self, eval: EvalSeq, event: impl Fn() -> Event) -> bool {
        let mut told = false;
        for connection in self.connections.values_mut() {
            if connection.hears_of(eval) {
                told |= connection.watches_eval(eval);
                connection.tell(event());
            }
        }
        told
    }

    /// Tells those who follow output how far the spool reaches, once a turn.
    pub(crate) fn tell_growth(&mut self) {
        let end = self.ledger.end();
        if end.0 == self.told_end {
            return;
        }
        self.told_end = end.0;
        let eval = self.state.running().map(|run| run.eval);
        for connection in self.connections.values_mut() {
            // One that has not taken the last message will read up to here anyway.
            if connection.hears_growth(eval) && connection.is_flushed() {
                connection.send(&FromHost::Event(match eval {
                    Some(eval) => Event::Output { eval, end },
                    None => Event::Background { end },
                }));
            }
        }
    }

    pub(crate) fn eval_id(&self, seq: EvalSeq) -> EvalId {
        EvalId { session: self.meta.name.clone(), seq }
    }
}
