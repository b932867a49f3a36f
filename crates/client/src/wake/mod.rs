//! Waiting until something happens to evals: one of them, or many in many sessions (SPEC E-17).
//!
//! Each session is listened to by a thread of its own (`listen.rs`), so that a host which does not answer holds up
//! no other. The threads send facts; what follows from a fact is decided here, by one tracker for each eval
//! (`tracker.rs`).

mod lines;
mod listen;
mod target;
mod tracker;

use std::os::unix::net::UnixStream;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use stead_protocol::{EvalSeq, SessionName};

use crate::eval::loss;
use crate::read::pattern;
use crate::{Client, ClientError, EvalStatus, EvalView};

use listen::{Fact, SessionEar, stopped_host};
use target::WakeTarget;
use tracker::{Tracker, WakeVerdict};

/// How long the state that evals are in at the beginning is waited for, however short the timeout is: it is known at
/// once unless a host does not answer.
const FIRST_WORD: Duration = Duration::from_secs(2);

/// What to wait for.
#[derive(Debug, Clone, Default)]
pub struct WakeOptions {
    /// A line that matches this regular expression.
    pub pattern: Option<String>,
    /// That it waits for input.
    pub input: bool,
    /// That it has written nothing for so long.
    pub idle: Option<Duration>,
    /// For every one of the evals, and not only for the first.
    pub all: bool,
    /// How long to wait at most.
    pub timeout: Option<Duration>,
}

/// Which happenings end the wait for one eval, beside its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Conditions {
    line: bool,
    input: bool,
    idle: Option<Duration>,
    /// Nothing was asked for, so the end itself is what is waited for.
    end: bool,
}

impl From<&WakeOptions> for Conditions {
    fn from(options: &WakeOptions) -> Self {
        let end = options.pattern.is_none() && !options.input && options.idle.is_none();
        Conditions {
            line: options.pattern.is_some(),
            // Without any condition a wait must not sleep in front of a prompt for ever.
            input: options.input || end,
            idle: options.idle,
            end,
        }
    }
}

/// What became of the wait for one eval.
#[derive(Debug)]
pub struct Woken {
    /// Its place in the list of those that were waited for.
    pub at: usize,
    /// Which; as it was given, if it has no number yet.
    pub id: String,
    /// The eval as far as it is known. Its content is its value or error, and not its output.
    pub view: EvalView,
    /// Why the wait is over.
    pub cause: Cause,
}

/// Why the wait for an eval is over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cause {
    /// It has ended.
    Ended {
        /// Whether that was waited for, or another condition can no longer come true.
        waited_for: bool,
    },
    /// It waits for input; the prompt is in the view.
    Input {
        /// It listens to its input and has been quiet: it may wait.
        may: bool,
    },
    /// It wrote a matching line.
    Line(MatchedLine),
    /// It has been silent.
    Silent {
        /// For how long.
        time: Duration,
        /// What it wrote last.
        last_line: String,
    },
    /// It has ended, and the disk refuses the record of how: why.
    Unrecorded(String),
    /// Its session can no longer be listened to, for this reason; how it stands is not known.
    Unheard(String),
    /// The time was over.
    TimedOut {
        /// What it wrote last.
        last_line: String,
    },
}

/// A line that matched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MatchedLine {
    /// Its number among the eval's lines, from 1.
    pub number: u64,
    /// What it says, cut to some 400 characters around the match.
    pub text: String,
}

impl Woken {
    /// Whether what was waited for has happened.
    pub fn is_met(&self) -> bool {
        match self.cause {
            Cause::Ended { waited_for } => waited_for,
            Cause::Input { .. } | Cause::Line(_) | Cause::Silent { .. } => true,
            Cause::Unrecorded(_) | Cause::Unheard(_) | Cause::TimedOut { .. } => false,
        }
    }

    /// Whether the eval came to an end that is not good.
    pub fn has_failed(&self) -> bool {
        match self.cause {
            Cause::Unrecorded(_) => true,
            _ => self.view.outcome.is_some() && self.view.status != EvalStatus::Complete,
        }
    }
}

/// Hears how a wait goes on.
pub trait WakeWatcher {
    /// One of the evals stands as this says; told at the beginning, and when it changes.
    fn stands(&mut self, _eval: AwaitedEval) {}

    /// The wait for one of them is over.
    fn woken(&mut self, _woken: &Woken) {}
}

/// Where an eval stands that is waited for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AwaitedEval {
    /// Its place in the list of those that are waited for.
    pub at: usize,
    /// How many there are.
    pub of: usize,
    /// Its session.
    pub session: SessionName,
    /// Its number, once it has one.
    pub eval: Option<EvalSeq>,
    /// What keeps it from running; `None` if it runs.
    pub held: Option<HeldUp>,
}

