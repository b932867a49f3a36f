//! What a session has of the standard libraries, and what is heard of the one that runs. No IO here.

use std::collections::VecDeque;

use serde_json::Value;
use stead_interpreter::Millis;
use stead_protocol::bridge::DoneStatus;
use stead_protocol::{
    EndReason, EvalId, EvalSeq, Outcome, StdlibReport, StdlibStatus, TimeoutStep,
};

/// How long the library may run.
pub(crate) const STDLIB_LIMIT: Millis = 10_000;
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
    pub(crate) loading: VecDeque<Loading>,
    /// Texts with which the interpreter ended, known by their hashes: they are not run again.
    pub(crate) deadly: Vec<u64>,
}

/// Whose a library is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LibraryOwner {
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
pub(crate) struct LibraryText {
    pub(crate) owner: LibraryOwner,
    pub(crate) text: String,
    pub(crate) hash: u64,
}

/// When a library runs, and how far it has come. After a `clear` it is a further part of that eval, whose outcome does not
/// depend on the library's.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum LibraryTurn {
    /// At the start of the interpreter, as an eval of its own.
    Start,
    /// After a `clear`, and it was not sent yet.
    ClearWaits { text: String },
    /// After a `clear`, and it runs or has run to its end.
    ClearRuns,
    /// After a `clear`, and it failed.
    ClearFailed,
}

/// A library that runs or will run, and what was heard of it.
#[derive(Debug)]
pub(crate) struct Loading {
    pub(crate) eval: EvalSeq,
    owner: LibraryOwner,
    hash: u64,
    turn: LibraryTurn,
    printed: bool,
    stopped: Option<StoppedFor>,
    /// The name of its error, and the first line of what that says.
    error: Option<(String, String)>,
    report: StdlibReport,
    /// None of it has run: it cannot be compiled, or ends too early.
    nothing_ran: bool,
}

/// Why a library is stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StoppedFor {
    AskingForInput,
    TakingTooLong,
}

/// What came of a library.
#[derive(Debug, PartialEq, Eq)]
enum LibraryOutcome {
    Whole,
    /// What stands before the error is there if it is loaded `partly`.
    Failed {
        error: String,
        partly: bool,
    },
}

impl Loading {
    pub(crate) fn new(eval: EvalSeq, owner: LibraryOwner, hash: u64, turn: LibraryTurn) -> Loading {
        let report = StdlibReport::default();
        Loading {
            eval,
            owner,
            hash,
            turn,
            printed: false,
            stopped: None,
            error: None,
            report,
            nothing_ran: false,
        }
    }

    pub(crate) fn is_part_of_clear(&self) -> bool {
        self.turn != LibraryTurn::Start
    }

    /// Takes note of how the library itself ended, if it is part of a `clear`.
    fn end_part(&mut self, status: DoneStatus) {
        if self.is_part_of_clear() && status != DoneStatus::Ok {
            self.turn = LibraryTurn::ClearFailed;
        }
    }

    /// What came of it, by the outcome of its eval; `before` are the names of libraries that were there already.
    fn loaded(&self, outcome: &Outcome, before: u64) -> LibraryOutcome {
        let failed = self.turn == LibraryTurn::ClearFailed;
        let error = match (outcome, self.stopped) {
            (_, Some(StoppedFor::AskingForInput)) => "it asks for input".to_owned(),
            (Outcome::Complete, _) if !failed => return LibraryOutcome::Whole,
            (_, Some(StoppedFor::TakingTooLong)) => {
                format!("it ran for more than {} s", STDLIB_LIMIT / 1000)
            }
            (Outcome::Ended { reason }, None) => format!("it ended the interpreter: {reason}"),
            (Outcome::NotRun { reason }, None) => format!("it did not run: {reason}"),
            (Outcome::Interrupted, None) => "it was interrupted".to_owned(),
            (_, None) => self.error_text(),
        };
        // An interpreter that ended took with it what was loaded.
        let gone = outcome.tells_end()
            || matches!(outcome, Outcome::Ended { .. } | Outcome::NotRun { .. });
        let at_once = self.nothing_ran || self.report.line == Some(1);
        let bound_some = self.report.names.is_some_and(|names| names > before);
        LibraryOutcome::Failed { error, partly: !gone && (!at_once || bound_some) }
    }

