//! The record comes first: acceptance, start and outcome are on disk before a client is told.

use std::collections::VecDeque;
use std::path::Path;

use stead_protocol::bridge::Stream;
use stead_protocol::{
    By, Changed, ChunkKind, EndReason, EvalSeq, Finished, Generation, NotKept, Offset, Outcome,
    WorkKind,
};
use stead_spool::{History, HistoryRecord, Options, Spool, SpoolError};

use crate::life::wall_clock::wall_ms;
use crate::record::disk;
use crate::record::prompt::LastLine;
use crate::record::unsaved::Unsaved;
use crate::with_causes;

/// How many tokens are remembered.
const TOKENS_KEPT: usize = 256;

/// What is said of an eval's outcome that is written to a file without a name.
const HISTORY_GONE: &str = "the session's history was deleted: this eval and how it ended are not recorded and cannot be read later";

/// A session's spool and history, and where the running eval stands in them.
pub(crate) struct Ledger {
    spool: Spool,
    history: History,
    next: EvalSeq,
    /// How many of the evals so far are other work than code.
    others: u64,
    generation: Generation,
    /// Background output before this offset has been part of a reply.
    told: Offset,
    last: EvalSeq,
    current: Option<Current>,
    unsaved: Unsaved,
    /// The tokens of the last submissions, with the evals they became.
    tokens: VecDeque<(u64, EvalSeq)>,
    /// How many bytes history, index and keys may take.
    history_quota: u64,
}

/// What a new interpreter begins with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Beginning {
    /// Nothing.
    Fresh,
    /// The state of the one before it, of which it is a copy.
    Copy,
}

/// What is known of the running eval beside its state.
struct Current {
    eval: EvalSeq,
    start: Offset,
    began_ms: u64,
    lost: u64,
    /// Why the first lost bytes were not kept.
    not_kept: Option<NotKept>,
    line: LastLine,
}

/// Work that is accepted.
#[derive(Debug)]
pub(crate) struct Taken<'a> {
    pub(crate) kind: WorkKind,
    /// For other work than code, a line that says what it is about.
    pub(crate) code: &'a str,
    pub(crate) by: &'a By,
    pub(crate) key: Option<&'a str>,
    pub(crate) token: Option<u64>,
}

/// What the bridge said at an eval's end.
#[derive(Debug, Default)]
pub(crate) struct EvalClosing {
    pub(crate) exit_code: Option<i32>,
    pub(crate) changed: Option<Changed>,
    pub(crate) notice: Option<String>,
    /// The namespace that the next eval runs in.
    pub(crate) ns: Option<String>,
    /// The client that first asked to stop the eval.
    pub(crate) interrupted_by: Option<By>,
    /// The session went on from a copy, which has the effect of evals up to this one.
    pub(crate) restored: Option<EvalSeq>,
}

impl EvalClosing {
    /// Adds a notice for the reader of the eval.
    pub(crate) fn note(&mut self, notice: String) {
        self.notice = Some(match self.notice.take() {
            Some(other) => format!("{other}; {notice}"),
            None => notice,
        });
    }
}

/// What the records of earlier hosts say.
pub(crate) struct Found {
    /// How the last interpreter ended, if no client was told.
    pub(crate) loss: Option<EndReason>,
    /// How the last interpreter ended, whether or not a client was told.
    pub(crate) last_end: Option<EndReason>,
}

impl Ledger {
    /// Opens the records, and records an outcome for evals that a killed host left unfinished.
    pub(crate) fn open(dir: &Path, quota: u64) -> Result<(Ledger, Found), SpoolError> {
        let spool = Spool::open(dir, Options { quota, ..Options::default() })?;
        let (history, recovered) = History::open(dir)?;
        let end = spool.end();
        let mut ledger = Ledger {
            spool,
            history,
            next: recovered.next_eval,
            others: recovered.others,
            generation: recovered.generation,
            told: end,
            last: EvalSeq(recovered.next_eval.0.saturating_sub(1)),
            current: None,
            unsaved: Unsaved::default(),
            tokens: VecDeque::new(),
            history_quota: disk::history_quota(),
        };
        for (eval, started) in &recovered.unfinished {
            let generation = started.map_or(recovered.generation, |(generation, _)| generation);
            let finished = Finished::host_died(generation, started.map(|(_, start)| start), end);
            let record = HistoryRecord::Finished { eval: *eval, at_ms: wall_ms(), finished };
            ledger.history.append(&record)?;
        }
        let host_died = recovered.generation.0 > 0 && recovered.last_end.is_none();
        if host_died {
            let reason = EndReason::HostDied;
            let (generation, at_ms) = (recovered.generation, wall_ms());
            let record = HistoryRecord::Ended { generation, at_ms, reason, reported: false };
            ledger.history.append(&record)?;
        }
        let last_end = match recovered.last_end {
            Some((reason, reported)) => Some((reason, reported)),
            None if host_died => Some((EndReason::HostDied, false)),
            None => None,
        };
        let untold = last_end.as_ref().filter(|(_, reported)| !reported);
        let found = Found {
            loss: untold.and_then(|(reason, _)| reason.loss().cloned()),
            last_end: last_end.map(|(reason, _)| reason),
        };
        Ok((ledger, found))
    }

