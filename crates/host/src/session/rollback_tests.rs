//! Rollbacks walked as a table.

use stead_protocol::bridge::DoneStatus;
use stead_protocol::client::InterruptEffect;
use stead_protocol::{EndReason, EvalSeq, Outcome, TimeoutStep};

use crate::session::state::{Action, Eval, Input, Phase, START_LIMIT, State};
use crate::session::state_tests::{effect, finish, idle, running, submit, tick, ticket};

const KILLED: EndReason = EndReason::Signal { signal: 9 };

fn cut_short(seq: u64) -> Input {
    Input::CutShort { work: Eval::asked(EvalSeq(seq), None), copy: 7 }
}

fn rolled_back() -> EndReason {
    EndReason::RolledBack { by: None }
}

/// A session whose eval 1 was cut short by rollback 3, with eval 2 in the queue.
fn cutting() -> State {
    let mut state = running(1);
    state.step(submit(2), 0);
    assert_eq!(state.step(cut_short(3), 0), [Action::RollBack(7)]);
    state
}

#[test]
fn st3_a_rollback_in_its_turn_is_complete_when_the_copy_is_there() {
    let mut state = running(1);
    assert_eq!(state.step(Input::RollBack { copy: 7 }, 0), [Action::RollBack(7)]);
    // The interpreter ends, as it should.
    assert_eq!(state.step(Input::Leaving, 1), []);
    assert_eq!(state.step(Input::Closed, 1), []);
    assert_eq!(state.step(submit(2), 2), []);
    let actions = state.step(Input::Restored(KILLED), 3);
    let expected =
        [Action::RolledBack(EvalSeq(1)), finish(1, Outcome::Complete), Action::Run(EvalSeq(2))];
    assert_eq!(actions, expected);
}

#[test]
fn st5_a_rollback_ends_the_running_eval_and_what_waited_does_not_run() {
    let mut state = cutting();
    assert_eq!(state.step(Input::Leaving, 1), []);
    let actions = state.step(Input::Restored(KILLED), 3);
    let expected = [
        finish(1, Outcome::Ended { reason: rolled_back() }),
        finish(2, Outcome::NotRun { reason: rolled_back() }),
        Action::RolledBack(EvalSeq(3)),
        finish(3, Outcome::Complete),
    ];
    assert_eq!(actions, expected);
    assert_eq!(state.phase, Phase::Idle { since: 3 });
}

#[test]
fn st5_an_eval_that_ends_in_that_moment_keeps_its_own_outcome() {
    let mut state = cutting();
    assert_eq!(state.step(Input::Done(DoneStatus::Ok), 1), [finish(1, Outcome::Complete)]);
    let actions = state.step(Input::Restored(KILLED), 3);
    let expected = [
        finish(2, Outcome::NotRun { reason: rolled_back() }),
        Action::RolledBack(EvalSeq(3)),
        finish(3, Outcome::Complete),
    ];
    assert_eq!(actions, expected);
}

#[test]
fn st3_without_its_copy_a_rollback_fails_and_nothing_else_is_lost() {
    let mut state = cutting();
    assert_eq!(state.step(Input::NotRolledBack, 1), [finish(3, Outcome::Error)]);
    let actions = state.step(Input::Done(DoneStatus::Ok), 2);
    assert_eq!(actions, [finish(1, Outcome::Complete), Action::Run(EvalSeq(2))]);
    let mut state = running(1);
    state.step(Input::RollBack { copy: 7 }, 0);
    assert_eq!(state.step(Input::NotRolledBack, 1), []);
    assert_eq!(state.step(Input::Done(DoneStatus::Error), 1), [finish(1, Outcome::Error)]);
}

#[test]
fn st3_a_copy_that_does_not_wake_ends_the_session() {
    let reason = || EndReason::NotRestored { message: "no".to_owned() };
    let mut state = cutting();
    let actions = state.step(Input::Exited(reason()), 3);
    let expected = [
        finish(1, Outcome::Ended { reason: reason() }),
        finish(3, Outcome::NotRun { reason: reason() }),
        finish(2, Outcome::NotRun { reason: reason() }),
        Action::End { reason: reason(), asked: false },
        Action::Leave,
    ];
    assert_eq!(actions, expected);
}