/// Why an eval does not run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HeldUp {
    /// It waits for its turn, behind this one if it is known.
    Queued(Option<EvalSeq>),
    /// Its session is paused.
    Paused,
    /// It waits for input, with this prompt.
    Input(String),
    /// Its host does not answer, so nobody can say.
    HostSilent,
}

impl Client {
    /// Waits until one of the evals that `given` names, or every one of them, is as `options` say, or has ended.
    /// `watcher` hears of each as soon as its part of the wait is over; the result has them in that order.
    ///
    /// A name of a session stands for the eval that runs there, else for its last one.
    pub fn wait(
        &self,
        given: &[String],
        options: &WakeOptions,
        watcher: &mut dyn WakeWatcher,
    ) -> Result<Vec<Woken>, ClientError> {
        let regex = options.pattern.as_deref().map(|text| pattern::compile(text, false));
        let regex = regex.transpose()?;
        let conditions = Conditions::from(options);
        let targets = self.targets(given)?;
        let began = Instant::now();
        let deadline = options.timeout.and_then(|time| began.checked_add(time));
        let (facts, heard) = mpsc::channel();
        // The threads see the other end close when this wait is over.
        let (_open, closes) = UnixStream::pair().map_err(ClientError::file("make", "a socket"))?;
        for (name, evals) in target::by_session(&targets) {
            let closes = closes.try_clone().map_err(ClientError::file("make", "a socket"))?;
            let ear = SessionEar::new(
                self.clone(),
                name,
                evals,
                conditions,
                regex.clone(),
                &facts,
                closes,
            );
            let thread = std::thread::Builder::new().name("wait".to_owned());
            thread.spawn(move || ear.run()).map_err(ClientError::file("start", "a thread"))?;
        }
        let trackers =
            targets.iter().map(|target| Tracker::new(conditions, target.seq())).collect();
        let held = vec![None; targets.len()];
        let mut waiting = WaitUnderWay {
            client: self,
            targets,
            trackers,
            held,
            woken: Vec::new(),
            error: None,
            watcher,
        };
        (0..waiting.targets.len()).for_each(|at| waiting.tell_standing(at));
        while !waiting.is_over(options.all) {
            let due = waiting.trackers.iter().filter_map(Tracker::due).min();
            let until = [due, waiting.deadline(deadline, began)].into_iter().flatten().min();
            let now = Instant::now();
            let heard = match until {
                Some(until) => heard.recv_timeout(until.saturating_duration_since(now)),
                None => heard.recv().map_err(|_| RecvTimeoutError::Disconnected),
            };
            let now = Instant::now();
            match heard {
                Ok((at, fact)) => waiting.hear(at, fact, now),
                Err(_) => {
                    waiting.pass_time(now);
                    if waiting.deadline(deadline, began).is_some_and(|at| at <= now)
                        && !waiting.is_over(options.all)
                    {
                        waiting.time_out();
                        break;
                    }
                }
            }
        }
        waiting.end()
    }
}

/// A wait that goes on.
struct WaitUnderWay<'a> {
    client: &'a Client,
    targets: Vec<WakeTarget>,
    trackers: Vec<Tracker>,
    /// What was told last of each.
    held: Vec<Option<HeldUp>>,
    /// Evals whose part is over, in the order in which that happened.
    woken: Vec<Woken>,
    /// Why a session could not be listened to any longer; of several, the first one's error.
    error: Option<Box<ClientError>>,
    watcher: &'a mut dyn WakeWatcher,
}

