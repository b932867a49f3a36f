//! The standard libraries, the user's and the project's: run at each start and after each `clear`, and never a reason not to
//! start (SPEC ST-4).

use std::collections::VecDeque;
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
/// What bridges call the error of a text that cannot be compiled, in every language.
const SYNTAX_ERROR: &str = "SyntaxError";
/// How many characters of what is wrong with it are told.
const SHORT: usize = 300;

/// What this session has of the libraries.
#[derive(Debug, Default)]
pub(crate) struct Library {
    /// What clients are told of it.
    pub(crate) status: Option<StdlibStatus>,
    /// What the first reply says of it.
    pub(crate) notice: Option<String>,
    /// The one that runs, and those that come after it.
    loading: VecDeque<Loading>,
    /// Texts with which the interpreter ended, known by their hashes: they are not run again.
    deadly: Vec<u64>,
}

/// Whose a library is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum LibraryOwner {
    #[default]
    User,
    Project,
}

impl LibraryOwner {
    fn title(self) -> &'static str {
        match self {
            LibraryOwner::User => "the standard library",
            LibraryOwner::Project => "the project's standard library",
        }
    }
}

/// The text of a library.
#[derive(Debug)]
struct LibraryText {
    owner: LibraryOwner,
    text: String,
    hash: u64,
}

/// What is known of a library that runs.
#[derive(Debug, Default)]
struct Loading {
    eval: EvalSeq,
    owner: LibraryOwner,
    hash: u64,
    /// It runs as a further part of a `clear`, whose outcome does not depend on it.
    again: bool,
    /// The library's text, until it is sent as a part of a `clear`.
    text: Option<String>,
    printed: bool,
    asked: bool,
    overdue: bool,
    failed: bool,
    error: Option<String>,
    /// The error came before anything was loaded: in the first line, or because the text cannot be compiled.
    at_once: bool,
    names: Option<u64>,
}

impl Library {
    pub(crate) fn hear_output(&mut self) {
        if let Some(loading) = self.loading.front_mut() {
            loading.printed = true;
        }
    }

    /// Takes note that the running eval asks for input; whether that is the library.
    pub(crate) fn hear_question(&mut self) -> bool {
        self.loading.front_mut().map(|loading| loading.asked = true).is_some()
    }

    pub(crate) fn hear_overdue(&mut self) {
        if let Some(loading) = self.loading.front_mut() {
            loading.overdue = true;
        }
    }

    pub(crate) fn hear_report(&mut self, data: &Value) {
        if let Some(loading) = self.loading.front_mut() {
            loading.names = data["names"].as_u64();
        }
    }

    /// Takes note of a library's error. Returns whether the error stays out of the running eval's record, because that
    /// eval is a `clear`.
    pub(crate) fn hear_error(
        &mut self,
        name: &str,
        message: &str,
        traceback: Option<&str>,
    ) -> bool {
        let Some(loading) = self.loading.front_mut() else { return false };
        let message = message.lines().next().unwrap_or_default();
        let colon = if message.is_empty() { "" } else { ": " };
        let line = traceback.and_then(line_in);
        loading.at_once = line == Some("1") || name == SYNTAX_ERROR;
        let line = line.filter(|_| !message.contains("line "));
        let line = line.map(|line| format!("line {line}: ")).unwrap_or_default();
        let error = format!("{line}{name}{colon}{message}");
        loading.error = Some(error.chars().take(SHORT).collect());
        loading.again
    }

    /// How the running eval ended.
    pub(crate) fn judge(&mut self, status: DoneStatus) -> DoneStatus {
        match self.loading.front_mut() {
            Some(loading) if loading.again => {
                loading.failed = status != DoneStatus::Ok;
                DoneStatus::Ok
            }
            _ => status,
        }
    }

    /// Notes that a library is not loaded, or only `partly`.
    fn fail(&mut self, owner: LibraryOwner, eval: Option<EvalSeq>, error: String, partly: bool) {
        let this = StdlibStatus { error: Some(error.clone()), partly, ..StdlibStatus::default() };
        self.say(format!("{} is {}", owner.title(), this.trouble().unwrap_or_default()));
        let error = match owner {
            LibraryOwner::User => error,
            LibraryOwner::Project => format!("the project's: {error}"),
        };
        let before = self.status.take().unwrap_or_default();
        // The one before this one may be loaded, as a whole or partly.
        let partly = partly || before.partly || before.eval.is_some() && before.error.is_none();
        let error = match before.error {
            Some(before) => format!("{before}; {error}"),
            None => error,
        };
        self.status = Some(StdlibStatus { eval, names: before.names, error: Some(error), partly });
    }

    fn succeed(&mut self, eval: EvalSeq, names: Option<u64>) {
        let before = self.status.take();
        let error = before.as_ref().and_then(|status| status.error.clone());
        // A bridge counts the names of all libraries together, so the counts are not added up.
        let names = names.or(before.and_then(|status| status.names));
        let partly = error.is_some();
        self.status = Some(StdlibStatus { eval: Some(eval), names, error, partly });
    }

    /// Adds to what the next reply says.
    fn say(&mut self, notice: String) {
        self.notice = Some(match self.notice.take() {
            Some(before) => format!("{before}; {notice}"),
            None => notice,
        });
    }
}

/// The first line of the library that a traceback names; bridges call the file `<stdlib>` or `<project stdlib>`.
fn line_in(traceback: &str) -> Option<&str> {
    let (_, rest) = traceback.split_once("stdlib>")?;
    let from = rest.find(|c: char| c.is_ascii_digit()).filter(|at| *at < 10)?;
    rest[from..].split(|c: char| !c.is_ascii_digit()).next()
}

