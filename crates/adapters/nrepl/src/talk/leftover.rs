//! What code has not read of a line that it was given (SPEC E-9): Clojure's reader keeps the rest, and the next eval would read
//! it without asking. The server is asked to drop it before the eval counts as over.

use std::time::Duration;

use stead_protocol::bridge::{BridgeEvent, Done};

use super::{NreplAction, NreplPhase, NreplRun, NreplTalk};
use crate::message::NreplMessage;

/// How long the server may take to drop unread input.
const DROPPED_WITHIN: Duration = Duration::from_secs(2);

/// The notice if unread input could not be dropped.
const KEPT: &str = "what the code has not read of the given line may be read by the next eval: this server was asked to drop it and did \
                    not say that it has";

/// Empties the reader of a session, from the session for questions, so that the user's `*1` and `*in*` are
/// left alone. A thread of its own does this, because another thread that waits for input holds the reader's
/// lock; while such a thread waits there is no input, so nothing is kept then. With `*skipping-eol*` the
/// reader ends where it would ask for input.
const DROP: &str = r#"
(clojure.core/let [session (clojure.core/some-> (clojure.core/resolve 'nrepl.middleware.session/sessions)
                             clojure.core/deref clojure.core/deref (clojure.core/get "SESSION") clojure.core/meta)
                   asks-not (clojure.core/resolve 'nrepl.middleware.session/*skipping-eol*)
                   ^java.io.Reader reader (:stdin-reader session)
                   ^java.util.Collection queue (:input-queue session)]
  (clojure.core/when (clojure.core/and asks-not reader queue)
    (clojure.core/let [late (clojure.core/atom false) over (clojure.core/promise)]
      (clojure.core/doto
        (java.lang.Thread.
          (clojure.core/fn []
            (clojure.core/with-bindings {asks-not true}
              (.clear queue)
              (clojure.core/while (clojure.core/and (.ready reader) (clojure.core/not @late)) (.read reader))
              (clojure.core/deliver over :dropped))))
        (.setDaemon true)
        (.start))
      (clojure.core/or (clojure.core/deref over 500 nil)
                       (do (clojure.core/reset! late true) :read-by-another)))))
"#;

/// An eval that is over, except that unread input still has to be dropped.
#[derive(Debug)]
pub(super) struct Dropping {
    /// The request that drops the unread input.
    pub(super) request: String,
    /// The end of the eval, which the host is told after that.
    done: Done,
    said: Option<String>,
}

impl NreplTalk {
    /// Whether the server has a reader that keeps what was not read, and a way to get at it.
    pub(super) fn can_drop(&self) -> bool {
        self.facts.prints_as_asked() && self.tool_session.is_some()
    }

    /// Ends an eval: at once, or when what it has not read is dropped.
    pub(super) fn end_eval(&mut self, run: &NreplRun, done: Done, out: &mut Vec<NreplAction>) {
        if !run.was_given_input || !self.can_drop() {
            out.push(NreplAction::Tell(BridgeEvent::Done(done)));
            return;
        }
        let (request, message) = self.request("eval");
        let message = message.with_some("session", self.tool_session.as_deref());
        out.push(NreplAction::Send(message.with("code", &DROP.replace("SESSION", &self.session))));
        out.push(NreplAction::Wake(DROPPED_WITHIN));
        self.phase = NreplPhase::Dropping(Box::new(Dropping { request, done, said: None }));
    }

    /// The server answers the request to drop unread input.
    pub(super) fn dropped(&mut self, message: &NreplMessage, out: &mut Vec<NreplAction>) {
        let NreplPhase::Dropping(dropping) = &mut self.phase else { return };
        dropping.said = message.text("value").or(dropping.said.take());
        if message.has_status("done") {
            self.stop_dropping(out);
        }
    }

    /// Ends the eval, whatever the server has said by now about unread input.
    pub(super) fn stop_dropping(&mut self, out: &mut Vec<NreplAction>) {
        if !matches!(self.phase, NreplPhase::Dropping(_)) {
            return;
        }
        let phase = std::mem::replace(&mut self.phase, NreplPhase::Idle);
        let NreplPhase::Dropping(dropping) = phase else { return };
        let mut done = dropping.done;
        let nothing_kept =
            matches!(dropping.said.as_deref(), Some(":dropped" | ":read-by-another"));
        if !nothing_kept {
            let words = done.notice.take().into_iter().chain([KEPT.to_owned()]);
            done.notice = Some(words.collect::<Vec<_>>().join("; "));
        }
        out.push(NreplAction::Tell(BridgeEvent::Done(done)));
    }
}
