//! What `stead wait` says: a line for each eval, a reply in JSON and the exit code (SPEC E-17).

use serde::Serialize;
use stead_client::{Cause, EvalStatus, EvalView, WakeOptions, Woken, unrecorded_text};
use stead_protocol::{By, ByWhom, ErrorCode, Outcome};
use stead_screen::plain;

use crate::print::{CliReply, Failure};
use crate::reply::special_outcome;
use crate::verdict::verdict;
use crate::{exit, time};

/// The evals that a reply is about.
#[derive(Debug)]
pub(crate) struct Report<'a> {
    told: Vec<&'a Woken>,
    options: &'a WakeOptions,
    /// What keeps the command from being a success, and its exit code.
    failed: Option<(u8, Failure)>,
}

#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(crate) enum ReportData<'a> {
    One(Box<WokenData<'a>>),
    Many { evals: Vec<WokenData<'a>> },
}

#[derive(Debug, Serialize)]
pub(crate) struct WokenData<'a> {
    session: &'a str,
    eval_id: &'a str,
    /// What ended the wait: `ended`, `input`, `match`, `idle`, `unrecorded`, `unheard` or `timeout`.
    condition: &'static str,
    /// Where the eval stands, if the reply is about several.
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    outcome: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    content: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    prompt: Option<&'a str>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    secret: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    listens: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    editor: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    silent_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_line: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    exit_code: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    duration_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    interrupted_by: Option<&'a By>,
    #[serde(skip_serializing_if = "Option::is_none")]
    generation: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    behind: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    notice: Option<String>,
}

impl<'a> Report<'a> {
    /// A report of a wait: of every eval if all were waited for, else of the one that ended the wait, or of those
    /// that went on when the time was over.
    pub(crate) fn new(woken: &'a [Woken], options: &'a WakeOptions) -> Self {
        let decisive = woken.iter().find(|one| one.is_met() || one.has_failed());
        let late = || woken.iter().filter(|one| matches!(one.cause, Cause::TimedOut { .. }));
        let told: Vec<&Woken> = match decisive {
            _ if options.all => woken.iter().collect(),
            Some(one) => vec![one],
            None if late().count() > 0 => late().collect(),
            None => woken.iter().rfind(|one| !is_unheard(one)).into_iter().collect(),
        };
        let mut failed: Option<(u8, Failure)> = None;
        for (exit, failure) in told.iter().filter_map(|one| failure(one, options)) {
            // A timeout says less than an eval that failed, so a failure takes its place.
            if failed
                .as_ref()
                .is_none_or(|(known, _)| *known == exit::HARD_TIMEOUT && exit != *known)
            {
                failed = Some((exit, failure));
            }
        }
        Report { told, options, failed }
    }

    pub(crate) fn exit(&self) -> u8 {
        self.failed.as_ref().map_or(exit::SUCCESS, |(exit, _)| *exit)
    }

    /// All of it in one line.
    pub(crate) fn line(&self) -> String {
        let lines: Vec<String> = self.told.iter().map(|one| line(one, self.options)).collect();
        lines.join("; ")
    }

    pub(crate) fn json<'r>(&'r self, command: &'r str) -> CliReply<'r, ReportData<'r>> {
        let data = |several| move |one: &&'a Woken| WokenData::new(one, several);
        let failed = self.failed.as_ref().map(|(_, failure)| failure);
        let first = self.told.iter().find(|one| failure(one, self.options).is_some());
        let status = match (first, self.told.as_slice()) {
            (Some(one), _) | (None, [one]) => one.view.status.as_str(),
            (None, _) => "complete",
        };
        let data = match self.told.as_slice() {
            [one] if !self.options.all => ReportData::One(Box::new(data(false)(one))),
            told => ReportData::Many { evals: told.iter().map(data(true)).collect() },
        };
        CliReply::verdict(command, status, failed, data)
    }
}

impl<'a> WokenData<'a> {
    fn new(one: &'a Woken, several: bool) -> Self {
        let Woken { id, view, cause, .. } = one;
        let mut data = WokenData {
            session: view.session.as_str(),
            eval_id: id,
            condition: "ended",
            status: several.then_some(view.status.as_str()),
            outcome: special_outcome(view),
            line: None,
            content: None,
            prompt: view.prompt.as_deref(),
            secret: view.secret,
            listens: view.listens,
            editor: view.editor.as_deref(),
            silent_ms: None,
            last_line: None,
            exit_code: view.exit_code,
            duration_ms: view.duration_ms,
            interrupted_by: view.interrupted_by.as_ref(),
            generation: view.generation.map(|generation| generation.0),
            behind: view.behind.map(|seq| format!("{}:{}", view.session, seq.0)),
            notice: (!view.notices.is_empty()).then(|| view.notices.join("; ")),
        };
        match cause {
            Cause::Ended { .. } => {}
            Cause::Input { .. } => data.condition = "input",
            Cause::Line(found) => {
                data.condition = "match";
                (data.line, data.content) = (Some(found.number), Some(found.text.as_str()));
            }
            Cause::Silent { time, last_line } => {
                data.condition = "idle";
                data.silent_ms = Some(stead_client::millis(*time));
                data.last_line = Some(last_line.as_str()).filter(|line| !line.is_empty());
            }
            Cause::Unrecorded(_) => data.condition = "unrecorded",
            Cause::Unheard(_) => data.condition = "unheard",
            Cause::TimedOut { last_line } => {
                data.condition = "timeout";
                data.last_line = Some(last_line.as_str()).filter(|line| !line.is_empty());
            }
        }
        data
    }
}

