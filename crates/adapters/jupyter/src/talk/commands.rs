//! What the host asks for.

use std::time::Duration;

use serde_json::json;
use stead_protocol::EvalId;
use stead_protocol::bridge::{BridgeEvent, Command, DoneStatus};

use super::{
    EvalAge, EvalRun, EvalStage, Interrupting, KernelChannel, KernelOwner, KernelTalk, RunTask,
    TalkAction, TalkPhase, TalkTimer,
};
use crate::python;
use crate::quirks::InterruptWay;

/// After this time an interrupt is sent to a kernel that has not said that the code runs: some never say it.
pub(super) const SAYS_THAT_IT_RUNS: Duration = Duration::from_secs(1);
/// How long the kernel's own code still runs after the kernel has said that it runs the user's code.
pub(super) const YOUNG: Duration = Duration::from_millis(50);
/// How long a kernel has to act on an interrupt before it is sent another.
const COOLS_AFTER: Duration = Duration::from_secs(1);

impl KernelTalk {
    /// Carries out a command of the host. `place` says where the path of work leads on this machine.
    pub(super) fn command(
        &mut self,
        command: &Command<'_>,
        place: &str,
        out: &mut Vec<TalkAction>,
    ) {
        match command {
            Command::Eval { id, code } => self.eval(id, code, out),
            Command::Interrupt { id } => self.interrupt(id, out),
            Command::InterruptQuery => self.give_up_question(out),
            Command::Query { seq, what, arg } => self.query(*seq, what, arg, out),
            Command::Clear { seq } => self.clear(*seq, out),
            Command::Work { id, what, argument } => self.work(id, what, argument, place, out),
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
            // The loop keeps track of `ack`; directories are for shell commands; there are no figures.
            Command::Ack | Command::Place(_) | Command::Last | Command::Figures => {}
        }
    }

    fn eval(&mut self, id: &EvalId, code: &str, out: &mut Vec<TalkAction>) {
        let eval = id.to_string();
        // Kernels differ in what they do with empty code.
        if code.trim().is_empty() {
            out.push(TalkAction::Tell(super::ending::done(&eval, DoneStatus::Ok)));
            return;
        }
        self.begin_run(EvalRun::new(eval, RunTask::Code(code.to_owned())), out);
    }

    pub(super) fn begin_run(&mut self, mut run: EvalRun, out: &mut Vec<TalkAction>) {
        self.numbers.begin();
        self.execute(&mut run, out);
        self.phase = TalkPhase::Running(Box::new(run));
    }

    /// Sends the code of an eval, or its work.
    pub(super) fn execute(&mut self, run: &mut EvalRun, out: &mut Vec<TalkAction>) {
        let asks = self.facts.as_ref().is_some_and(|facts| facts.python && !facts.tells_names);
        let expressions = match asks {
            true => python::expressions(&python::call("after", None)),
            false => json!({}),
        };
        let content = match &run.task {
            RunTask::Code(code) => json!({
                "code": code,
                "silent": false,
                "store_history": true,
                "user_expressions": expressions,
                "allow_stdin": true,
                // The host has the queue of evals; the kernel must never throw away the next one after an error.
                "stop_on_error": false,
            }),
            RunTask::Work(order) => python::silent(&order.expression(&run.eval)),
        };
        self.send_run(run, content, out);
    }

    /// Sends a request for an eval.
    pub(super) fn send_run(
        &mut self,
        run: &mut EvalRun,
        content: serde_json::Value,
        out: &mut Vec<TalkAction>,
    ) {
        run.request = self.ask_shell("execute_request", content, out);
        run.stage = EvalStage::Code;
        (run.reply, run.idle, run.age) = (None, false, EvalAge::Waits);
        run.tries += 1;
        self.evals.remember(&run.request, &run.eval);
    }

