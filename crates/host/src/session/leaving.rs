//! How an interpreter comes to end: by itself, or because a client asks for that.

use stead_interpreter::Millis;

use crate::session::state::{
    Action, EXIT_GRACE, Eval, LEAVE_GRACE, Phase, RollingBack, State, Ticket, TicketAnswer, Why,
};

impl State {
    /// The interpreter begins to end. The first reason stays, unless that was the interpreter's own doing:
    /// any other reason replaces it.
    pub(super) fn leave(&mut self, why: Why, kill_at: Option<Millis>) {
        let phase = std::mem::replace(&mut self.phase, Phase::Starting { give_up_at: 0 });
        self.phase = match phase {
            Phase::Running(run) => Phase::Ending { run: Some(run), why, kill_at },
            // One eval can run at a time: a rollback that cut another short never came to its turn.
            Phase::RollingBack(RollingBack { work, cut: Some(mut run), .. }) => {
                self.queue.push_front(Eval::asked(work.eval, None));
                // Requests to interrupt the rollback are answered with the eval that it had cut short.
                run.interrupts.extend(work.interrupts);
                Phase::Ending { run: Some(run), why, kill_at }
            }
            Phase::RollingBack(RollingBack { work, cut: None, .. }) => {
                Phase::Ending { run: Some(work), why, kill_at }
            }
            Phase::Ending { run, why: Why::Own, .. } => Phase::Ending { run, why, kill_at },
            Phase::Ending { run, why, kill_at } => Phase::Ending { run, why, kill_at },
            // An interpreter that ends before its hello could not be started.
            Phase::Starting { .. } if why == Why::Own => {
                Phase::Ending { run: None, why: Why::NotReady, kill_at }
            }
            Phase::Starting { .. } | Phase::Idle { .. } | Phase::Querying { .. } => {
                Phase::Ending { run: None, why, kill_at }
            }
            Phase::Ended { reason } => Phase::Ended { reason },
        };
    }

    pub(super) fn end_on_request(&mut self, why: Why, ticket: Ticket, now: Millis) -> Vec<Action> {
        match &mut self.phase {
            Phase::Ended { .. } => vec![Action::Answer { ticket, answer: TicketAnswer::Done }],
            Phase::Ending { why: Why::Stop(tickets), .. } => {
                tickets.push(ticket);
                vec![]
            }
            // All these requests wait for the same exit; a stop wins over a restart, and both win over a
            // kill.
            Phase::Ending { why: known @ (Why::Restart(_) | Why::Killed(_)), .. } => {
                let (Why::Restart(tickets) | Why::Killed(tickets)) = known else { return vec![] };
                tickets.push(ticket);
                let tickets = std::mem::take(tickets);
                *known = match (why, &known) {
                    (Why::Stop(_), _) => Why::Stop(tickets),
                    _ => Why::Restart(tickets),
                };
                vec![]
            }
            // Nothing runs, so the interpreter may run its exit handlers.
            Phase::Idle { .. } => {
                self.leave(why, Some(now + EXIT_GRACE));
                vec![Action::AskExit]
            }
            // A client's request replaces every other reason, because the client waits for its answer.
            Phase::Ending { why: known, kill_at, .. } => {
                *known = why;
                *kill_at = None;
                vec![Action::Kill]
            }
            // Some servers die if nobody takes their answer, so the bridge is asked to leave in good order.
            Phase::Running(_) | Phase::Querying { .. } if self.leaves => {
                self.leave(why, Some(now + LEAVE_GRACE));
                vec![Action::AskExit]
            }
            Phase::Starting { .. }
            | Phase::Running(_)
            | Phase::RollingBack(_)
            | Phase::Querying { .. } => {
                self.leave(why, None);
                vec![Action::Kill]
            }
        }
    }

    /// Ends the interpreter without asking it; the session stays, and its next eval starts it again.
    pub(super) fn kill_on_request(&mut self, ticket: Ticket) -> Vec<Action> {
        match &mut self.phase {
            Phase::Ended { .. } => {
                return vec![Action::Answer { ticket, answer: TicketAnswer::Done }];
            }
            Phase::Ending { why, kill_at, .. } => {
                *kill_at = None;
                match why {
                    Why::Stop(tickets) | Why::Restart(tickets) | Why::Killed(tickets) => {
                        tickets.push(ticket);
                    }
                    Why::Own
                    | Why::NotReady
                    | Why::TooSlow
                    | Why::Protocol(_)
                    | Why::Gone(_)
                    | Why::HardTimeout
                    | Why::Idle { .. } => {
                        *why = Why::Killed(vec![ticket]);
                    }
                }
            }
            Phase::Starting { .. }
            | Phase::Idle { .. }
            | Phase::Running(_)
            | Phase::RollingBack(_)
            | Phase::Querying { .. } => {
                self.leave(Why::Killed(vec![ticket]), None);
            }
        }
        vec![Action::Kill]
    }
}
