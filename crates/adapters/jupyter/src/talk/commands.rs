//! What the host asks for.

use std::time::Duration;

use serde_json::json;
use stead_protocol::EvalId;
use stead_protocol::bridge::{BridgeEvent, Command, DoneStatus};

use super::{
    EvalRun, EvalStage, Interrupting, KernelChannel, KernelOwner, KernelTalk, TalkAction, TalkPhase,
};
use crate::python;
use crate::quirks::InterruptWay;

/// After this time an interrupt is sent to a kernel that has not said that the code runs: some never say it.
const SAYS_THAT_IT_RUNS: Duration = Duration::from_secs(1);

/// How long code has only just begun.
pub(super) const YOUNG: Duration = Duration::from_millis(200);
/// After this time an interrupt of code that had only just begun is sent again, and how often.
pub(super) const REPEAT_AFTER: Duration = Duration::from_secs(1);
const MOST_REPEATS: u32 = 5;

impl KernelTalk {
    pub(super) fn command(&mut self, command: &Command<'_>, out: &mut Vec<TalkAction>) {
        match command {
            Command::Eval { id, code } => self.eval(id, code, out),
            Command::Interrupt { id } => self.interrupt(id, out),
            Command::InterruptQuery => self.give_up_question(out),
            Command::Query { seq, what, arg } => self.query(*seq, what, arg, out),
            Command::Clear { seq } => self.clear(*seq, out),
            Command::Work { id, what, .. } => {
                let message = format!("`{what}` is not possible in a Jupyter kernel");
                out.push(TalkAction::Tell(BridgeEvent::Error {
                    name: "Unsupported".to_owned(),
                    message,
                    traceback: None,
                    incomplete: false,
                    missing: None,
                }));
                out.push(TalkAction::Tell(super::ending::done(&id.to_string(), DoneStatus::Error)));
            }
            Command::Copy { seq } => refuse(*seq, "a Jupyter kernel cannot be copied", out),
            Command::Pause { seq } | Command::Resume { seq } => {
                let why = "the kernel runs elsewhere, and its protocol knows no pause";
                refuse(*seq, why, out);
            }
            Command::Exit => {
                if self.owner != KernelOwner::Others {
                    let (_, message) = self.request("shutdown_request", json!({"restart": false}));
                    out.push(TalkAction::Send(KernelChannel::Control, message));
                }
                self.phase = TalkPhase::Leaving;
                out.push(TalkAction::Leave);
            }
            // What was waited for is known to the loop; directories are for shell commands.
            Command::Ack | Command::Place(_) | Command::Figures => {}
        }
    }

    fn eval(&mut self, id: &EvalId, code: &str, out: &mut Vec<TalkAction>) {
        let eval = id.to_string();
        // Kernels differ in what they make of nothing.
        if code.trim().is_empty() {
            out.push(TalkAction::Tell(super::ending::done(&eval, DoneStatus::Ok)));
            return;
        }
        let mut run = EvalRun {
            eval,
            code: code.to_owned(),
            stage: EvalStage::Code,
            request: String::new(),
            after: String::new(),
            reply: None,
            idle: false,
            begun: false,
            interrupt: Interrupting::No,
            young: false,
            repeats: 0,
            cooling: false,
            again: false,
            asks: None,
            value: None,
            display: None,
            error: None,
            tries: 0,
        };
        self.execute(&mut run, out);
        self.phase = TalkPhase::Running(Box::new(run));
    }

    /// Sends the code of an eval.
    pub(super) fn execute(&mut self, run: &mut EvalRun, out: &mut Vec<TalkAction>) {
        let expressions = match self.is_python() {
            true => python::expressions(&python::call("after", None)),
            false => json!({}),
        };
        let content = json!({
            "code": run.code,
            "silent": false,
            "store_history": true,
            "user_expressions": expressions,
            "allow_stdin": true,
            // The host has the queue; a kernel must never throw away what comes next.
            "stop_on_error": false,
        });
        run.request = self.ask_shell("execute_request", content, out);
        run.stage = EvalStage::Code;
        (run.reply, run.idle) = (None, false);
        run.tries += 1;
        self.remember(&run.request, &run.eval);
    }

