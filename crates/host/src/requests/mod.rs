//! What clients ask for: one file for each request that takes more than a line.

mod acknowledge_loss;
mod checkpoints;
mod clear;
mod follow;
mod hello;
mod input;
mod interrupt;
mod pause;
mod query;
mod status;
mod submit;
mod watch;

use stead_protocol::client::{FromHost, Reply, Request, ToHost};
use stead_protocol::{Refusal, Speaker, Versions, WireError};

use crate::host::Host;
use crate::session::state::{Input, Ticket};

use hello::Greeting;
use input::GivenInput;
pub(crate) use query::{Asker, OpenQuery};
use submit::Answering;

/// Requests that were passed to the lower half and are answered when it tells the result.
#[derive(Debug, Default)]
pub(crate) struct Asked {
    /// Number of the last question or input.
    pub(crate) numbers: u64,
    pub(crate) question: Option<OpenQuery>,
    inputs: Vec<GivenInput>,
    statuses: Vec<Ticket>,
    /// Requests to pause (`true`) or resume.
    pauses: Vec<(Ticket, bool)>,
    /// The host itself has asked whether processes are left that keep the session in use.
    pub(crate) whether_it_serves: bool,
}

impl Host {
    /// Deals with one line of a client.
    pub(crate) fn request(&mut self, connection: u64, line: &[u8]) {
        let parsed: ToHost = match serde_json::from_slice(line) {
            Ok(parsed) => parsed,
            Err(error) => {
                let refusal = Refusal::NotARequest { problem: error.to_string() };
                return self.refuse(Ticket { connection, id: id_of(line) }, refusal);
            }
        };
        let ticket = Ticket { connection, id: parsed.id };
        let greeted = self.clients.connections.get(&connection).is_some_and(|known| known.greeted);
        if !greeted && !matches!(parsed.request, Request::Hello { .. }) {
            return self.refuse(ticket, Refusal::NotGreeted);
        }
        match parsed.request {
            Request::Hello { protocol, versions, program, client, rests } => {
                let versions = Versions::of_peer(protocol, versions);
                self.greet(ticket, Greeting { versions, program, client, rests });
            }
            Request::Submit(submit) => self.submit(ticket, submit, Answering::AtOnce),
            Request::Watch { eval, output, alone } => self.watch(ticket, eval, output, alone),
            Request::Follow { from, output } => self.follow(ticket, from, output),
            Request::Input { eval, text, eof } => self.input(ticket, eval, &text, eof),
            Request::Interrupt { eval, by } => self.interrupt(ticket, eval, by),
            Request::Pause => self.pause(ticket),
            Request::Resume => self.resume(ticket),
            Request::Ready => {
                self.news.awaited = Some(ticket.connection);
                self.news.init = None;
                self.step(Input::Ready(ticket));
            }
            Request::Status => self.ask_status(ticket),
            Request::Restart => {
                self.retry_stdlib();
                self.end_on_request(ticket, Input::Restart);
            }
            Request::Stop => self.end_on_request(ticket, Input::Stop),
            Request::Kill => self.end_on_request(ticket, Input::Kill),
            Request::Clear => self.clear(ticket),
            Request::Query(query) => self.ask_bridge(ticket, &query),
            Request::Checkpoints => self.list_checkpoints(ticket),
            Request::DropCheckpoint { label } => self.forget_checkpoint(ticket, label),
            Request::AcknowledgeLoss => {
                self.acknowledge_loss();
                self.reply(ticket, Reply::DONE);
            }
            Request::Unknown => self.refuse(ticket, unknown("request")),
        }
    }

    /// Ends the interpreter because a client asks for it, who is named with the end if the request decides.
    fn end_on_request(&mut self, ticket: Ticket, input: fn(Ticket) -> Input) {
        let (by, input) = (self.caller(ticket), input(ticket));
        self.ending.askers.note(&input, by);
        self.step(input);
    }

    pub(crate) fn reply(&mut self, ticket: Ticket, reply: Reply) {
        self.send(ticket.connection, &FromHost::Reply { id: ticket.id, reply });
    }

    pub(crate) fn refuse(&mut self, ticket: Ticket, refusal: Refusal) {
        let error = WireError::refused(refusal, &self.meta.name);
        self.send(ticket.connection, &FromHost::Error { id: ticket.id, error });
    }
}

/// The id of a message that is not understood as a whole; 0 if it has none.
fn id_of(line: &[u8]) -> u64 {
    #[derive(serde::Deserialize)]
    struct Numbered {
        id: u64,
    }
    serde_json::from_slice::<Numbered>(line).map(|known| known.id).unwrap_or_default()
}

/// The refusal for a request of a newer client that this version does not know.
fn unknown(what: &str) -> Refusal {
    Refusal::UnknownRequest { what: what.to_owned(), host: Speaker::this() }
}
