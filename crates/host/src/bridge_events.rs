//! What the interpreter says and writes: events of its bridge, bytes of its pipes.

use std::time::Instant;

use stead_interpreter::{Bridge, Broken, Hears};
use stead_protocol::bridge::{BridgeEvent, Command, Done, DoneStatus, Shown, Stream};
use stead_protocol::{ChunkKind, ErrorInfo, EvalId, ValueInfo};
use stead_spool::SessionDir;

use crate::disk;
use crate::host::Host;
use crate::ledger::Closing;
use crate::pace::Pace;
use crate::pause;
use crate::state::Input;

/// How much of what an interpreter says before its hello is kept for the error message.
const START_COMPLAINT: usize = 2_000;

impl Host {
    pub(crate) fn read_bridge(&mut self) {
        let mut events = Vec::new();
        let Some(bridge) = &mut self.bridge else { return };
        bridge.flush();
        let read = bridge.read_control(&mut events);
        // Everything written before these events is in the pipes now, and goes before them.
        self.drain();
        for event in events {
            self.bridge_event(event);
        }
        match read {
            Ok(()) => {}
            Err(Broken::Closed) => {
                self.replaced = self.bridge.as_ref().is_some_and(Bridge::is_replaced);
                self.step(if self.replaced { Input::Leaving } else { Input::Closed });
            }
            Err(Broken::Garbage(message)) => {
                eprintln!("the bridge sent something that is not its protocol: {message}");
                self.step(Input::Broken(message));
            }
        }
    }

    pub(crate) fn drain(&mut self) {
        let (Some(bridge), ledger) = (&mut self.bridge, &mut self.ledger) else { return };
        let (starting, complaint) = (self.facts.version.is_none(), &mut self.complaint);
        let probe = &mut self.probe;
        bridge.drain(|stream, bytes| {
            ledger.output(stream, bytes);
            probe.stir();
            if starting {
                complain(complaint, bytes);
            }
        });
    }

    /// Reads from the pipes that are ready, in the order in which they were written to.
    pub(crate) fn read_streams(&mut self, ready: [bool; 2]) {
        let Some(bridge) = &self.bridge else { return };
        for stream in bridge.stream_order(ready) {
            self.read_stream(stream);
        }
        let resting = self.pace.resting(Instant::now());
        if let Some(bridge) = &mut self.bridge {
            bridge.leave_alone(resting);
        }
    }

    fn read_stream(&mut self, stream: Stream) {
        let (Some(bridge), ledger) = (&mut self.bridge, &mut self.ledger) else { return };
        let (starting, complaint) = (self.facts.version.is_none(), &mut self.complaint);
        let (probe, pace) = (&mut self.probe, &mut self.pace);
        bridge.read_stream(stream, |bytes| {
            pace.note(stream, bytes.len(), Instant::now());
            ledger.output(stream, bytes);
            probe.stir();
            if starting {
                complain(complaint, bytes);
            }
        });
    }

