//! The state walked at random, against what must always hold.

use std::collections::{HashMap, HashSet};

use proptest::prelude::*;
use stead_protocol::bridge::DoneStatus;
use stead_protocol::{EndReason, EvalSeq, Outcome, TimeoutStep};

use crate::session::state::{Action, Eval, Input, Phase, State};
use crate::session::state_tests::{tick, ticket, waiting};

/// What the outside may do, as far as the state cannot rule it out itself.
#[derive(Debug, Clone)]
enum Move {
    Hello,
    Submit { hard: Option<u64> },
    Done(u8),
    Waiting,
    MayWait,
    NotWaiting,
    Overdue(u8),
    Interrupt { back: u64 },
    Query,
    Answered,
    RollBack,
    CutShort,
    NotRolledBack,
    Restored,
    Leaving,
    Closed,
    Broken,
    Ready,
    Exit,
    Stop,
    Restart,
    Kill,
    Pause,
    Wait(u64),
}

fn moves() -> impl Strategy<Value = Vec<Move>> {
    let one = prop_oneof![
        4 => Just(Move::Hello),
        8 => proptest::option::of(0u64..3000).prop_map(|hard| Move::Submit { hard }),
        8 => (0u8..3).prop_map(Move::Done),
        1 => Just(Move::Waiting),
        1 => Just(Move::MayWait),
        1 => Just(Move::NotWaiting),
        1 => (0u8..3).prop_map(Move::Overdue),
        3 => (0u64..4).prop_map(|back| Move::Interrupt { back }),
        1 => Just(Move::Query),
        2 => Just(Move::Answered),
        2 => Just(Move::RollBack),
        2 => Just(Move::CutShort),
        1 => Just(Move::NotRolledBack),
        3 => Just(Move::Restored),
        1 => Just(Move::Leaving),
        1 => Just(Move::Closed),
        1 => Just(Move::Broken),
        1 => Just(Move::Ready),
        2 => Just(Move::Exit),
        1 => Just(Move::Stop),
        1 => Just(Move::Restart),
        1 => Just(Move::Kill),
        1 => Just(Move::Pause),
        3 => (0u64..4000).prop_map(Move::Wait),
    ];
    proptest::collection::vec(one, 1..200)
}

/// What was seen of a session so far.
#[derive(Default)]
struct Seen {
    runs: HashSet<EvalSeq>,
    outcomes: HashMap<EvalSeq, Outcome>,
    answered: HashSet<u64>,
    current: Option<EvalSeq>,
    left: bool,
}

impl Seen {
    fn take(&mut self, actions: Vec<Action>) {
        for action in actions {
            assert!(!self.left, "{action:?} after the host left");
            match action {
                Action::Run(eval) => {
                    assert!(self.runs.insert(eval), "{eval:?} runs twice");
                    assert_eq!(self.current.replace(eval), None, "two evals at once");
                }
                Action::Finish { eval, outcome, .. } => {
                    if self.current == Some(eval) {
                        self.current = None;
                    }
                    let known = self.outcomes.insert(eval, outcome);
                    assert_eq!(known, None, "{eval:?} has two outcomes");
                }
                Action::Answer { ticket, .. } => {
                    assert!(self.answered.insert(ticket.id), "{ticket:?} is answered twice");
                }
                Action::Leave => self.left = true,
                Action::RolledBack(eval) => {
                    self.runs.insert(eval);
                    let before = self.current.replace(eval);
                    assert!(before.is_none_or(|before| before == eval), "two evals at once");
                }
                Action::Interrupt
                | Action::RollBack(_)
                | Action::GoOn
                | Action::KillChildren
                | Action::Resume
                | Action::AskExit
                | Action::Kill
                | Action::End { .. }
                | Action::Start => {}
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// H-1, E-11: whatever happens, in any order: at most once, one outcome, every request answered.
    #[test]
    fn e11_any_order_of_events_gives_one_outcome_and_answers_everyone(moves in moves()) {
        let mut state = State::new(0, 0, false);
        let (mut seen, mut now, mut next, mut tickets) = (Seen::default(), 0, 1u64, 0u64);
        let (mut submitted, mut asked) = (Vec::new(), Vec::new());
        for step in moves {
            if seen.left {
                break;
            }
            let mut ask = || {
                tickets += 1;
                ticket(tickets)
            };
            let input = match step {
                Move::Hello => Input::Hello { first: vec![] },
                Move::Submit { hard } => {
                    if state.admit(false).is_err() {
                        continue;
                    }
                    let seq = EvalSeq(next);
                    next += 1;
                    submitted.push(seq);
                    Input::Submit(Eval::asked(seq, hard))
                }
                Move::Done(status) => Input::Done(match status {
                    0 => DoneStatus::Ok,
                    1 => DoneStatus::Error,
                    _ => DoneStatus::Interrupted,
                }),
                Move::Waiting => waiting("?"),
                Move::MayWait => Input::MayWait { alone: true },
                Move::NotWaiting => Input::NotWaiting,
                Move::Overdue(step) => Input::Overdue(match step {
                    0 => TimeoutStep::Interrupted,
                    1 => TimeoutStep::ChildrenKilled,
                    _ => TimeoutStep::InterpreterKilled,
                }),
                Move::Interrupt { back } => {
                    let ticket = ask();
                    asked.push(ticket.id);
                    let eval = (back > 0).then(|| EvalSeq(next.saturating_sub(back)));
                    Input::Interrupt { eval, ticket }
                }
                Move::Query => {
                    // The host answers it itself when the bridge does.
                    Input::Query(ask())
                }
                Move::Answered => Input::QueryAnswered,
                Move::RollBack => Input::RollBack { copy: 1 },
                Move::CutShort => {
                    if !matches!(state.phase, Phase::Running(_)) {
                        continue;
                    }
                    let seq = EvalSeq(next);
                    next += 1;
                    submitted.push(seq);
                    Input::CutShort { work: Eval::asked(seq, None), copy: 1 }
                }
                Move::NotRolledBack => Input::NotRolledBack,
                Move::Restored => Input::Restored(EndReason::Signal { signal: 11 }),
                Move::Leaving => Input::Leaving,
                Move::Closed => Input::Closed,
                Move::Broken => Input::Broken("x".to_owned()),
                Move::Ready => {
                    let ticket = ask();
                    asked.push(ticket.id);
                    Input::Ready(ticket)
                }
                Move::Pause => Input::Paused,
                Move::Exit => Input::Exited(EndReason::Exit { code: 0 }),
                Move::Stop => {
                    let ticket = ask();
                    asked.push(ticket.id);
                    Input::Stop(ticket)
                }
                Move::Restart => {
                    let ticket = ask();
                    asked.push(ticket.id);
                    Input::Restart(ticket)
                }
                Move::Kill => {
                    let ticket = ask();
                    asked.push(ticket.id);
                    Input::Kill(ticket)
                }
                Move::Wait(ms) => {
                    now += ms;
                    tick()
                }
            };
            seen.take(state.step(input, now));
        }
        // In the end the interpreter is gone, whatever went before.
        while !seen.left {
            seen.take(state.step(Input::Stop(ticket(u64::MAX)), now));
            seen.take(state.step(Input::Exited(EndReason::Exit { code: 0 }), now));
        }
        for seq in submitted {
            prop_assert!(seen.outcomes.contains_key(&seq), "{seq:?} has no outcome");
        }
        for id in asked {
            prop_assert!(seen.answered.contains(&id), "request {id} was never answered");
        }
    }
}
