//! Work to run: refused, known already, or recorded and queued.

use stead_interpreter::pause;
use stead_protocol::client::{Accepted, FromHost, Reply, Submit, WatchFor};
use stead_protocol::{EvalSeq, MAX_CODE, Refusal, Work};
use stead_spool::HistoryReader;

use super::unknown;
use crate::clients::connection::EvalWatch;
use crate::host::Host;
use crate::record::ledger::Taken;
use crate::session::state::{Eval, Input, Ticket};
use crate::session::work::Pending;
use crate::with_causes;

/// When a submission is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Answering {
    /// As soon as the work is recorded.
    AtOnce,
    /// When the work is over, with its outcome.
    AtEnd,
}

/// Most bytes of code that may wait in the queue.
const QUEUED_CODE_LIMIT: usize = 4 * MAX_CODE;

/// How far back the history is searched for a token.
const TOKENS_SEARCHED: u64 = 4096;

impl Host {
    pub(super) fn submit(&mut self, ticket: Ticket, mut submit: Submit, told: Answering) {
        let work = match self.workable(submit.take_work()) {
            Ok(work) => work,
            Err(error) => return self.refuse(ticket, error),
        };
        let by_key = submit.key.as_deref().and_then(|key| self.ledger.by_key(key));
        let by_token = || submit.token.and_then(|token| self.by_token(token, submit.again));
        if let Some(first) = by_key.or_else(by_token) {
            if self.ledger.is_gone(first) {
                return self.refuse(ticket, Refusal::SentBefore { eval: first });
            }
            let generation = self.ledger.generation();
            let accepted =
                Accepted { eval: first, generation, behind: None, duplicate: true, finished: None };
            self.reply(ticket, Reply::Accepted(accepted));
            return self.begin_watch(ticket.connection, first, submit.watch);
        }
        let cuts_short = self.cuts_short(&work);
        let behind = match self.admit(&work, submit.no_queue, cuts_short) {
            Ok(behind) => behind,
            Err(refusal) => return self.refuse(ticket, refusal),
        };
        let by = submit.by.take().unwrap_or_else(|| self.caller(ticket));
        let at_once = self.state.is_free().then(|| self.clock.now());
        let taken = Taken {
            kind: work.kind(),
            code: &work.code(),
            by: &by,
            key: submit.key.as_deref(),
            token: submit.token,
        };
        let seq = match self.ledger.accept(taken, at_once) {
            Ok(seq) => seq,
            Err(error) => {
                return self.refuse(ticket, Refusal::NotRecorded { why: with_causes(&error) });
            }
        };
        pause::point("accepted");
        let generation = self.ledger.generation();
        let owed = (told == Answering::AtEnd).then_some(ticket);
        let pending = Pending {
            kind: work.kind(),
            by,
            work: Some(work),
            place: submit.place,
            owed,
            ..Pending::default()
        };
        self.pending.insert(seq, pending);
        let accepted = Accepted { eval: seq, generation, behind, duplicate: false, finished: None };
        let accepted = FromHost::Reply { id: ticket.id, reply: Reply::Accepted(accepted) };
        if let (Answering::AtOnce, Some(connection)) =
            (told, self.clients.connections.get_mut(&ticket.connection))
        {
            // An eval that waits behind another, or in a paused session, will not end at once, so its answer is not held back.
            match submit.hold && behind.is_none() && !self.clock.is_paused() {
                true => connection.hold(accepted),
                false => connection.send(&accepted),
            }
            let watch = submit
                .watch
                .map(|watch| EvalWatch { eval: seq, output: watch == WatchFor::Output });
            connection.watches.extend(watch);
            if watch.is_some() {
                self.tell_pause(ticket.connection);
            }
        }
        self.introduce(seq);
        let eval = Eval::asked(seq, submit.hard_timeout_ms);
        match cuts_short {
            true => self.cut_short(eval),
            false => self.step(Input::Submit(eval)),
        }
    }

    /// The eval that was sent with this token before. A client whose host does not answer may give up and
    /// send the same code again: only the first of the two that is read runs. Evals of an earlier host are
    /// searched only if the client says that it sends `again`.
    fn by_token(&self, token: u64, again: bool) -> Option<EvalSeq> {
        let earlier = || {
            let entries = HistoryReader::open(&self.spec.dir).ok()?.last(TOKENS_SEARCHED).ok()?;
            Some(entries.iter().rev().find(|entry| entry.token == Some(token))?.seq)
        };
        self.ledger.by_token(token).or_else(|| again.then(earlier)?)
    }

    /// Refuses work that this host or its interpreter cannot do.
    fn workable(&self, work: Option<Work>) -> Result<Work, Refusal> {
        match work {
            None => {
                let problem = "`submit` has neither `code` nor `work`".to_owned();
                Err(Refusal::NotARequest { problem })
            }
            Some(Work::Unknown) => Err(unknown("work")),
            Some(work) => match (self.cannot_work(work.kind()), work.problem()) {
                (Some(refusal), _) => Err(refusal),
                (None, Some(problem)) => Err(Refusal::NotARequest { problem }),
                (None, None) => Ok(work),
            },
        }
    }

    fn admit(
        &mut self,
        work: &Work,
        no_queue: bool,
        cuts_short: bool,
    ) -> Result<Option<EvalSeq>, Refusal> {
        let bytes = work.size();
        if bytes > MAX_CODE {
            return Err(Refusal::CodeTooLong { bytes, most: MAX_CODE });
        }
        let queued = self.pending.values().filter_map(|pending| pending.work.as_ref());
        let queued: usize = queued.map(Work::size).sum();
        if queued + bytes > QUEUED_CODE_LIMIT {
            return Err(Refusal::QueuedCodeFull { bytes: queued });
        }
        if let (Some(reason), true) = (self.loss.clone(), work.kind().builds_on_state()) {
            self.acknowledge_loss();
            return Err(Refusal::StateLost { reason });
        }
        if work.kind().builds_on_state()
            && let Some(refusal) = self.news.set_back.take()
        {
            return Err(refusal);
        }
        // Work that waits for its turn may find by then what is not there now.
        if let Some(refusal) = self.cannot_copy(work)
            && (cuts_short || self.state.is_free())
        {
            return Err(refusal);
        }
        if cuts_short {
            return Ok(None);
        }
        self.state.admit(no_queue).inspect_err(|refusal| {
            self.ending.reported |= matches!(refusal, Refusal::Ending);
        })
    }
}
