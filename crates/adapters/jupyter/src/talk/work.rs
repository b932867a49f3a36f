//! Work that is not code: `save` and `load`, by the helper in a Python kernel. To the kernel it is a silent request, to the host
//! an eval like any other.
//!
//! Paths are those of this machine. A kernel that has the same files writes and reads them itself; with one that has not, the
//! file is sent in pieces, and the adapter writes or reads it here.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};
use stead_protocol::EvalId;
use stead_protocol::bridge::{BridgeEvent, Done, DoneStatus};

use super::ending::{done, error};
use super::{EvalRun, Interrupting, KernelTalk, RunTask, TalkAction, TalkPhase};
use crate::python::{self, FarCopy, WorkEnd, WorkTold};
use crate::transfer::{TransferOrder, Transferred};

/// How much of a file is sent at once. Servers take messages of 10 MiB, and a piece becomes a third longer.
const PIECE: usize = 3 << 20;

/// Work that is asked of the helper.
#[derive(Debug)]
pub(super) struct WorkOrder {
    kind: KernelWork,
    /// The argument as the host gave it.
    argument: String,
    /// Where the path of the argument leads on this machine.
    place: String,
    step: WorkStep,
    /// The helper has said that it needs the source of its saving part.
    with_text: bool,
    /// The reply to the work itself, while its file is sent.
    first: Option<Value>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum KernelWork {
    Save,
    Load,
}

/// How far work is.
#[derive(Debug, Clone, PartialEq, Eq)]
enum WorkStep {
    /// The kernel does the work. `sent` is the copy of the file that it was sent for that.
    Asked { sent: Option<String> },
    /// The kernel has saved a copy, of which `at` bytes have been written here.
    Fetching { copy: FarCopy, report: Option<Value>, at: u64 },
    /// All bytes of the copy have been written here, and the file is put into its place.
    Putting { report: Option<Value> },
    /// The file is being sent to the kernel, and `at` bytes have been sent.
    Sending { copy: Option<String>, at: u64 },
}

impl WorkOrder {
    fn path(&self) -> &str {
        self.argument.split('\n').next().unwrap_or_default()
    }

    fn is_forced(&self) -> bool {
        self.argument.split('\n').nth(1) == Some("force")
    }

    /// Whether a file is on its way.
    fn transfers(&self) -> bool {
        !matches!(self.step, WorkStep::Asked { .. })
    }

    /// The expression that does the work, or asks for the next piece.
    pub(super) fn expression(&self, eval: &str) -> String {
        match &self.step {
            WorkStep::Fetching { copy, at, .. } => {
                python::saving("give_piece", &[json!(copy.path), json!(at), json!(PIECE)], false)
            }
            WorkStep::Asked { .. } | WorkStep::Putting { .. } | WorkStep::Sending { .. } => {
                let sent = match &self.step {
                    WorkStep::Asked { sent } => sent.as_deref(),
                    _ => None,
                };
                let what = match self.kind {
                    KernelWork::Save => "save",
                    KernelWork::Load => "load",
                };
                let arguments = [
                    json!(eval),
                    json!(what),
                    json!(self.argument),
                    json!(self.place),
                    json!(sent.unwrap_or_default()),
                ];
                python::saving("work", &arguments, self.with_text)
            }
        }
    }

    /// An error of ours, named as the helper names its own.
    fn failed(&self, message: String) -> WorkEnd {
        let name = match self.kind {
            KernelWork::Save => "SaveError",
            KernelWork::Load => "LoadError",
        };
        WorkEnd::Failed { name: name.to_owned(), message, traceback: None }
    }
}

impl KernelTalk {
    /// `place` shows where the path of the argument leads on this machine.
    pub(super) fn work(
        &mut self,
        id: &EvalId,
        what: &str,
        argument: &str,
        place: &str,
        out: &mut Vec<TalkAction>,
    ) {
        let eval = id.to_string();
        let kind = match what {
            "save" if self.is_python() => KernelWork::Save,
            "load" if self.is_python() => KernelWork::Load,
            _ => {
                let message = format!("`{what}` is not possible in this Jupyter kernel");
                out.push(error("Unsupported", &message, None, false));
                out.push(TalkAction::Tell(done(&eval, DoneStatus::Error)));
                return;
            }
        };
        let order = WorkOrder {
            kind,
            argument: argument.to_owned(),
            place: place.to_owned(),
            step: WorkStep::Asked { sent: None },
            with_text: false,
            first: None,
        };
        self.begin_run(EvalRun::new(eval, RunTask::Work(order)), out);
    }

