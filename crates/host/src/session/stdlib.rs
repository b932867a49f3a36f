//! The user's standard library: run at each start and after each `clear`, and never a reason not to start (SPEC ST-4).

use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::path::Path;

use serde_json::Value;
use stead_interpreter::{Millis, Order};
use stead_protocol::bridge::DoneStatus;
use stead_protocol::{
    By, EndReason, EvalSeq, MAX_STDLIB, Outcome, StdlibStatus, TimeoutStep, Work, WorkKind,
    stdlib_source,
};
use stead_spool::SpoolError;

use crate::host::Host;
use crate::record::ledger::Taken;
use crate::session::state::{Eval, EvalRole, Input};
use crate::session::work::Pending;

/// How long the library may run.
const STDLIB_LIMIT: Millis = 10_000;
/// How many characters of what is wrong with it are told.
const SHORT: usize = 300;

/// What this session has of the library.
#[derive(Debug, Default)]
pub(crate) struct Library {
    /// What clients are told of it.
    pub(crate) status: Option<StdlibStatus>,
    /// What the first reply says of it.
    pub(crate) notice: Option<String>,
    /// Set while it runs.
    loading: Option<Loading>,
    /// A text with which the interpreter ended, known by its hash: it is not run again.
    deadly: Option<u64>,
}

/// What is known of a library that runs.
#[derive(Debug, Default)]
struct Loading {
    eval: EvalSeq,
    hash: u64,
    /// It runs as the second part of a `clear`, whose outcome does not depend on it.
    again: bool,
    printed: bool,
    asked: bool,
    overdue: bool,
    failed: bool,
    error: Option<String>,
    names: Option<u64>,
}

impl Library {
    pub(crate) fn hear_output(&mut self) {
        if let Some(loading) = &mut self.loading {
            loading.printed = true;
        }
    }

    /// Takes note that the running eval asks for input; whether that is the library.
    pub(crate) fn hear_question(&mut self) -> bool {
        self.loading.as_mut().map(|loading| loading.asked = true).is_some()
    }

    pub(crate) fn hear_overdue(&mut self) {
        if let Some(loading) = &mut self.loading {
            loading.overdue = true;
        }
    }

    pub(crate) fn hear_report(&mut self, data: &Value) {
        if let Some(loading) = &mut self.loading {
            loading.names = data["names"].as_u64();
        }
    }

    /// Takes an error; whether it is no part of the running eval's record, because that is a `clear`.
    pub(crate) fn hear_error(
        &mut self,
        name: &str,
        message: &str,
        traceback: Option<&str>,
    ) -> bool {
        let Some(loading) = &mut self.loading else { return false };
        let message = message.lines().next().unwrap_or_default();
        let colon = if message.is_empty() { "" } else { ": " };
        let line = traceback.filter(|_| !message.contains("line ")).and_then(line_in);
        let line = line.map(|line| format!("line {line}: ")).unwrap_or_default();
        let error = format!("{line}{name}{colon}{message}");
        loading.error = Some(error.chars().take(SHORT).collect());
        loading.again
    }

    /// How the running eval ended.
    pub(crate) fn judge(&mut self, status: DoneStatus) -> DoneStatus {
        match &mut self.loading {
            Some(loading) if loading.again => {
                loading.failed = status != DoneStatus::Ok;
                DoneStatus::Ok
            }
            _ => status,
        }
    }

    fn fail(&mut self, eval: Option<EvalSeq>, error: String) {
        self.notice = Some(format!("the standard library is not loaded: {error}"));
        self.status = Some(StdlibStatus { eval, names: None, error: Some(error) });
    }
}

/// The first line of the library that a traceback names; bridges call the file `<stdlib>`.
fn line_in(traceback: &str) -> Option<&str> {
    let (_, rest) = traceback.split_once("<stdlib>")?;
    let from = rest.find(|c: char| c.is_ascii_digit()).filter(|at| *at < 10)?;
    rest[from..].split(|c: char| !c.is_ascii_digit()).next()
}

