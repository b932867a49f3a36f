//! What the kernel answers.

use super::{EvalStage, KernelTalk, TalkAction, TalkPhase};
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
            // This is the late answer to a question that was given up.
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
}
