//! The upper half: one session with its state, its records and its clients.

use std::collections::{HashMap, VecDeque};
use std::time::Instant;

use stead_interpreter::{Clock, Order};
use stead_protocol::client::{Event, FromHost};
use stead_protocol::{
    Capabilities, EndReason, EvalId, EvalSeq, HostSpec, Keeps, Meta, Refusal, StartTrouble,
};

use crate::clients::Clients;
use crate::life::ending::{EndAskers, HostEnding};
use crate::record::displays::Displays;
use crate::record::ledger::{EvalClosing, Found, Ledger};
use crate::requests::Asked;
use crate::session::copies::Copies;
use crate::session::copy_phase::Copying;
use crate::session::library::Library;
use crate::session::state::{Input, Phase, State};
use crate::session::work::Pending;

/// One session and everything that belongs to it, except its processes.
pub(crate) struct Host {
    pub(crate) spec: HostSpec,
    pub(crate) meta: Meta,
    pub(crate) state: State,
    pub(crate) clock: Clock,
    pub(crate) ledger: Ledger,
    pub(crate) displays: Displays,
    /// Orders that were not passed to the lower half yet.
    pub(crate) orders: VecDeque<Order>,
    pub(crate) launch: Launch,
    pub(crate) clients: Clients,
    /// Evals that wait, and the one that runs.
    pub(crate) pending: HashMap<EvalSeq, Pending>,
    pub(crate) facts: Facts,
    /// State that was lost before this host began; `None` once a client was told.
    pub(crate) loss: Option<EndReason>,
    pub(crate) asked: Asked,
    /// The user's standard library, as far as this session has it.
    pub(crate) library: Library,
    pub(crate) news: StartNews,
    /// Set if the start of the next eval could not be recorded: when to try again.
    pub(crate) blocked: Option<Instant>,
    /// What the bridge said at the running eval's end.
    pub(crate) closing: EvalClosing,
    pub(crate) ending: HostEnding,
    pub(crate) copies: Copies,
    pub(crate) copying: Copying,
}

/// What is told of a start once it is over.
#[derive(Debug, Default)]
pub(crate) struct StartNews {
    /// A notice that is given once, with the first eval of a fresh interpreter.
    pub(crate) fresh: Option<String>,
    /// Set if the session went back to an older state and no client knows: the refusal that the next code gets.
    pub(crate) set_back: Option<Refusal>,
    /// The error of the init code that runs.
    pub(crate) init_error: Option<String>,
    /// What the first reply says of init code that failed.
    pub(crate) init: Option<String>,
    /// The connection of the client that waits until this interpreter is ready: it reads by itself how the init code
    /// went, unless it did not wait for its end.
    pub(crate) awaited: Option<u64>,
}

/// How far the start of an interpreter has come.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Launch {
    /// The lower half was ordered to find the interpreter.
    Ordered,
    /// The interpreter was found, and its start is recorded.
    Recorded,
    /// The interpreter could not be started.
    Refused(EndReason),
    /// The interpreter is of no use: its init code could not be recorded and it was killed, or its bridge has nothing to
    /// run code with.
    Useless { why: String, trouble: Option<Box<StartTrouble>> },
}

/// What the interpreter told about itself.
#[derive(Debug, Default)]
pub(crate) struct Facts {
    pub(crate) version: Option<String>,
    pub(crate) variables: Option<u64>,
    pub(crate) can: Capabilities,
    /// What the interpreter cannot do, in words for people.
    pub(crate) cannot: Vec<String>,
    pub(crate) started_ms: u64,
    pub(crate) last_used_ms: u64,
}

impl Host {
    pub(crate) fn new(spec: &HostSpec, ledger: Ledger, found: Found, clients: Clients) -> Host {
        let clock = Clock::new();
        let state = {
            let settings = &spec.meta.settings;
            State::new(clock.now(), settings.policy.idle_timeout_ms, settings.policy.once)
        };
        let fresh_notice = match (&found.loss, found.last_end) {
            // A session of this kind has no state that could be lost.
            _ if spec.meta.settings.engine.keeps == Keeps::Nothing => None,
            (None, Some(EndReason::Stopped { .. })) => None,
            (None, Some(reason)) if spec.meta.settings.engine.is_left_alone() => {
                Some(format!("the session was connected anew: {reason}"))
            }
            (None, Some(reason)) => {
                Some(format!("the session was started fresh, its earlier state is gone: {reason}"))
            }
            _ => None,
        };
        let notices = [fresh_notice, spec.meta.settings.startup.notice.clone()];
        let notices: Vec<String> = notices.into_iter().flatten().collect();
        let fresh_notice = (!notices.is_empty()).then(|| notices.join("; "));
        Host {
            spec: spec.clone(),
            meta: Meta { stopped: false, ..spec.meta.clone() },
            state,
            clock,
            ledger,
            displays: Displays::new(&spec.dir),
            orders: VecDeque::new(),
            launch: Launch::Ordered,
            clients,
            pending: HashMap::new(),
            facts: Facts::default(),
            loss: found.loss,
            asked: Asked::default(),
            library: Library::default(),
            news: StartNews { fresh: fresh_notice, ..StartNews::default() },
            blocked: None,
            closing: EvalClosing::default(),
            ending: HostEnding::default(),
            copies: Copies::new(stead_spool::read_undone(&spec.dir)),
            copying: Copying::default(),
        }
    }

    /// Orders the next interpreter.
    pub(crate) fn start_interpreter(&mut self) {
        self.launch = Launch::Ordered;
        self.news.awaited = self.state.ready.last().map(|ticket| ticket.connection);
        self.ending.askers = EndAskers::default();
        if let Err(reason) = self.meet_trust() {
            self.launch = Launch::Refused(reason);
            return;
        }
        self.orders.push_back(Order::Prepare {
            settings: Box::new(self.meta.settings.clone()),
            name: self.meta.name.clone(),
        });
    }

    /// Whether a client is attached, or the client that started this host is about to connect. A client that
    /// only keeps its connection for later calls does not count.
    pub(crate) fn is_attached(&self) -> bool {
        self.clients.attach() || self.asked.question.is_some()
    }

    /// Time has passed. A session that keeps no state may still have processes that a command left behind,
    /// which live until the session is stopped (SPEC J-1). While there are any the session is in use; the
    /// lower half is asked.
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

    /// Whether what runs the code was there before and is left alone at the end.
    pub(crate) fn is_left_alone(&self) -> bool {
        self.meta.settings.engine.is_left_alone()
    }

    /// Whether each eval is a command of its own.
    pub(crate) fn keeps_nothing(&self) -> bool {
        self.meta.settings.engine.keeps == Keeps::Nothing
    }

    pub(crate) fn send(&mut self, connection: u64, message: &FromHost) {
        self.clients.send(connection, message);
    }

    /// Sends an event to all who watch the eval or follow the session; returns whether anyone watches.
    pub(crate) fn tell(&mut self, eval: EvalSeq, event: impl Fn() -> Event) -> bool {
        self.clients.tell(eval, event)
    }

    /// Tells those who follow output how far the spool reaches, once a turn.
    pub(crate) fn tell_growth(&mut self) {
        let eval = self.state.running().map(|run| run.eval);
        self.clients.tell_growth(eval, self.ledger.end());
    }

    pub(crate) fn eval_id(&self, seq: EvalSeq) -> EvalId {
        EvalId { session: self.meta.name.clone(), seq }
    }
}
