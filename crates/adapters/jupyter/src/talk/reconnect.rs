//! After a cut: what was lost with the connection has no answer any more, and is found out by a question that has one.
//!
//! Requests are answered in order, and so is what a kernel publishes. When the answer to a question that was sent after the
//! cut has come, answers to earlier requests that have not come were lost.

use std::time::Duration;

use serde_json::json;
use stead_protocol::bridge::{DoneStatus, Stream};

use super::commands::refuse;
use super::ending::{done, error};
use super::published::{show_display, show_value};
use super::{EvalAge, EvalStage, KernelChannel, KernelTalk, TalkAction, TalkPhase, TalkTimer};
use crate::message::JupyterMessage;

/// Time within which running code is usually heard of again after the connection is back.
const HEARD_WITHIN: Duration = Duration::from_secs(3);
/// The note that is printed if nothing was heard of the code within that time.
const MAY_WAIT: &str = "[nothing was heard of the code since the connection is back: if it asked for input when that was lost, \
     the question is lost, too, and cannot be answered; an interrupt ends the wait]\n";

/// What stands where a server has lost output after the connection was back.
const LOST_LATER: &str = "[the server has passed on what it kept of the time without a connection, and not what came next: \
     output may be missing here]\n";

/// What has come of the running eval since the last cut. A Jupyter Server keeps messages while nobody is connected. If a
/// connection ends just after it was made, the server goes on sending to that one: the next connection is given the few
/// messages that were kept, and what came after them is lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum KeptOutput {
    /// There was no cut, or all that it can have cost is told.
    Known,
    /// Nothing has come yet. It is told already that output may be missing before the first message.
    Awaited,
    /// Output has come, and no message has been missing since.
    Comes,
}

/// A question that was sent after a cut.
#[derive(Debug)]
pub(super) struct CutProbe {
    request: String,
    replied: bool,
    idle: bool,
}

impl KernelTalk {
    /// The connection is back.
    pub(super) fn reconnected(&mut self, out: &mut Vec<TalkAction>) {
        let (request, message) = self.request("kernel_info_request", json!({}));
        self.after_cut = Some(CutProbe { request, replied: false, idle: false });
        out.push(TalkAction::Send(KernelChannel::Shell, message));
        self.kept = match self.phase {
            TalkPhase::Running(_) => KeptOutput::Awaited,
            _ => KeptOutput::Known,
        };
        if let TalkPhase::Running(run) = &self.phase
            && !self.asks(run)
            && !run.warned
        {
            self.timers.set(TalkTimer::Unheard, HEARD_WITHIN);
        }
    }

    /// A message has come; `skips` says that, by the kernel's numbers, the message before it has not.
    pub(super) fn look_for_later_loss(
        &mut self,
        skips: bool,
        channel: KernelChannel,
        message: &JupyterMessage,
        out: &mut Vec<TalkAction>,
    ) {
        let is_output = channel == KernelChannel::Published
            && matches!(&self.phase, TalkPhase::Running(run) if run.request == message.parent_id());
        match self.kept {
            KeptOutput::Awaited if is_output => self.kept = KeptOutput::Comes,
            KeptOutput::Comes if is_output && skips => {
                self.kept = KeptOutput::Known;
                out.push(TalkAction::Print(Stream::Err, LOST_LATER.to_owned()));
            }
            KeptOutput::Known | KeptOutput::Awaited | KeptOutput::Comes => {}
        }
    }

    /// Nothing has come from the code since the connection is back. Servers keep questions for a client that
    /// is away, but do not repeat a question that they had passed on. If such a question was lost on its way,
    /// the code keeps waiting, and looks like code that takes its time.
    pub(super) fn still_unheard(&mut self, out: &mut Vec<TalkAction>) {
        if let TalkPhase::Running(run) = &mut self.phase {
            run.warned = true;
            out.push(TalkAction::Print(Stream::Err, MAY_WAIT.to_owned()));
        }
    }

