//! Something to read for whoever waits for it.

use stead_interpreter::Among;
use stead_protocol::client::Reply;
use stead_protocol::{EvalSeq, Refusal};

use crate::background_input::BackgroundInput;
use crate::host::Host;
use crate::state::{Input, Ticket};

impl Host {
    pub(super) fn input(&mut self, ticket: Ticket, eval: Option<EvalSeq>, text: &str, eof: bool) {
        let running = self.state.running().map(|run| run.eval);
        if let (Some(asked), true) = (eval, eval != running) {
            return self.refuse(ticket, Refusal::NotRunning { eval: asked });
        }
        self.drain();
        let from = self.ledger.end();
        let Some(bridge) = &mut self.bridge else {
            return self.refuse(ticket, Refusal::NoInterpreter);
        };
        let reader = match running {
            Some(_) => None,
            None => match bridge.stdin_readers(self.pid).first() {
                Some(reader) => Some(*reader),
                None => return self.refuse(ticket, Refusal::NothingReads),
            },
        };
        let among = if running.is_some() { Among::Young } else { Among::All };
        let given = match bridge.editor(self.pid, among) {
            Some(_) => bridge.answer_editor(text.as_bytes(), eof),
            None => bridge.give_input(text.as_bytes(), eof),
        };
        if let Err(error) = given {
            return self.refuse(ticket, Refusal::InputNotWritten { why: error.to_string() });
        }
        match reader {
            Some(reader) => {
                self.background_input = Some(BackgroundInput::new(ticket, from, reader));
            }
            None => {
                if eof || text.contains('\n') {
                    self.ledger.answered();
                }
                self.step(Input::NotWaiting);
                self.probe.restart();
                self.reply(ticket, Reply::InputTaken { eval: running, from, to: None });
            }
        }
    }
}