    pub(crate) fn bridge_event(&mut self, event: BridgeEvent) {
        match event {
            BridgeEvent::Hello { protocol, version, can, pid, .. } => {
                if protocol != stead_protocol::bridge::VERSION {
                    let message = format!("the bridge speaks version {protocol}, the host 1");
                    return self.step(Input::Broken(message));
                }
                self.facts.version = Some(version);
                if let Some(bridge) = &mut self.bridge {
                    let says = |what: &str| can.words().any(|can| can == what);
                    bridge.set_hears(match () {
                        () if says("interrupts") => Hears::Command,
                        () if says("shell") => Hears::ShellSignal,
                        () => Hears::Signal,
                    });
                }
                self.facts.can = can;
                self.facts.main_tid = pid;
                self.get_ready();
            }
            BridgeEvent::Value(Shown { text, type_name, ack }) => {
                self.keep(ChunkKind::Value, &ValueInfo { text, type_name });
                self.ack(ack);
            }
            BridgeEvent::Error { name, message, traceback } => {
                self.keep(ChunkKind::Error, &ErrorInfo { name, message, traceback });
            }
            BridgeEvent::Display { mime, data, note, ack, .. } => {
                let display = self.displays.keep(self.ledger.writer(), mime, data, note);
                self.keep(ChunkKind::Display, &display);
                self.ack(ack);
            }
            BridgeEvent::Background { eval, stream, text } => {
                let eval = eval.and_then(|id| id.parse::<EvalId>().ok()).map(|id| id.seq);
                self.ledger.background(eval, stream, text.as_bytes());
            }
            BridgeEvent::StdinWait { tid, eval, behind, no_timers } => {
                self.told_of_wait(tid, eval.as_deref(), behind, no_timers);
            }
            BridgeEvent::StdinTurn {} => self.told.behind = None,
            // The pipes were drained before this event.
            BridgeEvent::Sync {} => self.ack(true),
            BridgeEvent::Done(Done { eval, status, exit_code, changed, variables, notice }) => {
                let running = self.state.running().map(|run| self.eval_id(run.eval).to_string());
                if running.as_deref() != Some(&eval) {
                    return self
                        .step(Input::Broken(format!("`done` for `{eval}`, which does not run")));
                }
                pause::point("done");
                let status = self.judged(status, exit_code);
                self.pace = Pace::default();
                if let Some(bridge) = &mut self.bridge {
                    bridge.leave_alone(None);
                }
                self.facts.variables = variables.or(self.facts.variables);
                let notice = match status {
                    DoneStatus::Unknown => Some(
                        "its bridge says of its end what this version of stead does not know"
                            .to_owned(),
                    ),
                    DoneStatus::Ok | DoneStatus::Error | DoneStatus::Interrupted => notice,
                };
                self.closing = Closing { exit_code, changed, notice };
                self.step(Input::Done(status));
            }
            BridgeEvent::Exiting { code, .. } => {
                self.closing = Closing { exit_code: Some(code), ..Closing::default() };
                self.step(Input::Leaving);
            }
            BridgeEvent::Reply { seq, data, error } => self.query_answered(seq, data, error),
            BridgeEvent::Log { text } => {
                disk::bound_log(&SessionDir::new(&self.spec.dir).log());
                eprintln!("bridge: {text}");
            }
            BridgeEvent::Waits { .. }
            | BridgeEvent::WaitsNoMore {}
            | BridgeEvent::Interrupted { .. }
            | BridgeEvent::Figures(_)
            | BridgeEvent::Lost { .. }
            | BridgeEvent::Found { .. }
            | BridgeEvent::Unknown => {}
        }
    }

    fn can(&self, what: &str) -> bool {
        self.facts.can.words().any(|can| can == what)
    }

    /// How an eval ended. A shell that went on after an interrupt to its code's own end says so by giving
    /// the code: then it was interrupted if the signal came to something that could take it. What had
    /// ended before, or ignores the signal, came to its own end.
    /// One that reads its interrupts by itself may not have come to it when a child that the signal ended
    /// takes its code along.
    fn judged(&self, status: DoneStatus, exit_code: Option<i32>) -> DoneStatus {
        let overtaken =
            self.can("interrupts") && self.bridge.as_ref().is_some_and(Bridge::was_taken);
        if overtaken {
            return DoneStatus::Interrupted;
        }
        let goes_on = self.keeps_nothing() || self.can("shell");
        match (status, exit_code.filter(|_| goes_on), &self.bridge) {
            (DoneStatus::Interrupted, Some(0), Some(bridge)) if !bridge.was_taken() => {
                DoneStatus::Ok
            }
            (DoneStatus::Interrupted, Some(_), Some(bridge)) if !bridge.was_sent() => {
                DoneStatus::Error
            }
            (status, _, _) => status,
        }
    }

    pub(crate) fn keep(&mut self, kind: ChunkKind, payload: &impl serde::Serialize) {
        if let Ok(bytes) = serde_json::to_vec(payload) {
            self.ledger.append(kind, &bytes);
        }
    }

    pub(crate) fn ack(&mut self, wanted: bool) {
        if let Some(bridge) = self.bridge.as_mut().filter(|_| wanted) {
            bridge.send(&Command::Ack.encode());
        }
    }

    /// Wakes, when it is time, an interpreter that has not acted on an interrupt.
    pub(crate) fn nudge(&mut self) {
        if self.nudges.is_due()
            && let Some(bridge) = &mut self.bridge
        {
            let killed = bridge.nudge(self.pid);
            if killed > 0 {
                self.killed(killed);
            }
        }
    }
}

pub(crate) fn complain(complaint: &mut Vec<u8>, bytes: &[u8]) {
    complaint.extend_from_slice(bytes);
    let over = complaint.len().saturating_sub(START_COMPLAINT);
    complaint.drain(..over);
}