    fn error_text(&self) -> String {
        let Some((name, message)) = &self.error else { return "it failed".to_owned() };
        let colon = if message.is_empty() { "" } else { ": " };
        // Some languages name the line in the message.
        let line = self.report.line.filter(|line| !message.contains(&format!("line {line}")));
        let line = line.map(|line| format!("line {line}: ")).unwrap_or_default();
        format!("{line}{name}{colon}{message}").chars().take(SHORT).collect()
    }
}

/// Whether a library with this outcome has ended the interpreter. An end that somebody asked for is not the library's doing.
fn is_deadly(outcome: &Outcome) -> bool {
    match outcome {
        Outcome::Ended { reason } => !matches!(
            reason,
            EndReason::Stopped { .. }
                | EndReason::Restarted { .. }
                | EndReason::Killed { .. }
                | EndReason::RolledBack { .. }
        ),
        other => *other == Outcome::Timeout { step: TimeoutStep::InterpreterKilled },
    }
}

impl Library {
    pub(crate) fn hear_output(&mut self) {
        if let Some(loading) = self.loading.front_mut() {
            loading.printed = true;
        }
    }

    /// Takes note that the running eval asks for input; whether that is the library.
    pub(crate) fn hear_question(&mut self) -> bool {
        let loading = self.loading.front_mut();
        loading.map(|loading| loading.stopped = Some(StoppedFor::AskingForInput)).is_some()
    }

    pub(crate) fn hear_overdue(&mut self) {
        if let Some(loading) = self.loading.front_mut() {
            loading.stopped.get_or_insert(StoppedFor::TakingTooLong);
        }
    }

    pub(crate) fn hear_report(&mut self, data: &Value) {
        if let Some(loading) = self.loading.front_mut() {
            loading.report = StdlibReport::read(data);
        }
    }

    /// Takes note of a library's error. Returns whether the error stays out of the running eval's record, because that
    /// eval is a `clear`.
    pub(crate) fn hear_error(&mut self, name: &str, message: &str) -> bool {
        let Some(loading) = self.loading.front_mut() else { return false };
        let message = message.lines().next().unwrap_or_default();
        loading.error = Some((name.to_owned(), message.to_owned()));
        loading.is_part_of_clear()
    }

    /// The running eval has ended, and none of it has run.
    pub(crate) fn hear_nothing_ran(&mut self) {
        if let Some(loading) = self.loading.front_mut() {
            loading.nothing_ran = true;
        }
    }

    /// How the running eval ended.
    pub(crate) fn judge(&mut self, status: DoneStatus) -> DoneStatus {
        match self.loading.front_mut() {
            Some(loading) if loading.is_part_of_clear() => {
                loading.end_part(status);
                DoneStatus::Ok
            }
            _ => status,
        }
    }

    /// The library that is next as a part of a `clear`, which is sent now.
    pub(crate) fn send_next(&mut self) -> Option<(EvalSeq, String)> {
        let loading = self.loading.front_mut()?;
        match std::mem::replace(&mut loading.turn, LibraryTurn::ClearRuns) {
            LibraryTurn::ClearWaits { text } => Some((loading.eval, text)),
            other => {
                loading.turn = other;
                None
            }
        }
    }

    /// The library that has just ended as a part of a `clear`, if another one comes after it.
    pub(crate) fn end_part(&mut self, status: DoneStatus) -> Option<Loading> {
        let first = self.loading.front()?;
        if !first.is_part_of_clear() || self.loading.len() < 2 || status == DoneStatus::Interrupted
        {
            return None;
        }
        let mut loading = self.loading.pop_front()?;
        loading.end_part(status);
        Some(loading)
    }

    /// Notes how one library ended, in the eval that has this id.
    pub(crate) fn note_loaded(&mut self, loading: Loading, outcome: &Outcome, id: &EvalId) {
        if is_deadly(outcome) {
            self.deadly.push(loading.hash);
        }
        let before = self.status.as_ref().and_then(|status| status.names).unwrap_or(0);
        match loading.loaded(outcome, before) {
            LibraryOutcome::Failed { error, partly } => {
                self.fail(loading.owner, Some(loading.eval), error, partly);
            }
            LibraryOutcome::Whole => {
                if loading.printed {
                    let title = loading.owner.title();
                    self.say(format!("{title} printed something: {id} has it"));
                }
                self.succeed(loading.eval, loading.report.names);
            }
        }
    }

