//! Questions about the namespace.

use stead_interpreter::Order;
use stead_protocol::Refusal;
use stead_protocol::client::{Query, Reply};

use super::unknown;
use crate::host::Host;
use crate::session::state::{Input, Phase, Ticket};

/// A question the bridge has not answered yet.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Question {
    pub(crate) seq: u64,
    pub(crate) asker: Asker,
}

/// Who gets the answer to a question.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Asker {
    /// A client.
    Client(Ticket),
    /// The running eval, which empties the namespace.
    Clear,
}

impl Host {
    /// Sends a question to the bridge, if nothing else runs.
    pub(super) fn ask_bridge(&mut self, ticket: Ticket, query: &Query) {
        let (what, arg) = match query {
            Query::Vars => ("vars", ""),
            Query::Inspect { name } => ("inspect", name.as_str()),
            Query::Complete { text } => ("complete", text.as_str()),
            Query::Unknown => return self.refuse(ticket, unknown("question")),
        };
        if self.facts.version.is_some() && !self.can(what) {
            let refusal = self.cannot(what);
            return self.refuse(ticket, refusal);
        }
        self.step(Input::Query(ticket));
        if !matches!(self.state.phase, Phase::Querying { ticket: Some(asked), .. } if asked == ticket)
        {
            return;
        }
        let seq = self.number(Asker::Client(ticket));
        self.orders.push_back(Order::Ask { seq, what: what.to_owned(), arg: arg.to_owned() });
    }

    /// Gives a question its number.
    pub(crate) fn number(&mut self, asker: Asker) -> u64 {
        self.asked.numbers += 1;
        let seq = self.asked.numbers;
        self.asked.question = Some(Question { seq, asker });
        seq
    }

    /// Whether the bridge can do something.
    pub(crate) fn can(&self, what: &str) -> bool {
        self.facts.can.words().any(|can| can == what)
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
        let ticket = match question.asker {
            Asker::Client(ticket) => ticket,
            Asker::Clear => return self.cleared(error),
        };
        let open = matches!(self.state.phase, Phase::Querying { ticket: Some(_), .. });
        match (open, error) {
            (false, _) => {}
            (true, Some(problem)) => self.refuse(ticket, Refusal::NoAnswer { problem }),
            (true, None) => {
                let data = data.unwrap_or_default();
                self.reply(ticket, Reply::Query { data });
            }
        }
        self.step(Input::QueryAnswered);
    }
}
