//! Questions about the namespace, and emptying it.

use stead_protocol::Refusal;
use stead_protocol::bridge::Command;
use stead_protocol::client::{Query, Reply};

use super::unknown;
use crate::compiled::OWN_QUESTION;
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
        self.questions += 1;
        let seq = self.questions;
        self.question = Some(Question { seq, ticket, clears: query.is_none() });
        let arg = self.readable(arg);
        let command = match query {
            None => Command::Clear { seq },
            Some(_) => Command::Query { seq, what, arg: &arg },
        };
        if let Some(bridge) = &mut self.bridge {
            bridge.begin_eval(self.pid);
            bridge.send(&command.encode());
        }
    }

    /// The bridge's answer goes to whoever asked, unless that one was told already.
    pub(crate) fn query_answered(
        &mut self,
        seq: u64,
        data: Option<serde_json::Value>,
        error: Option<String>,
    ) {
        if seq == OWN_QUESTION {
            return self.keep_compiled(data);
        }
        let Some(question) = self.question.take_if(|question| question.seq == seq) else { return };
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
