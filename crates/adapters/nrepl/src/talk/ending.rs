//! How an eval ends: when the server says `done`.

use stead_protocol::bridge::{Done, DoneStatus};

use super::heard::{failed, value};
use super::{HeldBack, InputNeed, NreplAction, NreplInterrupt, NreplPhase, NreplTalk};
use crate::message::NreplMessage;
use crate::trace::ClojureError;

/// The notice for an eval in which the server went on after an error, as nREPL does.
const WENT_ON: &str = "the forms after the error ran, too: nREPL goes on after one";

impl NreplTalk {
    /// The server says that the eval is over.
    pub(super) fn finish(&mut self, message: &NreplMessage, out: &mut Vec<NreplAction>) {
        let phase = std::mem::replace(&mut self.phase, NreplPhase::Idle);
        let NreplPhase::Running(mut run) = phase else { return };
        if run.reading == InputNeed::Waits {
            out.push(NreplAction::Listen(false));
        }
        let asked = run.interrupt != NreplInterrupt::No;
        let says_so =
            |error: &ClojureError| error.name.contains("Interrupt") || error.name == "ThreadDeath";
        let is_interrupted = match &run.held {
            _ if message.has_status("interrupted") => true,
            Some(HeldBack::Error(error)) => asked && says_so(error),
            Some(HeldBack::Value(_)) | None => false,
        };
        if message.has_status("unknown-session") {
            return self.session_gone(out);
        }
        // A server that refuses code sends the status `error` without an exception.
        if run.errors == 0 && !is_interrupted && message.has_status("error") {
            run.show_held("clojure", out);
            run.errors += 1;
            run.held = Some(HeldBack::Error(refused(message)));
        }
        let status = match (is_interrupted, run.errors) {
            (true, _) => DoneStatus::Interrupted,
            (false, 0) => DoneStatus::Ok,
            (false, _) => DoneStatus::Error,
        };
        match run.held.take() {
            Some(HeldBack::Value(text)) => out.push(value(text, "clojure", false)),
            // An eval that was interrupted needs no error beside its status.
            Some(HeldBack::Error(_)) if is_interrupted => {}
            Some(HeldBack::Error(error)) => {
                // Forms are read one by one: if not even the first was whole, nothing has run.
                let incomplete = error.ends_too_early && run.values == 0 && run.errors == 1;
                out.push(failed(error, incomplete));
            }
            None => {}
        }
        let notice = (run.went_on && !is_interrupted).then(|| WENT_ON.to_owned());
        let done = self.done(&run.eval, status, notice);
        self.end_eval(&run, done, out);
    }

    /// The end of an eval, with the namespace that the next one runs in.
    pub(super) fn done(&self, eval: &str, status: DoneStatus, notice: Option<String>) -> Done {
        Done { notice, ns: self.namespace.clone(), ..Done::new(eval, status) }
    }
}

/// Why the server did not run the code.
fn refused(message: &NreplMessage) -> ClojureError {
    let words: Vec<String> = message
        .statuses()
        .into_iter()
        .filter(|word| !matches!(word.as_str(), "done" | "error"))
        .collect();
    let words = if words.is_empty() { "error".to_owned() } else { words.join(", ") };
    let message = format!("the server did not run the code: {words}");
    ClojureError { name: "Refused".to_owned(), message, traceback: None, ends_too_early: false }
}