/// Whether the eval's session could not be listened to.
fn is_unheard(one: &Woken) -> bool {
    matches!(one.cause, Cause::Unheard(_))
}

/// Why a wait that ended so is no success, with its exit code (SPEC C-6).
fn failure(one: &Woken, options: &WakeOptions) -> Option<(u8, Failure)> {
    let judged = |view: &EvalView| {
        let verdict = verdict(view);
        verdict.error.map(|error| {
            let message = plain(&error.message);
            (verdict.exit, Failure { message, ..error })
        })
    };
    match &one.cause {
        Cause::Input { .. } | Cause::Silent { .. } => None,
        Cause::Line(_) => judged(&one.view),
        Cause::Ended { waited_for: true } => judged(&one.view),
        Cause::Ended { waited_for: false } => judged(&one.view).or_else(|| {
            let message = line(one, options);
            Some((exit::CODE_FAILED, Failure::new(ErrorCode::EvalError, message)))
        }),
        Cause::Unrecorded(_) => {
            let message = line(one, options);
            Some((exit::REQUEST_FAILED, Failure::new(ErrorCode::Unknown, message)))
        }
        Cause::Unheard(_) => {
            let message = line(one, options);
            Some((exit::REQUEST_FAILED, Failure::new(ErrorCode::ConnectionFailed, message)))
        }
        Cause::TimedOut { .. } => {
            let message = line(one, options);
            let hint = format!("it goes on; wait again: `stead wait {}`", one.id);
            Some((exit::HARD_TIMEOUT, Failure::new(ErrorCode::Timeout, message).with_hint(hint)))
        }
    }
}

/// What became of one eval, in a line.
pub(crate) fn line(one: &Woken, options: &WakeOptions) -> String {
    let Woken { id, view, cause, .. } = one;
    let mut said = match cause {
        Cause::Ended { waited_for: true } => format!("{id} {}", ended(view)),
        Cause::Ended { waited_for: false } => format!("{id} {}, {}", ended(view), unmet(options)),
        Cause::Input { .. } => format!("{id} {}", input(view)),
        Cause::Line(found) => {
            let end =
                if view.outcome.is_some() { format!(" [{}]", ended(view)) } else { String::new() };
            format!("{id} wrote line {}: {}{end}", found.number, found.text.trim_end())
        }
        Cause::Silent { time, last_line } => {
            let asks = view.prompt.is_some().then(|| format!(", {}", input(view)));
            let last = (asks.is_none() && !last_line.is_empty())
                .then(|| format!(", last line: {last_line}"));
            format!("{id} silent for {}{}", time::spoken(*time), asks.or(last).unwrap_or_default())
        }
        Cause::Unrecorded(why) => format!("{id} {}", unrecorded_text(why)),
        Cause::Unheard(why) => format!("{id} can no longer be waited for: {why}"),
        Cause::TimedOut { last_line } => {
            let stands = match view.status {
                EvalStatus::Queued => "is still queued",
                EvalStatus::WaitingInput => "waits for input",
                _ if view.eval.is_none() => "is not known to have been taken",
                _ => "still runs",
            };
            let time = options.timeout.map(time::spoken).unwrap_or_default();
            let last = (!last_line.is_empty()).then(|| format!(", last line: {last_line}"));
            format!("{id} {stands} after {time}{}", last.unwrap_or_default())
        }
    };
    for notice in &view.notices {
        said.push_str(&format!(" [{notice}]"));
    }
    // Line ends in text of user code must not make a second line.
    said.replace(['\n', '\r'], " ").trim_end().to_owned()
}

fn input(view: &EvalView) -> String {
    match (&view.editor, &view.prompt) {
        (Some(file), _) => format!("waits in an editor for the new text of {file}"),
        (None, Some(prompt)) if prompt.trim().is_empty() => "waits for input".to_owned(),
        (None, Some(prompt)) => format!("waits for input: {prompt}"),
        (None, None) => "listens to stdin and may wait for input".to_owned(),
    }
}

/// How an eval ended: the word for its outcome, how long it ran, and why it is no success.
pub(crate) fn ended(view: &EvalView) -> String {
    let word = match view.outcome {
        Some(Outcome::HostDied | Outcome::NotRun { .. }) => special_outcome(view),
        _ => None,
    };
    let word = word.unwrap_or(view.status.as_str());
    let ran = view.duration_ms.filter(|_| !matches!(view.outcome, Some(Outcome::NotRun { .. })));
    let ran = ran.map(|ms| format!(" in {}", time::spoken(std::time::Duration::from_millis(ms))));
    // For an interrupted eval the word says enough, so its error is left out.
    let error = verdict(view).error.filter(|error| error.code != ErrorCode::Interrupted);
    let why = error.map(|error| format!(": {}", plain(&error.message)));
    let by = ByWhom(view.interrupted_by.as_ref());
    format!("{word}{by}{}{}", ran.unwrap_or_default(), why.unwrap_or_default())
}

/// What was waited for and did not happen before the eval ended, in words.
fn unmet(options: &WakeOptions) -> &'static str {
    match (&options.pattern, options.input) {
        (Some(_), true) => "without a matching line and without waiting for input",
        (Some(_), false) => "without a matching line",
        (None, _) => "without waiting for input",
    }
}
