//! What the lower half tells is recorded, and turned into inputs of the state.

use stead_interpreter::{Exit, Order, Told, pause};
use stead_protocol::bridge::{BridgeEvent, Done, DoneStatus, Shown, Stream};
use stead_protocol::client::{Event, Listens};
use stead_protocol::{
    Capability, ChunkKind, DisplayInfo, EndReason, ErrorInfo, EvalId, FoundInterpreter, ValueInfo,
    WorkKind,
};
use stead_spool::SessionDir;

use crate::host::{Facts, Host, Launch};
use crate::life::wall_clock::wall_ms;
use crate::record::disk;
use crate::record::ledger::{Beginning, EvalClosing};
use crate::session::state::{Input, LEAVE_GRACE, Listening, Phase, Question, Why};
use crate::with_causes;

impl Host {
    /// Deals with one thing that the lower half tells. Orders that follow from it are added to `orders`.
    pub(crate) fn told(&mut self, told: Told<'_>) {
        match told {
            Told::Prepared { found } => self.prepared(found),
            Told::Refused { message, trouble } => {
                let message = self.with_reason(message);
                self.refused(EndReason::launch_failed(message, trouble));
            }
            Told::Started { .. } => {}
            Told::Ready { version, executable, can, cannot } => {
                self.facts.version = Some(version);
                self.name_interpreter(executable);
                self.state.leaves = can.has(&Capability::Leaves);
                self.facts.can = can;
                self.facts.cannot = cannot;
                self.log_ready();
                if !self.load_text() {
                    self.state_changed();
                    self.get_ready();
                }
            }
            Told::Output { stream, bytes } => {
                self.library.hear_output();
                self.ledger.output(stream, &bytes);
            }
            Told::Said { event } => self.said(event),
            Told::Answer { seq, data, error } => {
                if !self.copy_answered(seq, data.as_ref(), error.as_deref()) {
                    self.query_answered(seq, data, error);
                }
            }
            Told::Done(Done {
                status,
                nothing_ran,
                exit_code,
                changed,
                variables,
                notice,
                ns,
                ..
            }) => {
                pause::point("done");
                if nothing_ran {
                    self.library.hear_nothing_ran();
                }
                if self.goes_on_loading(status) {
                    return;
                }
                let status = self.library.judge(status);
                self.facts.variables = variables.or(self.facts.variables);
                let notice = match status {
                    DoneStatus::Unknown => Some(
                        "its bridge says of its end what this version of stead does not know"
                            .to_owned(),
                    ),
                    DoneStatus::Ok | DoneStatus::Error | DoneStatus::Interrupted => notice,
                };
                let noted = self.closing.notice.take();
                self.closing =
                    EvalClosing { exit_code, changed, ns, notice: noted, ..EvalClosing::default() };
                notice.into_iter().for_each(|notice| self.closing.note(notice));
                if nothing_ran {
                    self.none_of_it_ran();
                }
                self.done(status);
            }
            Told::Leaving { code } => {
                self.closing.exit_code = code.or(self.closing.exit_code);
                self.step(Input::Leaving);
            }
            Told::NotReady { message, trouble } => {
                if self.facts.version.is_none() {
                    self.launch = Launch::Useless { why: message, trouble };
                    // It is to exit by itself now, and does not get the time that a start may take.
                    self.step(Input::Starting { within: LEAVE_GRACE });
                }
            }
            Told::Gone { reason } => self.step(Input::Gone(reason)),
            Told::Starting { within_ms } => self.step(Input::Starting { within: within_ms }),
            Told::Closed => self.step(Input::Closed),
            Told::Broken { message } => {
                // One that was never ready had no state that could be lost.
                if let Phase::Starting { .. } = self.state.phase {
                    let why = EndReason::Protocol { message: message.clone() }.to_string();
                    self.launch = Launch::Useless { why, trouble: None };
                }
                self.step(Input::Broken(message));
            }
            Told::Waits { prompt, editor, secret } => self.waits(prompt, editor, secret),
            Told::Listens { listens } => self.listens(listens),
            Told::Killed { children } => self.step(Input::ChildrenKilled(children)),
            Told::Overdue { step } => {
                self.library.hear_overdue();
                self.step(Input::Overdue(step));
            }
            Told::InputGiven { seq } => self.input_given(seq),
            Told::InputRead { seq } => self.input_read(seq),
            Told::InputRefused { seq, why } => self.input_refused(seq, why),
            Told::Paused { paused } => self.paused(paused),
            Told::NotPaused { message } => self.not_paused(&message),
            Told::Notice { text } => self.notice(text),
            Told::ConnectionLost { reason } => {
                self.connection(&format!("the connection was lost: {reason}"));
            }
            Told::ConnectionBack { reason, gap } => {
                let reason = reason.map(|reason| format!(": {reason}")).unwrap_or_default();
                let gap = if gap { "; output from between may be missing" } else { "" };
                self.connection(&format!("the connection is back{reason}{gap}"));
            }
            Told::Figures(figures) => self.figures(&figures),
            Told::Copied(copied) => self.copied(&copied),
            Told::CopyLost { copy } => self.copy_lost(copy),
            Told::Restored(restored) => self.restored(restored),
            Told::Exited(exit) => self.exited(exit),
            Told::Unknown => {}
        }
    }

