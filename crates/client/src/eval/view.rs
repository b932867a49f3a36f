//! What a front end is told about an eval.

use std::cell::OnceCell;

use stead_protocol::client::AsksAhead;
use stead_protocol::{
    By, Changed, ChunkKind, EndReason, ErrorInfo, EvalId, EvalSeq, Finished, Generation, NotKept,
    Offset, Outcome, ReportInfo, SessionName, Status, Token, Unrecorded, ValueInfo,
};
use stead_screen::into_plain;

use crate::Content;
use crate::hint::Hint;
use crate::show::{page, report};

/// Where an eval stands (SPEC C-5).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EvalStatus {
    /// Ran to its end.
    Complete,
    /// Still runs; the call did not wait longer.
    Partial,
    /// Waits for its turn.
    Queued,
    /// Runs.
    Running,
    /// Waits for input.
    WaitingInput,
    /// Failed.
    Error,
    /// Was interrupted.
    Interrupted,
    /// Its hard timeout passed.
    Timeout,
    /// The session ended while it ran, or before.
    Ended,
}

impl EvalStatus {
    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            EvalStatus::Complete => "complete",
            EvalStatus::Partial => "partial",
            EvalStatus::Queued => "queued",
            EvalStatus::Running => "running",
            EvalStatus::WaitingInput => "waiting_input",
            EvalStatus::Error => "error",
            EvalStatus::Interrupted => "interrupted",
            EvalStatus::Timeout => "timeout",
            EvalStatus::Ended => "ended",
        }
    }

    /// The status of an eval that is over.
    pub fn of(outcome: &Outcome) -> Self {
        match outcome {
            Outcome::Complete => EvalStatus::Complete,
            // An outcome of an unknown kind is not known to have gone well, so it counts as an error.
            Outcome::Error | Outcome::Unknown => EvalStatus::Error,
            Outcome::Interrupted => EvalStatus::Interrupted,
            Outcome::Timeout { .. } => EvalStatus::Timeout,
            Outcome::Ended { .. } | Outcome::NotRun { .. } | Outcome::HostDied => EvalStatus::Ended,
        }
    }
}

/// An eval as far as it has come.
#[derive(Debug, Clone)]
pub struct EvalView {
    /// The session it runs in.
    pub session: SessionName,
    /// Its number; none for a reader in the background.
    pub eval: Option<EvalSeq>,
    /// Where it stands.
    pub status: EvalStatus,
    /// How it ended, if it has.
    pub outcome: Option<Outcome>,
    /// Who sent it (SPEC E-16).
    pub by: Option<By>,
    /// Who first asked to stop it, if somebody did (SPEC E-6).
    pub interrupted_by: Option<By>,
    /// If the eval's interpreter was ended and the session went on from a copy: the last eval whose effect the
    /// copy has, 0 if none.
    pub restored: Option<EvalSeq>,
    /// The process id of the host that took it, if this call sent it.
    pub host: Option<u32>,
    /// The interpreter it runs in.
    pub generation: Option<Generation>,
    /// What it produced.
    pub content: Content,
    /// Where in the spool the content ends; later output stands after this offset.
    pub reached: Option<Offset>,
    value: Late<ValueInfo>,
    error: Late<ErrorInfo>,
    report: Late<ReportInfo>,
    /// What it asks, if it waits for input.
    pub prompt: Option<String>,
    /// The file that an editor of stead's has open, if the eval waits for the editor.
    pub editor: Option<String>,
    /// Whether the answer is a secret, which should not be shown while it is typed.
    pub secret: bool,
    /// Whether it listens to the session's input, so that it may be waiting for it.
    pub listens: bool,
    /// The exit code its code ended with.
    pub exit_code: Option<i32>,
    /// How long it ran.
    pub duration_ms: Option<u64>,
    /// What it did to the names of the session.
    pub changed: Option<Changed>,
    /// The namespace that the next eval runs in, in languages that have such.
    pub ns: Option<String>,
    /// Further notices for the user.
    pub notices: Vec<String>,
    /// What may help, if its code failed.
    pub hint: Option<Box<Hint>>,
    /// Whether the session was paused when the wait ended.
    pub paused: bool,
    /// The eval it waits behind.
    pub behind: Option<EvalSeq>,
    /// The running eval, if it waits for input: this one does not get its turn before that input comes.
    pub asks: Option<AsksAhead>,
    /// Bytes that were not kept.
    pub lost_bytes: u64,
    /// Why the first of the lost bytes were not kept.
    pub not_kept: Option<NotKept>,
    /// Whether the user stopped waiting.
    pub left: bool,
    /// Why the disk refuses the record of this eval, if it has ended so. The outcome is told once it is recorded.
    pub unrecorded: Option<String>,
    /// The host has not said that it took the code; the eval has no number yet.
    pub unanswered: Option<Unanswered>,
}