    /// The kernel has replied to work, and is idle.
    pub(super) fn work_replied(&mut self, out: &mut Vec<TalkAction>) {
        let TalkPhase::Running(run) = &mut self.phase else { return };
        let RunTask::Work(order) = &mut run.task else { return };
        let reply = run.reply.clone().unwrap_or_default();
        let is_interrupted = run.interrupt != Interrupting::No;
        match python::work_told(&reply) {
            Some(WorkTold::Ended { report, how }) => self.end_work(report, how, out),
            Some(WorkTold::Broken { name, .. }) if name.contains("Interrupt") && is_interrupted => {
                // The interrupt came before the helper was ready for one, or after it was done.
                self.end_work(None, WorkEnd::Interrupted, out);
            }
            Some(WorkTold::Broken { name, message }) => {
                self.end_work(None, WorkEnd::Failed { name, message, traceback: None }, out);
            }
            Some(_) if is_interrupted => self.end_work(None, WorkEnd::Interrupted, out),
            Some(WorkTold::NeedsText) if !order.with_text => {
                order.with_text = true;
                self.ask_work(out);
            }
            Some(WorkTold::Elsewhere { copy: Some(copy), report }) => {
                let (path, force) = (order.path().to_owned(), order.is_forced());
                order.first = Some(reply);
                order.step = WorkStep::Fetching { copy, report, at: 0 };
                out.push(TalkAction::Transfer(TransferOrder::Create { path, force }));
            }
            Some(WorkTold::Elsewhere { copy: None, .. }) => {
                order.step = WorkStep::Sending { copy: None, at: 0 };
                let path = order.path().to_owned();
                out.push(TalkAction::Transfer(TransferOrder::Open { path }));
            }
            Some(WorkTold::Piece(bytes)) => self.take_piece(bytes, out),
            Some(WorkTold::Taken { copy: taken }) => {
                if let WorkStep::Sending { copy, at } = &mut order.step {
                    *copy = Some(taken);
                    let read = TransferOrder::Read { at: *at, most: PIECE };
                    out.push(TalkAction::Transfer(read));
                }
            }
            // If the request itself failed, that is told as it is for code.
            None if reply["status"] != "ok" => self.finish(&reply, out),
            None | Some(WorkTold::NeedsText) => {
                let how = order.failed("the kernel did not answer what it was asked".to_owned());
                self.end_work(None, how, out);
            }
        }
    }

    /// A piece of what was saved elsewhere has come.
    fn take_piece(&mut self, bytes: Vec<u8>, out: &mut Vec<TalkAction>) {
        let TalkPhase::Running(run) = &mut self.phase else { return };
        let RunTask::Work(order) = &mut run.task else { return };
        let WorkStep::Fetching { copy, at, .. } = &mut order.step else { return };
        if bytes.is_empty() || *at + bytes.len() as u64 > copy.size {
            let message =
                format!("what was saved where the kernel runs has changed: `{}`", copy.path);
            let how = order.failed(message);
            return self.end_work(None, how, out);
        }
        *at += bytes.len() as u64;
        out.push(TalkAction::Transfer(TransferOrder::Append(bytes)));
    }