    /// The interpreter was found: its generation is recorded before it is started.
    fn prepared(&mut self, found: FoundInterpreter) {
        // The session goes on with an earlier state, which is no new beginning.
        if self.comes_from_text() {
            self.launch = Launch::Recorded;
            return self.orders.push_back(Order::Start);
        }
        // A killed host may have left files of its copies behind.
        self.forget_copies();
        if let Err(error) = self.ledger.open_generation(Beginning::Fresh) {
            let message = with_causes(&error);
            self.launch = Launch::Refused(EndReason::launch_failed(message, None));
            return;
        }
        self.launch = Launch::Recorded;
        if let Some(passed_over) = found.notice() {
            let fresh = self.news.fresh.take().map(|notice| format!("{notice}; "));
            self.news.fresh = Some(fresh.unwrap_or_default() + &passed_over);
        }
        self.meta.found = Some(found);
        self.ending.reported = false;
        let now = wall_ms();
        self.facts = Facts { started_ms: now, last_used_ms: now, ..Facts::default() };
        self.orders.push_back(Order::Start);
    }

    /// Of a session that a command started only the bridge knows what runs: the command may begin with `nice`. A
    /// bridge of the user's own is named itself.
    fn name_interpreter(&mut self, executable: String) {
        let engine = &self.meta.settings.engine;
        if !engine.command.is_empty()
            && engine.bridge.is_none()
            && !executable.is_empty()
            && let Some(found) = &mut self.meta.found
        {
            found.path = executable;
        }
    }

    fn refused(&mut self, reason: EndReason) {
        if self.launch == Launch::Recorded {
            let reason = self.with_untold_loss(reason.clone());
            // The refusal tells that the interpreter does not start, but not which earlier state was lost.
            let reported = reason.loss().is_none();
            self.ledger.end_generation(reason, reported);
        }
        self.launch = Launch::Refused(reason);
    }

    fn said(&mut self, event: BridgeEvent) {
        match event {
            BridgeEvent::Value(Shown { text, type_name, .. }) => {
                self.keep(ChunkKind::Value, &ValueInfo { text, type_name });
            }
            BridgeEvent::Error { name, message, traceback, incomplete, missing } => {
                if self.library.hear_error(&name, &message) {
                    return;
                }
                self.note_init_error(&name, &message);
                let error = ErrorInfo { name, message, traceback, incomplete, missing };
                self.keep(ChunkKind::Error, &error);
            }
            BridgeEvent::Display { mime, data, note, id, update, .. } => {
                let kept = self.displays.keep(self.ledger.writer(), mime, data, note);
                self.keep(ChunkKind::Display, &DisplayInfo { id, update, ..kept });
            }
            BridgeEvent::Report { data } => self.report(data),
            BridgeEvent::Background { eval, stream, text } => {
                let eval = eval.and_then(|id| id.parse::<EvalId>().ok()).map(|id| id.seq);
                self.ledger.background(eval, stream, text.as_bytes());
            }
            BridgeEvent::Log { text } => {
                disk::bound_log(&SessionDir::new(&self.spec.dir).log());
                stead_interpreter::log_warn!("bridge: {text}");
            }
            // The other events reach the host as tellings of their own.
            _ => {}
        }
    }

    pub(crate) fn keep(&mut self, kind: ChunkKind, payload: &impl serde::Serialize) {
        if let Ok(bytes) = serde_json::to_vec(payload) {
            self.ledger.append(kind, &bytes);
        }
    }

    /// The running eval waits for input; all it wrote before is in the spool.
    fn waits(&mut self, prompt: Option<String>, editor: Option<String>, secret: bool) {
        let Some(eval) = self.state.running().map(|run| run.eval) else { return };
        let prompt = match &editor {
            Some(file) => format!("edit {file}"),
            None => prompt.unwrap_or_else(|| self.ledger.prompt()),
        };
        let unheard = self.library.hear_question();
        let question = Question { prompt, editor, secret };
        self.step(Input::Waiting(question.clone()));
        // A standard library that asks for input is stopped, so no client is told of its question.
        if unheard {
            return;
        }
        let end = self.ledger.end();
        self.tell(eval, || question.clone().into_event(eval, end));
        self.tell_queued();
    }

    /// The running eval listens, or no longer does.
    fn listens(&mut self, listens: Listens) {
        let Some(run) = self.state.running() else { return };
        let (eval, waited) = (run.eval, matches!(run.listening, Listening::Waits(_)));
        let unheard = listens == Listens::Alone && self.library.hear_question();
        self.step(match listens {
            Listens::No => Input::NotWaiting,
            Listens::Yes => Input::MayWait { alone: false },
            Listens::Alone => Input::MayWait { alone: true },
        });
        // The client that was told about the wait has stopped watching, so it is not told of its end.
        if unheard || (waited && listens == Listens::No) {
            return;
        }
        let Some(start) = self.ledger.current_start() else { return };
        let by = self.sent_by(eval);
        self.tell(eval, || Event::Started { eval, start, listens, by: by.clone() });
    }

