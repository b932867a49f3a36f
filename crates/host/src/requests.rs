//! What clients ask for.

use stead_backend::{Among, Editor};
use stead_launch::tree;
use stead_protocol::bridge::Command;
use stead_protocol::client::{
    Accepted, Event, FromHost, Listens, Query, Reply, Request, Submit, ToHost, VERSION, WatchFor,
};
use stead_protocol::{ErrorCode, EvalSeq, MAX_CODE, WireError};
use stead_spool::HistoryReader;

use crate::background_input::BackgroundInput;
use crate::connection::Watch;
use crate::host::{Compiled, Host};
use crate::ledger::Taken;
use crate::pause;
use crate::state::{Eval, Input, Listening, Phase, Ticket};
use crate::with_causes;

/// Most bytes of code that may wait in the queue.
const QUEUED_CODE_LIMIT: usize = 4 * MAX_CODE;

/// How many tokens are remembered, and how far back the history is searched for one.
const TOKENS_KEPT: usize = 256;
const TOKENS_SEARCHED: u64 = 4096;

/// The number of the host's own question to the bridge; clients' begin at 1.
const OWN_QUESTION: u64 = 0;

/// A question the bridge has not answered yet.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Question {
    seq: u64,
    ticket: Ticket,
    /// `clear` answers without data.
    clears: bool,
}

impl Host {
    /// Deals with one line of a client.
    pub(crate) fn request(&mut self, connection: u64, line: &[u8]) {
        let parsed: ToHost = match serde_json::from_slice(line) {
            Ok(parsed) => parsed,
            Err(error) => {
                let message = format!("not a request: {error}");
                return self.refuse(Ticket { connection, id: 0 }, bad(message));
            }
        };
        let ticket = Ticket { connection, id: parsed.id };
        let greeted = self.connections.get(&connection).is_some_and(|known| known.greeted);
        if !greeted && !matches!(parsed.request, Request::Hello { .. }) {
            return self.refuse(ticket, bad("the first request must be `hello`"));
        }
        match parsed.request {
            Request::Hello { protocol, client, rests } => {
                self.greet(ticket, protocol, &client, rests);
            }
            Request::Submit(submit) => self.submit(ticket, submit),
            Request::Watch { eval, output } => self.watch(ticket, eval, output),
            Request::Input { eval, text, eof } => self.input(ticket, eval, &text, eof),
            Request::Interrupt { eval } => self.step(Input::Interrupt { eval, ticket }),
            Request::Pause => self.pause(ticket),
            Request::Resume => {
                self.resume();
                self.reply(ticket, Reply::Done);
            }
            Request::Ready => self.step(Input::Ready(ticket)),
            Request::Status => {
                let status = Box::new(self.status());
                self.reply(ticket, Reply::Status(status));
            }
            Request::Restart => self.step(Input::Restart(ticket)),
            Request::Stop => self.step(Input::Stop(ticket)),
            Request::Kill => self.step(Input::Kill(ticket)),
            Request::Clear => self.ask_bridge(ticket, None),
            Request::Query(query) => self.ask_bridge(ticket, Some(query)),
            Request::AcknowledgeLoss => {
                self.acknowledge_loss();
                self.reply(ticket, Reply::Done);
            }
            Request::Unknown => self.refuse(
                ticket,
                WireError::new(ErrorCode::Unsupported, "this host does not know the request")
                    .with_hint("the session was started by an older stead: restart it"),
            ),
        }
    }

    pub(crate) fn reply(&mut self, ticket: Ticket, reply: Reply) {
        self.send(ticket.connection, &FromHost::Reply { id: ticket.id, reply });
    }

    fn refuse(&mut self, ticket: Ticket, error: WireError) {
        self.send(ticket.connection, &FromHost::Error { id: ticket.id, error });
    }

    fn greet(&mut self, ticket: Ticket, protocol: u32, client: &str, rests: bool) {
        if protocol != VERSION {
            let message = format!("this host speaks version {VERSION}, the client {protocol}");
            return self.refuse(
                ticket,
                bad(message)
                    .with_hint("the session was started by another stead: stop it with that one"),
            );
        }
        if let Some(connection) = self.connections.get_mut(&ticket.connection) {
            connection.greeted = true;
            connection.rests = rests;
            connection.client = client.chars().take(32).collect();
        }
        let loss = self.loss.as_ref().map(ToString::to_string);
        let generation = self.ledger.generation();
        let evals = self.ledger.evals();
        let dir = Some(self.spec.dir.clone());
        self.reply(ticket, Reply::Hello { protocol: VERSION, generation, loss, evals, dir });
    }

    fn acknowledge_loss(&mut self) {
        if self.loss.take().is_some() {
            self.ledger.report();
        }
    }