#[test]
fn st3_an_interpreter_that_does_not_come_back_is_given_up() {
    let mut state = cutting();
    assert_eq!(state.next_deadline(true), Some(START_LIMIT));
    assert_eq!(state.step(tick(), START_LIMIT), [Action::Kill]);
    assert_eq!((state.step(tick(), START_LIMIT + 1), state.next_deadline(true)), (vec![], None));
}

#[test]
fn s7_a_stop_during_a_rollback_wins() {
    let mut state = cutting();
    assert_eq!(state.step(Input::Stop(ticket(1)), 1), [Action::Kill]);
    // The copy had just come to its place; it is killed too.
    assert_eq!(state.step(Input::Restored(KILLED), 2), []);
    let actions = state.step(Input::Exited(KILLED), 3);
    assert_eq!(actions[0], finish(1, Outcome::Ended { reason: EndReason::Stopped { by: None } }));
    assert_eq!(actions.last(), Some(&Action::Leave));
}

#[test]
fn e6_an_interrupt_during_a_rollback_is_answered_with_its_end() {
    let mut state = cutting();
    let interrupt = |eval, id| Input::Interrupt { eval, ticket: ticket(id) };
    assert_eq!(state.step(interrupt(Some(EvalSeq(1)), 1), 1), []);
    assert_eq!(state.step(interrupt(Some(EvalSeq(3)), 2), 1), []);
    let actions = state.step(Input::Restored(KILLED), 3);
    assert!(actions.contains(&effect(1, InterruptEffect::Finished, Some(1))), "{actions:?}");
    assert!(actions.contains(&effect(2, InterruptEffect::Finished, Some(3))), "{actions:?}");
}

#[test]
fn st5_after_a_fatal_signal_or_a_hard_timeout_the_session_goes_on_from_a_copy() {
    let mut state = running(1);
    state.step(submit(2), 0);
    assert_eq!(state.step(Input::Leaving, 1), []);
    let crash = || EndReason::Signal { signal: 11 };
    let actions = state.step(Input::Restored(crash()), 3);
    let expected = [
        finish(1, Outcome::Ended { reason: crash() }),
        finish(2, Outcome::NotRun { reason: crash() }),
        Action::End { reason: crash(), asked: false },
        Action::GoOn,
    ];
    assert_eq!(actions, expected);
    assert_eq!(state.step(submit(3), 4), [Action::Run(EvalSeq(3))]);
    let step = TimeoutStep::InterpreterKilled;
    state.step(Input::Overdue(step), 5);
    state.step(Input::Leaving, 5);
    let actions = state.step(Input::Restored(KILLED), 6);
    assert_eq!(actions[0], finish(3, Outcome::Timeout { step }));
    assert_eq!(actions[1], Action::End { reason: EndReason::HardTimeout, asked: false });
    // While nothing runs, too.
    let mut state = idle();
    state.step(Input::Leaving, 1);
    let expected = [Action::End { reason: crash(), asked: false }, Action::GoOn];
    assert_eq!(state.step(Input::Restored(crash()), 2), expected);
}

#[test]
fn st3_a_session_that_is_rolling_back_takes_code_and_is_not_idle() {
    let mut state = cutting();
    assert_eq!(state.admit(false).unwrap(), Some(EvalSeq(2)));
    assert_eq!(state.step(tick(), START_LIMIT - 1), []);
    // A second rollback waits for the first.
    assert_eq!(state.step(cut_short(4), 1), []);
    let actions = state.step(Input::Restored(KILLED), 3);
    let last = [finish(3, Outcome::Complete), Action::Run(EvalSeq(4))];
    assert!(actions.ends_with(&last), "what was sent since is for this state: {actions:?}");
}
