//! Code to run: refused, known already, or recorded and queued.

use stead_interpreter::pause;
use stead_protocol::client::{Accepted, FromHost, Reply, Submit, WatchFor};
use stead_protocol::{EvalSeq, MAX_CODE, Refusal};
use stead_spool::HistoryReader;

use crate::clients::connection::Watch;
use crate::host::Host;
use crate::ledger::Taken;
use crate::state::{Eval, Input, Ticket};
use crate::with_causes;

/// Most bytes of code that may wait in the queue.
const QUEUED_CODE_LIMIT: usize = 4 * MAX_CODE;

/// How many tokens are remembered, and how far back the history is searched for one.
const TOKENS_KEPT: usize = 256;
const TOKENS_SEARCHED: u64 = 4096;

impl Host {
    pub(super) fn submit(&mut self, ticket: Ticket, submit: Submit) {
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
        let behind = match self.admit(&submit) {
            Ok(behind) => behind,
            Err(refusal) => return self.refuse(ticket, refusal),
        };
        let by = self.connections.get(&ticket.connection).map(|known| known.client.as_str());
        let at_once = self.state.is_free().then(|| self.clock.now());
        let taken = Taken {
            code: &submit.code,
            by: by.unwrap_or_default(),
            key: submit.key.as_deref(),
            token: submit.token,
        };
        let seq = match self.ledger.accept(taken, at_once) {
            Ok(seq) => seq,
            Err(error) => {
                return self.refuse(ticket, Refusal::NotRecorded { why: with_causes(&error) });
            }
        };
        self.remember(submit.token, seq);
        pause::point("accepted");
        let generation = self.ledger.generation();
        self.codes.insert(seq, submit.code);
        self.places.extend(submit.place.map(|place| (seq, place)));
        let accepted = Accepted { eval: seq, generation, behind, duplicate: false, finished: None };
        let accepted = FromHost::Reply { id: ticket.id, reply: Reply::Accepted(accepted) };
        if let Some(connection) = self.connections.get_mut(&ticket.connection) {
            // What waits behind another eval takes its time.
            match submit.hold && behind.is_none() {
                true => connection.hold(accepted),
                false => connection.send(&accepted),
            }
            let watch =
                submit.watch.map(|watch| Watch { eval: seq, output: watch == WatchFor::Output });
            connection.watches.extend(watch);
        }
        self.step(Input::Submit(Eval { seq, hard_timeout: submit.hard_timeout_ms }));
    }

    /// The eval that was sent with this token before. A client whose host does not answer may give up, and send the
    /// same code again: whichever of the two is read first runs, the other does not. What an earlier host took is
    /// looked for only if the client says that it sends `again`.
    fn by_token(&self, token: u64, again: bool) -> Option<EvalSeq> {
        let here = self.tokens.iter().rev().find(|(known, _)| *known == token);
        let earlier = || {
            let entries = HistoryReader::open(&self.spec.dir).ok()?.last(TOKENS_SEARCHED).ok()?;
            Some(entries.iter().rev().find(|entry| entry.token == Some(token))?.seq)
        };
        here.map(|(_, eval)| *eval).or_else(|| again.then(earlier)?)
    }

    fn remember(&mut self, token: Option<u64>, eval: EvalSeq) {
        let Some(token) = token else { return };
        if self.tokens.len() == TOKENS_KEPT {
            self.tokens.pop_front();
        }
        self.tokens.push_back((token, eval));
    }

    fn admit(&mut self, submit: &Submit) -> Result<Option<EvalSeq>, Refusal> {
        if submit.code.len() > MAX_CODE {
            return Err(Refusal::CodeTooLong { bytes: submit.code.len(), most: MAX_CODE });
        }
        let queued: usize = self.codes.values().map(String::len).sum();
        if queued + submit.code.len() > QUEUED_CODE_LIMIT {
            return Err(Refusal::QueuedCodeFull { bytes: queued });
        }
        if let Some(reason) = self.loss.clone() {
            self.acknowledge_loss();
            return Err(Refusal::StateLost { reason });
        }
        self.state.admit(submit.no_queue).inspect_err(|refusal| {
            self.reported_end |= matches!(refusal, Refusal::Ending);
        })
    }
}
