//! Text for a program that waits for input.

use stead_interpreter::{InputRefusal, Order};
use stead_protocol::client::Reply;
use stead_protocol::{EvalSeq, Offset, Refusal};

use crate::host::Host;
use crate::session::state::{Input, Ticket};

/// Input that was ordered and whose request is not answered yet.
#[derive(Debug)]
pub(crate) struct GivenInput {
    seq: u64,
    ticket: Ticket,
    /// `None` for a reader in the background.
    eval: Option<EvalSeq>,
    /// Whether it completes a line, so that the prompt it answers is over.
    whole: bool,
    /// How far the spool reached when it was written.
    from: Offset,
}

impl Host {
    pub(super) fn input(&mut self, ticket: Ticket, eval: Option<EvalSeq>, text: &str, eof: bool) {
        let running = self.state.running().map(|run| run.eval);
        if let (Some(asked), true) = (eval, eval != running) {
            return self.refuse(ticket, Refusal::NotRunning { eval: asked });
        }
        self.asked.numbers += 1;
        let (seq, whole) = (self.asked.numbers, eof || text.contains('\n'));
        let from = self.ledger.end();
        self.asked.inputs.push(GivenInput { seq, ticket, eval: running, whole, from });
        let eval = running.map(|eval| self.eval_id(eval));
        self.orders.push_back(Order::Input { seq, eval, text: text.to_owned(), eof });
    }

    /// Input was written. Output from here on may be a reaction to it.
    pub(crate) fn input_given(&mut self, seq: u64) {
        let Some(at) = self.asked.inputs.iter().position(|given| given.seq == seq) else { return };
        let from = self.ledger.end();
        let Some(eval) = self.asked.inputs[at].eval else {
            // What the background wrote before, its prompt among it, has not been part of a reply.
            let runs = self.state.running().is_some();
            return self.asked.inputs[at].from = if runs { from } else { self.ledger.told() };
        };
        let given = self.asked.inputs.swap_remove(at);
        if given.whole {
            self.ledger.answered();
        }
        self.step(Input::NotWaiting);
        self.reply(given.ticket, Reply::InputTaken { eval: Some(eval), from, to: None });
    }

    /// The reader in the background has read the input.
    pub(crate) fn input_read(&mut self, seq: u64) {
        let Some(at) = self.asked.inputs.iter().position(|given| given.seq == seq) else { return };
        let given = self.asked.inputs.swap_remove(at);
        let to = Some(self.ledger.end());
        if self.state.running().is_none() {
            self.ledger.tell_background();
        }
        self.reply(given.ticket, Reply::InputTaken { eval: None, from: given.from, to });
    }

    pub(crate) fn input_refused(&mut self, seq: u64, why: InputRefusal) {
        let Some(at) = self.asked.inputs.iter().position(|given| given.seq == seq) else { return };
        let given = self.asked.inputs.swap_remove(at);
        let refusal = match (why, given.eval) {
            (InputRefusal::NoInterpreter, _) => Refusal::NoInterpreter,
            (InputRefusal::NotRunning, Some(eval)) => Refusal::NotRunning { eval },
            (InputRefusal::NoReader | InputRefusal::NotRunning, _) => Refusal::NothingReads,
            (InputRefusal::Failed { message }, _) => Refusal::InputNotWritten { why: message },
            (InputRefusal::Unknown, _) => Refusal::InputNotWritten { why: "unknown".to_owned() },
        };
        self.refuse(given.ticket, refusal);
    }

    /// The interpreter has ended, so nobody will read the input that was given: those requests are answered
    /// now.
    pub(crate) fn readers_are_gone(&mut self) {
        for seq in Vec::from_iter(self.asked.inputs.iter().map(|given| given.seq)) {
            self.input_read(seq);
        }
    }
}