/// Code that was sent, and may run.
#[derive(Debug, Clone)]
pub struct Unanswered {
    /// The number that was sent along: the eval can be found by it.
    pub token: Token,
    /// The client's own key.
    pub key: Option<String>,
    /// The host that does not answer.
    pub pid: Option<u32>,
}

impl Unanswered {
    /// The key with which the same code can be sent again without running twice.
    pub fn key(&self) -> String {
        self.key.clone().unwrap_or_else(|| self.token.to_string())
    }
}

impl EvalView {
    /// A view of an eval of which nothing is known yet but where it stands.
    pub fn new(session: &SessionName, eval: Option<EvalSeq>, status: EvalStatus) -> Self {
        EvalView {
            session: session.clone(),
            eval,
            status,
            outcome: None,
            by: None,
            interrupted_by: None,
            restored: None,
            host: None,
            generation: None,
            content: Content::default(),
            reached: None,
            value: Late::default(),
            error: Late::default(),
            report: Late::default(),
            prompt: None,
            editor: None,
            secret: false,
            listens: false,
            exit_code: None,
            duration_ms: None,
            changed: None,
            ns: None,
            notices: Vec::new(),
            hint: None,
            paused: false,
            behind: None,
            asks: None,
            lost_bytes: 0,
            not_kept: None,
            left: false,
            unanswered: None,
            unrecorded: None,
        }
    }

    /// A view of code that was sent to a host which did not answer in time: it may still run (SPEC E-2).
    pub(crate) fn unanswered(
        session: &SessionName,
        token: Token,
        key: Option<String>,
        pid: Option<u32>,
    ) -> Self {
        let mut view = EvalView::new(session, None, EvalStatus::Partial);
        view.unanswered = Some(Unanswered { token, key, pid });
        view
    }

    /// A view of an eval that is over.
    pub fn finished(
        session: &SessionName,
        eval: EvalSeq,
        finished: Finished,
        content: Content,
    ) -> Self {
        let mut view = EvalView::new(session, Some(eval), EvalStatus::of(&finished.outcome));
        view.reached = Some(finished.end);
        view.generation = Some(finished.generation).filter(|generation| generation.0 > 0);
        view.exit_code = finished.exit_code.or_else(|| ended_with(&finished.outcome));
        // A killed host could not record how long the eval took.
        view.duration_ms = (finished.outcome != Outcome::HostDied).then_some(finished.duration_ms);
        view.changed = finished.changed.filter(|changed| !changed.is_empty()).map(clean);
        view.ns = finished.ns.map(into_plain);
        view.notices.extend(finished.notice.map(into_plain));
        view.interrupted_by = finished.interrupted_by;
        view.restored = finished.restored;
        view.lost_bytes = finished.lost_bytes;
        view.not_kept = finished.not_kept.map(|why| *why);
        if view.status == EvalStatus::Complete {
            view.value = Late::new(last(&content, ChunkKind::Value));
        }
        view.error = Late::new(last(&content, ChunkKind::Error));
        view.report = Late::new(last(&content, ChunkKind::Report));
        if view.lost_bytes > 0 {
            let why = view.not_kept.map(|why| format!(": {why}")).unwrap_or_default();
            let lost = match view.lost_bytes {
                1 => "1 byte of output was".to_owned(),
                more => format!("{more} bytes of output were"),
            };
            view.notices.push(format!("{lost} not kept{why}"));
        }
        view.content = content;
        view.outcome = Some(finished.outcome);
        view
    }

