//! Events that the bridge sends.

use stead_protocol::Capability;
use stead_protocol::bridge::{BridgeEvent, Command, Done, DoneStatus, Shown, VERSION};
use stead_protocol::client::Listens;

use super::Tell;
use super::channel::Broken;
use super::interpreter::{BridgeFacts, Interpreter};
use super::interrupt::Hears;
use super::listening::BridgeWord;
use super::pace::Pace;
use super::run::{OWN_PAUSE, OWN_QUESTION, OWN_RESUME};
use super::waking::Waking;
use crate::told::{Restored, Told};

/// How many turns of reading the last events of a bridge get at most; pipes and sockets hold less.
const LAST_TURNS: usize = 16;

impl Interpreter {
    /// Reads events from the bridge's channel; tells all output that was written before them, then the
    /// events.
    pub(super) fn hear(&mut self, tell: Tell<'_>) {
        let mut events = Vec::new();
        self.flush();
        let read = self.read_control(&mut events);
        // Everything written before these events is in the pipes now, and is told first.
        self.drain(tell);
        // A new copy is told before the bridge's answer to the request that asked for the copy.
        if self.copies.expected {
            self.hear_of_copies(tell);
        }
        for event in events {
            self.bridge_event(event, tell);
        }
        match read {
            Ok(()) => {}
            Err(Broken::Closed) => {
                self.replaced = self.is_replaced();
                tell(if self.replaced { Told::Leaving { code: None } } else { Told::Closed });
            }
            Err(Broken::Garbage(message)) => {
                crate::log_warn!("the bridge sent something that is not its protocol: {message}");
                tell(Told::Broken { message });
            }
        }
    }

    /// Deals with all that a bridge has told that has ended. No more comes than is there now, unless a process that it has
    /// left goes on writing.
    pub(super) fn hear_last(&mut self, tell: Tell<'_>) {
        self.hear(tell);
        for _ in 0..LAST_TURNS {
            if !self.is_telling() {
                return;
            }
            self.hear(tell);
        }
    }

    fn bridge_event(&mut self, event: BridgeEvent, tell: Tell<'_>) {
        let Some(event) = self.hear_of_saving(event, tell) else { return };
        let ack = match &event {
            BridgeEvent::Value(Shown { ack, .. }) | BridgeEvent::Display { ack, .. } => *ack,
            _ => false,
        };
        match event {
            BridgeEvent::Hello {
                protocol, version, executable, can, cannot, pid, channel, ..
            } => {
                if protocol != VERSION {
                    let message =
                        format!("the bridge speaks version {protocol}, this stead {VERSION}");
                    return tell(Told::Broken { message });
                }
                self.aim.hears = match () {
                    () if can.has(&Capability::Interrupts) => Hears::Command,
                    () if can.has(&Capability::Shell) => Hears::ShellSignal,
                    () => Hears::Signal,
                };
                self.note_core(pid);
                self.note_channel(channel);
                if can.has(&Capability::SavesAll) {
                    self.note_memory();
                }
                if can.has(&Capability::OwnProcesses) {
                    self.own = self.family.members();
                }
                self.bridge = BridgeFacts::Ready { can: can.clone(), main_tid: pid };
                tell(Told::Ready { version, executable, can, cannot });
            }
            BridgeEvent::Starting { within_ms } => tell(Told::Starting { within_ms }),
            BridgeEvent::NotReady { message, trouble } => tell(Told::NotReady { message, trouble }),
            BridgeEvent::StdinWait { tid, eval, behind, no_timers, secret } => {
                let word = BridgeWord { waits: true, no_timers, behind, secret };
                self.told_of_wait(tid, eval.as_deref(), word, tell);
            }
            BridgeEvent::StdinTurn {} => {
                if let Some(run) = &mut self.run {
                    run.word.behind = None;
                }
            }
            // The pipes were drained before this event.
            BridgeEvent::Sync {} => self.send_at_once(&Command::Ack.encode()),
            BridgeEvent::Done(done) => self.done(done, tell),
            BridgeEvent::Exiting { reason: Some(reason), .. } => tell(Told::Gone { reason }),
            BridgeEvent::Exiting { code, reason: None } => {
                tell(Told::Leaving { code: Some(code) });
            }
            BridgeEvent::Reply { seq: OWN_QUESTION, data, .. } => self.keep_compiled(data),
            BridgeEvent::Reply { seq: OWN_PAUSE, error, .. } => {
                self.pause_answer = Some(error.map_or(Ok(true), Err));
            }
            BridgeEvent::Reply { seq: OWN_RESUME, error, .. } => {
                self.pause_answer = Some(error.map_or(Ok(false), Err));
            }
            BridgeEvent::Reply { seq, data, error } => {
                self.copies.expected = false;
                self.answered(seq);
                // Only the answer to `clear` ends a limit; every other answer leaves the limit of the running
                // eval alone.
                if self.clears == Some(seq) {
                    self.clears = None;
                    self.forget_limit();
                }
                tell(Told::Answer { seq, data, error });
            }
            BridgeEvent::Value(_)
            | BridgeEvent::Error { .. }
            | BridgeEvent::Display { .. }
            | BridgeEvent::Report { .. }
            | BridgeEvent::Background { .. }
            | BridgeEvent::Log { .. } => tell(Told::Said { event }),
            BridgeEvent::Waits { prompt, secret, eval } => {
                self.waits_by_word(prompt, secret, eval.as_deref(), tell);
            }
            BridgeEvent::WaitsNoMore {} => {
                // What was announced may not have been told yet, and must not hold for what is asked next.
                if let Some(run) = &mut self.run {
                    run.word.secret = false;
                }
                self.listens(Listens::No, tell);
            }
            BridgeEvent::Interrupted { eval, error } => {
                self.passed_on(&eval, error.is_none());
                if let Some(error) = error {
                    tell(Told::Notice {
                        text: format!("the interrupt was not passed on: {error}"),
                    });
                }
            }
            BridgeEvent::Figures(usage) => self.elsewhere = usage,
            BridgeEvent::Lost { reason } => {
                tell(Told::ConnectionLost { reason });
            }
            BridgeEvent::Found { reason, gap } => {
                tell(Told::ConnectionBack { reason, gap });
            }
            BridgeEvent::Restored { pid, lost, variables } => {
                self.restored(pid, lost, variables, tell)
            }
            BridgeEvent::Unknown => {}
        }
        // The event is recorded, so all later output of user code stands behind it.
        if ack {
            self.send_at_once(&Command::Ack.encode());
        }
    }