    /// The bridge has lost the connection to the place where the code runs, or has it back. A line in the
    /// eval's output says so, since it explains why no output comes.
    fn connection(&mut self, what: &str) {
        self.ledger.output(Stream::Err, format!("[{what}]\n").as_bytes());
    }

    /// Adds a notice to the running eval's outcome. While no eval runs, the notice goes to the log.
    fn notice(&mut self, text: String) {
        match self.state.running() {
            Some(_) => self.closing.note(text),
            None => stead_interpreter::log_warn!("bridge: {text}"),
        }
    }

    fn exited(&mut self, exit: Exit) {
        self.ending.left = !exit.left.is_empty();
        if self.starts_from_text(&exit) {
            return;
        }
        self.leave_old_interpreter();
        let from_text = self.comes_from_text();
        self.forget_copies();
        let reason = match (&exit.not_restored, &self.state.phase) {
            (Some(message), Phase::RollingBack(_)) => {
                EndReason::NotRestored { message: message.clone() }
            }
            _ if from_text => {
                let message = format!("its text could not be loaded: {}", end_reason(&exit));
                EndReason::NotRestored { message }
            }
            _ => end_reason(&exit),
        };
        let reason = match &self.launch {
            Launch::Useless { why, trouble } => {
                EndReason::launch_failed(self.with_reason(why.clone()), trouble.clone())
            }
            _ if self.facts.version.is_none() => self.not_ready(&reason, &exit.complaint),
            _ => reason,
        };
        if self.closing.exit_code.is_none() {
            self.closing.exit_code = exit.code;
        }
        self.step(Input::Exited(reason));
    }

    /// An interpreter has ended: what was asked of it gets no answer.
    pub(crate) fn leave_old_interpreter(&mut self) {
        self.readers_are_gone();
        // A bridge that was asked to pause its code will not answer once it has ended.
        self.not_paused("the interpreter has ended");
        self.forget_taking();
        self.nobody_answers();
        // Followers were told of the pause, so they are told that it is over.
        if self.clock.is_paused() {
            self.paused(false);
        }
    }

    /// The code that was sent could not be run, so the state is as it was.
    fn none_of_it_ran(&mut self) {
        let running = self.state.running().map(|run| run.eval);
        if let Some(pending) = running.and_then(|eval| self.pending.get_mut(&eval)) {
            pending.nothing_ran = true;
        }
    }

    /// The bridge says that the running eval is over.
    fn done(&mut self, status: DoneStatus) {
        let running = self.state.running().map(|run| run.eval);
        let kind = running.and_then(|eval| self.pending.get(&eval)).map(|pending| pending.kind);
        // Some bridges report an exit status for any work, also for loading a text when the session goes back.
        // Only the exit status of code is the user's.
        let goes_back = matches!(self.state.phase, Phase::RollingBack(_));
        if goes_back || kind.is_some_and(|kind| !kind.is_code()) {
            self.closing.exit_code = None;
        }
        if self.text_loaded(status == DoneStatus::Ok) {
            return;
        }
        if let (Some(eval), Some(WorkKind::Checkpoint)) = (running, kind)
            && let Some(problem) = self.end_checkpoint(eval, status == DoneStatus::Ok)
        {
            return self.fail_work(WorkKind::Checkpoint.error_name(), problem.to_owned());
        }
        let is_overdue = self.state.running().is_some_and(|run| run.overdue.is_some());
        if is_overdue && matches!(status, DoneStatus::Ok | DoneStatus::Error) {
            let notice =
                "its hard timeout had passed: it was interrupted and went on to an end of its own";
            self.closing.note(notice.to_owned());
        }
        self.step(Input::Done(status));
    }

    /// Why an interpreter that never said hello could not be started.
    fn not_ready(&self, reason: &EndReason, said: &str) -> EndReason {
        let path = self.meta.found.as_ref().map(|found| found.path.as_str()).unwrap_or_default();
        let colon = if said.is_empty() { "" } else { ": " };
        let why = match &self.state.phase {
            Phase::Ending { why: Why::TooSlow, .. } => {
                "it did not say that it is ready in time, so it was ended".to_owned()
            }
            _ => reason.to_string(),
        };
        let message = format!("`{path}` was not ready ({why}){colon}{said}");
        EndReason::launch_failed(self.with_reason(message), None)
    }

    /// What went wrong with a start, and which file and line chose the program, if one did.
    fn with_reason(&self, message: String) -> String {
        match &self.meta.settings.engine.because {
            Some(because) => format!("{message} ({because})"),
            None => message,
        }
    }
}

/// How an interpreter ended, for the record.
pub(crate) fn end_reason(exit: &Exit) -> EndReason {
    match (exit.code, exit.signal) {
        (Some(code), _) if exit.replaced => EndReason::Replaced { code },
        (_, Some(signal)) if exit.replaced => EndReason::Replaced { code: 128 + signal },
        (Some(code), _) => EndReason::Exit { code },
        (None, Some(signal)) => EndReason::Signal { signal },
        (None, None) => EndReason::Exit { code: 0 },
    }
}