    /// Notes that a library is not loaded, or only `partly`.
    pub(crate) fn fail(
        &mut self,
        owner: LibraryOwner,
        eval: Option<EvalSeq>,
        error: String,
        partly: bool,
    ) {
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

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn loading(turn: LibraryTurn) -> Library {
        let loading = Loading::new(EvalSeq(1), LibraryOwner::User, 7, turn);
        Library { loading: VecDeque::from([loading]), ..Library::default() }
    }

    /// What is said of a library that ends so.
    fn trouble(mut library: Library, outcome: &Outcome) -> Option<String> {
        let loading = library.loading.pop_front().unwrap();
        library.note_loaded(loading, outcome, &"py:1".parse().unwrap());
        library.status.unwrap().trouble()
    }

    #[test]
    fn st4_whether_some_of_a_library_is_loaded_is_read_from_its_report() {
        let cases = [
            (json!({"names": 0, "line": 1}), "not loaded: line 1: E: no"),
            (json!({"names": 2, "line": 1}), "not loaded as a whole: line 1: E: no"),
            (json!({"names": 0, "line": 3}), "not loaded as a whole: line 3: E: no"),
            // Bridges that were written before there was more in it.
            (json!({"names": 0}), "not loaded as a whole: E: no"),
            (json!(null), "not loaded as a whole: E: no"),
        ];
        for (report, says) in cases {
            let mut library = loading(LibraryTurn::Start);
            assert!(!library.hear_error("E", "no\nmore"));
            library.hear_report(&report);
            assert_eq!(trouble(library, &Outcome::Error).as_deref(), Some(says), "{report}");
        }
        let mut library = loading(LibraryTurn::Start);
        library.hear_error("E", "no");
        library.hear_report(&json!({"names": 0, "line": 4}));
        library.hear_nothing_ran();
        let says = "not loaded: line 4: E: no";
        assert_eq!(trouble(library, &Outcome::Error).as_deref(), Some(says));
        // The text of a message or the name of an error decides nothing.
        let mut library = loading(LibraryTurn::Start);
        library.hear_error("SyntaxError", "line 1: no");
        library.hear_report(&json!({"names": 0, "line": 12}));
        let says = "not loaded as a whole: line 12: SyntaxError: line 1: no";
        assert_eq!(trouble(library, &Outcome::Error).as_deref(), Some(says));
    }

    #[test]
    fn st4_a_library_that_is_stopped_is_told_with_the_reason() {
        let mut library = loading(LibraryTurn::Start);
        library.hear_overdue();
        assert!(library.hear_question());
        library.hear_overdue();
        let says = "not loaded as a whole: it asks for input";
        assert_eq!(trouble(library, &Outcome::Interrupted).as_deref(), Some(says));
        let mut library = loading(LibraryTurn::Start);
        library.hear_overdue();
        let killed = Outcome::Timeout { step: TimeoutStep::InterpreterKilled };
        assert_eq!(
            trouble(library, &killed).as_deref(),
            Some("not loaded: it ran for more than 10 s")
        );
        // One that came to its end just then is loaded.
        let mut library = loading(LibraryTurn::Start);
        library.hear_overdue();
        assert_eq!(trouble(library, &Outcome::Complete), None);
    }

    #[test]
    fn st4_a_library_in_a_clear_is_sent_once_and_its_error_is_not_the_clears() {
        let mut library = loading(LibraryTurn::ClearWaits { text: "x".to_owned() });
        assert_eq!(library.send_next(), Some((EvalSeq(1), "x".to_owned())));
        assert_eq!(library.send_next(), None);
        assert!(library.end_part(DoneStatus::Error).is_none(), "no other comes after it");
        assert!(library.hear_error("E", ""));
        assert_eq!(library.judge(DoneStatus::Error), DoneStatus::Ok);
        let says = "not loaded as a whole: E";
        assert_eq!(trouble(library, &Outcome::Complete).as_deref(), Some(says));
        assert_eq!(loading(LibraryTurn::Start).judge(DoneStatus::Error), DoneStatus::Error);
    }
}
