//! Messages that never come. Kernels forget replies (an interrupt met their own code) and throw away what they publish (the
//! reader was slow). So a request that is overdue is followed by a question: its answer comes after everything before it.

use std::time::Duration;

use serde_json::{Value, json};

use super::commands::refuse;
use super::{
    EvalAge, EvalStage, KernelChannel, KernelOwner, KernelTalk, TalkAction, TalkPhase, TalkTimer,
};
use crate::message::JupyterMessage;

/// Reply and idle come together; if one of them has not come after this time, the kernel is asked.
const TOGETHER_WITHIN: Duration = Duration::from_millis(500);
/// How long the kernel may give no sign that it has taken a request before it is asked; after twice that time
/// it is asked again, and so on.
const TAKEN_WITHIN: Duration = Duration::from_secs(2);
const MOST_PATIENCE: Duration = Duration::from_secs(300);

/// What the reader of a result is told where the end of its output did not come.
const MAY_BE_MISSING: &str = "output may be missing: the kernel throws away what it cannot publish at once, and the end of this eval's output did not come";

/// What is overdue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Overdue {
    /// This request was sent, and the kernel has not said that it is busy with it.
    Taken(String),
    /// The kernel is idle after this request and has not replied to it.
    Reply(String),
    /// It has replied to this request and not said that it is idle.
    Idle(String),
}

/// A question whose answer shows that earlier requests will not be answered any more.
#[derive(Debug)]
pub(super) struct KernelProbe {
    shell: String,
    /// The same question on the control channel: a kernel of others may be busy for long with something else,
    /// and answers there.
    control: Option<String>,
    answered: bool,
    /// The kernel has published that it is done with the question: nothing that it published before is on its way any more.
    idle: bool,
}

impl KernelTalk {
    /// Sets a timer for an overdue message, and forgets the timer of one that is no longer overdue.
    pub(super) fn look_for_doubt(&mut self) {
        let overdue = self.overdue();
        if overdue == self.doubted {
            return;
        }
        self.probe = None;
        self.timers.forget(TalkTimer::Doubt);
        self.patience = match &overdue {
            None => Duration::ZERO,
            Some(Overdue::Taken(_)) => TAKEN_WITHIN,
            Some(Overdue::Reply(_) | Overdue::Idle(_)) => TOGETHER_WITHIN,
        };
        if overdue.is_some() {
            self.timers.set(TalkTimer::Doubt, self.patience);
        }
        self.doubted = overdue;
    }

    fn overdue(&self) -> Option<Overdue> {
        // After a cut another question is open already, whose answer settles everything.
        if self.after_cut.is_some() {
            return None;
        }
        if let TalkPhase::Running(run) = &self.phase {
            match run.stage {
                EvalStage::Code if run.reply.is_some() && !run.idle => {
                    return Some(Overdue::Idle(run.request.clone()));
                }
                EvalStage::Late { replied: true, .. } => {
                    return Some(Overdue::Idle(run.after.clone()));
                }
                EvalStage::Code | EvalStage::Again | EvalStage::Names | EvalStage::Late { .. } => {}
            }
        }
        if matches!(self.phase, TalkPhase::Greeting { .. } | TalkPhase::Leaving) {
            return None;
        }
        let asked = self.outstanding.as_ref()?;
        match (asked.begun, asked.idle) {
            (_, true) => Some(Overdue::Reply(asked.id.clone())),
            (false, false) => Some(Overdue::Taken(asked.id.clone())),
            (true, false) => None,
        }
    }

    /// Asks the kernel, or, if the question was answered a moment ago, gives up on messages that should have
    /// come before.
    pub(super) fn doubt(&mut self, out: &mut Vec<TalkAction>) {
        if self.probe.as_ref().is_some_and(|probe| probe.answered) {
            return self.settle(out);
        }
        let (shell, message) = self.request("kernel_info_request", json!({}));
        out.push(TalkAction::Send(KernelChannel::Shell, message));
        let asks_control =
            self.owner == KernelOwner::Others && matches!(self.doubted, Some(Overdue::Idle(_)));
        let control = asks_control.then(|| {
            let (id, message) = self.request("kernel_info_request", json!({}));
            out.push(TalkAction::Send(KernelChannel::Control, message));
            id
        });
        self.probe = Some(KernelProbe { shell, control, answered: false, idle: false });
        self.patience = (self.patience * 2).min(MOST_PATIENCE);
        self.timers.set(TalkTimer::Doubt, self.patience);
    }

    /// Whether the message is about the question; such a message is about nothing else.
    pub(super) fn is_of_probe(
        &mut self,
        message: &JupyterMessage,
        out: &mut Vec<TalkAction>,
    ) -> bool {
        let Some(probe) = &mut self.probe else { return false };
        let parent = message.parent_id();
        if parent != probe.shell && probe.control.as_deref() != Some(parent) {
            return false;
        }
        match message.kind() {
            "kernel_info_reply" => probe.answered = true,
            "status" if message.text("execution_state") == "idle" => probe.idle = true,
            _ => return true,
        }
        match (probe.answered, probe.idle) {
            (true, true) => self.settle(out),
            (true, false) => self.timers.set(TalkTimer::Doubt, TOGETHER_WITHIN),
            (false, _) => {}
        }
        true
    }

    /// The question was answered: what is overdue does not come any more.
    fn settle(&mut self, out: &mut Vec<TalkAction>) {
        self.probe = None;
        match self.doubted.take() {
            Some(Overdue::Idle(request)) => {
                if let TalkPhase::Running(run) = &mut self.phase {
                    run.notice = Some(MAY_BE_MISSING.to_owned());
                    if run.request == request {
                        run.idle = true;
                        self.look_whether_over(out);
                    } else {
                        self.finish(&Value::Null, out);
                    }
                }
            }
            Some(Overdue::Reply(request) | Overdue::Taken(request)) => {
                self.outstanding.take_if(|asked| asked.id == request);
                self.forgotten(&request, out);
                self.send_held(out);
            }
            None => {}
        }
    }

    /// The kernel does not answer this request.
    fn forgotten(&mut self, request: &str, out: &mut Vec<TalkAction>) {
        match &mut self.phase {
            TalkPhase::Running(run) => match run.stage {
                EvalStage::Code if run.request == request => {
                    let was_stopped = run.age == EvalAge::Waits || run.was_interrupted();
                    run.idle = true;
                    run.reply = Some(match (was_stopped, &run.error) {
                        (true, _) => json!({"status": "aborted"}),
                        (false, Some(_)) => json!({"status": "error"}),
                        (false, None) => json!({
                            "status": "error",
                            "ename": "NoReply",
                            "evalue": "the kernel is idle again and did not say how the code ended",
                        }),
                    });
                    self.look_whether_over(out);
                }
                EvalStage::Names | EvalStage::Late { .. } if run.after == request => {
                    self.finish(&Value::Null, out);
                }
                EvalStage::Code | EvalStage::Again | EvalStage::Names | EvalStage::Late { .. } => {}
            },
            TalkPhase::Asking(asked) if asked.request == request => {
                refuse(asked.seq, "the kernel did not answer what it was asked", out);
                self.phase = TalkPhase::Idle;
            }
            TalkPhase::Asking(_)
            | TalkPhase::Greeting { .. }
            | TalkPhase::Idle
            | TalkPhase::Leaving => {}
        }
    }
}
