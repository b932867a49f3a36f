//! What the server says while code runs, and after it.

use stead_host_side::cut;
use stead_protocol::bridge::{BridgeEvent, Shown, Stream};

use super::commands::waits;
use super::{
    HeldBack, InputNeed, LeaveStep, NreplAction, NreplPhase, NreplRun, NreplTalk, ServerOwner,
};
use crate::message::NreplMessage;
use crate::trace::ClojureError;

/// How many characters of a value are shown (SPEC O-8).
const MOST_VALUE: usize = 2_000;
/// What is gone with a session of a server that runs on. Users are told that the session's state is gone, and
/// this says what that state was.
pub(crate) const GONE_WITH_SESSION: &str = "gone with it are `*1`, `*e`, `*ns*` and its other bindings; what was defined belongs to the \
                                            server, not to the session, and a new start finds it if the server still runs";
/// How much of what was written to stderr is kept for an error.
const MOST_WRITTEN: usize = 4 << 10;

impl NreplTalk {
    pub(super) fn heard(&mut self, message: NreplMessage, out: &mut Vec<NreplAction>) {
        let leaves = matches!(self.phase, NreplPhase::Leaving { .. });
        if !leaves
            && message.has_status("session-closed")
            && message.text("session") == Some(self.session.clone())
        {
            return self.session_gone(out);
        }
        match &mut self.phase {
            NreplPhase::Greeting(_) => self.greeted(&message, out),
            NreplPhase::Running(run) if run.request == message.id() => {
                self.of_the_eval(&message, out)
            }
            NreplPhase::Dropping(dropping) if dropping.request == message.id() => {
                self.dropped(&message, out);
            }
            NreplPhase::Asking(question) if question.request == message.id() => {
                self.answered(&message, out);
            }
            NreplPhase::Leaving { unanswered, step } => {
                if message.has_status("done") {
                    unanswered.retain(|id| *id != message.id());
                    match (unanswered.is_empty(), *step) {
                        (true, LeaveStep::Closing) => out.push(NreplAction::Left),
                        (true, LeaveStep::Awaiting) => self.close_sessions(out),
                        (false, _) => {}
                    }
                }
            }
            NreplPhase::Idle
            | NreplPhase::Running(_)
            | NreplPhase::Dropping(_)
            | NreplPhase::Asking(_) => self.of_something_else(&message, out),
        }
    }

    fn of_the_eval(&mut self, message: &NreplMessage, out: &mut Vec<NreplAction>) {
        if let Some(namespace) = message.text("ns").filter(|name| !name.is_empty()) {
            self.namespace = Some(namespace);
        }
        let language = "clojure";
        let NreplPhase::Running(run) = &mut self.phase else { return };
        for (key, stream) in [("out", Stream::Out), ("err", Stream::Err)] {
            if let Some(text) = message.text(key).filter(|text| !text.is_empty()) {
                run.show_held(language, out);
                if stream == Stream::Err {
                    run.remember_written(&text);
                }
                out.push(NreplAction::Print(stream, text));
            }
        }
        if let Some(value) = message.text("value") {
            run.show_held(language, out);
            run.values += 1;
            run.went_on |= run.errors > 0;
            let is_cut = !message.list("nrepl.middleware.print/truncated-keys").is_empty();
            run.held = Some(HeldBack::Value(shown(value, is_cut)));
        }
        if let Some(ex) = message.text("ex") {
            run.show_held(language, out);
            run.errors += 1;
            let printed = message.text("nrepl.middleware.caught/throwable");
            let error = printed.as_deref().unwrap_or(&ex);
            let error = ClojureError::printed(error);
            let error = error.unwrap_or_else(|| ClojureError::plain(&ex, &run.written));
            run.written.clear();
            run.held = Some(HeldBack::Error(error));
        }
        if message.has_status("need-input") && run.reading == InputNeed::No {
            // Servers may say `need-input` more than once for one read.
            run.reading = InputNeed::Waits;
            run.show_held(language, out);
            out.push(NreplAction::Tell(waits()));
            out.push(NreplAction::Listen(true));
        }
        if message.has_status("done") {
            self.finish(message, out);
        }
    }

    /// An answer to an interrupt or to input, or output of code that is over.
    fn of_something_else(&mut self, message: &NreplMessage, out: &mut Vec<NreplAction>) {
        if message.has_status("session-idle") || message.has_status("interrupt-id-mismatch") {
            return self.interrupt_came_too_early(out);
        }
        let eval = self.evals.eval_of(&message.id());
        for (key, stream) in [("out", Stream::Out), ("err", Stream::Err)] {
            if let Some(text) = message.text(key).filter(|text| !text.is_empty()) {
                let eval = eval.clone();
                out.push(NreplAction::Tell(BridgeEvent::Background { eval, stream, text }));
            }
        }
    }

    /// Somebody has closed our session in the server.
    pub(super) fn session_gone(&mut self, out: &mut Vec<NreplAction>) {
        let after = match self.owner {
            // A server of ours ends with the session.
            ServerOwner::Ours => String::new(),
            ServerOwner::Others => format!("; {GONE_WITH_SESSION}"),
        };
        let reason = Some(format!("the server has closed the session{after}"));
        out.push(NreplAction::Tell(BridgeEvent::Exiting { code: 1, reason }));
        self.phase = NreplPhase::Leaving { unanswered: Vec::new(), step: LeaveStep::Closing };
        out.extend([NreplAction::Leave { busy: false }, NreplAction::Left]);
    }
}

impl NreplRun {
    /// Tells what was held back, because something follows.
    pub(super) fn show_held(&mut self, language: &str, out: &mut Vec<NreplAction>) {
        match self.held.take() {
            Some(HeldBack::Value(text)) => out.push(value(text, language, true)),
            Some(HeldBack::Error(error)) => {
                out.push(failed(error, false));
                // Output that is printed next has to stand behind the error.
                out.push(NreplAction::Tell(BridgeEvent::Sync {}));
            }
            None => {}
        }
    }

    fn remember_written(&mut self, text: &str) {
        self.written.push_str(text);
        let over = self.written.len().saturating_sub(MOST_WRITTEN);
        let from = (over..self.written.len()).find(|at| self.written.is_char_boundary(*at));
        self.written.drain(..from.unwrap_or(0));
    }
}

pub(super) fn value(text: String, language: &str, ack: bool) -> NreplAction {
    let type_name = language.to_owned();
    NreplAction::Tell(BridgeEvent::Value(Shown { text, type_name, ack }))
}

pub(super) fn failed(error: ClojureError, incomplete: bool) -> NreplAction {
    let ClojureError { name, message, traceback, .. } = error;
    NreplAction::Tell(BridgeEvent::Error { name, message, traceback, incomplete, missing: None })
}

/// A value within the budget. A value that the server has cut has no end to show.
fn shown(text: String, is_cut: bool) -> String {
    match is_cut {
        true => text.chars().take(MOST_VALUE).chain("…".chars()).collect(),
        false => cut(&text, MOST_VALUE),
    }
}