    /// The loop has done something with the file here; decides what is next.
    pub(super) fn transferred(&mut self, came: Transferred, out: &mut Vec<TalkAction>) {
        let TalkPhase::Running(run) = &mut self.phase else { return };
        let RunTask::Work(order) = &mut run.task else { return };
        let is_interrupted = run.interrupt != Interrupting::No;
        match (came, &mut order.step) {
            (Transferred::Failed(trouble), _) => {
                let how = order.failed(trouble.to_string());
                self.end_work(None, how, out);
            }
            // The file is in its place already, so an interrupt comes too late.
            (Transferred::Done, WorkStep::Putting { report }) => {
                let report = report.take();
                self.end_work(report, WorkEnd::Done, out);
            }
            _ if is_interrupted => self.end_work(None, WorkEnd::Interrupted, out),
            (Transferred::Done, WorkStep::Fetching { copy, report, at }) => {
                if *at < copy.size {
                    return self.ask_work(out);
                }
                order.step = WorkStep::Putting { report: report.take() };
                out.push(TalkAction::Transfer(TransferOrder::Finish));
            }
            (Transferred::Done, WorkStep::Sending { at, .. }) => {
                let read = TransferOrder::Read { at: *at, most: PIECE };
                out.push(TalkAction::Transfer(read));
            }
            (Transferred::Piece(piece), WorkStep::Sending { copy, at }) => {
                *at += piece.len() as u64;
                let copy = copy.clone();
                if piece.is_empty() && copy.is_some() {
                    out.push(TalkAction::Transfer(TransferOrder::Abandon));
                    order.step = WorkStep::Asked { sent: copy };
                    return self.ask_work(out);
                }
                let data = BASE64_STANDARD.encode(piece);
                let arguments = [json!(order.path()), json!(copy.unwrap_or_default()), json!(data)];
                let expression = python::saving("take_piece", &arguments, false);
                self.ask_expression(&expression, out);
            }
            (Transferred::Done, WorkStep::Asked { .. })
            | (
                Transferred::Piece(_),
                WorkStep::Asked { .. } | WorkStep::Fetching { .. } | WorkStep::Putting { .. },
            ) => {}
        }
    }

    /// Asks the kernel for what is next.
    fn ask_work(&mut self, out: &mut Vec<TalkAction>) {
        let TalkPhase::Running(run) = &self.phase else { return };
        let RunTask::Work(order) = &run.task else { return };
        let expression = order.expression(&run.eval);
        self.ask_expression(&expression, out);
    }

    fn ask_expression(&mut self, expression: &str, out: &mut Vec<TalkAction>) {
        let phase = std::mem::replace(&mut self.phase, TalkPhase::Idle);
        let TalkPhase::Running(mut run) = phase else { return };
        run.tries = 0;
        self.send_run(&mut run, python::silent(expression), out);
        self.phase = TalkPhase::Running(run);
    }

    /// Removes what work that is given up has left, here and where the kernel runs.
    pub(super) fn leave_work(&mut self, run: &EvalRun, out: &mut Vec<TalkAction>) {
        if let RunTask::Work(order) = &run.task
            && order.transfers()
        {
            out.push(TalkAction::Transfer(TransferOrder::Abandon));
            let drop = python::silent(&python::saving("drop_copies", &[], false));
            self.ask_shell("execute_request", drop, out);
        }
    }

    fn end_work(&mut self, report: Option<Value>, how: WorkEnd, out: &mut Vec<TalkAction>) {
        let Some(mut run) = self.take_run(out) else { return };
        let last = run.reply.take().unwrap_or_default();
        let reply = match &mut run.task {
            RunTask::Work(order) => order.first.take().unwrap_or(last),
            RunTask::Code(_) => last,
        };
        let names = python::names_told(&reply);
        if let Some(data) = report {
            out.push(TalkAction::Tell(BridgeEvent::Report { data }));
        }
        let status = match how {
            WorkEnd::Done => DoneStatus::Ok,
            WorkEnd::Interrupted => DoneStatus::Interrupted,
            WorkEnd::Failed { name, message, traceback } => {
                out.push(error(&name, &message, traceback, false));
                DoneStatus::Error
            }
        };
        if self.leaves(&reply, out) {
            return;
        }
        out.push(TalkAction::Tell(BridgeEvent::Done(Done {
            changed: names.changed,
            variables: names.variables,
            notice: run.notice,
            ..Done::new(run.eval, status)
        })));
    }
}