    fn interrupt(&mut self, id: &EvalId, out: &mut Vec<TalkAction>) {
        let way = self.interrupt_way();
        let TalkPhase::Running(run) = &mut self.phase else { return };
        if run.eval != id.to_string() {
            return;
        }
        let eval = run.eval.clone();
        let is_sent = !self.held.iter().any(|held| held.header["msg_id"] == run.request.as_str());
        if !is_sent {
            // The kernel is busy with something else, which is not to be hit.
            let request = run.request.clone();
            self.held.retain(|held| held.header["msg_id"] != request.as_str());
            out.push(TalkAction::Tell(BridgeEvent::Interrupted {
                eval: eval.clone(),
                error: None,
            }));
            out.push(TalkAction::Tell(super::ending::done(&eval, DoneStatus::Interrupted)));
            self.phase = TalkPhase::Idle;
            return;
        }
        if way == InterruptWay::Never {
            let error = "this kernel would die of a signal and takes no notice of a message; \
                         a restart ends what runs";
            let error = Some(error.to_owned());
            out.push(TalkAction::Tell(BridgeEvent::Interrupted { eval, error }));
            return;
        }
        out.push(TalkAction::Tell(BridgeEvent::Interrupted { eval, error: None }));
        if run.cooling {
            run.again = true;
        } else if run.begun || run.interrupt == Interrupting::Sent {
            (run.interrupt, run.cooling) = (Interrupting::Sent, true);
            out.push(TalkAction::Wake(REPEAT_AFTER));
            self.send_interrupt(way, out);
        } else {
            run.interrupt = Interrupting::Wanted;
            out.push(TalkAction::Wake(SAYS_THAT_IT_RUNS));
        }
    }

    pub(super) fn send_interrupt(&mut self, way: InterruptWay, out: &mut Vec<TalkAction>) {
        match way {
            InterruptWay::Signal => out.push(TalkAction::Signal),
            InterruptWay::Children => out.push(TalkAction::SignalChildren),
            InterruptWay::Message => {
                let (_, message) = self.request("interrupt_request", json!({}));
                out.push(TalkAction::Send(KernelChannel::Control, message));
            }
            InterruptWay::Never => {}
        }
    }

    /// The time that was asked for has passed.
    pub(super) fn due(&mut self, out: &mut Vec<TalkAction>) {
        let way = self.interrupt_way();
        let TalkPhase::Running(run) = &mut self.phase else { return };
        if run.interrupt == Interrupting::Wanted && run.stage == EvalStage::Code {
            (run.interrupt, run.cooling) = (Interrupting::Sent, true);
            out.push(TalkAction::Wake(REPEAT_AFTER));
            self.send_interrupt(way, out);
        } else if run.cooling && run.stage == EvalStage::Code {
            if run.idle && run.reply.is_none() {
                // The interrupt has met the kernel's own code, which has forgotten the reply.
                run.reply = Some(json!({"status": "aborted"}));
                self.unanswered = self.unanswered.saturating_sub(1);
                self.look_whether_over(out);
            } else if (run.again || run.young) && run.repeats < MOST_REPEATS {
                (run.again, run.repeats) = (false, run.repeats + 1);
                out.push(TalkAction::Wake(REPEAT_AFTER));
                self.send_interrupt(way, out);
            } else {
                run.cooling = false;
            }
        } else if run.young && run.stage == EvalStage::Code {
            run.young = false;
        } else if run.stage == EvalStage::Again {
            let TalkPhase::Running(mut run) = std::mem::replace(&mut self.phase, TalkPhase::Idle)
            else {
                return;
            };
            self.execute(&mut run, out);
            self.phase = TalkPhase::Running(run);
        }
    }

    /// The user has answered what the kernel asked.
    pub(super) fn line(&mut self, line: Option<String>, out: &mut Vec<TalkAction>) {
        let python = self.is_python();
        let TalkPhase::Running(run) = &mut self.phase else { return };
        let Some(asked) = run.asks.take() else { return };
        // IPython takes this character for the end of the input; the protocol has no other word for it.
        let value = line.unwrap_or_else(|| if python { "\u{4}".to_owned() } else { String::new() });
        let (_, mut message) = self.request("input_reply", json!({"value": value, "status": "ok"}));
        message.parent = asked.header;
        out.push(TalkAction::Listen(false));
        out.push(TalkAction::Send(KernelChannel::Stdin, message));
    }
}

pub(super) fn refuse(seq: u64, why: &str, out: &mut Vec<TalkAction>) {
    let error = Some(why.to_owned());
    out.push(TalkAction::Tell(BridgeEvent::Reply { seq, data: None, error }));
}