    fn interrupt(&mut self, id: &EvalId, out: &mut Vec<TalkAction>) {
        let way = self.interrupt_way();
        let TalkPhase::Running(run) = &mut self.phase else { return };
        if run.eval != id.to_string() {
            return;
        }
        let (eval, request, stage) = (run.eval.clone(), run.request.clone(), run.stage);
        // The kernel does not run this code: it is busy with something else that must not be hit, or has
        // thrown the code away.
        if self.take_back(&request) || stage == EvalStage::Again {
            out.push(passed_on(&eval, None));
            out.push(TalkAction::Tell(super::ending::done(&eval, DoneStatus::Interrupted)));
            self.timers.forget(TalkTimer::Again);
            self.phase = TalkPhase::Idle;
            return;
        }
        if way == InterruptWay::Never {
            let error = "this kernel would die of a signal and takes no notice of a message; \
                         a restart ends what runs";
            out.push(passed_on(&eval, Some(error.to_owned())));
            return;
        }
        let TalkPhase::Running(run) = &mut self.phase else { return };
        match (run.interrupt, run.age) {
            (Interrupting::Fresh { .. }, _) => run.interrupt = Interrupting::Fresh { again: true },
            (Interrupting::Sent, _) | (_, EvalAge::Grown) => self.interrupt_now(out),
            (
                Interrupting::No | Interrupting::Wanted,
                EvalAge::Waits | EvalAge::Taken | EvalAge::Young,
            ) => {
                run.interrupt = Interrupting::Wanted;
                // In a kernel of others, the code that runs before ours has begun is theirs and must not be
                // interrupted.
                if self.owner != KernelOwner::Others && !self.timers.has(TalkTimer::Grown) {
                    self.timers.set(TalkTimer::Begins, SAYS_THAT_IT_RUNS);
                }
            }
        }
    }

    /// Interrupts the eval that runs.
    fn interrupt_now(&mut self, out: &mut Vec<TalkAction>) {
        let way = self.interrupt_way();
        if let TalkPhase::Running(run) = &mut self.phase {
            run.interrupt = Interrupting::Fresh { again: false };
            self.timers.forget(TalkTimer::Begins);
            self.timers.set(TalkTimer::Cools, COOLS_AFTER);
            let eval = run.eval.clone();
            self.send_interrupt(way, out);
            // A kernel that has read an interrupt message may not have acted on it yet; it answers when it has.
            if way != InterruptWay::Message {
                out.push(passed_on(&eval, None));
            }
        }
    }

    /// The kernel answers that it has acted on an interrupt that came as a message.
    pub(super) fn interrupt_answered(&mut self, out: &mut Vec<TalkAction>) {
        if let TalkPhase::Running(run) = &self.phase {
            out.push(passed_on(&run.eval, None));
        }
    }

    /// The code itself runs: an interrupt that waited for that is sent.
    pub(super) fn grown(&mut self, out: &mut Vec<TalkAction>) {
        let TalkPhase::Running(run) = &mut self.phase else { return };
        run.age = EvalAge::Grown;
        self.timers.forget(TalkTimer::Grown);
        if run.interrupt == Interrupting::Wanted {
            self.interrupt_now(out);
        }
    }

    /// Interrupts whatever the kernel runs.
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

    /// A time that was asked for has passed.
    pub(super) fn due(&mut self, out: &mut Vec<TalkAction>) {
        for timer in self.timers.passed() {
            match timer {
                TalkTimer::Doubt => self.doubt(out),
                TalkTimer::Grown => self.grown(out),
                TalkTimer::Begins => self.begins_unsaid(out),
                TalkTimer::Cools => self.cooled(out),
                TalkTimer::Again => self.execute_again(out),
                TalkTimer::Unheard => self.still_unheard(out),
            }
        }
    }

    /// A kernel of ours has not said that it runs the code, and an interrupt waits for that.
    fn begins_unsaid(&mut self, out: &mut Vec<TalkAction>) {
        if let TalkPhase::Running(run) = &self.phase
            && run.interrupt == Interrupting::Wanted
        {
            self.interrupt_now(out);
        }
    }

    /// The kernel has had its time to act on an interrupt.
    fn cooled(&mut self, out: &mut Vec<TalkAction>) {
        let TalkPhase::Running(run) = &mut self.phase else { return };
        match run.interrupt {
            Interrupting::Fresh { again: true } => self.interrupt_now(out),
            Interrupting::Fresh { again: false } => run.interrupt = Interrupting::Sent,
            Interrupting::No | Interrupting::Wanted | Interrupting::Sent => {}
        }
    }

    /// Sends code that the kernel threw away once more.
    fn execute_again(&mut self, out: &mut Vec<TalkAction>) {
        match std::mem::replace(&mut self.phase, TalkPhase::Idle) {
            TalkPhase::Running(mut run) if run.stage == EvalStage::Again => {
                self.execute(&mut run, out);
                self.phase = TalkPhase::Running(run);
            }
            phase => self.phase = phase,
        }
    }
}

pub(super) fn refuse(seq: u64, why: &str, out: &mut Vec<TalkAction>) {
    let error = Some(why.to_owned());
    out.push(TalkAction::Tell(BridgeEvent::Reply { seq, data: None, error }));
}

fn passed_on(eval: &str, error: Option<String>) -> TalkAction {
    TalkAction::Tell(BridgeEvent::Interrupted { eval: eval.to_owned(), error })
}
