//! What follows when the interpreter and all that it started are gone.

use std::collections::VecDeque;

use stead_interpreter::Millis;
use stead_protocol::client::InterruptEffect;
use stead_protocol::{EndReason, Outcome, TimeoutStep};

use crate::session::state::{
    Action, Eval, EvalRole, Phase, RunningEval, START_LIMIT, State, TicketAnswer, Why,
};
use crate::session::step::answers;

impl State {
    pub(super) fn exited(&mut self, reason: EndReason, now: Millis) -> Vec<Action> {
        // The interpreter exited without announcing it.
        if !matches!(self.phase, Phase::Ending { .. }) {
            self.leave(Why::Own, None);
        }
        let phase = std::mem::replace(&mut self.phase, Phase::Starting { give_up_at: 0 });
        let Phase::Ending { run, why, .. } = phase else {
            self.phase = phase;
            return vec![];
        };
        let reason = match &why {
            Why::Own => reason,
            Why::NotReady | Why::TooSlow => match reason {
                EndReason::LaunchFailed { .. } => reason,
                other => EndReason::launch_failed(other.to_string(), None),
            },
            Why::Protocol(message) => EndReason::Protocol { message: message.clone() },
            Why::Gone(reason) => EndReason::Gone { reason: reason.clone() },
            Why::Stop(_) => EndReason::Stopped { by: None },
            Why::Restart(_) => EndReason::Restarted { by: None },
            Why::Killed(_) => EndReason::Killed { by: None },
            Why::HardTimeout => EndReason::HardTimeout,
            Why::Idle { after } => EndReason::Idle { after_ms: *after },
        };
        let mut actions = Vec::new();
        if let Some(run) = &run {
            let outcome = match why {
                Why::HardTimeout => Outcome::Timeout { step: TimeoutStep::InterpreterKilled },
                _ => Outcome::Ended { reason: reason.clone() },
            };
            actions.push(Action::Finish { eval: run.eval, outcome, killed: run.killed });
            actions.extend(answers(run, InterruptEffect::Finished));
        }
        let again = State::starts_again(run.as_ref(), &why);
        let kept = |eval: &Eval| again && eval.role == EvalRole::Asked;
        let (kept, left): (VecDeque<Eval>, VecDeque<Eval>) =
            std::mem::take(&mut self.queue).into_iter().partition(kept);
        self.queue = kept;
        for eval in left {
            let outcome = Outcome::NotRun { reason: reason.clone() };
            actions.push(Action::Finish { eval: eval.seq, outcome, killed: 0 });
        }
        if again {
            actions.push(Action::End { reason, asked: true });
            self.phase = Phase::Starting { give_up_at: now + START_LIMIT };
            actions.push(Action::Start);
            return actions;
        }
        // Clients that wait until the session is ready wait for the interpreter that a restart brings: several may
        // restart it at once.
        if !matches!(why, Why::Restart(_)) {
            for ticket in self.ready.drain(..) {
                let answer = TicketAnswer::Refused(reason.clone().into());
                actions.push(Action::Answer { ticket, answer });
            }
        }
        let asked = matches!(why, Why::Stop(_) | Why::Restart(_) | Why::Killed(_));
        actions.push(Action::End { reason: reason.clone(), asked });
        let done = |ticket| Action::Answer { ticket, answer: TicketAnswer::Done };
        match why {
            Why::Restart(tickets) => {
                self.phase = Phase::Starting { give_up_at: now + START_LIMIT };
                actions.push(Action::Start);
                actions.extend(tickets.into_iter().map(done));
            }
            Why::Stop(tickets) | Why::Killed(tickets) => {
                self.phase = Phase::Ended { reason };
                actions.extend(tickets.into_iter().map(done));
                actions.push(Action::Leave);
            }
            Why::Own
            | Why::NotReady
            | Why::TooSlow
            | Why::Protocol(_)
            | Why::Gone(_)
            | Why::HardTimeout
            | Why::Idle { .. } => {
                self.phase = Phase::Ended { reason };
                actions.push(Action::Leave);
            }
        }
        actions
    }

    /// Whether another interpreter is started when this one has ended: a session must start even if the user's standard
    /// library has ended its interpreter.
    pub(super) fn starts_again(run: Option<&RunningEval>, why: &Why) -> bool {
        let own = matches!(why, Why::Own | Why::HardTimeout | Why::Protocol(_) | Why::Gone(_));
        own && run.is_some_and(|run| run.role == EvalRole::Stdlib)
    }
}