    fn submit(&mut self, ticket: Ticket, submit: Submit) {
        let by_key = submit.key.as_deref().and_then(|key| self.ledger.by_key(key));
        let by_token = || submit.token.and_then(|token| self.by_token(token, submit.again));
        if let Some(first) = by_key.or_else(by_token) {
            if self.ledger.is_gone(first) {
                let id = self.eval_id(first);
                let message = format!(
                    "this was sent before, as `{id}`, whose record is gone to make room; it was not run again"
                );
                let error = WireError::new(ErrorCode::EvalNotFound, message)
                    .with_hint("send it with another key to run it again");
                return self.refuse(ticket, error);
            }
            let generation = self.ledger.generation();
            let accepted =
                Accepted { eval: first, generation, behind: None, duplicate: true, finished: None };
            self.reply(ticket, Reply::Accepted(accepted));
            return self.begin_watch(ticket.connection, first, submit.watch);
        }
        let behind = match self.admit(&submit) {
            Ok(behind) => behind,
            Err(error) => return self.refuse(ticket, error),
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
                let why = with_causes(&error);
                let message = format!("the eval could not be recorded, so it was not run: {why}");
                return self.refuse(ticket, WireError::new(ErrorCode::LimitExceeded, message));
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

    fn admit(&mut self, submit: &Submit) -> Result<Option<EvalSeq>, WireError> {
        if submit.code.len() > MAX_CODE {
            let message =
                format!("the code has {} bytes, at most {MAX_CODE} are allowed", submit.code.len());
            return Err(WireError::new(ErrorCode::LimitExceeded, message)
                .with_hint("put data into a file and read it from the code"));
        }
        let queued: usize = self.codes.values().map(String::len).sum();
        if queued + submit.code.len() > QUEUED_CODE_LIMIT {
            let message = format!("{queued} bytes of code wait already");
            return Err(WireError::new(ErrorCode::LimitExceeded, message));
        }
        if let Some(reason) = &self.loss {
            let error = WireError::new(
                ErrorCode::SessionLost,
                format!("the code was not run: the session's earlier state is gone: {reason}"),
            )
            .with_hint("a fresh interpreter is ready; send the code again, after what it needs");
            self.acknowledge_loss();
            return Err(error);
        }
        self.state.admit(submit.no_queue).map_err(|error| {
            self.reported_end |= error.code == ErrorCode::SessionEnded;
            self.with_ids(error)
        })
    }

    /// Errors of the state know numbers only; users know ids.
    fn with_ids(&self, error: WireError) -> WireError {
        let Some(first) = self.state.first() else { return error };
        let id = self.eval_id(first);
        let message = error.message.replace(&format!("eval {}", first.0), &format!("`{id}`"));
        let hint = match error.code {
            ErrorCode::WaitingInput => Some(format!(
                "answer it with `stead input {id} TEXT`, or stop it with `stead interrupt {id}`"
            )),
            ErrorCode::SessionBusy => Some(format!(
                "wait for it with `stead output {id} --wait 30s`, or leave out `--no-queue`"
            )),
            _ => error.hint,
        };
        WireError { code: error.code, message, hint }
    }

    fn watch(&mut self, ticket: Ticket, eval: EvalSeq, output: bool) {
        if eval.0 == 0 || eval.0 > self.ledger.evals() {
            let message = format!("there is no eval `{}`", self.eval_id(eval));
            return self.refuse(ticket, WireError::new(ErrorCode::EvalNotFound, message));
        }
        if self.ledger.is_gone(eval) {
            let message = format!("the record of `{}` is gone to make room", self.eval_id(eval));
            return self.refuse(ticket, WireError::new(ErrorCode::EvalNotFound, message));
        }
        self.reply(ticket, Reply::Watching);
        let watch = if output { WatchFor::Output } else { WatchFor::State };
        self.begin_watch(ticket.connection, eval, Some(watch));
    }

    /// Tells where the eval stands now, then what happens to it.
    fn begin_watch(&mut self, connection: u64, eval: EvalSeq, watch: Option<WatchFor>) {
        let Some(watch) = watch else { return };
        let Some(event) = self.standing(eval) else { return };
        if !matches!(event, Event::Finished { .. })
            && let Some(known) = self.connections.get_mut(&connection)
        {
            known.watches.retain(|known| known.eval != eval);
            known.watches.push(Watch { eval, output: watch == WatchFor::Output });
        }
        self.send(connection, &FromHost::Event(event));
    }

    fn standing(&self, eval: EvalSeq) -> Option<Event> {
        if let Some(run) = self.state.running().filter(|run| run.eval == eval) {
            return Some(match &run.listening {
                Listening::Waits { prompt } => {
                    let (prompt, end) = (prompt.clone(), self.ledger.end());
                    let file = |editor: Editor| editor.file.to_string_lossy().into_owned();
                    let editor = self.editor().map(file);
                    Event::Waiting { eval, prompt, end, editor }
                }
                listening @ (Listening::No | Listening::May) => {
                    // Who asks now knows that nothing happens, and wants to wait nevertheless.
                    let listens =
                        if *listening == Listening::May { Listens::Yes } else { Listens::No };
                    Event::Started { eval, start: self.ledger.current_start()?, listens }
                }
            });
        }
        if let Some(at) = self.state.queue.iter().position(|queued| queued.seq == eval) {
            let before = at.checked_sub(1).map(|before| self.state.queue[before].seq);
            let running = || self.state.running().map(|run| run.eval);
            return Some(Event::Queued { eval, behind: before.or_else(running) });
        }
        if let Some(unrecorded) = self.ledger.unsaved().event(eval) {
            return Some(unrecorded);
        }
        let entry = HistoryReader::open(&self.spec.dir).ok()?.eval(eval).ok()??;
        let (_, finished) = entry.finished?;
        Some(Event::Finished { eval, finished })
    }

    fn input(&mut self, ticket: Ticket, eval: Option<EvalSeq>, text: &str, eof: bool) {
        let running = self.state.running().map(|run| run.eval);
        if let (Some(asked), true) = (eval, eval != running) {
            let id = self.eval_id(asked);
            let error = bad(format!("`{id}` does not run, so nothing was sent to it"))
                .with_hint("leave out the number to answer a background reader");
            return self.refuse(ticket, error);
        }
        self.drain();
        let from = self.ledger.end();
        let Some(bridge) = &mut self.bridge else {
            return self.refuse(ticket, bad("the session has no interpreter"));
        };
        let reader = match running {
            Some(_) => None,
            None => match bridge.stdin_readers(self.pid).first() {
                Some(reader) => Some(*reader),
                None => return self.refuse(ticket, bad("nothing waits for input in this session")),
            },
        };
        let among = if running.is_some() { Among::Young } else { Among::All };
        let given = match bridge.editor(self.pid, among) {
            Some(_) => bridge.answer_editor(text.as_bytes(), eof),
            None => bridge.give_input(text.as_bytes(), eof),
        };
        if let Err(error) = given {
            let message = format!("the input could not be written: {error}");
            return self.refuse(ticket, WireError::new(ErrorCode::LimitExceeded, message));
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

    fn pause(&mut self, ticket: Ticket) {
        tree::freeze(self.pid);
        self.clock.pause();
        self.reply(ticket, Reply::Done);
    }

    pub(crate) fn resume(&mut self) {
        tree::thaw(self.pid);
        self.clock.resume();
    }

    /// Sends a question to the bridge, if nothing else runs; `None` clears the namespace.
    fn ask_bridge(&mut self, ticket: Ticket, query: Option<Query>) {
        let (needed, what, arg) = match &query {
            None => ("clear", "", ""),
            Some(Query::Vars) => ("vars", "vars", ""),
            Some(Query::Inspect { name }) => ("inspect", "inspect", name.as_str()),
            Some(Query::Complete { text }) => ("complete", "complete", text.as_str()),
        };
        if self.facts.version.is_some() && !self.facts.can.iter().any(|can| can == needed) {
            let language = &self.meta.settings.language;
            let message = format!("`{needed}` is not possible in {language}");
            return self.refuse(ticket, WireError::new(ErrorCode::Unsupported, message));
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

    /// Asks the bridge for its compiled form, once, after the first eval of this interpreter.
    pub(crate) fn ask_for_compiled(&mut self) {
        let quiet = matches!(self.state.phase, Phase::Idle { .. }) && self.ledger.evals() > 0;
        if !quiet || !matches!(self.compiled, Compiled::Wanted(_)) {
            return;
        }
        let wanted = std::mem::replace(&mut self.compiled, Compiled::None);
        if let (Compiled::Wanted(file), Some(bridge)) = (wanted, &mut self.bridge)
            && self.facts.can.iter().any(|can| can == "code")
        {
            bridge.send(&Command::Query { seq: OWN_QUESTION, what: "code", arg: "" }.encode());
            self.compiled = Compiled::Asked(file);
        }
    }

    fn keep_compiled(&mut self, data: Option<serde_json::Value>) {
        let asked = std::mem::replace(&mut self.compiled, Compiled::None);
        let (Compiled::Asked(file), Some(data)) = (asked, data) else { return };
        let Some(code) = data["code"].as_str().and_then(decode_hex) else { return };
        // Without the cache the next start is slower and nothing else.
        if let Some(dir) = file.parent() {
            let _ = std::fs::create_dir_all(dir);
        }
        let _ = stead_spool::write_atomically(&file, &code);
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
            (true, Some(message)) => self.refuse(question.ticket, bad(message)),
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

fn bad(message: impl Into<String>) -> WireError {
    WireError::new(ErrorCode::BadRequest, message)
}

fn decode_hex(text: &str) -> Option<Vec<u8>> {
    let digit = |b: u8| (b as char).to_digit(16).map(|digit| digit as u8);
    let pairs = text.as_bytes().chunks_exact(2);
    pairs.map(|pair| Some(digit(pair[0])? << 4 | digit(pair[1])?)).collect()
}