    pub(crate) fn generation(&self) -> Generation {
        self.generation
    }

    pub(crate) fn end(&self) -> Offset {
        self.spool.end()
    }

    /// How many evals there have been, of whatever kind: the number of the last one.
    pub(crate) fn evals(&self) -> u64 {
        self.next.0 - 1
    }

    /// How many of the evals were code.
    pub(crate) fn codes(&self) -> u64 {
        self.evals().saturating_sub(self.others)
    }

    /// Records that a new interpreter begins.
    pub(crate) fn open_generation(&mut self, beginning: Beginning) -> Result<(), SpoolError> {
        self.unsaved.save(&mut self.history)?;
        let (generation, host_pid) = (Generation(self.generation.0 + 1), std::process::id());
        let boot_id = stead_interpreter::boot_id();
        let at_ms = wall_ms();
        let from_copy = beginning == Beginning::Copy;
        let opened = HistoryRecord::Opened { generation, at_ms, host_pid, boot_id, from_copy };
        self.history.append(&opened)?;
        self.generation = generation;
        Ok(())
    }

    /// The eval that a key was first used for.
    pub(crate) fn by_key(&mut self, key: &str) -> Option<EvalSeq> {
        self.history.key(key)
    }

    /// The eval that was sent with this token, if it is among the last of this host.
    pub(crate) fn by_token(&self, token: u64) -> Option<EvalSeq> {
        let known = self.tokens.iter().rev().find(|(known, _)| *known == token);
        known.map(|(_, eval)| *eval)
    }

    /// Records that work was accepted; only then may a client be told. With `at_once`, a time of the
    /// session's clock, the same write records that it has started.
    pub(crate) fn accept(
        &mut self,
        taken: Taken<'_>,
        at_once: Option<u64>,
    ) -> Result<EvalSeq, SpoolError> {
        let (eval, at_ms) = (self.next, wall_ms());
        let others = self.others + u64::from(!taken.kind.is_code());
        let accepted = HistoryRecord::Accepted {
            eval,
            at_ms,
            by: taken.by.clone(),
            kind: taken.kind,
            others,
            code: taken.code.to_owned(),
            key: taken.key.map(str::to_owned),
            token: taken.token,
        };
        // Nothing new is recorded before the records that the disk has refused so far.
        self.unsaved.save(&mut self.history)?;
        match at_once {
            None => self.history.append(&accepted)?,
            Some(began_ms) => {
                self.history.append_all(&[accepted, self.started(eval, at_ms)])?;
                self.run(eval, began_ms);
            }
        }
        self.next.0 += 1;
        self.others = others;
        if let Some(token) = taken.token {
            if self.tokens.len() == TOKENS_KEPT {
                self.tokens.pop_front();
            }
            self.tokens.push_back((token, eval));
        }
        Ok(eval)
    }

    /// Records that the eval starts now, if that was not recorded with its acceptance; returns where its part
    /// of the spool begins. After an error its code must not be sent: an eval without a recorded start is
    /// known not to have run.
    pub(crate) fn start(&mut self, eval: EvalSeq, began_ms: u64) -> Result<Offset, SpoolError> {
        if !self.is_current(eval) {
            self.unsaved.save(&mut self.history)?;
            self.history.append(&self.started(eval, wall_ms()))?;
            self.run(eval, began_ms);
        }
        Ok(self.current_start().unwrap_or(self.told))
    }

    fn started(&self, eval: EvalSeq, at_ms: u64) -> HistoryRecord {
        HistoryRecord::Started { eval, generation: self.generation, at_ms, start: self.told }
    }

    fn run(&mut self, eval: EvalSeq, began_ms: u64) {
        let start = self.told;
        self.spool.protect(start);
        self.current = Some(Current {
            eval,
            start,
            began_ms,
            lost: 0,
            not_kept: None,
            line: LastLine::default(),
        });
    }

    /// Keeps bytes of a stream: output of the running eval, or background output.
    pub(crate) fn output(&mut self, stream: Stream, bytes: &[u8]) {
        let kind = ChunkKind::of(stream, self.current.is_none());
        if let Some(current) = &mut self.current {
            current.line.feed(bytes);
        }
        self.append(kind, bytes);
    }

    /// Keeps output that is known to belong to an earlier eval.
    pub(crate) fn background(&mut self, eval: Option<EvalSeq>, stream: Stream, bytes: &[u8]) {
        let kind = ChunkKind::of(stream, true);
        self.spool.append(kind, eval.unwrap_or(self.last), bytes);
    }

    /// Keeps a value, error or other chunk of the running eval.
    pub(crate) fn append(&mut self, kind: ChunkKind, bytes: &[u8]) {
        let eval = self.writer();
        let kept = self.spool.append(kind, eval, bytes);
        if let Some(current) = &mut self.current {
            current.lost += kept.lost;
            current.not_kept = current.not_kept.or(kept.why);
        }
    }

    /// The eval that new output belongs to: the running one, or the last.
    pub(crate) fn writer(&self) -> EvalSeq {
        self.current.as_ref().map_or(self.last, |current| current.eval)
    }

