//! What the host asks for.

use std::time::Duration;

use stead_protocol::EvalId;
use stead_protocol::bridge::{BridgeEvent, Command, DoneStatus};

use super::{
    InputNeed, LeaveStep, NreplAction, NreplInterrupt, NreplPhase, NreplRun, NreplTalk,
    ServerOwner, SourceFile,
};
use crate::edn::{forms, inside, unquoted};
use crate::message::NreplRequest;

/// A value is printed up to so many bytes: an endless sequence has an end, and its beginning is shown.
const MOST_PRINTED: i64 = 64 << 10;
/// After this time a server that had not begun with the code is interrupted again, and later after twice as long each time.
const AGAIN_AFTER: Duration = Duration::from_millis(5);
const MOST_REPEATS: u32 = 8;

impl NreplTalk {
    pub(super) fn command(&mut self, command: &Command<'_>, out: &mut Vec<NreplAction>) {
        match command {
            Command::Eval { id, code } => self.eval(id, code, out),
            Command::Interrupt { id } => self.interrupt(id, out),
            Command::InterruptQuery => self.give_up_question(out),
            Command::Query { seq, what, arg } => self.query(*seq, what, arg, out),
            Command::Clear { seq } => refuse(*seq, "nREPL cannot empty a namespace", out),
            Command::Work { id, what, .. } => {
                out.push(NreplAction::Tell(BridgeEvent::Error {
                    name: "Unsupported".to_owned(),
                    message: format!("`{what}` is not possible with nREPL"),
                    traceback: None,
                    incomplete: false,
                    missing: None,
                }));
                let done = self.done(&id.to_string(), DoneStatus::Error, None);
                out.push(NreplAction::Tell(BridgeEvent::Done(done)));
            }
            Command::Copy { seq } => refuse(*seq, "an nREPL server cannot be copied", out),
            Command::Pause { seq } | Command::Resume { seq } => {
                let why = "the server runs elsewhere, and its protocol knows no pause";
                refuse(*seq, why, out);
            }
            Command::Exit => self.leave(out),
            // The loop keeps track of `ack`; directories are for shell commands; there are no figures.
            Command::Ack | Command::Place(_) | Command::Last | Command::Figures => {}
        }
    }

    /// The file that this code loads, if it does nothing else and the server takes files: `(load-file "src/app.clj")`.
    pub fn loads(&self, code: &str) -> Option<String> {
        let mut all = forms(code);
        let form =
            all.next().filter(|form| form.starts_with('(') && self.facts.can("load-file"))?;
        let words: Vec<&str> = inside(form).collect();
        match (words.as_slice(), all.next()) {
            (["load-file" | "clojure.core/load-file", path], None) if path.starts_with('"') => {
                Some(unquoted(path))
            }
            _ => None,
        }
    }

    /// Has the server load a file that is on this machine.
    pub(super) fn load(&mut self, id: &EvalId, file: &SourceFile, out: &mut Vec<NreplAction>) {
        let name = file.path.rsplit('/').next().unwrap_or_default();
        let (request, message) = self.session_request("load-file");
        let message = message.with("file", &file.text).with("file-path", &file.path);
        self.send_code(id, request, message.with("file-name", name), out);
    }

    fn eval(&mut self, id: &EvalId, code: &str, out: &mut Vec<NreplAction>) {
        let eval = id.to_string();
        // Servers differ in what they do with empty code.
        if code.trim().is_empty() {
            let done = self.done(&eval, DoneStatus::Ok, None);
            out.push(NreplAction::Tell(BridgeEvent::Done(done)));
            return;
        }
        let (request, message) = self.session_request("eval");
        self.send_code(id, request, message.with("code", code), out);
    }

    fn send_code(
        &mut self,
        id: &EvalId,
        request: String,
        mut message: NreplRequest,
        out: &mut Vec<NreplAction>,
    ) {
        let eval = id.to_string();
        if self.facts.prints_as_asked() {
            // The exception comes as data, so that the server does not write it to stderr between output of the code.
            message = message
                .with_number("nrepl.middleware.print/quota", MOST_PRINTED)
                .with("nrepl.middleware.caught/caught", "clojure.core/identity")
                .with_number("nrepl.middleware.caught/print?", 1);
        }
        out.push(NreplAction::Send(message));
        self.evals.remember(&request, &eval);
        self.phase = NreplPhase::Running(Box::new(NreplRun {
            eval,
            request,
            interrupt: NreplInterrupt::No,
            repeats: 0,
            reading: InputNeed::No,
            was_given_input: false,
            held: None,
            values: 0,
            errors: 0,
            went_on: false,
            written: String::new(),
        }));
    }

    fn interrupt(&mut self, id: &EvalId, out: &mut Vec<NreplAction>) {
        let can = self.facts.can("interrupt");
        let NreplPhase::Running(run) = &mut self.phase else { return };
        if run.eval != id.to_string() {
            return;
        }
        let eval = run.eval.clone();
        if !can {
            let error = "this nREPL server knows no interrupt; a restart ends what runs";
            let error = Some(error.to_owned());
            out.push(NreplAction::Tell(BridgeEvent::Interrupted { eval, error }));
            return;
        }
        run.interrupt = NreplInterrupt::Sent;
        run.repeats = 0;
        self.send_interrupt(out);
        out.push(NreplAction::Tell(BridgeEvent::Interrupted { eval, error: None }));
    }

