//! Evals as they are recorded: lines of a list, and all there is to say of one (SPEC E-16).

use std::borrow::Cow;
use std::time::Duration;

use serde::Serialize;
use stead_client::{EvalEntry, EvalRecord, EvalSummary, Evals, mebibytes};
use stead_protocol::{By, Changed, EvalId, Outcome, SessionName, TimeoutStep, WorkKind};

use crate::time;

/// A list of evals of one session.
#[derive(Debug, Serialize)]
pub(crate) struct RecordsData<'a> {
    pub(crate) session: &'a str,
    pub(crate) evals: Vec<RecordData<'a>>,
    /// How many older ones are left out because the reply would be too long.
    #[serde(skip_serializing_if = "Option::is_none")]
    left_out: Option<usize>,
    /// How many older ones are gone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) gone: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) notice: Option<String>,
}

impl<'a> RecordsData<'a> {
    pub(crate) fn new(
        name: &'a SessionName,
        evals: Vec<RecordData<'a>>,
        left_out: usize,
        gone: Option<u64>,
        notice: Option<String>,
    ) -> Self {
        let left_out = (left_out > 0).then_some(left_out);
        RecordsData { session: name.as_str(), evals, left_out, gone, notice }
    }
}

/// An eval's record in JSON. Its code is whole, unless a list of evals would be too long.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct RecordData<'a> {
    pub(crate) eval_id: String,
    /// Where it stands; the reply about one eval says it outside.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) status: Option<&'a str>,
    /// What its status does not tell of its end: `host_died`, `not_run`, how a hard timeout ended it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) outcome: Option<&'static str>,
    /// What kind of work it is.
    pub(crate) kind: WorkKind,
    pub(crate) code: Cow<'a, str>,
    /// How long the code is, where it is cut.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) code_bytes: Option<usize>,
    pub(crate) by: String,
    pub(crate) accepted_ms: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) started_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) finished_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) duration_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) exit_code: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) interrupted_by: Option<&'a By>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) generation: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) key: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) changed: Option<&'a Changed>,
    /// What it did to the session's state is gone.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) undone: bool,
}

impl<'a> RecordData<'a> {
    pub(crate) fn of_list(summary: &'a EvalSummary) -> Self {
        let data = RecordData::new(&summary.id, summary.status.as_str(), &summary.entry);
        RecordData { undone: summary.undone, ..data }
    }

    pub(crate) fn of_one(id: &EvalId, record: &'a EvalRecord) -> Self {
        let mut data = RecordData::new(id, record.view.status.as_str(), &record.entry);
        // A killed host records no end of its eval; the view says how the eval ended.
        data.outcome = data.outcome.or_else(|| record.view.outcome.as_ref().and_then(special));
        (data.status, data.exit_code) = (None, record.view.exit_code);
        data.changed = record.view.changed.as_ref();
        data.undone = record.undone;
        data
    }

    fn new(id: &EvalId, status: &'a str, entry: &'a EvalEntry) -> Self {
        let end = entry.finished.as_ref().map(|(_, finished)| finished);
        // An eval that is over and has no end in its record has lost its host.
        let died = (end.is_none() && status == "ended").then_some("host_died");
        RecordData {
            eval_id: id.to_string(),
            status: Some(status),
            outcome: end.and_then(|end| special(&end.outcome)).or(died),
            kind: entry.kind,
            code: Cow::Borrowed(&entry.code),
            code_bytes: None,
            by: entry.by.to_string(),
            accepted_ms: entry.accepted_at_ms,
            started_ms: entry.started.map(|(_, at, _)| at),
            finished_ms: entry.finished.as_ref().map(|(at, _)| *at),
            duration_ms: end.map(|end| end.duration_ms),
            exit_code: end.and_then(|end| end.exit_code),
            interrupted_by: end.and_then(|end| end.interrupted_by.as_ref()),
            generation: entry.started.map(|(generation, ..)| generation.0),
            key: entry.key.as_deref(),
            changed: end.and_then(|end| end.changed.as_ref()).filter(|all| !all.is_empty()),
            undone: false,
        }
    }

    /// How it ended, or where it stands, in a word.
    pub(crate) fn word(&self) -> &'a str {
        match self.outcome {
            Some(word @ ("host_died" | "not_run")) => word,
            _ if self.undone => "undone",
            _ => self.status.unwrap_or_default(),
        }
    }

    /// How long it ran, in a column.
    pub(crate) fn took(&self) -> String {
        let took = self.duration_ms.filter(|_| self.outcome != Some("not_run"));
        took.map(|ms| time::short(Duration::from_millis(ms))).unwrap_or_default()
    }

    /// Its code in a column.
    pub(crate) fn first_line(&self, max: usize) -> String {
        crate::text::first_line(&about(self.kind, &self.code), max)
    }
}

/// What a list shows of an eval: its code, or in brackets what other work it is.
pub(crate) fn about(kind: WorkKind, code: &str) -> String {
    match (kind.is_code(), code) {
        (true, code) => code.to_owned(),
        (false, "") => format!("[{}]", kind.as_str()),
        (false, line) => format!("[{line}]"),
    }
}

/// The word for an outcome that the status alone does not tell.
pub(crate) fn special(outcome: &Outcome) -> Option<&'static str> {
    match outcome {
        Outcome::HostDied => Some("host_died"),
        Outcome::NotRun { .. } => Some("not_run"),
        Outcome::Timeout { step } => Some(match step {
            TimeoutStep::Interrupted => "interrupted",
            TimeoutStep::ChildrenKilled => "children_killed",
            TimeoutStep::InterpreterKilled => "killed",
            TimeoutStep::Disconnected => "disconnected",
        }),
        _ => None,
    }
}

/// What is to be said below a list: that older evals are gone, and that it may be behind.
pub(crate) fn notice(listed: &Evals) -> Option<String> {
    let gone = listed.gone.map(|gone| {
        let count = match gone.evals {
            1 => "1 older eval is".to_owned(),
            more => format!("{more} older evals are"),
        };
        format!("{count} gone: the history may take {}", mebibytes(gone.quota))
    });
    joined(gone, listed.notice.clone())
}

/// Two notices as one.
pub(crate) fn joined(one: Option<String>, other: Option<String>) -> Option<String> {
    let notices: Vec<String> = one.into_iter().chain(other).collect();
    (!notices.is_empty()).then(|| notices.join("; "))
}
