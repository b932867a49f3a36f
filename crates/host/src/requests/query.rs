//! Questions about the namespace, and emptying it.

use stead_interpreter::Order;
use stead_protocol::Refusal;
use stead_protocol::client::{Query, Reply};

use super::unknown;
use crate::host::Host;
use crate::state::{Input, Phase, Ticket};

/// A question the bridge has not answered yet.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Question {
    seq: u64,
    ticket: Ticket,
    /// `clear` answers without data.
    clears: bool,
}

impl Host {
    /// Sends a question to the bridge, if nothing else runs; `None` clears the namespace.
    pub(super) fn ask_bridge(&mut self, ticket: Ticket, query: Option<Query>) {
        let (needed, what, arg) = match &query {
            None => ("clear", "", ""),
            Some(Query::Vars) => ("vars", "vars", ""),
            Some(Query::Inspect { name }) => ("inspect", "inspect", name.as_str()),
            Some(Query::Complete { text }) => ("complete", "complete", text.as_str()),
            Some(Query::Unknown) => return self.refuse(ticket, unknown("question")),
        };
        if self.facts.version.is_some() && !self.facts.can.words().any(|can| can == needed) {
            let language = self.meta.settings.engine.language.clone();
            return self.refuse(ticket, Refusal::NotPossible { what: needed.to_owned(), language });
        }
        self.step(Input::Query(ticket));
        if !matches!(self.state.phase, Phase::Querying { ticket: Some(asked), .. } if asked == ticket)
        {
            return;
        }
        self.asked.numbers += 1;
        let seq = self.asked.numbers;
        self.asked.question = Some(Question { seq, ticket, clears: query.is_none() });
        self.orders.push_back(match query {
            None => Order::Clear { seq },
            Some(_) => Order::Ask { seq, what: what.to_owned(), arg: arg.to_owned() },
        });
    }

    /// The bridge's answer goes to whoever asked, unless that one was told already.
    pub(crate) fn query_answered(
        &mut self,
        seq: u64,
        data: Option<serde_json::Value>,
        error: Option<String>,
    ) {
        let Some(question) = self.asked.question.take_if(|question| question.seq == seq) else {
            return;
        };
        let open = matches!(self.state.phase, Phase::Querying { ticket: Some(_), .. });
        match (open, error) {
            (false, _) => {}
            (true, Some(problem)) => self.refuse(question.ticket, Refusal::NoAnswer { problem }),
            (true, None) if question.clears => {
                self.facts.variables = Some(0);
                self.reply(question.ticket, Reply::Done);
            }
            (true, None) => {
                let data = data.unwrap_or_default();
                self.reply(question.ticket, Reply::Query { data });
            }
        }
        self.step(Input::QueryAnswered);
    }
}