    /// The copy that was told to wake is awake.
    fn restored(&mut self, pid: u32, lost: Vec<String>, variables: Option<u64>, tell: Tell<'_>) {
        let facts = std::mem::take(&mut self.bridge);
        let BridgeFacts::Wakes(waking) = facts else {
            self.bridge = facts;
            let message = "`restored` of one that was not woken".to_owned();
            return tell(Told::Broken { message });
        };
        let Waking { copy, can, exit } = *waking;
        self.bridge = BridgeFacts::Ready { can, main_tid: pid };
        self.wrapped = None;
        self.copies.expected = false;
        let restored = Restored { copy, pid: self.child.pid, exit, lost, variables };
        tell(Told::Restored(Box::new(restored)));
        // A woken copy goes on even if it could not make another copy of itself; that other copy counts as lost.
        if !self.copies.has(copy) {
            tell(Told::CopyLost { copy });
        }
    }

    fn done(&mut self, done: Done, tell: Tell<'_>) {
        let running = self.run.as_ref().map(|run| run.eval.to_string());
        if running.as_deref() != Some(&done.eval) {
            let message = format!("`done` for `{}`, which does not run", done.eval);
            return tell(Told::Broken { message });
        }
        let status = self.judged(done.status, done.exit_code);
        self.pace = Pace::default();
        self.leave_alone(None);
        let children = self.end_interrupt();
        if children > 0 {
            tell(Told::Killed { children });
        }
        self.run = None;
        self.copies.expected = false;
        self.forget_limit();
        self.compiled.want();
        tell(Told::Done(Done { status, ..done }));
        self.drop_input();
    }

    /// How an eval ended. A shell that goes on after an interrupt, to the end of its code, says so with its
    /// exit code. Such an eval counts as interrupted if the signal reached a process that could act on it; if
    /// the processes had ended before or ignore the signal, the eval came to its own end. A bridge that reads
    /// its interrupts by itself may not have read this one yet when a child that the signal ended makes the
    /// code fail.
    fn judged(&self, status: DoneStatus, exit_code: Option<i32>) -> DoneStatus {
        if self.can(Capability::Interrupts) && self.was_taken() {
            return DoneStatus::Interrupted;
        }
        match (
            status,
            exit_code.filter(|_| self.can(Capability::Shell) || self.can(Capability::GoesOn)),
        ) {
            (DoneStatus::Interrupted, Some(0)) if !self.was_taken() => DoneStatus::Ok,
            (DoneStatus::Interrupted, Some(_)) if !self.was_sent() => DoneStatus::Error,
            (status, _) => status,
        }
    }
}