    /// Whether this eval is the one that runs.
    pub(crate) fn is_current(&self, eval: EvalSeq) -> bool {
        self.current.as_ref().is_some_and(|current| current.eval == eval)
    }

    /// Where the running eval's part of the spool begins.
    pub(crate) fn current_start(&self) -> Option<Offset> {
        self.current.as_ref().map(|current| current.start)
    }

    /// The text after the running eval's last line feed.
    pub(crate) fn prompt(&self) -> String {
        self.current.as_ref().map(|current| current.line.prompt()).unwrap_or_default()
    }

    /// The running eval was given a whole line, or the end of its input: its next prompt begins anew.
    pub(crate) fn answered(&mut self) {
        if let Some(current) = &mut self.current {
            current.line.answered();
        }
    }

    /// The last line the running eval wrote.
    pub(crate) fn last_line(&self) -> String {
        self.current.as_ref().map(|current| current.line.show()).unwrap_or_default()
    }

    /// When the running eval began, on the session's clock.
    pub(crate) fn began_ms(&self) -> Option<u64> {
        self.current.as_ref().map(|current| current.began_ms)
    }

    /// Background output before this offset has been part of a reply.
    pub(crate) fn told(&self) -> Offset {
        self.told
    }

    /// Notes that all background output so far has been part of a reply.
    pub(crate) fn tell_background(&mut self) {
        self.told = self.spool.end();
    }

    /// Records an eval's outcome; only then may a client be told. `None` if the disk refuses it for now.
    pub(crate) fn finish(
        &mut self,
        eval: EvalSeq,
        outcome: Outcome,
        mut closing: EvalClosing,
        now_ms: u64,
    ) -> Option<Finished> {
        let end = self.spool.end();
        if !self.history.look() {
            closing.note(HISTORY_GONE.to_owned());
        }
        let current = self.current.take_if(|current| current.eval == eval);
        let finished = Finished {
            outcome,
            generation: self.generation,
            start: current.as_ref().map_or(end, |current| current.start),
            end,
            duration_ms: current.as_ref().map_or(0, |current| now_ms - current.began_ms),
            exit_code: closing.exit_code,
            changed: closing.changed.filter(|changed| !changed.is_empty()),
            lost_bytes: current.as_ref().map_or(0, |current| current.lost),
            not_kept: current.as_ref().and_then(|current| current.not_kept).map(Box::new),
            notice: closing.notice,
            ns: closing.ns,
            interrupted_by: closing.interrupted_by,
            restored: closing.restored,
        };
        if current.is_some() {
            self.last = eval;
            self.told = end;
            self.spool.release(end);
        }
        let record = HistoryRecord::Finished { eval, at_ms: wall_ms(), finished: finished.clone() };
        self.save(record).then_some(finished)
    }

    /// Records that the interpreter has ended.
    pub(crate) fn end_generation(&mut self, reason: EndReason, reported: bool) {
        let (generation, at_ms) = (self.generation, wall_ms());
        self.save(HistoryRecord::Ended { generation, at_ms, reason, reported });
    }

    /// Records that a client was told of the last interpreter's end.
    pub(crate) fn report(&mut self) {
        let (generation, at_ms) = (self.generation, wall_ms());
        // The end that was told is that of the generation before.
        let generation = Generation(generation.0.saturating_sub(1));
        self.save(HistoryRecord::Reported { generation, at_ms });
    }

    /// Records something that has happened; returns whether it is written. A record that the disk refuses is
    /// kept and tried again.
    fn save(&mut self, record: HistoryRecord) -> bool {
        self.unsaved.add(record, &mut self.history)
    }

    /// Tries again to write the records that the disk refused; returns whether none is left.
    pub(crate) fn try_again(&mut self) -> bool {
        self.unsaved.save(&mut self.history).is_ok()
    }

    /// Evals whose outcome was recorded late, with that outcome; each is returned once.
    pub(crate) fn recorded_late(&mut self) -> Vec<(EvalSeq, Finished)> {
        std::mem::take(&mut self.unsaved.recorded)
    }

    /// Drops the oldest ended evals if the history has become too large (SPEC S-12). That takes a moment, so
    /// a busy session may exceed the quota a little.
    pub(crate) fn trim(&mut self, idle: bool) {
        let quota = self.history_quota;
        let enough = if idle { quota } else { quota / 4 * 5 };
        if self.history.used() <= enough || !self.unsaved.is_empty() {
            return;
        }
        if let Err(error) = self.history.trim(quota) {
            stead_interpreter::log_warn!(
                "the oldest evals could not be dropped: {}",
                with_causes(&error)
            );
        }
    }

    /// Whether an eval's records were dropped to make room.
    pub(crate) fn is_gone(&self, eval: EvalSeq) -> bool {
        self.history.is_gone(eval)
    }

    /// Gives back reserved room, because this host is about to exit.
    pub(crate) fn close(&mut self) {
        self.history.close();
    }

    /// The records that the disk has refused so far.
    pub(crate) fn unsaved(&self) -> &Unsaved {
        &self.unsaved
    }
}
