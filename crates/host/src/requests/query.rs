//! Questions about the namespace.

use stead_interpreter::Order;
use stead_protocol::client::{Query, Reply};
use stead_protocol::{Capability, Doing, Refusal};

use super::unknown;
use crate::host::Host;
use crate::session::state::{Input, Phase, Ticket};

/// A query that the bridge has not answered yet.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OpenQuery {
    pub(crate) seq: u64,
    pub(crate) asker: Asker,
}

/// Who gets the answer to a question.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Asker {
    /// A client.
    Client(Ticket),
    /// A client that was told meanwhile that it takes too long.
    Answered,
    /// The running eval, which empties the namespace.
    Clear,
}

impl Host {
    /// Sends a question to the bridge, if nothing else runs.
    pub(super) fn ask_bridge(&mut self, ticket: Ticket, query: &Query) {
        let (what, arg) = match query {
            Query::Vars => (Capability::Vars, ""),
            Query::Inspect { name } => (Capability::Inspect, name.as_str()),
            Query::Complete { text } => (Capability::Complete, text.as_str()),
            Query::Definitions { text } => (Capability::Definitions, text.as_str()),
            Query::Unknown => return self.refuse(ticket, unknown("question")),
        };
        if self.cannot_do(&what) {
            let refusal = self.cannot(what.word());
            return self.refuse(ticket, refusal);
        }
        if self.clock.is_paused() {
            return self.refuse(ticket, Refusal::NamesBusy { doing: Doing::Paused });
        }
        self.step(Input::Query(ticket));
        if !matches!(self.state.phase, Phase::Querying { ticket: Some(asked), .. } if asked == ticket)
        {
            return;
        }
        let seq = self.number(Asker::Client(ticket));
        let what = what.word().to_owned();
        self.orders.push_back(Order::Ask { seq, what, arg: arg.to_owned() });
    }

    /// Gives a question its number.
    pub(crate) fn number(&mut self, asker: Asker) -> u64 {
        self.asked.numbers += 1;
        let seq = self.asked.numbers;
        self.asked.question = Some(OpenQuery { seq, asker });
        seq
    }

    /// Whether the bridge is known not to be able to do something; before its hello nothing is known.
    pub(crate) fn cannot_do(&self, what: &Capability) -> bool {
        self.facts.version.is_some() && !self.facts.can.has(what)
    }

    /// A client whose question takes too long was told so: the answer is not for it any more.
    pub(crate) fn forget_asker(&mut self, ticket: Ticket) {
        if let Some(question) = &mut self.asked.question
            && matches!(question.asker, Asker::Client(asker) if asker == ticket)
        {
            question.asker = Asker::Answered;
        }
    }

    /// The interpreter has ended, so a question that it was asked gets no answer.
    pub(crate) fn nobody_answers(&mut self) {
        let Some(question) = self.asked.question.take() else { return };
        if let Asker::Client(ticket) = question.asker {
            let problem = "the interpreter has ended".to_owned();
            self.refuse(ticket, Refusal::NoAnswer { problem });
        }
    }

    /// The refusal for something that this interpreter cannot do.
    pub(crate) fn cannot(&self, what: &str) -> Refusal {
        let language = self.meta.settings.engine.language.clone();
        Refusal::NotPossible { what: what.to_owned(), language }
    }

    /// Passes the bridge's answer to the asker, unless the asker was answered already.
    pub(crate) fn query_answered(
        &mut self,
        seq: u64,
        data: Option<serde_json::Value>,
        error: Option<String>,
    ) {
        let Some(question) = self.asked.question.take_if(|question| question.seq == seq) else {
            return;
        };
        match (question.asker, error) {
            (Asker::Clear, error) => return self.cleared(data, error),
            (Asker::Answered, _) => {}
            (Asker::Client(ticket), Some(problem)) => {
                self.refuse(ticket, Refusal::NoAnswer { problem });
            }
            (Asker::Client(ticket), None) => {
                let data = data.unwrap_or_default();
                self.reply(ticket, Reply::Query { data });
            }
        }
        self.step(Input::QueryAnswered);
    }
}
