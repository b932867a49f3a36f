//! What the kernel answers, and what it asks the user.

use serde_json::Value;
use stead_protocol::bridge::BridgeEvent;

use super::{EvalStage, KernelTalk, TalkAction, TalkPhase, TalkTimer};
use crate::message::JupyterMessage;

impl KernelTalk {
    /// An answer to one of our requests.
    pub(super) fn replied(&mut self, message: &JupyterMessage, out: &mut Vec<TalkAction>) {
        let parent = message.parent_id();
        if message.kind() == "interrupt_reply" {
            return self.interrupt_answered(out);
        }
        match &mut self.phase {
            TalkPhase::Greeting { info, .. } => {
                if message.kind() == "kernel_info_reply" {
                    *info = Some(message.content.clone());
                    self.look_whether_greeted(out);
                }
            }
            TalkPhase::Running(run) => match run.stage {
                EvalStage::Code if run.request == parent => {
                    run.reply = Some(message.content.clone());
                    self.look_whether_over(out);
                }
                EvalStage::Names if run.after == parent => {
                    self.finish(&message.content, out);
                }
                EvalStage::Late { more, .. } if run.after == parent => {
                    run.stage = EvalStage::Late { replied: true, more };
                }
                EvalStage::Code | EvalStage::Again | EvalStage::Names | EvalStage::Late { .. } => {}
            },
            TalkPhase::Asking(asked) => {
                if asked.request == parent {
                    self.answered(&message.content, out);
                }
            }
            // The late answer to a question that was given up.
            TalkPhase::Idle | TalkPhase::Leaving => {}
        }
    }

    pub(super) fn look_whether_greeted(&mut self, out: &mut Vec<TalkAction>) {
        if let TalkPhase::Greeting { info, heard: true } = &mut self.phase
            && let Some(info) = info.take()
        {
            self.greeted(&info, out);
        }
    }

    /// The kernel asks the user for a line.
    pub(super) fn asked(&mut self, message: &JupyterMessage, out: &mut Vec<TalkAction>) {
        if message.kind() != "input_request" {
            return;
        }
        let parent = message.parent_id();
        let TalkPhase::Running(run) = &mut self.phase else { return };
        // A kernel asks whoever sent the code that runs; a parent of an earlier eval is a thread of that one.
        let eval = match run.request == parent {
            true => None,
            false => self.evals.eval_of(parent),
        };
        super::published::show_display(run, out);
        self.timers.forget(TalkTimer::Unheard);
        run.asks = Some(message.clone());
        out.push(TalkAction::Tell(waits(message, eval)));
        out.push(TalkAction::Listen(true));
        self.grown(out);
    }

    /// The user has begun to answer, and the kernel waits for the end of the line.
    pub(super) fn still_waits(&mut self, out: &mut Vec<TalkAction>) {
        if let TalkPhase::Running(run) = &self.phase
            && let Some(asked) = &run.asks
        {
            out.push(TalkAction::Tell(waits(asked, None)));
        }
    }
}

fn waits(asked: &JupyterMessage, eval: Option<String>) -> BridgeEvent {
    BridgeEvent::Waits {
        prompt: Some(asked.text("prompt").to_owned()).filter(|prompt| !prompt.is_empty()),
        secret: asked.content["password"] == Value::Bool(true),
        eval,
    }
}