impl Host {
    /// Records that the library is run, if there is one.
    pub(crate) fn accept_stdlib(&mut self) -> Result<Option<Eval>, SpoolError> {
        // Of a library that ended the last interpreter it is still told how it did.
        self.library.status.take_if(|_| self.library.deadly.is_none());
        let Some((text, hash)) = self.read_stdlib() else { return Ok(None) };
        self.library.status = None;
        let (kind, by) = (WorkKind::Stdlib, By::init());
        let work = Work::Stdlib { text };
        let taken = Taken { kind, code: &work.code(), by: &by, key: None, token: None };
        let seq = self.ledger.accept(taken, None)?;
        self.pending.insert(seq, Pending { kind, by, work: Some(work), ..Pending::default() });
        self.introduce(seq);
        self.library.loading = Some(Loading { eval: seq, hash, ..Loading::default() });
        Ok(Some(Eval { seq, hard_timeout: Some(STDLIB_LIMIT), role: EvalRole::Stdlib }))
    }

    /// Runs the library as the second part of the `clear` that runs; whether there is anything to run.
    pub(crate) fn load_stdlib_again(&mut self) -> bool {
        let Some(eval) = self.state.running().map(|run| run.eval) else { return false };
        self.library.status = None;
        let Some((text, hash)) = self.read_stdlib() else { return false };
        self.library.loading = Some(Loading { eval, hash, again: true, ..Loading::default() });
        self.step(Input::LoadsStdlib);
        self.orders.push_back(Order::Work {
            eval: self.eval_id(eval),
            what: WorkKind::Stdlib.as_str().to_owned(),
            argument: text,
            limit_ms: Some(STDLIB_LIMIT),
        });
        true
    }

    /// The text of the library, if there is one and it is not known to end interpreters.
    fn read_stdlib(&mut self) -> Option<(String, u64)> {
        let path = self.meta.settings.startup.stdlib.clone()?;
        if self.cannot_work(WorkKind::Stdlib).is_some() {
            return None;
        }
        let text = match stead_files::read_users_text(Path::new(&path), MAX_STDLIB as u64) {
            Ok(text) => stdlib_source(&text),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
            Err(error) => {
                self.library.fail(None, format!("could not read `{path}`: {error}"));
                return None;
            }
        };
        if text.trim().is_empty() {
            return None;
        }
        let mut hasher = DefaultHasher::new();
        text.hash(&mut hasher);
        let hash = hasher.finish();
        (self.library.deadly != Some(hash)).then_some((text, hash))
    }

    /// Notes how the library ended, if this eval ran it; what its reply is to say of that.
    pub(crate) fn stdlib_ended(&mut self, eval: EvalSeq, outcome: &Outcome) -> Option<String> {
        let loading = self.library.loading.take_if(|loading| loading.eval == eval)?;
        let id = self.eval_id(eval);
        let error = match outcome {
            _ if loading.asked => Some("it asks for input".to_owned()),
            Outcome::Complete if !loading.failed => None,
            _ if loading.overdue => Some(format!("it ran for more than {} s", STDLIB_LIMIT / 1000)),
            Outcome::Ended { reason } => Some(format!("it ended the interpreter: {reason}")),
            Outcome::NotRun { reason } => Some(format!("it did not run: {reason}")),
            Outcome::Interrupted => Some("it was interrupted".to_owned()),
            _ => Some(loading.error.unwrap_or_else(|| "it failed".to_owned())),
        };
        let killed = Outcome::Timeout { step: TimeoutStep::InterpreterKilled };
        // An end that somebody asked for is not the library's doing.
        let its_own = matches!(outcome, Outcome::Ended { reason } if !matches!(
            reason,
            EndReason::Stopped { .. }
                | EndReason::Restarted { .. }
                | EndReason::Killed { .. }
                | EndReason::RolledBack { .. }
        ));
        if its_own || *outcome == killed {
            self.library.deadly = Some(loading.hash);
        }
        match error {
            Some(error) => self.library.fail(Some(eval), error),
            None => {
                self.library.notice = loading
                    .printed
                    .then(|| format!("the standard library printed something: {id} has it"));
                self.library.status =
                    Some(StdlibStatus { eval: Some(eval), names: loading.names, error: None });
            }
        }
        self.library.notice.take_if(|_| loading.again)
    }

    /// The next interpreter is asked for by a client, who may have mended the library.
    pub(crate) fn retry_stdlib(&mut self) {
        self.library.deadly = None;
    }
}