impl Host {
    /// Records that the libraries are run, those that there are.
    pub(crate) fn accept_stdlib(&mut self) -> Result<Vec<Eval>, SpoolError> {
        // The status of a library that ended the last interpreter is kept, so that clients still see it.
        self.library.status.take_if(|_| self.library.deadly.is_empty());
        self.library.loading.clear();
        let mut accepted = Vec::new();
        for LibraryText { owner, text, hash } in self.read_stdlib() {
            let (kind, by) = (WorkKind::Stdlib, By::init());
            let work = Work::Stdlib { text };
            let taken = Taken { kind, code: &work.code(), by: &by, key: None, token: None };
            let eval = self.ledger.accept(taken, None)?;
            self.pending.insert(eval, Pending { kind, by, work: Some(work), ..Pending::default() });
            self.introduce(eval);
            let loading = Loading { eval, owner, hash, ..Loading::default() };
            self.library.loading.push_back(loading);
            let hard_timeout = Some(STDLIB_LIMIT);
            accepted.push(Eval { seq: eval, hard_timeout, role: EvalRole::Stdlib });
        }
        Ok(accepted)
    }

    /// Runs the libraries as further parts of the `clear` that runs; whether there is anything to run.
    pub(crate) fn load_stdlib_again(&mut self) -> bool {
        let Some(eval) = self.state.running().map(|run| run.eval) else { return false };
        self.library.status = None;
        let again = |LibraryText { owner, text, hash }| {
            let text = Some(text);
            Loading { eval, owner, hash, text, again: true, ..Loading::default() }
        };
        self.library.loading = self.read_stdlib().into_iter().map(again).collect();
        if !self.order_stdlib_part() {
            return false;
        }
        self.step(Input::LoadsStdlib);
        true
    }

    /// Orders the library that is next as a part of the `clear` that runs.
    fn order_stdlib_part(&mut self) -> bool {
        let Some(loading) = self.library.loading.front_mut() else { return false };
        let Some(text) = loading.text.take() else { return false };
        let eval = loading.eval;
        self.orders.push_back(Order::Work {
            eval: self.eval_id(eval),
            what: WorkKind::Stdlib.as_str().to_owned(),
            argument: text,
            limit_ms: Some(STDLIB_LIMIT),
        });
        true
    }

    /// Goes on with the next library, if the `clear` that runs has another one to load; whether it has.
    pub(crate) fn goes_on_loading(&mut self, status: DoneStatus) -> bool {
        let again = self.library.loading.front().is_some_and(|loading| loading.again);
        if !again || self.library.loading.len() < 2 || status == DoneStatus::Interrupted {
            return false;
        }
        let Some(mut loading) = self.library.loading.pop_front() else { return false };
        loading.failed = status != DoneStatus::Ok;
        self.note_loaded(loading, &Outcome::Complete);
        self.order_stdlib_part()
    }

    /// The texts of the libraries that there are and that are not known to end interpreters.
    fn read_stdlib(&mut self) -> Vec<LibraryText> {
        if self.cannot_work(WorkKind::Stdlib).is_some() {
            return Vec::new();
        }
        let startup = &self.meta.settings.startup;
        let (users, projects) = (startup.stdlib.clone(), startup.project_stdlib.clone());
        let users = users.and_then(|path| {
            match stead_files::read_users_text(Path::new(&path), MAX_STDLIB as u64) {
                Ok(text) => Some(text),
                Err(error) if error.kind() == io::ErrorKind::NotFound => None,
                Err(error) => {
                    let error = format!("could not read `{path}`: {error}");
                    self.library.fail(LibraryOwner::User, None, error, false);
                    None
                }
            }
        });
        let texts = [(LibraryOwner::User, users), (LibraryOwner::Project, projects)];
        let texts = texts.into_iter().filter_map(|(owner, text)| {
            let text = stdlib_source(&text?);
            let mut hasher = DefaultHasher::new();
            text.hash(&mut hasher);
            let hash = hasher.finish();
            let runs = !text.trim().is_empty() && !self.library.deadly.contains(&hash);
            runs.then_some(LibraryText { owner, text, hash })
        });
        texts.collect()
    }

    /// Notes how the library ended, if this eval ran it; what its reply is to say of that.
    pub(crate) fn stdlib_ended(&mut self, eval: EvalSeq, outcome: &Outcome) -> Option<String> {
        let at = self.library.loading.iter().position(|loading| loading.eval == eval)?;
        let loading = self.library.loading.remove(at)?;
        let again = loading.again;
        self.note_loaded(loading, outcome);
        // Libraries of this eval that are left belong to a `clear` that was cut short.
        self.library.loading.retain(|loading| loading.eval != eval);
        self.library.notice.take_if(|_| again)
    }

    /// Notes how one library ended.
    fn note_loaded(&mut self, loading: Loading, outcome: &Outcome) {
        let eval = loading.eval;
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
            self.library.deadly.push(loading.hash);
        }
        // An interpreter that ended took with it what was loaded.
        let gone = outcome.tells_end()
            || matches!(outcome, Outcome::Ended { .. } | Outcome::NotRun { .. });
        // Some interpreters run the lines before the one that they cannot read, and their bridge counts what those have bound.
        let before = self.library.status.as_ref().and_then(|status| status.names).unwrap_or(0);
        let bound_some = loading.names.is_some_and(|names| names > before);
        let partly = !gone && (!loading.at_once || bound_some);
        match error {
            Some(error) => self.library.fail(loading.owner, Some(eval), error, partly),
            None => {
                if loading.printed {
                    let title = loading.owner.title();
                    self.library.say(format!("{title} printed something: {id} has it"));
                }
                self.library.succeed(eval, loading.names);
            }
        }
    }

    /// The next interpreter is asked for by a client, who may have mended the library.
    pub(crate) fn retry_stdlib(&mut self) {
        self.library.deadly.clear();
    }
}