impl WaitUnderWay<'_> {
    /// Whether the whole wait is over. In a wait for any of several evals, one that ended well without meeting the
    /// condition does not end the wait; one that failed does.
    fn is_over(&self, all: bool) -> bool {
        let every = self.trackers.iter().all(Tracker::is_over);
        every || (!all && self.woken.iter().any(|one| one.is_met() || one.has_failed()))
    }

    /// When to give up: not before the evals' first state is known, if that is only a moment away.
    fn deadline(&self, deadline: Option<Instant>, began: Instant) -> Option<Instant> {
        let known = self.trackers.iter().all(Tracker::is_known);
        deadline.map(|at| if known { at } else { at.max(began + FIRST_WORD) })
    }

    fn hear(&mut self, at: usize, fact: Fact, now: Instant) {
        if let Fact::Failed(error) = fact {
            return self.fail(at, error);
        }
        let mut news = false;
        if let Fact::Named(id) = &fact {
            self.targets[at].name(id.clone());
            news = true;
        }
        if let Some(verdict) = self.trackers[at].hear(fact, now) {
            self.finish(at, verdict);
        } else if news || self.trackers[at].held() != self.held[at] {
            self.tell_standing(at);
        }
    }

    /// Nothing more will be heard of this session; the others are waited for as before.
    fn fail(&mut self, at: usize, error: Box<ClientError>) {
        let session = self.targets[at].session.clone();
        for at in 0..self.targets.len() {
            if self.targets[at].session == session && !self.trackers[at].is_over() {
                self.finish(at, WakeVerdict::Unheard(error.message()));
            }
        }
        self.error.get_or_insert(error);
    }

    /// The result of the wait. If no eval could be heard of, the error is the result; else it becomes a notice.
    fn end(mut self) -> Result<Vec<Woken>, ClientError> {
        let Some(error) = self.error else { return Ok(self.woken) };
        let heard = |one: &Woken| !matches!(one.cause, Cause::Unheard(_));
        if !self.woken.iter().any(heard) {
            return Err(*error);
        }
        let decisive = self.woken.iter().position(|one| one.is_met() || one.has_failed());
        let told = decisive.or_else(|| self.woken.iter().rposition(heard));
        if let Some(told) = told {
            self.woken[told].view.notices.push(error.message());
        }
        Ok(self.woken)
    }

    fn tell_standing(&mut self, at: usize) {
        let held = self.trackers[at].held();
        self.held[at].clone_from(&held);
        let WakeTarget { session, .. } = &self.targets[at];
        let (session, eval) = (session.clone(), self.targets[at].seq());
        self.watcher.stands(AwaitedEval { at, of: self.targets.len(), session, eval, held });
    }

    fn pass_time(&mut self, now: Instant) {
        for at in 0..self.trackers.len() {
            if let Some(verdict) = self.trackers[at].pass_time(now) {
                self.finish(at, verdict);
            }
        }
    }

    fn time_out(&mut self) {
        for at in 0..self.trackers.len() {
            if !self.trackers[at].is_over() {
                self.finish(at, WakeVerdict::TimedOut);
            }
        }
    }

    fn finish(&mut self, at: usize, verdict: WakeVerdict) {
        if matches!(verdict, WakeVerdict::TimedOut | WakeVerdict::Silent(_)) {
            self.trackers[at].see_host(stopped_host(&self.client.dir(&self.targets[at].session)));
        }
        let (target, tracker) = (&self.targets[at], &mut self.trackers[at]);
        let last_line = || match target.id() {
            Some(id) => self.client.last_line(&id).unwrap_or_default(),
            None => String::new(),
        };
        let cause = match verdict {
            WakeVerdict::Ended { waited_for } => Cause::Ended { waited_for },
            WakeVerdict::Input { may } => Cause::Input { may },
            WakeVerdict::Line(line) => Cause::Line(line),
            WakeVerdict::Silent(time) => Cause::Silent { time, last_line: last_line() },
            WakeVerdict::Unrecorded(why) => Cause::Unrecorded(why),
            WakeVerdict::Unheard(why) => Cause::Unheard(why),
            WakeVerdict::TimedOut => Cause::TimedOut { last_line: last_line() },
        };
        let (mut view, ended) = tracker.take_view(&target.session);
        if view.eval.is_none() {
            view.eval = target.seq();
        }
        if let Some(finished) = ended {
            loss::tell(&self.client.dir(&target.session), &finished);
        }
        let woken = Woken { at, id: target.text(), view, cause };
        self.watcher.woken(&woken);
        self.woken.push(woken);
    }
}

impl Client {
    /// The eval of a session that runs or is the next to run, else its last one.
    fn current(&self, name: &SessionName) -> Result<Option<EvalSeq>, ClientError> {
        self.require(name, true)?;
        let Some(history) = self.history(name)? else { return Ok(None) };
        let last = history.len().map_err(ClientError::spool(name))?;
        let (mut open, mut over) = (None, None);
        // Evals are read one at a time from the newest, because a session may have had any number of them.
        for seq in (1..=last).rev() {
            let Some(entry) = history.eval(EvalSeq(seq)).map_err(ClientError::spool(name))? else {
                break;
            };
            match (entry.kind.is_code(), entry.finished.is_some()) {
                (true, false) => open = Some(entry.seq),
                (true, true) => over = over.or(Some(entry.seq)),
                (false, _) => {}
            }
            // All evals before one that has run are over. One that was cancelled in the queue proves nothing.
            let has_run = entry.finished.is_some() && entry.started.is_some();
            if has_run && (open.is_some() || over.is_some()) {
                break;
            }
        }
        Ok(open.or(over))
    }
}
