//! The part of the step function in which an interpreter gives place to a copy of an earlier state.

use std::collections::VecDeque;

use stead_interpreter::Millis;
use stead_protocol::client::InterruptEffect;
use stead_protocol::{EndReason, Outcome, TimeoutStep};

use crate::session::state::{
    Action, Eval, Phase, RollingBack, RunningEval, START_LIMIT, State, Why,
};
use crate::session::step::answers;

impl State {
    /// The running work is a rollback.
    pub(super) fn roll_back(&mut self, copy: u32, now: Millis) -> Vec<Action> {
        match std::mem::replace(&mut self.phase, Phase::Starting { give_up_at: 0 }) {
            Phase::Running(work) => {
                let give_up_at = now + START_LIMIT;
                let rolling = RollingBack { work, cut: None, jumped: false, give_up_at };
                self.phase = Phase::RollingBack(rolling);
                vec![Action::RollBack(copy)]
            }
            other => {
                self.phase = other;
                vec![]
            }
        }
    }

    /// A rollback does not wait for the end of the running eval, or it could never rescue from one that ignores
    /// interrupts.
    pub(super) fn cut_short(&mut self, work: Eval, copy: u32, now: Millis) -> Vec<Action> {
        match std::mem::replace(&mut self.phase, Phase::Starting { give_up_at: 0 }) {
            Phase::Running(run) => {
                let (work, give_up_at) = (RunningEval::new(&work), now + START_LIMIT);
                let rolling = RollingBack { work, cut: Some(run), jumped: true, give_up_at };
                self.phase = Phase::RollingBack(rolling);
                vec![Action::RollBack(copy)]
            }
            other => {
                self.phase = other;
                self.queue.push_back(work);
                self.next()
            }
        }
    }

    /// There was no such copy any more: whatever ran goes on, and the work has failed.
    pub(super) fn not_rolled_back(&mut self) -> Vec<Action> {
        match std::mem::replace(&mut self.phase, Phase::Starting { give_up_at: 0 }) {
            Phase::RollingBack(RollingBack { work, cut: Some(run), .. }) => {
                self.phase = Phase::Running(run);
                let failed = Action::Finish { eval: work.eval, outcome: Outcome::Error, killed: 0 };
                [failed].into_iter().chain(answers(&work, InterruptEffect::Finished)).collect()
            }
            Phase::RollingBack(RollingBack { work, cut: None, .. }) => {
                self.phase = Phase::Running(work);
                vec![]
            }
            other => {
                self.phase = other;
                vec![]
            }
        }
    }

    /// A copy has taken the place of the interpreter, because that was asked for, or because a signal or a hard
    /// timeout has ended it.
    pub(super) fn restored(&mut self, reason: EndReason, now: Millis) -> Vec<Action> {
        let mut actions = Vec::new();
        match std::mem::replace(&mut self.phase, Phase::Idle { since: now }) {
            Phase::RollingBack(RollingBack { work, cut, jumped, .. }) => {
                let reason = || EndReason::RolledBack { by: None };
                if let Some(run) = cut {
                    actions.push(ended(&run, Outcome::Ended { reason: reason() }));
                    actions.extend(answers(&run, InterruptEffect::Finished));
                }
                if jumped {
                    self.drop_queue(|eval| eval.seq < work.eval, &reason(), &mut actions);
                }
                actions.push(Action::RolledBack(work.eval));
                actions.push(ended(&work, Outcome::Complete));
                actions.extend(answers(&work, InterruptEffect::Finished));
            }
            Phase::Ending { run, why: why @ (Why::Own | Why::HardTimeout), .. } => {
                let (reason, outcome) = match why {
                    Why::HardTimeout => {
                        let step = TimeoutStep::InterpreterKilled;
                        (EndReason::HardTimeout, Outcome::Timeout { step })
                    }
                    _ => (reason.clone(), Outcome::Ended { reason }),
                };
                if let Some(run) = run {
                    actions.push(ended(&run, outcome));
                    actions.extend(answers(&run, InterruptEffect::Finished));
                }
                self.drop_queue(|_| true, &reason, &mut actions);
                actions.extend([Action::End { reason, asked: false }, Action::GoOn]);
            }
            // A client wants the interpreter to end meanwhile, and the order for that is on its way.
            other => {
                self.phase = other;
                return vec![];
            }
        }
        actions.extend(self.tell_ready());
        actions.extend(self.next());
        actions
    }

    /// Evals that were sent for another state do not run.
    fn drop_queue(
        &mut self,
        is_for_another: impl Fn(&Eval) -> bool,
        reason: &EndReason,
        actions: &mut Vec<Action>,
    ) {
        let (dropped, kept): (VecDeque<Eval>, VecDeque<Eval>) =
            std::mem::take(&mut self.queue).into_iter().partition(is_for_another);
        self.queue = kept;
        actions.extend(dropped.into_iter().map(|eval| {
            let outcome = Outcome::NotRun { reason: reason.clone() };
            Action::Finish { eval: eval.seq, outcome, killed: 0 }
        }));
    }
}

fn ended(run: &RunningEval, outcome: Outcome) -> Action {
    Action::Finish { eval: run.eval, outcome, killed: run.killed }
}
