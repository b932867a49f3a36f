//! Telling a connection what happens to an eval, beginning with where it stands.

use stead_protocol::client::{AsksAhead, Event, FromHost, Listens, Reply, WatchFor};
use stead_protocol::{EvalSeq, Refusal};
use stead_spool::HistoryReader;

use crate::clients::connection::EvalWatch;
use crate::host::Host;
use crate::session::state::{Listening, RunningEval, Ticket};

impl Host {
    pub(super) fn watch(&mut self, ticket: Ticket, eval: EvalSeq, output: bool, alone: bool) {
        if eval.0 == 0 || eval.0 > self.ledger.evals() {
            return self.refuse(ticket, Refusal::NoEval { eval });
        }
        if self.ledger.is_gone(eval) {
            return self.refuse(ticket, Refusal::EvalGone { eval });
        }
        self.reply(ticket, Reply::Watching);
        let watch = if output { WatchFor::Output } else { WatchFor::State };
        self.begin_watch(ticket.connection, eval, Some(watch));
        let found = |run: &RunningEval| run.eval == eval && run.listening.is_alone();
        if alone && self.state.running().is_some_and(found) {
            let (start, by) = (self.ledger.current_start(), self.sent_by(eval));
            if let Some(start) = start {
                let event = Event::Started { eval, start, listens: Listens::Alone, by };
                self.send(ticket.connection, &FromHost::Event(event));
            }
        }
    }

    /// Tells where the eval stands now, then what happens to it.
    pub(super) fn begin_watch(&mut self, connection: u64, eval: EvalSeq, watch: Option<WatchFor>) {
        let Some(watch) = watch else { return };
        let Some(event) = self.standing(eval) else { return };
        if !matches!(event, Event::Finished { .. })
            && let Some(known) = self.clients.connections.get_mut(&connection)
        {
            known.watches.retain(|known| known.eval != eval);
            known.watches.push(EvalWatch { eval, output: watch == WatchFor::Output });
        }
        self.tell_pause(connection);
        self.send(connection, &FromHost::Event(event));
    }

    /// Tells those who wait for queued evals what now keeps these from their turn.
    pub(crate) fn tell_queued(&mut self) {
        let queued: Vec<EvalSeq> = self.state.queue.iter().map(|queued| queued.seq).collect();
        for eval in queued {
            if let Some(event) = self.standing(eval) {
                self.clients.tell_watchers(eval, &event);
            }
        }
    }

    /// Where an eval stands, as an event.
    pub(super) fn standing(&self, eval: EvalSeq) -> Option<Event> {
        if let Some(run) = self.state.running().filter(|run| run.eval == eval) {
            return Some(match &run.listening {
                Listening::Waits(question) => question.clone().into_event(eval, self.ledger.end()),
                listening @ (Listening::No | Listening::May { .. }) => {
                    // A client that asks now knows that the eval makes no progress and wants to wait, so it
                    // is not told `Alone`, which would end its wait, unless it asks for that.
                    let listens =
                        if *listening == Listening::No { Listens::No } else { Listens::Yes };
                    let (start, by) = (self.ledger.current_start()?, self.sent_by(eval));
                    Event::Started { eval, start, listens, by }
                }
            });
        }
        if let Some(at) = self.state.queue.iter().position(|queued| queued.seq == eval) {
            let before = at.checked_sub(1).map(|before| self.state.queue[before].seq);
            let running = || self.state.running().map(|run| run.eval);
            let asks = self.state.running().and_then(|run| match &run.listening {
                Listening::Waits(question) => {
                    Some(AsksAhead { eval: run.eval, prompt: question.prompt.clone() })
                }
                Listening::No | Listening::May { .. } => None,
            });
            return Some(Event::Queued { eval, behind: before.or_else(running), asks });
        }
        if let Some(unrecorded) = self.ledger.unsaved().event(eval) {
            return Some(unrecorded);
        }
        let entry = HistoryReader::open(&self.spec.dir).ok()?.eval(eval).ok()??;
        let (_, finished) = entry.finished?;
        Some(Event::Finished { eval, finished })
    }
}
