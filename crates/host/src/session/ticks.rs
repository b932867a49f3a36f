//! What happens to a session because time has passed, or stands still.

use stead_interpreter::Millis;
use stead_protocol::client::InterruptEffect;
use stead_protocol::{Doing, Refusal};

use crate::session::state::{
    Action, EXIT_GRACE, Phase, QUERY_LIMIT, RollingBack, RunningEval, State, TicketAnswer, Why,
};

impl State {
    pub(super) fn tick(&mut self, attached: bool, now: Millis) -> Vec<Action> {
        let mut actions = Vec::new();
        match &mut self.phase {
            Phase::Starting { give_up_at } if *give_up_at <= now => {
                self.leave(Why::TooSlow, None);
                actions.push(Action::Kill);
            }
            // A session with an attached client is in use.
            Phase::Idle { since } if attached => *since = now,
            Phase::Idle { since }
                if self.idle_timeout > 0 && since.saturating_add(self.idle_timeout) <= now =>
            {
                self.leave(Why::Idle { after: self.idle_timeout }, Some(now + EXIT_GRACE));
                actions.push(Action::AskExit);
            }
            Phase::Running(run) => give_up_waiting(run, now, &mut actions),
            Phase::RollingBack(RollingBack { work, cut, give_up_at, .. }) => {
                if *give_up_at <= now {
                    *give_up_at = Millis::MAX;
                    actions.push(Action::Kill);
                }
                for run in [work].into_iter().chain(cut) {
                    give_up_waiting(run, now, &mut actions);
                }
            }
            Phase::Querying { ticket, deadline } if *deadline <= now => {
                *deadline = now + QUERY_LIMIT;
                actions.push(Action::Interrupt);
                if let Some(ticket) = ticket.take() {
                    let answer = TicketAnswer::Refused(Refusal::NamesSlow);
                    actions.push(Action::Answer { ticket, answer });
                }
            }
            Phase::Ending { run, why, kill_at } => {
                if let Some(run) = run {
                    give_up_waiting(run, now, &mut actions);
                }
                if kill_at.is_some_and(|at| at <= now) {
                    *kill_at = None;
                    if *why == Why::Own {
                        let message = "it closed its control channel and lived on";
                        *why = Why::Protocol(message.to_owned());
                    }
                    actions.push(Action::Kill);
                }
            }
            Phase::Starting { .. }
            | Phase::Idle { .. }
            | Phase::Querying { .. }
            | Phase::Ended { .. } => {}
        }
        actions
    }

    /// The session was paused. Clients that would be answered after some time are answered now, because no time passes.
    pub(super) fn paused(&mut self) -> Vec<Action> {
        let mut actions = Vec::new();
        match &mut self.phase {
            Phase::Running(run) => give_up_waiting(run, Millis::MAX, &mut actions),
            Phase::RollingBack(RollingBack { work, cut, .. }) => {
                for run in [work].into_iter().chain(cut) {
                    give_up_waiting(run, Millis::MAX, &mut actions);
                }
            }
            Phase::Querying { ticket, .. } => {
                if let Some(ticket) = ticket.take() {
                    let refusal = Refusal::NamesBusy { doing: Doing::Paused };
                    let answer = TicketAnswer::Refused(refusal);
                    actions.push(Action::Answer { ticket, answer });
                }
            }
            Phase::Ending { run, kill_at, .. } => {
                if let Some(run) = run {
                    give_up_waiting(run, Millis::MAX, &mut actions);
                }
                // A bridge that carries out pauses itself may say so late.
                if kill_at.is_some() {
                    actions.push(Action::Resume);
                }
            }
            Phase::Starting { .. } | Phase::Idle { .. } | Phase::Ended { .. } => {}
        }
        actions
    }

    /// Whether the interpreter is ending and has only some time for that.
    pub(crate) fn ends_in_time(&self) -> bool {
        matches!(self.phase, Phase::Ending { kill_at: Some(_), .. })
    }

    /// When `Tick` has something to do next.
    pub(crate) fn next_deadline(&self, attached: bool) -> Option<Millis> {
        match &self.phase {
            Phase::Starting { give_up_at } => Some(*give_up_at),
            Phase::Idle { since } => (!attached && self.idle_timeout > 0)
                .then(|| since.saturating_add(self.idle_timeout)),
            Phase::Running(run) => run.next(),
            Phase::RollingBack(RollingBack { work, cut, give_up_at, .. }) => {
                let interrupts = [work].into_iter().chain(cut).filter_map(RunningEval::next);
                interrupts.chain([*give_up_at].into_iter().filter(|at| *at < Millis::MAX)).min()
            }
            Phase::Querying { deadline, .. } => Some(*deadline),
            Phase::Ending { run, kill_at, .. } => {
                kill_at.iter().copied().chain(run.as_ref().and_then(RunningEval::next)).min()
            }
            Phase::Ended { .. } => None,
        }
    }
}

/// Interrupt requests that have waited long enough are answered: the eval still runs.
fn give_up_waiting(run: &mut RunningEval, now: Millis, actions: &mut Vec<Action>) {
    let (eval, killed) = (Some(run.eval), run.killed_on_request());
    run.interrupts.retain(|(ticket, at)| {
        let over = *at <= now;
        if over {
            let answer =
                TicketAnswer::Interrupt { effect: InterruptEffect::StillRunning, eval, killed };
            actions.push(Action::Answer { ticket: *ticket, answer });
        }
        !over
    });
}