    /// The same view, with who sent the eval.
    pub(crate) fn sent_by(mut self, by: Option<By>) -> Self {
        self.by = by;
        self
    }

    /// Its value as it is shown.
    pub fn value(&self) -> Option<&ValueInfo> {
        self.value.get(page::value)
    }

    /// Its error as it is shown.
    pub fn error(&self) -> Option<&ErrorInfo> {
        self.error.get(page::error)
    }

    /// What came of it, if it is other work than code.
    pub fn report(&self) -> Option<&ReportInfo> {
        self.report.get(report::report)
    }

    /// The eval's id as it is written, also of one that has no number yet.
    pub fn id_text(&self) -> Option<String> {
        let sent =
            || self.unanswered.as_ref().map(|sent| format!("{}:{}", self.session, sent.token));
        self.id().map(|id| id.to_string()).or_else(sent)
    }

    /// The eval's id.
    pub fn id(&self) -> Option<EvalId> {
        self.eval.map(|seq| EvalId { session: self.session.clone(), seq })
    }
}

/// What is said of an eval whose outcome is not recorded.
pub fn unrecorded_text(why: &str) -> String {
    format!("has ended, but its outcome could not be recorded and is told when it is: {why}")
}

/// The notice for all evals of a session whose outcome is not recorded.
pub fn unrecorded(status: &Status) -> Option<String> {
    let Unrecorded { evals, why } = status.unrecorded.as_ref()?;
    let ids: Vec<String> = evals.iter().map(|seq| format!("`{}:{}`", status.name, seq.0)).collect();
    Some(format!("{} {}", ids.join(", "), unrecorded_text(why)))
}

fn ended_with(outcome: &Outcome) -> Option<i32> {
    match outcome {
        Outcome::Ended { reason: EndReason::Exit { code } | EndReason::Replaced { code } } => {
            Some(*code)
        }
        _ => None,
    }
}

/// The same changes with their names made fit to be shown: user code can give a name any text.
fn clean(mut changed: Changed) -> Changed {
    for change in changed.added.iter_mut().chain(&mut changed.rebound) {
        into_plain_at(&mut change.name);
        into_plain_at(&mut change.type_name);
        change.change.iter_mut().for_each(into_plain_at);
    }
    changed.removed.iter_mut().for_each(into_plain_at);
    changed
}

fn into_plain_at(text: &mut String) {
    *text = into_plain(std::mem::take(text));
}

/// A record that many callers do not need: it is read when it is first asked for.
#[derive(Debug, Clone)]
struct Late<T> {
    record: Option<Vec<u8>>,
    read: OnceCell<T>,
}

impl<T> Default for Late<T> {
    fn default() -> Self {
        Late::new(None)
    }
}

impl<T> Late<T> {
    fn new(record: Option<&[u8]>) -> Self {
        Late { record: record.map(<[u8]>::to_vec), read: OnceCell::new() }
    }

    fn get(&self, read: impl FnOnce(&[u8]) -> T) -> Option<&T> {
        let record = self.record.as_ref()?;
        Some(self.read.get_or_init(|| read(record)))
    }
}

/// The last chunk of this kind.
fn last(content: &Content, kind: ChunkKind) -> Option<&[u8]> {
    let chunk = content.chunks().rev().find(|chunk| chunk.kind == kind)?;
    Some(&chunk.bytes)
}