    /// Interrupts the eval that runs, and no other: the server compares the id.
    fn send_interrupt(&mut self, out: &mut Vec<NreplAction>) {
        let NreplPhase::Running(run) = &self.phase else { return };
        let request = run.request.clone();
        let (_, message) = self.session_request("interrupt");
        out.push(NreplAction::Send(message.with("interrupt-id", &request)));
    }

    /// The server says that nothing runs, or something else. It handles requests side by side, so it may not
    /// have begun with the code yet.
    pub(super) fn interrupt_came_too_early(&mut self, out: &mut Vec<NreplAction>) {
        let NreplPhase::Running(run) = &mut self.phase else { return };
        if run.interrupt == NreplInterrupt::Sent && run.repeats < MOST_REPEATS {
            run.interrupt = NreplInterrupt::Again;
            out.push(NreplAction::Wake(AGAIN_AFTER * (1 << run.repeats)));
            run.repeats += 1;
        }
    }

    /// The time that was asked for has passed.
    pub(super) fn due(&mut self, out: &mut Vec<NreplAction>) {
        if let NreplPhase::Running(run) = &mut self.phase
            && run.interrupt == NreplInterrupt::Again
        {
            run.interrupt = NreplInterrupt::Sent;
            self.send_interrupt(out);
        }
        self.stop_dropping(out);
    }

    /// The user has answered what the code waits for.
    pub(super) fn line(&mut self, line: Option<String>, out: &mut Vec<NreplAction>) {
        let ends = self.facts.takes_end_of_input();
        let NreplPhase::Running(run) = &mut self.phase else { return };
        if run.reading != InputNeed::Waits {
            return;
        }
        run.reading = InputNeed::No;
        run.was_given_input = true;
        let text = match line {
            Some(line) => line + "\n",
            None if ends => String::new(),
            None => "\n".to_owned(),
        };
        let (_, message) = self.session_request("stdin");
        out.push(NreplAction::Listen(false));
        out.push(NreplAction::Send(message.with("stdin", &text)));
    }

    /// The user has begun to answer, and the code waits for the end of the line.
    pub(super) fn still_waits(&mut self, out: &mut Vec<NreplAction>) {
        if let NreplPhase::Running(run) = &self.phase
            && run.reading == InputNeed::Waits
        {
            out.push(NreplAction::Tell(waits()));
        }
    }

    /// Leaves the server: what runs is interrupted and its end awaited, then our sessions are closed.
    fn leave(&mut self, out: &mut Vec<NreplAction>) {
        let runs = match &self.phase {
            NreplPhase::Running(run) => Some(run.request.clone()),
            NreplPhase::Asking(question) => Some(question.request.clone()),
            NreplPhase::Dropping(dropping) => Some(dropping.request.clone()),
            NreplPhase::Greeting(_) | NreplPhase::Idle | NreplPhase::Leaving { .. } => None,
        };
        if matches!(self.phase, NreplPhase::Running(_)) && self.facts.can("interrupt") {
            self.send_interrupt(out);
        }
        let busy = runs.is_some();
        match (runs, self.owner) {
            (Some(request), ServerOwner::Others) => {
                self.phase =
                    NreplPhase::Leaving { unanswered: vec![request], step: LeaveStep::Awaiting };
            }
            // A server of ours ends anyway, so the end of its code is not awaited.
            (Some(_), ServerOwner::Ours) | (None, _) => self.close_sessions(out),
        }
        out.push(NreplAction::Leave { busy });
    }

    /// Closes our sessions.
    pub(super) fn close_sessions(&mut self, out: &mut Vec<NreplAction>) {
        let mut unanswered = Vec::new();
        let sessions =
            [std::mem::take(&mut self.session)].into_iter().chain(self.tool_session.take());
        for session in sessions.filter(|session| !session.is_empty()) {
            let (id, message) = self.request("close");
            out.push(NreplAction::Send(message.with("session", &session)));
            unanswered.push(id);
        }
        self.phase = NreplPhase::Leaving { unanswered, step: LeaveStep::Closing };
    }

    /// What is still to be said when there is no time left to leave properly; nobody waits for answers to it.
    pub fn last_words(&mut self) -> Vec<NreplAction> {
        let mut out = Vec::new();
        if matches!(self.phase, NreplPhase::Leaving { step: LeaveStep::Awaiting, .. }) {
            self.close_sessions(&mut out);
        }
        out
    }
}

/// The event that the code waits for a line. The code itself has printed its question.
pub(super) fn waits() -> BridgeEvent {
    BridgeEvent::Waits { prompt: None, secret: false, eval: None }
}

pub(super) fn refuse(seq: u64, why: &str, out: &mut Vec<NreplAction>) {
    let error = Some(why.to_owned());
    out.push(NreplAction::Tell(BridgeEvent::Reply { seq, data: None, error }));
}