    /// Whether a message belongs to the question that was asked after the last cut.
    pub(super) fn is_of_cut(&self, message: &JupyterMessage) -> bool {
        self.after_cut.as_ref().is_some_and(|probe| probe.request == message.parent_id())
    }

    /// A part of the answer to the question after a cut has come.
    pub(super) fn heard_after_cut(
        &mut self,
        channel: KernelChannel,
        message: &JupyterMessage,
        out: &mut Vec<TalkAction>,
    ) {
        // If the kernel was being greeted when the connection was cut, this answer counts as the answer to
        // the greeting.
        if matches!(self.phase, TalkPhase::Greeting { .. }) {
            match channel {
                KernelChannel::Published => self.published(message, out),
                _ => self.replied(message, out),
            }
        }
        let Some(probe) = &mut self.after_cut else { return };
        let is_idle = message.text("execution_state") == "idle";
        match channel {
            KernelChannel::Shell => probe.replied = true,
            KernelChannel::Published if is_idle => probe.idle = true,
            KernelChannel::Published | KernelChannel::Control | KernelChannel::Stdin => {}
        }
        if probe.replied && probe.idle {
            self.after_cut = None;
            self.outstanding = None;
            self.give_up_lost(out);
            self.send_held(out);
        }
    }

    /// Ends the eval or question that waits for an answer which will not come.
    fn give_up_lost(&mut self, out: &mut Vec<TalkAction>) {
        match &mut self.phase {
            TalkPhase::Greeting { .. } | TalkPhase::Idle | TalkPhase::Leaving => {}
            TalkPhase::Asking(asked) => {
                let seq = asked.seq;
                // A question that has not been sent yet will still be answered.
                let request = asked.request.clone();
                if !self.is_held(&request) {
                    refuse(seq, "the connection was cut before the answer came", out);
                    self.phase = TalkPhase::Idle;
                }
            }
            TalkPhase::Running(run) => match run.stage {
                EvalStage::Again => {}
                EvalStage::Names | EvalStage::Late { .. } => {
                    let after = run.after.clone();
                    if !self.is_held(&after) {
                        self.finish(&json!({}), out);
                    }
                }
                EvalStage::Code => {
                    let request = run.request.clone();
                    if self.is_held(&request) {
                        return;
                    }
                    let TalkPhase::Running(run) = &mut self.phase else { return };
                    match (&run.reply, &run.error) {
                        (Some(_), _) => {}
                        // The published error says how the code failed, so it stands in for the reply.
                        (None, Some(_)) => run.reply = Some(json!({"status": "error"})),
                        (None, None) => return self.end_unknown(out),
                    }
                    run.idle = true;
                    self.look_whether_over(out);
                }
            },
        }
    }

    /// Ends an eval whose reply was lost, so that nobody knows how it ended.
    fn end_unknown(&mut self, out: &mut Vec<TalkAction>) {
        let phase = std::mem::replace(&mut self.phase, TalkPhase::Idle);
        let TalkPhase::Running(mut run) = phase else { return };
        self.leave_work(&run, out);
        self.timers.forget_eval();
        self.kept = KeptOutput::Known;
        self.leave_lines(&mut run, out);
        let heard =
            run.age != EvalAge::Waits || run.idle || run.value.is_some() || run.display.is_some();
        show_display(&mut run, out);
        if let Some(value) = &run.value {
            let language = self.facts.as_ref().map(|facts| facts.language.clone());
            show_value(value, language, false, out);
        }
        let message = match heard {
            true => {
                "the kernel's reply was lost when the connection was cut: the code ran and is over, and nobody knows whether it failed"
            }
            false => {
                "the connection was cut when the code had just been sent, and nothing was heard of it since: it may not have run"
            }
        };
        out.push(error("ConnectionLost", message, None, false));
        out.push(TalkAction::Tell(done(&run.eval, DoneStatus::Error)));
    }

    /// Whether a request waits here for its turn.
    fn is_held(&self, request: &str) -> bool {
        self.held.iter().any(|held| held.header["msg_id"] == request)
    }
}
